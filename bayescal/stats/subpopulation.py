"""Subpopulations against the full population, averaged in cells around the scores of the subpopulation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.data.responses import Responses
from bayescal.stats.ordered import StoredSteps

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SubpopulationSteps(StoredSteps):
    """Steps of a subpopulation against the full population.

    Parameters
    ----------
    difference_variance : ndarray of float64, shape (n_scores,)
        Variance of `deviation` if responses in a cell have the same distribution for members and others.
        `calibrated_variance`, which published programs use, ignores that members are part of the mean of the cell.
    beyond : ndarray of float64, shape (n_scores,)
        Share of the weight in the cell that belongs to rows with scores below the first or above the last score of
        members; 0 except in the first and the last cell, which have no outer end.
    cell_weight : ndarray of float64, shape (n_scores,)
        Weight of all rows in the cell, members and others.
    """

    difference_variance: Floats
    beyond: Floats
    cell_weight: Floats


def subpopulation_steps(rows: Responses, member: NDArray[np.bool_]) -> SubpopulationSteps:
    r"""Sum the members of a subpopulation by score, minus the mean response of the full population near that score.

    Parameters
    ----------
    rows : Responses
        The full population, which includes the subpopulation.
    member : ndarray of bool, shape (n_rows,)
        The rows of the subpopulation.

    Returns
    -------
    SubpopulationSteps
        One step per distinct score t_j of members with positive weight. The expected response is the weighted mean over
        all rows with scores in the cell (m_{j-1}, m_j], where m_j is the midpoint of t_j and t_{j+1}; the first cell
        begins at minus infinity and the last one ends at infinity [1]_. `calibrated_variance` is the sum of squared
        weights of the members times the variance of the responses in the cell.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117, equations 5 to 33.
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    member = member & (weight > 0)
    score, step = np.unique(rows.score[member], return_inverse=True)
    cell = np.searchsorted(midpoints(score), rows.score, side="left")
    # responses are centred, so that the variance within cells does not cancel
    response = rows.response - np.average(rows.response, weights=weight)

    def in_cells(values: Floats) -> Floats:
        return np.bincount(cell, values, len(score))

    total = in_cells(weight)
    mean = in_cells(weight * response) / total
    variance = in_cells(weight * (response - mean[cell]) ** 2) / total

    own, residual = weight[member], response[member] - mean[step]

    def of_members(values: Floats) -> Floats:
        return np.bincount(step, values, len(score))

    mass, square = of_members(own), of_members(own**2)
    # exact zeros: otherwise, P-values would compare rounding errors of equal responses
    counted = weight > 0
    constant = _constant(cell[counted], response[counted], len(score))
    residual[constant[step]] = variance[constant] = 0.0
    n_rows = np.bincount(step, minlength=len(score))
    alone = np.bincount(cell[counted], minlength=len(score)) == n_rows
    return SubpopulationSteps(
        score=score,
        weight=mass,
        deviation=np.where(alone, 0.0, of_members(own * residual)),
        weight_sq=square,
        deviation_weight_sq=of_members(own**2 * residual),
        deviation_sq=of_members((own * residual) ** 2),
        calibrated_variance=square * variance,
        n_rows=n_rows,
        weighted=rows.weight is not None,
        difference_variance=np.where(alone, 0.0, variance * _members_in_cell(mass, square, total, in_cells(weight**2))),
        beyond=in_cells(weight * ((rows.score < score[0]) | (rows.score > score[-1]))) / total,
        cell_weight=total,
    )


def _constant(cell: NDArray[np.intp], response: Floats, n_cells: int) -> NDArray[np.bool_]:
    """Return whether all responses in each cell are equal."""
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, cell, response)
    np.maximum.at(high, cell, response)
    return low == high


def _members_in_cell(own: Floats, own_sq: Floats, total: Floats, total_sq: Floats) -> Floats:
    r"""Return the variance of :math:`\sum_M w (r - \bar r)` as a multiple of the weighted variance in the cell.

    Parameters
    ----------
    own, own_sq, total, total_sq : ndarray
        Sums of weights and of their squares, over the members M in a cell and over all rows in it.

    Returns
    -------
    ndarray
        For independent responses with variance v, the sum has the variance v [Q (1 - 2 V / W) + V^2 T / W^2], with V
        and Q the sums over members, and W and T those over all rows; and the mean of the weighted variance is
        v (1 - T / W^2). The ratio is 1 for one member without weights, and 0 if a cell only contains members.
    """
    share = total_sq / total**2
    factor = own_sq * (1 - 2 * own / total) + own**2 * share
    # in a cell with a single row, both are 0 up to rounding
    return np.divide(np.maximum(factor, 0.0), 1 - share, out=np.zeros_like(own), where=share < 1 - 1e-9)


