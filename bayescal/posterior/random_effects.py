"""Normal random-effects models: a difference over data sets, and two correlated effects over centres."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaincinv

from bayescal._arrays import Floats, Generator

DEGREES = 4.0  #: Degrees of freedom of the half-t prior of the standard deviation between data sets.
#: Ends of the grid of the standard deviation in units of its prior scale, and number of nodes, equidistant in its
#: logarithm.
LOWEST, HIGHEST, NODES = 1e-6, 100.0, 600


@dataclass(frozen=True, eq=False)
class RandomEffectsPosterior:
    r"""Posterior of the mean and the standard deviation of a population of data sets; several problems at once.

    Parameters
    ----------
    estimate, error : ndarray, shape (n_problems, n_sets)
        Posterior mean and standard deviation of the difference on each data set.
    scale : float
        Scale of the half-t prior of the standard deviation between data sets.

    Notes
    -----
    The difference :math:`\delta_d` on the data set d has the estimate :math:`m_d \sim N(\delta_d, s_d^2)`, and
    :math:`\delta_d \sim N(\mu, \tau^2)`. The prior of :math:`\mu` is uniform, that of :math:`\tau` a half-t with 4
    degrees of freedom [1]_. Given :math:`\tau`, the posterior of :math:`\mu` is Normal with the weights
    :math:`1 / (s_d^2 + \tau^2)` ([2]_, equations 9 and 10); :math:`\tau` is integrated on a grid ([2]_, equation 11).

    References
    ----------
    .. [1] A. Gelman (2006), "Prior distributions for variance parameters in hierarchical models", Bayesian Analysis 1,
       515-533.
    .. [2] C. Röver (2020), "Bayesian random-effects meta-analysis using the bayesmeta R package", Journal of
       Statistical Software 93(6), 1-51.

    Examples
    --------
    Three data sets with the same difference: the mean is 0.02, and little is known about its spread.

    >>> import numpy as np
    >>> from bayescal.posterior.random_effects import RandomEffectsPosterior
    >>> posterior = RandomEffectsPosterior(np.array([[0.02, 0.02, 0.02]]), np.array([[0.01, 0.01, 0.01]]), 0.05)
    >>> posterior.mean_moments
    (array([0.02]), array([0.01...]))
    """

    estimate: Floats
    error: Floats
    scale: float

    @cached_property
    def log_spread(self) -> Floats:
        """Logarithm of the standard deviation between data sets at the nodes, shape (n_nodes,)."""
        highest = max(HIGHEST * self.scale, 10 * float(np.ptp(self.estimate, axis=1).max(initial=0.0)))
        return np.linspace(np.log(LOWEST * self.scale), np.log(highest), NODES)

    @cached_property
    def _given_spread(self) -> tuple[Floats, Floats, Floats]:
        """Mean and standard deviation of mu, and log density of log tau, at each node: shape (n_problems, n_nodes)."""
        spread = np.exp(self.log_spread)
        m = self.estimate
        total = self.error[:, None, :] ** 2 + spread[:, None] ** 2
        precision = 1 / total
        information = precision.sum(axis=2)
        mean = (precision * m[:, None, :]).sum(axis=2) / information
        misfit = (precision * (m[:, None, :] - mean[:, :, None]) ** 2).sum(axis=2)
        log_likelihood = -0.5 * (np.log(total).sum(axis=2) + np.log(information) + misfit)
        log_prior = -0.5 * (DEGREES + 1) * np.log1p((spread / self.scale) ** 2 / DEGREES)
        return mean, information**-0.5, log_likelihood + log_prior + self.log_spread

    @cached_property
    def probabilities(self) -> Floats:
        """Probability of each node, shape (n_problems, n_nodes); rows add up to 1."""
        log_density = self._given_spread[2]
        density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        return density / density.sum(axis=1, keepdims=True)

    @property
    def mean_moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the mean over the population, each of shape (n_problems,)."""
        mean, sd, _ = self._given_spread
        center = (self.probabilities * mean).sum(axis=1)
        variance = (self.probabilities * (sd**2 + (mean - center[:, None]) ** 2)).sum(axis=1)
        return center, np.sqrt(variance)

    @property
    def spread_mean(self) -> Floats:
        """Posterior mean of the standard deviation between data sets, shape (n_problems,)."""
        return self.probabilities @ np.exp(self.log_spread)

    def sample(self, n_draws: int, rng: Generator, *, common: bool = False) -> tuple[Floats, Floats, Floats]:
        """Draw the mean, the standard deviation between data sets, and the difference on a new data set.

        The draws are joint; each of the three has the shape (n_draws, n_problems).

        Parameters
        ----------
        n_draws : int
            Number of draws.
        rng : Generator
            Generator of random numbers.
        common : bool, default False
            Whether all problems use the same random numbers, so that draws of one do not depend on the others.
        """
        n_problems = len(self.estimate)
        between = (self.probabilities[:, 1:] + self.probabilities[:, :-1]) / 2
        between = between / between.sum(axis=1, keepdims=True)
        reached = np.cumsum(between, axis=1)
        reached[:, -1] = 1.0
        # one search in all distribution functions, each raised above the one before
        row = np.arange(n_problems)
        size = (n_draws, 1 if common else n_problems)
        u = rng.random(size) + np.zeros(n_problems)
        at = np.searchsorted((reached + row[:, None]).ravel(), (u + row).ravel(), side="right").reshape(u.shape)
        cell = np.clip(at - row * reached.shape[1], 0, reached.shape[1] - 1)
        within = np.clip((u - reached[row, cell]) / np.maximum(between[row, cell], 1e-300) + 1, 0, 1)
        mean, sd, _ = self._given_spread
        log_spread = self.log_spread
        spread = np.exp(log_spread[cell] + within * (log_spread[1] - log_spread[0]))
        center = mean[row, cell] + within * (mean[row, cell + 1] - mean[row, cell])
        width = sd[row, cell] + within * (sd[row, cell + 1] - sd[row, cell])
        population = center + width * rng.standard_normal(size)
        return population, spread, population + spread * rng.standard_normal(size)

    def sets_given(self, mean: Floats, spread: Floats, rng: Generator) -> Floats:
        r"""Draw the difference on each data set given draws of `sample`, (n_draws, n_problems, n_sets), jointly.

        Given :math:`\mu` and :math:`\tau`, it is Normal with the mean :math:`\mu + \kappa (m_d - \mu)` and the variance
        :math:`\kappa s_d^2`, where :math:`\kappa = \tau^2 / (\tau^2 + s_d^2)`.
        """
        between, mean = spread[..., None] ** 2, mean[..., None]
        kept = between / np.maximum(between + self.error**2, np.finfo(np.float64).tiny)
        center = mean + kept * (self.estimate - mean)
        return np.asarray(center + np.sqrt(kept) * self.error * rng.standard_normal(center.shape))


