"""Rows -> the sums that counts consist of; rows that nobody has looked at are checked in the same pass."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._rules import LARGEST_WEIGHT
from bayescal.data.columns import refuse_scale
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Columns, Predictions
from bayescal.stats._kernel import Sums, accumulate, accumulate_classes
from bayescal.stats.bins import Bins


def sums_of_rows(rows: Predictions | Columns, bins: Bins) -> Sums:
    """Sums by bin and outcome; raises what `Columns.checked` says, and for weights that cannot be squared."""
    counted = accumulate(rows.confidence, rows.outcome, rows.weight, bins)
    if isinstance(rows, Columns) and (counted is None or counted[1] == 0):
        # something is not allowed: look again at all of it, to say how much, or to clip what is rounding
        return sums_of_rows(rows.checked(), bins)
    return _usable(counted, rows.weight)


def sums_of_classes(rows: ClassRows, bins: Bins) -> list[Sums]:
    """The same for every class of a matrix."""
    counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, rows.tolerance)
    if counted is None or counted[1] == 0:
        rows = rows.checked()
        counted = accumulate_classes(rows.matrix, rows.label, rows.weight, bins, np.inf)
    return _usable(counted, rows.weight)


def _usable[T](counted: tuple[T, float] | None, weight: NDArray[Any] | None) -> T:
    """The sums, of rows that have been found right."""
    if counted is None:
        raise ArithmeticError("rows that were found right are wrong; this is a defect: please report it.")
    sums, heaviest = counted
    if weight is not None and not 1 / LARGEST_WEIGHT < heaviest < LARGEST_WEIGHT:
        refuse_scale(weight)
    return sums
