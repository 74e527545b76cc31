"""ThresholdCounts: rows counted by outcome and by the cells between thresholds of one or several models. Addable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Floats, Ints
from bayescal._invalid import prefixed, quoted
from bayescal._meant import public
from bayescal._rules import LARGEST_WEIGHT
from bayescal._texts import text_of
from bayescal.data.columns import refuse_scale
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions
from bayescal.decisions.cells import ClusteredCells, cells_of_clusters, check_keys, joint_sums, merged, only_by_outcome
from bayescal.decisions.thresholds import DECIMALS, UNNAMED, as_thresholds, bins_between, model_columns, model_names
from bayescal.draws import fingerprint
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import add_clusters, refuse_clusters
from bayescal.stats.frozen import Counted
from bayescal.stats.paired import PairedCounts
from bayescal.stats.query.row_sums import framed
from bayescal.stats.sums import effective_number, sums_at

MOST_ENGINE_KEYS = 2**53  #: Joint cells have float64 as keys in an engine.


@public
@dataclass(frozen=True, eq=False)
class ThresholdCounts(Counted):
    """Numbers of rows by outcome and by the cells between thresholds, which are sufficient for net benefit.

    Score cell j contains the scores with thresholds[j - 1] <= p < thresholds[j]; the first cell begins at 0, the last
    one ends at 1, which it contains. So a row is treated at thresholds[j], p >= thresholds[j], if its cell is j + 1 or
    higher. With several models, a joint cell is the combination of the score cells of all models and of the outcome.
    Only joint cells with rows are stored.

    Parameters
    ----------
    thresholds : ndarray of float64, shape (n_thresholds,)
        Thresholds, strictly increasing in [0, 1).
    models : tuple of str
        Names of the models.
    cells : ndarray of int64, shape (n_cells, n_models + 1)
        The joint cells, in lexicographic order without duplicates: the score cell of each model, and the outcome.
    n : ndarray of int64, shape (n_cells,)
        Number of rows in each cell.
    weight : ndarray, shape (n_cells,)
        Sum of weights in each cell; equal to `n` if rows have no weights.
    weight_sq : ndarray, shape (2,)
        Sum of squared weights, by outcome.
    clusters : ClusteredCells, optional
        The rows by cluster, if rows of one cluster may depend on each other; None if all rows are independent.

    Examples
    --------
    >>> counts = bc.decisions.ThresholdCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0.5, 0.8])
    >>> counts.cells.tolist(), counts.n
    ([[0, 0], [1, 1], [2, 1]], array([1, 1, 1]))
    >>> (counts + counts).n
    array([2, 2, 2])
    """

    thresholds: Floats
    models: tuple[str, ...]
    cells: Ints
    n: Ints
    weight: Floats
    weight_sq: Floats
    clusters: ClusteredCells | None = None

    rows_field = "n"

    @classmethod
    def empty(cls, thresholds: Any = None, models: Sequence[str] = (UNNAMED,)) -> "ThresholdCounts":
        """Return counts without rows; adding them changes nothing.

        Parameters
        ----------
        thresholds : float or array-like, optional
            As for `from_arrays`.
        models : sequence of str, default ("model",)
            Names of the models.

        Examples
        --------
        >>> bc.decisions.ThresholdCounts.empty([0.2, 0.5]).n_rows
        0
        """
        names = model_names(models)
        none = np.zeros(0)
        cells = np.zeros((0, len(names) + 1), np.int64)
        return cls(as_thresholds(thresholds), names, cells, none.astype(np.int64), none, np.zeros(2))

    @classmethod
    def from_arrays(
        cls, outcome: Any, confidence: Any, thresholds: Any = None, *, weights: Any = None, cluster: Any = None
    ) -> "ThresholdCounts":
        """Count rows.

        Parameters
        ----------
        outcome : array-like of {0, 1} or bool, shape (n_rows,)
            Observed outcomes.
        confidence : array-like of float, shape (n_rows,), or mapping of str to array-like
            Probability stated for outcome 1, in [0, 1]; of several models, by name.
        thresholds : float or array-like of float, optional
            Thresholds, strictly increasing in [0, 1); by default 0.01, 0.02, ..., 0.99. They are rounded to 12
            decimals, and compared with probabilities in the type of these, so that float32(0.7) reaches 0.7.
        cluster : array-like, shape (n_rows,), or data frame of several columns, optional
            Labels of clusters, such as patients with several rows, whose rows may depend on each other. Counts then
            keep the cells of each cluster. They add if no cluster has rows in both.

        Raises
        ------
        ValueError, TypeError
            If values are missing or invalid, or columns differ in length; the message gives the first index. If
            thresholds do not increase strictly, or lie outside [0, 1).

        Examples
        --------
        >>> counts = bc.decisions.ThresholdCounts.from_arrays([0, 1], {"new": [0.2, 0.7], "old": [0.6, 0.6]}, 0.5)
        >>> counts.cells.tolist()
        [[0, 1, 0], [1, 1, 1]]
        """
        by_model = confidence if isinstance(confidence, Mapping) else {UNNAMED: confidence}
        rows = [
            Predictions.from_outcomes(outcome, p, weights, names=("outcome", f"confidence[{name!r}]"), target="event")
            if isinstance(confidence, Mapping)
            else Predictions.from_outcomes(outcome, p, weights, target="event")
            for name, p in by_model.items()
        ]
        clusters = None if cluster is None else Clusters.from_column(cluster, len(rows[0]), rows="outcome")
        return cls.from_predictions(dict(zip(model_names(by_model), rows, strict=True)), thresholds, clusters)

    @classmethod
    def from_predictions(
        cls, rows: Mapping[str, Predictions], thresholds: Any = None, clusters: Clusters | None = None
    ) -> "ThresholdCounts":
        """Count validated rows of one or several models, in the same order and with the same outcomes and weights.

        Parameters
        ----------
        rows : mapping of str to Predictions
            The rows of each model.
        thresholds : float or array-like of float, optional
            As for `from_arrays`.
        clusters : Clusters, optional
            The cluster of each row.

        Raises
        ------
        ValueError
            If there are too many joint cells, or fewer than two clusters; or weights cannot be squared and summed.
        """
        names, every = model_names(rows), as_thresholds(thresholds)
        at = every[every > 0]
        first = next(iter(rows.values()))
        if first.weight is not None and not 1 / LARGEST_WEIGHT < first.weight.max() < LARGEST_WEIGHT:
            refuse_scale(first.weight)
        cells, n, weight = joint_sums(list(rows.values()), bins_between(at))
        square = None if first.weight is None else first.weight**2
        squares = sums_at(first.outcome.astype(np.intp), square, 2)
        by_cluster = cells_of_clusters(list(rows.values()), clusters, bins_between(at))
        counts = cls(at, names, cells, n, weight, squares, by_cluster)
        return counts if len(at) == len(every) else counts.at(every)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        thresholds: Any = None,
        *,
        outcome: str = "outcome",
        confidence: str | Sequence[str] | Mapping[str, str] = "confidence",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
    ) -> "ThresholdCounts | dict[Any, ThresholdCounts]":
        """Count the rows of a data frame in one query of its engine, which returns sums and no rows.

        With `by`, the result has the counts of each group.

        Parameters
        ----------
        frame, outcome, weights, by
            As for `BinnedCounts.from_frame`.
        thresholds : float or array-like of float, optional
            As for `from_arrays`.
        confidence : str, sequence of str, or mapping of str to str, default "confidence"
            Column of probabilities stated for outcome 1, in [0, 1]. Of several models, their columns, which are then
            the names of the models; or the name of each model and its column.

        Raises
        ------
        ValueError, TypeError
            As for `BinnedCounts.from_frame`; also if there are too many joint cells.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"cancer": [0, 1, 1], "new": [0.2, 0.7, 0.9], "old": [0.6, 0.4, 0.8]})
        >>> counts = bc.decisions.ThresholdCounts.from_frame(frame, 0.5, outcome="cancer", confidence=["new", "old"])
        >>> counts.models, counts.cells.tolist()
        (('new', 'old'), [[0, 1, 0], [1, 0, 1], [1, 1, 1]])
        """
        columns = model_columns(confidence)
        names, every = model_names(columns), as_thresholds(thresholds)
        at = every[every > 0]
        bins = bins_between(at)
        check_keys((2 * (len(bins) + 2)) ** len(names), MOST_ENGINE_KEYS, len(at), len(names))
        if len(names) == 1:
            models = [{"outcome": outcome, "confidence": columns[names[0]]}]
        else:
            models = [{"outcome": outcome, f"confidence[{i}]": columns[name]} for i, name in enumerate(names)]
        by_label = {}
        for label, rows in framed(frame, models, weights, by, bins, "event"):
            cells = np.stack([*rows.index, rows.outcome[0]], axis=1)
            weight = rows.n.astype(np.float64) if rows.weight is None else rows.weight
            squares = weight if rows.weight_sq is None else rows.weight_sq
            by_outcome = sums_at(rows.outcome[0], squares, 2)
            counts = cls(at, names, *merged(cells, rows.n, weight, len(bins)), by_outcome)
            by_label[label] = counts if len(at) == len(every) else counts.at(every)
        return by_label[None] if by is None else by_label

    @classmethod
    def from_bins(
        cls, counts: BinnedCounts | PairedCounts, thresholds: Any = None, *, models: Sequence[str] | None = None
    ) -> "ThresholdCounts":
        """Take the counts of an event in bins as counts between thresholds, which are inner edges of the bins.

        Parameters
        ----------
        counts : BinnedCounts or PairedCounts
            Counts of one model, or joint counts of two, without weights; from files, streams or saved counts.
        thresholds : float or array-like of float, optional
            Some of the inner edges; by default all, which must then be valid thresholds.
        models : sequence of str, optional
            Names of the models; by default "model", or "first" and "second".

        Raises
        ------
        ValueError
            If a threshold is not an edge, or an edge no threshold, such as 1; if bins are closed on the right, the
            target is not an event, rows have weights, or the outcomes of two classifiers differ.
        TypeError
            If `counts` are of another type.

        Examples
        --------
        >>> binned = bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=10, target="event")
        >>> bc.decisions.ThresholdCounts.from_bins(binned, [0.5, 0.8]).cells.tolist()
        [[0, 0], [1, 1], [2, 1]]
        """
        margins = event_margins(counts)
        names = model_names(models or ((UNNAMED,) if len(margins) == 1 else ("first", "second")))
        _checks.same_length(("models", "classifiers of `counts`"), (len(names), len(margins)))
        if isinstance(counts, PairedCounts):
            cells, n = counts.cells[:, [0, 2, 1]], counts.n
        else:
            outcome, index = np.nonzero(counts.cells)
            cells, n = np.stack([index, outcome], axis=1), counts.cells[outcome, index]
        edges, rows = margins[0].bins.edges[1:-1], n.astype(np.float64)
        finest = cls(edges, names, *merged(cells, n, rows, len(edges) + 1), sums_at(cells[:, -1], rows, 2))
        if thresholds is None:
            try:
                thresholds = as_thresholds(edges)
            except ValueError as problem:
                context = "of the inner edges of `counts`, give those that are thresholds: "
                raise prefixed(problem, context) from problem
        return finest.at(thresholds)

    def at(self, thresholds: Any) -> "ThresholdCounts":
        """Return the counts of the same rows between some of the thresholds, without another pass over the rows.

        Parameters
        ----------
        thresholds : float or array-like of float
            Some of the present thresholds, and 0, which every row reaches.

        Raises
        ------
        ValueError
            If there is no such threshold.

        Examples
        --------
        >>> counts = bc.decisions.ThresholdCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0.5, 0.8])
        >>> counts.at(0.8).cells.tolist()
        [[0, 0], [0, 1], [1, 1]]
        """
        chosen = as_thresholds(thresholds)
        place = np.searchsorted(self.thresholds, chosen - 0.5 * 10.0**-DECIMALS)
        # no cell lies below a threshold of 0
        known = np.append(self.thresholds, np.inf)
        if chosen[0] == 0 < known[0]:
            known, place[0] = np.append(0.0, known), -1
            near = np.abs(known[place + 1] - chosen)
        else:
            near = np.abs(known[place] - chosen)
        missing = near > 10.0**-DECIMALS
        if missing.any():
            rule, verb = "must be among the thresholds, or edges, of the counts", ("is not", "are not")
            _checks.refuse("thresholds", rule, missing, chosen, hint="Count the rows again.", verb=verb)
        cells = self.cells.copy()
        cells[:, :-1] = np.searchsorted(place, self.cells[:, :-1], side="left")
        joint = merged(cells, self.n, self.weight, len(chosen) + 1)
        clusters = None if self.clusters is None else self.clusters.at(place)
        return ThresholdCounts(chosen, self.models, *joint, self.weight_sq, clusters)

    def _plus(self, other: "ThresholdCounts") -> "ThresholdCounts":
        if not np.array_equal(self.thresholds, other.thresholds):
            raise ValueError(
                "counts can be added only if they have the same thresholds; count all batches with one set."
            )
        if self.models != other.models:
            raise ValueError(
                "counts can be added only if they have the same models in the same order; these have "
                f"{quoted(list(self.models))} and {quoted(list(other.models))}."
            )
        cells, n, weight = (np.concatenate([getattr(c, of) for c in (self, other)]) for of in ("cells", "n", "weight"))
        squares = self.weight_sq + other.weight_sq
        joint, clusters = merged(cells, n, weight, self.n_bins), add_clusters(self.clusters, other.clusters)
        return ThresholdCounts(self.thresholds, self.models, *joint, squares, clusters)

    def __repr__(self) -> str:
        return (
            f"ThresholdCounts({self.n_rows} rows, {int(self.n[self.outcome == 1].sum())} with outcome 1, "
            f"{'' if self.clusters is None else f'{self.clusters.number} clusters, '}"
            f"{len(self.thresholds)} threshold{'s' * (len(self.thresholds) > 1)}, models {quoted(list(self.models))})"
        )

    @property
    def n_bins(self) -> int:
        """Number of score cells of a model: one more than thresholds."""
        return len(self.thresholds) + 1

    @property
    def strata(self) -> tuple[Ints, Floats] | None:
        """Stratum of each joint cell, and effective rows of each stratum, if some rows stand for censored ones."""
        return None

    @property
    def outcome(self) -> Ints:
        """Outcome of each joint cell, shape (n_cells,)."""
        return self.cells[:, -1]

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.weight, self.n) and np.array_equal(self.weight_sq, self.by_outcome(self.n)))

    @property
    def fingerprint(self) -> int:
        """A number that differs between different counts, names of models or thresholds."""
        arrays = (self.thresholds, self.cells, self.n, self.weight, self.weight_sq)
        return fingerprint(self.models, *arrays, *(() if self.clusters is None else self.clusters.arrays))

    @property
    def effective_rows(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return effective_number(self.weight, self.weight_sq)

    @property
    def weights_by_outcome_only(self) -> bool:
        """Whether all weights of one outcome are equal, and differ between the outcomes, as in case-control data.

        Rows of weight 0 do not count, and at least two others are needed per outcome.
        """
        return only_by_outcome(self.outcome, self.n, self.weight, self.weight_sq)

    def by_outcome(self, values: Array) -> Floats:
        """Sum one number per joint cell by outcome, shape (2,)."""
        return sums_at(self.outcome, values, 2)

    def effective(self, *, by_outcome: bool = False) -> Floats:
        """Effective number of rows of each joint cell, shape (n_cells,): weights times (sum w) / (sum w^2).

        Parameters
        ----------
        by_outcome : bool, default False
            Whether both sums are over the rows of the same outcome, for quantities given the outcome.
        """
        return self.weight * self.rates(by_outcome=by_outcome)[self.outcome]

    def rates(self, *, by_outcome: bool = False) -> Floats:
        """Effective rows per weight of each outcome, (sum w) / (sum w^2), shape (2,); parameters as for `effective`."""
        total, squares = self.by_outcome(self.weight), self.weight_sq
        if not by_outcome:
            total, squares = np.full(2, total.sum()), np.full(2, squares.sum())
        return np.divide(total, squares, out=np.zeros(2), where=squares > 0)

    def margin(self, model: int, values: Array) -> Floats:
        """Sum one number per joint cell by the outcome and score cell of one model, shape (2, n_bins)."""
        place = self.outcome * self.n_bins + self.cells[:, model]
        return sums_at(place, values, 2 * self.n_bins).reshape(2, -1)


def event_margins(counts: Any) -> list[BinnedCounts]:
    """Return the counts of each classifier, if they can be taken as counts of models between thresholds."""
    if not isinstance(counts, BinnedCounts | PairedCounts):
        raise TypeError(
            f"`counts` must be ThresholdCounts, BinnedCounts or PairedCounts, not {type(counts).__name__}; make them "
            "with `ThresholdCounts.from_arrays(outcome, confidence, thresholds)`."
        )
    refuse_clusters(counts, "counts", "net benefit of bins")
    margins = [counts] if isinstance(counts, BinnedCounts) else [counts.first, counts.second]
    if counts.weighted:
        raise ValueError(text_of("weights at thresholds"))
    if len({each.bins for each in margins}) > 1:
        raise ValueError("`counts` must have the same bins for both classifiers.")
    bins, target = margins[0].bins, margins[0].target
    if target not in ("event", "classwise"):
        raise ValueError(
            f"`counts` must be of an event (`target='event'`), which decisions are about; not of {target!r}."
        )
    if bins.closed != "left":
        raise ValueError("`counts` must have bins that are closed on the left: a row is treated at t if p >= t.")
    if len(bins) < 2:
        raise ValueError("`counts` must have at least two bins, whose inner edges are the thresholds.")
    if isinstance(counts, PairedCounts) and (counts.cells[:, 1] != counts.cells[:, 3]).any():
        raise ValueError("`counts` must have the same outcome for both classifiers.")
    return margins
