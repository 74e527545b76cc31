"""Clusters of rows from columns of labels: rows of one question, patient or site, whose outcomes may depend."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Ints
from bayescal.data import groups

#: Types of labels that are never missing.
COMPLETE = frozenset({str, bytes, int, bool})


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each row."""

    of_row: Ints  # (n_rows,) code from 0 to `number` - 1, without a meaning beyond equality
    number: int  # clusters that have rows

    @classmethod
    def from_column(cls, cluster: Any, n_rows: int, *, name: str = "cluster", rows: str = "y_true") -> "Clusters":
        """Read a column of hashable labels, or several, of which every combination that occurs is a cluster."""
        columns = groups.label_columns(name, cluster)
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
        groups.refuse_missing(name, groups.missing_labels(labels))
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
        raise groups.unhashable(name, problem) from problem
    if not COMPLETE.issuperset(map(type, codes)):
        if any(map(groups.is_missing, codes)):
            groups.refuse_missing(name, groups.missing_labels(labels))
        _refuse_measurement(name, list(codes))
    return of_row, len(codes)


def _refuse_measurement(name: str, distinct: list[Any]) -> None:
    if fractions := groups.fractions_of_measurement(distinct):
        raise ValueError(
            f"`{name}` must hold cluster labels, such as numbers of questions or patients; it holds {len(fractions)} "
            f"distinct numbers that are not integers, such as {fractions[0]:.8g}. Is it another column? If every value "
            f"is a cluster, pass strings, as in `{name}.astype(str)`."
        )
