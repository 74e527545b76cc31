"""Net benefit of rows in clusters and of groups: variances between clusters by hand, counts, words, refusals."""

import pickle

import numpy as np
import pytest
from exact_moments import difference_mean_and_sd

import bayescal as bc
from bayescal.data.predictions import Predictions
from bayescal.datasets.clustered import simulate_clusters
from bayescal.decisions.cells import DENSE_CELLS, check_keys, joint_sums, merged
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import bins_between

T = np.array([0.1, 0.3])
SIZES = np.tile([1, 2, 5, 12], 100)
ROWS = simulate_clusters(SIZES, dependence=0.5, alike=0.5, population="flat", rng=1)
Y, P, C = ROWS.outcome, ROWS.confidence, ROWS.cluster
BOTH = {"first": P, "second": np.clip(P + 0.15 * np.random.default_rng(2).standard_normal(len(P)), 0, 1)}
CLUSTERED = bc.decisions.net_benefit(Y, BOTH, T, cluster=C, rng=1)
#: Intervals and standard deviations of 4000 draws have relative errors of 1 / sqrt(8000) = 1.1 %.
CLOSE = 0.05


def contributions(y, p, thresholds=T):
    """Contribution of each row to the net benefit (Vickers and Elkin, 2006)."""
    odds = thresholds / (1 - thresholds)
    return (p[:, None] >= thresholds) * np.where(y[:, None] == 1, 1.0, -odds)


