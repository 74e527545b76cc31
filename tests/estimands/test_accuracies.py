"""The accuracy against Beta and Dirichlet distributions, and its effective numbers of rows against sums over rows."""

import numpy as np
import pytest
from scipy.stats import beta, kstest

import bayescal as bc
from bayescal.estimands.accuracies import correlation_of_accuracies, evidence
from bayescal.estimands.registry import registered

#: A Kolmogorov-Smirnov test of 20 000 draws rejects a correct sampler with this probability.
ALARM = 0.001
DRAWS = 20_000


def rows(n=400, seed=1, shift=0.0):
    """Confidences in predictions, of which a share of confidence + shift is right."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.4, 0.95, n)
    return (rng.random(n) < np.clip(confidence + shift, 0, 1)).astype(np.int64), confidence


def evaluated(right, confidence, **options):
    return bc.evaluate(right, confidence, target="confidence", rng=3, **options)


@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
@pytest.mark.parametrize("bins", [1, 15])
def test_the_posterior_of_independent_rows_is_a_beta_distribution(model, bins):
    """All confidences are too high by 0.3, towards which the default model shrinks the accuracies of the bins."""
    right, confidence = rows(shift=-0.3)
    ev = evaluated(right, confidence, model=model, bins=bins, draws=DRAWS)
    k, n = right.sum(), len(right)
    assert kstest(ev.accuracy.values, beta(k + 0.5, n - k + 0.5).cdf).pvalue > ALARM
    assert ev.plug_in_of("accuracy") == pytest.approx(k / n)


def test_the_top_label_is_right_or_wrong():
    """Three classes: the most probable one is right in two of four rows."""
    y, p = [0, 1, 2, 1], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.6, 0.3, 0.1], [0.5, 0.4, 0.1]]
    ev = bc.evaluate(y, p, draws=DRAWS, rng=1)
    assert ev.plug_in_of("accuracy") == 0.5
    assert kstest(ev.accuracy.values, beta(2.5, 2.5).cdf).pvalue > ALARM


def test_without_rows_the_draws_are_those_of_the_prior():
    ev = bc.evaluate_counts(bc.BinnedCounts.empty(target="confidence"), draws=DRAWS, rng=1)
    assert kstest(ev.accuracy.values, beta(0.5, 0.5).cdf).pvalue > ALARM
    assert np.isnan(ev.plug_in_of("accuracy"))


@pytest.mark.parametrize("target", ["event", "classwise"])
def test_an_event_has_no_accuracy(target):
    ev = bc.evaluate_counts(bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.6], target=target), draws=10, rng=1)
    assert not hasattr(ev, "accuracy")
    assert "accuracy" not in [row["quantity"] for row in ev.table()]
    remedy = "pass `target='confidence'`" if target == "event" else "evaluate the rows with `target='top-label'`"
    with pytest.raises(ValueError, match=f"the target of these counts is '{target}'.*{remedy}"):
        ev.draws("accuracy")
    with pytest.raises(ValueError, match="only with a decision threshold"):
        ev.plug_in_of("accuracy")


@pytest.mark.parametrize("names", ["AB", "ABC"])
def test_accuracies_of_events_are_not_compared(names):
    right, confidence = pair()
    result = bc.compare(right["A"], {name: confidence[name] for name in names}, draws=50, rng=1)
    assert "accuracy" not in result.models()
    with pytest.raises(ValueError, match="only with a decision threshold"):
        result.difference("A", "B", estimand="accuracy")


def test_the_table_and_the_tree_have_the_accuracy_beside_the_ece():
    ev = evaluated(*rows(), draws=100)
    (row,) = (row for row in ev.table() if row["quantity"] == "accuracy")
    assert row["low"] < row["plug_in"] < row["high"]
    posterior = ev.to_datatree()["posterior"]
    np.testing.assert_array_equal(posterior["accuracy_of_all_rows"].values.ravel(), ev.accuracy.values)
    assert posterior["accuracy"].dims[-1] == "bin"


def test_the_draws_are_joint_with_those_of_the_bins():
    """The mean confidence plus the signed error is the accuracy of the bins, whose order the draws have."""
    right, confidence = rows(shift=-0.2)
    ev = evaluated(right, confidence)
    of_bins = (ev.bin_draws.mass * ev.bin_draws.accuracy).sum(axis=1)
    np.testing.assert_array_equal(of_bins.argsort(), ev.accuracy.values.argsort())


def cluster_evidence(right, confidence, cluster, **options):
    return evidence(evaluated(right, confidence, cluster=cluster, draws=2, **options).counts)


def test_clusters_of_one_row_are_independent_rows():
    right, confidence = rows()
    found = cluster_evidence(right, confidence, np.arange(len(right)))
    assert found.rows == pytest.approx(len(right), rel=1e-9)
    assert found.freedom == pytest.approx(len(right) - 1)


def test_confidences_that_vary_within_a_bin_do_not_count_as_dependence():
    """One bin and confidences of the other answer: residuals vary more than outcomes."""
    right, confidence = rows()
    found = cluster_evidence(right, 1 - confidence, np.arange(len(right)), bins=1)
    assert found.rows == pytest.approx(len(right), rel=1e-9)


def test_rows_that_occur_three_times_count_once():
    right, confidence = rows()
    found = cluster_evidence(np.repeat(right, 3), np.repeat(confidence, 3), np.repeat(np.arange(len(right)), 3))
    # the confidences of a cluster vary together within a bin, by at most 1/15: not in the sums over clusters
    assert found.rows == pytest.approx(len(right), rel=0.005)
    assert found.most == pytest.approx(3 * len(right), rel=1e-12)


def test_the_design_effect_is_the_variance_of_sums_over_clusters():
    """Confidences with one value per bin, so that sums over clusters of outcomes follow from those of residuals."""
    rng = np.random.default_rng(5)
    cluster = np.sort(rng.integers(0, 60, 900))
    ability = rng.beta(2, 1.2, 60)[cluster]
    confidence = np.round(np.clip(ability + 0.2 * rng.standard_normal(900), 0.05, 0.95) * 10 - 0.5) / 10 + 0.05
    right = (rng.random(900) < ability).astype(np.int64)
    found = cluster_evidence(right, confidence, cluster, bins=10)
    a, size = right.mean(), np.bincount(cluster)
    variance = (np.bincount(cluster, right - a) ** 2).sum() / 900**2
    clusters = 900**2 / (size**2).sum()
    fewer = min(a, 1 - a) * 900
    effect = (fewer * variance / (a * (1 - a) / 900) + 900 / clusters) / (fewer + 1)
    assert effect > 2
    assert found.rows == pytest.approx(900 / effect, rel=1e-9)
    assert found.freedom == pytest.approx(clusters - 1)


def test_clusters_count_if_all_predictions_are_right():
    """Nothing shows whether wrong predictions of one cluster would occur together."""
    _, confidence = rows()
    found = cluster_evidence(np.ones(400), confidence, np.repeat(np.arange(40), 10))
    assert found.rows == pytest.approx(40)


def test_few_clusters_make_wider_intervals():
    """Ten clusters of equal rows: a scale mixture whose number of rows has a chi-squared distribution."""
    rng = np.random.default_rng(2)
    right, confidence = np.repeat(rng.random(10) < 0.6, 20), np.full(200, 0.7)
    ev = evaluated(right, confidence, cluster=np.repeat(np.arange(10), 20), draws=DRAWS)
    found = evidence(ev.counts)
    scale = np.random.default_rng(8).chisquare(9, DRAWS) / 9
    trials, a = np.minimum(found.rows * scale, 200), right.mean()
    expected = np.random.default_rng(9).beta(a * trials + 0.5, (1 - a) * trials + 0.5)
    assert kstest(ev.accuracy.values, expected).pvalue > ALARM
    plain = beta(a * found.rows + 0.5, (1 - a) * found.rows + 0.5)
    assert np.diff(ev.accuracy.interval(0.95)) > np.diff(plain.interval(0.95))


def test_equal_weights_change_nothing_and_others_count_as_effective_rows():
    right, confidence = rows()
    plain, scaled = (evaluated(right, confidence, weights=w, draws=50) for w in (None, np.full(400, 2.5)))
    np.testing.assert_allclose(scaled.accuracy.values, plain.accuracy.values)
    found = evidence(evaluated(np.tile([1, 0], 200), np.full(400, 0.7), weights=np.repeat([1.0, 4.0], 200)).counts)
    assert found.rows == pytest.approx(1000**2 / (200 + 16 * 200))  # Kish: equal accuracies for all weights


def test_weights_that_depend_on_the_confidence_enter_with_their_variance():
    """Two bins: light rows with accuracy 0.9 and heavy ones with 0.5; in each, weights and outcomes are independent."""
    right = np.concatenate([np.repeat([1, 0], [180, 20]), np.tile([1, 0], 100)])
    confidence, weight = np.repeat([0.9, 0.3], 200), np.repeat([1.0, 3.0], 200)
    found = evidence(evaluated(right, confidence, bins=2, weights=weight).counts)
    a = (right @ weight) / weight.sum()
    kish = weight.sum() ** 2 / (weight @ weight)
    ratio = ((weight * (right - a)) ** 2).sum() / weight.sum() ** 2 / (a * (1 - a) / kish)
    fewer = min(a, 1 - a) * kish
    assert ratio > 1.02
    assert found.rows == pytest.approx(kish * (fewer + 1) / (fewer * ratio + 1))


def pair(n=300, seed=4):
    """Outcomes and confidences of three classifiers on the same rows, which are often right together."""
    rng = np.random.default_rng(seed)
    easy = rng.uniform(0.3, 1.0, n)
    common = rng.random(n)
    right = {
        name: (np.where(rng.random(n) < 0.7, common, rng.random(n)) < easy + shift).astype(np.int64)
        for name, shift in (("A", 0.0), ("B", -0.1), ("C", 0.05))
    }
    return right, {name: np.clip(easy + 0.1 * rng.standard_normal(n), 0.05, 0.95) for name in right}


def dirichlet_moments(first, second):
    """Mean and standard deviation of the difference of two shares, with prior parameters 1/4; their correlation."""
    n = len(first)
    p = (np.array([np.sum((first == i) & (second == j)) for i in (0, 1) for j in (0, 1)]) + 0.25) / (n + 1)
    covariance = (np.diag(p) - np.outer(p, p)) / (n + 2)
    difference, one, other = np.array([[0, -1, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    together = (one @ covariance @ other) / np.sqrt((one @ covariance @ one) * (other @ covariance @ other))
    return difference @ p, np.sqrt(difference @ covariance @ difference), together


def compared(names, **options):
    right, confidence = pair()
    right, confidence = ({name: each[name] for name in names} for each in (right, confidence))
    return right, bc.compare(right, confidence, target="confidence", rng=5, draws=DRAWS, **options)


def test_the_difference_of_two_accuracies_has_the_moments_of_a_dirichlet_distribution():
    """Standard errors of mean and standard deviation of 20 000 draws: 0.7 % and 0.5 % of the deviation."""
    right, result = compared("AB")
    mean, sd, _ = dirichlet_moments(right["A"], right["B"])
    drawn = result.difference("A", "B", estimand="accuracy")
    assert drawn.mean() == pytest.approx(mean, abs=4 * 0.007 * sd)
    assert drawn.sd() == pytest.approx(sd, rel=4 * 0.005)
    for column, name in enumerate("AB"):
        k = right[name].sum()
        values = result.draws("accuracy").values[:, column]
        assert kstest(values, beta(k + 0.5, 300 - k + 0.5).cdf).pvalue > ALARM


def test_more_classifiers_have_the_same_margins_and_correlations():
    right, result = compared("ABC")
    counts = [result[name].counts for name in "ABC"]
    correlations = correlation_of_accuracies(counts, result.pairs)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        one, other = "ABC"[i], "ABC"[j]
        mean, sd, together = dirichlet_moments(right[one], right[other])
        assert correlations[i, j] == pytest.approx(together, rel=1e-9)
        drawn = result.difference(one, other, estimand="accuracy")
        assert drawn.mean() == pytest.approx(mean, abs=4 * 0.007 * sd)
        assert drawn.sd() == pytest.approx(sd, rel=0.03)


def test_clusters_of_one_row_change_neither_correlation_nor_difference():
    right, result = compared("AB", cluster=np.arange(300))
    _, sd, together = dirichlet_moments(right["A"], right["B"])
    counts = [result[name].counts for name in "AB"]
    assert correlation_of_accuracies(counts, result.pairs)[0, 1] == pytest.approx(together, abs=0.01)
    assert result.difference("A", "B", estimand="accuracy").sd() == pytest.approx(sd, rel=0.03)


def test_weights_enter_the_correlation_with_their_squares():
    right, _ = pair()
    weights = np.random.default_rng(1).exponential(size=300)
    _, result = compared("AB", weights=weights)
    kish, squares = weights.sum() ** 2 / (weights @ weights), weights**2
    means = {name: (right[name] @ weights / weights.sum() * kish + 0.5) / (kish + 1) for name in "AB"}
    more = (squares.sum() / weights.sum()) ** 2 / 4 * np.ones(4)  # a row of mean weight for the four joint outcomes
    a, b = (np.append(right[name], ends) - means[name] for name, ends in (("A", [0, 0, 1, 1]), ("B", [0, 1, 0, 1])))
    aa, bb, ab = (np.append(squares, more) @ product for product in (a * a, b * b, a * b))
    found = correlation_of_accuracies([result[name].counts for name in "AB"], result.pairs)[0, 1]
    assert found == pytest.approx(ab / np.sqrt(aa * bb), rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"cluster": np.repeat(np.arange(60), 5)}, {"weights": np.arange(1.0, 301.0)}])
def test_two_names_of_one_classifier_are_equal(options):
    right, confidence = pair()
    twice = ({"one": each["A"], "two": each["A"]} for each in (right, confidence))
    result = bc.compare(*twice, target="confidence", rng=1, draws=100, **options)
    assert not result.difference("one", "two", estimand="accuracy").values.any()


def test_clusters_that_share_right_answers_widen_the_difference():
    """Each row three times: the difference has the standard deviation of the rows that differ."""
    right, confidence = ({name: np.repeat(v, 3) for name, v in each.items() if name != "C"} for each in pair())
    cluster = np.repeat(np.arange(300), 3)
    result = bc.compare(right, confidence, target="confidence", cluster=cluster, rng=1, draws=DRAWS)
    _, sd, _ = dirichlet_moments(right["A"][::3], right["B"][::3])
    assert result.difference("A", "B", estimand="accuracy").sd() == pytest.approx(sd, rel=0.03)


def test_bins_of_a_target_without_labels_have_the_accuracies_of_the_model():
    """Labelled rows below 0.8, rows of the target up to 1, weights of 1: labelled bins have the Beta posterior."""
    rng = np.random.default_rng(6)
    source, target = rng.uniform(0.5, 0.8, 600), rng.uniform(0.5, 1.0, 500)
    label = (rng.random(600) > source).astype(np.int64)
    matrices = (np.column_stack([each, 1 - each]) for each in (source, target))
    ev = bc.shift.covariate(label, *matrices, weights=np.ones(600), bins=10, rng=1)
    seen, right = target < 0.8, label == 0
    of_bin = [right[(source >= low / 10) & (source < (low + 1) / 10)] for low in (5, 6, 7)]
    share = np.array([np.mean((target >= low / 10) & (target < (low + 1) / 10)) for low in (5, 6, 7)])
    observed = share @ [each.mean() for each in of_bin] / share.sum()
    assert ev.plug_in_of("accuracy") == pytest.approx(observed)
    unseen = (ev.bin_draws.mass * ev.bin_draws.accuracy)[:, 8:].sum(axis=1).mean()
    assert ev.accuracy.mean() == pytest.approx(seen.mean() * observed + unseen, abs=0.002)


def test_groups_have_accuracies_of_their_own():
    right, confidence = rows()
    north = np.arange(400) % 4 == 0
    result = evaluated(right, confidence, by=np.where(north, "north", "south"), draws=100)
    assert result["north"].plug_in_of("accuracy") == pytest.approx(right[north].mean())
    assert set(result.p_best("accuracy")) == {"north", "south"}


def test_the_record_names_its_direction():
    record = registered()["accuracy"]
    assert record.better == "larger"
    assert record.axis_label("top-label") == "accuracy"
