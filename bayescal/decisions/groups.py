"""GroupedNetBenefit: decision curves of groups of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _render
from bayescal._meant import public
from bayescal.decisions.result import NetBenefit
from bayescal.decisions.words import decimals_of, of_draws, shown
from bayescal.results.of_groups import OfGroups
from bayescal.results.remarks import of_several

HEADER = ("rows", "model", "threshold", "net benefit", "2.5 %", "97.5 %", "observed", "treat all", "P(useful)")


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedNetBenefit(OfGroups[NetBenefit]):
    """One `NetBenefit` per group of rows, and one of all rows; a mapping from labels.

    Made by ``net_benefit(..., by=...)``. Groups share no information.

    Parameters
    ----------
    groups : dict of label to NetBenefit
        The groups.
    overall : NetBenefit
        All rows.
    name : str
        Name of the grouping, such as "site".

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> by_half = bc.net_benefit(rows.outcome, rows.confidence, 0.5, by=["a", "b"] * 1000, rng=1)
    >>> list(by_half), by_half["a"].counts.n_rows
    (['a', 'b'], 1000)
    """

    _index = ("group", "model", "threshold")

    def _badness(self, of_group: NetBenefit) -> float:
        without = np.maximum(of_group.treat_all.mean(), 0.0)
        return -float(np.mean([of_group.net_benefit[name].mean() - without for name in of_group.models]))

    def sentence(self, prob: float = 0.95) -> str:
        """Return the result of all rows in words.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval, and probability from which a model is called useful.

        Returns
        -------
        str
            `NetBenefit.sentence` of all rows; the table shows the groups.
        """
        return f"All rows: {self.overall.sentence(prob)}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all thresholds.

        Parameters
        ----------
        whole : bool, default False
            Whether the table has all thresholds, instead of about nine.

        Returns
        -------
        Sheet
            The text.
        """
        every = self.overall.thresholds
        listed = set((every if whole else every[shown(every)]).tolist())
        named = [*((str(label), self.groups[label]) for label in self.in_order()), ("all rows", self.overall)]
        kept = [(label, each, row) for label, each in named for row in each.table() if row["threshold"] in listed]
        d = decimals_of([row for *_, row in kept])
        cells = [[label, *_cells(each, row, d)] for label, each, row in kept]
        of_groups = {f"group {_render.name(label)}": each.remarks for label, each in self.groups.items()}
        remarks = [*self.overall.of_rows, *of_several(of_groups)]
        if len(listed) < len(every):
            remarks.insert(0, f"The table shows {len(listed)} of {len(every)} thresholds; `table()` has all.")
        return _render.Sheet(self.sentence(), self.spec, (self.name, *HEADER), cells, remarks)


def _cells(of_group: NetBenefit, row: Mapping[str, Any], d: int) -> list[str]:
    place = of_group.thresholds.tolist().index(row["threshold"])
    few = bool(of_group.few_rows[row["model"]][place])
    numbers = [_render.number(row[name], d) for name in ("mean", "low", "high", "observed", "treat_all")]
    useful = "-" if few else of_draws(row["p_useful"])
    return [str(of_group.counts.n_rows), row["model"], f"{row['threshold']:g}", *numbers, useful]
