"""JudgeReport: rates, worth, remarks."""

import numpy as np
import pytest
from judged_sets import JudgedSet, judged_set

import bayescal as bc


@pytest.mark.slow
def test_rates_by_range_and_their_mean(judged):
    report = judged.judge
    assert report.strata == 2
    assert report.rates.shape == (4000, 2, 2)
    bins, stratum = judged.bin_draws, report.evidence.stratum
    positive = bins.mass * bins.accuracy
    below = positive[:, stratum == 0].sum(axis=1) / positive.sum(axis=1)
    expected = below * report.rates[:, 0, 0] + (1 - below) * report.rates[:, 0, 1]
    np.testing.assert_allclose(report.sensitivity.values, expected)
    rows = report.table()
    assert [(r["quantity"], r["from"], r["to"]) for r in rows][:2] == [
        ("sensitivity", 0.0, report.edges[0]),
        ("sensitivity", report.edges[0], 1.0),
    ]
    assert sum(row["checked"] for row in rows) == 300
    for row in rows:  # near the share of right labels, which has a Beta posterior without the judged rows
        assert abs(row["mean"] - (row["right"] + 1) / (row["checked"] + 2)) < 0.06
        assert row["low"] < row["mean"] < row["high"]


def test_draws_belong_to_those_of_the_evaluation(judged):
    joint = judged.ece + judged.judge.sensitivity
    np.testing.assert_allclose(joint.values, judged.ece.values + judged.judge.sensitivity.values)


def test_the_worth_is_that_of_the_true_rates(judged):
    """With s = 0.9, p = 0.8 and accuracies 0.2 + 0.6 c, c uniform: by a mean over a grid."""
    theta = 0.2 + 0.6 * (np.arange(1000) + 0.5) / 1000
    q = 0.9 * theta + 0.2 * (1 - theta)
    expected = (0.7**2 * theta * (1 - theta) / (q * (1 - q))).mean()
    assert abs(judged.judge.worth.mean() - expected) < 3 * judged.judge.worth.sd()


def test_it_prints_and_exports(judged):
    text = str(judged.judge)
    assert "The judge has the sensitivity 0.8" in text
    assert "A judged row is worth 0.3" in text
    assert judged.judge.spec == "judge, 1700 rows without a true label, 300 checked rows with a judge's label"
    assert list(judged.judge.to_frame().columns) == ["mean", "sd", "eti95_lb", "eti95_ub", "right", "checked"]
    assert judged.judge.metrics()["worth"] == pytest.approx(judged.judge.worth.mean())
    assert judged.judge.remarks == ()


def test_a_remark_if_errors_depend_on_the_confidence():
    rows = judged_set(n=2000, checked=600)
    rng = np.random.default_rng(9)
    judge = rows.truth | (rng.random(2000) < 0.8 * rows.confidence**2)
    ev = JudgedSet(rows.confidence, rows.truth, judge, rows.checked).judged(strata=1, draws=100)
    (text,) = (each for each in ev.remarks if "errs more often" in each)
    assert "errs more often at higher confidence on rows whose true label is 0" in text
    assert "`strata=` (at least 2)" in text
    assert ev.judge.p_errors_alike < 0.05


def test_it_has_no_model_in_pymc(judged):
    with pytest.raises(TypeError, match="judge"):
        bc.pymc_model(judged.judge)
