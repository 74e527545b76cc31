"""A posterior of bins for each of several draws of the class frequencies; draws are pooled over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.stats.contract import Counts


@dataclass(frozen=True, eq=False)
class OverPriors:
    """Posteriors given several class frequencies, with equal weights.

    Parameters
    ----------
    counts : LabelShiftedCounts
        Counts at the posterior mean of the class frequencies.
    parts : tuple of Posterior
        One per draw of the class frequencies.
    """

    counts: Counts
    parts: tuple[Posterior, ...]

    @property
    def prior(self) -> str:
        """The prior of each part as text."""
        return self.parts[0].prior

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.counts!r}, {len(self.parts)} draws of the class frequencies)"

    def part_of(self, n_draws: int, rng: Any) -> NDArray[np.intp]:
        """Return the part of each draw that `sample` returns for the same `rng`, shape (n_draws,)."""
        return np.asarray(_checks.generator(rng).permutation(n_draws) % len(self.parts))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins: the same number of draws from each part, in random order."""
        generator = _checks.generator(rng)
        part = self.part_of(n_draws, generator)
        seeds = generator.integers(2**63, size=len(self.parts))
        own = [np.flatnonzero(part == i) for i in range(len(self.parts))]
        drawn = [
            posterior.sample(max(len(rows), 1), rng=int(seed))
            for posterior, rows, seed in zip(self.parts, own, seeds, strict=True)
        ]
        shape = (n_draws, drawn[0].accuracy.shape[1])
        columns = {}
        for name in ("mass", "accuracy", "confidence"):
            columns[name] = np.empty(shape)
            for rows, each in zip(own, drawn, strict=True):
                columns[name][rows] = getattr(each, name)[: len(rows)]
        if all(len(each.confidence) == 1 for each in drawn):
            columns["confidence"] = drawn[0].confidence
        return BinDraws(**columns, occupied=drawn[0].occupied, weight=columns["mass"])


@dataclass(frozen=True, eq=False, repr=False)
class HypothesesOverPriors(OverPriors):
    """The same for parts that average sub-models; probabilities are means over the parts."""

    parts: tuple[Any, ...]

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model."""
        return {name: float(np.mean([each.probabilities[name] for each in self.parts])) for name in self._names}

    @property
    def _names(self) -> Sequence[str]:
        return list(self.parts[0].probabilities)

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family."""
        return {family: {n: self.probabilities[n] for n in names} for family, names in self.parts[0].families.items()}

    @property
    def all_saturated(self) -> bool:
        """Whether all bins are saturated."""
        return all(each.all_saturated for each in self.parts)

    @property
    def prior_odds(self) -> float:
        """Prior odds of exact calibration."""
        return float(self.parts[0].prior_odds)

    @cached_property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration."""
        return float(np.mean([each.p_calibrated for each in self.parts]))

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the Bayes factor."""
        return float(logit(self.p_calibrated) - np.log(self.prior_odds))

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""
        return float(np.exp(min(self.log_bayes_factor, 700.0)))


def over_priors(counts: Counts, parts: Sequence[Posterior]) -> OverPriors:
    """Pool posteriors; `counts` are those at the posterior mean of the class frequencies."""
    kind = HypothesesOverPriors if all(isinstance(each, HasHypotheses) for each in parts) else OverPriors
    return kind(counts, tuple(parts))
