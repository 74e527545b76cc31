"""Row validation as engine expressions: one state per row, counted in the same query and reported by kind."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Bools, Floats, Ints
from bayescal._invalid import Finding, InvalidRows, Rounding, RoundingWarning
from bayescal._rules import Rule

OK, MISSING, INFINITE = 0, 1, 2
OUTSIDE = 3  # confidence
FRACTION, OTHER = 3, 4  # outcome
NEGATIVE, TOO_LARGE = 3, 4  # weight
KINDS = 5  #: Number of states of one column, which is the base of the number for all columns.
LARGEST_FLOAT = float(np.finfo(np.float64).max)  #: Larger values are infinite; engines compare with it.


def is_number(x: nw.Expr) -> nw.Expr:
    """Return whether a value is neither NaN nor infinite, by subtraction.

    An engine may answer from statistics: duckdb takes the largest value from the end of a Parquet file, where most
    writers omit NaN, and then evaluates `x.is_nan()`, `x <= 1` and even `x - x != 0` without reading the rows. It does
    not simplify `x - x == 0`.
    """
    return (x - x) == 0


def _is_infinite(x: nw.Expr) -> nw.Expr:
    return (x > LARGEST_FLOAT) | (x < -LARGEST_FLOAT)


def is_missing(x: nw.Expr) -> nw.Expr:
    """Return whether a value is null or NaN."""
    return x.is_null() | x.is_nan()


def first_state(*states: tuple[nw.Expr, int]) -> nw.Expr:
    """Return the first state whose condition holds; if none holds, the first of all, for missing values."""
    state: Any = nw
    for holds, number in states:
        state = state.when(holds).then(nw.lit(number))
    return state.otherwise(nw.lit(states[0][1]))


def confidence_state(c: nw.Expr) -> nw.Expr:
    """Return OK (also for an overshoot that will be clipped), MISSING, INFINITE or OUTSIDE for a float column."""
    # missing values come first: in duckdb and Spark, NaN is larger than every number
    outside = (c < -_rules.OVERSHOOT) | (c > 1 + _rules.OVERSHOOT)
    return first_state((is_missing(c), MISSING), (_is_infinite(c), INFINITE), (outside, OUTSIDE), (is_number(c), OK))


def outcome_state(z: nw.Expr) -> nw.Expr:
    """Return OK, MISSING, INFINITE, FRACTION or OTHER for a float column."""
    in_range = ((z == 0) | (z == 1), OK), ((z > 0) & (z < 1), FRACTION)
    return first_state((is_missing(z), MISSING), *in_range, (_is_infinite(z), INFINITE), (is_number(z), OTHER))


def weight_state(w: nw.Expr) -> nw.Expr:
    """Return OK, MISSING, INFINITE, NEGATIVE or TOO_LARGE for a float column."""
    finite = (w < 0, NEGATIVE), (w >= _rules.LARGEST_WEIGHT, TOO_LARGE), (is_number(w), OK)
    return first_state((is_missing(w), MISSING), (_is_infinite(w), INFINITE), *finite)


def together(states: Sequence[nw.Expr]) -> nw.Expr:
    """Combine the states of a row in one number, which is 0 if all are OK."""
    number = states[0]
    for place, state in enumerate(states[1:], 1):
        number = number + state * KINDS**place
    return number


class InvalidStates:
    """Numbers of rows by state (see `together`), from which invalid rows are reported; `names` are for messages."""

    def __init__(self, states: Ints, n: Ints, names: Mapping[str, str]) -> None:
        self.states, self.n, self.total, self.names = states, n, int(n.sum()), names

    def _rows(self, place: int, kind: int) -> tuple[int, Bools]:
        marked = self.states // KINDS**place % KINDS == kind
        return int(self.n[marked].sum()), marked

    def refuse(self, place: int, kind: int, argument: str, rule: Rule, **also: Any) -> None:
        """Raise if any row's column number `place` is of this kind."""
        count, _ = self._rows(place, kind)
        if count:
            fields = {"argument": argument, "called": self.names[argument], "rule": rule.words, "verb": rule.verb}
            raise InvalidRows(Finding(count=count, size=self.total, **{**fields, "hint": rule.hint, **also}))

    def refuse_missing(self, place: int, argument: str) -> None:
        """Raise if any entry is null or NaN."""
        self.refuse(place, MISSING, argument, _rules.complete(argument))

    def refuse_outcome(self, place: int, argument: str, partner: str) -> None:
        """Raise if any outcome is not 0 or 1; `partner` is the argument with its probabilities."""
        self.refuse(place, INFINITE, argument, _rules.FINITE)
        swapped = f"Or, if `{partner}` holds only 0 and 1, are `{argument}` and `{partner}` swapped?"
        hint = f"Fractions? {_rules.threshold_hint(argument)} {swapped}"
        self.refuse(place, FRACTION, argument, _rules.BINARY, hint=hint)
        other = "Make a column of 0 and 1 (or booleans) from other labels, without rows that are to be left out."
        self.refuse(place, OTHER, argument, _rules.BINARY, hint=other)

    def refuse_confidence(self, place: int, argument: str, low: Floats, high: Floats) -> None:
        """Raise if any confidence lies outside [0, 1] by more than rounding; `low`, `high` are the extremes by key."""
        logarithms = _rules.both_logarithms("exp(x)", "a sigmoid, 1 / (1 + exp(-x))")
        infinite = f"-inf is the logarithm of 0. {logarithms}" if low.min() == -np.inf and high.max() <= 0 else ""
        self.refuse(place, INFINITE, argument, _rules.FINITE, hint=infinite)
        count, marked = self._rows(place, OUTSIDE)
        if count:
            span = float(np.min(low[marked])), float(np.max(high[marked]))
            sigmoid = "Logits? Apply a sigmoid first: 1 / (1 + exp(-x))."
            hint = _rules.scale_hint(span[0], float(high.max()), logits=sigmoid, logarithms=logarithms)
            self.refuse(place, OUTSIDE, argument, _rules.IN_UNIT_INTERVAL, hint=hint, span=span)

    def refuse_weights(self, place: int, argument: str) -> None:
        """Raise if any weight is infinite, negative or too large to be squared and summed."""
        for kind, rule in ((INFINITE, _rules.FINITE), (NEGATIVE, _rules.NOT_NEGATIVE), (TOO_LARGE, _rules.SUMMABLE)):
            self.refuse(place, kind, argument, rule)


