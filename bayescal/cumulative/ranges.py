"""Moments of ranges of weighted rows, whose relative errors do not depend on the rows outside of a range."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Relative rounding error of a difference of cumulative sums above which a range is summed by blocks.
TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of disjoint sets of rows; arrays of one shape."""

    weight: Floats  # sum of w  # sum of w
    weight_sq: Floats  # sum of w^2  # sum of w^2
    mean: Floats  # weighted mean of the values; 0 without rows  # weighted mean of the values; 0 without rows
    squares: Floats  # sum of w (value - mean)^2  # sum of w (value - mean)^2
    pairs: Floats  # sum over pairs of different rows of w w', (sum w)^2 - sum w^2  # sum over pairs of different rows of w w', (sum w)^2 - sum w^2

    @classmethod
    def of_rows(cls, weight: Floats, value: Floats) -> Self:
        """Return the moments of single rows."""
        return cls(weight, weight**2, value, np.zeros_like(weight), np.zeros_like(weight))

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, at: Indices | slice) -> Self:
        return type(self)(*(values[at] for values in vars(self).values()))

    def put(self, at: NDArray[np.bool_], other: "Moments") -> None:
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
        return Moments(
            weight,
            self.weight_sq + other.weight_sq,
            np.where(self.weight > 0, self.mean + share * difference, other.mean),
            self.squares + other.squares + share * self.weight * difference**2,
            self.pairs + other.pairs + 2 * self.weight * other.weight,
        )


def moments_of_ranges(rows: Moments, begin: Indices, end: Indices) -> Moments:
    """Sum rows from `begin` to before `end`, in blocks of 1, 2, 4, ... rows; zeros for empty ranges.

    The weights 1, 3 and 1e20 of the values 0, 4 and 7: the first two are not lost beside the third.

    >>> rows = Moments.of_rows(np.array([1.0, 3.0, 1e20]), np.array([0.0, 4.0, 7.0]))
    >>> sums = moments_of_ranges(rows, np.array([0, 1]), np.array([2, 3]))
    >>> sums.mean, sums.squares, sums.pairs
    (array([3., 7.]), array([12., 27.]), array([6.e+00, 6.e+20]))
    """
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
    rows: Moments, ranges: tuple[Indices, Indices, Indices, Indices], constant: NDArray[np.bool_]
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


def _doubtful(
    members: Moments, others: Moments, errors: list[Floats], constant: NDArray[np.bool_]
) -> NDArray[np.bool_]:
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
