"""recalibration: what it returns and prints, groups, floor, weights, counts, and what it refuses."""

import json

import numpy as np
import pytest

import bayescal as bc
from bayescal import LogitCounts, recalibration, recalibration_counts
from bayescal.clinical.slope.result import GroupedRecalibration
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="module")
def rows():
    """Predictions that are too extreme by a factor of 2 on the logit scale."""
    return simulate(3000, population="flat", curve="temperature", strength=2, rng=2)


@pytest.fixture(scope="module")
def rc(rows):
    return recalibration(rows.outcome, rows.confidence, rng=1)


def test_the_truth_is_in_the_intervals(rc):
    low, high = rc.exact_interval("slope")
    assert low < 0.5 < high < 0.6
    low, high = rc.exact_interval("intercept")
    assert low < 0 < high
    low, high = rc.in_the_large.interval(0.95)
    assert low < 0 < high
    assert rc.log_bayes_factor < -20


def test_draws_are_joint_and_reproducible(rows, rc):
    same = recalibration(rows.outcome, rows.confidence, rng=1)
    np.testing.assert_array_equal(same.slope.values, rc.slope.values)
    np.testing.assert_array_equal(same.in_the_large.values, rc.in_the_large.values)
    assert len(rc.slope) == 4000
    assert (rc.intercept + rc.slope).mean() == pytest.approx(rc.intercept.mean() + rc.slope.mean())
    assert 0 <= float(rc.slope < 0.5) <= 1
    other = recalibration(rows.outcome, rows.confidence, rng=2)
    assert other.exact_interval("slope") == rc.exact_interval("slope")
    with pytest.raises(TypeError, match="only if they come from the same evaluation"):
        rc.slope - other.slope


def test_draws_of_separate_results_do_not_combine(rows, rc):
    """The memory address of a result identifies nothing: the next result may have it."""
    origins = {recalibration(rows.outcome[i:], rows.confidence[i:], rng=1).slope.origin for i in range(5)}
    assert len(origins) == 5
    assert rc.slope.origin == recalibration(rows.outcome, rows.confidence, rng=1).intercept.origin
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = rc.slope - recalibration(rows.outcome, rows.confidence, rng=2).slope


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


def test_exchanged_labels_are_not_called_too_extreme(rows):
    """With 1 - y in place of y, the logit of the rate changes its sign, and so do intercept and slope."""
    rc = recalibration(rows.outcome, rows.confidence, rng=1)
    exchanged = recalibration(1 - rows.outcome.astype(int), rows.confidence, prior="flat", rng=1)
    assert exchanged.slope.mean() == pytest.approx(-rc.slope.mean(), abs=0.02)
    assert "events are rarer at higher probabilities (are the labels exchanged?)" in exchanged.sentence()
    assert "too extreme" not in exchanged.sentence()


def test_labels_and_logits(rows, rc):
    labels = np.where(rows.outcome, "yes", "no")
    logits = np.log(rows.confidence) - np.log1p(-rows.confidence)
    found = recalibration(labels, logits, classes=("no", "yes"), logits=True, rng=1)
    assert found.exact_interval("slope") == pytest.approx(rc.exact_interval("slope"), abs=1e-6)


def test_remarks_of_groups_are_printed_under_every_prior(rows):
    """The event happens wherever the probability is 1: these rows are left out, in one group."""
    y, p = np.append(rows.outcome, 1), np.append(rows.confidence, 1.0)
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


def test_counts_give_the_same(rows, rc):
    counts = LogitCounts.from_arrays(rows.outcome, rows.confidence)
    again = recalibration_counts(counts, rng=1)
    np.testing.assert_array_equal(again.slope.values, rc.slope.values)


