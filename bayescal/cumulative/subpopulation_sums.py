"""Responses with scores, and subpopulations against all rows, averaged in cells around their scores."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._arrays import Bools, Floats, Indices, Ints
from bayescal.cumulative.moments import (
    LocalMoments,
    Moments,
    inverse_squared_skewness,
    split_moments,
    third_moment_of_difference,
)
from bayescal.data.columns import (
    allowed_weights,
    binary,
    column,
    own_hints,
    require_marks,
    require_ratios,
    scale_free,
    weight_column,
)
from bayescal.data.frames import same_rows, to_array
from bayescal.stats.ordered import StoredSteps
from bayescal.stats.sums import sums_at

LEAST_FURTHER = 10.0  #: Smallest number of rows with which ratios of variances are shrunk to 1.
#: Share of a diagonal that is added, because cells with one row of each kind do not determine their ratio.
RIDGE = 0.003

LARGEST = 1e100  #: Largest absolute response: sums of squares of larger ones could overflow.
LEAST_RANGE = 1e-80  #: Least range of responses that are not all equal: squares of smaller differences could underflow.
MEMBER = "Pass whether each row belongs to the group, as in `group == label`."  #: What to pass as a column of members.


@dataclass(frozen=True, eq=False)
class Responses:
    """Validated rows with a real-valued response, a score on any scale, and weights whose squares can be summed."""

    response: Floats
    score: Floats
    weight: Floats | None

    @classmethod
    def read(cls, response: Any, score: Any, weights: Any, *, others: dict[str, Any]) -> "Responses":
        """Check columns of one length; `others` are further columns of the same rows, to compare their indexes.

        >>> Responses.read([1, 3], [0.2, 0.7], None, others={}).response
        array([1., 3.])
        """
        same_rows({"response": response, "score": score, "weights": weights, **others})
        columns = {name: _real(name, values) for name, values in (("response", response), ("score", score))}
        _checks.same_length(tuple(columns), tuple(map(len, columns.values())))
        _checks.not_empty("response", len(columns["response"]), hint="")
        for name, values in columns.items():
            _checks.finite(name, values)
        large = np.abs(columns["response"]) > LARGEST
        if large.any():
            hint = "Divide the responses by a constant, which does not change P-values."
            _checks.refuse(
                "response", f"must lie between {-LARGEST:g} and {LARGEST:g}", large, columns["response"], hint
            )
        extent = float(np.ptp(columns["response"]))
        if 0 < extent < LEAST_RANGE:
            raise ValueError(
                f"`response` must have a range of at least {LEAST_RANGE:g}, or be constant; it is {extent:g}. Multiply "
                "the responses by a constant, which does not change P-values."
            )
        weight = weight_column(weights, len(columns["response"]), "response")
        weight = None if weight is None else require_ratios(scale_free(allowed_weights(weight)))
        return cls(**columns, weight=weight)

    def __len__(self) -> int:
        return len(self.response)

    @property
    def row_weight(self) -> Floats:
        """Weight of each row; 1 for rows without weights."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def part(self, which: Bools) -> "Responses":
        """Return the rows that `which` marks."""
        return Responses(self.response[which], self.score[which], None if self.weight is None else self.weight[which])

    def __repr__(self) -> str:
        return f"Responses({len(self)} rows{'' if self.weight is None else ', weighted'})"


def _real(name: str, values: Any) -> Floats:
    array = column(name, to_array(name, values))
    if array.dtype.kind not in "biuf":
        hint = "Pass an outcome as 0 and 1, as in `response == label`." if name == "response" else "Pass probabilities."
        shown = _checks.quoted(np.unique(array.astype(str))[:3].tolist())
        raise TypeError(f"`{name}` must hold numbers; it holds other values, such as {shown}. {hint}")
    return array.astype(np.float64, copy=False)


