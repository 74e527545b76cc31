"""Calibration in a new centre: information of a centre, limits, refusals and words."""

import numpy as np
import pytest
from scipy.special import expit

import bayescal as bc
from bayescal.clinical.slope.new_centre import information_of, lever_of


@pytest.fixture(scope="module")
def by_centre():
    """12 centres of 300 rows, whose lines vary by 0.4 and 0.2."""
    rng = np.random.default_rng(5)
    centre = np.repeat(np.arange(12), 300)
    x = rng.normal(-1.5, 1.0, len(centre))
    shift, slope = rng.normal(0.2, 0.4, 12)[centre], rng.normal(0.8, 0.2, 12)[centre]
    y = rng.random(len(x)) < expit(-1.5 + shift + slope * (x + 1.5))
    return bc.clinical.recalibration(y, expit(x), by=centre, draws=1000, rng=1)


def test_the_information_of_a_centre_is_that_of_logistic_regression():
    """5000 rows: Fisher's information and maximum likelihood by Newton's method, at a logit that is not the mean."""
    rng = np.random.default_rng(1)
    x = rng.normal(-1.0, 1.0, 5000)
    y = (rng.random(5000) < expit(0.3 + 0.7 * x)).astype(float)
    design, at = np.stack([np.ones(5000), x + 0.5]), np.array([0.0, 1.0])
    for _ in range(30):
        h = expit(at @ design)
        information = (design * (h * (1 - h))) @ design.T
        at = at + np.linalg.solve(information, design @ (y - h))
    rc = bc.clinical.recalibration(y, expit(x), draws=2, rng=1)
    found, moved = information_of(rc.posterior, -0.5)
    np.testing.assert_allclose(found, information, rtol=0.02, atol=2)
    np.testing.assert_allclose(np.linalg.solve(found, moved), at, atol=0.01)


def test_the_prior_is_divided_out():
    """Normal priors that pull a slope of 0.5 towards 1 leave the same likelihood as a flat prior."""
    rng = np.random.default_rng(2)
    x = rng.normal(-1.0, 1.0, 400)
    y = rng.random(400) < expit(0.5 * x)
    estimates = []
    for prior in ((2.5, 0.3), "flat"):
        rc = bc.clinical.recalibration(y, expit(x), prior=prior, draws=2, rng=1)
        precision, moved = information_of(rc.posterior, lever_of(rc.counts))
        estimates.append(np.linalg.solve(precision, moved))
    assert bc.clinical.recalibration(y, expit(x), prior=(2.5, 0.3), draws=2, rng=1).posterior.moments("slope")[0] > (
        estimates[1][1] + 0.03
    )
    np.testing.assert_allclose(estimates[0], estimates[1], atol=0.03)


def test_a_new_centre_is_less_certain_than_the_mean_centre(by_centre):
    new = by_centre.new_centre()
    assert "ece" not in new.mean
    for row in new.table():
        if row["quantity"] == "ece":
            assert np.isnan(row["mean"])
            continue
        assert row["new_high"] - row["new_low"] > row["high"] - row["low"]
        assert row["low"] < row["mean"] < row["high"]
    assert [row["quantity"] for row in new.table()] == ["intercept", "slope", "observed_expected", "ece"]
    mean, low, high, new_low, new_high = new.bands([0.05, 0.2, 0.6])
    assert (new_low < low).all()
    assert (low < mean).all()
    assert (mean < high).all()
    assert (high < new_high).all()
    assert str(new) == str(by_centre.new_centre())


def test_the_ece_of_the_line_is_its_mean_distance_from_the_diagonal(by_centre):
    """By hand from the draws of intercept and slope, over the cells of all rows."""
    new = by_centre.new_centre()
    x, n = by_centre.overall.counts.logit, by_centre.overall.counts.n
    lines = expit(new.new["intercept"].values[:, None] + new.new["slope"].values[:, None] * x)
    np.testing.assert_allclose(new.new["ece"].values, np.abs(lines - expit(x)) @ n / n.sum())


def test_a_few_centres_depend_on_the_prior_and_two_are_refused(by_centre):
    few = bc.clinical.recalibration_counts({k: by_centre[k].counts for k in range(3)}, draws=100, rng=1, name="site")
    assert "With fewer than 10 centres" in few.new_centre().remarks[1]
    assert len(by_centre.new_centre().remarks) == 1
    assert "3 centres by site" in few.new_centre().spec
    two = bc.clinical.recalibration_counts({k: by_centre[k].counts for k in range(2)}, draws=100, rng=1)
    with pytest.raises(ValueError, match=r"at least 3 centres.*there are 2: \[0, 1\]"):
        two.new_centre()


def test_bands_need_probabilities_with_a_logit(by_centre):
    with pytest.raises(ValueError, match=r"`y_prob` must be strictly between 0 and 1; 1 of 2 values is not"):
        by_centre.new_centre().bands([0.0, 0.5])


def test_a_centre_without_events_does_not_break_the_others(by_centre):
    """Its likelihood only says that the rate is low, so that the mean slope hardly changes."""
    counts = {k: by_centre[k].counts for k in by_centre}
    counts["none"] = bc.clinical.LogitCounts.from_arrays(np.zeros(40), expit(np.linspace(-4, 0, 40)))
    more = bc.clinical.recalibration_counts(counts, draws=1000, rng=1).new_centre()
    assert more.mean["slope"].mean() == pytest.approx(by_centre.new_centre().mean["slope"].mean(), abs=0.1)
