"""Parquet, delimited text, JSON lines: how each is read and where in it a row stands; content decides, not the name."""

import csv
import glob
import gzip
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks

Array = NDArray[Any]

#: How a column is read: numbers; class numbers or true/false; labels as they are written.
Kind = Literal["number", "label", "text"]

BOM = b"\xef\xbb\xbf"

#: What is looked at to tell formats apart.
HEAD_BYTES = 65536

#: First bytes of what people pass by mistake.
OTHER_FORMATS = {
    b"PK": "a zip archive (an Excel workbook?)",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 or netCDF file",
    b"CDF": "a netCDF file",
    b"ARROW1": "an Arrow (Feather) file",
    b"SQLite format": "an SQLite database",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\xff\xfe": "UTF-16 text, not UTF-8",
    b"\xfe\xff": "UTF-16 text, not UTF-8",
}

NAMES_SHOWN = 12


def listed(names: Sequence[str]) -> str:
    """The first names, quoted, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(repr(name) for name in names[:NAMES_SHOWN]) + more


def open_source(path: str | Path) -> "Source":
    """Look at the first bytes of a file to know how to read it.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Source
        Its columns; no rows are read yet.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError
        As for `read_predictions`.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a directory; name the file in it.")
    if not path.exists():
        folder = path.parent
        near = _checks.did_you_mean(path.name, [p.name for p in folder.iterdir()]) if folder.is_dir() else ""
        raise FileNotFoundError(f"there is no file '{path}'.{near}")
    if not path.is_file():
        raise ValueError(f"'{path}' is a pipe or a device; write the predictions to a file first.")
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return Parquet(path)
    zipped = head.startswith(b"\x1f\x8b")
    if zipped:
        try:
            with gzip.open(path) as unzipped:
                head = unzipped.read(HEAD_BYTES)
        except (OSError, EOFError) as problem:
            raise ValueError(f"'{path.name}' begins as a gzip file but is broken: {problem}.") from problem
    return _open_text(path, head, zipped)


def _open_text(path: Path, head: bytes, zipped: bool) -> "Source":
    body = head.removeprefix(BOM).lstrip()
    if not body:
        raise ValueError(f"'{path.name}' is empty ({len(head)} bytes).")
    other = next((told for magic, told in OTHER_FORMATS.items() if head.startswith(magic) and b"\0" in head), None)
    if other or b"\0" in head:
        raise ValueError(
            f"'{path.name}' is {other or 'a binary file that is not Parquet'}; "
            "it must be Parquet, or CSV, TSV or JSON lines in UTF-8."
        )
    if re.match(rb"\[\s*\{", body):
        raise ValueError(
            f"'{path.name}' is one JSON array, not JSON lines: write one object a line "
            "(pandas: `to_json(path, orient='records', lines=True)`)."
        )
    if not body.startswith(b"{"):
        return Delimited(path, zipped)
    if head.startswith(BOM):
        raise ValueError(f"'{path.name}' begins with a byte order mark, which JSON forbids: save it as plain UTF-8.")
    return JsonLines(path, zipped)


