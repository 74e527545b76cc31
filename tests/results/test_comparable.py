"""Which evaluations can be compared, and how their draws become joint."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.registry import as_estimand, registered
from bayescal.results.comparable import common_estimands, order_rng


def event(n=600, seed=1):
    """Outcomes, and the probabilities of an honest and an over-confident model."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    return y, p, p**3 / (p**3 + (1 - p) ** 3)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"bins": 10}, "number of bins: 'a' has 15, 'b' has 10"),
        ({"binning": "equal-mass"}, "kind of bins"),
        ({"target": "confidence"}, "target: 'a' has event, 'b' has confidence"),
        ({"draws": 50}, "number of draws: 'a' has 100, 'b' has 50"),
        ({"model": "dirichlet"}, "model: 'a' has shrinkage, 'b' has dirichlet two-rows prior"),
        ({"dense_scale": 0.3}, "model: 'a' has shrinkage, 'b' has shrinkage prior with dense_scale=0.3"),
    ],
)
def test_evaluations_must_agree_in_what_they_answer(other, what):
    y, p, _ = event(300)
    a = bc.evaluate(y, p, draws=100, rng=1)
    b = bc.evaluate(y[:200], p[:200], **{"draws": 100, "rng": 1, **other})
    with pytest.raises(ValueError, match=f"must agree in {what}"):
        bc.compare_independent({"a": a, "b": b})


def test_the_prior_may_be_compared():
    empty = [bc.evaluate_counts(bc.BinnedCounts.empty(5), draws=2000, rng=1) for _ in range(2)]
    found = bc.compare_independent({"a": empty[0], "b": empty[1]}, rng=1)
    # one prior twice: neither is more probable to be better, to five standard errors of sqrt(1 / 4 / 2000)
    assert abs(found.p_best()["a"] - 0.5) < 5 * np.sqrt(0.25 / 2000)


def test_custom_edges_must_be_the_same():
    y, p, _ = event(300)
    a = bc.evaluate(y, p, bins=[0, 0.5, 1], draws=100, rng=1)
    b = bc.evaluate(y[:200], p[:200], bins=[0, 0.01, 1], draws=100, rng=1)
    with pytest.raises(ValueError, match=r"must agree in edges: 'a' has \[0.0, 0.5, 1.0\]"):
        bc.compare_independent({"a": a, "b": b})


def test_one_joint_cell_says_nothing_of_dependence():
    """All rows in one cell: nothing varies together, so the width is that of independent models; of one model, 0."""
    y, p, q = np.ones(20), np.full(20, 0.9), np.full(20, 0.2)
    found = bc.compare({"p": y, "q": 1 - y}, {"p": p, "q": q}, target="confidence", draws=4000, rng=1)
    alone = [e.ece.sd() for e in found.evaluations.values()]
    assert found.difference().sd() == pytest.approx(np.hypot(*alone), rel=0.1)
    one = bc.compare(y, {"p": p, "again": p}, rng=1)
    assert not one.difference().values.any()


def test_values_of_one_class_of_errors_have_one_order_of_draws():
    """Unsigned errors share their random numbers; other estimands have some of their own, and so has each of them."""
    seeds = {name: order_rng(7, as_estimand(name)) for name in ("ece", "l2_error", "auc", "brier_score")}
    assert seeds["ece"] == seeds["l2_error"] == 7
    entropy = {name: seeds[name].entropy for name in ("auc", "brier_score")}
    assert entropy["auc"] != entropy["brier_score"]
    assert all(each[0] == 7 for each in entropy.values())


def test_curves_and_measures_that_a_group_lacks_are_not_compared():
    p = np.linspace(0.05, 0.95, 40)
    one, other = (bc.evaluate(p > 0.5, q, draws=50, rng=1) for q in (p, np.where(p > 0.9, 0.0, p)))
    assert {"ece", "auc", "brier_score", "log_score"} <= set(common_estimands([one]))
    assert "log_score" not in common_estimands([one, other])  # outcomes of 1 have probability 0
    assert all(registered()[name].coordinate is None for name in common_estimands([one]))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"pooling": "partial"}, {"model": "dirichlet"}, {"bins": 500}, {"bins": 1}])
def test_trees_leave_out_what_a_result_does_not_have(options):
    rng = np.random.default_rng(1)
    y, p, group = rng.integers(0, 2, 400), rng.random(400), np.arange(400) % 2
    grouped = bc.evaluate(y, p, by=group, draws=50, rng=1, **options)
    has = "largest_regret" in grouped.to_datatree()["posterior"]
    assert has == (not options) == hasattr(grouped["0" if "0" in grouped else 0], "largest_regret")
    if "pooling" not in options:
        tree = bc.compare(y, {"a": p, "b": p**2}, draws=50, rng=1, **options).to_datatree()
        assert ("largest_regret" in tree["posterior"]) == (not options)


def test_targets_without_labels_have_no_selective_risk():
    rng = np.random.default_rng(1)
    source, target = rng.uniform(0.5, 1, 500), rng.uniform(0.2, 1, 600)
    y = (rng.random(500) < source).astype(int)
    ev = bc.shift.covariate(y, source, target, target="confidence", weights=np.ones(500), draws=50, rng=1)
    assert not hasattr(ev, "augrc")
    with pytest.raises(ValueError, match="no outcome is observed in some bins"):
        ev.selective_risk(0.5)
