"""The interval of Sun et al. (2024) for the l_2 error, a rival of the intervals of this package."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from bayescal.stats.binned import BinnedCounts
from bayescal.verify.methods import TOLERANCE, Interval

#: An interval that excludes 0 begins here, because `contains` tolerates TOLERANCE.
ABOVE_ZERO = 2 * TOLERANCE


def l2_interval(counts: BinnedCounts, prob: float) -> Interval:
    """Compute the interval of Sun et al. for the l_2 error: the square roots of `squared_l2_interval`.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of unweighted rows in equal-width bins, with sums of losses.
    prob : float
        Nominal probability.

    Returns
    -------
    (low, high, estimate) : tuple of float
        The ends, and the square root of the debiased estimate, or 0 if that is negative.
    """
    low, high, estimate = (float(np.sqrt(value)) for value in squared_l2_interval(counts, prob))
    return low, high, estimate


def squared_l2_interval(counts: BinnedCounts, prob: float) -> Interval:
    r"""Compute the interval of Sun et al. for the squared l_2 error.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of unweighted rows in equal-width bins, with sums of losses.
    prob : float
        Nominal probability :math:`1 - \alpha`.

    Returns
    -------
    (low, high, estimate) : tuple of float
        The ends; and the debiased estimate, or 0 if negative. If the interval excludes 0, its lower end is positive.

    Raises
    ------
    ValueError
        If there are no rows, they are weighted, the bins have unequal widths, or the counts lack sums of losses.

    Notes
    -----
    With :math:`U = z - c`, the debiased estimate is :math:`T = \frac1n \sum_b \frac{1}{n_b - 1} \sum_{i \ne j} U_i
    U_j`. It is asymptotically normal, at two rates [1]_. If the classifier is not calibrated, the variance is
    :math:`\sigma_1^2 / n` with :math:`\sigma_1^2 = \sum_b \frac{n_b}{n} (4 \bar U_b^2 \overline{U_b^2} - 3 \bar
    U_b^4) - (\sum_b \frac{n_b}{n} \bar U_b^2)^2`. The interval is :math:`T_+ \pm h`, :math:`h = z_{1 - \alpha / 2}
    \sigma_1 / \sqrt n`; because the error is not negative, the lower end is :math:`T_+ / 2` if :math:`2 h_1 \le T_+ < 2
    h`, and :math:`\max(T_+ - h_1, 0)` below that, where :math:`h_1` is `h` with :math:`z_{1 - \alpha}`. If the
    classifier is calibrated, the variance is :math:`m \sigma_0^2 / n^2` for m bins of equal width, with
    :math:`\sigma_0^2 = 2 \int (v (1 - v))^2 dv` over the range of confidences: 0 belongs to the interval if and only if
    :math:`T_+ < z_{1 - \alpha} \sigma_0 \sqrt m / n`.

    Formulas are those of the authors' programs [2]_, in which the user chooses the number of bins m. The range of
    confidences is [1/2, 1] if no row lies in a bin below 1/2, else [0, 1].

    References
    ----------
    .. [1] Y. Sun, P. Chaudhari, I. J. Barnett and E. Dobriban (2024), "A confidence interval for the l_2 expected
       calibration error", arXiv:2408.08998.
    .. [2] https://github.com/sylydya/CI-ECE, files ``experiments/estimator.py`` and ``experiments/plot.ipynb``.
    """
    sums = _Sums.of(counts)
    z_one, z_two = (float(ndtri(1 - tail)) for tail in (1 - prob, (1 - prob) / 2))  # one-sided and two-sided
    estimate = max(sums.statistic, 0.0)
    one, two = (z * np.sqrt(sums.variance / sums.n_rows) for z in (z_one, z_two))
    if estimate >= 2 * two:
        low = estimate - two
    elif estimate >= 2 * one:
        low = estimate / 2
    else:
        low = max(estimate - one, 0.0)
    calibrated = estimate < z_one * np.sqrt(sums.n_bins * _calibrated_variance(sums.lowest)) / sums.n_rows
    return 0.0 if calibrated else float(max(low, ABOVE_ZERO)), float(estimate + two), estimate


@dataclass(frozen=True)
class _Sums:
    """Sums over rows: the debiased statistic, and n times its variance if the classifier is not calibrated."""

    statistic: float
    variance: float
    n_rows: int
    n_bins: int
    lowest: float

    @classmethod
    def of(cls, counts: BinnedCounts) -> "_Sums":
        """Compute the sums from counts."""
        if not counts.n_rows:
            raise ValueError("`counts` must have at least one row; the interval of no rows is not defined.")
        if counts.weighted:
            raise ValueError("`counts` must be of rows without weights.")
        if counts.losses is None:
            raise ValueError("`counts` must have sums of losses; count the rows again.")
        widths = counts.bins.widths
        if not np.allclose(widths, widths[0]):
            raise ValueError("`counts` must have bins of equal width.")
        occupied, n_rows = counts.occupied, counts.n_rows
        n = counts.n[occupied]
        mean = counts.accuracy[occupied] - counts.mean_confidence[occupied]
        square = counts.losses.total.sum(axis=0)[occupied] / n
        pairs = np.where(n > 1, (n * mean**2 - square) * n / np.maximum(n - 1, 1), 0.0)
        share = n / n_rows
        variance = (share * (4 * mean**2 * square - 3 * mean**4)).sum() - (share * mean**2).sum() ** 2
        lowest = 0.5 if counts.bins.edges[1:][occupied].min() > 0.5 else 0.0
        return cls(float(pairs.sum() / n_rows), max(float(variance), 0.0), int(n_rows), len(widths), lowest)


def _calibrated_variance(lowest: float) -> float:
    """Return 2 times the integral of (v (1 - v))^2 from the lowest confidence to 1."""
    at_zero = 2 / 3 * lowest**3 - lowest**4 + 2 / 5 * lowest**5
    return 2 / 3 - 1 + 2 / 5 - at_zero
