"""ShiftCounts: labelled rows of a source by class and cell, and rows of a target by cell; ShiftCells, the partition."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.data.frames import column_names, to_array
from bayescal.data.matrix import in_one_form, named_by_columns, refuse_contradiction
from bayescal.data.reading import Reading
from bayescal.shift.rows import (
    ShiftedRows,
    SourceRows,
    is_event,
    refuse_integers,
    stated_probabilities,
    target_event,
    target_matrix,
)
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.stats.bins import make_bins
from bayescal.stats.frozen import Sums
from bayescal.stats.sums import added, row_counts

#: Distance of cuts from observed probabilities, unless these are closer together; it exceeds the rounding of float32.
APART = 1e-6
#: Up to this number of classes, default cells are ranges of confidence within predicted classes, and how many.
FEW_CLASSES, RANGES = 5, 3
CHUNK = 2**20  #: Entries of the matrix that are assigned to cells at a time.


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
            Number of ranges per predicted class, at least 1. A class that is never predicted has the cuts of all rows.

        Raises
        ------
        ValueError, TypeError
            If probabilities are invalid, or `n_ranges` is not a positive integer.

        Examples
        --------
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


@public
@dataclass(frozen=True, eq=False)
class ShiftCounts(Sums):
    """Rows of a labelled source by class and cell, and rows of a target by cell: all that `class_priors` needs.

    Counts of streams and of data that do not fit into memory are added with ``+``. The two sides may be counted apart,
    with `of_source` and `of_target`; `bayescal.shift.count_files` counts files.

    Parameters
    ----------
    source : ndarray of int, shape (n_classes, n_cells)
        Labelled rows of each class in each cell.
    target : ndarray of int, shape (n_cells,)
        Rows of the target in each cell.
    cells : ShiftCells
        The cells.
    classes : tuple, optional
        Label of each class; by default its number.
    binned : tuple of ShiftedBins, optional
        The same rows by the bins of their stated probabilities, for `bayescal.shift.label_counts`: of class 1 if
        probabilities are a column, and of each class if they are a matrix. Empty for `class_priors_counts` alone.
    readings : (Reading, Reading), optional
        How the probabilities of source and target were read.

    Examples
    --------
    >>> cells = bc.shift.ShiftCells.predicted_class(2)
    >>> source = bc.shift.ShiftCounts.of_source([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9], cells=cells)
    >>> stream = (bc.shift.ShiftCounts.of_target(batch, cells=cells) for batch in ([0.2, 0.3], [0.4, 0.8]))
    >>> counts = sum(stream, start=source)
    >>> counts.source.tolist(), counts.target.tolist()
    ([[1, 1], [0, 2]], [3, 1])
    """

    source: Ints
    target: Ints
    cells: ShiftCells
    classes: tuple[Any, ...] = ()
    binned: tuple[ShiftedBins, ...] = ()
    readings: tuple[Reading, Reading] = field(default=(Reading(), Reading()), compare=False)

    def __post_init__(self) -> None:
        require_cells(self.cells)
        k, j = self.cells.n_classes, len(self.cells)
        for name, shape in (("source", (k, j)), ("target", (j,))):
            values = np.asarray(getattr(self, name))
            if values.shape != shape:
                raise ValueError(f"`{name}` must have shape {shape} for {self.cells}; its shape is {values.shape}.")
            counted = row_counts(name, values).copy()
            counted.setflags(write=False)
            object.__setattr__(self, name, counted)
        object.__setattr__(self, "classes", tuple(self.classes) or tuple(range(k)))
        if len(self.classes) != k:
            raise ValueError(f"`classes` must name the {k} classes; it has {len(self.classes)} names.")
        if len(set(self.classes)) < k:
            raise ValueError(f"`classes` must be different labels, not {quoted(list(self.classes)[:10])}.")
        for each in self.binned:
            if not np.array_equal(each.by_class.sum(axis=1), self.by_class) or each.target_rows.sum() != self.n_target:
                raise ValueError("`binned` must hold the rows of `source` and `target`, by class.")

    @classmethod
    def from_rows(cls, rows: ShiftedRows, cells: ShiftCells) -> "ShiftCounts":
        """Count validated rows of both sides by cell."""
        require_cells(cells, rows.n_classes)
        source = _by_class(rows.label, cells.of_rows(rows.source), cells)
        target = np.bincount(cells.of_rows(rows.target), minlength=len(cells))
        return cls(source, target, cells, rows.classes, readings=rows.readings)

    @classmethod
    def of_source(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        cells: ShiftCells,
        bins: Any = None,
        classes: Classes = None,
        logits: bool = False,
    ) -> "ShiftCounts":
        """Count labelled rows of the source, without rows of the target.

        Parameters
        ----------
        y_true, y_prob, classes, logits
            As for `class_priors`.
        cells : ShiftCells
            Cells of the predictions, for class frequencies.
        bins : int, array-like or Bins, optional
            Number of equal-width bins, or edges. With bins, rows are also counted for `bayescal.shift.label_counts`.

        Raises
        ------
        ValueError, TypeError
            As for `class_priors`; also if `cells` have another number of classes.
        """
        require_cells(cells)
        return cls.from_source(SourceRows.read(y_true, y_prob, classes=classes, logits=logits), cells, bins)

    @classmethod
    def from_source(cls, rows: SourceRows, cells: ShiftCells, bins: Any = None) -> "ShiftCounts":
        """Count validated labelled rows; see `of_source`."""
        n_classes = len(rows.classes)
        require_cells(cells, n_classes)
        source = _by_class(rows.label, cells.of_rows(rows.matrix), cells)
        counted = partial(ShiftedBins.of_source, rows.label, n_classes=n_classes)
        binned = _by_bins(rows.matrix, rows.event, bins, counted)
        none = np.zeros(len(cells), np.int64)
        return cls(source, none, cells, rows.classes, binned, (rows.reading, Reading()))

    @classmethod
    def of_target(
        cls, y_prob_target: Any, *, cells: ShiftCells, bins: Any = None, classes: Classes = None, logits: bool = False
    ) -> "ShiftCounts":
        """Count rows of the target, which have no labels.

        Counts with other names of classes cannot be added.

        Parameters
        ----------
        y_prob_target, classes, logits
            As for `class_priors`. Without `classes`, the columns of a data frame name the classes.
        cells, bins
            As for `of_source`, the same for both sides.
        """
        require_cells(cells)
        if not logits:
            refuse_integers(y_prob_target)
        event = cells.n_classes == 2 and is_event("y_prob_target", y_prob_target)
        if event:
            matrix, reading = target_event(y_prob_target, logits)
        else:
            names = column_names(y_prob_target)
            refuse_contradiction(names, classes, name="y_prob_target")
            matrix, reading = target_matrix(y_prob_target, cells.n_classes, logits=logits)
            classes = named_by_columns(names) if classes is None else classes
        return replace(cls.from_target(matrix, event, cells, bins, classes or ()), readings=(Reading(), reading))

    @classmethod
    def from_target(
        cls, matrix: Floats, event: bool, cells: ShiftCells, bins: Any = None, classes: Sequence[Any] = ()
    ) -> "ShiftCounts":
        """Count validated rows of the target, shape (n_target, n_classes); see `of_target`."""
        target = np.bincount(cells.of_rows(matrix), minlength=len(cells))
        none = np.zeros((cells.n_classes, len(cells)), np.int64)
        binned = _by_bins(matrix, event, bins, partial(ShiftedBins.of_target, n_classes=cells.n_classes))
        return cls(none, target, cells, tuple(classes), binned)

    @property
    def n_source(self) -> int:
        """Number of labelled rows."""
        return int(self.source.sum())

    @property
    def n_target(self) -> int:
        """Number of rows of the target."""
        return int(self.target.sum())

    @property
    def n_rows(self) -> int:
        """Number of rows of both sides."""
        return self.n_source + self.n_target

    @property
    def by_class(self) -> Ints:
        """Labelled rows of each class, shape (n_classes,)."""
        return self.source.sum(axis=1)

    @property
    def without_labels(self) -> float:
        """Share of the target's rows in cells without labelled rows; 0 without rows of the target."""
        return float(self.target[self.source.sum(axis=0) == 0].sum() / max(self.n_target, 1))

    def _plus(self, other: "ShiftCounts") -> "ShiftCounts":
        if self.cells != other.cells:
            raise ValueError(
                f"counts can be added only if they have the same cells; these have {self.cells} and {other.cells}"
                f"{_first_difference(self.cells, other.cells)}. Pass one `cells=` to all of them."
            )
        classes = _common_names(self, other)
        source = row_counts("source", added(self.source, other.source))
        target = row_counts("target", added(self.target, other.target))
        _require_same_bins(self, other)
        binned = tuple(one + another for one, another in zip(self.binned, other.binned, strict=True))
        readings = (self.readings[0] + other.readings[0], self.readings[1] + other.readings[1])
        return ShiftCounts(source, target, self.cells, classes, binned, readings)

    def __repr__(self) -> str:
        bins = f", {self.binned[0].bins}" if self.binned else ""
        return f"ShiftCounts({self.cells}{bins}, {self.n_source} rows of the source, {self.n_target} of the target)"


