"""The spread tau of bins that are off: a rule to integrate over it, and each bin's likelihood once that is done."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfc, expit

from bayescal.posterior.beta_binomial import FARTHEST_LOGIT, log_binomial, log_ratio

Floats = NDArray[np.float64]

#: Neighbouring nodes that an interpolating polynomial goes through, their places, and values to coefficients.
WINDOW = 6
PLACES = np.arange(WINDOW) - (WINDOW - 1) / 2
TO_COEFFICIENTS = np.linalg.inv(np.vander(PLACES, increasing=True))


#: Where the rule over tau begins, in its own coordinate: what is missing below is less than 1e-6.
FIRST_NODE = -2.5


class TauRule(NamedTuple):
    """Nodes over (0, 1) and log weights that integrate against a prior of tau; kappa = 1 / tau^2 - 1."""

    tau: Floats
    kappa: Floats
    log_weight: Floats


def tau_rule(largest: float, step: float, power: float = 1.0) -> TauRule:
    r"""Integrate over tau under the density ``power * tau ** (power - 1)``; a power of 1 is uniform.

    Parameters
    ----------
    largest : float
        Rows of the largest bin: likelihoods bend where tau is about ``largest ** -0.5``.
    step : float
        In log tau, or less.
    power : float, default 1.0
        Of the prior.

    Notes
    -----
    :math:`\tau^{power} = \mathrm{erf}(v \sinh y)` is uniform under the prior, and likelihoods bend on the scale of 1 in
    y. With :math:`y = \log(1 + e^{w - \exp(-w)})` everything dies out doubly exponentially in w, so that the
    equidistant rule in w converges exponentially, for functions of :math:`|\tau|` too.
    """
    scale = max(largest, 4.0) ** (-power / 2)
    step = min(power, 1.0) * step
    w = np.arange(FIRST_NODE, np.arcsinh(4.5 / scale), step)
    y, slope = np.logaddexp(0, w - np.exp(-w)), expit(w - np.exp(-w)) * (1 + np.exp(-w))
    u = scale * np.sinh(y)
    # near tau = 1 it is 1 - tau that must keep its digits
    log_tau = np.where(u < 0.5, np.log(erf(np.minimum(u, 1.0))), np.log1p(-erfc(np.maximum(u, 0.25)))) / power
    log_weight = np.log(2 / np.sqrt(np.pi) * step * scale * np.cosh(y) * slope) - u**2
    return TauRule(np.exp(log_tau), np.expm1(-2 * log_tau), log_weight)


class SlabTable:
    """Likelihood of each bin if it is off, as a function of the logit of its centre, interpolated.

    On the scale of the binomial near the observed share, on the scale of the distance itself further out: nodes are
    equidistant in asinh(distance / scale).

    Parameters
    ----------
    n, k : ndarray, shape (n_bins,)
        Rows and positives.
    rule : TauRule
        Over the prior of tau, one for each bin.
    farthest : float
        Largest absolute logit that will be asked for.
    step : float
        Between nodes.
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
        """Coefficients (6, n_bins, n_nodes - 5) of the polynomials through six neighbours each."""
        coefficients = np.lib.stride_tricks.sliding_window_view(values, WINDOW, axis=1) @ TO_COEFFICIENTS.T
        return np.ascontiguousarray(np.moveaxis(coefficients, -1, 0))

    def interpolate(self, polynomials: Floats, eta: Floats) -> Floats:
        """Evaluate at logits (..., n_bins)."""
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

    def log_tau_weights(self, bin_index: NDArray[np.intp], eta: Floats) -> Floats:
        """Posterior log weights of each tau, not normalised, for pairs of a bin and a logit of its centre."""
        cell, x = self._locate(eta, self.peak[bin_index], self.scale[bin_index])
        taps = np.vander(x, WINDOW, increasing=True) @ TO_COEFFICIENTS
        value = np.broadcast_to(self.rule.log_weight, (len(x), len(self.rule.tau))).copy()
        for tap in range(WINDOW):
            value += taps[:, tap, None] * self.by_tau[bin_index, cell + tap]
        return value

    def _locate(self, eta: Floats, peak: Floats, scale: Floats) -> tuple[NDArray[np.intp], Floats]:
        """First node of the window around each logit, and the place in it."""
        place = np.arcsinh((eta - peak) / scale) / self.step + self.half
        place = np.clip(place, WINDOW, 2 * self.half - WINDOW)
        cell = place.astype(np.intp)
        return cell - (WINDOW // 2 - 1), place - cell - 0.5