def test_weights_of_equal_size_are_no_weights(rows, rc):
    weighted = recalibration(rows.outcome, rows.confidence, weights=np.full(3000, 7.0), rng=1)
    assert weighted.exact_interval("slope") == pytest.approx(rc.exact_interval("slope"), abs=1e-9)
    rng = np.random.default_rng(1)
    unequal = recalibration(rows.outcome, rows.confidence, weights=rng.exponential(size=3000), rng=1)
    assert "weighted, effective N = 15" in unequal.spec or "weighted, effective N = 14" in unequal.spec
    assert unequal.posterior.moments("slope")[1] > 1.2 * rc.posterior.moments("slope")[1]


def test_groups(rows, rc):
    site = np.where(np.arange(3000) % 3 == 0, "b", "a")
    found = recalibration(rows.outcome, rows.confidence, by=site, rng=1)
    assert isinstance(found, GroupedRecalibration)
    assert list(found) == ["a", "b"]
    assert found["a"].counts.n_rows == 2000
    np.testing.assert_array_equal(found.overall.slope.values, rc.slope.values)
    alone = recalibration(rows.outcome[site == "b"], rows.confidence[site == "b"], rng=1)
    assert found["b"].exact_interval("slope") == alone.exact_interval("slope")
    assert len(found.table()) == 6
    assert "all rows" in str(found)
    assert found.sentence().startswith("Slopes range from 0.")
    assert ". For all rows, the calibration slope is 0." in found.sentence(0.9)
    assert "90 % credible interval" in found.sentence(0.9)
    assert len(json.loads(found.to_json())["table"]) == 6
    with pytest.raises(KeyError, match="'c'"):
        found["c"]


def test_agreeing_rows_are_left_out_and_counted(rows, rc):
    y = np.concatenate([rows.outcome, [0, 1]])
    p = np.concatenate([rows.confidence, [0.0, 1.0]])
    found = recalibration(y, p, rng=1)
    assert found.exact_interval("slope") == rc.exact_interval("slope")
    assert "2 of 3002 rows have a probability of exactly 0 or 1, and the outcome agrees" in str(found)


def test_agreeing_rows_are_impossible_at_negative_slopes(rows):
    """A row with probability 0 and outcome 0 has the likelihood 1 - expit(a - b inf): 1 if b > 0, and 0 if b < 0."""
    y, p = 1 - rows.outcome, rows.confidence
    with pytest.raises(ValueError, match=r"1 of 3001 rows are at 0 or 1 and agree.*impossible at slopes below 0"):
        recalibration(np.append(y, 0), np.append(p, 0.0))
    falls = recalibration(y, p, rng=1)  # without such rows, a negative slope is an answer
    mean = falls.recalibrated([0.0, 1e-12, 1.0])[0]
    assert mean == pytest.approx([1, 1, 0], abs=1e-3)


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


def test_contradicted_rows_need_a_floor(rows):
    """The floor matters and is part of the specification."""
    y = np.concatenate([rows.outcome, [1]])
    p = np.concatenate([rows.confidence, [0.0]])
    with pytest.raises(
        ValueError, match=r"exactly 0 .* outcome 1,.*1 of 3001 values is, first at index 3000: 0.*Pass `f"
    ) as e:
        recalibration(y, p)
    assert e.value.finding.first == (3000,)
    weights = np.append(np.full(3000, 2.0), 1.0)
    with pytest.raises(bc.InvalidRows, match="first at index 3000"):
        recalibration(y, p, weights=weights)
    weights[-1] = 0  # a row that does not count contradicts nothing
    expected = recalibration(rows.outcome, rows.confidence).exact_interval("slope")
    assert recalibration(y, p, weights=weights).exact_interval("slope") == pytest.approx(expected)
    site = np.where(np.arange(3001) < 1500, "a", "b")
    with pytest.raises(bc.InvalidRows, match=r"first at index 3000: 0. The first is in group 'b'"):
        recalibration(y, p, by=site)
    counts = {s: LogitCounts.from_arrays(y[site == s], p[site == s]) for s in ("a", "b")}
    with pytest.raises(ValueError, match="group 'b': `y_prob` must not be exactly 0"):
        recalibration_counts(counts)
    slopes = [recalibration(y, p, floor=floor, rng=1).posterior.moments("slope")[0] for floor in (1e-6, 1e-2)]
    assert slopes[0] < slopes[1] - 0.005
    assert "probabilities at least 0.01 from 0 and 1" in recalibration(y, p, floor=0.01).spec


