"""Edges: one correctly rounded division each; equal mass without splitting ties; custom ones checked."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import SIDES, Bins, equal_mass_edges, equal_width_edges, make_bins
from bayescal.stats.paired import PairedCounts


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
