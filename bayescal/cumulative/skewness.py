"""Variance and skewness of responses around a score, for the tails of sums over few rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Rows on each side whose mean is subtracted from a response.
NEIGHBOURS = 25
#: Moments are means over a range of rows and this share of all rows on each side, but at least this number of rows.
SHARE, LEAST = 0.01, 100


@dataclass(frozen=True, eq=False)
class LocalMoments:
    """Cumulative sums over rows in the order of their scores.

    `second` and `third`, shape (n_rows + 1,), sum estimates of the second and third central moment of each response, in
    units of the root mean square difference of a response from its neighbours. `first` and `last`, shape (n_rows,), are
    the first row with the same score as each row, and the row after the last one.
    """

    second: Floats
    third: Floats
    first: Indices
    last: Indices

    @classmethod
    def of_rows(cls, score: Floats, response: Floats) -> "LocalMoments":
        """Compute the moments of responses, from increasing scores.

        Rows with equal scores belong to the same ranges, whatever their order. The bias of a mean of few rows is
        removed: with m rows, expected squares are (1 - 1/m) times the variance, and cubes (1 - 1/m) (1 - 2/m) times the
        third moment.
        """
        n = len(score)
        new = np.ones(n, dtype=np.bool_)
        new[1:] = score[1:] != score[:-1]
        starts = np.flatnonzero(new)
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
        """Return the second and the third central moment around the rows from `low` to before `high`.

        Examples
        --------
        Outcomes with the probability 0.1 have the variance 0.09 and the skewness (1 - 0.2) / 0.3 = 2.67.

        >>> moments = LocalMoments.of_rows(np.arange(2000.0), (np.arange(2000) % 10 == 0) * 1.0)
        >>> second, third = moments.around(np.array([500]), np.array([501]))
        >>> (third / second**1.5).round(1)
        array([2.7])
        """
        n = len(self.first)
        more = max(LEAST, int(SHARE * n))
        low, high = self.first[np.maximum(low - more, 0)], self.last[np.minimum(high + more, n) - 1]
        size = high - low
        second = (self.second[high] - self.second[low]) / size
        third = (self.third[high] - self.third[low]) / size
        return second, third


def third_moment_of_difference(members: tuple[Floats, ...], others: tuple[Floats, Floats]) -> Floats:
    r"""Return the sum of the absolute cubes of the coefficients of responses in :math:`\sum_M w (r - \bar r)`.

    `members` has the sums of weights and of their cubes in each cell, `others` those of weights U and of their squares
    T; the sum of cubes of others is approximated by T^2 / U, which is exact for equal weights.
    """
    (own, own_cubes), (other, other_sq) = members, others
    total = own + other
    cubes = np.divide(other_sq, other, out=np.zeros_like(other), where=other > 0) * other_sq
    return own_cubes * (other / total) ** 3 + (own / total) ** 3 * cubes


def effective_number(second: Floats, third: Floats) -> Floats:
    """Return the inverse square of the skewness, second^3 / third^2; infinite without skewness."""
    skewed = third > 0
    ratio = np.divide(second, third, out=np.zeros_like(second), where=skewed)
    return np.where(skewed, ratio**2 * second, np.inf)
