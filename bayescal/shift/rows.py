"""Rows of a labelled source and of a target without labels: probabilities of the same classes in both."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Classes, Floats, Ints
from bayescal._invalid import quoted
from bayescal.data.columns import column, numbers, own_hints, sigmoid, softmax
from bayescal.data.frames import column_names, to_array
from bayescal.data.matrix import ClassRows, refuse_contradiction
from bayescal.data.predictions import Predictions
from bayescal.data.reading import Reading, reading_of_logits, unit_rows

TARGET = "y_prob_target"  #: The argument that holds the predictions of the target.
MOST_WITHOUT_SOURCE = 0.5  #: Largest share of the target rows in bins without source rows.
#: Probabilities of at least so many rows are refused if all are 0 or 1 and those of the other side are not.
MANY_CERTAIN_ROWS = 20
#: Hint for labels of the target.
LABELLED = (
    "Labels of the target are not used here. If they are known, `evaluate(y_target, y_prob_target)` needs no shift."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceRows:
    """Validated labelled rows; the fields as those of `ShiftedRows`, with `matrix` for `source`."""

    label: Ints
    matrix: Floats
    classes: tuple[Any, ...]
    event: bool
    reading: Reading = field(default_factory=Reading)

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, *, classes: Classes = None, logits: bool = False, whole: bool = True
    ) -> "SourceRows":
        """Validate all values; parameters as for `class_priors`. `whole`: these are all rows; see `unit_rows`."""
        if is_event("y_prob", y_prob):
            rows = Predictions.from_outcomes(
                y_true, y_prob, names=("y_true", "y_prob"), target="event", classes=classes, logits=logits
            )
            named = (0, 1) if classes is None else tuple(classes)
            label = rows.outcome.astype(np.int64)
            return cls(
                label=label, matrix=both_columns(rows.confidence), classes=named, event=True, reading=rows.reading
            )
        class_rows = replace(ClassRows.read(y_true, y_prob, classes=classes, logits=logits), whole=whole).checked()
        matrix = class_rows.matrix.astype(np.float64, copy=False)
        return cls(
            label=class_rows.label, matrix=matrix, classes=class_rows.classes, event=False, reading=class_rows.reading
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftedRows:
    """Validated rows: class and probabilities of the source, probabilities of the target."""

    label: Ints  # class numbers 0..K-1, shape (n_source,)
    source: Floats  # one column per class
    target: Floats
    classes: tuple[Any, ...]
    event: bool  # whether the probabilities were one column, those of class 1
    readings: tuple[Reading, Reading] = (Reading(), Reading())  # how those of source and target were read

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @classmethod
    def read(
        cls, y_true: Any, y_prob: Any, y_prob_target: Any, *, classes: Classes = None, logits: bool = False
    ) -> "ShiftedRows":
        """Validate all values; parameters as for `class_priors`."""
        if not logits:
            refuse_labels(y_prob, y_prob_target)
        rows = SourceRows.read(y_true, y_prob, classes=classes, logits=logits)
        target, reading = target_like(y_prob, y_prob_target, None if rows.event else rows.classes, logits)
        if not logits:
            refuse_certain((is_certain(rows.matrix), is_certain(target)), (len(rows.matrix), len(target)))
        coarse = coarser(*(np.asarray(to_array(TARGET, each)).dtype for each in (y_prob, y_prob_target)))
        source, target = (rounded_to(coarse, each, rows.event) for each in (rows.matrix, target))
        readings = (rows.reading, reading)
        return cls(
            label=rows.label, source=source, target=target, classes=rows.classes, event=rows.event, readings=readings
        )


def coarser(*kinds: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type to which probabilities of source and target are rounded: the less precise one if they differ."""
    floating = [kind for kind in kinds if kind.kind == "f"]
    if len(set(floating)) < 2:
        return np.dtype(np.float64)
    return min(floating, key=lambda kind: kind.itemsize)


def rounded_to(kind: np.dtype[Any], matrix: Floats, event: bool) -> Floats:
    """Round the probabilities of all classes to the precision of a type; for an event, those of class 1."""
    if kind == np.float64:
        return matrix
    if event:
        return both_columns(matrix[:, 1].astype(kind))
    return matrix.astype(kind).astype(np.float64)


def is_event(name: str, values: Any) -> bool:
    """Return whether probabilities are a single column, for an event, rather than one column per class."""
    names = column_names(values)
    return to_array(name, values).ndim < 2 or (names is not None and len(names) == 1)


def refuse_labels(y_prob: Any, y_prob_target: Any) -> None:
    """Refuse predictions of the target that look like labels: integers or booleans, if the source has fractions."""
    if to_array("y_prob", y_prob).dtype.kind == "f":
        refuse_integers(y_prob_target)


def refuse_integers(y_prob_target: Any) -> None:
    """Refuse predictions of the target that are integers or booleans, as labels are."""
    kind = to_array(TARGET, y_prob_target).dtype
    if kind.kind in "biu":
        raise TypeError(
            f"`{TARGET}` must hold probabilities; it holds {'booleans' if kind.kind == 'b' else 'integers'} (dtype "
            f"{kind}), as labels do. {LABELLED} If they are probabilities of 0 and 1, pass `{TARGET}.astype(float)`."
        )


