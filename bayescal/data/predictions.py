"""Predictions: (confidence, outcome, weight), and the targets that make them from labels and probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.frames import to_array

Array = NDArray[Any]

#: Sums of squared weights must stay far inside float64, so that batches can be added.
LARGEST_WEIGHT = 1e140
TARGETS = ("event", "top-label", "classwise", "confidence")


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions:
    """Checked rows of one binary calibration problem: a confidence and an outcome each, perhaps a weight.

    Make them with `Predictions.from_labels` (labels and probabilities), `Predictions.from_outcomes`
    (the two columns themselves) or `Predictions.classwise` (one problem per class). The arrays may be the
    caller's own: they are read, never written.

    Parameters
    ----------
    confidence : ndarray of float, shape (n_rows,)
        Stated probability that the outcome is 1, in [0, 1].
    outcome : ndarray of int or bool, shape (n_rows,)
        0 or 1.
    weight : ndarray of float, shape (n_rows,), optional
        Importance weights >= 0 with a positive sum.
    target : {"event", "top-label", "classwise", "confidence"}
        What confidence and outcome mean.
    """

    confidence: Array
    outcome: Array
    weight: Array | None = None
    target: str = "confidence"

    def __post_init__(self) -> None:
        """Refuse columns that were put together by hand and are not what the makers below would let through."""
        _checks.one_of("target", self.target, TARGETS)
        shape = np.shape(self.outcome)
        if np.shape(self.confidence) != shape or len(shape) != 1:
            raise ValueError(
                f"`confidence`, `outcome` must be columns of one length; their shapes are {np.shape(self.confidence)} "
                f"and {shape}."
            )
        c, z = np.asarray(self.confidence), np.asarray(self.outcome)
        if not len(z) or not (
            c.min() >= 0 and c.max() <= 1 and z.dtype.kind in "biuf" and z.min() >= 0 and z.max() <= 1
        ):
            raise ValueError("`confidence` must lie in [0, 1] and `outcome` be 0 or 1; make them with `from_outcomes`.")

    def __len__(self) -> int:
        return len(self.outcome)

    def scale_free(self) -> "Predictions":
        """The same rows, weights divided by a power of two (exactly) where their squares could not be summed.

        Only for answers that do not depend on the scale of the weights and are not added to other batches.
        """
        weight = self.weight
        if weight is None or 1 / LARGEST_WEIGHT < weight.max() < LARGEST_WEIGHT:
            return self
        return replace(self, weight=np.ldexp(weight, -int(np.frexp(weight.max())[1])))

    @classmethod
    def from_outcomes(
        cls,
        outcome: Any,
        confidence: Any,
        weights: Any = None,
        *,
        names: tuple[str, str] = ("outcome", "confidence"),
        target: str = "confidence",
        classes: Sequence[Any] | None = None,
        logits: bool = False,
    ) -> "Predictions":
        """Check the two columns of a binary problem.

        Parameters
        ----------
        outcome : array-like of {0, 1} or bool, shape (n_rows,)
            What happened. Other labels need `classes`.
        confidence : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        weights : array-like of float, shape (n_rows,), optional
            Importance weights, >= 0.
        names : (str, str), optional
            What messages call the two columns.
        target : str, default "confidence"
            What the columns mean; kept with the result.
        classes : sequence of two labels, optional
            The label that counts as 0 and the one that counts as 1, as in ``("no", "yes")``.
        logits : bool, default False
            Whether `confidence` holds log odds.

        Returns
        -------
        Predictions
            The checked columns; the same memory where nothing had to change.

        Raises
        ------
        ValueError, TypeError
            If lengths differ, values are missing, out of range or not 0 and 1. The message names the argument,
            how many, the first index and its value.

        Examples
        --------
        >>> Predictions.from_outcomes([0, 1, 1], [0.2, 0.7, 0.9]).confidence
        array([0.2, 0.7, 0.9])
        """
        y = _column(names[0], to_array(names[0], outcome))
        p = _column(names[1], to_array(names[1], confidence))
        _checks.same_length(names, (len(y), len(p)))
        _checks.not_empty(names[0], len(y))
        p = _sigmoid(names[1], p) if logits else _checks.probabilities(names[1], _numbers(names[1], p))
        y = _binary(names[0], y, classes)
        return cls(confidence=p, outcome=y, weight=_weights(weights, len(y), names[0]), target=target)

    @classmethod
    def from_labels(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        target: str | None = None,
        classes: Sequence[Any] | None = None,
        logits: bool = False,
        weights: Any = None,
    ) -> "Predictions":
        """Make the binary problem that a target asks of labels and probabilities.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Labels: 0 and 1 (or booleans) for one-dimensional `y_prob`, class numbers 0..K-1 for a matrix.
            Strings or other labels need `classes`.
        y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
            Probabilities of class 1, or of every class.
        target : {"event", "top-label", "confidence"}, optional
            ``event``: is class 1 as frequent as stated? ``top-label``: is the most probable class (the first, on
            ties) right as often as its probability says? ``confidence``: `y_true` says whether the prediction was
            right and `y_prob` how sure it was. Default: ``event`` for a column, ``top-label`` for a matrix.
        classes : sequence, optional
            The label of each column, in the columns' order; for ``event`` the two labels (for 0, for 1).
        logits : bool, default False
            Whether `y_prob` holds logits: a sigmoid (column) or softmax (matrix) is applied.
        weights : array-like, optional
            Importance weights >= 0, one a row.

        Returns
        -------
        Predictions
            Checked confidence and outcome.

        Raises
        ------
        ValueError, TypeError
            As for `from_outcomes`; also where target and shape do not fit, labels lie outside 0..K-1, or
            rows of a matrix do not sum to 1.

        Examples
        --------
        >>> p = Predictions.from_labels([2, 0], [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]])
        >>> p.target, p.confidence, p.outcome
        ('top-label', array([0.7, 0.6]), array([ True, False]))
        """
        _columns_in_order(y_prob, classes)
        probabilities = to_array("y_prob", y_prob)
        target = _resolve_target(target, probabilities)
        if target == "classwise":
            raise ValueError("`target='classwise'` makes one problem per class: use `Predictions.classwise`.")
        if target != "top-label":
            return cls.from_outcomes(
                y_true,
                probabilities,
                weights,
                names=("y_true", "y_prob"),
                target=target,
                classes=classes,
                logits=logits,
            )
        label, matrix = _labels_and_matrix(y_true, probabilities, classes, logits)
        top = matrix.argmax(axis=1)
        confidence = np.take_along_axis(matrix, top[:, None], axis=1)[:, 0]
        weight = _weights(weights, len(label), "y_true")
        return cls(confidence=confidence, outcome=top == label, weight=weight, target=target)

    @classmethod
    def classwise(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        classes: Sequence[Any] | None = None,
        logits: bool = False,
        weights: Any = None,
    ) -> "list[Predictions]":
        """Make one binary problem per class: is class k as frequent as its column says?

        Parameters
        ----------
        y_true, y_prob, classes, logits, weights
            As for `from_labels` with a matrix of shape (n_rows, n_classes).

        Returns
        -------
        list of Predictions
            One per column; the confidences are views of the matrix.

        Examples
        --------
        >>> [p.outcome.tolist() for p in Predictions.classwise([1, 0], [[0.2, 0.8], [0.6, 0.4]])]
        [[False, True], [True, False]]
        """
        _columns_in_order(y_prob, classes)
        label, matrix = _labels_and_matrix(y_true, to_array("y_prob", y_prob), classes, logits)
        weight = _weights(weights, len(label), "y_true")
        return [
            cls(confidence=matrix[:, k], outcome=label == k, weight=weight, target="classwise")
            for k in range(matrix.shape[1])
        ]


def _resolve_target(target: str | None, probabilities: Array) -> str:
    matrix = probabilities.ndim == 2 and probabilities.shape[1] > 1
    if target is None:
        return "top-label" if matrix else "event"
    _checks.one_of("target", target, TARGETS)
    if matrix and target in ("event", "confidence"):
        raise ValueError(
            f"`target={target!r}` needs one probability a row, a column of shape (N,); `y_prob` has shape "
            f"{probabilities.shape}. For two classes pass `y_prob[:, 1]`; else `target='top-label'` or 'classwise'."
        )
    if not matrix and target in ("top-label", "classwise") and probabilities.ndim < 3:
        raise ValueError(
            f"`target={target!r}` needs a matrix of shape (N, K) with K >= 2; `y_prob` has shape "
            f"{probabilities.shape}. For probabilities of one event use `target='event'`."
        )
    return target


def _column(name: str, array: Array) -> Array:
    """One dimension; a single column of shape (N, 1) counts as one."""
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"`{name}` must be one-dimensional (one value a row); its shape is {array.shape}.")
    return array


def _numbers(name: str, array: Array) -> Array:
    """Floats as they are, integers as float64; anything else is not a probability."""
    if array.dtype.kind == "f":
        return array if array.dtype.itemsize <= 8 else array.astype(np.float64)
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    hint = "Hard predictions? `.astype(float)` says so." if array.dtype.kind == "b" else "Convert it to float first."
    raise TypeError(f"`{name}` must hold numbers (probabilities), not dtype {array.dtype}. {hint}")


def _binary(name: str, labels: Array, classes: Sequence[Any] | None) -> Array:
    if classes is not None:
        if len(classes) != 2:
            raise ValueError(f"`classes` must name two labels, the one for 0 and the one for 1, not {len(classes)}.")
        return _class_numbers(name, labels, classes)
    if labels.dtype.kind == "b":
        return labels
    if labels.dtype.kind not in "iuf":
        raise TypeError(_strings_need_classes(name, labels, "`classes=('no', 'yes')`"))
    _checks.finite(name, labels)
    if labels.min() >= 0 and labels.max() <= 1 and (labels.dtype.kind != "f" or ((labels == 0) | (labels == 1)).all()):
        return labels
    hint = "Other labels need `classes=(label_of_0, label_of_1)`; class numbers need a matrix of probabilities."
    if labels.dtype.kind == "f" and ((labels > 0) & (labels < 1)).any():
        hint = "Fractions look like probabilities: are `y_true` and `y_prob` swapped?"
    return _checks.refuse(name, "must be binary labels, 0 or 1", (labels != 0) & (labels != 1), labels, hint=hint)


def _strings_need_classes(name: str, labels: Array, example: str) -> str:
    shown = ", ".join(repr(str(v)) for v in np.unique(labels)[:4])
    return f"`{name}` holds string labels ({shown}); say what they mean with {example}."


def _columns_in_order(y_prob: Any, classes: Sequence[Any] | None) -> None:
    """Refuse a data frame whose columns are named as the classes but stand in another order."""
    named = getattr(y_prob, "columns", None)
    if classes is None or named is None or np.ndim(named) != 1:
        return
    columns, wanted = [str(c) for c in named], [str(c) for c in classes]
    if columns != wanted and sorted(columns) == sorted(wanted):
        raise ValueError(
            f"`y_prob` has the columns {columns}, `classes` says {wanted}: the same names in another order. "
            "Columns are taken by position: use `y_prob[classes]`, or `classes` in the order of the columns."
        )


def _class_numbers(name: str, labels: Array, classes: Sequence[Any]) -> Array:
    """Position of each label in `classes`."""
    known = to_array("classes", list(classes))
    if len(np.unique(known)) != len(known):
        raise ValueError(f"`classes` must name each label once; got {known.tolist()!r}.")
    if (known.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise TypeError(
            f"`{name}` has dtype {labels.dtype} but `classes` holds {type(classes[0]).__name__}: "
            "labels and classes must be of one type."
        )
    order = np.argsort(known)
    position = np.minimum(np.searchsorted(known[order], labels), len(known) - 1)
    number = order[position]
    unknown = known[number] != labels
    if unknown.any():
        _checks.refuse(name, f"must be labels from `classes` {known.tolist()[:10]!r}", unknown, labels)
    return number


def _labels_and_matrix(
    y_true: Any, probabilities: Array, classes: Sequence[Any] | None, logits: bool
) -> tuple[Array, Array]:
    """Checked class numbers (N,) and probabilities (N, K)."""
    if probabilities.ndim != 2 or probabilities.shape[1] < 2:
        raise ValueError(f"`y_prob` must have shape (N, K) with K >= 2; its shape is {probabilities.shape}.")
    label = _column("y_true", to_array("y_true", y_true))
    shapes = f"Their shapes are {label.shape} and {probabilities.shape}."
    if len(label) == probabilities.shape[1]:
        shapes += " Is `y_prob` transposed?"
    _checks.same_length(("y_true", "y_prob"), (len(label), len(probabilities)), shapes)
    _checks.not_empty("y_true", len(label))
    if logits:
        matrix = _softmax("y_prob", probabilities)
    else:
        matrix = _checks.probabilities("y_prob", _numbers("y_prob", probabilities))
        _checks.rows_sum_to_one("y_prob", matrix)
    return _multiclass(label, matrix.shape[1], classes), matrix


def _multiclass(label: Array, n_classes: int, classes: Sequence[Any] | None) -> Array:
    if classes is not None:
        if len(classes) != n_classes:
            raise ValueError(f"`classes` must name the {n_classes} columns of `y_prob`; it has {len(classes)} names.")
        return _class_numbers("y_true", label, classes)
    if label.dtype.kind not in "biuf":
        raise TypeError(_strings_need_classes("y_true", label, "`classes=[name of column 0, ...]`"))
    _checks.finite("y_true", label)
    outside = (label < 0) | (label > n_classes - 1)
    if outside.any():
        _checks.refuse("y_true", f"must be class numbers 0..{n_classes - 1}, the columns of `y_prob`", outside, label)
    number = label.astype(np.int64)
    if label.dtype.kind == "f" and (number != label).any():
        _checks.refuse("y_true", "must be integer class numbers", number != label, label)
    return number


def _sigmoid(name: str, logit: Array) -> Array:
    from scipy.special import expit

    values = _numbers(name, logit)
    _checks.finite(name, values)
    return np.asarray(expit(values))


def _softmax(name: str, logit: Array) -> Array:
    from scipy.special import softmax

    values = _numbers(name, logit)
    _checks.finite(name, values)
    return np.asarray(softmax(values, axis=1))


def _weights(weights: Any, length: int, partner: str) -> Array | None:
    """Checked weights: finite, >= 0, not all zero."""
    if weights is None:
        return None
    weight = _column("weights", to_array("weights", weights))
    _checks.same_length(("weights", partner), (len(weight), length))
    if weight.dtype.kind not in "iuf":
        raise TypeError(f"`weights` must hold numbers, not dtype {weight.dtype}.")
    weight = weight.astype(np.float64, copy=False)
    _checks.finite("weights", weight)
    if weight.min() < 0:
        _checks.refuse("weights", "must be >= 0", weight < 0, weight)
    if weight.max() == 0:
        raise ValueError(f"`weights` are all zero ({length} of {length}, first at index 0): nothing is left to count.")
    return weight
