"""The bases of all counts: read-only arrays, equality by content, addition, numbers of rows."""

from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Self, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.sums import row_counts

ARRAYS = (np.ndarray, NDArray)  #: Origins of the type of an array, which numpy 2.2 and later versions name differently.


def read_only(values: Any, dtype: Any = None) -> np.ndarray:
    """Return a read-only view of an array; in place changes such as ``counts.k += 1`` would contradict other sums."""
    array = np.asarray(values)
    with np.errstate(invalid="ignore"):
        view = np.asarray(array, dtype=dtype).view()
    if view.dtype.kind == "i" and array.dtype.kind == "f" and not np.array_equal(view, array):
        raise ValueError("numbers of rows must be whole; those of weighted rows are sums of weights.")
    view.setflags(write=False)
    return view


class Frozen:
    """Base of frozen dataclasses whose arrays are read-only and of the annotated type, also after unpickling."""

    #: For counts of one classifier that cannot be compared with those of another: why, and what to use.
    not_paired: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for name, is_array, dtype in _fields(type(self)):  # type: ignore[arg-type]  # types are hashable
            value = getattr(self, name)
            if is_array or isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value, dtype))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays from copies and pickles are writable and unchecked


class Whole(Frozen):
    """Base of counts of all rows, which do not follow from those of two parts; only 0 is added, as by `sum`."""

    not_added: ClassVar[str]  #: Why they cannot be added, and what to do.

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        raise TypeError(self.not_added)

    __radd__ = __add__


class Sums(Frozen):
    """Base of sums over rows: equal if all compared fields are, and added by `_plus`; `sum` starts with 0."""

    def _plus(self, other: Self) -> Self:
        """Return the sums over the rows of both: those of each field."""
        names = [name for name, *_ in _fields(type(self))]  # type: ignore[arg-type]  # types are hashable
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def __add__(self, other: object) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        return self._plus(other) if isinstance(other, type(self)) else NotImplemented

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # equality is by content of the arrays, so there is no hash


class Counted(Sums):
    """Base of counts of rows, whose numbers are in one field and add up to less than 2^63."""

    rows_field: ClassVar[str]  #: The field with the numbers of rows.

    def __post_init__(self) -> None:
        object.__setattr__(self, self.rows_field, row_counts(self.rows_field, getattr(self, self.rows_field)))
        super().__post_init__()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(getattr(self, self.rows_field).sum())


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool, Any], ...]:
    """Return each field of a dataclass: its name, whether it is annotated as an array, and the type of its entries."""
    return tuple((f.name, get_origin(f.type) in ARRAYS, _entries(f.type)) for f in fields(kind))


def _entries(annotation: Any) -> Any:
    """Return the type in `NDArray[type]`; None if it is not a single one."""
    if get_origin(annotation) not in ARRAYS:
        return None
    last = get_args(annotation)[-1]
    entry = (get_args(last) or (last,))[-1]
    return entry if isinstance(entry, type) and issubclass(entry, np.generic) else None


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else bool(a == b)
