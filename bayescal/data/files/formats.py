"""Formats of files, detected from their content: Parquet, delimited text, and JSON lines with nested objects."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from bayescal._checks import did_you_mean, quoted
from bayescal._files import existing_file
from bayescal.data.files import source as sources
from bayescal.data.files.records import BOM, NotStrictJsonError, count_json_lines, is_json_object
from bayescal.data.files.shapes import LARGEST_JSON, MUST_BE, refuse_binary, rewriting, shape_of_json
from bayescal.data.files.source import FileError, Kind, Source, file_literal, identifier, is_or_are, listed, literal
from bayescal.data.files.text import Delimited, Text

SHOWN_BYTES = 60  #: Maximum number of bytes of a line that a message shows.
LINES_SHOWN = 1000  #: Number of lines in which an error message looks for fields of objects.
_INDEX = re.compile(r"\[(\d+)\]")  #: An index of a list in brackets, which is written with a dot here.
Steps = tuple[str, ...]  #: Keys and indexes of list elements, from the outermost inwards.


class JsonLines(Text):
    """A file with one JSON object per line; a key that is absent from a line is a missing value.

    A name that is not a key is a path: keys and indexes of list elements, joined by dots.
    """

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped)
        self._nested: dict[str, Steps] = {}
        key_lists = self._ask(
            "SELECT json_keys(json), bool_and(json_type(json) = 'OBJECT'), min(row) "
            f"FROM (SELECT json, row_number() OVER () - 1 AS row FROM {self._scan}) GROUP BY 1 ORDER BY 3"
        )
        if not all(objects for _, objects, _ in key_lists):
            self._malformed()
        for keys, _, row in key_lists:
            self._require_once(keys, row)
        self.columns = tuple(dict.fromkeys(key for keys, _, _ in key_lists for key in keys))
        spelt = {name.casefold() for name in self.columns}
        self._as_table = len(spelt) == len(self.columns) and "" not in spelt and "\0" not in "".join(spelt)

    def _require_once(self, keys: list[str], row: int, steps: Steps = ()) -> None:
        if len(set(keys)) < len(keys):
            twice = next(key for key, times in Counter(keys).items() if times > 1)
            once = f"once in {quoted('.'.join(steps))}" if steps else "once per line"
            raise FileError(
                f"'{self.path.name}' must have each key {once}; in {self.place(row)} the key "
                f"{quoted(twice)} occurs more than once, so its value is ambiguous."
            )

    def has(self, column: str) -> bool:
        """Whether this is a key, or a path that occurs in some line; a `FileError` if it could be several paths."""
        return column in self.columns or self._path_of(column) is not None

    def beginning_with(self, prefix: str) -> tuple[str, ...]:
        """Return the keys that begin with a prefix; if there are none, the paths that do.

        A star stands for all keys of an object or indexes of a list, as in ``choices.*.logprob``.
        """
        before, star, after = prefix.partition(".*.")
        if star and self.has(before):
            paths = (f"{before}.{name}.{after}" for name in self._fields(self._steps(before)))
            return tuple(path for path in paths if self.has(path))
        parent, dot, beginning = prefix.rpartition(".")
        if (columns := super().beginning_with(prefix)) or not dot or not self.has(parent):
            return columns
        fields = self._fields(self._steps(parent))
        return tuple(f"{parent}.{name}" for name in fields if name.startswith(beginning))

    def ending(self, column: str, prefix: str) -> str:
        """Return what follows a prefix in the name of a column, or what is in the place of its star."""
        before, _, after = prefix.partition(".*.")
        return column.removeprefix(f"{before}.").removesuffix(f".{after}") if after else super().ending(column, prefix)

    def _require(self, columns: Iterable[str]) -> None:
        for column in columns:
            if not self.has(column):
                self._refuse_absent(column)

    def _within(self, column: str) -> str:
        """Name what is within the objects or lists of a column; empty if it has none in the first lines."""
        fields = self._fields(self._steps(column), lines=LINES_SHOWN)
        named = listed([f"{column}.{field}" for field in fields])
        return f"It holds objects or lists; name what is within it: {named}." if fields else ""

    def _refuse_shape(self) -> None:
        """Raise an error if the file is one JSON object with a table of several rows."""
        with self._bytes() as file:
            text = file.read(LARGEST_JSON + 1)
        if shape := shape_of_json(self.path, text):
            raise FileError(f"'{self.path.name}' must hold one JSON object per line. {shape}")

    def _refuse(self, column: str, kind: Kind) -> NoReturn:
        self._refuse_shape()
        super()._refuse(column, kind)

    def _refuse_nested(self, column: str) -> None:
        if self._within(column):
            self._refuse_shape()
        super()._refuse_nested(column)

    def _refuse_absent(self, column: str) -> None:
        """Raise an error that lists the fields of the longest beginning of a path that occurs."""
        self._refuse_shape()
        if (dotted := _INDEX.sub(r".\1", column).removeprefix("$.")) != column and self.has(dotted):
            raise FileError(f"'{self.path.name}' has no column {quoted(column)}. Write {quoted(dotted)}.")
        words = column.split(".")
        beginnings = (".".join(words[:many]) for many in range(len(words) - 1, 0, -1))
        parent = next((name for name in beginnings if self.has(name)), None)
        if parent is None:
            super()._require([column])
            return
        fields = [f"{parent}.{field}" for field in self._fields(self._steps(parent))]
        rule = f"'{self.path.name}' has no column {quoted(column)}."
        if not fields:
            raise FileError(f"{rule} {quoted(parent)} holds no objects or lists, so it has no fields.")
        raise FileError(f"{rule}{did_you_mean(column, fields)} Within {quoted(parent)} are {listed(fields)}.")

    @property
    def columns_sentence(self) -> str:
        """The keys, and the fields of objects in the first lines, in a sentence."""
        keys = self.columns[: sources.NAMES_SHOWN]
        nested = [f"{key}.{field}" for key in keys for field in self._fields((key,), lines=LINES_SHOWN)]
        return super().columns_sentence + bool(nested) * f" Within them are {listed(nested)}."

    def _steps(self, column: str) -> Steps:
        """Return the path of a column that exists."""
        return (column,) if column in self.columns else self._nested[column]

    def _path_of(self, column: str) -> Steps | None:
        """Return the path that a name with dots denotes; None if no line has it."""
        if column not in self._nested and "." in column:
            paths = list(self._paths(column.split("."), ()))
            if len(paths) > 1:
                written = " and ".join(quoted(list(path)) for path in paths)
                raise FileError(
                    f"{quoted(column)} is ambiguous in '{self.path.name}': it can be the fields {written}. Rename one."
                )
            if paths:
                self._nested[column] = paths[0]
        return self._nested.get(column)

    def _paths(self, words: Sequence[str], begun: Steps) -> Iterator[Steps]:
        """Yield the paths that occur: several words can be one key that contains dots."""
        if not words:
            yield begun
            return
        fields = self._fields(begun)
        for many in range(1, len(words) + 1):
            if (name := ".".join(words[:many])) in fields:
                yield from self._paths(words[many:], (*begun, name))

    def _fields(self, steps: Steps, lines: int | None = None) -> tuple[str, ...]:
        """Return the keys of the objects at a path, and the indexes of the longest list, in all lines or the first."""
        if not steps:
            return self.columns
        at = literal(_pointer(steps))
        scan = self._scan if lines is None else f"(FROM {self._scan} LIMIT {lines})"
        key_lists = self._ask(
            f"SELECT json_keys(json, {at}), max(json_array_length(json, {at})), min(row) "
            f"FROM (SELECT json, row_number() OVER () - 1 AS row FROM {scan}) GROUP BY 1 ORDER BY 3"
        )
        for keys, _, row in key_lists:
            self._require_once(keys or [], row, steps)
        longest = max((length or 0 for _, length, _ in key_lists), default=0)
        return (*dict.fromkeys(key for keys, _, _ in key_lists for key in keys or ()), *map(str, range(longest)))

    @property
    def _scan(self) -> str:
        return f"read_ndjson_objects({self._file}, hive_partitioning=false)"

    def _table(self, columns: Sequence[str]) -> str:
        """Return SQL that finds all members in one pass per object, unless names differ only in case."""
        if not self._as_table:
            return self._scan
        if any(column not in self.columns for column in columns):
            members = (f"{self._extracted(name)} AS {self._text(name)}" for name in dict.fromkeys(columns))
            return f"(SELECT {', '.join(members)} FROM {self._scan})"
        types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in dict.fromkeys(columns))
        return f"read_ndjson({self._file}, columns={{{types}}}, hive_partitioning=false)"

    def _text(self, column: str) -> str:
        if not self._as_table:
            return self._extracted(column)
        if column in self.columns:
            return identifier(column)
        # names of paths may differ only in case, which the engine ignores
        return identifier(f"nested {_pointer(self._steps(column)).encode().hex()}")

    def _extracted(self, column: str) -> str:
        return f"json_extract_string(json, {literal(_pointer(self._steps(column)))})"

    def _starts(self) -> Iterator[int]:
        return (number for number, _ in self._written())

    def _written(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and content of every line that is not blank."""
        with self._bytes() as lines:
            yield from ((number, line.strip()) for number, line in enumerate(lines, 1) if line.strip())

    def _count_rows(self) -> int:
        with self._bytes() as file:
            try:
                return count_json_lines(file)
            except NotStrictJsonError as problem:
                offset = problem.offset
        raise FileError(
            f"'{self.path.name}' must hold one JSON object per line; line {self._line_of(offset)} is not strict JSON: "
            "it has a comma before a closing bracket."
        )

    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        self._refuse_undecodable()
        count, bad, first = 0, 0, (0, b"")
        for number, line in self._written():
            count += 1
            if not is_json_object(line):
                bad, first = bad + 1, first if bad else (number, line)
        if bad:
            self._refuse_shape()
            raise FileError(
                f"'{self.path.name}' must hold one JSON object per line; {bad} of {count} lines {is_or_are(bad)} not, "
                f"first in line {first[0]}: {first[1][:SHOWN_BYTES].decode(errors='replace')!r}."
            )
        raise FileError(f"'{self.path.name}' cannot be read as JSON lines: {sources.first_line(problem)}.")


def _pointer(steps: Steps) -> str:
    """Return a path as a JSON pointer (RFC 6901)."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


HEAD_BYTES = 65536  #: Number of bytes from which the format is detected.


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
            return sources.text_to_number(name)
        if re.match(r"U?(TINY|SMALL|BIG|HUGE)?INT|DECIMAL", kind):
            return f"CAST({name} AS DOUBLE)"
        hint = " Write one column for each class." if kind.endswith("]") else ""
        raise ValueError(f"column {quoted(column)} must hold numbers; its type is {kind}.{hint}")

    def _label(self, column: str) -> str:
        name, kind = identifier(self._known_as[column][0]), self._known_as[column][1]
        if kind == "BOOLEAN":
            return name
        return sources.text_to_label(name) if kind == "VARCHAR" else self._number(column)

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
        raise FileError(f"'{self.path.name}' begins as a Parquet file but is broken: {sources.first_line(problem)}.")


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
