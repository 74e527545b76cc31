"""Moments of the ECE from those of weighted sums of absolute gaps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class GapSums(NamedTuple):
    """Posterior moments of absolute gaps g under one sub-model, where a are Dirichlet parameters of the bin masses.

    `mean` and `variance` are those of the sum of a g over bins; `squares` is the mean of the sum of a g^2.
    """

    mean: float
    variance: float
    squares: float

    def beside(self, other: "GapSums") -> "GapSums":
        """Moments over these and other, independent bins."""
        return GapSums(*(one + two for one, two in zip(self, other, strict=True)))


def ece_moments(probability: Sequence[float], sums: Sequence[GapSums], total: float) -> tuple[float, float]:
    """Posterior mean and standard deviation of the ECE: an average over sub-models.

    Parameters
    ----------
    probability : sequence of float
        Probabilities of the sub-models.
    sums : sequence of GapSums
        Their moments.
    total : float
        Sum of the Dirichlet parameters of the bin masses.

    Returns
    -------
    (mean, sd) : tuple of float
        With m ~ Dirichlet(a), E[m_b m_c] = a_b (a_c + [b = c]) / (total (total + 1)).
    """
    weights = np.array(probability) / np.sum(probability)
    means = np.array([s.mean for s in sums]) / total
    variances = (np.array([s.variance + s.squares for s in sums]) / total - means**2) / (total + 1)
    centre = float(weights @ means)
    return centre, float(np.sqrt(weights @ np.maximum(variances, 0) + weights @ (means - centre) ** 2))
