"""evaluate_survival of rows in clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student_t

import bayescal as bc
from bayescal.datasets.clustered import uniform_in_clusters
from bayescal.estimands.registry import registered
from bayescal.survival.analysis import NotFollowedWarning

HORIZON = 0.75


def simulated(number=200, size=5, seed=1, rho=0.5, rate=0.7):
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(number), size)
    risk = uniform_in_clusters(cluster, 0.5, rng) ** 2
    died = HORIZON * np.log(uniform_in_clusters(cluster, rho, rng)) / np.log1p(-risk)
    lost = rng.exponential(1 / rate, len(risk))
    return np.minimum(died, lost), (died <= lost).astype(int), risk, cluster


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
def test_without_censoring_every_number_equals_that_of_evaluate(model, binning, weighted):
    time, event, risk, cluster = simulated()
    event[(event == 0) & (time < 0.5)] = 2  # competing events in place of censoring
    weights = np.random.default_rng(2).gamma(2.0, 1.0, 1000) if weighted else None
    options = {"bins": 8, "binning": binning, "model": model, "weights": weights, "draws": 500, "rng": 7}
    survival = bc.evaluate_survival(time, event, risk, horizon=0.5, cluster=cluster, **options)
    plain = bc.evaluate((event == 1) & (time <= 0.5), risk, cluster=cluster, **options)
    assert plain.counts.clusters.icc > 0.05
    for name, record in registered().items():
        if record.available(plain.counts):
            drawn = survival.draws(name).values
            assert np.array_equal(drawn, plain.draws(name).values), name
    assert np.array_equal(survival.null.values, plain.null.values)
    assert np.array_equal(survival.dirichlet_ece.values, plain.dirichlet_ece.values)
    assert survival.table()[:-1] == plain.table()
    assert survival.remarks == plain.remarks
    assert f"N = 1000 in 200 clusters ({'weighted, ' * weighted}effective N = " in survival.question


def test_without_censoring_in_groups_too():
    time, event, risk, cluster = simulated()
    event[(event == 0) & (time < 0.5)] = 2
    options = {"by": np.arange(1000) % 3, "rng": 1, "draws": 200, "bins": 10, "cluster": cluster}
    survival = bc.evaluate_survival(time, event, risk, horizon=0.5, **options)
    plain = bc.evaluate((event == 1) & (time <= 0.5), risk, **options)
    assert survival.table() == plain.table()


def test_clusters_of_single_rows_change_no_error():
    """Bit for bit; scores and the AUC come from the variance between clusters, which is that between rows."""
    time, event, risk, _ = simulated()
    plain = bc.evaluate_survival(time, event, risk, horizon=HORIZON, rng=1)
    single = bc.evaluate_survival(time, event, risk, horizon=HORIZON, cluster=np.arange(1000), rng=1)
    for name in ("ece", "l2_error", "e90_bins", "signed_error", "observed_expected"):
        assert np.array_equal(getattr(single, name).values, getattr(plain, name).values), name
    assert np.array_equal(single.null.values, plain.null.values)
    assert single.auc.sd() == pytest.approx(plain.auc.sd(), rel=0.01)
    assert any("Each of the 1000 clusters has a single row" in remark for remark in single.remarks)


@pytest.mark.parametrize("causes", [1, 2])
def test_repeated_rows_are_worth_the_rows_once(causes):
    time, event, risk, _ = simulated()
    event *= np.random.default_rng(3).integers(1, causes + 1, 1000)
    once = bc.evaluate_survival(time, event, risk, horizon=HORIZON, bins=5, rng=1)
    again = [np.repeat(each, 2) for each in (time, event, risk, np.arange(1000))]
    twice = bc.evaluate_survival(*again[:3], horizon=HORIZON, bins=5, cluster=again[3], rng=1)
    assert once.counts.n_censored.sum() > 100
    assert twice.counts.clusters.icc == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(twice.counts.effective_n, once.counts.effective_n, rtol=0.01)
    assert twice.counts.effective_rows == pytest.approx(1000, rel=0.01)
    for name in ("ece", "signed_error", "observed_expected", "auc"):
        assert getattr(twice, name).sd() == pytest.approx(getattr(once, name).sd(), rel=0.05), name


def test_the_signed_error_and_the_ratio_have_the_design_effect_of_the_total():
    time, event, risk, cluster = simulated()
    options = {"horizon": HORIZON, "model": "dirichlet", "draws": 20_000, "bins": 5, "rng": 1}
    clustered = bc.evaluate_survival(time, event, risk, cluster=cluster, **options)
    plain = bc.evaluate_survival(time, event, risk, **options)
    effect = clustered.counts.clusters.total_effect
    assert effect > 1.3
    for name in ("signed_error", "observed_expected"):
        ratio = (getattr(clustered, name).sd() / getattr(plain, name).sd()) ** 2
        assert ratio == pytest.approx(effect, rel=0.1), name


def mean_score(time, event, risk, bins):
    """Brier score with weights by inverse probability of censoring within bins, by its definition."""
    place, total, known = np.minimum((risk * bins).astype(int), bins - 1), 0.0, 0.0
    for b in np.unique(place):
        t, e, r = time[place == b], event[place == b], risk[place == b]
        hit, stay = (e == 1) & (t <= HORIZON), t > HORIZON
        for of_row, loss in ((hit, (1 - r) ** 2), (stay, r**2)):
            ends = np.minimum(t[of_row], HORIZON)
            curve = [np.prod([1 - 1 / (t >= u).sum() for u in t[(e == 0) & (t < end)]]) for end in ends]
            total, known = total + np.sum(loss[of_row] / curve), known + np.sum(1 / np.array(curve))
    return total / known


@pytest.mark.slow
def test_the_brier_score_has_the_variance_of_the_jackknife_over_clusters():
    time, event, risk, cluster = simulated(60, 6, seed=4)
    clustered = bc.evaluate_survival(time, event, risk, horizon=HORIZON, bins=3, cluster=cluster, draws=40_000, rng=1)
    without = [cluster != j for j in range(60)]
    scores = np.array([mean_score(time[i], event[i], risk[i], 3) for i in without])
    variance = 59 / 60 * ((scores - scores.mean()) ** 2).sum()
    half = student_t.ppf(0.975, 59) * np.sqrt(variance)
    score = mean_score(time, event, risk, 3)
    np.testing.assert_allclose(clustered.brier_score.interval(0.95), [score - half, score + half], atol=0.05 * half)
    assert clustered.plug_in_of("brier_score") == pytest.approx(score, rel=1e-12)


def test_groups_and_horizons_have_the_clusters_of_their_rows():
    time, event, risk, cluster = simulated()
    by, options = np.arange(1000) % 5 < 2, {"draws": 200, "bins": 5}
    grouped = bc.evaluate_survival(time, event, risk, horizon=HORIZON, cluster=cluster, by=by, rng=1, **options)
    for label in (False, True):
        own = by == label
        alone = bc.evaluate_survival(
            time[own], event[own], risk[own], horizon=HORIZON, cluster=cluster[own], rng=1, **options
        )
        assert grouped[label].counts.clusters == alone.counts.clusters
        assert np.array_equal(grouped[label].counts.effective_n, alone.counts.effective_n)
    risks = np.stack([1 - (1 - risk) ** 0.5, risk], axis=1)
    several = bc.evaluate_survival(time, event, risks, horizon=[0.4, HORIZON], cluster=cluster, rng=1, **options)
    for i, horizon in enumerate((0.4, HORIZON)):
        seed = several.seeds[horizon]
        alone = bc.evaluate_survival(time, event, risks[:, i], horizon=horizon, cluster=cluster, rng=seed, **options)
        assert np.array_equal(several[horizon].ece.values, alone.ece.values)
    labels = np.where(cluster == 7, "alone", "others")
    with pytest.raises(ValueError, match=r"group 'alone': `cluster` must hold at least two clusters .* it holds 1"):
        bc.evaluate_survival(time, event, risk, horizon=0.01, cluster=cluster, by=labels, rng=1, **options)


def test_remarks_and_specification_state_the_clusters():
    time, event, risk, cluster = simulated()
    ev = bc.evaluate_survival(time, event, risk, horizon=HORIZON, cluster=cluster, draws=200, rng=1)
    effective = ev.counts.effective_rows
    assert f"N = 1000 in 200 clusters (effective N = {effective:.0f}), " in ev.spec
    assert 200 < effective < 950
    stated = f"intra-cluster correlation of residuals is {ev.counts.clusters.icc:.2g}"
    assert any(stated in remark for remark in ev.remarks)
    worth = f"The 1000 rows are worth {ev.counts.effective_n.sum():.0f} independent rows without censoring."
    assert worth in ev.remarks
    few = bc.evaluate_survival(time, event, risk, horizon=HORIZON, cluster=cluster % 20, draws=200, rng=1)
    assert any("fewer than 40 clusters" in remark for remark in few.remarks)
    assert ev.to_datatree()["posterior"]["observed_expected"].size == 200


def test_scores_of_rows_that_are_not_followed_are_absent():
    time, event, risk, cluster = simulated()
    top = risk >= 0.6
    event[top & (time >= 0.5)] = 0
    time[top] = np.minimum(time[top], 0.5)
    with pytest.warns(NotFollowedWarning):
        ev = bc.evaluate_survival(time, event, risk, horizon=HORIZON, cluster=cluster, draws=200, rng=1)
    assert not hasattr(ev, "auc")
    assert not hasattr(ev, "brier_score")
    lost = ~ev.counts.followed
    assert lost.any()
    assert not ev.counts.effective_n[lost].any()
    assert np.isfinite(ev.ece.values).all()
    assert np.isfinite(ev.signed_error.values).all()


def test_events_of_one_outcome_have_no_auc():
    time, _, risk, cluster = simulated()
    ev = bc.evaluate_survival(time + 0.1, np.zeros(1000), risk / 1000, horizon=0.3, cluster=cluster, draws=200, rng=1)
    assert ev.counts.n_censored.any()
    assert not hasattr(ev, "auc")
    assert np.isfinite(ev.ece.values).all()


@pytest.mark.parametrize("other", ["event", "weights", "by"])
def test_clusters_have_the_index_of_every_column(other):
    time, event, risk, cluster = simulated()
    columns = {"time": time, "event": event, "risk": risk, "weights": np.ones(1000), "by": np.arange(1000) % 2}
    columns[other] = pd.Series(columns[other])
    cluster = pd.Series(cluster, index=np.arange(1000)[::-1])
    with pytest.raises(ValueError, match=rf"`cluster` must have the index of `{other}`: .* 1000 of 1000 .* position 0"):
        bc.evaluate_survival(**columns, horizon=0.5, cluster=cluster)


def test_groups_have_the_index_of_every_column():
    time, event, risk, _ = simulated()
    by = pd.Series(np.arange(1000) % 2, index=np.arange(1000)[::-1])
    with pytest.raises(ValueError, match=r"`by` must have the index of `event`"):
        bc.evaluate_survival(time, pd.Series(event), risk, horizon=0.5, by=by)


def test_rows_of_which_no_outcome_is_known_are_refused():
    time, event, risk, cluster = simulated()
    early = time < 0.7
    options = {"horizon": 0.7, "cluster": cluster, "draws": 200, "rng": 1}
    lost = np.where(early, 0, event)
    with pytest.raises(ValueError, match=r"`horizon` 0.7 is too late: 10 of 10 bins with 100 % of the rows"):
        bc.evaluate_survival(time, lost, risk, weights=early.astype(int), **options)
    # of one group
    of_first = cluster < 100
    lost, ends = np.where(of_first, 0, event), np.where(of_first, np.minimum(time, 0.6), time)
    with pytest.raises(ValueError, match=r"group 'a': `horizon` 0.7 is too late: .* with 100 % of the rows"):
        bc.evaluate_survival(ends, lost, risk, by=np.where(of_first, "a", "b"), **options)


def test_columns_are_aligned_and_checked():
    time, event, risk, cluster = simulated()
    columns = pd.Series(time), pd.Series(event), pd.Series(risk)
    with pytest.raises(ValueError, match=r"`cluster` must have the index of `time`"):
        bc.evaluate_survival(*columns, horizon=0.5, cluster=pd.Series(cluster, index=np.arange(1000)[::-1]))
    with pytest.raises(ValueError, match=r"`cluster` and `time` must have the same length"):
        bc.evaluate_survival(*columns, horizon=0.5, cluster=cluster[:-1])
    with pytest.raises(ValueError, match=r"`cluster`.*missing"):
        bc.evaluate_survival(*columns, horizon=0.5, cluster=[None, *cluster[1:]])
    with pytest.raises(ValueError, match=r"`cluster` must hold at least two clusters .* it holds 1"):
        bc.evaluate_survival(*columns, horizon=0.5, cluster=np.zeros(1000, int))


REFUSED = {
    r"survival\.net_benefit": lambda t, e, r, c: bc.survival.net_benefit(t, e, r, horizon=0.5, cluster=c),
    r"survival\.evaluate_counts": lambda t, e, r, c: bc.evaluate_survival_counts(
        bc.SurvivalCounts.from_arrays(t, e, r, times=[0.5]), cluster=c
    ),
    "from_arrays": lambda t, e, r, c: bc.SurvivalCounts.from_arrays(t, e, r, times=[0.5], cluster=c),
    "from_frame": lambda t, e, r, c: bc.SurvivalCounts.from_frame({}, times=[0.5], cluster="c"),
    r"survival\.count_file": lambda t, e, r, c: bc.count_survival_file(
        "rows.csv", time="t", event="e", risk="r", times=[0.5], cluster="c"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_functions_without_clusters_name_the_one_that_takes_them(name):
    said = rf"{name}.*'cluster'.*evaluated by `bayescal\.survival\.evaluate\(time, [^`]*cluster=patient\)`\.$"
    with pytest.raises(TypeError, match=said):
        REFUSED[name](*simulated())
