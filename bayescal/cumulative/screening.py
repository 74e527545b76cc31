"""Screening: every group of rows against the full population, controlling the false discovery rate."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.cumulative.brownian import sf_max_abs, sf_range
from bayescal.cumulative.responses import Responses
from bayescal.cumulative.screen_result import SubpopulationScreen, sorted_screen
from bayescal.cumulative.statistics import corrected_tail
from bayescal.cumulative.subpopulation_sums import GroupSums, group_sums
from bayescal.data.groups import Groups

#: Other names of the statistics, for messages.
SHORT = {"ks": "kolmogorov_smirnov", "kolmogorov-smirnov": "kolmogorov_smirnov", "c_emp": "kuiper"}


@public
def screen(
    response: Any,
    score: Any,
    by: Any,
    *,
    weights: Any = None,
    statistic: str = "kuiper",
    fdr: float = 0.05,
) -> SubpopulationScreen:
    """Compare every group of rows with the full population at equal scores, and flag the groups that differ.

    Parameters
    ----------
    response : array-like of float, int or bool, shape (n_rows,)
        Responses, such as outcomes, losses or costs; any finite numbers.
    score : array-like of float, shape (n_rows,)
        Scores, on any scale.
    by : array-like, shape (n_rows,), or data frame, shape (n_rows, n_columns)
        The group of each row; with several columns, every combination that occurs is a group.
    weights : array-like of float, shape (n_rows,), optional
        Importance weights, >= 0. Only their ratios matter.
    statistic : {"kuiper", "kolmogorov_smirnov"}, default "kuiper"
        The statistic of each group.
    fdr : float, default 0.05
        False discovery rate: the expected share, among flagged groups, of groups that do not differ, in (0, 1).

    Returns
    -------
    SubpopulationScreen
        One row per group, by increasing P-value, with Benjamini-Hochberg flags [1]_; ``screen[label]`` is the
        `SubpopulationDifference` of one group, which can be plotted.

    Raises
    ------
    ValueError, TypeError
        As for `bayescal.cumulative.subpopulation`; also if labels are missing, or fewer than two groups have rows
        of positive weight.

    Notes
    -----
    Each group has the numbers of `bayescal.cumulative.subpopulation`; its P-value is the corrected one. With
    responses that have more than two values, groups with few rows and skewed responses are not flagged; see
    `SubpopulationScreen.reliable`. Groups that
    only have rows of weight 0 are left out. All groups are computed at once, without a loop over them.

    The screen compares groups with the full population, not with the scores: an error of calibration that all groups
    have in common does not differ between them. For calibration by group, apply `bayescal.cumulative.difference` to the
    rows of each group.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg (1995), "Controlling the false discovery rate: a practical and powerful approach
       to multiple testing", Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    Cells end halfway between the scores of a group. Each cell of group a contains one row of each group,
    so that the members deviate by -1/2.

    >>> screened = screen([0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 5, 6], list("ababab"))
    >>> [(row["group"], round(row["average_difference"], 3), round(row["p_value"], 3)) for row in screened.table()]
    [('a', -0.5, 0.197), ('b', 0.389, 0.213)]
    """
    _checks.one_of("statistic", statistic, ("kuiper", "kolmogorov_smirnov"), short=SHORT)
    fdr = _checks.fraction("fdr", fdr)
    rows = Responses.read(response, score, weights, others={"by": by})
    groups = _with_weight(Groups.from_column(by, len(rows), rows="response"), rows)
    if len(groups) < 2:
        raise ValueError("`by` must have at least two groups with rows of positive weight; there is one.")
    sums = group_sums(rows, groups.of_row, len(groups))
    return sorted_screen(rows, groups, sums, _p_values(sums, statistic), statistic, fdr)


def _with_weight(groups: Groups, rows: Responses) -> Groups:
    """Leave out groups without a row of positive weight; their rows have no group, -1."""
    if rows.weight is None:
        return groups
    kept = np.flatnonzero(np.bincount(groups.of_row, rows.weight > 0, len(groups)))
    place = np.full(len(groups), -1)
    place[kept] = np.arange(len(kept))
    return Groups(tuple(groups.labels[i] for i in kept), place[groups.of_row], groups.name)


def _p_values(sums: GroupSums, statistic: str) -> Any:
    sigma = sums.difference_sigma
    kuiper = statistic == "kuiper"
    value = sums.top - sums.bottom if kuiper else np.maximum(sums.top, -sums.bottom)
    in_sigma = np.divide(value, sigma, out=np.zeros(len(sigma)), where=sigma > 0)
    tail, ends = (sf_range, 2) if kuiper else (sf_max_abs, 1)
    p_value = corrected_tail(tail, in_sigma, sums.mean_step, ends, sums.rare)
    return np.where(sigma > 0, p_value, value == 0)
