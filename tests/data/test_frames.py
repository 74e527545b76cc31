"""Containers -> arrays: the same numbers by position, the caller's object as it was, nothing missing."""

import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xarray as xr

from bayescal.data.frames import as_array, labelled, to_array, with_missing

VALUES = [0.125, 0.5, 0.75, 1.0]
INTEGERS = [0, 1, 1, 0]

COLUMNS = {
    "list": lambda v: list(v),
    "tuple": lambda v: tuple(v),
    "range-like": lambda v: np.array(v).tolist(),
    "numpy": lambda v: np.array(v),
    "numpy object": lambda v: np.array(v, dtype=object),
    "pandas": lambda v: pd.Series(v),
    "pandas, shuffled index": lambda v: pd.Series(v, index=[3, 1, 2, 0]),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas on arrow": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas index": lambda v: pd.Index(v),
    "pandas array": lambda v: pd.array(v),
    "polars": lambda v: pl.Series(v),
    "pyarrow array": lambda v: pa.array(v),
    "pyarrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "xarray": lambda v: xr.DataArray(v, dims="row"),
    "memoryview": lambda v: memoryview(np.array(v)),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas on arrow": lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow table": pa.table,
    "pyarrow batch": lambda d: pa.RecordBatch.from_pydict(d),
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("values", [VALUES, INTEGERS], ids=["float", "int"])
def test_columns(make, values):
    array = to_array("x", make(values))
    assert type(array) is np.ndarray
    assert array.dtype.kind in "iuf"
    np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_matrices(make):
    array = to_array("x", make({"a": [0.5, 0.25, 1.0], "b": [0.5, 0.75, 0.0]}))
    np.testing.assert_array_equal(array, [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_single_columns_of_frames(make):
    np.testing.assert_array_equal(to_array("x", make({"a": [0.5, 0.25]})), [[0.5], [0.25]])


def test_a_numpy_array_comes_back_as_itself():
    values = np.array(VALUES)
    assert np.shares_memory(to_array("x", values), values)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint64, bool, ">f4"])
def test_dtypes_are_kept(dtype):
    assert to_array("x", np.array([0, 1], dtype=dtype)).dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.Series(["a", "b"]),
        lambda: pd.Series(["a", "b"], dtype=object),
        lambda: pd.Series(["a", "b"], dtype="category"),
        lambda: pl.Series(["a", "b"]),
        lambda: pl.Series(["a", "b"], dtype=pl.Categorical),
        lambda: pa.array(["a", "b"]),
        lambda: ["a", "b"],
        lambda: np.array(["a", "b"]),
        lambda: np.array(["a", "b"], dtype=object),
    ],
)
def test_strings(make):
    array = to_array("x", make())
    assert array.dtype.kind == "U"
    assert array.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [True, False],
        lambda: pd.Series([True, False], dtype="boolean"),
        lambda: pl.Series([True, False]),
        lambda: pa.array([True, False]),
    ],
)
def test_booleans(make):
    array = to_array("x", make())
    assert array.dtype == bool
    assert array.tolist() == [True, False]


def test_exact_numbers_become_floats():
    for exact in (decimal.Decimal("0.25"), fractions.Fraction(1, 4)):
        array = to_array("x", [exact, exact])
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, [0.25, 0.25])


def test_integer_categories_are_their_values_not_their_codes():
    np.testing.assert_array_equal(to_array("x", pd.Series(pd.Categorical([7, 5, 7]))), [7, 5, 7])


MISSING = {
    "object None": lambda: np.array([0.1, None, 0.3], dtype=object),
    "list None": lambda: [0.1, None, 0.3],
    "pandas NA": lambda: pd.Series([0.1, None, 0.3], dtype="Float64"),
    "pandas on arrow": lambda: pd.Series([0.1, None, 0.3], dtype="double[pyarrow]"),
    "polars": lambda: pl.Series([0.1, None, 0.3]),
    "pyarrow": lambda: pa.array([0.1, None, 0.3]),
    "pyarrow chunked": lambda: pa.chunked_array([[0.1, None], [0.3]]),
    "masked": lambda: np.ma.masked_array([0.1, 0.2, 0.3], [False, True, False]),
    "one column of polars": lambda: pl.DataFrame({"a": [0.1, None, 0.3]}),
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING)
def test_missing_entries_are_refused(make):
    with pytest.raises(
        ValueError, match=r"^`x` must be complete; 1 of 3 values is .*, first at index 1\. Rows are never dropped"
    ):
        to_array("x", make())


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda d: pd.DataFrame(d, dtype="Float64")])
def test_missing_entries_of_a_matrix(make):
    with pytest.raises(ValueError, match=r"1 of 4 values is missing .* first at index \(1, 0\)"):
        to_array("x", make({"a": [0.1, None], "b": [0.9, 0.5]}))


