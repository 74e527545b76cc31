"""Sub-model of bins that are off by the same amount, upwards or downwards."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.shrinkage.sub_model import SubModelDraws, inverse_probabilities
from bayescal.stats.log_odds import VALUE_FLOOR

#: Number of cells of the grid of log amounts, and number of grids, each on the relevant part of the one before.
CELLS, ROUNDS = 48, 4
HOPELESS = 18.0  #: Cells whose log mass is this far below the largest are not relevant.


class OffsetPrior(NamedTuple):
    """Constants of the prior of equal offsets."""

    least: float = 1e-4  #: Smallest amount delta; its logarithm has a uniform prior.
    largest: float = 0.7  #: Largest amount.
    rho: tuple[float, ...] = (0.25, 0.5, 1.0)  #: Equally probable values of the probability that a bin is off.


OFFSET_PRIOR = OffsetPrior()


@dataclass(frozen=True, eq=False)
class EqualOffsets:
    r"""Posterior of bins that are off by one amount, upwards or downwards with equal probability, on a grid of amounts.

    Offsets are equal on the arcsine scale, which stabilises the variance of a binomial: a bin that is off has
    :math:`\theta_b = \sin^2(\arcsin\sqrt{\bar c_b} \pm \delta)`, where :math:`\delta` is the amount. Its gap is about
    :math:`2 \delta \sqrt{\bar c_b (1 - \bar c_b)}`, proportional to the standard deviation of an outcome.
    """

    n: Floats
    k: Floats
    confidence: Floats
    prior: OffsetPrior = OFFSET_PRIOR

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(np.logaddexp.reduce(self._log_joint, axis=None))

    @property
    def share(self) -> Floats:
        """Posterior probability of each pair of amount and rho, shape (n_amounts, n_rho)."""
        return np.exp(self._log_joint - self.log_evidence)

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw amount and rho on the grid, then the bins."""
        node = rng.choice(self._log_joint.size, count, p=self.share.ravel())
        i, j = np.unravel_index(node, self._log_joint.shape)
        shape = (count, len(self.n))
        off, up = rng.random(shape) < self._off(i, j), rng.random(shape) < self.up_probability[i]
        amount = self.amounts[i] * np.exp(self._step * (rng.random(count) - 0.5))
        accuracy = np.where(off, self.shifted(np.where(up, amount[:, None], -amount[:, None])), self.confidence)
        return SubModelDraws(accuracy, off, {"amount": amount, "rho": np.array(self.prior.rho)[j]}, count)

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of the amount and of rho."""
        amount = float(self.share.sum(axis=1) @ self.amounts)
        return {"amount": amount, "rho": float(self.share.sum(axis=0) @ np.array(self.prior.rho))}

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        up, down = (inverse_probabilities(self.shifted(sign * self.amounts[:, None])) for sign in (1, -1))
        shifted = self.up_probability * up + (1 - self.up_probability) * down
        i, j = np.indices(self._log_joint.shape).reshape(2, -1)
        off, exact = self._off(i, j), inverse_probabilities(self.confidence)[:, None]
        return np.asarray(self.share.ravel() @ ((1 - off) * exact + off * shifted[:, i]))

    def shifted(self, amount: Floats) -> Floats:
        """Return accuracies of bins that are off by a signed amount; broadcasts over bins."""
        angle = np.arcsin(np.sqrt(self.confidence))
        return np.sin(np.clip(angle + amount, 0, np.pi / 2)) ** 2

    @cached_property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin is off, shape (n_bins,)."""
        i, j = np.indices(self._log_joint.shape).reshape(2, -1)
        return self.share.ravel() @ self._off(i, j)

    @property
    def up_probability(self) -> Floats:
        """Posterior probability that a bin that is off lies above its mean confidence, (n_amounts, n_bins)."""
        return expit(np.subtract(*self._log_sides))

    @property
    def amounts(self) -> Floats:
        """Amounts at the centres of the cells of the grid, shape (n_amounts,)."""
        return self._middles(*self._range)

    @staticmethod
    def _middles(low: float, high: float) -> Floats:
        return np.exp(low + (high - low) / CELLS * (np.arange(CELLS) + 0.5))

    @property
    def _step(self) -> float:
        low, high = self._range
        return (high - low) / CELLS

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Bounds of the final grid, in the logarithm of the amount."""
        low, high = np.log(self.prior.least), np.log(self.prior.largest)
        for _ in range(ROUNDS - 1):
            amounts = self._middles(low, high)[:, None]
            log_off = np.logaddexp(self._log_ratio(amounts), self._log_ratio(-amounts)) - np.log(2)
            each = self._log_by_rho(log_off).max(axis=1)
            matters = np.flatnonzero(each > each.max() - HOPELESS)
            step = (high - low) / CELLS
            first, last = max(matters[0] - 1, 0), min(matters[-1] + 2, CELLS)
            low, high = low + step * first, low + step * last
        return float(low), float(high)

    @cached_property
    def _log_sides(self) -> tuple[Floats, Floats]:
        """Log likelihood ratio of each bin, off upwards and downwards against exact, shape (n_amounts, n_bins)."""
        return self._log_ratio(self.amounts[:, None]), self._log_ratio(-self.amounts[:, None])

    def _log_ratio(self, amount: Floats) -> Floats:
        accuracy = np.clip(self.shifted(amount), VALUE_FLOOR, 1 - VALUE_FLOOR)
        stated = np.clip(self.confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        return self.k * np.log(accuracy / stated) + (self.n - self.k) * (np.log1p(-accuracy) - np.log1p(-stated))

    @cached_property
    def _log_off(self) -> Floats:
        """Log likelihood ratio of each bin, off against exact, averaged over directions; shape (n_amounts, n_bins)."""
        return np.logaddexp(*self._log_sides) - np.log(2)

    def _log_by_rho(self, log_off: Floats) -> Floats:
        """Return the log likelihood ratio of all bins for each amount and rho, shape (n_amounts, n_rho)."""
        with np.errstate(divide="ignore"):
            each = [np.logaddexp(np.log(r) + log_off, np.log1p(-r)).sum(axis=1) for r in self.prior.rho]
        return np.stack(each, axis=1)

    @cached_property
    def _log_joint(self) -> Floats:
        """Unnormalised log posterior mass of each amount and rho, shape (n_amounts, n_rho)."""
        width = self._step / np.log(self.prior.largest / self.prior.least)
        return self._log_by_rho(self._log_off) + np.log(width / len(self.prior.rho))

    def _off(self, i: Indices, j: Indices) -> Floats:
        """Return the probability that each bin is off, given the indices of amounts and of rho; shape (n, n_bins)."""
        rho = np.array(self.prior.rho)[j]
        with np.errstate(divide="ignore"):
            prior_odds = np.log(rho) - np.log1p(-rho)
        return expit(prior_odds[:, None] + self._log_off[i])
