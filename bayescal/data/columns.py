"""Checks of one column: shape, type and values, with names for messages and hints for each kind of function."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Array, Classes
from bayescal._invalid import AllZero, InvalidRows, quoted
from bayescal._texts import text_of
from bayescal.data.frames import to_array
from bayescal.data.reading import RowSums

SHOWN_CLASSES = 10  #: Maximum number of classes that a message lists.

SAFE_WEIGHT = 2.0**100  #: Weights up to this number, and down to its inverse, are not divided by a power of two.
#: Least ratio of a positive weight to the largest one, for results that need squared weights of single rows.
LEAST_RATIO = 1e-60
#: What to pass as a column that says whether an event happened.
EVENT = "Pass whether the event happened, as in `y_true == label`."
EXPIT = "`scipy.special.expit`"  #: What to pass in place of logits.
PROBABILITIES = "Logits? Pass probabilities, as in `scipy.special.expit(logits)`."
OF_CLASSES = "Logits? Pass probabilities, as in `scipy.special.softmax(logits, axis=1)`."


def column(name: str, array: Array) -> Array:
    """Require one dimension; an array of shape (N, 1) is accepted."""
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"`{name}` must be one-dimensional (one value per row); its shape is {array.shape}."
            f"{_indicators(name, array) or of_two_classes(name, array)}{masks(name, array.shape)}"
        )
    return array


def _indicators(name: str, array: Array) -> str:
    """Return a hint for a matrix of 0 and 1, with one column per class: one-hot, or several classes per row."""
    if array.ndim != 2 or array.dtype.kind not in "biuf" or not array.size:
        return ""
    ones = array == 1
    if not (ones | (array == 0)).all():
        return ""
    if (ones.sum(axis=1) == 1).all():
        return f" One-hot labels? `numpy.argmax({name}, axis=1)` gives class numbers."
    return f" Several labels per row? One column at a time: `{name}[:, k]`, with the probabilities of label k."


def of_two_classes(name: str, array: Array) -> str:
    """Return a hint for probabilities of two classes, whose rows sum to 1, where those of an event are needed."""
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind != "f" or not np.allclose(array.sum(axis=1), 1):
        return ""
    return f" Probabilities of two classes? Those of the event are `{name}[:, 1]`."


def masks(name: str, shape: tuple[int, ...], labels: tuple[int, ...] | None = None) -> str:
    """Return a hint for masks of images, whose pixels are rows; empty for fewer than three dimensions.

    `labels` is the shape of the labels, which may lack the axis of the classes.
    """
    if len(shape) < 3:
        return ""
    flat, images = f"`{name}.reshape(-1)`", shape
    beside = "" if labels is None else ", with `y_true.reshape(-1)`"
    if labels is not None and len(labels) == len(shape) - 1:
        images = labels
        if shape[1:] == labels and shape[:-1] != labels and shape[:1] + shape[2:] != labels:
            flat = f"`numpy.moveaxis({name}, 0, -1).reshape(-1, {shape[0]})`"
            return f" The classes of one image? Pass pixels as rows: {flat}{beside}."
        if shape[:-1] == labels and shape[-1] > 1:
            flat = f"`{name}.reshape(-1, {shape[-1]})`"
        elif shape[:1] + shape[2:] == labels and shape[1] > 1:
            flat = f"`numpy.moveaxis({name}, 1, -1).reshape(-1, {shape[1]})`"
    dependent = f"`cluster=numpy.repeat(numpy.arange({shape[0]}), {int(np.prod(images[1:]))})`"
    if len(images) == 2:  # one image, or sequences
        return (
            f" Pass pixels, or members of sequences, as rows: {flat}{beside}. Members of one sequence depend on each "
            f"other: for {shape[0]} sequences {dependent}."
        )
    return (
        f" Masks of {shape[0]} images? Pass pixels as rows: {flat}{beside}. Pixels of one image depend on each other: "
        f"{dependent}."
    )


def numbers(name: str, array: Array) -> Array:
    """Return floats unchanged and integers as float64; refuse other types."""
    if array.dtype.kind == "f":
        return array if array.dtype.itemsize <= 8 else array.astype(np.float64)
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    rule = f"`{name}` must hold numbers (probabilities), not"
    if array.dtype.kind in "UT" and array.size:
        first = str(array.flat[0])
        hint = _checks.of_percentages(first) or "Convert them to float first."
        raise TypeError(f"{rule} strings, such as {quoted(first)}. {hint}")
    hint = "Convert it to float first."
    if array.dtype.kind == "b":
        hint = "Hard predictions? Pass probabilities, or `.astype(float)`."
    raise TypeError(f"{rule} dtype {array.dtype}. {hint}")


def binary(
    name: str, labels: Array, classes: Classes, *, partner: str = "y_prob", values: Array | None = None
) -> Array:
    """Return labels 0 and 1, or the position of each label in two `classes`."""
    if classes is not None:
        _checks.in_order("classes", classes)
        if len(classes) != 2:
            raise ValueError(f"`classes` must name two labels, the one for 0 and the one for 1, not {len(classes)}.")
        return class_numbers(name, labels, classes)
    if labels.dtype.kind == "b":
        return labels
    if labels.dtype.kind not in "iuf":
        occurring = np.unique(labels).tolist()
        if len(occurring) > 2:
            raise TypeError(
                text_of(
                    "more than two labels beside a column", name=name, labels=len(occurring), such=quoted(occurring[:3])
                )
            )
        shown = tuple(occurring) if len(occurring) == 2 else ("no", "yes")
        example = f"`classes={shown!r}`, first the label that counts as 0"
        if len(occurring) == 2:
            example = f"`classes={shown!r}` ({shown[0]!r} is 0) or `classes={shown[::-1]!r}` ({shown[0]!r} is 1)"
        raise TypeError(strings_need_classes(name, labels, example))
    _checks.finite(name, labels)
    if labels.min() >= 0 and labels.max() <= 1 and (labels.dtype.kind != "f" or ((labels == 0) | (labels == 1)).all()):
        return labels
    hint = "Other labels need `classes=(label_of_0, label_of_1)`; class numbers need a matrix of probabilities."
    low, high = labels.min(), labels.max()
    if low < high and max(abs(float(low)), float(high)) < 1e6 and ((labels == low) | (labels == high)).all():
        hint = f"Two labels? Pass `classes=({low:.15g}, {high:.15g})`, first the one that counts as 0."
    certain = values is not None and bool(((values == 0) | (values == 1)).all())
    hint = _rules.fractions_hint(name, labels, swapped=certain, partner=partner) or hint
    hint = _rules.ignored_hint(name, labels, 1) or hint
    return _rules.BINARY.refuse(name, ~_rules.BINARY.holds(labels), labels, hint=hint)


def class_numbers(name: str, labels: Array, classes: Sequence[Any], source: str = "`classes`", hint: str = "") -> Array:
    """Return the position of each label in `classes`; `source` names, in messages, where the classes come from."""
    names = to_array("classes", list(classes))
    if names.dtype.kind not in "US" and labels.dtype.kind not in "US":
        names, labels = _comparable(name, names, labels)
    if len(np.unique(names)) != len(names):
        raise ValueError(f"{source} must name each label once; got {quoted(names.tolist())}.")
    if (names.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise TypeError(
            f"`{name}` has dtype {labels.dtype} but {source} holds {type(classes[0]).__name__}: "
            "labels and classes must be of one type."
        )
    order = np.argsort(names)
    position = np.minimum(np.searchsorted(names[order], labels), len(names) - 1)
    number = order[position]
    unknown = names[number] != labels
    if unknown.any():
        more = f", ... ({len(names)} labels)" if len(names) > SHOWN_CLASSES else ""
        shown = f"{quoted(names.tolist()[:SHOWN_CLASSES])}{more}"
        if names.dtype.kind in "iuf" and np.array_equal(names, np.arange(len(names))):  # class numbers
            hint = _rules.ignored_hint(name, labels, len(names) - 1) or hint
        _checks.refuse(name, f"must be labels from {source} {shown}", unknown, labels, hint=hint)
    return number


def _comparable(name: str, names: Array, labels: Array) -> tuple[Array, Array]:
    """Convert classes and labels to types that numpy compares exactly."""
    if "f" not in names.dtype.kind + labels.dtype.kind:
        if np.result_type(names, labels).kind == "f":  # int64 beside uint64
            names, labels = names.astype(object), labels.astype(object)
        return names, labels
    if names.dtype.kind != "f":
        unambiguous_integers(name, labels)
    if labels.dtype.kind != "f":
        unambiguous_integers("classes", names)
    return names, labels


def unambiguous_integers(name: str, values: Array) -> None:
    """Refuse integer labels in a float type if they are so large that the type cannot represent every integer."""
    if values.dtype.kind != "f":
        return
    digits = np.finfo(values.dtype).nmant + 1
    large = np.abs(values) >= 2.0**digits
    if large.any():
        rule = f"must be integers: {values.dtype} skips some integers from 2^{digits} on, so labels may merge"
        _checks.refuse(name, rule, large, values, hint="Pass integers or strings.")


def strings_need_classes(name: str, labels: Array, example: str) -> str:
    """Return the error message for labels that are text."""
    shown = ", ".join(quoted(str(v)) for v in np.unique(labels)[:4])
    return f"`{name}` holds string labels ({shown}); say what they mean with {example}."


def sigmoid(name: str, logit: Array) -> Array:
    """Convert log odds of any type to probabilities of one event in float64."""
    from scipy.special import expit

    values = numbers(name, logit)
    if np.isneginf(values).any() and values.max() < np.inf:  # without NaN
        hint = (
            f"-inf is the logarithm of 0: log-probabilities need `np.exp({name})`, without `logits=True`. Log-odds of "
            "an impossible event? Give them a number far below the others, such as -1000."
        )
        _rules.FINITE.refuse(name, ~np.isfinite(values), values, hint=hint)
    _checks.finite(name, values)
    return np.asarray(expit(values.astype(np.float64, copy=False)))


def softmax(name: str, logit: Array) -> Array:
    """Convert logits of any type to probabilities of all classes in float64."""
    from scipy.special import softmax

    values = numbers(name, logit)
    if np.isneginf(values).any():
        hint = (
            f"-inf is the logarithm of 0: log-probabilities need `np.exp({name})`, without `logits=True`. The logit of "
            "a class that a row cannot have? Give it a number far below the others, such as -10000."
        )
        _checks.refuse(name, _rules.FINITE.words, ~np.isfinite(values), values, hint=hint)
    _checks.finite(name, values)
    if values.size and values.min() >= 0 and values.max() <= 1 and RowSums.of(values).accepted:
        raise ValueError(
            f"`{name}` must hold logits; its rows lie in [0, 1] and sum to 1, as probabilities do. Drop `logits=True`."
        )
    return np.asarray(softmax(values.astype(np.float64, copy=False), axis=1))


def weight_column(weights: Any, length: int, partner: str) -> Array | None:
    """Return weights as a column of float64; their values are not checked."""
    if weights is None:
        return None
    weight = column("weights", to_array("weights", weights))
    _checks.same_length(("weights", partner), (len(weight), length))
    if weight.dtype.kind not in "iuf":
        raise TypeError(f"`weights` must hold numbers, not dtype {weight.dtype}.")
    return weight.astype(np.float64, copy=False)


def allowed_weights(weight: Array) -> Array:
    """Require weights that are finite, >= 0 and not all zero."""
    _checks.finite("weights", weight)
    if weight.min() < 0:
        _rules.NOT_NEGATIVE.require("weights", weight)
    if weight.max() == 0:
        raise InvalidRows(AllZero(count=len(weight), size=len(weight), first=(0,)))
    return weight


def scale_free(weight: Array) -> Array:
    """Divide weights by a power of two (which is exact) if powers of their sums could overflow."""
    if 1 / SAFE_WEIGHT < weight.max() < SAFE_WEIGHT:
        return weight
    return np.ldexp(weight, -int(np.frexp(weight.max())[1]))


def require_ratios(weight: Array) -> Array:
    """Require weights that are 0 or not too small beside the largest, so that their squares do not underflow."""
    least = LEAST_RATIO * weight.max()
    small = (weight < least) & (weight > 0)
    if small.any():
        hint = "Such rows do not change the result; set their weights to 0."
        _checks.refuse("weights", f"must be 0 or at least {LEAST_RATIO:g} of the largest weight", small, weight, hint)
    return weight


def refuse_scale(weight: Array) -> NoReturn:
    """Refuse weights whose squares could not be summed."""
    _rules.SUMMABLE.require("weights", weight)
    raise _rules.too_small(weight.max())


def require_marks(name: str, values: Any, instead: str = EVENT) -> None:
    """Raise if a column is empty or not numeric; `instead` says what to pass."""
    labels = column(name, to_array(name, values))
    _checks.not_empty(name, len(labels), hint="")
    if labels.dtype.kind not in "biuf":
        shown = _checks.quoted(np.unique(labels)[:3].tolist())
        raise TypeError(f"`{name}` must hold 0 and 1, or booleans; it holds other labels, such as {shown}. {instead}")


@contextmanager
def own_hints(
    instead: str = EVENT, names: Mapping[str, str] | None = None, *, swapped: str | None = None
) -> Iterator[None]:
    """Replace hints that name keywords of `evaluate`, and `y_true` and `y_prob` by `names`."""
    try:
        yield
    except InvalidRows as problem:
        hint = problem.finding.hint
        if "`classes=" in hint:
            hint = instead
        elif "`logits=" in hint:
            of_logits = OF_CLASSES if len(problem.finding.first or ()) == 2 else PROBABILITIES
            hint = hint.replace("`logits=True`", EXPIT) if "np.exp" in hint else of_logits
        elif ("swapped?" in hint or "choose a threshold" in hint) and swapped is not None:
            hint = swapped
        for theirs, name in (names or {}).items():
            hint = hint.replace(f"`{theirs}`", f"`{name}`")
        if hint == problem.finding.hint:
            raise
        of_all = PROBABILITIES if problem.finding.of_all else ""
        raise InvalidRows(replace(problem.finding, hint=hint, of_all=of_all)) from None