def read_member(member: Any, rows: Responses) -> Bools:
    """Check a column that marks rows of a subpopulation: some rows of positive weight, but not all."""
    marked = read_marks("member", member, rows)
    if marked[rows.row_weight > 0].all():
        raise ValueError(
            f"`member` must not mark all rows of positive weight; it marks {np.count_nonzero(marked)} of {len(rows)} "
            "rows, so the subpopulation would be compared with itself."
        )
    return marked


def read_marks(name: str, member: Any, rows: Responses) -> Bools:
    """Check a column that marks rows: at least one of positive weight."""
    values = column(name, to_array(name, member))
    _checks.same_length((name, "response"), (len(values), len(rows)))
    require_marks(name, values, MEMBER)
    with own_hints(MEMBER, swapped=MEMBER):
        marked = binary(name, values, None) == 1
    if not marked[rows.row_weight > 0].any():
        marks = f"it marks {np.count_nonzero(marked)} of {len(rows)} rows"
        raise ValueError(f"`{name}` must mark at least one row of positive weight; {marks}.")
    return marked


@dataclass(frozen=True, eq=False)
class SubpopulationSteps(StoredSteps):
    """Steps of a subpopulation against the full population; arrays of shape (n_scores,), one entry per cell.

    Variances and moments of `deviation` are those if responses in a cell have the same distribution for members and
    others; `calibrated_variance`, which published programs use, ignores that members are part of the mean of the cell.
    """

    difference_variance: Floats  # variance of `deviation`
    beyond: Floats  # share of the weight beyond the scores of members; 0 but for the first and last cell, without ends
    cell_weight: Floats  # of all rows in the cell
    local_second: Floats  # variance of `deviation` from the responses of many rows around the cell, in one unit
    local_third: Floats  # third central moment; parts of either sign add up


def subpopulation_steps(rows: Responses, member: Bools) -> SubpopulationSteps:
    """Sum the members of a subpopulation by score, minus the mean response of the full population near that score.

    There is one step per distinct score t_j of members with positive weight. The expected response is the weighted mean
    over all rows with scores in the cell (m_{j-1}, m_j], where m_j is the midpoint of t_j and t_{j+1}; the first cell
    begins at minus infinity and the last one ends at infinity: M. Tygert (2021), "Cumulative deviation of a
    subpopulation from the full population", Journal of Big Data 8, 117, equations 5 to 33. `calibrated_variance` is the
    sum of squared weights of the members times the variance of the responses in the cell.
    """
    weight = rows.row_weight
    counted = weight > 0
    rows, weight, member = rows.part(counted), weight[counted], member[counted]
    score, step = np.unique(rows.score[member], return_inverse=True)
    cell = np.searchsorted(midpoints(score), rows.score, side="left")
    # responses are centred, so that the variance within cells does not cancel
    response = rows.response - np.average(rows.response, weights=weight)

    def in_cells(values: Floats) -> Floats:
        return sums_at(cell, values, len(score))

    def of_others(values: Floats) -> Floats:
        return sums_at(cell[~member], values[~member], len(score))

    total, other = in_cells(weight), of_others(weight)
    mean = in_cells(weight * response) / total
    squares = in_cells(weight * (response - mean[cell]) ** 2)

    w, residual = weight[member], response[member] - mean[step]

    def of_members(values: Floats) -> Floats:
        return sums_at(step, values, len(score))

    mass, mass_sq = of_members(w), of_members(w**2)
    # exact zeros: otherwise, P-values would compare rounding errors of equal responses
    constant = _constant(cell, response, len(score))
    residual[constant[step]] = squares[constant] = 0.0
    in_members = of_members(w * residual**2)
    # means of members and others, because a difference from the mean of the cell can cancel
    difference = of_members(w * response[member]) / mass
    difference -= np.divide(of_others(weight * response), other, out=difference.copy(), where=other > 0)
    difference[constant] = 0.0
    other_sq = of_others(weight**2)
    order = np.argsort(rows.score, kind="stable")
    low = np.append(0, np.searchsorted(rows.score[order], midpoints(score), side="right"))
    moments, high = LocalMoments.of_rows(rows.score[order], response[order]), np.append(low[1:], len(order))
    sides = (mass, mass_sq, of_members(w**3)), (other, other_sq)
    local_second, local_third = _moments_of_difference(moments, low, high, *sides)
    further = np.inf if two_values(response) else further_rows(response, weight)
    sums = ((mass, other), (mass_sq, other_sq), (in_members, squares - in_members))
    return SubpopulationSteps(
        score=score,
        weight=mass,
        deviation=mass * (other / total) * difference,
        weight_sq=mass_sq,
        deviation_weight_sq=of_members(w**2 * residual),
        deviation_sq=of_members((w * residual) ** 2),
        calibrated_variance=mass_sq * squares / total,
        n_rows=np.bincount(step, minlength=len(score)),
        weighted=rows.weight is not None,
        difference_variance=_difference_variance(sums, _pairs(cell, weight, total), np.zeros(1, np.intp), further),
        beyond=in_cells(weight * ((rows.score < score[0]) | (rows.score > score[-1]))) / total,
        cell_weight=total,
        local_second=local_second,
        local_third=local_third,
    )


