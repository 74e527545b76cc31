"""Anything that holds a column or a matrix of values -> one numpy array; the only room that knows data frames."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._checks import quoted

Array = NDArray[Any]


def to_array(name: str, values: Any) -> Array:
    """Turn a container into a numpy array of its values, by position, without missing entries.

    Parameters
    ----------
    name : str
        The argument, for messages.
    values : array-like, Series or data frame
        A list, tuple, numpy array, pandas, polars or pyarrow column or frame, an xarray or PyTorch object:
        anything with ``__array__`` or a data-frame protocol.

    Returns
    -------
    ndarray
        Numbers, booleans or strings. A numpy array comes back as itself: no copy.

    Raises
    ------
    TypeError
        If the container is sparse, ragged, has named fields, or holds something else.
    ValueError
        If entries are missing or masked.
    """
    if isinstance(values, np.ndarray):
        array = _from_numpy(name, values)
    elif hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__") or _is_pandas(values):
        array = _from_frame(name, values)
    else:
        array = _from_other(name, values)
    return _plain_kind(name, array)


def ordered_categories(values: Any) -> list[Any] | None:
    """Categories of an ordered categorical column, in their order; None of anything else.

    Parameters
    ----------
    values : anything
        A column, perhaps.

    Returns
    -------
    list or None
        All categories, also those without rows.
    """
    column: Any = nw.from_native(_chunked(values), series_only=True, pass_through=True)
    if isinstance(column, nw.Series) and isinstance(column.dtype, nw.Enum):
        return list(column.dtype.categories)
    return None


def _is_pandas(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas"


def _from_numpy(name: str, values: Array) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        _checks.no_missing(name, np.ma.getmaskarray(values), "masked")
        return np.asarray(values.data)
    return np.asarray(values)


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
        return np.asarray(frame.to_numpy())
    columns = list(frame.iter_columns())  # by position: a pandas column may be named by a number
    missing = np.column_stack([_numpy_mask(c) for c in columns]) if columns else np.zeros((0, 0), bool)
    _checks.no_missing(name, missing[:, 0] if len(columns) == 1 else missing)
    return np.asarray(frame.to_numpy())


def _chunked(values: Any) -> Any:
    """A pyarrow Array has no narwhals form; its chunked form has."""
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.table(values) if isinstance(values, pa.RecordBatch) else pa.chunked_array([values])
    return values


def _numpy_mask(series: Any) -> Array:
    return np.asarray(series.is_null().to_numpy(), dtype=bool)


def _from_other(name: str, values: Any) -> Array:
    if hasattr(values, "tocsr"):
        raise TypeError(f"`{name}` is a sparse matrix ({type(values).__name__}); pass a dense array: `.toarray()`.")
    if hasattr(values, "detach"):  # a PyTorch tensor may carry a gradient, which is not ours to follow
        values = values.detach()
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as problem:
        raise TypeError(
            f"`{name}` cannot be read as an array of numbers ({type(values).__name__}): {problem} "
            "Are all rows of the same length?"
        ) from problem
    if array.ndim == 0:
        raise TypeError(
            f"`{name}` must be an array, a list or a column, not {quoted(values)} ({type(values).__name__})."
        )
    return array


def _plain_kind(name: str, array: Array) -> Array:
    """Only booleans, integers, floats and strings go through; objects are unpacked into one of these."""
    if array.dtype.kind == "O":
        array = _unpack(name, array)
    if array.dtype.names:
        raise TypeError(f"`{name}` is a structured array with fields {array.dtype.names}; pass one field of it.")
    if array.dtype.kind == "c":
        raise TypeError(f"`{name}` has complex dtype {array.dtype}; pass real numbers.")
    if array.dtype.kind in "USTbiuf":
        return array
    raise TypeError(f"`{name}` has dtype {array.dtype}, which is neither numeric, boolean nor string.")


def _unpack(name: str, array: Array) -> Array:
    """Objects: Python numbers (also Decimal and Fraction) to float, strings to strings."""
    flat = array.ravel()
    missing = np.fromiter((v is None or type(v).__name__ in ("NAType", "NaTType") for v in flat), bool, flat.size)
    _checks.no_missing(name, missing.reshape(array.shape))
    strings = np.fromiter((isinstance(v, str) for v in flat), bool, flat.size)
    if flat.size and strings.all():
        return array.astype(np.str_)
    if strings.any():
        _checks.refuse(
            name,
            "must hold numbers or strings, not a mixture (object dtype)",
            strings.reshape(array.shape),
            array,
            error=TypeError,
        )
    whole = all(isinstance(v, int | np.integer) for v in flat)
    try:
        return array.astype(np.int64 if whole else np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise TypeError(f"`{name}` has dtype object and holds values that are not numbers: {problem}.") from problem
