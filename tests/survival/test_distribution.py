"""Tests of predicted survival distributions: D-calibration and A-calibration."""

import numpy as np
import pytest
from reference_rows import reference_rows
from scipy.integrate import quad
from scipy.stats import chi2, kstest

import bayescal as bc

#: Statistics and P-values that SurvivalEVAL 0.9.0 computes for `reference_rows` with 10 and 5 bins.
D10, D5 = (2.4988729023451515, 0.9809137873082451), (1.4361500321017233, 0.8378882599945807)


def hazards(n, seed, factor=1.0):
    rng = np.random.default_rng(seed)
    rate = rng.gamma(2.0, 0.5, n)
    died, lost = rng.exponential(1 / (factor * rate)), rng.exponential(1.0, n)
    return np.exp(-rate * np.minimum(died, lost)), died <= lost


@pytest.mark.parametrize(("bins", "statistic", "p"), [(10, *D10), (5, *D5)])
def test_d_calibration_is_that_of_survivaleval(bins, statistic, p):
    """`d_calibration(S(t), event, bins)` of SurvivalEVAL 0.9.0, from its evaluations.calibration.distributional."""
    time, event, risk = reference_rows()
    tests = bc.survival.calibration_tests((1 - risk) ** (time**1.25), event, bins=bins)
    assert tests.d_calibration == pytest.approx(statistic, rel=1e-9)
    assert tests.p_d_calibration == pytest.approx(p, rel=1e-9)


def test_expected_events_are_integrals_of_the_rows_at_risk():
    """The integral of (rows with -log S >= u) over the cumulative hazards u of each bin, by quadrature."""
    surviving, died = hazards(400, 3)
    tests = bc.survival.calibration_tests(surviving, died, bins=4)
    hazard = np.sort(-np.log(surviving))
    for j, (low, high) in enumerate([(0.75, 1.0), (0.5, 0.75), (0.25, 0.5)]):
        inside = hazard[(hazard > -np.log(high)) & (hazard < -np.log(low))]
        area, _ = quad(lambda u: np.count_nonzero(hazard >= u), -np.log(high), -np.log(low), points=inside, limit=2000)
        assert tests.expected[j] == pytest.approx(area, rel=1e-8)
    assert tests.expected.sum() == pytest.approx(hazard.sum(), rel=1e-12)
    assert tests.n_events.tolist() == np.histogram(-surviving[died], [-1, -0.75, -0.5, -0.25, 0])[0].tolist()


def test_without_censoring_d_calibration_is_the_chi_squared_test_of_uniform_numbers():
    s = np.repeat([0.95, 0.55, 0.35, 0.05], [30, 10, 20, 40])
    tests = bc.survival.calibration_tests(s, np.ones(100), bins=4)
    assert tests.d_calibration == pytest.approx(sum((n - 25) ** 2 / 25 for n in (30, 10, 20, 40)), rel=1e-12)
    assert tests.p_d_calibration == pytest.approx(chi2.sf(20, 3), rel=1e-12)


def test_a_censored_row_is_divided_over_the_bins_below_it():
    """At S = 0.6 with 2 bins: a share of 0.1 / 0.6 in the bin from 0.5 to 1, and the rest below."""
    tests = bc.survival.calibration_tests([0.6, 0.2], [0, 1], bins=2)
    assert tests.shares == pytest.approx([1 / 6, 1 + 5 / 6])


def test_p_values_of_a_calibration_are_uniform_and_those_of_d_calibration_are_not():
    """400 calibrated data sets of 300 rows, 60 % censored.

    The share of P < 0.05 has a standard error of 0.011; D-calibration rejects nearly never, A-calibration as stated.
    """
    p = []
    for seed in range(400):
        surviving, died = hazards(300, seed)
        tests = bc.survival.calibration_tests(surviving, died)
        p.append((tests.p_a_calibration, tests.p_d_calibration))
    of_a, of_d = np.transpose(p)
    assert 0.02 < np.mean(of_a < 0.05) < 0.085
    assert kstest(of_a, "uniform").pvalue > 0.001
    assert np.mean(of_d < 0.05) < 0.01


def test_wrong_hazards_are_seen_and_bins_with_few_events_are_joined():
    surviving, died = hazards(1000, 1, factor=1.3)
    tests = bc.survival.calibration_tests(surviving, died)
    assert tests.p_a_calibration < 1e-4
    few = bc.survival.calibration_tests(*hazards(40, 1))
    row = few.table()[1]
    assert 1 <= row["df"] < 10
    assert any(f"A-calibration has {row['df']} instead of 10 bins" in text for text in few.remarks)
    assert "D-calibration chi-squared" in str(few)
    assert few.to_dict()["table"][1]["df"] == row["df"]
    assert "Tests of predicted distributions" in few.to_html()


@pytest.mark.parametrize(
    ("surviving", "event", "message"),
    [
        ([0.2, 1.2], [1, 0], r"`surviving`"),
        ([0.2, 0.5], [0, 0], "at least one event"),
        ([0.2, 0.0], [1, 0], "must be above 0 for rows without event"),
        ([0.2, 0.5], [1, 2], r"must be 0 \(censored\) or 1"),
        ([0.2], [1, 0], "length"),
    ],
)
def test_refusals(surviving, event, message):
    with pytest.raises(ValueError, match=message):
        bc.survival.calibration_tests(surviving, event)
