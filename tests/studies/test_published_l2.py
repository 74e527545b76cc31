"""The interval of Sun et al., against sums over pairs of rows, integrals, and simulation of calibrated classifiers."""

import numpy as np
import pytest
from scipy import integrate, stats
from studies.published_l2 import _calibrated_variance, _Sums, l2_interval, squared_l2_interval

from bayescal.datasets.simulate import simulate
from bayescal.estimands.plug_in import debiased_squared_l2_error
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins


def by_rows(z, c, n_bins, alpha, lowest):
    """T, its standard error off calibration and its limit at calibration, from single rows."""
    n, u, place = len(z), z - c, np.minimum((c * n_bins).astype(int), n_bins - 1)
    of_bin = [u[place == b] for b in range(n_bins) if (place == b).any()]
    pairs = [(np.outer(v, v).sum() - (v**2).sum()) / (len(v) - 1) for v in of_bin if len(v) > 1]
    # sigma_1^2: variance of 2 U mean - mean^2 over rows, plus that of mean^2 between bins, written by moments
    first = sum(len(v) * (4 * v.mean() ** 2 * (v**2).mean() - 3 * v.mean() ** 4) for v in of_bin) / n
    second = (sum(len(v) * v.mean() ** 2 for v in of_bin) / n) ** 2
    noise = integrate.quad(lambda v: 2 * (v * (1 - v)) ** 2, lowest, 1)[0]
    limit = stats.norm.ppf(1 - alpha) * np.sqrt(n_bins * noise) / n
    return sum(pairs) / n, np.sqrt((first - second) / n), limit


@pytest.mark.parametrize(
    ("population", "curve", "strength", "n", "case"),
    [
        ("flat", "temperature", 2.0, 3000, "both"),
        ("top", "temperature", 1.5, 1500, "half"),
        ("top", "temperature", 1.5, 1000, "one"),
        ("flat", "calibrated", None, 500, "zero"),
        ("top", "calibrated", None, 800, "zero"),
    ],
)
def test_the_interval_is_that_of_the_formulas_by_rows(population, curve, strength, n, case):
    rows = simulate(n, population=population, curve=curve, strength=strength, rng=4)
    statistic, error, limit = by_rows(rows.outcome, rows.confidence, 15, 0.05, 0.5 if population == "top" else 0.0)
    plus = max(statistic, 0.0)
    one, two = stats.norm.ppf(0.95) * error, stats.norm.ppf(0.975) * error
    expected = {"both": plus - two, "half": plus / 2, "one": plus - one, "zero": 0.0}[case]
    holds = {"both": plus >= 2 * two, "half": 2 * one <= plus < 2 * two, "one": one < plus < 2 * one}
    assert {**holds, "zero": plus < limit}[case]
    low, high, estimate = squared_l2_interval(BinnedCounts.from_arrays(rows.outcome, rows.confidence), 0.95)
    assert (low, high, estimate) == pytest.approx((expected, plus + two, plus), rel=1e-9, abs=1e-12)
    counts = BinnedCounts.from_arrays(rows.outcome, rows.confidence)
    assert l2_interval(counts, 0.95) == pytest.approx(np.sqrt([low, high, estimate]))


def test_an_interval_between_the_regimes_is_cut_off_but_excludes_zero():
    """T is above the limit of calibration, and less than h_1: the lower end would be 0, which the test rejects."""
    rows = simulate(300, population="top", curve="temperature", strength=1.5, rng=0)
    statistic, error, limit = by_rows(rows.outcome, rows.confidence, 15, 0.05, 0.5)
    assert limit < statistic < stats.norm.ppf(0.95) * error
    low, high, estimate = squared_l2_interval(BinnedCounts.from_arrays(rows.outcome, rows.confidence), 0.95)
    assert 0 < low < 1e-8 < estimate < high


def test_the_statistic_is_debiased():
    """Rows with one confidence per bin: it is the debiased estimate of Kumar et al., whose noise is that of z alone."""
    rng = np.random.default_rng(3)
    c = rng.choice([0.1, 0.5, 0.7], 400)
    counts = BinnedCounts.from_arrays(rng.random(400) < c**2, c, bins=5)
    assert squared_l2_interval(counts, 0.95)[2] == pytest.approx(debiased_squared_l2_error(counts), rel=1e-9)


def test_the_limit_at_calibration_is_a_quantile_of_the_statistic():
    """The variance of T is m sigma_0^2 / n^2 for uniform confidences: 0 is excluded in about 5 % of the data sets.

    T is a weighted sum of chi-squared variables less their means, with a longer upper tail than a Normal: up to 8 %.
    """
    rng, excluded = np.random.default_rng(5), []
    for _ in range(1000):
        rows = simulate(2000, population="flat", rng=rng)
        excluded.append(squared_l2_interval(BinnedCounts.from_arrays(rows.outcome, rows.confidence), 0.95)[0] > 0)
    assert 0.03 < np.mean(excluded) < 0.09


def test_counts_that_the_interval_is_not_for():
    z, c = [0, 1, 1, 0], [0.1, 0.6, 0.7, 0.9]
    with pytest.raises(ValueError, match="equal width"):
        squared_l2_interval(BinnedCounts.from_arrays(z, c, bins=[0, 0.5, 0.6, 1]), 0.95)
    with pytest.raises(ValueError, match="without weights"):
        squared_l2_interval(BinnedCounts.from_arrays(z, c, weights=[1, 2, 1, 1]), 0.95)
    with pytest.raises(ValueError, match="must have at least one row"):
        l2_interval(BinnedCounts.empty(make_bins(15)), 0.95)


@pytest.mark.parametrize(("population", "lowest"), [("flat", 0.0), ("rare", 0.0), ("top", 0.5)])
def test_the_variance_at_calibration_is_an_integral_over_the_range_of_confidences(population, lowest):
    rows = simulate(500, population=population, rng=1)
    assert _Sums.of(BinnedCounts.from_arrays(rows.outcome, rows.confidence)).lowest == lowest
    integral = integrate.quad(lambda v: 2 * (v * (1 - v)) ** 2, lowest, 1)[0]
    assert _calibrated_variance(lowest) == pytest.approx(integral, rel=1e-12)
