"""Selective prediction: the posterior of one and of several classifiers, weights, clusters, counts, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

import bayescal as bc
from bayescal.decisions import selective_analysis as module
from bayescal.estimands.selective import draw_priors, prior_of

FAST = {"target": "confidence", "draws": 400, "rng": 1}
SHARES = np.arange(1, 101) / 100


def generated(seed=1, n=1500):
    """Outcomes and two correlated confidences in one decision, the first of which is the better one."""
    rng = np.random.default_rng(seed)
    first = rng.beta(3, 1, n)
    return rng.random(n) < first, first, np.clip(first + rng.normal(0, 0.15, n), 0, 1)


def selective(z, c, **options):
    return bc.decisions.selective(z, c, **FAST | options)


def equal(one, other):
    return all(np.array_equal(one.risk[name].values, other.risk[name].values) for name in one.classifiers)


# --- one classifier


@pytest.mark.slow
def test_all_kept_rows_have_a_beta_posterior_at_the_end():
    """Beta(wrong + 1, right + 1); the Monte Carlo sd of a mean of 20 000 draws is sd / 141, of an sd sd / 200."""
    z, c, _ = generated(n=300)
    drawn = selective(z, c, draws=20_000).risk["model"].values[:, -1]
    exact = beta((~z).sum() + 1, z.sum() + 1)
    assert drawn.mean() == pytest.approx(exact.mean(), abs=4 * exact.std() / 141)
    assert drawn.std() == pytest.approx(exact.std(), abs=4 * exact.std() / 200)


@pytest.mark.parametrize("weight", [1.0, 8.0, 0.3])
def test_equal_weights_change_nothing(weight):
    """Sums of 0.3 are rounded, so that other Gamma variables are rejected; means agree within 4.5 Monte Carlo sds."""
    z, c, _ = generated()
    one, other = selective(z, c).risk["model"], selective(z, c, weights=np.full(len(z), weight)).risk["model"]
    assert np.array_equal(one.values, other.values) or weight == 0.3
    assert (np.abs(one.mean() - other.mean()) / one.mcse()).max() < 4.5 * np.sqrt(2)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("factor", [2.0**40, 2.0**-600, 2.0**500])
def test_the_scale_of_weights_changes_nothing(several, factor):
    z, first, second = generated()
    c = {"a": first, "b": second} if several else {"a": first}
    weight = np.random.default_rng(1).gamma(1, size=len(z))
    one, other = selective(z, c, weights=weight), selective(z, c, weights=weight * factor)
    for name in c:
        np.testing.assert_allclose(one.risk[name].values, other.risk[name].values, rtol=1e-9)


def test_integer_weights_have_the_observed_risk_of_copies_and_the_rows_of_kish():
    z, c, _ = generated(n=200)
    weight = np.random.default_rng(2).integers(1, 6, 200)
    weighted, copied = selective(z, c, weights=weight), selective(np.repeat(z, weight), np.repeat(c, weight))
    np.testing.assert_allclose(weighted.observed["model"], copied.observed["model"][-len(weighted.shares) :], atol=1e-9)
    kish = weight.sum() ** 2 / (weight.astype(float) ** 2).sum()
    ratio = weighted.risk["model"].sd()[50:] / copied.risk["model"].sd()[-len(weighted.shares) :][50:]
    assert np.median(ratio) == pytest.approx(np.sqrt(weight.sum() / kish), rel=0.1)


def test_heavy_rows_at_the_top_are_few_rows():
    """30 rows with a tenth of the weight: their risk is known as of 30 rows, not of a tenth of Kish's number."""
    rng = np.random.default_rng(1)
    c = np.concatenate([rng.uniform(0.9, 1, 30), rng.uniform(0.5, 0.9, 5000)])
    weight = np.where(c > 0.9, 5000 / 9 / 30, 1.0)
    z = rng.random(5030) >= np.where(c > 0.9, 0.2, 0.4)
    kept = selective(z, c, weights=weight, draws=4000)
    alone = selective(z[:30], c[:30], draws=4000)
    sd, of_thirty = kept.selective_risk(0.1)["model"].sd(), alone.risk["model"].sd()[-1]
    assert sd == pytest.approx(of_thirty, rel=0.15)


