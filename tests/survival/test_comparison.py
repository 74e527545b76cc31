"""compare_survival: equal to compare without censoring, its spread that of a bootstrap, its words and errors."""

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.analyses.compare import SameRowsWarning
from bayescal.estimands.registry import registered
from bayescal.survival.analysis import NotFollowedWarning
from bayescal.survival.comparison import PairedHorizons


def simulated(n=1500, seed=1):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    died = (np.log(rng.random(n)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1.2, n)
    noisy = 1 / (1 + np.exp(-np.log(risk / (1 - risk)) - 0.5 * rng.standard_normal(n)))
    return np.minimum(died, lost), (died <= lost).astype(int), {"A": risk, "B": noisy, "C": risk**0.8}


@pytest.mark.parametrize("weighted", [False, True])
def test_without_censoring_every_number_equals_that_of_compare(weighted):
    time, event, risks = simulated(500)
    event = np.where(event == 0, 3, event)
    weights = np.random.default_rng(3).gamma(2.0, 1.0, 500) if weighted else None
    options = {"bins": 8, "weights": weights, "draws": 400, "rng": 5, "rope": 0.02}
    survival = bc.compare_survival(time, event, risks, horizon=0.6, **options)
    plain = bc.compare((event == 1) & (time <= 0.6), risks, **options)
    compared = [name for name, each in registered().items() if each.coordinate is None and each.better is not None]
    compared = [
        name for name in compared if all(registered()[name].available(e.counts) for e in map(plain.__getitem__, plain))
    ]
    assert {"ece", "brier_score", "log_score", "auc"} <= set(compared)
    for name in compared:
        assert np.array_equal(survival.draws(name).values, plain.draws(name).values), name
    assert survival.table() == plain.table()


def test_margins_are_those_of_each_model_alone():
    time, event, risks = simulated(800)
    found = bc.compare_survival(time, event, risks, horizon=1, rng=5, draws=300)
    assert isinstance(found, bc.SurvivalComparison)
    assert all(isinstance(pair, PairedHorizons) for pair in found.pairs.values())
    for i, name in enumerate(risks):
        assert isinstance(found[name], bc.SurvivalEvaluation)
        own = found[name]
        assert np.array_equal(np.sort(found.draws().values[:, i]), np.sort(own.ece.values))
        ratio = found.observed_expected.values[:, i]
        np.testing.assert_allclose(
            np.sort(ratio) / np.sort(own.observed_expected.values), ratio.mean() / own.observed_expected.mean()
        )
    assert found.horizon == 1.0


def test_ratios_have_common_observed_events():
    """The mean ratio of each model, times its mean risk, is the same number of events, also in bins that end early."""
    time, event, risks = simulated(800)
    ends = (risks["A"] > 0.6) & (time > 0.3)  # nobody with a high risk is followed to the horizon
    time, event = np.where(ends, 0.3, time), np.where(ends, 0, event)
    with pytest.warns(NotFollowedWarning):
        found = bc.compare_survival(time, event, risks, horizon=1, rng=5, draws=300)
    events = np.mean([np.nansum(found[name].counts.share * found[name].counts.accuracy) for name in risks])
    means = found.observed_expected.values.mean(axis=0)
    np.testing.assert_allclose(means * [risk.mean() for risk in risks.values()], events)


def test_no_events_keep_the_uncertainty_of_ratios():
    rng = np.random.default_rng(1)
    time, risk = rng.uniform(0, 2, 200), rng.uniform(0, 0.02, 200)
    found = bc.survival.compare(time, np.zeros(200), {"a": risk, "b": risk / 2}, horizon=1, draws=400, rng=1)
    np.testing.assert_array_equal(np.sort(found.observed_expected.values[:, 0]), np.sort(found["a"].observed_expected))


def test_clusters_of_one_row_change_nothing_and_copies_count_once():
    """Sums over clusters of one row are those over rows; four copies of each row have nearly the intervals of one."""
    time, event, risks = simulated(600)
    plain = bc.survival.compare(time, event, risks, horizon=1, rng=5, draws=1000)
    single = bc.survival.compare(time, event, risks, horizon=1, cluster=np.arange(600), rng=5, draws=1000)
    copied = [np.repeat(each, 4) for each in (time, event, *risks.values())]
    rows = copied[0], copied[1], dict(zip(risks, copied[2:], strict=True))
    copies = bc.survival.compare(*rows, horizon=1, cluster=np.repeat(np.arange(600), 4), rng=5, draws=1000)
    ignored = bc.survival.compare(*rows, horizon=1, rng=5, draws=1000)
    for name in ("ece", "brier_score", "auc"):
        one, same, four, narrow = (
            of.difference("A", "C", estimand=name).sd() for of in (plain, single, copies, ignored)
        )
        assert same == pytest.approx(one, rel=0.1), name
        assert four == pytest.approx(one, rel=0.15), name
        assert narrow < 0.65 * one, name
    one, same, four, narrow = (
        of.observed_expected_difference("A", "C").sd() for of in (plain, single, copies, ignored)
    )
    assert (same, four) == (pytest.approx(one, rel=0.1), pytest.approx(one, rel=0.1))
    assert narrow < 0.65 * one


def test_without_censoring_clusters_are_those_of_compare():
    time, event, risks = simulated(500)
    event, cluster = np.where(event == 0, 3, event), np.arange(500) // 5
    options = {"bins": 8, "cluster": cluster, "draws": 400, "rng": 5}
    survival = bc.survival.compare(time, event, risks, horizon=0.6, **options)
    plain = bc.compare((event == 1) & (time <= 0.6), risks, **options)
    for name in ("ece", "brier_score", "auc"):
        assert np.array_equal(survival.draws(name).values, plain.draws(name).values), name
    with pytest.raises(ValueError, match="at least two clusters"):
        bc.survival.compare(time, event, risks, horizon=0.6, cluster=np.zeros(500))


@pytest.mark.measuring
def test_the_spread_of_differences_is_that_of_a_bootstrap():
    """300 resamples of rows give the standard deviation to 4 %; three of these standard errors are allowed.

    The difference of two ECEs is not compared: the bootstrap is biased where gaps are near 0.
    """
    time, event, risks = simulated(1500)
    models = {name: risks[name] for name in ("A", "B")}
    found = bc.compare_survival(time, event, models, horizon=1, rng=5, draws=20_000)
    rng, resampled = np.random.default_rng(7), []
    for _ in range(300):
        rows = rng.integers(1500, size=1500)
        again = bc.compare_survival(
            time[rows],
            event[rows],
            {n: r[rows] for n, r in models.items()},
            horizon=1,
            draws=2,
            model="dirichlet",
            rng=1,
        )
        table = {name: [again[m].plug_in_of(name) for m in again] for name in ("brier_score", "auc")}
        table["ratio"] = [again[m].table()[-1]["plug_in"] for m in again]
        resampled.append([a - b for a, b in table.values()])
    by_bootstrap = np.std(resampled, axis=0)
    ours = [found.difference(estimand=name).sd() for name in ("brier_score", "auc")]
    ours.append(found.observed_expected_difference().sd())
    assert ours == pytest.approx(by_bootstrap, rel=0.12)


def test_two_names_of_one_model_differ_by_exactly_0():
    time, event, risks = simulated(600)
    both = bc.compare_survival(time, event, {"a": risks["B"], "b": risks["B"]}, horizon=1, rng=1, draws=300)
    for name in ("ece", "signed_error", "brier_score", "auc"):
        assert not both.difference(estimand=name).values.any(), name
    assert not both.observed_expected_difference().values.any()
    assert "a and b have the same ECE in every draw" in str(both)


def test_it_prints_horizon_and_ratios():
    time, event, risks = simulated(600)
    found = bc.compare_survival(time, event, pd.DataFrame(risks), horizon=1, rng=1, draws=300)
    text, details = (" ".join(str(each).split()) for each in (found, found.details()))
    assert "3 models on the same rows: event ECE, 10 equal-width bins [a, b), N = 600" in details
    assert "horizon 1, " in details
    assert "Observed / expected: A: " in text
    assert "first model is better" in details


def test_errors_name_the_model():
    time, event, risks = simulated(100)
    bad = risks | {"B": np.where(np.arange(100) == 7, 1.5, risks["B"])}
    with pytest.raises(
        ValueError, match=r"model 'B': `risk` must lie in \[0, 1\]; 1 of 100 values does not, first at index 7"
    ):
        bc.compare_survival(time, event, bad, horizon=1)
    with pytest.raises(ValueError, match="at least two"):
        bc.compare_survival(time, event, {"A": risks["A"]}, horizon=1)
    with pytest.raises(ValueError, match="must not exceed the last time"):
        bc.compare_survival(time, event, risks, horizon=1e6)
    found = bc.compare_survival(time, event, risks, horizon=0.5, draws=50, rng=1)
    with pytest.raises(ValueError, match="model 'A': the log score is not available"):
        found.difference("A", "B", "log_score")


def test_scores_are_refused_if_many_rows_are_not_followed():
    time, event, risks = simulated(2000)
    top = risks["A"] >= 0.6
    time[top], event[top] = np.minimum(time[top], 0.4), np.where(time[top] < 0.4, event[top], 0)
    with pytest.warns(NotFollowedWarning):
        found = bc.compare_survival(time, event, {n: risks[n] for n in "AC"}, horizon=0.6, rng=1, draws=200)
    assert found.difference().sd() > 0
    for name in ("brier_score", "auc"):
        with pytest.raises(ValueError, match="no valid interval"):
            found.difference(estimand=name)
    assert "brier_score" not in found.to_datatree()["posterior"]


def test_evaluations_of_the_same_rows_are_not_taken_for_independent_silently():
    time, event, risks = simulated(300)
    each = {n: bc.evaluate_survival(time, event, risks[n], horizon=1, draws=100, rng=1) for n in "AC"}
    with pytest.warns(SameRowsWarning, match="'A' and 'C' have 300 rows each.*use `bayescal.survival.compare`"):
        bc.compare_independent(each, rng=1)


def test_evaluations_of_two_horizons_are_not_compared():
    time, event, risks = simulated(600)
    half = np.arange(600) < 300
    at = {0.5: half, 1.0: ~half}
    each = {
        str(horizon): bc.evaluate_survival(time[rows], event[rows], risks["A"][rows], horizon=horizon, draws=100, rng=1)
        for horizon, rows in at.items()
    }
    with pytest.raises(ValueError, match=r"must agree in horizon: '0.5' has 0.5, '1.0' has 1.0"):
        bc.compare_independent(each, rng=1)
    known = bc.evaluate((time < 1)[half], risks["A"][half], bins=10, draws=100, rng=1)
    assert bc.compare_independent({"known": known, "1.0": each["1.0"]}, rng=1).names == ("known", "1.0")
