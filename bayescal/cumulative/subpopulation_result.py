"""Subpopulations against the full population, in the order of the scores.

SubpopulationDifference is the result of one, and SubpopulationScreen that of many, sorted by how clearly they differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Bools, Floats
from bayescal._meant import public
from bayescal.cumulative.base import Cumulative, significant
from bayescal.cumulative.statistics import FEW_RARE_OUTCOMES, LARGE_STEP, ONE_STEP
from bayescal.cumulative.subpopulation_sums import GroupSums, Responses, SubpopulationSteps, subpopulation_steps
from bayescal.data.groups import Groups
from bayescal.results.wording import p_words

#: Name of a subpopulation that has none.
SUBPOPULATION = "the subpopulation"
#: The size of the step of the first or last cell of a subpopulation, in sigma, times the share of its rows beyond the
#: scores of the subpopulation, above which a remark names the cell.
FAR_BEYOND = 0.25
#: Attenuation below which a remark states it.
STATED_ATTENUATION = 0.95
#: Largest number of parts of the curve in which the share of members is compared, and members per part.
PARTS_OF_CURVE, MEMBERS_PER_PART = 10, 50
#: Maximum number of groups that are printed.
PRINTED_GROUPS = 25
#: Short names of the statistics.
_STATISTICS = {"kuiper": "Kuiper", "kolmogorov_smirnov": "Kolmogorov-Smirnov"}
#: Meaning of adjusted P-values.
ADJUSTED = (
    "Adjusted P-values follow Benjamini and Hochberg. The groups are parts of the full population, so their P-values "
    "are not independent."
)


@dataclass(frozen=True, eq=False)
class Attenuation:
    """Differences in the curve as a share of those from the mean of the full population at the same score."""

    mean: float  # over the whole curve, in (0, 1]
    least: float  # smallest share of a part of the curve, in (0, 1]
    most: float  # largest one
    curve: Floats  # the cumulative difference at each score, steps divided by the share of their part; (n_scores,)


def attenuation(steps: SubpopulationSteps) -> Attenuation:
    r"""Estimate how much smaller differences are in the curve than in the population.

    If members and others differ by :math:`\Delta` at a score, and the share of members there is s, members differ from
    the mean of the full population by :math:`(1 - s) \Delta`. In a cell whose members have the weight V of W, they
    differ from its mean by :math:`(1 - V / W) \Delta` on average. Small cells contain more members than others, because
    each has at least one. So the ratio is :math:`\sum_j V_j (1 - V_j / W_j)` over the cells of a part of the curve,
    divided by :math:`V (1 - V / W)` of the part as a whole. There are up to 10 parts of equal weight, with at least 50
    members on average.
    """
    member, cell = steps.weight, steps.cell_weight
    parts = int(np.clip(steps.n_rows.sum() // MEMBERS_PER_PART, 1, PARTS_OF_CURVE))
    reached = np.cumsum(member)
    starts = np.unique(np.searchsorted(reached, reached[-1] * np.arange(parts) / parts, side="right"))

    def total(values: Floats) -> Floats:
        return np.add.reduceat(values, starts)

    shown = total(member * (cell - member) / cell)
    weight, whole = total(member), total(cell)
    meant = weight * (whole - weight) / whole
    ratio = np.divide(shown, meant, out=np.ones(len(starts)), where=meant > 0)
    ratio = np.minimum(ratio, 1.0)
    mean = shown.sum() / meant.sum() if meant.sum() > 0 else 1.0
    corrected = steps.deviation / np.repeat(ratio, np.diff(starts, append=len(member)))
    return Attenuation(
        float(min(mean, 1.0)), float(ratio.min()), float(ratio.max()), np.cumsum(corrected) / reached[-1]
    )


@public
@dataclass(frozen=True, eq=False, repr=False)
class SubpopulationDifference(Cumulative):
    """The cumulative difference between a subpopulation and the full population at the same scores.

    Returned by `bayescal.cumulative.subpopulation`; printing it shows a sentence and the two statistics.
    "Calibration" means here that the subpopulation and the full population have the same mean response at every score.

    Parameters
    ----------
    steps : Steps
        Sums over the members with each distinct score; residuals are responses minus the mean response of the full
        population near the score.
    question, left_out
        As for `CumulativeDifference`.
    group : str
        The subpopulation in words, as "ward = 7".
    """

    steps: SubpopulationSteps
    group: str = SUBPOPULATION

    _units = (*Cumulative._units, ("in_published_sigma", "sigma"))
    _null, _assuming, _assumption, _rare = "if equal", "if means are equal", "equality", "with rare responses"
    _under_calibration = "If the two had equal means at every score,"
    _no_difference = "at each score, its mean response equals that of the full population"

    @cached_property
    def _attenuation(self) -> Attenuation:
        return attenuation(self.steps)

    @property
    def attenuation(self) -> float:
        """Mean ratio of differences in the curve to differences from the population mean at the same score, in (0, 1].

        Members are part of the mean of their cell. In small cells, their share is larger than in the population near
        the score. The ratio is near 1 if members are few, or if each cell contains many rows, as with ties; it is 0.67
        for half of the rows without ties. `curve` and statistics, which follow the literature, contain it.
        """
        return self._attenuation.mean

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        return low / self._attenuation.most, high / self._attenuation.least

    def _around(self, margin: float) -> tuple[Floats, Floats]:
        curve, other = self.curve[1:], self._attenuation.curve
        margin /= self._attenuation.least
        return np.minimum(curve, other) - margin, np.maximum(curve, other) + margin

    def _compared(self) -> str:
        return f"{self.group} and the full population"

    def _difference(self, slope: float) -> str:
        return f"responses of {self.group} are {'higher' if slope > 0 else 'lower'} than in the full population,"

    def _remarks(self) -> list[str]:
        average, error = self.average_difference, self.slope(-np.inf, np.inf).standard_error
        words = f"{self._number(average)} (standard error {self._number(error)})"
        return [
            f"Average difference over the subpopulation: {words}.",
            *super()._remarks(),
            *self._about_ends(),
            *self._about_cells(),
        ]

    def _notes(self) -> list[str]:
        published = f'"in published sigma": value / {self._number(self.sigma)}, the sigma of Tygert (2021)'
        notes = super()._notes()
        return notes and [*notes, f"{published}, which ignores that members are part of the means."]

    def _about_cells(self) -> list[str]:
        if self.attenuation >= STATED_ATTENUATION:
            return []
        return [
            f"Curve, statistics and average difference show about {100 * self.attenuation:.0f} % of the difference "
            "from the full population: members are part of the means, and cells have few other rows. Interval and band "
            "allow for this. Rounded scores make larger cells."
        ]

    def _about_ends(self) -> list[str]:
        """Name the first or last cell if its rows beyond the scores of the subpopulation can move the curve."""
        steps = self.steps
        variance = np.maximum(steps.calibrated_variance, 0.0)
        beyond = getattr(steps, "beyond", np.zeros(len(steps)))
        far = np.flatnonzero(np.sqrt(variance) * beyond > FAR_BEYOND * np.sqrt(variance.sum()))
        return [
            f"At the score {float(steps.score[i]):g}, {_percent(float(beyond[i]))} of the weight behind the population "
            "mean has scores outside the range of the subpopulation; the difference may reflect those scores."
            for i in far
        ]


def difference_of(rows: Responses, member: Bools, group: str = SUBPOPULATION) -> SubpopulationDifference:
    """Return the cumulative difference of the members of a group, which has a name such as "ward = 7"."""
    shown = "a subpopulation" if group == SUBPOPULATION else group
    question = f"cumulative difference between {shown} and the full population"
    left_out = 0 if rows.weight is None else int(np.count_nonzero(rows.weight[member] == 0))
    return SubpopulationDifference(subpopulation_steps(rows, member), question, group=group, left_out=left_out)


def _percent(share: float) -> str:
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


@public
@dataclass(frozen=True, eq=False, repr=False)
class SubpopulationScreen(_presented.Presented, Mapping[Any, SubpopulationDifference]):
    """Groups of rows, each compared with the full population at the same scores.

    Returned by `bayescal.cumulative.screen`. It is a mapping from labels to `SubpopulationDifference`, in order of
    P-value: ``screen[label]`` is computed when it is requested.

    Parameters
    ----------
    rows : Responses
        The full population.
    groups : Groups
        The groups in order of P-value (equal ones, such as 0, by the statistic in units of sigma), and the group of
        each row.
    sums : GroupSums
        Statistics of each group, in this order.
    p_value : ndarray, shape (n_groups,)
        P-value of each group, increasing.
    statistic : str
        The statistic of the P-values.
    fdr : float
        False discovery rate of the flags.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(4000, population="flat", rng=1)
    >>> ward = np.repeat(["a", "b", "c", "d"], 1000)
    >>> excess = np.where(ward == "c", 0.2, 0.0)
    >>> screen = bc.cumulative.screen(rows.outcome + excess, rows.confidence, ward)
    >>> screen.flagged[:1], round(screen["c"].average_difference, 2)
    (('c',), 0.13)
    """

    rows: Responses
    groups: Groups
    sums: GroupSums
    p_value: Floats
    statistic: str
    fdr: float

    _index = ("group",)

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups.labels)

    def __contains__(self, label: object) -> bool:
        return label in self.groups.labels

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the groups, in order of P-value."""
        return self.groups.labels

    def __getitem__(self, label: Any) -> SubpopulationDifference:
        """Return the cumulative difference of one group, as in ``screen["ward 7"]``."""
        _checks.label("group", label, self.groups.labels)
        member = self.groups.of_row == self.groups.labels.index(label)
        return difference_of(self.rows, member, self.groups.equation(label))

    @property
    def adjusted_p_value(self) -> Floats:
        """P-values adjusted by the method of Benjamini and Hochberg, by group; NaN if it is not `reliable`."""
        reliable = self.reliable
        n = int(np.count_nonzero(reliable))
        adjusted = np.full(len(self), np.nan)
        scaled = self.p_value[reliable] * n / np.arange(1, n + 1)
        adjusted[reliable] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
        return adjusted

    @property
    def reliable(self) -> Bools:
        """Whether the P-value of each group can be trusted; other groups are not flagged.

        Small P-values are corrected for the skewness of outcomes with two values. For other responses, such as costs,
        groups need an effective number of rare responses of at least 10, which is the inverse squared skewness of
        their sum.
        """
        values = self.rows.response
        if ((values == values.min()) | (values == values.max())).all():
            return np.ones(len(self), dtype=np.bool_)
        return self.sums.rare >= FEW_RARE_OUTCOMES

    @property
    def flagged(self) -> tuple[Any, ...]:
        """Labels of the groups whose adjusted P-value is at most `fdr`, in order of P-value."""
        return tuple(self.labels[i] for i in np.flatnonzero(self.adjusted_p_value <= self.fdr))

    def _rough(self) -> int:
        """Count the groups with large steps, without those with a single step of many rows, whose tail is exact."""
        step = self.sums.mean_step
        single = (step >= ONE_STEP) & (self.sums.n_rows * LARGE_STEP**2 >= 1)
        return int(np.count_nonzero((step > LARGE_STEP) & ~single))

    def table(self) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per group, in order of P-value.

        Returns
        -------
        list of dict
            Keys group, n (rows of positive weight), average_difference, the statistic (``kuiper`` or
            ``kolmogorov_smirnov``), sigma (`null_sigma` of the group), in_sigma (statistic / sigma, NaN if it is 0),
            p_value, adjusted_p_value (NaN if the group is not `reliable`) and flagged.
        """
        value, in_sigma = self.sums.value(self.statistic)
        sigma, adjusted = self.sums.difference_sigma, self.adjusted_p_value
        return [
            {
                "group": self.groups.labels[i],
                "n": int(self.sums.n_rows[i]),
                "average_difference": float(self.sums.end[i]),
                self.statistic: float(value[i]),
                "sigma": float(sigma[i]),
                "in_sigma": float(in_sigma[i]) if sigma[i] > 0 else float("nan"),
                "p_value": float(self.p_value[i]),
                "adjusted_p_value": float(adjusted[i]),
                "flagged": bool(adjusted[i] <= self.fdr),
            }
            for i in range(len(self))
        ]

    @property
    def spec(self) -> str:
        """Statistic, rows, groups and false discovery rate, on one line."""
        weighted = "" if self.rows.weight is None else " (weighted)"
        return (
            f"subpopulations by {_render.name(self.groups.name)} against the full population, "
            f"{_STATISTICS[self.statistic]} statistic, N = {self.sums.n_rows.sum()}{weighted}, {len(self)} groups, "
            f"false discovery rate {self.fdr:g}"
        )

    def sentence(self) -> str:
        """Return the number of flagged groups, and the one with the smallest P-value, in words."""
        first, flagged = self.table()[0], len(self.flagged)
        difference = f"{first['average_difference']:+z.3f}"
        if flagged:
            groups = f"{flagged} of {len(self)} groups {'is' if flagged == 1 else 'are'} flagged as different"
        else:
            groups = f"None of the {len(self)} groups is shown to differ"
        return (
            f"{groups} from the full population at equal scores, with a false discovery rate of {100 * self.fdr:g} %. "
            f"The smallest P-value, {p_words(first['p_value'])}, belongs to {self.groups.equation(first['group'])}, "
            f"with an average difference of {difference}; `screen[label]` shows the scores at which a group differs."
        )

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all groups."""
        table = self.table()
        shown = table if whole else table[:PRINTED_GROUPS]
        rows = [
            [
                str(row["group"]),
                str(row["n"]),
                *(significant(row[name], 4) for name in ("average_difference", self.statistic)),
                _render.number(row["in_sigma"], 2),
                p_words(row["p_value"]),
                "not used" if np.isnan(row["adjusted_p_value"]) else p_words(row["adjusted_p_value"]),
                "yes" if row["flagged"] else "",
            ]
            for row in shown
        ]
        statistic = _STATISTICS[self.statistic]
        header = (self.groups.name, "n", "average difference", statistic, "in sigma", "P-value", "adjusted", "flagged")
        remarks = []
        if few := int(np.count_nonzero(~self.reliable)):
            remarks.append(
                f"{few} of {len(self)} groups have an effective number of rare responses below {FEW_RARE_OUTCOMES} "
                "(few rows with skewed responses); their P-values can be too small, and they are not flagged."
            )
        if rough := self._rough():
            remarks.append(
                f"The P-values of {rough} of {len(self)} groups are rough, because their curves have a mean step above "
                f"{LARGE_STEP:g} sigma (few rows, few distinct scores, or a few heavy weights). They are too large for "
                "few distinct scores of many rows; they can be too small for few rows with rare responses."
            )
        if far := int(np.count_nonzero(self.sums.outer_step > FAR_BEYOND)):
            remarks.append(
                f"{far} of {len(self)} groups are compared at their smallest or largest score with cells that mostly "
                "contain rows beyond the scores of the group: a difference there may be due to these other scores. "
                "`screen[label]` names the cells."
            )
        if left_out := len(self.rows) - int(self.sums.n_rows.sum()):
            remarks.append(f"{left_out} row{'s' if left_out > 1 else ''} of weight 0 left out.")
        if len(shown) < len(table):
            remarks.insert(0, f"{len(table) - len(shown)} groups with larger P-values are not shown; see `to_frame`.")
        return _render.Sheet(self.sentence(), self.spec, header, rows, remarks, [ADJUSTED])


def sorted_screen(
    rows: Responses, groups: Groups, sums: GroupSums, p_value: Floats, statistic: str, fdr: float
) -> SubpopulationScreen:
    """Return a screen whose groups are in order of P-value, from groups in any order."""
    order = np.lexsort((-sums.value(statistic)[1], p_value))
    place = np.append(np.argsort(order), -1)  # rows without a group have the number -1
    labels = tuple(groups.labels[i] for i in order)
    of_groups = GroupSums(*(getattr(sums, each.name)[order] for each in fields(GroupSums)))
    in_order = Groups(labels, place[groups.of_row], groups.name)
    return SubpopulationScreen(rows, in_order, of_groups, p_value[order], statistic, fdr)
