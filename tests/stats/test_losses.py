"""Sums of losses by outcome and bin: those of the rows, however the rows are divided, merged or stored."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bayescal import BinnedCounts
from bayescal.stats.losses import LossSums, add_losses, total_loss


def rows(n=1000, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), np.round(rng.random(n), 2), rng.gamma(1, size=n)


def by_rows(outcome, confidence, weight, edges):
    """Sums by outcome and bin with numpy alone."""
    place = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, len(edges) - 2)
    sums = np.zeros((2, 2, len(edges) - 1))
    loss = (outcome - confidence) ** 2
    np.add.at(sums[0], (outcome, place), weight * loss)
    np.add.at(sums[1], (outcome, place), weight * loss**2)
    return sums


@pytest.mark.parametrize("bins", [1, 2, 15, [0, 0.111, 0.25, 0.253, 0.7, 1]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_they_are_sums_over_the_rows(bins, weighted, dtype):
    outcome, confidence, weight = rows()
    confidence = confidence.astype(dtype)
    counts = BinnedCounts.from_arrays(outcome, confidence, weights=weight if weighted else None, bins=bins)
    edges = counts.bins.starts_as(dtype)
    exact = confidence.astype(float)
    total, squares = by_rows(outcome, exact, weight if weighted else np.ones(1000), edges.astype(float))
    np.testing.assert_allclose(counts.losses.total, total, rtol=1e-11)
    np.testing.assert_allclose(counts.losses.squares, squares, rtol=1e-12)


def test_confidences_that_are_nearly_certain_and_right():
    """Squared errors of 1e-18 come from terms of about 1e-3, whose rounding is below 1e-16 per row; never negative."""
    counts = BinnedCounts.from_arrays([0, 1] * 500, [1e-9, 1 - 1e-9] * 500, bins=15)
    assert (counts.losses.total >= 0).all()
    assert counts.losses.total.sum() < 1e-13
    assert counts.losses.squares.sum() < 1e-32


def test_all_classes_in_one_pass():
    rng = np.random.default_rng(1)
    matrix, label = rng.dirichlet([1, 2, 3], 500), rng.integers(0, 3, 500)
    for k, counts in enumerate(BinnedCounts.classwise(label, matrix, bins=4)):
        total, squares = by_rows((label == k).astype(int), matrix[:, k], np.ones(500), np.arange(5) / 4)
        np.testing.assert_allclose(counts.losses.total, total, rtol=1e-11)
        np.testing.assert_allclose(counts.losses.squares, squares, rtol=1e-12)


def test_merged_bins_have_the_sums_of_their_parts():
    """Losses do not depend on the bins, so that merging is exact addition."""
    outcome, confidence, _ = rows()
    fine = BinnedCounts.from_arrays(outcome, confidence, bins=20)
    coarse = fine.coarsen([0, 0.25, 0.5, 1])
    for name in ("total", "squares"):
        values = getattr(fine.losses, name)
        expected = np.stack([values[:, :5].sum(axis=1), values[:, 5:10].sum(axis=1), values[:, 10:].sum(axis=1)], 1)
        np.testing.assert_allclose(getattr(coarse.losses, name), expected, rtol=1e-14)


def test_total_loss_by_hand():
    """Exact fractions: rows 1/8 and 3/8 with weights 1 and 3 in the bin around 1/4, for both outcomes."""
    middle, c, w = Fraction(1, 4), (Fraction(1, 8), Fraction(3, 8)), (1, 3)
    deviation = sum(b * (a - middle) for a, b in zip(c, w, strict=True))
    squares = sum(b * (a - middle) ** 2 for a, b in zip(c, w, strict=True))
    expected = [[sum(b * (z - a) ** 2 for a, b in zip(c, w, strict=True))] for z in (0, 1)]
    given = (np.full((2, 1), float(v)) for v in (sum(w), deviation, squares))
    np.testing.assert_array_equal(total_loss(np.array([0.25]), *given), np.array(expected, float))


# --- addition


def test_sums_of_batches_are_equal_in_any_order():
    """Squared errors of these confidences are multiples of 2^-16: float sums are exact, so equality is bit for bit."""
    rng = np.random.default_rng(1)
    outcome, confidence = rng.integers(0, 2, 600), rng.integers(0, 17, 600) / 16
    whole = BinnedCounts.from_arrays(outcome, confidence, bins=4)
    parts = [BinnedCounts.from_arrays(outcome[i::3], confidence[i::3], bins=4) for i in range(3)]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        total = sum(parts[i] for i in order)
        np.testing.assert_allclose(total.log_losses.total, whole.log_losses.total, rtol=1e-13)  # logarithms are inexact
        np.testing.assert_allclose(total.log_losses.squares, whole.log_losses.squares, rtol=1e-13)
        np.testing.assert_array_equal(total.log_losses.infinite, whole.log_losses.infinite)
        assert replace(total, log_losses=None) == replace(whole, log_losses=None)
    assert whole.log_losses.infinite.sum() > 0
    assert whole + BinnedCounts.empty(4) == BinnedCounts.empty(4) + whole == whole


def test_counts_of_release_0_1_0_leave_no_losses_in_a_sum():
    """Zeros in their place would make intervals too narrow."""
    outcome, confidence, _ = rows()
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=4)
    old = replace(counts, losses=None)
    assert (counts + old).losses is (old + counts).losses is None
    assert old.coarsen(2).losses is None
    assert old != counts
    assert add_losses(None, LossSums.empty(2)) is None


def test_a_pickle_of_release_0_1_0_has_no_losses():
    counts = BinnedCounts.from_arrays(*rows()[:2], bins=4)
    state = {name: value for name, value in vars(counts).items() if name != "losses"}
    old = BinnedCounts.__new__(BinnedCounts)
    old.__setstate__(state)
    assert old.losses is None
    assert old == replace(counts, losses=None)


def test_they_cannot_be_changed_and_survive_copies():
    losses = LossSums(np.array([0.5, 0.25]), np.array([0.25, 0.0625]))
    for same in (losses, copy.deepcopy(losses), pickle.loads(pickle.dumps(losses))):
        assert same == losses
        with pytest.raises(ValueError, match="read-only"):
            same.total[0] = 1
    assert losses != LossSums(losses.total, losses.squares * 2)
    assert losses != LossSums(losses.total * 2, losses.squares)
    assert losses != "losses"
    with pytest.raises(TypeError, match="unhashable"):
        hash(losses)


def test_sums_of_two_batches_are_added_by_field():
    both = LossSums(np.array([0.25]), np.array([0.5])) + LossSums(np.array([0.5]), np.array([1.0]), np.array([2]))
    assert (both.total.tolist(), both.squares.tolist(), both.infinite.tolist()) == ([0.75], [1.5], [2])
    assert sum([both, both]) == both + both
