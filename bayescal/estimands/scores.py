"""Proper scores as functions of one draw of the bins."""

import numpy as np

from bayescal._draws import BinDraws, Draws
from bayescal.stats.binned import BinnedCounts


def brier_score(bins: BinDraws, counts: BinnedCounts) -> Draws:
    r"""Draws of the Brier score, the mean of (outcome - confidence) squared.

    Parameters
    ----------
    bins : BinDraws
        Draws of the bins.
    counts : BinnedCounts
        Where the variance of confidences within each bin, and their covariance with outcomes, are taken from; these two
        are as observed in every draw.

    Returns
    -------
    Draws
        In [0, 1], but for what the within-bin terms of nearly empty bins may add.

    Notes
    -----
    .. math::
        \sum_b m_b \left[\theta_b (1 - \theta_b) + (\theta_b - \mu_b)^2 + \mathrm{Var}_b(c)
        - 2\,\mathrm{Cov}_b(z, c)\right]

    so that, at the observed shares and gaps, it is the mean of :math:`(z_i - c_i)^2` exactly. What varies within bins
    is not drawn: with few, wide bins (fewer than about ten) the posterior is too narrow, and of two models that differ
    only within bins it says nothing. For top labels it is the score of (right or wrong, confidence), not that of all
    classes.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=2)
    >>> from bayescal.estimands.plug_in import observed_bins
    >>> brier_score(observed_bins(counts), counts).values
    array([0.0467])
    """
    weight = np.where(counts.occupied, counts.weight.sum(axis=0), 1.0)
    offset = counts.deviation.sum(axis=0) / weight
    variance = np.maximum(counts.deviation_sq / weight - offset**2, 0.0)
    share = counts.weight[1] / weight
    covariance = counts.deviation[1] / weight - share * offset
    within = variance - 2 * covariance
    if bins.accuracy.shape[-1] < len(within):  # observed bins: only those with weight
        within = within[counts.occupied]
    each = bins.accuracy * (1 - bins.accuracy) + bins.gap**2 + within
    return Draws((bins.mass * each).sum(axis=-1), "brier_score")
