"""Rows with a judge's label, and the true label where it was checked: columns, strata of confidence, counts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._invalid import quoted
from bayescal.data.alignment import same_rows
from bayescal.data.columns import binary, column
from bayescal.data.frames import with_missing
from bayescal.data.predictions import Columns, Predictions
from bayescal.labels.counts import LabelCounts
from bayescal.labels.evidence import JudgeEvidence
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins

TARGETS = ("confidence", "event")
#: Checked rows from which on two strata are the default, and the least number of each label in each of them.
TWO_FROM, OF_EACH_LABEL = 200, 10


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Validated rows, arrays of shape (n_rows,).

    `outcome` is the true label where `checked`, and `judge` the judge's label where `judged`; every row has one of
    them.
    """

    predictions: Predictions  # whose outcomes are the judge's labels, and true labels of rows without them
    outcome: NDArray[np.bool_]
    checked: NDArray[np.bool_]
    judge: NDArray[np.bool_]
    judged: NDArray[np.bool_]

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, judge: Any, target: str, classes: Sequence[Any] | None, logits: bool
    ) -> "JudgedRows":
        """Check the columns."""
        _checks.one_of("target", target, TARGETS)
        same_rows({"y_true": y_true, "y_prob": y_prob, "judge": judge})
        (outcome, checked), (grade, judged) = (
            _labels(name, values, classes) for name, values in (("y_true", y_true), ("judge", judge))
        )
        columns = Columns.read(outcome, y_prob, names=("y_true", "y_prob"), target=target, logits=logits).checked()
        _checks.same_length(("judge", "y_true"), (len(grade), len(outcome)))
        neither = ~(checked | judged)
        if neither.any():
            rule = "must be known where `y_true` is missing"
            hint = "Leave these rows out of all columns only if they are like the others, or label them."
            _checks.refuse("judge", rule, neither, hint=hint, verb=("is missing, too", "are missing, too"))
        both = np.where(judged, grade, outcome)
        rows = Predictions(confidence=columns.confidence, outcome=both, target=target, reading=columns.reading)
        return cls(rows, outcome, checked, grade, judged)

    @classmethod
    def joined(cls, parts: "Sequence[JudgedRows]") -> "JudgedRows":
        """Return the rows of all parts, which have one target."""
        if len(parts) == 1:
            return parts[0]
        confidence, outcome = (
            np.concatenate([getattr(part.predictions, name) for part in parts]) for name in ("confidence", "outcome")
        )
        of_labels = (np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)[1:])
        rows = Predictions(confidence=confidence, outcome=outcome, target=parts[0].predictions.target)
        return cls(rows, *of_labels)

    @property
    def confidence(self) -> Floats:
        """Stated probabilities."""
        return np.asarray(self.predictions.confidence)

    def counts(self, bins: Any, binning: str) -> LabelCounts:
        """Count all rows, and the checked ones."""
        edges = make_bins(bins, binning=binning, confidence=self.confidence)
        rows = BinnedCounts.from_predictions(self.predictions, bins=edges)
        target, known = self.predictions.target, self.checked
        if not known.any():
            return LabelCounts.without_kernel(rows, BinnedCounts.empty(edges, target=target))
        checked = Predictions(confidence=self.confidence[known], outcome=self.outcome[known], target=target)
        return LabelCounts.without_kernel(rows, BinnedCounts.from_predictions(checked, bins=edges))

    def bins_of(self, edges: Bins) -> NDArray[np.intp]:
        """Return the bin of each row."""
        return np.asarray(bin_index(self.confidence, edges))

    def evidence(self, edges: Bins, stratum: NDArray[np.intp]) -> JudgeEvidence:
        """Count the rows that were judged and not checked."""
        alone, n_bins = ~self.checked, len(edges)
        bins = self.bins_of(edges)[alone]
        ones = np.bincount(bins, self.judge[alone], n_bins)
        return JudgeEvidence(np.bincount(bins, minlength=n_bins).astype(np.float64), ones, stratum)

    def table(self, edges: Bins, stratum: NDArray[np.intp]) -> Floats:
        """Count checked rows with a judge's label by stratum and labels, shape (n_strata, 4); see `JudgeRates`."""
        both = self.checked & self.judged
        y, j = self.outcome[both], self.judge[both]
        kind = np.where(y, 1 - j.astype(int), 2 + j.astype(int))
        number = int(stratum.max()) + 1
        of_row = stratum[self.bins_of(edges)[both]]
        return np.bincount(4 * of_row + kind, minlength=4 * number).reshape(number, 4).astype(np.float64)

    def judged_by_label(self, edges: Bins, stratum: NDArray[np.intp]) -> Floats:
        """Count the rows with a judge's label by stratum, labels 1 first, shape (n_strata, 2)."""
        number, of_row = int(stratum.max()) + 1, stratum[self.bins_of(edges)[self.judged]]
        place = 2 * of_row + 1 - self.judge[self.judged]
        return np.bincount(place, minlength=2 * number).reshape(number, 2).astype(np.float64)


