"""Top-k: k = 1 is the target top-label; outcomes and sums by hand; ties; errors."""

import numpy as np
import pytest
from sklearn.metrics import top_k_accuracy_score

import bayescal as bc


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), 1500)
    y = (p.cumsum(axis=1) > rng.random((1500, 1))).argmax(axis=1)
    sharper = p**1.5
    return y, sharper / sharper.sum(axis=1, keepdims=True)


def test_the_first_is_the_top_label(rows):
    top, ev = bc.decisions.top_k(*rows, rng=7), bc.evaluate(*rows, target="top-label", rng=7)
    np.testing.assert_array_equal(top[1].ece.values, ev.ece.values)
    assert (top[1].plug_in, top[1].spec) == (ev.plug_in, ev.spec)
    again = bc.decisions.top_k(*rows, 1, weights=np.full(1500, 2.0), rng=7)
    np.testing.assert_allclose(again[1].ece.values, ev.ece.values, atol=1e-12)


def test_shares_are_those_of_scikit_learn(rows):
    y, p = rows
    for row in bc.decisions.top_k(y, p, rng=1).table():
        k = row["k"]
        expected = top_k_accuracy_score(y, p, k=k, labels=range(5)) if k < 5 else 1.0
        assert row["observed"] == pytest.approx(expected, abs=1e-12)
        assert row["stated"] == pytest.approx(np.sort(p, axis=1)[:, ::-1][:, :k].sum(axis=1).mean(), abs=1e-12)


def test_plug_in_values_are_those_of_the_two_columns(rows):
    y, p = rows
    top = bc.decisions.top_k(y, p, [2, 3], bins=10, rng=1)
    for k, each in top.items():
        order = np.argsort(-p, axis=1, kind="stable")[:, :k]
        among, stated = (order == y[:, None]).any(axis=1), np.take_along_axis(p, order, axis=1).sum(axis=1)
        alone = bc.evaluate(among, stated, target="confidence", bins=10, rng=1)
        assert each.plug_in == pytest.approx(alone.plug_in, abs=1e-12)
        np.testing.assert_allclose(each.ece.values, alone.ece.values, atol=1e-9)
    assert list(top) == [2, 3]
    assert "of k = 2" in top[2].spec


def test_ties_are_taken_in_the_order_of_the_columns():
    top = bc.decisions.top_k([0, 1, 2, 1], [[0.25, 0.25, 0.25, 0.25]] * 4, rng=1)
    assert [row["observed"] for row in top.table()] == [0.25, 0.75, 1, 1]


def test_all_classes_hold_the_truth(rows):
    row = bc.decisions.top_k(*rows, 5, rng=1).table()[0]
    assert (row["stated"], row["observed"], row["plug_in"]) == pytest.approx((1, 1, 0), abs=1e-12)
    assert not bc.decisions.top_k(*rows, rng=1).sheet().remarks


def test_clusters_and_names_of_classes(rows):
    y, p = rows
    names = np.array(list("abcde"))
    named = bc.decisions.top_k(names[y], p, 2, classes=list("abcde"), rng=1)
    np.testing.assert_array_equal(named[2].ece.values, bc.decisions.top_k(y, p, 2, rng=1)[2].ece.values)
    copies = bc.decisions.top_k(np.tile(y, 2), np.tile(p, (2, 1)), 2, cluster=np.tile(np.arange(1500), 2), rng=1)
    assert copies[2].accuracy.sd() == pytest.approx(named[2].accuracy.sd(), rel=0.1)


@pytest.mark.parametrize(
    ("k", "error", "match"),
    [
        (0, ValueError, "must be an integer >= 1"),
        (6, ValueError, "number of classes, 5; got 6"),
        ([], ValueError, "`k` is empty"),
        (1.5, TypeError, "must be an integer"),
    ],
)
def test_impossible_k(rows, k, error, match):
    with pytest.raises(error, match=match):
        bc.decisions.top_k(*rows, k)


def test_one_column_is_refused():
    with pytest.raises(ValueError, match="needs a matrix"):
        bc.decisions.top_k([0, 1], [0.2, 0.7])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": [0, 1]}, "`bayescal.evaluate.* has groups; here they are evaluated one at a time, as in `y_true"),
        ({"target": "event"}, "The outcome is whether the true class is among the k most probable ones; others are"),
        ({"estimand": "auc"}, "Methods of the result take it: `result.table\\(estimand='brier_score'\\)`"),
        ({"prior_odd": 1}, "Did you mean 'prior_odds'?"),
    ],
)
def test_foreign_keywords_have_a_remedy(rows, options, said):
    with pytest.raises(TypeError, match=f"`decisions.top_k` takes no '{next(iter(options))}'. {said}"):
        bc.decisions.top_k(*rows, 2, draws=20, **options)
    assert bc.decisions.top_k(*rows, [1, 2], draws=20, rng=1).table(estimand="brier_score")


def test_several_k_are_compared_as_the_message_says(rows):
    """They are of the same rows: the difference of their plug-in values is that of `compare`."""
    y, p = rows
    top = bc.decisions.top_k(y, p, [1, 2], rng=1)
    for named in (top.evaluations, top):
        with pytest.raises(
            TypeError, match=r"1 is not\. Pass .* of several k of `top_k`, are not independent: for them"
        ):
            bc.compare_independent(named)
    order = np.argsort(-p, axis=1, kind="stable")
    right = {str(k): (order[:, :k] == y[:, None]).any(axis=1) for k in (1, 2)}
    stated = {str(k): np.sort(p, axis=1)[:, ::-1][:, :k].sum(axis=1) for k in (1, 2)}
    compared = bc.compare(right, stated, target="confidence", rng=1)
    for k in (1, 2):
        assert compared[str(k)].plug_in == pytest.approx(top[k].plug_in, abs=1e-9)


def test_an_auc_that_no_evaluation_has_is_refused_without_a_remedy(rows):
    """Among all classes, the true one is always."""
    with pytest.raises(ValueError, match=r"^k = 5: the AUC needs .* none with outcome 0\.$"):
        bc.decisions.top_k(*rows, draws=20, rng=1).table(estimand="auc")
