"""OfGroups: the base of results that are one result per group of rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bayescal import _checks, _presented


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


@dataclass(frozen=True, eq=False, repr=False)
class OfGroups[R: OfRows](_presented.Presented, Mapping[Any, R]):
    """One result per group of rows, and one of all rows; a mapping from labels."""

    groups: dict[Any, R]
    overall: R
    name: str

    def __getitem__(self, label: Any) -> R:
        _checks.label("group", label, list(self.groups))
        return self.groups[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers of each group as data.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.

        Returns
        -------
        list of dict
            group, rows, and the entries of the table of the group's result.
        """
        return [
            {"group": label, "rows": each.counts.n_rows, **row}
            for label, each in self.groups.items()
            for row in each.table(prob)
        ]

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(prob)

    @property
    def spec(self) -> str:
        """Grouping, and the specification of all rows."""
        return f"{len(self)} groups by {self.name}: {self.overall.spec}"
