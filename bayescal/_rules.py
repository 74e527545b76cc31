"""The rules of a valid row: their words, hints, and which values obey them.

Rows are also checked by faster code that does not call these functions: the loops of `stats._kernel` and `_compiled`,
and the expressions of `stats.query.row_states`. `tests/test_rules.py` compares all of them with this table, on values
just inside and just outside every rule.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from bayescal._arrays import Array
from bayescal._invalid import DOES_NOT, InvalidRows, invalid
from bayescal._texts import text_of

#: A float overshoot of [0, 1] up to this size is rounding (float32 softmax) and is clipped with a warning.
OVERSHOOT = 1e-6
#: Rows of a probability matrix sum to 1 within this, by the size of a float in bytes; float16 has three digits.
ROW_SUM_TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-3}
LARGEST_WEIGHT = 1e140  #: Sums of squared weights must stay far inside float64, so that batches can be added.


@dataclass(frozen=True)
class Rule:
    """A rule of valid values.

    >>> BINARY.holds(np.array([0.0, 0.5, 1.0]))
    array([ True, False,  True])
    """

    words: str  # in a sentence that begins with the argument, as in "must lie in [0, 1]"
    holds: Callable[[Array], Array]  # True where a value obeys the rule
    hint: str = ""  # how to repair other values, if that does not depend on them
    verb: tuple[str, str] = DOES_NOT  # what one such value does, and what several do

    def require(self, name: str, values: Array) -> None:
        """Raise `InvalidRows` if a value breaks the rule."""
        obeyed = self.holds(values)
        if not obeyed.all():
            self.refuse(name, ~obeyed, values)

    def refuse(self, name: str, bad: Array, values: Any = None, hint: str | None = None) -> NoReturn:
        """Raise `InvalidRows` about the entries that are marked in `bad`; without `values` none is quoted."""
        raise InvalidRows(invalid(name, self.words, bad, values, self.hint if hint is None else hint, self.verb))


COMPLETE = Rule(
    "must be complete",
    lambda values: ~np.isnan(values),
    hint="Rows are never dropped for you: remove or repair them first.",
    verb=("is missing (NaN, null or None)", "are missing (NaN, null or None)"),
)
#: The same for outcomes, and arguments that hold them.
OBSERVED = replace(
    COMPLETE,
    hint=text_of("missing rows are not dropped"),
)
OUTCOMES = ("y_true", "outcome", "label")
FINITE = Rule("must be finite", np.isfinite)
BINARY = Rule("must be binary labels, 0 or 1", lambda values: (values == 0) | (values == 1))
#: Values that lie outside by less than `OVERSHOOT` are clipped.
IN_UNIT_INTERVAL = Rule("must lie in [0, 1]", lambda values: (values >= -OVERSHOOT) & (values <= 1 + OVERSHOOT))
NOT_NEGATIVE = Rule("must be >= 0", lambda values: values >= 0)
SUMMABLE = Rule(
    f"must be below {LARGEST_WEIGHT:g}, so that squares can be summed over batches",
    lambda values: values < LARGEST_WEIGHT,
    hint="Divide them all by one number.",
)
INTEGER = Rule("must be integer class numbers", lambda values: values == np.floor(values))
#: Of sums of rows of a probability matrix; the tolerance is that of float32 and float64.
SUMS_TO_ONE = Rule("must have rows that sum to 1", lambda sums: np.abs(sums - 1) <= row_sum_tolerance(np.float64))

#: Rules of each column of a row, in the order in which they are checked.
ROW: Mapping[str, tuple[Rule, ...]] = {
    "outcome": (OBSERVED, FINITE, BINARY),
    "confidence": (COMPLETE, FINITE, IN_UNIT_INTERVAL),
    "weights": (COMPLETE, FINITE, NOT_NEGATIVE, SUMMABLE),
}


def complete(name: str) -> Rule:
    """Rule of an argument without missing values."""
    return OBSERVED if name in OUTCOMES else COMPLETE


def class_number(n_classes: int) -> Rule:
    """Rule of a label beside a matrix with `n_classes` columns."""
    words = f"must be class numbers 0..{n_classes - 1}, the columns of `y_prob`"
    return Rule(words, lambda labels: (labels >= 0) & (labels <= n_classes - 1))


def row_sum_tolerance(dtype: Any) -> float:
    """Largest distance from 1 of a sum over a row of a probability matrix of this dtype."""
    return ROW_SUM_TOLERANCE.get(np.dtype(dtype).itemsize, 1e-3)


LOGITS = "Logits? Pass `logits=True`."  #: Advice for logits.


def both_logarithms(as_probabilities: str, as_log_odds: str = "`logits=True`") -> str:
    """Say what one column of values <= 0 may be; neither reading can be excluded, so neither is preferred."""
    return (
        f"No value is above 0: log-probabilities need {as_probabilities}, log-odds of a rare event need {as_log_odds}; "
        "the values alone do not show which."
    )


def scale_hint(low: float, high: float, logits: str = LOGITS, logarithms: str = "") -> str:
    """Suggest what numbers outside [0, 1] may be."""
    if low < 0:
        return logarithms if high <= 0 and logarithms else logits
    if 1.5 < high <= 100:
        return "Percentages? Divide by 100."
    if high <= 1.5:
        return f"Only an overshoot of {OVERSHOOT:g} is taken as rounding and clipped."
    return "Scores are not probabilities: calibrate them first."


def divide_hint(name: str | None, deviation: float) -> str:
    """Say how far sums of rows are from 1 at most, and how to divide by them; no call for columns of a data frame."""
    call = "" if name is None else f": `{name} / {name}.sum(axis=1, keepdims=True)`"
    return text_of("rows of probabilities do not sum to 1", deviation=deviation, call=call)


#: Labels that mark rows to be left out: of programs for text and for images, and of tables.
IGNORED_LABELS = (-100, 255, -1)
FEW_VALUES = 10  #: Maximum number of distinct values that are taken as partial credit rather than as real numbers.
RESPONSES = "`bayescal.cumulative.subpopulation` takes real responses, and compares a group with all rows."


def ignored_hint(name: str, labels: Array, largest: float) -> str:
    """Name the label of rows to be left out beside class numbers 0, ..., `largest`; empty if there is none."""
    for label in IGNORED_LABELS:
        marked = labels == label
        rest = labels[~marked]
        inside = len(rest) and marked.any() and (rest >= 0).all() and (rest <= largest).all()
        if inside and (label == IGNORED_LABELS[0] or (len(np.unique(rest)) > 1 and (rest % 1 == 0).all())):
            return f"Does {label} mark rows to be left out? Drop these rows from all columns: `{name} != {label}`."
    return ""


def threshold_hint(name: str, limit: str = "0.5") -> str:
    """Say how numbers become outcomes, and which function takes them as they are."""
    return (
        f"An outcome is 0 or 1: choose a threshold, as in `{name} >= {limit}`; probabilities are then those of this "
        f"event. {RESPONSES}"
    )


def fractions_hint(name: str, labels: Array, *, swapped: bool = False, partner: str = "y_prob") -> str:
    """Say what to do about labels that are no integers, if any; `swapped`: the other column holds only 0 and 1."""
    if not (labels % 1 != 0).any():
        return ""
    inside = bool((labels >= 0).all() and (labels <= 1).all())
    if swapped and inside:
        return f"`{partner}` holds only 0 and 1: are `{name}` and `{partner}` swapped?"
    if not inside:
        return f"Real numbers? {threshold_hint(name, 'limit')}"
    distinct = len(np.unique(labels))
    few = distinct <= FEW_VALUES and distinct < max(len(labels) / 2, 4)
    kind = "Partial credit" if few else "Soft labels"
    return f"{kind}, with {distinct} distinct values? {threshold_hint(name)}"


def too_small(largest: float | None = None, where: str = "") -> ValueError:
    """Return the error for weights that are too small for their squares to be summed."""
    rule = f"must be above {1 / LARGEST_WEIGHT:g} at their largest{where}, so that squares can be summed over batches"
    observed = "" if largest is None else f"; it is {largest:g}"
    return ValueError(f"`weights` {rule}{observed}. {SUMMABLE.hint}")
