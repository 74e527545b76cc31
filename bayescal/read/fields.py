"""Logs: their files, the values within a record, and numbers that a text states."""

import glob
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from os import PathLike
from pathlib import Path
from typing import Any

from bayescal import _checks
from bayescal._files import existing_file
from bayescal._invalid import quoted
from bayescal.read.answers import ABSTAIN

#: What may stand between the parts of a statement: no letter, no end of a sentence, no inequality except an arrow.
_BETWEEN = r"(?:[-=]>|[^\w<>\u2264\u2265.!?;]|_)*?"
#: A scale in brackets, as in "(0-100)", "[0 to 1]" or "(in %)".
_SCALE = (
    r"[(\[](?:[^()\[\]\n]*?(?:\d\s*%?\s*(?:[-\u2013\u2014/]|to|\.\.+)\s*\d|out of|scale)[^()\[\]\n]*"
    r"|\s*(?:in\s+)?(?:%|per\s?cent)\s*)[)\]]"
)
_NUMBER = r"[-+\u2212]?(?:\d+(?:\.\d+)?|(?<!\.)\.\d+)(?:e[-+\u2212]?\d+)?"
_PERCENT = r"(?:[%\uff05]|per\s?cent\b|pct\b)"
_MARKUP = r"[ \t\xa0\u202f*_`\\$]*"
#: A stated confidence, as in "Confidence: 90%", "confidence is 0.9", "**Confidence** (0-1): 0.9" or
#: "<confidence>0.9</confidence>".
STATED = (
    r"(?i)(?<![^\W_])confidence(?:(?<=<confidence)>)?"
    rf"(?:{_BETWEEN}(?:(?:is|of|score|level|rating)(?![^\W_])|{_SCALE}))*{_BETWEEN}({_NUMBER})"
)
#: A text that is a number.
_PLAIN = re.compile(rf"\s*({_NUMBER}|[-\u2212]?inf(?:inity)?)\s*{_PERCENT}?\s*", re.IGNORECASE)
_SIGN = re.compile(_MARKUP + _PERCENT, re.IGNORECASE)
_OF_100 = re.compile(r"%|per\s?cent|\b100\b", re.IGNORECASE)  #: A scale to 100, before a number.
#: What makes a number part of something else: 0,9 and 1 000, 9/10 and "9 out of 10", and the range 80-90 %.
_CONTINUED = re.compile(
    rf"\d|[.,'\u2019]\d|e[-+\u2212]?\d|[ \xa0\u202f]\d|{_MARKUP}(?:‰|{_PERCENT}?{_MARKUP}"
    rf"(?:[-\u2013\u2014~]|to|or){_MARKUP}\d|[(\[]?{_MARKUP}(?:/{_MARKUP}\d|out\s+of\b|of\s+\d|on\s+an?\s+[^\n.;]*scale))",
    re.IGNORECASE,
)
WORDS = {"c": 1.0, "i": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "p": 0.5}  #: Grades that are words.


def log_files(paths: Any, patterns: Sequence[str], what: str, skipped: str = "") -> dict[Path, bool]:
    """Return the files of `paths`: files, folders with files of these patterns, wildcards, or a list of them."""
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if not isinstance(paths, Iterable):
        raise TypeError(f"`paths` must be a file, a folder, a wildcard or a list of them, not {type(paths).__name__}.")
    files: dict[Path, bool] = {}
    for path in map(Path, paths):
        named = not path.is_dir()
        if glob.has_magic(str(path)) and not path.exists():
            named = False
            matching = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]
            if not matching:
                raise FileNotFoundError(f"no file matches '{path}'.")
        else:
            matching = [existing_file(path) if named else path]
        inside = [
            file
            for each in matching
            for file in (sorted(f for p in patterns for f in each.rglob(p)) if each.is_dir() else [each])
            if named or not (skipped and file.match(skipped))
        ]
        if not inside:
            raise FileNotFoundError(f"'{path}' contains no {what} ({' or '.join(patterns)}).")
        files |= {file: named or files.get(file, False) for file in inside}
    if not files:
        raise ValueError(f"`paths` must name at least one file of {what}; it is empty.")
    return files


def json_records(path: Path) -> dict[int, dict[str, Any]]:
    """Return the objects of a file of JSON lines by the numbers of their lines; refuse lines that are none."""
    records = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:  # not JSON, or not UTF-8
                record = None
            if not isinstance(record, dict):
                raise ValueError(f"'{path.name}' must hold one JSON object per line; line {number} is not one.")
            records[number] = record
    if not records:
        raise ValueError(f"'{path.name}' is empty.")
    return records


def value_at(record: Any, steps: str) -> Any:
    """Return the value at a path of keys (which may contain dots) and indexes of lists, joined by dots; else None."""
    first, dot, rest = steps.partition(".")
    if isinstance(record, list | tuple):
        inside = record[int(first)] if first.isdecimal() and int(first) < len(record) else None
        return value_at(inside, rest) if dot else inside
    while isinstance(record, Mapping):
        value = record.get(first)
        if not dot:
            return value
        if (inside := value_at(value, rest)) is not None:
            return inside
        step, dot, rest = rest.partition(".")
        first += f".{step}"
    return None


def within(space: str, label: Any) -> str:
    """Return the key of a question or cluster whose label belongs to a task or file; the texts "1" and 1 differ."""
    text = f'"{label}"' if isinstance(label, str) and label.isdecimal() else str(label)
    return f"{space}/{text}" if space else text


