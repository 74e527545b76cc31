"""Every argument check and its message.

A message names the argument, the rule, how many values break it, the first index and value, and
hints at the repair. Checks are made once, at the door; what lies behind trusts its input.
"""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: A float overshoot of [0, 1] up to this size is rounding (float32 softmax) and is clipped with a warning.
OVERSHOOT = 1e-6
#: Rows of a probability matrix must sum to 1 within this; float16 has three digits and gets more room.
ROW_SUM_TOLERANCE = {2: 2e-2, 4: 1e-3, 8: 1e-3}


def refuse(
    name: str,
    rule: str,
    bad: Array,
    values: Any = None,
    hint: str = "",
    error: type[Exception] = ValueError,
    verb: tuple[str, str] = ("does not", "do not"),
) -> NoReturn:
    """Raise `error` about the entries of argument `name` that are marked in `bad`.

    Parameters
    ----------
    name : str
        The argument.
    rule : str
        What must hold, as in "must lie in [0, 1]".
    bad : array of bool
        True where the rule is broken.
    values : array, optional
        The values, to quote the first bad one.
    hint : str, optional
        How to repair it.
    error : type, optional
        The exception to raise.
    verb : (str, str), optional
        What one bad value does, and what several do.
    """
    bad = np.asarray(bad)
    count = int(np.count_nonzero(bad))
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = str(int(first[0])) if len(first) == 1 else str(tuple(int(i) for i in first))
    quoted = "" if values is None else f": {_quote(values[first])}"
    values_do = f"{count} of {bad.size} values {verb[count > 1]}"
    message = f"`{name}` {rule}; {values_do}, first at index {where}{quoted}."
    raise error(f"{message} {hint}".rstrip())


def _quote(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.8g}" if isinstance(value, float) else repr(value)


def same_length(names: Sequence[str], lengths: Sequence[int], hint: str = "") -> None:
    """Require that arguments have one length; the message names all of them and the first row without a partner."""
    if len(set(lengths)) > 1:
        told = ", ".join(f"`{n}` has {k}" for n, k in zip(names, lengths, strict=True))
        raise ValueError(
            f"{' and '.join(f'`{n}`' for n in names)} must have the same length (number of rows); "
            f"{told}, so the first row without a partner is at index {min(lengths)}. {hint}".rstrip()
        )


def not_empty(name: str, length: int) -> None:
    """Require at least one row."""
    if length == 0:
        raise ValueError(f"`{name}` is empty; at least one row is needed (to see the prior, give empty counts).")


def no_missing(name: str, missing: Array, what: str = "missing (NaN, null or None)") -> None:
    """Refuse NaN, null, NA, None and masked entries: rows are never dropped."""
    if missing.any():
        refuse(
            name,
            "must be complete",
            missing,
            hint="Rows are never dropped for you: remove or repair them first.",
            verb=(f"is {what}", f"are {what}"),
        )


def finite(name: str, values: Array) -> None:
    """Refuse NaN and infinities in an array of numbers."""
    if values.dtype.kind == "f" and values.size:
        # one pass that allocates nothing: NaN and infinities survive min and max
        if np.isfinite(values.min()) and np.isfinite(values.max()):
            return
        no_missing(name, np.isnan(values))
        refuse(name, "must be finite", ~np.isfinite(values), values)


def probabilities(name: str, values: Array) -> Array:
    """Require values in [0, 1]; return them, or a clipped copy where the overshoot is rounding.

    Parameters
    ----------
    name : str
        The argument.
    values : ndarray
        Numbers of any shape.

    Returns
    -------
    ndarray
        `values` itself where all lie in [0, 1]; else a copy, clipped, after one warning.
    """
    finite(name, values)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return values
    outside = (values < 0) | (values > 1)
    if low < -OVERSHOOT or high > 1 + OVERSHOOT:
        refuse(name, "must lie in [0, 1]", outside, values, hint=_scale_hint(low, high))
    import warnings

    count, first = int(outside.sum()), np.unravel_index(int(np.argmax(outside)), outside.shape)
    where = int(first[0]) if len(first) == 1 else tuple(int(i) for i in first)
    warnings.warn(
        f"`{name}`: {count} of {values.size} values lie outside [0, 1] by at most {max(-low, high - 1):.2g} "
        f"(first at index {where}); taken as rounding and clipped.",
        UserWarning,
        stacklevel=2,
    )
    return np.clip(values, 0, 1)


