"""Subpopulations against the full population, in the order of the scores.

SubpopulationDifference is the result of one, and SubpopulationScreen that of many, sorted by how clearly they differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Bools, Floats
from bayescal._meant import public
from bayescal.cumulative.base import Cumulative, significant
from bayescal.cumulative.matched import MatchedRows, compared_steps
from bayescal.cumulative.statistics import FEW_RARE_OUTCOMES, LARGE_STEP, ONE_STEP
from bayescal.cumulative.subpopulation_sums import (
    GroupSums,
    Responses,
    SubpopulationSteps,
    subpopulation_steps,
    two_values,
)
from bayescal.data.groups import Groups
from bayescal.results.wording import p_words

if TYPE_CHECKING:
    from bayescal.cumulative.subpopulation_posterior import SubpopulationPosterior

SUBPOPULATION = "the subpopulation"  #: Name of a subpopulation that has none.
#: The size of the step of the first or last cell of a subpopulation, in sigma, times the share of its rows beyond the
#: scores of the subpopulation, above which a remark names the cell.
FAR_BEYOND = 0.25
STATED_ATTENUATION = 0.95  #: Attenuation below which a remark states it.
STATED_LEFT_OUT = 0.01  #: Smallest share of rows without neighbouring rows of the other group that a remark states.
#: Largest number of parts of the curve in which the share of members is compared, and members per part.
PARTS_OF_CURVE, MEMBERS_PER_PART = 10, 50
PRINTED_GROUPS = 25  #: Maximum number of groups that are printed.
_STATISTICS = {"kuiper": "Kuiper", "kolmogorov_smirnov": "Kolmogorov-Smirnov"}  #: Short names of the statistics.
#: Name of the column of null means, the null hypothesis in two wordings, and rows that make P-values rough.
EQUAL = ("if equal", "if means are equal", "equality", "with rare responses")
UNDER_EQUALITY = "If the two had equal means at every score,"
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
    return Attenuation(float(min(mean, 1.0)), float(ratio.min()), float(ratio.max()), corrected.cumsum() / reached[-1])


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
    rows, member
        The full population, and which of its rows are members; the posterior uses both.
    """

    steps: SubpopulationSteps
    group: str = SUBPOPULATION
    rows: Responses = field(kw_only=True)
    member: Bools = field(kw_only=True)

    of_both, unit = False, "member"
    _units = (*Cumulative._units, ("in_published_sigma", "sigma"))
    _null, _assuming, _assumption, _rare = EQUAL
    _under_calibration = UNDER_EQUALITY
    _no_difference = "at each score, its mean response equals that of the full population"

    def zoom(self, low: float, high: float) -> "SubpopulationDifference":
        """Return the difference of rows with scores in an interval, computed anew; see `CumulativeDifference.zoom`."""
        part = super().zoom(low, high)
        inside = (self.rows.score >= low) & (self.rows.score <= high)
        return replace(part, rows=self.rows.part(inside), member=self.member[inside])

    def posterior(self, draws: int = 4000, *, rng: Any = None, model: str = "pooled") -> "SubpopulationPosterior":
        """Draw the Kuiper and Kolmogorov-Smirnov statistics of the population, and its cumulative difference.

        Parameters
        ----------
        model : {"pooled", "segments"}, default "pooled"
            Origin of the draws of both statistics, as for `CumulativeDifference.posterior`.

        Returns
        -------
        SubpopulationPosterior
            Draws, intervals and bands of differences from the full population that are not attenuated; its notes
            describe the model.

        Raises
        ------
        ValueError, TypeError
            If `draws` is not an integer of at least 2, `model` is unknown, no other rows have scores near members, or
            all compared responses are equal.

        Examples
        --------
        >>> rows = simulate(4000, population="flat", rng=1)
        >>> member = np.arange(4000) % 4 == 0
        >>> bc.cumulative.subpopulation(rows.outcome, rows.confidence, member).posterior(rng=1).kuiper.median()
        0.0
        """
        from bayescal.cumulative.subpopulation_posterior import posterior_of_groups

        return posterior_of_groups(self, MatchedRows.of(self.rows, self.member, ~self.member), draws, rng, model)

    def about_posterior(self, rows: MatchedRows) -> list[str]:
        """Say what the posterior leaves out, and that observed values are attenuated."""
        weak = self.attenuation < STATED_ATTENUATION
        text = (
            f"Observed differences are about {100 * self.attenuation:.0f} % of the true ones, because members are part "
            "of the means; draws are not."
        )
        return [*[text] * weak, *left_out(rows.left_out[:1], (self.group,), ("others",))]

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
        return low / self._attenuation.most, float(
            np.minimum(high / self._attenuation.least, np.ptp(self.rows.response))
        )

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
        first = f"Average difference over the subpopulation: {words}."
        remarks = [first, *super()._remarks(), *self._about_ends()]
        if self.attenuation < STATED_ATTENUATION:
            remarks.append(
                f"Curve, statistics and average difference show about {100 * self.attenuation:.0f} % of the difference "
                "from the full population: members are part of the means, and cells have few other rows. Interval and "
                "band allow for this. Rounded scores make larger cells."
            )
        return remarks

    def _notes(self) -> list[str]:
        published = f'"in published sigma": value / {self._number(self.sigma)}, the sigma of Tygert (2021)'
        notes = super()._notes()
        return notes and [*notes, f"{published}, which ignores that members are part of the means."]

    def _about_ends(self) -> list[str]:
        """Name the first or last cell if its rows beyond the scores of the subpopulation can move the curve."""
        steps = self.steps
        variance = np.maximum(steps.calibrated_variance, 0.0)
        far = np.sqrt(variance) * steps.beyond > FAR_BEYOND * np.sqrt(variance.sum())
        return [
            f"At the score {at:g}, {'more than 99' if part > 0.99 else round(100 * part)} % of the weight behind the "
            "population mean has scores outside the range of the subpopulation; the difference may reflect those "
            "scores."
            for at, part in zip(steps.score[far].tolist(), steps.beyond[far].tolist(), strict=True)
        ]


