"""Edges: one rounded division each; equal mass and equal effective mass, ties not split; custom ones checked."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayescal as bc
from bayescal.analyses.sensitivity import equal_effective_mass_among, equal_mass_among
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import (
    SIDES,
    Bins,
    effective_rows,
    equal_effective_mass_edges,
    equal_mass_edges,
    equal_width_edges,
    make_bins,
)
from bayescal.stats.files import count_file
from bayescal.stats.paired import PairedCounts

METHOD = "equal-effective-mass"


def test_equal_width_edges_are_python_divisions():
    """`k / M` of two integers is correctly rounded by the definition of the language."""
    for m in range(1, 1001):
        assert equal_width_edges(m).tolist() == [k / m for k in range(m + 1)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_edges_are_correctly_rounded(dtype):
    """No neighbouring float lies nearer to k/M: |edge M - k| is exact in float64 for these dtypes."""
    for m in range(1, 1001):
        edges, k = equal_width_edges(m, dtype), np.arange(m + 1)

        def distance(values, m=m, k=k):
            return np.abs(values.astype(np.float64) * m - k)

        for direction in (dtype(-np.inf), dtype(np.inf)):
            assert np.all(distance(edges) <= distance(np.nextafter(edges, direction))), m
        assert edges.dtype == dtype
        assert edges[0] == 0
        assert edges[-1] == 1


def test_written_decimals_meet_their_edges():
    """0.29 * 100 is 28.999...96 and 0.3 / 0.1 is 2.999...96, but 0.29 and 0.3 are edges."""
    for dtype in (np.float16, np.float32, np.float64):
        for m, scale in ((10, 1), (100, 2)):
            written = np.array([f"{k / m:.{scale}f}" for k in range(m + 1)]).astype(np.float64).astype(dtype)
            np.testing.assert_array_equal(equal_width_edges(m, dtype), written)


def test_bins_describe_themselves():
    bins = make_bins(4)
    assert (len(bins), str(bins)) == (4, "4 equal-width bins [a, b)")
    np.testing.assert_array_equal(bins.midpoints, [0.125, 0.375, 0.625, 0.875])
    np.testing.assert_array_equal(bins.widths, [0.25] * 4)
    assert str(make_bins(1)) == "1 equal-width bin [a, b)"
    assert str(make_bins([0, 0.3, 1])) == "2 bins [a, b) (custom edges)"
    assert str(make_bins(2, binning="equal-mass", confidence=[0.1, 0.2])) == "2 equal-mass bins [a, b)"
    assert make_bins(bins) is bins


def test_bins_are_equal_by_their_edges():
    assert make_bins(2) == make_bins([0, 0.5, 1])
    assert hash(make_bins(2)) == hash(make_bins([0, 0.5, 1]))
    assert make_bins(2) != make_bins(3)
    assert make_bins(2) != 2


def test_whole_floats_count_as_integers():
    assert make_bins(10.0) == make_bins(10)
    assert make_bins(np.int8(10)) == make_bins(10)


# --- equal mass


def mass_of(edges, values):
    return BinnedCounts.from_arrays(np.zeros(len(values), int), values, bins=edges).n.tolist()


@pytest.mark.parametrize(
    ("values", "n_bins", "edges"),
    [
        # worked by hand: cuts after N/M rows, edges midway between the neighbours
        ([0.1, 0.2, 0.3, 0.4], 2, [0, 0.25, 1]),
        ([0.4, 0.1, 0.3, 0.2], 4, [0, 0.15, 0.25, 0.35, 1]),
        ([0.0, 0.25, 0.5, 0.75, 1.0], 2, [0, 0.625, 1]),  # array_split: the first parts are the longer ones
        ([0.1, 0.2, 0.2, 0.2, 0.9], 2, [0, 0.55, 1]),  # the cut after three rows moves up, past the tie's last row
        ([0.1, 0.2, 0.2, 0.2, 0.2, 0.9, 0.95], 3, [0, 0.15, 0.55, 1]),
        ([0.5] * 7, 3, [0, 1]),
        ([0.0, 0.0, 1.0, 1.0], 2, [0, 0.5, 1]),
        ([0.3], 5, [0, 1]),
        ([0.2, 0.8], 15, [0, 0.5, 1]),
    ],
)
def test_equal_mass_by_hand(values, n_bins, edges):
    np.testing.assert_allclose(equal_mass_edges(values, n_bins), edges, rtol=1e-15)


def test_without_ties_the_parts_are_those_of_array_split():
    values = np.random.default_rng(1).random(1000)
    for n_bins in (2, 7, 15, 999, 1000):
        assert mass_of(equal_mass_edges(values, n_bins), values) == [
            len(part) for part in np.array_split(np.sort(values), n_bins)
        ]


def test_one_frequent_value_does_not_swallow_the_rest():
    """Nine tenths of the rows are 0.5; the others keep bins of their own (one peer puts 9977 of 10 000 into one)."""
    values = np.concatenate([np.full(9000, 0.5), np.random.default_rng(2).random(1000)])
    mass = mass_of(equal_mass_edges(values, 10), values)
    assert sum(mass) == 10_000
    assert max(mass) < 10_000
    assert len(mass) >= 2


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    values=st.lists(
        st.sampled_from([0.0, 5e-324, 0.1, 0.25, 0.3, 0.5, 0.75, 1 - 2**-53, 1.0]) | st.floats(0, 1),
        min_size=1,
        max_size=40,
    ),
    n_bins=st.integers(1, 12),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
)
def test_equal_mass_always_gives_edges(values, n_bins, dtype):
    """Edges increase from 0 to 1, there are never more bins than asked for, and order does not matter."""
    values = np.array(values, dtype=dtype)
    edges = equal_mass_edges(values, n_bins)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert np.all(np.diff(edges) > 0)
    assert len(edges) - 1 <= n_bins
    np.testing.assert_array_equal(edges, equal_mass_edges(values[::-1], n_bins))
    counts = BinnedCounts.from_arrays(np.zeros(len(values), int), values, bins=edges)
    assert counts.n_rows == len(values)
    # in the values' own dtype every inner edge separates two of them, so no bin is empty by rounding
    assert np.array_equal(edges.astype(dtype).astype(np.float64), edges)
    if len(edges) > 2:
        assert np.all(counts.n > 0)


# --- errors


@pytest.mark.parametrize(
    ("bins", "error", "message"),
    [
        (0, ValueError, "`bins` must be an integer >= 1, not 0"),
        (-3, ValueError, "`bins` must be an integer >= 1, not -3"),
        (2.5, TypeError, "`bins` must be an integer >= 1, not 2.5"),
        ("10", TypeError, "`bins` must be an integer >= 1, not '10'"),
        (True, TypeError, "`bins` must be an integer >= 1, not True"),
        (None, TypeError, "`bins` must be an integer >= 1, not None"),
        (float("nan"), TypeError, "`bins` must be an integer >= 1, not nan"),
        (float("inf"), TypeError, "`bins` must be an integer >= 1, not inf"),
        (10**9, ValueError, "`bins` must be at most 1000000, not 1000000000"),
        (
            [0.0, 0.6, 0.3, 1.0],
            ValueError,
            "`edges` must be strictly increasing; 1 of 4 values is not, first at index 2: 0.3",
        ),
        ([0, 0.5, 0.5, 1], ValueError, "first at index 2: 0.5"),
        ([0, np.nan, 1], ValueError, "`edges` must be complete; 1 of 3 values is missing"),
        ([0, np.inf], ValueError, "`edges` must be finite; 1 of 2 values is not, first at index 1: inf"),
        (
            [0.1, 0.5, 1.0],
            ValueError,
            "`edges` must begin at 0 and end at 1, so that no row is lost; they run from 0.1 to 1",
        ),
        ([0, 0.5, 0.9], ValueError, "they run from 0 to 0.9"),
        ([0, 50, 100], ValueError, "they run from 0 to 100"),
        ([0.5], TypeError, "at least two edges"),
        ([], TypeError, "at least two edges"),
        ([[0, 1], [0, 1]], TypeError, "one-dimensional"),
        (["0", "1"], TypeError, "at least two edges"),
    ],
)
def test_bins_that_are_none(bins, error, message):
    with pytest.raises(error) as caught:
        make_bins(bins)
    assert message in str(caught.value)


def test_unknown_binning_suggests_the_near_one():
    with pytest.raises(ValueError, match=r"`binning` must be one of .* Did you mean 'equal-mass'\?"):
        make_bins(10, binning="equal_mass", confidence=[0.5])


def test_equal_mass_needs_the_confidences():
    with pytest.raises(ValueError, match="needs the confidences"):
        make_bins(10, binning="equal-mass")


@pytest.mark.parametrize("values", [[0.1, np.nan], [0.1, 1.5], []])
def test_equal_mass_checks_the_confidences(values):
    with pytest.raises(ValueError, match="`confidence`"):
        equal_mass_edges(values, 2)


def test_bins_are_frozen():
    with pytest.raises(AttributeError):
        Bins(np.array([0.0, 1.0]), "custom").kind = "other"


# --- the default


def rows_of_two_models():
    rng = np.random.default_rng(1)
    y, a, b = rng.integers(0, 2, 300), rng.random(300), rng.random(300)
    return pa.table({"outcome": y, "confidence": a, "first_confidence": a, "second_confidence": b}), y, a, b


def margins(pair):
    return [pair.first.bins, pair.second.bins]


FRAME, Y, A, B = rows_of_two_models()
MATRIX = np.column_stack([1 - A, A])
DEFAULTS = {
    "make_bins": lambda: [make_bins()],
    "equal_mass_edges": lambda: [make_bins(equal_mass_edges(A))],
    "equal mass": lambda: [BinnedCounts.from_arrays(Y, A, binning="equal-mass").bins],
    "empty": lambda: [BinnedCounts.empty().bins],
    "arrays": lambda: [BinnedCounts.from_arrays(Y, A).bins],
    "predictions": lambda: [BinnedCounts.from_predictions(Predictions.from_outcomes(Y, A)).bins],
    "frame": lambda: [BinnedCounts.from_frame(FRAME).bins],
    "classes": lambda: [c.bins for c in BinnedCounts.classwise(Y, MATRIX)],
    "rows of classes": lambda: [c.bins for c in BinnedCounts.of_classes(ClassRows.read(Y, MATRIX))],
    "no pairs": lambda: margins(PairedCounts.empty()),
    "pairs": lambda: margins(PairedCounts.from_arrays(Y, A, Y, B)),
    "pairs of a frame": lambda: margins(PairedCounts.from_frame(FRAME)),
}


@pytest.mark.parametrize("way", DEFAULTS)
def test_fifteen_bins_unless_told(way):
    """The default of Guo et al. (2017), which every page of the docs states."""
    assert [len(bins) for bins in DEFAULTS[way]()] in ([15], [15, 15])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbouring_floats_are_separated_at_the_upper_one(dtype):
    """There is no float between them, and bins are closed on the left."""
    low = dtype(0.5)
    high = np.nextafter(low, dtype(1))
    assert equal_mass_edges(np.array([low, high]), 2).tolist() == [0, float(high), 1]


# --- bins that are closed on the right


def right_closed(values, edges):
    """(a, b] by its definition: the first bin whose upper edge is at least the value."""
    return [next(b for b, upper in enumerate(edges[1:]) if value <= upper) for value in values]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15, 100, [0, 0.3, 0.5, 0.7, 1]], ids=str)
def test_bins_closed_on_the_right_contain_their_upper_edge(dtype, bins):
    bins = make_bins(bins, closed="right")
    edges = bins.edges.astype(dtype)
    near = [np.nextafter(edges, dtype(direction)) for direction in (-np.inf, np.inf)]
    rows = np.concatenate([edges, *near, np.random.default_rng(1).random(500).astype(dtype)])
    rows = rows[(rows >= 0) & (rows <= 1)]
    expected = np.bincount(right_closed(rows.tolist(), edges.tolist()), minlength=len(bins))
    outcome = np.ones(len(rows))
    np.testing.assert_array_equal(BinnedCounts.from_arrays(outcome, rows, bins=bins).n, expected)


def test_both_sides_agree_where_no_confidence_is_an_edge():
    rng = np.random.default_rng(2)
    rows, outcome = rng.random(1000), rng.integers(0, 2, 1000)
    left, right = (BinnedCounts.from_arrays(outcome, rows, bins=make_bins(10, closed=side)) for side in SIDES)
    np.testing.assert_array_equal(left.cells, right.cells)
    np.testing.assert_allclose(left.deviation, right.deviation, atol=1e-12)
    with pytest.raises(ValueError, match=r"only if they have the same edges.* \[a, b\) and .* \(a, b\]"):
        left + right
    merged = right.coarsen(5)
    assert merged.bins == make_bins(5, closed="right") != make_bins(5)
    assert str(merged.bins) == "5 equal-width bins (a, b]"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("closed", SIDES)
def test_equal_mass_edges_between_neighbouring_floats(dtype, closed):
    """No number lies between the two values: the edge is the value that then belongs to its own bin."""
    rows = np.repeat([dtype(0.5), np.nextafter(dtype(0.5), dtype(1))], 5)
    bins = make_bins(2, binning="equal-mass", confidence=rows, closed=closed)
    assert BinnedCounts.from_arrays(np.ones(10), rows, bins=bins).n.tolist() == [5, 5]


def test_counts_cannot_be_coarsened_to_the_other_side():
    counts = BinnedCounts.from_arrays([1], [0.5], bins=10)
    with pytest.raises(ValueError, match="`edges` must be closed on the left"):
        counts.coarsen(make_bins(5, closed="right"))


def test_the_closed_side_is_checked():
    with pytest.raises(ValueError, match="`closed` must be one of"):
        Bins(np.array([0, 0.5, 1]), "custom", "Right")
    with pytest.raises(ValueError, match="`closed` must be one of"):
        make_bins(10, closed="both")
    assert make_bins(make_bins(10, closed="right")).closed == "right"
    assert make_bins(make_bins(10, closed="right"), closed="left") == make_bins(10)


def effective(p, w, edges):
    """Kish's (sum w)^2 / sum w^2 of the rows of each bin [a, b)."""
    at = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    return np.array([w[at == b].sum() ** 2 / (w[at == b] ** 2).sum() for b in range(len(edges) - 1)])


