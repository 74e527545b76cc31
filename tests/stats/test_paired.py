"""PairedCounts: what two models said of the same rows, counted together; a loop over rows is the oracle."""

import copy
import pickle
from collections import defaultdict
from functools import reduce
from itertools import permutations
from operator import add

import numpy as np
import pytest

from bayescal import BinnedCounts, PairedCounts
from bayescal.stats import paired
from bayescal.stats.paired import require_paired


def rows(n=1000, seed=1, same_outcome=False):
    """Outcome and confidence of two models; some confidences lie on edges."""
    rng = np.random.default_rng(seed)
    first, second = np.round(rng.random((2, n)), 2)
    z = rng.integers(0, 2, (2, n))
    return z[0], first, z[0 if same_outcome else 1], second


def place(confidence, edges):
    """The bin of one row, by comparison with one edge after another."""
    for b in range(len(edges) - 2):
        if edges[b] <= confidence < edges[b + 1]:
            return b
    return len(edges) - 2


def by_loop(z_a, a, z_b, b, edges, weights=None):
    """Cells that occur, in order, with their rows, weights and squared weights: one row after the other."""
    sums = defaultdict(lambda: [0, 0.0, 0.0])
    for i in range(len(a)):
        w = 1.0 if weights is None else float(weights[i])
        cell = sums[place(a[i], edges), int(z_a[i]), place(b[i], edges), int(z_b[i])]
        cell[0] += 1
        cell[1] += w
        cell[2] += w * w
    keys = sorted(sums)
    n, weight, weight_sq = zip(*(sums[key] for key in keys), strict=True)
    return np.array(keys), np.array(n), np.array(weight), np.array(weight_sq)


def assert_counts(counts, expected):
    cells, n, weight, weight_sq = expected
    np.testing.assert_array_equal(counts.cells, cells)
    np.testing.assert_array_equal(counts.n, n)
    np.testing.assert_allclose(counts.weight, weight, rtol=1e-12)
    np.testing.assert_allclose(counts.weight_sq, weight_sq, rtol=1e-12)


def assert_same(one, other):
    """The same integers, and sums equal but for the order of additions."""
    assert_counts(one, (other.cells, other.n, other.weight, other.weight_sq))
    for a, b in ((one.first, other.first), (one.second, other.second)):
        np.testing.assert_array_equal(a.cells, b.cells)
        np.testing.assert_allclose(a.deviation, b.deviation, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)
    for name in ("total", "squares"):
        found, expected = (getattr(counts.loss_difference, name) for counts in (one, other))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# --- against the loop