def midpoints(score: Floats) -> Floats:
    """Return the ends of the cells between neighbouring scores; each lies below the higher score."""
    middle = score[:-1] / 2 + score[1:] / 2
    # between neighbouring floats the midpoint may round to the higher one, whose cell would lose its own rows
    return np.where(middle < score[1:], middle, score[:-1])


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Statistics of many subpopulations; arrays of shape (n_groups,).

    Parameters
    ----------
    n_rows : ndarray of int64
        Rows of positive weight.
    top, bottom, end : ndarray of float64
        Largest, smallest and last value of the cumulative difference of each group, which begins with 0.
    sigma : ndarray of float64
        Standard deviation of the end of the curve if means are equal, from `calibrated_variance`.
    difference_sigma, mean_step : ndarray of float64
        Standard deviation of the end of the curve from `difference_variance`; mean standard deviation of a step,
        divided by it (0 if it is 0).
    outer_step : ndarray of float64
        Of the first and last cell of a group, the larger product of the step in `sigma` and `beyond`; see
        `SubpopulationSteps`.
    """

    n_rows: NDArray[np.int64]
    top: Floats
    bottom: Floats
    end: Floats
    sigma: Floats
    difference_sigma: Floats
    mean_step: Floats
    outer_step: Floats


def group_sums(rows: Responses, group: NDArray[np.integer], n_groups: int) -> GroupSums:
    """Compute the statistics of the cumulative difference of every group against the full population.

    Parameters
    ----------
    rows : Responses
        The full population.
    group : ndarray of int, shape (n_rows,)
        Group of each row, from 0 to n_groups - 1.
    n_groups : int
        Number of groups; each has a row of positive weight.

    Returns
    -------
    GroupSums
        The statistics that `subpopulation_steps` gives for each group. All groups are computed at once, from one sort
        of the rows by group and score, and from cumulative sums over the full population in the order of the scores.
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    counted = np.flatnonzero(weight > 0)
    response, score, weight = _centred(rows.response[counted], weight[counted]), rows.score[counted], weight[counted]
    group = group[counted]
    order = np.lexsort((score, group))
    of_group, of_score = group[order], score[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (of_group[1:] != of_group[:-1]) | (of_score[1:] != of_score[:-1])
    starts = np.flatnonzero(new)
    level, level_group = of_score[starts], of_group[starts]
    first = np.searchsorted(level_group, np.arange(n_groups))

    own = np.add.reduceat(weight[order], starts)
    own_rows = np.diff(starts, append=len(order))
    own_sq = np.add.reduceat((weight**2)[order], starts)
    mean, spread, whole, whole_sq, cell_rows, constant = _cell_moments(response, score, weight, level, level_group)
    deviation = np.add.reduceat((weight * response)[order], starts) - own * mean
    variance = spread * _members_in_cell(own, own_sq, whole, whole_sq)
    # in cells without other rows, the mean is that of the members; other zeros as in `subpopulation_steps`
    nothing = constant | (cell_rows == own_rows)
    deviation[nothing] = variance[nothing] = 0.0
    spread[constant] = 0.0

    curve = np.cumsum(deviation)
    curve -= np.repeat(curve[first] - deviation[first], np.diff(first, append=len(curve)))
    total = np.add.reduceat(own, first)
    last = np.append(first[1:], len(curve)) - 1
    own_variance = own_sq * spread
    of_sigma = np.add.reduceat(own_variance, first)
    outer = np.sqrt(own_variance) * _beyond(score, weight, level, first, last) / whole
    of_end = np.add.reduceat(variance, first)
    cubes = np.add.reduceat(variance**1.5, first)
    return GroupSums(
        n_rows=np.bincount(group, minlength=n_groups),
        top=np.maximum(np.maximum.reduceat(curve, first), 0.0) / total,
        bottom=np.minimum(np.minimum.reduceat(curve, first), 0.0) / total,
        end=curve[last] / total,
        sigma=np.sqrt(of_sigma) / total,
        difference_sigma=np.sqrt(of_end) / total,
        mean_step=np.divide(cubes, of_end**1.5, out=np.zeros(n_groups), where=of_end > 0),
        outer_step=np.divide(
            np.maximum(outer[first], outer[last]), np.sqrt(of_sigma), out=np.zeros(n_groups), where=of_sigma > 0
        ),
    )


def _beyond(score: Floats, weight: Floats, level: Floats, first: NDArray[np.intp], last: NDArray[np.intp]) -> Floats:
    """Return the weight below the first score of each group and above its last one, at these scores; 0 at others."""
    order = np.argsort(score)
    sums = np.concatenate([[0.0], np.cumsum(weight[order])])
    in_order = score[order]
    beyond = np.zeros(len(level))
    beyond[first] = sums[np.searchsorted(in_order, level[first], side="left")]
    beyond[last] += sums[-1] - sums[np.searchsorted(in_order, level[last], side="right")]
    return beyond


def _centred(response: Floats, weight: Floats) -> Floats:
    """Return responses minus their mean, which is rounded for integers, so that unweighted sums stay exact."""
    mean = float(np.average(response, weights=weight))
    return response - (round(mean) if (response == np.rint(response)).all() else mean)


def _cell_moments(
    response: Floats, score: Floats, weight: Floats, level: Floats, level_group: NDArray[np.integer]
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.intp], NDArray[np.bool_]]:
    """Return moments of the full population in the cell of each score of each group.

    These are mean, variance, sums of weights and of their squares, the number of rows, and whether all responses are
    equal.
    """
    order = np.argsort(score)
    ends = np.full(len(level), np.inf)
    ends[:-1] = np.where(level_group[1:] == level_group[:-1], midpoints(level), np.inf)
    high = np.searchsorted(score[order], ends, side="right")
    low = np.zeros_like(high)
    low[1:] = np.where(level_group[1:] == level_group[:-1], high[:-1], 0)

    def in_cells(values: Floats) -> Floats:
        # in extended precision, if the processor has it, because differences of cumulative sums cancel
        sums = np.concatenate([[0], np.cumsum(values[order], dtype=np.longdouble)])
        return (sums[high] - sums[low]).astype(np.float64)

    total = in_cells(weight)
    mean = in_cells(weight * response) / total
    squares = in_cells(weight * response**2) / total
    in_order = response[order]
    changes = np.concatenate([[0], np.cumsum(in_order[1:] != in_order[:-1])])
    constant = changes[high - 1] == changes[low]
    return mean, np.maximum(squares - mean**2, 0.0), total, in_cells(weight**2), high - low, constant
