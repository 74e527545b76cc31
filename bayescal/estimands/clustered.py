"""Posteriors of means over rows in clusters, from the variance between clusters."""

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.clusters import ClusterSums
from bayescal.stats.losses import LossSums

Floats = NDArray[np.float64]


def mean_loss_draws(
    clusters: ClusterSums, losses: LossSums, sums: Floats, n_draws: int, rng: np.random.Generator, largest: float
) -> Floats:
    r"""Draw the mean loss of rows in clusters.

    Parameters
    ----------
    clusters : ClusterSums
        Sums over clusters.
    losses : LossSums
        Sums of the losses of all rows, which are finite.
    sums : ndarray, shape (2,)
        The sums over clusters of this loss: `losses` or `log_losses` of `clusters`.
    n_draws : int
        Number of draws.
    rng : Generator
        Generator.
    largest : float
        Largest possible loss; the smallest is 0.

    Returns
    -------
    ndarray, shape (n_draws,)
        Student t with J - 1 degrees of freedom around the observed mean loss, clipped to the possible range. Its scale
        is the root of the variance over clusters (`ClusterSums.variance_of_mean`), and J is the effective number of
        clusters, :math:`(\sum_j n_j)^2 / \sum_j n_j^2`.

    Raises
    ------
    ValueError
        If a single cluster has nearly all rows.

    Notes
    -----
    This is the posterior of the mean of a Normal sample of clusters with a noninformative prior. It needs no model of
    the dependence within clusters. The variance is that of a ratio estimator of a cluster sample [1]_.

    References
    ----------
    .. [1] W. G. Cochran (1977), Sampling Techniques, 3rd edition, Wiley, equation 9A.5 (ratio to size).
    """
    total = float(losses.total.sum())
    variance = clusters.variance_of_mean(total, sums)
    if not np.isfinite(variance):
        raise ValueError("the variance of a mean loss between clusters is unknown: one cluster has nearly all rows.")
    drawn = rng.standard_t(clusters.effective_number - 1, n_draws)
    return np.clip(total / float(clusters.weight.sum()) + np.sqrt(variance) * drawn, 0.0, largest)
