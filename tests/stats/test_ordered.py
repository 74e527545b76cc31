"""Sums by distinct score: ties, weights, dtypes, and the order of rows."""

from fractions import Fraction

import numpy as np
import pytest

from bayescal.data.predictions import Predictions
from bayescal.stats.ordered import OrderedSums

FIELDS = ("score", "weight", "response", "weight_sq", "response_weight_sq", "n_rows")


def rows(n=400, *, seed=1, decimals=2, dtype=np.float64, weights=None):
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    score = (score if decimals is None else score.round(decimals)).astype(dtype)
    return Predictions.from_outcomes(rng.random(n) < score, score, weights)


def by_definition(predictions):
    """Sums of exact rational numbers, by distinct score."""
    weight = np.ones(len(predictions)) if predictions.weight is None else predictions.weight
    sums = {}
    for c, z, w in zip(predictions.confidence.tolist(), predictions.outcome, weight.tolist(), strict=True):
        c, z, w = Fraction(c), int(z), Fraction(w)
        if w:
            parts = (1, w, w * z, w * w, w * (z - c), w**2 * (z - c) ** 2, w**2 * c * (1 - c))
            sums[c] = [a + b for a, b in zip(sums.get(c, [0] * 7), parts, strict=True)]
    columns = np.array([[float(c), *map(float, sums[c])] for c in sorted(sums)]).T
    names = ("score", "n_rows", "weight", "response", "weight_sq", "deviation", "deviation_sq", "calibrated_variance")
    return dict(zip(names, columns, strict=True))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.dtype(">f8"), np.longdouble])
def test_sums_equal_the_definition(weighted, decimals, dtype):
    weights = np.random.default_rng(2).exponential(size=400).round(1) if weighted else None
    predictions = rows(decimals=decimals, dtype=dtype, weights=weights)
    sums = OrderedSums.from_rows(predictions)
    for name, expected in by_definition(predictions).items():
        np.testing.assert_allclose(getattr(sums, name), expected, rtol=1e-12, atol=1e-13, err_msg=name)
    assert (sums.weighted, sums.target) == (weighted, "confidence")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.longdouble])
@pytest.mark.parametrize("decimals", [None, 2])
def test_weights_of_one_give_the_bits_of_no_weights(decimals, dtype):
    both = (rows(decimals=decimals, dtype=dtype, weights=weights) for weights in (None, np.ones(400)))
    plain, weighted = map(OrderedSums.from_rows, both)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(plain, name), getattr(weighted, name))
        assert getattr(plain, name).dtype == getattr(weighted, name).dtype


def test_the_order_of_rows_has_no_effect():
    predictions = rows()
    order = np.random.default_rng(3).permutation(400)
    shuffled = Predictions.from_outcomes(predictions.outcome[order], predictions.confidence[order])
    one, other = OrderedSums.from_rows(predictions), OrderedSums.from_rows(shuffled)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("weights", [None, [1, 1, 1, 1, 2]])
def test_extreme_scores_keep_their_order(weights):
    """-0 and 0 are one score; subnormal numbers and 1 are in place."""
    sums = OrderedSums.from_rows(Predictions.from_outcomes([1, 0, 1, 1, 0], [1.0, 5e-324, -0.0, 0.0, 0.5], weights))
    assert sums.score.tolist() == [0.0, 5e-324, 0.5, 1.0]
    assert not np.signbit(sums.score).any()
    assert sums.n_rows.tolist() == [2, 1, 1, 1]


def test_rows_of_weight_zero_are_left_out():
    sums = OrderedSums.from_rows(Predictions.from_outcomes([1, 0, 1], [0.3, 0.1, 0.3], [2, 0, 0]))
    assert (sums.score.tolist(), sums.n_rows.tolist(), sums.weight.tolist()) == ([0.3], [1], [2.0])


def test_squares_of_very_large_and_small_weights_are_finite():
    for weight in (1e-200, 1e200):
        sums = OrderedSums.from_rows(Predictions.from_outcomes([1, 0], [0.3, 0.1], [weight, weight]))
        assert np.isfinite(sums.weight_sq).all()
        assert (sums.weight_sq > 0).all()
