"""Reports on weights: Kish's number by hand, Pareto shapes of known tails, warnings."""

import numpy as np
import pytest
from scipy.stats import genpareto

import bayescal as bc

# --- the report on weights


def test_kish_by_hand():
    report = bc.weight_report([1, 1, 2, 0])
    assert (report.n_rows, report.n_zero) == (4, 1)
    assert report.effective_rows == pytest.approx(16 / 6)
    assert report.effective_share == pytest.approx(4 / 6)
    assert report.largest_share == pytest.approx(1 / 2)
    assert np.isnan(report.pareto_k)


@pytest.mark.parametrize("shape", [0.2, 0.5, 0.9])
def test_pareto_shape_of_known_tails(shape):
    """Weights from a generalised Pareto distribution have its shape, up to the error of 3 sqrt(n) largest ones.

    The standard error of the maximum likelihood estimate is (1 + k) / sqrt(m) with m = 424 weights; four of them.
    """
    weights = genpareto(shape).rvs(20_000, random_state=1)
    tolerance = 4 * (1 + shape) / np.sqrt(424)
    assert bc.weight_report(weights).pareto_k == pytest.approx(shape, abs=tolerance)


def test_pareto_shape_of_positive_weights():
    """Rows of weight 0, which no row of the target resembles, do not change the shape of the largest weights."""
    weights = genpareto(0.5).rvs(500, random_state=2)
    shape = bc.weight_report(weights).pareto_k
    assert bc.weight_report(np.r_[weights, np.zeros(5000)]).pareto_k == pytest.approx(shape)


@pytest.mark.parametrize("weights", [np.ones(100), np.r_[np.ones(50), 2 * np.ones(50)], np.arange(1, 20)])
def test_no_pareto_shape(weights):
    """Too few weights, or equal largest ones: no number, and no warning."""
    report = bc.weight_report(weights)
    assert np.isnan(report.pareto_k)
    assert "Pareto" not in report.sentence()
    assert not any("Pareto" in text for text in report.remarks)


def test_warnings_of_the_report():
    even, uneven = bc.weight_report(np.ones(40)), bc.weight_report(np.r_[np.ones(1000), 1000 * np.ones(2)])
    assert even.remarks == ()
    assert "(100 %)" in even.sentence()
    assert uneven.effective_rows == pytest.approx(3000**2 / (1000 + 2e6))
    assert [text.split()[0] for text in uneven.remarks] == ["The", "There"]
    assert "less than 10 %" in str(uneven)
    assert even.to_frame().loc["effective_rows", "value"] == 40


def test_the_report_refuses_invalid_weights():
    with pytest.raises(ValueError, match="`weights` is empty"):
        bc.weight_report([])
    with pytest.raises(ValueError, match="first at index 1"):
        bc.weight_report([1.0, -1.0])
    with pytest.raises(ValueError, match="missing"):
        bc.weight_report([1.0, np.nan])
