"""Argument checks and their messages.

A message names the argument, the rule, the number of invalid values, the first index and value, and a remedy. Public
functions check their arguments once; internal functions trust their input.
"""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from bayescal import _packages, _rules
from bayescal._arrays import Array, Generator
from bayescal._invalid import DOES_NOT, SHOWN, InvalidRows, Rounding, RoundingWarning, first_of, invalid, quoted

#: Files that a warning skips so that it points to the caller's line: `warnings.warn(..., skip_file_prefixes=PACKAGE)`.
PACKAGE = (os.path.join(os.path.dirname(__file__), ""),)


def refuse(
    name: str, rule: str, bad: Array, values: Any = None, hint: str = "", verb: tuple[str, str] = DOES_NOT
) -> NoReturn:
    """Raise `InvalidRows` about the entries of argument `name` that are marked in `bad`; parameters of `invalid`."""
    raise InvalidRows(invalid(name, rule, bad, values, hint, verb))


#: Maximum number of known names that are compared with an unknown one; a comparison takes a few microseconds.
NAMES_COMPARED = 2000


def same_length(names: Sequence[str], lengths: Sequence[int], hint: str = "") -> None:
    """Require that arguments have one length; the message names all of them and the first row without a partner."""
    if len(set(lengths)) > 1:
        sizes = ", ".join(f"`{n}` has {k}" for n, k in zip(names, lengths, strict=True))
        raise ValueError(
            f"{' and '.join(f'`{n}`' for n in names)} must have the same length (number of rows); "
            f"{sizes}, so the first row without a partner is at index {min(lengths)}. {hint}".rstrip()
        )


def not_empty(name: str, length: int, hint: str = " (to see the prior, give empty counts)") -> None:
    """Require at least one row; the prior is a hint for functions that have one."""
    if length == 0:
        raise ValueError(f"`{name}` is empty; at least one row is needed{hint}.")


def no_missing(name: str, missing: Array, what: str = "") -> None:
    """Refuse NaN, null, NA, None and masked entries; `what` names them if it is not one of the first four."""
    if missing.any():
        rule = _rules.complete(name)
        (replace(rule, verb=(f"is {what}", f"are {what}")) if what else rule).refuse(name, missing)


def finite(name: str, values: Array) -> None:
    """Refuse NaN and infinities in an array of numbers."""
    if values.dtype.kind == "f" and values.size:
        # one pass that allocates nothing: NaN and infinities survive min and max
        if np.isfinite(values.min()) and np.isfinite(values.max()):
            return
        no_missing(name, ~_rules.COMPLETE.holds(values))
        _rules.FINITE.require(name, values)


def probabilities(name: str, values: Array) -> Array:
    """Require values in [0, 1]; return them, or a clipped copy after a warning if some are outside by rounding."""
    column, exp = values.ndim == 1, f"`np.exp({name})`"
    # functions that take logits call the argument so
    inverse = f"`scipy.special.expit({name})`" if column else f"`scipy.special.softmax({name}, axis=1)`"
    logits = "`logits=True`" if name.startswith("y_prob") else inverse
    if values.min() == -np.inf and values.max() <= 0:  # a NaN is refused below
        meant = _rules.both_logarithms(exp, logits) if column else f"Log-probabilities? Pass {exp}."
        _refuse_outside(name, values, f"-inf is the logarithm of 0. {meant}")
    finite(name, values)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return values
    outside = (values < 0) | (values > 1)
    if low < -_rules.OVERSHOOT or high > 1 + _rules.OVERSHOOT:
        logarithms = _rules.both_logarithms(exp, logits) if column else ""
        _refuse_outside(name, values, _rules.scale_hint(low, high, f"Logits? Pass {logits}.", logarithms))
    finding = Rounding(
        argument=name, count=int(outside.sum()), size=outside.size, first=first_of(outside), most=max(-low, high - 1)
    )
    warnings.warn(RoundingWarning(finding), skip_file_prefixes=PACKAGE)
    return np.clip(values, 0, 1)


def _refuse_outside(name: str, values: Array, hint: str) -> NoReturn:
    """Refuse values outside [0, 1]; among rows of other blocks that are above 0, negative ones are log-odds."""
    rule = _rules.IN_UNIT_INTERVAL
    finding = invalid(name, rule.words, ~rule.holds(values), values, hint, rule.verb)
    raise InvalidRows(replace(finding, of_all=_rules.LOGITS if "np.exp" in hint else ""))


def one_scale(logits: bool, logprob: bool) -> None:
    """Refuse numbers that would be both logits and logarithms of probabilities."""
    if logits and logprob:
        raise ValueError("`logits=True` and `logprob=True` exclude each other: say what the numbers are.")


def one_of(name: str, value: Any, allowed: Iterable[Any], short: Mapping[str, str] | None = None) -> None:
    """Require one of the allowed values; the message suggests the most similar ones, or the one that `short` names."""
    allowed = list(allowed)
    if value not in allowed:
        meant = (short or {}).get(str(value).casefold())
        hint = f" Did you mean {quoted(meant)}?" if meant else did_you_mean(str(value), allowed)
        raise ValueError(f"`{name}` must be one of {allowed}, not {quoted(value)}.{hint}")


def in_order(name: str, values: Any) -> None:
    """Refuse collections without an order of their own, and dicts, whose values would not be used; None is allowed."""
    if isinstance(values, Set | Mapping):
        raise TypeError(
            f"`{name}` must be a list or tuple, because its order has a meaning; it is a {type(values).__name__}."
        )


