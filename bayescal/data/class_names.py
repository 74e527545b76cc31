"""Classes of a matrix of probabilities, named by the columns of a data frame or by `classes`."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._invalid import quoted
from bayescal.data.frames import SKIPS_INTEGERS

Array = NDArray[Any]


def class_names(y_true: Array, names: Sequence[Any] | None, classes: Sequence[Any] | None) -> Sequence[Any] | None:
    """Return the class of each column, which is never guessed from its position; None if label k belongs to column k.

    `classes` comes first, then `names`, those of the columns of a data frame. Of `y_true`, only the type is used.
    Numbers as labels beside other names are refused.
    """
    if classes is not None or names is None:
        return classes
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    text = all(isinstance(name, str) for name in names)
    if y_true.dtype.kind not in "biuf":
        return tuple(names) if text else None
    numbers = as_integers(names) if text else _as_numbers(names)
    if numbers is None and not (text and _are_numbered(names)):
        raise TypeError(
            f"`y_true` holds numbers (dtype {y_true.dtype}), but the columns of `y_prob` are named "
            f"{quoted(names[:10])}, so the column of each label is unknown. If label k belongs to column k, pass "
            f"`classes=range({len(names)})`; otherwise pass `classes`: the label of each column, in the order of the "
            "columns."
        )
    return None if numbers is None or _is_range(numbers) else numbers


def named_by_columns(names: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the classes that the names of columns state if labels are unknown; empty if they state none.

    Examples
    --------
    >>> named_by_columns(["cat", "dog"]), named_by_columns(["prob_0", "prob_1"]), named_by_columns(["0", "1"])
    (('cat', 'dog'), (), ())
    """
    if names is None or [in_one_form(name) for name in names] == [str(k) for k in range(len(names))]:
        return ()
    return () if all(isinstance(name, str) for name in names) and _are_numbered(names) else tuple(names)


def refuse_contradiction(names: Sequence[Any] | None, classes: Sequence[Any] | None, name: str = "y_prob") -> None:
    """Refuse `classes` that share names with the columns but assign them differently; `names` is None for an array.

    Columns without a class among their names, such as ``prob_a`` beside the class ``a``, do not contradict `classes`,
    nor does the default numbering 0, 1, ..., K - 1 of columns, unless `classes` has the same numbers in another order.
    """
    _checks.in_order("classes", classes)
    if names is None or classes is None:
        return
    columns, wanted = [in_one_form(c) for c in names], [in_one_form(c) for c in classes]
    if columns == wanted:
        return
    if sorted(columns) == sorted(wanted):
        raise ValueError(
            f"`{name}` has the columns {columns} and `classes` is {wanted}: the same names in another order. With "
            f"`classes`, columns are taken by position: pass `{name}[classes]`, or give `classes` in the order of the "
            "columns."
        )
    shared = [column for column in columns if column in set(wanted)]
    if len(columns) != len(wanted) or not shared or columns == [str(k) for k in range(len(columns))]:
        return
    raise ValueError(
        f"`classes` {quoted(wanted[:10])} contradicts the columns of `{name}`, {quoted(columns[:10])}: "
        f"{len(shared)} of {len(columns)} columns have the name of a class, first {shared[0]!r}. Rename the columns, "
        f"or pass `{name}.to_numpy()` if `classes` is right."
    )


def in_one_form(name: Any) -> str:
    """Return a name as text that is equal for equal numbers: 1, 1.0, True, "1" and "1.0"."""
    try:
        number = float(name)
    except (TypeError, ValueError, OverflowError):
        return str(name)
    return str(int(number)) if number.is_integer() and abs(number) < SKIPS_INTEGERS else str(name)


def as_integers(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the names as integers if all are; Python limits the number of digits it converts."""
    whole = all(re.fullmatch(r"-?\d{1,4000}", name, re.ASCII) for name in names)
    return tuple(int(name) for name in names) if whole else None


def _as_numbers(names: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return names that are numbers, booleans as 0 and 1; None if one of them is something else."""
    if not all(isinstance(name, bool | int | float) for name in names):
        return None
    return tuple(int(name) if isinstance(name, bool) or float(name).is_integer() else name for name in names)


def _are_numbered(names: Sequence[str]) -> bool:
    """Return whether names consist of one beginning and their own position, as in ``prob_0, prob_1, prob_2``."""
    beginning = names[0].removesuffix("0")
    if beginning[-1:].isdecimal():  # p10, p11, p12: these numbers are no positions
        return False
    return list(names) == [f"{beginning}{k}" for k in range(len(names))]


def _is_range(numbers: Sequence[Any]) -> bool:
    return list(numbers) == list(range(len(numbers)))
