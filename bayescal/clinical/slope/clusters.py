"""Intercept and slope of rows in clusters: the posterior of independent rows, as wide as clusters differ."""

from dataclasses import replace

import numpy as np
from scipy.special import expit, stdtrit

from bayescal._arrays import Floats
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.stats.sums import sums_at

#: Largest share of the information that a cluster has when its score is corrected for its own influence.
MOST_LEVERAGE = 0.9
#: Probability at which the Normal and the t distribution have the same quantile.
TAIL = 0.975


def in_clusters(posterior: RecalibrationPosterior) -> RecalibrationPosterior:
    r"""Widen the posterior of intercept and slope, if its counts have clusters.

    The likelihood L of independent rows becomes :math:`L(\bar\theta + A^{-1} (\theta - \bar\theta))` (Chandler and Bate
    2007), so that the covariance S of the posterior becomes V. V is the sandwich estimate :math:`S \sum_c s_c s_c' S`
    of the scores of clusters, each multiplied by :math:`(I - H_c S)^{-1}` with the information :math:`H_c` of its rows,
    which is nearly a jackknife over clusters, times the squared ratio of t and Normal quantiles with one degree of
    freedom less than there are (effective) clusters. No direction is narrower than that of independent rows.

    A is upper triangular, so that the grid of (t, b) becomes another grid, whose t is the line at another logit.
    """
    counts = posterior.counts
    clusters = counts.clusters if isinstance(counts, LogitCounts) else None
    if clusters is None:
        return posterior
    mass = np.exp(posterior.log_mass)
    of_t, of_b = mass.sum(axis=1), mass.sum(axis=0)
    mean = np.array([of_t @ posterior.t, of_b @ posterior.b])
    dt, db = posterior.t - mean[0], posterior.b - mean[1]
    across = dt @ mass @ db
    covariance = np.array([[of_t @ dt**2, across], [across, of_b @ db**2]])
    meat = _scores(posterior, mean, covariance)
    # coordinates in which the posterior has unit variances
    root = _upper(covariance)
    back = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(back @ covariance @ meat @ covariance @ back.T)
    degrees = max(clusters.effective_number - 1, 1.0)
    quantiles = float(stdtrit(degrees, TAIL) / stdtrit(np.inf, TAIL))
    wider = quantiles**2 * (vectors * np.maximum(values, 1.0)) @ vectors.T
    to = root @ _upper(wider) @ back
    exact = mean + np.linalg.solve(to, np.array([posterior.lever, 1.0]) - mean)
    moved = to[0, 1] / to[1, 1]
    return replace(
        posterior,
        lever=posterior.lever - moved,
        t=mean[0] - moved * mean[1] + to[0, 0] * dt,
        b=mean[1] + to[1, 1] * db,
        log_evidence=posterior.log_evidence + float(np.log(to[0, 0] * to[1, 1])),
        exact=(float(exact[0] - exact[1] * posterior.lever), float(exact[1])),
        wider=(float(np.hypot(*(back @ to @ root)[0])), float(to[1, 1])),
    )


def _scores(posterior: RecalibrationPosterior, mean: Floats, covariance: Floats) -> Floats:
    """Return the sum of squares of the scores of clusters at the posterior mean, corrected for their influence."""
    counts = posterior.counts
    assert isinstance(counts, LogitCounts)
    cluster, place, outcome, weight = counts.in_clusters
    d = counts.logit[place] - posterior.lever
    p, number = expit(mean[0] + mean[1] * d), int(cluster.max()) + 1
    residual, spread = weight * (outcome - p), weight * p * (1 - p)
    score = np.stack([sums_at(cluster, residual * d**k, number) for k in (0, 1)], axis=1)
    first, mixed, second = (sums_at(cluster, spread * d**k, number) for k in (0, 1, 2))
    share = np.moveaxis(np.array([[first, mixed], [mixed, second]]), 2, 0) @ covariance
    largest = np.abs(np.linalg.eigvals(share)).max(axis=1)
    share *= np.minimum(1.0, MOST_LEVERAGE / np.maximum(largest, MOST_LEVERAGE))[:, None, None]
    corrected = np.linalg.solve(np.eye(2) - share, score[:, :, None])[:, :, 0]
    return corrected.T @ corrected * ((number - 1) / number)


def _upper(matrix: Floats) -> Floats:
    """Return the upper triangular U with U U' equal to a symmetric matrix of shape (2, 2)."""
    last = np.sqrt(matrix[1, 1])
    mixed = matrix[0, 1] / last
    return np.array([[np.sqrt(matrix[0, 0] - mixed**2), mixed], [0.0, last]])
