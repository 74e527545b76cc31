"""GroupedRecalibration: intercepts and slopes of groups of rows."""

from dataclasses import dataclass

from bayescal import _render
from bayescal._meant import public
from bayescal.clinical.slope.result import QUANTITIES, Recalibration
from bayescal.results.of_groups import OfGroups


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedRecalibration(OfGroups[Recalibration]):
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
    >>> by_half = bc.clinical.recalibration(rows.outcome, rows.confidence, by=["a", "b"] * 1000, rng=1)
    >>> list(by_half), by_half["a"].counts.n_rows
    (['a', 'b'], 1000)
    """

    _index = ("group", "quantity")
    _columns = ("rows", "mean", "sd", "low", "high", "calibrated")

    def _badness(self, of_group: Recalibration) -> float:
        return abs(of_group.posterior.moments("slope")[0] - 1)

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
        named = [*((str(label), self.groups[label]) for label in self.in_order()), ("all rows", self.overall)]
        rows = [[label, str(each.counts.n_rows), *_cells(each)] for label, each in named]
        remarks = [f"{label}: {remark}" for label, each in named[:-1] for remark in each.remarks]
        return _render.Sheet(self.sentence(), self.spec, header, rows, remarks)


def _cells(of_group: Recalibration) -> list[str]:
    return [f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in of_group.table()]
