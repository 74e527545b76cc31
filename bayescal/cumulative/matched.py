"""Two groups of rows at equal scores: cells of neighbouring scores, and bins of cells."""

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from bayescal._arrays import Bools, Floats, Indices
from bayescal.cumulative.moments import LocalMoments
from bayescal.cumulative.subpopulation_sums import Responses, SubpopulationSteps, further_rows

#: Limits of the number of rows in a cell, which is about the square root of the number of all rows.
FEWEST_ROWS, MOST_ROWS = 4, 20
SEVERAL = 5  #: Least number of rows of each group in a cell that is left out because their scores do not overlap.
BINS = 64  #: Largest number of bins.
#: Standard deviation of the kernel that averages variances: at least so many rows, or a share of all rows.
ROWS_OF_KERNEL, SHARE_OF_KERNEL = 100.0, 0.1
PER_KURTOSIS = 4.0  #: Rows with which ratios of variances are shrunk, per unit of kurtosis.
SIGNS = np.array([[1.0], [-1.0]])  #: Signs of the two groups in their difference.


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """Rows of two groups in the order of their scores, in cells of neighbouring scores that contain both groups."""

    score: Floats  # increasing, shape (n_rows,)
    response: Floats  # minus a constant
    weight: Floats  # of each group, 0 for rows of the other one; shape (2, n_rows)
    starts: Indices  # first row of each cell
    left_out: Floats  # share of the weight of each group in cells without the other group, shape (2,)

    @classmethod
    def of(cls, rows: Responses, first: Bools, second: Bools) -> "MatchedRows":
        """Sort the rows of positive weight; equal scores share a cell. Groups without common cells are refused.

        Rows outside the scores of the other group are left out if that group has at least 20 rows. Cells in which
        several rows of one group all score lower than several rows of the other, as on both sides of a gap, are too.
        """
        weight = rows.row_weight
        counted = [each & (weight > 0) for each in (first, second)]
        if not all(each.any() for each in counted):
            raise ValueError("Both groups must have at least one row of positive weight for a comparison.")
        ends = [(float(rows.score[each].min()), float(rows.score[each].max())) for each in counted]
        whole = np.array([weight[each].sum() for each in counted])
        (low, high), (other_low, other_high) = ends
        if high < other_low or other_high < low:
            _refuse_apart(ends)
        # few rows of a group are compared with neighbours on both sides
        many = [np.count_nonzero(each) >= MOST_ROWS for each in counted]
        for g, (least, most) in enumerate(ends):
            if many[g]:
                counted[1 - g] = counted[1 - g] & (rows.score >= least) & (rows.score <= most)
        kept = np.flatnonzero(counted[0] | counted[1])
        kept = kept[np.argsort(rows.score[kept], kind="stable")]
        score, groups = rows.score[kept], weight[kept] * np.stack([first[kept], second[kept]])
        last = 1 + np.flatnonzero(np.append(score[1:] != score[:-1], True))
        part = last // int(np.clip(len(kept) ** 0.5, FEWEST_ROWS, MOST_ROWS))
        starts = np.append(0, last[np.append(part[1:] != part[:-1], True)][:-1])
        number = np.add.reduceat(groups > 0, starts, axis=1, dtype=np.int64)
        lowest, highest = np.where(groups > 0, score, np.inf), np.where(groups > 0, score, -np.inf)
        lowest, highest = np.minimum.reduceat(lowest, starts, axis=1), np.maximum.reduceat(highest, starts, axis=1)
        apart = (lowest > highest[::-1]).any(axis=0)
        both = (number > 0).all(axis=0) & ~(apart & (number >= SEVERAL).all(axis=0))
        if not both.any():
            _refuse_apart(ends)
        sizes = np.diff(starts, append=len(kept))
        inside = np.repeat(both, sizes)
        response = rows.response[kept][inside]
        return cls(
            score[inside],
            response - np.average(response, weights=groups[:, inside].sum(axis=0)),
            groups[:, inside],
            np.append(0, np.cumsum(sizes[both])[:-1]),
            1 - groups[:, inside].sum(axis=1) / whole,
        )

    def in_cells(self, values: Floats) -> Floats:
        """Sum values of rows by cell."""
        return np.add.reduceat(values, self.starts, axis=-1)

    @property
    def ends(self) -> Indices:
        """Row after the last one of each cell."""
        return np.append(self.starts[1:], len(self.score))


