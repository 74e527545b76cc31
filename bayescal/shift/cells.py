"""ShiftCells: a partition of predictions into cells, for the class frequencies of a target."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.data.frames import to_array
from bayescal.shift.rows import is_event, stated_probabilities

#: Distance of cuts from observed probabilities, unless these are closer together; it exceeds the rounding of float32.
APART = 1e-6
#: Up to this number of classes, default cells are ranges of confidence within predicted classes, and how many.
FEW_CLASSES, RANGES = 5, 3
#: Entries of the matrix that are assigned to cells at a time.
CHUNK = 2**20


@public
@dataclass(frozen=True, eq=False)
class ShiftCells:
    """A partition of predictions into cells: the predicted class, and ranges of its probability.

    Parameters
    ----------
    cuts : ndarray, shape (n_classes, n_ranges - 1)
        For each predicted class, the increasing probabilities at which its ranges begin. Shape (n_classes, 0) for cells
        that are the predicted classes alone.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescal as bc
    >>> cells = bc.shift.ShiftCells(np.array([[0.8], [0.7]]))
    >>> cells.of_rows(np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.3, 0.7]]))
    array([1, 0, 2, 3])
    """

    cuts: Floats

    def __post_init__(self) -> None:
        cuts = np.array(self.cuts, dtype=np.float64)
        if cuts.ndim != 2 or len(cuts) < 2:
            raise ValueError(
                f"`cuts` must have shape (n_classes, n_ranges - 1), for at least 2 classes; its shape is {cuts.shape}. "
                "`ShiftCells.predicted_class(n_classes)` makes cells without cuts."
            )
        bad = ~((cuts >= 0) & (cuts <= 1))
        if bad.any():
            _checks.refuse("cuts", "must be probabilities in [0, 1]", bad, cuts)
        decreases = np.diff(cuts, axis=1, prepend=0) < 0
        if decreases.any():
            _checks.refuse("cuts", "must not decrease within a predicted class", decreases, cuts)
        cuts.setflags(write=False)
        object.__setattr__(self, "cuts", cuts)

    @classmethod
    def predicted_class(cls, n_classes: int) -> "ShiftCells":
        """Return one cell per predicted class."""
        return cls(np.empty((_checks.whole_number("n_classes", n_classes, at_least=2), 0)))

    @classmethod
    def of_confidences(cls, y_prob: Any, n_ranges: int) -> "ShiftCells":
        """Divide the rows of each predicted class into ranges of its probability with nearly equal numbers of rows.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
            Probabilities of the source; a column holds those of the event.
        n_ranges : int
            Number of ranges per predicted class, at least 1. A class that is predicted for no row has the cuts of all
            rows.

        Raises
        ------
        ValueError, TypeError
            If probabilities are invalid, or `n_ranges` is not a positive integer.

        Examples
        --------
        >>> import bayescal as bc
        >>> bc.shift.ShiftCells.of_confidences([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], 2).cuts
        array([[0.8],
               [0.7]])
        """
        n_ranges = _checks.whole_number("n_ranges", n_ranges)
        n_classes = None if is_event("y_prob", y_prob) else to_array("y_prob", y_prob).shape[1]
        return cls._with_ranges(stated_probabilities(y_prob, "y_prob", n_classes), n_ranges)

    @classmethod
    def _with_ranges(cls, matrix: Floats, n_ranges: int) -> "ShiftCells":
        """Return the cells of `of_confidences` for validated probabilities, shape (n_rows, n_classes)."""
        top, confidence = matrix.argmax(axis=1), matrix.max(axis=1)
        levels = np.arange(1, n_ranges) / n_ranges
        cuts = np.tile(_between_values(confidence, levels), (matrix.shape[1], 1))
        for k in np.unique(top):
            cuts[k] = _between_values(confidence[top == k], levels)
        return cls(cuts)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.cuts)

    @property
    def n_ranges(self) -> int:
        """Number of ranges per predicted class."""
        return self.cuts.shape[1] + 1

    def __len__(self) -> int:
        return self.n_classes * self.n_ranges

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShiftCells) and np.array_equal(self.cuts, other.cuts)

    __hash__ = None  # type: ignore[assignment]  # instances are compared by the contents of their array

    def __repr__(self) -> str:
        if self.n_ranges == 1:
            return f"{len(self)} predicted classes"
        return f"{self.n_classes} predicted classes x {self.n_ranges} ranges of confidence"

    def of_rows(self, matrix: Floats) -> Ints:
        """Return the cell of each row of probabilities, shape (n_rows,); the first class wins ties."""
        matrix = np.asarray(matrix)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_classes:
            raise ValueError(
                f"`matrix` must have one column per class, shape (n_rows, {self.n_classes}); its shape is "
                f"{matrix.shape}."
            )
        cell = np.empty(len(matrix), np.int64)
        step = max(CHUNK // (self.n_classes + self.n_ranges), 1)
        for start in range(0, len(matrix), step):
            block = matrix[start : start + step]
            top = block.argmax(axis=1)
            within = (block.max(axis=1)[:, None] >= self.cuts[top]).sum(axis=1)
            cell[start : start + step] = top * self.n_ranges + within
        return cell


def default_cells(n_classes: int, matrix: Callable[[], Floats]) -> ShiftCells:
    """Return the default cells of `class_priors`."""
    if n_classes > FEW_CLASSES:
        return ShiftCells.predicted_class(n_classes)
    return ShiftCells._with_ranges(matrix(), RANGES)


def require_cells(cells: Any, n_classes: int | None = None) -> None:
    """Require ShiftCells and, unless it is None, this number of classes."""
    if not isinstance(cells, ShiftCells):
        raise TypeError(
            f"`cells` must be ShiftCells, not {quoted(cells)} ({type(cells).__name__}); make them with "
            "`ShiftCells.predicted_class(n_classes)` or `ShiftCells.of_confidences(y_prob, n_ranges)`."
        )
    if n_classes is not None and n_classes != cells.n_classes:
        raise ValueError(
            f"`cells` must be those of the {n_classes} classes of `y_prob`; they have {cells.n_classes} classes."
        )


def _between_values(confidence: Floats, levels: Floats) -> Floats:
    """Return quantiles, moved away from observed values, so that float32 and float64 scores have the same cell."""
    cuts, values = np.quantile(confidence, levels), np.sort(confidence)
    above = values.searchsorted(cuts)
    upper = values[np.minimum(above, len(values) - 1)]
    lower = np.where(above > 0, values[np.maximum(above - 1, 0)], upper - 2 * APART)
    apart = np.minimum((upper - lower) / 2, APART)
    return np.asarray(np.clip(cuts, lower + apart, upper - apart))