def _labels(name: str, values: Any, classes: Sequence[Any] | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return labels as booleans, False where they are missing, and whether they are known."""
    array, known = with_missing(name, values)
    labels = column(name, array)
    if not known.any():
        return np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    return binary(name, labels, classes).astype(bool) & known, known


def strata_of(strata: Any, rows: JudgedRows, counts: LabelCounts, copies: int = 1) -> NDArray[np.intp]:
    """Return the stratum of each bin: ranges of confidence, each with its own sensitivity and specificity.

    `strata` is ``"auto"``, a number of ranges with about equal numbers of rows, or increasing inner edges, which are
    moved to the nearest edge of a bin. Each row occurs `copies` times.
    """
    edges, share = counts.bins.edges, counts.share.cumsum()[:-1]
    if isinstance(strata, str):
        _checks.one_of("strata", strata, ("auto",))
        if counts.checked.n_rows < TWO_FROM * copies:
            return np.zeros(len(counts.bins), np.intp)
        two = _ranges(share, 2)
        table = rows.table(counts.bins, two)
        least = min(table[:, :2].sum(axis=1).min(), table[:, 2:].sum(axis=1).min())
        enough = two.max() == 1 and least >= OF_EACH_LABEL * copies
        return two if enough else np.zeros(len(counts.bins), np.intp)
    if np.ndim(strata) == 0:
        number = _checks.whole_number("strata", strata)
        stratum = _ranges(share, number)
        if stratum.max() + 1 < number:
            raise ValueError(
                f"`strata={number}` needs as many ranges of confidence with rows; {len(counts.bins)} bins with these "
                f"rows give {stratum.max() + 1}. Use fewer strata or more bins."
            )
        return stratum
    cuts = np.asarray(strata, dtype=np.float64)
    if cuts.ndim != 1 or not (np.diff(cuts, prepend=0.0, append=1.0) > 0).all():
        raise ValueError(
            '`strata` must be "auto", a number, or increasing confidences between 0 and 1, the inner edges of the '
            f"strata; not {quoted(strata)}."
        )
    nearest = np.abs(edges[:, None] - cuts).argmin(axis=0)
    if len(np.unique(nearest)) < len(cuts) or (len(cuts) and (nearest[0] == 0 or nearest[-1] == len(edges) - 1)):
        raise ValueError(
            f"`strata` must have different nearest inner edges of bins; {quoted(strata)} have "
            f"{edges[nearest].round(4).tolist()}. Use fewer strata or more bins."
        )
    return np.searchsorted(nearest, np.arange(len(counts.bins)), side="right")


def _ranges(share: Floats, number: int) -> NDArray[np.intp]:
    """Divide bins into ranges with about equal numbers of rows, given the shares of rows below the inner edges."""
    if number == 1 or not len(share):
        return np.zeros(len(share) + 1, np.intp)
    inside = (share > 0) & (share < 1)
    if not inside.any():
        return np.zeros(len(share) + 1, np.intp)
    wanted = np.arange(1, number) / number
    cut = np.unique(np.where(inside, np.abs(share - wanted[:, None]), np.inf).argmin(axis=1)) + 1
    return np.searchsorted(cut, np.arange(len(share) + 1), side="right")
