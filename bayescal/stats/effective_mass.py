"""Cuts between ordered parts that give all bins nearly the same effective number of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Largest number of times that all cuts are moved.
ROUNDS = 30


def effective_rows(weight: Floats, weight_sq: Floats, cuts: Ints) -> Floats:
    """Compute Kish's effective number of rows, (sum w)^2 / sum w^2, between cuts.

    Parameters
    ----------
    weight, weight_sq : ndarray, shape (n_parts,)
        Sums of positive weights and of their squares, of each part: a row, or a fine bin.
    cuts : ndarray of int, shape (n_bins - 1,)
        Indexes of the first part of each bin but the first, increasing from at least 1.

    Returns
    -------
    ndarray, shape (n_bins,)
        At least 1; also 1 if all squares underflow to 0.

    Examples
    --------
    >>> w = np.array([1.0, 1.0, 1.0, 3.0])
    >>> effective_rows(w, w**2, np.array([2]))
    array([2. , 1.6])
    """
    start = np.concatenate([[0], cuts])
    total, squares = np.add.reduceat(weight, start), np.add.reduceat(weight_sq, start)
    # each bin is summed by itself: differences of cumulative sums would lose small weights after a large one
    return np.divide(total**2, squares, out=np.ones(len(start)), where=squares > 0)


def equalised(weight: Floats, weight_sq: Floats, cuts: Ints, n_bins: int, settle: Callable[[Ints], Ints]) -> Ints:
    r"""Move cuts until the effective numbers of rows of all bins are nearly equal.

    Parameters
    ----------
    weight, weight_sq : ndarray, shape (n_parts,)
        As for `effective_rows`.
    cuts : ndarray of int
        The cuts to begin with.
    n_bins : int
        Requested number of bins.
    settle : callable
        Function of cuts that returns the nearest possible ones, for example outside runs of equal confidences.

    Returns
    -------
    ndarray of int, shape (at most n_bins - 1,)
        Of all cuts that were tried, including those to begin with, the ones with most bins, and among these with the
        smallest ratio of the largest to the smallest effective number of rows.

    Notes
    -----
    Within each bin, the effective number of rows is spread evenly over its parts; the new cuts divide the total into
    equal shares. Cuts that do not move any more have equal shares: this is the iteration by which de Boor [1]_ places
    knots of splines. Since effective numbers of rows do not add up, the iteration may also move back and forth, so it
    ends after 30 rounds, or when cuts recur.

    References
    ----------
    .. [1] C. de Boor (1974), "Good approximation by splines with variable knots II", Conference on the Numerical
       Solution of Differential Equations, Lecture Notes in Mathematics 363, 12-20.
    """
    best: tuple[tuple[int, float], Ints] | None = None
    tried: set[bytes] = set()
    for _ in range(ROUNDS):
        if cuts.tobytes() in tried:
            break
        tried.add(cuts.tobytes())
        rows = effective_rows(weight, weight_sq, cuts)
        quality = (-len(rows), float(rows.max() / rows.min()))
        if best is None or quality < best[0]:
            best = quality, cuts
        reached: Any = np.concatenate([[0.0], np.cumsum(rows)])
        wanted = reached[-1] * np.arange(1, n_bins) / n_bins
        at = np.interp(wanted, reached, np.concatenate([[0], cuts, [len(weight)]]))
        cuts = settle(np.unique(np.rint(at).astype(np.int64)))
    return cuts if best is None else best[1]
