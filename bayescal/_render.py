"""One table of numbers, as plain text, for a terminal and as HTML."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Sheet:
    """What is shown of a result: a sentence, its specification, a table, remarks.

    Parameters
    ----------
    sentence : str
        The result in words.
    spec : str
        What was computed and how, on one line.
    header : sequence of str
        Column titles.
    rows : sequence of sequence of str
        Cells; the first of each row is its name.
    remarks : sequence of str
        Lines below the table.
    """

    sentence: str
    spec: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


_PAGE = """<div>
<p>{{ sheet.sentence }}</p>
<table>
<thead><tr>{% for title in sheet.header %}<th style="text-align:right">{{ title }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in sheet.rows %}
<tr><th style="text-align:left">{{ row[0] }}</th>
{%- for cell in row[1:] %}<td style="text-align:right">{{ cell }}</td>{% endfor %}</tr>{% endfor %}
</tbody></table>
{% for remark in sheet.remarks %}<p>{{ remark }}</p>
{% endfor %}<p><code>{{ sheet.spec }}</code></p>
</div>"""


def number(value: float, decimals: int = 4) -> str:
    """Fixed decimals; what rounds to zero has no sign, and an undefined number is a dash."""
    return "-" if value != value else f"{value:z.{decimals}f}"


def decimals(width: float, least: int = 3) -> int:
    """Decimals that show an interval of this width to its first digit: a hundred million rows need more than three."""
    return least if not 0 < width < 10.0**-least else min(least + 9, math.ceil(-math.log10(width)))


def probability(value: float) -> str:
    """Two decimals, but never 0.00 or 1.00 for what is neither: ``= 0.25``, ``< 0.01``, ``> 0.99``."""
    if 0 < value < 0.01:
        return "< 0.01"
    if 0.99 < value < 1:
        return "> 0.99"
    return f"= {value:.2f}"


def table(sheet: Sheet) -> "Table":
    """The table of a sheet for a terminal, as a `rich` table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, title in enumerate(sheet.header):
        drawn.add_column(title, justify="right" if i else "left", no_wrap=True)
    for row in sheet.rows:
        drawn.add_row(*(Text(cell) for cell in row))  # as it is: a class may be called [red]
    return drawn


def text(sheet: Sheet, width: int = 100) -> str:
    """The whole sheet as plain text."""
    import io
    import textwrap

    from rich.console import Console

    buffer = io.StringIO()
    # in a notebook rich would display the table and leave it out of the text
    console = Console(
        file=buffer,
        width=width,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    console.print(table(sheet))
    grid = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n")
    remarks = "\n".join(textwrap.fill(remark, width, break_on_hyphens=False) for remark in sheet.remarks)
    parts = [textwrap.fill(sheet.sentence, width, break_on_hyphens=False), grid, remarks, sheet.spec]
    return "\n\n".join(part for part in parts if part)


def html(sheet: Sheet) -> str:
    """The whole sheet as an HTML fragment, escaped."""
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_PAGE).render(sheet=sheet)
