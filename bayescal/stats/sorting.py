"""Sorts scores in [0, 1] by their bits: numpy sorts integers faster than it finds the order of floats."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Keys = NDArray[np.unsignedinteger[Any]]

#: Rows whose keys are made at once, in the cache of the processor.
CHUNK = 2**14


def sort_with_outcome(score: Array, outcome: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Sort scores, and rows of equal scores by outcome.

    Parameters
    ----------
    score : ndarray of float, shape (n_rows,)
        Scores in [0, 1].
    outcome : ndarray, shape (n_rows,)
        0 or 1.

    Returns
    -------
    score, outcome : ndarray, shape (n_rows,)
        The sorted columns; scores of more than 64 bits are rounded to float64.

    Notes
    -----
    The highest two bits of floats below 2 are 0, so the bits can be shifted by one to append the outcome, and no index
    is needed.
    """
    keys = _bits(_at_most_64_bits(score))
    one = keys.dtype.type(1)
    np.left_shift(keys, one, out=keys)
    np.bitwise_or(keys, outcome == 1, out=keys)
    keys.sort()
    outcome = np.bitwise_and(keys, one).astype(np.bool_)
    np.right_shift(keys, one, out=keys)
    return keys.view(f"f{keys.dtype.itemsize}"), outcome


def stable_order(score: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the rows in the order of their scores, rows of equal scores in their own order.

    Parameters
    ----------
    score : ndarray of float, shape (n_rows,)
        Scores in [0, 1], with at least one row.

    Returns
    -------
    order : ndarray of int64, shape (n_rows,)
        The same as ``np.argsort(score, kind="stable")``.
    score : ndarray, shape (n_rows,)
        The sorted scores, with 0 instead of -0. Those of more than 64 bits are rounded to float64.

    Notes
    -----
    The highest bits of a score and its index, together 64 bits, are sorted as one integer. Rows whose scores only
    differ in lower bits are sorted again.

    Examples
    --------
    >>> stable_order(np.array([0.5, 0.25, 0.5, 0.125]))
    (array([3, 1, 0, 2]), array([0.125, 0.25 , 0.5  , 0.5  ]))
    """
    score = _at_most_64_bits(score)
    least, most = (int(_bits(end)[0]) for end in (score.min(keepdims=True), score.max(keepdims=True)))
    index_bits = (len(score) - 1).bit_length()
    left_out = max(0, (most - least).bit_length() + index_bits - 64)
    keys = np.empty(len(score), dtype=np.uint64)
    for begin in range(0, len(score), CHUNK):
        high = _bits(score[begin : begin + CHUNK]).astype(np.uint64) - np.uint64(least) >> np.uint64(left_out)
        index = np.arange(begin, begin + len(high), dtype=np.uint64)
        keys[begin : begin + CHUNK] = high << np.uint64(index_bits) | index
    keys.sort()
    keys &= np.uint64(2**index_bits - 1)
    order = keys.view(np.int64)
    ordered = score[order]
    if left_out and len(wrong := np.flatnonzero(ordered[1:] < ordered[:-1])):
        again = _with_equal_bits(ordered, wrong, least, left_out)
        order[again] = order[again][np.argsort(ordered[again], kind="stable")]
        ordered[again] = score[order[again]]
    ordered += np.zeros((), score.dtype)
    return order, ordered


def _at_most_64_bits(score: Array) -> Array:
    return score if score.dtype.itemsize in (2, 4, 8) else score.astype(np.float64)


def _bits(score: Array) -> Keys:
    """Copy the bits of floats >= 0, which have the order of the floats when they are read as unsigned integers."""
    unsigned = np.dtype(f"u{score.dtype.itemsize}")
    bits = (score + np.zeros((), score.dtype)).view(unsigned)  # adding 0 makes a copy, and 0 of -0
    return bits.astype(unsigned.newbyteorder("="), copy=False)


def _with_equal_bits(score: Array, rows: NDArray[np.intp], least: int, left_out: int) -> NDArray[np.intp]:
    """Return all rows that have the highest bits of one of these rows; the highest bits of `score` are sorted."""
    above = _bits(score[rows]).astype(np.uint64) - np.uint64(least) >> np.uint64(left_out)
    lowest = (np.unique(above) << np.uint64(left_out)) + np.uint64(least)
    # bisection is right although lower bits are not sorted: all scores of a range are on one side of its ends
    begin, end = (np.searchsorted(score, bits.view(np.float64)) for bits in (lowest, lowest + np.uint64(2**left_out)))
    size = end - begin
    return np.repeat(end - np.cumsum(size), size) + np.arange(size.sum())
