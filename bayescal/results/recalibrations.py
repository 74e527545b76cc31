"""GroupedRecalibration: intercepts and slopes of groups of rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bayescal import _checks, _presented, _render
from bayescal.results.recalibration import QUANTITIES, Recalibration


@dataclass(frozen=True, eq=False, repr=False)
class GroupedRecalibration(_presented.Presented, Mapping[Any, Recalibration]):
    """One `Recalibration` per group of rows, and one of all rows; a mapping from labels.

    Made by ``recalibration(..., by=...)``. Groups share no information.

    Parameters
    ----------
    groups : dict of label to Recalibration
        The groups.
    overall : Recalibration
        All rows.
    name : str
        Name of the grouping, such as "site".

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> by_half = bc.recalibration(rows.outcome, rows.confidence, by=["a", "b"] * 1000, rng=1)
    >>> list(by_half), by_half["a"].counts.n_rows
    (['a', 'b'], 1000)
    """

    groups: dict[Any, Recalibration]
    overall: Recalibration
    name: str

    _index = ("group", "quantity")
    _columns = ("rows", "mean", "sd", "low", "high", "calibrated")

    def __getitem__(self, label: Any) -> Recalibration:
        _checks.label("group", label, list(self.groups))
        return self.groups[label]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """The quantities of each group.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.

        Returns
        -------
        list of dict
            group, rows, and the entries of `Recalibration.table`.
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

    def sentence(self, prob: float = 0.95) -> str:
        """Return the smallest and the largest slope, and the sentence of all rows.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.

        Returns
        -------
        str
            Posterior means of both slopes with their groups, and `Recalibration.sentence`.
        """
        slopes = {label: each.posterior.moments("slope")[0] for label, each in self.groups.items()}
        least, most = (pick(slopes, key=slopes.__getitem__) for pick in (min, max))
        extremes = f"Slopes range from {slopes[least]:.3f} ({least}) to {slopes[most]:.3f} ({most})."
        overall = self.overall.sentence(prob)
        return f"{extremes} For all rows, {overall[:1].lower()}{overall[1:]}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = (self.name, "rows", *(f"{words}, 95 %" for words, _ in QUANTITIES.values()))
        named = [*((str(label), each) for label, each in self.groups.items()), ("all rows", self.overall)]
        rows = [[label, str(each.counts.n_rows), *_cells(each)] for label, each in named]
        remarks = [f"{label}: {remark}" for label, each in named[:-1] for remark in each.remarks]
        return _render.Sheet(self.sentence(), self.spec, header, rows, remarks)


def _cells(of_group: Recalibration) -> list[str]:
    return [f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in of_group.table()]
