"""Normal random-effects model of differences between data sets: their mean and standard deviation over a population."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
