"""BinnedCounts: all that the posteriors need to know of the rows. Frozen, and anything counted can be added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import TARGETS, Columns, Predictions
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.checked import sums_of_classes, sums_of_rows
from bayescal.stats.losses import LossSums, add_losses
from bayescal.stats.query.framed import bins_before_rows, framed, sums_of
from bayescal.stats.row_counts import added, row_counts, unit_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BinnedCounts:
    """Rows counted by bin and outcome; batches, files and workers add up to the single pass, integer for integer.

    Parameters
    ----------
    bins : Bins
        The edges.
    cells : ndarray of int64, shape (2, n_bins)
        Rows with outcome 0 (first row) and 1 (second row); they add up to less than 2^63.
    weight : ndarray, shape (2, n_bins)
        Sum of weights by outcome; equal to `cells` where rows are unweighted.
    deviation : ndarray, shape (2, n_bins)
        Sum of weight times (confidence - midpoint), by outcome.
    deviation_sq : ndarray, shape (n_bins,)
        Sum of weight times (confidence - midpoint) squared.
    weight_sq : ndarray, shape (n_bins,)
        Sum of squared weights.
    target : str
        What confidence and outcome mean.
    losses : LossSums of shape (2, n_bins), or None
        Sums of squared errors (outcome - confidence)^2 and of their squares, by outcome, for the Brier score. None
        if a file of release 0.1.0 is part of these counts.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.3, 0.8, 1.0], bins=2)
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

    def __post_init__(self) -> None:
        _checks.one_of("target", self.target, TARGETS)
        object.__setattr__(self, "cells", row_counts("cells", self.cells))
        for name in ("cells", "weight", "deviation", "deviation_sq", "weight_sq"):
            values = getattr(self, name).view()
            values.setflags(write=False)  # `counts.k += 1` on a view would make the sums disagree
            object.__setattr__(self, name, values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays from copies and pickles are writable and unchecked

    @classmethod
    def empty(cls, bins: Any = 15, *, target: str = "confidence") -> "BinnedCounts":
        """Counts of no rows: the neutral element of ``+``, and what the prior is asked of.

        Parameters
        ----------
        bins : int or array-like, default 15
            A number of equal-width bins, or edges.
        target : str, default "confidence"
            What confidence and outcome mean.

        Examples
        --------
        >>> BinnedCounts.empty(3).n
        array([0, 0, 0])
        """
        made = make_bins(bins)
        cell = np.zeros((2, len(made)))
        row, losses = np.zeros(len(made)), LossSums.empty(2, len(made))
        return cls(made, cell.astype(np.int64), cell, cell.copy(), row, row.copy(), target, losses)

    @classmethod
    def from_arrays(
        cls,
        outcome: Any,
        confidence: Any,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        weights: Any = None,
        target: str = "confidence",
    ) -> "BinnedCounts":
        """Count the rows of a binary problem.

        Parameters
        ----------
        outcome : array-like of {0, 1} or bool, shape (n_rows,)
            What happened.
        confidence : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        bins : int or array-like, default 15
            A number of bins, or edges that increase from 0 to 1.
        binning : {"equal-width", "equal-mass"}, default "equal-width"
            How a number becomes edges.
        weights : array-like, shape (n_rows,), optional
            Importance weights >= 0.
        target : {"confidence", "event", "top-label", "classwise"}, default "confidence"
            What the columns mean; printed with every result, and only counts of one target can be added.

        Returns
        -------
        BinnedCounts
            The counts.

        Raises
        ------
        ValueError, TypeError
            For missing, out-of-range or unequal columns; the message says where.

        Examples
        --------
        >>> BinnedCounts.from_arrays([True, False], [0.9, 0.4], bins=[0, 0.5, 1]).accuracy
        array([0., 1.])
        """
        columns = Columns.read(outcome, confidence, weights, target=target)
        return cls.from_predictions(columns, bins=bins, binning=binning)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        outcome: str = "outcome",
        confidence: str = "confidence",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        bins: Any = 15,
        binning: str = "equal-width",
        target: str = "confidence",
    ) -> Any:
        """Count the rows of a data frame where they are: one query of its own engine, from which only sums come back.

        Parameters
        ----------
        frame : data frame
            pandas, polars (eager or lazy), a pyarrow Table, a duckdb relation, dask or pyspark. It is not changed.
        outcome : str, default "outcome"
            Column of 0 and 1, or booleans: what happened.
        confidence : str, default "confidence"
            Column of probabilities stated for outcome 1, in [0, 1]. Compared with the edges in its own type, float32 or
            float64, so that every engine gives the same integers as `from_arrays`.
        weights : str, optional
            Column of importance weights >= 0.
        by : str or sequence of str, optional
            Columns of labels: the rows of each label (or combination of labels) are counted apart, in the same query.
        bins : int, array-like or Bins, default 15
            A number of equal-width bins, or edges that increase from 0 to 1.
        binning : {"equal-width"}
            Equal-mass bins need all confidences in order; make their edges from a sample.
        target : str, default "confidence"
            What the columns mean.

        Returns
        -------
        BinnedCounts, or dict of label to BinnedCounts
            The counts; with `by` those of each group, sorted (or in the order of an ordered categorical), labelled by
            tuples where `by` names several columns.

        Raises
        ------
        ValueError
            If a column does not exist; if rows are missing, out of range or not 0 and 1: the message says how many.
        TypeError
            If `frame` is not a data frame, or a column has a type that cannot be meant.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"hit": [0, 1, 1], "p": [0.2, 0.7, 0.9], "site": ["a", "b", "a"]})
        >>> BinnedCounts.from_frame(frame, outcome="hit", confidence="p", bins=2).n
        array([1, 2])
        >>> BinnedCounts.from_frame(frame, outcome="hit", confidence="p", by="site", bins=2)["a"].n
        array([1, 1])
        """
        made = bins_before_rows(bins, binning)
        models = [{"outcome": outcome, "confidence": confidence}]
        counts = {
            label: cls(made, **vars(sums_of(rows, 0, made)), target=target)
            for label, rows in framed(frame, models, weights, by, made, target)
        }
        return counts[None] if by is None else counts

    @classmethod
    def from_predictions(
        cls, predictions: Predictions | Columns, *, bins: Any = 15, binning: str = "equal-width"
    ) -> "BinnedCounts":
        """Count rows; those whose values nobody has looked at yet are checked in the same pass.

        Parameters
        ----------
        predictions : Predictions or Columns
            The rows.
        bins, binning
            As for `from_arrays`.

        Returns
        -------
        BinnedCounts
            The counts, with the predictions' target.

        Raises
        ------
        ValueError
            If weights are too large or too small for their squares to be summed.
        """
        if isinstance(predictions, Columns) and binning == "equal-mass":
            predictions = predictions.checked()  # before its edges are made
        made = make_bins(bins, binning=binning, confidence=predictions.confidence)
        return cls(made, **vars(sums_of_rows(predictions, made)), target=predictions.target)

    @classmethod
    def classwise(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        bins: Any = 15,
        weights: Any = None,
        classes: Sequence[Any] | None = None,
        logits: bool = False,
    ) -> "tuple[BinnedCounts, ...]":
        """Count the rows of the problems of all classes, in one pass over the matrix.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Class numbers, or labels from `classes`.
        y_prob : array-like of float, shape (n_rows, n_classes)
            Probability of every class; rows sum to 1.
        bins : int or array-like, default 15
            A number of equal-width bins, or edges; the same for all classes.
        weights : array-like, shape (n_rows,), optional
            Importance weights >= 0.
        classes : sequence, optional
            Labels in the order of the columns.
        logits : bool, default False
            Whether `y_prob` holds logits.

        Returns
        -------
        tuple of BinnedCounts
            One a column: is class k as frequent as stated?

        Raises
        ------
        ValueError, TypeError
            As `Predictions.from_labels` with a matrix.

        Examples
        --------
        >>> [c.k.tolist() for c in BinnedCounts.classwise([1, 0], [[0.2, 0.8], [0.6, 0.4]], bins=2)]
        [[0, 1], [0, 1]]
        """
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights)
        return cls.of_classes(rows, bins=bins)

    @classmethod
    def of_classes(cls, rows: ClassRows, *, bins: Any = 15) -> "tuple[BinnedCounts, ...]":
        """Count the rows of a matrix, as `classwise` does, values being checked in the same pass."""
        made = make_bins(bins)
        return tuple(cls(made, **vars(sums), target="classwise") for sums in sums_of_classes(rows, made))

    def __add__(self, other: object) -> "BinnedCounts":
        if isinstance(other, int) and other == 0:  # what sum() begins with
            return self
        if not isinstance(other, BinnedCounts):
            return NotImplemented
        if self.bins != other.bins:
            raise ValueError(
                f"counts can be added only on the same edges; these have {self.bins} and {other.bins}. "
                "Count all batches with one set of edges."
            )
        if self.target != other.target:
            raise ValueError(f"counts of target {self.target!r} and {other.target!r} answer different questions.")
        cells = row_counts("cells", added(self.cells, other.cells))
        weight, weight_sq = self.weight + other.weight, self.weight_sq + other.weight_sq
        if not (self.weighted or other.weighted):  # from 2^53 rows on, float sums may be inexact
            weight, weight_sq = unit_weights(cells)
        deviation, deviation_sq = self.deviation + other.deviation, self.deviation_sq + other.deviation_sq
        losses = add_losses(self.losses, other.losses)
        return BinnedCounts(self.bins, cells, weight, deviation, deviation_sq, weight_sq, self.target, losses)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BinnedCounts)
            and self.bins == other.bins
            and self.target == other.target
            and self.losses == other.losses
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("cells", "weight", "deviation", "deviation_sq", "weight_sq")
            )
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality is by content, so no hash

    def __repr__(self) -> str:
        return f"BinnedCounts({self.bins}, {self.n_rows} rows, {int(self.k.sum())} with outcome 1)"

    @property
    def n(self) -> Ints:
        """Rows in each bin, shape (n_bins,)."""
        return self.cells.sum(axis=0)

    @property
    def k(self) -> Ints:
        """Rows with outcome 1 in each bin, shape (n_bins,)."""
        return self.cells[1]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.cells.sum())

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.weight, self.cells) and np.array_equal(self.weight_sq, self.n))

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Bins with weight, shape (n_bins,)."""
        return self.weight.sum(axis=0) > 0

    @property
    def accuracy(self) -> Floats:
        """(Weighted) share of outcome 1 in each bin; NaN where a bin is empty."""
        return _ratio(self.weight[1], self.weight.sum(axis=0))

    @property
    def mean_confidence(self) -> Floats:
        """(Weighted) mean confidence in each bin; NaN where a bin is empty."""
        return self.bins.midpoints + _ratio(self.deviation.sum(axis=0), self.weight.sum(axis=0))

    @property
    def share(self) -> Floats:
        """Share of the (weighted) rows in each bin; sums to 1, or is 0 everywhere without rows."""
        total = self.weight.sum()
        return self.weight.sum(axis=0) / (total if total > 0 else 1.0)

    @property
    def effective_n(self) -> Floats:
        """Kish's effective number of rows of each bin, (sum w)^2 / sum w^2; equal to `n` without weights."""
        return self.weight.sum(axis=0) * self._rows_per_weight

    @property
    def effective_k(self) -> Floats:
        """Effective number of rows with outcome 1: `effective_n` times `accuracy`; equal to `k` without weights."""
        return self.weight[1] * self._rows_per_weight

    @property
    def _rows_per_weight(self) -> Floats:
        """Sum w / sum w^2 of each bin: exactly 1 for unit weights, so that the integers stay what they are."""
        return np.nan_to_num(_ratio(self.weight.sum(axis=0), self.weight_sq))

    @property
    def effective_rows(self) -> float:
        """Kish's effective number of all rows, which is what the bin masses rest on."""
        squares = float(self.weight_sq.sum())
        return float(self.weight.sum() ** 2 / squares) if squares > 0 else 0.0

    def coarsen(self, edges: ArrayLike | Bins) -> "BinnedCounts":
        """Merge bins: the counts on a subset of the edges, without another pass over the rows.

        Parameters
        ----------
        edges : array-like, int or Bins
            Edges, each of which is among the present ones; a number means that many bins of equal width.

        Returns
        -------
        BinnedCounts
            The same rows on fewer bins.

        Raises
        ------
        ValueError
            If an edge is not among the present ones.

        Examples
        --------
        >>> fine = BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.3, 0.9], bins=4)
        >>> fine.coarsen([0, 0.5, 1]).n
        array([2, 1])
        """
        merged = make_bins(edges)
        start = np.searchsorted(self.bins.edges, merged.edges)
        missing = self.bins.edges[np.minimum(start, len(self.bins))] != merged.edges
        if missing.any():
            rule, verb = "must be among the edges that were counted", ("is not", "are not")
            _checks.refuse("edges", rule, missing, merged.edges, verb=verb)
        to = np.repeat(np.arange(len(merged)), np.diff(start))
        shift = self.bins.midpoints - merged.midpoints[to]
        total = self.deviation.sum(axis=0)
        squares = self.deviation_sq + 2 * shift * total + shift**2 * self.weight.sum(axis=0)

        def add(values: NDArray[Any]) -> NDArray[Any]:
            return np.add.reduceat(values, start[:-1], axis=-1)

        cells = add(self.cells)
        weight, weight_sq = (add(self.weight), add(self.weight_sq)) if self.weighted else unit_weights(cells)
        deviation = add(self.deviation + shift * self.weight)
        losses = None if self.losses is None else self.losses.apply(add)
        return BinnedCounts(merged, cells, weight, deviation, add(squares), weight_sq, self.target, losses)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)
