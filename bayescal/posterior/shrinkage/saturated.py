"""Saturated bins, whose confidences are close to 0 or 1: each has its own share of contrary outcomes."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import betaln, expit, softmax, xlog1py, xlogy

from bayescal._arrays import Bools, Floats, Generator
from bayescal.stats.sums import VALUE_FLOOR

#: A bin is saturated if its mean confidence is within this distance of 0 or 1. Its logit is nearly infinite, so a drift
#: of the logit cannot describe its accuracy.
NEAR = 1e-4
ROUNDING = 1e-9  #: Relative tolerance of NEAR, so that 0.0001 and 0.9999 are treated alike.
#: Prior of the share of contrary outcomes in a saturated bin, a mixture of Betas: weights and parameters. The first
#: component expects few contrary outcomes; the second gives every share the same density.
SLAB_WEIGHTS, SLAB = (0.2, 0.8), ((0.5, 10.0), (1.0, 1.0))
#: Largest posterior odds that all saturated bins are exact, reached if the observed shares of contrary outcomes equal
#: those implied by the confidences. These odds do not depend on the numbers of rows and bins.
EXACT_ODDS = 0.05 / 0.95


def is_saturated(confidence: Floats) -> Bools:
    """Return which mean confidences are within 1e-4 of 0 or 1."""
    return np.minimum(confidence, 1 - confidence) <= NEAR * (1 + ROUNDING)


@dataclass(frozen=True, eq=False)
class SaturatedBins:
    r"""Posterior of saturated bins: mixtures of Betas or, with a probability of at most 0.05, all of them exact.

    An outcome is contrary if it is 1 in a bin near 0, or 0 in a bin near 1. The share of contrary outcomes of each bin
    has the prior :math:`0.2\, \mathrm{Beta}(1/2, 10) + 0.8\, \mathrm{Beta}(1, 1)`. If r of n outcomes are contrary, its
    posterior is the mixture of :math:`\mathrm{Beta}(a_j + r, b_j + n - r)`, with weights proportional to
    :math:`w_j\, \mathrm{B}(a_j + r, b_j + n - r) / \mathrm{B}(a_j, b_j)`. The odds that all bins are exact are
    0.05 / 0.95 times the likelihood ratio of the shares implied by the confidences against the observed shares.
    """

    n: Floats
    k: Floats
    confidence: Floats

    def draw(self, count: int, rng: Generator) -> tuple[Floats, Bools]:
        """Draw accuracies, and whether they differ from the confidences; each of shape (count, n_bins)."""
        if not len(self.n):
            return np.zeros((count, 0)), np.zeros((count, 0), bool)
        a, b = self._parameters
        component = (rng.random((count, 1, len(self.n))) > np.cumsum(self.weights, axis=0)[:-1]).sum(axis=1)
        bins = np.arange(len(self.n))
        contrary = rng.beta(a[component, bins], b[component, bins])
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
        """Log marginal likelihood under the mixture of Betas."""
        return float(np.logaddexp.reduce(self._log_joint).sum())

    def accuracy_mean(self) -> Floats:
        """Posterior mean of the accuracies, shape (n_bins,)."""
        a, b = self._parameters
        contrary = (self.weights * a / (a + b)).sum(axis=0)
        off = np.where(self._high, 1 - contrary, contrary)
        return self.exact_probability * self.confidence + (1 - self.exact_probability) * off

    def log_left_out(self) -> Floats:
        """Log probability of the outcome of one row given all others, by outcome and bin; see `ShrinkagePosterior`."""
        result = np.full((2, len(self.n)), np.nan)
        for outcome, at in zip(*np.nonzero(np.stack([self.n - self.k, self.k]) > 0), strict=True):
            place = np.arange(len(self.n)) == at
            others = replace(self, n=self.n - place, k=self.k - place * outcome)
            accuracy = others.accuracy_mean()[at]
            result[outcome, at] = np.log(accuracy if outcome else 1 - accuracy)
        return result

    @property
    def weights(self) -> Floats:
        """Posterior probability of each component of the mixture in each bin, shape (n_components, n_bins)."""
        return np.asarray(softmax(self._log_joint, axis=0))

    @property
    def log_exact(self) -> float:
        """Log likelihood of exact calibration."""
        return self._log_likelihood(np.maximum(self._stated, VALUE_FLOOR))

    @cached_property
    def _high(self) -> Bools:
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
        """Parameters of the Beta posteriors of the shares of contrary outcomes, shape (n_components, n_bins) each."""
        a, b = np.transpose(SLAB)[:, :, None]
        return a + self._contrary, b + self.n - self._contrary

    @property
    def _log_joint(self) -> Floats:
        """Log of prior weight times marginal likelihood of each component in each bin."""
        prior = np.log(SLAB_WEIGHTS) - betaln(*np.transpose(SLAB))
        return np.asarray(betaln(*self._parameters) + prior[:, None])

    def _log_likelihood(self, share: Floats) -> float:
        """Log-likelihood of all bins, given their shares of contrary outcomes."""
        return float((xlogy(self._contrary, share) + xlog1py(self.n - self._contrary, -share)).sum())
