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
from bayescal.shift.shifted_bins import LabelShiftedCounts

Floats = NDArray[np.float64]

#: Number of draws from a part for each draw that is kept.
FACTOR = 4
#: Standard deviation of Normal weights relative to that of the draws, and least effective draws per chosen draw.
NARROW, LEAST = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class OverPriors:
    r"""Posteriors given several class frequencies, with equal weights.

    Parameters
    ----------
    counts : LabelShiftedCounts
        Counts at the posterior mean of the class frequencies.
    parts : tuple of Posterior
        One per draw of the class frequencies; their counts are `CountsGivenPriors`.
    near_priors : ndarray, shape (n_parts, n_near, n_classes)
        Draws of the class frequencies that each part represents.

    Notes
    -----
    The masses m and accuracies :math:`\theta` of the bins of a target imply the frequency of its class,
    :math:`\sum_b m_b \theta_b`. Draws of a part are therefore chosen from `FACTOR` times as many, with Normal weights
    around its frequencies; see `near`. Probabilities of sub-models are computed before this selection.
    """

    counts: LabelShiftedCounts
    parts: tuple[Posterior, ...]
    near_priors: Floats

    @property
    def prior(self) -> str:
        """The prior of each part as text."""
        return self.parts[0].prior

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.counts!r}, {len(self.parts)} draws of the class frequencies)"

    def part_of(self, n_draws: int, rng: Any) -> NDArray[np.intp]:
        """Return the part of each draw that `sample` returns for the same `rng`, shape (n_draws,)."""
        return self.priors_of(n_draws, rng) % len(self.parts)

    def priors_of(self, n_draws: int, rng: Any) -> NDArray[np.intp]:
        """Return the row of `each_near` for each draw that `sample` returns for the same `rng`, shape (n_draws,)."""
        return np.asarray(_checks.generator(rng).permutation(n_draws) % len(self.each_near))

    @property
    def each_near(self) -> Floats:
        """`near_priors` as a table: row q belongs to part q % n_parts, and is its draw number q // n_parts."""
        return np.concatenate(np.swapaxes(self.near_priors, 0, 1))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins: the same number of draws from each part, in random order."""
        generator = _checks.generator(rng)
        part = self.part_of(n_draws, generator)
        own = [np.flatnonzero(part == i) for i in range(len(self.parts))]
        near = self.near_priors[:, :, self.counts.rows.of]
        drawn = [
            _given_frequencies(posterior, near_to, max(len(rows), 1), each)
            for posterior, near_to, rows, each in zip(
                self.parts, near, own, generator.spawn(len(self.parts)), strict=True
            )
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


def _given_frequencies(posterior: Posterior, near_to: Floats, n_draws: int, rng: np.random.Generator) -> BinDraws:
    """Draw the bins of one part, and keep draws that imply a class frequency near the given ones."""
    drawn = posterior.sample(FACTOR * n_draws, rng=rng)
    return drawn.part(near((drawn.mass * drawn.accuracy).sum(axis=1), near_to, n_draws, rng))


def near(values: Floats, centres: Floats, n_chosen: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose draws by importance resampling, the same number for each of several given values.

    Parameters
    ----------
    values : ndarray, shape (n_draws,)
        The value of each draw.
    centres : ndarray, shape (n_centres,)
        The given values. The draws chosen for one of them have Normal weights around it.
    n_chosen : int
        Number of draws to choose; a draw may be chosen several times.
    rng : Generator
        Randomness: one uniform number for systematic resampling [1]_.

    Returns
    -------
    ndarray of int, shape (n_chosen,)
        Positions of the chosen draws.

    Notes
    -----
    The weights are Normal densities around the centres. Their standard deviation is 0.3 times that of `values`, and is
    doubled until the effective number of draws is at least half of `n_chosen`. Wide weights make the selection weak if
    a centre is far from all draws.

    References
    ----------
    .. [1] J. Carpenter, P. Clifford and P. Fearnhead (1999), "Improved particle filter for nonlinear problems", IEE
       Proceedings - Radar, Sonar and Navigation 146, 2-7.
    """
    sd, squares = NARROW * values.std(), (values - centres[:, None]) ** 2
    if sd == 0:
        return np.arange(n_chosen)
    weight = _normal(squares, sd)
    while 1 / (weight**2).sum() < LEAST * n_chosen:
        sd *= 2
        weight = _normal(squares, sd)
    at = (np.arange(n_chosen) + rng.random()) / n_chosen
    return np.asarray(np.minimum(np.searchsorted(weight.cumsum(), at), len(values) - 1))


def _normal(squares: Floats, sd: float) -> Floats:
    """Return the mean of the normalised weights of all centres, shape (n_draws,)."""
    weight = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * sd**2))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(weight.mean(axis=0))


def over_priors(counts: LabelShiftedCounts, parts: Sequence[Posterior], near_priors: Floats) -> OverPriors:
    """Pool posteriors; see `OverPriors`. `counts` are those at the posterior mean of the class frequencies."""
    kind = HypothesesOverPriors if all(isinstance(each, HasHypotheses) for each in parts) else OverPriors
    return kind(counts, tuple(parts), near_priors)
