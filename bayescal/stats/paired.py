"""PairedCounts: rows counted by what two models said of them together. Frozen, and anything counted can be added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.alignment import same_rows
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.losses import LossSums, add_losses
from bayescal.stats.query.framed import bins_before_rows, framed, joint_of, loss_difference_of, sums_of
from bayescal.stats.row_counts import row_counts, summed_by_key, unit_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows at a time.
CHUNK = 65_536
#: The same for losses, whose few arrays then stay in the processor's second-level cache.
LOSSES = 16_384
#: Up to so many possible joint cells there is an array of all of them; beyond, only of those that occur.
DENSE_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class PairedCounts:
    """Rows counted by the bins and outcomes of two models on the same rows; only cells that occur are kept.

    The outcomes of two models differ where the target is about their predictions (``top-label``: each is right or
    wrong on its own); for ``event`` they are the same.

    Parameters
    ----------
    first, second : BinnedCounts
        The margins: each model's own counts.
    cells : ndarray of int64, shape (n_cells, 4)
        Bin and outcome of the first model, bin and outcome of the second; in lexicographic order, each once.
    n : ndarray of int64, shape (n_cells,)
        Rows.
    weight, weight_sq : ndarray, shape (n_cells,)
        Sums of weights and of squared weights.
    loss_difference : LossSums of shape (), or None
        Sums of the difference between the squared errors (outcome - confidence)^2 of the first and the second model,
        and of its square, for the difference of Brier scores. None if a file of release 0.1.0 is part of these counts.

    Examples
    --------
    >>> pair = PairedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0, 1, 1], [0.4, 0.3, 0.8], bins=2)
    >>> pair.cells.tolist(), pair.n
    ([[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]], array([1, 1, 1]))
    >>> (pair + pair).n
    array([2, 2, 2])
    """

    first: BinnedCounts
    second: BinnedCounts
    cells: Ints
    n: Ints
    weight: Floats
    weight_sq: Floats
    loss_difference: LossSums | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", row_counts("n", self.n))
        for name in ("cells", "n", "weight", "weight_sq"):
            values = getattr(self, name).view()
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays from copies and pickles are writable and unchecked

    @classmethod
    def empty(cls, first: Any = 15, second: Any = None, *, target: str = "confidence") -> "PairedCounts":
        """Counts of no rows: the neutral element of ``+``.

        Parameters
        ----------
        first : int or array-like, default 15
            Bins of the first model.
        second : int or array-like, optional
            Bins of the second model; by default the same.
        target : str, default "confidence"
            What confidence and outcome mean.
        """
        own = BinnedCounts.empty(first, target=target)
        other = BinnedCounts.empty(first if second is None else second, target=target)
        none = np.zeros(0)
        return cls(own, other, np.zeros((0, 4), np.int64), none.astype(np.int64), none, none.copy(), LossSums.empty())

    @classmethod
    def from_arrays(
        cls,
        first_outcome: Any,
        first_confidence: Any,
        second_outcome: Any,
        second_confidence: Any,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        weights: Any = None,
        target: str = "confidence",
    ) -> "PairedCounts":
        """Count the rows of two binary problems.

        Parameters
        ----------
        first_outcome, second_outcome : array-like of {0, 1} or bool, shape (n_rows,)
            What happened, for each model; the same array twice for an event.
        first_confidence, second_confidence : array-like of float, shape (n_rows,)
            Probability that each model states for its outcome 1, in [0, 1].
        bins, binning, weights, target
            As for `BinnedCounts.from_arrays`.

        Returns
        -------
        PairedCounts
            The counts.

        Raises
        ------
        ValueError, TypeError
            As `BinnedCounts.from_arrays`; if the two models do not have the same number of rows.
        """
        same_rows(
            {
                "first_outcome": first_outcome,
                "first_confidence": first_confidence,
                "second_outcome": second_outcome,
                "second_confidence": second_confidence,
                "weights": weights,
            }
        )
        pair = (
            Predictions.from_outcomes(first_outcome, first_confidence, weights, target=target),
            Predictions.from_outcomes(second_outcome, second_confidence, weights, target=target),
        )
        margins = (BinnedCounts.from_predictions(p, bins=bins, binning=binning) for p in pair)
        return cls.from_predictions(*pair, *margins)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        outcome: str | Sequence[str] = "outcome",
        first_confidence: str = "first_confidence",
        second_confidence: str = "second_confidence",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        bins: Any = 15,
        binning: str = "equal-width",
        target: str = "confidence",
    ) -> Any:
        """Count the rows of two models in a data frame of any engine: joint cells and both margins from one query.

        Parameters
        ----------
        frame : data frame
            As for `BinnedCounts.from_frame`.
        outcome : str or pair of str, default "outcome"
            Column of what happened; two columns, the first model's and the second's, where each is right or wrong on
            its own.
        first_confidence, second_confidence : str
            Columns of the probability that each model states for its outcome 1, in [0, 1].
        weights, by, bins, binning, target
            As for `BinnedCounts.from_frame`.

        Returns
        -------
        PairedCounts, or dict of label to PairedCounts
            The counts; with `by` those of each group.

        Raises
        ------
        ValueError, TypeError
            As `BinnedCounts.from_frame`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"rain": [0, 1, 1], "old": [0.2, 0.7, 0.9], "new": [0.4, 0.3, 0.8]})
        >>> names = {"outcome": "rain", "first_confidence": "old", "second_confidence": "new"}
        >>> PairedCounts.from_frame(frame, **names, bins=2, target="event").cells.tolist()
        [[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]]
        """
        made = bins_before_rows(bins, binning)
        models = _two_models(outcome, first_confidence, second_confidence)
        counts = {}
        for label, rows in framed(frame, models, weights, by, made, target):
            first, second = (BinnedCounts(made, **vars(sums_of(rows, i, made)), target=target) for i in (0, 1))
            keys, n, weight, weight_sq = joint_of(rows, len(made))
            joint = _unpacked(keys, len(made)), n, weight, weight_sq, loss_difference_of(rows)
            counts[label] = cls(first, second, *joint)
        return counts[None] if by is None else counts

    @classmethod
    def from_predictions(
        cls, first: Predictions, second: Predictions, first_counts: BinnedCounts, second_counts: BinnedCounts
    ) -> "PairedCounts":
        """Count checked rows whose margins have been counted.

        Parameters
        ----------
        first, second : Predictions
            The rows of each model, in the same order and with the same weights.
        first_counts, second_counts : BinnedCounts
            The counts of each.

        Returns
        -------
        PairedCounts
            The joint counts.

        Raises
        ------
        ValueError
            If the two models do not have the same number of rows.
        """
        if len(first) != len(second):
            raise ValueError(
                f"both models must be on the same rows; they have {len(first)} and {len(second)}. "
                "For different test sets there is `compare_independent`."
            )
        keys, n, weight, weight_sq = _joint_sums(first, second, first_counts.bins, second_counts.bins)
        joint = _unpacked(keys, len(second_counts.bins)), n, weight, weight_sq, _loss_difference(first, second)
        return cls(first_counts, second_counts, *joint)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.n.sum())

    @property
    def weighted(self) -> bool:
        """True if any weight differs from 1."""
        return not (np.array_equal(self.weight, self.n) and np.array_equal(self.weight_sq, self.n))

    def __add__(self, other: object) -> "PairedCounts":
        if isinstance(other, int) and other == 0:  # what sum() begins with
            return self
        if not isinstance(other, PairedCounts):
            return NotImplemented
        first, second = self.first + other.first, self.second + other.second  # refuses other edges, other targets
        keys = np.concatenate([_packed(c.cells, len(second.bins)) for c in (self, other)])
        keys, at = np.unique(keys, return_inverse=True)
        n = row_counts("n", summed_by_key(at, np.concatenate([self.n, other.n]), len(keys)))
        weight, weight_sq = unit_weights(n)
        if self.weighted or other.weighted:
            weight, weight_sq = (
                np.bincount(at, np.concatenate([getattr(self, name), getattr(other, name)]), len(keys))
                for name in ("weight", "weight_sq")
            )
        difference = add_losses(self.loss_difference, other.loss_difference)
        return PairedCounts(first, second, _unpacked(keys, len(second.bins)), n, weight, weight_sq, difference)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairedCounts)
            and self.first == other.first
            and self.second == other.second
            and self.loss_difference == other.loss_difference
            and all(np.array_equal(getattr(self, a), getattr(other, a)) for a in ("cells", "n", "weight", "weight_sq"))
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality is by content, so no hash

    def __repr__(self) -> str:
        return (
            f"PairedCounts({self.n_rows} rows in {len(self.n)} joint cells, {self.first.bins} and {self.second.bins})"
        )

    def swapped(self) -> "PairedCounts":
        """The same with the second model first."""
        cells = self.cells[:, [2, 3, 0, 1]]
        order = np.lexsort(cells.T[::-1])
        difference = self.loss_difference
        if difference is not None:
            difference = LossSums(-difference.total, difference.squares)
        joint = cells[order], self.n[order], self.weight[order], self.weight_sq[order], difference
        return PairedCounts(self.second, self.first, *joint)


def _joint_sums(first: Predictions, second: Predictions, bins: Bins, others: Bins) -> tuple[Ints, Ints, Floats, Floats]:
    """Keys of the cells that occur, and rows, weights and squared weights in each."""
    size = 4 * len(bins) * len(others)
    weight = first.weight
    parts: list[tuple[Ints, list[Any]]] = []
    dense = [np.zeros(size) for _ in range(1 if weight is None else 3)] if size <= DENSE_CELLS else None
    for start in range(0, len(first), CHUNK):
        rows = slice(start, start + CHUNK)
        # outcomes may be stored as bool, integers or floats
        key = (2 * bin_index(first.confidence[rows], bins) + first.outcome[rows]).astype(np.int64)
        other = (2 * bin_index(second.confidence[rows], others) + second.outcome[rows]).astype(np.int64)
        key = key * (2 * len(others)) + other
        w = None if weight is None else weight[rows].astype(np.float64)
        values = [None] if w is None else [None, w, w * w]
        if dense is not None:
            for total, value in zip(dense, values, strict=True):
                total += np.bincount(key, value, size)
        else:
            found, at = np.unique(key, return_inverse=True)
            parts.append((found, [np.bincount(at, value, len(found)) for value in values]))
    if dense is not None:
        keys = np.flatnonzero(dense[0])
        sums = [total[keys] for total in dense]
    else:
        keys, at = np.unique(np.concatenate([found for found, _ in parts]), return_inverse=True)
        stacked = [np.concatenate(columns) for columns in zip(*(sums for _, sums in parts), strict=True)]
        sums = [np.bincount(at, column, len(keys)) for column in stacked]
    n = np.rint(sums[0]).astype(np.int64)
    if weight is None:
        return keys, n, *unit_weights(n)
    return keys, n, sums[1], sums[2]


def _loss_difference(first: Predictions, second: Predictions) -> LossSums:
    """Sums of the difference of losses, and of its square."""
    total = LossSums.empty()
    for start in range(0, len(first), LOSSES):
        rows = slice(start, start + LOSSES)
        one, other = (p.outcome[rows] - p.confidence[rows].astype(np.float64, copy=False) for p in (first, second))
        one *= one
        other *= other
        difference = np.subtract(one, other, out=one)
        moment = difference if first.weight is None else first.weight[rows] * difference
        # einsum: one pass, and no other order of additions with other numbers of threads, as a dot product may have
        total += LossSums(np.sum(moment), np.einsum("i,i->", moment, difference))
    return total


def _two_models(outcome: str | Sequence[str], first: str, second: str) -> list[dict[str, str]]:
    """Arguments and columns of each model; one outcome serves both."""
    if isinstance(outcome, str):
        return [{"outcome": outcome, "first_confidence": first}, {"outcome": outcome, "second_confidence": second}]
    if not isinstance(outcome, Sequence) or len(outcome) != 2:
        raise TypeError(
            f"`outcome` must name one column of `frame`, or two: the first model's and the second's; not {outcome!r}."
        )
    return [
        {"outcome[0]": outcome[0], "first_confidence": first},
        {"outcome[1]": outcome[1], "second_confidence": second},
    ]


def _packed(cells: Ints, n_others: int) -> Ints:
    return (2 * cells[:, 0] + cells[:, 1]) * (2 * n_others) + 2 * cells[:, 2] + cells[:, 3]


def _unpacked(keys: Ints, n_others: int) -> Ints:
    own, other = np.divmod(keys, 2 * n_others)
    return np.stack([own // 2, own % 2, other // 2, other % 2], axis=1)


def require_paired(counts: Any) -> None:
    """Refuse what is not `PairedCounts`, with a hint at how to make them."""
    if not isinstance(counts, PairedCounts):
        raise TypeError(
            f"`pairs` must hold PairedCounts, not {type(counts).__name__}; make them with `PairedCounts.from_arrays`."
        )
