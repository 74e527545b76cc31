"""Labels and a matrix of probabilities with one column per class, for `top-label` and `classwise`; names of classes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Array, Classes
from bayescal._invalid import quoted
from bayescal._loops import compiled
from bayescal._meant import several_classifiers
from bayescal._texts import text_of
from bayescal.data import columns as one_column
from bayescal.data.columns import allowed_weights, class_numbers, column, numbers, scale_free
from bayescal.data.frames import SKIPS_INTEGERS, column_names, same_rows, to_array
from bayescal.data.reading import Reading, unit_rows

CHUNK = 2**18  #: Number of entries that are processed at a time; they fit in the second-level cache.
FEW_CLASSES = 20  #: Maximum number of classes for which the compiler unrolls the loop over columns.
#: Approximate time of numpy per entry, with many classes and with few; see `bayescal._loops`.
SECONDS_AN_ENTRY = (8e-10, 4e-9)


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassRows:
    """Class of each row and the probabilities of all classes. Only labels are validated, not other values."""

    label: Array  # (n_rows,) class numbers 0..K-1
    matrix: Array  # (n_rows, K); may share memory with the caller's array
    weight: Array | None = None
    classes: tuple[Any, ...] = ()  # label of each column; by default its number
    whole: bool = True  # all rows, or one block of them; see `unit_rows`
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        """Name the classes by their numbers if they have no other names."""
        object.__setattr__(self, "classes", self.classes or tuple(range(self.n_classes)))

    def __len__(self) -> int:
        return len(self.label)

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    @property
    def tolerance(self) -> float:
        """Distance of a row sum from 1 that fast loops accept: half of the tolerance, to allow for rounding."""
        return _rules.row_sum_tolerance(self.matrix.dtype) / 2

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        classes: Classes = None,
        logits: bool = False,
        weights: Any = None,
        names: Sequence[Any] | None = None,
        with_target: bool = False,
    ) -> "ClassRows":
        """Check shapes, types and labels; parameters as for `Predictions.from_labels`.

        If `y_prob` was a data frame and is an array now, `names` are the names of its columns. `with_target`: the
        caller has a keyword `target`, which hints may name.
        """
        names = column_names(y_prob) if names is None else names
        refuse_contradiction(names, classes)
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights})
        probabilities = to_array("y_prob", y_prob)
        if probabilities.ndim != 2 or probabilities.shape[1] < 2:
            hint = " Probabilities p of one event? Pass both columns, `np.column_stack([1 - p, p])`."
            hint = " For probabilities of one event use `target='event'`." if with_target else hint
            shape_of_labels = np.shape(to_array("y_true", y_true)) if probabilities.ndim > 2 else None
            hint = hint if probabilities.ndim < 3 else one_column.masks("y_prob", probabilities.shape, shape_of_labels)
            raise ValueError(f"`y_prob` must have shape (N, K) with K >= 2; its shape is {probabilities.shape}.{hint}")
        label = column("y_true", to_array("y_true", y_true))
        shapes = f"Their shapes are {label.shape} and {probabilities.shape}."
        if len(label) == probabilities.shape[1]:
            shapes += " Is `y_prob` transposed?"
        _checks.same_length(("y_true", "y_prob"), (len(label), len(probabilities)), shapes)
        _checks.not_empty("y_true", len(label))
        matrix = one_column.softmax("y_prob", probabilities) if logits else numbers("y_prob", probabilities)
        named = class_names(label, names, classes)
        label = _multiclass(label, matrix.shape[1], named, of_columns=classes is None)
        weight = one_column.weight_column(weights, len(label), "y_true")
        return cls(label=label, matrix=matrix, weight=weight, classes=tuple(() if named is None else named))

    def checked(self) -> "ClassRows":
        """Validate all values; errors as in `Predictions.from_labels`."""
        matrix = _checks.probabilities("y_prob", self.matrix)
        matrix, reading = unit_rows("y_prob", matrix, whole=self.whole)
        weight = None if self.weight is None else allowed_weights(self.weight)
        return replace(self, matrix=matrix, weight=weight, reading=self.reading + reading)

    def scale_free(self) -> "ClassRows":
        """Validate weights and scale them so that their squares can be summed."""
        return self if self.weight is None else replace(self, weight=scale_free(allowed_weights(self.weight)))

    def top_label(self) -> tuple[Array, Array, Reading]:
        """Return the probability of the most probable class (the first on ties), whether it is right, its reading."""
        rows = self
        result = rows._top_label(self.tolerance)
        if result is None:
            rows = self.checked()
            result = rows._top_label(np.inf)
        if result is None:
            raise ArithmeticError("validated rows were refused; this is a defect: please report it.")
        return *result, rows.reading

    def _top_label(self, tolerance: float) -> tuple[Array, Array] | None:
        """Process the matrix in one pass; return None if a value is invalid."""
        confidence, correct = np.empty(len(self), self.matrix.dtype), np.empty(len(self), bool)
        few = self.n_classes <= FEW_CLASSES
        seconds = self.matrix.size * SECONDS_AN_ENTRY[few]
        kind = f"top of {self.n_classes if few else 'many'}"
        # compiled loops refuse -0.0, so they are not used for rows that have been validated
        loops = None if np.isinf(tolerance) else compiled(kind, (self.label, self.matrix[:1]), seconds)
        top_of = _top_of if loops is None else _compiled_top_of(loops, few)
        step = max(CHUNK // self.n_classes, 1)
        for start in range(0, len(self), step):
            rows = slice(start, start + step)
            block = np.ascontiguousarray(self.matrix[rows])
            if not top_of(block, self.label[rows], confidence[rows], correct[rows], tolerance):
                return None
        return confidence, correct


def _compiled_top_of(loops: ModuleType, few: bool) -> Callable[..., bool]:
    """Return the compiled form of `_top_of`."""

    def of_few(block: Array, label: Array, confidence: Array, correct: Array, tolerance: float) -> bool:
        columns = (0,) * block.shape[1]  # its length is a constant for the compiler
        fine: bool = loops.top_label(block, label, confidence, correct, columns, block.dtype.type(tolerance))
        return fine

    def of_many(block: Array, label: Array, confidence: Array, correct: Array, tolerance: float) -> bool:
        code = f"u{block.itemsize}"
        one = np.ones(1, block.dtype).view(code)[0]
        fine: bool = loops.top_of_many(
            block, block.view(code), label, confidence.view(code), correct, one, block.dtype.type(tolerance)
        )
        return fine

    return of_few if few else of_many


def _top_of(block: Array, label: Array, confidence: Array, correct: Array, tolerance: float) -> bool:
    """Write the confidence of the top label and whether it is right; return False if an entry is invalid."""
    # argmax selects NaN, which fails the comparisons
    top = block.argmax(axis=1)
    confidence[:] = np.take_along_axis(block, top[:, None], axis=1)[:, 0]
    np.equal(top, label, out=correct)
    if not (block.min() >= 0 and confidence.max() <= 1):
        return False
    sums = block.sum(axis=1, dtype=np.float64 if block.dtype.itemsize < 4 else None)
    return bool((np.abs(sums - 1) <= tolerance).all())


def _multiclass(label: Array, n_classes: int, classes: Classes, *, of_columns: bool) -> Array:
    if classes is not None:
        if len(classes) != n_classes:
            raise ValueError(f"`classes` must name the {n_classes} columns of `y_prob`; it has {len(classes)} names.")
        if of_columns:
            hint = "Columns with other names need `classes`: the label of each, in order."
            return class_numbers("y_true", label, classes, "the columns of `y_prob`", hint)
        return class_numbers("y_true", label, classes)
    if label.dtype.kind not in "biuf":
        raise TypeError(one_column.strings_need_classes("y_true", label, "`classes=[name of column 0, ...]`"))
    _checks.finite("y_true", label)
    if label.min() < 0 or label.max() > n_classes - 1:
        rule = _rules.class_number(n_classes)
        hint = ""
        if label.min() == 1 and label.max() == n_classes:
            hint = f"Labels 1..{n_classes}? Pass `y_true - 1`, or `classes=range(1, {n_classes + 1})`."
        hint = _rules.ignored_hint("y_true", label, n_classes - 1) or hint
        rule.refuse("y_true", ~rule.holds(label), label, hint=hint)
    one_column.unambiguous_integers("y_true", label)
    if label.dtype.kind == "f":
        _rules.INTEGER.require("y_true", label)
    return label.astype(np.int64, copy=False)


def class_names(y_true: Array, names: Sequence[Any] | None, classes: Classes) -> Sequence[Any] | None:
    """Return the class of each column, never guessed from its position; None if label k belongs to column k."""
    if classes is not None or names is None:
        return classes
    names = [name.item() if isinstance(name, np.generic) else name for name in names]
    text = all(isinstance(name, str) for name in names)
    if y_true.dtype.kind not in "biuf":
        return tuple(names) if text else None
    numbers = as_integers(names) if text else _as_numbers(names)
    if numbers is None and not (text and _are_numbered(names)):
        message = text_of("numbers and named columns", dtype=y_true.dtype, names=quoted(names[:10]), number=len(names))
        raise several_classifiers(message, "y_prob", names, in_frame=True)
    return None if numbers is None or [*numbers] == [*range(len(numbers))] else numbers


def named_by_columns(names: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the classes that the names of columns state if labels are unknown; empty if they state none."""
    if names is None or [in_one_form(name) for name in names] == [str(k) for k in range(len(names))]:
        return ()
    return () if all(isinstance(name, str) for name in names) and _are_numbered(names) else tuple(names)


