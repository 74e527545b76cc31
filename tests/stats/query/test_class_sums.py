"""Counts of all classes in the engine that holds the rows are those of arrays; invalid rows are refused."""

import dask.dataframe as dd
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from class_rows import CLASSES, COLUMNS, TABLE, N, P, W, Y, assert_close, count

from bayescal.stats.classwise import ClasswiseCounts

ENGINES = {
    "pandas": lambda t: t.to_pandas(),
    "polars": pl.from_arrow,
    "polars lazy": lambda t: pl.from_arrow(t).lazy(),
    "pyarrow": lambda t: t,
    "duckdb": duckdb.from_arrow,
    "dask": lambda t: dd.from_pandas(t.to_pandas(), npartitions=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [15, [0, 0.1, 0.35, 1]])
def test_every_engine_counts_as_arrays_do(engine, weighted, bins):
    frame = ENGINES[engine](TABLE)
    found = ClasswiseCounts.from_frame(frame, probabilities=COLUMNS, weights="w" if weighted else None, bins=bins)
    assert_close(found, count(weighted=weighted, bins=bins))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_float32_and_labels_that_are_numbers(engine):
    label, matrix = np.searchsorted(CLASSES, Y), P.astype(np.float32)
    table = pa.table({"y": label, **{f"p{k}": matrix[:, k] for k in range(4)}})
    frame = ENGINES[engine](table)
    found = ClasswiseCounts.from_frame(frame, label="y", probabilities={k: f"p{k}" for k in range(4)}, bins=40)
    assert_close(found, ClasswiseCounts.from_arrays(label, matrix, bins=40))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"label": np.where(np.arange(N) < 2, "owl", Y)},
            r"`label` \(column 'label'\) must be labels from .* 2 of 3000",
        ),
        ({"label": [None, *Y[1:]]}, r"`label` \(column 'label'\) must be complete; 1 of 3000 values is missing"),
        (
            {"p_bee": np.r_[7.0, P[1:, 1]]},
            r"`probabilities\['bee'\]` \(column 'p_bee'\) must lie in \[0, 1\]; 1 of 3000",
        ),
        ({"p_bee": np.r_[np.nan, P[1:, 1]]}, r"`probabilities\['bee'\]` .* must be complete; 1 of 3000"),
        ({"p_bee": np.r_[(P[:2, 1] + 0.1) / 2, P[2:, 1]]}, "must have rows that sum to 1; 2 of 3000 rows do not"),
        ({"w": np.r_[-1.0, W[1:]]}, r"`weights` \(column 'w'\) must be >= 0; 1 of 3000"),
        ({"w": np.zeros(N)}, "`weights` are all zero|must not all be zero"),
    ],
)
def test_invalid_rows_are_refused_with_their_number(engine, change, message):
    table = TABLE
    for name, values in change.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    frame = ENGINES[engine](table)
    with pytest.raises(ValueError, match=message):
        ClasswiseCounts.from_frame(frame, probabilities=COLUMNS, weights="w")


def test_integers_that_floats_do_not_hold_are_refused():
    large = 2**53
    frame = pl.DataFrame({"label": [0, large + 1, 1], "a": [0.5, 0.2, 0.3], "b": [0.5, 0.8, 0.7]})
    with pytest.raises(ValueError, match="1 of 3 values is not"):
        ClasswiseCounts.from_frame(frame, probabilities={0: "a", 1: "b"}, bins=2)
    with pytest.raises(ValueError, match=r"below 2\^53"):
        ClasswiseCounts.from_frame(frame, probabilities={large: "a", large + 1: "b"}, bins=2)
