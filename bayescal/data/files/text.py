"""Read delimited text such as CSV and TSV; the base class is shared with other text formats."""

import csv
import gzip
import io
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, cast

from bayescal._locks import ProcessLock
from bayescal.data.files import records as byte_records
from bayescal.data.files import source as sources
from bayescal.data.files.records import LONGEST_LINE, LongLineError, MisplacedQuoteError, count_delimited, line_of
from bayescal.data.files.shapes import COMMENTS, reading_text, rewriting, shape_of_text
from bayescal.data.files.source import FileError, Source, file_literal, first_line, is_or_are, literal

HEAD_BYTES = 65536  #: Number of bytes from which the delimiter and the typical line length are determined.
LONGEST_RECORD = 2_000_000  #: Maximum number of characters per record that the engine reads.
DELIMITERS = (",", ";", "\t", "|")  #: Candidates, the most common first.
RECORDS = 100  #: Number of records that are examined.


class Text(Source):
    """A text file. Values are read as text and converted to numbers later, so that messages can show invalid ones."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path)
        self._zipped = zipped

    def _number(self, column: str) -> str:
        return sources.text_to_number(self._text(column))

    def _label(self, column: str) -> str:
        return sources.text_to_label(self._text(column))

    @property
    def _file(self) -> str:
        """First arguments of the readers of the engine."""
        return f"{file_literal(self.path)}, compression='{'gzip' if self._zipped else 'none'}'"

    @contextmanager
    def _bytes(self) -> Iterator[IO[bytes]]:
        """Open the decompressed text; this verifies checksums of compressed files, which the engine does not."""
        try:
            with cast(IO[bytes], gzip.open(self.path)) if self._zipped else self.path.open("rb") as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
            raise FileError(f"'{self.path.name}' begins as a gzip file but is broken: {problem}.") from problem
        except LongLineError as problem:
            raise FileError(
                f"'{self.path.name}' must have lines of up to {LONGEST_LINE:,} bytes; it has a longer one. Is it text?"
            ) from problem

    def rows_about(self) -> int | None:
        """Estimate the number of rows from the length of the first lines; None if the file is compressed."""
        if self._zipped:
            return None
        with self._bytes() as file:
            head = file.read(HEAD_BYTES)
        return round(self.path.stat().st_size * max(1, head.count(b"\n")) / len(head))

    def place(self, row: int) -> str:
        """Return the line of the file, counted from 1, with header, blank lines and line breaks within quotes."""
        number = next((line for i, line in enumerate(self._starts()) if i == row), None)
        return f"row {row + 1}" if number is None else f"line {number}"

    @abstractmethod
    def _starts(self) -> Iterator[int]:
        """Yield the line on which each row begins."""

    def _line_of(self, offset: int) -> int:
        with self._bytes() as file:
            return line_of(file, offset)

    def _refuse_undecodable(self) -> None:
        bad, first, number = 0, 0, 0
        with self._bytes() as lines:
            for number, line in enumerate(lines, 1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    bad += 1
                    first = first or number
        if bad:
            raise FileError(
                f"'{self.path.name}' must be UTF-8 text (or Parquet); {bad} of {number} lines "
                f"{is_or_are(bad)} not, first in line {first}. "
                "Save it as UTF-8."
            )


def delimiter_of(head: bytes, whole: bool) -> str:
    """Choose the delimiter for which most records have as many fields as the first; break ties by most fields.

    The choice cannot lose rows: quotes and line ends have the same meaning with every delimiter, and records with
    another number of fields than the first are refused. `head` is the beginning of the file, or the `whole` of it.
    """
    text = head.decode("utf-8-sig", errors="replace")
    return max(DELIMITERS, key=lambda delimiter: _fit(text, delimiter, whole))


def _fit(text: str, delimiter: str, whole: bool) -> tuple[float, int]:
    """Return the share of records with as many fields as the first, and that number; zeros if it is 1."""
    widths = []
    for _, fields in split(io.StringIO(text, newline=""), delimiter):
        widths.append(len(fields))
        if len(widths) > RECORDS:
            break
    if not (whole or len(widths) > RECORDS or len(widths) < 3):
        widths.pop()  # the last record may be incomplete
    if not widths or widths[0] == 1:
        return 0.0, 0
    return sum(width == widths[0] for width in widths) / len(widths), widths[0]


def split(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line (from 1) and the fields of each record, by RFC 4180; blank lines are skipped."""
    records = csv.reader(lines, delimiter=delimiter, quotechar='"', doublequote=True)
    begins = 1
    with _LONG_FIELDS:
        for fields in records:
            if fields:
                yield begins, fields
            begins = records.line_num + 1


class _LongFields:
    """Raises the limit of 131072 characters per field, a global setting of the csv module, while text is read.

    Readers may overlap, in threads or if one has not finished: the first raises the limit, and the last restores it.
    """

    def __init__(self) -> None:
        self._lock, self._readers, self._before = ProcessLock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._readers:
                self._before = csv.field_size_limit(LONGEST_LINE)
            self._readers += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._readers -= 1
            if not self._readers:
                csv.field_size_limit(self._before)


_LONG_FIELDS = _LongFields()


