"""Rows -> the sums of `BinnedCounts`; unvalidated rows are checked in the same pass."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._rules import LARGEST_WEIGHT
from bayescal.data.columns import refuse_scale
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Columns, Predictions
from bayescal.data.reading import Reading
from bayescal.stats._kernel import Sums, accumulate, accumulate_classes
from bayescal.stats.bins import Bins


def sums_of_rows(rows: Predictions | Columns, bins: Bins) -> Sums:
    """Sum rows by bin and outcome; raise as `Columns.checked` does, or if squares of weights would overflow."""
    counted = accumulate(rows.confidence, rows.outcome, rows.weight, bins)
    if isinstance(rows, Columns) and (counted is None or counted[1] == 0):
        # a value is invalid: check all rows, which reports the invalid values, or clips those outside by rounding
        return sums_of_rows(rows.checked(), bins)
    return _usable(counted, rows.weight)


def sums_of_classes(rows: ClassRows, bins: Bins) -> tuple[list[Sums], Reading]:
    """Sum the rows of a matrix by bin and outcome, for every class; also return how they were read."""
    counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, rows.tolerance)
    if counted is None or counted[1] == 0:
        rows = rows.checked()
        counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, np.inf)
    return _usable(counted, rows.weight), rows.reading


def _usable[T](counted: tuple[T, float] | None, weight: NDArray[Any] | None) -> T:
    """Return the sums of rows that have passed the checks."""
    if counted is None:
        raise ArithmeticError("rows that passed the checks cannot be counted; this is a bug, please report it.")
    sums, heaviest = counted
    if weight is not None and not 1 / LARGEST_WEIGHT < heaviest < LARGEST_WEIGHT:
        refuse_scale(weight)
    return sums
