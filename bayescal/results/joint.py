"""Joint draws of several quantities along an axis: labels, decisions between two of them, and ranks of all."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal.draws import Draws

Floats = NDArray[np.float64]


class Labelled(ABC):
    """Results along one axis, found by their labels."""

    #: Kind of the labels: "classifier", "group", "class" or "period".
    axis: str

    @property
    @abstractmethod
    def labels(self) -> tuple[Any, ...]:
        """Labels of the results, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The labels in words, for printing."""
        return tuple(map(str, self.labels))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def _require_label(self, label: Any) -> None:
        _checks.label(self.axis, label, self.labels)

    def _by_label(self, values: Floats) -> dict[Any, float]:
        return dict(zip(self.labels, values.tolist(), strict=True))

    def _pair(self, first: Any, second: Any) -> tuple[int, int]:
        """Return the positions of two labels."""
        labels = list(self.labels)
        if first is None and second is None and len(labels) == 2:
            return 0, 1
        if first is None or second is None:
            raise TypeError(f"`first` and `second` must be two of the labels {labels}.")
        for name, label in (("first", first), ("second", second)):
            _checks.one_of(name, label, labels)
        return labels.index(first), labels.index(second)


def listed[Label](given: Sequence[Label], best_first: Sequence[Label]) -> tuple[Label, ...]:
    """Return labels in the order in which all results subtract pairs: the earlier label minus the later one.

    Two labels keep the order in which they were given: their difference has the same sign for every estimand and seed,
    and that of ``difference()``. Three or more are listed from the best to the worst.

    Parameters
    ----------
    given, best_first : sequence
        The labels as given, and from the best expected rank to the worst.

    Returns
    -------
    tuple
        The labels.

    Examples
    --------
    >>> listed(["A", "B"], ["B", "A"]), listed(["A", "B", "C"], ["B", "C", "A"])
    (('A', 'B'), ('B', 'C', 'A'))
    """
    return tuple(given if len(given) == 2 else best_first)


def checked_rope(rope: Any) -> float:
    """Return a half-width of practical equivalence, which must be a finite number >= 0."""
    width = np.asarray(rope)
    if width.shape != () or width.dtype.kind not in "iuf" or not np.isfinite(width) or width < 0:
        raise ValueError(
            "`rope` must be a number >= 0 in units of the estimand, the half-width of the region of practical "
            f"equivalence; not {rope!r}."
        )
    return float(width)


def decided(gap: Floats, rope: float) -> dict[str, float]:
    """Return the shares of draws in which the first is better by more than the rope, both are equal, or the second is.

    Parameters
    ----------
    gap : ndarray, shape (n_draws,)
        Draws of the difference, on a scale on which negative means that the first is better.
    rope : float
        Half-width of the region of practical equivalence.

    Returns
    -------
    dict of str to float
        Keys ``p_left``, ``p_rope`` and ``p_right``, which add up to 1, and their Monte Carlo standard errors with the
        suffix ``_mcse``.
    """
    shares = {
        "p_left": float((gap < -rope).mean()),
        "p_rope": float((np.abs(gap) <= rope).mean()),
        "p_right": float((gap > rope).mean()),
    }
    return shares | {f"{name}_mcse": float(np.sqrt(p * (1 - p) / len(gap))) for name, p in shares.items()}


def p_within(gap: Floats, ropes: ArrayLike) -> Floats:
    """Return the share of draws in which the absolute difference is at most each half-width, which must be >= 0."""
    widths = np.asarray(ropes, dtype=np.float64)
    bad = ~(np.isfinite(widths) & (widths >= 0))
    if bad.any():
        _checks.refuse("ropes", "must be finite and >= 0", bad, widths)
    return np.searchsorted(np.sort(np.abs(gap)), widths, side="right") / len(gap)


def p_smallest(values: Floats) -> Floats:
    """Compute the probability that each column is the smallest; columns that tie in a draw share it equally.

    Parameters
    ----------
    values : ndarray, shape (n_draws, n)
        Joint draws.

    Returns
    -------
    ndarray, shape (n,)
        Probabilities that add up to 1.

    Examples
    --------
    >>> p_smallest(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]]))
    array([0.75, 0.25, 0.  ])
    """
    smallest = values == values.min(axis=1, keepdims=True)
    shares: Floats = (smallest / smallest.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def tied_ranks(size: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort the columns of each row; also return the ranks [start, end) that each sorted value shares with its ties."""
    order = np.argsort(size, axis=1, kind="stable")
    ordered = np.take_along_axis(size, order, axis=1)
    place = np.arange(size.shape[1])
    differs = ordered[:, 1:] != ordered[:, :-1]
    first = np.pad(differs, ((0, 0), (1, 0)), constant_values=True)
    last = np.pad(differs, ((0, 0), (0, 1)), constant_values=True)
    start = np.maximum.accumulate(np.where(first, place, 0), axis=1)
    end = np.minimum.accumulate(np.where(last, place + 1, size.shape[1])[:, ::-1], axis=1)[:, ::-1]
    return order, start, end