class Source(ABC):
    """One file: its columns, how to read them, and where in the file a row stands.

    Parameters
    ----------
    path : Path
        The file.
    columns : tuple of str
        Names of its columns, as written.
    """

    columns: tuple[str, ...]

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self.columns)} columns)"

    @property
    @abstractmethod
    def _scan(self) -> str:
        """SQL of the table, in the file's order."""

    @abstractmethod
    def _text(self, column: str) -> str:
        """SQL of a column as it is written."""

    @abstractmethod
    def _number(self, column: str) -> str:
        """SQL of a column as numbers: NULL where it is none."""

    @abstractmethod
    def _label(self, column: str) -> str:
        """SQL of a column as class numbers or booleans: NULL where it is neither."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where row number `row` (from 0) stands in the file, in words."""

    @abstractmethod
    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        """Raise what is wrong with a file that cannot be read."""

    def read(self, wanted: Sequence[tuple[str, Kind]]) -> list[Array]:
        """Read columns, in one pass over the file.

        Parameters
        ----------
        wanted : sequence of (str, {"number", "label", "text"})
            Columns, and how each is to be read.

        Returns
        -------
        list of ndarray
            One a column, complete: no missing values.

        Raises
        ------
        ValueError
            If a column does not exist or is not complete; the message says how many rows and names the first.
        """
        for column, _ in wanted:
            self._require(column)
        sql = {"number": self._number, "label": self._label, "text": self._text}
        fetched = self._fetch([sql[kind](column) for column, kind in wanted])
        if len(fetched[0]) == 0:
            raise ValueError(f"'{self.path.name}' has columns but no rows.")
        return [self._complete(*asked, values) for asked, values in zip(wanted, fetched, strict=True)]

    @property
    def columns_said(self) -> str:
        """The columns, in a sentence."""
        return f"The columns are {listed(self.columns)}."

    def _require(self, column: str) -> None:
        times = self.columns.count(column)
        if times == 0:
            near = _checks.did_you_mean(column, self.columns)
            raise ValueError(f"'{self.path.name}' has no column {column!r}.{near} {self.columns_said}")
        if times > 1:
            raise ValueError(f"'{self.path.name}' has {times} columns called {column!r}; rename them.")

    def _fetch(self, expressions: Sequence[str]) -> list[Array]:
        """The one place where rows are read: a stream of chunks would be made here."""
        aliased = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(expressions))
        with self._engine() as engine:
            fetched = engine.execute(f"SELECT {aliased} FROM {self._scan}").fetchnumpy()
        return [fetched[f"c{i}"] for i in range(len(expressions))]

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small answer about the file."""
        with self._engine() as engine:
            answer: list[tuple[Any, ...]] = engine.execute(sql).fetchall()
        return answer

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        """A database in memory; what it finds wrong with the file, at once or on the way, is told in our words."""
        import duckdb

        # nothing is ever fetched from the network for a file: what is needed is inside the wheel
        offline: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        try:
            with duckdb.connect(":memory:", config=offline) as engine:
                yield engine
        except duckdb.Error as problem:
            self._malformed(problem)

    def _complete(self, column: str, kind: Kind, values: Array) -> Array:
        missing = np.ma.getmaskarray(values)
        values = np.ma.getdata(values)
        if values.dtype.kind == "f":
            missing = missing | np.isnan(values)
        if missing.any():
            self._refuse(column, kind, missing)
        return values.astype(np.str_) if kind == "text" else values

    def _refuse(self, column: str, kind: Kind, bad: Array) -> NoReturn:
        """Say what stands where a value should be; `bad` marks rows without one."""
        (text,) = self._fetch([self._text(column)])
        absent = np.ma.getmaskarray(text)
        count, first = int(bad.sum()), int(np.argmax(bad))
        empty = int((bad & absent).sum())
        repair = "Rows are never dropped for you: remove or repair them first."
        if empty == count:
            raise ValueError(
                f"column {column!r} must be complete; it has no value in {count} of {len(bad)} rows, "
                f"first in {self.place(first)}. {repair}"
            )
        rule = "numbers" if kind == "number" else "numbers or true/false"
        value = "no value" if absent[first] else repr(str(text[first]))
        also = f" ({empty} of them empty)" if empty else ""
        words = np.ma.getdata(text)[bad & ~absent].astype(np.str_)
        if kind == "label" and count == len(bad):
            labels = ", ".join(repr(str(w)) for w in np.unique(words)[:4])
            repair = f"String labels ({labels}) need `classes=` to say what they mean."
        elif kind == "number" and all(re.fullmatch(r"\s*\d*,\d+\s*", w) for w in words):
            repair = "Decimal commas? Write a point."
        raise ValueError(
            f"column {column!r} must hold {rule}; {count} of {len(bad)} rows {_do(count)} not{also}, "
            f"first in {self.place(first)}: {value}. {repair}"
        )


class Parquet(Source):
    """A Parquet file: columns have types, and float32 stays float32."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        schema = f"parquet_schema({_literal(glob.escape(str(path)))})"
        self.columns = _top_level(self._ask(f"SELECT name, num_children FROM {schema}"))
        # the engine knows names regardless of case and renames the second of `P` and `p`; positions are safe
        described = self._ask(f"DESCRIBE SELECT * FROM {self._scan}")
        self._known_as = {name: (row[0], str(row[1])) for name, row in zip(self.columns, described, strict=True)}

    @property
    def _scan(self) -> str:
        # a folder called label=3 would otherwise become a column
        return f"read_parquet({_literal(glob.escape(str(self.path)))}, hive_partitioning=false)"

    def _text(self, column: str) -> str:
        return f"CAST({_identifier(self._known_as[column][0])} AS VARCHAR)"

    def _number(self, column: str) -> str:
        name, kind = _identifier(self._known_as[column][0]), self._known_as[column][1]
        if kind in ("FLOAT", "DOUBLE"):
            return name
        if kind == "VARCHAR":
            return _text_to_number(name)
        if re.match(r"U?(TINY|SMALL|BIG|HUGE)?INT|DECIMAL", kind):
            return f"CAST({name} AS DOUBLE)"
        hint = " Write one column for each class." if kind.endswith("]") else ""
        raise ValueError(f"column {column!r} must hold numbers; its type is {kind}.{hint}")

    def _label(self, column: str) -> str:
        name, kind = _identifier(self._known_as[column][0]), self._known_as[column][1]
        if kind == "BOOLEAN":
            return name
        return _text_to_label(name) if kind == "VARCHAR" else self._number(column)

    def place(self, row: int) -> str:
        """Rows of a table have no lines; they are counted from 1."""
        return f"row {row + 1}"

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        raise ValueError(f"'{self.path.name}' begins as a Parquet file but is broken: {_first_line(problem)}.")


