"""Predictions (confidence, outcome, weight), and the targets that derive them from labels and probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array, Classes
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.data.columns import allowed_weights, binary, column, masks, numbers, scale_free, sigmoid, weight_column
from bayescal.data.frames import column_names, same_rows, to_array
from bayescal.data.matrix import ClassRows, refuse_contradiction
from bayescal.data.reading import Reading, reading_of_logits

TARGETS = ("event", "top-label", "classwise", "confidence")


@public
@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions:
    """Validated rows of one binary calibration problem: confidence, outcome and optional weight.

    Make them with `Predictions.from_labels` (labels and probabilities), `Predictions.from_outcomes`
    (confidence and outcome) or `Predictions.classwise` (one problem per class). The arrays may share memory with those
    of the caller and are never modified.

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
    reading : Reading
        How the probabilities were read.
    """

    confidence: Array
    outcome: Array
    weight: Array | None = None
    target: str = "confidence"
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        """Refuse columns that the constructors below would not accept."""
        _checks.one_of("target", self.target, TARGETS)
        shape = np.shape(self.outcome)
        if np.shape(self.confidence) != shape or len(shape) != 1:
            raise ValueError(
                f"`confidence`, `outcome` must be columns of one length; their shapes are {np.shape(self.confidence)} "
                f"and {shape}."
            )
        # compiled loops rely on equal lengths, and sums of weights are computed in float64
        object.__setattr__(self, "weight", weight_column(self.weight, shape[0], "outcome"))
        if not _possible(self.confidence, self.outcome, self.weight):
            raise ValueError(text_of("arrays of predictions"))

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        weighted = "" if self.weight is None else ", weighted"
        return (
            f"Predictions({len(self)} rows, {np.count_nonzero(self.outcome)} with outcome 1, {self.target}{weighted})"
        )

    def scale_free(self) -> "Predictions":
        """Divide weights by a power of two (which is exact) if their squares could not be summed.

        Only for results that do not depend on the scale of the weights and are not added to other batches.
        """
        return self if self.weight is None else replace(self, weight=scale_free(self.weight))

    @classmethod
    def from_outcomes(
        cls,
        outcome: Any,
        confidence: Any,
        weights: Any = None,
        *,
        names: tuple[str, str] = ("outcome", "confidence"),
        target: str = "confidence",
        classes: Classes = None,
        logits: bool = False,
    ) -> "Predictions":
        """Check the two columns of a binary problem.

        Arrays that need no conversion share memory with the input.

        Parameters
        ----------
        outcome : array-like of {0, 1} or bool, shape (n_rows,)
            Observed outcomes. Other labels need `classes`.
        confidence : array-like of float, shape (n_rows,)
            Probability stated for outcome 1, in [0, 1].
        names : (str, str), optional
            Names of the two columns in messages.
        target : str, default "confidence"
            Meaning of the columns; stored in the result.
        classes : sequence of two labels, optional
            The label that counts as 0 and the one that counts as 1, as in ``("no", "yes")``.
        logits : bool, default False
            Whether `confidence` holds log odds.

        Raises
        ------
        ValueError, TypeError
            If lengths differ, or values are missing, out of range or not 0 and 1. The message names the argument, the
            number of invalid values, and the first index and value.

        Examples
        --------
        >>> bc.Predictions.from_outcomes([0, 1, 1], [0.2, 0.7, 0.9]).confidence
        array([0.2, 0.7, 0.9])
        """
        return Columns.read(
            outcome, confidence, weights, names=names, target=target, classes=classes, logits=logits
        ).checked()

    @classmethod
    def from_labels(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        target: str | None = None,
        classes: Classes = None,
        logits: bool = False,
        weights: Any = None,
    ) -> "Predictions":
        """Derive a binary problem from labels and probabilities.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Labels: 0 and 1 (or booleans) for one-dimensional `y_prob`, class numbers 0..K-1 for a matrix.
            Strings or other labels need `classes`, or a data frame whose columns have the names of the classes.
        y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
            Probabilities of class 1, or of every class.
        target : {"event", "top-label", "confidence"}, optional
            ``event``: is class 1 as frequent as stated? ``top-label``: is the most probable class (the first, on ties)
            right as often as its probability states? ``confidence``: `y_true` states whether the prediction was right,
            and `y_prob` is its confidence. Default: ``event`` for a column, ``top-label`` for a matrix.
        classes : sequence, optional
            The label of each column, in the order of the columns; for ``event`` the two labels (for 0, for 1).
        logits : bool, default False
            Whether `y_prob` holds logits: a sigmoid (column) or softmax (matrix) is applied, in float64.

        Raises
        ------
        ValueError, TypeError
            As for `from_outcomes`. Also if target and shape do not match, labels lie outside 0..K-1, or rows of
            a matrix do not sum to 1.

        Examples
        --------
        >>> p = bc.Predictions.from_labels([2, 0], [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]])
        >>> p.target, p.confidence, p.outcome
        ('top-label', array([0.7, 0.6]), array([ True, False]))
        """
        return read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights).checked()

    @classmethod
    def classwise(
        cls, y_true: Any, y_prob: Any, *, classes: Classes = None, logits: bool = False, weights: Any = None
    ) -> "list[Predictions]":
        """Derive one binary problem per class: is class k as frequent as its column states?

        The confidences are views of the matrix.

        Parameters
        ----------
        y_true, y_prob, classes, logits, weights
            As for `from_labels` with a matrix of shape (n_rows, n_classes).

        Examples
        --------
        >>> [p.outcome.tolist() for p in bc.Predictions.classwise([1, 0], [[0.2, 0.8], [0.6, 0.4]])]
        [[False, True], [True, False]]
        """
        return cls.of_classes(ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights))

    @classmethod
    def of_classes(cls, rows: ClassRows) -> "list[Predictions]":
        """Derive one binary problem per class from rows that may not have been validated."""
        rows = rows.checked()
        of_all: dict[str, Any] = {"weight": rows.weight, "target": "classwise", "reading": rows.reading}
        return [cls(confidence=rows.matrix[:, k], outcome=rows.label == k, **of_all) for k in range(rows.n_classes)]


def _possible(confidence: Any, outcome: Any, weight: Array | None) -> bool:
    """Return whether all values are valid; NaN fails every comparison."""
    c, z = confidence, outcome
    if not (isinstance(c, np.ndarray) and c.dtype.kind == "f" and isinstance(z, np.ndarray) and len(z)):
        return False
    binary = z.dtype.kind == "b" or (z.dtype.kind in "iuf" and z.min() >= 0 and z.max() <= 1)
    whole = z.dtype.kind != "f" or ((z == 0) | (z == 1)).all()
    fine = weight is None or (weight.min() >= 0 and weight.max() < np.inf)
    return bool(binary and whole and fine and c.min() >= 0 and c.max() <= 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns:
    """Unvalidated columns of one length; values are checked during counting."""

    confidence: Array
    outcome: Array
    weight: Array | None
    target: str
    names: tuple[str, str]  # of outcome and confidence, in messages
    reading: Reading = field(default_factory=Reading)

    @classmethod
    def read(
        cls,
        outcome: Any,
        confidence: Any,
        weights: Any = None,
        *,
        names: tuple[str, str] = ("outcome", "confidence"),
        target: str = "confidence",
        classes: Classes = None,
        logits: bool = False,
    ) -> "Columns":
        """Check shapes and types; parameters as for `Predictions.from_outcomes`."""
        _checks.one_of("target", target, TARGETS)
        same_rows({names[0]: outcome, names[1]: confidence, "weights": weights})
        y = column(names[0], to_array(names[0], outcome))
        p = column(names[1], to_array(names[1], confidence))
        _checks.same_length(names, (len(y), len(p)))
        _checks.not_empty(names[0], len(y))
        reading = Reading()
        if logits:
            logit, p = p, sigmoid(names[1], p)
            reading = reading_of_logits(logit)
        else:
            p = numbers(names[1], p)
        if classes is not None or y.dtype.kind not in "biuf":
            y = binary(names[0], y, classes)
        weight = weight_column(weights, len(y), names[0])
        return cls(confidence=p, outcome=y, weight=weight, target=target, names=names, reading=reading)

    def __len__(self) -> int:
        return len(self.outcome)

    def checked(self) -> Predictions:
        """Validate all values; errors as in `Predictions.from_outcomes`."""
        p = _checks.probabilities(self.names[1], self.confidence)
        y = binary(self.names[0], self.outcome, None, partner=self.names[1], values=p)
        weight = None if self.weight is None else allowed_weights(self.weight)
        return Predictions(confidence=p, outcome=y, weight=weight, target=self.target, reading=self.reading)


@dataclass(frozen=True, eq=False, kw_only=True)
class TopLabels:
    """Unvalidated rows of a matrix for the target `top-label`."""

    rows: ClassRows
    target: str = "top-label"

    def __len__(self) -> int:
        return len(self.rows)

    def columns(self) -> Columns:
        """Confidence of the most probable class, and whether it was right."""
        confidence, correct, reading = self.rows.top_label()
        columns: dict[str, Any] = {"confidence": confidence, "outcome": correct, "weight": self.rows.weight}
        return Columns(**columns, target=self.target, names=("y_true", "y_prob"), reading=reading)

    def checked(self) -> Predictions:
        """Validate all values."""
        return self.columns().checked()


def read_rows(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    classes: Classes = None,
    logits: bool = False,
    weights: Any = None,
) -> "Columns | TopLabels":
    """Check shapes and types, as for `Predictions.from_labels`; ``.checked()`` of the result validates values."""
    names = column_names(y_prob)
    refuse_contradiction(names, classes)
    same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights})
    probabilities = to_array("y_prob", y_prob)
    if probabilities.ndim > 2:
        hint = masks("y_prob", probabilities.shape, to_array("y_true", y_true).shape)
        raise ValueError(
            f"`y_prob` must be a column, of shape (N,), or a matrix, of shape (N, K); its shape is "
            f"{probabilities.shape}.{hint}"
        )
    target = _resolve_target(target, probabilities, names)
    if target == "classwise":
        raise ValueError(text_of("several problems of classes"))
    options: dict[str, Any] = {"classes": classes, "logits": logits}
    if target == "top-label":
        return TopLabels(rows=ClassRows.read(y_true, probabilities, weights=weights, names=names, **options))
    return Columns.read(y_true, probabilities, weights, names=("y_true", "y_prob"), target=target, **options)


def _resolve_target(target: str | None, probabilities: Array, names: Sequence[Any] | None) -> str:
    matrix = probabilities.ndim == 2 and probabilities.shape[1] > 1
    if target is None:
        return "top-label" if matrix else "event"
    _checks.one_of("target", target, TARGETS)
    if matrix and target in ("event", "confidence"):
        hint = "For two classes pass `y_prob[:, 1]`; of several, one class as an event, as in `y_true == k` with "
        hint += "`y_prob[:, k]`."
        if names is not None:
            hint = f"For two classes pass `y_prob[{names[1]!r}]`; of several classifiers, one column at a time."
        raise ValueError(
            f"`target={target!r}` needs one probability per row, a column of shape (N,); `y_prob` has shape "
            f"{probabilities.shape}. {hint}"
        )
    if not matrix and target in ("top-label", "classwise") and probabilities.ndim < 3:
        raise ValueError(
            f"`target={target!r}` needs a matrix of shape (N, K) with K >= 2; `y_prob` has shape "
            f"{probabilities.shape}. For probabilities of one event use `target='event'`."
        )
    return target
