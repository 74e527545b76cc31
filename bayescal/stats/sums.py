"""Sums of values by index, as floats: `stats` uses `np.bincount` for numbers of rows only."""

from typing import Any

import numpy as np


def sums_at(index: Any, values: Any, size: int = 0) -> np.ndarray:
    """Return the sum of the values at each index, as floats.

    `np.bincount` returns integers if there are no values, and a later ``+=`` of floats then raises.

    Parameters
    ----------
    index : array of int, shape (n,)
        Index of each value.
    values : array of float, shape (n,), or None
        Values; None counts.
    size : int, default 0
        Minimum length of the result.

    Returns
    -------
    ndarray of float64, shape (max(size, largest index + 1),)
        Sums.

    Examples
    --------
    >>> sums_at([2, 0, 2], [0.5, 1.0, 2.0], 4).tolist()
    [1.0, 0.0, 2.5, 0.0]
    """
    return np.bincount(index, values, size).astype(np.float64, copy=False)
