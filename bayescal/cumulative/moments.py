"""Moments of responses: of ranges of weighted rows, and around a score, for the tails of sums over few rows.

Relative errors of the moments of a range do not depend on the rows outside of it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Bools, Floats, Indices

#: Relative rounding error of a difference of cumulative sums above which a range is summed by blocks.
TOLERANCE = 1e-12
NEIGHBOURS = 25  #: Rows on each side whose mean is subtracted from a response.
#: Moments are means over a range of rows and this share of all rows on each side, but at least this number of rows.
SHARE, LEAST = 0.01, 100


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of disjoint sets of rows; arrays of one shape."""

    weight: Floats  # sum of w
    weight_sq: Floats  # sum of w^2
    mean: Floats  # weighted mean of the values; 0 without rows
    squares: Floats  # sum of w (value - mean)^2
    pairs: Floats  # sum over pairs of different rows of w w', (sum w)^2 - sum w^2

    @classmethod
    def of_rows(cls, weight: Floats, value: Floats) -> Self:
        """Return the moments of single rows."""
        return cls(weight, weight**2, value, np.zeros_like(weight), np.zeros_like(weight))

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, at: Indices | slice) -> Self:
        return type(self)(*(values[at] for values in vars(self).values()))

    def put(self, at: Bools, other: "Moments") -> None:
        """Replace the moments of some sets."""
        for name, values in vars(self).items():
            values[at] = getattr(other, name)

    def __add__(self, other: "Moments") -> "Moments":
        """Join pairs of sets, without differences of large numbers [1]_.

        References
        ----------
        .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque (1983), "Algorithms for computing the sample variance: analysis
           and recommendations", The American Statistician 37, 242-247.
        """
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        difference = other.mean - self.mean
        mean = np.where(self.weight > 0, self.mean + share * difference, other.mean)
        squares = self.squares + other.squares + share * self.weight * difference**2
        pairs = self.pairs + other.pairs + 2 * self.weight * other.weight
        return Moments(weight, self.weight_sq + other.weight_sq, mean, squares, pairs)


def moments_of_ranges(rows: Moments, begin: Indices, end: Indices) -> Moments:
    """Sum rows from `begin` to before `end`, in blocks of 1, 2, 4, ... rows; zeros for empty ranges."""
    zeros = [np.zeros(len(begin)) for _ in range(5)]
    total, begin, end, blocks = Moments(*zeros), begin.copy(), end.copy(), rows
    while (left := begin < end).any():
        odd = left & (begin % 2 == 1)
        total.put(odd, total[odd] + blocks[begin[odd]])
        begin[odd] += 1
        odd = (begin < end) & (end % 2 == 1)
        end[odd] -= 1
        total.put(odd, total[odd] + blocks[end[odd]])
        begin //= 2
        end //= 2
        whole = len(blocks) // 2 * 2
        blocks = blocks[0:whole:2] + blocks[1:whole:2]  # a last odd block is never the first half of a longer one
    return total


def split_moments(
    rows: Moments, ranges: tuple[Indices, Indices, Indices, Indices], constant: Bools
) -> tuple[Moments, Moments]:
    """Return the moments of members and of others in cells of sorted rows, whose members stand together.

    Rows have positive weight. `ranges` are the first row of each cell, the first member, the row after the last member,
    and the row after the last one of the cell; `constant` marks cells of equal values, whose squares need not be
    accurate. The moments are differences of cumulative sums over all rows, in extended precision if the processor has
    it. Their rounding errors are those of all rows before the end of the cell; where they can be seen, the cell is
    summed by blocks.
    """
    low, begin, end, high = ranges
    products = rows.weight, rows.weight_sq, rows.weight * rows.mean, rows.weight * rows.mean**2
    sums = [np.concatenate([[0], np.cumsum(each, dtype=np.longdouble)]) for each in products]
    members = _of_sums([each[end] - each[begin] for each in sums])
    single = end - begin == 1
    members.put(single, rows[begin[single]])
    others = _of_sums([each[begin] - each[low] + (each[high] - each[end]) for each in sums])
    unit = float(np.finfo(np.longdouble).eps)
    doubtful = _doubtful(members, others, [unit * each[high].astype(np.float64) for each in sums], constant)
    doubtful &= high - low > end - begin
    if doubtful.any():
        low, begin, end, high = (each[doubtful] for each in ranges)
        members.put(doubtful, moments_of_ranges(rows, begin, end))
        others.put(doubtful, moments_of_ranges(rows, low, begin) + moments_of_ranges(rows, end, high))
    return members, others


