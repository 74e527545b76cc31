"""The interface of the sub-models of the shrinkage prior: evidence, draws, moments; and exact calibration."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.posterior.shrinkage.gap_moments import GapSums

Floats = NDArray[np.float64]

#: Parameters of the sub-models, and their values where a sub-model does not have them.
PARAMETERS = {
    "intercept": 0.0,
    "slope": 1.0,
    "tau": np.nan,
    "rho": np.nan,
    "amount": np.nan,
    "noise": np.nan,
    "noise_rate": np.nan,
}


#: An importance sample is poor below this effective share of its draws; fewer draws than that say nothing about it.
POOR_SHARE = 0.1
FEWEST_JUDGED = 50
#: A sub-model less probable than this cannot spoil an answer; nor can a smaller share of its mass be missed.
NEGLIGIBLE = 1e-3


class SamplerWarning(UserWarning):
    """A sub-model that matters could not be integrated or sampled well."""


class SubModelDraws(NamedTuple):
    """Draws of one sub-model.

    Parameters
    ----------
    accuracy, off : ndarray, shape (n_draws, n_bins)
        Accuracies, and whether bins deviate from what they have in common.
    parameters : dict of str to ndarray, shape (n_draws,)
        Those of `PARAMETERS` that the sub-model has.
    effective : float
        Effective number of draws.
    unfinished : float
        Share of the posterior mass that was not resolved.
    """

    accuracy: Floats
    off: NDArray[np.bool_]
    parameters: dict[str, Floats]
    effective: float
    unfinished: float = 0.0

    def warn_if_poor(self, name: str, probability: float) -> None:
        """Warn if these draws are approximate, given how probable the sub-model of that name is."""
        count = len(self.accuracy)
        poor = count >= FEWEST_JUDGED and self.effective < POOR_SHARE * count
        if poor or probability * self.unfinished > NEGLIGIBLE:
            warnings.warn(
                f"the sub-model {name!r} (probability {probability:.2g}) is approximate: effective size "
                f"{self.effective:.0f} of {count} draws, {self.unfinished:.2g} of its mass not resolved.",
                SamplerWarning,
                skip_file_prefixes=_checks.PACKAGE,
            )


class SubModel(Protocol):
    """One sub-model given the counts, integrated over its parameters."""

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Draw independently."""

    def gap_sums(self, mass: Floats) -> GapSums:
        """Moments of the sum over bins of `mass` times the absolute gap."""

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin is off, shape (n_bins,)."""

    def parameter_means(self) -> dict[str, float]:
        """Posterior means of its parameters."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact calibration; also any sub-model of no bins."""

    confidence: Floats
    log_evidence: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Every draw is the same."""
        accuracy = np.tile(self.confidence, (count, 1))
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)

    def gap_sums(self, mass: Floats) -> GapSums:
        """No gaps."""
        return GapSums(0.0, 0.0, 0.0)

    @property
    def off_probability(self) -> Floats:
        """None is off."""
        return np.zeros(len(self.confidence))

    def parameter_means(self) -> dict[str, float]:
        """No parameters."""
        return {}
