"""Row validation as engine expressions: one state per row, counted in the same query and reported by kind."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.columns import LARGEST_WEIGHT

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

OK, MISSING = 0, 1
OUTSIDE = 2  # of a confidence
FRACTION, OTHER = 2, 3  # of an outcome
INFINITE, NEGATIVE, TOO_LARGE = 2, 3, 4  # of a weight
#: Kinds of state of one column, and the base of the number that holds those of all columns.
KINDS = 5
LARGEST_FLOAT = float(np.finfo(np.float64).max)


def _is_number(x: nw.Expr) -> nw.Expr:
    """Neither NaN nor infinite, found by subtraction.

    What an engine knows of a column it need not compute: duckdb takes the largest value from the end of a Parquet
    file, where most writers leave NaN out, and then answers `x.is_nan()`, `x <= 1` and even `x - x != 0` without a look
    at the rows. That `x - x == 0` is true of all rows it does not conclude.
    """
    return (x - x) == 0


def confidence_state(c: nw.Expr) -> nw.Expr:
    """OK (also where an overshoot will be clipped), MISSING or OUTSIDE of a float column."""
    # what is missing comes first: NaN is larger than everything in duckdb and Spark, and unequal elsewhere
    return (
        nw.when(c.is_null() | c.is_nan())
        .then(nw.lit(MISSING))
        .when((c < -_checks.OVERSHOOT) | (c > 1 + _checks.OVERSHOOT))
        .then(nw.lit(OUTSIDE))
        .when(_is_number(c))
        .then(nw.lit(OK))
        .otherwise(nw.lit(MISSING))
    )


def outcome_state(z: nw.Expr) -> nw.Expr:
    """OK, MISSING, FRACTION or OTHER of a float column."""
    return (
        nw.when(z.is_null() | z.is_nan())
        .then(nw.lit(MISSING))
        .when((z == 0) | (z == 1))
        .then(nw.lit(OK))
        .when((z > 0) & (z < 1))
        .then(nw.lit(FRACTION))
        .when(_is_number(z) | (z > LARGEST_FLOAT) | (z < -LARGEST_FLOAT))
        .then(nw.lit(OTHER))
        .otherwise(nw.lit(MISSING))
    )


def weight_state(w: nw.Expr) -> nw.Expr:
    """OK, MISSING, INFINITE, NEGATIVE or TOO_LARGE of a float column."""
    return (
        nw.when(w.is_null() | w.is_nan())
        .then(nw.lit(MISSING))
        .when((w > LARGEST_FLOAT) | (w < -LARGEST_FLOAT))
        .then(nw.lit(INFINITE))
        .when(w < 0)
        .then(nw.lit(NEGATIVE))
        .when(w >= LARGEST_WEIGHT)
        .then(nw.lit(TOO_LARGE))
        .when(_is_number(w))
        .then(nw.lit(OK))
        .otherwise(nw.lit(MISSING))
    )


def together(states: Sequence[nw.Expr]) -> nw.Expr:
    """All states of a row as one number, which is 0 where all are OK."""
    number = states[0]
    for place, state in enumerate(states[1:], 1):
        number = number + state * KINDS**place
    return number


class Told:
    """How many rows are in which state: what the query says of its bad rows.

    Parameters
    ----------
    states : ndarray of int, shape (n_keys,)
        Numbers from `together`.
    n : ndarray of int, shape (n_keys,)
        Rows.
    """

    def __init__(self, states: Ints, n: Ints) -> None:
        self.states, self.n, self.total = states, n, int(n.sum())

    def _rows(self, place: int, kind: int) -> tuple[int, NDArray[np.bool_]]:
        found = self.states // KINDS**place % KINDS == kind
        return int(self.n[found].sum()), found

    def refuse(
        self, place: int, kind: int, name: str, rule: str, hint: str, verb: tuple[str, str] = ("does not", "do not")
    ) -> None:
        """Raise if any row's column number `place` is of this kind."""
        count, _ = self._rows(place, kind)
        if count:
            raise ValueError(f"{name} {rule}; {count} of {self.total} values {verb[count > 1]}. {hint}".rstrip())

    def refuse_missing(self, place: int, name: str) -> None:
        """Raise if any entry is null or NaN."""
        hint = "Rows are never dropped for you: remove or repair them first."
        what = "missing (NaN, null or None)"
        self.refuse(place, MISSING, name, "must be complete", hint, (f"is {what}", f"are {what}"))

    def refuse_outcome(self, place: int, name: str) -> None:
        """Raise if any outcome is not 0 or 1."""
        rule = "must be binary labels, 0 or 1"
        swapped = "Fractions look like probabilities: are `outcome` and `confidence` swapped?"
        self.refuse(place, FRACTION, name, rule, swapped)
        self.refuse(place, OTHER, name, rule, "Make a column of 0 and 1 (or booleans) from other labels.")

    def refuse_confidence(self, place: int, name: str, low: Floats, high: Floats) -> None:
        """Raise if any confidence lies outside [0, 1] by more than rounding; `low`, `high` are the extremes by key."""
        count, found = self._rows(place, OUTSIDE)
        if count:
            lowest, highest = float(np.min(low[found])), float(np.max(high[found]))
            where = f"{lowest:.8g}" if lowest == highest else f"from {lowest:.8g} to {highest:.8g}"
            hint = _checks.scale_hint(lowest, highest, logits="Logits? Apply a sigmoid first: 1 / (1 + exp(-x)).")
            self.refuse(place, OUTSIDE, name, "must lie in [0, 1]", hint, (f"does not: {where}", f"do not, {where}"))

    def refuse_weights(self, place: int, name: str) -> None:
        """Raise if any weight is infinite, negative or too large to be squared and summed."""
        self.refuse(place, INFINITE, name, "must be finite", "")
        self.refuse(place, NEGATIVE, name, "must be >= 0", "")
        self.refuse(
            place,
            TOO_LARGE,
            name,
            f"must be below {LARGEST_WEIGHT:g}, so that squares can be summed over batches",
            "Divide them all by one number.",
        )


def warn_of_clipping(name: str, count: int, total: int, excess: float) -> None:
    """Say that confidences a little outside [0, 1] were clipped."""
    import warnings

    warnings.warn(
        f"{name}: {count} of {total} values lie outside [0, 1] by at most {excess:.2g}; taken as rounding and clipped.",
        UserWarning,
        stacklevel=2,
    )


def refuse_types(name: str, role: str, dtype: Any) -> None:
    """Refuse a column whose type cannot play its role, before any row is read.

    Parameters
    ----------
    name : str
        What messages call the column.
    role : {"outcome", "confidence", "weights"}
        What it is meant for.
    dtype : narwhals dtype
        Its type.
    """
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