def _moments_of_difference(
    moments: LocalMoments, low: Indices, high: Indices, members: tuple[Floats, ...], others: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    second, third = moments.around(low, high)
    (member, member_sq, member_cubes), (other, other_sq) = members, others
    squares = member_sq * (other / (member + other)) ** 2 + (member / (member + other)) ** 2 * other_sq
    return second * squares, np.abs(third) * third_moment_of_difference((member, member_cubes), others)


def _constant(cell: Indices, response: Floats, n_cells: int) -> Bools:
    """Return whether all responses in each cell are equal."""
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, cell, response)
    np.maximum.at(high, cell, response)
    return low == high


def _pairs(cell: Indices, weight: Floats, total: Floats) -> Floats:
    """Return (sum w)^2 - sum w^2 of each cell; the heaviest row is kept apart, because its square may cancel."""
    heaviest = np.zeros(len(total))
    np.maximum.at(heaviest, cell, weight)
    at = np.flatnonzero(weight == heaviest[cell])
    first = np.empty(len(total), dtype=np.intp)
    first[cell[at]] = at
    rest = weight.copy()
    rest[first] = 0.0
    others, squares = sums_at(cell, rest, len(total)), sums_at(cell, rest**2, len(total))
    return 2 * heaviest * others + np.maximum(others**2 - squares, 0.0)


def _difference_variance(
    sums: Iterable[tuple[Floats, Floats]], pairs: Floats, first: Indices, further: float
) -> Floats:
    r"""Return the variance of :math:`\sum_M w (r - \bar r)`, if members and others have the same mean response.

    `sums` of members and of others in each cell are V and U of weights, Q and T of their squares, and `squares`, the
    weighted sums of squared differences from the mean of the cell. `pairs` is P = W^2 - Q - T with W = V + U. For
    independent responses with variance v, the sum has the variance v (Q U^2 + V^2 T) / W^2, and both `squares` together
    have the mean v P / W. The result is 0 if a cell only contains members.

    Unless `further` is infinite, members and others of each group, whose cells begin at `first`, have the variances
    :math:`\rho v`. The ratios :math:`\rho` solve two linear equations for the means of both `squares`, as :math:`E[S_M]
    = v \rho_M (V - 2 Q / W) + v V (\rho_M Q + \rho_O T) / W^2`, and are shrunk to 1 by `further` rows.
    """
    weight, weight_sq, squares = map(np.stack, sums)
    total, whole = weight.sum(axis=0), squares.sum(axis=0)
    variance = np.divide(whole, pairs / total, out=np.zeros_like(total), where=pairs > 0)
    parts = variance * weight_sq * (weight[::-1] / total) ** 2
    if np.isfinite(further):
        known = np.where(weight[1] > 0, variance, 0.0)
        each = np.eye(2)[..., None] * (weight - 2 * weight_sq / total) + weight[:, None] * weight_sq / total**2
        mean, within, size, size_sq = (
            np.moveaxis(np.add.reduceat(sums, first, axis=-1), -1, 0)
            for sums in (known * each, np.where(weight[1] > 0, squares, 0.0), weight, weight_sq)
        )
        excess = within - mean.sum(axis=2)
        mean = mean + (RIDGE * mean.sum(axis=(1, 2)) + 1e-300)[:, None, None] * np.eye(2)
        ratio = np.maximum(1 + np.linalg.solve(mean, excess[..., None])[..., 0], 0.0)
        rows = np.divide(size**2, size_sq, out=np.zeros_like(size), where=size_sq > 0)
        ratio = (rows * ratio + further) / (rows + further)
        parts *= np.repeat(ratio, np.diff(first, append=len(total)), axis=0).T
    return np.asarray(parts.sum(axis=0))


