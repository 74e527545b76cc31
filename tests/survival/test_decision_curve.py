"""Decision curves at a horizon: product-limit values, the posterior in strata, and equality without censoring."""

import numpy as np
import pytest
from censored_rows import simulated, weekly
from reference_rows import reference_rows

import bayescal as bc
from bayescal.decisions.posterior import ScoreCellsPosterior
from bayescal.survival.decision_curve import HorizonThresholds
from bayescal.survival.rows import SurvivalRows

AT = np.array([0.1, 0.2, 0.4, 0.6])
#: Net benefits that dcurves 1.1.7 computes for `reference_rows` at these thresholds and the horizon 0.9.
DCURVES_MODEL = [0.26451582501410686, 0.2139758776825899, 0.11608491120443053, 0.08169663214882887]
DCURVES_ALL = [0.2669653218349874, 0.17533598706436082, -0.09955201724751894, -0.6493280258712782]


def test_observed_values_are_those_of_dcurves():
    """The call is `dca(data=..., outcome="e", modelnames=["risk"], thresholds=..., time=0.9, time_to_outcome_col="t")`.

    Its columns hold the times, the events and the risks of the rows.
    """
    time, event, risk = reference_rows()
    curve = bc.survival.net_benefit(time, event, risk, AT, horizon=0.9, draws=100, rng=1)
    assert curve.observed["model"] == pytest.approx(DCURVES_MODEL, rel=1e-9)
    assert curve.observed["treat all"] == pytest.approx(DCURVES_ALL, rel=1e-9)


def test_without_censoring_the_posterior_is_that_of_known_outcomes():
    """Moments have closed forms; means of draws have six standard errors."""
    _, _, risk = simulated(500)
    died = (np.log(np.random.default_rng(5).random(500)) / np.log1p(-risk)) ** 0.8
    curve = bc.survival.net_benefit(died, np.ones(500, int), risk, [0, *AT], horizon=1, rng=1)
    known = bc.decisions.net_benefit(died <= 1, risk, [0, *AT], rng=1)
    for mine, theirs in zip(curve.moments["model"], known.moments["model"], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-9)
    for of_curve, of_known in ((curve.table(), known.table()), (curve.treat_all_table(), known.treat_all_table())):
        for row, same in zip(of_curve, of_known, strict=True):
            assert [row[k] for k in ("mean", "sd", "observed")] == pytest.approx(
                [same[k] for k in ("mean", "sd", "observed")], rel=1e-9
            )


@pytest.mark.parametrize("cause", [1, 2])
def test_draws_have_the_moments_of_the_closed_form(cause):
    """With censoring and competing causes: mean within six standard errors, deviation within six of its own."""
    time, event, risk = weekly(800, causes=2)
    curve = bc.survival.net_benefit(time, event, risk, AT, horizon=1, cause=cause, rng=2, draws=4000)
    mean, sd = curve.moments["model"]
    drawn = curve.net_benefit["model"]
    assert drawn.mean() == pytest.approx(mean, abs=6 * sd.max() / np.sqrt(4000))
    assert drawn.sd() == pytest.approx(sd, rel=6 / np.sqrt(2 * 4000))
    every = curve.treat_all_table()
    assert curve.treat_all.mean() == pytest.approx([r["mean"] for r in every], abs=6 * every[-1]["sd"] / 60)
    assert curve.observed["model"] == pytest.approx(mean, abs=0.03)