def test_rows_of_weight_0_are_not_there():
    z, first, second = generated()
    weight = np.arange(len(z)) % 2
    c = {"a": first, "b": second}
    one = selective(z, c, weights=weight)
    other = selective(z[1::2], {name: each[1::2] for name, each in c.items()})
    for name in c:
        np.testing.assert_allclose(one.observed[name], other.observed[name], atol=1e-12)
        np.testing.assert_allclose(one.risk[name].mean(), other.risk[name].mean(), atol=0.01)
        np.testing.assert_allclose(one.augrc[name].sd(), other.augrc[name].sd(), rtol=0.2)


def test_copies_of_a_row_in_a_cluster_are_worth_one_row():
    """Also for two classifiers; the sd of 400 draws has a relative error of 4 %, that of a ratio of 5 %."""
    z, first, second = generated(n=400)
    number = np.repeat(np.arange(400), 5)
    for c in ({"a": first}, {"a": first, "b": second}):
        alone = selective(z, c, cluster=np.arange(400), draws=2000)
        copies = {name: each[number] for name, each in c.items()}
        clustered = selective(z[number], copies, cluster=number, draws=2000)
        for name in c:
            at = np.searchsorted(clustered.shares, alone.shares - 1e-9)
            ratio = clustered.risk[name].sd()[at] / alone.risk[name].sd()
            assert np.abs(np.log(ratio[20:])).max() < 0.15
        np.testing.assert_allclose(clustered.cells["a"].row, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [False, True])
def test_clusters_at_the_top_are_few_rows(spread):
    """Ten clusters of 60 rows, of which one or none is wrong, before 3000 rows: the risk is that of ten rows."""
    rng = np.random.default_rng(1)
    top = rng.uniform(0.9, 1, 600)
    c = np.concatenate([top if spread else np.sort(top), rng.uniform(0.5, 0.9, 3000)])
    cluster = np.concatenate([np.repeat(np.arange(10), 60), 10 + np.arange(3000)])
    for wrong in (0, 1):
        z = np.where(cluster < 10, cluster >= wrong, rng.random(3600) < 0.7)
        kept = selective(z, c, cluster=cluster, draws=4000)
        found = kept.selective_risk(600 / 3600)["model"]
        alone = beta(wrong + 0.5, 10 - wrong + 0.5)
        assert found.interval(0.95)[1] == pytest.approx(alone.ppf(0.975), rel=0.25)
        by_row = selective(z, c, draws=4000).selective_risk(600 / 3600)["model"]
        assert found.sd() > 3 * by_row.sd()


def test_several_classifiers_share_the_random_numbers_of_clusters():
    z, first, _ = generated(n=2000)
    cluster = np.arange(2000) // 10
    other = np.clip(first + np.random.default_rng(5).normal(0, 0.02, len(z)), 0, 1)
    found = selective(z, {"a": first, "b": other, "c": first}, cluster=cluster, draws=2000)
    independent = np.hypot(found.risk["a"].sd(), found.risk["b"].sd())
    assert (found.difference("a", "b").sd() < 0.75 * independent)[10:].all()
    np.testing.assert_array_equal(found.risk["a"].values, found.risk["c"].values)
    alone = selective(z, other, cluster=cluster, draws=2000).risk["model"]
    assert np.abs(np.log(found.risk["b"].sd() / alone.sd()))[5:].max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("tied", [82, 90, 99, 119])
