"""Groups that are evaluated alone: one more component of the mixture, whose evidence competes with the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.posterior.shrinkage.prior import EXACT

Floats = NDArray[np.float64]


class SeparateGroups(Protocol):
    """Posteriors of groups that know nothing of each other, on the bins with rows in some group."""

    @property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods of the outcomes, shape (n_groups,)."""

    def draw(self, group: int, count: int, rng: np.random.Generator) -> tuple[Floats | None, Floats]:
        """Draw masses, or None for those of the pooled posterior, and accuracies: shapes (count, n_used)."""


class AveragesModels(Posterior, HasHypotheses, Protocol):
    """A posterior that averages sub-models and has their evidences, as `ShrinkagePosterior`."""

    @property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of each sub-model, and of exact calibration."""


@dataclass(frozen=True, eq=False)
class Alone:
    """The posteriors that groups have without pooling.

    Parameters
    ----------
    posteriors : sequence of ShrinkagePosterior
        Posterior of each group, given its counts.
    used : ndarray of bool, shape (n_bins,)
        Bins with rows in some group.
    confidence : ndarray, shape (n_groups, n_used)
        Mean confidences from which the pooled posterior measures gaps.
    """

    posteriors: Sequence[AveragesModels]
    used: NDArray[np.bool_]
    confidence: Floats

    @cached_property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods of the outcomes, shape (n_groups,).

        The prior weight of exact calibration, 2 %, is neglected: it would change the logarithms by at most 0.02.
        """
        return np.array([_log_evidence(each) for each in self.posteriors])

    def draw(self, group: int, count: int, rng: np.random.Generator) -> tuple[Floats | None, Floats]:
        """Draw masses and accuracies: those without pooling, or, of a group without rows, those of the prior."""
        posterior, confidence = self.posteriors[group], self.confidence[group]
        drawn: BinDraws = posterior.sample(count, rng=rng)
        occupied = posterior.counts.occupied[self.used]
        if not occupied.any():
            return None, np.clip(confidence + drawn.gap[:, self.used], 0.0, 1.0)
        return drawn.mass[:, self.used], np.where(occupied, drawn.accuracy[:, self.used], confidence)


def _log_evidence(posterior: AveragesModels) -> float:
    exact, given = posterior.log_evidence[EXACT], posterior.probabilities.get(EXACT, 0.0)
    return exact if given == 1 else exact - posterior.log_bayes_factor - float(np.log1p(-given))
