"""Sums of values by index, as floats; effective numbers of rows."""

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


def effective_number(weight: np.ndarray, weight_sq: Any = None) -> float:
    """Return Kish's effective number of rows, (sum w)^2 / sum w^2; 0 if all weights are 0.

    Parameters
    ----------
    weight : ndarray of float, shape (n,)
        Weights, or sums of weights.
    weight_sq : ndarray of float, or None
        Squared weights, or sums of them; by default the squares of `weight`.

    Returns
    -------
    float
        Number of rows of equal weight that carry as much evidence.

    Examples
    --------
    >>> effective_number(np.array([1.0, 1.0, 2.0]))
    2.66...
    """
    squares = float(np.sum(weight**2 if weight_sq is None else weight_sq))
    return float(np.sum(weight)) ** 2 / squares if squares > 0 else 0.0
