"""Parquet files, and detection of the format of a file (Parquet, delimited text, JSON lines) from its content."""

import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from bayescal._checks import quoted
from bayescal._files import existing_file
from bayescal.data.files.json_lines import JsonLines
from bayescal.data.files.records import BOM
from bayescal.data.files.shapes import MUST_BE, refuse_binary, rewriting
from bayescal.data.files.source import (
    FileError,
    Source,
    file_literal,
    first_line,
    identifier,
    text_to_label,
    text_to_number,
)
from bayescal.data.files.text import Delimited

#: Number of bytes from which the format is detected.
HEAD_BYTES = 65536


class Parquet(Source):
    """A Parquet file: columns have types, and float32 stays float32."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        schema = f"parquet_schema({file_literal(self.path)})"
        self.columns = _top_level(self._ask(f"SELECT name, num_children FROM {schema}"))
        # the engine ignores case and renames the second of `P` and `p`; positions are unambiguous
        described = self._ask(f"DESCRIBE SELECT * FROM {self._scan}")
        self._known_as = {name: (row[0], str(row[1])) for name, row in zip(self.columns, described, strict=True)}

    @property
    def _scan(self) -> str:
        # otherwise a folder called label=3 would become a column
        return f"read_parquet({file_literal(self.path)}, hive_partitioning=false)"

    def _text(self, column: str) -> str:
        return f"CAST({identifier(self._known_as[column][0])} AS VARCHAR)"

    def _number(self, column: str) -> str:
        name, kind = identifier(self._known_as[column][0]), self._known_as[column][1]
        if kind in ("FLOAT", "DOUBLE"):
            return name
        if kind == "VARCHAR":
            return text_to_number(name)
        if re.match(r"U?(TINY|SMALL|BIG|HUGE)?INT|DECIMAL", kind):
            return f"CAST({name} AS DOUBLE)"
        hint = " Write one column for each class." if kind.endswith("]") else ""
        raise ValueError(f"column {quoted(column)} must hold numbers; its type is {kind}.{hint}")

    def _label(self, column: str) -> str:
        name, kind = identifier(self._known_as[column][0]), self._known_as[column][1]
        if kind == "BOOLEAN":
            return name
        return text_to_label(name) if kind == "VARCHAR" else self._number(column)

    def rows_about(self) -> int:
        """Return the exact number of rows, which the end of the file states."""
        ((rows,),) = self._ask(f"SELECT sum(num_rows) FROM parquet_file_metadata({file_literal(self.path)})")
        return int(rows)

    def _count_rows(self) -> int:
        return self.rows_about()

    def place(self, row: int) -> str:
        """Return the number of the row, counted from 1."""
        return f"row {row + 1}"

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        raise FileError(f"'{self.path.name}' begins as a Parquet file but is broken: {first_line(problem)}.")


def _top_level(schema: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Return the names of the columns from a flattened tree, in which each node precedes its children."""
    names: list[str] = []
    open_nodes: list[int] = []
    for name, children in schema:
        if len(open_nodes) == 1:
            names.append(name)
        if open_nodes:
            open_nodes[-1] -= 1
        open_nodes.append(children or 0)
        while open_nodes and open_nodes[-1] == 0:
            open_nodes.pop()
    return tuple(names)


def open_source(path: str | Path) -> "Source":
    """Detect the format of a file from its first bytes, and read the names of its columns but no rows."""
    path = existing_file(path)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return Parquet(path)
    zipped = head.startswith(b"\x1f\x8b")
    if zipped:
        try:
            with gzip.open(path) as unzipped:
                head = unzipped.read(HEAD_BYTES)
        except (OSError, EOFError, zlib.error) as problem:
            raise FileError(f"'{path.name}' begins as a gzip file but is broken: {problem}.") from problem
    return _open_text(path, head, zipped)


def _open_text(path: Path, head: bytes, zipped: bool) -> "Source":
    body = head.removeprefix(BOM).lstrip()
    if not body:
        raise FileError(f"'{path.name}' is empty ({len(head)} bytes).")
    refuse_binary(path, head)
    if re.match(rb"\[\s*[\[{]", body):
        reading = "pandas.read_json(path, precise_float=True)"
        raise FileError(f"'{path.name}' is one JSON array, not JSON lines; {MUST_BE} {rewriting(path, reading)}")
    if not body.startswith(b"{"):
        return Delimited(path, zipped)
    if head.startswith(BOM):
        raise FileError(f"'{path.name}' begins with a byte order mark, which JSON forbids: save it as plain UTF-8.")
    return JsonLines(path, zipped)
