"""What the scripts of this folder share: measured numbers -> a file of them, and tables between a page's markers."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


def rows_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """A study's rows as lists, numbers to five digits."""
    return [[_rounded(row[name]) for name in columns] for row in rows]


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def save_rows(path: Path, numbers: Mapping[str, Any]) -> None:
    """One row a line, so that a change can be read."""
    about = "".join(f'"{key}": {json.dumps(value)},\n' for key, value in numbers.items() if key != "rows")
    rows = ",\n".join(json.dumps(row) for row in numbers["rows"])
    path.write_text(f'{{\n{about}"rows": [\n{rows}\n]\n}}\n', encoding="utf-8")


def rows_again(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stored rows as what the study returned."""
    return [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]


def fill(page: Path, command: str, made: Mapping[str, str]) -> None:
    """Put what a command made between its markers on a page."""
    markers = re.compile(
        rf"(?P<begin><!-- (?P<name>\w+): made by `{command}` -->\n).*?(?P<end><!-- end -->)", re.DOTALL
    )
    text = page.read_text(encoding="utf-8")
    page.write_text(markers.sub(lambda m: f"{m['begin']}\n{made[m['name']]}\n{m['end']}", text), encoding="utf-8")
