"""Scores of all classes: by hand, against the binary scores, and their intervals against known distributions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import bayescal as bc

Y, P = [0, 1], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2]]  # losses 0.06 and 0.38


@pytest.mark.parametrize(("convention", "scale"), [("sum", 1), ("mean", 1 / 3), ("half", 0.5)])
def test_conventions_by_hand(convention, scale):
    score = bc.multiclass_brier_score(Y, P, convention=convention)
    assert score.observed == pytest.approx(0.22 * scale, rel=1e-14)
    assert score.mean_square == pytest.approx((0.06**2 + 0.38**2) / 2 * scale**2, rel=1e-14)
    assert score.largest == score.prior_loss == 2 * scale


def test_the_largest_and_the_smallest_score():
    certain = np.eye(4)
    assert bc.multiclass_brier_score([0, 1, 2, 3], certain).observed == 0
    assert bc.multiclass_brier_score([1, 2, 3, 0], certain).observed == 2


def test_log_score_by_hand():
    score = bc.multiclass_log_score(Y, P, weights=[3, 1])
    assert score.observed == pytest.approx(-(3 * np.log(0.8) + np.log(0.5)) / 4, rel=1e-14)
    assert score.effective_rows == pytest.approx(16 / 10)
    assert score.prior_loss == pytest.approx(2 * np.log(3))


@pytest.mark.parametrize("convention", ["mean", "half"])
def test_two_classes_give_the_binary_brier_score(convention):
    rng = np.random.default_rng(1)
    p, y, w = rng.random(200), rng.integers(0, 2, 200), rng.gamma(1, size=200)
    score = bc.multiclass_brier_score(y, np.column_stack([1 - p, p]), convention=convention, weights=w)
    binary = bc.brier_decomposition(y, p, weights=w)
    assert score.observed == pytest.approx(binary.score, rel=1e-13)
    of_log = bc.multiclass_log_score(y, np.column_stack([1 - p, p]), weights=w)
    assert of_log.observed == pytest.approx(bc.log_score_decomposition(y, p, weights=w).score, rel=1e-13)


def test_many_rows_are_computed_in_blocks_as_in_exact_arithmetic():
    rng = np.random.default_rng(2)
    y, matrix = rng.integers(0, 8, 70_000), rng.dirichlet(np.ones(8), 70_000)
    own = matrix[np.arange(len(y)), y]
    losses = (matrix**2).sum(axis=1) - 2 * own + 1
    exact = float(sum(map(Fraction, losses.tolist())) / len(y))
    assert bc.multiclass_brier_score(y, matrix).observed == pytest.approx(exact, rel=1e-12)
    as_32 = matrix.astype(np.float32)
    before = as_32.copy()
    assert bc.multiclass_brier_score(y, as_32).observed == pytest.approx(exact, rel=1e-6)
    np.testing.assert_array_equal(as_32, before)


def test_losses_of_0_and_2_give_the_posterior_of_a_proportion():
    """3 of 10 rows certainly wrong: Beta(3.5, 7.5), Jeffreys' posterior, times 2."""
    y = [1] * 3 + [0] * 7
    score = bc.multiclass_brier_score(y, np.tile([1.0, 0.0], (10, 1)))
    jeffreys = stats.beta(3.5, 7.5, scale=2)
    assert score.mean == pytest.approx(jeffreys.mean(), rel=1e-12)
    assert score.sd == pytest.approx(jeffreys.std(), rel=1e-12)
    assert score.interval(0.9) == pytest.approx(jeffreys.interval(0.9), rel=1e-9)


def test_with_many_rows_the_interval_is_that_of_a_mean():
    rng = np.random.default_rng(3)
    matrix = rng.dirichlet(np.ones(3), 200_000)
    y = rng.integers(0, 3, 200_000)
    own = matrix[np.arange(len(y)), y]
    for score, losses in (
        (bc.multiclass_brier_score(y, matrix), (matrix**2).sum(axis=1) - 2 * own + 1),
        (bc.multiclass_log_score(y, matrix), -np.log(own)),
    ):
        se = losses.std() / np.sqrt(len(y))
        expected = losses.mean() + np.array([-1, 1]) * 1.959964 * se
        assert score.interval() == pytest.approx(expected, abs=0.03 * se)


