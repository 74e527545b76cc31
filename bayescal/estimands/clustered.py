"""Posteriors of means over rows in clusters, from the variance between clusters."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.clusters import ClusterSums, clusters_of, covariance_of_means
from bayescal.stats.contract import Counts, Paired
from bayescal.stats.losses import LossSums

Floats = NDArray[np.float64]

UNKNOWN = "the variance of a mean loss between clusters is unknown: one cluster has nearly all rows."


def mean_loss_draws(
    clusters: ClusterSums, mean: float, sums: Floats, n_draws: int, rng: np.random.Generator, largest: float
) -> Floats:
    r"""Draw the mean loss of rows in clusters.

    Parameters
    ----------
    clusters : ClusterSums
        Sums over clusters.
    mean : float
        Observed mean loss of all rows.
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
    variance = clusters.variance_of_mean(mean, sums)
    if not np.isfinite(variance):
        raise ValueError(UNKNOWN)
    drawn = rng.standard_t(clusters.effective_number - 1, n_draws)
    return np.clip(mean + np.sqrt(variance) * drawn, 0.0, largest)


def covariance_over_clusters(
    counts: Sequence[Counts], losses: Sequence[LossSums], pairs: Mapping[tuple[int, int], Paired], member: str
) -> tuple[Floats, float]:
    """Covariance of mean losses of several classifiers on the same rows in clusters.

    Parameters
    ----------
    counts : sequence of BinnedCounts
        Counts of each classifier, with clusters.
    losses : sequence of LossSums
        Sums of the losses of each.
    pairs : mapping of (int, int) to PairedCounts
        Joint counts of the classifiers i < j, with clusters.
    member : {"losses", "log_losses"}
        The kind of losses.

    Returns
    -------
    (covariance, number) : tuple of ndarray and float
        The covariance of the means, multiplied by `number` - 1; and the effective number of clusters. Student t draws
        with `number` - 1 degrees of freedom and this scatter have the variance over clusters.

    Raises
    ------
    ValueError
        If a single cluster has nearly all rows.
    """
    clusters = [each for each in map(clusters_of, counts) if each is not None]
    means = [float(sums.total.sum()) / float(c.weight.sum()) for c, sums in zip(clusters, losses, strict=True)]
    number = clusters[0].effective_number
    variance = [c.variance_of_mean(mean, getattr(c, member)) for c, mean in zip(clusters, means, strict=True)]
    if not np.isfinite(variance).all():
        raise ValueError(UNKNOWN)
    covariance = np.diag(variance)
    for (i, j), pair in pairs.items():
        assert pair.clusters is not None
        product = float(getattr(pair.clusters, member))
        both = covariance_of_means(clusters[i], clusters[j], (means[i], means[j]), member, product)
        covariance[i, j] = covariance[j, i] = both
    return covariance * (number - 1), number
