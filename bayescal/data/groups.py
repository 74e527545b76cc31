"""Groups and clusters of rows from columns of labels; their order and names; labels that a file holds as text."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import count, islice
from typing import Any

import numpy as np

from bayescal import _checks, _render, _rules
from bayescal._arrays import Array, Bools, Ints
from bayescal._invalid import AllZero, InvalidRows, quoted
from bayescal._texts import text_of
from bayescal.data import times
from bayescal.data.frames import all_categories, columns_of, ordered_categories
from bayescal.data.predictions import Predictions
from bayescal.data.reading import Reading

UNNAMED = "group"  #: Name of the column of labels if it has none.
#: A column with more distinct non-integer numbers than this is a measurement and does not define groups.
MOST_FRACTIONS = 30
#: Numbers as text: decimal numbers, and integers as `str` writes them.
_DECIMAL, _INTEGER = re.compile(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?"), re.compile(r"0|-?[1-9]\d{0,17}")
#: Why the number of groups is limited, and what to do.
OF_DRAWS = "the draws of more do not fit into memory", "Use fewer `draws` or `bins`, or a column with fewer values."


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each row."""

    labels: tuple[Any, ...]  # sorted, or in the order of an ordered categorical or of occurrence
    of_row: Ints  # (n_rows,) position in `labels`
    name: str = UNNAMED  # of the column, as in a data frame

    @classmethod
    def from_column(
        cls, by: Any, n_rows: int, *, categories: list[Any] | None = None, rows: str = "y_true"
    ) -> "Groups":
        """Read a column of hashable labels, or several, of which every combination that occurs is a group."""
        columns = label_columns("by", by)
        _checks.same_length(("by", rows), (len(columns[0]) if columns else 0, n_rows))
        refuse_missing("by", np.logical_or.reduce([missing_labels(column) for column in columns]))
        if len(columns) == 1:
            labels, of_row = _factorised(columns[0])
        else:
            labels, of_row = _combined([_factorised(column) for column in columns])
        order = ordered_categories(by) if categories is None else categories
        if order is not None:
            places = [labels.index(c) for c in order if c in labels]
            labels, of_row = [labels[i] for i in places], np.argsort(places)[of_row]
        return cls(tuple(labels), of_row, _name(by))

    def with_empty(self, by: Any) -> "Groups":
        """Return also the groups of a categorical column `by` that have no row, at the place of their category."""
        categories = all_categories(by)
        if categories is None:
            return self
        place = {label: i for i, label in enumerate(categories)}
        new = np.array([place[label] for label in self.labels], dtype=np.int64)
        return replace(self, labels=tuple(categories), of_row=new[self.of_row])

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Groups({self.name!r}: {len(self)} groups, {len(self.of_row)} rows)"

    def equation(self, label: Any) -> str:
        """Return a label with the name of its column, as in "ward = 7" or "ward = 7, sex = m"."""
        return equation(self.name, label)

    def rows(self) -> list[Ints]:
        """Return the row numbers of each group, in the order of `labels`."""
        order = np.argsort(self.of_row, kind="stable")
        ends = np.cumsum(np.bincount(self.of_row, minlength=len(self)))
        return np.split(order, ends[:-1])

    def split(self, predictions: Predictions) -> Iterator[Predictions]:
        """Split rows by group, in the order of `labels`; leave out groups without rows, refuse those without weight."""
        for label, rows in zip(self.labels, self.rows(), strict=True):
            if not len(rows):
                continue
            weight = None if predictions.weight is None else predictions.weight[rows]
            if weight is not None and not weight.any():
                group, first = f" in group {quoted(label)}", (int(rows[0]),)
                hint = "Take these rows out."
                raise InvalidRows(AllZero(count=len(rows), size=len(rows), first=first, group=group, hint=hint))
            columns: dict[str, Any] = {"confidence": predictions.confidence[rows], "outcome": predictions.outcome[rows]}
            yield replace(predictions, **columns, weight=weight, reading=Reading())  # all rows state how they were read


