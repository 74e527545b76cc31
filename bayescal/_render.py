"""Render a table of numbers as plain text, for a terminal and as HTML; make names safe to display."""

import functools
import io
import math
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal import _packages

if TYPE_CHECKING:
    from bayescal._arrays import Table

#: Characters that `str.isprintable` rejects and that are kept nevertheless: they join letters and emoji.
JOINERS = "\u200c\u200d"
#: Maximum number of characters of a name and of a message; longer ones are shortened in the middle.
LONGEST_NAME, LONGEST_MESSAGE = 100, 2000
LONGEST_CELL = 2 * LONGEST_NAME + 3  #: A cell may hold two names with a minus sign between them.
#: Columns of printed text: minimum, and maximum, which is also that of files and notebooks.
NARROWEST, WIDEST = 40, 100
LEAST_ROOM = 16  #: Minimum number of terminal columns for the names in a table.
RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"  #: The only non-ASCII character in a printed table.


def visible(text: object) -> str:
    r"""Escape control characters, line separators, bidirectional controls and lone surrogates as ``repr`` does.

    A name from the data could otherwise recolour the terminal, split a row, or reverse the rest of the line.

    >>> print(visible("red: \x1b[31m, two\nlines, Grün"))
    red: \x1b[31m, two\nlines, Grün
    """
    text = str(text)
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    keep = character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs"
    return character if keep else repr(character)[1:-1]


