"""Rows with a judge's label or a true label, and their counts by bin; counts of rows with some true labels."""

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Classes, Floats, Indices, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.data.columns import binary, column
from bayescal.data.frames import same_rows, with_missing
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Columns, Predictions
from bayescal.labels.evidence import JudgeEvidence
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.frozen import Sums, Whole

TARGETS = ("confidence", "event")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Validated rows, arrays of shape (n_rows,); every row has a true label or one of the judge."""

    predictions: Predictions  # whose outcomes are the judge's labels, and true labels of rows without them
    outcome: Bools  # the true label where `checked`
    checked: Bools
    judge: Bools  # the judge's label where `judged`
    judged: Bools
    clusters: Clusters | None = None  # of each row; None if all rows are independent

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, judge: Any, target: str, classes: Classes, logits: bool, cluster: Any = None
    ) -> "JudgedRows":
        """Check the columns."""
        _checks.one_of("target", target, TARGETS)
        same_rows({"y_true": y_true, "y_prob": y_prob, "judge": judge, "cluster": cluster})
        (outcome, checked), (grade, judged) = (
            _labels(name, values, classes) for name, values in (("y_true", y_true), ("judge", judge))
        )
        columns = Columns.read(outcome, y_prob, names=("y_true", "y_prob"), target=target, logits=logits).checked()
        _checks.same_length(("judge", "y_true"), (len(grade), len(outcome)))
        neither = ~(checked | judged)
        if neither.any():
            rule = "must be known where the true label is missing"
            hint = "Leave these rows out of all columns only if they are like the others, or label them."
            _checks.refuse("judge", rule, neither, hint=hint, verb=("is missing, too", "are missing, too"))
        both = np.where(judged, grade, outcome)
        rows = Predictions(confidence=columns.confidence, outcome=both, target=target, reading=columns.reading)
        clusters = None if cluster is None else Clusters.from_column(cluster, len(rows))
        return cls(rows, outcome, checked, grade, judged, clusters)

    @property
    def confidence(self) -> Floats:
        """Stated probabilities."""
        return np.asarray(self.predictions.confidence)


def _labels(name: str, values: Any, classes: Classes) -> tuple[Bools, Bools]:
    """Return labels as booleans, False where they are missing, and whether they are known."""
    array, known = with_missing(name, values)
    labels = column(name, array)
    if not known.any():
        return np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    _checks.in_order("classes", classes)
    fill = False if classes is None else next(iter(classes), False)
    if labels.dtype.kind in ("U" if isinstance(fill, str) else "biuf" if isinstance(fill, int | float) else ""):
        labels = np.where(known, labels, fill)  # errors count invalid labels, and not those that are missing
    return binary(name, labels, classes).astype(bool) & known, known


@dataclass(frozen=True, eq=False)
class LabelCounts(Whole):
    r"""Bins of rows of which some were checked, and the Beta kernel that replaces the evidence of the other rows.

    It satisfies the protocol `Counts`. The exponents a and b of the kernel :math:`\theta^a (1 - \theta)^b` are the rows
    with outcome 1 and 0 that the other rows are worth. `n` and `n_rows` are numbers of all rows, and `k` is the number
    of checked rows with outcome 1.
    """

    rows: BinnedCounts  # all rows, for masses and mean confidences; outcomes are labels of the judge, if there is one
    checked: BinnedCounts  # rows with the true label, on the same bins
    ones: Floats  # exponents a, shape (n_bins,)
    zeros: Floats  # exponents b

    not_added = "counts of checked and other rows cannot be added; evaluate the rows together."
    #: Needs of estimands that these counts do not meet: the order of the rows is known for judged labels only.
    lacking = frozenset({"outcomes"})
    bins, target, n, n_rows = (property(attrgetter(f"rows.{name}")) for name in ("bins", "target", "n", "n_rows"))
    occupied, share = (property(attrgetter(f"rows.{name}")) for name in ("occupied", "share"))
    mean_confidence, effective_rows = (
        property(attrgetter(f"rows.{name}")) for name in ("mean_confidence", "effective_rows")
    )
    k, weight, weighted = (property(attrgetter(f"checked.{name}")) for name in ("k", "weight", "weighted"))
    losses, log_losses, ranks = (property(attrgetter(f"checked.{name}")) for name in ("losses", "log_losses", "ranks"))
    within_variance = property(attrgetter("checked.within_variance"))
    within_covariance = property(attrgetter("checked.within_covariance"))
    reading = property(attrgetter("rows.reading"))
    n_checked = property(attrgetter("checked.n"))

    @classmethod
    def without_kernel(cls, rows: BinnedCounts, checked: BinnedCounts) -> "LabelCounts":
        """Return counts in which rows that were not checked give no evidence about accuracies."""
        none = np.zeros(len(rows.bins))
        return cls(rows, checked, none, none)

    def with_kernel(self, ones: Floats, zeros: Floats) -> "LabelCounts":
        """Return the counts with another kernel."""
        return replace(self, ones=ones, zeros=zeros)

    @property
    def confidence(self) -> Floats:
        """Mean confidence of each bin; the midpoint if it is empty."""
        return np.where(self.occupied, np.clip(np.nan_to_num(self.mean_confidence), 0, 1), self.bins.midpoints)

    @property
    def effective_n(self) -> Floats:
        """Checked (effective) rows of each bin, and those that the other rows are worth."""
        return self.checked.effective_n + self.ones + self.zeros

    @property
    def effective_k(self) -> Floats:
        """Checked (effective) rows with outcome 1, and those that the other rows are worth."""
        return self.checked.effective_k + self.ones

    @property
    def accuracy(self) -> Floats:
        """Estimated share of outcome 1 per bin; NaN without evidence."""
        n = self.effective_n
        return np.divide(self.effective_k, n, out=np.full(len(n), np.nan), where=(n > 0) & self.occupied)

    @property
    def rows_by_outcome(self) -> Floats:
        """Number of checked rows without and with outcome 1, shape (2, n_bins), for mean losses given the outcome."""
        n, k = self.checked.effective_n, self.checked.effective_k
        return np.stack([n - k, k])

    def __repr__(self) -> str:
        return f"LabelCounts({self.bins}, {self.n_rows} rows, {self.checked.n_rows} of them checked)"


#: Checked rows from which on two strata are the default, and the least number of each label in each of them.
TWO_FROM, OF_EACH_LABEL = 200, 10


@public
@dataclass(frozen=True, eq=False)
class JudgedCounts(Sums):
    """Numbers of rows and sums over rows with a judge's label, the true label, or both: all that `judged` needs.

    Counts of streams and of data that do not fit into memory are added with ``+``. `bayescal.labels.count_file` counts
    a file, and `bayescal.labels.judged_counts` evaluates counts.

    Parameters
    ----------
    rows : BinnedCounts
        All rows. The outcome is the judge's label, and the true label of rows without a judge's label.
    checked : BinnedCounts
        The rows with a true label, which is the outcome.
    both_0, both_1 : BinnedCounts
        The rows with a judge's label and the true label 0, or 1. The outcome is the judge's label.

    Raises
    ------
    ValueError
        If the bins or targets differ, or rows are in a part and not in the whole.

    Examples
    --------
    >>> counts = bc.labels.JudgedCounts.from_arrays([1, None, 0], [0.9, 0.8, 0.3], judge=[1, 1, 1], bins=2)
    >>> counts + counts
    JudgedCounts(2 equal-width bins [a, b), 6 rows, 4 of them checked)
    """

    rows: BinnedCounts
    checked: BinnedCounts
    both_0: BinnedCounts
    both_1: BinnedCounts

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("checked", "both_0", "both_1"):
            part = getattr(self, name)
            if part.bins != self.bins or part.target != self.target:
                raise ValueError(
                    f"`{name}` must have the bins and the target of `rows`; they are {part.bins} and {part.target!r}."
                )
        if min(self._without_judge.min(), self.alone.min()) < 0:
            raise ValueError("`both_0` and `both_1` must be rows of `checked`, and all of them rows of `rows`.")

    @classmethod
    def empty(cls, bins: Any = 15, *, target: str = "confidence") -> "JudgedCounts":
        """Return counts without rows, to which those of batches are added.

        Parameters
        ----------
        target : {"confidence", "event"}, default "confidence"
            As for `bayescal.labels.judged`.
        """
        none = BinnedCounts.empty(bins, target=target)
        return cls(none, none, none, none)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        judge: Any,
        bins: Any = 15,
        binning: str = "equal-width",
        target: str = "confidence",
        classes: Classes = None,
        logits: bool = False,
        cluster: Any = None,
    ) -> "JudgedCounts":
        """Count rows.

        Parameters
        ----------
        y_true, y_prob, judge, target, classes, logits, cluster
            As for `bayescal.labels.judged`. All true labels of a batch may be missing. If batches are added, all rows
            of a cluster must be in one of them.
        bins, binning
            As for `make_bins`. Batches that are added need the same edges.

        Raises
        ------
        ValueError, TypeError
            For invalid input, as for `bayescal.labels.judged`.
        """
        rows = JudgedRows.read(y_true, y_prob, judge, target, classes, logits, cluster)
        return cls.from_rows(rows, make_bins(bins, binning=binning, confidence=rows.confidence))

    @classmethod
    def from_rows(cls, rows: JudgedRows, bins: Bins) -> "JudgedCounts":
        """Count validated rows."""
        both = rows.checked & rows.judged

        def counted(part: Bools, outcome: Bools, of: Clusters | None = None) -> BinnedCounts:
            if not part.any():
                return BinnedCounts.empty(bins, target=rows.predictions.target)
            confidence, target = rows.confidence[part], rows.predictions.target
            chosen = Predictions(confidence=confidence, outcome=outcome[part], target=target)
            clusters = None if of is None else of.take(np.flatnonzero(part))
            return BinnedCounts.from_predictions(chosen, bins=bins, clusters=clusters)

        return cls(
            BinnedCounts.from_predictions(rows.predictions, bins=bins, clusters=rows.clusters),
            counted(rows.checked, rows.outcome, rows.clusters),
            counted(both & ~rows.outcome, rows.judge),
            counted(both & rows.outcome, rows.judge),
        )

    def __repr__(self) -> str:
        return f"JudgedCounts({self.bins}, {self.n_rows} rows, {self.n_checked} of them checked)"

    @property
    def bins(self) -> Bins:
        """The bins."""
        return self.rows.bins

    @property
    def target(self) -> str:
        """Meaning of outcome and confidence."""
        return self.rows.target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def n_checked(self) -> int:
        """Number of rows with a true label."""
        return self.checked.n_rows

    @property
    def both(self) -> Ints:
        """Checked rows by true label, judge's label and bin, shape (2, 2, n_bins)."""
        return np.stack([self.both_0.cells, self.both_1.cells])

    @property
    def _without_judge(self) -> Ints:
        """Rows without a judge's label, by true label and bin, shape (2, n_bins)."""
        return self.checked.cells - self.both.sum(axis=1)

    @cached_property
    def alone(self) -> Ints:
        """Rows that were judged and not checked, by the judge's label and bin, shape (2, n_bins)."""
        return self.rows.cells - self.both.sum(axis=0) - self._without_judge

    @property
    def of_labels(self) -> LabelCounts:
        """All rows and the checked ones, for posteriors."""
        return LabelCounts.without_kernel(self.rows, self.checked)

    def evidence(self, stratum: Indices, *, effective: bool = False) -> JudgeEvidence:
        """Return the rows that were judged and not checked; `effective`: divided by the design effect of clusters."""
        n, k = self.alone.sum(axis=0).astype(np.float64), self.alone[1].astype(np.float64)
        each = _effective_share(self.rows) if effective else 1.0
        return JudgeEvidence(n * each, k * each, stratum)

    def table(self, stratum: Indices, *, effective: bool = False) -> Floats:
        """Return checked rows with a judge's label by stratum and labels, shape (n_strata, 4).

        The columns are (true label, judge's label) (1, 1), (1, 0), (0, 0) and (0, 1). `effective`: numbers are divided
        by the design effect of clusters.
        """
        zero, one = self.both * (_effective_share(self.checked) if effective else 1)
        return _by_stratum([one[1], one[0], zero[0], zero[1]], stratum)

    def with_total_effect(self) -> "JudgedCounts":
        """Return counts of rows without clusters that have the design effects of totals in each bin."""
        return replace(self, rows=self.rows.with_total_effect(), checked=self.checked.with_total_effect())

    def judged_by_label(self, stratum: Indices) -> Floats:
        """Return the rows with a judge's label by stratum, labels 1 first, shape (n_strata, 2)."""
        return _by_stratum((self.alone + self.both.sum(axis=0))[::-1], stratum)


