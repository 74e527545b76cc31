"""The debiased estimate of the squared l_2 calibration error."""

import numpy as np

from bayescal._meant import public
from bayescal.estimands.plug_in import observed_bins
from bayescal.stats.contract import Counts


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

    >>> from bayescal import BinnedCounts
    >>> debiased_squared_l2_error(BinnedCounts.from_arrays([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], bins=1))
    0.0
    """
    observed = observed_bins(counts)
    accuracy, n = observed.accuracy[0], counts.effective_n[counts.occupied]
    several = n > 1 + 1e-9  # the effective number of a single weighted row is 1 up to rounding
    variance = accuracy * (1 - accuracy) / np.where(several, n - 1, np.inf)
    return float(np.sum(observed.mass[0] * np.where(several, observed.gap[0] ** 2 - variance, 0.0)))
