"""Selective prediction: risks by sorting, the AUGRC of the paper, exact marginals of the posterior, and refusals."""

import numpy as np
import pytest
from scipy.stats import beta, kstest
from sklearn.metrics import roc_auc_score

import bayescal as bc
from bayescal.estimands.area_under_roc import grid_of
from bayescal.estimands.selective import PRIOR_ROWS, Cells, Selection, augrc_grid_error, observed_selection


def sets(seed, n=300, ties=False, weighted=False):
    rng = np.random.default_rng(seed)
    c = rng.random(n)
    c = np.round(c, 1) if ties else c
    weight = rng.gamma(2.0, size=n) if weighted else None
    return rng.random(n) < c, c, weight


def evaluated(z, c, weight=None, **options):
    return bc.evaluate(z, c, target="confidence", weights=weight, rng=1, **options)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_observed_augrc_is_the_formula_of_the_paper(seed, ties, weighted):
    z, c, weight = sets(seed, ties=ties, weighted=weighted)
    accuracy = np.average(z, weights=weight)
    auc = roc_auc_score(z, c, sample_weight=weight)
    expected = accuracy * (1 - accuracy) * (1 - auc) + (1 - accuracy) ** 2 / 2
    assert evaluated(z, c, weight).plug_in_of("augrc") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_observed_risk_is_that_of_the_sorted_rows(seed):
    z, c, _ = sets(seed)
    found = observed_selection(evaluated(z, c).counts)
    wrong = np.cumsum(~z[np.argsort(-c)])
    kept = np.arange(1, 301)
    np.testing.assert_allclose(found.risk(kept / 300)[0], wrong / kept, atol=1e-12)


def test_rows_with_one_confidence_are_kept_in_random_order():
    z, c = [1, 0, 1, 1, 0, 0], [0.9, 0.5, 0.5, 0.5, 0.5, 0.2]
    found = observed_selection(evaluated(z, c).counts)
    # half of the rows: the first, and two of four of which half are wrong
    np.testing.assert_allclose(found.risk(np.array([0.5, 1.0]))[0], [1 / 3, 1 / 2], atol=1e-12)


def test_the_risk_of_all_rows_has_a_beta_posterior():
    z, c, _ = sets(1)
    wrong = int((~z).sum())
    drawn = evaluated(z, c, draws=4000).selective_risk(1.0).values
    half = PRIOR_ROWS / 2
    assert kstest(drawn, beta(wrong + half, 300 - wrong + half).cdf).pvalue > 1e-3


def test_the_kept_share_has_a_beta_posterior_with_half_a_pseudo_row():
    """Confidences 1 and 0: the upper cell has 40 rows, of which 4 are wrong, and half of a row of each outcome."""
    z, c = np.arange(100) >= np.repeat([4, 70], [40, 60]), np.repeat([0.9, 0.1], [40, 60])
    drawn = Cells.of_counts(evaluated(z, c).counts).draw(4000, np.random.default_rng(3))
    assert kstest(drawn.kept[:, 1], beta(41, 61).cdf).pvalue > 1e-3
    assert kstest(drawn.wrong[:, 1] / drawn.kept[:, 1], beta(4.5, 36.5).cdf).pvalue > 1e-3


def test_many_distinct_confidences_are_merged_without_changing_sums():
    z, c, _ = sets(2, n=20_000)
    ev = evaluated(z, c, draws=500)
    exact = observed_selection(ev.counts)
    share = np.array([0.05, 0.3, 0.8])
    drawn = ev.selective_risk(share)
    assert np.abs((drawn.mean() - exact.risk(share)[0]) / drawn.sd()).max() < 0.5
    assert ev.augrc.mean() == pytest.approx(ev.plug_in_of("augrc"), abs=0.5 * ev.augrc.sd())


