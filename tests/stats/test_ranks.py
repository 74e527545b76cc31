"""Ranks: the AUC of the rows, however they are divided, merged or weighted, and bounds of what a grid hides."""

import copy
import pickle
from functools import reduce
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayescal import BinnedCounts
from bayescal.stats import ranks as module
from bayescal.stats.bins import make_bins
from bayescal.stats.ranks import FINE, FINE_CELLS, VALUES, Ranks, add_ranks, fine_cell


def rows(n=1000, digits=17, seed=1):
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.beta(0.5, 0.5, n), digits)
    return (rng.random(n) < confidence).astype(np.int64), confidence, rng.gamma(1, size=n)


def assert_equal(one, other):
    assert one.grid == other.grid
    np.testing.assert_array_equal(one.position, other.position)
    np.testing.assert_allclose(one.weight, other.weight, rtol=1e-12)
    np.testing.assert_allclose(one.weight_sq, other.weight_sq, rtol=1e-12)


# --- one classifier


@pytest.mark.parametrize("digits", [1, 2, 17])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float64])
def test_the_area_is_that_of_scikit_learn(digits, dtype, kind):
    outcome, confidence, weight = rows(digits=digits)
    confidence = confidence.astype(dtype)
    plain, heavy = (Ranks.of_rows(confidence, outcome.astype(kind), w) for w in (None, weight))
    values = confidence.astype(float)
    assert plain.auc == pytest.approx(roc_auc_score(outcome, values), rel=1e-12)
    assert heavy.auc == pytest.approx(roc_auc_score(outcome, values, sample_weight=weight), rel=1e-12)
    assert plain.grid_error == heavy.grid_error == 0
    np.testing.assert_array_equal(plain.total, [np.sum(outcome == 0), outcome.sum()])
    np.testing.assert_array_equal(plain.rows, plain.total)
    squares = [np.sum(weight[outcome == z] ** 2) for z in (0, 1)]
    np.testing.assert_allclose(heavy.rows, heavy.total**2 / squares, rtol=1e-12)


def test_placements_by_all_pairs():
    outcome, confidence, weight = rows(60, digits=1)
    ranks = Ranks.of_rows(confidence, outcome, weight)
    for i, (z, c) in enumerate(zip(outcome, confidence, strict=True)):
        other = outcome != z
        right = (confidence < c) if z else (confidence > c)
        expected = np.average(right[other] + (confidence == c)[other] / 2, weights=weight[other])
        assert ranks.placements[z, ranks.cell_of(confidence[i : i + 1])[0]] == pytest.approx(expected, rel=1e-12)
    placed = ranks.placements[outcome, ranks.cell_of(confidence)]
    for z in (0, 1):
        assert np.average(placed[outcome == z], weights=weight[outcome == z]) == pytest.approx(ranks.auc)
        variance = np.average((placed[outcome == z] - ranks.auc) ** 2, weights=weight[outcome == z])
        assert ranks.spread[z] == pytest.approx(variance, rel=1e-10)
        by_squares = np.average((placed[outcome == z] - ranks.auc) ** 2, weights=weight[outcome == z] ** 2)
        assert ranks.sampling_spread[z] == pytest.approx(max(by_squares, variance), rel=1e-10)


def test_the_sampling_spread_of_rows_without_weights_is_their_spread():
    outcome, confidence, _ = rows()
    plain, equal = Ranks.of_rows(confidence, outcome), Ranks.of_rows(confidence, outcome, np.full(len(outcome), 3.0))
    np.testing.assert_array_equal(plain.sampling_spread, plain.spread)
    np.testing.assert_allclose(equal.sampling_spread, plain.spread, rtol=1e-12)
    heavy = Ranks.of_rows(confidence, outcome, confidence**2)  # heavy rows with outcome 0 are wrongly ranked ones
    assert heavy.sampling_spread[0] > 1.2 * heavy.spread[0]


def test_zero_is_one_value():
    ranks = Ranks.of_rows(np.array([0.0, -0.0, 1.0, np.nextafter(1, 2)]), np.array([0, 1, 0, 1]))
    assert ranks.position.tolist() == [0, 1]
    assert ranks.auc == 0.5