@pytest.mark.parametrize("options", [{"cluster": np.arange(200)}, {"weights": np.append(np.ones(199), 1.001)}])
def test_a_first_cell_with_many_rows_has_the_whole_prior(tied, options):
    """The upper limit of no wrong row in the first cell is that of independent rows, here within 20 %."""
    c = np.concatenate([np.ones(tied), np.linspace(0.9, 0.3, 200 - tied)])
    z = np.arange(200) < 180
    alone, other = selective(z, c, draws=4000), selective(z, c, draws=4000, **options)
    low, high = (each.selective_risk(0.3)["model"].interval(0.95)[1] for each in (alone, other))
    assert high == pytest.approx(low, rel=0.2)
    with_wrong = np.arange(200) < tied
    assert selective(with_wrong, c, draws=4000, **options).threshold(0.005).share == 0


def test_differences_without_wrong_rows_have_the_width_of_two_classifiers():
    """Disjoint rows are kept: nearly the difference of independent Beta variables; that of all prior rows is 0."""
    z = np.abs(np.arange(400) - 199.5) > 20
    c = np.linspace(0.99, 0.5, 400)
    gap = selective(z, {"a": c, "b": c[::-1].copy()}, draws=4000).difference()
    low, high = gap.interval(0.95)
    rng = np.random.default_rng(1)
    expected = np.quantile(rng.beta(0.5, 80.5, 10**5) - rng.beta(0.5, 80.5, 10**5), 0.975)
    assert high[19] == pytest.approx(expected, rel=0.35)
    assert low[19] == pytest.approx(-expected, rel=0.35)
    assert np.abs(gap.values[:, -1]).max() < 1e-9  # all are kept, and the outcomes are the same


def test_prior_rows_of_several_classifiers_have_the_marginal_distribution():
    """Each number is a Gamma variable; correlations are those of the copula, 1 for one classifier."""
    correlation = np.array([[1.0, 0.5], [0.5, 1.0]])
    one, other = draw_priors([1, 6], correlation, correlation, 4000, np.random.default_rng(1))
    assert kstest(one[:, 0, 0], gamma(1).cdf).pvalue > 1e-3
    for cell, rows in enumerate(prior_of(6)):
        if rows > 0.4:
            assert kstest(other[:, 1, cell], gamma(rows).cdf).pvalue > 1e-3
    assert kstest(other[:, 0].sum(axis=1), gamma(1).cdf).pvalue > 1e-3
    assert 0.3 < np.corrcoef(one[:, 0, 0], other[:, 0].sum(axis=1))[0, 1] < 0.6


def test_clusters_of_one_row_are_independent_rows():
    """The sum of standard exponential numbers of rows is a Gamma variable."""
    z, c, _ = generated()
    alone, clustered = selective(z, c, draws=4000), selective(z, c, draws=4000, cluster=np.arange(len(z)))
    np.testing.assert_allclose(clustered.cells["model"].row, 1.0)
    ratio = clustered.risk["model"].sd()[10:] / alone.risk["model"].sd()[10:]
    assert np.abs(np.log(ratio)).max() < 0.1


def test_a_matrix_is_about_the_most_probable_class():
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(3), 500)
    labels = rng.integers(0, 3, 500)
    found = bc.decisions.selective(labels, matrix, draws=400, rng=1)
    assert equal(found, selective(matrix.argmax(axis=1) == labels, matrix.max(axis=1)))
    logits = bc.decisions.selective(labels, np.log(matrix), logits=True, draws=400, rng=1)
    np.testing.assert_allclose(found.risk["model"].values, logits.risk["model"].values, atol=1e-12)
    names = np.array(["x", "y", "z"])
    named = bc.decisions.selective(names[labels], matrix, classes=["x", "y", "z"], draws=400, rng=1)
    assert equal(found, named)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_give_the_same_result_as_rows(weighted):
    z, c, _ = generated()
    weights = np.random.default_rng(1).gamma(1, size=len(z)) if weighted else None
    counts = bc.evaluate(z, c, target="confidence", weights=weights, rng=1).counts
    found = bc.decisions.selective_counts(counts, draws=400, rng=1)
    once = selective(z, c, weights=weights)
    assert equal(found, once)
    assert found.threshold(0.2) == once.threshold(0.2) or weighted  # NaN is not equal to itself


