r"""Distributions of the range and of the maximum absolute value of Brownian motion on [0, 1].

The cumulative difference of a calibrated classifier, divided by its standard deviation sigma, is close to Brownian
motion B, so that these are the null distributions of the Kuiper statistic (range [1]_) and of the Kolmogorov-Smirnov
statistic (maximum absolute value). Each has two series. The reflection series converges fast for large values and
gives upper tails without cancellation; the theta series converges fast for small values and gives lower tails.

References
----------
.. [1] W. Feller (1951), "The asymptotic distribution of the range of sums of independent random variables", Annals of
   Mathematical Statistics 22, 427-432.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bayescal._arrays import Floats

#: Means of the range, sqrt(8 / pi), and of the maximum absolute value, sqrt(pi / 2).
MEAN_RANGE, MEAN_MAX_ABS = float(np.sqrt(8 / np.pi)), float(np.sqrt(np.pi / 2))
#: Values from which the upper tail is computed by reflections.
SWITCH_RANGE, SWITCH_MAX_ABS = 1.5, 1.0
#: Numbers of terms: the first omitted term of either series is below 1e-17 of the sum on its side of the switch.
REFLECTIONS, THETA_TERMS = 24, 8
SMALLEST = 0.03  #: Values below which the lower tails underflow to 0.


def sf_range(x: ArrayLike) -> Floats:
    r"""Return P(range of B > x), accurate to 1e-12 relative in both tails.

    It is :math:`8 \sum_{k \ge 1} (-1)^{k-1} k\, Q(k x)` (Feller, 1951), with the upper tail Q of the standard Normal.
    """
    return _pieces(x, SWITCH_RANGE, _range_tail, lambda body: 1 - _range_body(body))


def cdf_range(x: ArrayLike) -> Floats:
    r"""Return P(range of B <= x), accurate to 1e-12 relative in both tails.

    It is :math:`\sum_{m\ \mathrm{odd}} (8 / x^2 + 8 / (m \pi)^2)\, e^{-(m \pi)^2 / (2 x^2)}`.
    """
    return _pieces(x, SWITCH_RANGE, lambda tail: 1 - _range_tail(tail), _range_body)


def sf_max_abs(x: ArrayLike) -> Floats:
    r"""Return P(max |B| > x), accurate to 1e-12 relative in both tails.

    It is :math:`4 \sum_{k \ge 0} (-1)^k Q((2k + 1) x)`.
    """
    return _pieces(x, SWITCH_MAX_ABS, _max_abs_tail, lambda body: 1 - _max_abs_body(body))


def cdf_max_abs(x: ArrayLike) -> Floats:
    r"""Return P(max |B| <= x), accurate to 1e-12 relative in both tails.

    It is :math:`(4 / \pi) \sum_{k \ge 0} (-1)^k / (2k + 1)\, e^{-(2k + 1)^2 \pi^2 / (8 x^2)}`.
    """
    return _pieces(x, SWITCH_MAX_ABS, lambda tail: 1 - _max_abs_tail(tail), _max_abs_body)


def quantile_range(prob: float) -> float:
    """Return the quantile of the range of B for a probability in (0, 1)."""
    return _quantile(cdf_range, sf_range, prob)


def quantile_max_abs(prob: float) -> float:
    """Return the quantile of the maximum of |B| for a probability in (0, 1)."""
    return _quantile(cdf_max_abs, sf_max_abs, prob)


def _pieces(numbers: ArrayLike, switch: float, tail: Any, body: Any) -> Floats:
    """Compute values from the switch on with one function and the others with another; NaN stays NaN."""
    x = np.asarray(numbers, dtype=np.float64)
    result, upper = np.full(x.shape, np.nan), np.asarray(x >= switch)
    result[upper] = tail(x[upper][:, None])
    lower = x < np.inf
    lower &= ~upper
    result[lower] = body(np.maximum(x[lower], SMALLEST)[:, None])
    return result[()]


def _range_tail(x: Floats) -> Floats:
    k = np.arange(1, REFLECTIONS + 1)
    return np.asarray(8 * ((-1.0) ** (k - 1) * k * ndtr(-k * x)).sum(axis=-1))


def _range_body(x: Floats) -> Floats:
    squares = (np.pi * (2 * np.arange(THETA_TERMS) + 1)) ** 2
    return np.asarray(((8 / x**2 + 8 / squares) * np.exp(-squares / (2 * x**2))).sum(axis=-1))


def _max_abs_tail(x: Floats) -> Floats:
    k = np.arange(REFLECTIONS)
    return np.asarray(4 * ((-1.0) ** k * ndtr(-(2 * k + 1) * x)).sum(axis=-1))


def _max_abs_body(x: Floats) -> Floats:
    odd = 2 * np.arange(THETA_TERMS) + 1
    terms = (-1.0) ** np.arange(THETA_TERMS) / odd * np.exp(-((odd * np.pi) ** 2) / (8 * x**2))
    return np.asarray(4 / np.pi * terms.sum(axis=-1))


def _quantile(cdf: Any, sf: Any, prob: float) -> float:
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return float(cdf(x) - prob if prob < 0.5 else (1 - prob) - sf(x))

    return float(brentq(excess, SMALLEST, 40.0, xtol=1e-13, rtol=1e-13))