def _by_class(label: Ints, cell: Ints, cells: ShiftCells) -> Ints:
    k, j = cells.n_classes, len(cells)
    return np.bincount(label * j + cell, minlength=k * j).reshape(k, j)


def _by_bins(matrix: Floats, event: bool, bins: Any, count: Callable[..., ShiftedBins]) -> tuple[ShiftedBins, ...]:
    """Count rows by bins: of class 1 for an event, otherwise of each class; nothing if there are no bins."""
    if bins is None:
        return ()
    edges = make_bins(bins)
    return tuple(count(matrix[:, k], of=k, bins=edges) for k in (range(1, 2) if event else range(matrix.shape[1])))


def _first_difference(one: ShiftCells, other: ShiftCells) -> str:
    """Return the first cut that differs, in words; empty if the cells have different numbers of cuts."""
    if one.cuts.shape != other.cuts.shape:
        return ""
    k, i = (int(at) for at in np.argwhere(one.cuts != other.cuts)[0])
    return f", with the cuts {one.cuts[k, i]:.9g} and {other.cuts[k, i]:.9g} in class number {k}"


def _require_same_bins(one: ShiftCounts, other: ShiftCounts) -> None:
    if bool(one.binned) != bool(other.binned):
        raise ValueError(
            f"counts can be added only if both have bins; the {'second' if one.binned else 'first'} was counted "
            "without `bins=`."
        )
    if len(one.binned) != len(other.binned):
        about = [f"{len(each.binned)} class{'es' * (len(each.binned) != 1)}" for each in (one, other)]
        raise ValueError(
            "counts can be added only if the same classes are counted by bins; these have the bins of "
            f"{about[0]} and of {about[1]}. Pass one `bins=` to all of them, and probabilities of one kind: a column, "
            "or a matrix."
        )


def _common_names(first: ShiftCounts, second: ShiftCounts) -> tuple[Any, ...]:
    """Return the classes of a sum, names rather than default numbers; refuse other classes, and another order."""
    forms = [[in_one_form(name) for name in each.classes] for each in (first, second)]
    numbered = tuple(range(first.cells.n_classes))
    if forms[0] == forms[1]:
        return first.classes if first.n_source else second.classes
    if sorted(forms[0]) == sorted(forms[1]) or numbered not in (first.classes, second.classes):
        raise ValueError(
            "counts can be added only if they have the same classes in the same order, not "
            f"{quoted(list(first.classes)[:10])} and {quoted(list(second.classes)[:10])}. Without `classes=`, the "
            "columns of a data frame name them."
        )
    return second.classes if first.classes == numbered else first.classes