def two_values(response: Floats) -> bool:
    """Return whether responses have at most two values, so that equal means imply equal variances."""
    return bool(((response == response.min()) | (response == response.max())).all())


def further_rows(response: Floats, weight: Floats, times: float = 1.0) -> float:
    """Return with how many rows ratios of variances are shrunk to 1: so many times the kurtosis - 1, at least 10.

    Rare responses determine variances poorly.
    """
    response = response - np.average(response, weights=weight)
    response /= np.abs(response).max() or 1.0  # fourth powers do not overflow
    variance, fourth = (float(np.average(response**power, weights=weight)) for power in (2, 4))
    return max(times * (fourth / max(variance**2, 1e-250) - 1), LEAST_FURTHER)


def midpoints(score: Floats) -> Floats:
    """Return the ends of the cells between neighbouring scores; each lies below the higher score."""
    middle = score[:-1] / 2 + score[1:] / 2
    # between neighbouring floats the midpoint may round to the higher one, whose cell would lose its own rows
    return np.where(middle < score[1:], middle, score[:-1])


@dataclass(frozen=True, eq=False)
class GroupSums:
    """Statistics of many subpopulations; arrays of shape (n_groups,)."""

    n_rows: Ints  # of positive weight
    top: Floats  # largest value of the cumulative difference, which begins with 0
    bottom: Floats  # smallest value
    end: Floats  # last value
    sigma: Floats  # standard deviation of `end` if means are equal, from `calibrated_variance`
    difference_sigma: Floats  # the same from `difference_variance`
    mean_step: Floats  # root of the sum of the variances of steps over the sum of their roots; 0 without variance
    outer_step: Floats  # the larger product of step / sigma and `beyond` of the first and the last cell
    rare: Floats  # inverse square of the skewness of `end` if means are equal

    def value(self, statistic: str) -> tuple[Floats, Floats]:
        """Return the statistic ("kuiper" or "kolmogorov_smirnov"), and the same in units of `difference_sigma`."""
        value = self.top - self.bottom if statistic == "kuiper" else np.maximum(self.top, -self.bottom)
        sigma = self.difference_sigma
        return value, np.divide(value, sigma, out=np.zeros(len(sigma)), where=sigma > 0)


