"""Protocols of posteriors: the methods that all have, and capabilities that some have."""

from typing import Any, Protocol, runtime_checkable

from bayescal._arrays import Floats
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws
from bayescal.stats.contract import Counts


class Posterior(Protocol):
    """A posterior of the bins given counts: a small record of counts and prior that can be sampled."""

    @property
    def counts(self) -> Counts:
        """The counts."""

    @property
    def prior(self) -> str:
        """The prior as text, for printing; empty for the default prior of the model."""

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw all bins independently; draws are on axis 0, and empty bins have mass 0."""


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
        """Whether all bins are saturated, so that the sub-models have their prior probabilities."""

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
        """Logarithm of the Bayes factor, which itself may overflow."""


@runtime_checkable
class HasParameters(Protocol):
    """A posterior whose bins depend on parameters that can be drawn with them."""

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws:
        """Draw the bins and the parameters; the bins are those of `sample` with the same `rng`."""


@runtime_checkable
class PredictsOutcomes(Protocol):
    """A posterior with exact predictive probabilities of outcomes, given the bins and their mean confidences."""

    @property
    def log_marginal_likelihood(self) -> float:
        """Log probability of the sequence of outcomes, given the bins of the rows."""

    def log_left_out(self) -> Floats:
        """Log probability of the outcome of one row given all other rows, by outcome and bin; NaN in empty cells."""


@runtime_checkable
class Pooled(Protocol):
    """A posterior of one of several groups, whose draws are joint with those of the other groups."""

    @property
    def pooling(self) -> str:
        """How the groups are pooled: ``"partial"`` or ``"complete"``."""

    @property
    def place(self) -> int:
        """Position of the group."""
