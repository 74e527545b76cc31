"""How far the cells of a target differ from those of a source: a hierarchical model that contains no difference."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayescal import _checks
from bayescal.shift.class_frequencies_posterior import dirichlet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Expected total variations of the prior, each as probable as no difference.
SCALES = (0.64, 0.32, 0.16, 0.08, 0.04, 0.02, 0.01)
#: Proposals of the common distribution for each scale.
PROPOSALS = 1000
#: Least share of a cell, so that logarithms are finite.
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class CellShiftPosterior:
    r"""Posterior of the distributions of source and target over cells.

    Parameters
    ----------
    source, target : ndarray of int, shape (n_cells,)
        Rows per cell, at least one on each side.

    Notes
    -----
    Both distributions vary around a common one, m, by an amount that is learnt from the data:

    .. math::
        m \sim \mathrm{Dirichlet}(1/J), \quad q_s, q_t \mid m \sim \mathrm{Dirichlet}(c m), \quad
        s \sim \mathrm{Multinomial}(q_s), \quad t \sim \mathrm{Multinomial}(q_t).

    The concentration c takes eight values with equal prior probabilities: no difference, :math:`c = \infty`, and those
    for which the total variation of :math:`q_s` and :math:`q_t` is expected to be 0.01, 0.02, ..., 0.64. Given m, the
    distributions integrate out [1]_, and the marginal likelihood of each c is estimated by importance sampling of m.

    References
    ----------
    .. [1] I. J. Good (1976), "On the application of symmetric Dirichlet distributions and their mixtures to contingency
       tables", Annals of Statistics 4, 1159-1189.

    Examples
    --------
    >>> posterior = CellShiftPosterior(np.array([200, 100, 100]), np.array([100, 100, 200]))
    >>> posterior.sample(2000, rng=1).shape
    (2000, 2, 3)
    """

    source: Ints
    target: Ints

    @property
    def alpha(self) -> float:
        """Dirichlet parameter of each cell of the common distribution: one row in total."""
        return 1 / len(self.source)

    @cached_property
    def concentrations(self) -> Floats:
        r"""Concentrations c of finite differences, shape (7,).

        The total variation of two distributions over J cells of equal shares has about the expectation
        :math:`\sqrt{(J - 1) / (\pi c)}`.
        """
        return (len(self.source) - 1) / (np.pi * np.square(SCALES))

    def log_evidence(self, rng: Any = None) -> Floats:
        """Log marginal likelihood of each concentration and, last, of no difference; shape (8,)."""
        return np.append(self._proposed(_checks.generator(rng))[1], self._without_difference())

    def sample(self, n_draws: int, *, rng: Any = None) -> Floats:
        """Draw both distributions, shape (n_draws, 2, n_cells); they are equal in draws without a difference."""
        generator = _checks.generator(rng)
        proposals, evidence, weights = self._proposed(generator)
        evidence = np.append(evidence, self._without_difference())
        probability = np.exp(evidence - evidence.max())
        chosen = generator.choice(len(evidence), n_draws, p=probability / probability.sum())
        rows = np.stack([self.source, self.target])
        # no difference: both are one distribution, given all rows
        same = dirichlet(np.broadcast_to(rows.sum(axis=0) + self.alpha, (n_draws, rows.shape[1])), generator)
        drawn = np.repeat(same[:, None], 2, axis=1)
        for i, c in enumerate(self.concentrations):
            own = np.flatnonzero(chosen == i)
            common = proposals[i, generator.choice(PROPOSALS, len(own), p=weights[i])]
            drawn[own] = dirichlet(c * common[:, None] + rows, generator)
        return drawn

    def _proposed(self, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Propose common distributions for each concentration: (proposals, log evidence, weights that sum to 1)."""
        c = self.concentrations[:, None]
        # rows vary more than those of a multinomial: they are worth c / (c + rows) of it for the common distribution
        worth = self.alpha + np.zeros((len(c), len(self.source)))
        for rows in (self.source, self.target):
            worth += rows * (c / (c + rows.sum()))
        common = dirichlet(np.broadcast_to(worth[:, None], (len(c), PROPOSALS, len(self.source))), rng)
        log_weight = _log_density(common, np.full(len(self.source), self.alpha)) - _log_density(common, worth[:, None])
        for rows in (self.source, self.target):
            log_weight += _log_marginal(rows, c[..., None] * common)
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        total = weight.sum(axis=1, keepdims=True)
        return common, (top + np.log(total / PROPOSALS))[:, 0], weight / total

    def _without_difference(self) -> float:
        both = np.full(len(self.source), self.alpha)
        return float(_log_marginal(self.source + self.target, both))


def total_variation(distributions: Floats) -> Floats:
    """Return half of the summed absolute differences of pairs of distributions, shape (..., 2, n_cells)."""
    return np.asarray(np.abs(np.diff(distributions, axis=-2)).sum(axis=(-2, -1)) / 2)


def _log_marginal(rows: Ints, parameters: Floats) -> Floats:
    """Log probability of a sequence of rows under a Dirichlet-multinomial distribution."""
    total = parameters.sum(axis=-1)
    cells = gammaln(parameters + rows) - gammaln(np.maximum(parameters, TINY))
    return np.asarray(gammaln(total) - gammaln(total + rows.sum()) + cells.sum(axis=-1))


def _log_density(values: Floats, parameters: Floats) -> Floats:
    """Log density of a Dirichlet distribution."""
    of_cells = (parameters - 1) * np.log(values) - gammaln(parameters)
    return np.asarray(gammaln(parameters.sum(axis=-1)) + of_cells.sum(axis=-1))
