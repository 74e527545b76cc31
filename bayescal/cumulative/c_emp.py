"""Finite-sample bounds on the empirical calibration measure c_emp, which is the Kuiper statistic."""

import math
from fractions import Fraction

import numpy as np

from bayescal import _checks
from bayescal._meant import public


def c_emp_bound(n: float, prob: float = 0.95, *, given_scores: bool = False) -> float:
    r"""Return a finite-sample bound on the difference between c_emp of a sample and of its population.

    Parameters
    ----------
    n : float
        Number of independent rows without weights. With `given_scores`, the rows may have weights, and n is the
        effective number of rows, (sum w)^2 / sum w^2.
    prob : float, default 0.95
        Probability with which the bound holds.
    given_scores : bool, default False
        Whether the population has the scores of the sample, so that only outcomes are random.

    Returns
    -------
    float
        With :math:`\varepsilon = \sqrt{\log(2 / (1 - p)) / (2 n)}`, the bound is :math:`4 \varepsilon`, and
        :math:`2 \varepsilon` given the scores. A bound above 1 contains no information.

    Notes
    -----
    For one classifier and the class of intervals, the bounds follow from two inequalities with known constants.

    *Population.* Write z - c as the mean over u, uniform on [0, 1], of 1{z = 1} - 1{u < c}. For an interval of scores
    and one u, this is 1 on the rows with z = 1 and c <= u, and -1 on the rows with z = 0 and c > u. If rows with z = 1
    are placed on a line at c, and those with z = 0 at 2 + c, these are two intervals of the line. The Dvoretzky-Kiefer-
    Wolfowitz inequality with the constant of Massart [1]_ bounds the error of each of their four ends by
    :math:`\varepsilon`, simultaneously for all intervals and all u.

    *Given the scores.* The difference between the curve and its mean is a martingale in the order of the scores, whose
    k-th step lies in an interval of length w_k / sum w. The maximal inequality of Hoeffding [2]_ bounds its maximum and
    minus its minimum by :math:`\varepsilon` each.

    References
    ----------
    .. [1] P. Massart (1990), "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of Probability
       18, 1269-1283.
    .. [2] W. Hoeffding (1963), "Probability inequalities for sums of bounded random variables", Journal of the American
       Statistical Association 58, 13-30, Theorem 2 and its extension to maxima.

    Examples
    --------
    >>> round(c_emp_bound(1000), 3), round(c_emp_bound(1000, given_scores=True), 3)
    (0.172, 0.086)
    """
    return _ends(given_scores) * float(np.sqrt(np.log(2 / (1 - prob)) / (2 * n)))


@public
def rows_for_c_emp(epsilon: float, prob: float = 0.95, *, given_scores: bool = False) -> int:
    r"""Return the number of rows that limits the error of c_emp to epsilon.

    Parameters
    ----------
    epsilon : float
        Largest difference, in (0, 1).
    prob : float, default 0.95
        Probability with which the bound holds, in (0, 1).
    given_scores : bool, default False
        Whether the population has the scores of the sample, so that only outcomes are random.

    Returns
    -------
    int
        The smallest n for which the bound of `CumulativeDifference.c_emp_bound` is at most epsilon,
        :math:`8 \log(2 / (1 - p)) / \varepsilon^2`, or a quarter of this number given the scores. The bound holds for
        every classifier and population.

    Raises
    ------
    ValueError
        If `epsilon` or `prob` is not strictly between 0 and 1.

    Notes
    -----
    A bound on c_emp also bounds regrets. Let a false positive cost t and a false negative 1 - t. If one acts when the
    score is at least t, the mean cost exceeds that of any other cut s by E 1{s <= c < t} (z - t) for s < t, and by
    E 1{t <= c < s} (t - z) for s > t. Since z - t <= z - c for c < t, and t - z <= c - z for c >= t, this regret is at
    most c_emp, for all t and s at once.

    Examples
    --------
    >>> rows_for_c_emp(0.05), rows_for_c_emp(0.05, given_scores=True)
    (11805, 2952)
    """
    epsilon, prob = _checks.fraction("epsilon", epsilon), _checks.fraction("prob", prob)
    # as fractions, because the square of a small epsilon can underflow
    return math.ceil(_ends(given_scores) ** 2 * Fraction(math.log(2 / (1 - prob))) / (2 * Fraction(epsilon) ** 2))


def _ends(given_scores: bool) -> int:
    """Return how many ends of intervals the bound adds up."""
    return 2 if given_scores else 4
