"""Refuse pandas columns with different indexes, because columns are combined by position."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NoReturn

import numpy as np

from bayescal._arrays import Array, Bools
from bayescal.data.frames import index_of


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
    difference = (
        f"the labels are the same, but {count} are in other positions, {where}"
        if reordered
        else f"{count} labels differ, {where}"
    )
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
