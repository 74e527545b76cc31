"""evaluate_survival: equal to evaluate without censoring, errors, horizons, groups, and what is not followed."""

import warnings

import numpy as np
import pytest
from censored_rows import simulated

import bayescal as bc
from bayescal.estimands.registry import registered
from bayescal.survival.analysis import NotFollowedWarning

LEAST = 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
def test_without_censoring_every_number_equals_that_of_evaluate(model, binning, weighted):
    time, event, risk = simulated(600)
    event[(event == 0) & (time < 0.5)] = 2  # competing events in place of censoring
    weights = np.random.default_rng(2).gamma(2.0, 1.0, 600) if weighted else None
    options = {"bins": 8, "binning": binning, "model": model, "weights": weights, "draws": 500, "rng": 7}
    survival = bc.evaluate_survival(time, event, risk, horizon=0.5, **options)
    plain = bc.evaluate((event == 1) & (time <= 0.5), risk, **options)
    for name, record in registered().items():
        if hasattr(plain, name):
            drawn = survival.draws(name).values
            assert np.array_equal(drawn, plain.draws(name).values), name
            if record.coordinate is None:
                assert survival.plug_in_of(name) == plain.plug_in_of(name), name
    assert np.array_equal(survival.null.values, plain.null.values)
    assert np.array_equal(survival.dirichlet_ece.values, plain.dirichlet_ece.values)
    if model == "shrinkage":
        assert survival.p_calibrated == plain.p_calibrated
        assert survival.sub_models == plain.sub_models
    assert survival.table()[:-1] == plain.table()


@pytest.mark.parametrize("weighted", [False, True])
def test_without_censoring_in_groups_too(weighted):
    time, event, risk = simulated(600)
    event[(event == 0) & (time < 0.5)] = 2
    site = np.arange(600) % 3
    options = {"by": site, "rng": 1, "draws": 200, "bins": 10}
    options["weights"] = np.random.default_rng(2).gamma(2.0, 1.0, 600) if weighted else None
    survival = bc.evaluate_survival(time, event, risk, horizon=0.5, **options)
    plain = bc.evaluate((event == 1) & (time <= 0.5), risk, **options)
    assert survival.table() == plain.table()
    assert isinstance(survival[1], bc.SurvivalEvaluation)
    assert isinstance(survival.overall, bc.SurvivalEvaluation)


def test_a_row_censored_at_the_horizon_is_known_to_be_event_free():
    """A deliberate difference to other programs, which count it as unknown; see the reference tests."""
    time, event, risk = simulated(300)
    time, event = np.minimum(time, 0.5), np.where(time < 0.5, 1, 0)
    ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=100)
    plain = bc.evaluate(event == 1, risk, bins=10, rng=1, draws=100)
    assert np.array_equal(ev.ece.values, plain.ece.values)


def test_bins_that_are_not_followed_are_printed_warned_of_and_refused():
    time, event, risk = simulated(2000)
    top = risk >= 0.6
    assert 0.05 < top.mean() < 0.5
    time[top], event[top] = np.minimum(time[top], 0.4), np.where(time[top] < 0.4, event[top], 0)
    with pytest.warns(NotFollowedWarning, match=r"% of the rows are in bins that end with a censored row"):
        ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=500)
    assert ev.not_followed == pytest.approx(top.mean())
    assert "Not followed: " in str(ev)
    assert any("Intervals may contain the truth less often than stated" in text for text in ev.remarks)
    assert ev.counts.losses is None
    assert not hasattr(ev, "brier_score")
    assert not hasattr(ev, "auc")
    with pytest.raises(ValueError, match=r"were not followed to the horizon.*Brier score has no valid interval"):
        ev.draws("brier_score")
    drawn = ev.bin_draws.accuracy
    width = np.subtract(*np.quantile(drawn, [0.975, 0.025], axis=0))
    assert width[6:].min() > 1.5 * width[3:6].max()
    most = risk >= 0.15
    time[most], event[most] = np.minimum(time[most], 0.4), np.where(time[most] < 0.4, event[most], 0)
    with pytest.raises(ValueError, match=r"`horizon` 0.5 is too late: 9 of 10 bins|`horizon` 0.5 is too late"):
        bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1)


def test_a_few_rows_not_followed_give_no_warning_but_a_remark():
    time, event, risk = simulated(2000)
    top = risk >= 0.85
    assert 0 < top.mean() < 0.05
    time[top], event[top] = np.minimum(time[top], 0.4), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=500)
    assert "Not followed: " in str(ev)
    assert not any("Intervals may contain" in text for text in ev.remarks)
    assert ev.brier_score.mean() > 0


