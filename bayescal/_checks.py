"""Every argument check and its message.

A message names the argument, the rule, the number of invalid values, the first index and value, and a remedy. Public
functions check their arguments once; internal functions trust their input.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Values outside [0, 1] by at most this are taken as rounding (as of a float32 softmax) and clipped with a warning.
OVERSHOOT = 1e-6
#: Files that warnings skip to show the line of the caller: `warnings.warn(..., skip_file_prefixes=PACKAGE)`.
PACKAGE = (os.path.join(os.path.dirname(__file__), ""),)
#: Tolerance of the row sums of a probability matrix by item size of its dtype; float16 has only three digits.
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
        The rule, such as "must lie in [0, 1]".
    bad : array of bool
        True where the rule is broken.
    values : array, optional
        The values, to quote the first invalid one.
    hint : str, optional
        A remedy.
    error : type, optional
        The exception to raise.
    verb : (str, str), optional
        Verb for one invalid value, and for several.
    """
    bad = np.asarray(bad)
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    finding = Finding(
        said="`{name}` {rule}; {count} of {size} values {do}, first at index {where}{quoted}. {hint}",
        words={
            "name": name,
            "rule": rule,
            "quoted": "" if values is None else f": {_quote(values[first])}",
            "hint": hint,
        },
        verb=verb,
        count=int(np.count_nonzero(bad)),
        size=bad.size,
        first=tuple(int(i) for i in first),
    )
    problem = error(str(finding))
    problem.finding = finding  # type: ignore[attr-defined]  # so that readers of files can add those of all blocks
    raise problem


@dataclass(frozen=True)
class Finding:
    """Invalid values of an argument in one batch; findings of several batches can be added before one is reported.

    Parameters
    ----------
    said : str
        The message, with placeholders.
    words : mapping
        Values of the placeholders, except for the numbers below.
    verb : (str, str)
        Verb for one invalid value, and for several.
    count, size : int
        Number of invalid values, and of all values.
    first : tuple of int
        Index of the first invalid value.
    most : float
        Largest deviation, if the message states it.
    at_least : bool
        Whether there may be more, in blocks of rows that were refused because of another argument.
    """

    said: str
    words: Mapping[str, str]
    verb: tuple[str, str]
    count: int
    size: int
    first: tuple[int, ...]
    most: float = 0.0
    at_least: bool = False

    def __str__(self) -> str:
        where = str(self.first[0]) if len(self.first) == 1 else str(self.first)
        count = f"at least {self.count}" if self.at_least else self.count
        numbers = {"count": count, "size": self.size, "where": where, "most": f"{self.most:.2g}"}
        return self.said.format(do=self.verb[self.count > 1], **self.words, **numbers).rstrip()

    def is_like(self, other: object) -> bool:
        """Whether both break the same rule for the same argument."""
        return isinstance(other, Finding) and all(self.words.get(w) == other.words.get(w) for w in ("name", "rule"))


