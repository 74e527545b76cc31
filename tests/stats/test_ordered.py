"""Sums by distinct score, the order of scores, steps from counts in bins, and merging of steps into bins."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.statistics import cumulative_curve
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import Counts
from bayescal.stats.ordered import CHUNK, OrderedSums, merge_scores, sort_with_outcome, stable_order, steps_of_counts

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


def merged(outcome, score, n_bins, weights=None):
    rows = Predictions.from_outcomes(outcome, score, weights)
    steps = OrderedSums.from_rows(rows)
    return merge_scores(steps, n_bins), steps


def test_bins_have_equal_mass_and_sums_of_their_rows():
    rng = np.random.default_rng(1)
    score, weight = rng.random(1000), rng.exponential(size=1000)
    outcome = (rng.random(1000) < score).astype(int)
    counts, steps = merged(outcome, score, 64, weight)
    assert isinstance(counts, Counts)
    assert len(counts.n) == 64
    order = np.argsort(score)
    end = np.cumsum(counts.n)
    for b, part in enumerate(np.split(order, end[:-1])):
        w, z, c = weight[part], outcome[part], score[part]
        assert counts.upper[b] == c.max()
        assert counts.mean_confidence[b] == pytest.approx((w * c).sum() / w.sum(), rel=1e-12)
        assert counts.accuracy[b] == pytest.approx((w * z).sum() / w.sum(), rel=1e-11, abs=1e-13)
        assert counts.effective_n[b] == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-12)
        assert counts.share[b] == pytest.approx(w.sum() / weight.sum(), rel=1e-12)
        # an equal share to within the weights at its two ends
        assert abs(counts.share[b] - 1 / 64) <= weight.max() / weight.sum()
    assert counts.effective_rows == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), rel=1e-12)
    at = np.searchsorted(np.sort(score), counts.upper)
    np.testing.assert_allclose(counts.curve, cumulative_curve(steps)[1:][at], atol=1e-15)
    assert counts.n_rows == 1000
    assert counts.weighted


@pytest.mark.parametrize("n_bins", [1, 2, 3, 5, 64])
def test_ties_are_never_divided(n_bins):
    score = np.repeat([0.0, 0.2, 0.3, 0.9, 1.0], [50, 1, 200, 3, 46])
    counts, _ = merged(np.arange(300) % 2, score, n_bins)
    assert len(counts.n) <= n_bins
    ends = np.cumsum(counts.n)
    assert set(ends) <= {50, 51, 251, 254, 300}
    assert counts.n.sum() == 300
    assert (np.diff(counts.bins.edges) > 0).all()
    edges = counts.bins.edges
    assert ((edges[1:-1] < counts.upper[1:]) & (counts.upper[:-1] < edges[1:-1])).all()
    # with 5 bins of 60 rows, the ends nearest to 60, 120, 180 and 240 are 51, 51, 251 and 251
    expected = {1: [300], 5: [51, 251, 300], 64: [50, 51, 251, 254, 300]}
    assert ends.tolist() == expected.get(n_bins, ends.tolist())


def test_one_row():
    counts, _ = merged([1], [0.7], 64)
    assert counts.n.tolist() == [1]
    assert counts.curve == pytest.approx([0.3])


def test_mean_step_of_equal_steps():
    """With equal accuracies, n equal steps have a mean of 1 / sqrt(n)."""
    counts, _ = merged(np.arange(640) % 2, np.linspace(0.1, 0.9, 640), 64)
    accuracy = np.full(64, 0.3)
    assert counts.mean_step(accuracy, between="scores") == pytest.approx(640**-0.5, rel=1e-12)
    assert counts.mean_step(accuracy, between="bins") == pytest.approx(1 / 8, rel=1e-12)
    np.testing.assert_allclose(counts.variance(accuracy), np.full(64, 0.21 * 10 / 640**2), rtol=1e-12)


def test_counts_of_equal_mass_cannot_be_added():
    counts, _ = merged([0, 1], [0.2, 0.7], 2)
    with pytest.raises(TypeError, match="cannot be added"):
        counts + counts


def test_scores_of_five_rows():
    """Outcomes 1, 0 at 0.2: the deviation is 1 - 0.4; 0, 1 at 0.6: 1 - 1.2; 1 at 0.9: 0.1."""
    sums = OrderedSums.from_rows(Predictions.from_outcomes([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9]))
    assert sums.score.tolist() == [0.2, 0.6, 0.9]
    assert sums.n_rows.tolist() == [2, 2, 1]
    np.testing.assert_allclose(sums.deviation, [0.6, -0.2, 0.1], rtol=1e-14)


def test_equal_scores_stay_in_their_order():
    order, score = stable_order(np.array([0.5, 0.25, 0.5, 0.125]))
    assert order.tolist() == [3, 1, 0, 2]
    assert score.tolist() == [0.125, 0.25, 0.5, 0.5]


def test_rise_and_fall_of_two_bins():
    """Outcome 1 at 0.2 rises by 0.8, outcome 0 at 0.3 falls by 0.3; outcome 1 at 0.9 rises by 0.1."""
    steps = steps_of_counts(BinnedCounts.from_arrays([1, 0, 1], [0.2, 0.3, 0.9], bins=2))
    np.testing.assert_allclose(steps.rise, [0.8, 0.1], rtol=1e-14)
    np.testing.assert_allclose(steps.fall, [0.3, 0], atol=1e-15)
    np.testing.assert_allclose(steps.deviation, [0.5, 0.1], rtol=1e-14)


def test_equal_scores_share_a_merged_bin():
    rows = Predictions.from_outcomes([0, 1, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.4, 0.6, 0.9])
    counts = merge_scores(OrderedSums.from_rows(rows), 3)
    assert counts.n.tolist() == [3, 1, 2]
    assert counts.upper.tolist() == [0.1, 0.4, 0.9]
    np.testing.assert_allclose(counts.bins.edges, [0, 0.25, 0.5, 1], rtol=1e-15)
