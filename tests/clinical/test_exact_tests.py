"""Spiegelhalter's Z and the Hosmer-Lemeshow statistic: definitions, null distributions, and what they do not see."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

import bayescal as bc
from bayescal.clinical.exact_tests import hosmer_lemeshow_of, spiegelhalter_z
from bayescal.datasets.simulate import simulate


def test_z_is_the_standardised_brier_score():
    """The Brier score less its mean under calibration, divided by its standard deviation, by enumeration."""
    score, outcome = np.array([0.1, 0.4, 0.85]), np.array([0.0, 1.0, 1.0])
    worlds = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], float)
    probability = np.prod(np.where(worlds == 1, score, 1 - score), axis=1)
    brier = ((worlds - score) ** 2).mean(axis=1)
    mean = probability @ brier
    sd = np.sqrt(probability @ (brier - mean) ** 2)
    observed = ((outcome - score) ** 2).mean()
    assert spiegelhalter_z(score, outcome) == pytest.approx((observed - mean) / sd)


def test_both_have_their_null_distributions():
    """600 calibrated data sets: a wrong alarm in a thousand for each; seed fixed."""
    rng = np.random.default_rng(5)
    z, x = [], []
    for _ in range(600):
        score = rng.beta(2, 2, 500)
        outcome = (rng.random(500) < score).astype(float)
        z.append(spiegelhalter_z(score, outcome))
        x.append(hosmer_lemeshow_of(score, outcome, 10, fitted=False).chi_squared)
    assert kstest(z, "norm").pvalue > 1e-3
    assert kstest(x, chi2(10).cdf).pvalue > 1e-3


def test_hosmer_lemeshow_is_pearsons_statistic_of_the_groups():
    rows = simulate(103, population="flat", rng=2)
    found = hosmer_lemeshow_of(rows.confidence, rows.outcome.astype(float), 7, fitted=True)
    assert found.n.tolist() == [15] * 5 + [14] * 2
    order = np.argsort(rows.confidence)
    for g, part in enumerate(np.array_split(order, 7)):
        assert found.observed[g] == rows.outcome[part].sum()
        assert found.expected[g] == pytest.approx(rows.confidence[part].sum())
    # two cells per group: (O - E)^2 / E for outcome 1 and for outcome 0
    both = np.array([found.observed, found.n - found.observed]), np.array([found.expected, found.n - found.expected])
    assert found.chi_squared == pytest.approx(((both[0] - both[1]) ** 2 / both[1]).sum())
    assert found.df == 5


def test_p_values():
    rows = simulate(500, population="flat", curve="temperature", strength=1.3, rng=2)
    tests = bc.calibration_tests(rows.outcome, rows.confidence, groups=8)
    assert tests.p_spiegelhalter == pytest.approx(2 * norm.sf(abs(tests.z)))
    assert tests.p_hosmer_lemeshow == pytest.approx(chi2(8).sf(tests.hosmer_lemeshow.chi_squared))
    fitted = bc.calibration_tests(rows.outcome, rows.confidence, groups=8, fitted=True)
    assert fitted.p_hosmer_lemeshow == pytest.approx(chi2(6).sf(tests.hosmer_lemeshow.chi_squared))


def test_z_does_not_see_a_shift_of_symmetric_scores():
    """E[(m(c) - c)(1 - 2c)] = 0 if the error is the same at c and 1 - c: Z is about 0 whatever the number of rows."""
    rows = simulate(100_000, population="flat", curve="shift", strength=0.3, rng=1)
    tests = bc.calibration_tests(rows.outcome, rows.confidence)
    assert abs(tests.z) < 4
    assert tests.hosmer_lemeshow.chi_squared > 1000


def test_values_that_are_not_defined_and_ties():
    half = bc.calibration_tests([0, 1] * 10, [0.5] * 20, groups=2)
    assert half.z != half.z
    assert "standard deviation of Spiegelhalter's Z is 0" in " ".join(half.remarks)
    assert "Equal scores lie on both sides of 1 of 1 boundaries" in " ".join(half.remarks)
    certain = (np.array(values, float) for values in ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 1]))
    assert hosmer_lemeshow_of(*certain, 2, fitted=False).chi_squared == np.inf
    contradicted = bc.calibration_tests([0, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 1], groups=2)
    assert contradicted.contradicted.tolist() == [2, 4]
    assert contradicted.p_hosmer_lemeshow == 0
    text = " ".join(str(contradicted).split())
    assert "outcomes contradict the score of 2 of 6 rows" in text
    assert "first at index 2" in text
    assert "statistic is infinite with 2 degrees" in text
    assert '"value": null' in contradicted.to_json()
    agreeing = bc.calibration_tests([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], groups=2)
    assert agreeing.hosmer_lemeshow.chi_squared == 0


def test_refusals_and_printing(tmp_path):
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]
    with pytest.raises(ValueError, match="`groups` must be at most the number of rows, 4, not 10"):
        bc.calibration_tests(y, p)
    with pytest.raises(ValueError, match="`groups`"):
        bc.calibration_tests(y, p, groups=2, fitted=True)
    with pytest.raises(TypeError, match="defined for rows of equal weight"):
        bc.calibration_tests(y, p, groups=2, weights=p)
    tests = bc.calibration_tests(y, p, groups=2)
    assert "does not state how large the errors are" in " ".join(str(tests).split())
    assert "smallest expected number" in " ".join(tests.remarks)
    assert tests.to_frame().loc["spiegelhalter_z", "value"] == tests.z
    assert "Hosmer-Lemeshow" in tests.to_html(tmp_path / "tests.html").read_text(encoding="utf-8")
    assert '"statistic": "hosmer_lemeshow"' in tests.to_json()
