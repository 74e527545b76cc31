"""Binomial and Beta-binomial likelihoods, without cancellation, and the mean distance of a Beta from a point."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, expit, gammaln, log_expit, xlog1py, xlogy

from bayescal._arrays import Floats

DIRECT = 3e5  #: Below this kappa + n, differences of log Gamma are accurate to 1e-9, and fast.
FEW_VALUES = 1000  #: Up to this number of values, all are computed in one way, which is accurate for all kappa.
#: Logits are clipped to this absolute value; beyond it, float64 cannot distinguish the probability from 0 or 1.
FARTHEST_LOGIT = 300.0
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def log_best(n: Floats, k: Floats) -> Floats:
    """Binomial log-likelihood of k out of n at the share k / n; arrays broadcast."""
    share = np.divide(k, n, out=np.zeros_like(n), where=n > 0)
    return xlogy(k, share) + xlog1py(n - k, -share)


def log_binomial(n: Floats, k: Floats, eta: Floats, best: Floats | None = None) -> Floats:
    """Binomial log-likelihood of k out of n at the logit `eta`, relative to `log_best`; arrays broadcast."""
    result = log_expit(-eta) * n
    result += k * eta
    result -= log_best(n, k) if best is None else best
    return result


def log_ratio(n: Floats, k: Floats, eta: Floats, kappa: Floats) -> Floats:
    """Log of BetaBinomial(k; n, kappa h, kappa (1 - h)) / Binomial(k; n, h) with h = expit(eta).

    Arrays broadcast; kappa may vary along one axis only. The ratio tends to 1 as kappa grows.
    """
    large = kappa + np.max(n) >= DIRECT
    if large.all() or np.broadcast(n, eta, kappa).size <= FEW_VALUES:
        return ratio_by_stirling(n, k, eta, kappa)
    if not large.any():
        return _ratio_by_gamma(n, k, eta, kappa)
    axis = int(np.argmax(kappa.shape)) - kappa.ndim
    result = np.empty(np.broadcast_shapes(n.shape, eta.shape, kappa.shape))
    parts = np.moveaxis(result, axis, 0)
    for index, ratio in ((large.ravel(), ratio_by_stirling), (~large.ravel(), _ratio_by_gamma)):
        along = (v.compress(index, axis) if v.ndim >= -axis and v.shape[axis] > 1 else v for v in (n, k, eta, kappa))
        parts[index] = np.moveaxis(ratio(*along), axis, 0)
    return result


def log_beta_binomial(n: Floats, k: Floats, eta: Floats, kappa: float | Floats) -> Floats:
    """Beta-binomial log likelihood without its coefficient; arrays broadcast."""
    alpha, beta = kappa * expit(eta), kappa * expit(-eta)
    log_gammas = gammaln(alpha + k) - gammaln(alpha) + gammaln(beta + (n - k)) - gammaln(beta)
    return log_gammas - (gammaln(kappa + n) - gammaln(kappa))


def _ratio_by_gamma(n: Floats, k: Floats, eta: Floats, kappa: Floats) -> Floats:
    return log_beta_binomial(n, k, eta, kappa) - (k * eta + n * log_expit(-eta))


def ratio_by_stirling(n: Floats, k: Floats, eta: Floats, kappa: Floats) -> Floats:
    """Use Stirling's formula for each log Gamma; its large terms cancel analytically."""
    h, g, total = expit(eta), expit(-eta), kappa + n
    log_gammas = _rising(kappa * h, k, k / h, n, kappa, total)
    log_gammas += _rising(kappa * g, n - k, (n - k) / g, n, kappa, total)
    log_gammas -= 0.5 * np.log1p(n / kappa) + _stirling(total) - _stirling(kappa)
    return log_gammas


def _rising(alpha: Floats, k: Floats, ratio: Floats, n: Floats, kappa: Floats, total: Floats) -> Floats:
    """Log of Gamma(alpha + k) / (Gamma(alpha) h^k) without terms in kappa + n; alpha = kappa h, ratio = k / h."""
    # log((kappa + k / h) / (kappa + n)); the difference, accurate near 0, corrects the rounding error of the quotient
    quotient = (kappa + ratio) / total
    result = (ratio - n) / total
    result -= quotient - 1
    result *= np.minimum(1 / quotient, 2.0)
    result += np.log(quotient, out=quotient)
    end = alpha + k
    result *= end - 0.5
    result += _stirling(end)
    result -= _stirling(alpha)
    return result


def _stirling(x: Floats) -> Floats:
    """Remainder of Stirling's formula: log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)."""
    y = 1 / np.maximum(x, 8.0)
    y2 = y * y
    series = y * (1 / 12 - y2 * (1 / 360 - y2 * (1 / 1260 - y2 * (1 / 1680 - y2 * (1 / 1188 - y2 * 691 / 360360)))))
    small = x < 8.0
    if small.any():
        few = x[small]
        series[small] = gammaln(few) - (few - 0.5) * np.log(few) + few - HALF_LOG_2PI
    return series


def absolute_gap(c: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    r"""Mean of :math:`|\theta - c|` for :math:`\theta \sim \mathrm{Beta}(a, b)`, in closed form; arrays broadcast.

    It is :math:`c (2 I_c(a, b) - 1) + \frac{a}{a + b} (1 - 2 I_c(a + 1, b))`, where I is the regularised incomplete
    beta function.
    """
    c, a, b = np.asarray(c), np.asarray(a), np.asarray(b)
    return c * (2 * betainc(a, b, c) - 1) + a / (a + b) * (1 - 2 * betainc(a + 1, b, c))