def test_counts_without_ranks_have_bins_as_cells():
    """Two bins, of which the upper one has 3 rows with 1 wrong, and the lower one 1 row: by hand."""
    counts = replace(bc.BinnedCounts.from_arrays([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.2], bins=2), ranks=None)
    found = bc.decisions.selective_counts(counts, draws=100, rng=1, name="net")
    np.testing.assert_allclose(found.observed["net"][[0, 25, 50, 75]], [1 / 3, 1 / 3, 1 / 3, 1 / 2])
    np.testing.assert_array_equal(found.cells["net"].confidence, [0.5, 0.0])


def test_without_ranks_intervals_contain_every_order_inside_bins():
    """1200 rows in three bins: the risk of a third of a bin is between those with right, and with wrong ones first."""
    right, rows = np.array([150, 300, 380]), 400
    z = np.concatenate([np.arange(rows) < each for each in right])
    c = np.repeat([0.2, 0.5, 0.8], rows)
    counts = replace(bc.BinnedCounts.from_arrays(z, c, bins=3), ranks=None)
    found = bc.decisions.selective_counts(counts, draws=4000, rng=1)
    for share, least, most in ((0.1, 0.0, 20 / 120), (0.5, 20 / 600, 120 / 600), (1.0, 370 / 1200, 370 / 1200)):
        low, high = found.selective_risk(share)["model"].interval(0.98)
        assert low < least + 0.005
        assert high > most - 0.005
    areas = [evaluated_by_rank(right, rows, order) for order in (1, -1)]
    low, high = found.augrc["model"].interval(0.98)
    assert low < areas[0] < areas[1] < high
    assert found.augrc["model"].interval(0.5)[1] - found.augrc["model"].interval(0.5)[0] < areas[1] - areas[0]
    ev = bc.evaluate_counts(counts, rng=1)
    error = (areas[1] - areas[0]) / 2
    assert ev.augrc.name == f"augrc (to within {error:.2g}, because the order of rows inside bins is not known)"


def evaluated_by_rank(right, rows, order):
    """AUGRC if the right ones come first in every bin, or the wrong ones."""
    wrong = np.concatenate([(np.arange(rows) >= each)[::order] for each in right[::-1]])
    kept = np.concatenate([[0], np.cumsum(wrong)]) / len(wrong)
    return (kept[1:] + kept[:-1]).sum() / 2 / len(wrong)