def test_rows_of_weight_zero_are_no_rows():
    confidence, outcome = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1])
    ranks = Ranks.of_rows(confidence, outcome, np.array([1.0, 1.0, 1.0, 0.0]))
    assert ranks.auc == 0.5
    assert ranks.cell_of(confidence).max() < len(ranks.position)
    assert not Ranks.of_rows(confidence, outcome, np.array([1.0, 0.0, 1.0, 0.0])).both_outcomes


# --- grids


def test_cells_of_the_fine_grid_are_in_the_order_of_confidences():
    rng = np.random.default_rng(1)
    small = 10.0 ** -rng.uniform(0, 40, 2000)
    half = [0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1)]
    confidence = np.sort(np.concatenate([[0, 1], half, small, 1 - small, rng.random(2000)]))
    cell = fine_cell(confidence)
    assert (np.diff(cell) >= 0).all()
    assert (cell[0], cell[-1]) == (0, FINE_CELLS - 1)
    for own in np.unique(cell):  # at most 2^-10 of the smaller one of c and 1 - c, or below 2^-30
        inside = confidence[cell == own]
        nearest = np.minimum(inside, 1 - inside).max()
        assert np.ptp(inside) <= max(nearest * 2.0**-10 * (1 + 1e-6), 2.0**-30 * (1 + 2.0**-10))


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_on_the_fine_grid_whose_error_bounds_the_difference(weighted, monkeypatch):
    outcome, confidence, weight = rows(5000)
    weight = weight if weighted else None
    exact = Ranks.of_rows(confidence, outcome, weight)
    monkeypatch.setattr(module, "EXACT_ROWS", 4999)
    monkeypatch.setattr(module, "CHUNK", 700)
    fine = Ranks.of_rows(confidence, outcome, weight)
    assert (fine.grid, exact.grid) == (FINE, VALUES)
    assert 0 < abs(fine.auc - exact.auc) <= fine.grid_error < 2e-4
    assert_equal(exact.coarser(FINE), fine)
    np.testing.assert_array_equal(fine.position[fine.cell_of(confidence)], fine_cell(confidence))


def test_the_limit_of_rows():
    outcome, confidence, _ = rows(2**17 + 1)
    assert Ranks.of_rows(confidence[:-1], outcome[:-1]).grid == VALUES
    assert Ranks.of_rows(confidence, outcome).grid == FINE


@pytest.mark.parametrize("bins", [1, 2, 15, 1000])
@pytest.mark.parametrize("order", [-1, 1])
def test_the_error_of_bins_bounds_every_order_of_rows_within_them(bins, order):
    """The order of the rows within bins is made the worst, or the best: exactly the bound is reached."""
    outcome, confidence, _ = rows(2000)
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=bins)
    ranks = Ranks.of_bins(counts.bins, counts.weight, counts.weight_sq)
    assert abs(ranks.auc - roc_auc_score(outcome, confidence)) <= ranks.grid_error
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    extreme = roc_auc_score(outcome, place + order * (outcome - 0.5) / 2)
    assert extreme - ranks.auc == pytest.approx(order * ranks.grid_error, abs=1e-12)


# --- addition


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [1, 17])
def test_parts_add_to_the_whole(weighted, digits):
    outcome, confidence, weight = rows(digits=digits)
    parts = [Ranks.of_rows(confidence[i::3], outcome[i::3], weight[i::3] if weighted else None) for i in range(3)]
    assert_equal(reduce(add_ranks, parts), Ranks.of_rows(confidence, outcome, weight if weighted else None))


def test_grids_add_on_the_coarser_one():
    outcome, confidence, _ = rows()
    exact, bins = Ranks.of_rows(confidence, outcome), make_bins(100)
    on_bins, fine = exact.coarser(bins), exact.coarser(FINE)
    for one, other in product([exact, on_bins], repeat=2):
        together = add_ranks(one, other)
        assert together.grid == (VALUES if one is other is exact else bins)
        assert together.total.sum() == 2000
        assert together.auc == pytest.approx((exact if one is other is exact else on_bins).auc, rel=1e-12)
    assert add_ranks(exact, fine).auc == pytest.approx(fine.auc, rel=1e-12)
    assert add_ranks(fine, on_bins) is None
    assert add_ranks(exact.coarser(make_bins(7)), on_bins) is None
    assert add_ranks(exact, None) is None
    assert add_ranks(None, exact) is None