def _effective_share(counts: BinnedCounts) -> Floats:
    """Effective rows per row of each bin: 1 without clusters."""
    return np.divide(counts.effective_n, counts.n, out=np.ones(len(counts.bins)), where=counts.n > 0)


def _by_stratum(values: Any, stratum: Indices) -> Floats:
    """Sum values of shape (n, n_bins) over the bins of each stratum, shape (n_strata, n)."""
    return np.stack([np.bincount(stratum, each, int(stratum.max()) + 1) for each in values], axis=1)


def strata_of(strata: Any, counts: JudgedCounts, copies: int = 1) -> Indices:
    """Return the stratum of each bin: ranges of confidence, each with its own sensitivity and specificity.

    `strata` is ``"auto"``, a number of ranges with about equal numbers of rows, or increasing inner edges, which are
    moved to the nearest edge of a bin. Each row occurs `copies` times in the counts.
    """
    edges, share = counts.bins.edges, counts.rows.share.cumsum()[:-1]
    if isinstance(strata, str):
        _checks.one_of("strata", strata, ("auto",))
        if counts.n_checked < TWO_FROM * copies:
            return np.zeros(len(counts.bins), np.intp)
        # the edge with most checked rows of the label and side that has fewest; of equal ones the nearest to the median
        by_bin = counts.table(np.arange(len(counts.bins)))
        below = np.stack([by_bin[:, :2].sum(axis=1), by_bin[:, 2:].sum(axis=1)]).cumsum(axis=1)
        fewest = np.minimum(below[:, :-1], below[:, -1:] - below[:, :-1]).min(axis=0)
        if not len(fewest) or fewest.max() < OF_EACH_LABEL * copies:
            return np.zeros(len(counts.bins), np.intp)
        cut = np.lexsort((np.abs(share - 0.5), -fewest))[0]
        return (np.arange(len(counts.bins)) > cut).astype(np.intp)
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


def _ranges(share: Floats, number: int) -> Indices:
    """Divide bins into ranges with about equal numbers of rows, given the shares of rows below the inner edges."""
    if number == 1 or not len(share):
        return np.zeros(len(share) + 1, np.intp)
    inside = (share > 0) & (share < 1)
    if not inside.any():
        return np.zeros(len(share) + 1, np.intp)
    wanted = np.arange(1, number) / number
    cut = np.unique(np.where(inside, np.abs(share - wanted[:, None]), np.inf).argmin(axis=1)) + 1
    return np.searchsorted(cut, np.arange(len(share) + 1), side="right")
