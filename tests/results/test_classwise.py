"""The result of all classes: joint draws keep the margins of each class, and two classes are one event."""

import numpy as np
import pytest

import bayescal as bc

N = 500


@pytest.fixture(scope="module")
def event():
    rng = np.random.default_rng(1)
    p = rng.random(N)
    return (rng.random(N) < p**1.5).astype(int), p


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), N)
    return np.array([rng.choice(3, p=row) for row in p]), p


def test_classes_keep_their_margins_and_are_found_again(matrix):
    ev = bc.evaluate(*matrix, target="classwise", rng=1, draws=2000)
    for k in range(3):
        np.testing.assert_array_equal(np.sort(ev[k].ece.values), np.sort(ev.by_class.values[:, k]))
        np.testing.assert_array_equal(np.sort(ev[k].null.values), np.sort(ev.null_by_class.values[:, k]))
        assert ev[k].counts == ev.counts[k]


@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
def test_two_classes_are_one_event_told_twice(event, model):
    """With K = 2 the second column is 1 - the first: the mean over classes is the event's own ECE, with its spread.

    Independent classes would narrow it by sqrt(2). Standard deviations of 4000 draws agree to 5 / sqrt(2 * 4000) = 6 %
    at 5 standard errors of each; two independent sets of draws, so 8 %.
    """
    y, p = event
    once = bc.evaluate(y, p, model=model, rng=1)
    twice = bc.evaluate(y, np.stack([1 - p, p], axis=1), target="classwise", model=model, rng=2)
    assert abs(twice.ece.mean() - once.ece.mean()) < 5 * np.hypot(once.ece.mcse(), twice.ece.mcse())
    assert twice.ece.sd() == pytest.approx(once.ece.sd(), rel=0.08)
    assert twice.null.sd() == pytest.approx(once.null.sd(), rel=0.08)
    assert np.corrcoef(twice.by_class.values, rowvar=False)[0, 1] > 0.99


def test_the_classwise_specification_says_all(matrix):
    y, p = matrix
    ev = bc.evaluate(y, p, target="classwise", model="dirichlet", formula="original", alpha=3, draws=50, rng=1)
    assert "dirichlet model (prior of 3 per cell, original formula)" in ev.spec
    assert ev.sentence().startswith("The classwise Expected Calibration Error")
    ties = np.round(p, 1)
    ties[:, 0] = 1 - ties[:, 1] - ties[:, 2]
    ties = np.clip(ties, 0, 1)
    coarse = bc.evaluate(y, ties, target="classwise", binning="equal-mass", draws=50, rng=1)
    sizes = sorted(len(c.bins) for c in coarse.counts)
    said = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    assert f"{said} equal-mass bins [a, b) for each class" in coarse.spec


DRAWS = 400


def rows():
    rng = np.random.default_rng(5)
    p = rng.random(1500)
    return rng.random(1500) < p, p, rng


def test_signed_errors_of_two_classes_are_opposite():
    """What one class gains the other loses: the correlation of their signed errors is near -1."""
    y, p, _ = rows()
    both = bc.evaluate(y.astype(int), np.column_stack([1 - p, p]), target="classwise", draws=DRAWS, rng=1)
    drawn = both.draws("signed_error").values
    assert np.corrcoef(drawn.T)[0, 1] < -0.95
    assert both.difference(0, 1, "signed_error").sd() == pytest.approx(drawn[:, 0].std() + drawn[:, 1].std(), rel=0.1)
    assert np.corrcoef(both.draws("l2_error").values.T)[0, 1] > 0.9