def fingerprint(content: Any) -> str:
    """Return a hash of JSON data that identifies a question."""
    return md5(json.dumps(content, sort_keys=True).encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Stated:
    """A function that reads a confidence from a number or a text; NaN if there is none.

    In a text, the last match of `pattern` counts, whose first group is the number. A number before a percent sign is
    divided by 100, and all numbers if `percent`. A number that is part of something else, as in 9/10, 0,9 or 80-90, is
    none. With `logprob`, numbers are logarithms of probabilities.
    """

    pattern: re.Pattern[str]
    percent: bool = False
    logprob: bool = False

    def __call__(self, value: Any) -> float:
        """Read one value."""
        number, signed, of_100 = self._number(value)
        number /= 100 if signed or of_100 else 1
        return math.exp(number) if self.logprob and number <= 0 else number

    def column(self, values: Sequence[Any], places: Sequence[str]) -> list[float]:
        """Read all values; refuse shares among percentages, and logarithms above 0."""
        numbers = [self._number(each) for each in values]
        if self.logprob:
            bad = [i for i, each in enumerate(numbers) if each[0] > 0]
            rule, hint = "logarithms of probabilities must not exceed 0", "Probabilities? Leave out `logprob=True`."
        else:
            bad = [i for i, (number, signed, of_100) in enumerate(numbers) if of_100 and not signed and 0 < number < 1]
            rule = "percentages without a percent sign must not lie between 0 and 1, where they may be shares"
            hint = "Write '0.5%' for a percentage, or read shares without `percent=True`."
        if bad:
            raise ValueError(
                f"{rule}; {len(bad)} of {len(values)} do, first {quoted(values[bad[0]])} of {places[bad[0]]}. {hint}"
            )
        return [self(each) for each in values]

    def _number(self, value: Any) -> tuple[float, bool, bool]:
        """Return the number, whether it stands before a percent sign, and whether its scale ends at 100."""
        if not isinstance(value, str):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return (float(value) if is_number else math.nan), False, self.percent
        match, of_100 = _PLAIN.fullmatch(value), False
        if match is None:
            for match in self.pattern.finditer(value):  # noqa: B007  # the last one
                pass
            if match is None or match.group(1) is None or _CONTINUED.match(value, match.end(1)):
                return math.nan, False, False
            of_100 = bool(_OF_100.search(value, match.start(), match.start(1)))
        try:
            number = float(match.group(1).replace("\u2212", "-"))
        except ValueError:
            return math.nan, False, False
        signed = bool(_SIGN.match(value, match.end(1)))
        if of_100 and not signed and 0 < number < 1:  # a share on a scale to 100
            number = math.nan
        return number, signed, of_100 or self.percent


def stated(pattern: str, percent: bool, logprob: bool = False, abstain: str = "refuse") -> Stated:
    """Return the function that reads confidences, after a check of its options and of the treatment of no answer."""
    _checks.one_of("abstain", abstain, ABSTAIN)
    if percent and logprob:
        raise ValueError("`percent=True` and `logprob=True` exclude each other: say what the numbers are.")
    try:
        compiled = re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"`pattern` must be a regular expression: {problem}.") from None
    if not compiled.groups:
        raise ValueError(rf"`pattern` must have a group for the number, as in 'sure: (\d+)%'; it is {quoted(pattern)}.")
    return Stated(compiled, percent, logprob)


def graded(
    values: Sequence[Any],
    partial: str | None,
    abstained: Sequence[Any],
    places: Sequence[str],
    hint: str = "Name another score, or the key within this one; other words of abstention are `abstained`.",
) -> list[float]:
    """Return 1 for right, 0 for wrong and NaN for no answer, the grades `abstained`; refuse other grades, with a hint.

    Partial credit is refused without a choice if `partial` is None.
    """
    _checks.one_of("partial", partial, ("refuse", "right", "wrong", None))
    grades = [_grade(each, abstained) for each in values]
    unknown = [i for i, grade in enumerate(grades) if grade is None]
    if unknown:
        first, shown = unknown[0], list(dict.fromkeys(str(values[i]) for i in unknown))
        several = f"; they are {quoted(shown)}" if 1 < len(shown) <= 6 else ""
        raise ValueError(
            f"grades must be C, I, P or N, yes or no, true or false, or numbers from 0 to 1; {len(unknown)} of "
            f"{len(values)} are not, first {quoted(values[first])} of {places[first]}{several}. {hint}"
        )
    numbers = [math.nan if grade is None else grade for grade in grades]
    partly = [i for i, grade in enumerate(numbers) if 0 < grade < 1]
    if partly and partial not in ("right", "wrong"):
        words = (
            f"{len(partly)} of {len(values)} grades are neither right nor wrong, first {quoted(values[partly[0]])} of "
            f"{places[partly[0]]}."
        )
        if 2 * len(partly) > len(values) and len({numbers[i] for i in partly}) > 2:
            raise ValueError(
                f"{words} Most of them lie between 0 and 1, as confidences do. Name the score that says whether an "
                "answer is right; a score that is a confidence belongs to `confidence`."
            )
        if partial is None:
            raise ValueError(f"{words} Name a score that is 0 or 1.")
        raise ValueError(
            f"`partial` must say what partial credit counts as; {words} Pass `partial='wrong'` or `partial='right'`."
        )
    return [float(partial == "right") if 0 < grade < 1 else grade for grade in numbers]


def _grade(value: Any, abstained: Sequence[Any]) -> float | None:
    if value is None or value in abstained:
        return math.nan
    if isinstance(value, str):
        word = value.strip().casefold()
        if word in WORDS:
            return WORDS[word]
        try:
            value = float(word)
        except ValueError:
            return None
    if isinstance(value, bool | int | float) and (math.isnan(value) or 0 <= value <= 1):
        return float(value)
    return None