def test_a_union_of_too_many_values_becomes_fine(monkeypatch):
    outcome, confidence, _ = rows()
    parts = [Ranks.of_rows(confidence[i::2], outcome[i::2]) for i in range(2)]
    monkeypatch.setattr(module, "EXACT_ROWS", 999)
    assert_equal(add_ranks(*parts), Ranks.of_rows(confidence, outcome))


# --- ranks in counts


def test_counts_keep_their_bins_when_they_are_coarsened():
    outcome, confidence, weight = rows()
    fine = BinnedCounts.from_arrays(outcome, confidence, weights=weight, bins=900)
    assert fine.ranks is None
    coarse = fine.coarsen(15)
    assert_equal(coarse.ranks, Ranks.of_bins(fine.bins, fine.weight, fine.weight_sq))
    assert coarse.coarsen(3).ranks is coarse.ranks
    assert_equal((coarse + coarse).ranks, (fine + fine).coarsen(15).ranks)
    assert (coarse + BinnedCounts.from_arrays(outcome, confidence, bins=15)).ranks is None
    for both in (coarse + BinnedCounts.empty(15), BinnedCounts.empty(15) + coarse, sum([coarse])):
        assert_equal(both.ranks, coarse.ranks)


def test_copies_are_equal_and_cannot_be_changed():
    outcome, confidence, _ = rows()
    ranks = Ranks.of_rows(confidence, outcome)
    for twin in (ranks, copy.deepcopy(ranks), pickle.loads(pickle.dumps(ranks))):
        assert_equal(twin, ranks)
        for name in ("position", "weight", "weight_sq"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin, name)[0] = 1


def test_the_rows_may_change_afterwards():
    outcome, confidence, _ = rows()
    ranks = Ranks.of_rows(confidence, outcome)
    before = roc_auc_score(outcome, confidence)
    confidence[:] = 0.5
    assert ranks.auc == pytest.approx(before, rel=1e-12)


def test_ties_count_half():
    """Of four pairs, three are in order and one is tied: (3 + 1/2) / 4."""
    ranks = Ranks.of_rows(np.array([0.2, 0.5, 0.5, 0.9]), np.array([0, 0, 1, 1]))
    assert (ranks.auc, ranks.grid_error) == (0.875, 0.0)
    both = add_ranks(ranks, Ranks.of_rows(np.array([0.1]), np.array([1])))
    assert both.weight.tolist() == [[0, 1, 1, 0], [1, 0, 1, 1]]


# --- ends of cells


def near_ends():
    """Confidences of all sizes, those at which cells begin, and their neighbours."""
    rng = np.random.default_rng(1)
    uniform, power = rng.random(5000), 10.0 ** -rng.uniform(0, 12, 5000)
    begin = np.concatenate([np.arange(1025) / 1024, 2.0 ** -np.arange(40), 1 - 2.0 ** -np.arange(40)])
    return np.concatenate([uniform, power, 1 - power, begin, np.nextafter(begin, 1), np.nextafter(begin, 0)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lower_ends_of_the_fine_grid(dtype, monkeypatch):
    """No row is smaller by more than 1e-7, and all rows in lower cells are smaller."""
    monkeypatch.setattr(module, "EXACT_ROWS", 10)
    confidence = near_ends().astype(dtype)
    ranks = Ranks.of_rows(confidence, np.ones(len(confidence), bool))
    cell = ranks.cell_of(confidence)
    assert ranks.grid == FINE
    assert (ranks.lower[cell] - confidence).max() < 1e-7
    next_end = np.append(ranks.lower[1:], np.inf)[cell]
    assert (confidence < next_end).all()
    assert (confidence < next_end.astype(dtype)).all()
    np.testing.assert_array_equal(ranks.lower[[0, -1]] > 0.5, [False, True])


@pytest.mark.parametrize("closed", ["left", "right"])
def test_lower_ends_of_values_and_bins(closed):
    confidence = np.array([0.1, 0.2, 0.25, 0.5, 0.7, 0.75, 0.9])
    values = Ranks.of_rows(confidence, np.ones(7, bool))
    np.testing.assert_array_equal(values.lower, confidence)
    bins = make_bins(4, closed=closed)
    ranks = values.coarser(bins)
    kept = [np.sum(confidence >= each) for each in ranks.lower]
    assert kept == ([7, 5, 4, 2] if closed == "left" else [7, 4, 3, 1])