def test_few_rows_and_two_floors():
    """One of 13 rows contradicts a probability of 0: the slope depends on the floor; `recalibrated` applies it too."""
    y = [1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1]
    p = [0.0, 0.05, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.55, 0.7, 0.8, 0.9, 0.95]
    small, large = (recalibration(y, p, floor=floor, rng=1) for floor in (1e-6, 1e-3))
    assert small.posterior.moments("slope")[0] < large.posterior.moments("slope")[0]
    assert large.recalibrated([0.0])[0] == large.recalibrated([0.001])[0]


def test_one_outcome_only_says_so():
    rc = recalibration(np.zeros(30, int), np.linspace(0.1, 0.5, 30), rng=1)
    assert "All rows have outcome 0: these numbers come from the prior" in str(rc)
    assert rc.in_the_large.interval(0.95)[1] < 0


def test_other_priors_have_no_bayes_factor(rows):
    flat = recalibration(rows.outcome, rows.confidence, prior="flat", rng=1)
    assert np.isnan(flat.bayes_factor)
    assert "Bayes factor" not in str(flat.details())
    assert "flat prior" in flat.spec
    assert "Jeffreys prior" in recalibration(rows.outcome, rows.confidence, prior="jeffreys", rng=1).spec


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y, p: recalibration(y, np.full(len(y), 0.3)), ValueError, "at least two distinct values"),
        (lambda y, p: recalibration(y, p[:-1]), ValueError, "`y_true`"),
        (lambda y, p: recalibration(np.where(y, "yes", "no"), p), TypeError, "`y_true`"),
        (lambda y, p: recalibration(y, np.stack([1 - p, p], axis=1)), ValueError, "y_prob"),
        (lambda y, p: recalibration(y, {"a": p}), TypeError, r"a mapping of 1 .first 'a'.*One model at a time"),
        (lambda y, p: recalibration(y, p, draws=1), ValueError, "`draws` must be an integer >= 2"),
        (lambda y, p: recalibration(y, p, n_draws=10), TypeError, "draws"),
        (lambda y, p: recalibration(y, p, floor=2), ValueError, "`floor`"),
        (lambda y, p: recalibration(y, p, floor=1e-16), ValueError, "`floor` must be at least 1e-15"),
        (lambda y, p: recalibration(y, p, prior_sd=(1, 1)), TypeError, "Here it is called 'prior'"),
        (lambda y, p: recalibration(y[:4], 0.5 + p[:4] / 1000), ValueError, r"within one cell around 0.5.*"),
        (lambda y, p: recalibration(0 * y, p, prior=(1e5, 1e4)), ValueError, "reaches as far as the prior"),
        (lambda y, p: recalibration(y, p, rng="x"), TypeError, "`rng`"),
        (lambda y, p: recalibration_counts(bc.BinnedCounts.empty()), TypeError, "`counts` must be LogitCounts"),
        (lambda y, p: recalibration_counts({}), ValueError, "`counts` is an empty mapping"),
        (lambda y, p: recalibration_counts({"a": 3}), TypeError, r"`counts\['a'\]` must be LogitCounts"),
        (lambda y, p: recalibration(y, p).exact_interval("in_the_large"), ValueError, "has draws"),
        (lambda y, p: recalibration(y, p).exact_interval("slop"), ValueError, "Did you mean 'slope'"),
    ],
)
def test_what_is_refused(rows, call, error, message):
    with pytest.raises(error, match=message):
        call(rows.outcome, rows.confidence)


def test_a_group_without_a_slope_is_named(rows):
    by = np.where(np.arange(3000) < 2990, "many", "few")
    p = np.where(by == "few", 0.3, rows.confidence)
    with pytest.raises(ValueError, match="group 'few': `y_prob` must have at least two distinct values"):
        recalibration(rows.outcome, p, by=by)