def _scale_hint(low: float, high: float) -> str:
    if low < 0:
        return "Logits? Pass `logits=True`."
    if 1.5 < high <= 100:
        return "Percentages? Divide by 100."
    if high <= 1.5:
        return f"Only an overshoot of {OVERSHOOT:g} is taken as rounding and clipped."
    return "Scores are not probabilities: calibrate them first."


def rows_sum_to_one(name: str, matrix: Array) -> None:
    """Require that the rows of an (N, K) matrix of probabilities sum to one."""
    sums = matrix.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1) > ROW_SUM_TOLERANCE.get(matrix.dtype.itemsize, 1e-3)
    if off.any():
        refuse(
            name,
            "must have rows that sum to 1",
            off,
            sums,
            hint="A row holds the probabilities of all classes. For a single score a row use `target='confidence'`.",
        )


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Require one of a few words; the message suggests the nearest."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {allowed}, not {value!r}.{did_you_mean(str(value), allowed)}")


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """Return " Did you mean ...?" with the nearest names, or an empty string."""
    near = get_close_matches(word, [str(k) for k in known], n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


def whole_number(name: str, value: Any, at_least: int = 1) -> int:
    """Require a whole number; 10.0 counts as one, True and "10" do not."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool | np.bool_) or not whole:
        raise TypeError(f"`{name}` must be an integer >= {at_least}, not {value!r} ({type(value).__name__}).")
    if int(value) < at_least:
        raise ValueError(f"`{name}` must be an integer >= {at_least}, not {value}.")
    return int(value)


def positive(name: str, values: Any, shape: tuple[int, ...] | None = None) -> Array:
    """Require finite numbers > 0, as float64; a given `shape` is what a scalar is broadcast to."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"`{name}` must be a number or an array of numbers, not {values!r}.") from problem
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        refuse(name, "must be finite and > 0", np.atleast_1d(bad), np.atleast_1d(array))
    if shape is None or array.shape == shape:
        return array
    if array.ndim:
        raise ValueError(f"`{name}` must be a number or have shape {shape}, not {array.shape}.")
    return np.full(shape, float(array))


def between(name: str, values: Array, low: float, high: float, of: str = "values") -> Array:
    """Require numbers in [low, high], a range of what can be computed; return them."""
    bad = ~((values >= low) & (values <= high))
    if bad.any():
        refuse(name, f"must give {of} in [{low:g}, {high:g}]", bad, values)
    return values


def fraction(name: str, value: Any) -> float:
    """Require a number strictly between 0 and 1, as for the probability of an interval."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number in (0, 1), not {value!r}.")
    number = float(value)
    if not 0 < number < 1:
        hint = " Percent? Divide by 100." if 1 < number <= 100 else ""
        raise ValueError(f"`{name}` must lie strictly between 0 and 1, not {value}.{hint}")
    return number


def generator(rng: Any) -> np.random.Generator:
    """Return `numpy.random.default_rng(rng)` with a message that names the argument."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"`rng` must be None, an integer >= 0, a SeedSequence or a numpy Generator, not {rng!r}."
        ) from problem


#: What other libraries call our arguments.
ELSEWHERE = {
    "n_bins": "bins",
    "num_bins": "bins",
    "strategy": "binning",
    "random_state": "rng",
    "random_seed": "rng",
    "seed": "rng",
    "sample_weight": "weights",
    "sample_weights": "weights",
    "n_draws": "draws",
    "n_samples": "draws",
    "prior": "alpha",
    "labels": "classes",
    "from_logits": "logits",
}


def known_keywords(where: str, given: Iterable[str], allowed: Callable[..., Any]) -> None:
    """Refuse keywords that `allowed` does not take, naming the one that is meant, or the nearest."""
    import inspect

    parameters = inspect.signature(allowed).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for word in given:
        if word not in known:
            meant = f" Here it is called {ELSEWHERE[word]!r}." if word in ELSEWHERE else did_you_mean(word, known)
            raise TypeError(f"{where} takes no {word!r}.{meant} The options of the model are {known}.")
