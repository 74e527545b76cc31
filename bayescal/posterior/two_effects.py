"""Normal random-effects model of two correlated effects per centre, such as both parameters of a calibration line."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaincinv

from bayescal._arrays import Floats, Generator
from bayescal.posterior.random_effects import DEGREES

#: Cells per side of the grid: of the logarithms of both standard deviations, in units of the prior scales and between
#: these ends, and of the correlation, at equal probabilities of its prior, whose density is proportional to 1 - rho^2.
CELLS, LOWEST, HIGHEST, SHAPE = (24, 24, 8), 0.02, 50.0, 2.0
#: The grid is placed anew ROUNDS - 1 times, without outer cells that hold less than this share of the mass.
ROUNDS, NEGLIGIBLE = 3, 1e-6


@dataclass(frozen=True, eq=False)
class TwoEffectsPosterior:
    r"""Posterior of the means, the standard deviations and the correlation of two effects over centres.

    Parameters
    ----------
    precision : ndarray, shape (n_centres, 2, 2)
        Information of each centre about its two effects; may be singular.
    shift : ndarray, shape (n_centres, 2)
        Precision times estimate.
    scales : tuple of float
        Scales of the half-t priors of both standard deviations.

    Notes
    -----
    The log likelihood of the effects :math:`\theta_j` of a centre is
    :math:`h_j' \theta_j - \theta_j' H_j \theta_j / 2`, and :math:`\theta_j \sim N(\mu, T)`. The prior of :math:`\mu` is
    uniform, those of both standard deviations are half-t with 4 degrees of freedom [1]_, and :math:`(\rho + 1) / 2 \sim
    \mathrm{Beta}(2, 2)`, the LKJ prior with shape 2. Given T, the centre contributes the precision :math:`(I + H_j
    T)^{-1} H_j` to :math:`\mu`, which needs no inverse of H or T; T is integrated on a grid.

    References
    ----------
    .. [1] A. Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian Analysis 1,
       515-533.
    """

    precision: Floats
    shift: Floats
    scales: tuple[float, float]

    def _of_means(self, between: Floats) -> tuple[Floats, Floats, Floats]:
        """Return mean and covariance of mu, and the log likelihood, given T as (3, n), the entries 11, 12 and 22."""
        t11, t12, t22 = between
        total, moved, log_density = np.zeros(between.shape), np.zeros((2, *t11.shape)), np.zeros(t11.shape)
        for (a, b, _, c), (p, q) in zip(self.precision.reshape(-1, 4), self.shift, strict=True):
            # I + H T, whose inverse times H and h are the contributions of the centre
            m11, m12, m21, m22 = 1 + a * t11 + b * t12, a * t12 + b * t22, b * t11 + c * t12, 1 + b * t12 + c * t22
            determinant = m11 * m22 - m12 * m21
            first, second = (m22 * p - m12 * q) / determinant, (m11 * q - m21 * p) / determinant
            total += np.stack([m22 * a - m12 * b, m22 * b - m12 * c, m11 * c - m21 * b]) / determinant
            moved += np.stack([first, second])
            explained = p * (t11 * first + t12 * second) + q * (t12 * first + t22 * second)
            log_density += 0.5 * (explained - np.log(determinant))
        covariance = np.stack([total[2], -total[1], total[0]]) / (total[0] * total[2] - total[1] ** 2)
        mean = _times(covariance, moved)
        determinant = covariance[0] * covariance[2] - covariance[1] ** 2
        return mean, covariance, log_density + 0.5 * ((moved * mean).sum(axis=0) + np.log(determinant))

    @cached_property
    def _grid(self) -> tuple[Floats, Floats, Floats]:
        """Lower ends and widths of the cells, shape (3,), and cumulated probabilities of all cells."""
        low = np.array([np.log(LOWEST), np.log(LOWEST), 0.0])
        step = np.array([np.log(HIGHEST / LOWEST), np.log(HIGHEST / LOWEST), 1.0]) / CELLS
        for left in reversed(range(ROUNDS)):
            axes = [start + each * (np.arange(n) + 0.5) for start, each, n in zip(low, step, CELLS, strict=True)]
            at = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")])
            log_mass = self._of_means(self._between(at))[2].reshape(CELLS)
            for axis in (0, 1):
                log_prior = axes[axis] - 0.5 * (DEGREES + 1) * np.log1p(np.exp(2 * axes[axis]) / DEGREES)
                if low[axis] == np.log(LOWEST):
                    log_prior[0] += np.log1p(1 / step[axis])  # also the standard deviations below the first cell
                log_mass += log_prior[:, None, None] if axis == 0 else log_prior[:, None]
            mass = np.exp(log_mass - log_mass.max())
            for axis in range(3) if left else ():
                along = mass.sum(axis=tuple({0, 1, 2} - {axis}))
                used = np.flatnonzero(along > NEGLIGIBLE * along.sum())
                low[axis] += used[0] * step[axis]
                step[axis] *= (used[-1] + 1 - used[0]) / CELLS[axis]
        reached = mass.ravel().cumsum()
        return low, step, reached / reached[-1]

    def sample(self, n_draws: int, rng: Generator) -> tuple[Floats, Floats, Floats, Floats]:
        """Draw means (n_draws, 2), standard deviations, correlation (n_draws,) and effects of a new centre jointly."""
        low, step, reached = self._grid
        cell = np.minimum(np.searchsorted(reached, rng.random(n_draws), side="right"), len(reached) - 1)
        place, u = np.stack(np.unravel_index(cell, CELLS)), rng.random((3, n_draws))
        at = low[:, None] + step[:, None] * (place + u)
        # the first cell of a standard deviation reaches down to 0
        first = (place == 0) & (low == np.log(LOWEST))[:, None] & (np.arange(3) < 2)[:, None]
        at = np.where(first, low[:, None] + step[:, None] + np.log(np.maximum(u, 1e-12)), at)
        between = self._between(at)
        center, covariance, _ = self._of_means(between)
        mean, spread = center + _normal(covariance, rng), np.exp(at[:2]) * np.array(self.scales)[:, None]
        return mean.T, spread.T, _correlation(at[2]), (mean + _normal(between, rng)).T

    def _between(self, at: Floats) -> Floats:
        """Return the entries 11, 12 and 22 of the covariance between centres at points of the grid, shape (3, n)."""
        first, second = np.exp(at[:2]) * np.array(self.scales)[:, None]
        return np.stack([first**2, _correlation(at[2]) * first * second, second**2])


def _correlation(probability: Floats) -> Floats:
    return np.asarray(2 * betaincinv(SHAPE, SHAPE, probability) - 1)


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.stack([matrix[0] * vector[0] + matrix[1] * vector[1], matrix[1] * vector[0] + matrix[2] * vector[1]])


def _normal(covariance: Floats, rng: Generator) -> Floats:
    """Draw centred Normal vectors, shape (2, n), with these covariances, which may be nearly singular."""
    z = rng.standard_normal((2, covariance.shape[1]))
    first = np.sqrt(covariance[0])
    slope = covariance[1] / np.maximum(first, np.finfo(np.float64).tiny)
    rest = np.sqrt(np.maximum(covariance[2] - slope**2, 0.0))
    return np.stack([first * z[0], slope * z[0] + rest * z[1]])