@pytest.mark.parametrize("n_bins", [1, 2, 7, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_cells_are_those_of_a_loop_over_rows(n_bins, weighted):
    columns = rows()
    weights = np.random.default_rng(2).gamma(1, size=1000) if weighted else None
    counts = PairedCounts.from_arrays(*columns, bins=n_bins, weights=weights)
    # edges as fractions: 0.29 * 100 is not 29
    edges = np.array([i / n_bins for i in range(n_bins + 1)])
    assert_counts(counts, by_loop(*columns, edges, weights))
    assert counts.n.dtype == np.int64
    assert counts.n_rows == 1000


def test_own_edges_by_hand():
    """Edges 0, 0.3, 1. Rows (0.2, 0.3), (0.3, 1.0), (0.29, 0.31): bins (0, 1), (1, 1), (0, 1)."""
    counts = PairedCounts.from_arrays([0, 1, 0], [0.2, 0.3, 0.29], [1, 1, 1], [0.3, 1.0, 0.31], bins=[0, 0.3, 1])
    np.testing.assert_array_equal(counts.cells, [[0, 0, 1, 1], [1, 1, 1, 1]])
    np.testing.assert_array_equal(counts.n, [2, 1])


def test_more_rows_than_a_chunk(monkeypatch):
    columns = rows(501)
    whole = PairedCounts.from_arrays(*columns, bins=9)
    monkeypatch.setattr(paired, "CHUNK", 50)  # ten full chunks and one row
    monkeypatch.setattr(paired, "LOSSES", 50)
    parts = PairedCounts.from_arrays(*columns, bins=9)
    assert_same(parts, whole)
    assert (parts.first, parts.second) == (whole.first, whole.second)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_difference_of_losses_is_that_of_the_rows(weighted):
    z_a, a, z_b, b = columns = rows()
    weights = np.random.default_rng(2).gamma(1, size=1000) if weighted else None
    counts = PairedCounts.from_arrays(*columns, bins=3, weights=weights)
    w = np.ones(1000) if weights is None else weights
    difference = (z_a - a) ** 2 - (z_b - b) ** 2
    np.testing.assert_allclose(counts.loss_difference.total, np.sum(w * difference), rtol=1e-12)
    np.testing.assert_allclose(counts.loss_difference.squares, np.sum(w * difference**2), rtol=1e-12)
    swapped = counts.swapped().loss_difference
    assert (swapped.total, swapped.squares) == (-counts.loss_difference.total, counts.loss_difference.squares)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_difference_of_log_losses_is_over_rows_where_both_are_finite(weighted):
    z_a, a, z_b, b = columns = rows()
    a[:3], z_a[:3], b[2:5], z_b[2:5] = 0.0, 1, 1.0, 0
    weights = np.random.default_rng(2).gamma(1, size=1000) if weighted else None
    counts = PairedCounts.from_arrays(*columns, bins=3, weights=weights)
    w = np.ones(1000) if weights is None else weights
    with np.errstate(divide="ignore"):
        own, other = (-np.log(np.where(z == 1, c, 1 - c)) for z, c in ((z_a, a), (z_b, b)))
    finite = np.isfinite(own) & np.isfinite(other)
    difference = own[finite] - other[finite]
    found = counts.log_loss_difference
    np.testing.assert_allclose(found.total, np.sum(w[finite] * difference), rtol=1e-11)
    np.testing.assert_allclose(found.squares, np.sum(w[finite] * difference**2), rtol=1e-11)
    assert found.infinite == (~finite).sum() >= 5
    swapped = counts.swapped().log_loss_difference
    assert (swapped.total, swapped.squares, swapped.infinite) == (-found.total, found.squares, found.infinite)
    assert (counts + counts).log_loss_difference.infinite == 2 * found.infinite


def test_one_model_twice_has_no_difference_of_losses():
    z, a, _, _ = rows()
    losses = PairedCounts.from_arrays(z, a, z, a, bins=3).loss_difference
    assert (losses.total, losses.squares) == (0, 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_where_only_cells_that_occur_are_kept_it_is_the_same_count(weighted, monkeypatch):
    """600 bins make 1.44 million possible cells, beyond the array of all of them; the loop is the oracle."""
    columns = rows(800)
    weights = np.random.default_rng(3).integers(1, 9, 800) if weighted else None
    monkeypatch.setattr(paired, "CHUNK", 97)
    assert paired.DENSE_CELLS < 4 * 600**2
    sparse = PairedCounts.from_arrays(*columns, bins=600, weights=weights)
    assert_counts(sparse, by_loop(*columns, np.array([i / 600 for i in range(601)]), weights))
    monkeypatch.setattr(paired, "DENSE_CELLS", 10_000_000)
    assert PairedCounts.from_arrays(*columns, bins=600, weights=weights) == sparse


def test_the_margins_are_the_counts_of_each_model():
    z_a, a, z_b, b = rows()
    weights = np.random.default_rng(4).gamma(1, size=1000)
    counts = PairedCounts.from_arrays(z_a, a, z_b, b, bins=8, weights=weights)
    assert counts.first == BinnedCounts.from_arrays(z_a, a, bins=8, weights=weights)
    assert counts.second == BinnedCounts.from_arrays(z_b, b, bins=8, weights=weights)
    for margin, at, z in ((counts.first, 0, 1), (counts.second, 2, 3)):
        summed = np.zeros((2, 8))
        np.add.at(summed, (counts.cells[:, z], counts.cells[:, at]), counts.weight)
        np.testing.assert_allclose(summed, margin.weight)


def test_equal_mass_bins_are_each_models_own():
    z, a, _, b = rows(same_outcome=True)
    counts = PairedCounts.from_arrays(z, a, z, b**3, bins=5, binning="equal-mass")
    assert counts.first.bins != counts.second.bins
    assert counts.second == BinnedCounts.from_arrays(z, b**3, bins=5, binning="equal-mass")
    assert len(np.unique(counts.cells, axis=0)) == len(counts.cells)


def test_one_outcome_for_both_leaves_half_of_the_cells():
    z, a, _, b = rows(same_outcome=True)
    counts = PairedCounts.from_arrays(z, a, z, b, bins=3, target="event")
    np.testing.assert_array_equal(counts.cells[:, 1], counts.cells[:, 3])
    assert counts.first.target == counts.second.target == "event"


def test_unequal_numbers_of_bins():
    z_a, a, z_b, b = rows(200)
    from bayescal import Predictions

    one, other = Predictions.from_outcomes(z_a, a), Predictions.from_outcomes(z_b, b)
    margins = [BinnedCounts.from_predictions(p, bins=n) for p, n in ((one, 4), (other, 11))]
    counts = PairedCounts.from_predictions(one, other, *margins)
    expected = sorted({(place(x, np.arange(5) / 4), int(u), place(y, np.arange(12) / 11), int(v))
                       for x, u, y, v in zip(a, z_a, b, z_b, strict=True)})  # fmt: skip
    np.testing.assert_array_equal(counts.cells, expected)
    back = (counts + counts).swapped().swapped()
    np.testing.assert_array_equal(back.cells, expected)
    np.testing.assert_array_equal(back.n, 2 * counts.n)


# --- merging


@pytest.mark.parametrize("n_bins", [15, 600])
def test_parts_in_any_order_are_one_pass(n_bins):
    columns = rows(400)
    weight = np.random.default_rng(2).gamma(1, size=400)
    for weights in (None, weight):
        whole = PairedCounts.from_arrays(*columns, bins=n_bins, weights=weights)
        parts = [
            PairedCounts.from_arrays(
                *(c[i] for c in columns), bins=n_bins, weights=None if weights is None else weights[i]
            )
            for i in np.array_split(np.arange(400), 3)
        ]
        for order in permutations(parts):
            assert_same(reduce(add, order), whole)
        assert_same(sum(parts), whole)


def test_no_rows_are_the_neutral_element():
    counts = PairedCounts.from_arrays(*rows(50), bins=4)
    empty = PairedCounts.empty(4)
    assert empty.n_rows == 0
    assert counts + empty == counts
    assert empty + counts == counts
    assert empty + empty == empty
    assert PairedCounts.empty(4, 6).second.bins != PairedCounts.empty(4).second.bins


def test_merged_counts_stay_integers():
    counts = PairedCounts.from_arrays(*rows(50), bins=4)
    assert (counts + counts).n.dtype == np.int64
    np.testing.assert_array_equal((counts + counts).n, 2 * counts.n)


def test_swapped_is_the_other_model_first():
    z_a, a, z_b, b = rows()
    weights = np.random.default_rng(5).gamma(1, size=1000)
    counts = PairedCounts.from_arrays(z_a, a, z_b, b, bins=6, weights=weights)
    assert counts.swapped() == PairedCounts.from_arrays(z_b, b, z_a, a, bins=6, weights=weights)
    assert counts.swapped() != counts
    assert counts.swapped().swapped() == counts


def test_equal_means_equal_in_every_part():
    columns = rows(60)
    counts = PairedCounts.from_arrays(*columns, bins=4)
    assert counts == PairedCounts.from_arrays(*columns, bins=4)
    assert counts != PairedCounts.from_arrays(*columns, bins=5)
    assert counts != PairedCounts.from_arrays(*columns, bins=4, weights=np.full(60, 2.0))
    assert counts != "counts"


# --- frozen, copied, refused


def test_counts_cannot_be_changed_and_survive_copies():
    counts = PairedCounts.from_arrays(*rows(50), bins=4)
    with pytest.raises(ValueError, match="read-only"):
        counts.n[0] = 7
    with pytest.raises(AttributeError):
        counts.n = np.zeros(3)
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert copy.deepcopy(counts) == counts
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_the_callers_arrays_are_left_alone():
    columns = rows(50)
    before = [c.copy() for c in columns]
    PairedCounts.from_arrays(*columns, bins=4, weights=np.ones(50))
    for given, kept in zip(columns, before, strict=True):
        np.testing.assert_array_equal(given, kept)
        assert given.flags.writeable


def test_repr_says_how_many():
    counts = PairedCounts.from_arrays([0, 1], [0.2, 0.7], [0, 1], [0.4, 0.3], bins=2)
    assert repr(counts).startswith("PairedCounts(2 rows in 2 joint cells, 2 equal-width bins")


def test_models_on_different_rows_are_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"same rows; they have 3 and 2.*`compare_independent`"):
        PairedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0, 1], [0.4, 0.3])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (([0, 1], [0.2, 1.7], [0, 1], [0.4, 0.3]), r"must lie in \[0, 1\]; 1 of 2 values does not, first at index 1"),
        (([0, 1], [0.2, 0.7], [0, 2], [0.4, 0.3]), "must be binary labels, 0 or 1"),
        (([0, 1], [0.2, 0.7], [0, 1], [0.4, np.nan]), "must be complete"),
        (([], [], [], []), "is empty"),
    ],
)
def test_rows_that_are_no_rows_are_refused(columns, said):
    with pytest.raises(ValueError, match=said):
        PairedCounts.from_arrays(*columns)


