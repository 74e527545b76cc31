"""How probabilities were read: rows of a matrix that were divided by their sum, and logits of which none is above 0."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal import _rules
from bayescal._arrays import Array

MOST_DECIMALS = 6  #: Maximum number of decimals that are recognised.
#: A value has d decimals if it lies this close to a multiple of 10^-d; float32 represents it to within 3e-8.
NEAR = 1e-7
LARGEST_DEVIATION = 0.02  #: Largest deviation of a sum that is taken as rounding of the entries.
CHUNK = 2**18  #: Entries that are processed at a time.


@dataclass(frozen=True)
class Reading:
    """How the probabilities of some rows were read; the sum of two is that of all their rows."""

    divided: int = 0  # rows of a matrix that did not sum to 1 and were divided by their sum
    deviation: float = 0.0  # largest difference of their sums from 1
    not_above_half: int = 0  # rows whose probability was given as a logit <= 0
    like_probabilities: int = 0  # rows whose probability was given as a logit in [0, 1]

    def __add__(self, other: "Reading") -> "Reading":
        divided, deviation = self.divided + other.divided, max(self.deviation, other.deviation)
        logits = self.not_above_half + other.not_above_half, self.like_probabilities + other.like_probabilities
        return Reading(divided, deviation, *logits)


def reading_of(counts: Any) -> Reading:
    """Return how the probabilities of counts were read, if they say it."""
    stated = getattr(counts, "reading", None)
    return stated if isinstance(stated, Reading) else Reading()


def reading_of_logits(logit: Array) -> Reading:
    """Return the reading of one column of logits."""
    inside = np.count_nonzero((logit >= 0) & (logit <= 1))
    return Reading(not_above_half=int(np.count_nonzero(logit <= 0)), like_probabilities=int(inside))


@dataclass(frozen=True, kw_only=True)
class RowSums:
    """Sums of the rows of a matrix of probabilities, or of one block of it; the sum of two is that of all their rows.

    Rounding K entries to d decimals changes their sum by at most K/2 10^-d. Sums that differ from 1 by at most this,
    and by at most 0.02, are therefore taken as rounding, and the rows are divided by their sum.
    """

    n_classes: int  # K
    decimals: int  # the fewest decimals, 1 to 6, that all entries have; 7 if they have more
    deviation: float  # largest difference of a sum from 1
    off: int  # rows whose sum differs from 1 by more than `precision`
    tolerance: float  # difference that is accepted without division
    precision: float  # difference that the type of the entries explains

    @classmethod
    def of(cls, matrix: Array) -> "RowSums":
        """Sum the rows of a matrix whose entries lie in [0, 1]."""
        deviation = np.abs(_sums(matrix) - 1)
        explained = precision(matrix.shape[1], matrix.dtype)
        return cls(
            n_classes=matrix.shape[1],
            decimals=_decimals(matrix),
            deviation=float(deviation.max(initial=0.0)),
            off=int(np.count_nonzero(deviation > explained)),
            tolerance=_rules.row_sum_tolerance(matrix.dtype),
            precision=explained,
        )

    def __add__(self, other: "RowSums") -> "RowSums":
        names = ("decimals", "deviation", "tolerance", "precision")
        largest = {name: max(getattr(self, name), getattr(other, name)) for name in names}
        return replace(self, off=self.off + other.off, **largest)

    @property
    def largest(self) -> float:
        """Largest difference from 1 that is accepted."""
        if self.decimals > MOST_DECIMALS:
            return self.tolerance
        rounding = min(self.n_classes / 2 * 10.0**-self.decimals, LARGEST_DEVIATION) + self.precision
        return max(self.tolerance, rounding)

    @property
    def accepted(self) -> bool:
        """Whether every sum is accepted."""
        return self.deviation <= self.largest

    @property
    def reading(self) -> Reading:
        """Reading of the rows after their division."""
        return Reading(divided=self.off, deviation=self.deviation)

    def require(self, name: str, matrix: Array) -> None:
        """Raise `InvalidRows` if a sum is not accepted."""
        sums = _sums(matrix)
        off = np.abs(sums - 1) > self.largest
        if off.any():
            _rules.SUMS_TO_ONE.refuse(name, off, sums, hint=_rules.divide_hint(name, self.deviation))


def precision(n_classes: int, dtype: Any) -> float:
    """Difference of a sum of probabilities from 1 that their type explains."""
    return n_classes * float(np.finfo(dtype).eps) + 1e-9


def divided(matrix: Array) -> Array:
    """Return a matrix of the same type whose rows are divided by their sums, if these are not 1 up to precision."""
    sums = _sums(matrix)
    sums[np.abs(sums - 1) <= precision(matrix.shape[1], matrix.dtype)] = 1.0
    return np.asarray((matrix / sums[:, None]).astype(matrix.dtype, copy=False))


def unit_rows(name: str, matrix: Array, *, whole: bool = True) -> tuple[Array, Reading]:
    """Require rows that sum to 1, and divide them by their sums if these differ from 1 by rounding of the entries.

    The decimals of a block do not say how far sums of all rows may be off, so its rows are not divided (`whole` is
    False). The result is the matrix itself if no sum is further from 1 than the tolerance of its type.
    """
    deviation = np.abs(_sums(matrix) - 1)
    if (deviation <= _rules.row_sum_tolerance(matrix.dtype)).all():
        return matrix, Reading()
    if not whole:
        hint = _rules.divide_hint(name, float(deviation.max()))
        off = deviation > _rules.row_sum_tolerance(matrix.dtype)
        _rules.SUMS_TO_ONE.refuse(name, off, _sums(matrix), hint=hint)
    sums = RowSums.of(matrix)
    sums.require(name, matrix)
    return divided(matrix), sums.reading


def sums_of_blocks(blocks: Iterable[Array]) -> RowSums | None:
    """Return the sums of all rows of a matrix in blocks; None if an entry is not a probability."""
    total: RowSums | None = None
    for block in blocks:
        if not (block.min() >= -_rules.OVERSHOOT and block.max() <= 1 + _rules.OVERSHOOT):
            return None
        sums = RowSums.of(block)
        total = sums if total is None else total + sums
    return total


def is_about_sums(problem: Exception) -> bool:
    """Return whether an error is about rows that do not sum to 1."""
    finding = getattr(problem, "finding", None)
    return finding is not None and finding.rule == _rules.SUMS_TO_ONE.words


def _sums(matrix: Array) -> Array:
    return np.asarray(matrix.sum(axis=1, dtype=np.float64))


def _decimals(matrix: Array) -> int:
    """Return the fewest decimals, from 1 on, that all entries have; one more than `MOST_DECIMALS` if they have more."""
    decimals, step = 1, max(1, CHUNK // matrix.shape[1])
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step].astype(np.float64, copy=False)
        while decimals <= MOST_DECIMALS and not _have(block, decimals):
            decimals += 1
    return decimals


def _have(block: Array, decimals: int) -> bool:
    scaled = block * 10.0**decimals
    return bool((np.abs(scaled - np.rint(scaled)) <= NEAR * 10.0**decimals).all())