def test_the_moments_of_strata_by_enumeration():
    """Two strata and the prior: mean and variance of sums of M_s X_s from moments of each, term by term."""
    time, event, risk = simulated(300, rate=0.8)
    rows = SurvivalRows.read(time, event, risk)
    counts = HorizonThresholds.of_rows({"model": rows}, 0.8, AT)
    posterior = ScoreCellsPosterior(counts, 3.0, False)
    gain = np.stack([-AT / (1 - AT), np.ones(len(AT))])
    parts, total = posterior._strata(0)
    means, seconds = [], []
    for part in parts:
        share = part / part.sum()
        values = np.where(np.arange(len(AT) + 1)[:, None] > np.arange(len(AT)), gain[:, None], 0.0)
        first = (share[..., None] * values).sum(axis=(0, 1))
        variance = ((share[..., None] * values**2).sum(axis=(0, 1)) - first**2) / (part.sum() + 1)
        means.append(first)
        seconds.append(variance + first**2)
    a, whole = total, total.sum()
    mean = sum(x * m for x, m in zip(a, means, strict=True)) / whole
    second = sum(
        (a[i] * (a[i] + 1) * seconds[i] if i == j else a[i] * a[j] * means[i] * means[j]) / (whole * (whole + 1))
        for i in range(len(a))
        for j in range(len(a))
    )
    got_mean, got_sd = posterior.mean_and_sd(gain)
    assert got_mean[0] == pytest.approx(mean, rel=1e-9)
    assert got_sd[0] == pytest.approx(np.sqrt(second - mean**2), rel=1e-9)


def test_observed_values_are_missing_where_rows_are_not_followed():
    """The only rows with a risk of 0.9 and more are censored before the horizon."""
    time, event, risk = simulated(300, rate=0.3)
    time, event, risk = (
        np.append(time, [0.1, 0.2]),
        np.append(event, [0, 0]),
        np.append(np.minimum(risk, 0.8), [0.9, 0.9]),
    )
    curve = bc.survival.net_benefit(time, event, risk, [0.5, 0.85, 0.95], horizon=0.5, draws=100, rng=1)
    missing = np.isnan(curve.observed["model"])
    assert missing.tolist() == [False, True, True]
    assert not np.isnan(curve.net_benefit["model"].values).any()
    assert '"observed": null' in curve.to_json()


def test_two_models_weights_and_words():
    time, event, risk = simulated(600)
    both = bc.survival.net_benefit(
        time, event, {"a": risk, "b": risk.copy()}, AT, horizon=0.8, weights=np.full(600, 2.0), harm={"b": 0.01},
        draws=200, rng=1,
    )  # fmt: skip
    # the rows of both are the same; in cells of the prior, models may differ
    assert both.difference("a", "b").mean() == pytest.approx(np.full(4, 0.01), abs=0.002)
    alone = bc.survival.net_benefit(time, event, risk, AT, horizon=0.8, draws=200, rng=1)
    assert both.moments["a"][1] == pytest.approx(alone.moments["model"][1], rel=1e-9)
    assert both.spec.endswith(f"horizon 0.8, {int(((time <= 0.8) & event).sum())} events by the horizon, "
                              f"{int(((time < 0.8) & (event == 0)).sum())} censored before")  # fmt: skip
    assert "P(useful)" in str(both)
    with pytest.raises(TypeError, match="cannot be added"):
        both.counts + both.counts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 1e9}, "must not exceed the last time"),
        ({"horizon": 0.5, "thresholds": 1.0}, "thresholds"),
        ({"horizon": 0.5, "risk": {"a": [2.0] * 100}}, "model 'a'"),
    ],
)
def test_refusals(options, message):
    time, event, risk = simulated(100)
    with pytest.raises(ValueError, match=message):
        bc.survival.net_benefit(**{"time": time, "event": event, "risk": risk, "draws": 100} | options)


def test_a_horizon_that_only_rows_without_weight_reach_is_refused():
    time, event, risk = simulated(100)
    with pytest.raises(ValueError, match="after the last time of the rows of positive weight"):
        bc.survival.net_benefit(
            np.append(time, 99.0), np.append(event, 0), np.append(risk, 0.5), horizon=50, weights=[1.0] * 100 + [0.0]
        )


def test_counts_at_a_horizon_keep_their_thresholds():
    """Merged cells would lose the strata, and with them the effective numbers of rows."""
    rng = np.random.default_rng(1)
    risk, time = rng.random(300), rng.exponential(1.0, 300)
    curve = bc.survival.net_benefit(time, rng.random(300) < 0.6, risk, [0.2, 0.5, 0.7], horizon=0.8, draws=50, rng=1)
    with pytest.raises(TypeError, match="keep their thresholds"):
        curve.counts.at([0.2, 0.5])
