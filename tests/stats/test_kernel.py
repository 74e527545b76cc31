"""The hot loop against plain comparison with the edges, exact arithmetic and numpy.searchsorted."""

import bisect
import math
from fractions import Fraction

import numpy as np
import pytest

from bayescal.stats import _kernel
from bayescal.stats._kernel import CHUNK, FAST_INDEX_BINS, accumulate, accumulate_classes, bin_index
from bayescal.stats.bins import equal_width_edges, make_bins

DTYPES = [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_edge_and_its_neighbours(dtype):
    """For M = 1..1000: k/M opens bin k, the float below lies in bin k - 1, the float above in bin k."""
    for m in range(1, 1001):
        bins, k = make_bins(m), np.arange(m + 1)
        edges = equal_width_edges(m, dtype)
        inside = np.minimum(k, m - 1)
        np.testing.assert_array_equal(bin_index(edges, bins), inside)
        np.testing.assert_array_equal(bin_index(np.nextafter(edges[1:], dtype(0)), bins), k[:-1])
        np.testing.assert_array_equal(bin_index(np.nextafter(edges[:-1], dtype(1)), bins), k[:-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "m", [1, 2, 3, 7, 15, 100, 1000, 4096, FAST_INDEX_BINS - 1, FAST_INDEX_BINS, FAST_INDEX_BINS + 1]
)
def test_the_fast_index_is_searchsorted(m, dtype):
    bins, edges = make_bins(m), equal_width_edges(m, dtype)
    random = np.random.default_rng(m).random(50_000, dtype=dtype)
    values = np.concatenate([random, edges, np.nextafter(edges[1:], dtype(0)), np.nextafter(edges[:-1], dtype(1))])
    slow = np.minimum(np.searchsorted(edges, values, side="right") - 1, m - 1)
    np.testing.assert_array_equal(bin_index(values, bins), slow)


@pytest.mark.parametrize("m", [2048, 5000, 60_000])
def test_half_precision_in_more_bins_than_it_has_numbers(m):
    """c M in float16 would be off by many bins, and is infinite from 65 520 on: each number is compared with edges."""
    values = np.arange(2**15, dtype=np.uint16).view(np.float16)
    values = values[values <= 1]
    edges = [float(np.float16(k / m)) for k in range(m + 1)]
    expected = [min(bisect.bisect_right(edges, float(v)) - 1, m - 1) for v in values]
    np.testing.assert_array_equal(bin_index(values, make_bins(m)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_custom_edges_by_comparison(dtype):
    bins = make_bins([0, 0.111, 0.25, 0.253, 0.7, 1])
    edges = bins.edges.astype(dtype)
    values = np.concatenate([edges, np.nextafter(edges[1:], dtype(0)), np.linspace(0, 1, 999).astype(dtype)])
    plain = [max(b for b in range(5) if edges[b] <= v) for v in values]
    np.testing.assert_array_equal(bin_index(values, bins), plain)


def test_tiny_values_lie_in_the_first_bin():
    values = np.array([0.0, -0.0, 5e-324, 2.2e-308, 1e-300])
    np.testing.assert_array_equal(bin_index(values, make_bins(10)), 0)


def test_big_endian_values():
    values = np.array([0.1, 0.3, 1.0], dtype=">f8")
    np.testing.assert_array_equal(bin_index(values, make_bins(10)), [1, 3, 9])


def exact_sums(confidence, outcome, weight, bins):
    """Every sum in rational arithmetic, one row at a time: slow, and without an error."""
    size = len(bins)
    cells = [[0] * size for _ in range(2)]
    weights, deviation = ([[Fraction(0)] * size for _ in range(2)] for _ in range(2))
    deviation_sq, weight_sq = [Fraction(0)] * size, [Fraction(0)] * size
    loss, loss_sq = ([[Fraction(0)] * size for _ in range(2)] for _ in range(2))
    edges = [float(e) for e in bins.edges]
    mid = [Fraction(float(v)) for v in bins.midpoints]
    for c, z, w in zip(confidence.tolist(), outcome.tolist(), weight.tolist(), strict=True):
        b = min(max(i for i, e in enumerate(edges) if e <= c), size - 1)
        d, w = Fraction(c) - mid[b], Fraction(w)
        cells[z][b] += 1
        weights[z][b] += w
        deviation[z][b] += w * d
        deviation_sq[b] += w * d * d
        weight_sq[b] += w * w
        loss[z][b] += w * (z - Fraction(c)) ** 2
        loss_sq[z][b] += w * (z - Fraction(c)) ** 4
    tables = weights, deviation, loss, loss_sq
    weights, deviation, *losses = (np.array([[float(v) for v in row] for row in table]) for table in tables)
    return (
        np.array(cells),
        weights,
        deviation,
        np.array([float(v) for v in deviation_sq]),
        np.array([float(v) for v in weight_sq]),
        losses,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_against_exact_arithmetic(weighted):
    rng = np.random.default_rng(3)
    confidence, outcome = rng.random(3000), rng.integers(0, 2, 3000)
    weight = rng.gamma(0.5, size=3000) if weighted else np.ones(3000)
    bins = make_bins(7)
    sums, _ = accumulate(confidence, outcome, weight if weighted else None, bins)
    cells, weights, deviation, deviation_sq, weight_sq, losses = exact_sums(confidence, outcome, weight, bins)
    np.testing.assert_array_equal(sums.cells, cells)
    np.testing.assert_allclose(sums.weight, weights, rtol=1e-13)
    np.testing.assert_allclose(sums.deviation, deviation, rtol=0, atol=1e-13 * weight.sum())
    np.testing.assert_allclose(sums.deviation_sq, deviation_sq, rtol=1e-12)
    np.testing.assert_allclose(sums.weight_sq, weight_sq, rtol=1e-12)
    np.testing.assert_allclose(sums.losses.total, losses[0], rtol=1e-12)
    np.testing.assert_allclose(sums.losses.squares, losses[1], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_log_losses_against_sums_of_math_log(weighted, dtype):
    """math.fsum adds without an error."""
    rng = np.random.default_rng(4)
    confidence, outcome = rng.random(3000).astype(dtype).clip(dtype(1e-3), dtype(0.999)), rng.integers(0, 2, 3000)
    weight = rng.gamma(0.5, size=3000) if weighted else np.ones(3000)
    bins = make_bins(7)
    sums, _ = accumulate(confidence, outcome, weight if weighted else None, bins)
    index = bin_index(confidence, bins)
    for z in (0, 1):
        for b in range(7):
            rows = np.flatnonzero((outcome == z) & (index == b))
            losses = [-math.log(float(confidence[i]) if z else 1 - float(confidence[i])) for i in rows]
            for name, power in (("total", 1), ("squares", 2)):
                expected = math.fsum(weight[i] * loss**power for i, loss in zip(rows, losses, strict=True))
                assert getattr(sums.log_losses, name)[z, b] == pytest.approx(expected, rel=1e-9)
    assert not sums.log_losses.infinite.any()


@pytest.mark.slow
@pytest.mark.parametrize("compiled", ["always", "never"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_with_infinite_log_loss_are_counted_apart(dtype, compiled, monkeypatch):
    """Confidence 0 with outcome 1 three times, one of them without weight; confidence 1 with outcome 0 once."""
    monkeypatch.setenv("BAYESCAL_COMPILE", compiled)
    confidence = np.array([0, 0, 0, 1, 0, 1, 0.5], dtype)
    outcome, weight = np.array([1, 1, 1, 0, 0, 1, 1]), np.array([1.0, 2, 0, 3, 1, 1, 5])
    for w, rows, total in ((None, 3, 1), (weight, 2, 5)):
        sums, _ = accumulate(confidence, outcome, w, make_bins(3))
        assert sums.log_losses.infinite.tolist() == [[0, 0, 1], [rows, 0, 0]]
        np.testing.assert_allclose(sums.log_losses.total, [[0, 0, 0], [0, total * math.log(2), 0]], rtol=1e-9)
        assert not np.signbit(sums.log_losses.total).any()


def test_the_smallest_probability_has_a_finite_loss():
    sums, _ = accumulate(np.array([5e-324]), np.array([1]), None, make_bins(2))
    assert sums.log_losses.total[1, 0] == pytest.approx(1074 * math.log(2), rel=1e-15)
    assert not sums.log_losses.infinite.any()


def test_classes_have_no_log_losses():
    (sums, *_), _ = accumulate_classes(np.array([[0.5, 0.5]]), np.array([0]), None, make_bins(2), 1e-3)
    assert sums.log_losses is None


@pytest.mark.parametrize("n", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_no_row_is_lost_between_chunks(n):
    confidence = np.linspace(0, 1, n)
    outcome = (np.arange(n) % 3 == 0).astype(np.int64)
    sums, _ = accumulate(confidence, outcome, None, make_bins(15))
    assert sums.cells.sum() == n
    assert sums.cells[1].sum() == outcome.sum()
    total = (sums.deviation.sum(axis=0) + sums.cells.sum(axis=0) * make_bins(15).midpoints).sum()
    assert total == pytest.approx(math.fsum(confidence), rel=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int16, np.uint64, np.float32, np.float64])
def test_outcomes_of_any_dtype(dtype):
    """int8 must not wrap: 300 rows of one cell."""
    sums, _ = accumulate(np.full(300, 0.4), np.ones(300, dtype), None, make_bins(2))
    np.testing.assert_array_equal(sums.cells, [[0, 0], [300, 0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_kept_in_double_precision(dtype):
    """17 million rows in one bin: a float32 counter stops at 2^24, a float16 one at 2048; zero strides, no memory."""
    n = 17_000_000
    confidence = np.broadcast_to(dtype(0.625), n)  # exact in every dtype
    sums, _ = accumulate(confidence, np.broadcast_to(np.int8(1), n), None, make_bins(10))
    assert sums.cells[1, 6] == n
    assert sums.deviation[1, 6] == pytest.approx(n * (0.625 - 0.65), rel=1e-10)


# --- what is returned besides the sums


@pytest.fixture
def numpy_alone(monkeypatch):
    monkeypatch.setenv("BAYESCAL_COMPILE", "never")


@pytest.mark.usefixtures("numpy_alone")
def test_the_largest_weight_wherever_it_is(monkeypatch):
    monkeypatch.setattr(_kernel, "SPAN", 4)
    monkeypatch.setattr(_kernel, "CHUNK", 2)
    c, z = np.linspace(0, 1, 10), np.tile([0, 1], 5)
    matrix, label = np.column_stack([c, 1 - c]), z.astype(np.int64)
    assert accumulate(c, z, None, make_bins(3))[1] == 1.0
    assert accumulate_classes(matrix, label, None, make_bins(3), 1e-3)[1] == 1.0
    for at in range(10):
        weight = np.full(10, 0.25)
        weight[at] = 0.75
        assert accumulate(c, z, weight, make_bins(3))[1] == 0.75
        assert accumulate_classes(matrix, label, weight, make_bins(3), 1e-3)[1] == 0.75


@pytest.mark.usefixtures("numpy_alone")
@pytest.mark.parametrize("at", [0, 4, 9])
@pytest.mark.parametrize(
    ("column", "value"),
    [("c", -1e-9), ("c", 1 + 1e-9), ("c", np.nan), ("z", 2), ("z", -1), ("w", -1e-9), ("w", np.inf), ("w", np.nan)],
)
def test_a_value_that_is_not_allowed_leaves_no_sums(column, value, at):
    columns = {"c": np.linspace(0, 1, 10), "z": np.tile([0, 1], 5), "w": np.ones(10)}
    columns[column][at] = value
    assert accumulate(columns["c"], columns["z"], columns["w"], make_bins(3)) is None
    if column != "z":
        matrix = np.column_stack([columns["c"], 1 - columns["c"]])
        assert accumulate_classes(matrix, np.tile([0, 1], 5), columns["w"], make_bins(3), 1e-3) is None


@pytest.mark.usefixtures("numpy_alone")
def test_zeros_and_infinite_neighbours_are_allowed():
    """Confidences and weights of exactly 0, confidences of exactly 1 and the largest finite weight are allowed."""
    largest = np.finfo(np.float64).max
    sums, heaviest = accumulate(np.array([0.0, 1.0]), np.array([0, 1]), np.array([0.0, largest]), make_bins(2))
    assert heaviest == largest
    np.testing.assert_array_equal(sums.cells, [[1, 0], [0, 1]])


@pytest.mark.usefixtures("numpy_alone")
def test_labels_and_rows_of_a_matrix():
    matrix = np.array([[0.25, 0.75], [0.5, 0.5]])
    for label in ([0, 2], [-1, 0]):
        assert accumulate_classes(matrix, np.array(label), None, make_bins(2), 1e-3) is None
    assert accumulate_classes(matrix, np.array([0, 1]), None, make_bins(2), 1e-3) is not None
    # rows may be off by the tolerance itself, exactly, in either direction
    for off in (0.125, -0.125):
        moved = matrix + np.array([[off, 0], [0, 0]])
        assert accumulate_classes(moved, np.array([0, 1]), None, make_bins(2), 0.125) is not None
        assert accumulate_classes(moved, np.array([0, 1]), None, make_bins(2), 0.124) is None


@pytest.mark.parametrize("edges", [[0, 1], [0, 0.111, 0.25, 0.253, 0.7, 1], np.arange(5001) / 5000])
def test_the_table_of_compiled_loops_has_the_bin_of_each_lower_end(edges):
    """Cells of one width from 0 to 1 and one beyond; at least four per bin."""
    bins = make_bins(edges)
    table = _kernel._Search.of(bins, np.float64).table
    cells = len(table) - 2
    assert cells >= 4 * len(bins)
    assert math.log2(cells).is_integer()
    lower = [Fraction(edge) for edge in bins.edges[:-1]]
    expected = [bisect.bisect_right(lower, Fraction(i, cells)) - 1 for i in range(0, cells + 2, 37)]
    assert table[::37].tolist() == expected


@pytest.mark.parametrize(("dtype", "eps"), [(np.float32, 2.0**-23), (np.float64, 2.0**-52)])
def test_where_compiled_loops_need_not_compare(dtype, eps):
    """c M and the edge are each rounded once, together by M eps / 2 of a bin at most; eight times that is kept free."""
    for m in (1, 100, 4096):
        search = _kernel._Search.of(make_bins(m), dtype)
        assert (search.scale, search.sure) == (m, 0.5 - 4 * m * eps)


def test_the_table_of_a_search_ends_in_the_last_bin():
    """1 lies in the last bin, and so does every cell of the grid after it."""
    bins = make_bins([0.0, 0.3, 0.9, 1.0])
    table = _kernel._Search.of(bins, np.dtype(np.float64)).table
    assert table.min() == 0
    assert table[-1] == table[-2] == len(bins) - 1
