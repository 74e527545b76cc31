r"""Confidence distribution of a statistic of the cumulative difference, along one shape.

The plug-in statistic of the observed curve S is too large on average, because S is the true curve C plus noise, and the
range and the maximum of a curve grow with noise. Here C is d times a known shape. The sampling distribution of the
statistic is then known for each d, and the probability that it exceeds the observed value, as a function of d, is a
confidence distribution: its quantiles are confidence limits of d [1]_.

References
----------
.. [1] M. Xie and K. Singh (2013), "Confidence distribution, the frequentist distribution estimator of a parameter: a
   review", International Statistical Review 81, 3-39.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: A statistic of curves: reduces the last axis.
Statistic = Callable[[Floats], Floats]

#: Number of values of d, from 0 to the observed value plus REACH standard deviations of the end of the curve.
VALUES, REACH = 33, 3.5
#: Number of simulated paths of the noise.
PATHS = 1000


def noise_paths(variance: Floats, rng: np.random.Generator) -> Floats:
    """Simulate Gaussian random walks, which begin at 0, from the variances of their steps; (PATHS, n_bins + 1)."""
    path = np.zeros((PATHS, len(variance) + 1))
    np.cumsum(np.sqrt(variance) * rng.standard_normal((PATHS, len(variance))), axis=1, out=path[:, 1:])
    return path


@dataclass(frozen=True, eq=False)
class ConfidenceDistribution:
    """Confidence distribution H of d, made by `invert`: VALUES values of d from 0, and H there, non-decreasing to 1."""

    value: Floats
    probability: Floats

    def quantile(self, uniform: Floats) -> Floats:
        """Return the quantiles, in [0, 1]; H(0), a P-value of exact calibration, is the probability of d = 0."""
        rising = self.probability + 1e-12 * np.arange(VALUES)  # np.interp needs increasing abscissae
        inside = np.minimum(np.interp(uniform, rising, self.value), 1.0)
        return np.where(uniform <= self.probability[0], 0.0, inside)


def invert(
    statistic: Statistic, observed: float, shape: Floats, noise: Floats, shortfall: float
) -> ConfidenceDistribution:
    r"""Compute the confidence distribution of d, made non-decreasing.

    It is :math:`H(d) = P(\mathrm{statistic}(d \cdot \mathrm{shape} + \mathrm{noise}) > \hat d)`. `observed` is the
    plug-in value :math:`\hat d` of all rows, and `shape`, (n_bins + 1,), a curve whose statistic is 1. `noise` has
    shape (n_paths, n_bins + 1); `shortfall` is added to the statistic of each path, because a path is known at the ends
    of the bins only.
    """
    d = np.linspace(0.0, observed + REACH * float(noise[:, -1].std()), VALUES)
    exceeds = np.array([np.mean(statistic(value * shape + noise) + shortfall > observed) for value in d])
    exceeds = np.maximum.accumulate(exceeds)
    exceeds[-1] = 1.0
    return ConfidenceDistribution(d, exceeds)
