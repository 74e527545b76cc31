"""Moments of the ECE, from moments of weighted sums of absolute gaps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class GapSums(NamedTuple):
    """Posterior moments of the absolute gaps g_b under one sub-model; a_b are the Dirichlet parameters of the masses.

    `mean` and `variance` are those of S = sum_b a_b g_b; `squares` is the mean of sum_b a_b g_b^2.
    """

    mean: float
    variance: float
    squares: float

    def beside(self, other: "GapSums") -> "GapSums":
        """Return the moments for the union of these bins and other bins, which are independent of them."""
        return GapSums(*(one + two for one, two in zip(self, other, strict=True)))


def ece_moments(probability: Sequence[float], sums: Sequence[GapSums], total: float) -> tuple[float, float]:
    """Compute the posterior mean and standard deviation of the ECE, averaged over sub-models.

    Parameters
    ----------
    probability : sequence of float
        Probabilities of the sub-models.
    sums : sequence of GapSums
        Moments of the gaps under each sub-model.
    total : float
        Sum of the Dirichlet parameters of the bin masses.

    Returns
    -------
    (mean, sd) : tuple of float
        Mean and standard deviation.

    Notes
    -----
    The ECE is sum_b m_b g_b. The masses m ~ Dirichlet(a) are independent of the gaps, and
    E[m_b m_c] = a_b (a_c + [b = c]) / (total (total + 1)). Under one sub-model, the mean of the ECE is therefore
    mean / total, and its variance is ((variance + squares) / total - (mean / total)^2) / (total + 1).
    """
    weights = np.array(probability) / np.sum(probability)
    means = np.array([s.mean for s in sums]) / total
    variances = (np.array([s.variance + s.squares for s in sums]) / total - means**2) / (total + 1)
    centre = float(weights @ means)
    return centre, float(np.sqrt(weights @ np.maximum(variances, 0) + weights @ (means - centre) ** 2))
