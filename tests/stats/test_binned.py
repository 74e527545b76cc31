"""BinnedCounts: what is counted, how it adds up, what it refuses."""

import copy
import pickle
from fractions import Fraction
from functools import reduce
from itertools import permutations
from operator import add

import numpy as np
import pytest

from bayescal import BinnedCounts, Predictions
from bayescal._checks import RoundingWarning
from bayescal.data.matrix import ClassRows

FLOATS = ("weight", "deviation", "deviation_sq", "weight_sq")


def rows(n=1000, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.random(n)


def assert_same(one, other, rtol=1e-12):
    """The same integers, and sums equal but for the order of additions."""
    np.testing.assert_array_equal(one.cells, other.cells)
    for name in FLOATS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12, err_msg=name)
    for name in ("total", "squares"):
        found, expected = (getattr(counts.losses, name) for counts in (one, other))
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12, err_msg=name)


def test_by_hand():
    """Bins [0, 1/2) and [1/2, 1]: rows 0.1 and 0.3 (outcomes 0, 1), and 0.5, 0.7, 1.0 (outcomes 1, 0, 1)."""
    counts = BinnedCounts.from_arrays([0, 1, 1, 0, 1], [0.1, 0.3, 0.5, 0.7, 1.0], bins=2)
    np.testing.assert_array_equal(counts.cells, [[1, 1], [1, 2]])
    np.testing.assert_array_equal(counts.n, [2, 3])
    np.testing.assert_array_equal(counts.k, [1, 2])
    assert counts.n_rows == 5
    np.testing.assert_allclose(counts.accuracy, [1 / 2, 2 / 3])
    np.testing.assert_allclose(counts.mean_confidence, [0.2, 2.2 / 3])
    np.testing.assert_allclose(counts.share, [0.4, 0.6])
    np.testing.assert_allclose(counts.deviation, [[-0.15, -0.05], [0.05, 0.0]], atol=1e-15)
    np.testing.assert_allclose(counts.deviation_sq, [0.15**2 + 0.05**2, 0.25**2 + 0.05**2 + 0.25**2])
    # outcome 0: 0.1^2 and 0.7^2; outcome 1: (1 - 0.3)^2, and (1 - 0.5)^2 + 0
    np.testing.assert_allclose(counts.losses.total, [[0.01, 0.49], [0.49, 0.25]], rtol=1e-14)
    np.testing.assert_allclose(counts.losses.squares, [[0.0001, 0.2401], [0.2401, 0.0625]], rtol=1e-14)
    assert not counts.weighted
    assert counts.effective_rows == 5


def test_weights_by_hand():
    """Kish: weights 1 and 3 in one bin are worth (1 + 3)^2 / (1 + 9) = 1.6 rows."""
    counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.4, 0.9], bins=2, weights=[1, 3, 2])
    assert counts.weighted
    np.testing.assert_allclose(counts.effective_n, [1.6, 1.0])
    np.testing.assert_allclose(counts.effective_k, [1.2, 1.0])
    np.testing.assert_allclose(counts.accuracy, [0.75, 1.0])
    np.testing.assert_allclose(counts.mean_confidence, [(0.2 + 3 * 0.4) / 4, 0.9])
    np.testing.assert_allclose(counts.share, [4 / 6, 2 / 6])
    assert counts.effective_rows == pytest.approx(36 / 14)
    np.testing.assert_array_equal(counts.n, [2, 1])


def test_weights_whose_sums_are_the_rows_are_weights_all_the_same():
    """Weights 1/2 and 3/2 of one bin add up to its two rows; their squares, to 5/2, do not."""
    counts = BinnedCounts.from_arrays([1, 1], [0.6, 0.7], bins=2, weights=[0.5, 1.5])
    assert counts.weighted
    np.testing.assert_allclose(counts.effective_n, [0, 4 / 2.5])


def test_effective_rows_of_small_weights():
    """Weights 0.1 and 0.2: 0.09 / 0.05."""
    assert BinnedCounts.from_arrays([0, 1], [0.2, 0.9], weights=[0.1, 0.2]).effective_rows == pytest.approx(1.8)


def test_weight_zero_leaves_no_trace():
    outcome, confidence = rows()
    weight = (np.arange(1000) % 4 > 0).astype(float)
    weighed = BinnedCounts.from_arrays(outcome, confidence, weights=weight)
    without = BinnedCounts.from_arrays(outcome[weight > 0], confidence[weight > 0])
    for name in ("accuracy", "mean_confidence", "share", "effective_n", "effective_k"):
        np.testing.assert_allclose(getattr(weighed, name), getattr(without, name), rtol=1e-12, err_msg=name)


def test_a_bin_of_weight_zero_is_empty():
    counts = BinnedCounts.from_arrays([1, 0], [0.2, 0.8], bins=2, weights=[0.0, 1.0])
    np.testing.assert_array_equal(counts.occupied, [False, True])
    assert np.isnan(counts.accuracy[0])
    assert counts.effective_n[0] == 0


def test_empty_bins_have_no_ratio_and_no_warning():
    counts = BinnedCounts.from_arrays([1], [0.95], bins=10)
    assert np.isnan(counts.accuracy[:9]).all()
    assert np.isnan(counts.mean_confidence[:9]).all()
    np.testing.assert_array_equal(counts.occupied, [False] * 9 + [True])
    np.testing.assert_array_equal(counts.share, [0] * 9 + [1])


def test_mean_confidence_does_not_cancel():
    """Rows 1e-9 beside the middle of a bin: the sum is centred there, so the difference keeps its digits."""
    counts = BinnedCounts.from_arrays([0, 1] * 500, np.full(1000, 0.5 + 1e-9), bins=9)
    gap = counts.mean_confidence[4] - counts.accuracy[4]
    assert gap == pytest.approx(float(Fraction(0.5 + 1e-9) - Fraction(1, 2)), rel=1e-6)


