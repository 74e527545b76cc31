"""OrderedSums: rows in the order of their scores, summed over equal scores; the input of all cumulative statistics."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bayescal.data.columns import require_ratios
from bayescal.data.predictions import Predictions
from bayescal.stats.sorting import sort_with_outcome, stable_order

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Steps(Protocol):
    r"""Steps of a cumulative difference, in increasing order of the scores; arrays of shape (n_scores,).

    A row has the residual r = z - e: its response minus its expected response. `OrderedSums`, whose expected
    value is the score itself, satisfies this protocol, and so does `StoredSteps`.
    """

    @property
    def score(self) -> Array:
        """Distinct scores, increasing; mean scores of bins."""

    @property
    def lower(self) -> Array:
        """Smallest score that a step can contain: the score, or the lower edge of a bin."""

    @property
    def upper(self) -> Array:
        """Largest score that a step can contain: the score, or the upper edge of a bin."""

    @property
    def weight(self) -> Floats:
        """Sum of w."""

    @property
    def deviation(self) -> Floats:
        """Sum of w r."""

    @property
    def weight_sq(self) -> Floats:
        """Sum of w^2."""

    @property
    def deviation_weight_sq(self) -> Floats:
        """Sum of w^2 r."""

    @property
    def deviation_sq(self) -> Floats:
        """Sum of w^2 r^2."""

    @property
    def calibrated_variance(self) -> Floats:
        """Variance of `deviation` if the mean of r is 0 at each score."""

    @property
    def n_rows(self) -> NDArray[np.int64]:
        """Number of rows with positive weight."""

    @property
    def weighted(self) -> bool:
        """Whether rows had weights."""

    def __len__(self) -> int:
        """Return the number of distinct scores."""

    def __getitem__(self, part: slice) -> Self:
        """Return the steps of a range of scores."""


@dataclass(frozen=True, eq=False)
class StoredSteps:
    """Steps whose sums are stored, because they do not follow from score and response; members as for `Steps`."""

    score: Array
    weight: Floats
    deviation: Floats
    weight_sq: Floats
    deviation_weight_sq: Floats
    deviation_sq: Floats
    calibrated_variance: Floats
    n_rows: NDArray[np.int64]
    weighted: bool

    @property
    def lower(self) -> Array:
        """Smallest score of each step."""
        return self.score

    @property
    def upper(self) -> Array:
        """Largest score of each step."""
        return self.score

    def __len__(self) -> int:
        return len(self.score)

    def __getitem__(self, part: slice) -> Self:
        return _part(self, part)


def _part[T](record: T, part: slice) -> T:
    """Return a record whose arrays are views of a slice."""
    changed = {name: value[part] for name, value in vars(record).items() if isinstance(value, np.ndarray)}
    return replace(record, **changed)  # type: ignore[type-var]  # every record here is a dataclass


@dataclass(frozen=True, eq=False)
class OrderedSums:
    r"""Sums over the rows of each distinct score, in increasing order of the scores.

    Equal scores are merged, so the order of rows has no effect. Rows of weight 0 are left out. Without weights, all
    weights are 1, and weights of 1 give bitwise the same results as no weights. Multiplying all weights by a power of
    two does not change any result.

    Parameters
    ----------
    score : ndarray of float, shape (n_scores,)
        Distinct scores c, increasing.
    weight : ndarray of float64, shape (n_scores,)
        Sum of w over the rows of each score.
    response : ndarray of float64, shape (n_scores,)
        Sum of w z, where z is the outcome.
    weight_sq : ndarray of float64, shape (n_scores,)
        Sum of w^2.
    response_weight_sq : ndarray of float64, shape (n_scores,)
        Sum of w^2 z.
    n_rows : ndarray of int64, shape (n_scores,)
        Number of rows with positive weight.
    weighted : bool
        Whether rows had weights.
    target : str
        Meaning of score and outcome; see `evaluate`.

    Examples
    --------
    >>> rows = Predictions.from_outcomes([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])
    >>> sums = OrderedSums.from_rows(rows)
    >>> sums.score, sums.n_rows, sums.deviation.round(3)
    (array([0.2, 0.6, 0.9]), array([2, 2, 1]), array([ 0.6, -0.2,  0.1]))
    """

    score: Array
    weight: Floats
    response: Floats
    weight_sq: Floats
    response_weight_sq: Floats
    n_rows: NDArray[np.int64]
    weighted: bool = False
    target: str = "confidence"

    @classmethod
    def from_rows(cls, rows: Predictions) -> "OrderedSums":
        """Sort valid rows once and sum them by score.

        Parameters
        ----------
        rows : Predictions
            Validated rows.

        Returns
        -------
        OrderedSums
            The sums.
        """
        weight = rows.scale_free().weight
        return _unweighted(rows) if weight is None else _weighted(rows, require_ratios(weight))

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weighted else ""
        return f"OrderedSums({self.n_rows.sum()} rows, {len(self)} distinct scores, {self.target}{weighted})"

    def __getitem__(self, part: slice) -> "OrderedSums":
        """Return the sums of a range of scores; the arrays are views."""
        return _part(self, part)

    @property
    def lower(self) -> Array:
        """The scores: a step is one score."""
        return self.score

    @property
    def upper(self) -> Array:
        """The scores: a step is one score."""
        return self.score

    @property
    def deviation(self) -> Floats:
        """Sum of w (z - c)."""
        product = np.multiply(self.weight, self.score, dtype=np.float64)
        return np.subtract(self.response, product, out=product)

    @property
    def deviation_weight_sq(self) -> Floats:
        """Sum of w^2 (z - c)."""
        product = np.multiply(self.weight_sq, self.score, dtype=np.float64)
        return np.subtract(self.response_weight_sq, product, out=product)

    @property
    def deviation_sq(self) -> Floats:
        """Sum of w^2 (z - c)^2."""
        negative = (self.weight_sq - self.response_weight_sq) * np.square(self.score, dtype=np.float64)
        return negative + self.response_weight_sq * (1.0 - self.score.astype(np.float64, copy=False)) ** 2

    @property
    def calibrated_variance(self) -> Floats:
        """Sum of w^2 c (1 - c): the variance of `deviation` under exact calibration."""
        score = self.score.astype(np.float64, copy=False)
        return self.weight_sq * (score * (1.0 - score))


def _unweighted(rows: Predictions) -> OrderedSums:
    """Sort keys of score and outcome, which needs one array of the size of the scores and no index."""
    score, outcome = sort_with_outcome(rows.confidence, rows.outcome)
    starts = _starts(score)
    if starts is None:
        n_rows = np.broadcast_to(np.int64(1), score.shape)
        response = outcome.astype(np.float64)
    else:
        n_rows = np.diff(starts, append=len(score))
        response = np.add.reduceat(outcome, starts, dtype=np.float64)
        score = score[starts]
    weight = np.broadcast_to(1.0, score.shape) if starts is None else n_rows.astype(np.float64)
    return OrderedSums(score, weight, response, weight, response, n_rows, weighted=False, target=rows.target)


def _weighted(rows: Predictions, weight: Floats) -> OrderedSums:
    """Sort the index of the rows, because weights follow the scores."""
    order, score = stable_order(rows.confidence)
    weight = weight[order]
    if not weight.all():
        counted = weight > 0
        order, score, weight = order[counted], score[counted], weight[counted]
    outcome = rows.outcome[order] == 1
    del order  # memory for the sums
    starts, size = _starts(score), len(score)

    def total(values: Floats) -> Floats:
        return values if starts is None else np.add.reduceat(values, starts)

    sums, responses = total(weight), total(weight * outcome)
    square = np.square(weight, out=None if starts is None else weight)  # weights that are not kept make room
    return OrderedSums(
        score=score if starts is None else score[starts],
        weight=sums,
        response=responses,
        weight_sq=total(square),
        response_weight_sq=total(square * outcome),
        n_rows=np.broadcast_to(np.int64(1), size) if starts is None else np.diff(starts, append=size),
        weighted=True,
        target=rows.target,
    )


def _starts(score: Array) -> NDArray[np.intp] | None:
    """Return the first row of each distinct score, or None if all scores are distinct."""
    first = np.empty(len(score), dtype=np.bool_)
    first[:1] = True
    np.not_equal(score[1:], score[:-1], out=first[1:])
    return None if first.all() else np.flatnonzero(first)
