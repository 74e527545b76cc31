"""Cells that are narrow relative to the probabilities in them: their moments give the sums of bins and of losses."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Indices, Ints
from bayescal._float_bits import FIRST, FLOOR, MASK, PER_OCTAVE, SHIFT
from bayescal.stats.sums import sums_at

OCTAVES = 15  #: Octaves of cells between `FLOOR` and 1/2.
BASE = int(FIRST - 2.0**52)  #: Number of the cell below `FLOOR`, in the bits of a float64.
N_CELLS = OCTAVES * PER_OCTAVE + 2  #: Cells for u in [0, 1/2].
NARROW = 2.0**-13  #: Least width of bins whose deviations follow from offsets in cells without loss of digits.
MOST = 4  #: Fields without weights: sums of 1, d, d^2, d^3; with weights, those of w d^i, 1 and w^2.


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of rows by outcome z, side of 1/2, size of u = min(c, 1 - c), and bin.

    The sums of 1, d, d^2 and d^3 of a cell, where d is the offset of u from the lower end of the cell, give the sums of
    deviations from the middle of a bin and of their squares exactly. Those of the squares of squared errors, of the log
    losses and of their squares are sums of cubic polynomials: Taylor polynomials of order 4 about the centre of the
    cell, in which x^4 is replaced by x^2 - 1/8 on [-1, 1], whose error is 1/8. As cells are narrow, 1/64 of u, the
    largest error of a log loss is (1/128)^4 / 32 = 1.2e-10, that of its square 7e-10 times the larger of 1 and the log
    loss, and that of the square of a squared error 2e-12. Losses of less likely outcomes than `FLOOR` are exact.

    Cells are numbered by the exponent and the first six bits of the fraction of u. Bins are monotone in u on each side
    of 1/2, so the number of the cell plus that of the bin, counted from the side, is different for each pair of them.
    """

    edges: Floats  # (M + 1,) first confidence of each bin, and 1
    middle: Floats  # (M,) midpoints of the bins

    @property
    def each(self) -> int:
        """Number Q of places for one outcome and one side."""
        return N_CELLS + len(self.middle) - 1

    @cached_property
    def starts(self) -> Floats:
        """Smallest u of each bin counted from the side of 0, and from the side of 1; shape (2, M)."""
        return np.stack([self.edges[:-1], (1.0 - self.edges[:0:-1])])

    @cached_property
    def narrow(self) -> bool:
        """Whether offsets are from the start of the bin where it is nearer, since bins are much narrower than cells."""
        return bool(np.diff(self.edges).min() < NARROW)

    @property
    def arguments(self) -> tuple[Floats, bool, int]:
        """Arguments of compiled loops."""
        return self.starts, self.narrow, self.each

    def place(self, confidence: Floats, outcome: Array, index: Indices) -> tuple[Indices, Floats, Indices]:
        """Return the place of each row and its offset d, and the rows whose outcome has a probability below `FLOOR`."""
        other = 1.0 - confidence
        right, small = confidence > other, np.zeros(0, np.intp)
        u = np.abs(np.minimum(confidence, other, out=other), out=other)
        cell, low = u.view(np.uint64) >> SHIFT, (u.view(np.uint64) & MASK).view(np.float64)
        if u.min(initial=1.0) < FLOOR:
            below = u < FLOOR
            low[below] = 0.0
            small = np.flatnonzero(below & (outcome.astype(bool) != right))
        place = np.multiply(right, len(self.middle) - 1 - 2 * index)  # bins from the side of 1
        place += index
        if self.narrow:
            np.maximum(low, self.starts[right.astype(np.intp), place], out=low)
        u -= low
        place += np.maximum(cell, np.uint64(BASE), out=cell).view(np.int64)
        place += np.multiply(right, self.each)
        place += outcome.astype(np.intp) * (2 * self.each)
        place -= BASE
        return place, u, small

    def sums(self, moments: Floats, logs: Floats) -> Floats:
        """Return sums by outcome and bin, shape (2 M, 8), see `stats._kernel.FIELDS`, from sums by cell.

        `logs` are the sums of logarithms and of their squares of rows with probabilities below `FLOOR`, shape (2 M, 2).
        """
        weighted = moments.shape[1] > MOST
        at = np.flatnonzero(moments[:, MOST if weighted else 0])
        moments = moments[at]
        quadrant, number = np.divmod(at, self.each)
        one, right = quadrant >> 1, quadrant & 1
        cell = np.where(right, *(np.searchsorted(each, number, side="right") - 1 for each in self._first[::-1]))
        number -= cell
        bin_of = np.where(right, len(self.middle) - 1 - number, number)
        low = ENDS[cell]
        start = np.maximum(low, self.starts[right, number]) if self.narrow else low
        m0, m1, m2, m3 = moments[:, :MOST].T
        sign, shift = np.where(right, -1.0, 1.0), np.where(right, 1.0 - start, start) - self.middle[bin_of]
        deviation = sign * m1 + shift * m0
        deviation_sq = np.maximum(m2 + shift * (2 * sign * m1 + shift * m0), 0.0)  # rounding
        # moments about the centre of the cell; of that below FLOOR, about 0
        half = np.where(cell > 0, (ENDS[cell + 1] - low) / 2, 0.0)
        t = start - low - half
        central = np.stack([m0, m1 + t * m0, m2 + t * (2 * m1 + t * m0), m3 + t * (3 * m2 + t * (3 * m1 + t * m0))])
        likely = one == right
        squares, log, log_sq = (_polynomial(low + half, half, likely) * central).sum(axis=1)
        rare = (cell == 0) & ~likely
        squares[(cell == 0) & likely] = FLOOR * central[3][(cell == 0) & likely]
        log[rare], log_sq[rare] = 0.0, 0.0
        rows, *of_weights = (moments[:, MOST], m0, moments[:, MOST + 1]) if weighted else (m0, 0 * m0, 0 * m0)
        fields = rows, deviation, deviation_sq, squares, log, log_sq, *of_weights
        size = 2 * len(self.middle)
        result = np.stack([sums_at(one * len(self.middle) + bin_of, field, size) for field in fields], axis=1)
        result[:, 4:6] += logs
        return result

    @cached_property
    def _first(self) -> Ints:
        """First place of each cell on either side, shape (2, N_CELLS): its number and that of the bin of its end."""
        number, inner = np.arange(N_CELLS), self.edges[1:-1]
        left = np.searchsorted(inner, ENDS[:-1], side="right")
        right = len(inner) - np.searchsorted(inner, 1 - ENDS[:-1], side="right")
        return np.stack([number + left, number + right])


