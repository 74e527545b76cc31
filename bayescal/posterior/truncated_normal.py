"""The truncated Normal: the posterior of the mean confidence of a bin; accurate to 10 000 standard deviations."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, ndtri_exp, roots_legendre

from bayescal import _checks
from bayescal._arrays import Floats


def truncated_normal_quantile(
    u: ArrayLike, loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike
) -> Floats:
    r"""Compute the quantiles at probabilities u of Normal(loc, scale^2) truncated to [low, high]; all broadcast.

    If the interval contains the mean, :math:`x = \Phi^{-1}(\Phi(a) + u (\Phi(b) - \Phi(a)))`, where a and b are the
    standardised bounds. If it lies in one tail, the same formula is evaluated with logarithms of tail probabilities
    (`scipy.special.ndtri_exp`) to avoid underflow. Newton steps then refine the distance from the bound nearer to the
    mean, which avoids cancellation.
    """
    u, loc, scale, low, high = (np.asarray(v, dtype=np.float64) for v in (u, loc, scale, low, high))
    a, b = (low - loc) / scale, (high - loc) / scale
    tail = (a > 0) | (b < 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # each formula is used only where it is valid
        if tail.all():
            x = _tail_quantile(u, a, b, scale, low, high)
        else:
            cdf = ndtr(a)
            x = loc + scale * ndtri(cdf + u * (ndtr(b) - cdf))
            if tail.any():
                x = np.where(tail, _tail_quantile(u, a, b, scale, low, high), x)
    return np.clip(x, low, high)


def _tail_quantile(u: Floats, a: Floats, b: Floats, scale: Floats, low: Floats, high: Floats) -> Floats:
    """Quantile for 0 < a < b or a < b < 0 (standardised bounds), from the distance to the bound nearer to the mean."""
    upper = a > 0
    near = np.abs(np.where(upper, a, b))
    beyond = np.where(upper, u, 1 - u)  # share of the probability between the near bound and x
    # log of P(Z > |x|) / P(Z > near), from the same ratio at the far bound
    log_ratio = np.log1p(beyond * np.expm1(_log_tail_ratio(near, (high - low) / scale)))
    distance = np.maximum(-ndtri_exp(log_ndtr(-near) + log_ratio) - near, 0.0)
    for _ in range(2):
        slope = -np.sqrt(2 / np.pi) / erfcx((near + distance) / np.sqrt(2))
        distance = np.maximum(distance - (_log_tail_ratio(near, distance) - log_ratio) / slope, 0.0)
    distance = scale * np.where(np.isfinite(log_ratio), distance, np.inf)
    return np.where(upper, low + distance, high - distance)


def _log_tail_ratio(near: Floats, distance: Floats) -> Floats:
    """Logarithm of P(Z > near + distance) / P(Z > near), without a difference of two large numbers."""
    scaled = erfcx((near + distance) / np.sqrt(2)) / erfcx(near / np.sqrt(2))
    return np.log(scaled) - distance * (near + distance / 2)


def sample_truncated_normal(
    loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike, n_draws: int, *, rng: Any = None
) -> Floats:
    """Draw from Normal(loc, scale^2) truncated to [low, high] by inversion; all broadcast, draws on a new axis 0."""
    shape = np.broadcast_shapes(*(np.shape(v) for v in (loc, scale, low, high)))
    u = _checks.generator(rng).random((n_draws, *shape))
    return truncated_normal_quantile(u, loc, scale, low, high)


def truncated_normal_rule(
    loc: Floats, scale: Floats, low: Floats, high: Floats, breaks: Floats | None = None, order: int = 16
) -> tuple[Floats, Floats]:
    """Compute nodes and weights, shape (n_bins, n_nodes), of rules for expectations under truncated Normals.

    The parameters have shape (n_bins,); the weights of each row sum to 1. Panels of `order` Gauss-Legendre nodes end at
    `breaks`, shape (n_bins, n_breaks), between which the integrand is smooth, and at distances of 0, 1/2, 1, 2, 4, ...
    units from the mode of the density. The unit is the standard deviation, divided by a if the mode is a > 1 standard
    deviations away from the mean.
    """
    peak = np.clip(loc, low, high)
    steepness = np.abs(peak - loc) / scale
    reach = scale / np.maximum(1.0, steepness)
    steps = reach[:, None] * np.concatenate([[0.0], 2.0 ** np.arange(-1, 6)])
    ends = [low[:, None], high[:, None], peak[:, None] - steps, peak[:, None] + steps]
    if breaks is not None:
        ends.append(breaks)
    edges = np.sort(np.clip(np.concatenate(ends, axis=1), low[:, None], high[:, None]), axis=1)
    x, w = roots_legendre(order)
    half = np.diff(edges, axis=1)[..., None] / 2
    nodes = edges[:, :-1, None] + half * (1 + x)
    # density relative to the mode: exp(-(z^2 - z_peak^2) / 2), with the difference of squares factored
    shift = (nodes - peak[:, None, None]) / scale[:, None, None]
    start = ((peak - loc) / scale)[:, None, None]
    weights = half * w * np.exp(-shift * (shift / 2 + start))
    rows = len(loc)
    nodes, weights = nodes.reshape(rows, -1), weights.reshape(rows, -1)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def truncated_normal_moments(
    loc: ArrayLike, scale: ArrayLike, low: ArrayLike, high: ArrayLike
) -> tuple[Floats, Floats]:
    """Compute mean and variance of Normal(loc, scale^2) truncated to [low, high], by quadrature; all broadcast."""
    parameters = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (loc, scale, low, high)))
    shape = parameters[0].shape
    loc, scale, low, high = (np.ravel(v) for v in parameters)
    nodes, weights = truncated_normal_rule(loc, scale, low, high)
    peak = np.clip(loc, low, high)[:, None]
    shift = (weights * (nodes - peak)).sum(axis=1)
    variance = (weights * (nodes - peak - shift[:, None]) ** 2).sum(axis=1)
    return (peak[:, 0] + shift).reshape(shape), variance.reshape(shape)
