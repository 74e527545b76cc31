"""Sums over rows: floats by index, exact numbers of rows, effective ones, cosine similarity; log odds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Array, Floats, Ints
from bayescal._rules import NOT_NEGATIVE

TINY = float(np.finfo(np.float64).tiny)
Coefficients = tuple[Floats, Floats]  #: Coefficients by bin, for the first and for the second classifier.
#: Numbers of rows are non-negative integers whose sum is at most this: sums are exact, or raise an error.
MOST_ROWS = 2**63 - 1


def sums_at(index: Any, values: Any, size: int = 0) -> np.ndarray:
    """Return the sum of the values at each index >= 0 (None: their number), as floats; at least `size` sums."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def effective_number(weight: np.ndarray, weight_sq: Any = None) -> float:
    """Return Kish's effective number of rows of equal weight, (sum w)^2 / sum w^2; 0 if all weights are 0."""
    squares = float(np.sum(weight**2 if weight_sq is None else weight_sq))
    return float(np.sum(weight)) ** 2 / squares if squares > 0 else 0.0


def ratio(top: Floats, bottom: Floats, empty: float = np.nan) -> Floats:
    """Divide; `empty` where the denominator is 0."""
    return np.divide(top, bottom, out=np.full(np.shape(top), empty), where=bottom > 0)


def cosine(xx: float, yy: float, xy: float, *, same: bool) -> float:
    """Return xy / sqrt(xx yy), which is at most 1; if a square is 0, 1 for the same classifier and 0 otherwise."""
    if xx <= 0 or yy <= 0:
        return 1.0 if same else 0.0
    # the product is 0 or infinite if weights are far from 1
    root = np.sqrt(xx * yy) if TINY < xx * yy < np.inf else np.sqrt(xx) * np.sqrt(yy)
    return float(np.clip(xy / root, -1.0, 1.0))


def cosine_of(x: Floats, y: Floats, weight: Floats, *, same: bool) -> float:
    """Weighted cosine similarity of two vectors."""
    return cosine(*(float((weight * p).sum()) for p in (x * x, y * y, x * y)), same=same)


def row_counts(name: str, values: Array) -> Ints:
    """Require numbers of rows: integers of any shape, >= 0, whose sum is below 2^63. Return them as int64."""
    if values.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must hold numbers of rows, which are integers, not dtype {values.dtype}.")
    if values.size and values.min() < 0:
        NOT_NEGATIVE.require(name, values)
    if values.sum(dtype=np.float64) >= 2.0**62:  # otherwise no entry and no sum can reach 2^63
        total = sum(map(int, values.ravel()))
        if total > MOST_ROWS:
            raise ValueError(f"`{name}` must add up to less than 2^63 rows; the sum is {total}.")
    return values.astype(np.int64, copy=False)


def added(one: Ints, other: Ints) -> NDArray[np.uint64]:
    """Add two arrays of row counts; the sum is unsigned so that it cannot wrap before `row_counts` checks it."""
    return one.astype(np.uint64) + other.astype(np.uint64)


def summed_by_key(key: Ints, rows: Ints, size: int) -> NDArray[np.uint64]:
    """Sum the rows per key from 0 to `size` - 1; the sums are unsigned, as in `added`."""
    sums = np.zeros(size, np.uint64)
    np.add.at(sums, key, rows.astype(np.uint64))
    return sums


def unit_weights(rows: Ints) -> tuple[Floats, Floats]:
    """Return the sums of weights (by outcome) and of squared weights (by bin) if every weight is 1."""
    return rows.astype(np.float64), by_bin(rows).astype(np.float64)


def by_bin(values: Array) -> Array:
    """Sum an array of shape (2, n_bins) over outcomes; return one-dimensional joint cells unchanged."""
    return values.sum(axis=0) if values.ndim == 2 else values


VALUE_FLOOR = 1e-9  #: Default distance from 0 and 1 to which probabilities are clipped.


def logit(probability: Floats, floor: float = VALUE_FLOOR) -> Floats:
    """Return the log odds of probabilities, which are clipped to [floor, 1 - floor]."""
    inside = np.clip(probability, floor, 1 - floor)
    return np.log(inside) - np.log1p(-inside)
