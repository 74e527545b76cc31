"""Parts that the scripts of this folder share: files of measured numbers, and tables between the markers of a page."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def rows_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """Return the rows of a study as lists, with numbers to five digits."""
    return [[_rounded(row[name]) for name in columns] for row in rows]


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def save_rows(path: Path, numbers: Mapping[str, Any]) -> None:
    """Write one row per line, so that differences between versions are readable."""
    about = "".join(f'"{key}": {json.dumps(value)},\n' for key, value in numbers.items() if key != "rows")
    rows = ",\n".join(json.dumps(row) for row in numbers["rows"])
    path.write_text(f'{{\n{about}"rows": [\n{rows}\n]\n}}\n', encoding="utf-8")


def rows_again(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return stored rows as dicts, as the study returned them."""
    return [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]


def save_parts(path: Path, numbers: Mapping[str, Any]) -> None:
    """Write several lists of rows by name, one row per line."""
    parts = []
    for key, value in numbers.items():
        rows = ",\n".join(json.dumps(row) for row in value) if isinstance(value, list) else ""
        parts.append(f'"{key}": ' + (f"[\n{rows}\n]" if rows else json.dumps(value)))
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def versions_of(programs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names and versions of the installed programs."""
    for name in programs:
        try:
            yield name, version(name)
        except PackageNotFoundError:  # some are optional
            continue


def rounded(value: Any) -> Any:
    """Round all numbers to four digits."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def table(head: str, rows: Iterable[Iterable[Any]]) -> str:
    """Return a Markdown table; columns whose title ends in a colon hold numbers."""
    titles = head.split(" | ")
    rule = "|".join("--:" if title.endswith(":") else "---" for title in titles)
    lines = [" | ".join(title.rstrip(":") for title in titles), rule, *(" | ".join(map(str, row)) for row in rows)]
    return "".join(f"|{line}|\n" if line == rule else f"| {line} |\n" for line in lines)


def cells(rows: Iterable[Mapping[str, Any]], form: str) -> Iterator[list[str]]:
    """Yield the cells of each row: parts of a format between bars, filled with its values."""
    for row in rows:
        yield [word.format(**row) for word in form.split("|")]


def fill(page: Path, command: str, made: Mapping[str, str]) -> None:
    """Replace the text between markers of a command on a page; markers of its other scripts stay as they are."""
    markers = re.compile(
        rf"(?P<begin><!-- (?P<name>\w+): made by `{command}` -->\n).*?(?P<end><!-- end -->)", re.DOTALL
    )
    text = page.read_text(encoding="utf-8")

    def replaced(match: re.Match[str]) -> str:
        if match["name"] not in made:
            return match[0]
        return f"{match['begin']}\n{made[match['name']]}\n{match['end']}"

    page.write_text(markers.sub(replaced, text), encoding="utf-8")