class _Text(Source):
    """A text file: every value is text until a number is wanted, so that a bad one can be shown."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path)
        self._zipped = zipped

    def _number(self, column: str) -> str:
        return _text_to_number(self._text(column))

    def _label(self, column: str) -> str:
        return _text_to_label(self._text(column))

    @property
    def _file(self) -> str:
        """Beginning of the arguments of the engine's readers."""
        return f"{_literal(glob.escape(str(self.path)))}, compression='{'gzip' if self._zipped else 'none'}'"

    def _lines(self) -> IO[bytes]:
        return cast(IO[bytes], gzip.open(self.path)) if self._zipped else self.path.open("rb")

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
                f"{_are(len(bad))} not, first in line {bad[0]}. "
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
            f"read_csv({self._file}, auto_detect=false, header=true, skip=0, delim={_literal(self._delimiter)}, "
            f"quote={_literal(self._quote)}, escape={_literal(self._escape)}, comment='', columns={{{columns}}}, "
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
                    f"of {sum(1 for _ in self._starts())} rows {_do(len(ragged))} not, first in line {line}: "
                    f"{found} field{'s' * (found != 1)}."
                )
            opened = re.search(r"Line: (\d+)(?s:.)*unterminated quote", str(problem))
            if opened:
                raise ValueError(f"'{self.path.name}' opens a quote in line {opened[1]} that is never closed.")
        raise ValueError(f"'{self.path.name}' cannot be read as delimited text: {_first_line(problem)}.")


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
        return f"json_extract_string(json, {_literal(pointer)})"

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
                f"{_are(len(bad))} not, first in line {bad[0][0]}: {bad[0][1][:60].decode()!r}."
            )
        raise ValueError(f"'{self.path.name}' cannot be read as JSON lines: {_first_line(problem)}.")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _do(count: int) -> str:
    return "do" if count > 1 else "does"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def _top_level(schema: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Names of the columns of a table in a flattened tree (each node before its children)."""
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


def _text_to_number(text: str) -> str:
    # the engine reads 1_000 as a thousand; here it is a value to be looked at
    return f"TRY_CAST(replace({text}, '_', '?') AS DOUBLE)"


def _text_to_label(text: str) -> str:
    return f"COALESCE({_text_to_number(text)}, CASE lower(trim({text})) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_line(problem: Exception | None) -> str:
    said = str(problem).strip().splitlines()[0] if str(problem).strip() else "unknown problem"
    return re.sub(r"^(\w+ )+Error: ", "", said).rstrip(".")
