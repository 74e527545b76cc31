"""Saturated bins, whose confidences are close to 0 or 1: each has its own share of contrary outcomes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, xlog1py, xlogy

from bayescal.posterior.beta_binomial import absolute_gap, squared_gap
from bayescal.posterior.shrinkage.gap_moments import GapSums
from bayescal.posterior.shrinkage.independent.drift import VALUE_FLOOR

Floats = NDArray[np.float64]

#: A bin is saturated if its mean confidence is within this distance of 0 or 1. Its logit is nearly infinite, so a drift
#: of the logit cannot describe its accuracy.
NEAR = 1e-4
#: Relative tolerance of NEAR, so that 0.0001 and 0.9999 are treated alike.
ROUNDING = 1e-9
#: Beta prior of the share of contrary outcomes in a saturated bin.
SLAB = (0.5, 10.0)
#: Largest posterior odds that all saturated bins are exact, reached if the observed shares of contrary outcomes equal
#: those implied by the confidences. These odds do not depend on the numbers of rows and bins.
EXACT_ODDS = 0.05 / 0.95


def is_saturated(confidence: Floats) -> NDArray[np.bool_]:
    """Return which mean confidences are within 1e-4 of 0 or 1."""
    return np.minimum(confidence, 1 - confidence) <= NEAR * (1 + ROUNDING)


@dataclass(frozen=True, eq=False)
class SaturatedBins:
    r"""Posterior of saturated bins: independent Betas or, with a probability of at most 0.05, all of them exact.

    An outcome is contrary if it is 1 in a bin near 0, or 0 in a bin near 1. If r of n outcomes are contrary, their
    share is :math:`\mathrm{Beta}(1/2 + r, 10 + n - r)`. The odds that all bins are exact are 0.05 / 0.95 times the
    likelihood ratio of the shares implied by the confidences against the observed shares.

    Parameters
    ----------
    n, k, confidence : ndarray, shape (n_bins,)
        (Effective) rows, positives and mean confidences.
    """

    n: Floats
    k: Floats
    confidence: Floats

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw accuracies, and whether they differ from the confidences; each of shape (count, n_bins)."""
        if not len(self.n):
            return np.zeros((count, 0)), np.zeros((count, 0), bool)
        a, b = self._parameters
        contrary = rng.beta(a, b, (count, len(self.n)))
        exact = rng.random(count) < self.exact_probability
        accuracy = np.where(self._high, 1 - contrary, contrary)
        accuracy[exact] = self.confidence
        return accuracy, np.repeat(~exact[:, None], len(self.n), axis=1)

    @property
    def exact_probability(self) -> float:
        """Posterior probability that all bins are exact."""
        observed = np.divide(self._contrary, self.n, out=np.zeros_like(self.n), where=self.n > 0)
        ratio = self._log_likelihood(self._stated) - self._log_likelihood(observed)
        return float(expit(np.log(EXACT_ODDS) + ratio))

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood under the Beta prior."""
        return float((betaln(*self._parameters) - betaln(*SLAB)).sum())

    @property
    def log_exact(self) -> float:
        """Log likelihood of exact calibration."""
        return self._log_likelihood(np.maximum(self._stated, VALUE_FLOOR))

    def gap_sums(self, mass: Floats) -> GapSums:
        """Moments of the sum of the absolute gaps of the bins, weighted by `mass`."""
        a, b = self._parameters
        first, second = absolute_gap(self._stated, a, b), squared_gap(self._stated, a, b)
        off = 1 - self.exact_probability
        mean, variance = float(mass @ first), float(mass**2 @ (second - first**2))
        return GapSums(off * mean, off * variance + off * (1 - off) * mean**2, off * float(mass @ second))

    @cached_property
    def _high(self) -> NDArray[np.bool_]:
        """Whether each bin is near 1."""
        return self.confidence > 0.5

    @property
    def _stated(self) -> Floats:
        """Share of contrary outcomes under exact calibration, shape (n_bins,)."""
        return np.where(self._high, 1 - self.confidence, self.confidence)

    @property
    def _contrary(self) -> Floats:
        """Number of contrary outcomes, shape (n_bins,)."""
        return np.where(self._high, self.n - self.k, self.k)

    @property
    def _parameters(self) -> tuple[Floats, Floats]:
        """Parameters of the Beta posteriors of the shares of contrary outcomes."""
        return SLAB[0] + self._contrary, SLAB[1] + self.n - self._contrary

    def _log_likelihood(self, share: Floats) -> float:
        """Log-likelihood of all bins, given their shares of contrary outcomes."""
        return float((xlogy(self._contrary, share) + xlog1py(self.n - self._contrary, -share)).sum())
