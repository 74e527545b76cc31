"""The base of all counts: read-only arrays, equality by content, and addition."""

from dataclasses import fields
from typing import Any, ClassVar, Self, get_origin

import numpy as np
from numpy.typing import NDArray

#: Origins of the type of an array, which numpy 2.2 and later versions name differently.
ARRAYS = (np.ndarray, NDArray)


def read_only(values: Any, dtype: Any = None) -> np.ndarray:
    """Return a read-only view of an array; in place changes such as ``counts.k += 1`` would contradict other sums."""
    view = np.asarray(values, dtype=dtype).view()
    view.setflags(write=False)
    return view


class Frozen:
    """Base of frozen dataclasses whose arrays are read-only, also after copying and unpickling."""

    #: For counts of one model that cannot be compared with those of another: why, and what to use.
    not_paired: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) or get_origin(field.type) in ARRAYS:
                object.__setattr__(self, field.name, read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays from copies and pickles are writable and unchecked


class Sums(Frozen):
    """Base of sums over rows: equal if all compared fields are, and added by `_plus`; `sum` starts with 0."""

    def _plus(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        raise NotImplementedError

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


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else bool(a == b)
