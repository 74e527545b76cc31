"""Labels, groups and times beyond 2^53, where float64 skips integers, stay distinct or are refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayescal import BinnedCounts, CalibrationMonitor, Predictions, evaluate
from bayescal.data.columns import class_numbers
from bayescal.data.frames import as_array, to_array
from bayescal.data.groups import Groups

#: Adjacent integers that are equal as float64, in the range of each type.
SIGNED = [2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1, -(2**53) - 1]
UNSIGNED = [2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
ORDER = [4, 0, 2, 1, 3, 3, 1]

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas nullable": lambda v: pd.Series(v, dtype="UInt64" if min(v) >= 0 else "Int64"),
    "polars": lambda v: pl.Series(v, dtype=pl.UInt64 if min(v) >= 0 else pl.Int64),
    "polars 128 bits": lambda v: pl.Series(v, dtype=pl.Int128),
    "pyarrow": lambda v: pa.array(v, pa.uint64() if min(v) >= 0 else pa.int64()),
    "decimals": lambda v: [Decimal(x) for x in v],
    "numpy": lambda v: np.array(v, np.uint64 if min(v) >= 0 else np.int64),
}
NUMBERS = {"signed": SIGNED, "unsigned": UNSIGNED}


def in_column(make, numbers):
    return make([numbers[i] for i in ORDER])


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", sorted(CONTAINERS.keys() - {"decimals"}))
def test_labels_are_told_apart(kind, name):
    numbers = NUMBERS[kind]
    array = to_array("y_true", in_column(CONTAINERS[name], numbers))
    assert [int(v) for v in array] == [numbers[i] for i in ORDER]
    assert class_numbers("y_true", array, numbers).tolist() == ORDER


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_groups_are_told_apart(kind, name):
    numbers = NUMBERS[kind]
    groups = Groups.from_column(in_column(CONTAINERS[name], numbers), len(ORDER))
    assert [int(label) for label in groups.labels] == sorted(numbers)
    assert [int(groups.labels[i]) for i in groups.of_row] == [numbers[i] for i in ORDER]


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("beside", [[0.5] * 7, np.zeros(7, np.uint64), ["a"] * 7], ids=["floats", "unsigned", "text"])
def test_groups_of_several_columns_keep_the_type_of_each(name, beside):
    by = FRAMES[name]({"id": np.array([SIGNED[i] for i in ORDER]), "other": beside})
    groups = Groups.from_column(by, len(ORDER))
    assert groups.name == "id, other"
    assert [label[0] for label in groups.labels] == sorted(SIGNED)
    assert [groups.labels[i][0] for i in groups.of_row] == [SIGNED[i] for i in ORDER]


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb", "dask"])
def test_groups_that_an_engine_makes_are_told_apart(engine):
    columns = {
        "id": np.array([SIGNED[i] for i in ORDER]),
        "big": np.array([UNSIGNED[i] for i in ORDER], np.uint64),
        "outcome": np.array([0, 1] * 3 + [1]),
        "confidence": np.full(7, 0.5),
    }
    frame = pd.DataFrame(columns) if engine in ("duckdb", "dask") else FRAMES[engine](columns)
    if engine == "duckdb":
        import duckdb

        frame = duckdb.from_df(frame)
    if engine == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    counts = BinnedCounts.from_frame(frame, by="id", bins=2)
    assert {label: c.n_rows for label, c in counts.items()} == {v: ORDER.count(i) for i, v in enumerate(SIGNED)}
    counts = BinnedCounts.from_frame(frame, by=["big", "outcome"], bins=2)
    assert {label[0] for label in counts} == set(UNSIGNED)


def test_an_evaluation_by_large_integers():
    rng = np.random.default_rng(1)
    by = [2**53, 2**53 + 1] * 20
    result = evaluate(rng.integers(0, 2, 40), rng.random(40), by=by, draws=20, rng=1)
    assert list(result.groups) == [2**53, 2**53 + 1]
    y_prob = np.full((40, 2), 0.5)
    labels = np.array(by)
    made = Predictions.from_labels(labels, y_prob, classes=[2**53, 2**53 + 1])
    assert made.outcome.tolist() == [1, 0] * 20  # if two probabilities are equal, the first class is the top label


MIXED = {
    "integers and floats": [2**53 + 1, 0.5],
    "signs": [2**63 + 1, -1],
    "beyond 64 bits": [2**64 + 1, 1],
    "decimal": [Decimal(2**53 + 1), 1],
    "objects": np.array([2**53 + 1, 0.5], dtype=object),
}


@pytest.mark.parametrize("name", MIXED)
def test_what_would_be_rounded_is_refused(name):
    said = "`x` must hold integers that a 64-bit type can represent exactly; 1 of 2 values does not, first at index 0: "
    with pytest.raises(ValueError, match=said):
        to_array("x", MIXED[name])


def test_what_is_not_rounded_is_what_numpy_makes_of_it():
    assert as_array("x", [2.0**60, 1]).tolist() == [2.0**60, 1.0]
    assert to_array("x", [2**60, 0.5, 2.0**70]).tolist() == [2.0**60, 0.5, 2.0**70]
    assert np.isnan(to_array("x", [np.nan, 2.0**60])).tolist() == [True, False]
    values = np.array([2.0**60])
    assert as_array("x", values) is values


@pytest.mark.parametrize(
    ("labels", "classes", "said"),
    [
        (np.array([2.0**53, 1]), [2**53, 2**53 + 1, 1], r"`y_true` must be integers: float64 skips some .* 2\^53 on"),
        (np.array([2**53 + 1, 1]), np.array([2.0**53, 1]), r"`classes` must be .* float64 skips some .* 2\^53 on"),
        (np.array([2.0**24, 1], np.float32), [2**24, 2**24 + 1, 1], r"float32 skips some integers from 2\^24 on"),
        (np.array([2048, 1], np.float16), [2048, 2049, 1], r"float16 skips some integers from 2\^11 on"),
    ],
)
def test_floats_that_may_be_several_classes_are_refused(labels, classes, said):
    with pytest.raises(ValueError, match=f"{said}, so labels may merge; 1 of "):
        class_numbers("y_true", labels, classes)


def test_floats_of_any_size_are_classes_of_their_own():
    assert class_numbers("y_true", np.array([1e300, 2.0**53]), [2.0**53, 1e300]).tolist() == [1, 0]
    assert class_numbers("y_true", np.array([2.0, 1.0]), [1, 2]).tolist() == [1, 0]


def test_signed_labels_beside_unsigned_classes():
    labels = np.array([2**53 + 1, 2**63 - 1])
    assert class_numbers("y_true", labels, np.array([2**63, 2**63 - 1, 2**53 + 1], np.uint64)).tolist() == [2, 1]
    with pytest.raises(
        ValueError, match=r"must be labels from `classes` .*; 1 of 2 values is not, first at index 1: -1"
    ):
        class_numbers("y_true", np.array([2**53, -1]), np.array([2**63, 2**53], np.uint64))
    with pytest.raises(ValueError, match="must be labels from `classes`"):
        class_numbers("y_true", np.array([2**53]), np.array([2**63, 2**53 + 1], np.uint64))


def test_class_numbers_in_half_precision_stop_where_it_skips_integers():
    """2049 is 2048 in float16: the label of class 2048 may be that of 2049."""
    y_prob = np.full((1, 2050), 1 / 2050)
    assert len(Predictions.from_labels(np.array([2047], np.float16), y_prob)) == 1
    with pytest.raises(ValueError, match=r"`y_true` must be integers: float16 skips some .* 2\^11 on"):
        Predictions.from_labels(np.array([2049], np.float16), y_prob)


# --- times


def windows_of(times, window):
    monitor = CalibrationMonitor(window=window)
    monitor.add(np.ones(len(times)), np.full(len(times), 0.5), time=times)
    return {start: counts.n_rows for start, counts in monitor.windows.items()}


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object, list])
@pytest.mark.parametrize("window", [1, 3, 10**17])
def test_whole_times_fall_into_their_windows(dtype, window):
    times = [2**53, 2**53 + 1, 2**62 + 1, 3 * 10**17 - 1, 3 * 10**17, 2**63 - 1]
    expected = {}
    for t in times:
        expected[t // window * window] = expected.get(t // window * window, 0) + 1
    column = times if dtype is list else np.array(times, dtype)
    assert windows_of(column, window) == expected


@pytest.mark.parametrize("window", [3, 7, 10**9])
def test_float_times_fall_into_windows_of_whole_length(window):
    """Python's integers and floats are compared exactly."""
    rng = np.random.default_rng(1)
    times = np.concatenate([rng.uniform(-(2**62), 2**62, 200), 2.0**53 * 3 + 2 * np.arange(20), [-0.5, -3.0, 2.5]])
    expected = {}
    for t in times.tolist():
        start = int(t // 1) // window * window
        assert start <= t < start + window
        expected[start] = expected.get(start, 0) + 1
    assert windows_of(times, window) == expected


@pytest.mark.parametrize(
    ("times", "window", "said"),
    [
        (
            [2**53 + 1, 0],
            0.5,
            r"`time` must lie within 2\^53 of 0 if the window length is a float, here 0\.5; 1 of",
        ),
        ([9007199999999999], 1e10, r"must lie within 2\^53 of 0 if the window length is a float, here 1e\+10"),
        ([2.0**63, 1.0], 10**18, r"`time` must lie within 2\^63 of 0; 1 of 2"),
        ([2**53 + 1, 0.5], 1, "`time` must hold integers that a 64-bit type can represent exactly"),
        (np.array([2**53 + 1, 0.5], object), 1, "`time` must hold integers that a 64-bit type can represent exactly"),
        ([2**63, 1], 1, r"`time` must be below 2\^63"),
    ],
)
def test_times_whose_window_cannot_be_told_are_refused(times, window, said):
    with pytest.raises(ValueError, match=said):
        windows_of(times, window)


def test_a_bound_is_compared_as_it_is():
    monitor = CalibrationMonitor(window=3).add([1], [0.5], time=2**53 + 1)
    assert (2**53 + 1) % 3 == 0
    assert monitor.counts(2**53 + 1).n_rows == 1
    for bound in (2.0**53, 2.0**53 + 2):
        with pytest.raises(ValueError, match="`start` must be where"):
            monitor.counts(bound)
