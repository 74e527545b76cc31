"""Delimited text (CSV, TSV and their like) and JSON lines."""

import csv
import glob
import gzip
import json
import re
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn, cast

from bayescal.data.source import Source, do_or_does, first_line, is_or_are, literal, text_to_label, text_to_number

#: What is looked at to see how long lines are.
HEAD_BYTES = 65536


class _Text(Source):
    """A text file: every value is text until a number is wanted, so that a bad one can be shown."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path)
        self._zipped = zipped

    def _number(self, column: str) -> str:
        return text_to_number(self._text(column))

    def _label(self, column: str) -> str:
        return text_to_label(self._text(column))

    @property
    def _file(self) -> str:
        """Beginning of the arguments of the engine's readers."""
        return f"{literal(glob.escape(str(self.path)))}, compression='{'gzip' if self._zipped else 'none'}'"

    def _lines(self) -> IO[bytes]:
        return cast(IO[bytes], gzip.open(self.path)) if self._zipped else self.path.open("rb")

    def rows_about(self) -> int | None:
        """As many as lines of the length of the first ones make up its size; unknown if it is compressed."""
        if self._zipped:
            return None
        with self._lines() as file:
            head = file.read(HEAD_BYTES)
        return round(self.path.stat().st_size * max(1, head.count(b"\n")) / len(head))

    def place(self, row: int) -> str:
        """Line of the file, counted from 1: header, blank lines and line breaks within quotes count."""
        number = next((line for i, line in enumerate(self._starts()) if i == row), None)
        return f"row {row + 1}" if number is None else f"line {number}"

    @abstractmethod
    def _starts(self) -> Iterator[int]:
        """Line on which each row begins."""

    def _refuse_undecodable(self) -> None:
        bad = []
        with self._lines() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    bad.append(number)
        if bad:
            raise ValueError(
                f"'{self.path.name}' must be UTF-8 text (or Parquet); {len(bad)} of {number} lines "
                f"{is_or_are(len(bad))} not, first in line {bad[0]}. "
                "Save it as UTF-8."
            )


class Delimited(_Text):
    """CSV, TSV and their like: the first line names the columns; delimiter and quotes are found by the engine."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped)
        # without ignore_errors the sniffer takes a ragged row as a sign of another delimiter
        (sniffed,) = self._ask(
            f"SELECT delimiter, quote, escape FROM sniff_csv({self._file}, header=true, all_varchar=true, skip=0, "
            "comment='', ignore_errors=true)"
        )
        delimiter, quote, escape = ("" if s is None or s == "(empty)" else s for s in sniffed)
        self._delimiter = delimiter or ","
        self._quote = quote or '"'  # quotes may come later than the sniffer looks
        self._escape = escape or self._quote
        self.columns = self._header()

    def _header(self) -> tuple[str, ...]:
        line, names = next(self._records(), (1, [""]))
        if line > 1 or not any(names):
            raise ValueError(f"'{self.path.name}' must begin with the names of the columns; its first line is blank.")
        if any("\ufffd" in name for name in names):
            self._refuse_undecodable()
        return tuple(names)

    @property
    def _scan(self) -> str:
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.columns)))
        return (
            f"read_csv({self._file}, auto_detect=false, header=true, skip=0, delim={literal(self._delimiter)}, "
            f"quote={literal(self._quote)}, escape={literal(self._escape)}, comment='', columns={{{columns}}}, "
            "null_padding=false, ignore_errors=false, hive_partitioning=false)"
        )

    @property
    def columns_said(self) -> str:
        """The columns, in a sentence; a row of numbers is hardly a header."""
        numbers = all(re.fullmatch(r"\s*[-+.\deE]+\s*", name) for name in self.columns)
        return super().columns_said + numbers * " The first line must name the columns: is it missing?"

    def _text(self, column: str) -> str:
        return f"c{self.columns.index(column)}"

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Fields of each row and the line on which it begins; blank lines are no rows, as for the engine."""
        import io

        doubled = self._escape == self._quote
        with io.TextIOWrapper(self._lines(), encoding="utf-8-sig", errors="replace", newline="") as text:
            rows = csv.reader(
                text,
                delimiter=self._delimiter,
                quotechar=self._quote,
                doublequote=doubled,
                escapechar=None if doubled else self._escape,
            )
            begins = 1
            for fields in rows:
                if fields:
                    yield begins, fields
                begins = rows.line_num + 1

    def _starts(self) -> Iterator[int]:
        records = self._records()
        next(records)
        return (line for line, _ in records)

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        self._refuse_undecodable()
        if hasattr(self, "columns"):
            width = len(self.columns)
            ragged = [(line, len(fields)) for line, fields in self._records() if len(fields) != width]
            if ragged:
                line, found = ragged[0]
                raise ValueError(
                    f"'{self.path.name}' must have {width} fields in every row, as in its first line; {len(ragged)} "
                    f"of {sum(1 for _ in self._starts())} rows {do_or_does(len(ragged))} not, first in line {line}: "
                    f"{found} field{'s' * (found != 1)}."
                )
            opened = re.search(r"Line: (\d+)(?s:.)*unterminated quote", str(problem))
            if opened:
                raise ValueError(f"'{self.path.name}' opens a quote in line {opened[1]} that is never closed.")
        raise ValueError(f"'{self.path.name}' cannot be read as delimited text: {first_line(problem)}.")


class JsonLines(_Text):
    """One JSON object a line; a key that a line does not have is a missing value."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped)
        keys = self._ask(
            "SELECT json_keys(json), bool_and(json_type(json) = 'OBJECT') "
            f"FROM (SELECT json, row_number() OVER () AS row FROM {self._scan}) GROUP BY 1 ORDER BY min(row)"
        )
        if not all(objects for _, objects in keys):
            self._malformed()
        self.columns = tuple(dict.fromkeys(key for line, _ in keys for key in line))

    @property
    def _scan(self) -> str:
        return f"read_ndjson_objects({self._file}, hive_partitioning=false)"

    def _text(self, column: str) -> str:
        pointer = "/" + column.replace("~", "~0").replace("/", "~1")
        return f"json_extract_string(json, {literal(pointer)})"

    def _starts(self) -> Iterator[int]:
        with self._lines() as lines:
            yield from (number for number, line in enumerate(lines, 1) if line.strip())

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        self._refuse_undecodable()
        with self._lines() as lines:
            written = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        bad = [(number, line) for number, line in written if not _is_object(line)]
        if bad:
            raise ValueError(
                f"'{self.path.name}' must hold one JSON object a line; {len(bad)} of {len(written)} lines "
                f"{is_or_are(len(bad))} not, first in line {bad[0][0]}: {bad[0][1][:60].decode()!r}."
            )
        raise ValueError(f"'{self.path.name}' cannot be read as JSON lines: {first_line(problem)}.")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
