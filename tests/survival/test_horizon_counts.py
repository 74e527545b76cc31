"""Sums over clusters of censored rows, against derivatives by weights of clusters and a closed form; known rows."""

from dataclasses import replace

import numpy as np
import pytest
from censored_rows import weekly
from scipy.stats import norm
from scipy.stats import t as student_t

from bayescal.data.groups import Clusters
from bayescal.datasets.clustered import uniform_in_clusters
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts, KnownRows, share_with_event
from bayescal.survival.rows import SurvivalRows

HORIZON, BINS = 1.0, make_bins(4)


def simulated(*, causes=1, ties=0, lost_bin=False, few=False, n=240, size=6, seed=1):
    """Weighted rows in clusters with dependent times; the last bin may be lost, and `few` rows be in it."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) // size
    risk = rng.random(n)
    if few:
        risk[30:] *= 0.75
    died = -np.log(uniform_in_clusters(cluster, 0.6, rng)) / (0.3 + risk)
    lost = -np.log(uniform_in_clusters(cluster, 0.3, rng)) / 0.7
    time, event = np.minimum(died, lost), np.where(died <= lost, rng.integers(1, causes + 1, n), 0)
    if ties:
        time = np.ceil(time * ties) / ties
    if lost_bin:
        top = risk >= 0.75
        time[top], event[top] = np.minimum(time[top], 0.6), np.where(time[top] < 0.6, event[top], 0)
    rows = SurvivalRows(time, event, risk, rng.gamma(2.0, 1.0, n), 1)
    order = rng.permutation(n)  # rows of a cluster need not be neighbours
    return rows.part(order), cluster[order]


def of_scale(rows, cluster, value, step=1e-5):
    """Derivative of a function of rows by a factor of the weights of each cluster, shape (n_clusters, ...)."""

    def moved(j, by):
        return np.asarray(value(replace(rows, weight=np.where(cluster == j, rows.weight * (1 + by), rows.weight))))

    return np.array([(moved(j, step) - moved(j, -step)) / (2 * step) for j in range(cluster.max() + 1)])


def counted(rows, cluster=None):
    clusters = None if cluster is None else Clusters.from_column(cluster, len(rows))
    return HorizonCounts.from_rows(rows, HORIZON, BINS, clusters)


def excess_by_bin(rows):
    """Sum of weights times product-limit estimate, minus the sum of weighted risks."""
    place = np.minimum((rows.risk * 4).astype(int), 3)
    weight, expected = np.bincount(place, rows.weight, 4), np.bincount(place, rows.weight * rows.risk, 4)
    return weight * counted(rows).accuracy - expected


CASES = [{}, {"causes": 2}, {"ties": 5}, {"causes": 2, "ties": 5}, {"lost_bin": True, "few": True}, {"lost_bin": True}]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_residuals_of_clusters_are_derivatives_by_the_weight_of_the_cluster(case):
    rows, cluster = simulated(**case)
    sums = counted(rows, cluster).clusters
    r = of_scale(rows, cluster, excess_by_bin)
    place = np.minimum((rows.risk * 4).astype(int), 3)
    n = np.array([np.bincount(place[cluster == j], rows.weight[cluster == j], 4) for j in range(40)])
    assert sums.number == 40
    np.testing.assert_allclose(sums.rr, r.T @ r, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(sums.rn, r.T @ n, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(sums.nn, n.T @ n, rtol=1e-12)
    np.testing.assert_allclose(sums.gap, counted(rows).accuracy - counted(rows).mean_confidence, rtol=1e-10)
    # each row as a cluster: the squares of single rows
    alone = of_scale(rows, np.arange(240), excess_by_bin).sum(axis=1)
    np.testing.assert_allclose(sums.own_sq, np.bincount(place, alone**2, 4), rtol=1e-5)
    np.testing.assert_allclose(sums.own, np.bincount(place, alone * rows.weight, 4), rtol=1e-5)


@pytest.mark.parametrize("case", CASES[:5])
def test_losses_of_clusters_are_derivatives_of_the_brier_score(case):
    """Weight of all rows times the derivative of the score, plus the score times the weight of the cluster."""
    rows, cluster = simulated(**case)

    def score(each):
        counts = counted(each)
        return counts.losses.total.sum() / counts.weight.sum()

    weight = np.bincount(cluster, rows.weight)
    losses = weight.sum() * of_scale(rows, cluster, score) + score(rows) * weight
    assert (counted(rows).not_followed > 0) == bool(case.get("lost_bin"))
    sums = counted(rows, cluster).clusters
    np.testing.assert_allclose(sums.losses, [losses @ losses, losses @ weight], rtol=1e-6)
    assert not sums.log_losses.any()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[:5])
def test_the_design_effect_of_the_auc_follows_from_its_derivatives(case):
    """The ratio of the variance over clusters to that over rows, with the factors that rows without censoring have."""
    rows, cluster = simulated(**case)

    def area(each):
        return counted(each).ranks.auc

    of_clusters, of_rows = of_scale(rows, cluster, area), of_scale(rows, np.arange(240), area)
    weight = np.bincount(cluster, rows.weight)
    number = weight.sum() ** 2 / (weight @ weight)
    widening = student_t.ppf(0.975, number - 1) / norm.ppf(0.975)
    expected = (of_clusters @ of_clusters) / (of_rows @ of_rows) * number / (number - 1) * widening**2
    assert counted(rows, cluster).ranks.design_effect == pytest.approx(expected, rel=1e-3)
    assert counted(rows).ranks.design_effect is None


def test_the_correlation_of_censored_rows_is_that_of_outcomes_times_their_worth():
    r"""Rows of one cluster have one time of death, and independent exponential censoring, in a single bin.

    The influence of a row on the estimate is a stochastic integral of its martingale, S(t) \int dM / (S G). Its mean
    given the time of death is that without censoring, so that the covariance of two rows is F S, and the variance is
    S^2 \int e^((1 + c) u) du up to t. Here the hazards are 1 and c = 0.8.
    """
    rng, rate = np.random.default_rng(3), 0.8
    died = np.repeat(rng.exponential(1.0, 10_000), 3)
    lost = rng.exponential(1 / rate, 30_000)
    rows = SurvivalRows.read(np.minimum(died, lost), died <= lost, np.full(30_000, 0.6))
    clusters = Clusters.from_column(np.arange(30_000) // 3, 30_000)
    sums = HorizonCounts.from_rows(rows, HORIZON, make_bins(1), clusters).clusters
    survival = np.exp(-1)
    variance = survival**2 * np.expm1(1 + rate) / (1 + rate)
    assert sums.variance[0] == pytest.approx(variance, rel=0.02)
    # the standard error over data sets is 0.006
    assert sums.icc == pytest.approx(survival * (1 - survival) / variance, abs=0.02)


def test_effective_rows_are_divided_by_the_design_effects():
    rows, cluster = simulated()
    clustered, alone = counted(rows, cluster), counted(rows)
    effects = clustered.clusters.effects
    assert (effects > 1.01).all()
    np.testing.assert_allclose(clustered.effective_n, alone.effective_n / effects, rtol=1e-12)
    np.testing.assert_allclose(clustered.effective_k, alone.effective_k / effects, rtol=1e-12)
    squares = alone.rows.weight_sq @ effects
    assert clustered.effective_rows == pytest.approx(rows.weight.sum() ** 2 / squares, rel=1e-12)
    whole = clustered.with_total_effect()
    np.testing.assert_allclose(whole.effective_n, alone.effective_n / clustered.clusters.total_effect, rtol=1e-12)
    assert whole.clusters is None
    assert whole.effective_rows == pytest.approx(alone.effective_rows / clustered.clusters.total_effect, rel=1e-12)
    assert alone.with_total_effect() is alone


@pytest.mark.parametrize("weighted", [False, True])
def test_without_censoring_sums_are_those_of_binned_counts(weighted):
    rows, cluster = simulated(causes=2)
    rows = replace(rows, event=np.maximum(rows.event, 1), weight=rows.weight if weighted else None)
    found = counted(rows, cluster)
    outcome = (rows.event == 1) & (rows.time <= HORIZON)
    plain = BinnedCounts.from_arrays(
        outcome, rows.risk, bins=BINS, weights=rows.weight, cluster=cluster, target="event"
    )
    assert found.clusters == plain.clusters
    assert found.with_total_effect().rows == plain.with_total_effect()
    np.testing.assert_array_equal(found.with_total_effect().effective_n, plain.with_total_effect().effective_n)


def test_more_than_512_bins_are_refused():
    rows, cluster = simulated()
    with pytest.raises(ValueError, match=r"`bins` must be at most 512 for rows in clusters"):
        HorizonCounts.from_rows(rows, HORIZON, make_bins(600), Clusters.from_column(cluster, 240))


def test_weights_of_a_stratum_add_up_to_its_rows_and_shares_are_product_limit_estimates():
    """The weighted share of events in a stratum is the estimate of its rows; few strata with few rows."""
    time, event, risk = weekly(1000, causes=2)
    rows = SurvivalRows.read(time, event, risk)
    known = KnownRows.of_rows(rows, 1.0, risk)
    for stratum in range(len(known.rows)):
        inside = known.stratum == stratum
        assert known.weight[inside].sum() == pytest.approx(inside.sum(), rel=1e-9) == known.rows[stratum]
        share = share_with_event(rows, 1.0, inside[None])[0]
        assert (known.weight * known.outcome)[inside].sum() / inside.sum() == pytest.approx(share, rel=1e-9)
    assert ((known.worth > 0) & (known.worth <= 1)).all()
    few = KnownRows.of_rows(rows.part(np.arange(60)), 1.0, risk[:60])
    assert len(few.rows) == 1
