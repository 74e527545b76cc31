"""Read JSON lines: one JSON object per line."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from bayescal._checks import quoted
from bayescal.data.files.records import NotStrictJsonError, count_json_lines, is_json_object
from bayescal.data.files.source import FileError, first_line, identifier, is_or_are, literal
from bayescal.data.files.text import Text

#: Maximum number of bytes of a line that a message shows.
SHOWN = 60


class JsonLines(Text):
    """A file with one JSON object per line; a key that is absent from a line is a missing value."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped)
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

    def _require_once(self, keys: list[str], row: int) -> None:
        if len(set(keys)) < len(keys):
            twice = next(key for key, times in Counter(keys).items() if times > 1)
            raise FileError(
                f"'{self.path.name}' must have each key once per line; in {self.place(row)} the key "
                f"{quoted(twice)} occurs more than once, so its value is ambiguous."
            )

    @property
    def _scan(self) -> str:
        return f"read_ndjson_objects({self._file}, hive_partitioning=false)"

    def _table(self, columns: Sequence[str]) -> str:
        """Return SQL that finds all members in one pass per object, unless names differ only in case."""
        if not self._as_table:
            return self._scan
        types = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in dict.fromkeys(columns))
        return f"read_ndjson({self._file}, columns={{{types}}}, hive_partitioning=false)"

    def _text(self, column: str) -> str:
        if self._as_table:
            return identifier(column)
        pointer = "/" + column.replace("~", "~0").replace("/", "~1")
        return f"json_extract_string(json, {literal(pointer)})"

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
            raise FileError(
                f"'{self.path.name}' must hold one JSON object per line; {bad} of {count} lines {is_or_are(bad)} not, "
                f"first in line {first[0]}: {first[1][:SHOWN].decode(errors='replace')!r}."
            )
        raise FileError(f"'{self.path.name}' cannot be read as JSON lines: {first_line(problem)}.")