@pytest.mark.parametrize("function", [bc.multiclass_brier_score, bc.multiclass_log_score])
def test_draws_have_the_moments_and_quantiles_of_the_posterior(function, close_to, mcse):
    score = function(Y * 20, P * 20)
    drawn = score.sample(40_000, rng=1)
    close_to(drawn.mean(), score.mean, drawn.mcse())
    close_to(drawn.sd(), score.sd, mcse.sd(drawn.values))
    for end, bound in zip((0.025, 0.975), score.interval(), strict=True):
        close_to((drawn.values < bound).mean(), end, np.sqrt(0.025 * 0.975 / 40_000))
    np.testing.assert_array_equal(score.sample(10, rng=1).values, score.sample(10, rng=1).values)


@pytest.mark.parametrize(("function", "least"), [(bc.multiclass_brier_score, 0.89), (bc.multiclass_log_score, 0.85)])
def test_coverage_for_an_accurate_classifier(function, least):
    """95 of 100 rows have the largest probability at their class; an interval without prior covers 0.80 at 200 rows."""
    rng = np.random.default_rng(4)

    def rows(n):
        logits = rng.normal(size=(n, 10))
        logits[np.arange(n), rng.integers(10, size=n)] += 8
        matrix = np.exp(logits)
        matrix /= matrix.sum(axis=1, keepdims=True)
        return (matrix.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=9), matrix

    truth = function(*rows(400_000)).observed
    inside = [low <= truth <= high for low, high in (function(*rows(200)).interval() for _ in range(150))]
    assert np.mean(inside) >= least


def test_a_class_of_probability_zero_has_no_log_score():
    with pytest.raises(
        bc.InvalidRows, match=r"exceed 0 for the class.*1 of 2 values does not, first at index 1.*np\.clip"
    ):
        bc.multiclass_log_score([0, 2], [[0.5, 0.5, 0], [0.5, 0.5, 0]])
    ignored = bc.multiclass_log_score([0, 2], [[0.5, 0.5, 0], [0.5, 0.5, 0]], weights=[1, 0])
    assert ignored.observed == pytest.approx(np.log(2))


@pytest.mark.parametrize("function", [bc.multiclass_brier_score, bc.multiclass_log_score])
def test_rows_must_sum_to_one(function):
    with pytest.raises(bc.InvalidRows, match=r"rows that sum to 1.*first at index 1: 0.9"):
        function([0, 1], [[0.5, 0.5], [0.5, 0.4]])


def test_wrong_arguments():
    with pytest.raises(ValueError, match="`convention` must be one of"):
        bc.multiclass_brier_score(Y, P, convention="brier")
    with pytest.raises(ValueError, match="K >= 2"):
        bc.multiclass_brier_score(Y, [0.2, 0.7])
    with pytest.raises(ValueError, match="`prob`"):
        bc.multiclass_brier_score(Y, P).interval(95)


def test_how_it_prints_and_is_exported():
    score = bc.multiclass_brier_score(["b", "a"], [[0.2, 0.8], [0.6, 0.4]], classes=["a", "b"], weights=[1, 3])
    low, high = score.interval()
    assert score.sentence().startswith(
        "The observed multi-class Brier score (sum over 2 classes) is 0.2600 (95 % credible"
    )
    assert repr(score).startswith("MultiClassScore(multi-class Brier score, sum over 2 classes, N = 2 (weighted")
    assert "0.2600" in repr(score)
    assert "N = 2 (weighted, effective N = 2): 0.2600, 95 % interval" in score.spec
    assert f"{low:.4f}" in str(score)
    frame = score.to_frame()
    assert frame.loc["multi-class Brier score", "eti95_ub"] == high
    assert frame.loc["multi-class Brier score", "plug_in"] == score.observed
