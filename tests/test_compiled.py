"""Compiled loops against numpy's: the same bits, and the same refusals."""

import itertools
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import bayescal as bc
from bayescal import _loops
from bayescal.data import matrix as matrices
from bayescal.data.matrix import FEW_CLASSES, ClassRows
from bayescal.stats import _kernel
from bayescal.stats._kernel import CHUNK, accumulate, accumulate_classes
from bayescal.stats.bins import equal_width_edges, make_bins

SUMS = ("cells", "weight", "deviation", "deviation_sq", "weight_sq", "losses")
CUSTOM = [0, 0.111, 0.25, 0.253, 0.7, 1]


@pytest.fixture
def both(monkeypatch):
    """Call a function with compiled loops, then without, also for few rows."""
    monkeypatch.setattr(_kernel, "FEW_ROWS", 0)

    def both(function):
        found = []
        for choice in ("always", "never"):
            monkeypatch.setenv("BAYESCAL_COMPILE", choice)
            found.append(function())
        return found

    return both


def same_bits(one, other):
    """Equal sums; losses compare equal only if all of their sums do."""
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in SUMS[:-1])
    return same and one.losses == other.losses and one.log_losses == other.log_losses


def awkward(n_bins, dtype):
    """Every edge k/M, its float neighbours, 0, 1, two-digit numbers, random ones; shuffled."""
    rng = np.random.default_rng(n_bins)
    edges = equal_width_edges(n_bins, dtype)
    near = [edges, np.nextafter(edges[1:], dtype(0)), np.nextafter(edges[:-1], dtype(1))]
    return rng.permutation(
        np.concatenate([*near, rng.random(40_000).astype(dtype), np.arange(101).astype(dtype) / 100])
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 2, 15, 100, 1000, 100_001, CUSTOM])
def test_the_same_bits(bins, dtype, both):
    confidence = awkward(bins if isinstance(bins, int) else 7, dtype)
    rng = np.random.default_rng(1)
    outcome, weight = rng.integers(0, 2, len(confidence)), rng.gamma(0.5, size=len(confidence))
    made = make_bins(bins)
    for w in (None, weight):
        (one, heaviest), (other, also) = both(lambda w=w: accumulate(confidence, outcome, w, made))
        assert same_bits(one, other)
        assert heaviest == also == (1 if w is None else weight.max())
    edges = made.starts_as(dtype)
    plain = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, len(made) - 1)
    np.testing.assert_array_equal(one.cells.sum(axis=0), np.bincount(plain, minlength=len(made)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_confidence_near_an_edge_is_found_without_company(dtype, both):
    """A block is compared with the edges if any of its rows is near one; here each is the only row."""
    for m in (3, 10, 49):
        made, edges = make_bins(m), equal_width_edges(m, dtype)
        for c in np.concatenate([edges, np.nextafter(edges[1:], dtype(0)), np.nextafter(edges[:-1], dtype(1))]):
            k = min(int(np.searchsorted(edges, c, side="right")) - 1, m - 1)
            for sums, _ in both(lambda c=c, made=made: accumulate(np.array([c]), np.ones(1), None, made)):
                assert np.flatnonzero(sums.cells[1]).tolist() == [k]


@pytest.mark.parametrize("n", [1, 2047, 2049, CHUNK, CHUNK + 1, 2 * CHUNK + 2049])
def test_no_row_is_lost_between_blocks(n, both):
    confidence, outcome = np.linspace(0, 1, n), np.arange(n) % 3 == 0
    one, other = both(lambda: accumulate(confidence, outcome, None, make_bins(15))[0])
    assert same_bits(one, other)
    assert one.cells.sum() == n
    assert one.cells[1].sum() == outcome.sum()


def test_the_heaviest_row_may_be_in_any_span(both, monkeypatch):
    """Else a span without weight would have all rows refused, or one of too much weight would pass."""
    monkeypatch.setattr(_kernel, "SPAN", CHUNK)
    for at in (5, CHUNK + 5, 2 * CHUNK + 5):
        weight = np.zeros(3 * CHUNK)
        weight[at] = 2.5
        found = both(lambda w=weight: accumulate(np.full(len(w), 0.5), np.ones(len(w)), w, make_bins(2)))
        for sums, heaviest in found:
            assert heaviest == sums.weight.sum() == 2.5
            assert sums.cells.sum() == len(weight)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32])