def warn_of_clipping(argument: str, called: str, count: int, total: int, excess: float) -> None:
    """Warn that confidences slightly outside [0, 1] were clipped."""
    import warnings

    clipped = Rounding(argument=argument, called=called, count=count, size=total, most=excess)
    warnings.warn(RoundingWarning(clipped), skip_file_prefixes=_checks.PACKAGE)


def refuse_types(name: str, role: str, dtype: Any) -> None:
    """Refuse a column whose type does not suit its role, "outcome", "confidence" or "weights"; reads no rows."""
    if dtype.is_numeric() or (role == "outcome" and dtype == nw.Boolean):
        return
    if dtype == nw.Object:
        raise TypeError(f"{name} has dtype object, which may hold anything; convert it first, with `.astype(float)`.")
    if role == "outcome":
        if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
            raise TypeError(
                f"{name} holds string labels; say what they mean with a column of 0 and 1 (or booleans), "
                "as in `frame['label'] == 'yes'`."
            )
        raise TypeError(f"{name} must hold 0 and 1 or booleans, not dtype {dtype}.")
    what = "numbers (probabilities)" if role == "confidence" else "numbers"
    hint = ""
    if role == "confidence":
        hint = " Hard predictions? Convert them to float, to say so." if dtype == nw.Boolean else " Convert it first."
    raise TypeError(f"{name} must hold {what}, not dtype {dtype}.{hint}")
