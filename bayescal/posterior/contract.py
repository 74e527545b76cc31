"""What every posterior offers; the rest of the package knows no more of a model than this."""

from typing import Any, Protocol

from bayescal._draws import BinDraws
from bayescal.stats.binned import BinnedCounts


class Posterior(Protocol):
    """A posterior of the bins given counts: a small record of the counts and the prior, that can be sampled."""

    @property
    def counts(self) -> BinnedCounts:
        """What was counted."""

    @property
    def prior(self) -> str:
        """The prior in words, for printing; empty where the model's name says it all."""

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Independent draws of the bins, on axis 0."""

    def ece_mean(self) -> float:
        """Posterior mean of the ECE, without random numbers."""

    def ece_sd(self) -> float:
        """Posterior standard deviation of the ECE, without random numbers."""
