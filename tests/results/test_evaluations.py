"""Comparisons, groups and classes are evaluations along an axis: the same methods, with the same meaning."""

import inspect
import pickle

import numpy as np
import pytest

import bayescal as bc
from bayescal.results.joint import ROPE, Evaluations

DRAWS = 400


def rows():
    rng = np.random.default_rng(5)
    p = rng.random(1500)
    return rng.random(1500) < p, p, rng


def classifiers():
    y, p, _ = rows()
    return bc.compare(y, {"honest": p, "timid": 0.5 + 0.6 * (p - 0.5), "same": p}, draws=DRAWS, rng=1)


def groups():
    y, p, rng = rows()
    which = rng.integers(0, 3, 1500)
    stated = np.where(which == 2, np.sqrt(p), p)  # the last group is badly off
    return bc.evaluate(y, stated, by=which, draws=DRAWS, rng=1)


def classes():
    rng = np.random.default_rng(6)
    matrix = rng.dirichlet(np.ones(3), 1500)
    label = (rng.random(1500)[:, None] > matrix.cumsum(axis=1)).sum(axis=1)
    return bc.evaluate(label, matrix, target="classwise", draws=DRAWS, rng=1)


@pytest.fixture(scope="module", params=[classifiers, groups, classes], ids=["classifiers", "groups", "classes"])
def several(request):
    return request.param()


PUBLIC = [name for name in vars(Evaluations) if not name.startswith("_") and name != "axis"]


def test_all_have_every_public_method():
    for kind in (bc.Comparison, bc.GroupedEvaluation, bc.ClasswiseEvaluation):
        assert issubclass(kind, Evaluations)
        for name in (*PUBLIC, "summary", "to_datatree", "sentence", "spec", "sheet", "table"):
            assert inspect.getattr_static(kind, name).__doc__, f"{kind.__name__}.{name}"


def test_labels_names_and_single_evaluations(several):
    assert len(several) == len(several.labels) == len(several.names) == 3
    assert list(several) == list(several.labels)
    for label in several:
        assert isinstance(several[label], bc.Evaluation)
    with pytest.raises(KeyError, match=f"no {several.axis} 'timit' among"):
        several["timit"]


@pytest.mark.parametrize(
    "estimand", ["ece", "e90_bins", "signed_error", "brier_score", "log_score", lambda b: bc.lp_error(b, 3)]
)
def test_joint_draws_have_the_margins_of_each_evaluation(several, estimand):
    if isinstance(several, bc.ClasswiseEvaluation) and estimand not in ("ece", "e90_bins", "signed_error"):
        with pytest.raises(ValueError, match="has no joint draws over classes"):
            several.draws(estimand)
        return
    drawn = several.draws(estimand).values
    assert drawn.shape == (DRAWS, 3)
    if isinstance(several, bc.Comparison) and estimand in ("brier_score", "log_score"):
        return  # drawn jointly from the losses of the rows
    for column, label in zip(drawn.T, several.labels, strict=True):
        np.testing.assert_array_equal(np.sort(column), np.sort(several[label].draws(estimand).values))


def test_registered_estimands_are_drawn_once(several):
    assert several.draws("l2_error").values is several.draws(bc.l2_error).values
    again = pickle.loads(pickle.dumps(several)) if not isinstance(several, bc.ClasswiseEvaluation) else several
    np.testing.assert_array_equal(again.draws("l2_error").values, several.draws("l2_error").values)
    if isinstance(several, bc.ClasswiseEvaluation):
        return

    def l5(bins):
        return bc.lp_error(bins, 5)

    several.draws(lambda bins: bc.lp_error(bins, 6))
    before = len(several._joint)
    assert several.draws(l5).values is several.draws(l5).values  # the last function is kept, and no other
    assert len(several._joint) == before
    assert pickle.loads(pickle.dumps(several)).draws(l5).values.shape == (DRAWS, 3)


def test_decisions_follow_from_the_draws(several):
    """Written out from the joint draws of the ECE, of which smaller is better."""
    drawn = several.draws().values
    first, second, third = several.labels
    gap = drawn[:, 0] - drawn[:, 1]
    np.testing.assert_array_equal(several.difference(first, second).values, gap)
    decided = several.decide(first, second)
    assert decided["p_left"] == np.mean(gap < -ROPE)
    assert decided["p_rope"] == np.mean(np.abs(gap) <= ROPE)
    assert several.decide(second, first)["p_right"] == decided["p_left"]
    np.testing.assert_allclose(several.rope_curve([0.0, ROPE, 1.0], first, second)[1:], [decided["p_rope"], 1.0])
    best, worst = several.p_best(), several.p_worst()
    assert sum(best.values()) == pytest.approx(1)
    assert sum(worst.values()) == pytest.approx(1)
    untied = ~((drawn[:, 0] == drawn[:, 1]) | (drawn[:, 1] == drawn[:, 2]) | (drawn[:, 0] == drawn[:, 2]))
    if untied.all():
        assert best[third] == np.mean(drawn.argmin(axis=1) == 2)
        assert worst[third] == np.mean(drawn.argmax(axis=1) == 2)
    ranks = several.rank_probabilities()
    np.testing.assert_allclose(ranks.sum(axis=0), 1)
    np.testing.assert_allclose(ranks @ [1, 2, 3], list(several.expected_ranks().values()))
    np.testing.assert_allclose(ranks[:, 0], list(best.values()), atol=1e-12)


def test_tables(several):
    each = several.each()
    assert [row[several.axis] for row in each] == list(several.labels)
    assert [row["rank"] for row in each] == list(several.expected_ranks().values())
    pairs = several.pairs_table()
    assert len(pairs) == 3
    ranks = several.expected_ranks()
    assert all(ranks[row["first"]] <= ranks[row["second"]] for row in pairs)


def test_the_worst_group_is_found():
    found = groups()
    assert found.p_worst()[2] > 0.95
    assert found.p_largest() == found.p_worst()
    assert found.expected_ranks()[2] > 2.9


def test_two_evaluations_need_no_names():
    y, p, _ = rows()
    halves = bc.evaluate(y, p, by=p > 0.5, draws=DRAWS, rng=1)
    low, high = halves.labels
    np.testing.assert_array_equal(halves.difference().values, halves.difference(low, high).values)
    with pytest.raises(TypeError, match="`first` and `second` must be two of the labels"):
        groups().difference()
    with pytest.raises(ValueError, match="`second` must be one of"):
        groups().decide(0, 7)