def test_outcomes_of_any_dtype(dtype, both):
    one, other = both(lambda: accumulate(np.full(300, 0.4), np.ones(300, dtype), None, make_bins(2))[0])
    assert one.cells.tolist() == other.cells.tolist() == [[0, 0], [300, 0]]


@pytest.mark.slow
def test_columns_of_a_matrix_and_arrays_that_cannot_be_written(both):
    matrix = np.random.default_rng(1).random((5000, 3))
    matrix.setflags(write=False)
    outcome = np.arange(5000) % 2
    one, other = both(lambda: accumulate(matrix[:, 1], outcome[::-1], None, make_bins(15))[0])
    assert same_bits(one, other)


@pytest.mark.parametrize("at", [0, 5000, 20_000])
@pytest.mark.parametrize(
    ("column", "bad"),
    # 15 * 1.036 and 15 * -0.036 are far from any edge: what is beyond 0 and 1 is not found by being near one
    [
        (0, np.nan),
        (0, -1e-300),
        (0, 1 + 2e-16),
        (0, 1.036),
        (0, -0.036),
        (0, 1e300),
        (0, np.inf),
        (1, 2),
        (1, -1),
        (2, -1.0),
        (2, np.nan),
        (2, np.inf),
    ],
)
def test_what_is_not_allowed_is_not_counted(column, bad, at, both):
    columns = [np.full(20_001, 0.5), np.ones(20_001, np.int64), np.ones(20_001)]
    columns[column][at] = bad
    assert both(lambda: accumulate(*columns, make_bins(15))) == [None, None]


def test_a_fraction_is_no_outcome(both):
    outcome = np.r_[np.ones(10), 0.5]
    assert both(lambda: accumulate(np.full(11, 0.5), outcome, None, make_bins(15))) == [None, None]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [2, 3, 10, FEW_CLASSES, FEW_CLASSES + 1, 100])
def test_top_label(size, dtype, both):
    """Against numpy's argmax, which takes the first of equals: with many ties, and rows in any layout."""
    rng = np.random.default_rng(size)
    matrix = rng.integers(1, 4, (3001, size)).astype(dtype)
    matrix[::7] = 1  # all equal
    matrix /= matrix.sum(axis=1, keepdims=True)
    label = rng.integers(0, size, 3001)
    top = matrix.argmax(axis=1)
    for laid_out in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        for confidence, correct, _ in both(lambda m=laid_out: ClassRows.read(label, m).top_label()):
            np.testing.assert_array_equal(confidence, matrix.max(axis=1))
            np.testing.assert_array_equal(correct, top == label)
            assert confidence.dtype == dtype


@pytest.mark.parametrize("size", [3, FEW_CLASSES + 1])
@pytest.mark.parametrize("bad", [np.nan, -0.01, 1.2, np.inf])
@pytest.mark.parametrize("at", [0, 700, 1000])
def test_a_matrix_with_one_bad_entry(bad, at, size, both):
    matrix = np.full((1001, size), 1 / size)
    matrix[at, size - 1] = bad

    def said():
        with pytest.raises(ValueError, match=r"`y_prob` must .*first at index") as told:
            ClassRows.read(np.zeros(1001, int), matrix).top_label()
        return str(told.value)

    one, other = both(said)
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, FEW_CLASSES + 1])
def test_rows_that_do_not_sum_to_one(size, both):
    matrix = np.full((1001, size), 1 / size)
    matrix[700] /= 2

    def said(function):
        with pytest.raises(ValueError, match=r"must have rows that sum to 1; 1 of 1001 .*first at index 700: 0.5"):
            function(np.zeros(1001, int), matrix)
        return True

    assert both(lambda: said(lambda y, p: ClassRows.read(y, p).top_label())) == [True, True]
    assert both(lambda: said(bc.BinnedCounts.classwise)) == [True, True]