def test_scores_of_censored_rows():
    """Against all outcomes of the same rows before censoring: within four standard errors of the difference."""
    rng = np.random.default_rng(3)
    risk = rng.beta(1.2, 2.4, 20_000)
    died = (np.log(rng.random(20_000)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1.5, 20_000) * np.exp(-2 * (risk - 0.3))
    whole = bc.evaluate(died <= 0.5, risk, bins=10, rng=1)
    ev = bc.evaluate_survival(np.minimum(died, lost), died <= lost, risk, horizon=0.5, rng=1)
    assert ev.counts.n_censored.sum() > 5000
    for name in ("brier_score", "auc"):
        assert ev.plug_in_of(name) == pytest.approx(whole.plug_in_of(name), abs=4 * ev.draws(name).sd()), name
        assert ev.draws(name).sd() > whole.draws(name).sd()
    with pytest.raises(ValueError, match=r"log score is not available: .* rows are censored before the horizon"):
        ev.draws("log_score")


def test_results_do_not_depend_on_the_order_of_rows():
    time, event, risk = simulated(800)
    order = np.random.default_rng(1).permutation(800)
    one = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=200)
    other = bc.evaluate_survival(time[order], event[order], risk[order], horizon=0.5, rng=1, draws=200)
    assert one.ece.values == pytest.approx(other.ece.values, abs=1e-9)


def test_the_last_time_is_the_latest_horizon():
    time, event, risk = simulated(100)
    with pytest.raises(ValueError, match=r"`horizon` must not exceed the last time"):
        bc.evaluate_survival(time, event, risk, horizon=time.max() * 1.001)
    with pytest.raises(TypeError, match=r"missing .* 'horizon'.* Call it as `survival\.evaluate\("):
        bc.evaluate_survival(time, event, risk)


@pytest.mark.parametrize("horizon", [0, -1.0, np.nan, np.inf])
def test_horizons_are_positive(horizon):
    with pytest.raises(ValueError, match="`horizon` must be finite and > 0"):
        bc.evaluate_survival([1.0, 2.0], [1, 0], [0.2, 0.3], horizon=horizon)


def test_errors_of_horizons_and_groups():
    time, event, risk = simulated(100)
    with pytest.raises(ValueError, match="one column per horizon"):
        bc.evaluate_survival(time, event, risk, horizon=[0.1, 0.2])
    both = np.stack([risk, risk], axis=1)
    with pytest.raises(ValueError, match="`horizon` must be strictly increasing"):
        bc.evaluate_survival(time, event, both, horizon=[0.2, 0.1])
    with pytest.raises(ValueError, match="`by` needs a single `horizon`"):
        bc.evaluate_survival(time, event, both, horizon=[0.1, 0.2], by=risk > 0.5)
    with pytest.raises(ValueError, match="`horizon` is empty"):
        bc.evaluate_survival(time, event, both[:, :0], horizon=[])
    with pytest.raises(TypeError, match="takes no 'alpha'"):
        bc.evaluate_survival(time, event, risk, horizon=0.1, alpha=1)
    with pytest.raises(TypeError, match="`horizon` must be a number"):
        bc.evaluate_survival(time, event, risk, horizon="5")


def test_codes_of_r_are_suspected():
    time, event, risk = simulated(300)
    with pytest.warns(UserWarning, match=r"`event` holds 1 and 2 and no 0.* pass `event - 1`"):
        bc.evaluate_survival(time, event + 1, risk, horizon=0.5, rng=1, draws=100)


def test_risks_that_fall_with_the_horizon_are_refused():
    time, event, risk = simulated(100)
    with pytest.raises(ValueError, match=r"smaller at a later horizon .*; 100 of 100 values are.*survival prob"):
        bc.evaluate_survival(time, event, np.stack([risk, risk / 2], axis=1), horizon=[0.2, 0.5])
    few = np.stack([risk, np.where(np.arange(100) < 40, risk / 2, risk)], axis=1)  # models of their own may cross
    assert len(bc.evaluate_survival(time, event, few, horizon=[0.2, 0.5], rng=1, draws=100)) == 2


def test_more_errors_of_arguments():
    time, event, risk = simulated(100)
    with pytest.raises(TypeError, match=r"`horizon` must be a number or a sequence of numbers, not shape \(1, 2\)"):
        bc.evaluate_survival(time, event, np.stack([risk, risk], axis=1), horizon=[[0.2, 0.5]])


def test_groups_that_are_not_followed():
    """One warning about all rows and one per group; an error names the group."""
    time, event, risk = simulated(2000)
    small = np.arange(2000) % 10 == 0
    event[small & (time >= 0.4)] = 0
    time[small] = np.minimum(time[small], 0.4)
    site = np.where(small, "small", "large")
    with pytest.raises(ValueError, match=r"group 'small': `horizon` 0.5 is too late: .* with 100 % of the rows"):
        bc.evaluate_survival(time, event, risk, horizon=0.5, by=site, rng=1, draws=100)
    time, event, risk = simulated(2000)
    top = risk >= 0.6
    event[top & (time >= 0.4)] = 0
    time[top] = np.minimum(time[top], 0.4)
    with pytest.warns(NotFollowedWarning) as shown:
        bc.evaluate_survival(time, event, risk, horizon=0.5, by=np.arange(2000) % 2, rng=1, draws=100)
    assert len(shown) == 3