def group_sums(rows: Responses, group: NDArray[np.integer], n_groups: int) -> GroupSums:
    """Compute the statistics that `subpopulation_steps` gives for each group."""
    weight = rows.row_weight
    counted = np.flatnonzero(weight > 0)
    response, score, weight = _centred(rows.response[counted], weight[counted]), rows.score[counted], weight[counted]
    group = group[counted]
    order = np.lexsort((score, group))
    of_group, of_score = group[order], score[order]
    new = (of_group[1:] != of_group[:-1]) | (of_score[1:] != of_score[:-1])
    starts = np.append(0, 1 + np.flatnonzero(new))
    level, level_group = of_score[starts], of_group[starts]
    first = np.searchsorted(level_group, np.arange(n_groups))

    by_score = np.lexsort((group, score))  # members with equal scores stand together
    place = np.empty_like(by_score)
    place[by_score] = np.arange(len(by_score))
    begin = place[order[starts]]
    end = begin + np.diff(starts, append=len(order))
    low, high = _cells(score[by_score], level, level_group)
    response = response[by_score]
    changes = np.concatenate([[0], np.cumsum(response[1:] != response[:-1])])
    constant = changes[high - 1] == changes[low]
    members, others = split_moments(Moments.of_rows(weight[by_score], response), (low, begin, end, high), constant)
    cell = members + others
    member, whole = members.weight, cell.weight
    # exact zeros as in `subpopulation_steps`
    nothing = constant | (high - low == end - begin)
    deviation = np.where(nothing, 0.0, member * (others.weight / whole) * (members.mean - others.mean))
    squares = np.where(constant, 0.0, cell.squares)
    both = members, others
    within = [np.where(nothing, 0.0, part.squares + part.weight * (part.mean - cell.mean) ** 2) for part in both]
    further = np.inf if two_values(response) else further_rows(response, weight[by_score])
    sums = ((member, others.weight), (members.weight_sq, others.weight_sq), (within[0], within[1]))
    variance = _difference_variance(sums, cell.pairs, first, further)
    of_end = np.add.reduceat(variance, first)
    sizes = np.diff(first, append=len(level))
    # in units of each group's standard deviation, so that rounding errors of one group are small in every other one
    unit = np.where(of_end > 0, np.sqrt(of_end), 1.0)
    curve = np.cumsum(deviation / np.repeat(unit, sizes))
    curve -= np.repeat(curve[first] - deviation[first] / unit, sizes)
    total = np.add.reduceat(member, first)
    last = np.append(first[1:], len(curve)) - 1
    published_variance = members.weight_sq * squares / whole
    of_sigma = np.add.reduceat(published_variance, first)
    outer = np.sqrt(published_variance) * _beyond(score, weight, level, first, last) / whole
    shares = np.divide(variance, np.repeat(of_end, sizes), out=np.zeros_like(variance), where=variance > 0)
    roots = np.add.reduceat(np.sqrt(shares), first)
    unit /= total
    moments = LocalMoments.of_rows(score[by_score], response)
    member_cubes = np.add.reduceat(weight[order] ** 3, starts)
    sums_of = (member, members.weight_sq, member_cubes), (others.weight, others.weight_sq)
    second, third = (np.add.reduceat(m, first) for m in _moments_of_difference(moments, low, high, *sums_of))
    ends, none = np.maximum(outer[first], outer[last]), np.zeros(n_groups)
    return GroupSums(
        n_rows=np.bincount(group, minlength=n_groups),
        end=curve[last] * unit,
        top=np.maximum(np.maximum.reduceat(curve, first), 0.0) * unit,
        bottom=np.minimum(np.minimum.reduceat(curve, first), 0.0) * unit,
        sigma=np.sqrt(of_sigma) / total,
        difference_sigma=np.sqrt(of_end) / total,
        mean_step=np.divide(1, roots, out=none.copy(), where=roots > 0),
        outer_step=np.divide(ends, np.sqrt(of_sigma), out=none, where=of_sigma > 0),
        rare=inverse_squared_skewness(second, third),
    )


def _beyond(score: Floats, weight: Floats, level: Floats, first: Indices, last: Indices) -> Floats:
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


def _cells(score: Floats, level: Floats, level_group: NDArray[np.integer]) -> tuple[Indices, Indices]:
    """Return the first row of the cell of each score of each group, and the row after its last one."""
    same = level_group[1:] == level_group[:-1]
    ends = np.append(np.where(same, midpoints(level), np.inf), np.inf)
    high = np.searchsorted(score, ends, side="right")
    return np.append(0, np.where(same, high[:-1], 0)), high
