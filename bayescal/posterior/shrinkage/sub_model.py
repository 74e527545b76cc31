"""The interface of the sub-models (evidence, draws, moments), and the sub-model of exact calibration."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.posterior.shrinkage.gap_moments import GapSums

Floats = NDArray[np.float64]

#: Parameters of the sub-models, and their values under sub-models that lack them.
PARAMETERS = {
    "intercept": 0.0,
    "slope": 1.0,
    "tau": np.nan,
    "rho": np.nan,
    "amount": np.nan,
    "noise": np.nan,
    "noise_rate": np.nan,
}


#: An importance sample is poor if its effective size is below POOR_SHARE of its draws. Samples of fewer than
#: FEWEST_JUDGED draws are not judged.
POOR_SHARE = 0.1
FEWEST_JUDGED = 50
#: Largest negligible value of the product of a sub-model's probability and the unresolved share of its mass.
NEGLIGIBLE = 1e-3


class SamplerWarning(UserWarning):
    """Warns that a sub-model whose probability is not negligible could not be integrated or sampled accurately."""


class SubModelDraws(NamedTuple):
    """Draws of one sub-model.

    Parameters
    ----------
    accuracy, off : ndarray, shape (n_draws, n_bins)
        Accuracies, and whether bins are off, that is, deviate from what the sub-model prescribes for all bins.
    parameters : dict of str to ndarray, shape (n_draws,)
        The parameters of the sub-model, with names from `PARAMETERS`.
    effective : float
        Kish's effective number of importance draws.
    unfinished : float
        Share of the posterior mass that the integration did not resolve.
    """

    accuracy: Floats
    off: NDArray[np.bool_]
    parameters: dict[str, Floats]
    effective: float
    unfinished: float = 0.0

    def warn_if_poor(self, name: str, probability: float) -> None:
        """Warn if the importance sample is poor, or if too much mass is unresolved.

        `name` and `probability` are those of the sub-model.
        """
        count = len(self.accuracy)
        poor = count >= FEWEST_JUDGED and self.effective < POOR_SHARE * count
        if poor or probability * self.unfinished > NEGLIGIBLE:
            warnings.warn(
                f"draws from the sub-model {name!r} (probability {probability:.2g}) are inaccurate: effective size "
                f"{self.effective:.0f} of {count} draws, {self.unfinished:.2g} of its posterior mass not integrated.",
                SamplerWarning,
                skip_file_prefixes=_checks.PACKAGE,
            )


class SubModel(Protocol):
    """One sub-model given the counts, integrated over its parameters."""

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Draw accuracies and parameters `count` times."""

    def gap_sums(self, mass: Floats) -> GapSums:
        """Return the moments of the sum over bins of `mass` times the absolute gap."""

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin is off, shape (n_bins,)."""

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of the parameters."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact calibration; also used for every sub-model if there are no bins to describe."""

    confidence: Floats
    log_evidence: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> SubModelDraws:
        """Return equal draws: accuracies are the mean confidences."""
        accuracy = np.tile(self.confidence, (count, 1))
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)

    def gap_sums(self, mass: Floats) -> GapSums:
        """Return zero moments: all gaps are 0."""
        return GapSums(0.0, 0.0, 0.0)

    @property
    def off_probability(self) -> Floats:
        """Zero: no bin is off."""
        return np.zeros(len(self.confidence))

    def parameter_means(self) -> dict[str, float]:
        """Return an empty mapping: there are no parameters."""
        return {}
