"""Numbers of rows: non-negative integers whose sum is below 2^63. Sums are exact integers or raise an error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._rules import NOT_NEGATIVE

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ROWS = 2**63 - 1


def row_counts(name: str, values: Array) -> Ints:
    """Require valid numbers of rows.

    Parameters
    ----------
    name : str
        The argument, for messages.
    values : ndarray of integers
        Signed or unsigned integers of any shape.

    Returns
    -------
    ndarray of int64
        The same numbers; `values` itself if it is int64.

    Raises
    ------
    TypeError
        If the array does not hold integers.
    ValueError
        If a number is negative, or their sum is 2^63 or more.

    Examples
    --------
    >>> row_counts("n", np.array([2**63 - 1, 1], np.uint64))
    Traceback (most recent call last):
    ...
    ValueError: `n` must add up to less than 2^63 rows; the sum is 9223372036854775808.
    """
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
