"""Logs: their files, the values within a record, and numbers that a text states."""

import glob
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from bayescal import _checks
from bayescal._files import existing_file
from bayescal._invalid import quoted
from bayescal.read.answers import ABSTAIN

#: A stated confidence, as in "Confidence: 90%", "confidence is 0.9" or "**Confidence**: 90 %".
STATED = r"(?i)confidence\W*(?:(?:is|of|score|level|rating)\W+)*(\d+(?:\.\d+)?|\.\d+)"
#: Grades that are words.
WORDS = {"c": 1.0, "i": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "p": 0.5}


def log_files(paths: Any, patterns: Sequence[str], what: str) -> list[Path]:
    """Return the files of `paths`: files, folders with files of these patterns, wildcards, or a list of them."""
    if isinstance(paths, str | PathLike):
        paths = [paths]
    if not isinstance(paths, Iterable):
        raise TypeError(f"`paths` must be a file, a folder, a wildcard or a list of them, not {type(paths).__name__}.")
    files: list[Path] = []
    for each in paths:
        path = Path(each)
        if path.is_dir():
            inside = sorted(file for pattern in patterns for file in path.rglob(pattern))
        elif glob.has_magic(str(path)) and not path.exists():
            inside = [Path(file) for file in sorted(glob.glob(str(path), recursive=True)) if Path(file).is_file()]
            if not inside:
                raise FileNotFoundError(f"no file matches '{path}'.")
        else:
            inside = [existing_file(path)]
        if not inside:
            raise FileNotFoundError(f"'{path}' contains no {what} ({' or '.join(patterns)}).")
        files += inside
    if not files:
        raise ValueError(f"`paths` must name at least one file of {what}; it is empty.")
    return list(dict.fromkeys(files))


def json_records(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; a `ValueError` names the first line that is not one."""
    records = []
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
            records.append(record)
    if not records:
        raise ValueError(f"'{path.name}' is empty.")
    return records


def value_at(record: Any, steps: str) -> Any:
    """Return the value at a path of keys and indexes of lists, joined by dots; None if there is none.

    >>> value_at({"scores": {"graded": {"value": ["C", "I"]}}}, "scores.graded.value.1")
    'I'
    """
    for step in steps.split("."):
        if isinstance(record, Mapping):
            record = record.get(step)
        elif isinstance(record, list | tuple) and step.isdecimal() and int(step) < len(record):
            record = record[int(step)]
        else:
            return None
    return record


def stated(pattern: str, percent: bool) -> Callable[[Any], float]:
    """Return a function that reads a confidence from a number or a text; NaN if there is none.

    In a text, the last match of `pattern` counts, whose first group is the number. A number before a percent sign is
    divided by 100, and all numbers if `percent`.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"`pattern` must be a regular expression: {problem}.") from None
    if not compiled.groups:
        raise ValueError(rf"`pattern` must have a group for the number, as in 'sure: (\d+)%'; it is {quoted(pattern)}.")

    def read(value: Any) -> float:
        if isinstance(value, str):
            if plain := re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%?\s*", value):
                match = plain
            else:
                match = None
                for match in compiled.finditer(value):  # noqa: B007  # the last one
                    pass
            if match is None or match.group(1) is None:
                return math.nan
            is_percent = percent or value[match.end(1) :].lstrip(" *_`\\").startswith("%")
            return float(match.group(1)) / (100 if is_percent else 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return math.nan
        return value / (100 if percent else 1)

    return read


def graded(values: Sequence[Any], partial: str, abstained: Sequence[Any], places: Sequence[str]) -> list[float]:
    """Return 1 for right, 0 for wrong and NaN for no answer; refuse other grades.

    Grades are numbers, booleans, or words such as C, I, P, N, yes and no; `abstained` are those of no answer.
    """
    _checks.one_of("partial", partial, ("refuse", "right", "wrong"))
    grades = [_grade(each, abstained) for each in values]
    unknown = [i for i, grade in enumerate(grades) if grade is None]
    if unknown:
        raise ValueError(
            f"grades must be C, I, P or N, yes or no, true or false, or numbers from 0 to 1; {len(unknown)} of "
            f"{len(values)} are not, first {quoted(values[unknown[0]])} of {places[unknown[0]]}. Name another score, "
            "or the key within this one."
        )
    numbers = [math.nan if grade is None else grade for grade in grades]
    partly = [i for i, grade in enumerate(numbers) if 0 < grade < 1]
    if partly and partial == "refuse":
        raise ValueError(
            f"`partial` must say what partial credit counts as; {len(partly)} of {len(values)} grades are neither "
            f"right nor wrong, first {quoted(values[partly[0]])} of {places[partly[0]]}. Pass `partial='wrong'` or "
            "`partial='right'`."
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


def require_abstain(abstain: str) -> None:
    """Require one of the ways to treat missing answers."""
    _checks.one_of("abstain", abstain, ABSTAIN)
