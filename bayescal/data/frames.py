"""Lists, arrays and data frames as numpy arrays; pandas columns with different indexes are refused."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from bayescal import _checks
from bayescal._arrays import Array, Bools
from bayescal._invalid import invalid, quoted
from bayescal._meant import several_classifiers

MOST_DIMENSIONS = 64  #: Maximum number of dimensions of a numpy array.

SKIPS_INTEGERS = 2**53  #: From here on, float64 does not represent every integer: 2^53 + 1 becomes 2^53.


def to_array(name: str, values: Any) -> Array:
    """Convert a container to numbers, booleans or strings by position; refuse missing entries and other types."""
    of_pandas = type(values).__module__.partition(".")[0] == "pandas"
    if isinstance(values, np.ndarray):
        if isinstance(values, np.ma.MaskedArray):
            _checks.no_missing(name, np.ma.getmaskarray(values), "masked")
        array = np.asarray(values)
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__") or of_pandas:
        array = _from_frame(name, values)
    else:
        array = _from_other(name, values)
    return _plain_kind(name, array)


def with_missing(name: str, values: Any) -> tuple[Array, Array]:
    """Convert a column whose entries may be missing; return its values, and whether each is known.

    A missing entry (NaN, None, null, NA or masked) has the value of the first known entry; 0 if none is known.
    """
    array, missing = _values_and_mask(values)
    if array.ndim != 1 or not missing.any():
        complete = to_array(name, values)
        return complete, np.ones(len(complete), bool)
    if missing.all():
        return np.zeros(len(array)), ~missing
    first = np.flatnonzero(~missing)[:1]
    return to_array(name, np.where(missing, array[first], array)), ~missing


def _values_and_mask(values: Any) -> tuple[Array, Array]:
    """Return a column as an array, and whether each entry is missing; nothing is if there are several columns."""
    array: Array
    masked: Any = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else False
    values = _chunked(labelled(values))
    frame: Any = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and len(frame.columns) == 1:
        frame = frame[frame.columns[0]]
    if isinstance(frame, nw.Series):
        array, masked = np.asarray(frame.to_numpy()), _numpy_mask(frame)
    elif isinstance(values, list | tuple) and not any(_length(each) is not None for each in values):
        array = np.asarray(values, dtype=object)
    else:
        array = np.asarray(values.detach() if hasattr(values, "detach") else values)
    if array.ndim == 2 and array.shape[1] == 1:
        array, masked = array.reshape(-1), np.reshape(masked, -1)
    if array.ndim != 1:
        return array, np.zeros(array.shape, bool)
    if array.dtype.kind == "f":
        return array, np.isnan(array) | masked
    if array.dtype.kind != "O":
        return array, np.zeros(len(array), bool) | masked
    none = (v is None or type(v).__name__ in ("NAType", "NaTType") or (isinstance(v, float) and v != v) for v in array)
    return array, np.fromiter(none, bool, len(array)) | masked


def as_array(name: str, values: Any) -> Array:
    """Convert values as `numpy.asarray` does, but never round an integer: uint64 if any is 2^63 or more."""
    return _unrounded(name, values, np.asarray(values))


def columns_of(name: str, frame: Any) -> list[Array] | None:
    """Return the columns of a data frame, each as an array of its own type; None if `numpy.asarray` suffices."""
    try:
        table: Any = nw.from_native(_chunked(frame), eager_only=True, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError as problem:
        raise ValueError(f"`{name}` must have columns of different names. {problem}") from problem
    if isinstance(table, nw.Series) and _is_wide(table):
        return [_values(table)]
    if not isinstance(table, nw.DataFrame):
        return None
    return [_values(c) if _is_wide(c) else np.asarray(c.to_native()) for c in table.iter_columns()]


def by_column(values: Any) -> dict[Any, Any] | None:
    """Return the columns of an eager data frame by name, in the type of the frame; None for anything else."""
    try:
        frame = nw.from_native(values, eager_only=True, pass_through=True)
        whole = isinstance(frame, nw.DataFrame)
        return {name: frame.get_column(name).to_native() for name in frame.columns} if whole else None
    except DuplicateError:
        repeated = [name for name in dict.fromkeys(values.columns) if list(values.columns).count(name) > 1]
        raise ValueError(
            f"columns of a data frame must have different names; {quoted(repeated[:5])} occur more than once. "
            "Rename or drop one of each."
        ) from None


def column_names(values: Any) -> list[Any] | None:
    """Return the names of the columns of an eager data frame; None for anything else, or if names are repeated."""
    try:
        frame = nw.from_native(_chunked(values), eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None
    return list(frame.columns) if isinstance(frame, nw.DataFrame) else None


def ordered_categories(values: Any) -> list[Any] | None:
    """Return all categories of an ordered categorical column, in their order; None for anything else."""
    column: Any = nw.from_native(_chunked(labelled(values)), series_only=True, pass_through=True)
    if isinstance(column, nw.Series) and isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    return None


def labelled(values: Any) -> Any:
    """Return a pandas `Categorical`, as `pandas.cut` makes of an array, as a Series; anything else unchanged."""
    if type(values).__module__.partition(".")[0] != "pandas" or not hasattr(values, "categories"):
        return values
    import pandas as pd

    return pd.Series(values)


def all_categories(values: Any) -> list[Any] | None:
    """Return all categories of a categorical column of pandas, or of an ordered one of any library; otherwise None."""
    ordered = ordered_categories(values)
    if ordered is not None:
        return ordered
    values = labelled(values)
    column: Any = nw.from_native(_chunked(values), series_only=True, pass_through=True)
    is_categorical = isinstance(column, nw.Series) and isinstance(column.dtype, nw.Categorical)
    if is_categorical and nw.dependencies.is_pandas_series(values):
        return values.cat.categories.tolist()
    return None


def index_of(values: Any) -> Any:
    """Return the index of a Series or data frame of pandas or a pandas-like library; None for anything else."""
    pandas_like = nw.dependencies.is_pandas_like_series(values) or nw.dependencies.is_pandas_like_dataframe(values)
    return values.index if pandas_like else None


def _from_frame(name: str, values: Any) -> Array:
    native = _chunked(values)
    try:
        frame: Any = nw.from_native(native, eager_only=True, allow_series=True)
    except TypeError:
        return _from_other(name, values)  # a pandas Index or Categorical
    except nw.exceptions.DuplicateError as problem:
        raise ValueError(f"`{name}` must have columns of different names. {problem}") from problem
    if isinstance(frame, nw.Series):
        _checks.no_missing(name, _numpy_mask(frame))
        return _values(frame)
    columns = list(frame.iter_columns())  # by position: a pandas column may be named by a number
    missing = np.column_stack([_numpy_mask(c) for c in columns]) if columns else np.zeros((0, 0), bool)
    _checks.no_missing(name, missing[:, 0] if len(columns) == 1 else missing)
    return np.asarray(frame.to_numpy())


def _chunked(values: Any) -> Any:
    """Convert a pyarrow Array to a chunked array, which narwhals supports."""
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.table(values) if isinstance(values, pa.RecordBatch) else pa.chunked_array([values])
    return values


def _values(series: Any) -> Array:
    if _is_wide(series):
        array = np.empty(len(series), dtype=object)
        array[:] = series.to_list()
        return array
    return np.asarray(series.to_numpy())


def _is_wide(series: Any) -> bool:
    """Return whether a column holds 128-bit integers, which numpy does not have."""
    return isinstance(series.dtype, nw.Int128 | nw.UInt128)


def _numpy_mask(series: Any) -> Array:
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _from_other(name: str, values: Any) -> Array:
    if isinstance(values, Mapping):
        keys = list(values)[:3]
        message = f"an array, a list or a column, not a {type(values).__name__} with the keys {quoted(keys)}"
        raise several_classifiers(f"`{name}` must be {message}.", name, keys)
    if hasattr(values, "tocsr"):
        raise TypeError(f"`{name}` is a sparse matrix ({type(values).__name__}); pass a dense array: `.toarray()`.")
    if str(getattr(values, "dtype", "")).endswith("bfloat16") and hasattr(values, "float"):
        raise TypeError(f"`{name}` has dtype {values.dtype}, which numpy does not have; pass `{name}.float()`.")
    if hasattr(values, "detach"):  # a PyTorch tensor may carry a gradient, which numpy does not convert
        values = values.detach()
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as problem:
        if isinstance(values, list | tuple):
            _equal_lengths(name, values)
        raise TypeError(
            f"`{name}` cannot be read as an array of numbers ({type(values).__name__}): {problem}"
        ) from problem
    if array.ndim == 0:
        raise TypeError(
            f"`{name}` must be an array, a list or a column, not {quoted(values)} ({type(values).__name__})."
        )
    if array.dtype.kind == "U" and array.ndim == 1 and isinstance(values, list | tuple):
        # numpy turns ["a", nan] into strings
        missing = np.fromiter((isinstance(v, float) and v != v for v in values), bool, len(values))
        _checks.no_missing(name, missing)
    return _unrounded(name, values, array)


def _equal_lengths(name: str, values: Any) -> None:
    """Refuse nested sequences of unequal length, level by level; report the first that differs from index 0."""
    rows: list[tuple[tuple[int, ...], Any]] = [((i,), row) for i, row in enumerate(values)]
    for _ in range(MOST_DIMENSIONS):  # a list may contain itself
        lengths = [_length(row) for _, row in rows]
        other = [length != lengths[0] for length in lengths]
        if any(other):
            first = other.index(True)
            raise ValueError(
                f"`{name}` must have rows of the same length; {sum(other)} of {len(rows)} "
                f"{'differs' if sum(other) == 1 else 'differ'} from index {_at(rows[0][0])} "
                f"({_size(lengths[0])}), first at index {_at(rows[first][0])}: {_size(lengths[first])}."
            )
        if not lengths or lengths[0] is None:
            return
        rows = [((*at, i), entry) for at, row in rows for i, entry in enumerate(row)]


def _length(row: Any) -> int | None:
    """Return the length of a sequence; None for anything else."""
    if isinstance(row, str | bytes | Mapping) or getattr(row, "ndim", 1) == 0:
        return None
    return len(row) if hasattr(row, "__getitem__") and hasattr(row, "__len__") else None


def _at(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)


def _size(length: int | None) -> str:
    return "a single value" if length is None else f"length {length}"


def _plain_kind(name: str, array: Array) -> Array:
    """Accept booleans, integers, floats and strings only; objects are unpacked into one of these."""
    if array.dtype.kind == "O":
        array = _unpack(name, array)
    if array.dtype.names:
        raise TypeError(f"`{name}` is a structured array with fields {array.dtype.names}; pass one field of it.")
    if array.dtype.kind == "c":
        raise TypeError(f"`{name}` has complex dtype {array.dtype}; pass real numbers.")
    if array.dtype.kind in "USTbiuf":
        return array
    if array.dtype.name == "bfloat16":
        raise TypeError(
            f"`{name}` has dtype bfloat16, which numpy does not compute with; pass `{name}.astype('float32')`."
        )
    raise TypeError(f"`{name}` has dtype {array.dtype}, which is neither numeric, boolean nor string.")


def _unpack(name: str, array: Array) -> Array:
    """Convert objects: Python numbers (also Decimal and Fraction) to float, strings to strings."""
    flat = array.ravel()
    if any(_length(v) is not None for v in flat):
        _equal_lengths(name, array)
        raise TypeError(
            f"`{name}` holds sequences instead of numbers (dtype object); combine them into a two-dimensional array "
            "with `numpy.stack`."
        )
    missing = np.fromiter((v is None or type(v).__name__ in ("NAType", "NaTType") for v in flat), bool, flat.size)
    _checks.no_missing(name, missing.reshape(array.shape))
    strings = np.fromiter((isinstance(v, str) for v in flat), bool, flat.size)
    if flat.size and strings.all():
        return array.astype(np.str_)
    if strings.any():
        rule = "must hold numbers or strings, not a mixture (object dtype)"
        raise TypeError(str(invalid(name, rule, strings.reshape(array.shape), array)))
    try:
        floats = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeError(f"`{name}` has dtype object and holds values that are not numbers: {problem}.") from problem
    return _exact(name, array, floats)


def _unrounded(name: str, values: Any, array: Array) -> Array:
    """Return the array that numpy made of a list, unless conversion to float changed an integer."""
    of_python = isinstance(values, list | tuple) and array.dtype.kind == "f"
    if not of_python or not (np.abs(array) >= SKIPS_INTEGERS).any():
        return array
    return _exact(name, np.asarray(values, dtype=object), array)


def _exact(name: str, values: Array, as_float: Array) -> Array:
    """Return integers as int64 or uint64; otherwise floats, provided that no large number is rounded."""
    flat = values.ravel()
    if all(isinstance(v, int | np.integer) for v in flat):
        for dtype in (np.int64, np.uint64):
            if not flat.size or (min(flat) >= np.iinfo(dtype).min and max(flat) <= np.iinfo(dtype).max):
                return values.astype(dtype)
    large = ~(np.abs(as_float) < SKIPS_INTEGERS)
    rounded = np.zeros(values.shape, bool)
    # Python compares an integer with a float exactly; numpy rounds the integer first
    floats = as_float[large].tolist()
    rounded[large] = [v == v and v != float_ for v, float_ in zip(values[large].tolist(), floats, strict=True)]
    if rounded.any():
        hint = "Pass integers of one type (int64 or uint64), or strings where they are labels."
        _checks.refuse(name, "must hold integers that a 64-bit type can represent exactly", rounded, values, hint=hint)
    return as_float


def same_rows(columns: Mapping[str, Any]) -> None:
    """Refuse Series and data frames whose indexes differ, because values are combined by position.

    Two indexes must be equal, with one exception: one of them is the default index ``0, 1, ..., n - 1`` and the other
    has different labels. Such columns cannot be aligned, and the default index carries no more information about the
    rows than an array does. Columns without an index and columns of different length are not checked here.
    """
    indexes = [(name, index) for name, values in columns.items() if (index := index_of(values)) is not None]
    for (first, index), (second, other) in combinations(indexes, 2):
        if index is not other and len(index) == len(other) and not index.equals(other):
            _compare(first, index, second, other)


def _compare(first: str, index: Any, second: str, other: Any) -> None:
    """Refuse two unequal indexes, unless one is a default index that does not contain the labels of the other."""
    n = len(index)
    default, labels = _is_default(index), _is_default(other)
    if (default and _beyond(other, n)) or (labels and _beyond(index, n)):
        return
    here, there = _comparable(first, index, second, other)
    in_order = np.sort(here)
    reordered = np.array_equal(in_order, np.sort(there))
    if not reordered and (default or labels):
        return
    bad = here != there
    if bad.any():
        _refuse(first, index, second, other, bad, reordered, bool((in_order[1:] != in_order[:-1]).all()))


def _comparable(first: str, index: Any, second: str, other: Any) -> tuple[Array, Array]:
    """Return integer labels as they are and integer codes of all others: equal labels have equal codes."""
    both = [np.asarray(index), np.asarray(other)]
    if all(labels.dtype.kind in "iu" for labels in both) and both[0].dtype == both[1].dtype:
        return both[0], both[1]
    try:
        codes = np.asarray(index.append(other).factorize()[0])
    except TypeError as problem:
        raise ValueError(
            f"the indexes of `{first}` and `{second}` cannot be compared: {problem}. If the rows are in the same order "
            f"already, pass `{first}.to_numpy()` and `{second}.to_numpy()`."
        ) from problem
    return codes[: len(index)], codes[len(index) :]


def _refuse(first: str, index: Any, second: str, other: Any, bad: Bools, reordered: bool, unique: bool) -> NoReturn:
    at = int(np.argmax(bad))
    count = f"{np.count_nonzero(bad)} of {len(bad)}"
    where = f"first at position {at}: {_quoted(other[at])}, not {_quoted(index[at])}"
    difference = f"{count} labels differ, {where}"
    if reordered:
        difference = f"the labels are the same, but {count} are in other positions, {where}"
    hint = f"Align them, as in `{second}.loc[{first}.index]`." if reordered and unique else "Make the indexes equal."
    raise ValueError(
        f"`{second}` must have the index of `{first}`: {difference}. Values are combined by position. {hint} If the "
        f"rows are in the same order already, pass `{second}.to_numpy()`."
    )


def _is_default(index: Any) -> bool:
    """Return whether an index is the default one of a data frame, which says nothing about the rows."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _beyond(index: Any, n: int) -> bool:
    """Return whether an integer index certainly has a label outside 0, ..., n - 1; a cheap check of its extremes."""
    return getattr(index.dtype, "kind", "O") in "iu" and bool(index.max() >= n or index.min() < 0)


def _quoted(label: Any) -> str:
    entries = label if isinstance(label, tuple) else (label,)
    plain = tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in entries)
    shown = repr(plain if isinstance(label, tuple) else plain[0])
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
