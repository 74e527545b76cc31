"""evaluate_survival: equal to evaluate without censoring, errors, horizons, groups, and what is not followed."""

import warnings

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.registry import registered
from bayescal.survival.analysis import NotFollowedWarning

LEAST = 1e-9


def simulated(n=1000, seed=1, rate=1.0):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    died = (np.log(rng.random(n)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1 / rate, n)
    return np.minimum(died, lost), (died <= lost).astype(int), risk


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
        if record.available(plain.counts):
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


def test_the_ratio_of_observed_to_expected_events():
    """Means and variances of the Beta and Dirichlet distributions give those of the ratio, without simulation."""
    time, event, risk = simulated(4000, rate=0.7)
    ev = bc.evaluate_survival(time, event, risk, horizon=1, rng=1, draws=20_000)
    counts = ev.counts
    used = counts.occupied
    n, k, mean = counts.effective_n[used], counts.effective_k[used], counts.mean_confidence[used]
    a, b = k + mean, n - k + 1 - mean
    theta, variance = a / (a + b), a * b / (a + b) ** 2 / (a + b + 1)
    mass = ev.posterior.mass_parameters[used]
    mass /= mass.sum()
    expected = mass @ mean
    ratio = ev.observed_expected
    standard_error = np.sqrt(mass**2 @ variance) / expected / np.sqrt(20_000)
    assert ratio.mean() == pytest.approx(mass @ theta / expected, abs=6 * standard_error)
    # masses vary little, and their effect on numerator and denominator nearly cancels in calibrated data
    assert ratio.sd() == pytest.approx(np.sqrt(mass**2 @ variance) / expected, rel=0.05)
    # joint with the other draws: a positive signed error goes with a ratio above 1
    assert np.corrcoef(ratio.values, ev.signed_error.values)[0, 1] > 0.5
    assert (ratio * ev.ece).mean() > 0


def test_several_horizons():
    time, event, risk = simulated(1500)
    at = [0.3, 0.6, 1.0]
    risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)
    every = bc.evaluate_survival(time, event, risks, horizon=at, rng=1, draws=300)
    assert list(every) == at == list(every.horizons)
    alone = bc.evaluate_survival(time, event, risks[:, 1], horizon=0.6, rng=every.seeds[0.6], draws=300)
    assert np.array_equal(alone.ece.values, every[0.6].ece.values)
    assert [row["n_events"] for row in every.table()] == [int(each.counts.k.sum()) for each in every.values()]
    assert "Of 3 horizons" in str(every)
    assert every.to_frame().index.tolist() == at
    with pytest.raises(KeyError, match=r"no horizon 0\.5"):
        every[0.5]
    ratio = every.table(estimand="observed_expected")[0]
    assert ratio["mean"] == every[0.3].observed_expected.mean()


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


def test_documents_trees_and_pages(tmp_path):
    time, event, risk = simulated(500)
    ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=400)
    tree = ev.to_datatree()
    assert tree.attrs["horizon"] == 0.5
    assert tree["posterior"]["observed_expected"].size == 400
    assert tree["observed_data"]["n_censored"].values.sum() == ev.counts.n_censored.sum()
    assert '"observed_expected"' in ev.to_json()
    assert ev.to_html(tmp_path / "a.html").stat().st_size > 1000
    assert "observed / expected" in str(ev)
    assert "observed / expected" in ev.to_latex()
    assert bc.plot_reliability(ev).get_ylabel() == "event rate"


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


def test_without_expected_events_there_is_no_ratio():
    time, event, _ = simulated(100)
    ev = bc.evaluate_survival(time, event, np.zeros(100), horizon=0.5, rng=1, draws=100)
    assert "observed / expected" not in str(ev)
    assert "observed_expected" not in ev.to_json()
    assert "observed_expected" not in ev.to_datatree()["posterior"]
    with pytest.raises(ValueError, match="all stated risks are 0: no event is expected"):
        ev.observed_expected.mean()
    both = bc.evaluate_survival(time, event, np.zeros((100, 2)), horizon=[0.2, 0.5], rng=1, draws=100)
    assert len(str(both)) > 100


def test_plug_in_values_and_those_of_a_calibrated_classifier_leave_out_bins_that_are_not_followed():
    """Both describe the same bins: those of a data set without the rows of the other bins."""
    time, event, risk = simulated(2000)
    top = risk >= 0.8
    event[top & (time >= 0.4)] = 0
    time[top] = np.minimum(time[top], 0.4)
    ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=4000)
    assert 0 < ev.not_followed < 0.05
    rest = bc.evaluate_survival(time[~top], event[~top], risk[~top], horizon=0.5, rng=1, draws=4000)
    for name in ("ece", "l2_error", "e90_bins", "signed_error"):
        assert ev.plug_in_of(name) == pytest.approx(rest.plug_in_of(name), rel=1e-12), name
    assert ev.null.mean() == pytest.approx(rest.null.mean(), abs=6 * rest.null.sd() / np.sqrt(2000))
    by_name = {row["quantity"]: row["plug_in"] for row in ev.table()}
    of_rest = {row["quantity"]: row["plug_in"] for row in rest.table()}
    assert by_name["observed_expected"] == pytest.approx(of_rest["observed_expected"], rel=1e-12)
    assert "Plug-in values leave them out" in str(ev).replace("\n", " ")


def test_survival_probabilities_and_a_horizon_without_events_are_suspected():
    time, event, risk = simulated(400)
    reversed_risks = bc.evaluate_survival(time, event, 1 - risk, horizon=0.5, rng=1, draws=100)
    assert any("Are these survival probabilities? Then pass 1 minus them." in text for text in reversed_risks.remarks)
    early = bc.evaluate_survival(time + 1, event, risk, horizon=0.5, rng=1, draws=100)
    assert any(f"by the horizon 0.5, and {risk.sum():.0f} are expected" in text for text in early.remarks)
    for ev in (
        bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=100),
        bc.evaluate_survival(time, event, np.full(400, 0.4), horizon=0.5, rng=1, draws=100),
        bc.evaluate_survival(time + 1, event, risk / 50, horizon=0.5, rng=1, draws=100),  # fewer than 8 are expected
    ):
        assert not any("survival probabilities" in text or "No event" in text for text in ev.remarks)


def test_the_trend_is_that_of_cochran_and_armitage():
    """40 events in 60 rows and 10 in 40: the test of two proportions, with a share of 1/2 in both together."""
    risk = np.repeat([0.2, 0.8], [60, 40])
    time = np.where(np.concatenate([np.arange(60) < 40, np.arange(40) < 10]), 1.0, 3.0)
    ev = bc.evaluate_survival(time, time < 2, risk, horizon=2, bins=2, rng=1, draws=100)
    z = (1 / 4 - 2 / 3) / np.sqrt(1 / 4 * (1 / 60 + 1 / 40))
    assert any(f"z = {z:.2g})" in text for text in ev.remarks)


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
