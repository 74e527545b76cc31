"""From the library's messages to the command line's: options for arguments, lines of the file for indices."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal import _render

if TYPE_CHECKING:
    from rich.console import Console

    from bayescal.data.files.predictions import Rows, RowStream

#: Arguments of the library whose option has another name.
OPTION_OF = {"edges": "--bins", "rng": "--seed", "path": "FILE"}
OPTIONS = (
    "classes",
    "target",
    "bins",
    "binning",
    "model",
    "sub_models",
    "draws",
    "logits",
    "prob",
    "prob_prefix",
    *OPTION_OF,
)
OPTIONS += ("sizes", "populations", "curves", "methods", "repeats", "key", "rope", "estimand")
PER_ROW = ("y_true", "y_prob", "weights")
#: Terminal columns: minimum and maximum used, default if the width is unknown, and largest accepted `COLUMNS`.
NARROWEST, WIDEST, UNKNOWN, UTMOST = 40, 120, 80, 1000


def console(stderr: bool = False) -> "Console":
    """Return a console of 40 to 120 columns without automatic highlighting: numbers and paths are shown unchanged."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    made.width = min(max(made.width, NARROWEST), WIDEST)
    return made


def prepare_terminal() -> None:
    r"""Make printing independent of a wrong terminal width and of a limited encoding.

    ``COLUMNS`` is set to 80 unless it is a number from 40 to 1000. A character that a stream cannot encode is escaped,
    as in ``caf\xe9``.
    """
    columns = os.environ.get("COLUMNS", str(UNKNOWN))
    if not (columns.isascii() and columns.isdigit() and NARROWEST <= int(columns[:9]) <= UTMOST):
        os.environ["COLUMNS"] = str(UNKNOWN)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # TextIOWrapper has it


def say_saved(screen: "Console", *paths: Path | None) -> None:
    """Print one line per file that was written."""
    for path in paths:
        screen.print(f"Saved {_render.visible(path)}", soft_wrap=True)


@contextmanager
def one_clear_message() -> Iterator[None]:
    """Turn what is wrong with the input into one message on stderr and exit code 2."""
    import typer

    try:
        yield
    except (ValueError, TypeError, OSError) as problem:
        say("Error", "bold red", translated(_told(problem)))
        raise typer.Exit(2) from None


def _told(problem: Exception) -> str:
    """An operating system's error without its number; a file that is meant to be seen, without its folder."""
    if isinstance(problem, OSError) and problem.strerror:
        where = f" '{problem.filename}'" if problem.filename else ""
        return f"{problem.strerror}:{where}." if where else f"{problem.strerror}."
    return str(problem)


def say(kind: str, style: str, message: str) -> None:
    """One message on stderr."""
    from rich.text import Text

    # one line however narrow the terminal, so that it can be searched and copied
    shown = _render.printed(message)
    console(stderr=True).print(Text.assemble((f"{kind}: ", style), shown), soft_wrap=True)


def called_columns(label: str, prob: str | None, prob_prefix: str | None, weights: str | None) -> dict[str, str]:
    """Return the names of the arguments that hold rows, for `translated`."""
    probabilities = f"column {prob!r}" if prob is not None else f"the matrix of columns '{prob_prefix}*'"
    return {"y_true": f"column {label!r}", "y_prob": probabilities, "weights": f"column {weights!r}"}


@contextmanager
def warnings_as_notes(rows: "Rows | RowStream", called: dict[str, str]) -> Iterator[None]:
    """Show what the library warns of as notes on stderr, and its errors, in the words of the command line."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except (ValueError, TypeError) as problem:
        raise type(problem)(translated(str(problem), rows, called)) from problem
    for warning in caught:
        say("Note", "yellow", translated(str(warning.message), rows, called))


def translated(message: str, rows: "Rows | RowStream | None" = None, called: dict[str, str] | None = None) -> str:
    """Say `message` in the words of the command line.

    Parameters
    ----------
    message : str
        What the library says, with arguments between backticks and rows as indices.
    rows : Rows, optional
        The rows it speaks about, to turn indices into lines of their file.
    called : dict of str to str, optional
        What to call the arguments that hold rows, as in ``{"y_prob": "column 'probability'"}``.

    Returns
    -------
    str
        The same, for somebody who typed options and whose rows are lines.
    """
    if rows is not None and re.match(f"`({'|'.join(PER_ROW)})`", message):
        message = re.sub(r"first at index (\d+|\((\d+), (\d+)\))", _line_of(rows), message)
    message = message.replace("`y_prob[:, 1]`", "--prob with the column of class 1")
    for argument, name in (called or {}).items():
        message = message.replace(f"`{argument}`", name)
    return re.sub(rf"`({'|'.join(OPTIONS)})(?:=([^`]*))?`", _option, message)


def _line_of(rows: "Rows | RowStream") -> Callable[[re.Match[str]], str]:
    def said(found: re.Match[str]) -> str:
        if found[2] is None:
            return f"first in {rows.place(int(found[1]))}"
        return f"first in {rows.place(int(found[2]))}, column {rows.columns[int(found[3])]!r}"

    return said


def _option(found: re.Match[str]) -> str:
    """`target='event'` -> --target event; `logits=True` -> --logits; `classes=('no', 'yes')` -> --classes no,yes."""
    name = OPTION_OF.get(found[1], "--" + found[1].replace("_", "-"))
    value = re.sub(r"^[('\[]+|[)'\]]+$", "", found[2] or "")
    value = re.sub(r"'?, '?", ",", value)
    return name if value in ("", "True") else f"{name} {value}"
