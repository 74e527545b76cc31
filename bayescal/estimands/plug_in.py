"""The plug-in value of an estimand, its null distribution under exact calibration, and a debiased estimate."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.draws import BinDraws
from bayescal.posterior.joint import reorder
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts

MOST_TABULATED = 10_000_000  #: The compiled loop tabulates distributions of bins with at most so many rows.


def observed_bins(counts: Counts) -> BinDraws:
    """Return the observed shares, accuracies and mean confidences of occupied bins as one draw, for estimands."""
    keep = _some_rows(counts)
    share, confidence = counts.share[keep][None], counts.mean_confidence[keep][None]
    accuracy = counts.accuracy[keep][None]
    return BinDraws(
        mass=share,
        accuracy=np.where(np.isnan(accuracy), confidence, accuracy),  # no outcome was observed: no observed gap
        confidence=confidence,
        occupied=np.ones(int(keep.sum()), bool),
        weight=share,
    )


def null_bins(counts: Counts, n_draws: int = 4000, *, rng: Any = None, compiled: bool = False) -> BinDraws:
    r"""Draw observed bins of a calibrated classifier (null distribution); estimands of the draws are plug-in values.

    Shares and mean confidences are as observed, accuracies :math:`k_b / n_b` with :math:`k_b \sim
    \mathrm{Binomial}(n_b, \bar c_b)`. Consistency resampling (Broecker and Smith 2007, "Increasing the reliability of
    reliability diagrams", Weather and Forecasting 22, 651-661) is similar, but it also resamples the confidences. With
    weights, :math:`n_b` is Kish's effective number of rows, rounded, and at least 1. For rows in clusters, it is
    divided by the design effect of the bin, and the draws of all bins are reordered to the correlation of their gaps
    (`ClusterSums.correlation`). If `compiled`, a compiled loop draws, which is faster and gives other draws.
    """
    keep = _some_rows(counts)
    clusters = clusters_of(counts)
    rows = counts.effective_n if clusters is None else counts.effective_n * (clusters.effects / clusters.bin_effects)
    n = np.maximum(np.rint(rows[keep]), 1).astype(np.int64)
    confidence = np.clip(counts.mean_confidence[keep], 0, 1)
    n_draws, share = _checks.whole_number("draws", n_draws), counts.share[keep][None]
    generator = _checks.generator(rng)
    if compiled and n.max() <= MOST_TABULATED:
        from bayescal._compiled import binomial_shares

        accuracy = np.empty((n_draws, len(n)))
        binomial_shares(generator, n, confidence, accuracy)
    else:
        # draws of a bin are contiguous: the generator then sets up once per bin and not once per draw
        accuracy = generator.binomial(n[:, None], confidence[:, None], size=(len(n), n_draws)).T / n
    if clusters is not None and clusters.icc > 0:
        accuracy = reorder(accuracy, clusters.correlation[np.ix_(keep, keep)], rng=generator)
    if (unobserved := np.isnan(counts.accuracy[keep])).any():
        accuracy[:, unobserved] = confidence[unobserved]
    return BinDraws(share, accuracy, confidence[None], np.ones(len(n), bool), share)


def _some_rows(counts: Counts) -> np.ndarray:
    if not counts.occupied.any():
        raise ValueError("`counts` has no rows: there is no plug-in value and no null distribution.")
    return counts.occupied


@public
def debiased_squared_l2_error(counts: Counts) -> float:
    r"""Compute the debiased estimate of the squared l_2 calibration error.

    It is :math:`\sum_b \frac{n_b}{N} \left[(\bar z_b - \bar c_b)^2 - \frac{\bar z_b (1 - \bar z_b)}{n_b - 1}\right]`
    [1]_: from each squared gap it subtracts an unbiased estimate of the sampling variance of the accuracy.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.

    Returns
    -------
    float
        At most 1. A negative value means that the observed gaps are smaller than sampling noise makes them on average
        for a calibrated classifier. To average over data sets, use the negative values as they are; to report one
        value, use 0 instead.

    Raises
    ------
    ValueError
        If there are no rows.

    Notes
    -----
    The estimate is unbiased given the bins and the confidences, except that bins with a single row, whose variance
    cannot be estimated, contribute 0. With weights, :math:`n_b` is Kish's effective number of rows of the bin, and the
    estimate is approximately unbiased.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma (2019), "Verified uncertainty calibration", Advances in Neural Information
       Processing Systems 32, section 5.

    Examples
    --------
    One bin with four rows, accuracy 3/4 and mean confidence 1/2: 1/16 - (3/16) / 3 = 0.

    >>> bc.estimands.debiased_squared_l2_error(bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], bins=1))
    0.0
    """
    observed = observed_bins(counts)
    accuracy, n = observed.accuracy[0], counts.effective_n[counts.occupied]
    several = n > 1 + 1e-9  # the effective number of a single weighted row is 1 up to rounding
    variance = accuracy * (1 - accuracy) / np.where(several, n - 1, np.inf)
    return float(np.sum(observed.mass[0] * np.where(several, observed.gap[0] ** 2 - variance, 0.0)))
