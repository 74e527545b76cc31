"""The family of independent bins: a drift, and residuals that are independent given the drift."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.shrinkage.gap_moments import GapSums
from bayescal.posterior.shrinkage.independent import moments
from bayescal.posterior.shrinkage.independent.drift import DriftingBins
from bayescal.posterior.shrinkage.independent.integrated import (
    COARSE,
    FINE,
    BinLikelihoods,
    IntegratedSubModel,
    Resolution,
    integrate,
)
from bayescal.posterior.shrinkage.independent.sampling import ImportanceSample, draw, importance_sample
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.posterior.shrinkage.sub_model import SubModelDraws

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IndependentBins:
    """All sub-models of the family, integrated at first use.

    Parameters
    ----------
    n, k, confidence : ndarray, shape (n_bins,)
        (Effective) rows, positives and mean confidences.
    prior : ShrinkagePrior
        Constants of the prior.
    """

    n: Floats
    k: Floats
    confidence: Floats
    prior: ShrinkagePrior

    @cached_property
    def coarse(self) -> tuple[BinLikelihoods, dict[str, IntegratedSubModel]]:
        """Likelihoods and integrated sub-models, at the resolution for evidences and draws."""
        return self._integrate(COARSE)

    @cached_property
    def fine(self) -> tuple[BinLikelihoods, dict[str, IntegratedSubModel]]:
        """Likelihoods and integrated sub-models, at the finer resolution for moments."""
        return self._integrate(FINE)

    def _integrate(self, resolution: Resolution) -> tuple[BinLikelihoods, dict[str, IntegratedSubModel]]:
        prior = self.prior
        drifting = DriftingBins(self.n, self.k, self.confidence, prior.intercept_sd, prior.log_slope_sd)
        bins = BinLikelihoods(drifting, prior, resolution)
        return bins, integrate(bins)


@dataclass(frozen=True, eq=False)
class IndependentSubModel:
    """One sub-model of the family.

    Parameters
    ----------
    family : IndependentBins
        The family.
    name : str
        Name of the sub-model.
    """

    family: IndependentBins
    name: str

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        bins, models = self.family.coarse
        return models[self.name].log_evidence - float(bins.drifting.log_likelihood(bins.drifting.logit))

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Draw by importance sampling over the drift, with resampling."""
        bins, models = self.family.coarse
        model = models[self.name]
        state, effective = draw(bins, model, count, rng)
        slope = np.exp(state.log_slope)
        parameters = {"intercept": state.intercept, "slope": slope, "tau": state.tau, "rho": state.rho}
        return SubModelDraws(state.accuracy, state.off, parameters, effective, model.unfinished)

    def gap_sums(self, mass: Floats) -> GapSums:
        """Return the moments of the sum over bins of `mass` times the absolute gap, at the finer resolution."""
        bins, models = self.family.fine
        return moments.gap_sums(bins, models[self.name], mass)

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin deviates from the drift, shape (n_bins,)."""
        bins, models = self.family.coarse
        return moments.off_probability(bins, models[self.name])

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of intercept, slope, tau and rho."""
        bins, models = self.family.coarse
        return moments.parameter_means(bins, models[self.name])

    def importance(self, count: int) -> ImportanceSample | None:
        """Draw an importance sample of the drift with a fixed seed; None if the sub-model has no drift."""
        bins, models = self.family.coarse
        model = models[self.name]
        return importance_sample(bins, model, count, np.random.default_rng(0)) if model.drift else None
