"""Masses of the bins of each group: Dirichlet around draws of the shares of all rows, with a common precision."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from bayescal.posterior.pooling.evidence import parts
from bayescal.posterior.pooling.group_bins import GroupBins

Floats = NDArray[np.float64]
#: Smallest parameter of a Gamma variable.
LEAST = 1e-12


def precision_probabilities(bins: GroupBins, precisions: Floats) -> Floats:
    """Posterior probability of each precision by the Dirichlet-multinomial likelihood; equally probable before."""
    alpha = precisions[:, None] * bins.share
    own = gammaln(alpha + bins.rows[:, None]) - gammaln(alpha)
    of_group = gammaln(precisions) - gammaln(precisions + bins.rows.sum(axis=1)[:, None])
    return softmax(own.sum(axis=(0, 2)) + of_group.sum(axis=0))


def draw_masses(bins: GroupBins, precisions: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw masses, shape (n_groups, n_draws, n_used); the groups of one draw share its precision and its shares."""
    chosen = precisions[rng.choice(len(precisions), n_draws, p=precision_probabilities(bins, precisions))]
    alpha = chosen[:, None] * _draw_shares(bins, n_draws, rng)
    mass = np.empty((len(bins), *alpha.shape))
    for part in parts(len(bins), *alpha.shape):
        gamma = rng.standard_gamma(np.maximum(alpha + bins.rows[part, None], LEAST), out=mass[part])
        gamma /= gamma.sum(axis=2, keepdims=True)
    return mass


def _draw_shares(bins: GroupBins, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw the shares of all rows, shape (n_draws, n_used): groups that are alike are as uncertain as all rows."""
    if np.isinf(bins.share_rows):
        return np.broadcast_to(bins.share, (n_draws, len(bins.share)))
    return rng.dirichlet(bins.share_rows * bins.share, n_draws)
