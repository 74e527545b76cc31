"""BinnedCounts: the sums over rows that posteriors need, by bin and outcome. Frozen and addable."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks
from bayescal._arrays import Array, Bools, Classes, Floats, Ints
from bayescal._meant import public
from bayescal._rules import LARGEST_WEIGHT
from bayescal.data.columns import own_hints, refuse_scale
from bayescal.data.groups import Clusters
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import TARGETS, Columns, Predictions
from bayescal.data.reading import Reading
from bayescal.stats._kernel import CellSums, accumulate, accumulate_classes
from bayescal.stats.bins import FROM_ROWS, Bins, make_bins
from bayescal.stats.clusters import ClusterSums, add_clusters
from bayescal.stats.frozen import Counted
from bayescal.stats.losses import KINDS, LossSums, added_by_name, applied_by_name
from bayescal.stats.query.row_sums import bins_before_rows, framed, framed_clusters, sums_of
from bayescal.stats.ranks import Ranks, add_ranks
from bayescal.stats.sums import added, effective_number, ratio, row_counts, unit_weights


@public
@dataclass(frozen=True, eq=False)
class BinnedCounts(Counted):
    """Numbers of rows and sums over rows, by bin and outcome.

    Counts of batches, files or workers can be added; the row counts of the sum equal those of one pass over all rows.

    Parameters
    ----------
    bins : Bins
        The bins.
    cells : ndarray of int64, shape (2, n_bins)
        Numbers of rows with outcome 0 (first row) and 1 (second row); their sum is below 2^63.
    weight : ndarray, shape (2, n_bins)
        Sums of weights, by outcome; equal to `cells` if rows have no weights.
    deviation : ndarray, shape (2, n_bins)
        Sums of weight * (confidence - midpoint of the bin), by outcome.
    deviation_sq : ndarray, shape (n_bins,)
        Sums of weight * (confidence - midpoint of the bin)^2.
    weight_sq : ndarray, shape (n_bins,)
        Sums of squared weights.
    target : {"confidence", "event", "top-label", "classwise"}
        Meaning of outcome and confidence; see `evaluate`.
    losses : LossSums of shape (2, n_bins), or None
        Sums of weight * loss and of weight * loss^2, by outcome, for the Brier score; the loss is (outcome -
        confidence)^2. None if the counts were made without these sums.
    log_losses : LossSums of shape (2, n_bins), or None
        The same sums for the log score; the loss is -log(confidence) for outcome 1 and -log(1 - confidence) for outcome
        0. Rows with infinite loss are counted apart. None for counts of all classes of a matrix, and if some of the
        counts were read from a file without these sums.
    ranks : Ranks or None
        The rows on a grid of confidences that is finer than the bins, for the area under the ROC curve: from rows
        counted by `evaluate`, or the bins before `coarsen`. None if there is no finer grid. Counts with equal sums by
        bin are equal, whatever their ranks, and files do not contain ranks.
    clusters : ClusterSums or None
        Sums over clusters of rows whose outcomes may depend; None if rows are independent. The effective numbers of
        rows are then divided by the design effects. No cluster may have rows in two batches that are added.
    reading : Reading
        How the probabilities were read: rows of a matrix that were divided by their sum, and logits of which none is
        above 0. Results state it in a remark. Equality of counts does not depend on it.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.3, 0.8, 1.0], bins=2)
    >>> counts.n, counts.k, counts.mean_confidence
    (array([2, 2]), array([1, 2]), array([0.25, 0.9 ]))
    >>> (counts + counts).n
    array([4, 4])
    """

    bins: Bins
    cells: Ints
    weight: Floats
    deviation: Floats
    deviation_sq: Floats
    weight_sq: Floats
    target: str = "confidence"
    losses: LossSums | None = None
    log_losses: LossSums | None = None
    ranks: Ranks | None = field(default=None, compare=False)
    clusters: ClusterSums | None = None
    reading: Reading = field(default_factory=Reading, compare=False)

    rows_field = "cells"

    def __post_init__(self) -> None:
        _checks.one_of("target", self.target, TARGETS)
        super().__post_init__()

    @classmethod
    def empty(cls, bins: Any = 15, *, target: str = "confidence") -> "BinnedCounts":
        """Return counts without rows: adding them changes nothing, and evaluating them gives the prior.

        Examples
        --------
        >>> bc.BinnedCounts.empty(3).n
        array([0, 0, 0])
        """
        edges = make_bins(bins)
        cell = np.zeros((2, len(edges)))
        row = np.zeros(len(edges))
        losses: dict[str, Any] = {name: LossSums.empty(2, len(edges)) for name in KINDS}
        return cls(edges, cell.astype(np.int64), cell, cell.copy(), row, row.copy(), target, **losses)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        weights: Any = None,
        cluster: Any = None,
        target: str = "confidence",
    ) -> "BinnedCounts":
        """Count the rows of a binary problem.

        Parameters
        ----------
        y_true : array-like of {0, 1} or bool, shape (n_rows,)
            Observed outcomes.
        y_prob : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        cluster : array-like, shape (n_rows,), optional
            Cluster of each row, as for `evaluate`. No cluster may have rows in two batches that are added: this cannot
            be seen from sums, and the parts would count as independent clusters.
        target : {"confidence", "event", "top-label", "classwise"}, default "confidence"
            Meaning of outcome and confidence. Results print it; only counts of the same target can be added.

        Raises
        ------
        ValueError, TypeError
            If values are missing or invalid, or columns differ in length; the message gives the first index.

        Examples
        --------
        >>> bc.BinnedCounts.from_arrays([True, False], [0.9, 0.4], bins=[0, 0.5, 1]).accuracy
        array([0., 1.])
        """
        with own_hints():
            columns = Columns.read(y_true, y_prob, weights, names=("y_true", "y_prob"), target=target)
            clusters = None if cluster is None else Clusters.from_column(cluster, len(columns), rows="y_true")
            return cls.from_predictions(columns, bins=bins, binning=binning, clusters=clusters)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        outcome: str = "outcome",
        confidence: str = "confidence",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        cluster: str | Sequence[str] | None = None,
        bins: Any = 15,
        binning: str = "equal-width",
        target: str = "confidence",
    ) -> "BinnedCounts | dict[Any, BinnedCounts]":
        """Count the rows of a data frame in one query of its engine, which returns sums and no rows.

        With `by`, there is one entry per group, in the order of the sorted labels or of an ordered categorical. Keys
        are tuples if `by` names several columns.

        Parameters
        ----------
        frame : data frame
            A pandas, polars (eager or lazy), dask or pyspark data frame, a pyarrow Table or a duckdb relation. It is
            not modified.
        outcome : str, default "outcome"
            Column of outcomes: 0 and 1, or booleans. ``y_true=`` is accepted for it, and ``y_prob=`` for `confidence`.
        confidence : str, default "confidence"
            Column of probabilities stated for outcome 1, in [0, 1]. The edges are converted to the type of this column,
            float32 or float64, so that every engine returns the same numbers of rows as `from_arrays`.
        weights : str, optional
            Column of importance weights >= 0.
        by : str or sequence of str, optional
            Columns of group labels: rows are counted by label, or by combination of labels, in the same query.
        cluster : str or sequence of str, optional
            Columns of cluster labels, as for `evaluate`; not with `weights` or `by`. The query returns one row per
            cluster, bin and outcome that occur together. No cluster may have rows in two frames whose counts are added.
        binning : {"equal-width"}
            Only equal-width bins. Other edges would require sorting all confidences; compute them from a sample with
            `equal_mass_edges` or `equal_effective_mass_edges`, and pass them as `bins`.

        Raises
        ------
        ValueError
            If a column does not exist, or values are missing or invalid; the message gives their number.
        TypeError
            If `frame` is not a data frame, or a column has an unsuitable type.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"hit": [0, 1, 1], "p": [0.2, 0.7, 0.9], "site": ["a", "b", "a"]})
        >>> bc.BinnedCounts.from_frame(frame, outcome="hit", confidence="p", bins=2).n
        array([1, 2])
        >>> bc.BinnedCounts.from_frame(frame, outcome="hit", confidence="p", by="site", bins=2)["a"].n
        array([1, 1])
        """
        edges = bins_before_rows(bins, binning)
        classifiers = [{"outcome": outcome, "confidence": confidence}]
        if cluster is not None:
            if weights is not None or by is not None:
                raise ValueError(
                    "`cluster` cannot be combined with `weights` or `by` in a query; use `from_arrays` or `count_file`."
                )
            sums, clusters = framed_clusters(frame, classifiers[0], cluster, edges, target)
            return cls(edges, **vars(sums), target=target, clusters=clusters)
        counts = {
            label: cls(edges, **vars(sums_of(rows, 0, edges)), target=target)
            for label, rows in framed(frame, classifiers, weights, by, edges, target)
        }
        return counts[None] if by is None else counts

    @classmethod
    def from_predictions(
        cls,
        predictions: Predictions | Columns,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        clusters: Clusters | None = None,
    ) -> "BinnedCounts":
        """Count rows; the values of unvalidated `Columns` are checked in the same pass.

        The counts have the predictions' target.

        Parameters
        ----------
        predictions : Predictions or Columns
            The rows.
        bins, binning
            As for `from_arrays`.
        clusters : Clusters, optional
            The cluster of each row.

        Raises
        ------
        ValueError
            If weights are too large or too small for their squares to be summed.
        """
        if isinstance(predictions, Columns) and binning in FROM_ROWS:
            predictions = predictions.checked()  # the edges depend on the values
        edges = make_bins(bins, binning=binning, confidence=predictions.confidence, weights=predictions.weight)
        sums = vars(sums_of_rows(predictions, edges))
        counts = cls(edges, **sums, target=predictions.target, reading=predictions.reading)
        if clusters is None:
            return counts
        return replace(counts, clusters=ClusterSums.from_rows(predictions, clusters.of_row, edges))

    @classmethod
    def classwise(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        bins: Any = 15,
        weights: Any = None,
        classes: Classes = None,
        logits: bool = False,
    ) -> "tuple[BinnedCounts, ...]":
        """Count the rows of a multi-class problem as one binary problem per class, in one pass over the matrix.

        In the counts of class k, the outcome is 1 if the row has class k, and the confidence is column k.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Class numbers 0..K-1, or labels from `classes`.
        y_prob : array-like of float, shape (n_rows, n_classes)
            Probability of every class, in [0, 1]; each row sums to 1.
        bins : int or array-like, default 15
            Number of equal-width bins, or edges; the same for all classes.

        Raises
        ------
        ValueError, TypeError
            As for `Predictions.from_labels` with a matrix.

        Examples
        --------
        >>> [c.k.tolist() for c in bc.BinnedCounts.classwise([1, 0], [[0.2, 0.8], [0.6, 0.4]], bins=2)]
        [[0, 1], [0, 1]]
        """
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights)
        return cls.of_classes(rows, bins=bins)

    @classmethod
    def of_classes(cls, rows: ClassRows, *, bins: Any = 15) -> "tuple[BinnedCounts, ...]":
        """Count the rows of a matrix as `classwise` does; values are checked in the same pass."""
        edges = make_bins(bins)
        counted, reading = sums_of_classes(rows, edges)
        return tuple(cls(edges, **vars(sums), target="classwise", reading=reading) for sums in counted)

    def _plus(self, other: "BinnedCounts") -> "BinnedCounts":
        if self.bins != other.bins:
            raise ValueError(
                f"counts can be added only if they have the same edges; these have {self.bins} and {other.bins}. "
                "Count all batches with one set of edges."
            )
        if self.target != other.target:
            raise ValueError(
                "counts can be added only if they have the same target; these have "
                f"{self.target!r} and {other.target!r}."
            )
        cells = row_counts("cells", added(self.cells, other.cells))
        weight, weight_sq = self.weight + other.weight, self.weight_sq + other.weight_sq
        if not (self.weighted or other.weighted):  # from 2^53 rows on, float sums may be inexact
            weight, weight_sq = unit_weights(cells)
        deviation, deviation_sq = self.deviation + other.deviation, self.deviation_sq + other.deviation_sq
        losses = added_by_name(KINDS, self, other)
        counts = BinnedCounts(self.bins, cells, weight, deviation, deviation_sq, weight_sq, self.target, **losses)
        counts = replace(counts, reading=self.reading + other.reading)
        if not (self.n_rows and other.n_rows):
            rows = self if self.n_rows else other
            return replace(counts, ranks=rows.ranks, clusters=rows.clusters)
        clusters = add_clusters(self.clusters, other.clusters)
        return replace(counts, ranks=add_ranks(self.ranks, other.ranks), clusters=clusters)

    def __repr__(self) -> str:
        return f"BinnedCounts({self.bins}, {self.n_rows} rows, {int(self.k.sum())} with outcome 1)"

    @property
    def n(self) -> Ints:
        """Number of rows in each bin, shape (n_bins,)."""
        return self.cells.sum(axis=0)

    @property
    def k(self) -> Ints:
        """Number of rows with outcome 1 in each bin, shape (n_bins,)."""
        return self.cells[1]

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.weight, self.cells) and np.array_equal(self.weight_sq, self.n))

    @property
    def occupied(self) -> Bools:
        """Whether each bin has rows of positive weight, shape (n_bins,)."""
        return self.weight.sum(axis=0) > 0

    @property
    def accuracy(self) -> Floats:
        """(Weighted) share of outcome 1 in each bin, shape (n_bins,); NaN if a bin is empty."""
        return ratio(self.weight[1], self.weight.sum(axis=0))

    @property
    def mean_confidence(self) -> Floats:
        """(Weighted) mean confidence in each bin, shape (n_bins,); NaN if a bin is empty."""
        mean = self.bins.midpoints + ratio(self.deviation.sum(axis=0), self.weight.sum(axis=0))
        return np.clip(mean, 0.0, 1.0)  # rounded, the mean of confidences of 1 may exceed 1

    @property
    def within_variance(self) -> Floats:
        """(Weighted) variance of the confidences inside each bin, shape (n_bins,); NaN if a bin is empty."""
        total = self.weight.sum(axis=0)
        # deviations are measured from the middle of the bin, which changes neither variance nor covariance
        mean = ratio(self.deviation.sum(axis=0), total)
        return np.maximum(ratio(self.deviation_sq, total) - mean**2, 0.0)

    @property
    def within_covariance(self) -> Floats:
        """(Weighted) covariance of outcome and confidence inside each bin, shape (n_bins,); NaN if a bin is empty.

        Under exact calibration its expectation is `within_variance`.
        """
        total = self.weight.sum(axis=0)
        return ratio(self.deviation[1], total) - ratio(self.deviation.sum(axis=0), total) * self.accuracy

    @property
    def share(self) -> Floats:
        """Share of the (weighted) rows in each bin, shape (n_bins,); 0 in every bin if there are no rows."""
        total = self.weight.sum()
        return self.weight.sum(axis=0) / (total if total > 0 else 1.0)

    @property
    def effective_n(self) -> Floats:
        """Effective number of rows of each bin (Kish 1965), (sum w)^2 / sum w^2, divided by the design effect.

        Equal to `n` without weights and clusters.
        """
        return self.weight.sum(axis=0) * self._rows_per_weight

    @property
    def effective_k(self) -> Floats:
        """Effective number of rows with outcome 1: `effective_n` times `accuracy`; equal to `k` without weights."""
        return self.weight[1] * self._rows_per_weight

    @property
    def _rows_per_weight(self) -> Floats:
        """Sum w / sum w^2 of each bin: exactly 1 for unit weights, so that `effective_n` equals the integers `n`."""
        return ratio(self.weight.sum(axis=0), self._squares, empty=0.0)

    @property
    def _squares(self) -> Floats:
        """Sum w^2 of each bin times its design effect: the only place where clusters change the evidence."""
        return self.weight_sq if self.clusters is None else self.weight_sq * self.clusters.effects

    @property
    def effective_rows(self) -> float:
        """Effective total number of rows, used for the bin masses; see `effective_n`."""
        return effective_number(self.weight, self._squares)

    def with_total_effect(self) -> "BinnedCounts":
        """Return counts of rows without clusters that have the design effect of the total in each bin."""
        if self.clusters is None:
            return self
        return replace(self, weight_sq=self.weight_sq * self.clusters.total_effect, clusters=None)

    def coarsen(self, edges: ArrayLike | Bins) -> "BinnedCounts":
        """Merge neighbouring bins, without another pass over the rows.

        The present bins remain the grid of the area under the ROC curve (`ranks`).

        Parameters
        ----------
        edges : array-like, int or Bins
            The edges to keep, a subset of the present edges; an integer is a number of equal-width bins. The bins stay
            closed on the same side.

        Raises
        ------
        ValueError
            If an edge is not among the present edges.

        Examples
        --------
        >>> fine = bc.BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.3, 0.9], bins=4)
        >>> fine.coarsen([0, 0.5, 1]).n
        array([2, 1])
        """
        if isinstance(edges, Bins) and edges.closed != self.bins.closed:
            raise ValueError(
                f"`edges` must be closed on the {self.bins.closed}, as the bins of the counts are, not on the "
                f"{edges.closed}. Count the rows again for the other side."
            )
        merged = replace(make_bins(edges), closed=self.bins.closed)
        start = np.searchsorted(self.bins.edges, merged.edges)
        missing = self.bins.edges[np.minimum(start, len(self.bins))] != merged.edges
        if missing.any():
            rule, verb = "must be among the edges of the counts", ("is not", "are not")
            _checks.refuse("edges", rule, missing, merged.edges, verb=verb)
        to = np.repeat(np.arange(len(merged)), np.diff(start))
        shift = self.bins.midpoints - merged.midpoints[to]
        total = self.deviation.sum(axis=0)
        squares = self.deviation_sq + 2 * shift * total + shift**2 * self.weight.sum(axis=0)

        def add(values: Array) -> Array:
            return np.add.reduceat(values, start[:-1], axis=-1)

        cells = add(self.cells)
        weight, weight_sq = (add(self.weight), add(self.weight_sq)) if self.weighted else unit_weights(cells)
        deviation = add(self.deviation + shift * self.weight)
        parts: dict[str, Any] = applied_by_name(KINDS, self, lambda sums: sums.apply(add))
        parts["clusters"] = None if self.clusters is None else self.clusters.coarsen(start[:-1])
        parts["reading"] = self.reading
        parts["ranks"] = self.ranks or Ranks.of_bins(self.bins, self.weight, self.weight_sq)
        return BinnedCounts(merged, cells, weight, deviation, add(squares), weight_sq, self.target, **parts)


def sums_of_rows(rows: Predictions | Columns, bins: Bins) -> CellSums:
    """Sum rows by bin and outcome; raise as `Columns.checked` does, or if squares of weights would overflow."""
    counted = accumulate(rows.confidence, rows.outcome, rows.weight, bins)
    if isinstance(rows, Columns) and (counted is None or counted[1] == 0):
        # a value is invalid: check all rows, which reports the invalid values, or clips those outside by rounding
        return sums_of_rows(rows.checked(), bins)
    return _usable(counted, rows.weight)


def sums_of_classes(rows: ClassRows, bins: Bins) -> tuple[list[CellSums], Reading]:
    """Sum the rows of a matrix by bin and outcome, for every class; also return how they were read."""
    counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, rows.tolerance)
    if counted is None or counted[1] == 0:
        rows = rows.checked()
        counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, np.inf)
    return _usable(counted, rows.weight), rows.reading


def _usable[T](counted: tuple[T, float] | None, weight: Array | None) -> T:
    """Return the sums of rows that have passed the checks."""
    if counted is None:
        raise ArithmeticError("rows that passed the checks cannot be counted; this is a bug, please report it.")
    sums, heaviest = counted
    if weight is not None and not 1 / LARGEST_WEIGHT < heaviest < LARGEST_WEIGHT:
        refuse_scale(weight)
    return sums
