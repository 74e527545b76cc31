"""Sums by distinct score, the order of scores, and steps from counts in bins: ties, weights, dtypes."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import bayescal as bc
from bayescal.data.predictions import Predictions
from bayescal.stats.ordered import CHUNK, OrderedSums, sort_with_outcome, stable_order

FIELDS = ("score", "weight", "response", "weight_sq", "response_weight_sq", "n_rows")
N = 5000
RNG = np.random.default_rng(1)
#: 13 bits of the index of 5000 rows leave 51 bits for the scores. Scores of "equal high bits" differ in the bits that
#: are left out of the key, which begins at 0 because of one small score.
SCORES = {
    "uniform": RNG.random(N),
    "ties": RNG.random(N).round(2),
    "one value": np.full(N, 0.3),
    "near 0 and 1": RNG.beta(0.01, 0.01, N),
    "close together": 0.5 + RNG.integers(0, N, N) * 2.0**-53,
    "equal high bits": np.append(1e-300, 0.5 + RNG.integers(0, 2**12, N) * 2.0**-53),
    "subnormal": RNG.integers(0, 20, N) * 5e-324,
    "zeros of both signs": np.where(RNG.random(N) < 0.5, -0.0, RNG.random(N).round(1)),
    "several parts": RNG.random(2 * CHUNK + 1),
    "one row": np.array([1.0]),
}


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


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "g"])
@pytest.mark.parametrize("name", SCORES)
def test_order_is_that_of_the_stable_sort(name, dtype):
    score = SCORES[name].astype(dtype)
    before = score.copy()
    order, ordered = stable_order(score)
    np.testing.assert_array_equal(order, np.argsort(score, kind="stable"))
    np.testing.assert_array_equal(ordered, np.sort(score))
    assert not np.signbit(ordered).any()
    np.testing.assert_array_equal(score, before)


def test_equal_high_bits_are_sorted_again(monkeypatch):
    """Without the second sort, the example above is out of order."""
    score = SCORES["equal high bits"]
    monkeypatch.setattr("bayescal.stats.ordered._with_equal_bits", lambda *_: np.zeros(0, dtype=np.intp))
    assert (stable_order(score)[0] != np.argsort(score, kind="stable")).any()


@pytest.mark.parametrize("name", SCORES)
def test_outcomes_follow_their_scores(name):
    score = SCORES[name]
    outcome = np.random.default_rng(2).integers(0, 2, len(score))
    ordered, of_outcome = sort_with_outcome(score, outcome)
    by_both = np.lexsort((outcome, score))
    np.testing.assert_array_equal(ordered, score[by_both])
    np.testing.assert_array_equal(of_outcome, outcome[by_both] == 1)


def test_noise_of_weighted_counts():
    """If weights are equal within each bin, the noise of the counts is that of the rows."""
    rng = np.random.default_rng(1)
    score = rng.random(500)
    outcome, weights = rng.random(500) < score, np.exp(np.floor(10 * score) / 3)
    rows = bc.cumulative_difference(outcome, score, weights=weights)
    counts = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays(outcome, score, bins=10, weights=weights))
    assert counts.sigma == pytest.approx(rows.sigma, rel=1e-9)
    assert counts.robust_sigma == pytest.approx(rows.robust_sigma, rel=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_the_grid_error_is_the_largest_of_all_orders_within_bins(seed):
    """Outcomes of nearly equal scores in three bins, in every order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    middle = np.repeat([1 / 6, 1 / 2, 5 / 6], sizes)
    outcome = rng.random(sizes.sum()) < rng.random()
    orders = [set(permutations(part.tolist())) for part in np.split(outcome, np.cumsum(sizes)[:-1])]
    largest = 0.0
    for chosen in product(*orders):
        curve = np.append(0, np.cumsum(np.concatenate(chosen) - middle)) / len(middle)
        largest = max(largest, np.ptp(curve))
    cd = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays(outcome, middle, bins=3))
    assert cd.kuiper + cd.grid_error == pytest.approx(largest, abs=1e-9)


def test_the_grid_error_of_one_bin():
    """If the 12 outcomes 1 come first, the curve rises to 12 (1 - 0.5) / 20 before it falls to 0.1."""
    cd = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays([1] * 12 + [0] * 8, [0.5] * 20, bins=1))
    assert (cd.kuiper, cd.kuiper + cd.grid_error) == (pytest.approx(0.1), pytest.approx(0.3))
