"""Cumulative differences, of all rows or of groups: rows -> sums by score -> the curve and its statistics."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.cumulative import subpopulation_result
from bayescal.cumulative.brownian import sf_max_abs, sf_range
from bayescal.cumulative.result import CumulativeDifference, question_of
from bayescal.cumulative.statistics import corrected_tail
from bayescal.cumulative.subpopulation_sums import Responses, group_sums, read_marks, read_member
from bayescal.data.columns import own_hints, require_marks
from bayescal.data.groups import Groups
from bayescal.data.predictions import Predictions
from bayescal.stats.ordered import OrderedSums

#: Other names of the statistics, for messages.
SHORT = {"ks": "kolmogorov_smirnov", "kolmogorov-smirnov": "kolmogorov_smirnov", "c_emp": "kuiper"}


@public
def difference(y_true: Any, y_prob: Any, *, weights: Any = None) -> CumulativeDifference:
    r"""Measure calibration without bins, by the cumulative difference between outcomes and scores.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        Observed outcomes.
    y_prob : array-like of float, shape (n_rows,)
        Probability stated for outcome 1, in [0, 1].
    weights : array-like of float, shape (n_rows,), optional
        Importance weights, >= 0. Only their ratios matter.

    Returns
    -------
    CumulativeDifference
        The curve, the Kuiper and the Kolmogorov-Smirnov statistic with P-values [1]_, and the interval of scores with
        the largest deviation. The Kuiper statistic is also the empirical calibration measure of [2]_.

    Raises
    ------
    ValueError, TypeError
        If columns differ in length, or values are missing, out of range or not 0 and 1. The message names the argument,
        the number of invalid values, and the first index and value.

    See Also
    --------
    CumulativeDifference.posterior : Statistics of the population, with intervals.
    plot_cumulative : Draw the curve.
    bayescal.cumulative.subpopulation, bayescal.cumulative.screen : Compare groups with the full population.

    Notes
    -----
    Rows are sorted once. Rows with equal scores are merged, so the order of the rows has no effect. From counts in fine
    bins, use `bayescal.cumulative.difference.from_counts`, which is `CumulativeDifference.from_counts`.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 41 to 50.
    .. [2] Y. Gao, A. Parameswaran and J. Peng (2017), "On the interpretability of conditional probability estimates in
       the agnostic setting", Electronic Journal of Statistics 11, 5198-5231: the calibration measure c(f), which is the
       supremum, over intervals of scores, of \|E[1{p1 < c <= p2} (z - c)]\|, and its empirical value c_emp.

    Examples
    --------
    One of the two rows with score 0.2 has outcome 1; their mean deviation of 0.3 times 2/5 is the statistic.

    >>> cd = bc.cumulative.difference([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])
    >>> round(cd.kuiper, 3), round(cd.kolmogorov_smirnov, 3), round(cd.sigma, 3)
    (0.12, 0.12, 0.189)

    Columns of a data frame, and the statistic of the population:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"won": [1, 0, 0, 1, 1], "p": [0.2, 0.2, 0.6, 0.6, 0.9]})
    >>> posterior = bc.cumulative.difference(frame["won"], frame["p"]).posterior(rng=1)
    >>> posterior.kuiper < 0.5
    P(kuiper < 0.5) = 0.9995
    """
    require_marks("y_true", y_true)
    with own_hints():
        rows = Predictions.from_outcomes(y_true, y_prob, weights, names=("y_true", "y_prob"))
    return cumulative_difference_of(rows)


def cumulative_difference_of(rows: Predictions) -> CumulativeDifference:
    """Return the cumulative difference of validated rows; see `bayescal.cumulative.difference`."""
    left_out = 0 if rows.weight is None else int(np.count_nonzero(rows.weight == 0))
    return CumulativeDifference(OrderedSums.from_rows(rows), question_of(rows.target), rows.target, left_out=left_out)


#: Alias.
difference.from_counts = CumulativeDifference.from_counts  # type: ignore[attr-defined]  # functions have no such member


@public
def subpopulation(
    response: Any, score: Any, member: Any, *, weights: Any = None
) -> subpopulation_result.SubpopulationDifference:
    r"""Compare a subpopulation with the full population at the same scores, without bins.

    Parameters
    ----------
    response : array-like of float, int or bool, shape (n_rows,)
        Responses of the full population, such as outcomes, losses or costs; any finite numbers.
    score : array-like of float, shape (n_rows,)
        Scores, on any scale. The two populations are compared at equal scores.
    member : array-like of bool, shape (n_rows,)
        Whether each row belongs to the subpopulation.
    weights : array-like of float, shape (n_rows,), optional
        Importance weights, >= 0. Only their ratios matter.

    Returns
    -------
    SubpopulationDifference
        The curve, its statistics and P-values, the interval of scores of largest deviation, and the average difference.

    Raises
    ------
    ValueError, TypeError
        If columns differ in length, values are missing, infinite or not numbers, or `member` marks no row or all rows.

    See Also
    --------
    bayescal.cumulative.screen : All groups of a column at once.
    plot_cumulative : Draw the curve.

    Notes
    -----
    The responses of the full population are averaged in cells that end halfway between neighbouring scores of the
    subpopulation [1]_; the first cell has no lower end and the last one no upper end. The member with the smallest
    score is therefore also compared with all rows below it, and the member with the largest score with all rows above
    it. The effect is proportional to the weight of these two members: three calibrated
    rows with scores in [0, 0.02], in a population with scores over [0, 1], have a mean average difference of about -1/6
    (-1/2 at one of three rows). A remark in the result names such cells.

    Members are part of the averages. In small cells their share is larger than in the population near the score, so
    that differences in the curve are smaller than those from the mean of the full population at equal scores:
    `SubpopulationDifference.attenuation` is the ratio. It is 0.67 for half of the rows without ties, and near 1 for few
    members, or many rows per distinct score.

    `sigma` and the uncorrected P-values ignore that members are part of the averages, as published programs do;
    corrected P-values take it into account. The difference matters if cells contain several members (ties) or heavy
    weights, and the subpopulation is a large part of the full population.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 5 to 33.

    Examples
    --------
    The cells end at 0.25. The means of the full population are 1/2 and 3/2, so that the members deviate by 1/2 and
    -1/2.

    >>> sub = bc.cumulative.subpopulation([1, 0, 2, 1], [0.1, 0.2, 0.3, 0.4], [True, False, False, True])
    >>> sub.kuiper, sub.average_difference
    (0.25, 0.0)
    """
    rows = Responses.read(response, score, weights, others={"member": member})
    return subpopulation_result.difference_of(rows, read_member(member, rows))


@public
def compare_subpopulations(
    response: Any, score: Any, a: Any, b: Any, *, weights: Any = None, names: tuple[str, str] = ("a", "b")
) -> subpopulation_result.SubpopulationComparison:
    r"""Compare two groups of rows at the same scores, without bins that a user must choose.

    Parameters
    ----------
    response, score, weights
        As for `subpopulation`.
    a, b : array-like of bool, shape (n_rows,)
        Whether each row belongs to the first and to the second group; no row may belong to both.
    names : tuple of str, default ("a", "b")
        Names of the groups for sentences.

    Returns
    -------
    SubpopulationComparison
        The curve, with the mean response of `a` minus that of `b` at equal scores as slope; statistics and P-values.

    Raises
    ------
    ValueError, TypeError
        As for `subpopulation`; also if a row belongs to both groups, or the groups have no scores in common.

    See Also
    --------
    subpopulation : One group against the full population.
    plot_cumulative : Draw the curve.

    Notes
    -----
    Each group is compared with the union of both, which gives their difference up to a factor [1]_: in a cell of
    neighbouring scores with the weights V and U of the groups, the sum of the responses of `a` minus the mean of the
    union is :math:`h = V U / (V + U)` times the difference of the means. The curve is the cumulative sum of h times
    the difference, divided by the sum of h. Exchanging `a` and `b` therefore changes the sign of the curve and nothing
    else. Cells have about 20 rows (fewer if there are fewer than 400 rows). Rows in cells without rows of the other
    group are left out; remarks state their share.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 5 to 33, with the union as the full population.

    Examples
    --------
    At all scores, the mean response of a is higher by 1.

    >>> a = [True, False, True, False, True, False, True, False]
    >>> b = [not each for each in a]
    >>> compared = bc.cumulative.compare_subpopulations([1, 0, 2, 1, 3, 2, 4, 3], [1, 1, 2, 2, 3, 3, 4, 4], a, b)
    >>> compared.kuiper, compared.average_difference
    (1.0, 1.0)
    """
    if not isinstance(names, tuple | list) or len(set(map(str, names))) != 2 or len(names) != 2:
        raise ValueError(f'`names` must be two different names, as ("women", "men"), not {_checks.quoted(names)}.')
    rows = Responses.read(response, score, weights, others={"a": a, "b": b})
    first, second = (read_marks(name, each, rows) for name, each in (("a", a), ("b", b)))
    if (common := first & second).any():
        hint = "Compare `a` with the rows of `b` that are not in `a`, as in `b & ~a`."
        _checks.refuse("b", "must not mark rows of `a`", common, hint=hint, verb=("does", "do"))
    return subpopulation_result.comparison_of(rows, (first, second), (str(names[0]), str(names[1])))


@public
def screen(
    response: Any, score: Any, by: Any, *, weights: Any = None, statistic: str = "kuiper", fdr: float = 0.05
) -> subpopulation_result.SubpopulationScreen:
    """Compare every group of rows with the full population at equal scores, and flag the groups that differ.

    Parameters
    ----------
    response, score, weights
        As for `subpopulation`.
    by : array-like, shape (n_rows,), or data frame, shape (n_rows, n_columns)
        The group of each row; with several columns, every combination that occurs is a group.
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

    >>> screened = bc.cumulative.screen([0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 5, 6], list("ababab"))
    >>> [(row["group"], round(row["average_difference"], 3), round(row["p_value"], 3)) for row in screened.table()]
    [('a', -0.5, 0.197), ('b', 0.389, 0.213)]
    """
    _checks.one_of("statistic", statistic, ("kuiper", "kolmogorov_smirnov"), short=SHORT)
    fdr = _checks.fraction("fdr", fdr)
    rows = Responses.read(response, score, weights, others={"by": by})
    groups = Groups.from_column(by, len(rows), rows="response")
    if rows.weight is not None:  # rows of groups without positive weight have no group, -1
        kept = np.flatnonzero(np.bincount(groups.of_row, rows.weight > 0, len(groups)))
        place = np.full(len(groups), -1)
        place[kept] = np.arange(len(kept))
        groups = Groups(tuple(groups.labels[i] for i in kept), place[groups.of_row], groups.name)
    if len(groups) < 2:
        raise ValueError("`by` must have at least two groups with rows of positive weight; there is one.")
    sums = group_sums(rows, groups.of_row, len(groups))
    value, in_sigma = sums.value(statistic)
    tail, ends = (sf_range, 2) if statistic == "kuiper" else (sf_max_abs, 1)
    p_value = corrected_tail(tail, in_sigma, sums.mean_step, ends, sums.rare)
    p_value = np.where(sums.difference_sigma > 0, p_value, value == 0)
    return subpopulation_result.sorted_screen(rows, groups, sums, p_value, statistic, fdr)
