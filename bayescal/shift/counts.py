"""ShiftCounts: labelled rows of a source by class and cell, and rows of a target by cell. Frozen and addable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from bayescal._arrays import Floats, Ints
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.data.frames import column_names
from bayescal.data.matrix import in_one_form, named_by_columns, refuse_contradiction
from bayescal.data.reading import Reading
from bayescal.shift.cells import ShiftCells, require_cells
from bayescal.shift.rows import ShiftedRows, SourceRows, is_event, refuse_integers, target_event, target_matrix
from bayescal.shift.shifted_bins import ShiftedBins
from bayescal.stats.bins import make_bins
from bayescal.stats.frozen import Sums
from bayescal.stats.sums import added, row_counts


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
    >>> import bayescal as bc
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
        classes: Sequence[Any] | None = None,
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
        cls,
        y_prob_target: Any,
        *,
        cells: ShiftCells,
        bins: Any = None,
        classes: Sequence[Any] | None = None,
        logits: bool = False,
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
