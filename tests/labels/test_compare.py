"""`compare_judged`: special cases in which `compare` or quadrature give the answer; tables, words, refusals."""

import json
import pickle

import numpy as np
import pytest
from judged_sets import PROBLEM, RATES, judged_set, same_ends
from scipy.special import logsumexp
from scipy.stats import chi2_contingency

import bayescal as bc
from bayescal.labels import posterior
from bayescal.labels.judge import p_judge_alike
from bayescal.labels.posterior import Values, solve

FAST = {"draws": 200, "rng": 1}


@pytest.fixture(scope="module", autouse=True)
def fewer_values():
    """Use fewer values of the error rates, so that tests are fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "VALUES", 100)
        yield


def own_answers(n=1500, checked=150, slopes=(1, 0.6), **rates):
    """Two classifiers with rows of their own: y_true, y_prob and judge by name."""
    sets = {
        name: judged_set(i, n, checked, slope=slope, **rates)
        for i, name, slope in zip(range(2), "ab", slopes, strict=True)
    }
    return [{name: getattr(each, part) for name, each in sets.items()} for part in ("y", "confidence", "judge")]


def same_outcome(n=1500, checked=150, **rates):
    """Rows of one outcome, and two correlated confidences."""
    rows = judged_set(3, n, checked, slope=1, **rates)
    noise = np.random.default_rng(3).normal(0, 0.15, n)
    return rows, {"a": rows.confidence, "b": np.clip(rows.confidence + noise, 0, 1)}


@pytest.fixture(scope="module")
def own():
    y, p, judge = own_answers(checked=200)
    return bc.labels.compare_judged(y, p, judge=judge, rng=1)


@pytest.fixture(scope="module")
def same():
    rows, p = same_outcome(checked=200)
    return bc.labels.compare_judged(rows.y, p, judge=rows.judge, strata=1, rng=1)


# --- special cases


@pytest.mark.slow
@pytest.mark.parametrize("checked", [0, 1500])
def test_one_outcome_with_all_true_labels_is_compare(checked):
    """A judge without errors, or a person who checks all rows: the joint draws are those of `compare`.

    Means of Brier scores differ by a tenth of the width, because that of a judge's labels comes from the bins.
    Intervals of differences of signed errors and Brier scores are wider, because the copula acts within values of the
    rates.
    """
    rows, p = same_outcome(checked=checked, **({} if checked else {"s": 1, "p": 1}))
    found = bc.labels.compare_judged(rows.y, p, judge=rows.judge, rng=1, rates=None if checked else (1, 1))
    whole = bc.compare(rows.truth, p, target="confidence", rng=1)
    for name, tolerance in {"ece": 0.12, "signed_error": 0.22, "brier_score": 0.25}.items():
        same_ends(found.difference(estimand=name), whole.difference(estimand=name), tolerance)


def test_own_answers_with_known_rates_are_independent():
    y, p, judge = own_answers()
    found = bc.labels.compare_judged(y, p, judge=judge, rates=(0.9, 0.8), rng=1)
    for name in "ab":
        alone = bc.labels.judged(y[name], p[name], judge=judge[name], rates=(0.9, 0.8), rng=2)
        same_ends(found[name].ece, alone.ece, 0.12)
    for estimand in ("ece", "accuracy", "brier_score"):
        draws = found.draws(estimand).values
        # standard error 1 / sqrt(4000); a correlation of 0.08 has five of them
        assert abs(np.corrcoef(draws.T)[0, 1]) < 0.08, estimand


@pytest.mark.measuring
@pytest.mark.parametrize("same_rows", [False, True])
def test_rates_of_two_problems_by_a_grid(same_rows):
    """Weights are the prior times the product of both marginal likelihoods, or the root of the product."""
    grid = (np.arange(24) + 0.5) / 24
    s, p = (each.ravel() for each in np.meshgrid(grid, grid))
    nu = np.stack([s, p], axis=1)[s + p > 1][:, :, None]
    log_evidence = Values.solve(PROBLEM, nu, 400, True, np.random.default_rng(1)).log_evidence
    checked = np.log(np.concatenate([nu, 1 - nu], axis=1)[:, [0, 2, 1, 3], 0]) @ RATES.table[0]
    weight = checked + log_evidence * (1 if same_rows else 2)
    expected = np.exp(weight - logsumexp(weight)) @ nu[:, :, 0]
    solved = solve([PROBLEM, PROBLEM], RATES, rng=1, values=1000, free=0.0, same_rows=same_rows)
    np.testing.assert_allclose(solved.weights @ solved.nu[:, :, 0], expected, atol=0.012)


@pytest.mark.slow
def test_names_of_one_classifier_differ_by_exactly_0():
    rows, p = same_outcome()
    found = bc.labels.compare_judged(rows.y, p | {"c": p["a"]}, judge=rows.judge, **FAST)
    for name in ("ece", "brier_score", "accuracy"):
        assert not found.difference("a", "c", estimand=name).values.any()
        assert found.difference("a", "b", estimand=name).values.any()


def test_the_judge_counts_once_for_one_outcome(same):
    """The posterior of its rates has the width that one classifier alone gives."""
    rows, p = same_outcome(checked=200)
    alone = bc.labels.judged(rows.y, p["a"], judge=rows.judge, strata=1, rng=1)
    for name in ("sensitivity", "specificity"):
        assert getattr(same["a"].judge, name).sd() == pytest.approx(getattr(alone.judge, name).sd(), rel=0.15)


@pytest.mark.slow
def test_differences_are_narrower_than_of_two_fits():
    """A judge that errs often, and few checked rows: most of the uncertainty is common."""
    y, p, judge = own_answers(n=4000, checked=100, slopes=(1, 1), s=0.75, p=0.85)
    both = bc.labels.compare_judged(y, p, judge=judge, rng=1).difference(estimand="signed_error")
    alone = [bc.labels.judged(y[name], p[name], judge=judge[name], rng=i) for i, name in enumerate("ab")]
    assert both.sd() < 0.75 * np.hypot(*(each.signed_error.sd() for each in alone))


def test_draws_have_the_same_rates(own):
    first, second = (own[name].judge.rates for name in "ab")
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(own["a"].bin_draws.accuracy, own["b"].bin_draws.accuracy)


# --- the judge is alike


def test_the_judge_is_alike_by_another_program():
    tables = np.array([[[60.0, 20, 40, 10]], [[50, 30, 35, 25]], [[70, 10, 45, 15]]])
    parts = [chi2_contingency(tables[:, 0, at : at + 2], correction=False) for at in (0, 2)]
    from scipy.stats import chi2

    expected = chi2.sf(sum(each.statistic for each in parts), sum(each.dof for each in parts))
    assert p_judge_alike(tables) == pytest.approx(expected)


def test_few_errors_are_not_tested():
    assert p_judge_alike(np.array([[[60.0, 1, 40, 0]], [[50, 0, 35, 1]]])) == 1


def test_size_of_the_test_of_a_judge_that_is_alike():
    """2000 tables: rejected at 0.05 in 3.5 to 6.5 % (error rate 2e-3), as three standard errors are 0.015."""
    rng = np.random.default_rng(1)
    right = rng.binomial([[[60, 40]], [[55, 45]]], [0.9, 0.8], (2000, 2, 1, 2))
    tables = np.stack([right, np.array([[[60, 40]], [[55, 45]]]) - right], axis=-1).reshape(2000, 2, 1, 4)
    rejected = np.mean([p_judge_alike(each) < 0.05 for each in tables])
    assert 0.035 < rejected < 0.065


def test_a_judge_that_prefers_one_classifier():
    y, p, judge = own_answers(n=800, checked=300)
    judge["b"] = judge["b"] | (np.random.default_rng(1).random(800) < 0.5)
    found = bc.labels.compare_judged(y, p, judge=judge, **FAST)
    assert found.p_judge_alike < 1e-4
    assert "The judge's error rates differ between classifiers" in found.remarks[0]
    assert "compare_independent" in str(found)


# --- tables, words


def test_it_is_a_comparison(own, same):
    for each in (own, same):
        assert isinstance(each, bc.Comparison)
        assert isinstance(each["a"], bc.labels.JudgedEvaluation)
    assert own.specification() == (
        "2 classifiers on rows of their own with one judge: confidence ECE, 15 equal-width bins [a, b), N = 1500, 200 "
        "of them checked, shrinkage model, rope 0.01"
    )
    assert same.specification().startswith("2 classifiers on the same rows with one judge")
    assert own.sentence().startswith(
        "If the judge's errors do not depend on the confidence within ranges or on the classifier, a is better "
    )
    assert same.sentence().startswith("If the judge's errors do not depend on the confidence, ")
    assert list(own.models().columns[:4]) == ["ece", "ece_low", "ece_high", "brier_score"]


@pytest.mark.slow
def test_document_data_tree_plot_and_pickle(own, same):
    from matplotlib.figure import Figure

    for each in (own, same):
        document = json.loads(each.to_json())
        assert document["sentence"] == each.sentence()
        tree = each.to_datatree()
        assert float(tree["posterior"]["ece"].sel(classifier="a").mean()) == pytest.approx(each["a"].ece.mean())
        assert bc.plot(each, Figure().subplots()) is not None
        copy = pickle.loads(pickle.dumps(each))
        np.testing.assert_array_equal(copy.difference().values, each.difference().values)
        assert "one judge" in each.to_html()


@pytest.mark.slow
def test_pairs_of_which_a_third_lacks_a_score_have_the_same_rates():
    """The log score of a classifier that was certain and wrong is infinite; the others can be compared."""
    rows, p = same_outcome(n=600)
    p["b"] = np.clip(p["b"], 0.01, 0.99)
    certain = np.where(np.arange(600) == np.flatnonzero(rows.checked & ~rows.truth)[0], 1.0, p["a"])
    found = bc.labels.compare_judged(rows.y, p | {"c": certain}, judge=rows.judge, **FAST)
    assert -0.5 < found.difference("a", "b", estimand="log_score").mean() < 0
    with pytest.raises(ValueError, match="classifier 'c'"):
        found.difference("a", "c", estimand="log_score")


# --- columns


@pytest.mark.slow
def test_data_frames_and_sizes_that_differ():
    import pandas as pd

    y, p, judge = own_answers(n=300, checked=60)
    found = bc.labels.compare_judged(y, p, judge=judge, **FAST)
    frames = bc.labels.compare_judged(pd.DataFrame(y), pd.DataFrame(p), judge=pd.DataFrame(judge), **FAST)
    np.testing.assert_array_equal(frames.difference().values, found.difference().values)
    shorter = [each | {"b": each["b"][:200]} for each in (y, p, judge)]
    assert "N = 200 to 300" in bc.labels.compare_judged(*shorter[:2], judge=shorter[2], **FAST).specification()


def test_bins_are_those_of_all_rows():
    y, p, judge = own_answers(n=300, checked=60)
    p["b"] = p["b"] / 2
    found = bc.labels.compare_judged(y, p, judge=judge, bins=4, binning="equal-mass", **FAST)
    expected = np.quantile(np.concatenate(list(p.values())), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(found["a"].counts.bins.edges[1:-1], expected, atol=0.01)
    assert found["a"].counts.bins == found["b"].counts.bins


@pytest.mark.slow
def test_ranges_need_200_different_checked_rows():
    rows, p = same_outcome(n=600, checked=150)
    assert bc.labels.compare_judged(rows.y, p, judge=rows.judge, **FAST)["a"].judge.strata == 1
    y, p, judge = own_answers(n=600, checked=150)
    assert bc.labels.compare_judged(y, p, judge=judge, **FAST)["a"].judge.strata == 2


Y, P, JUDGE = own_answers(n=100, checked=40)


@pytest.mark.parametrize(
    ("y", "p", "judge", "error", "message"),
    [
        (Y, P["a"], JUDGE, TypeError, "`y_prob` must be a mapping"),
        (Y, {"a": P["a"]}, JUDGE, ValueError, "at least two classifiers"),
        (Y["a"], P, JUDGE, TypeError, "`judge` has one column per classifier and `y_true` has not"),
        (Y, P, JUDGE["a"], TypeError, "`y_true` has one column per classifier and `judge` has not"),
        ({"a": Y["a"]}, P, JUDGE, ValueError, r"`y_true` has no column 'b', which `y_prob` has; it has \['a'\]"),
        (Y, P | {"b": P["b"] + 1}, JUDGE, ValueError, "classifier 'b': `y_prob`"),
        (Y | {"b": Y["b"][1:]}, P, JUDGE, ValueError, "classifier 'b': "),
    ],
)
def test_columns_that_do_not_fit(y, p, judge, error, message):
    with pytest.raises(error, match=message):
        bc.labels.compare_judged(y, p, judge=judge, **FAST)


def test_evaluations_of_one_judge_lead_here():
    alone = {name: bc.labels.judged(Y[name], P[name], judge=JUDGE[name], **FAST) for name in "ab"}
    with pytest.warns(UserWarning, match=r"use `bayescal\.labels\.compare_judged`"):
        bc.compare_independent(alone, rng=1)
