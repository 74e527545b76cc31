r"""The cumulative difference of ordered rows: Kuiper and Kolmogorov-Smirnov statistics, noise, P-values, bounds.

The cumulative difference at the k-th distinct score is :math:`S_k = \sum_{j \le k} d_j / W`, where :math:`d_j` is the
sum of w (z - c) over the rows of score j and W the sum of all weights; it begins with :math:`S_0 = 0`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.cumulative.brownian import MEAN_MAX_ABS, quantile_range, sf_max_abs, sf_range
from bayescal.cumulative.moments import inverse_squared_skewness
from bayescal.cumulative.subpopulation_sums import SubpopulationSteps
from bayescal.stats.ordered import GridSteps, OrderedSums, Steps

#: Names of the two statistics in sentences and tables.
NAMES = {"kuiper": "Kuiper statistic", "kolmogorov_smirnov": "Kolmogorov-Smirnov statistic"}
CHUNK = 2**16  #: Scores per part of a pass, so that temporary arrays are small.
#: A random walk stays below the Brownian path through its points by this number of standard deviations of a step on
#: average: -zeta(1/2) / sqrt(2 pi) (D. Siegmund, 1985, Sequential Analysis, Springer, section 10.4).
SHORTFALL = 0.5825971579390106
#: -zeta(1/2), and the mean absolute value of a standard Normal number.
ZETA, ONE_STEP_MEAN = 1.4603545088095868, float(np.sqrt(2 / np.pi))
#: Mean step above which the correction for the step size does not grow; results say that P-values are rough.
LARGE_STEP = 0.2
#: Effective numbers of rare outcomes are limited to these numbers; smaller tails follow from Normal ones.
SMALLEST_RARE, LARGEST_RARE, SMALLEST_TAIL = 1e-6, 1e30, 1e-290
ONE_STEP = 1 - 3e-5  #: Mean step from which the curve counts as a single step.
#: Effective number of rare outcomes below which tails of Brownian motion and intervals are rough; results say so.
FEW_RARE_OUTCOMES = 10
AT_ONCE = 2**21  #: Steps of simulated curves in memory at a time.
ROUNDING = 1e-9  #: Relative difference of statistics that counts as rounding.


def cumulative_curve(steps: Steps) -> Floats:
    """Return the cumulative difference before the first score (0) and at each score; shape (n_scores + 1,)."""
    curve = np.empty(len(steps) + 1)
    curve[0] = 0.0
    for begin, part in _parts(steps):
        curve[begin + 1 : begin + 1 + len(part)] = part.deviation
    np.cumsum(curve, out=curve)
    curve /= steps.weight.sum()
    return curve


def cumulative_weight(steps: Steps) -> Floats:
    """Return the share of the weight before the first score (0) and up to each score; shape (n_scores + 1,)."""
    share = np.empty(len(steps) + 1)
    share[0] = 0.0
    np.cumsum(steps.weight, out=share[1:])
    share /= share[-1]
    return share


def kuiper(curve: Floats) -> Any:
    r"""Return the Kuiper statistic: the maximum minus the minimum of the curve; of several curves, over the last axis.

    It is also the supremum over intervals of scores of the absolute mean of 1{p1 < c <= p2} (z - c), the empirical
    calibration measure c_emp.
    """
    return curve.max(axis=-1) - curve.min(axis=-1)


def kolmogorov_smirnov(curve: Floats) -> Any:
    """Return the Kolmogorov-Smirnov statistic: the largest absolute value; of several curves, over the last axis."""
    return np.maximum(curve.max(axis=-1), -curve.min(axis=-1))


def grid_error(curve: Floats, steps: GridSteps) -> float:
    """Return how much the Kuiper statistic of rows can exceed that of their counts, for any order within the bins.

    The bound holds for the Kolmogorov-Smirnov statistic too. Within a bin, the curve lies between its start minus the
    fall and its start plus the rise, and its largest change is the larger of the two.
    """
    total = steps.weight.sum()
    high, low = curve[:-1] + steps.rise / total, curve[:-1] - steps.fall / total
    within = float(max(steps.rise.max(), steps.fall.max()) / total)
    top, bottom = int(high.argmax()), int(low.argmin())
    if top != bottom:
        between = float(high[top] - low[bottom])
    else:  # one bin cannot contain both extremes
        from_top = float(high[top] - np.delete(low, bottom).min(initial=np.inf))
        between = max(from_top, float(np.delete(high, top).max(initial=-np.inf) - low[bottom]))
    return max(0.0, max(within, between) - float(kuiper(curve)))


@dataclass(frozen=True)
class Scale:
    """The noise of a cumulative difference; see `scale`."""

    sigma: float  # standard deviation of the end of the curve under calibration
    robust_sigma: float  # root of the sum of squared residuals: an upper estimate that does not assume calibration
    null_sigma: float  # standard deviation for corrected P-values: `sigma`, except for subpopulations
    mean_step: float  # mean standard deviation of a step, as a share of `null_sigma`
    rare: float = float("inf")  # effective number of outcomes that contradict scores near 0 or 1, or of rare responses

    @property
    def wide_sigma(self) -> float:
        """Larger of `robust_sigma` and `null_sigma`, for intervals and bands; NaN if all residuals are 0."""
        return max(self.robust_sigma, self.null_sigma) if self.robust_sigma > 0 else float("nan")


def scale(steps: Steps) -> Scale:
    r"""Compute the noise of a cumulative difference.

    With :math:`v_j` the variance of step j under calibration, :math:`\sigma = \sqrt{\sum v_j} / W`, and the mean step
    is :math:`\sqrt{\sum v_j} / \sum \sqrt{v_j}`; it is 1 for one step and :math:`1 / \sqrt{k}` for k equal ones. For
    steps of unequal variance, this mean, in which steps are weighted by their standard deviation, is our approximation:
    a mean weighted by variance would be dominated by a single large step, such as that of many rows with one score,
    although the extremes of the curve lie among small steps.

    The effective number of rare outcomes is :math:`(\sum_i w_i^2 v_i)^3 / (\sum_i w_i^3 v_i |1 - 2 c_i|)^2` over rows
    with :math:`v_i = c_i (1 - c_i)`: the inverse square of the skewness of the end of the curve if all scores are on
    one side of 1/2. For scores near 0 and equal weights, it is close to the expected number of outcomes 1. Infinite if
    all scores are 0, 1/2 or 1. Tied rows count as rows of equal weight. For subpopulations, the moments of responses
    are those of rows around each cell.
    """
    variance = squares = exact = roots = second = third = 0.0
    for _, part in _parts(steps):
        each = np.maximum(part.calibrated_variance, 0.0)
        variance += float(each.sum())
        squares += float(part.deviation_sq.sum())
        if isinstance(part, SubpopulationSteps):
            second, third = second + float(part.local_second.sum()), third + float(part.local_third.sum())
            each = part.difference_variance
        else:
            second = variance
            skewed = each * (part.weight / part.n_rows)
            skewed *= np.abs(1 - 2 * part.score.astype(np.float64, copy=False))
            third += float(skewed.sum())
        exact += float(each.sum())
    if exact > 0:
        for _, part in _parts(steps):
            each = part.difference_variance if isinstance(part, SubpopulationSteps) else part.calibrated_variance
            roots += float(np.sqrt(np.maximum(each, 0.0) / exact).sum())
    total = float(steps.weight.sum())
    return Scale(
        variance**0.5 / total,
        squares**0.5 / total,
        exact**0.5 / total,
        1 / roots if roots > 0 else 0.0,
        float(inverse_squared_skewness(np.array([second]), np.array([third]))[0]),
    )


def null_mean(name: str, scale: Scale) -> float:
    r"""Return the mean of a statistic ("kuiper" or "kolmogorov_smirnov") under calibration, from Normal steps.

    It is a multiple of `scale.null_sigma`. For n equal steps, the mean range is :math:`\sqrt{2 / (\pi n)} \sum_{k \le
    n} k^{-1/2}` by Spitzer's identity [1]_, whose expansion by Euler and Maclaurin is used with :math:`n = 1 / r^2`,
    where r is the mean step: 0.798 for one step, 1.596 in the limit. The mean maximum absolute value is :math:`1.253 -
    0.583 r + 0.127 r^2`: exact to first order, and for one step. For equal steps, relative errors are below 0.001 and
    0.01. For few steps of unequal variance, both are approximate: with 20 equal steps and one whose variance is 60 % of
    the sum, both are 4 % too large.

    .. [1] F. Spitzer (1956), "A combinatorial lemma and its application to probability theory", Transactions of the
       American Mathematical Society 82, 323-339.
    """
    r = scale.mean_step
    if name == "kuiper":
        return ONE_STEP_MEAN * (2 - ZETA * r + r**2 / 2 - r**4 / 24 + r**8 / 384) * scale.null_sigma
    rest = ONE_STEP_MEAN - MEAN_MAX_ABS + SHORTFALL
    return (MEAN_MAX_ABS - SHORTFALL * r + rest * r**2) * scale.null_sigma


def p_kuiper(statistic: float, scale: Scale, *, corrected: bool = True) -> float:
    """Return the probability of a Kuiper statistic of at least this size under calibration."""
    return _p_value(sf_range, statistic, scale, 2, corrected=corrected)


def p_kolmogorov_smirnov(statistic: float, scale: Scale, *, corrected: bool = True) -> float:
    """Return the probability of a Kolmogorov-Smirnov statistic of at least this size; see `p_kuiper`."""
    return _p_value(sf_max_abs, statistic, scale, 1, corrected=corrected)


def corrected_tail(tail: Any, in_sigma: ArrayLike, mean_step: ArrayLike, ends: int, rare: ArrayLike = np.inf) -> Floats:
    r"""Return upper tail probabilities of the range (`ends` = 2) or the maximum absolute value (1) of a random walk.

    `tail` is that of Brownian motion, `sf_range` or `sf_max_abs`, and `in_sigma` are statistics in units of sigma. For
    a single step, the tail is the exact 2 Q(x) of a Normal step. Else it is that of Brownian motion at x + 0.583 r per
    end [1]_, where r is the mean step, limited to 0.2. Beyond it the correction of [1]_ is too large: for two equal
    steps it is 0.82, whereas 0.51 gives the exact P-value of 0.05. With the limit, P-values of few steps are too large,
    not too small.

    With n rare outcomes, large deviations of a sum are more probable upwards and less probable downwards than those of
    a Normal number. To first order, the logarithm of the tail is that of a Poisson number with mean n, :math:`-n\,h(\pm
    x / \sqrt n)` with :math:`h(u) = (1 + u) \log(1 + u) - u`, instead of :math:`-x^2/2` [2]_. The tail is multiplied by
    the mean of the two ratios of these tails, if it exceeds 1.

    .. [1] D. Siegmund (1985), Sequential Analysis, Springer, section 10.4.
    .. [2] H. Cramer (1938), "Sur un nouveau theoreme-limite de la theorie des probabilites", Actualites scientifiques
       et industrielles 736, 5-23: large deviations of sums.
    """
    in_sigma, mean_step = np.asarray(in_sigma, dtype=np.float64), np.asarray(mean_step)
    shifted = tail(in_sigma + ends * SHORTFALL * np.minimum(mean_step, LARGE_STEP))
    return _skewed(np.where(mean_step >= ONE_STEP, 2 * ndtr(-in_sigma), shifted), in_sigma, rare, 4 * ends)


def _skewed(p_value: Floats, in_sigma: Floats, rare: ArrayLike, factor: int) -> Floats:
    """Correct upper tails for skewness; far out, a tail of Brownian motion is `factor` times a Normal one."""
    number = np.clip(rare, SMALLEST_RARE, LARGEST_RARE)
    u = in_sigma / np.sqrt(number)
    up, down = (number * _less_than_square(sign * u) for sign in (1, -1))
    ratio = np.maximum(np.logaddexp(up, down) - np.log(2), 0.0)
    known = np.log(np.maximum(p_value, SMALLEST_TAIL))
    logarithm = np.where(p_value > SMALLEST_TAIL, known, np.log(factor) + log_ndtr(-in_sigma))
    return np.where(ratio > 0, np.minimum(np.exp(logarithm + ratio), 1.0), p_value)


def _less_than_square(u: Floats) -> Floats:
    """Return u^2 / 2 - h(u), where h(u) = (1 + u) log(1 + u) - u, infinite below -1; no cancellation near 0."""
    small = np.abs(u) < 0.01
    near = np.where(small, u, 0.0)
    series = near**3 * (1 / 6 - near * (1 / 12 - near * (1 / 20 - near / 30)))
    inside = np.maximum(u, -1 + 1e-12)
    far = np.where(u > -1, u**2 / 2 - (1 + inside) * np.log1p(inside) + inside, -np.inf)
    return np.where(small, series, far)


def _p_value(tail: Any, statistic: float, scale: Scale, ends: int, *, corrected: bool) -> float:
    sigma = scale.null_sigma if corrected else scale.sigma
    if sigma == 0:  # all outcomes are certain under calibration
        return float(statistic == 0)
    in_sigma = statistic / sigma
    if not corrected:
        return float(tail(in_sigma))
    return float(corrected_tail(tail, in_sigma, scale.mean_step, ends, scale.rare))


def kuiper_interval(statistic: float, scale: Scale, prob: float) -> tuple[float, float]:
    """Return a confidence interval of the Kuiper statistic of the population that assumes no model.

    The two statistics differ at most by the range of the difference between the curves of sample and population. This
    difference is close to Brownian motion whose standard deviation is at most `scale.wide_sigma`.
    """
    margin = quantile_range(prob) * scale.wide_sigma
    return float(np.maximum(statistic - margin, 0.0)), statistic + margin


class PValues(NamedTuple):
    """P-values of both statistics: the probability of at least the observed size under calibration."""

    kuiper: float
    kolmogorov_smirnov: float


def simulate_null(steps: OrderedSums, observed: PValues, simulations: int, rng: np.random.Generator) -> PValues:
    r"""Estimate P-values from simulated outcomes, which are Bernoulli variables with the scores as probabilities.

    They are :math:`(1 + \#\{D_b \ge D\}) / (B + 1)` for B simulations, at most :math:`\alpha` with a probability of at
    most :math:`\alpha` under calibration, for every number of rows. With weights, each step must be one row.
    """
    score = steps.score.astype(np.float64, copy=False)
    size, single = steps.weight / steps.n_rows, bool((steps.n_rows == 1).all())
    expected = steps.weight * score
    least = np.array(observed) * (1 - ROUNDING) * float(steps.weight.sum())
    reached, statistics = np.zeros(2, dtype=np.int64), (kuiper, kolmogorov_smirnov)  # as in `PValues`
    at_once = max(1, AT_ONCE // len(score))
    for begin in range(0, simulations, at_once):
        shape = (min(at_once, simulations - begin), len(score))
        events = rng.random(shape) < score if single else rng.binomial(steps.n_rows, score, shape)
        curve = np.zeros((shape[0], len(score) + 1))
        np.cumsum(events * size - expected, axis=1, out=curve[:, 1:])
        reached += [np.count_nonzero(of(curve) >= value) for of, value in zip(statistics, least, strict=True)]
    return PValues(*((1 + reached) / (1 + simulations)).tolist())


def c_emp_bound(n: float, prob: float = 0.95, *, given_scores: bool = False) -> float:
    r"""Return a finite-sample bound on the difference between c_emp of a sample and of its population.

    With n independent rows without weights and :math:`\varepsilon = \sqrt{\log(2 / (1 - p)) / (2 n)}`, the bound is
    :math:`4 \varepsilon` with probability p. Given the scores, so that only outcomes are random, it is :math:`2
    \varepsilon`, and rows may have weights: n is then their effective number, (sum w)^2 / sum w^2. A bound above 1
    contains no information. For one classifier and the class of intervals, two inequalities with known constants give
    the bounds.

    *Population.* Write z - c as the mean over u, uniform on [0, 1], of 1{z = 1} - 1{u < c}. For an interval of scores
    and one u, this is 1 on the rows with z = 1 and c <= u, and -1 on the rows with z = 0 and c > u. If rows with z = 1
    are placed on a line at c, and those with z = 0 at 2 + c, these are two intervals of the line. The
    Dvoretzky-Kiefer-Wolfowitz inequality with the constant of Massart [1]_ bounds the error of each of their four ends
    by :math:`\varepsilon`, simultaneously for all intervals and all u.

    *Given the scores.* The difference between the curve and its mean is a martingale in the order of the scores, whose
    k-th step lies in an interval of length w_k / sum w. The maximal inequality of Hoeffding [2]_ bounds its maximum and
    minus its minimum by :math:`\varepsilon` each.

    .. [1] P. Massart (1990), "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of Probability
       18, 1269-1283.
    .. [2] W. Hoeffding (1963), "Probability inequalities for sums of bounded random variables", Journal of the American
       Statistical Association 58, 13-30, Theorem 2 and its extension to maxima.
    """
    return _ends(given_scores) * float(np.sqrt(np.log(2 / (1 - prob)) / (2 * n)))


@public
def rows_for_c_emp(epsilon: float, prob: float = 0.95, *, given_scores: bool = False) -> int:
    r"""Return the number of rows that limits the error of c_emp to epsilon.

    Parameters
    ----------
    epsilon : float
        Largest difference, in (0, 1).
    prob, given_scores
        As for `CumulativeDifference.c_emp_bound`.

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
    >>> bc.cumulative.rows_for_c_emp(0.05), bc.cumulative.rows_for_c_emp(0.05, given_scores=True)
    (11805, 2952)
    """
    epsilon, prob = _checks.fraction("epsilon", epsilon), _checks.fraction("prob", prob)
    # as fractions, because the square of a small epsilon can underflow
    return math.ceil(_ends(given_scores) ** 2 * Fraction(math.log(2 / (1 - prob))) / (2 * Fraction(epsilon) ** 2))


def _ends(given_scores: bool) -> int:
    """Return how many ends of intervals the bound adds up."""
    return 2 if given_scores else 4


def _parts(steps: Steps) -> Iterator[tuple[int, Steps]]:
    """Yield consecutive parts of the steps, with the index of the first step of each."""
    for begin in range(0, len(steps), CHUNK):
        yield begin, steps[begin : begin + CHUNK]
