r"""A confidence sequence of the ECE: intervals after each window, all of which hold at once.

Hypothesis: the accuracies :math:`\theta_b` are constant, that is, given all rows before, the outcome of a row in bin b
is 1 with probability :math:`\theta_b`. The marginal likelihood of any distribution of accuracies, divided by the
likelihood of the true ones, is a martingale with mean 1. So the set of all :math:`\theta` whose likelihood is at least
:math:`\alpha` times a marginal likelihood contains the true ones after all windows at once, with probability at least
:math:`1 - \alpha` (Robbins [1]_, by the inequality of Ville). The interval is the range, over this set, of
:math:`\sum_b m_b |\theta_b - \bar c_b|`, with the shares :math:`m_b` and mean confidences of the rows so far.

The marginal likelihood is a product over windows: the probability of the outcomes of each window given those before,
under a mixture of four parts (exact calibration, drifts of all bins, Beta accuracies in all bins, and in some bins).
They are centred on the mean confidences of the rows *before* the window (midpoints of bins without rows), because a
centre that depends on the confidences of the window would not be fixed when its rows are drawn.

References
----------
.. [1] H. Robbins (1970), "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical
   Statistics 41, 1397-1409.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from bayescal.monitoring.eprocess import PRIOR, SHIFT, STRETCH, blocks

Floats = NDArray[np.float64]

#: Sizes of the Beta distributions, in rows, and probabilities with which a bin is off.
SIZES = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0])
OFF = (0.1, 0.4)
#: Range of the Lagrange multiplier, in units of the ECE per nat, and steps of its search.
LEAST_PRICE, MOST_PRICE = 1e-14, 1e2
STEPS = 60
#: Centres of bins are at least this far from 0 and 1.
MARGIN = 1e-6
#: Accuracies are at least this far from 0 and 1 where the logarithm of a likelihood is computed.
CLOSEST = 1e-300


def log_marginals(n: Floats, k: Floats, midpoints: Floats, mean_confidence: Floats) -> Floats:
    """Return the log marginal likelihood of the outcomes up to each window.

    Parameters
    ----------
    n, k : ndarray, shape (n_windows, ..., n_bins)
        Rows, and rows with outcome 1, up to each window.
    midpoints : ndarray, shape (n_bins,)
        Centres of bins without rows.
    mean_confidence : ndarray, shape (n_windows, ..., n_bins)
        Mean confidences of the rows up to each window; not used where a bin has no rows.

    Returns
    -------
    ndarray, shape (n_windows, ...)
        Sums over the windows of log p(outcomes up to a window) - log p(outcomes before it), both with the centres
        before the window.
    """
    none = np.zeros_like(n[:1])
    n_before, k_before = np.concatenate([none, n[:-1]]), np.concatenate([none, k[:-1]])
    centre = np.concatenate([none, mean_confidence[:-1]])
    centre = np.where(n_before > 0, centre, midpoints)
    parts = [
        _log_mixture(n[part], k[part], centre[part]) - _log_mixture(n_before[part], k_before[part], centre[part])
        for part in blocks(n.shape)
    ]
    marginals: Floats = np.cumsum(np.concatenate(parts), axis=0)
    return marginals


def _log_mixture(n: Floats, k: Floats, centre: Floats) -> Floats:
    """Return the log marginal likelihood of counts under the mixture with given centres."""
    c = np.clip(centre, MARGIN, 1 - MARGIN)[..., None]
    n, k = n[..., None], k[..., None]
    calibrated = k * np.log(c) + (n - k) * np.log1p(-c)
    logit = np.log(c) - np.log1p(-c)
    delta = SHIFT + STRETCH * logit
    drift = (calibrated + k * delta - n * np.log1p(c * np.expm1(delta))).sum(axis=-2)
    beta = betaln(SIZES * c + k, SIZES * (1 - c) + n - k) - betaln(SIZES * c, SIZES * (1 - c))
    on, off = calibrated[..., 0], _log_mean(beta)
    some = [np.logaddexp(np.log1p(-share) + on, np.log(share) + off).sum(axis=-1) for share in OFF]
    parts = [on.sum(axis=-1), _log_mean(drift + np.log(PRIOR * len(PRIOR))), _log_mean(beta.sum(axis=-2))]
    return _log_mean(np.stack([*parts, _log_mean(np.stack(some, axis=-1))], axis=-1))


def _log_mean(values: Floats) -> Floats:
    """Return the log of the mean of exp over the last axis."""
    largest = values.max(axis=-1)
    found: Floats = largest + np.log(np.exp(values - largest[..., None]).mean(axis=-1))
    return found


def ece_intervals(n: Floats, k: Floats, mean_confidence: Floats, log_marginal: Floats, level: float) -> Floats:
    """Return the range of the ECE over all accuracies whose likelihood is at least `level` times the marginal one.

    Parameters
    ----------
    n, k, mean_confidence : ndarray, shape (..., n_bins)
        Rows, rows with outcome 1 and mean confidences (not used where a bin has no rows); at least one row.
    log_marginal : ndarray, shape (...)
        As of `log_marginals`.
    level : float
        Probability with which any of the intervals may miss its true value.

    Returns
    -------
    ndarray, shape (2, ...)
        Lower and upper end. Both are values of the Lagrange dual problem, which are never inside the range.

    Examples
    --------
    With one bin and the marginal likelihood of a uniform accuracy, 5 of 10 rows allow accuracies with
    (theta (1 - theta))^5 >= 0.05 B(6, 6), from 0.129 to 0.871.

    >>> from scipy.special import betaln
    >>> low, high = ece_intervals(np.array([10.0]), np.array([5.0]), np.array([0.0]), betaln(6, 6), 0.05)
    >>> float(low.round(3)), float(high.round(3))
    (0.129, 0.871)
    """
    total = n.sum(axis=-1, keepdims=True)
    share, seen = n / total, np.divide(k, n, out=np.zeros_like(n), where=n > 0)
    c = np.where(n > 0, mean_confidence, 0.0)
    budget = (xlogy(k, seen) + xlog1py(n - k, -seen)).sum(axis=-1) - log_marginal - np.log(level)

    def dual(price: Floats, theta: Floats, sign: float) -> Floats:
        """Return the gap of each bin, less or plus the price of its distance from the observed accuracy."""
        safe = np.clip(theta, CLOSEST, 1 - 1e-16)
        spent = n * (xlogy(seen, seen / safe) + xlogy(1 - seen, (1 - seen) / (1 - safe)))
        return share * np.abs(theta - c) - sign * price[..., None] * spent

    def above(price: Floats) -> Floats:
        ends = [dual(price, _best(share, price[..., None] * n, seen, up), 1.0) for up in (True, False)]
        return np.maximum(*ends).sum(axis=-1) + price * budget

    def below(price: Floats) -> Floats:
        spend = price[..., None] * n
        towards = np.where(
            seen > c,
            np.maximum(_best(share, spend, seen, False), c),
            np.minimum(_best(share, spend, seen, True), c),
        )
        return price * budget - dual(price, towards, -1.0).sum(axis=-1)

    high = np.minimum(_least(above, budget.shape), (share * np.maximum(c, 1 - c)).sum(axis=-1))
    low = np.maximum(-_least(below, budget.shape), 0.0)
    return np.stack([np.minimum(low, high), high])


def _best(share: Floats, spend: Floats, seen: Floats, up: bool) -> Floats:
    """Return the accuracy that maximises share * theta (or minus it) - spend * KL(seen, theta): a quadratic's root."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if not up:
            total = spend + share
            theta = 2 * spend * seen / (total + np.sqrt(np.maximum(total**2 - 4 * spend * share * seen, 0)))
        else:
            left = spend - share
            root = np.sqrt(left**2 + 4 * spend * share * seen)
            theta = np.where(left > 0, 2 * spend * seen / (left + root), (root - left) / (2 * share))
    best: Floats = np.clip(np.where(share > 0, theta, seen), 0, 1)
    return best


def _least(function: Callable[[Floats], Floats], shape: tuple[int, ...]) -> Floats:
    """Return the smallest value that a golden-section search in the logarithm of the price finds."""
    golden = (np.sqrt(5) - 1) / 2
    low, high = (np.full(shape, np.log(price)) for price in (LEAST_PRICE, MOST_PRICE))
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(np.exp(left)), function(np.exp(right))
    for _ in range(STEPS):
        rises = at_left <= at_right
        low, high = np.where(rises, low, left), np.where(rises, right, high)
        new = np.where(rises, high - golden * (high - low), low + golden * (high - low))
        at_new = function(np.exp(new))
        left, right = np.where(rises, new, right), np.where(rises, left, new)
        at_left, at_right = np.where(rises, at_new, at_right), np.where(rises, at_left, at_new)
    return np.minimum(at_left, at_right)
