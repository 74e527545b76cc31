"""Clusters of rows from columns of labels."""

import datetime
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayescal.data.groups import ClusterCodes, Clusters

#: One partition of six rows into clusters {0, 3}, {1, 4, 5}, {2}, in many containers.
ROWS = [[0, 3], [1, 4, 5], [2]]
DAYS = [datetime.date(2024, 1, d) for d in (5, 2, 9, 5, 2, 2)]
COLUMNS = {
    "list of strings": ["q5", "q2", "q9", "q5", "q2", "q2"],
    "tuples": (("b", 1), ("a", 1), ("d", 1), ("b", 1), ("a", 1), ("a", 1)),
    "integers": np.array([5, -2, 9, 5, -2, -2]),
    "large integers": np.array([2**63, 2**63 + 1, 2**63 + 2, 2**63, 2**63 + 1, 2**63 + 1], np.uint64),
    "integers beyond 64 bits": [2**80, 2**80 + 1, 2**80 + 2, 2**80, 2**80 + 1, 2**80 + 1],
    "whole floats": np.array([5.0, 2, 9, 5, 2, 2]),
    "numpy strings": np.array(["q5", "q2", "q9", "q5", "q2", "q2"]),
    "mixed": ["a", 1, ("a", 1), "a", 1, 1],
    "dates": DAYS,
    "datetime64": np.array(DAYS, "M8[D]"),
    "pandas": pd.Series(["q5", "q2", "q9", "q5", "q2", "q2"]),
    "pandas categorical": pd.Series(["q5", "q2", "q9", "q5", "q2", "q2"], dtype="category"),
    "pandas nullable": pd.Series([5, 2, 9, 5, 2, 2], dtype="Int64"),
    "polars": pl.Series(["q5", "q2", "q9", "q5", "q2", "q2"]),
    "pyarrow": pa.chunked_array([[5, 2, 9], [5, 2, 2]]),
    "frame of two columns": pd.DataFrame({"a": [1, 1, 2, 1, 1, 1], "b": ["x", "y", "x", "x", "y", "y"]}),
    "matrix": np.array([[1, 0], [1, 1], [2, 0], [1, 0], [1, 1], [1, 1]]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_partition_of_rows(name):
    clusters = Clusters.from_column(COLUMNS[name], 6)
    assert clusters.of_row.dtype == np.int64
    assert len(clusters) == clusters.number == 3
    assert sorted(set(clusters.of_row.tolist())) == [0, 1, 2]
    found = {tuple(np.flatnonzero(clusters.of_row == code).tolist()) for code in range(3)}
    assert found == {tuple(rows) for rows in ROWS}


MISSING = {
    "None": ["a", None, "b"],
    "NaN among strings": ["a", float("nan"), "b"],
    "NaN among numbers": np.array([1.0, np.nan, 2.0]),
    "NaT": np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]"),
    "pandas NA": pd.Series([1, None, 2], dtype="Int64"),
    "polars null": pl.Series(["a", None, "b"]),
    "masked": np.ma.masked_array([1, 2, 3], [False, True, False]),
    "in a tuple": [("a", 1), ("a", None), ("b", 1)],
    "in the second column": pd.DataFrame({"a": [1, 1, 2], "b": ["x", None, "x"]}),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_labels_are_refused_with_their_position(name):
    with pytest.raises(ValueError, match=r"`cluster`.*1 of 3.*index 1"):
        Clusters.from_column(MISSING[name], 3)


def test_errors_name_the_argument_and_a_remedy():
    with pytest.raises(ValueError, match=r"`cluster` and `y_true` must have the same length"):
        Clusters.from_column(["a", "b"], 3)
    with pytest.raises(
        TypeError, match=r"`patient` must hold labels that are strings.*of type list.*pass a data frame"
    ):
        Clusters.from_column([["a"], ["b"]], 2, name="patient")
    with pytest.raises(TypeError, match=r"as in `cluster=frame\['question'\]`"):
        Clusters.from_column("question", 3)
    numbers = np.random.default_rng(1).random(40)
    for measurement in (numbers, numbers.tolist()):
        with pytest.raises(ValueError, match=r"it holds 40 distinct numbers that are not integers.*another column"):
            Clusters.from_column(measurement, 40)


def test_a_million_clusters_without_interpreted_code_per_row():
    """Counts calls of Python functions instead of seconds."""
    strings = np.char.add("question ", np.arange(1_000_000).astype(str)).astype(object)
    calls = 0

    def profile(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        clusters = Clusters.from_column(strings, len(strings))
    finally:
        sys.setprofile(None)
    assert clusters.number == 1_000_000
    assert calls < 1000


def test_take_counts_the_clusters_of_the_rows_that_remain():
    clusters = Clusters.from_column(["a", "b", "b", "c", "a"], 5)
    part = clusters.take(np.array([False, True, True, True, False]))
    assert part.number == 2
    assert part.of_row[0] == part.of_row[1] != part.of_row[2]


def test_equal_labels_have_equal_codes():
    assert Clusters.from_column([7, 3, 7, 7], 4).of_row.tolist() == [0, 1, 0, 0]  # in the order of occurrence
    assert repr(Clusters.from_column(["b", "a", "b"], 3)) == "Clusters(2 clusters, 3 rows)"


def test_the_part_of_a_cluster_inside_a_group_is_a_cluster():
    part = Clusters.from_column(["a", "b", "b", "c"], 4).take(np.array([1, 2]))
    assert (part.number, part.of_row.tolist()) == (1, [0, 0])


def test_codes_of_blocks():
    codes = ClusterCodes()
    assert codes.of(np.array(["a", "b"], object)).tolist() == [0, 1]
    assert codes.of(np.array(["b", "c"], object)).tolist() == [1, 2]
    assert len(codes) == 3