def test_rounding_in_a_matrix_is_clipped_with_a_warning(both):
    matrix = np.array([[1 + 5e-7, -5e-7], [0.25, 0.75]])

    def top():
        with pytest.warns(UserWarning, match="2 of 4 values lie outside"):
            return ClassRows.read([0, 0], matrix).top_label()

    for confidence, correct, _ in both(top):
        assert confidence.tolist() == [1.0, 0.75]
        assert correct.tolist() == [True, False]


@pytest.mark.parametrize("zero", [-0.0, -1e-9])
@pytest.mark.parametrize("size", [3, FEW_CLASSES + 1])
def test_zeros_with_a_sign(size, zero, both):
    """The bits of -0.0 are those of a large number; a product of a rounded softmax may have it."""
    matrix = np.full((50, size), 1 / (size - 1))
    matrix[:, 1] = zero

    def top():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ClassRows.read(np.zeros(50, int), matrix).top_label()

    for confidence, correct, _ in both(top):
        np.testing.assert_array_equal(confidence, matrix[:, 0])
        assert correct.all()


@pytest.mark.parametrize("size", [3, FEW_CLASSES + 1])
def test_compiled_loops_are_taken_for_matrices_unasked(size, monkeypatch):
    """Of the matrix only a row is shown to who decides, for its kind; it is not what is few."""
    monkeypatch.delenv("BAYESCAL_COMPILE", raising=False)
    monkeypatch.setattr(_loops, "_spent", {})
    monkeypatch.setattr(_loops, "_seconds_before_it_runs", lambda: 0.0)
    taken = []
    monkeypatch.setattr(matrices, "_compiled_top_of", lambda *_: taken.append(size) or matrices._top_of)
    for rows in (_loops.FEW_ROWS - 1, _loops.FEW_ROWS):
        ClassRows.read(np.zeros(rows, int), np.full((rows, size), 1 / size)).top_label()
    assert taken == [size]


