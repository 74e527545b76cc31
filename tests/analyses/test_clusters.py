"""Evaluations and comparisons of rows in clusters."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.datasets.clustered import simulate_clusters


@pytest.fixture(scope="module")
def rows():
    return simulate_clusters([10] * 100, dependence=0.5, alike=0.5, rng=1)


def test_clusters_of_single_rows_change_no_error(rows):
    """Bit for bit; scores and the AUC come from the variance between clusters, which is that between rows."""
    plain = bc.evaluate(rows.outcome, rows.confidence, rng=1)
    single = bc.evaluate(rows.outcome, rows.confidence, cluster=np.arange(1000), rng=1)
    for name in ("ece", "l2_error", "e90_bins", "signed_error"):
        np.testing.assert_array_equal(getattr(single, name).values, getattr(plain, name).values)
    np.testing.assert_array_equal(single.null.values, plain.null.values)
    assert single.auc.sd() == pytest.approx(plain.auc.sd(), rel=0.01)
    loss = (rows.outcome - rows.confidence) ** 2
    t = 1.9623  # 97.5 % quantile of Student t with 999 degrees of freedom
    half = t * loss.std(ddof=1) / np.sqrt(1000)
    np.testing.assert_allclose(single.brier_score.interval(0.95), [loss.mean() - half, loss.mean() + half], rtol=0.01)


def test_the_brier_score_has_the_variance_between_clusters(rows):
    """Means of clusters of equal size are a sample of 100 independent numbers."""
    evaluation = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, draws=20_000, rng=1)
    for draws, loss in (
        (evaluation.brier_score, (rows.outcome - rows.confidence) ** 2),
        (evaluation.log_score, -np.log(np.where(rows.outcome == 1, rows.confidence, 1 - rows.confidence))),
    ):
        means = loss.reshape(100, 10).mean(axis=1)
        half = 1.9842 * means.std(ddof=1) / 10  # 97.5 % quantile of Student t with 99 degrees of freedom
        np.testing.assert_allclose(draws.interval(0.95), [means.mean() - half, means.mean() + half], rtol=0.01)


def test_a_comparison_of_dependent_rows_names_its_weak_intervals():
    """docs/explanation/clusters.md: differences of ECEs with rho = 0.5 have 0.83 on average, independent rows 0.95."""
    study = json.loads((Path(__file__).parents[2] / "docs/_static/clusters.json").read_text())["paired"]
    dependent = [row[9] for row in study if row[1] == 0.5 and row[7:9] == ["ece", "bayescal"]]
    assert len(dependent) == 12
    assert f"{np.mean(dependent):.2f}" == "0.83"
    rng = np.random.default_rng(8)
    p, shared = rng.random(600), np.repeat(rng.normal(size=60), 10)
    apart = {"dependent": shared, "independent": np.zeros(600)}
    logit = np.log(p / (1 - p))
    for name, shift in apart.items():
        y = rng.random(600) < 1 / (1 + np.exp(-logit - 1.5 * shift))
        for models in ({"a": p, "b": p**2}, {"b": p**2, "a": p}):
            found = bc.compare(y, models, cluster=np.repeat(np.arange(60), 10), draws=200, rng=1)
            assert any("in 83 % of simulated" in remark for remark in found.remarks) == (name == "dependent")


def test_the_specification_and_a_remark_state_the_clusters(rows):
    evaluation = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, rng=1)
    effective = evaluation.counts.effective_rows
    assert f"N = 1000 in 100 clusters (effective N = {effective:.0f})" in evaluation.spec
    assert effective < 700
    stated = f"intra-cluster correlation of residuals is {evaluation.counts.clusters.icc:.2g}"
    assert any(stated in remark for remark in evaluation.remarks)
    assert not any("fewer than 40 clusters" in remark for remark in evaluation.remarks)
    few = simulate_clusters([50] * 20, dependence=0.3, rng=1)
    for model in ("shrinkage", "dirichlet"):
        found = bc.evaluate(few.outcome, few.confidence, cluster=few.cluster, model=model, rng=1)
        assert any("fewer than 40 clusters" in remark for remark in found.remarks)


def test_clusters_of_single_rows_are_named_as_such(rows):
    each = bc.evaluate(rows.outcome, rows.confidence, cluster=np.arange(1000), draws=100, rng=1)
    assert each.remarks == (
        "Each of the 1000 clusters has a single row, so that intervals of calibration errors are those of independent "
        "rows. If some rows belong together, this is not the column that says so.",
    )


def test_the_signed_error_has_the_design_effect_of_the_total(rows):
    """Under the Dirichlet model its variance is nearly that of the mean residual times the design effect."""
    evaluation = bc.evaluate(
        rows.outcome, rows.confidence, cluster=rows.cluster, model="dirichlet", draws=20_000, rng=1
    )
    plain = bc.evaluate(rows.outcome, rows.confidence, model="dirichlet", draws=20_000, rng=1)
    ratio = (evaluation.signed_error.sd() / plain.signed_error.sd()) ** 2
    assert ratio == pytest.approx(evaluation.counts.clusters.total_effect, rel=0.15)


def test_the_auc_of_counts_alone_is_absent(rows):
    evaluation = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, rng=1)
    again = bc.evaluate_counts(evaluation.counts + evaluation.counts, rng=1)
    assert not hasattr(again, "auc")
    with pytest.raises(AttributeError, match=r"AUC of rows in clusters needs the rows.*cluster="):
        _ = again.auc


def test_the_auc_of_repeated_rows_is_that_of_the_rows():
    """Each row four times in a cluster: the variance is that of the rows once, apart from prior rows."""
    rng = np.random.default_rng(2)
    p = rng.random(400)
    z = (rng.random(400) < p).astype(int)
    once = bc.evaluate(z, p, rng=1).auc
    repeated = bc.evaluate(np.repeat(z, 4), np.repeat(p, 4), cluster=np.repeat(np.arange(400), 4), rng=1).auc
    assert repeated.sd() == pytest.approx(once.sd(), rel=0.02)


def test_groups_have_the_clusters_inside_them(rows):
    by = np.arange(1000) % 10 < 4
    grouped = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, by=by, rng=1)
    for label in (False, True):
        alone = bc.evaluate(
            rows.outcome[by == label], rows.confidence[by == label], cluster=rows.cluster[by == label], rng=1
        )
        assert grouped[label].counts == alone.counts
        assert alone.counts.clusters.number == 100


def test_a_group_in_one_cluster_is_named(rows):
    by = np.where(rows.cluster == 7, "alone", "others")
    with pytest.raises(ValueError, match=r"group 'alone': `cluster` must hold at least two clusters .* it holds 1"):
        bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, by=by, rng=1)


def test_groups_in_one_cluster_are_counted_and_leaving_them_out_helps(rows):
    by = np.where(rows.cluster < 3, rows.cluster.astype(str), "others")
    with pytest.raises(ValueError, match=r"3 of 4 groups, first group '0': .*it holds 1\. Leave such groups out, or "):
        bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, by=by, rng=1)
    kept = by == "others"
    part = [each[kept] for each in (rows.outcome, rows.confidence, rows.cluster, by)]
    assert len(bc.evaluate(*part[:2], cluster=part[2], by=part[3], draws=100, rng=1)) == 1
    models = {"a": rows.confidence, "b": rows.confidence**2}
    with pytest.raises(ValueError, match=r"data set '.*0': `cluster` must hold at least"):
        bc.compare(rows.outcome, models, cluster=rows.cluster, by=by, draws=100, rng=1)


def test_rows_of_weight_zero_are_not_averaged_over_clusters(rows):
    weights = np.where(rows.cluster < 50, 0.0, 1.5)
    remarks = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, weights=weights, rng=1).remarks
    assert any(remark.startswith("The rows are in 50 clusters. ") for remark in remarks)


def test_classes_have_clusters():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 200)
    y = (p.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    p, y, cluster = np.repeat(p, 3, axis=0), np.repeat(y, 3), np.repeat(np.arange(200), 3)
    found = bc.evaluate(y, p, target="classwise", cluster=cluster, rng=1)
    for counts in found.counts:
        assert counts.effective_rows == pytest.approx(200, rel=0.05)
    assert "in 200 clusters" in found.spec
    assert bc.evaluate(y, p, cluster=cluster, rng=1).counts.effective_rows == pytest.approx(200, rel=0.05)


REFUSED = {
    "plan": lambda counts: bc.planning.labels_needed(counts, width=0.02),
    "monitor": lambda counts: bc.monitoring.CalibrationMonitor(bins=15, target="event").add_counts(counts, time=1),
    "net benefit": lambda counts: bc.net_benefit_counts(counts),
    "curve": lambda counts: bc.CalibrationCurve.from_counts(counts),
    "cumulative difference": lambda counts: bc.CumulativeDifference.from_counts(counts),
    "regret": lambda counts: bc.evaluate_counts(counts, rng=1).regret(1 / 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_take_rows_as_independent_refuse_clusters(name, rows):
    counts = bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, cluster=rows.cluster, target="event")
    with pytest.raises(ValueError, match=r"must be counts of independent rows: .* would take rows of one cluster"):
        REFUSED[name](counts)


def test_columns_are_aligned_and_checked(rows):
    y, p = pd.Series(rows.outcome), pd.Series(rows.confidence)
    cluster = pd.Series(rows.cluster, index=np.arange(1000)[::-1])
    with pytest.raises(ValueError, match=r"`cluster` must have the index of `y_true`"):
        bc.evaluate(y, p, cluster=cluster)
    with pytest.raises(ValueError, match=r"`cluster` must have the index of `by`"):
        bc.evaluate(rows.outcome, rows.confidence, by=pd.Series(np.arange(1000) % 2), cluster=cluster)
    with pytest.raises(ValueError, match=r"`cluster` and `y_true` must have the same length"):
        bc.evaluate(y, p, cluster=rows.cluster[:-1])
    with pytest.raises(ValueError, match=r"`cluster`.*missing"):
        bc.compare(y, {"a": p, "b": p**2}, cluster=[None, *rows.cluster[1:]])


def test_two_names_of_one_classifier_differ_by_nothing(rows):
    names = {"one": rows.confidence, "two": rows.confidence}
    comparison = bc.compare(rows.outcome, names, cluster=rows.cluster, rng=1)
    for estimand in ("ece", "brier_score", "log_score", "auc"):
        np.testing.assert_allclose(comparison.difference("one", "two", estimand=estimand).values, 0, atol=1e-12)


def test_the_difference_of_brier_scores_has_the_variance_between_clusters(rows):
    """The paired t interval of the differences of cluster means."""
    other = np.clip(rows.confidence + 0.1 * np.sin(9 * rows.confidence), 0.01, 0.99)
    both = {"a": rows.confidence, "b": other}
    comparison = bc.compare(rows.outcome, both, cluster=rows.cluster, draws=20_000, rng=1)
    loss = (rows.outcome - rows.confidence) ** 2 - (rows.outcome - other) ** 2
    means = loss.reshape(100, 10).mean(axis=1)
    half = 1.9842 * means.std(ddof=1) / 10
    found = comparison.difference("a", "b", estimand="brier_score").interval(0.95)
    np.testing.assert_allclose(found, [means.mean() - half, means.mean() + half], atol=0.02 * half)


def test_few_clusters_have_the_t_distribution_of_their_means():
    """Six clusters of equal size: means of clusters are six numbers, and half widths those of Student t with 5."""
    rows = simulate_clusters([100] * 6, dependence=0.5, rng=3)
    y, p = rows.outcome, rows.confidence
    q = np.clip(p + 0.1 * np.sin(9 * p), 0.01, 0.99)
    comparison = bc.compare(y, {"p": p, "q": q}, cluster=rows.cluster, draws=20_000, rng=1)
    losses = {"p": (y - p) ** 2, "difference": (y - p) ** 2 - (y - q) ** 2}
    found = {
        "p": bc.evaluate(y, p, cluster=rows.cluster, draws=20_000, rng=1).brier_score,
        "difference": comparison.difference("p", "q", estimand="brier_score"),
    }
    for name, loss in losses.items():
        means = loss.reshape(6, 100).mean(axis=1)
        half = 2.5706 * means.std(ddof=1) / np.sqrt(6)  # 97.5 % quantile of Student t with 5 degrees of freedom
        low, high = found[name].interval(0.95)
        assert (high - low) / 2 == pytest.approx(half, rel=0.05)
        assert (high + low) / 2 == pytest.approx(means.mean(), abs=0.05 * half)


def test_repeated_rows_have_the_correlation_of_rows_once():
    rng = np.random.default_rng(4)
    p = rng.random(500)
    q = np.clip(p + rng.normal(0, 0.1, 500), 0.01, 0.99)
    z = (rng.random(500) < p).astype(int)
    once = bc.compare(z, {"p": p, "q": q}, rng=1)
    z, p, q = (np.repeat(each, 3) for each in (z, p, q))
    repeated = bc.compare(z, {"p": p, "q": q}, cluster=np.repeat(np.arange(500), 3), rng=1)
    for estimand in ("ece", "auc"):
        sd = [c.difference("p", "q", estimand=estimand).sd() for c in (once, repeated)]
        assert sd[1] == pytest.approx(sd[0], rel=0.06)


def test_pairs_of_whole_clusters_add(rows):
    from bayescal.analyses.one import count_rows
    from bayescal.data.groups import Clusters
    from bayescal.data.predictions import Predictions
    from bayescal.stats.paired import PairedCounts

    other = rows.confidence**1.5

    def paired(keep):
        clusters = Clusters.from_column(rows.cluster[keep], int(keep.sum()))
        both = [Predictions.from_labels(rows.outcome[keep], p[keep]) for p in (rows.confidence, other)]
        counts = [count_rows(p, 15, "equal-width", clusters=clusters) for p in both]
        return PairedCounts.from_predictions(*both, *counts, clusters=clusters)

    first = rows.cluster < 30
    whole, added = paired(first | ~first), paired(first) + paired(~first)
    np.testing.assert_allclose(added.clusters.rr, whole.clusters.rr, atol=1e-9)
    np.testing.assert_allclose(added.swapped().clusters.rn, whole.clusters.nr.T, atol=1e-9)
    one, other = (bc.compare_counts({("a", "b"): pair}, rng=1) for pair in (whole, added.swapped().swapped()))
    np.testing.assert_allclose(
        one.difference("a", "b").interval(0.95), other.difference("a", "b").interval(0.95), atol=1e-6
    )