def _of_sums(sums: list[NDArray[np.longdouble]]) -> Moments:
    weight, weight_sq, first, second = sums
    mean = np.divide(first, weight, out=np.zeros_like(weight), where=weight > 0)
    numbers = weight, weight_sq, mean, np.maximum(second - mean * first, 0), np.maximum(weight**2 - weight_sq, 0)
    return Moments(*(each.astype(np.float64) for each in numbers))


def _doubtful(members: Moments, others: Moments, errors: list[Floats], constant: Bools) -> Bools:
    """Return whether rounding errors of cumulative sums of this size can be seen in the numbers of a cell."""
    cell = members + others
    weight, weight_sq, _, second = errors
    spread = np.sqrt(np.divide(cell.squares, cell.weight))
    of_rows = np.finfo(np.float64).eps * (members.weight**2 + others.weight**2)
    return (
        (weight > TOLERANCE * np.minimum(members.weight, others.weight))
        | (weight_sq > TOLERANCE * np.minimum(members.weight_sq, others.weight_sq))
        | (of_rows > TOLERANCE * cell.pairs)
        | (~constant & (second > TOLERANCE * cell.squares))
        | (~constant & (np.sqrt(weight * second) > TOLERANCE * others.weight * spread))
    )


@dataclass(frozen=True, eq=False)
class LocalMoments:
    """Cumulative sums over rows in the order of their scores.

    Moments are in units of the root mean square difference of a response from its neighbours.
    """

    second: Floats  # sums of estimates of the second central moment of each response, shape (n_rows + 1,)
    third: Floats  # the same of the third
    first: Indices  # first row with the same score as each row, shape (n_rows,)
    last: Indices  # row after the last one

    @classmethod
    def of_rows(cls, score: Floats, response: Floats) -> "LocalMoments":
        """Compute the moments of responses, from increasing scores.

        Rows with equal scores belong to the same ranges, whatever their order. The bias of a mean of few rows is
        removed: with m rows, expected squares are (1 - 1/m) times the variance, and cubes (1 - 1/m) (1 - 2/m) times the
        third moment.
        """
        n = len(score)
        starts = np.append(0, 1 + np.flatnonzero(score[1:] != score[:-1]))
        sizes = np.diff(starts, append=n)
        first = np.repeat(starts, sizes)
        last = np.repeat(starts + sizes, sizes)
        low = first[np.maximum(first - NEIGHBOURS, 0)]
        high = last[np.minimum(last - 1 + NEIGHBOURS, n - 1)]
        size = high - low
        sums = np.concatenate([[0], np.cumsum(response, dtype=np.longdouble)])
        residual = (response - (sums[high] - sums[low]) / size).astype(np.float64)
        unit = float(np.abs(residual).max())
        if unit > 0:  # powers of residuals can underflow
            residual /= unit
            residual /= np.sqrt(np.mean(residual**2))
        square, cube = residual**2 / np.maximum(1 - 1 / size, 0.5), residual**3
        cube *= np.where(size > 2, 1 / np.maximum((1 - 1 / size) * (1 - 2 / size), 0.2), 0.0)
        squares, cubes = (np.concatenate([[0.0], np.cumsum(each)]) for each in (square, cube))
        return cls(squares, cubes, first=first, last=last)

    def around(self, low: Indices, high: Indices) -> tuple[Floats, Floats]:
        """Return the second and the third central moment around the rows from `low` to before `high`."""
        n = len(self.first)
        more = max(LEAST, int(SHARE * n))
        low, high = self.first[np.maximum(low - more, 0)], self.last[np.minimum(high + more, n) - 1]
        size = high - low
        return (self.second[high] - self.second[low]) / size, (self.third[high] - self.third[low]) / size


def third_moment_of_difference(members: tuple[Floats, ...], others: tuple[Floats, Floats]) -> Floats:
    r"""Return the sum of the absolute cubes of the coefficients of responses in :math:`\sum_M w (r - \bar r)`.

    `members` has the sums of weights and of their cubes in each cell, `others` those of weights U and of their squares
    T; the sum of cubes of others is approximated by T^2 / U, which is exact for equal weights.
    """
    (member, member_cubes), (other, other_sq) = members, others
    total = member + other
    cubes = np.divide(other_sq, other, out=np.zeros_like(other), where=other > 0) * other_sq
    return member_cubes * (other / total) ** 3 + (member / total) ** 3 * cubes


def inverse_squared_skewness(second: Floats, third: Floats) -> Floats:
    """Return the inverse square of the skewness, second^3 / third^2; infinite without skewness."""
    skewed = third > 0
    ratio = np.divide(second, third, out=np.zeros_like(second), where=skewed)
    return np.where(skewed, ratio**2 * second, np.inf)