def test_sums_of_counts_in_clusters_have_no_selective_risk():
    z, c, _ = generated(n=200)
    parts = [bc.evaluate(z, c, target="confidence", cluster=np.arange(200) // 4, rng=1).counts for _ in range(2)]
    ev = bc.evaluate_counts(parts[0] + parts[1], rng=1)
    with pytest.raises(ValueError, match=r"a selective risk of rows in clusters needs the rows: .* Call `evaluate"):
        ev.selective_risk(0.5)
    assert not hasattr(ev, "augrc")


# --- several classifiers


def test_two_names_of_one_classifier_have_the_same_draws():
    """Also if a third classifier divides their cells."""
    z, first, second = generated()
    found = selective(z, {"a": first, "b": second, "c": first})
    np.testing.assert_array_equal(found.risk["a"].values, found.risk["c"].values)
    assert (found.difference("a", "c").values == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_each_classifier_has_its_own_posterior(weighted):
    """Means within 4.5 Monte Carlo sds and sds within 10 % at 21 shares; the rate of a false alarm is below 1e-3."""
    z, first, second = generated()
    weights = np.random.default_rng(1).gamma(1, size=len(z)) if weighted else None
    joint = selective(z, {"a": first, "b": second}, draws=4000, weights=weights)
    for name, c in (("a", first), ("b", second)):
        alone = selective(z, c, draws=4000, rng=2, weights=weights).risk["model"]
        error = np.hypot(alone.mcse(), joint.risk[name].mcse())
        assert (np.abs(alone.mean() - joint.risk[name].mean()) / error)[::5].max() < 4.5
        assert np.abs(np.log(alone.sd() / joint.risk[name].sd()))[::5].max() < 0.1


@pytest.mark.slow
def test_differences_are_those_of_the_same_rows():
    """The sd of a difference of risks of all rows is known: wrong by one classifier alone, as Dirichlet counts."""
    rng = np.random.default_rng(4)
    z = rng.random(2000) < 0.8
    y = {"a": z, "b": np.where(rng.random(2000) < 0.9, z, ~z)}
    c = {"a": rng.random(2000), "b": rng.random(2000)}
    found = bc.decisions.selective(y, c, target="confidence", draws=4000, rng=1)
    gap = found.difference().values[:, -1]
    only = np.array([np.mean(~y["a"] & y["b"]), np.mean(y["a"] & ~y["b"])])
    expected = np.sqrt((only.sum() - (only[0] - only[1]) ** 2) / 2000)
    assert gap.std() == pytest.approx(expected, rel=0.06)
    assert gap.mean() == pytest.approx(only[0] - only[1], abs=0.002)
    alone = [bc.decisions.selective(y[n], c[n], target="confidence", draws=4000, rng=i) for i, n in enumerate("ab")]
    independent = alone[0].risk["model"].values[:, -1] - alone[1].risk["model"].values[:, -1]
    assert gap.std() < 0.75 * independent.std()


def test_correlated_classifiers_have_narrow_differences_at_all_shares():
    z, first, _ = generated()
    other = np.clip(first + np.random.default_rng(5).normal(0, 0.02, len(z)), 0, 1)
    found = selective(z, {"a": first, "b": other}, draws=2000)
    independent = np.hypot(found.risk["a"].sd(), found.risk["b"].sd())
    assert (found.difference().sd() < 0.75 * independent).all()


def test_the_number_of_draws_at_once_changes_nothing(monkeypatch):
    z, first, second = generated()
    whole = selective(z, {"a": first, "b": second})
    monkeypatch.setattr("bayescal.stats.clusters.AT_ONCE", 7 * 400)
    other = selective(z, {"a": first, "b": second})
    for name in ("a", "b"):
        np.testing.assert_allclose(other.risk[name].values, whole.risk[name].values, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_large_comparisons_have_few_combinations(monkeypatch, weighted):
    """Each classifier keeps its own posterior, also at small shares; only differences lose some precision."""
    z, first, second = generated(n=3000)
    c = {"a": first, "b": second, "c": first}
    weights = np.random.default_rng(1).gamma(1, size=len(z)) if weighted else None
    fine = selective(z, c, draws=4000, weights=weights)
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 150)
    coarse = selective(z, c, draws=4000, weights=weights)
    for name in c:
        # Monte Carlo sd of a difference of means: 0.022 sd
        shift = np.abs(fine.risk[name].mean() - coarse.risk[name].mean()) / fine.risk[name].sd()
        assert shift[::5].max() < (0.15 if weighted else 0.1)
        ratio = fine.risk[name].sd() / coarse.risk[name].sd()
        assert np.abs(np.log(ratio))[::5].max() < (0.25 if weighted else 0.1)  # few weighted rows: not Gamma variables
    ratio = coarse.difference("a", "b").sd() / fine.difference("a", "b").sd()
    assert 0.9 < ratio[20:].min() < np.median(ratio[20:]) < 1.2
    np.testing.assert_array_equal(coarse.risk["a"].values, coarse.risk["c"].values)


def test_priors_are_shared_by_classifiers_with_other_numbers_of_cells():
    """One classifier, and the same with its ties broken: the difference is that of the rows, without prior noise."""
    rng = np.random.default_rng(5)
    c = rng.integers(50, 100, 2000) / 100
    z = rng.random(2000) < c**0.1
    kept = selective(z, {"ties": c, "broken": c + 1e-6 * rng.random(2000)}, draws=1000)
    assert len(kept.cells["ties"].confidence) < len(kept.cells["broken"].confidence)
    assert (kept.augrc["ties"] - kept.augrc["broken"]).sd() < 0.15 * kept.augrc["ties"].sd()


def test_seeds_decide():
    z, first, second = generated(n=200)
    c = {"a": first, "b": second}
    assert equal(selective(z, c, rng=3), selective(z, c, rng=np.random.default_rng(3)))
    assert not equal(selective(z, c, rng=3), selective(z, c, rng=4))


# --- refusals

Z, C, _ = generated(n=100)
GAP = np.where(np.arange(100) == 7, np.nan, C)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((Z, C), {"target": None}, "`y_prob` is one column, the probabilities of an event"),
        ((Z, C), {"target": "event"}, "pass `target='confidence'`"),
        ((Z, {"a": C, "b": C}), {"target": "event"}, "as in `numpy.column_stack([1 - p, p])`"),
        ((Z, {"a": C, "b": C}), {"target": "classwise"}, "must not be 'classwise'"),
        ((Z, C), {"target": "top-label"}, "needs a matrix of shape (N, K) with K >= 2; `y_prob` has shape (100,)"),
        ((Z, np.column_stack([C, C])), {}, "needs one probability per row"),
        (([], []), {}, "`y_true` is empty"),
        ((Z, {}), {}, "must be an array, a list or a column, not a dict"),
        ((Z, {1: C}), {}, "`y_prob` must have names that are strings; 1 is not"),
        ((Z, {"a": C, 1: C}), {}, "`y_prob` must have names that are strings; 1 is not"),
        ((Z, GAP), {}, "`y_prob` must be complete; 1 of 100 values is missing (NaN, null or None), first at index 7"),
        ((Z, {"a": C, "b": GAP}), {}, "classifier 'b': `y_prob` must be complete; 1 of 100 values is missing"),
        ((Z, C[:9]), {}, "`y_true` has 100, `y_prob` has 9, so the first row without a partner is at index 9"),
        ((Z, {"a": C, "b": C[:9]}), {}, "classifier 'b': `y_true` and `y_prob` must have the same length"),
        ((Z, C), {"weights": np.ones(9)}, "`weights` has 9"),
        ((Z, C), {"weights": np.zeros(100)}, "`weights` are all zero"),
        ((Z, C), {"cluster": np.ones(9)}, "`cluster` has 9"),
        ((Z, C), {"cluster": np.ones(100)}, "`cluster` must hold at least two clusters"),
        ((Z, C), {"draws": 1}, "`draws` must be an integer >= 2, not 1"),
    ],
)
def test_arguments_are_checked(arguments, options, said):
    with pytest.raises((TypeError, ValueError)) as raised:
        bc.decisions.selective(*arguments, **{"target": "confidence", "draws": 50} | options)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("counts", "options", "said"),
    [
        (Z, {}, "`counts` must be BinnedCounts, not ndarray; for rows, use `bayescal.decisions.selective`"),
        (bc.BinnedCounts.from_arrays(Z, C, target="event"), {}, "the target of these counts is 'event'"),
        (bc.BinnedCounts.empty(5, target="confidence"), {}, "a selective risk needs rows; these counts have none"),
        (bc.BinnedCounts.from_arrays(Z, C), {"name": 3}, "`name` must be a string that is not empty, not 3"),
    ],
)
def test_counts_are_checked(counts, options, said):
    with pytest.raises((TypeError, ValueError)) as raised:
        bc.decisions.selective_counts(counts, draws=50, rng=1, **options)
    assert said in str(raised.value)