def refuse_contradiction(names: Sequence[Any] | None, classes: Classes, name: str = "y_prob") -> None:
    """Refuse `classes` that share names with the columns but assign them differently; `names` is None for an array."""
    _checks.in_order("classes", classes)
    if names is None or classes is None:
        return
    columns, wanted = [in_one_form(c) for c in names], [in_one_form(c) for c in classes]
    if columns == wanted:
        return
    if sorted(columns) == sorted(wanted):
        raise ValueError(text_of("columns in another order", name=name, columns=columns, classes=wanted))
    shared = [column for column in columns if column in set(wanted)]
    if len(columns) != len(wanted) or not shared or columns == [str(k) for k in range(len(columns))]:
        return
    raise ValueError(
        f"`classes` {quoted(wanted[:10])} contradicts the columns of `{name}`, {quoted(columns[:10])}: "
        f"{len(shared)} of {len(columns)} columns have the name of a class, first {shared[0]!r}. Rename the columns, "
        f"or pass `{name}.to_numpy()` if `classes` is right."
    )


def in_one_form(name: Any) -> str:
    """Return a name as text that is equal for equal numbers: 1, 1.0, True, "1" and "1.0"."""
    try:
        number = float(name)
    except (TypeError, ValueError, OverflowError):
        return str(name)
    return str(int(number)) if number.is_integer() and abs(number) < SKIPS_INTEGERS else str(name)


def as_integers(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the names as integers if all are; Python limits the number of digits it converts."""
    whole = all(re.fullmatch(r"-?\d{1,4000}", name, re.ASCII) for name in names)
    return tuple(int(name) for name in names) if whole else None


def _as_numbers(names: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return names that are numbers, booleans as 0 and 1; None if one of them is something else."""
    if not all(isinstance(name, bool | int | float) for name in names):
        return None
    return tuple(int(name) if isinstance(name, bool) or float(name).is_integer() else name for name in names)


def _are_numbered(names: Sequence[str]) -> bool:
    """Return whether names consist of one beginning and their own position, as in ``prob_0, prob_1, prob_2``."""
    beginning = names[0].removesuffix("0")
    if beginning[-1:].isdecimal():  # p10, p11, p12: these numbers are no positions
        return False
    return list(names) == [f"{beginning}{k}" for k in range(len(names))]