def test_an_unmasked_masked_array_is_an_array():
    array = to_array("x", np.ma.masked_array([0.1, 0.2], [False, False]))
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(array, [0.1, 0.2])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (scipy.sparse.csr_matrix([[0.1], [0.2]]), r"`x` is a sparse matrix .*toarray"),
        (np.array([(0.1, 1)], dtype=[("p", float), ("y", int)]), "fields .*'p', 'y'"),
        (np.array([0.1 + 0j]), "complex dtype"),
        (np.array([1, 2], "m8[s]"), "neither numeric, boolean nor string"),
        (np.array(["2020-01-01"], "M8[D]"), "neither numeric, boolean nor string"),
        (pd.Series([[0.1, 0.9], [0.2, 0.8]]), "`x` holds sequences instead of numbers .*numpy.stack"),
        (pl.Series([[0.1, 0.9], [0.2, 0.8]]), "`x` holds sequences instead of numbers .*numpy.stack"),
        (0.5, "must be an array, a list or a column, not 0.5"),
        ("0.5", "must be an array"),
        (None, "must be an array"),
        ({"p": 1}, "must be an array"),
        ((v for v in [0.1]), "must be an array"),
        (
            np.array([0.1, "a"], dtype=object),
            "not a mixture .object dtype.; 1 of 2 values does not, first at index 1: 'a'",
        ),
        ([object()], "values that are not numbers"),
        ([10**400, 1], "not numbers"),
    ],
)
def test_what_is_no_array(values, message):
    with pytest.raises(TypeError, match=message):
        to_array("x", values)


ITSELF = [0.1]
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.1, 0.9], [0.5]], r"1 of 2 differs from index 0 \(length 2\), first at index 1: length 1"),
        ([[0.1], [0.5], [], [0.1, 0.9]], r"2 of 4 differ .* \(length 1\), first at index 2: length 0"),
        (((0.1, 0.9), [0.5, 0.5], (0.5,)), "1 of 3 .* first at index 2: length 1"),
        ([np.array([0.1, 0.9]), np.array([0.2, 0.3, 0.5])], "first at index 1: length 3"),
        ([pd.Series([0.1, 0.9]), pd.Series([0.2])], "first at index 1: length 1"),
        ([[0.1, 0.9], 0.5], "1 of 2 .* first at index 1: a single value"),
        ([0.5, [0.1, 0.9]], r"index 0 \(a single value\), first at index 1: length 2"),
        (
            [[[1, 2], [3, 4]], [[5, 6], [7]]],
            r"1 of 4 .* index \(0, 0\) \(length 2\), first at index \(1, 1\): length 1",
        ),
        (np.array([[0.1, 0.9], [0.5]], dtype=object), "first at index 1: length 1"),
        (pd.Series([[0.1, 0.9], [0.5]]), "first at index 1: length 1"),
        (pl.Series([[0.1, 0.9], [0.5]]), "first at index 1: length 1"),
        (ITSELF, "first at index 1: length 2"),
    ],
)
def test_rows_of_unequal_length_are_refused_by_the_first(values, message):
    with pytest.raises(ValueError, match=f"^`x` must have rows of the same length; .*{message}"):
        to_array("x", values)


def test_the_caller_keeps_what_he_had():
    objects = [pd.Series(VALUES), pl.Series(VALUES), pa.array(VALUES), np.array(VALUES, dtype=object)]
    copies = [o.copy() if hasattr(o, "copy") else o for o in (objects[0], objects[3])]
    for o in objects:
        to_array("x", o)
    pd.testing.assert_series_equal(objects[0], copies[0])
    assert objects[1].to_list() == VALUES
    assert objects[2].to_pylist() == VALUES
    assert objects[3].tolist() == VALUES


def test_a_tensor_is_read_without_its_gradient():
    """PyTorch is no dependency: an object with its three methods stands in."""

    class Tensor:
        def __init__(self, values, attached=True):
            self.values, self.attached = values, attached

        def detach(self):
            return Tensor(self.values, attached=False)

        def __array__(self, dtype=None, copy=None):
            if self.attached:
                raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
            return np.array(self.values, dtype=dtype)

    np.testing.assert_array_equal(to_array("x", Tensor(VALUES)), VALUES)


def test_integers_above_2_to_the_63_are_unsigned():
    assert as_array("by", [2**63, 1]).dtype == np.uint64


def test_example_of_with_missing():
    assert [each.tolist() for each in with_missing("y_true", [None, 1, 0, float("nan")])] == [
        [1, 1, 0, 1],
        [False, True, True, False],
    ]


def test_example_of_labelled():
    assert labelled(pd.cut([0.1, 0.9], [0, 0.5, 1], labels=["low", "high"])).cat.categories.tolist() == ["low", "high"]
