"""recalibration: intervals, draws, counts, weights, floor, rows at 0 and 1, and what it refuses."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import LogitCounts, recalibration, recalibration_counts


def test_the_truth_is_in_the_intervals(rc):
    low, high = rc.exact_interval("slope")
    assert low < 0.5 < high < 0.6
    low, high = rc.exact_interval("intercept")
    assert low < 0 < high
    low, high = rc.in_the_large.interval(0.95)
    assert low < 0 < high
    assert rc.log_bayes_factor < -20


def test_draws_are_joint_and_reproducible(too_extreme, rc):
    same = recalibration(too_extreme.outcome, too_extreme.confidence, rng=1)
    np.testing.assert_array_equal(same.slope.values, rc.slope.values)
    np.testing.assert_array_equal(same.in_the_large.values, rc.in_the_large.values)
    assert len(rc.slope) == 4000
    assert (rc.intercept + rc.slope).mean() == pytest.approx(rc.intercept.mean() + rc.slope.mean())
    assert 0 <= float(rc.slope < 0.5) <= 1
    other = recalibration(too_extreme.outcome, too_extreme.confidence, rng=2)
    assert other.exact_interval("slope") == rc.exact_interval("slope")
    with pytest.raises(TypeError, match="only if they come from the same evaluation"):
        rc.slope - other.slope


def test_labels_and_logits(too_extreme, rc):
    labels = np.where(too_extreme.outcome, "yes", "no")
    logits = np.log(too_extreme.confidence) - np.log1p(-too_extreme.confidence)
    found = recalibration(labels, logits, classes=("no", "yes"), logits=True, rng=1)
    assert found.exact_interval("slope") == pytest.approx(rc.exact_interval("slope"), abs=1e-6)


def test_counts_give_the_same(too_extreme, rc):
    counts = LogitCounts.from_arrays(too_extreme.outcome, too_extreme.confidence)
    again = recalibration_counts(counts, rng=1)
    np.testing.assert_array_equal(again.slope.values, rc.slope.values)


def test_weights_of_equal_size_are_no_weights(too_extreme, rc):
    weighted = recalibration(too_extreme.outcome, too_extreme.confidence, weights=np.full(3000, 7.0), rng=1)
    assert weighted.exact_interval("slope") == pytest.approx(rc.exact_interval("slope"), abs=1e-9)
    rng = np.random.default_rng(1)
    unequal = recalibration(too_extreme.outcome, too_extreme.confidence, weights=rng.exponential(size=3000), rng=1)
    assert "weighted, effective N = 15" in unequal.spec or "weighted, effective N = 14" in unequal.spec
    assert unequal.posterior.moments("slope")[1] > 1.2 * rc.posterior.moments("slope")[1]


def test_agreeing_rows_are_left_out_and_counted(too_extreme, rc):
    y = np.concatenate([too_extreme.outcome, [0, 1]])
    p = np.concatenate([too_extreme.confidence, [0.0, 1.0]])
    found = recalibration(y, p, rng=1)
    assert found.exact_interval("slope") == rc.exact_interval("slope")
    assert "2 of 3002 rows have a probability of exactly 0 or 1, and the outcome agrees" in str(found)


def test_agreeing_rows_are_impossible_at_negative_slopes(too_extreme):
    """A row with probability 0 and outcome 0 has the likelihood 1 - expit(a - b inf): 1 if b > 0, and 0 if b < 0."""
    y, p = 1 - too_extreme.outcome, too_extreme.confidence
    with pytest.raises(ValueError, match=r"1 of 3001 rows are at 0 or 1 and agree.*impossible at slopes below 0"):
        recalibration(np.append(y, 0), np.append(p, 0.0))
    falls = recalibration(y, p, rng=1)  # without such rows, a negative slope is an answer
    mean = falls.recalibrated([0.0, 1e-12, 1.0])[0]
    assert mean == pytest.approx([1, 1, 0], abs=1e-3)


def test_contradicted_rows_need_a_floor(too_extreme):
    """The floor matters and is part of the specification."""
    y = np.concatenate([too_extreme.outcome, [1]])
    p = np.concatenate([too_extreme.confidence, [0.0]])
    with pytest.raises(
        ValueError, match=r"exactly 0 .* outcome 1,.*1 of 3001 values is, first at index 3000: 0.*Pass `f"
    ) as e:
        recalibration(y, p)
    assert e.value.finding.first == (3000,)
    weights = np.append(np.full(3000, 2.0), 1.0)
    with pytest.raises(bc.InvalidRows, match="first at index 3000"):
        recalibration(y, p, weights=weights)
    weights[-1] = 0  # a row that does not count contradicts nothing
    expected = recalibration(too_extreme.outcome, too_extreme.confidence).exact_interval("slope")
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


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda y, p: recalibration(y, np.full(len(y), 0.3)), ValueError, "at least two distinct values"),
        (lambda y, p: recalibration(y, p[:-1]), ValueError, "`y_true`"),
        (lambda y, p: recalibration(np.where(y, "yes", "no"), p), TypeError, "`y_true`"),
        (lambda y, p: recalibration(y, np.stack([1 - p, p], axis=1)), ValueError, "y_prob"),
        (lambda y, p: recalibration(y, {"a": p}), TypeError, r"the keys \['a'\]\. Pass one classifier at a time"),
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
def test_what_is_refused(too_extreme, call, error, message):
    with pytest.raises(error, match=message):
        call(too_extreme.outcome, too_extreme.confidence)


def test_a_group_without_a_slope_is_named(too_extreme):
    by = np.where(np.arange(3000) < 2990, "many", "few")
    p = np.where(by == "few", 0.3, too_extreme.confidence)
    with pytest.raises(ValueError, match="group 'few': `y_prob` must have at least two distinct values"):
        recalibration(too_extreme.outcome, p, by=by)