def test_only_the_same_bins_and_targets_are_added():
    counts = PairedCounts.from_arrays(*rows(50), bins=4)
    with pytest.raises(ValueError, match="only if they have the same edges"):
        counts + PairedCounts.from_arrays(*rows(50), bins=5)
    with pytest.raises(ValueError, match="only if they have the same target"):
        counts + PairedCounts.empty(4, target="event")
    with pytest.raises(TypeError):
        counts + 1


def test_what_is_not_paired_counts_is_refused():
    require_paired(PairedCounts.empty(3))
    with pytest.raises(TypeError, match="must hold PairedCounts, not BinnedCounts"):
        require_paired(BinnedCounts.empty(3))


def test_two_names_of_one_classifier_without_gaps_are_alike():
    """The cosine of two zero vectors is 1 for one classifier under two names, and 0 for different classifiers."""
    y, p, none = [0, 1, 0], [0.2, 0.9, 0.29], (np.zeros(2), np.zeros(2))
    same = PairedCounts.from_arrays(y, p, y, p, bins=[0, 0.3, 1])
    assert same.gap_cosine(none) == same.linear_cosine(none, none) == 1.0
    other = PairedCounts.from_arrays(y, p, y, [0.2, 0.9, 0.31], bins=[0, 0.3, 1])
    assert other.gap_cosine(none) == other.linear_cosine(none, none) == 0.0