def difference_of(rows: Responses, member: Bools, group: str = SUBPOPULATION) -> SubpopulationDifference:
    """Return the cumulative difference of the members of a group, which has a name such as "ward = 7"."""
    shown = "a subpopulation" if group == SUBPOPULATION else group
    question = f"cumulative difference between {shown} and the full population"
    zero = int(np.count_nonzero(rows.row_weight[member] == 0))
    steps = subpopulation_steps(rows, member)
    return SubpopulationDifference(steps, question, group, left_out=zero, rows=rows, member=member)


@public
@dataclass(frozen=True, eq=False, repr=False)
class SubpopulationComparison(Cumulative):
    """The cumulative difference between two groups at the same scores.

    Returned by `bayescal.cumulative.compare_subpopulations`; printing it shows a sentence and the two statistics.
    Swapping the groups changes the sign of the curve and nothing else.

    Parameters
    ----------
    steps : Steps
        Sums over both groups in each cell of neighbouring scores.
    question, left_out
        As for `CumulativeDifference`.
    names : tuple of str
        Names of the two groups.
    rows, groups
        All rows, and which of them belong to each group.
    """

    names: tuple[str, str]
    rows: Responses
    groups: tuple[Bools, Bools]

    of_both, unit = True, "effective row"
    _null, _assuming, _assumption, _rare = EQUAL
    _under_calibration = UNDER_EQUALITY
    _no_difference = "at each score, the mean responses of both groups are equal"
    _kind_of_step = ("cell", "cell", 0.0)

    def zoom(self, low: float, high: float) -> "SubpopulationComparison":
        """Return the comparison of rows with scores in an interval, computed anew; see `CumulativeDifference.zoom`."""
        super().zoom(low, high)  # checks the ends
        inside = (self.rows.score >= low) & (self.rows.score <= high)
        first, second = (each[inside] for each in self.groups)
        return comparison_of(self.rows.part(inside), (first, second), self.names)

    @cached_property
    def _matched(self) -> MatchedRows:
        return MatchedRows.of(self.rows, *self.groups)

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        return low, float(np.minimum(high, np.ptp(self._matched.response)))

    def posterior(self, draws: int = 4000, *, rng: Any = None, model: str = "pooled") -> "SubpopulationPosterior":
        """Draw the statistics and the curve of the population; see `SubpopulationDifference.posterior`."""
        from bayescal.cumulative.subpopulation_posterior import posterior_of_groups

        return posterior_of_groups(self, self._matched, draws, rng, model)

    def about_posterior(self, rows: MatchedRows) -> list[str]:
        """State the share of each group that has scores without rows of the other group."""
        return left_out(rows.left_out, self.names, self.names[::-1])

    def _remarks(self) -> list[str]:
        return [*super()._remarks(), *self.about_posterior(self._matched)]

    def _compared(self) -> str:
        return " and ".join(self.names)

    def _difference(self, slope: float) -> str:
        return f"responses of {self.names[0]} are {'higher' if slope > 0 else 'lower'} than those of {self.names[1]},"


