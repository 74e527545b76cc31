"""Ranks: weights by outcome on a fine grid of confidences, which give the area under the ROC curve. Frozen, addable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayescal._arrays import Array, Floats, Ints
from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.frozen import Frozen
from bayescal.stats.sums import effective_number, sums_at

#: Grids that are not bins: each distinct confidence is a cell, or the cells of `fine_cell`.
VALUES, FINE = "values", "fine"
EXACT_ROWS = 2**17  #: Maximum number of rows, and of distinct confidences, for a grid of values: 3 MB.
#: The cells of the fine grid have relative widths of 2^-10 of the smaller one of confidence and 1 - confidence, down to
#: 2^-30: a float32 without its last 13 bits. The first one is the integer at 2^-30, the last one that at 1/2.
DROPPED, SMALLEST = 13, 2.0**-30
FIRST, HALF = (int(np.float32(c).view(np.int32)) >> DROPPED for c in (SMALLEST, 0.5))
SIDE = HALF - FIRST + 1
FINE_CELLS = 2 * SIDE
CHUNK = 32_768  #: Rows per chunk, so that temporary arrays stay in the second-level cache.
ROUNDING = 1e-12  #: Influences of rows closer than this are equal, as those of two names of one classifier.


@dataclass(frozen=True, eq=False)
class Ranks(Frozen):
    """Weights of the rows by outcome in the occupied cells of a grid of confidences.

    Rows of one cell count as ties. If every distinct confidence is a cell, the area under the ROC curve is exact;
    otherwise `grid_error` bounds its error. `design_effect` is the factor by which the variance of the area exceeds
    that of independent rows; None without clusters and for sums, because placements refer to all rows.
    """

    grid: Bins | str  # bins, or `VALUES`: every distinct confidence, or `FINE`
    position: Array  # (n_cells,) increasing: confidences of a grid of values; otherwise numbers of occupied cells
    weight: Floats  # (2, n_cells) sum of w of the rows with outcome 0 and 1
    weight_sq: Floats  # (2, n_cells) sum of w^2
    design_effect: float | None = None
    by_cluster: Any = None  # (n_clusters, 2 n_cells) sums of w of each cluster by outcome and cell, sparse

    def __repr__(self) -> str:
        return f"Ranks({len(self.position)} cells, grid error {self.grid_error:.2g})"

    @classmethod
    def of_rows(cls, confidence: Array, outcome: Array, weight: Array | None = None) -> "Ranks":
        """Sum rows, validated up to rounding: on a grid of values up to 2^17 rows, and on the fine grid beyond."""
        if len(confidence) > EXACT_ROWS:
            return cls(FINE, *_of_fine_codes(_fine_codes(confidence, outcome), weight))
        values = _clipped(confidence)
        if weight is not None:
            distinct, cell = np.unique(values, return_inverse=True)
            of_row = cell + len(distinct) * outcome.astype(np.int64)
            cells, sums, squares = _summed(of_row, len(distinct), weight, _squared(weight))
            return cls(VALUES, distinct[cells], sums, squares)
        # the bits of floats >= 0, read as integers, have the order of the floats; the last bit is free for the outcome
        code = values.view(np.uint64) << np.uint64(1)
        code |= outcome.astype(np.uint64)
        code.sort()
        ones = np.cumsum(code & np.uint64(1), dtype=np.int64)
        code >>= np.uint64(1)
        last = np.flatnonzero(np.append(code[1:] != code[:-1], True))
        rows, of_one = np.diff(last, prepend=-1), np.diff(ones[last], prepend=0)
        numbers = np.stack([rows - of_one, of_one])
        return cls(VALUES, code[last].view(np.float64), numbers, numbers)

    @classmethod
    def of_bins(cls, bins: Bins, weight: Floats, weight_sq: Floats) -> "Ranks":
        """Use bins as the grid, given sums of weights, shape (2, n_bins), and of squared weights, shape (n_bins,)."""
        occupied = np.flatnonzero(weight.sum(axis=0) > 0)
        inside = weight[:, occupied]
        return cls(bins, occupied, inside, inside / inside.sum(axis=0) * weight_sq[occupied])

    def cell_of(self, confidence: Array) -> Ints:
        """Return the index of the cell of each confidence that was counted; any index for rows of weight 0."""
        if isinstance(self.grid, str) and self.grid == VALUES:
            values = _clipped(confidence)
            order = np.argsort(values)  # a search for values in order is several times faster
            cell = np.empty(len(values), np.int64)
            cell[order] = np.searchsorted(self.position, values[order])
            return np.minimum(cell, len(self.position) - 1, out=cell)
        number = np.zeros(len(self.grid) if isinstance(self.grid, Bins) else FINE_CELLS, np.int64)
        number[self.position.astype(np.int64)] = np.arange(len(self.position))
        return number[_positions(confidence, self.grid)]

    @property
    def lower(self) -> Floats:
        """Lower end of each cell, shape (n_cells,): rows in lower cells are smaller, also as float32."""
        if isinstance(self.grid, Bins):
            return self.grid.starts_as(np.dtype(np.float64))[self.position]
        return np.asarray(self.position) if self.grid == VALUES else _fine_lower(self.position)

    @property
    def middle(self) -> Floats:
        """Middle of each cell, shape (n_cells,); the confidence itself on a grid of values."""
        if isinstance(self.grid, Bins):
            return (self.grid.edges[self.position] + self.grid.edges[self.position + 1]) / 2
        if self.grid == VALUES:
            return np.asarray(self.position)
        return (_fine_lower(self.position) + _fine_lower(self.position + 1)) / 2

    @property
    def total(self) -> Floats:
        """Weight of the rows with outcome 0 and 1, shape (2,)."""
        return self.weight.sum(axis=1)

    @property
    def both_outcomes(self) -> bool:
        """Whether there are rows of positive weight with outcome 0, and with outcome 1."""
        return bool((self.total > 0).all())

    @property
    def rows(self) -> Floats:
        """Effective number of rows (Kish) with outcome 0 and 1, shape (2,)."""
        squares = self.weight_sq.sum(axis=1)
        return np.divide(self.total**2, squares, out=np.zeros(2), where=squares > 0)

    @cached_property
    def placements(self) -> Floats:
        """Placements of the rows of each cell, shape (2, n_cells).

        The placement of a row with outcome 1 is the share of rows with outcome 0 below it; that of a row with outcome 0
        is the share of rows with outcome 1 above it. Ties count half.
        """
        of_zero, of_one = (self.weight.cumsum(axis=1) - self.weight / 2) / self.total[:, None]
        return np.stack([1 - of_one, of_zero])

    @cached_property
    def auc(self) -> float:
        """Area under the ROC curve: the mean placement of the rows with outcome 1."""
        return float(self.placements[1] @ self.weight[1] / self.total[1])

    @cached_property
    def spread(self) -> Floats:
        """Variance of the placements of the rows with outcome 0 and 1 (divisor n), shape (2,)."""
        return (self.weight * (self.placements - self.auc) ** 2).sum(axis=1) / self.total

    @cached_property
    def sampling_spread(self) -> Floats:
        r"""Variance of the placements that, divided by `rows`, is the variance of their weighted mean, shape (2,).

        The weighted mean of the placements :math:`v_i` has the variance :math:`\sum w_i^2 (v_i - A)^2 / (\sum w_i)^2`.
        With Kish's numbers :math:`(\sum w_i)^2 / \sum w_i^2`, this is the variance of the placements weighted by
        :math:`w_i^2`. It equals `spread` if weights do not depend on the placement. A few heavy rows attract the mean
        and lie close to it, which makes this variance too small; therefore the larger of the two is returned.
        """
        squares, total = self.weight_sq.sum(axis=1), (self.weight_sq * (self.placements - self.auc) ** 2).sum(axis=1)
        return np.maximum(np.divide(total, squares, np.zeros(2), where=squares > 0), self.spread)

    @cached_property
    def grid_error(self) -> float:
        """Largest possible difference between `auc` and the area without the grid: half of the share of tied pairs."""
        if isinstance(self.grid, str) and self.grid == VALUES:
            return 0.0
        return float(np.prod(self.weight / self.total[:, None], axis=0).sum() / 2)

    @cached_property
    def influences(self) -> Floats:
        """Influence of a row of each outcome and cell on the area, shape (2, n_cells); their weighted mean is 0."""
        share = self.total / self.total.sum()
        return (self.placements - self.auc) / share[:, None]

    @cached_property
    def risk_influences(self) -> Floats:
        """Influence of a row of each outcome and cell on the AUGRC, (2, n_cells), see `bayescal.estimands.augrc`.

        The AUGRC is the share of ordered pairs of rows whose first one is wrong and more confident; ties count half.
        """
        wrong, mass = self.weight[0] / self.total.sum(), self.weight.sum(axis=0) / self.total.sum()
        below, above = mass.cumsum() - mass / 2, wrong[::-1].cumsum()[::-1] - wrong / 2
        influence = np.stack([below + above, above])
        return np.asarray(influence - (influence * self.weight).sum() / self.total.sum())

    def influence_variance(self, influences: str = "influences") -> float:
        """Variance of the influences over rows; see `correlation_of_areas`."""
        return float((self.weight * getattr(self, influences) ** 2).sum() / self.total.sum())

    def in_clusters(
        self, confidence: Array, outcome: Array, weight: Array | None, of_row: Ints, *, hold: bool = False
    ) -> "Ranks":
        """Return these ranks with the design effect of clusters; with `hold`, and the rows of each cluster."""
        ranks, weights = self, np.ones(len(confidence)) if weight is None else weight.astype(np.float64)
        if hold:
            from scipy.sparse import csr_array

            place = self.cell_of(confidence) + len(self.position) * outcome.astype(np.int64)
            shape = (int(of_row.max()) + 1, 2 * len(self.position))
            ranks = replace(self, by_cluster=csr_array((weights, (of_row, place)), shape=shape))
        if not self.both_outcomes:
            return ranks
        at = self.cell_of(confidence) + len(self.position) * outcome.astype(np.int64)
        influence = weights * self.influences.ravel()[np.where(weights > 0, at, 0)]  # 0 for rows of weight 0
        return ranks.with_clusters(influence, weights, of_row)

    def with_clusters(self, influence: Floats, weight: Floats, of_row: Ints) -> "Ranks":
        r"""Return these ranks with the design effect of clusters, given the influence of each row, times its weight.

        With the influence :math:`h_i` of each row on the area, up to a constant factor, the variance over clusters is
        :math:`\frac{J}{J - 1} \sum_j (\sum_{i \in j} w_i h_i)^2 / (\sum w_i)^2` (N. A. Obuchowski 1997, "Nonparametric
        analysis of clustered ROC curve data", Biometrics 53, 567-578), and that over independent rows :math:`\sum (w_i
        h_i)^2 / (\sum w_i)^2`. J is the effective number of clusters. The ratio is multiplied by the squared ratio of
        the 97.5 % quantiles of the Student t distribution with J - 1 degrees of freedom and of the Normal one.
        """
        from scipy.special import ndtri, stdtrit

        size = sums_at(of_row, weight)
        number = effective_number(weight, size @ size)
        squares = float(influence @ influence)
        if squares == 0 or number <= 1 + ROUNDING:
            return replace(self, design_effect=1.0 if squares == 0 else np.inf)
        by_cluster = sums_at(of_row, influence)
        ratio = float(by_cluster @ by_cluster) / squares * number / (number - 1)
        return replace(self, design_effect=ratio * float(stdtrit(max(number - 1, 1.0), 0.975) / ndtri(0.975)) ** 2)

    def coarser(self, grid: Bins | str) -> "Ranks":
        """Move a grid of values to bins or to the fine grid."""
        n_cells = len(grid) if isinstance(grid, Bins) else FINE_CELLS
        cell, outcome = np.tile(_positions(self.position, grid), 2), np.repeat([0, 1], len(self.position))
        cells, sums, squares = _summed(cell + n_cells * outcome, n_cells, self.weight.ravel(), self.weight_sq.ravel())
        return Ranks(grid, cells, sums, squares)


def add_ranks(one: Ranks | None, other: Ranks | None) -> Ranks | None:
    """Add the ranks of two batches on the coarser one of their grids; None if the grids cannot be combined."""
    if one is None or other is None:
        return None
    if one.grid != other.grid:
        if one.grid == VALUES:
            one = one.coarser(other.grid)
        elif other.grid == VALUES:
            other = other.coarser(one.grid)
        else:
            return None
    position, cell = np.unique(np.concatenate([one.position, other.position]), return_inverse=True)
    weight, weight_sq = (
        np.stack([sums_at(cell, of_outcome, len(position)) for of_outcome in np.concatenate(pair, axis=1)])
        for pair in ((one.weight, other.weight), (one.weight_sq, other.weight_sq))
    )
    ranks = Ranks(one.grid, position, weight, weight_sq)
    return ranks.coarser(FINE) if ranks.grid == VALUES and len(position) > EXACT_ROWS else ranks


def correlation_of_areas(
    sides: Sequence[tuple[Ranks, Array, Array]], weight: Array | None, *, influences: str, of_row: Ints | None = None
) -> float:
    r"""Correlation of the influences of rows on the areas of two classifiers; 1 if all influences are equal.

    If all influences are 0, as those of two classifiers that both separate the outcomes, it is 1 for the same order of
    rows and 0 otherwise: the rows do not show that the areas are equal.

    `influences` is their name in `Ranks`: `influences` or `risk_influences`. `sides` holds, for each classifier, its
    ranks, and the outcome and the cell of each row, or group of rows, whose weights are then the roots of their sums of
    squared weights. With clusters `of_row`, it is the correlation of sums over clusters. With the influences
    :math:`g_i` and :math:`h_i` of the rows on both areas, the covariance of the areas is :math:`\sum w_i^2 g_i h_i /
    (\sum w_i)^2`.
    """
    one, other = (
        getattr(ranks, influences).ravel()[cell + len(ranks.position) * outcome.astype(np.int64)]
        for ranks, outcome, cell in sides
    )
    if max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0)) <= ROUNDING:  # all right, or separated
        (_, outcomes, cells), (_, others, cells_of_other) = sides
        return float(np.array_equal(outcomes, others) and np.array_equal(cells, cells_of_other))
    if np.abs(one - other).max(initial=0.0) <= ROUNDING:
        return 1.0
    if weight is not None:
        one, other = one * weight, other * weight
    if of_row is not None:
        one, other = sums_at(of_row, one), sums_at(of_row, other)
    squares = (one @ one) * (other @ other)
    return float(one @ other / np.sqrt(squares)) if squares > 0 else 0.0


def _clipped(confidence: Array) -> Floats:
    """Convert to float64 in [0, 1] without -0.0; rows may lie outside by rounding."""
    return np.clip(confidence.astype(np.float64), 0.0, 1.0) + 0.0


def _positions(confidence: Array, grid: Bins | str) -> Array:
    if isinstance(grid, Bins):
        return bin_index(confidence, grid)
    return _clipped(confidence) if grid == VALUES else fine_cell(confidence)


def fine_cell(confidence: Array) -> Ints:
    """Find the cell of the fine grid of each confidence; cells are in the order of confidences."""
    code = _fine_codes(confidence, np.zeros(len(confidence), bool))
    return np.where(code < SIDE, code, FINE_CELLS + SIDE - 1 - code)


def _fine_lower(position: Array) -> Floats:
    """Return the lower end of cells of the fine grid."""
    above = position >= SIDE
    code = FIRST + np.where(above, FINE_CELLS - position, position)
    width = (code << DROPPED).astype(np.int32).view(np.float32).astype(np.float64)
    # above 1/2, cells do not contain their lower end: the next float32, or float64 if the cell has no other float32
    inside = 1 - width + 2.0**-23 * np.where(width > 2.0**-14, 0.5, width)
    return np.where(above, np.maximum(inside, 0.5), np.where(position == 0, 0.0, width))


def _fine_codes(confidence: Array, outcome: Array) -> Ints:
    """Number the cells by their distance from 0 or 1, plus SIDE above 1/2, plus FINE_CELLS for outcome 1."""
    code = np.empty(len(confidence), np.int64)
    size = min(CHUNK, len(code))
    offset, nearest, side = np.empty(size), np.empty(size, np.float32), np.empty(size, np.int32)
    for start in range(0, len(code), CHUNK):
        rows = slice(start, start + CHUNK)
        part = slice(0, len(code[rows]))  # the last chunk may be shorter
        d, m, s = offset[part], nearest[part], side[part]
        np.subtract(confidence[rows], 0.5, out=d, casting="unsafe")
        np.multiply(d >= 0, np.int32(SIDE), out=s)
        np.abs(d, out=d)
        np.subtract(0.5, d, out=m, casting="same_kind")
        np.maximum(m, np.float32(SMALLEST), out=m)
        bits = m.view(np.int32)
        bits >>= DROPPED
        bits -= FIRST
        bits += s
        np.multiply(outcome[rows], np.int32(FINE_CELLS), out=s, casting="unsafe")
        np.add(bits, s, out=code[rows])
    return code


def _of_fine_codes(code: Ints, weight: Array | None) -> tuple[Ints, Floats, Floats]:
    """Sum weights by code: the cells of positive weight in the order of confidences, and their sums; see `_summed`."""
    each = [_by_outcome(code, weight, FINE_CELLS)]
    if weight is not None:
        each.append(_by_outcome(code, _squared(weight), FINE_CELLS))
    ordered = [np.concatenate([sums[:, :SIDE], sums[:, : SIDE - 1 : -1]], axis=1) for sums in each]
    return _occupied(ordered[0], ordered[-1])


def _summed(code: Ints, n_cells: int, weight: Array, weight_sq: Array) -> tuple[Ints, Floats, Floats]:
    """Sum weights by cell plus `n_cells` for outcome 1."""
    return _occupied(*(_by_outcome(code, values, n_cells) for values in (weight, weight_sq)))


def _by_outcome(code: Ints, values: Array | None, n_cells: int) -> Array:
    return sums_at(code, values, 2 * n_cells).reshape(2, n_cells)


def _occupied(weight: Array, weight_sq: Array) -> tuple[Ints, Floats, Floats]:
    cells = np.flatnonzero(weight.any(axis=0))
    return cells, weight[:, cells].astype(np.float64), weight_sq[:, cells].astype(np.float64)


def _squared(weight: Array) -> Floats:
    return np.asarray(weight.astype(np.float64) ** 2)
