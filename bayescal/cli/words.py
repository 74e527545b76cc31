"""From the library's messages to the command line's: options for arguments, lines of the file for indices."""

import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bayescal import _render

if TYPE_CHECKING:
    from bayescal._arrays import Console
    from bayescal.data.files.predictions import Rows, RowStream

PER_ROW = ("y_true", "y_prob", "weights", "time", "event", "risk")
NO_ROWS: "Mapping[str, Rows]" = MappingProxyType({})
#: Terminal columns: minimum and maximum used, default if the width is unknown, and largest accepted `COLUMNS`.
NARROWEST, WIDEST, UNKNOWN, UTMOST = 40, 120, 80, 1000


@cache
def _words_of_commands() -> dict[str, Any]:
    """Read the options, and the words for calls and comparisons that messages of the library suggest."""
    import tomllib  # only messages need it

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def console(stderr: bool = False) -> "Console":
    """Return a console of 40 to 120 columns without automatic highlighting: numbers and paths are shown unchanged."""
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(_escaped(each) if isinstance(each, str) else each for each in objects), **options)

    screen = Screen(stderr=stderr, highlight=False, markup=False, emoji=False)
    screen.width = min(max(screen.width, NARROWEST), WIDEST)
    return screen


class ClosedOutput(io.TextIOBase):
    """Standard output that the caller has closed: printing raises, where Python would print nothing and succeed."""

    def write(self, text: str) -> int:
        """Raise an error."""
        raise OSError(errno.EBADF, "nothing can be printed, since standard output is closed")


def prepare_terminal() -> None:
    """Make printing independent of a wrong terminal width and of a limited encoding; refuse a closed output."""
    if sys.stdout is None:
        sys.stdout = ClosedOutput()  # None if its descriptor is closed
    columns = os.environ.get("COLUMNS", str(UNKNOWN))
    if not (columns.isascii() and columns.isdigit() and NARROWEST <= int(columns[:9]) <= UTMOST):
        os.environ["COLUMNS"] = str(UNKNOWN)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # TextIOWrapper has it


def _escaped(text: str) -> str:
    """Escape control characters but line breaks."""
    return "\n".join(map(_render.visible, text.split("\n")))


def say_saved(screen: "Console", *paths: Path | None) -> None:
    """Print one line per file that was written."""
    for path in paths:
        screen.print(f"Saved {_render.visible(path)}", soft_wrap=True)


@contextmanager
def one_clear_message() -> Iterator[None]:
    """Turn errors about the input into one message on stderr and exit code 2."""
    import typer

    try:
        yield
    except (ValueError, TypeError, OSError) as problem:
        say_error(problem)
        raise typer.Exit(2) from None


def say_error(problem: Exception) -> None:
    """Print the message of an error on stderr."""
    say("Error", "bold red", _error_message(problem))


def _error_message(problem: Exception) -> str:
    """Return the message of an error; for one of the operating system, without its number."""
    if isinstance(problem, OSError) and problem.strerror:
        where = f" '{problem.filename}'" if problem.filename else ""
        return translated(f"{problem.strerror}:{where}." if where else f"{problem.strerror}.")
    return translated(problem)


def say(kind: str, style: str, message: str) -> None:
    """One message on stderr."""
    from rich.text import Text

    # one line however narrow the terminal, so that it can be searched and copied
    shown = _render.printed(message)
    console(stderr=True).print(Text.assemble((f"{kind}: ", style), shown), soft_wrap=True)


@contextmanager
def file_named(file: Path, files: Sequence[Path]) -> Iterator[None]:
    """Add the name of the file to error messages if there are several files."""
    from bayescal._invalid import prefixed

    try:
        yield
    except (ValueError, TypeError) as problem:
        if len(files) == 1 or f"'{file.name}'" in str(problem):
            raise
        raise prefixed(problem, f"'{file.name}': ") from problem


@contextmanager
def warnings_as_notes(
    rows: "Rows | RowStream | None", called: dict[str, str], others: "Mapping[str, Rows]" = NO_ROWS
) -> Iterator[list[str]]:
    """Show warnings of the library as notes on stderr, each once, and its errors, in the words of the command line."""
    from bayescal._invalid import InvalidRows

    notes: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield notes
    except (ValueError, TypeError) as problem:
        kind = ValueError if isinstance(problem, InvalidRows) else type(problem)
        raise kind(translated(problem, rows, called, others)) from problem
    notes += dict.fromkeys(translated(warning.message, rows, called, others) for warning in caught)
    for note in notes:
        say("Note", "yellow", note)


def translated(
    problem: Exception | Warning | str,
    rows: "Rows | RowStream | None" = None,
    called: Mapping[str, str] | None = None,
    others: "Mapping[str, Rows]" = NO_ROWS,
) -> str:
    """Write a message of the library with options for arguments, and lines of the file for indices.

    `rows` were given to the library, `others` are rows of other files by argument, and `called` has names of the
    arguments that hold rows, as in ``{"y_prob": "column 'probability'"}``.
    """
    from bayescal._invalid import InvalidRows, RoundingWarning  # loads numpy, which `--help` does not need

    def in_words(text: str) -> str:
        return _with_options(text, called or {})

    if not isinstance(problem, InvalidRows | RoundingWarning):
        return in_words(str(problem))
    finding = problem.finding
    held = others.get(finding.argument, rows if finding.argument in PER_ROW else None)
    of_array = held is not None and finding.first is not None and not finding.place
    place = _place(finding.first or (), held) if held is not None and of_array else None
    return finding.sentence(in_words(finding.called or f"`{finding.argument}`"), place, in_words)


def _place(first: tuple[int, ...], rows: "Rows | RowStream") -> str:
    """The line of the first invalid value, and its column if the values are a matrix."""
    line = f"in {rows.place(first[0])}"
    return line if len(first) == 1 else f"{line}, column {rows.columns[first[1]]!r}"


def _with_options(text: str, called: Mapping[str, str]) -> str:
    """Write options in place of arguments, which the library marks with backticks, with or without a value."""
    table = _words_of_commands()
    for call, words in table["calls"].items():
        text = text.replace(call, words)
    for pattern, words in table["comparisons"].items():
        if match := re.search(pattern, text):
            column = called.get(match[1], f"`{match[1]}`")
            text = text.replace(match[0], words.format(column=column, value=match[2]))
    for argument, name in called.items():
        text = text.replace(f"`{argument}`", name)
    options = "|".join([*table["options"].split(), *table["other_options"]])
    return re.sub(rf"`({options})(?:=([^`]*))?`", _option, text)


def _option(match: re.Match[str]) -> str:
    """`target='event'` -> --target event; `logits=True` -> --logits; `classes=('no', 'yes')` -> --classes no,yes."""
    name = _words_of_commands()["other_options"].get(match[1], "--" + match[1].replace("_", "-"))
    value = re.sub(r"^[('\[]+|[)'\]]+$", "", match[2] or "")
    value = re.sub(r"'?, '?", ",", value)
    return name if value in ("", "True") else f"{name} {value}"