def comparison_of(rows: Responses, groups: tuple[Bools, Bools], names: tuple[str, str]) -> SubpopulationComparison:
    """Return the comparison of two groups without common rows."""
    steps = compared_steps(MatchedRows.of(rows, *groups), weighted=rows.weight is not None)
    zero = int(np.count_nonzero(rows.row_weight[groups[0] | groups[1]] == 0))
    question = f"cumulative difference between {names[0]} and {names[1]}"
    return SubpopulationComparison(steps, question, names, rows, groups, left_out=zero)


def left_out(shares: Floats, names: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """State the share of each group that has scores without rows of the others."""
    return [
        f"Rows of {name} with {100 * share:.3g} % of its weight are left out: no rows of {other} have similar scores."
        for share, name, other in zip(shares, names, others, strict=True)
        if share >= STATED_LEFT_OUT
    ]


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
        The groups in order of P-value (if equal, as 0, by the statistic in units of sigma), and the group of each row.
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

    def p_largest(self, draws: int = 1000, *, rng: Any = None) -> dict[Any, float]:
        """Return, for each group, the probability that its statistic is the largest one in the population.

        Parameters
        ----------
        draws : int, default 1000
            Draws of the posterior of each group; see `SubpopulationDifference.posterior`.

        Returns
        -------
        dict
            Probabilities by label, decreasing; draws of the groups are independent. They sum to 1 also if no group
            differs: in draws in which all groups are equal to the full population, each has the same probability.

        Raises
        ------
        ValueError, TypeError
            If `draws` is not an integer of at least 2, or a group has no posterior; the message names it.

        Examples
        --------
        >>> rows = simulate(4000, population="flat", rng=1)
        >>> ward = np.repeat(["a", "b", "c", "d"], 1000)
        >>> screen = bc.cumulative.screen(rows.outcome + 0.2 * (ward == "c"), rows.confidence, ward)
        >>> next(iter(screen.p_largest(rng=1)))
        'c'
        """
        draws, generators = _checks.whole_number("draws", draws, 2), _checks.generator(rng).spawn(len(self))
        posteriors = []
        for label, each in zip(self, generators, strict=True):
            try:
                posteriors.append(self[label].posterior(draws, rng=each))
            except ValueError as reason:
                raise ValueError(f"{self.groups.equation(label)} has no posterior. {reason}") from None
        values = np.array([getattr(each, self.statistic).values for each in posteriors])
        largest = values == values.max(axis=0)
        share = (largest / largest.sum(axis=0)).mean(axis=1)
        return {self.labels[i]: float(share[i]) for i in np.argsort(-share, kind="stable")}

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
        if two_values(self.rows.response):
            return np.ones(len(self), dtype=np.bool_)
        return self.sums.rare >= FEW_RARE_OUTCOMES

    @property
    def flagged(self) -> tuple[Any, ...]:
        """Labels of the groups whose adjusted P-value is at most `fdr`, in order of P-value."""
        return tuple(self.labels[i] for i in np.flatnonzero(self.adjusted_p_value <= self.fdr))

    def table(self) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per group, in order of P-value.

        Keys are group, n (rows of positive weight), average_difference, the statistic (``kuiper`` or
        ``kolmogorov_smirnov``), sigma (`null_sigma` of the group), in_sigma (statistic / sigma, NaN if it is 0),
        p_value, adjusted_p_value (NaN if the group is not `reliable`) and flagged.
        """
        value, in_sigma = self.sums.value(self.statistic)
        sigma, adjusted = self.sums.difference_sigma, self.adjusted_p_value
        columns = {
            "n": self.sums.n_rows,
            "average_difference": self.sums.end,
            self.statistic: value,
            "sigma": sigma,
            "in_sigma": np.where(sigma > 0, in_sigma, np.nan),
            "p_value": self.p_value,
            "adjusted_p_value": adjusted,
            "flagged": adjusted <= self.fdr,
        }
        rows = zip(self.groups.labels, *(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(("group", *columns), row, strict=True)) for row in rows]

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
                significant(row["average_difference"], 4),
                significant(row[self.statistic], 4),
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
        single = (self.sums.mean_step >= ONE_STEP) & (self.sums.n_rows * LARGE_STEP**2 >= 1)  # whose tail is exact
        if rough := int(np.count_nonzero((self.sums.mean_step > LARGE_STEP) & ~single)):
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
