"""Tests of the assumptions about a judge, and what a judged row is worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from bayescal._arrays import Floats
from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.sums import JudgedCounts

#: Least number of checked rows of one label and stratum that enter the test of a trend, and least expected numbers.
LEAST_ROWS, LEAST_EXPECTED = 6, 5.0
#: Least standard deviation of confidences in the test of a trend; rounding of sums stays below it.
LEAST_SPREAD = 1e-7
#: Least expected number of errors, and of right labels, of one classifier in the test whether the judge is alike.
LEAST_OF_CLASSIFIER = 2.0
#: Least distance of accuracies from 0 and 1 for the information of a judged row.
INSIDE = 1e-9


@dataclass(frozen=True)
class ErrorTrend:
    """Test of a trend of the judge's errors in the confidence, given the true label; `z` is that of labels 0 and 1."""

    p_value: float
    z: tuple[float, float]


def error_trend(counts: JudgedCounts, stratum: NDArray[np.intp]) -> ErrorTrend:
    """Test whether the judge's errors depend on the confidence among checked rows.

    Within each true label and stratum, the score statistic of a linear trend [1]_ is squared and added; the sum has a
    chi-squared distribution. Positive values of z mean more errors at higher confidence.

    .. [1] P. Armitage (1955), "Tests for linear trends in proportions and frequencies", Biometrics 11, 375-386.
    """
    total, freedom, z = 0.0, 0, [0.0, 0.0]
    middle = counts.bins.midpoints
    for label, both in enumerate((counts.both_0, counts.both_1)):
        for each in range(int(stratum.max()) + 1):
            of = stratum == each
            rows, wrong = both.n[of], both.cells[1 - label, of]
            n, n_wrong = rows.sum(), wrong.sum()
            if n < LEAST_ROWS or not 0 < n_wrong < n:
                continue
            deviation = both.deviation[:, of]
            mean = (middle[of] @ rows + deviation.sum()) / n
            off = middle[of] - mean
            variance = (off**2 @ rows + 2 * off @ deviation.sum(axis=0) + both.deviation_sq[of].sum()) / n
            if not variance > LEAST_SPREAD**2:
                continue
            rate = n_wrong / n
            covariance = off @ wrong + deviation[1 - label].sum()
            statistic = float(covariance / np.sqrt(variance * n * rate * (1 - rate)))
            z[label] += statistic
            total, freedom = total + statistic**2, freedom + 1
    return ErrorTrend(chi_squared_tail(total, freedom), (z[0], z[1]))


def p_checked_at_random(counts: JudgedCounts) -> float:
    """Return the P-value of a test whether checked rows differ from the others in judged label and bin.

    It is the chi-squared test of a table with two rows; neighbouring cells are joined until expected numbers are at
    least 5.
    """
    table = np.stack([counts.both.sum(axis=0).ravel(), counts.alone.ravel()])
    total, share = table.sum(axis=1), table.sum(axis=0)
    if not total.all():
        return 1.0
    # cells are joined from the left; what remains belongs to the last one
    smaller, groups = total.min() / total.sum(), list[NDArray[np.int64]]()
    current = np.zeros(2, np.int64)
    for column in table.T[share > 0]:
        current = current + column
        if current.sum() * smaller >= LEAST_EXPECTED:
            groups.append(current)
            current = np.zeros(2, np.int64)
    if len(groups) < 2:
        return 1.0
    groups[-1] = groups[-1] + current
    joined = np.array(groups).T
    expected = np.outer(joined.sum(axis=1), joined.sum(axis=0)) / joined.sum()
    return chi_squared_tail(float(((joined - expected) ** 2 / expected).sum()), joined.shape[1] - 1)


def p_judge_alike(tables: Floats) -> float:
    """Return the P-value of a test whether the judge errs equally often for several classifiers.

    `tables`, shape (n_classifiers, n_strata, 4), are the checked rows of each; see `JudgeRates`. Chi-squared statistics
    of the tables (classifier, right or wrong) are added over true labels and strata.

    >>> round(p_judge_alike(np.array([[[90, 10, 50, 0]], [[80, 20, 50, 0]]])), 4)
    0.0477
    """
    table = tables.reshape(*tables.shape[:2], 2, 2).astype(np.float64)
    total = np.maximum(table.sum(axis=(0, 3), keepdims=True), 1)
    expected = table.sum(axis=3, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    used = (expected >= LEAST_OF_CLASSIFIER).all(axis=(0, 3))
    parts = (table - expected) ** 2 / np.where(used[..., None], expected, np.inf)
    return chi_squared_tail(float(parts.sum()), int(used.sum()) * (len(tables) - 1))


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Return the probability that a chi-squared variable is larger; 1 without degrees of freedom.

    >>> round(chi_squared_tail(3.841459, 1), 6)
    0.05
    """
    return float(gammaincc(freedom / 2, statistic / 2)) if freedom else 1.0


def worth(mass: Floats, accuracy: Floats, nu: Floats, evidence: JudgeEvidence) -> Floats:
    r"""Return the checked rows that carry as much information about the accuracies as one judged row.

    It is :math:`\sum_b m_b k^2 \theta_b (1 - \theta_b) / (q_b (1 - q_b))` with :math:`k = s + p - 1`: the Fisher
    information of a judged row relative to that of a checked row. `mass` and `accuracy` have shape (n_draws, n_bins),
    `nu` (n_draws, 2, n_strata); the result has shape (n_draws,).
    """
    theta = np.clip(accuracy, INSIDE, 1 - INSIDE)
    q, change = evidence.rate(theta, nu)
    return np.asarray((mass * change**2 * theta * (1 - theta) / (q * (1 - q))).sum(axis=1))