# --- merging


def test_parts_in_any_order_give_the_integers_of_one_pass():
    outcome, confidence = rows()
    weight = np.random.default_rng(2).gamma(1, size=1000)
    for weights in (None, weight):
        whole = BinnedCounts.from_arrays(outcome, confidence, weights=weights)
        parts = [
            BinnedCounts.from_arrays(outcome[i], confidence[i], weights=None if weights is None else weights[i])
            for i in np.array_split(np.arange(1000), 4)
        ]
        for order in permutations(parts):
            assert_same(reduce(add, order), whole)
        assert_same((parts[0] + parts[1]) + (parts[2] + parts[3]), whole)


def test_merged_counts_are_integers():
    outcome, confidence = rows(10)
    part = BinnedCounts.from_arrays(outcome, confidence)
    assert (part + part).cells.dtype == np.int64
    np.testing.assert_array_equal((part + part).n, 2 * part.n)


def test_sum_and_the_neutral_element():
    outcome, confidence = rows(50)
    part = BinnedCounts.from_arrays(outcome, confidence, bins=4)
    assert sum([part, part, part]) == part + part + part
    assert part + BinnedCounts.empty(4) == part
    assert BinnedCounts.empty(4) + part == part
    assert BinnedCounts.empty(4).n_rows == 0
    assert BinnedCounts.empty(4).effective_rows == 0
    assert not BinnedCounts.empty(4).occupied.any()


def test_addition_leaves_its_arguments_alone():
    outcome, confidence = rows(50)
    part = BinnedCounts.from_arrays(outcome, confidence)
    before = copy.deepcopy(part)
    _ = part + part
    assert part == before


def test_unequal_edges_do_not_add():
    with pytest.raises(ValueError, match=r"only if they have the same edges; these have 10 equal-width bins .* and 15"):
        BinnedCounts.empty(10) + BinnedCounts.empty(15)


def test_unequal_targets_do_not_add():
    with pytest.raises(ValueError, match="only if they have the same target; these have 'event' and 'top-label'"):
        BinnedCounts.empty(10, target="event") + BinnedCounts.empty(10, target="top-label")


@pytest.mark.parametrize("other", [1, 1.5, "counts", None, [1]])
def test_counts_add_to_counts_only(other):
    with pytest.raises(TypeError):
        BinnedCounts.empty(10) + other


def test_equality_is_by_content():
    outcome, confidence = rows(50)
    part = BinnedCounts.from_arrays(outcome, confidence)
    assert part == BinnedCounts.from_arrays(outcome, confidence)
    assert part != BinnedCounts.from_arrays(1 - outcome, confidence)
    assert part != "counts"
    with pytest.raises(TypeError, match="unhashable"):
        hash(part)


def test_counts_are_frozen_and_survive_a_pickle():
    part = BinnedCounts.from_arrays(*rows(50))
    with pytest.raises(AttributeError):
        part.target = "event"
    assert pickle.loads(pickle.dumps(part)) == part


def test_repr_says_what_was_counted():
    assert repr(BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.2, 0.9])) == (
        "BinnedCounts(15 equal-width bins [a, b), 3 rows, 2 with outcome 1)"
    )


# --- coarsening


@pytest.mark.parametrize("edges", [[0, 1], [0, 0.5, 1], [0, 0.25, 0.375, 1]])
@pytest.mark.parametrize("weighted", [False, True])
def test_coarsening_is_counting_on_the_coarse_edges(edges, weighted):
    outcome, confidence = rows()
    weights = np.random.default_rng(3).gamma(1, size=1000) if weighted else None
    fine = BinnedCounts.from_arrays(outcome, confidence, bins=4096, weights=weights)
    assert_same(fine.coarsen(edges), BinnedCounts.from_arrays(outcome, confidence, bins=edges, weights=weights), 1e-9)


def test_coarsening_needs_edges_that_were_counted():
    with pytest.raises(ValueError, match=r"among the edges of the counts; 1 of 3 values is not, first at index 1: 0.3"):
        BinnedCounts.empty(4).coarsen([0, 0.3, 1])


# --- weights that cannot be summed


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (1e307, r"below 1e\+140, .*; 2 of 2 values are not, first at index 0: 1e\+307"),
        (1e-200, "above 1e-140 at their largest, .*; it is 1e-200"),
    ],
)
def test_weights_beyond_squaring_are_refused_where_batches_add(scale, message):
    with pytest.raises(ValueError, match=rf"`weights` must be {message}\. Divide them all by one number"):
        BinnedCounts.from_arrays([0, 1], [0.1, 0.2], weights=[scale, scale])


def test_weights_of_zero_alone_are_refused():
    with pytest.raises(ValueError, match="`weights` are all zero"):
        BinnedCounts.from_arrays([0, 1], [0.1, 0.2], weights=[0, 0])
    rows = ClassRows(label=np.array([0, 1]), matrix=np.full((2, 2), 0.5), weight=np.zeros(2))
    with pytest.raises(ValueError, match="`weights` are all zero"):
        BinnedCounts.of_classes(rows)


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_rounding_is_told_once_whatever_the_bins(binning):
    with pytest.warns(RoundingWarning, match="1 of 4 values") as caught:
        counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.3, 0.8, 1 + 1e-9], bins=2, binning=binning)
    assert len(caught) == 1
    np.testing.assert_array_equal(counts.n, [2, 2])


def test_predictions_carry_their_target():
    made = Predictions.from_labels([0, 1], [[0.4, 0.6], [0.2, 0.8]])
    assert BinnedCounts.from_predictions(made).target == "top-label"
