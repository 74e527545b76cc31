"""Recalibration and GroupedRecalibration: tables, words, recalibrated predictions, groups."""

import json

import numpy as np
import pytest

from bayescal import recalibration
from bayescal.clinical.slope.result import GroupedRecalibration
from bayescal.datasets.simulate import simulate


def test_draws_of_separate_results_do_not_combine(too_extreme, rc):
    """The memory address of a result identifies nothing: the next result may have it."""
    origins = {recalibration(too_extreme.outcome[i:], too_extreme.confidence[i:], rng=1).slope.origin for i in range(5)}
    assert len(origins) == 5
    assert rc.slope.origin == recalibration(too_extreme.outcome, too_extreme.confidence, rng=1).intercept.origin
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = rc.slope - recalibration(too_extreme.outcome, too_extreme.confidence, rng=2).slope


def test_the_table_has_exact_intervals(rc):
    large, intercept, slope = rc.table(0.9)
    assert [row["quantity"] for row in (large, intercept, slope)] == ["in_the_large", "intercept", "slope"]
    assert (slope["low"], slope["high"]) == rc.exact_interval("slope", 0.9)
    assert (large["low"], large["high"]) == rc.in_the_large.interval(0.9)
    assert [row["calibrated"] for row in (large, intercept, slope)] == [0, 0, 1]
    frame = rc.to_frame()
    assert frame.loc["slope", "eti95_lb"] == rc.exact_interval("slope")[0]


def test_what_is_printed(rc):
    text = f"{rc}\n{rc.details()}"
    assert rc.sentence().startswith("The calibration slope is 0.")
    assert "predictions are too extreme" in rc.sentence()
    assert "Bayes factor of calibration (intercept 0, slope 1) against the prior: 10^-" in text
    assert rc.spec == "event intercept and slope, N = 3000, prior shift ~ Normal(0, 2.5), slope ~ Normal(1, 1)"
    assert "<table>" in rc._repr_html_()
    document = json.loads(rc.to_json())
    assert document["kind"] == "Recalibration"
    assert document["table"] == rc.table()


def test_calibrated_predictions_are_said_to_be_so():
    rows = simulate(3000, population="flat", rng=3)
    rc = recalibration(rows.outcome, rows.confidence, rng=1)
    assert rc.sentence().endswith("both intervals contain the values of calibrated predictions.")
    assert rc.bayes_factor > 10


@pytest.mark.parametrize(("shift", "words"), [(-1.0, "less frequent than stated"), (1.0, "more frequent than stated")])
def test_the_direction_of_the_calibration_in_the_large(shift, words):
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-(np.log(p / (1 - p)) + shift)))
    rc = recalibration(y, p, rng=1)
    assert rc.in_the_large.mean() == pytest.approx(shift, abs=0.3)
    assert words in rc.sentence()


def test_exchanged_labels_are_not_called_too_extreme(too_extreme):
    """With 1 - y in place of y, the logit of the rate changes its sign, and so do intercept and slope."""
    rc = recalibration(too_extreme.outcome, too_extreme.confidence, rng=1)
    exchanged = recalibration(1 - too_extreme.outcome.astype(int), too_extreme.confidence, prior="flat", rng=1)
    assert exchanged.slope.mean() == pytest.approx(-rc.slope.mean(), abs=0.02)
    assert "events are rarer at higher probabilities (are the labels exchanged?)" in exchanged.sentence()
    assert "too extreme" not in exchanged.sentence()


def test_remarks_of_groups_are_printed_under_every_prior(too_extreme):
    """The event happens wherever the probability is 1: these rows are left out, in one group."""
    y, p = np.append(too_extreme.outcome, 1), np.append(too_extreme.confidence, 1.0)
    by = np.append(np.arange(3000) % 2, 1)
    for prior in ("weak", "jeffreys", "flat"):
        remarks = recalibration(y, p, by=by, prior=prior, rng=1).sheet().remarks
        assert [text[:30] for text in remarks] == ["1: 1 of 1501 rows have a proba"]