def in_words(label: Any, name: str) -> str:
    """Return the name under which a group is printed; numbers are printed with the name of their column."""
    if isinstance(label, str):
        return label
    if isinstance(label, tuple):
        return ", ".join(map(str, label))
    return times.in_words(label) if isinstance(label, datetime) else f"{name} {label}"


def equation(name: str, label: Any) -> str:
    """Return a label with the name of its column, as in "ward = 7, sex = m"; of several columns, one equation each."""
    names = name.split(", ")
    if not isinstance(label, tuple) or len(label) != len(names):
        names, label = [name], (label,)
    pairs = zip(names, label, strict=True)
    return ", ".join(f"{_render.name(column)} = {_render.name(value)}" for column, value in pairs)


def label_columns(name: str, labels: Any) -> list[Array]:
    """Return the columns of labels of an argument, each with its own type: a common type could round integers."""
    of_frame = columns_of(name, labels)
    if of_frame is not None:
        return of_frame
    array = _labels(name, labels)
    return [array] if array.ndim == 1 else list(array.T)


def _labels(name: str, labels: Any) -> Array:
    """Return labels in one dimension, or in two for several columns, without converting entries."""
    if isinstance(labels, list | tuple):  # numpy would turn ["a", nan] into strings
        if len(labels) and all(hasattr(entry, "__array__") and np.ndim(entry) for entry in labels):
            raise TypeError(
                f"`{name}` must hold one label per row; it is a list of columns. Pass a data frame, as in "
                f'`{name}=frame[["a", "b"]]`.'
            )
        return np.fromiter(labels, dtype=object, count=len(labels))
    if hasattr(labels, "tocsr"):
        raise TypeError(f"`{name}` is a sparse matrix ({type(labels).__name__}); pass a dense column: `.toarray()`.")
    array = np.asarray(labels)
    if isinstance(labels, np.ma.MaskedArray):
        array = array.astype(object)
        array[np.ma.getmaskarray(labels)] = None
    if array.ndim not in (1, 2):
        column = f"`{name}=frame[{quoted(labels)}]`"
        hint = f" Pass the column itself, as in {column}." if isinstance(labels, str) else ""
        value = quoted(labels) if isinstance(labels, str | bytes | int | float) else type(labels).__name__
        raise TypeError(f"`{name}` must be a column or array with one label per row, not {value}.{hint}")
    if array.dtype.kind == "T":  # its missing entries are objects
        array = array.astype(object)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def refuse_missing(name: str, missing: Bools) -> None:
    """Refuse missing labels; the hint says how to keep their rows."""
    if missing.any():
        remedy = f"give them a label of their own, as in `{name}.fillna('unknown')`"
        _rules.COMPLETE.refuse(name, missing, hint=f"Rows are never dropped: {remedy}, or remove them.")


def unhashable(name: str, problem: TypeError) -> TypeError:
    """Return the error for labels that cannot be compared by their hash, such as lists."""
    kind = str(problem).rpartition(" ")[2].strip("'")
    return TypeError(
        f"`{name}` must hold labels that are strings, numbers or tuples; it holds values of type {kind}. "
        "For several columns, pass a data frame."
    )


def missing_labels(labels: Array) -> Bools:
    """Return which labels of a column are missing."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind != "O":
        return np.zeros(labels.shape, bool)
    return np.fromiter(map(is_missing, labels.ravel()), bool, labels.size).reshape(labels.shape)


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT or NA; the last two are recognised by name, without pandas."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, tuple):
        return any(map(is_missing, label))
    return isinstance(label, float | np.floating | np.datetime64 | np.timedelta64) and bool(label != label)


def _factorised(labels: Array) -> tuple[list[Any], Ints]:
    """Return the distinct labels of a column and the position of each row's label; refuse measurements."""
    distinct, of_row = _distinct(labels)
    if fractions := fractions_of_measurement(distinct):
        raise ValueError(
            text_of("groups of fractions", distinct=len(distinct), fractions=len(fractions), first=fractions[0])
        )
    return distinct, of_row