def _refuse_apart(ends: list[tuple[float, float]]) -> NoReturn:
    of_first, of_second = (f"[{low:g}, {high:g}]" for low, high in ends)
    raise ValueError(
        f"The two groups must have scores in common: those of the first lie in {of_first}, those of the second in "
        f"{of_second}. They are compared at equal scores, so all rows would be left out."
    )


@dataclass(frozen=True, eq=False)
class ComparedSteps(SubpopulationSteps):
    r"""Steps of the difference between two groups, one per cell; the weight of a cell is :math:`h = V U / (V + U)`.

    With the weights V and U of the groups in the cell, h is the weight of Mantel and Haenszel, and `deviation` is h
    times the difference of the mean responses: swapping the groups changes the sign of all deviations and nothing else.
    """

    least: Floats  # smallest score of each cell

    @property
    def lower(self) -> Floats:
        """Smallest score of each cell."""
        return self.least


def compared_steps(rows: MatchedRows, *, weighted: bool) -> ComparedSteps:
    """Sum the rows of each cell."""
    size = rows.in_cells(rows.weight)
    total = size.sum(axis=0)
    sizes = rows.ends - rows.starts
    cell = np.repeat(np.arange(len(sizes)), sizes)
    # a difference is the sum of coefficients times responses, with the signs of the groups
    both = rows.weight * (size[::-1] / total)[:, cell]
    coefficient = both.sum(axis=0)
    mean = rows.in_cells(rows.weight * rows.response).sum(axis=0) / total
    residual = rows.response - mean[cell]
    constant = np.maximum.reduceat(rows.response, rows.starts) == np.minimum.reduceat(rows.response, rows.starts)
    residual[constant[cell]] = 0.0  # exact zeros: otherwise, P-values would compare rounding errors
    squares = rows.in_cells(rows.weight.sum(axis=0) * residual**2)
    weight_sq = rows.in_cells(coefficient**2)
    pairs = total**2 - rows.in_cells((rows.weight**2).sum(axis=0))
    unbiased = np.divide(total**2, pairs, out=np.zeros_like(total), where=pairs > 0)
    variance = unbiased * squares / total * weight_sq
    deviation_sq = unbiased * rows.in_cells((coefficient * residual) ** 2)
    if variance.sum() > 0:  # the variances of the two groups may differ: their sum is that of squared residuals
        variance *= deviation_sq.sum() / variance.sum()
    second, third = LocalMoments.of_rows(rows.score, rows.response).around(rows.starts, rows.ends)
    return ComparedSteps(
        score=rows.score[rows.ends - 1],
        weight=size.prod(axis=0) / total,
        deviation=rows.in_cells((SIGNS * both).sum(axis=0) * residual),
        weight_sq=weight_sq,
        deviation_weight_sq=rows.in_cells((SIGNS * both * coefficient).sum(axis=0) * residual),
        deviation_sq=deviation_sq,
        calibrated_variance=variance,
        n_rows=sizes,
        weighted=weighted,
        difference_variance=variance,
        beyond=np.zeros_like(total),
        cell_weight=total,
        local_second=second * weight_sq,
        local_third=np.abs(third) * rows.in_cells(coefficient**3),
        least=rows.score[rows.starts],
    )