def test_recalibrated_predictions(rc):
    """The mean of expit(a + b x) over the draws, its quantiles, and the ends, which stay."""
    p = np.array([0.9, 0.0, 0.2, 0.2, 1.0])
    mean, low, high = rc.recalibrated(p, 0.9)
    x = np.log(0.9 / 0.1)
    rates = 1 / (1 + np.exp(-(rc.intercept.values + rc.slope.values * x)))
    assert mean[0] == pytest.approx(rates.mean())
    assert [low[0], high[0]] == pytest.approx(np.quantile(rates, [0.05, 0.95]))
    assert (mean[1], mean[4]) == (0, 1)
    assert mean[2] == mean[3]
    assert np.all((low <= mean) & (mean <= high))
    with pytest.raises(ValueError, match="`y_prob`"):
        rc.recalibrated([1.2])


def test_groups(too_extreme, rc):
    site = np.where(np.arange(3000) % 3 == 0, "b", "a")
    found = recalibration(too_extreme.outcome, too_extreme.confidence, by=site, rng=1)
    assert isinstance(found, GroupedRecalibration)
    assert list(found) == ["a", "b"]
    assert found["a"].counts.n_rows == 2000
    np.testing.assert_array_equal(found.overall.slope.values, rc.slope.values)
    alone = recalibration(too_extreme.outcome[site == "b"], too_extreme.confidence[site == "b"], rng=1)
    assert found["b"].exact_interval("slope") == alone.exact_interval("slope")
    assert len(found.table()) == 6
    assert "all rows" in str(found)
    assert found.sentence().startswith("Slopes range from 0.")
    assert ". For all rows, the calibration slope is 0." in found.sentence(0.9)
    assert "90 % credible interval" in found.sentence(0.9)
    assert len(json.loads(found.to_json())["table"]) == 6
    with pytest.raises(KeyError, match="'c'"):
        found["c"]


def test_the_remark_states_the_probability_of_slopes_that_rows_at_0_exclude():
    """By a plain sum of prior times likelihood on a grid, written independently."""
    y, p = np.array([0, 0, 1, 1, 0, 1]), np.array([0.1, 0.3, 0.35, 0.6, 0.7, 0.8])
    x = np.log(p / (1 - p))
    lever = (p * (1 - p)) @ x / (p * (1 - p)).sum()
    t, b = np.meshgrid(np.linspace(-8, 8, 801), np.linspace(-3, 6, 901), indexing="ij")
    rate = 1 / (1 + np.exp(-(t[..., None] + b[..., None] * (x - lever))))
    density = np.where(y == 1, rate, 1 - rate).prod(axis=-1)
    density *= np.exp(-0.5 * ((t - lever) / 2.5) ** 2 - 0.5 * (b - 1) ** 2)
    excluded = (density * ((b < 0) + 0.5 * (b == 0))).sum() / density.sum()
    found = recalibration(np.append(y, 0), np.append(p, 0.0), rng=1)
    assert found.posterior.p_not_increasing == pytest.approx(excluded, abs=2e-3)
    assert f"exclude slopes at or below 0, which have the probability {excluded:.1g}" in str(found).replace("\n", " ")


def test_no_probabilities_to_recalibrate(rc):
    assert [len(each) for each in rc.recalibrated([])] == [0, 0, 0]


def test_one_outcome_only_says_so():
    rc = recalibration(np.zeros(30, int), np.linspace(0.1, 0.5, 30), rng=1)
    assert "All rows have outcome 0: these numbers come from the prior" in str(rc)
    assert rc.in_the_large.interval(0.95)[1] < 0


def test_other_priors_have_no_bayes_factor(too_extreme):
    flat = recalibration(too_extreme.outcome, too_extreme.confidence, prior="flat", rng=1)
    assert np.isnan(flat.bayes_factor)
    assert "Bayes factor" not in str(flat.details())
    assert "flat prior" in flat.spec
    assert "Jeffreys prior" in recalibration(too_extreme.outcome, too_extreme.confidence, prior="jeffreys", rng=1).spec
