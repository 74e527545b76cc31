r"""Normal scores of counts: how unusual the outcomes of a window are, given those of all rows so far.

If the rows of a bin are exchangeable, the number k of outcomes 1 in the last n of N rows, of which K have outcome 1,
has the hypergeometric distribution. Its randomised distribution function
:math:`P(X < k) + U P(X = k)`, with U uniform on (0, 1), is uniform, and those of successive windows are independent:
given K, the value of the last window says nothing about the rows before it, so that the argument can be repeated for
them. These are the online conformal P-values of [1]_ for windows instead of rows.

References
----------
.. [1] V. Vovk (2021), "Testing randomness online", Statistical Science 36 (4).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

#: Terms that are added at once, at first and at most.
FEWEST_TERMS, MOST_TERMS = 8, 4096
#: The remaining terms may be this share of the sum.
NEGLIGIBLE = 1e-17
#: Tail probabilities are at least this, so that scores are finite: at most 37 in size.
SMALLEST = 1e-300


def hypergeometric_scores(k: Floats, n: Floats, all_k: Floats, all_n: Floats, u: Floats) -> Floats:
    """Return normal scores of counts: standard normal if rows are exchangeable.

    Parameters
    ----------
    k, n : ndarray
        Rows with outcome 1, and rows, of a window.
    all_k, all_n : ndarray
        The same for all rows so far, those of the window included.
    u : ndarray
        Uniform random numbers in [0, 1).

    Returns
    -------
    ndarray
        Normal quantile of P(X < k) + u P(X = k), accurate in both tails.

    Examples
    --------
    One row of the window and one before it, of which one has outcome 1: k is 0 or 1, each with probability 1/2.

    >>> one = np.ones(1)
    >>> hypergeometric_scores(one, one, one, 2 * one, np.array([0.5])).round(4)
    array([0.6745])
    """
    below, above = _sum_above(n - k, n, all_n - all_k, all_n), _sum_above(k, n, all_k, all_n)
    lower, upper = below + u, above + (1 - u)
    is_lower = lower <= upper
    tail = np.where(is_lower, lower, upper) / (1 + below + above)
    z = ndtri(np.maximum(tail, SMALLEST))
    scores: Floats = np.where(is_lower, z, -z)
    return scores


def _sum_above(k: Floats, n: Floats, all_k: Floats, all_n: Floats) -> Floats:
    """Return P(X > k) / P(X = k), as the sum of products of ratios of successive probabilities."""
    k, n, all_k, all_n = (
        np.asarray(value, dtype=np.float64).ravel() for value in np.broadcast_arrays(k, n, all_k, all_n)
    )
    total, term, size = np.zeros(len(k)), np.ones(len(k)), FEWEST_TERMS
    todo, at = np.arange(len(k)), k.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while len(todo):
            j = at[todo, None] + np.arange(size)
            up = np.maximum(all_k[todo, None] - j, 0) * np.maximum(n[todo, None] - j, 0)
            ratio = up / ((j + 1) * (all_n - all_k - n)[todo, None] + (j + 1) ** 2)
            terms = term[todo, None] * np.cumprod(ratio, axis=1)
            terms[np.isnan(terms)] = np.inf  # infinity times 0: the sum is infinite already
            total[todo] += terms.sum(axis=1)
            term[todo], at[todo] = terms[:, -1], j[:, -1] + 1
            # the ratios decrease, so the rest is below a geometric series
            last = ratio[:, -1]
            rest = np.where(last < 1, term[todo] * last / (1 - last), np.inf)
            todo = todo[(rest > NEGLIGIBLE * (1 + total[todo])) & np.isfinite(total[todo])]
            size = min(2 * size, MOST_TERMS)
    return total