def test_the_largest_share_has_the_risk():
    z, c, _ = sets(3, n=2000)
    selection = Cells.of_counts(evaluated(z, c).counts).draw(50, np.random.default_rng(1))
    for i, share in enumerate(selection.largest_share(0.3)):
        one = Selection(selection.kept[i : i + 1], selection.wrong[i : i + 1])
        assert one.risk(np.array([share]))[0, 0] == pytest.approx(0.3, abs=1e-9)
        beyond = np.linspace(share + 1e-6, 1, 400)
        assert (one.risk(beyond)[0] > 0.3).all()


@pytest.mark.parametrize(
    ("wrong", "right", "risk", "share"),
    [
        ([[0.0, 1.0]], [[1.0, 0.0]], 0.25, 2 / 3),  # one right, one wrong: w / (1 + w) = 0.25
        ([[1.0, 0.0]], [[0.0, 1.0]], 0.4, 0.0),  # the most confident one is wrong, and half of all
        ([[1.0, 0.0]], [[0.0, 1.0]], 0.6, 1.0),
        ([[0.0, 1.0, 0.0]], [[1.0, 0.0, 8.0]], 0.2, 1.0),  # the risk exceeds the limit in between
    ],
)
def test_largest_shares_by_hand(wrong, right, risk, share):
    found = Selection.of_cells(np.array(wrong), np.array(right)).largest_share(risk)
    assert found[0] == pytest.approx(share, abs=1e-12)


def test_draws_of_one_evaluation_are_joint():
    z, c, _ = sets(4, n=1000)
    ev = evaluated(z, c)
    np.testing.assert_allclose(ev.selective_risk([0.5, 1.0]).values[:, 1], ev.selective_risk(1.0).values)
    difference = ev.selective_risk(0.5) - ev.selective_risk(0.45)
    assert difference.sd() < 0.5 * ev.selective_risk(0.5).sd()


@pytest.mark.slow
def test_draws_of_the_augrc_are_joint_with_risks_and_have_the_ranks_of_the_bins():
    z, c, _ = sets(4, n=1000)
    ev = evaluated(z, c)
    shares = np.arange(1, 1001) / 1000
    wrong = ev.selective_risk(shares).values * shares
    np.testing.assert_allclose(ev.augrc.values, wrong.mean(axis=1), atol=1e-3)
    assert np.corrcoef(ev.augrc.values, ev.accuracy.values)[0, 1] < -0.4


def test_batches_equal_one_pass():
    z, c, _ = sets(5, n=4000)
    parts = [evaluated(z[i::4], c[i::4], bins=10).counts for i in range(4)]
    whole = bc.evaluate_counts(sum(parts[1:], parts[0]), rng=1)
    once = evaluated(z, c, bins=10)
    np.testing.assert_array_equal(whole.selective_risk(0.5).values, once.selective_risk(0.5).values)


def test_clusters_widen_intervals():
    rng = np.random.default_rng(6)
    c = np.repeat(rng.random(100), 10)
    z = np.repeat(rng.random(100), 10) < c
    alone = evaluated(z, c).selective_risk(0.8)
    clustered = evaluated(z, c, cluster=np.repeat(np.arange(100), 10)).selective_risk(0.8)
    assert 2 < clustered.sd() / alone.sd() < 4.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "error", "said"),
    [
        (80, ValueError, "must lie in (0, 1]; 1 of 1 values does not, first at index 0: 80. Percentages?"),
        ([0.5, 0], ValueError, "must lie in (0, 1]; 1 of 2 values does not, first at index 1: 0"),
        (np.nan, ValueError, "must lie in (0, 1]"),
        (True, TypeError, "must be a number in (0, 1]"),
        ("0.8", TypeError, "must be a number in (0, 1]"),
        ([[0.5]], TypeError, "must be a number in (0, 1], or a one-dimensional array"),
        ([], ValueError, "is empty"),
        (1e-4, ValueError, "must keep at least one of the 300 (effective) rows"),
    ],
)
def test_shares_are_checked(share, error, said):
    z, c, _ = sets(7)
    with pytest.raises(error) as raised:
        evaluated(z, c).selective_risk(share)
    assert said in str(raised.value)


