"""Protocols of posteriors: the methods that all have, and capabilities that some have."""

from typing import Any, Protocol, runtime_checkable

from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.draws import ShrinkageDraws
from bayescal.stats.contract import Counts


class Posterior(Protocol):
    """A posterior of the bins given counts: a small record of the counts and the prior, that can be sampled."""

    @property
    def counts(self) -> Counts:
        """The counts."""

    @property
    def prior(self) -> str:
        """The prior in words, for printing; empty where the model's name says it all."""

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Independent draws of all bins, on axis 0; empty bins have mass 0."""


@runtime_checkable
class HasMoments(Protocol):
    """A posterior whose moments of the ECE are computed without random numbers."""

    def ece_mean(self) -> float:
        """Posterior mean of the ECE, without random numbers."""

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE, without random numbers."""


@runtime_checkable
class HasHypotheses(Protocol):
    """A posterior that averages sub-models, which may include exact calibration."""

    @property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model."""

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family."""

    @property
    def all_saturated(self) -> bool:
        """Whether the sub-models describe no bin, so that their probabilities are those of the prior."""

    @property
    def prior_odds(self) -> float:
        """Prior odds of exact calibration."""

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration."""

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""

    @property
    def log_bayes_factor(self) -> float:
        """Log of the Bayes factor, which may overflow."""


@runtime_checkable
class HasParameters(Protocol):
    """A posterior whose bins depend on parameters that can be drawn with them."""

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws:
        """Draw the bins and the parameters; the bins are those of `sample` with the same `rng`."""
