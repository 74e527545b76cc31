"""Tests of the assumptions about a judge: values by other programs, size, power; worth of a judged row."""

import numpy as np
import pytest
from judged_sets import JudgedSet, judged_set
from scipy.stats import chi2, chi2_contingency, linregress

from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.judge import chi_squared_tail, error_trend, p_checked_at_random, worth
from bayescal.labels.sums import JudgedCounts
from bayescal.stats.bins import make_bins

BINS = make_bins(15)
ONE = np.zeros(15, np.intp)


def counted(rows, bins=BINS):
    return JudgedCounts.from_arrays(rows.y, rows.confidence, judge=rows.judge, bins=bins)


def test_the_trend_is_n_times_the_squared_correlation():
    """The score statistic of Armitage is N r^2, with the correlation of errors and confidence given the label."""
    rows = judged_set(checked=200)
    found = error_trend(counted(rows), ONE)
    total = 0.0
    for label in (0, 1):
        used = rows.checked & (rows.truth == label)
        wrong = rows.judge[used] != label
        r = linregress(rows.confidence[used], wrong).rvalue
        assert found.z[label] == pytest.approx(r * np.sqrt(used.sum()))
        total += used.sum() * r**2
    assert found.p_value == pytest.approx(chi2.sf(total, 2))


def test_rows_at_random_by_another_program():
    """With two bins and many rows no cells are joined."""
    rows = judged_set(n=3000, checked=600)
    cell = 2 * (rows.confidence >= 0.5) + rows.judge
    table = [np.bincount(cell[kind], minlength=4) for kind in (rows.checked, ~rows.checked)]
    expected = chi2_contingency(table, correction=False).pvalue
    assert p_checked_at_random(counted(rows, make_bins(2))) == pytest.approx(expected)


@pytest.mark.slow
def test_sizes_and_power_of_both_tests():
    """200 data sets: rejected at 0.05 in 1 to 11 % under the null (error rate 2e-4 each), nearly always otherwise."""
    alike, random, trend, chosen = [], [], [], []
    for seed in range(200):
        rows = judged_set(seed, n=800, checked=200)
        alike.append(error_trend(counted(rows), ONE).p_value < 0.05)
        random.append(p_checked_at_random(counted(rows)) < 0.05)
        rng = np.random.default_rng(seed + 1000)
        wrong = rng.random(800) < 0.6 * rows.confidence
        other = JudgedSet(rows.confidence, rows.truth, rows.truth ^ wrong, rows.checked)
        trend.append(error_trend(counted(other), ONE).p_value < 0.05)
        by_judge = rng.random(800) < np.where(rows.judge, 0.1, 0.4)
        other = JudgedSet(rows.confidence, rows.truth, rows.judge, by_judge)
        chosen.append(p_checked_at_random(counted(other)) < 0.05)
    for rejected in (alike, random):
        assert 2 <= sum(rejected) <= 22
    assert min(sum(trend), sum(chosen)) >= 190


def test_strata_explain_a_step():
    """Errors that differ between two ranges only: one range rejects, two do not."""
    rng = np.random.default_rng(1)
    c = rng.random(4000)
    truth = rng.random(4000) < c
    judge = truth ^ (rng.random(4000) < np.where(c < 0.5, 0.05, 0.3))
    counts = counted(JudgedSet(c, truth, judge, np.arange(4000) < 2000), make_bins(16))
    two = (np.arange(16) >= 8).astype(np.intp)
    assert error_trend(counts, np.zeros(16, np.intp)).p_value < 1e-6
    assert error_trend(counts, two).p_value > 0.01


def test_nothing_to_test():
    rows = judged_set(n=40, checked=40)
    perfect = JudgedSet(rows.confidence, rows.truth, rows.truth, rows.checked)
    assert error_trend(counted(perfect), ONE).p_value == 1
    assert p_checked_at_random(counted(perfect)) == 1
    assert chi_squared_tail(7.0, 0) == 1
    assert chi_squared_tail(7.0, 3) == pytest.approx(chi2.sf(7, 3))


def test_worth_is_a_ratio_of_informations():
    """From differences of log likelihoods, in expectation over labels."""
    theta, mass, (s, p) = np.array([[0.3, 0.9]]), np.array([[0.25, 0.75]]), (0.9, 0.7)
    evidence = JudgeEvidence(np.zeros(2), np.zeros(2), np.zeros(2, np.intp))
    step = 1e-4
    q, q_next = (s * t + (1 - p) * (1 - t) for t in (theta, theta + step))
    judged = q * np.log(q / q_next) + (1 - q) * np.log((1 - q) / (1 - q_next))
    up = theta + step
    known = theta * np.log(theta / up) + (1 - theta) * np.log((1 - theta) / (1 - up))
    found = worth(mass, theta, np.array([[[s], [p]]]), evidence)
    assert found[0] == pytest.approx((mass * judged / known).sum(), rel=1e-3)
    assert worth(mass, np.array([[0.0, 1.0]]), np.array([[[1.0], [1.0]]]), evidence)[0] == pytest.approx(1)
    assert worth(mass, theta, np.array([[[0.6], [0.4]]]), evidence)[0] == pytest.approx(0)


def test_the_trend_of_sums_does_not_depend_on_the_bins():
    """Sums of narrow and of wide bins give the same statistic; equal confidences have no trend."""
    rows = judged_set(checked=300)
    one, other = (error_trend(counted(rows, bins), np.zeros(bins, np.intp)) for bins in (1, 40))
    assert one.z == pytest.approx(other.z)
    assert one.p_value == pytest.approx(other.p_value)
    same = JudgedSet(np.full(1000, 0.7), rows.truth, rows.judge, rows.checked)
    assert error_trend(counted(same), ONE).p_value == 1