def ranks_of(badness: Floats) -> Floats:
    """Return the rank of each column in each row, 1 being the smallest; columns that tie share their mean rank.

    Examples
    --------
    >>> ranks_of(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]]))
    array([[1. , 2. , 3. ],
           [1.5, 1.5, 3. ]])
    """
    order, start, end = tied_ranks(badness)
    ranks = np.empty(badness.shape)
    np.put_along_axis(ranks, order, (start + 1 + end) / 2, axis=1)
    return ranks


def mean_ranks(badness: Floats) -> Floats:
    """Return the mean over draws of the rank of each column, 1 being the smallest; columns that tie share their ranks.

    Examples
    --------
    >>> mean_ranks(np.array([[0.0, 0.1, 0.2], [0.3, 0.3, 0.4]]))
    array([1.25, 1.75, 3.  ])
    """
    return ranks_of(badness).mean(axis=0)


def rank_shares(badness: Floats) -> Floats:
    """Return the probability of every rank (column) of every column of draws (row); ties share their ranks equally.

    Examples
    --------
    >>> rank_shares(np.array([[0.0, 0.1], [0.3, 0.3]]))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    order, start, end = tied_ranks(badness)
    n_draws, size = order.shape
    share = 1 / (end - start)
    # a tie takes the ranks start ... end - 1: add its share at one end and subtract it at the other, then cumulate
    steps = np.zeros((size, size + 1))
    for place, sign in ((start, 1), (end, -1)):
        cell = (order * (size + 1) + place).ravel()
        steps += sign * np.bincount(cell, weights=share.ravel(), minlength=steps.size).reshape(steps.shape)
    return np.clip(steps.cumsum(axis=1)[:, :-1] / n_draws, 0, 1)


def label_rows(axis: str, labels: Iterable[Any], drawn: Draws, badness: Floats, prob: float) -> list[dict[str, Any]]:
    """Return one dict per label: moments and interval of its draws, probability of being the best, mean rank."""
    low, high = drawn.interval(prob)
    columns = zip(labels, drawn.mean(), drawn.sd(), low, high, p_smallest(badness), mean_ranks(badness), strict=True)
    return [
        {axis: label, "mean": float(m), "sd": float(s), "low": float(lo), "high": float(hi)}
        | {"p_best": float(best), "rank": float(rank)}
        for label, m, s, lo, hi, best, rank in columns
    ]


def pair_row(first: Any, second: Any, difference: Draws, decision: dict[str, float], prob: float) -> dict[str, Any]:
    """Return one row of the decision table: labels, moments and interval of the difference, and the decision."""
    low, high = difference.interval(prob)
    row = {"first": first, "second": second, "mean": difference.mean(), "sd": difference.sd()}
    return {**row, "low": low, "high": high, **decision}