def test_an_event_has_no_selective_risk():
    z, c, _ = sets(8)
    ev = bc.evaluate(z, c, rng=1)
    for ask in (lambda: ev.selective_risk(0.8), lambda: ev.largest_share(0.1), lambda: ev.augrc):
        with pytest.raises(ValueError, match="whether a prediction is right"):
            ask()
    assert not hasattr(ev, "augrc")
    with pytest.raises(ValueError, match=r"`risk` must lie strictly between 0 and 1, not 2\. Percent"):
        evaluated(z, c).largest_share(2)


def test_comparisons_have_the_augrc():
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 3, 3000)
    good = rng.dirichlet(np.ones(3), 3000)
    good[np.arange(3000), labels] += 0.5
    bad = good**0.2 * rng.random((3000, 3))
    probabilities = {"good": good / good.sum(axis=1, keepdims=True), "bad": bad / bad.sum(axis=1, keepdims=True)}
    comparison = bc.compare(labels, probabilities, rng=1)
    difference = comparison.difference("good", "bad", estimand="augrc")
    observed = [comparison[name].plug_in_of("augrc") for name in ("good", "bad")]
    assert difference.interval(0.95)[1] < 0
    assert difference.mean() == pytest.approx(observed[0] - observed[1], abs=2 * difference.sd())


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
def test_differences_of_augrcs_have_the_sd_of_the_bootstrap(clustered):
    """400 resamples of rows or clusters: the relative error of their sd is 3.5 %, with 0.2 six of them."""
    rng = np.random.default_rng(9)
    first = rng.beta(3, 1, 1500)
    z = rng.random(1500) < first
    second = np.clip(first + rng.normal(0, 0.1, 1500), 0, 1)
    repeated = np.repeat(np.arange(1500), 2 if clustered else 1)
    comparison = bc.compare(
        z[repeated],
        {"a": first[repeated], "b": second[repeated]},
        target="confidence",
        cluster=repeated if clustered else None,
        rng=1,
    )

    def area(rows, c):
        return (np.cumsum(~z[rows][np.argsort(-c[rows], kind="stable")]) / 1500).mean()

    resamples = rng.integers(0, 1500, (400, 1500))
    expected = np.std([area(rows, first) - area(rows, second) for rows in resamples])
    found = comparison.difference("a", "b", estimand="augrc")
    assert found.sd() == pytest.approx(expected, rel=0.2)
    joint = bc.decisions.selective(z, {"a": first, "b": second}, target="confidence", rng=1)
    assert found.sd() == pytest.approx((joint.augrc["a"] - joint.augrc["b"]).sd(), rel=0.15)


def test_two_classifiers_whose_predictions_are_all_right_differ():
    """Without wrong rows nothing says that their AUGRCs are equal; two names of one classifier have one AUGRC."""
    first, second = np.random.default_rng(1).uniform(0.5, 1, (2, 200))
    right = np.ones(200, int)
    comparison = bc.compare(right, {"a": first, "b": second, "c": first}, target="confidence", rng=1)
    low, high = comparison.difference("a", "b", estimand="augrc").interval(0.95)
    assert low < -0.005
    assert high > 0.005
    assert comparison.difference("a", "c", estimand="augrc").interval(0.95) == (0.0, 0.0)


def test_the_error_of_bins_is_half_of_the_difference_of_both_orders():
    """Two bins with one wrong of two rows each: the wrong ones are first, or last."""
    z, c = [1, 0, 1, 0], [0.9, 0.8, 0.3, 0.2]
    first, last = (evaluated(each, c).plug_in_of("augrc") for each in ([0, 1, 0, 1], z))
    of_bins = grid_of(bc.BinnedCounts.from_arrays(z, c, bins=2))
    assert augrc_grid_error(of_bins) == pytest.approx((first - last) / 2, abs=1e-12)
    assert augrc_grid_error(evaluated(z, c).counts.ranks) == 0