def is_certain(values: Array) -> bool:
    """Return whether all probabilities are 0 or 1, as labels are."""
    return bool(((values == 0) | (values == 1)).all())


def refuse_certain(
    certain: tuple[bool, bool], n_rows: tuple[int, int], called: tuple[str, str] = ("`y_prob`", f"`{TARGET}`")
) -> None:
    """Refuse probabilities of one side that are all 0 or 1 if those of the other side are not."""
    wrong = int(certain[1])
    if certain[0] == certain[1] or n_rows[wrong] < MANY_CERTAIN_ROWS:
        return
    hint = LABELLED if wrong else "Labels of the source are another argument."
    raise ValueError(
        f"{called[wrong]} must hold probabilities, as {called[1 - wrong]} does; all of its {n_rows[wrong]} rows are 0 "
        f"or 1, as labels are. {hint}"
    )


def require_overlap(
    uncovered: float, n_rows: int, empty: int, rows: str = "labelled rows", *, part: str = "bin", name: str = TARGET
) -> None:
    """Refuse a target most of whose rows have scores that no source row has."""
    if uncovered > MOST_WITHOUT_SOURCE:
        scores = "scores" if name == TARGET else "a target with scores"
        parts = part if empty == 1 else f"{part}s"
        raise ValueError(
            f"`{name}` must have {scores} like those of the source: {100 * uncovered:.3g} % of the {n_rows} rows of "
            f"the target are in {empty} {parts} without {rows}; at most {100 * MOST_WITHOUT_SOURCE:g} % are allowed. "
            f"Use fewer {part}s, or label rows of the target."
        )


def both_columns(p: Array) -> Floats:
    """Return the probabilities of both classes of an event, shape (n_rows, 2)."""
    p = p.astype(np.float64, copy=False)
    return np.stack([1 - p, p], axis=1)


def stated_probabilities(values: Any, name: str, n_classes: int | None, *, whole: bool = True) -> Floats:
    """Validate probabilities for a function without the keyword `logits`; return those of all classes."""
    with own_hints():
        if n_classes is None:
            return target_event(values, name=name)[0]
        return target_matrix(values, n_classes, name=name, whole=whole)[0]


def target_event(values: Any, logits: bool = False, name: str = TARGET) -> tuple[Floats, Reading]:
    """Validate the probabilities of an event in the target; return those of both classes, and how they were read."""
    array = to_array(name, values)
    if array.ndim == 2 and array.shape[1] > 1:
        hint = "Pass `y_prob` with one column per class, too."
        if array.shape[1] == 2:
            hint = f"Pass the column of the event, `{name}[:, 1]`."
        raise ValueError(f"`{name}` must be one column, as `y_prob` is; its shape is {array.shape}. {hint}")
    array = column(name, array)
    _checks.not_empty(name, len(array), hint="")
    p = sigmoid(name, array) if logits else numbers(name, array)
    reading = reading_of_logits(array) if logits else Reading()
    return both_columns(_checks.probabilities(name, p)), reading


def target_like(y_prob: Any, y_prob_target: Any, classes: Sequence[Any] | None, logits: bool) -> tuple[Floats, Reading]:
    """Validate the probabilities of the target, in the form of the source: of an event, or of all `classes`."""
    if classes is None:
        return target_event(y_prob_target, logits)
    target = target_matrix(y_prob_target, len(classes), column_names(y_prob), logits)
    refuse_contradiction(column_names(y_prob_target), classes, name=TARGET)
    return target


def target_matrix(
    values: Any, n_classes: int, names: Classes = None, logits: bool = False, name: str = TARGET, *, whole: bool = True
) -> tuple[Floats, Reading]:
    """Validate the probabilities of all classes in the target, shape (n_target, n_classes); say how they were read."""
    target_names = column_names(values)
    if names is not None and target_names is not None and list(names) != list(target_names):
        raise ValueError(
            f"`{name}` must have the columns of `y_prob`, in the same order: {quoted(list(names)[:10])}, not "
            f"{quoted(list(target_names)[:10])}."
            + (f" Pass `{name}[list(y_prob)]`." if set(names) == set(target_names) else "")
        )
    array = to_array(name, values)
    if array.ndim != 2 or array.shape[1] != n_classes:
        hint = " Pass both columns, `np.column_stack([1 - p, p])`." if n_classes == 2 and array.ndim == 1 else ""
        raise ValueError(f"`{name}` must have {n_classes} columns, one per class; its shape is {array.shape}.{hint}")
    _checks.not_empty(name, len(array), hint="")
    matrix = softmax(name, array) if logits else numbers(name, array)
    matrix = _checks.probabilities(name, matrix)
    matrix, reading = unit_rows(name, matrix, whole=whole)
    return matrix.astype(np.float64, copy=False), reading