#: Cells per side of the grid: of the logarithms of both standard deviations, in units of the prior scales and between
#: these ends, and of the correlation, at equal probabilities of its prior, whose density is proportional to 1 - rho^2.
CELLS, LEAST_SPREAD, MOST_SPREAD, SHAPE = (24, 24, 8), 0.02, 50.0, 2.0
#: The grid is placed anew ROUNDS - 1 times, without outer cells that hold less than this share of the mass.
ROUNDS, NEGLIGIBLE = 3, 1e-6


@dataclass(frozen=True, eq=False)
class TwoEffectsPosterior:
    r"""Posterior of the means, the standard deviations and the correlation of two effects over centres.

    The log likelihood of the effects :math:`\theta_j` of a centre is
    :math:`h_j' \theta_j - \theta_j' H_j \theta_j / 2`, and :math:`\theta_j \sim N(\mu, T)`. The prior of :math:`\mu` is
    uniform, those of both standard deviations are half-t as in `RandomEffectsPosterior`, and :math:`(\rho + 1) / 2 \sim
    \mathrm{Beta}(2, 2)`, the LKJ prior with shape 2. Given T, the centre contributes the precision :math:`(I + H_j
    T)^{-1} H_j` to :math:`\mu`, which needs no inverse of H or T; T is integrated on a grid.
    """

    precision: Floats  #: Information of each centre about its two effects, may be singular: (n_centres, 2, 2).
    shift: Floats  #: Precision times estimate, shape (n_centres, 2).
    scales: tuple[float, float]  #: Scales of the half-t priors of both standard deviations.

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
        low = np.array([np.log(LEAST_SPREAD), np.log(LEAST_SPREAD), 0.0])
        step = np.array([np.log(MOST_SPREAD / LEAST_SPREAD), np.log(MOST_SPREAD / LEAST_SPREAD), 1.0]) / CELLS
        for left in reversed(range(ROUNDS)):
            axes = [start + each * (np.arange(n) + 0.5) for start, each, n in zip(low, step, CELLS, strict=True)]
            at = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")])
            log_mass = self._of_means(self._between(at))[2].reshape(CELLS)
            for axis in (0, 1):
                log_prior = axes[axis] - 0.5 * (DEGREES + 1) * np.log1p(np.exp(2 * axes[axis]) / DEGREES)
                if low[axis] == np.log(LEAST_SPREAD):
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
        first = (place == 0) & (low == np.log(LEAST_SPREAD))[:, None] & (np.arange(3) < 2)[:, None]
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
