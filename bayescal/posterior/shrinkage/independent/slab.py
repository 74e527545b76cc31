"""Bins that are off under a sparse residual: integration over their spread tau, and the resulting likelihood.

`tau_rule` is a quadrature rule over the prior of tau. `SlabTable` tabulates the likelihood of each bin, integrated over
tau, as a function of the logit of the centre of the bin.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erf, erfc, expit

from bayescal._arrays import Floats, Indices
from bayescal.posterior.beta_binomial import FARTHEST_LOGIT, log_binomial, log_ratio

#: Interpolating polynomials: number of neighbouring nodes, their positions, and the matrix from values to coefficients.
WINDOW = 6
PLACES = np.arange(WINDOW) - (WINDOW - 1) / 2
TO_COEFFICIENTS = np.linalg.inv(np.vander(PLACES, increasing=True))
#: First node of the rule over tau, in its transformed coordinate; the mass below it is less than 1e-6.
FIRST_NODE = -2.5


class TauRule(NamedTuple):
    """Quadrature rule over a prior of tau on (0, 1): nodes, kappa = 1 / tau^2 - 1, and log weights."""

    tau: Floats
    kappa: Floats
    log_weight: Floats


def tau_rule(largest: float, step: float, power: float = 1.0) -> TauRule:
    r"""Make a quadrature rule over tau with the prior density ``power * tau ** (power - 1)``.

    `step` is the largest step in log tau, and `largest` the number of rows of the largest bin; likelihoods change most
    where tau is about ``largest ** -0.5``. With :math:`\tau^{power} = \mathrm{erf}(v \sinh y)` and :math:`v =
    \max(largest, 4)^{-power / 2}`, they vary on the scale of 1 in y. With :math:`y = \log(1 + e^{w - \exp(-w)})`, the
    integrand decays doubly exponentially in w, so that the trapezoidal rule in w converges exponentially, even if the
    integrand is not smooth at :math:`\tau = 0`: Takahasi and Mori (1974), "Double exponential formulas for numerical
    integration", Publications of the Research Institute for Mathematical Sciences 9, 721-741.
    """
    scale = max(largest, 4.0) ** (-power / 2)
    step = min(power, 1.0) * step
    w = np.arange(FIRST_NODE, np.arcsinh(4.5 / scale), step)
    y, slope = np.logaddexp(0, w - np.exp(-w)), expit(w - np.exp(-w)) * (1 + np.exp(-w))
    u = scale * np.sinh(y)
    # near tau = 1, compute 1 - tau without cancellation
    log_tau = np.where(u < 0.5, np.log(erf(np.minimum(u, 1.0))), np.log1p(-erfc(np.maximum(u, 0.25)))) / power
    log_weight = np.log(2 / np.sqrt(np.pi) * step * scale * np.cosh(y) * slope) - u**2
    return TauRule(np.exp(log_tau), np.expm1(-2 * log_tau), log_weight)


class SlabTable:
    """Likelihood of each bin if it is off, interpolated as a function of the logit of its centre.

    Logits are at most `farthest` in size. Nodes have the distance `step` in the transformed coordinate
    asinh((logit - peak) / scale). The peak is the logit of the observed share, (k + 1/2) / (n + 1), and the scale about
    its standard error. The spacing of the nodes is constant near the peak and proportional to the distance from it
    further away.
    """

    def __init__(self, n: Floats, k: Floats, rule: TauRule, farthest: float, step: float) -> None:
        share = (k + 0.5) / (n + 1)
        self.n, self.k, self.rule, self.step = n, k, rule, step
        self.peak = np.log(share) - np.log1p(-share)
        self.scale = 1 / np.sqrt(n * share * (1 - share) + 0.25)
        reach = np.arcsinh(np.max((min(farthest, FARTHEST_LOGIT) + np.abs(self.peak)) / self.scale))
        self.half = int(reach / step) + WINDOW
        places = np.sinh(step * np.arange(-self.half, self.half + 1))
        self.eta = np.clip(self.peak[:, None] + self.scale[:, None] * places, -FARTHEST_LOGIT, FARTHEST_LOGIT)
        #: Log-likelihood at each node for each tau, shape (n_bins, n_nodes, n_taus).
        self.by_tau = self.log_by_tau(self.eta)
        self._log_slab = self.polynomials(np.log(np.exp(self.by_tau) @ np.exp(rule.log_weight)))

    def log_by_tau(self, eta: Floats) -> Floats:
        """Log-likelihood of each bin if it is off, for logits (n_bins, n) and each tau: shape (n_bins, n, n_taus)."""
        n, k, eta = self.n[:, None, None], self.k[:, None, None], eta[:, :, None]
        return log_binomial(n, k, eta) + log_ratio(n, k, eta, self.rule.kappa)

    @staticmethod
    def polynomials(values: Floats) -> Floats:
        """Return the coefficients of polynomials through six neighbouring nodes, shape (6, n_bins, n_nodes - 5)."""
        coefficients = np.lib.stride_tricks.sliding_window_view(values, WINDOW, axis=1) @ TO_COEFFICIENTS.T
        return np.ascontiguousarray(np.moveaxis(coefficients, -1, 0))

    def interpolate(self, polynomials: Floats, eta: Floats) -> Floats:
        """Evaluate polynomials at logits of shape (..., n_bins)."""
        cell, x = self._locate(eta, self.peak, self.scale)
        cell += np.arange(len(self.n)) * polynomials.shape[2]
        *lower, highest = polynomials.reshape(WINDOW, -1)
        value = highest.take(cell)
        for coefficients in reversed(lower):
            value *= x
            value += coefficients.take(cell)
        return value

    def log_slab(self, eta: Floats) -> Floats:
        """Log-likelihood of each bin if it is off, relative to that at k / n; logits (..., n_bins)."""
        return self.interpolate(self._log_slab, eta)

    def log_tau_weights(self, bin_index: Indices, eta: Floats) -> Floats:
        """Unnormalised posterior log weights of each tau, for pairs of a bin and the logit of its centre."""
        cell, x = self._locate(eta, self.peak[bin_index], self.scale[bin_index])
        taps = np.vander(x, WINDOW, increasing=True) @ TO_COEFFICIENTS
        value = np.broadcast_to(self.rule.log_weight, (len(x), len(self.rule.tau))).copy()
        for tap in range(WINDOW):
            value += taps[:, tap, None] * self.by_tau[bin_index, cell + tap]
        return value

    def _locate(self, eta: Floats, peak: Floats, scale: Floats) -> tuple[Indices, Floats]:
        """Return the first node of the window around each logit, and the position of the logit within the window."""
        place = np.arcsinh((eta - peak) / scale) / self.step + self.half
        place = np.clip(place, WINDOW, 2 * self.half - WINDOW)
        cell = place.astype(np.intp)
        return cell - (WINDOW // 2 - 1), place - cell - 0.5
