"""Cumulative differences: rows -> sums by score -> the curve and its statistics."""

from typing import Any

from bayescal.data.predictions import Predictions
from bayescal.results.cumulative import CumulativeDifference
from bayescal.stats.ordered import OrderedSums


def cumulative_difference(outcome: Any, score: Any, *, weights: Any = None) -> CumulativeDifference:
    r"""Measure calibration without bins, by the cumulative difference between outcomes and scores.

    Parameters
    ----------
    outcome : array-like of {0, 1} or bool, shape (n_rows,)
        Observed outcomes.
    score : array-like of float, shape (n_rows,)
        Probability stated for outcome 1, in [0, 1].
    weights : array-like of float, shape (n_rows,), optional
        Importance weights, >= 0. Only their ratios matter.

    Returns
    -------
    CumulativeDifference
        The curve, the Kuiper and the Kolmogorov-Smirnov statistic with P-values [1]_, and the interval of scores with
        the largest deviation. The Kuiper statistic is also the empirical calibration measure of [2]_.

    Raises
    ------
    ValueError, TypeError
        If columns differ in length, or values are missing, out of range or not 0 and 1. The message names the argument,
        the number of invalid values, and the first index and value.

    Notes
    -----
    Rows are sorted once. Rows with equal scores are merged, so the order of the rows has no effect.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 41 to 50.
    .. [2] Gao, Parameswaran and Peng, who define the calibration measure c(f) of a classifier as the supremum, over
       intervals of scores, of \|E[1{p1 < c <= p2} (z - c)]\|, and its empirical value c_emp.

    Examples
    --------
    Of the two rows with score 0.2, one has outcome 1: their mean deviation of 0.3, with 2 of 5 rows, is the largest.

    >>> cd = cumulative_difference([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])
    >>> round(cd.kuiper, 3), round(cd.kolmogorov_smirnov, 3), round(cd.sigma, 3)
    (0.12, 0.12, 0.189)
    """
    rows = Predictions.from_outcomes(outcome, score, weights, names=("outcome", "score"))
    return CumulativeDifference(OrderedSums.from_rows(rows), "cumulative difference between outcomes and scores")