def sd_between(values, weight, cluster):
    """Standard deviation of a weighted mean of rows, from its influence, summed over clusters (Huber and White)."""
    mean = (weight[:, None] * values).sum(axis=0) / weight.sum()
    influence = weight[:, None] * (values - mean) / weight.sum()
    sums = np.stack([np.bincount(cluster, column) for column in influence.T], axis=1)
    return np.sqrt((sums**2).sum(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_standard_deviations_are_those_between_clusters(weighted):
    w = np.random.default_rng(3).exponential(size=len(Y)) if weighted else np.ones(len(Y))
    found = bc.decisions.net_benefit(Y, BOTH, T, cluster=C, weights=w if weighted else None, pseudo_rows=0.1, rng=1)
    values = {name: contributions(Y, p) for name, p in BOTH.items()}
    for name in BOTH:
        expected = sd_between(values[name], w, C)
        np.testing.assert_allclose(found.net_benefit[name].sd(), expected, rtol=CLOSE)
        np.testing.assert_allclose(found.moments[name][1], found.net_benefit[name].sd())
        np.testing.assert_allclose(found.moments[name][0], found.observed[name], atol=0.1 * expected.min())
        # the outcomes depend on each other: independent rows would have intervals that are much too narrow
        assert (expected > 1.3 * sd_between(values[name], w, np.arange(len(Y)))).all()
    difference = sd_between(values["first"] - values["second"], w, C)
    np.testing.assert_allclose(found.difference().sd(), difference, rtol=CLOSE)


def test_given_the_outcome_influences_are_those_of_each_outcome():
    found = bc.decisions.net_benefit(Y, P, T, cluster=C, prevalence=0.2, pseudo_rows=0.1, rng=1)
    influence = np.zeros((len(Y), 2))
    for z, factor in ((1, 0.2 * np.ones(2)), (0, -0.8 * T / (1 - T))):
        treated = (P[:, None] >= T)[z == Y]
        influence[z == Y] = factor * (treated - treated.mean(axis=0)) / (z == Y).sum()
    sums = np.stack([np.bincount(C, column) for column in influence.T], axis=1)
    np.testing.assert_allclose(found.net_benefit["model"].sd(), np.sqrt((sums**2).sum(axis=0)), rtol=CLOSE)
    expected = (sums**2).sum(axis=0) * 400 / 399 / (influence**2).sum(axis=0)
    np.testing.assert_allclose(found.design_effects["model"], expected)


def test_design_effects_by_hand():
    for name, p in BOTH.items():
        values = contributions(Y, p)
        ratio = sd_between(values, np.ones(len(Y)), C) / sd_between(values, np.ones(len(Y)), np.arange(len(Y)))
        np.testing.assert_allclose(CLUSTERED.design_effects[name], ratio**2 * 400 / 399)
    assert bc.decisions.net_benefit(Y, P, T, rng=1).design_effects is None


def test_clusters_of_one_row_have_the_posterior_of_independent_rows(close_to, mcse):
    y, p = Y[:300], {name: each[:300] for name, each in BOTH.items()}
    alone = bc.decisions.net_benefit(y, p, T, rng=1)
    own = bc.decisions.net_benefit(y, p, T, cluster=[f"row {i}" for i in range(300)], rng=2)
    one = bc.decisions.net_benefit(y, p["first"], T, cluster=np.arange(300), rng=3)
    for drawn, (mean, sd) in (
        *((own.net_benefit[name].values, alone.moments[name]) for name in p),
        (one.net_benefit["model"].values, alone.moments["first"]),
    ):
        close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
        close_to(drawn.std(axis=0, ddof=1), sd, mcse.sd(drawn))
    mean, sd = difference_mean_and_sd(alone.posterior, 0, 1, alone._gain)
    drawn = own.difference().values
    close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
    close_to(drawn.std(axis=0, ddof=1), sd, mcse.sd(drawn))


def test_batches_of_whole_clusters_add():
    early = C < 150

    def count(part):
        chosen = {name: each[part] for name, each in BOTH.items()}
        return ThresholdCounts.from_arrays(Y[part], chosen, T, cluster=C[part])

    whole = count(slice(None))
    assert count(early) + count(~early) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert whole.clusters.number == 400
    assert whole.clusters.effective_number == pytest.approx(SIZES.sum() ** 2 / (SIZES**2).sum())
    assert whole.fingerprint != ThresholdCounts.from_arrays(Y, BOTH, T).fingerprint
    assert "400 clusters" in repr(whole)
    found = bc.net_benefit_counts(whole, rng=1)
    np.testing.assert_array_equal(found.net_benefit["first"].values, CLUSTERED.net_benefit["first"].values)
    with pytest.raises(ValueError, match="cannot be added to counts without"):
        whole + ThresholdCounts.from_arrays(Y, BOTH, T)


def test_fewer_thresholds_are_those_of_a_direct_count():
    fine = ThresholdCounts.from_arrays(Y, BOTH, [0.1, 0.2, 0.3, 0.7], cluster=C)
    assert fine.at(T) == ThresholdCounts.from_arrays(Y, BOTH, T, cluster=C)


def test_few_rows_are_few_clusters():
    """Ten rows reach 0.7, but only in two clusters; all rows of one cluster lie below 0.5."""
    p = np.concatenate([np.full(10, 0.95), np.full(190, 0.6), np.full(10, 0.4)])
    y, cluster = np.arange(210) % 2, np.repeat(np.arange(42), 5)
    t = [0.2, 0.5, 0.7]
    assert not bc.decisions.net_benefit(y, p, 0.7, rng=1).few_rows["model"].any()
    found = bc.decisions.net_benefit(y, p, t, cluster=cluster, rng=1)
    assert found.counts.clusters.reaching(0, 4).tolist() == [[42, 40, 2], [0, 2, 40]]
    assert found.few_rows["model"].tolist() == [True, True, True]
    assert any(
        remark.startswith("Too few rows reach the threshold at 0.7 (model): fewer than 5 clusters")
        for remark in found.remarks
    )


def test_words_name_clusters_and_warn_if_they_are_few():
    assert "N = 2000 in 400 clusters" in CLUSTERED.spec
    low, high = (f(np.concatenate(list(CLUSTERED.design_effects.values()))) for f in (np.min, np.max))
    stated = f"in 400 clusters (5 rows on average): the variance of a net benefit is {low:.2g} to {high:.2g} times"
    assert any(stated in remark for remark in CLUSTERED.remarks)
    assert not any("too narrow" in remark for remark in CLUSTERED.remarks)
    some = bc.decisions.net_benefit(Y, P, T, cluster=C, weights=np.where(C < 200, 0.0, 1.0), rng=1)
    assert any(remark.startswith("The rows are in 200 clusters: ") for remark in some.remarks)
    few = bc.decisions.net_benefit(Y, P, T, cluster=C % 30, rng=1)
    assert any("With fewer than 40 (effective) clusters" in remark for remark in few.remarks)
    assert bc.decisions.net_benefit(Y, P, T, rng=1).remarks == ()


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"`cluster` must hold at least two clusters.*it holds 1"):
        bc.decisions.net_benefit(Y, P, T, cluster=np.zeros(len(Y), int))
    with pytest.raises(ValueError, match="`cluster`"):
        bc.decisions.net_benefit(Y, P, T, cluster=C[1:])
    with pytest.raises(TypeError, match="cannot be saved"):
        bc.save_counts(CLUSTERED.counts, tmp_path / "counts.json")
    with pytest.raises(ValueError, match="no closed form"):
        CLUSTERED.posterior.mean_and_sd(np.ones((2, 2)))
    with pytest.raises(ValueError, match="no clusters"):
        bc.decisions.net_benefit(Y, P, T, rng=1).posterior.design_effects(np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"rows in clusters .* `bayescal\.evaluate\(y_true, y_prob, cluster="):
        bc.cumulative.difference(Y, P, cluster=C)


# --- groups

SITE = np.array(["a", "b", "b", "c"])[C % 4]


@pytest.mark.parametrize("clustered", [False, True])
def test_groups_are_those_of_their_rows(clustered):
    found = bc.decisions.net_benefit(Y, BOTH, T, by=SITE, cluster=C if clustered else None, rng=1)
    assert list(found) == ["a", "b", "c"]
    for label in found:
        inside = label == SITE
        own = {name: p[inside] for name, p in BOTH.items()}
        expected = ThresholdCounts.from_arrays(Y[inside], own, T, cluster=C[inside] if clustered else None)
        assert found[label].counts == expected
    assert found.overall.counts == ThresholdCounts.from_arrays(Y, BOTH, T, cluster=C if clustered else None)
    table = found.table()
    assert len(table) == 3 * 2 * 2
    assert table[0] == {"group": "a", "rows": int((SITE == "a").sum()), **found["a"].table()[0]}
    assert found.to_frame().index.names == ["group", "model", "threshold"]
    assert "all rows" in str(found)
    assert found.spec.startswith("3 groups by ")
    with pytest.raises(KeyError, match="'d'"):
        found["d"]


def test_groups_of_counts():
    counts = {label: ThresholdCounts.from_arrays(Y[label == SITE], P[label == SITE], T) for label in "abc"}
    found = bc.net_benefit_counts(counts, name="site", rng=1)
    rows = bc.decisions.net_benefit(Y, P, T, by=SITE, rng=1)
    assert found.overall.counts == rows.overall.counts
    for label in found:
        drawn, expected = (each[label].net_benefit["model"].values for each in (found, rows))
        np.testing.assert_array_equal(drawn, expected)
    assert found.spec.startswith("3 groups by site: net benefit of 1 model")
    with pytest.raises(ValueError, match="empty mapping"):
        bc.net_benefit_counts({})
    with pytest.raises(ValueError, match="group 'a': `thresholds` must be among the thresholds"):
        bc.net_benefit_counts(counts, 0.2)
    with pytest.raises(ValueError, match=r"group 'a': `weights` must not depend on the outcome alone"):
        bc.decisions.net_benefit(Y, P, T, by=SITE, weights=np.where(Y == 1, 0.2, 1.0))


def test_the_prior_counts_as_much_as_independent_rows():
    """Its mass is that of pseudo-rows times the design effect of the prevalence; with one outcome, of pseudo-rows."""
    w = np.random.default_rng(5).exponential(size=len(Y))
    for weight in (np.ones(len(Y)), w):
        counts = ThresholdCounts.from_arrays(Y, P, T, weights=weight, cluster=C)
        ratio = sd_between(Y[:, None], weight, C) / sd_between(Y[:, None], weight, np.arange(len(Y)))
        effect = counts.clusters.outcome_effect(counts.weight_sq)
        assert effect == pytest.approx(float(ratio[0] ** 2) * 400 / 399)
        assert effect > 1.5
    no_event = bc.decisions.net_benefit(np.zeros(len(Y), int), P, T, cluster=C, rng=1)
    assert no_event.counts.clusters.outcome_effect(no_event.counts.weight_sq) == 1.0
    found = bc.decisions.net_benefit(Y, P, T, cluster=C, pseudo_rows=100, rng=1)
    d = found.counts.clusters.outcome_effect(found.counts.weight_sq)
    # half of the prior has the event; 0.45 of its scores are 1, and 0.1 are uniform
    prior = (0.5 - T / (1 - T) * 0.5) * (0.45 + 0.1 * (1 - T))
    expected = (100 * d * prior + len(Y) * found.observed["model"]) / (100 * d + len(Y))
    np.testing.assert_allclose(found.net_benefit["model"].mean(), expected, atol=0.004)


def test_the_prior_mass_is_that_of_pseudo_rows_times_the_design_effect(close_to):
    posterior = bc.decisions.net_benefit(Y, BOTH, T, cluster=C, pseudo_rows=4, rng=1).posterior
    d = posterior.counts.clusters.outcome_effect(posterior.counts.weight_sq)
    mass = posterior._prior_mass(20_000, np.random.default_rng(1)).sum(axis=2)
    assert d > 1.5
    # Gamma with shape 4, multiplied by d
    close_to(mass.mean(axis=1), 4 * d, 2 * d / np.sqrt(20_000))
    np.testing.assert_allclose(mass[0], mass[1])


def test_design_effects_of_the_outcome_have_bounds():
    """At least 1, even if outcomes of a cluster are opposite; at most that of equal rows, even with two clusters."""
    opposite = ThresholdCounts.from_arrays([0, 1] * 10, [0.5] * 20, T, cluster=np.repeat(np.arange(10), 2))
    assert opposite.clusters.outcome_effect(opposite.weight_sq) == 1.0
    equal = ThresholdCounts.from_arrays([0] * 5 + [1] * 5, [0.5] * 10, T, cluster=[0] * 5 + [1] * 5)
    assert equal.clusters.outcome_effect(equal.weight_sq) == 5.0


# --- joint cells


def test_joint_cells_are_those_that_occur(monkeypatch):
    """Scores 0.05, 0.2 and 0.4 are in the cells 0, 1 and 2 of the thresholds 0.1 and 0.3."""
    first, second = np.array([0.05, 0.2, 0.4, 0.4]), np.array([0.4, 0.2, 0.05, 0.05])
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    rows = [Predictions.from_outcomes([0, 1, 1, 1], p, weights, target="event") for p in (first, second)]
    for dense in (DENSE_CELLS, 1):
        monkeypatch.setattr("bayescal.decisions.cells.DENSE_CELLS", dense)
        cells, n, weight = joint_sums(rows, bins_between(T))
        assert cells.tolist() == [[0, 2, 0], [1, 1, 1], [2, 0, 1]]
        assert (n.tolist(), weight.tolist()) == ([1, 1, 2], [1, 2, 7])


def test_merged_cells_are_in_order_each_once():
    cells, n, weight = merged(np.array([[1, 0], [0, 1], [1, 0]]), np.array([1, 2, 3]), np.array([0.5, 1.0, 0.25]), 3)
    assert (cells.tolist(), n.tolist(), weight.tolist()) == ([[0, 1], [1, 0]], [2, 4], [1.0, 0.75])


def test_keys_that_are_not_exact_are_refused():
    check_keys(10, 10, 4, 2)
    with pytest.raises(ValueError, match=r"2 models with 4 thresholds have 2e\+03 joint cells, more than 1e\+01"):
        check_keys(2000, 10, 4, 2)