def fractions_of_measurement(distinct: Sequence[Any]) -> list[Any]:
    """Return the non-integer numbers among distinct labels if they are so many that the column is a measurement."""
    fractions = [label for label in distinct if _is_fraction(label)]
    return fractions if len(fractions) > MOST_FRACTIONS else []


def _is_fraction(label: Any) -> bool:
    """Return whether a label is a number with a fractional part; infinite floats count as one."""
    if isinstance(label, Decimal):
        return label != label.to_integral_value()
    return isinstance(label, float | np.floating) and not label.is_integer()


def _distinct(labels: Array) -> tuple[list[Any], Ints]:
    """Return the distinct labels, sorted if possible, and the position of the label of each row."""
    if labels.dtype.kind != "O":
        distinct, of_row = np.unique(labels, return_inverse=True)
        if distinct.dtype.kind in "mM":  # to Python's datetime if it can represent them
            microseconds = distinct.astype(f"{distinct.dtype.kind}8[us]")
            distinct = microseconds if (microseconds == distinct).all() else distinct.astype(object)
        return distinct.tolist(), of_row.astype(np.int64)
    first_seen: dict[Any, int] = {}
    try:
        of_row = np.fromiter((first_seen.setdefault(v, len(first_seen)) for v in labels), np.int64, len(labels))
    except TypeError as problem:
        raise unhashable("by", problem) from problem
    distinct_labels = list(first_seen)
    try:
        order = sorted(range(len(distinct_labels)), key=distinct_labels.__getitem__)
    except TypeError:  # labels of different kinds stay in order of occurrence
        return distinct_labels, of_row
    return [distinct_labels[i] for i in order], np.argsort(order)[of_row]


def _combined(columns: list[tuple[list[Any], Ints]]) -> tuple[list[Any], Ints]:
    """Return the combinations of labels that occur, ordered by the first column, then the second, and so on."""
    numbers = np.stack([of_row for _, of_row in columns], axis=1)
    combinations, of_row = np.unique(numbers, axis=0, return_inverse=True)
    labels = [
        tuple(distinct[i] for (distinct, _), i in zip(columns, row, strict=True)) for row in combinations.tolist()
    ]
    return labels, of_row.ravel().astype(np.int64)


def _name(by: Any) -> str:
    """Return the name of a column, or the names of the columns of a frame."""
    name = getattr(by, "name", None)
    if isinstance(name, str) and name:
        return name
    columns = getattr(by, "column_names", getattr(by, "columns", None))
    if columns is not None and all(isinstance(c, str) for c in columns):
        return ", ".join(columns)
    return UNNAMED


def numbers_of_measurement(labels: Iterable[str]) -> list[float]:
    """Return the non-integer numbers among labels, if there are so many that the column is a measurement."""
    return fractions_of_measurement([float(label) for label in labels if _DECIMAL.fullmatch(label)])


def require_group_labels(labels: Collection[str], most: int, why: tuple[str, str] = OF_DRAWS) -> None:
    """Require at most `most` distinct labels that are not numbers of a measurement; `why` is a reason and a hint."""
    numbers = numbers_of_measurement(labels)
    if numbers:
        raise ValueError(
            text_of("a column of fractions", distinct=len(labels), fractions=len(numbers), first=numbers[0])
        )
    if len(labels) > most:
        first = ", ".join(quoted(label) for label in islice(labels, 3))
        reason, hint = why
        raise ValueError(
            f"`by` must name a column with at most {most} groups, since {reason}; there are {len(labels)} or more, "
            f"such as {first}. {hint}"
        )


