"""Plans of checks after an evaluation with a judge's labels: information, best design, predictions, refusals."""

import itertools

import numpy as np
import pytest

import bayescal as bc
from bayescal.planning.checks import _Design, _root_information, _whole

FEW = {"draws": 1000, "rng": 1}


def judged_rows(rng, n_rows=2000, checked=200):
    confidence = rng.random(n_rows)
    right = rng.random(n_rows) < 0.2 + 0.5 * confidence
    judge = np.where(right, rng.random(n_rows) < 0.9, rng.random(n_rows) > 0.8)
    return np.where(np.arange(n_rows) < checked, right, np.nan), confidence, judge, right


@pytest.fixture(scope="module")
def rows():
    return judged_rows(np.random.default_rng(1))


@pytest.fixture(scope="module")
def ev(rows):
    y, confidence, judge, _ = rows
    return bc.labels.judged(y, confidence, judge=judge, **FEW)


def test_information_of_a_check_is_that_of_a_bernoulli_variable():
    """Numerical derivatives of the probability of the true label 1, two bins with rates of their own."""
    stratum, at = np.array([0, 1]), np.array([0.3, 0.8, 0.9, 0.7, 0.85, 0.6])

    def r(unknown):
        theta, s, p = unknown[:2], unknown[2:4], unknown[4:]
        one = np.stack([theta * (1 - s), theta * s])
        zero = np.stack([(1 - theta) * p, (1 - theta) * (1 - p)])
        return (one / (one + zero)).ravel()

    root = _root_information(at, stratum)
    step = 1e-6
    slopes = np.stack([(r(at + step * e) - r(at - step * e)) / (2 * step) for e in np.eye(6)], axis=1)
    expected = slopes[:, :, None] * slopes[:, None, :] / (r(at) * (1 - r(at)))[:, None, None]
    assert root[:, :, None] * root[:, None, :] == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_the_best_design_is_that_of_an_enumeration():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((4, 3))
    precision = np.diag([30.0, 20.0, 50.0])
    gradient = np.array([1.0, -0.5, 0.2])
    explained = float(gradient @ np.linalg.solve(precision, gradient))
    design = _Design(precision, root, gradient, variance=explained, explained=explained)
    room = np.array([[6, 12], [9, 20]])
    every = (at for at in itertools.product(*(range(n + 1) for n in room.ravel())) if sum(at) == 15)
    least = min(design.after(np.array(at, dtype=float))[0] for at in every)
    best = design.best(15, room)
    assert best.sum() == pytest.approx(15)
    assert (best <= room.ravel() + 1e-9).all()
    assert design.after(best)[0] <= 1.002 * least
    assert design.after(_whole(best, 15, room).ravel().astype(float))[0] <= 1.02 * least


def test_whole_numbers_have_the_same_sum():
    room = np.array([[3, 5], [1, 9]])
    whole = _whole(np.array([2.6, 0.7, 1.0, 3.7]), 8, room)
    assert whole.tolist() == [[2, 1], [1, 4]]


def test_a_plan(ev):
    plan = bc.planning.checks_needed(ev, rows=200)
    assert plan.rows == 200
    assert (plan.planned <= plan.unchecked).all()
    assert plan.unchecked.sum() == 1800
    low, high = ev.ece.interval()
    assert plan.now == high - low
    assert plan.width < plan.at_random < plan.now
    assert str(plan).startswith("Check 200 more rows, ")
    assert sum(row["check"] for row in plan.table()) == 200
    assert f"the width {plan.now:.3f} now" in " ".join(str(plan).split())


def test_a_width_needs_the_fewest_rows(ev):
    plan = bc.planning.checks_needed(ev, width=0.06)
    assert plan.width <= 0.06
    fewer = bc.planning.checks_needed(ev, rows=int(0.9 * plan.rows))
    assert fewer.width > 0.06
    enough = bc.planning.checks_needed(ev, width=0.5)
    assert enough.rows == 0
    assert enough.sentence().startswith(
        "No further row needs to be checked: the 95 % interval of the ECE has the width"
    )


@pytest.mark.slow
def test_the_predicted_width_is_reached(ev, rows):
    """Random and planned checks: predicted and reached widths differ by at most a fifth (seen: 0.02 and 0.06)."""
    y, confidence, judge, right = rows
    plan = bc.planning.checks_needed(ev, rows=300)
    rng = np.random.default_rng(3)
    order = rng.permutation(np.arange(200, 2000))
    place = np.clip(np.searchsorted(plan.edges, confidence, side="right") - 1, 0, len(plan.edges) - 2)
    planned = [
        order[(judge[order] == label) & (place[order] == b)][: plan.planned[label, b]]
        for label in (0, 1)
        for b in range(len(plan.edges) - 1)
    ]
    for chosen, predicted in ((order[:300], plan.at_random), (np.concatenate(planned), plan.width)):
        more = y.copy()
        more[chosen] = right[chosen]
        low, high = bc.labels.judged(more, confidence, judge=judge, draws=4000, rng=1).ece.interval()
        assert high - low == pytest.approx(predicted, rel=0.2)


def test_other_estimands(ev):
    plan = bc.planning.checks_needed(ev, rows=100, estimand="accuracy", prob=0.9)
    low, high = ev.accuracy.interval(0.9)
    assert plan.now == high - low
    assert "the 90 % interval of the accuracy" in plan.sentence()


@pytest.mark.slow
def test_near_calibration_the_prediction_is_an_upper_bound():
    rng = np.random.default_rng(4)
    confidence = rng.random(1000)
    right = rng.random(1000) < confidence
    y = np.where(np.arange(1000) < 100, right, np.nan)
    judge = np.where(right, rng.random(1000) < 0.9, rng.random(1000) > 0.8)
    plan = bc.planning.checks_needed(bc.labels.judged(y, confidence, judge=judge, strata=1, **FEW), rows=100)
    assert plan.linear < 0.8
    assert "may become narrower than predicted" in plan.remarks[0]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, TypeError, "give exactly one of `width` and `rows`, not neither"),
        ({"rows": 3, "width": 0.1}, TypeError, "not both"),
        ({"rows": 1801}, ValueError, "`rows` must be at most 1800"),
        ({"rows": -1}, ValueError, "`rows`"),
        ({"width": 0.001}, ValueError, "is not reached although all 1800 rows are checked"),
        ({"width": 0.0}, ValueError, "`width`"),
        ({"rows": 3, "prob": 95}, ValueError, "`prob`"),
    ],
)
def test_refusals(ev, given, kind, words):
    with pytest.raises(kind, match=words):
        bc.planning.checks_needed(ev, **given)


def test_other_evaluations_are_refused(rows):
    _, confidence, _, right = rows
    with pytest.raises(TypeError, match=r"`evaluation` must be the result of `labels.judged`, not of type Evaluation"):
        bc.planning.checks_needed(bc.evaluate(right, confidence, draws=100), rows=3)


@pytest.mark.slow
def test_without_unchecked_rows_there_is_nothing_to_plan(rows):
    _, confidence, judge, right = rows
    ev = bc.labels.judged(right, confidence, judge=judge, **FEW)
    with pytest.raises(ValueError, match="all rows with a judge's label are checked"):
        bc.planning.checks_needed(ev, rows=3)
