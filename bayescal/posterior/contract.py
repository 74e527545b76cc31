"""Protocols of posteriors: the methods that all have, and capabilities that some have."""

from typing import Any, Protocol, runtime_checkable

from bayescal._arrays import Floats
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws
from bayescal.stats.contract import Counts


class Posterior(Protocol):
    """A posterior of the bins given counts: a small record of counts and prior that can be sampled."""

    @property
    def counts(self) -> Counts: ...  # the counts
    @property
    def prior(self) -> str: ...  # the prior as text, for printing; empty for the default prior of the model
    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws: ...  # draws of all bins, on axis 0


@runtime_checkable
class HasHypotheses(Protocol):
    """A posterior that averages sub-models, which may include exact calibration."""

    @property
    def probabilities(self) -> dict[str, float]: ...  # posterior probability of each sub-model
    @property
    def families(self) -> dict[str, dict[str, float]]: ...  # posterior probabilities of the sub-models, by family
    @property
    def all_saturated(self) -> bool: ...  # whether all bins are saturated: probabilities are those of the prior
    @property
    def prior_odds(self) -> float: ...  # prior odds of exact calibration
    @property
    def p_calibrated(self) -> float: ...  # posterior probability of exact calibration
    @property
    def bayes_factor(self) -> float: ...  # of exact calibration against the average of the other sub-models
    @property
    def log_bayes_factor(self) -> float: ...  # logarithm of the Bayes factor, which itself may overflow


@runtime_checkable
class HasParameters(Protocol):
    """A posterior whose bins depend on parameters that can be drawn with them."""

    def sample_all(self, n_draws: int = 4000, *, rng: Any = None) -> ShrinkageDraws: ...  # bins as those of `sample`


@runtime_checkable
class PredictsOutcomes(Protocol):
    """A posterior with exact predictive probabilities of outcomes, given the bins and their mean confidences."""

    @property
    def log_marginal_likelihood(self) -> float: ...  # of the sequence of outcomes, given the bins of the rows
    def log_left_out(self) -> Floats: ...  # of one outcome given all other rows, by outcome and bin; NaN in empty cells


@runtime_checkable
class Pooled(Protocol):
    """A posterior of one of several groups, whose draws are joint with those of the other groups."""

    @property
    def pooling(self) -> str: ...  # how the groups are pooled: ``"partial"`` or ``"complete"``
    @property
    def place(self) -> int: ...  # position of the group
