"""Invalid values: records of what is wrong, the exception and the warning that carry them, and their sentences."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescal._arrays import Array

SHOWN = 100  #: Maximum number of characters of a value or name that a message shows.
#: Verbs for one value and for several; those of a rule that begins with "must be".
DOES_NOT, IS_NOT = ("does not", "do not"), ("is not", "are not")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Values of one argument that break one rule."""

    argument: str  # of the library, or the column of a file
    rule: str  # as in "must lie in [0, 1]"
    count: int  # number of values that break the rule
    size: int  # number of all values; all entries of more than one dimension
    #: Index of the first value that breaks the rule; None without an order, as in a database.
    first: tuple[int, ...] | None = None
    value: Any = None  # the first such value
    shown: str = ""  # the value as messages show it; empty if they do not
    hint: str = ""  # a suggestion for repair
    verb: tuple[str, str] = DOES_NOT  # what one such value does, and what several do
    unit: str = "values"  # what is counted: "values" or "rows"
    called: str = ""  # what messages call the argument, if not its name between backticks
    place: str = ""  # position of the first value in words, if not its index: "in line 3"
    span: tuple[float, float] | None = None  # smallest and largest invalid value, shown if `first` is None
    at_least: bool = False  # whether there may be more, as rows that break another rule were not checked for this one
    context: str = ""  # words before the sentence, as in "classifier 'a': "
    of_all: str = ""  # the hint, if it must be right for all blocks of rows

    def __str__(self) -> str:
        return self.sentence()

    def sentence(
        self, called: str | None = None, place: str | None = None, in_words: Callable[[str], str] = str
    ) -> str:
        """Write the message: one sentence, and the hint."""
        called = self.called or f"`{self.argument}`" if called is None else called
        return (self.context + self._sentence(called, self._first(place), in_words)).rstrip()

    def _first(self, place: str | None) -> str:
        """The clause about the first value, empty if there is no first."""
        if self.first is None:
            return ""
        index = self.first[0] if len(self.first) == 1 else self.first
        return f", first {place or self.place or f'at index {index}'}"

    def _sentence(self, called: str, first: str, in_words: Callable[[str], str]) -> str:
        quote = f": {self.shown}" if self.shown else ""
        verb = IS_NOT if self.verb == DOES_NOT and self.rule.startswith("must be ") else self.verb
        do = verb[self.count > 1]
        numbers = f"{self._count} of {self.size} {self.unit} {do}{first}{quote}{self._span}"
        return f"{called} {in_words(self.rule)}; {numbers}. {in_words(self.hint)}"

    @property
    def _count(self) -> str:
        return f"at least {self.count}" if self.at_least else str(self.count)

    @property
    def _span(self) -> str:
        if self.span is None:
            return ""
        low, high = (f"{value:.8g}" for value in self.span)
        mark = ", " if self.count > 1 else ": "
        return mark + (low if low == high else f"from {low} to {high}")

    def is_like(self, other: object) -> bool:
        """Whether both break the same rule for the same argument."""
        return isinstance(other, Finding) and (self.argument, self.rule) == (other.argument, other.rule)


@dataclass(frozen=True, kw_only=True)
class NoValue(Finding):
    """Rows of a file without a value in one column."""

    def _sentence(self, called: str, first: str, in_words: Callable[[str], str]) -> str:
        where = f"it has no value in {self._count} of {self.size} {self.unit}{first}"
        return f"{called} {in_words(self.rule)}; {where}. {in_words(self.hint)}"


@dataclass(frozen=True, kw_only=True)
class AllZero(Finding):
    """Weights that are all zero; `group` names the rows, as in " in group 'a'", if they are not all rows."""

    argument: str = "weights"
    rule: str = "must not all be zero"
    group: str = ""

    def _sentence(self, called: str, first: str, in_words: Callable[[str], str]) -> str:
        rows = f"{self.count} of {self.size}{first}"
        return f"{called} are all zero{self.group} ({rows}): nothing is left to count. {in_words(self.hint)}"


@dataclass(frozen=True, kw_only=True)
class Rounding(Finding):
    """Values outside [0, 1] by at most `most`, which is taken as rounding."""

    rule: str = "rounding"
    most: float

    def _sentence(self, called: str, first: str, in_words: Callable[[str], str]) -> str:
        where = f" ({first.removeprefix(', ')})" if first else ""
        numbers = f"{self._count} of {self.size} {self.unit} lie outside [0, 1] by at most {self.most:.2g}{where}"
        return f"{called}: {numbers}; taken as rounding and clipped."


class InvalidRows(ValueError):  # noqa: N818  # named after what it carries: the invalid rows
    """Values of an argument break a rule.

    Parameters
    ----------
    finding : Finding
        A record with the fields `argument`, `rule`, `count` and `size` (invalid values, all values), `first` (index of
        the first invalid value; None if rows have no order, as in a database), `value` and `hint`.

    Examples
    --------
    >>> import bayescal
    >>> try:
    ...     bayescal.evaluate([0, 1, 1], [0.2, 70, 90])
    ... except bayescal.InvalidRows as problem:
    ...     problem.finding.argument, problem.finding.rule, problem.finding.count, problem.finding.first
    ('y_prob', 'must lie in [0, 1]', 2, (1,))
    """

    finding: Finding

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


class RoundingWarning(UserWarning):
    """Values outside [0, 1] by so little that they were clipped."""

    finding: Rounding  # how many, and by how much at most

    def __init__(self, finding: Rounding) -> None:
        super().__init__(finding)
        self.finding = finding


def invalid(
    name: str, rule: str, bad: Array, values: Any = None, hint: str = "", verb: tuple[str, str] = DOES_NOT
) -> Finding:
    """Describe the entries of argument `name` that are marked in `bad`: their number and the first of them."""
    bad = np.asarray(bad)
    first = first_of(bad)
    value = None if values is None else values[first]
    return Finding(
        argument=name, rule=rule, count=int(np.count_nonzero(bad)), size=bad.size, first=first,
        value=value, shown="" if values is None else _quote(value), hint=hint, verb=verb,
    )  # fmt: skip


def first_of(bad: Array) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def prefixed(problem: Exception, context: str) -> Exception:
    """Return an exception of the same kind with words before its message.

    >>> prefixed(TypeError("`y_prob` must hold numbers."), "classifier 'a': ")
    TypeError("classifier 'a': `y_prob` must hold numbers.")
    """
    if isinstance(problem, InvalidRows):
        return InvalidRows(replace(problem.finding, context=context + problem.finding.context))
    if hasattr(problem, "word"):  # a keyword that is unknown for all of them
        return problem
    return type(problem)(f"{context}{problem}")


@contextmanager
def errors_of(subject: str) -> Iterator[None]:
    """Put a subject, such as "group 'a'", before the message of a ValueError or TypeError; nothing if it is empty."""
    try:
        yield
    except (ValueError, TypeError) as problem:
        if not subject:
            raise
        raise prefixed(problem, f"{subject}: ") from problem


def quoted(value: Any) -> str:
    """Return the `repr` of a value, truncated if it is long."""
    if isinstance(value, str | bytes) and len(value) > SHOWN:
        return f"{value[:SHOWN]!r}… ({len(value):,} {'characters' if isinstance(value, str) else 'bytes'})"
    written = repr(value)
    return written if len(written) <= 4 * SHOWN else f"{written[: 4 * SHOWN]}… ({len(written):,} characters)"


def _quote(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:.8g}" if isinstance(value, float) else quoted(value)