def _ends() -> Floats:
    """Return the lower end of each cell, and the upper end of the last."""
    bits = (np.arange(N_CELLS + 1, dtype=np.uint64) + np.uint64(BASE)) << SHIFT
    ends = bits.view(np.float64).copy()
    ends[0], ends[-1] = 0.0, 0.5  # the last cell is 1/2
    return ends


ENDS = _ends()  #: Lower end of each cell, and the upper end of the last; shape (N_CELLS + 1,).


def _polynomial(centre: Floats, half: Floats, likely: Bools) -> Floats:
    """Return coefficients of cubic polynomials in u - centre, shape (3, 4, n): of e^4, log p, and its square.

    p is the probability of the outcome and e = 1 - p; with `likely` outcomes, e is u, otherwise p is.
    """
    sign = np.where(likely, -1.0, 1.0)
    e, p = np.where(likely, centre, 1.0 - centre), np.where(likely, 1.0 - centre, centre)
    p[p == 0] = 1.0  # logarithms below `FLOOR` are computed one by one
    log, s = np.where(likely, np.log1p(-centre), np.log(p)), sign / p
    a, b, c, d = s, -(s**2) / 2, s**3 / 3, -(s**4) / 4
    e4 = [e**4, -sign * 4 * e**3, 6 * e**2, -sign * 4 * e, np.ones_like(e)]
    logs = [log, a, b, c, d]
    squares = [log**2, 2 * log * a, 2 * log * b + a**2, 2 * (log * c + a * b), 2 * (log * d + a * c) + b**2]
    return np.stack([_cubic(each, half) for each in (e4, logs, squares)])


def _cubic(taylor: list[Floats], half: Floats) -> Floats:
    """Return a polynomial of order 4 without its last term, x^4, which becomes h^2 x^2 - h^4 / 8."""
    zero, one, two, three, four = taylor
    return np.stack([zero - four * half**4 / 8, one, two + four * half**2, three])
