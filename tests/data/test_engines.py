"""`from_frame`: every engine counts the integers of the comparison rule, and refuses bad rows with their number.

Spark is among the engines where BAYESCAL_SPARK is set, and then there are a million hostile rows, or a tenth of them in
the short form: `make spark`.
"""

import os
import subprocess
import sys
from datetime import date
from decimal import Decimal
from itertools import count

import dask
import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayescal as bc
from bayescal.data import engines
from bayescal.stats.bins import make_bins
from bayescal.stats.paired import PairedCounts

SPARK = "BAYESCAL_SPARK" in os.environ
MANY_ROWS = 100_000 if "BAYESCAL_QUICK" in os.environ else 1_000_000
NULLABLE = {
    pa.float64(): pd.Float64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
ENGINES = {
    "pandas": lambda t: t.to_pandas(),
    "pandas nullable": lambda t: t.to_pandas(types_mapper=NULLABLE.get),
    "pandas pyarrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda t: pl.from_arrow(t).lazy(),
    "pyarrow": lambda t: t,
    "duckdb": duckdb.from_arrow,
    "dask": lambda t: dd.from_pandas(t.to_pandas(), npartitions=3),
} | ({"pyspark": None} if SPARK else {})
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def spark():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what pyspark and Java say at their start is not ours
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]")
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # each query runs once: code that Java compiles further does not pay
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=list(ENGINES))
def engine(request, tmp_path):
    """Makes a frame of one engine from a pyarrow Table."""
    if request.param != "pyspark":
        make = ENGINES[request.param]
        make.of = request.param
        return make
    session, files = request.getfixturevalue("spark"), count()

    def from_parquet(table):
        path = str(tmp_path / f"{next(files)}.parquet")
        pq.write_table(table, path)
        return session.read.parquet(path)

    from_parquet.of = "pyspark"
    return from_parquet


