"""Rows into bins, side by side (`make bench`); nothing is asserted of time, a shared machine would make it random.

Targets, measured by docs/make/performance.py on more rows: at most 6 times the read, 40 times faster than scikit-learn
and torchmetrics. The bootstrap makes one resample; 1000, as one would report, take 1000 times as long.
"""

import os

import numpy as np
import pytest
from ways import OF_FRAMES, OF_ROWS, plug_in

import bayescal as bc

BINS = 15
#: Frames of a million rows are enough to see which engine is slow.
SIZES = (10_000, 20_000) if "BAYESCAL_QUICK" in os.environ else (1_000_000, 10_000_000)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(1)
    p = rng.random(SIZES[-1])
    return {"y": (rng.random(SIZES[-1]) < p**2).astype(np.int8), "p": p}


@pytest.fixture
def arrays(columns, n_rows):
    return {name: column[:n_rows] for name, column in columns.items()}


@pytest.mark.parametrize("n_rows", SIZES)
def test_read(benchmark, arrays, n_rows, read):
    benchmark.group = f"{n_rows:,} rows"
    benchmark.pedantic(read, tuple(arrays.values()), rounds=20)


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("way", OF_ROWS, ids=lambda way: way.name)
def test_count(benchmark, arrays, n_rows, way, prepared):
    benchmark.group = f"{n_rows:,} rows"
    value = benchmark.pedantic(prepared(way, arrays, BINS), rounds=3)
    if value is not None:
        expected = plug_in(bc.BinnedCounts.from_arrays(*arrays.values(), bins=BINS))
        assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_rows", SIZES[:1])
@pytest.mark.parametrize("bins", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("way", OF_ROWS[:2], ids=lambda way: way.name)
def test_bins(benchmark, arrays, n_rows, bins, way, prepared):
    benchmark.group = f"{n_rows:,} rows, {bins:,} bins"
    benchmark.pedantic(prepared(way, arrays, bins), rounds=5)


@pytest.mark.parametrize("n_rows", SIZES[:1])
@pytest.mark.parametrize("way", OF_FRAMES, ids=lambda way: way.name)
def test_frames(benchmark, arrays, n_rows, way, prepared, tmp_path):
    benchmark.group = f"{n_rows:,} rows in a frame"
    if "Parquet" in way.name:
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.table(arrays), tmp_path / f"{n_rows}.parquet")
    benchmark.pedantic(prepared(way, arrays | {"folder": tmp_path}, BINS), rounds=3)


@pytest.mark.parametrize("n_rows", SIZES[:1])
def test_merge(benchmark, arrays, n_rows):
    """Counts of two parts: what a tree of workers does at each of its nodes."""
    benchmark.group = "two counts added"
    halves = [bc.BinnedCounts.from_arrays(*(a[i::2] for a in arrays.values()), bins=BINS) for i in range(2)]
    assert benchmark(lambda: halves[0] + halves[1]).n_rows == n_rows


@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("way", ["numpy, sort of the scores", "no weights", "weights"])
def test_cumulative_difference(benchmark, arrays, n_rows, way):
    """Target: 10 million weighted rows in at most 3 s and 4 times the memory of the columns."""
    benchmark.group = f"cumulative difference, {n_rows:,} rows"
    y, p = arrays.values()
    weights = np.random.default_rng(3).exponential(size=n_rows) if way == "weights" else None
    if way.startswith("numpy"):
        benchmark.pedantic(np.sort, (p,), rounds=5)
    else:
        cd = benchmark.pedantic(bc.cumulative_difference, (y, p), {"weights": weights}, rounds=5)
        assert cd.steps.n_rows.sum() == n_rows
