"""Base class of file formats: columns, reading them with the SQL of duckdb, and the line of a row."""

import glob
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from bayescal import _checks, _packages
from bayescal._arrays import Array
from bayescal._invalid import Finding, InvalidRows, NoValue, quoted
from bayescal._rules import COMPLETE, OBSERVED, OVERSHOOT
from bayescal._texts import text_of

#: Kinds of columns: numbers; logarithms of probabilities, which become probabilities; class numbers or true/false;
#: unchanged text in an array of objects. Labels and texts of the last two may be missing: NaN, or None.
Kind = Literal["number", "log", "label", "text", "label or none", "text or none"]
NO_LABEL = ("", "na", "n/a", "nan", "null", "none")  #: Texts that stand for no label, in lower case.

NAMES_SHOWN = 12
BLOCK = 2**21  #: Approximate number of values in a block.
#: The number of rows in a block is a multiple of this, which is the chunk in which rows are summed. Sums over a chunk
#: therefore do not depend on the block.
ROWS = 16_384
ENGINE_ROWS = 2048  #: Number of rows in a vector of the engine.


def listed(names: Sequence[str]) -> str:
    """Return the first names, quoted, and the number of the others."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(quoted(name) for name in names[:NAMES_SHOWN]) + more


def require_column_names(columns: Mapping[str, Any]) -> None:
    """Require that arguments are names of columns, and that labels and probabilities are different columns."""
    for name, column in columns.items():
        if not isinstance(column, str) and (column is not None or name == "label"):
            raise TypeError(f"`{name}` must be the name of a column of the file, not {type(column).__name__}.")
    if columns.get("label") is not None and columns["label"] == columns.get("prob"):
        raise ValueError(f"`label` and `prob` must name different columns; both are {quoted(columns['label'])}.")


class FileError(ValueError):
    """A file cannot be used; the message names the file."""


class Source(ABC):
    """One file: its columns, how to read them, and the line of a row."""

    columns: tuple[str, ...]  # as written

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # the engine interprets `~` and `file:` at the beginning of a path
        self._counted: tuple[tuple[int, int], int] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self.columns)} columns)"

    @property
    @abstractmethod
    def _scan(self) -> str:
        """SQL of the table, in the order of the file."""

    def _table(self, columns: Sequence[str]) -> str:
        """Return the SQL of a table from which these columns can be read."""
        return self._scan

    @abstractmethod
    def _text(self, column: str) -> str:
        """Return the SQL of a column as text, unchanged."""

    @abstractmethod
    def _number(self, column: str) -> str:
        """Return the SQL of a column as numbers, with NULL for other values."""

    @abstractmethod
    def _label(self, column: str) -> str:
        """Return the SQL of a column as class numbers or booleans, with NULL for other values."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Return the position of row number `row` (from 0) in words, as in "line 3"."""

    @abstractmethod
    def _malformed(self, problem: Exception | None = None) -> NoReturn:
        """Raise an error that explains why the file cannot be read."""

    @abstractmethod
    def rows_about(self) -> int | None:
        """Return the number of rows, possibly an estimate, without reading them; None if it cannot be estimated."""

    @abstractmethod
    def _count_rows(self) -> int:
        """Return the exact number of rows, determined without reading values."""

    def read(self, wanted: Sequence[tuple[str, Kind]]) -> list[Array]:
        """Read columns whole, each as one kind; refuse columns with missing values."""
        parts = list(self.blocks(wanted))
        return parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]

    def blocks(self, wanted: Sequence[tuple[str, Kind]]) -> Iterator[list[Array]]:
        """Read columns in one pass over the file, a block of rows at a time; errors as in `read`, about all rows.

        All blocks but the last have the same number of rows, which depends only on the number of columns, so that sums
        over blocks do not depend on the machine.
        """
        self._require([column for column, _ in wanted])
        for column in (column for column, kind in wanted if kind.startswith("text")):
            self._refuse_nested(column)
        rows = max(1, BLOCK // (len(wanted) * ROWS)) * ROWS
        empty = True
        for fetched in self._all_rows(self._fetch_blocks(wanted, rows)):
            empty = False
            yield [self._complete(*how_read, values) for how_read, values in zip(wanted, fetched, strict=True)]
        if empty:
            raise FileError(f"'{self.path.name}' has columns but no rows.")

    def _all_rows(self, blocks: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield the blocks, but the last one only after checking that all rows of the file were read."""
        rows, last = 0, None
        for block in blocks:
            if last is not None:
                yield last
            rows, last = rows + len(block[0]), block
        self._require_rows(rows)
        if last is not None:
            yield last

    def _require_rows(self, read: int) -> None:
        """Require that the number of rows read equals the number of records; count an unchanged file only once."""
        now = self.path.stat()
        state = (now.st_size, now.st_mtime_ns)
        if self._counted is None or self._counted[0] != state:
            self._counted = state, self._count_rows()
        counted = self._counted[1]
        if counted != read:
            self._malformed(ValueError(f"it holds {counted} rows by a count of its records, but {read} were read"))

    def has(self, column: str) -> bool:
        """Whether values can be read by this name."""
        return column in self.columns

    def beginning_with(self, prefix: str) -> tuple[str, ...]:
        """Return the columns whose names begin with a prefix."""
        return tuple(name for name in self.columns if name.startswith(prefix))

    def ending(self, column: str, prefix: str) -> str:
        """Return what follows a prefix in the name of a column."""
        return column.removeprefix(prefix)

    def _sql(self, column: str, kind: Kind) -> str:
        if kind == "label or none":  # infinity stands for no label, because NULL is an invalid one
            none, label = self._lacks(column), f"CAST({self._label(column)} AS DOUBLE)"
            return f"CASE WHEN {none} THEN CAST('inf' AS DOUBLE) WHEN NOT isinf({label}) THEN {label} END"
        of_kind = {"number": self._number, "log": self._number, "label": self._label}
        return of_kind.get(kind, self._text)(column)

    def _lacks(self, column: str) -> str:
        """Return SQL of whether a row has no label."""
        text = self._text(column)
        return f"({text} IS NULL OR lower(trim({text})) IN {NO_LABEL})"

    @property
    def columns_sentence(self) -> str:
        """The columns, in a sentence."""
        return f"The columns are {listed(self.columns)}."

    def _require(self, columns: Iterable[str]) -> None:
        times = Counter(self.columns)
        for column in columns:
            if times[column] == 0:
                near = _checks.did_you_mean(column, self.columns)
                raise FileError(f"'{self.path.name}' has no column {quoted(column)}.{near} {self.columns_sentence}")
            if times[column] > 1:
                raise FileError(f"'{self.path.name}' has {times[column]} columns called {quoted(column)}; rename them.")

    def _refuse_nested(self, column: str) -> None:
        """Raise an error if a column of labels holds objects or lists."""
        if within := self._within(column):
            raise FileError(f"column {quoted(column)} of '{self.path.name}' must hold one label per row. {within}")

    def _within(self, column: str) -> str:
        """Name what is within the objects or lists of a column; empty if it has none, as in most formats."""
        return ""

    def _fetch_blocks(self, wanted: Sequence[tuple[str, Kind]], rows: int) -> Iterator[list[Array]]:
        """Read blocks of exactly `rows` rows, and a last block with the others; all reading of rows happens here."""
        aliased = ", ".join(f"{self._sql(*column)} AS c{i}" for i, column in enumerate(wanted))
        about = self.rows_about()
        with self._engine() as engine:
            result = engine.execute(f"SELECT {aliased} FROM {self._table([column for column, _ in wanted])}")
            if about is not None and about <= rows:  # without pandas, which takes long to load
                whole = result.fetchnumpy()
                chunks = iter([[whole[f"c{i}"] for i in range(len(wanted))]])
            else:
                chunks = _chunks(result, max(1, rows // ENGINE_ROWS))
            yield from _of_equal_length(chunks, rows)

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a small result."""
        with self._engine() as engine:
            answer: list[tuple[Any, ...]] = engine.execute(sql).fetchall()
        return answer

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        """Open a connection to the database of this file, whose errors are replaced by our own messages."""
        _packages.require("duckdb")
        import duckdb

        try:
            with self._database.cursor() as engine:
                yield engine
        except duckdb.Error as problem:
            self._malformed(problem)

    @cached_property
    def _database(self) -> Any:
        """A database in memory, closed when this source is no longer used; it takes longer to open than small files."""
        import duckdb

        config: dict[str, Any] = {
            # nothing is loaded from the network
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # the statistics of Parquet omit NaN, and the engine would conclude from them that no row is NaN
            "disabled_optimizers": "statistics_propagation",
            # a file that has changed is read again
            "enable_external_file_cache": "false",
        }
        return duckdb.connect(":memory:", config=config)

    def _complete(self, column: str, kind: Kind, values: Any) -> Array:
        missing = np.ma.getmaskarray(values)
        values = np.ma.getdata(values)
        if kind == "text or none":
            texts = values.astype(object)
            texts[missing] = None
            return texts
        if values.dtype.kind == "f":
            missing = missing | np.isnan(values)
        if missing.any():
            self._refuse(column, kind)
        if kind == "label or none":
            return np.where(np.isinf(values), np.nan, values)
        if kind == "log":
            if values.max(initial=-np.inf) > OVERSHOOT:
                self._refuse_positive(column)
            return np.exp(np.minimum(values, 0))
        # text stays an array of objects: in a fixed-width array, a single long value would widen every entry
        return values.astype(object) if kind == "text" else values

    def _refuse(self, column: str, kind: Kind) -> NoReturn:
        """Raise an error about invalid values of a column, with their number and the first of them."""
        value, text, of_labels = self._sql(column, kind), self._text(column), kind.startswith("label")
        not_a_number = "" if kind == "text" else f" OR isnan(CAST({value} AS DOUBLE))"
        lacking = self._lacks(column) if kind == "label or none" else "false"
        rows = (
            f"(SELECT row_number() OVER () - 1 AS row, {text} AS text, ({value}) IS NULL{not_a_number} AS bad, "
            f"{lacking} AS lacking FROM {self._table([column])})"
        )
        ((n, known, count, empty, first, commas),) = self._ask(
            "SELECT count(*), count(*) FILTER (NOT lacking), "
            "count(*) FILTER (bad), count(*) FILTER (bad AND text IS NULL), "
            "min(row) FILTER (bad), "
            r"bool_and(regexp_full_match(text, '\s*\d*,\d+\s*')) FILTER (bad AND text IS NOT NULL) "
            f"FROM {rows}"
        )
        words = self._ask(f"SELECT DISTINCT text FROM {rows} WHERE bad AND text IS NOT NULL ORDER BY text LIMIT 4")
        repair = (OBSERVED if kind == "label" else COMPLETE).hint
        fields: dict[str, Any] = {"count": count, "size": n, "first": (first,), "place": f"in {self.place(first)}"}
        fields |= {"argument": column, "called": f"column {quoted(column)}", "unit": "rows"}
        if empty == count:
            raise InvalidRows(NoValue(rule=COMPLETE.words, hint=repair, **fields))
        ((shown,),) = self._ask(f"SELECT text FROM {rows} WHERE row = {first}")
        rule = "must hold numbers or true/false" if of_labels else "must hold numbers"
        also = f" ({empty} of them empty)" if empty else ""
        if other := self._other_text(shown or "", bool(commas) and not of_labels):
            repair = other
        elif of_labels and count == known:
            labels = ", ".join(quoted(word) for (word,) in words)
            more = (
                f": {text_of('order of labels')}"
                if len(words) == 2
                else ". More than two labels need one column of probabilities per label, such as p_cat and p_dog, and "
                "`prob_prefix='p_'`."
            )
            repair = f"String labels ({labels}) need `classes=` to say what they mean{more}"
        elif not of_labels:
            repair = _checks.of_percentages(shown) or self._within(column) or repair
        verb = f"does not{also}", f"do not{also}"
        written = "no value" if shown is None else quoted(shown)
        raise InvalidRows(Finding(rule=rule, verb=verb, value=shown, shown=written, hint=repair, **fields))

    def _other_text(self, shown: str, decimal_commas: bool) -> str:
        """Say how to read a file with decimal commas, or with a comment as its first invalid value; may be empty."""
        return "Decimal commas? Write a point." if decimal_commas else ""

    def _refuse_positive(self, column: str) -> NoReturn:
        """Raise an error about logarithms of probabilities that are above 0."""
        value, text, table = self._sql(column, "log"), self._text(column), self._table([column])
        ((count, size, (row, shown), low, high),) = self._ask(
            "SELECT count(*) FILTER (bad), count(*), min((row, text)) FILTER (bad), min(value), max(value) FROM "
            f"(SELECT row_number() OVER () - 1 AS row, {text} AS text, {value} AS value, {value} > {OVERSHOOT} AS bad "
            f"FROM {table})"
        )
        hint = "Logits? Pass `logits=True` in place of `logprob=True`."
        if low >= 0 and high <= 1 + OVERSHOOT:
            hint = "Probabilities? Leave out `logprob=True`."
        rule = "must hold logarithms of probabilities, which are at most 0"
        words: dict[str, Any] = {"called": f"column {quoted(column)}", "rule": rule, "hint": hint}
        first: dict[str, Any] = {"first": (row,), "place": f"in {self.place(row)}", "value": shown, "shown": shown}
        raise InvalidRows(Finding(argument=column, count=count, size=size, **first, **words))


def _chunks(result: Any, vectors: int) -> Iterator[list[Any]]:
    """Yield chunks of the result as the engine returns them."""
    while len(frame := result.fetch_df_chunk(vectors)):
        yield [_masked(frame[name]) for name in frame.columns]


def _of_equal_length(chunks: Iterable[list[Any]], rows: int) -> Iterator[list[Any]]:
    """Cut chunks of any length into blocks of `rows` rows; the last block may have fewer."""
    pending: list[list[Any]] = []
    for chunk in chunks:
        pending.append(chunk)
        count = sum(len(columns[0]) for columns in pending)
        if count >= rows:
            whole = _joined(pending)
            for start in range(0, count - rows + 1, rows):
                yield [column[start : start + rows] for column in whole]
            pending = [[column[count - count % rows :] for column in whole]] if count % rows else []
    if pending and len(pending[0][0]):
        yield _joined(pending)


def _joined(chunks: list[list[Any]]) -> list[Any]:
    """Join the columns of chunks, without a copy of a single one."""
    return chunks[0] if len(chunks) == 1 else [np.ma.concatenate(column) for column in zip(*chunks, strict=True)]


def _masked(column: Any) -> Any:
    """Return a column of a chunk with missing values masked."""
    missing = column.isna().to_numpy()
    values = column.to_numpy()
    if values.dtype.kind == "O" and not missing.all():
        first = values[~missing][0]
        if isinstance(first, bool):  # booleans with gaps
            values = np.where(missing, False, values).astype(bool)
    return np.ma.MaskedArray(values, missing if missing.any() else np.ma.nomask)


def is_or_are(count: int) -> str:
    """Return "are" or "is"."""
    return "are" if count > 1 else "is"


def text_to_number(text: str) -> str:
    """Return SQL that converts text to a number, or to NULL if the text is not a number.

    A number is an ASCII decimal, inf or nan, with blanks around it. The engine alone would accept ``1_000`` and
    ``+-1``.
    """
    # CASE instead of OR: the engine compares all OR expressions pairwise, which is slow for a thousand columns
    refused = " ".join(f"WHEN contains({text}, '{sign}') THEN NULL" for sign in ("_", "+-"))
    return f"CASE {refused} ELSE TRY_CAST({text} AS DOUBLE) END"


def text_to_label(text: str) -> str:
    """Return SQL that converts text to a number, or true and false to 1 and 0."""
    return f"COALESCE({text_to_number(text)}, CASE lower(trim({text})) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)"


def literal(text: str) -> str:
    """Return text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def file_literal(path: Path) -> str:
    """Return the SQL of one file name, with glob characters escaped."""
    name = str(path)
    if glob.escape(name) == name:
        return literal(name)
    if "\\" in name.replace(os.sep, "/"):  # in patterns, the engine treats a backslash as a path separator
        raise FileError(f"'{path.name}' cannot be opened: rename it, since its path has a backslash and *, ? or [.")
    return literal(glob.escape(name))


def identifier(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def first_line(problem: Exception | None) -> str:
    """Return the first line of an engine's message, without the kind of the error."""
    line = str(problem).strip().splitlines()[0] if str(problem).strip() else "unknown problem"
    return re.sub(r"^(\w+ )+Error: ", "", line).rstrip(".")
