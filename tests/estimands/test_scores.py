"""The Brier score of the bins: the mean of squared errors at the observed bins, the formula by hand elsewhere."""

import numpy as np
import pytest

from bayescal import BinDraws, BinnedCounts, evaluate
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.scores import brier_score


def plug_in(outcome, confidence, **known):
    counts = BinnedCounts.from_arrays(outcome, confidence, **known)
    return brier_score(observed_bins(counts), counts).values


def test_by_hand():
    """(0 - 0.2)^2 + (1 - 0.7)^2 + (1 - 0.9)^2 = 0.14."""
    np.testing.assert_allclose(plug_in([0, 1, 1], [0.2, 0.7, 0.9], bins=2), [0.14 / 3], rtol=1e-12)


def test_weights_by_hand():
    """Weights 1, 2, 5: (0.04 + 2 * 0.09 + 5 * 0.01) / 8."""
    found = plug_in([0, 1, 1], [0.2, 0.7, 0.9], bins=2, weights=[1, 2, 5])
    np.testing.assert_allclose(found, [(0.04 + 0.18 + 0.05) / 8], rtol=1e-12)


@pytest.mark.parametrize("n_bins", [1, 3, 15, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_at_the_observed_bins_it_is_the_mean_squared_error(n_bins, weighted):
    """As scikit-learn computes it, from rows, whatever the bins."""
    from sklearn.metrics import brier_score_loss

    rng = np.random.default_rng(1)
    confidence = rng.random(700)
    outcome = (rng.random(700) < confidence**2).astype(int)
    weights = rng.gamma(1, size=700) if weighted else None
    expected = brier_score_loss(outcome, confidence, sample_weight=weights)
    np.testing.assert_allclose(plug_in(outcome, confidence, bins=n_bins, weights=weights), [expected], rtol=1e-11)


def test_stated_certainties_that_are_right_or_wrong():
    np.testing.assert_allclose(plug_in([0, 1, 1], [0, 1, 1], bins=7), [0.0], atol=1e-15)
    np.testing.assert_allclose(plug_in([1, 0, 0], [0, 1, 1], bins=7), [1.0], rtol=1e-12)


def test_other_draws_by_hand():
    """One bin [0, 1], rows (0, 0.2) and (1, 0.6).

    Mean confidence 0.4, variance 0.04, covariance (0.2 * 0.5 + 0.2 * 0.5) / 2 = 0.1. At accuracy 0.7:
    0.7 * 0.3 + 0.3^2 + 0.04 - 2 * 0.1 = 0.14.
    """
    counts = BinnedCounts.from_arrays([0, 1], [0.2, 0.6], bins=1)
    bins = BinDraws(np.ones((1, 1)), np.array([[0.7]]), np.array([[0.4]]), np.array([True]), np.ones((1, 1)))
    np.testing.assert_allclose(brier_score(bins, counts).values, [0.14], rtol=1e-12)


def test_each_draw_is_its_own():
    rng = np.random.default_rng(3)
    confidence, outcome = rng.random(60), rng.integers(0, 2, 60)
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=4)
    mass, accuracy = rng.dirichlet(np.ones(4), 5), rng.random((5, 4))
    bins = BinDraws(mass, accuracy, counts.mean_confidence[None], counts.occupied, mass)
    place = np.minimum((confidence * 4).astype(int), 3)
    for draw, found in zip(range(5), brier_score(bins, counts).values, strict=True):
        expected = 0.0
        for b in range(4):
            c, z, t = confidence[place == b], outcome[place == b], accuracy[draw, b]
            within = c.var() - 2 * np.cov(z, c, bias=True)[0, 1]
            expected += mass[draw, b] * (t * (1 - t) + (t - c.mean()) ** 2 + within)
        assert found == pytest.approx(expected, rel=1e-12)


def test_an_empty_bin_adds_what_its_mass_says():
    """Bin 2 has no rows: its term is theta (1 - theta) + gap^2, without anything from within."""
    counts = BinnedCounts.from_arrays([0, 1], [0.2, 0.2], bins=2)
    half = np.full((1, 2), 0.5)
    bins = BinDraws(half, np.array([[0.5, 0.9]]), np.array([[0.2, 0.75]]), np.array([True, True]), half)
    expected = 0.5 * (0.25 + 0.09) + 0.5 * (0.09 + 0.15**2)
    np.testing.assert_allclose(brier_score(bins, counts).values, [expected], rtol=1e-12)


def test_fewer_draws_than_bins_with_an_empty_one():
    """Bins [0, 1/3), [1/3, 2/3), [2/3, 1]; rows 0.2 and 0.2 (outcomes 0, 1) and 0.7, 0.9 (outcomes 0, 1).

    In the last bin: mean 0.8, variance 0.01, covariance (0.1 * 0.5 + 0.1 * 0.5) / 2 = 0.05.
    """
    counts = BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.2, 0.7, 0.9], bins=3)
    mass = np.array([[0.5, 0.0, 0.5], [0.25, 0.25, 0.5]])
    accuracy = np.array([[0.5, 0.5, 0.6], [0.2, 0.4, 1.0]])
    bins = BinDraws(mass, accuracy, np.array([[0.2, 0.5, 0.8]]), np.array([True, False, True]), mass)
    within = 0.01 - 2 * 0.05
    expected = [
        0.5 * (0.25 + 0.09) + 0.5 * (0.24 + 0.04 + within),
        0.25 * 0.16 + 0.25 * (0.24 + 0.01) + 0.5 * (0 + 0.04 + within),
    ]
    np.testing.assert_allclose(brier_score(bins, counts).values, expected, rtol=1e-12)


def test_many_bins_most_of_them_empty():
    """Rows 0.2 and 0.6 are alone in two of 300 bins: no bin has variance within it, and all others have no mass."""
    counts = BinnedCounts.from_arrays([0, 1], [0.2, 0.6], bins=300)
    occupied = counts.occupied
    mass, accuracy, confidence = (np.where(occupied, value, 0.0)[None] for value in (0.5, 0.7, 0.0))
    confidence[0, occupied] = [0.2, 0.6]
    bins = BinDraws(mass, accuracy, confidence, occupied, mass)
    expected = 0.5 * (0.21 + 0.5**2) + 0.5 * (0.21 + 0.1**2)
    np.testing.assert_allclose(brier_score(bins, counts).values, [expected], rtol=1e-12)


def test_an_evaluation_has_it(close_to):
    """20 000 rows: the posterior is around the mean squared error, as wide as the error of that mean or less."""
    rng = np.random.default_rng(5)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    squares = (y - p) ** 2
    found = evaluate(y, p, rng=1).brier_score
    error = squares.std() / np.sqrt(len(p))
    close_to(found.mean(), squares.mean(), error)
    assert 0.3 * error < found.sd() < 1.2 * error