def in_order(labels: Iterable[str]) -> dict[Any, str]:
    """Sort distinct labels, as numbers if all are numbers; the keys are integers if all are written as integers."""
    texts = list(labels)
    if all(map(_INTEGER.fullmatch, texts)):
        return {label: str(label) for label in sorted(map(int, texts))}
    if all(map(_DECIMAL.fullmatch, texts)):
        return {label: label for label in sorted(texts, key=lambda label: (Decimal(label), label))}
    return {label: label for label in sorted(texts)}


def without_weight(label: str, n_rows: int) -> ValueError:
    """Return the error for a group whose weights are all zero."""
    return ValueError(
        f"`weights` must not all be zero in a group; they are in all {n_rows} rows of group {quoted(label)}. Take "
        "these rows out."
    )


COMPLETE = frozenset({str, bytes, int, bool})  #: Types of labels that are never missing.


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each row."""

    of_row: Ints  # (n_rows,) code from 0 to `number` - 1, without a meaning beyond equality
    number: int  # clusters that have rows

    @classmethod
    def from_column(cls, cluster: Any, n_rows: int, *, name: str = "cluster", rows: str = "y_true") -> "Clusters":
        """Read a column of hashable labels, or several, of which every combination that occurs is a cluster."""
        columns = label_columns(name, cluster)
        _checks.same_length((name, rows), (len(columns[0]) if columns else 0, n_rows))
        of_row, number = _coded(name, columns[0])
        for column in columns[1:]:
            other, size = _coded(name, column)
            of_row, number = _integer_codes(of_row * size + other)  # number * size is below n_rows^2, hence below 2^63
        return cls(of_row, number)

    def __len__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"Clusters({self.number} clusters, {len(self.of_row)} rows)"

    def take(self, rows: Array) -> "Clusters":
        """Return the clusters of some rows, for example of one group: the part of a cluster inside the group is one."""
        return Clusters(*_integer_codes(self.of_row[rows]))


class ClusterCodes:
    """Codes of cluster labels that come in blocks: equal labels have equal codes in all blocks."""

    def __init__(self) -> None:
        self._codes: defaultdict[Any, int] = defaultdict(count().__next__)

    def of(self, labels: Array) -> Ints:
        """Return the code of each label, from 0 in the order of occurrence."""
        # bound C functions throughout: no interpreted code runs per row
        return np.fromiter(map(self._codes.__getitem__, labels.tolist()), np.int64, len(labels))

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._codes)


def _coded(name: str, labels: Array) -> tuple[Ints, int]:
    """Return the code of each label and the number of distinct labels; refuse missing labels and measurements."""
    kind = labels.dtype.kind
    if kind in "fmM":
        refuse_missing(name, missing_labels(labels))
    if kind in "biumM":
        return _integer_codes(labels)
    if kind == "f":
        distinct, of_row = np.unique(labels, return_inverse=True)
        _refuse_measurement(name, distinct[distinct != np.floor(distinct)].tolist())
        return of_row.astype(np.int64, copy=False), len(distinct)
    return _hashed(name, labels)


def _integer_codes(labels: Array) -> tuple[Ints, int]:
    """Code integers, booleans or times by a sort."""
    distinct, of_row = np.unique(labels, return_inverse=True)
    return of_row.astype(np.int64, copy=False), len(distinct)


def _hashed(name: str, labels: Array) -> tuple[Ints, int]:
    """Code labels by a dictionary, which is faster than sorting strings, in the order of occurrence."""
    codes = ClusterCodes()
    try:
        of_row = codes.of(labels)
    except TypeError as problem:
        raise unhashable(name, problem) from problem
    if not COMPLETE.issuperset(map(type, codes)):
        if any(map(is_missing, codes)):
            refuse_missing(name, missing_labels(labels))
        _refuse_measurement(name, list(codes))
    return of_row, len(codes)


def _refuse_measurement(name: str, distinct: list[Any]) -> None:
    if fractions := fractions_of_measurement(distinct):
        raise ValueError(text_of("clusters of fractions", name=name, fractions=len(fractions), first=fractions[0]))