class RoundingWarning(UserWarning):
    """Warns that values slightly outside [0, 1] were clipped; `finding` has their number."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


#: Maximum number of characters of a value or name that a message shows.
SHOWN = 100
#: Maximum number of known names that are compared with an unknown one; a comparison takes a few microseconds.
NAMES_COMPARED = 2000


def quoted(value: Any) -> str:
    """Return the `repr` of a value, truncated if it is long.

    Examples
    --------
    >>> quoted("a name")
    "'a name'"
    >>> quoted("ab" * 500_000)[-30:]
    "babab'… (1,000,000 characters)"
    """
    if isinstance(value, str | bytes) and len(value) > SHOWN:
        return f"{value[:SHOWN]!r}… ({len(value):,} {'characters' if isinstance(value, str) else 'bytes'})"
    written = repr(value)
    return written if len(written) <= 4 * SHOWN else f"{written[: 4 * SHOWN]}… ({len(written):,} characters)"


def _quote(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.8g}" if isinstance(value, float) else quoted(value)


def same_length(names: Sequence[str], lengths: Sequence[int], hint: str = "") -> None:
    """Require that arguments have one length; the message names all of them and the first row without a partner."""
    if len(set(lengths)) > 1:
        sizes = ", ".join(f"`{n}` has {k}" for n, k in zip(names, lengths, strict=True))
        raise ValueError(
            f"{' and '.join(f'`{n}`' for n in names)} must have the same length (number of rows); "
            f"{sizes}, so the first row without a partner is at index {min(lengths)}. {hint}".rstrip()
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
    """Require values in [0, 1]; return them, or a clipped copy if values are outside only by rounding.

    Parameters
    ----------
    name : str
        The argument.
    values : ndarray
        Numbers of any shape.

    Returns
    -------
    ndarray
        `values` itself if all are in [0, 1]; otherwise a clipped copy, after one warning.
    """
    finite(name, values)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return values
    outside = (values < 0) | (values > 1)
    if low < -OVERSHOOT or high > 1 + OVERSHOOT:
        beyond = (values < -OVERSHOOT) | (values > 1 + OVERSHOOT)
        refuse(name, "must lie in [0, 1]", beyond, values, hint=scale_hint(low, high))
    import warnings

    finding = Finding(
        said="`{name}`: {count} of {size} values {do} outside [0, 1] by at most {most} (first at index {where}); "
        "taken as rounding and clipped.",
        words={"name": name, "rule": "rounding"},
        verb=("lie", "lie"),
        count=int(outside.sum()),
        size=outside.size,
        first=tuple(int(i) for i in np.unravel_index(int(np.argmax(outside)), outside.shape)),
        most=max(-low, high - 1),
    )
    warnings.warn(RoundingWarning(finding), skip_file_prefixes=PACKAGE)
    return np.clip(values, 0, 1)


def scale_hint(low: float, high: float, logits: str = "Logits? Pass `logits=True`.") -> str:
    """Suggest what numbers outside [0, 1] may be; `logits` is the hint for negative numbers."""
    if low < 0:
        return logits
    if 1.5 < high <= 100:
        return "Percentages? Divide by 100."
    if high <= 1.5:
        return f"Only an overshoot of {OVERSHOOT:g} is taken as rounding and clipped."
    return "Scores are not probabilities: calibrate them first."


def row_sum_tolerance(dtype: Any) -> float:
    """Return the largest allowed difference between 1 and the sum of a row, for a probability matrix of this dtype."""
    return ROW_SUM_TOLERANCE.get(np.dtype(dtype).itemsize, 1e-3)


def rows_sum_to_one(name: str, matrix: Array) -> None:
    """Require that the rows of an (N, K) matrix of probabilities sum to one."""
    sums = matrix.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1) > row_sum_tolerance(matrix.dtype)
    if off.any():
        refuse(
            name,
            "must have rows that sum to 1",
            off,
            sums,
            hint="A row holds the probabilities of all classes. For a single score per row use `target='confidence'`.",
        )


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Require one of the allowed values; the message suggests the most similar ones."""
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {allowed}, not {quoted(value)}.{did_you_mean(str(value), allowed)}")


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """Return " Did you mean ...?" with the nearest names, or an empty string."""
    if len(word) > SHOWN:
        return ""
    comparable = [str(k) for k in islice(known, NAMES_COMPARED) if len(str(k)) <= 2 * SHOWN]
    near = get_close_matches(word, comparable, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(quoted(n) for n in near)}?" if near else ""


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


def fraction(name: str, value: Any) -> float:
    """Require a number strictly between 0 and 1, as for the probability of an interval."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number in (0, 1), not {quoted(value)}.")
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
            f"`rng` must be None, an integer >= 0, a SeedSequence or a numpy Generator, not {quoted(rng)}."
        ) from problem


#: Names of arguments in other libraries, and their names here.
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
    """Raise if `allowed` does not take a keyword; the message suggests the intended or the most similar one."""
    import inspect

    parameters = inspect.signature(allowed).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for word in given:
        if word not in known:
            hint = f" Here it is called {ELSEWHERE[word]!r}." if word in ELSEWHERE else did_you_mean(word, known)
            raise TypeError(f"{where} takes no {quoted(word)}.{hint} The options of the model are {known}.")