def instance(name: str, value: Any, kind: type, remedy: str = ".") -> None:
    """Require a value of a class; `remedy`, from its punctuation on, says how to make one."""
    if not isinstance(value, kind):
        called = kind.__name__
        plural = called.endswith(("Counts", "Horizons", "Predictions"))
        article = "" if plural else "an " if called[0].lower() in "aeiou" else "a "
        raise TypeError(f"`{name}` must be {article}{called}, not {type(value).__name__}{remedy}")


def label(axis: str, value: Any, labels: Sequence[Any]) -> None:
    """Require one of the labels along an axis, as "group"; the `KeyError` suggests the most similar ones."""
    if value not in labels:
        shown = f"{list(labels)[:10]!r}{f' and {len(labels) - 10} more' if len(labels) > 10 else ''}"
        hint = did_you_mean(str(value), labels)
        same_text = [each for each in labels if str(each) == str(value)]
        if same_text:
            hint = f" Did you mean {same_text[0]!r} ({type(same_text[0]).__name__})?"
        if len(labels) and isinstance(labels[0], tuple) and not isinstance(value, tuple):
            hint = f" Labels are tuples with one entry per column, as {labels[0]!r}."
        raise KeyError(f"no {axis} {value!r} among {shown}.{hint}")


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """Return " Did you mean ...?" with the nearest names, or an empty string."""
    near = nearest(word, known)
    return f" Did you mean {' or '.join(quoted(n) for n in near)}?" if near else ""


def nearest(word: str, known: Iterable[Any]) -> list[str]:
    """Return at most three of the names, those with the most similar spelling."""
    if len(word) > SHOWN:
        return []
    comparable = list(dict.fromkeys(str(k) for k in islice(known, NAMES_COMPARED) if len(str(k)) <= 2 * SHOWN))
    near = [name for name in comparable if _plain(name) == _plain(word)]
    return near or get_close_matches(word, comparable, n=3, cutoff=0.5)


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")


def whole_number(name: str, value: Any, at_least: int = 1) -> int:
    """Require a whole number; 10.0 counts as one, True and "10" do not."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool | np.bool_) or not whole:
        raise TypeError(f"`{name}` must be an integer >= {at_least}, not {quoted(value)} ({type(value).__name__}).")
    if int(value) < at_least:
        raise ValueError(f"`{name}` must be an integer >= {at_least}, not {value}.")
    return int(value)


def positive(name: str, values: Any, shape: tuple[int, ...] | None = None) -> Array:
    """Require finite numbers > 0 and return them as float64; scalars are broadcast to `shape` if it is given."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"`{name}` must be a number or an array of numbers, not {quoted(values)}.") from problem
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        refuse(name, "must be finite and > 0", np.atleast_1d(bad), np.atleast_1d(array))
    if shape is None or array.shape == shape:
        return array
    if array.ndim:
        raise ValueError(f"`{name}` must be a number or have shape {shape}, not {array.shape}.")
    return np.full(shape, float(array))


def between(name: str, values: Array, low: float, high: float, of: str = "values") -> Array:
    """Require numbers in [low, high], the range in which computations are accurate; return them."""
    bad = ~((values >= low) & (values <= high))
    if bad.any():
        refuse(name, f"must give {of} in [{low:g}, {high:g}]", bad, values)
    return values


def fraction(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Require a number strictly between 0 and 1, as for the probability of an interval; `or_zero`: or 0."""
    interval, rule = ("[0, 1)", "lie in [0, 1)") if or_zero else ("(0, 1)", "lie strictly between 0 and 1")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number in {interval}, not {quoted(value)}.{of_percent(value)}")
    number = float(value)
    if not (0 < number < 1 or (or_zero and number == 0)):
        hint = " Percent? Divide by 100." if 1 < number <= 100 else ""
        raise ValueError(f"`{name}` must {rule}, not {value}.{hint}")
    return number


def of_percent(value: Any) -> str:
    """Return " Write 0.04." for a text such as "4%", otherwise an empty string."""
    text = value.strip() if isinstance(value, str) else ""
    number = text.removesuffix("%").strip()
    if len(text) > SHOWN or number == text or not number.replace(".", "", 1).isdecimal():
        return ""
    return f" Write {float(number) / 100:g}."


def of_percentages(value: Any) -> str:
    """Return a hint for values of a column such as "4%", otherwise an empty string."""
    hint = of_percent(value)
    return f"Percentages?{hint[:-1]} in place of {quoted(value)}." if hint else ""


def color(name: str, value: Any, default: str) -> str:
    """Return a color of matplotlib as a hexadecimal string; `default` for None."""
    if value is None:
        return default
    _packages.require("matplotlib")
    from matplotlib.colors import to_hex

    try:
        return to_hex(value, keep_alpha=True)
    except (ValueError, TypeError) as problem:
        raise ValueError(
            f"`{name}` must be a color of matplotlib, such as 'tab:blue', '#0072B2' or (0, 0.45, 0.7), not "
            f"{quoted(value)}. {problem}."
        ) from problem


def generator(rng: Any) -> Generator:
    """Return `numpy.random.default_rng(rng)` with a message that names the argument."""
    try:
        result = np.random.default_rng(rng)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"`rng` must be None, an integer >= 0, a SeedSequence or a numpy Generator, not {quoted(rng)}."
        ) from problem
    if isinstance(result.bit_generator.seed_seq, np.random.bit_generator.ISpawnableSeedSequence):
        return result
    return np.random.default_rng(result.integers(2**32, size=4))  # a RandomState cannot spawn other generators


def seeds(rng: Any, number: int) -> list[int]:
    """Draw seeds for parts of a computation, so that none depends on how many random numbers the others use.

    >>> seeds(1, 2)
    [4720..., 8766...]
    """
    return generator(rng).integers(2**63, size=number).tolist()