def cut(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """Shorten long text in the middle, because names that start alike often differ at the end.

    >>> cut("resnet50_imagenet_epoch_10", 16)
    'resnet50_...h_10'
    """
    if len(text) <= longest:
        return text
    end = (longest - 3) // 3
    return f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"


def printed(text: object, longest: int = LONGEST_MESSAGE) -> str:
    """Escape control characters and shorten text that is longer than `longest` characters."""
    return cut(visible(cut(str(text), longest)), longest)


def name(text: object) -> str:
    """Return a user-supplied name as sentences, tables and plots show it: escaped and shortened."""
    return printed(text, LONGEST_NAME)


def printable[**P](sentence: Callable[P, str]) -> Callable[P, str]:
    """Decorate a function that returns a sentence: escape control characters and limit its length."""

    @functools.wraps(sentence)
    def shown(*args: P.args, **kwargs: P.kwargs) -> str:
        return printed(sentence(*args, **kwargs))

    return shown


@dataclass(frozen=True)
class Sheet:
    """Content of a result, with control characters escaped and very long texts shortened; see `visible` and `cut`.

    Printing shows the headline, the question, the table and the remarks: what these data show, of what, and what they
    warn of. The details are the notes and the specification: what holds for any data (definitions of columns, origin of
    intervals), estimates for comparison, and the probabilities of sub-models. Pages and documents contain both.
    """

    sentence: str  # the result in words
    spec: str  # what was computed and how, on one line
    header: Sequence[str]  # titles of columns
    rows: Sequence[Sequence[str]]  # cells; the first of each row is its name
    remarks: Sequence[str] = ()  # lines below the table: more results, and warnings
    notes: Sequence[str] = ()  # lines of the details
    headline: str = ""  # first line of the printed result; by default the sentence
    above: "Sheet | None" = None  # a sheet whose table is shown between the headline and the table
    question: str = ""  # second line of the printed result: quantity, bins, rows and model

    def __post_init__(self) -> None:
        question = self.question[:1].upper() + self.question[1:]
        shown = {
            "sentence": printed(self.sentence),
            "spec": printed(self.spec),
            "header": tuple(map(name, self.header)),
            "rows": [[printed(cell, LONGEST_CELL) for cell in row] for row in self.rows],
            "remarks": tuple(map(printed, self.remarks)),
            "notes": tuple(map(printed, self.notes)),
            "headline": printed(self.headline or self.sentence),
            "question": printed(question and f"{question.removesuffix('.')}."),
        }
        for field, value in shown.items():
            object.__setattr__(self, field, value)


def number(value: float, decimals: int = 4) -> str:
    """Format a number with fixed decimals. Values that round to zero have no sign; NaN is shown as a dash."""
    return "-" if value != value else f"{value:z.{decimals}f}"


def percent(share: float) -> str:
    """Format a share as a percentage with two significant digits.

    >>> percent(0.00625), percent(0.539), percent(0.999)
    ('0.62 %', '54 %', '100 %')
    """
    value = 100 * share
    return f"{value:.2g} %" if value < 99.5 else f"{value:.0f} %"


def decimals(width: float, least: int = 3) -> int:
    """Return the number of decimals that shows the first digit of the width of an interval; at least `least`."""
    return least if not 0 < width < 10.0**-least else min(least + 9, math.ceil(-math.log10(width)))


def places(*values: float, least: int = 3) -> int:
    """Return the number of decimals of numbers that are shown together: `least`, but four digits of tiny numbers.

    These have fewer than two significant digits otherwise, and at most `least` + 9 decimals; only finite values count.

    >>> places(0.0004, 0.021), places(0.0004, 0.0021), places(0.00003)
    (3, 6, 8)
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not 0 < largest < 10.0 ** (1 - least):
        return least
    return min(least + 9, 3 - math.floor(math.log10(largest)))


def interval_decimals(low: float, high: float, least: int = 3) -> int:
    """Return the number of decimals of an interval: those of `decimals` for its width and of `places` for its ends."""
    return max(decimals(high - low, least), places(low, high, least=least))


def numbers(*values: float, least: int = 4) -> list[str]:
    """Format numbers that are shown together with the decimals of `places`.

    >>> numbers(0.0421, 0.00003), numbers(0.000421, 0.00003)
    (['0.0421', '0.0000'], ['0.0004210', '0.0000300'])
    """
    return [number(value, places(*values, least=least)) for value in values]


def probability(value: float) -> str:
    """Format a probability as ``= 0.25``, ``< 0.01`` or ``> 0.99``; only 0 and 1 are shown as 0.00 and 1.00."""
    if 0 < value < 0.01:
        return "< 0.01"
    if 0.99 < value < 1:
        return "> 0.99"
    return f"= {value:.2f}"


def wrapped(text: str, width: int) -> str:
    r"""Wrap a name after spaces, underscores, slashes and hyphens; shorten words that are longer than a line.

    >>> wrapped("logistic_regression_l2 calibrated", 12).split("\n")
    ['logistic_', 'regression_', 'l2', 'calibrated']
    >>> wrapped("electroencephalography", 12)
    'electr...phy'
    """
    width, lines = max(width, 6), [""]
    for part in re.findall(r"\([^()]{,14}\)\s*|[^\s_/-]*[\s_/-]*", text):
        word = part if len(part.rstrip()) <= width else cut(part.rstrip(), width)
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines)


def table(sheet: Sheet, width: int = 100) -> "Table":
    """Build the table of a sheet for a terminal; names are wrapped to fit `width` columns, numbers are never cut."""
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    rich_table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    widths = [max(map(len, column)) for column in zip(sheet.header, *sheet.rows, strict=True)]
    room = max(width - sum(widths[1:]) - 2 * len(widths), LEAST_ROOM)
    for i, title in enumerate(sheet.header):
        rich_table.add_column(Text(title), justify="right" if i else "left", no_wrap=True)
    for first, *others in sheet.rows:
        # Text is not parsed as markup: a class may be called [red]
        rich_table.add_row(Text(wrapped(first, room) if len(first) > room else first), *map(Text, others))
    console = Console(width=10**6)
    least = Measurement.get(console, console.options, rich_table).maximum
    rich_table.width = least if least > width else None
    return rich_table


def page_width() -> int:
    """Return the number of columns of text: those of the terminal, at least 40, or 100 in files, and at most 100."""
    columns = shutil.get_terminal_size((WIDEST, 24)).columns if sys.stdout is not None and sys.stdout.isatty() else 0
    return min(max(columns or WIDEST, NARROWEST), WIDEST)


def text(sheet: Sheet, width: int | None = None) -> str:
    """Render headline, question, table and remarks as plain text, as wide as the terminal and at most 100 columns."""
    from rich.console import Console

    width = page_width() if width is None else width
    buffer = io.StringIO()
    # in a notebook, rich would display the table instead of writing it to the buffer
    plain: dict[str, Any] = {"color_system": None, "force_terminal": False, "legacy_windows": False}
    console = Console(file=buffer, width=width, force_jupyter=False, **plain)
    for part in (sheet.above, sheet):
        if part is not None:
            console.print(table(part, width), crop=False)
    grid = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n").replace("\n\n\n", "\n\n")
    try:
        RULE.encode(getattr(sys.stdout, "encoding", None) or "utf-8")  # on Windows it may be cp1252
    except (UnicodeEncodeError, LookupError):
        grid = grid.replace(RULE, "-")
    head = [line for line in (sheet.headline, sheet.question) if line]
    parts = [_filled(head, width), grid, _filled(sheet.remarks, width)]
    return "\n\n".join(part for part in parts if part)


def details_text(sheet: Sheet) -> str:
    """Render the notes as plain text, and the specification on one line."""
    return "\n\n".join(part for part in (_filled(sheet.notes, page_width()), sheet.spec) if part)


def _filled(lines: Sequence[str], width: int) -> str:
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in lines)


def html(sheet: Sheet) -> str:
    """Render the headline, the question, the table and the remarks as an escaped HTML fragment."""
    return filled(Path(__file__).with_name("_render_sheet.html").read_text(encoding="utf-8"), sheet=sheet)


def details_html(sheet: Sheet) -> str:
    """Render the notes and the specification as an escaped HTML fragment."""
    return filled(Path(__file__).with_name("_render_details.html").read_text(encoding="utf-8"), sheet=sheet)


def filled(template: str, **values: Any) -> str:
    r"""Fill a jinja2 template: the only function that puts text into HTML, escaped but for `markupsafe.Markup`.

    >>> print(filled("<p>{{ name }}</p>", name="<b>\x1b[31m"))
    <p>&lt;b&gt;\x1b[31m</p>
    """
    _packages.require("jinja2")
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    def inserted(value: Any) -> Any:
        return value if isinstance(value, Markup) else visible(value)

    environment = Environment(autoescape=True, finalize=inserted, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(values)