class Delimited(Text):
    """Delimited text by the rules of RFC 4180: the first line names the columns, and only double quotes quote."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped)
        with self._bytes() as file:
            head = file.read(HEAD_BYTES)
        self._delimiter = delimiter_of(head, whole=len(head) < HEAD_BYTES)
        self.columns = self._header()
        self._place_of = {name: i for i, name in enumerate(self.columns)}

    def _header(self) -> tuple[str, ...]:
        line, names = next(self._records(), (1, [""]))
        if line > 1 or not any(names):
            raise FileError(f"'{self.path.name}' must begin with the names of the columns; its first line is blank.")
        if any("\ufffd" in name for name in names):
            self._refuse_undecodable()
        return tuple(names)

    @property
    def _scan(self) -> str:
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.columns)))
        return (
            f"read_csv({self._file}, auto_detect=false, header=true, skip=0, delim={literal(self._delimiter)}, "
            f"quote='\"', escape='\"', comment='', columns={{{columns}}}, "
            "null_padding=false, ignore_errors=false, hive_partitioning=false)"
        )

    def _require(self, columns: Iterable[str]) -> None:
        if any(column not in self._place_of for column in columns):
            shape = shape_of_text(self.path, self._first_lines(), lambda text: delimiter_of(text.encode(), True))
            if shape:
                raise FileError(f"'{self.path.name}' does not begin with the names of its columns. {shape}")
        super()._require(columns)

    def _first_lines(self) -> list[str]:
        """Return the first lines; the last of them may be incomplete only if it is the only one."""
        with self._bytes() as file:
            head = file.read(HEAD_BYTES)
        lines = head.decode("utf-8-sig", errors="replace").splitlines()
        return lines[:-1] if len(head) == HEAD_BYTES and len(lines) > 1 else lines

    def _other_text(self, shown: str, decimal_commas: bool) -> str:
        if decimal_commas:
            reading = reading_text(self._delimiter, self._first_lines())
            return f"Decimal commas? {rewriting(self.path, reading)}"
        if shown.startswith(COMMENTS):
            reading = reading_text(self._delimiter, self._first_lines(), [f"comment={shown[0]!r}"])
            return f"A comment? {rewriting(self.path, reading)}"
        return ""

    @property
    def columns_sentence(self) -> str:
        """The columns, in a sentence, with a question if they look like a row of numbers."""
        numbers = all(re.fullmatch(r"\s*[-+.\deE]+\s*", name) for name in self.columns)
        return super().columns_sentence + numbers * " The first line must name the columns: is it missing?"

    def _text(self, column: str) -> str:
        return f"c{self._place_of[column]}"

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line and the fields of each record, read independently of the engine."""
        with self._bytes() as file, io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="") as text:
            try:
                yield from split(text, self._delimiter)
            except csv.Error as problem:
                raise FileError(
                    f"'{self.path.name}' cannot be read as delimited text: {problem}. Is a quote never closed?"
                ) from problem

    def _starts(self) -> Iterator[int]:
        records = self._records()
        next(records)
        return (line for line, _ in records)

    def _count_rows(self) -> int:
        """Count the records without the header; the number of delimiters must match that of the header."""
        records, delimiters = self._count()
        if delimiters != records * (len(self.columns) - 1):
            self._malformed(ValueError("some rows differ from the first line in the number of fields"))
        return records - 1

    def _count(self) -> tuple[int, int]:
        with self._bytes() as file:
            try:
                return count_delimited(file, self._delimiter)
            except MisplacedQuoteError as problem:
                rule, offset = problem.rule, problem.offset
        raise FileError(
            f"'{self.path.name}' must be delimited text by the rules of RFC 4180: {rule}; "
            f"line {self._line_of(offset)} breaks this rule."
        )

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        self._refuse_undecodable()
        self._count()
        with self._bytes() as file:
            endings = byte_records.line_endings(file)
        if len(endings) > 1:
            counts = ", ".join(f"{count} {kind}" for kind, count in endings.items())
            raise FileError(
                f"'{self.path.name}' must have line endings of one kind; it has {counts}. Save it with one of them."
            )
        if hasattr(self, "columns"):
            self._refuse_widths()
        raise FileError(f"'{self.path.name}' cannot be read as delimited text: {first_line(problem)}.")

    def _refuse_widths(self) -> None:
        """Refuse records that are too long or differ from the first in the number of fields."""
        width, rows, ragged, first = len(self.columns), -1, 0, (0, 0)
        for line, fields in self._records():
            rows += 1
            if len(fields) != width:
                ragged, first = ragged + 1, first if ragged else (line, len(fields))
            if sum(map(len, fields)) > LONGEST_RECORD:
                raise FileError(
                    f"'{self.path.name}' must have rows of at most {LONGEST_RECORD:,} characters; the row in line "
                    f"{line} has more. Remove columns that are not needed, or save the table as Parquet."
                )
        if ragged:
            line, n_fields = first
            raise FileError(
                f"'{self.path.name}' must have {width} fields in every row, as in its first line; {ragged} "
                f"of {rows} rows {'do' if ragged > 1 else 'does'} not, first in line {line}: "
                f"{n_fields} field{'s' * (n_fields != 1)}. A field that contains the delimiter {self._delimiter!r} "
                "must be in double quotes."
            )
