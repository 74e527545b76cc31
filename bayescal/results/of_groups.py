"""Results of groups: their order, one call per group, and the bases ByLabel and OfGroups of mappings from labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bayescal import _checks, _presented
from bayescal._invalid import errors_of
from bayescal._metrics import Table
from bayescal.estimands.registry import as_estimand

ORDERS = ("worst first", "given")  #: Orders of groups in tables.


def usual_order(labels: Iterable[Any]) -> str:
    """Return the order in which groups are printed: "given" for windows of time, otherwise "worst first"."""
    return "given" if all(isinstance(label, datetime) for label in labels) else "worst first"


def in_order[V](groups: Mapping[Any, V], badness: Callable[[V], float] | None, order: str | None) -> list[Any]:
    """Return the labels of groups, those with the largest badness first; ties, and all without it, as given."""
    order = usual_order(groups) if order is None else order
    _checks.one_of("order", order, ORDERS)
    if order == "given" or badness is None:
        return list(groups)
    return sorted(groups, key=lambda label: -badness(groups[label]))


def of_each_group[R](evaluate: Callable[..., R], labels: Iterable[Any], *columns: Iterable[Any]) -> dict[Any, R]:
    """Call a function with the values of each group, one per column; errors name the group."""
    results = {}
    for label, *values in zip(labels, *columns, strict=True):
        with errors_of(f"group {label!r}"):
            results[label] = evaluate(*values)
    return results


class OfRows(Protocol):
    """The result of a group: it knows its counts, its specification and its table."""

    @property
    def counts(self) -> Any:
        """The counts."""

    @property
    def spec(self) -> str:
        """The specification."""

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data."""

    def _measured_by(self, **options: Any) -> str: ...

    def _tables(self, prob: float, **options: Any) -> list[Table]: ...


class ByLabel[R](_presented.Presented, Mapping[Any, R]):
    """One result per label, such as a group, a class or a horizon; a mapping from labels."""

    #: What a label is, in messages, and the field that holds the results.
    _label: str
    _results: str

    @property
    def _members(self) -> dict[Any, R]:
        results: dict[Any, R] = getattr(self, self._results)
        return results

    def _measured_by(self, **options: Any) -> str:
        return as_estimand(options.get("estimand", "ece")).name

    def __getitem__(self, label: Any) -> R:
        _checks.label(self._label, label, tuple(self._members))
        return self._members[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@dataclass(frozen=True, eq=False, repr=False)
class OfGroups[R: OfRows](ByLabel[R]):
    """One result per group of rows, and one of all rows; a mapping from labels."""

    groups: dict[Any, R]
    overall: R
    name: str

    _label, _results = "group", "groups"

    def _measured_by(self, **options: Any) -> str:
        return self.overall._measured_by()

    def _tables(self, prob: float, **options: Any) -> list[Table]:
        """Return the numbers of all rows, and those of each group."""
        return [*self.overall._tables(prob), *super()._tables(prob, **options)]

    def _badness(self, of_group: R) -> float:
        """Return the number by which groups are ordered, the largest first."""
        raise NotImplementedError

    def in_order(self, order: str | None = None) -> list[Any]:
        """Return the labels in the order in which groups are printed and written.

        Parameters
        ----------
        order : {"worst first", "given"}, optional
            "worst first" begins with the slope farthest from 1 (`GroupedRecalibration`), or with the smallest gain over
            treating all and none, averaged over models and thresholds (`GroupedNetBenefit`). This is the default,
            except for windows of time, which stay in the order of time. "given" is the order of this mapping.
        """
        return in_order(self.groups, self._badness, order)

    def _named(self) -> list[tuple[str, R]]:
        """Return the result of each group in order, and that of all rows, with their names in tables."""
        return [*((str(label), self.groups[label]) for label in self.in_order()), ("all rows", self.overall)]

    def table(self, prob: float = 0.95, *, order: str | None = None) -> list[dict[str, Any]]:
        """Return the numbers of each group as data.

        Keys are group, rows, and those of the table of the group's result.

        Parameters
        ----------
        order : {"worst first", "given"}, optional
            Order of the groups, as for `in_order`.
        """
        return [
            {"group": label, "rows": each.counts.n_rows, **row}
            for label in self.in_order(order)
            for each in (self.groups[label],)
            for row in each.table(prob)
        ]

    @property
    def spec(self) -> str:
        """Grouping, and the specification of all rows."""
        return f"{len(self)} groups by {self.name}: {self.overall.spec}"