def spread(p, w, edges):
    rows = effective(p, w, edges)
    return rows.max() / rows.min()


def alternating(n):
    """Weights 1 in the lower 4/9; above, 1 and 3 alternate: two rows count as (1 + 3)^2 / (1 + 9) = 1.6 rows."""
    i = np.arange(n)
    return (i + 0.5) / n, np.where((i >= 4 * n // 9) & (i % 2 == 1), 3.0, 1.0)


def skewed(n, seed=0):
    """Weights whose spread grows with the confidence: their effective share falls from 1 to exp(-2.25)."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, rng.lognormal(0, 1.5 * p)


def test_effective_numbers_by_hand():
    """80 rows count as 80, and 100 rows as 80: cuts after 40, 80 and 130 rows give 40 effective rows to each bin.

    A bin that contains rows of both kinds counts as less than the sum of its parts, so there is a second solution: cuts
    after 39.6, 81.1 and 130.5 rows. Both have bins of 40 effective rows, to 1.1 %.
    """
    p, w = alternating(180)
    edges = equal_effective_mass_edges(p, w, 4)
    np.testing.assert_allclose(180 * edges, [0, 40, 80, 130, 180], atol=2.1)
    np.testing.assert_allclose(effective(p, w, edges), 40, atol=1.1)
    # bins of 45 rows: the first has 45 effective rows, the others about 36
    assert spread(p, w, equal_mass_edges(p, 4)) > 1.24
    p, w = alternating(18_000)
    rows = effective(p, w, equal_effective_mass_edges(p, w, 4))
    np.testing.assert_allclose(rows, rows[0], rtol=1e-3)
    np.testing.assert_allclose(rows, 4000, rtol=0.011)


@pytest.mark.parametrize("seed", range(5))
def test_ratios_are_similar_where_those_of_equal_mass_are_not(seed):
    p, w = skewed(20_000, seed)
    edges = equal_effective_mass_edges(p, w, 15)
    assert len(edges) == 16
    assert spread(p, w, edges) < 1.02
    assert spread(p, w, equal_mass_edges(p, 15)) > 3


def remark_5(p, w, n_bins, rng):
    """Remark 5 of Tygert (2021): the least upper edges with ||W||_2 / ||W||_1 <= U, where U is that of random rows."""
    order = np.argsort(p)
    p, w = p[order], w[order]
    some = w[rng.permutation(len(w))[: len(w) // n_bins]]
    limit = np.sum(some**2) / np.sum(some) ** 2
    starts, total, squares = [0], 0.0, 0.0
    for j in range(len(w)):
        total, squares = total + w[j], squares + w[j] ** 2
        if squares <= limit * total**2 and j + 1 < len(w):
            starts, total, squares = [*starts, j + 1], 0.0, 0.0
    if len(w) - starts[-1] < (starts[-1] - starts[-2]) / 2:
        starts.pop()
    return np.concatenate([[0], (p[np.array(starts[1:]) - 1] + p[starts[1:]]) / 2, [1]])


def test_bins_are_more_similar_than_those_of_the_published_procedure():
    """It takes the ratio from random rows, so that its number of bins varies and its last bin has the remainder."""
    p, w = skewed(3000)
    theirs = [remark_5(p, w, 15, np.random.default_rng(seed)) for seed in range(20)]
    assert len({len(edges) for edges in theirs}) > 5
    ours = [spread(p, w, equal_effective_mass_edges(p, w, len(edges) - 1)) for edges in theirs]
    assert max(ours) < 1.06
    more_similar = [mine < spread(p, w, edges) for mine, edges in zip(ours, theirs, strict=True)]
    assert sum(more_similar) >= 19


def test_the_variance_of_weighted_averages_is_similar():
    """Outcomes with variance 1/4: the weighted average of a bin has the variance U^2 / 4."""
    p, w = skewed(2000)
    edges = equal_effective_mass_edges(p, w, 8)
    outcome = np.random.default_rng(1).random((4000, 2000)) < 0.5
    at = np.searchsorted(edges, p, side="right") - 1
    means = np.stack([outcome[:, at == b] @ w[at == b] / w[at == b].sum() for b in range(8)])
    # a variance of 4000 normal draws has a relative standard error of sqrt(2 / 4000) = 0.022; bound: 4.5 of them
    np.testing.assert_allclose(means.var(axis=1) * 4 * effective(p, w, edges), 1, atol=0.1)
    assert means.var(axis=1).max() / means.var(axis=1).min() < 1.2


@pytest.mark.parametrize("closed", SIDES)
@pytest.mark.parametrize("weights", [None, 1.0, 0.3, 1e300])
def test_equal_weights_give_equal_mass(closed, weights):
    rng = np.random.default_rng(2)
    for p in (rng.random(103), rng.integers(0, 9, 500) / 8):
        w = None if weights is None else np.full(len(p), weights)
        for n_bins in (1, 7, 15):
            np.testing.assert_array_equal(
                equal_effective_mass_edges(p, w, n_bins, closed=closed), equal_mass_edges(p, n_bins, closed=closed)
            )


def test_scale_order_and_rows_of_weight_0_change_nothing():
    p, w = skewed(1000)
    edges = equal_effective_mass_edges(p, w, 12)
    for factor in (2.0**-40, 2.0**900):
        np.testing.assert_array_equal(equal_effective_mass_edges(p, factor * w, 12), edges)
    order = np.random.default_rng(3).permutation(1000)
    np.testing.assert_array_equal(equal_effective_mass_edges(p[order], w[order], 12), edges)
    more_p, more_w = np.concatenate([p, np.linspace(0, 1, 400)]), np.concatenate([w, np.zeros(400)])
    np.testing.assert_array_equal(equal_effective_mass_edges(more_p, more_w, 12), edges)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([0.0, 5e-324, 0.1, 0.25, 0.5, 1 - 2**-53, 1.0]) | st.floats(0, 1),
            st.sampled_from([0.0, 1e-300, 1e-8, 1.0, 3.0, 1e9, 1e300]) | st.floats(0, 10),
        ),
        min_size=1,
        max_size=40,
    ),
    n_bins=st.integers(1, 12),
    closed=st.sampled_from(SIDES),
)
def test_any_rows_give_edges(rows, n_bins, closed):
    p, w = np.array(rows).T
    if not w.any():
        return
    edges = equal_effective_mass_edges(p, w, n_bins, closed=closed)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert np.all(np.diff(edges) > 0)
    assert 1 <= len(edges) - 1 <= n_bins
    # on equally many bins, the ratios are at least as similar as those of equal mass
    shown, w = w[w > 0], w[w > 0] / w.max()
    even = equal_mass_edges(p[np.array(rows)[:, 1] > 0], n_bins, closed=closed)
    if len(even) == len(edges) and shown.min() > 1e-100 * shown.max() and closed == "left":
        p = p[np.array(rows)[:, 1] > 0]
        assert spread(p, w, edges) <= spread(p, w, even) * (1 + 1e-9)


def test_small_weights_after_a_large_one_count():
    """Differences of cumulative sums would lose them: 1e20 + 1 = 1e20."""
    p = (np.arange(100) + 0.5) / 100
    w = np.where(np.arange(100) < 10, 1e10, 1 + np.arange(100) % 2)
    edges = equal_effective_mass_edges(p, w, 2)
    # the first bin has 10 effective rows, whatever it has besides; two small rows count as (1 + 2)^2 / 5 = 1.8
    rows = effective(p, w, edges)
    assert rows[0] == pytest.approx(10, rel=1e-6)
    assert rows[1] == pytest.approx(10, abs=1.0)


@pytest.mark.parametrize(
    ("weights", "error", "said"),
    [
        ([1.0, -1.0, 1.0], ValueError, r"`weights` must be >= 0.*first at index 1"),
        ([1.0, np.nan, 1.0], ValueError, "`weights`"),
        ([0.0, 0.0, 0.0], ValueError, "`weights`"),
        ([1.0, 1.0], ValueError, "`weights`"),
        (["a", "b", "c"], TypeError, "`weights`"),
    ],
)
def test_invalid_weights_are_refused(weights, error, said):
    with pytest.raises(error, match=said):
        equal_effective_mass_edges([0.1, 0.2, 0.3], weights, 2)


# --- where bins are chosen


@pytest.fixture(scope="module")
def data():
    p, w = skewed(1500)
    return (np.random.default_rng(5).random(1500) < p).astype(int), p, w


def test_evaluate_takes_the_bins_and_says_so(data):
    y, p, w = data
    ev = bc.evaluate(y, p, weights=w, bins=10, binning=METHOD, draws=100, rng=1)
    assert "10 equal-effective-mass bins [a, b)" in ev.spec
    np.testing.assert_array_equal(ev.counts.bins.edges, equal_effective_mass_edges(p, w, 10))
    assert np.ptp(ev.counts.effective_n) < 0.1 * ev.counts.effective_n.mean()
    assert np.ptp(ev.counts.n) > ev.counts.n.mean()
    plain = bc.evaluate(y, p, bins=10, binning=METHOD, draws=100, rng=1)
    np.testing.assert_array_equal(plain.counts.bins.edges, equal_mass_edges(p, 10))


def test_groups_share_the_bins_of_all_rows(data):
    y, p, w = data
    grouped = bc.evaluate(y, p, weights=w, bins=6, binning=METHOD, by=np.arange(1500) % 2, draws=100, rng=1)
    for ev in (*grouped.values(), grouped.overall):
        np.testing.assert_array_equal(ev.counts.bins.edges, equal_effective_mass_edges(p, w, 6))


def test_classes_and_classifiers_have_edges_of_their_own(data):
    y, p, w = data
    classes = bc.evaluate(y, np.stack([1 - p, p], 1), weights=w, target="classwise", bins=5, binning=METHOD, draws=100)
    np.testing.assert_array_equal(classes[1].counts.bins.edges, equal_effective_mass_edges(p, w, 5))
    pair = bc.compare(y, {"a": p, "b": p**2}, weights=w, bins=5, binning=METHOD, draws=100, rng=1)
    np.testing.assert_array_equal(pair["b"].counts.bins.edges, equal_effective_mass_edges(p**2, w, 5))


@pytest.mark.parametrize("weighted", [True, False])
def test_a_file_gives_the_bins_of_its_rows(data, tmp_path, weighted):
    y, p, w = data
    pd.DataFrame({"y": y, "p": p, "w": w}).to_parquet(tmp_path / "rows.parquet")
    column = {"weights": "w"} if weighted else {}
    counts = count_file(tmp_path / "rows.parquet", label="y", prob="p", bins=8, binning=METHOD, **column)
    np.testing.assert_array_equal(counts.bins.edges, equal_effective_mass_edges(p, w if weighted else None, 8))
    bc.save_counts(counts, tmp_path / "counts.json")
    assert bc.load_counts(tmp_path / "counts.json").bins.kind == METHOD


def test_engines_refuse_them_and_name_the_function(data):
    y, p, w = data
    with pytest.raises(ValueError, match=r"equal_effective_mass_edges\(sample, weights_of_sample, 15\)"):
        bc.BinnedCounts.from_frame(
            pd.DataFrame({"y": y, "p": p, "w": w}), outcome="y", confidence="p", weights="w", binning=METHOD
        )


def test_confidences_are_needed():
    with pytest.raises(ValueError, match="`binning='equal-effective-mass'` needs the confidences"):
        make_bins(10, binning=METHOD)


def test_fine_counts_give_nearly_the_same_bins(data):
    y, p, w = data
    fine = bc.BinnedCounts.from_arrays(y, p, weights=w, bins=1000)
    merged = fine.coarsen(equal_effective_mass_among(fine, 10))
    assert np.ptp(merged.effective_n) < 0.2 * merged.effective_n.mean()
    assert np.ptp(fine.coarsen(equal_mass_among(fine, 10)).effective_n) > 0.5 * merged.effective_n.mean()
    plain = bc.BinnedCounts.from_arrays(y, p, bins=1000)
    np.testing.assert_array_equal(equal_effective_mass_among(plain, 10), equal_mass_among(plain, 10))


def test_bin_sensitivity_compares_all_ways(data):
    y, p, w = data
    ways = ("equal-width", "equal-mass", METHOD)
    result = bc.bin_sensitivity(y, p, n_bins=8, binning=ways, weights=w, draws=200, rng=1)
    own = bc.evaluate(y, p, weights=w, bins=8, binning=METHOD, draws=200, rng=1)
    np.testing.assert_allclose(result[METHOD, 8].ece.values, own.ece.values, atol=1e-7)
    assert not any("unions" in remark for remark in result.remarks)
    fine = bc.BinnedCounts.from_arrays(y, p, weights=w, bins=800, target="event")
    merged = bc.bin_sensitivity(fine, n_bins=8, binning=ways, draws=200, rng=1)
    assert any("Equal-effective-mass bins are unions" in remark for remark in merged.remarks)
    rows = merged[METHOD, 8].counts.effective_n
    assert merged.merged[METHOD, 8] == pytest.approx(rows.max() / rows.mean())
    assert len(bc.plot_bin_sensitivity(result).get_legend().get_texts()) == 3


def test_an_edge_of_equal_width_is_the_division_rounded_once():
    """3 / 10 rounds to the float 0.3; 3 * (1 / 10), which `linspace` computes, does not."""
    assert equal_width_edges(10)[3] == 0.3
    assert np.linspace(0, 1, 11)[3] != 0.3


def test_effective_rows_of_two_bins():
    """Weights 1, 1 and 1, 3: 2 rows, and (1 + 3)^2 / (1 + 9) = 1.6."""
    weight = np.array([1.0, 1.0, 1.0, 3.0])
    np.testing.assert_allclose(effective_rows(weight, weight**2, np.array([2])), [2.0, 1.6], rtol=1e-15)