@dataclass(frozen=True, eq=False)
class MatchedBins:
    r"""Differences between the mean responses of two groups at equal scores; arrays of shape (n_bins,).

    Within a bin, the difference is weighted by the weights :math:`h = V U / (V + U)` of its cells.

    The cumulative difference is the cumulative sum of `mass` x `difference`. `mass` estimates the integral of :math:`m
    (1 - m)` over the bin, where m is the share of the first group at each score, divided by the integral of m over all
    scores for a subpopulation, and by that of :math:`m (1 - m)` for two groups. In a cell, h is too small on average,
    by the factor :math:`1 - S / W^2`, with the weight W of all rows and the sum S of the squares of their weights.
    """

    upper: Floats  # largest score
    difference: Floats
    mass: Floats
    weight: Floats  # of both groups, shape (2, n_bins)
    weight_sq: Floats  # sums of squares of weights, shape (2, n_bins)
    mean: Floats  # responses, shape (2, n_bins)
    squares: Floats  # weighted sum of squares of responses, shape (2, n_bins)
    per_variance: Floats  # variance of `difference` / that of a response of each group, shape (2, n_bins)
    further: float  # rows with which ratios of variances are shrunk
    of_both: bool  # whether two groups are compared, so that masses sum to 1

    def noise(self, difference: Floats) -> tuple[Floats, float]:
        """Return the variance of `difference` given smoother differences, and the standard deviation of a response.

        Variances are those of responses around their smoother means. They are averaged over neighbouring bins, because
        a bin with few rare outcomes would have a small variance and a small difference. The ratio of each group to this
        average over both groups is first that of all bins, shrunk to 1, then that of neighbouring bins, shrunk to it.
        """
        total = self.weight.sum(axis=0)
        centre = (self.weight * self.mean).sum(axis=0) / total
        mean = centre + SIGNS * self.weight[::-1] / total * difference
        around = np.maximum(self.squares - 2 * mean * self.weight * self.mean + mean**2 * self.weight, 0.0)
        # responses without noise have rounding errors only
        whole = max(float(around.sum()), 1e-12 * float(self.squares.sum()), 1e-250) / float(total.sum())
        rows = (self.weight**2 / self.weight_sq).sum(axis=0)
        place = np.cumsum(rows) - rows / 2
        width = max(ROWS_OF_KERNEL, SHARE_OF_KERNEL * float(rows.sum()))
        kernel = np.exp(-0.5 * ((place[:, None] - place) / width) ** 2)
        of_bin = np.maximum(kernel @ around.sum(axis=0) / (kernel @ total), 1e-3 * whole)
        ratio = np.ones_like(around)
        for average in (np.ones_like(kernel), kernel):
            rows = (self.weight @ average) ** 2 / (self.weight_sq @ average**2)
            of_group = (around @ average) / ((self.weight * of_bin) @ average)
            ratio = (rows * of_group + self.further * ratio) / (rows + self.further)
        return (self.per_variance * ratio).sum(axis=0) * of_bin, whole**0.5

    def draw_masses(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw `mass` of the population by the Bayesian bootstrap of the rows; shape (n_draws, n_bins)."""
        rows = self.weight**2 / self.weight_sq
        weights = rng.standard_gamma(rows, (n_draws, *rows.shape)) * (self.weight / rows)
        # the mean of a harmonic mean of Gamma variables a and b is too small by the factor 1 - 1 / (a + b + 1)
        unbiased = self.mass * (1 + 1 / rows.sum(axis=0))
        mass = unbiased * _harmonic(weights) / _harmonic(self.weight)
        whole = mass.sum(axis=1) if self.of_both else weights[:, 0].sum(axis=1) / self.weight[0].sum()
        return mass / whole[:, None]


def _harmonic(weight: Floats) -> Floats:
    first, second = np.moveaxis(weight, -2, 0)
    return np.asarray(first * second / (first + second))


def matched_bins(rows: MatchedRows, *, of_both: bool) -> MatchedBins:
    """Join cells to bins of nearly equal weight; the mass of both groups, or of all rows of the first, is the unit."""
    size, sums = rows.in_cells(rows.weight), rows.in_cells(rows.weight * rows.response)
    square, squares = rows.in_cells(rows.weight**2), rows.in_cells(rows.weight * rows.response**2)
    total, harmonic = size.sum(axis=0), _harmonic(size)
    pairs = 2 * size.prod(axis=0) + np.maximum(size**2 - square, 0.0).sum(axis=0)
    reached = np.cumsum(harmonic)
    place = np.ceil(reached / reached[-1] * BINS - 1e-9)
    begins = np.flatnonzero(np.append(True, place[1:] != place[:-1]))

    def in_bins(values: Floats) -> Floats:
        return np.add.reduceat(values, begins, axis=-1)

    group, of_bin, each = in_bins(size), in_bins(harmonic), harmonic / size
    mass = in_bins(harmonic * total**2 / pairs)
    residual = rows.response - np.repeat(sums.sum(axis=0) / total, rows.ends - rows.starts)
    return MatchedBins(
        upper=rows.score[rows.ends[np.append(begins[1:], len(total)) - 1] - 1],
        difference=in_bins(harmonic * (sums[0] / size[0] - sums[1] / size[1])) / of_bin,
        mass=mass / (mass.sum() if of_both else size[0].sum() / (1 - rows.left_out[0])),
        weight=group,
        weight_sq=in_bins(square),
        mean=in_bins(sums) / group,
        squares=in_bins(squares),
        per_variance=in_bins(each**2 * square) / of_bin**2,
        further=further_rows(residual, rows.weight.sum(axis=0), PER_KURTOSIS),
        of_both=of_both,
    )