def same(counts, expected):
    """Integers equal; sums to 1e-12 of what the sum of absolute terms can be, deviations being at most a width."""
    assert counts.bins == expected.bins
    assert counts.target == expected.target
    np.testing.assert_array_equal(counts.cells, expected.cells)
    width = expected.bins.widths
    np.testing.assert_allclose(counts.weight, expected.weight, rtol=1e-12, atol=0)
    np.testing.assert_allclose(counts.weight_sq, expected.weight_sq, rtol=1e-12, atol=0)
    assert (np.abs(counts.deviation - expected.deviation) <= 1e-12 * width * expected.weight).all()
    squares = np.abs(counts.deviation_sq - expected.deviation_sq)
    assert (squares <= 1e-12 * width**2 * expected.weight.sum(axis=0)).all()
    for name, error in (("total", 1e-12), ("squares", 3e-12)):  # losses are at most 1
        losses = getattr(counts.losses, name) - getattr(expected.losses, name)
        assert (np.abs(losses) <= error * expected.weight).all(), name
        # log losses of many rows in arrays come from polynomials in narrow cells
        logs = [getattr(of.log_losses, name) for of in (counts, expected)]
        np.testing.assert_allclose(*logs, rtol=2e-9, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(counts.log_losses.infinite, expected.log_losses.infinite)


# --- the same integers on every engine

MANY_BINS = (1, 7, 10, 15, 49, 1000)


def hostile(dtype, n):
    """Every k / M, its neighbours, 0, 1, and uniform numbers: n confidences."""
    on = np.concatenate([(np.arange(m + 1) / m).astype(dtype) for m in MANY_BINS])
    near = np.concatenate([on, np.nextafter(on, dtype(0)), np.nextafter(on, dtype(1))])
    near = near[(near >= 0) & (near <= 1)]
    rng = np.random.default_rng(7)
    return rng.permutation(np.concatenate([near, rng.random(n - len(near)).astype(dtype)]))


def by_the_rule(outcome, confidence, edges):
    """Bin b is [e_b, e_{b+1}), the last one closed, compared in the confidences' own type."""
    index = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, len(edges) - 2)
    return np.stack([np.bincount(index[outcome == z], minlength=len(edges) - 1) for z in (0, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integers_of_the_comparison_rule(engine, dtype):
    n = MANY_ROWS if SPARK else 30_000
    c = hostile(dtype, n)
    z = np.random.default_rng(8).integers(0, 2, n)
    frame = engine(pa.table({"confidence": c, "outcome": z}))
    # of the narrowest bins the last digits of a midpoint would show in the sums
    for m in (10, 15, 49) if SPARK else (*MANY_BINS, 100_000):
        counts = bc.BinnedCounts.from_frame(frame, bins=m)
        np.testing.assert_array_equal(counts.cells, by_the_rule(z, c, (np.arange(m + 1) / m).astype(dtype)))
        same(counts, bc.BinnedCounts.from_arrays(z, c, bins=m))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_closed_on_the_right(engine, dtype):
    """(a, b]: the first bin whose upper edge, in the type of the confidences, is at least the confidence."""
    c = hostile(dtype, 10_000)
    z = np.random.default_rng(8).integers(0, 2, len(c))
    frame = engine(pa.table({"confidence": c, "outcome": z}))
    for m in (1, 10, 49):
        bins = bc.make_bins(m, closed="right")
        counts = bc.BinnedCounts.from_frame(frame, bins=bins)
        index = np.searchsorted((np.arange(1, m + 1) / m).astype(dtype), c, side="left")
        cells = [np.bincount(index[z == outcome], minlength=m) for outcome in (0, 1)]
        np.testing.assert_array_equal(counts.cells, cells)
        same(counts, bc.BinnedCounts.from_arrays(z, c, bins=bins))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_edges", [2, 40])
def test_custom_edges(engine, dtype, n_edges):
    """Half of the rows lie on an edge, as far as their type can."""
    rng = np.random.default_rng(n_edges)
    edges = np.concatenate([[0], np.sort(rng.random(n_edges - 1)), [1]])
    c = np.concatenate([rng.choice(edges, 500), rng.random(500)]).astype(dtype)
    z = rng.integers(0, 2, 1000)
    counts = bc.BinnedCounts.from_frame(engine(pa.table({"confidence": c, "outcome": z})), bins=edges)
    np.testing.assert_array_equal(counts.cells, by_the_rule(z, c, edges.astype(dtype)))
    same(counts, bc.BinnedCounts.from_arrays(z, c, bins=edges))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pandas", "polars lazy", "pyarrow", "duckdb", "dask"])
def test_a_thousand_edges(name):
    """No engine's depth of expressions is a limit."""
    rng = np.random.default_rng(3)
    edges = np.concatenate([[0], np.sort(rng.random(999)), [1]])
    c, z = rng.random(2000), rng.integers(0, 2, 2000)
    frame = ENGINES[name](pa.table({"confidence": c, "outcome": z}))
    same(bc.BinnedCounts.from_frame(frame, bins=edges), bc.BinnedCounts.from_arrays(z, c, bins=edges))


@pytest.mark.parametrize("name", ["pandas", "polars lazy", "pyarrow"])
@pytest.mark.parametrize("bins", [15, 3000])
def test_float16(name, bins):
    """Of 3000 edges many are one number in float16."""
    c = np.linspace(0, 1, 3000).astype(np.float16)
    z = np.arange(3000) % 2
    frame = ENGINES[name](pa.table({"confidence": pa.array(c), "outcome": z}))
    same(bc.BinnedCounts.from_frame(frame, bins=bins), bc.BinnedCounts.from_arrays(z, c, bins=bins))


@pytest.mark.parametrize("name", ["pandas pyarrow", "polars lazy", "pyarrow", "duckdb"] + ["pyspark"] * SPARK)
def test_decimals_are_float64(name, request, tmp_path):
    decimals = [Decimal(k) / 100 for k in range(101)]
    table = pa.table({"confidence": pa.array(decimals, pa.decimal128(5, 4)), "outcome": [1] * 101})
    pq.write_table(table, tmp_path / "rows.parquet")
    if name == "pyspark":
        frame = request.getfixturevalue("spark").read.parquet(str(tmp_path / "rows.parquet"))
    else:
        frame = ENGINES[name](table)
    counts = bc.BinnedCounts.from_frame(frame, bins=10)
    assert counts.k.tolist() == [10] * 9 + [11]  # as written: 0.1 lies in the second bin, 0.7 in the eighth


@pytest.mark.parametrize("outcome", [[True, False, True, True], [1, 0, 1, 1], [1.0, 0.0, 1.0, 1.0]])
@pytest.mark.parametrize("confidence", [[0.2, 0.7, 0.9, 1.0], [0, 1, 1, 1]])
def test_types_of_columns(engine, outcome, confidence):
    counts = bc.BinnedCounts.from_frame(engine(pa.table({"o": outcome, "c": confidence})), outcome="o", confidence="c")
    same(counts, bc.BinnedCounts.from_arrays(outcome, confidence))


@pytest.mark.parametrize("dtype", [pa.int8(), pa.uint8(), pa.uint64(), pa.float32()])
def test_widths_of_outcomes(engine, dtype):
    if engine.of == "pyspark" and dtype == pa.uint64():
        pytest.skip("Spark has no unsigned 64-bit integers")
    table = pa.table({"outcome": pa.array([1, 0, 1], dtype), "confidence": [0.2, 0.7, 0.9]})
    assert bc.BinnedCounts.from_frame(engine(table), bins=2).cells.tolist() == [[0, 1], [1, 1]]


def test_weights(engine):
    rng = np.random.default_rng(4)
    c, z, w = rng.random(3000), rng.integers(0, 2, 3000), rng.exponential(size=3000) * rng.integers(0, 2, 3000)
    frame = engine(pa.table({"outcome": z, "confidence": c, "w": w}))
    same(bc.BinnedCounts.from_frame(frame, weights="w"), bc.BinnedCounts.from_arrays(z, c, weights=w))


def test_chunks_of_frames_in_memory(engine, monkeypatch):
    monkeypatch.setattr(engines, "CHUNK", 700)
    rng = np.random.default_rng(5)
    c, z, site = rng.random(3000), rng.integers(0, 2, 3000), rng.choice(["b", "a"], 3000)
    frame = engine(pa.table({"outcome": z, "confidence": c, "site": site}))
    for label, counts in bc.BinnedCounts.from_frame(frame, by="site").items():
        same(counts, bc.BinnedCounts.from_arrays(z[site == label], c[site == label]))


# one engine that evaluates all branches, one that takes one, one in memory
@pytest.mark.slow
@pytest.mark.parametrize("name", ["polars lazy", "duckdb", "pyarrow"])
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_small_frame(name, data):
    width = data.draw(st.sampled_from([32, 64]))
    unit = st.floats(0, 1, width=width)
    rows = data.draw(st.lists(st.tuples(unit, st.booleans(), st.sampled_from(["a", "b"])), min_size=1, max_size=20))
    inner = st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), unique=True, max_size=5)
    edges = data.draw(st.one_of(st.integers(1, 50), inner.map(lambda e: [0, *sorted(e), 1])))
    c, z, by = (np.array(column) for column in zip(*rows, strict=True))
    c = c.astype(f"f{width // 8}")
    found = bc.BinnedCounts.from_frame(
        ENGINES[name](pa.table({"confidence": c, "outcome": z, "by": by.tolist()})), by="by", bins=edges
    )
    assert list(found) == sorted(set(by.tolist()))
    for label, counts in found.items():
        expected = bc.BinnedCounts.from_arrays(z[by == label], c[by == label], bins=edges)
        np.testing.assert_array_equal(counts.cells, expected.cells)
        np.testing.assert_allclose(counts.deviation, expected.deviation, rtol=1e-12, atol=1e-15)


# --- groups


@pytest.mark.slow
def test_groups(engine):
    rng = np.random.default_rng(6)
    c, z, w = rng.random(2000), rng.integers(0, 2, 2000), rng.random(2000)
    site, fold = rng.choice(["c", "a", "b"], 2000), rng.integers(0, 3, 2000)
    frame = engine(pa.table({"outcome": z, "confidence": c, "w": w, "site": site, "fold": fold}))
    one = bc.BinnedCounts.from_frame(frame, weights="w", by="site", bins=5, target="event")
    assert list(one) == ["a", "b", "c"] == list(bc.BinnedCounts.from_frame(frame, by=["site"]))
    two = bc.BinnedCounts.from_frame(frame, weights="w", by=["fold", "site"], bins=5, target="event")
    assert list(two) == [(f, s) for f in range(3) for s in "abc"]
    for (f, s), counts in two.items():
        rows = (fold == f) & (site == s)
        same(counts, bc.BinnedCounts.from_arrays(z[rows], c[rows], weights=w[rows], bins=5, target="event"))
    everybody = bc.BinnedCounts.from_frame(frame, weights="w", bins=5, target="event")
    assert np.array_equal(sum(one.values()).cells, everybody.cells)
    assert np.array_equal(sum(two.values()).cells, everybody.cells)


@pytest.mark.parametrize("labels", [[2, 10, 2], [0.5, -1.0, 0.5], [True, False, True]])
def test_kinds_of_labels(engine, labels):
    frame = engine(pa.table({"outcome": [0, 1, 1], "confidence": [0.1, 0.2, 0.3], "site": labels}))
    counts = bc.BinnedCounts.from_frame(frame, by="site", bins=1)
    assert {label: c.n_rows for label, c in counts.items()} == {labels[0]: 2, labels[1]: 1}
    assert list(counts) == sorted(set(labels))


def test_dates_as_labels(engine):
    if engine.of == "dask":
        pytest.skip("dask makes strings of pandas' objects, dates among them, when it is given a frame")
    days = [date(2025, 3, 2), date(2025, 3, 1), date(2025, 3, 2)]
    counts = bc.BinnedCounts.from_frame(
        engine(pa.table({"outcome": [0, 1, 1], "confidence": [0.1, 0.2, 0.3], "day": days})), by="day", bins=1
    )
    assert {label: c.n_rows for label, c in counts.items()} == {days[1]: 1, days[0]: 2}


def test_ordered_categories_keep_their_order():
    levels, rows = ["low", "middle", "high", "none"], ["high", "low", "middle", "low"]
    columns = {"outcome": [0, 1, 1, 0], "confidence": [0.1, 0.2, 0.3, 0.4]}
    frames = [
        pd.DataFrame(columns | {"risk": pd.Categorical(rows, levels, ordered=True)}),
        pl.LazyFrame(columns | {"risk": pl.Series(rows, dtype=pl.Enum(levels))}),
        duckdb.sql(
            "select 0.5 as confidence, 1 as outcome, r::enum('low', 'middle', 'high', 'none') as risk "
            "from unnest(['high', 'low', 'middle', 'low']) t(r)"
        ),
    ]
    for frame in frames:
        counts = bc.BinnedCounts.from_frame(frame, by="risk")
        assert {k: v.n_rows for k, v in counts.items()} == {"low": 2, "middle": 1, "high": 1}
        assert list(counts) == levels[:3]


@pytest.mark.parametrize("name", ["pandas", "polars lazy", "pyarrow", "dask"])
def test_categories_without_an_order_are_sorted(name):
    site = pa.array(["b", "a", "b"]).dictionary_encode()
    frame = ENGINES[name](pa.table({"outcome": [0, 1, 1], "confidence": [0.1, 0.2, 0.3], "site": site}))
    counts = bc.BinnedCounts.from_frame(frame, by="site")
    assert [(label, c.n_rows) for label, c in counts.items()] == [("a", 1), ("b", 2)]


def test_the_frames_own_names_are_not_in_the_way(engine):
    """Among them those that the query uses."""
    frame = engine(pa.table({"key": [0, 1, 1], "n": [0.1, 0.2, 0.9], "c0": ["x", "y", "x"], "state": [1.0, 2.0, 3.0]}))
    counts = bc.BinnedCounts.from_frame(frame, outcome="key", confidence="n", weights="state", by="c0", bins=2)
    assert [c.cells.tolist() for c in counts.values()] == [[[1, 0], [0, 1]], [[0, 0], [1, 0]]]
    assert [c.weight.tolist() for c in counts.values()] == [[[1, 0], [0, 3]], [[0, 0], [2, 0]]]


# --- two models


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs(engine, weighted):
    rng = np.random.default_rng(9)
    c, d, w = rng.random(2000), rng.random(2000).astype(np.float32), rng.random(2000)
    y, z = rng.integers(0, 2, (2, 2000))
    frame = engine(pa.table({"y": y, "z": z, "first_confidence": c, "second_confidence": d, "w": w}))
    options = {"weights": "w"} if weighted else {}
    for outcome, second in (("y", y), (("y", "z"), z)):
        for bins in (7, [0, 0.3, 0.35, 1]):
            counts = PairedCounts.from_frame(frame, outcome=outcome, bins=bins, **options)
            expected = PairedCounts.from_arrays(y, c, second, d, bins=bins, weights=w if weighted else None)
            np.testing.assert_array_equal(counts.cells, expected.cells)
            np.testing.assert_array_equal(counts.n, expected.n)
            np.testing.assert_allclose(counts.weight, expected.weight, rtol=1e-12)
            np.testing.assert_allclose(counts.weight_sq, expected.weight_sq, rtol=1e-12)
            same(counts.first, expected.first)
            same(counts.second, expected.second)
            for name in ("total", "squares"):
                found, wanted = (getattr(pair.loss_difference, name) for pair in (counts, expected))
                np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * expected.weight.sum())


