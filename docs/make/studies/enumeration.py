"""Exact coverage of intervals that depend on a number of contrary outcomes: no simulation."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from bayescal import _checks
from bayescal.verify.coverage import contains

Floats = NDArray[np.float64]
#: Method for proportions: (successes, n_rows, prob) -> (low, high), arrays of the shape of successes.
ProportionInterval = Callable[[Floats, int, float], tuple[Floats, Floats]]


def binomial_coverage(low: ArrayLike, high: ArrayLike, rates: ArrayLike) -> Floats:
    r"""Compute the probability that an interval contains the rate of a Binomial number.

    Parameters
    ----------
    low, high : array-like, shape (n + 1,)
        Ends of the interval for each number r = 0, ..., n; ends belong to the interval.
    rates : array-like, shape (k,)
        True rates e, in [0, 1].

    Returns
    -------
    ndarray, shape (k,)
        :math:`\sum_r \binom{n}{r} e^r (1 - e)^{n - r}\, 1\{l_r \le e \le h_r\}` for each rate.

    Raises
    ------
    ValueError
        If `low` and `high` differ in shape, or a rate is outside [0, 1].

    Examples
    --------
    The Wald interval of a proportion of 0.2 with 98 rows; Brown, Cai and DasGupta (2001), Statistical Science 16,
    example 1, state 0.928:

    >>> share = np.arange(99) / 98
    >>> half = 1.96 * np.sqrt(share * (1 - share) / 98)
    >>> binomial_coverage(share - half, share + half, [0.2])
    array([0.928])
    """
    rate = _checks.probabilities("rates", np.atleast_1d(np.asarray(rates, dtype=np.float64)))[:, None]
    inside = contains(_ends("low", low, high), _ends("high", high, low), rate)
    return np.asarray((probabilities(inside.shape[1] - 1, rate[:, 0]) * inside).sum(axis=1))


def expected_width(low: ArrayLike, high: ArrayLike, rates: ArrayLike) -> Floats:
    """Compute the mean width of the interval at each rate; arguments as for `binomial_coverage`."""
    width = np.subtract(high, low)
    return np.asarray(probabilities(len(width) - 1, np.atleast_1d(rates)) @ width)


def probabilities(n_rows: int, rates: ArrayLike) -> Floats:
    """Return Binomial probabilities of 0, ..., n_rows at each rate, shape (k, n_rows + 1)."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(n_rows + 1), n_rows, np.asarray(rates, dtype=np.float64)[:, None]))


def clopper_pearson(successes: Floats, n_rows: int, prob: float) -> tuple[Floats, Floats]:
    """Compute the interval of Clopper and Pearson (1934), Biometrika 26, for a proportion."""
    tail = (1 - prob) / 2
    none, every = successes == 0, successes == n_rows
    low = betaincinv(np.where(none, 1, successes), n_rows - successes + 1, tail)
    high = betaincinv(successes + 1, np.where(every, 1, n_rows - successes), 1 - tail)
    return np.where(none, 0.0, low), np.where(every, 1.0, high)


def beta_interval(a: float, b: float) -> ProportionInterval:
    """Return the equal-tailed interval under the prior Beta(a, b), whatever the number of successes."""

    def interval(successes: Floats, n_rows: int, prob: float) -> tuple[Floats, Floats]:
        first, second, tail = a + successes, b + n_rows - successes, (1 - prob) / 2
        return np.asarray(betaincinv(first, second, tail)), np.asarray(betaincinv(first, second, 1 - tail))

    return interval


def _ends(name: str, ends: ArrayLike, others: ArrayLike) -> Floats:
    array = np.asarray(ends, dtype=np.float64)
    if array.ndim != 1 or array.shape != np.shape(others):
        raise ValueError(f"`{name}` must have one end for each number 0, ..., n, not shape {array.shape}.")
    return array