@pytest.mark.slow
@pytest.mark.parametrize("bins", [15, CUSTOM])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_classes_in_one_pass(bins, dtype, both):
    """The same bits, and what each column gives when it is counted by itself."""
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet([0.3, 0.5, 1, 2], CHUNK + 500).astype(dtype)
    label, weight, made = rng.integers(0, 4, len(matrix)), rng.gamma(0.5, size=len(matrix)), make_bins(bins)
    for w in (None, weight):
        (one, _), (other, _) = both(lambda w=w: accumulate_classes(matrix, label, w, made, 1e-3))
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert same_bits(a, b)
            alone, _ = accumulate(np.ascontiguousarray(matrix[:, k]), label == k, w, made)
            np.testing.assert_array_equal(a.cells, alone.cells)
            for name in SUMS[1:-1]:
                np.testing.assert_allclose(getattr(a, name), getattr(alone, name), rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(a.losses.total, alone.losses.total, rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(a.losses.squares, alone.losses.squares, rtol=1e-9)


@pytest.mark.parametrize(
    ("column", "bad"), [(0, np.nan), (0, 1.5), (1, 3), (1, -1), (2, -1.0), (2, np.nan), (2, np.inf)]
)
def test_what_is_not_allowed_is_not_counted_for_any_class(column, bad, both):
    columns = [np.full((CHUNK + 9, 3), 1 / 3), np.zeros(CHUNK + 9, np.int64), np.ones(CHUNK + 9)]
    columns[column][CHUNK + 5] = bad
    assert both(lambda: accumulate_classes(*columns, make_bins(15), np.inf)) == [None, None]


def test_classwise_counts_of_what_is_clipped_keep_their_weights(both):
    rng = np.random.default_rng(3)
    matrix, label, weight = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200), rng.gamma(1, size=200)
    matrix[7] = [1 + 5e-7, -5e-7, 0]
    clipped = bc.BinnedCounts.classwise(label, np.clip(matrix, 0, 1), weights=weight)

    def counts():
        with pytest.warns(UserWarning, match="2 of 600 values lie outside"):
            return bc.BinnedCounts.classwise(label, matrix, weights=weight)

    assert both(counts) == [clipped, clipped]


def test_classwise_counts_refuse_as_predictions_do(both):
    matrix = np.full((10, 4), 0.25)
    matrix[7, 2] = np.nan

    def said():
        with pytest.raises(ValueError, match="1 of 40 values is missing") as told:
            bc.BinnedCounts.classwise(np.zeros(10, int), matrix)
        return str(told.value)

    assert len(set(both(said))) == 1


def test_a_file_named_as_a_module_of_numba_costs_time_only(tmp_path):
    """numba imports coverage, if there is one; a script of that name breaks that, and not the counts."""
    script = tmp_path / "coverage.py"
    script.write_text(
        "import numpy as np\nfrom bayescal import BinnedCounts\n"
        "if __name__ == '__main__':\n"
        "    p = np.linspace(0, 1, 20_000)\n"
        "    print(BinnedCounts.from_arrays(p > 0.5, p, bins=2).n.tolist())\n"
    )
    environment = {**os.environ, "BAYESCAL_COMPILE": "always", "PYTHONWARNINGS": "default"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[10000, 10000]\n"
    assert "RuntimeWarning: numba cannot be imported (AttributeError: module 'coverage'" in done.stderr


def test_one_pass_agrees_however_rows_are_given(both):
    """from_arrays, checked predictions and evaluate: one set of counts."""
    rng = np.random.default_rng(2)
    c = rng.random(6000)
    z = rng.random(6000) < c

    def three():
        checked = bc.BinnedCounts.from_predictions(bc.Predictions.from_outcomes(z, c, target="event"))
        return checked, bc.BinnedCounts.from_arrays(z, c, target="event"), bc.evaluate(z, c, rng=1, draws=10).counts

    assert all(a == b for a, b in itertools.pairwise(sum(both(three), ())))


def test_numba_may_be_switched_off_from_the_beginning():
    """As by who follows a program with a debugger: numba makes no cache then, and numpy counts."""
    code = "import bayescal as bc; print(bc.BinnedCounts.from_arrays([0, 1], [0.5, 0.5]).n_rows)"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "BAYESCAL_COMPILE": "always"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("2", "")


def test_threads_change_no_bit(monkeypatch):
    """Three spans and a rest, in one thread and in three; numpy adds spans in the same order."""
    monkeypatch.setattr(_kernel, "SPAN", 2 * CHUNK)
    rng = np.random.default_rng(4)
    c = rng.random(6 * CHUNK + 77)
    z, w = rng.random(len(c)) < c, rng.gamma(0.5, size=len(c))
    found = []
    for threads, choice in (("1", "always"), ("3", "always"), ("3", "never")):
        monkeypatch.setenv("BAYESCAL_THREADS", threads)
        monkeypatch.setenv("BAYESCAL_COMPILE", choice)
        found.append(accumulate(c, z, w, make_bins(15)))
    assert all(same_bits(a[0], b[0]) and a[1] == b[1] for a, b in itertools.pairwise(found))
    monkeypatch.setenv("BAYESCAL_COMPILE", "always")
    for wrong in ("0", "two", "-1", "1.5", ""):
        monkeypatch.setenv("BAYESCAL_THREADS", wrong)
        with pytest.raises(ValueError, match="BAYESCAL_THREADS must be a whole number above 0"):
            accumulate(c, z, w, make_bins(15))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_middle_of_a_bin_is_where_distances_are_zero(dtype, both):
    """Distances come from the product c M: for 1 to 4097 bins, below 1e-12 of a bin from what they are."""
    for bins in (3, 15, 1000, 4096, 4097):
        made = make_bins(bins)
        c = np.random.default_rng(bins).random(20_000).astype(dtype)
        index = np.minimum(np.searchsorted(made.starts_as(dtype), c, side="right") - 1, bins - 1)
        d = c.astype(np.longdouble) - (2 * index + 1) / (2 * np.longdouble(bins))
        for sums, _ in both(lambda c=c, made=made: accumulate(c, np.ones(len(c), bool), None, made)):
            exact = np.array([math.fsum(d[index == b].astype(float)) for b in np.unique(index)])
            np.testing.assert_allclose(
                sums.deviation[1][np.unique(index)] * bins, exact * bins, rtol=0, atol=1e-12 * np.bincount(index).max()
            )