def test_pairs_by_group(engine):
    table = pa.table({"outcome": [0, 1, 1], "a": [0.2, 0.7, 0.9], "b": [0.4, 0.3, 1.0], "site": ["x", "y", "x"]})
    names = {"first_confidence": "a", "second_confidence": "b"}
    counts = PairedCounts.from_frame(engine(table), **names, by="site", bins=2)
    expected = {
        "x": PairedCounts.from_arrays([0, 1], [0.2, 0.9], [0, 1], [0.4, 1.0], bins=2),
        "y": PairedCounts.from_arrays([1], [0.7], [1], [0.3], bins=2),
    }
    assert list(counts) == list(expected)
    for label, wanted in expected.items():
        np.testing.assert_array_equal(counts[label].cells, wanted.cells)
        same(counts[label].first, wanted.first)
        same(counts[label].second, wanted.second)


# --- bad rows, by engine and kind

GOOD = {"outcome": 1.0, "confidence": 0.5, "w": 1.0, "site": "a"}
INCOMPLETE = "must be complete; {k} of 10 values {are} missing"
BAD = [
    ("confidence", None, INCOMPLETE),
    ("confidence", NAN, INCOMPLETE),
    ("confidence", INF, "must be finite; {k} of 10 values {are} not"),
    ("confidence", -INF, "must be finite; {k} of 10 values {are} not"),
    ("confidence", 1.25, r"must lie in \[0, 1\]; {k} of 10 values {do} not.* 1\.25\. Only an overshoot"),
    ("confidence", 1.000002, r"must lie in \[0, 1\]; {k} of 10 values {do} not.* 1\.000002\. Only an overshoot"),
    ("confidence", -2e-6, r"must lie in \[0, 1\]; {k} of 10 values {do} not.* -2e-06\. Logits"),
    ("confidence", 70.0, r"must lie in \[0, 1\]; {k} of 10 values {do} not.* 70\. Percentages"),
    ("confidence", -2.0, r"must lie in \[0, 1\]; {k} of 10 values {do} not.* -2\. Logits"),
    ("outcome", None, INCOMPLETE),
    ("outcome", NAN, INCOMPLETE),
    ("outcome", 2.0, "must be binary labels, 0 or 1; {k} of 10 values {are} not"),
    ("outcome", INF, "must be finite; {k} of 10 values {are} not"),
    ("outcome", -INF, "must be finite; {k} of 10 values {are} not"),
    ("outcome", 0.5, "must be binary labels, 0 or 1; {k} of 10 values {are} not.* swapped"),
    ("w", None, INCOMPLETE),
    ("w", NAN, INCOMPLETE),
    ("w", INF, "must be finite; {k} of 10"),
    ("w", -INF, "must be finite; {k} of 10"),
    ("w", -1.0, "must be >= 0; {k} of 10"),
    ("w", 1e200, r"must be below 1e\+140, .*; {k} of 10"),
    ("site", None, INCOMPLETE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("column", "value", "message"), BAD)
def test_bad_rows_are_counted_and_refused(engine, column, value, message):
    argument = {"w": "weights", "site": "by"}.get(column, column)
    for k in (1, 3) if value is None else (3,):
        rows = {name: [good] * 10 for name, good in GOOD.items()}
        rows[column] = [value if i in (2, 5, 6)[:k] else v for i, v in enumerate(rows[column])]
        said = message.format(k=k, do="do" if k > 1 else "does", are="are" if k > 1 else "is")
        with pytest.raises(ValueError, match=rf"^`{argument}` \(column '{column}'\) {said}"):
            bc.BinnedCounts.from_frame(engine(pa.table(rows)), weights="w", by="site")


@pytest.mark.parametrize("column", ["z", "c", "w"])
@pytest.mark.parametrize("written_by", ["pyarrow", "polars", "duckdb"])
@pytest.mark.parametrize("scan", [duckdb.read_parquet, pl.scan_parquet], ids=["duckdb", "polars"])
@pytest.mark.parametrize("constant", [False, True])
def test_nan_in_a_file_whose_statistics_leave_it_out(constant, scan, written_by, column, tmp_path):
    """From a largest value of 1, duckdb concludes that `is_nan` is false and `<= 1` true in every row."""
    n = 5000
    table = {"z": np.arange(n) % 2.0, "c": np.linspace(0, 1, n), "w": np.arange(1.0, n + 1)}
    if constant:
        table = {name: np.ones(n) for name in table}
    table[column][[17, 4000]] = NAN
    path = str(tmp_path / "rows.parquet")
    if written_by == "polars":
        pl.DataFrame(table).write_parquet(path)
    elif written_by == "pyarrow":
        pq.write_table(pa.table(table), path)
    else:
        duckdb.from_arrow(pa.table(table)).write_parquet(path)
    with pytest.raises(ValueError, match=r"must be complete; 2 of 5000 values are missing"):
        bc.BinnedCounts.from_frame(scan(path), outcome="z", confidence="c", weights="w")


def test_kinds_are_counted_apart(engine):
    """A row that is bad in two columns counts in both; each column has its own number."""
    table = pa.table({"outcome": [1.0, NAN, 2.0, 0.0], "confidence": [None, NAN, 0.5, 7.0], "w": [1.0, -1.0, NAN, 1.0]})
    names = {"outcome": ["outcome", "none"], "confidence": ["confidence", "none"], "weights": ["w", "w"]}
    for argument, number in (("outcome", 1), ("confidence", 2), ("weights", 1)):
        fine = table.append_column("none", [[0.0] * 4])
        chosen = {a: columns[0 if a == argument else 1] for a, columns in names.items()}
        if argument != "weights":
            chosen["weights"] = None
        with pytest.raises(ValueError, match=rf"^`{argument}` .* must be complete; {number} of 4"):
            bc.BinnedCounts.from_frame(engine(fine), **chosen)


def test_missing_integers_and_booleans(engine):
    if engine.of == "dask":
        pytest.skip("dask makes them of pandas' frames, which have them as floats and objects: tested with pandas")
    for outcome in ([1, None, 0], [True, None, False]):
        table = pa.table({"outcome": outcome, "confidence": [0.1, 0.2, 0.3]})
        if engine.of == "pandas" and outcome[0] is True:
            with pytest.raises(TypeError, match="dtype object"):  # how pandas holds them
                bc.BinnedCounts.from_frame(engine(table))
        else:
            with pytest.raises(ValueError, match=r"`outcome` .* must be complete; 1 of 3"):
                bc.BinnedCounts.from_frame(engine(table))


def test_nan_labels(engine):
    with pytest.raises(ValueError, match=r"`by` \(column 'site'\) must be complete; 2 of 3 values are missing"):
        bc.BinnedCounts.from_frame(
            engine(pa.table({"outcome": [0, 1, 1], "confidence": [0.1, 0.2, 0.3], "site": [NAN, 1.0, NAN]})), by="site"
        )


def test_overshoot_is_clipped_with_one_warning(engine):
    c, z = np.array([-5e-7, 0.0, 1.0, 1 + 2e-7, 0.3]), [0, 1, 0, 1, 1]
    with pytest.warns(UserWarning, match=r"`confidence` .*2 of 5 values lie outside \[0, 1\] by at most 5e-07") as told:
        counts = bc.BinnedCounts.from_frame(engine(pa.table({"confidence": c, "outcome": z})), bins=4)
    assert len(told) == 1
    same(counts, bc.BinnedCounts.from_arrays(z, np.clip(c, 0, 1), bins=4))


def test_weights_that_cannot_be_counted(engine):
    table = pa.table({"outcome": [0, 1], "confidence": [0.1, 0.2], "zero": [0.0, 0.0], "tiny": [0.0, 1e-200]})
    for column, message in (("zero", "all zero .2 of 2.: nothing"), ("tiny", "must be above 1e-140")):
        with pytest.raises(ValueError, match=message):
            bc.BinnedCounts.from_frame(engine(table), weights=column)
    grouped = pa.table({"outcome": [0, 1], "confidence": [0.1, 0.2], "w": [0.0, 1.0], "site": ["a", "b"]})
    with pytest.raises(ValueError, match=r"all zero in group 'a' \(1 of 1\)"):
        bc.BinnedCounts.from_frame(engine(grouped), weights="w", by="site")


def test_a_frame_without_rows(engine):
    if engine.of == "dask":
        pytest.skip("dask makes no frame without rows in three partitions: tested with pandas")
    table = pa.table({"outcome": pa.array([], pa.int64()), "confidence": pa.array([], pa.float64())})
    with pytest.raises(ValueError, match="`frame` is empty"):
        bc.BinnedCounts.from_frame(engine(table))


def test_columns_that_are_not_there(engine):
    frame = engine(pa.table({"outcomes": [0, 1], "confidence": [0.1, 0.2]}))
    with pytest.raises(ValueError, match=r"`outcome='outcome'`: .* no such column\. Did you mean 'outcomes'.* It has"):
        bc.BinnedCounts.from_frame(frame)
    with pytest.raises(ValueError, match="`by='site'`: `frame` has no such column"):
        bc.BinnedCounts.from_frame(frame, outcome="outcomes", by="site")


def test_columns_of_types_that_cannot_be_meant(engine):
    frame = engine(
        pa.table({"outcome": ["yes", "no"], "confidence": ["0.1", "0.2"], "flag": [True, False], "z": [0, 1]})
    )
    for options, message in (
        ({}, "`outcome` .column 'outcome'. holds string labels; say what they mean with a column of 0 and 1"),
        ({"outcome": "z"}, r"`confidence` .* must hold numbers \(probabilities\), not dtype String"),
        ({"outcome": "z", "confidence": "flag"}, "Hard predictions"),
    ):
        with pytest.raises(TypeError, match=message):
            bc.BinnedCounts.from_frame(frame, **options)


# --- other wrong calls


@pytest.mark.parametrize(
    ("frame", "hint"),
    [
        ([0.1], "from_arrays"),
        ({"outcome": [1]}, "from_arrays"),
        (np.zeros((2, 2)), "from_arrays"),
        (pd.Series([0.1]), "from_arrays"),
        ("rows.parquet", "read_parquet"),
        (pa.table({"a": [1]}).to_reader(), "duckdb"),
    ],
)
def test_what_is_not_a_frame(frame, hint):
    with pytest.raises(TypeError, match=f"`frame` must be a data frame .*{hint}"):
        bc.BinnedCounts.from_frame(frame)


def test_wrong_arguments():
    frame = pa.table({"outcome": [0, 1], "confidence": [0.1, 0.2]})
    count_rows = bc.BinnedCounts.from_frame
    with pytest.raises(ValueError, match=r"'equal-mass'` needs all confidences in order.*coarsen"):
        count_rows(frame, binning="equal-mass")
    with pytest.raises(ValueError, match="`target` must be one of"):
        count_rows(frame, target="events")
    with pytest.raises(TypeError, match="`confidence` must be the name of a column of `frame`, not list"):
        count_rows(frame, confidence=[0.1, 0.2])
    with pytest.raises(ValueError, match="`by` names the column 'site' twice"):
        count_rows(frame, by=["site", "site"])
    with pytest.raises(ValueError, match="`by` is empty"):
        count_rows(frame, by=[])
    with pytest.raises(TypeError, match="`outcome` must name one column of `frame`, or two"):
        PairedCounts.from_frame(frame, outcome=("a", "b", "c"))
    with pytest.raises(ValueError, match="columns of different names"):
        count_rows(pd.DataFrame([[0.1, 0.2]], columns=["a", "a"]))


# --- what a user's frame and machine are left with


def test_record_batches_and_bins():
    batch = pa.record_batch({"outcome": [0, 1], "confidence": [0.1, 0.2]})
    bins = make_bins([0, 0.15, 1])
    assert bc.BinnedCounts.from_frame(batch, bins=bins).n.tolist() == [1, 1]


def test_the_frame_is_not_changed():
    frame = pd.DataFrame({"outcome": [0, 1], "confidence": np.float32([0.1, 0.2])}, index=[5, 5])
    before = frame.copy()
    bc.BinnedCounts.from_frame(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_dask_reads_each_partition_once():
    read = []

    def part(i):
        read.append(i)
        return pd.DataFrame({"outcome": [0, 1], "confidence": [0.1, 0.2]})

    meta = {"outcome": "int64", "confidence": "float64"}
    frame = dd.from_delayed([dask.delayed(part)(i) for i in range(3)], meta=meta)
    with dask.config.set(scheduler="synchronous"):
        assert bc.BinnedCounts.from_frame(frame).n_rows == 6
    assert sorted(read) == [0, 1, 2]


def test_dask_needs_no_support_by_narwhals(monkeypatch):
    """narwhals 2.29 warns that dask support moves to another package; in this test narwhals refuses dask frames."""
    table = pa.table({"outcome": [0, 1, 1], "confidence": [0.1, 0.2, 0.9], "site": ["a", "b", "a"]})
    frame = dd.from_pandas(table.to_pandas(), npartitions=2)
    from_native = engines.nw.from_native

    def without_dask(native, *args, **options):
        if type(native).__module__.startswith("dask"):
            raise TypeError("dask is not supported")
        return from_native(native, *args, **options)

    monkeypatch.setattr(engines.nw, "from_native", without_dask)
    counts = bc.BinnedCounts.from_frame(frame, by="site", bins=2)
    assert {label: c.n.tolist() for label, c in counts.items()} == {"a": [1, 1], "b": [1, 0]}
    with pytest.raises(ValueError, match="has no such column"):
        bc.BinnedCounts.from_frame(frame, confidence="score")


def test_a_dask_series_is_no_frame():
    series = dd.from_pandas(pd.Series([0.1, 0.2], name="confidence"), npartitions=1)
    with pytest.raises(TypeError, match="must be a data frame"):
        bc.BinnedCounts.from_frame(series)


def test_engines_need_no_other_packages(warning_options):
    """A duckdb relation without pyarrow, pandas and polars; polars without pyarrow and pandas."""
    code = """
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = sys.modules["numba"] = None
import bayescal as bc, polars
query = "select i / 10 as confidence, (i % 2)::int as outcome, 'a' as site from range(11) t(i)"
frame = polars.LazyFrame({"confidence": [0.1], "outcome": [1], "site": ["a"]})
print(bc.BinnedCounts.from_frame(frame, by="site")["a"].n_rows)
sys.modules["polars"] = None
import duckdb
print(bc.BinnedCounts.from_frame(duckdb.sql(query), by="site", bins=2)["a"].n)
"""
    command = [sys.executable, *warning_options, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n[5 6]\n"), done.stderr


# --- counts between thresholds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("models", "weighted", "thresholds"),
    [(["new"], False, None), (["new", "old"], True, [0.05, 0.1, 0.7]), (["new", "old", "third"], False, None)],
)
def test_counts_between_thresholds(engine, models, weighted, thresholds):
    rng, n = np.random.default_rng(9), 5000
    columns = {name: rng.beta(1, 2, n).round(2) for name in models}
    y, w, site = rng.integers(0, 2, n), rng.exponential(size=n), rng.integers(0, 2, n)
    frame = engine(pa.table({"y": y, **columns, "w": w, "site": site}))
    weights = w if weighted else None
    options = {"outcome": "y", "confidence": models, "weights": "w" if weighted else None}
    found = bc.ThresholdCounts.from_frame(frame, thresholds, **options)
    by = bc.ThresholdCounts.from_frame(frame, thresholds, **options, by="site")
    for part, counts in [(slice(None), found), *((site == label, each) for label, each in by.items())]:
        chosen = {name: p[part] for name, p in columns.items()}
        expected = bc.ThresholdCounts.from_arrays(
            y[part], chosen, thresholds, weights=weights[part] if weighted else None
        )
        np.testing.assert_array_equal(counts.cells, expected.cells)
        np.testing.assert_array_equal(counts.n, expected.n)
        np.testing.assert_allclose(counts.weight, expected.weight, rtol=1e-12)
        np.testing.assert_allclose(counts.weight_sq, expected.weight_sq, rtol=1e-12)


def test_invalid_rows_between_thresholds(engine):
    frame = engine(pa.table({"y": [0, 1, 1], "new": [0.2, 0.7, 0.9], "old": [0.2, 1.7, 0.9]}))
    with pytest.raises(bc.InvalidRows, match=r"`confidence\[1\]` \(column 'old'\) must lie in \[0, 1\]"):
        bc.ThresholdCounts.from_frame(frame, 0.5, outcome="y", confidence=["new", "old"])


# --- names that an engine takes as patterns


@pytest.mark.slow
@pytest.mark.parametrize("name", ["*", "^p.*$", "^a (b-c[\n$"])
@pytest.mark.parametrize("engine", ["polars", "polars lazy", "duckdb"])
def test_a_column_is_the_one_of_its_name(engine, name):
    """Every role in turn; the other columns match the pattern. SQL has no name for a column called `*`."""
    rng = np.random.default_rng(3)
    columns = {"z": rng.integers(0, 2, 90), "p": rng.random(90), "w": rng.integers(1, 4, 90), "g": np.arange(90) % 4}
    columns |= {"pt": rng.integers(1, 5, 90).astype(float), "p2": 1 - columns["p"]}
    frames = {
        "rows": (bc.BinnedCounts, {"outcome": "z", "confidence": "p", "weights": "w", "by": "g"}),
        "clusters": (bc.BinnedCounts, {"outcome": "z", "confidence": "p", "cluster": "g"}),
        "times": (bc.SurvivalCounts, {"time": "pt", "event": "z", "risk": "p", "weights": "w", "by": "g"}),
        "classes": (bc.ClasswiseCounts, {"label": "z", "probabilities": {0: "p2", 1: "p"}, "weights": "w"}),
    }
    for kind, of_role in frames.values():
        options = {"times": [1, 2, 3, 4]} if kind is bc.SurvivalCounts else {}
        expected = kind.from_frame(pl.DataFrame(columns), **of_role, **options)
        for renamed in of_role.values() if kind is not bc.ClasswiseCounts else ("z", "p", "w"):
            table = pa.table({name if column == renamed else column: values for column, values in columns.items()})
            table = table.append_column("pattern", pa.array(np.zeros(90)))
            changed = {role: name if of == renamed else of for role, of in of_role.items()}
            if kind is bc.ClasswiseCounts and renamed == "p":
                changed["probabilities"] = {0: "p2", 1: name}
            if name == "*" and engine == "duckdb":
                with pytest.raises(ValueError, match=r"'\*' means all columns for \w+; rename the column"):
                    kind.from_frame(ENGINES[engine](table), **changed, **options)
            else:
                found = kind.from_frame(ENGINES[engine](table), **changed, **options)
                assert same_counts(found, expected), (kind, renamed)


def same_counts(one, other):
    """Whether counts, or those of every group, agree up to the order of additions."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same_counts, one.values(), other.values()))
    if isinstance(one, bc.ClasswiseCounts):
        return all(map(same_counts, one.by_class, other.by_class))
    names = ("cells", "weight", "deviation") if isinstance(one, bc.BinnedCounts) else ("exits", "weight", "deviation")
    return all(np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12) for name in names)
