"""LogitCounts: cells, sums of logits, rows at 0 and 1, the same from every engine and file, addable, stored."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayescal import BinnedCounts, InvalidRows, LogitCounts, count_file, logit_bins
from bayescal.clinical.slope.counts import FARTHEST


@pytest.fixture(scope="module")
def rows():
    """Probabilities from 1e-15 to 1 - 1e-12, and some at exactly 0 and 1 that agree with their outcome."""
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.beta(0.3, 2, 4000), 1 - rng.beta(0.3, 2, 1000), 10.0 ** -rng.uniform(3, 15, 200)])
    y = rng.random(len(p)) < p
    return np.concatenate([y, [0, 0, 1]]).astype(int), np.concatenate([p, [0.0, 0.0, 1.0]])


def logit(p):
    return np.log(p) - np.log1p(-p)


def test_sums_are_those_of_the_rows(rows):
    """The cell of each row, and the mean logit of each cell, from the rows themselves."""
    y, p = rows
    counts, edges = LogitCounts.from_arrays(y, p), logit_bins().edges
    inside = (p > 0) & (p < 1)
    cell = np.searchsorted(edges[1:-2], p[inside], side="right")
    used, place = np.unique(cell, return_inverse=True)
    n = np.bincount(place)
    np.testing.assert_array_equal(counts.n, n)
    np.testing.assert_array_equal(counts.k, np.bincount(place, y[inside]))
    mean = np.bincount(place, logit(p[inside])) / n
    narrow = used > 1  # the second bin is open downwards
    np.testing.assert_allclose(counts.logit[narrow], mean[narrow], rtol=0, atol=5e-6)
    assert (counts.agreeing, counts.contradicted.tolist()) == (3, [0, 0])
    assert (counts.n_rows, counts.n_inside) == (len(p), len(p) - 3)
    assert np.all(np.diff(counts.logit) > 0)


def test_cells_are_centred_on_multiples_of_the_step():
    edges = logit_bins(0.1).edges
    inner = logit(edges[2:-2])
    assert inner[0] > -FARTHEST
    near = inner[np.abs(inner) < 20]
    np.testing.assert_allclose(np.abs(near / 0.1) % 1, 0.5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_exactly_0_and_1_have_cells_of_their_own_in_every_dtype(dtype):
    tiny, below_one = np.nextafter(dtype(0), dtype(1)), np.nextafter(dtype(1), dtype(0))
    p = np.array([0, tiny, 0.5, below_one, 1], dtype)
    counts = LogitCounts.from_arrays([1, 0, 1, 1, 0], p)
    assert counts.contradicted.tolist() == [1, 1]
    assert counts.n_inside == 3
    assert counts.logit[1] == pytest.approx(0, abs=1e-12)
    assert counts.logit[2] == pytest.approx(float(logit(np.float64(below_one))), rel=1e-6)


def test_merged_batches_are_one_pass(rows):
    y, p = rows
    whole = LogitCounts.from_arrays(y, p)
    parts = sum(LogitCounts.from_arrays(y[i::3], p[i::3]) for i in range(3))
    np.testing.assert_array_equal(parts.binned.cells, whole.binned.cells)
    np.testing.assert_allclose(parts.logit, whole.logit, rtol=1e-12, atol=1e-12)
    assert whole + LogitCounts.empty() == whole
    with pytest.raises(ValueError, match=r"same edges; these have cells of 0.05 in logit and cells of 0.1 in logit"):
        whole + LogitCounts.empty(0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda columns: pl.DataFrame(columns).lazy(),
        pa.table,
        lambda columns: __import__("duckdb").from_arrow(pa.table(columns)),
        lambda columns: __import__("dask.dataframe").dataframe.from_pandas(pd.DataFrame(columns), npartitions=3),
    ],
    ids=["pandas", "polars", "lazy", "pyarrow", "duckdb", "dask"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_engine_gives_the_same(rows, made, weighted):
    y, p = rows
    w = np.random.default_rng(2).exponential(size=len(p))
    weights = {"weights": "w"} if weighted else {}
    frame = made({"y": y, "p": p, "w": w})
    counts = LogitCounts.from_frame(frame, y_true="y", y_prob="p", step=0.2, **weights)
    expected = LogitCounts.from_arrays(y, p, step=0.2, weights=w if weighted else None)
    np.testing.assert_array_equal(counts.binned.cells, expected.binned.cells)
    np.testing.assert_allclose(counts.logit, expected.logit, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(counts.k, expected.k, rtol=1e-10)


def test_groups_of_a_frame(rows):
    y, p = rows
    site = np.arange(len(p)) % 2
    frame = pl.DataFrame({"y_true": y, "y_prob": p, "site": site})
    by_site = LogitCounts.from_frame(frame, by="site")
    for label, counts in by_site.items():
        expected = LogitCounts.from_arrays(y[site == label], p[site == label])
        np.testing.assert_array_equal(counts.binned.cells, expected.binned.cells)


def test_blocks_of_a_file(rows, tmp_path):
    y, p = rows
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"y": y, "p": p}).write_parquet(path, row_group_size=700)
    counts = LogitCounts(count_file(path, label="y", prob="p", bins=logit_bins()))
    expected = LogitCounts.from_arrays(y, p)
    np.testing.assert_array_equal(counts.binned.cells, expected.binned.cells)
    np.testing.assert_allclose(counts.logit, expected.logit, rtol=1e-12)


def test_weights_are_those_of_kish(rows):
    """Effective rows: (sum w)^2 / sum w^2 over the rows inside (0, 1); equal weights are no weights."""
    y, p = rows
    w = np.random.default_rng(4).exponential(size=len(p))
    counts = LogitCounts.from_arrays(y, p, weights=w)
    inside = (p > 0) & (p < 1)
    assert counts.n.sum() == pytest.approx(w[inside].sum() ** 2 / (w[inside] ** 2).sum())
    assert counts.k.sum() / counts.n.sum() == pytest.approx(w[inside] @ y[inside] / w[inside].sum())
    equal = LogitCounts.from_arrays(y, p, weights=np.full(len(p), 0.3))
    np.testing.assert_allclose(equal.n, LogitCounts.from_arrays(y, p).n)


def test_the_floor_moves_rows_to_its_cell():
    p = np.array([0.0, 1e-9, 0.3, 1 - 1e-9, 1.0, 0.0])
    y = np.array([1, 0, 1, 1, 0, 0])
    w = np.array([2.0, 1.0, 1.0, 3.0, 1.0, 1.0])
    counts = LogitCounts.from_arrays(y, p, weights=w)
    floored = counts.floored(1e-3)
    clipped = LogitCounts.from_arrays(y, np.clip(p, 1e-3, 1 - 1e-3), weights=w)
    np.testing.assert_allclose(floored.logit, clipped.logit, atol=1e-9)
    np.testing.assert_allclose(floored.k, clipped.k)
    np.testing.assert_allclose(floored.n, clipped.n)
    assert (floored.agreeing, floored.contradicted.tolist()) == (0, [0, 0])
    with pytest.raises(ValueError, match=r"`floor` must be .*below 0\.5, not 0\.7"):
        counts.floored(0.7)
    with pytest.raises(ValueError, match="`floor` must lie strictly between 0 and 1"):
        counts.floored(0)


def test_rows_of_weight_0_contradict_nothing():
    counts = LogitCounts.from_arrays([1, 0, 1], [0.0, 0.4, 0.6], weights=[0, 1, 1])
    assert counts.contradicted.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: logit_bins(0), ValueError, "`step` must be finite and > 0"),
        (lambda: logit_bins(2), ValueError, r"`step` must give widths in \[0.001, 1\]"),
        (lambda: LogitCounts(BinnedCounts.empty(15)), TypeError, "`binned` must be BinnedCounts in cells of logits"),
        (lambda: LogitCounts.from_arrays([0, 2], [0.2, 0.3]), InvalidRows, "`y_true`"),
        (lambda: LogitCounts.from_arrays([0, 1], [0.2, 1.3]), InvalidRows, "`y_prob`"),
        (lambda: LogitCounts.from_arrays([0, 1], [0.2]), ValueError, "`y_true` and `y_prob`"),
        (lambda: LogitCounts.empty() + 1, TypeError, "unsupported operand"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_smallest_floor_is_symmetric():
    """-15 ln 10 = -34.5388."""
    counts = LogitCounts.from_arrays([1, 0], [0.0, 1.0]).floored(1e-15)
    np.testing.assert_allclose(counts.logit, [-34.5388, 34.5388], atol=2e-3)
    with pytest.raises(ValueError, match=r"at least 1e-15 and below 0.5, not 1e-20"):
        counts.floored(1e-20)
