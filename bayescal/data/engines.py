"""Data frames of any engine: open one, read its schema, fetch the small result of a query. Rows stay in the engine."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from bayescal import _checks
from bayescal._checks import quoted

#: Number of rows per query of a frame in memory (pandas, pyarrow), whose engine stores every intermediate column.
CHUNK = 262_144


@dataclass(frozen=True, eq=False)
class Partitions:
    """A dask frame as partitions, which are pandas frames. The query runs on the worker that holds a partition."""

    native: Any

    def collect_schema(self) -> Any:
        """Return columns and types from the empty pandas frame that dask keeps; no partition is computed."""
        return nw.from_native(self.native._meta, eager_only=True).collect_schema()

    def answer(self, query: Callable[[Any], Any], columns: list[str]) -> dict[str, list[Any]]:
        """Run the query on every partition and concatenate the answers."""
        native = self.native[list(dict.fromkeys(columns))]
        partial = _OnPandas(query)
        answers = native.map_partitions(partial, meta=partial(native._meta), enforce_metadata=False)
        return _fetched(nw.from_native(answers.compute(), eager_only=True))


def named_column(frame: Any, name: str) -> nw.Expr:
    """Return a column by its name, which engines may take as a pattern: polars so reads ``*`` and names like ``^p1$``.

    The name ``*`` is refused for engines of SQL, which have no other name for the column.
    """
    if frame.implementation.is_polars():
        pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
        return nw.col(f"^{re.escape(name)}$" if pattern else name)
    if name == "*" and isinstance(frame, nw.LazyFrame):
        raise ValueError(f"column '*' means all columns for {frame.implementation.value}; rename the column.")
    return nw.col(name)


def opened(frame: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | Partitions:
    """Open a frame of any engine, without computing anything; polars is made lazy, for its streaming engine."""
    if type(frame).__module__.partition(".")[0] == "pyarrow" and type(frame).__name__ == "RecordBatch":
        import pyarrow as pa

        frame = pa.Table.from_batches([frame])
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_dask():
        frame = frame.to_native()
    try:
        if _is_dask(frame):
            partitions = Partitions(frame)
            partitions.collect_schema()
            return partitions
        table: Any = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError as problem:
        raise ValueError(f"`frame` must have columns of different names. {problem}") from problem
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        raise TypeError(
            "`frame` must be a data frame (pandas, polars, a pyarrow Table, a duckdb relation, dask, pyspark), not "
            f"{type(frame).__name__}. {_instead(frame)}"
        )
    return table.lazy() if table.implementation.is_polars() else table


def _is_dask(frame: Any) -> bool:
    """Return whether this is a dask data frame, not a dask Series, Bag or Array."""
    of_dask = type(frame).__module__.partition(".")[0] == "dask"
    return of_dask and hasattr(frame, "map_partitions") and getattr(frame, "ndim", None) == 2


def _instead(frame: Any) -> str:
    if isinstance(frame, str) or hasattr(frame, "__fspath__"):
        return "A file? duckdb reads it without loading it: `duckdb.read_parquet(path)`, `duckdb.read_csv(path)`."
    if type(frame).__module__.startswith("pyarrow"):
        return 'duckdb reads it batch by batch: `duckdb.sql("select * from name_of_its_variable")`.'
    return "For arrays and lists there is `from_arrays`."


def dtypes_of(frame: Any, columns: dict[str, str]) -> dict[str, Any]:
    """Return the narwhals type of the column that each argument names; refuse a name that is no column."""
    schema = frame.collect_schema()
    for argument, column in columns.items():
        if not isinstance(column, str):
            raise TypeError(
                f"`{argument}` must be the name of a column of `frame`, not {_shown(column)}. "
                "For columns themselves there is `from_arrays`."
            )
        if column not in schema:
            there = list(schema)
            more = f" and {len(there) - 20} more" if len(there) > 20 else ""
            raise ValueError(
                f"`{argument}={quoted(column)}`: `frame` has no such column."
                f"{_checks.did_you_mean(column, there)} It has {there[:20]}{more}."
            )
    return {argument: schema[column] for argument, column in columns.items()}


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | None) else type(value).__name__


def names_of_columns(argument: str, columns: Any) -> list[str]:
    """Return one name or several names as a list; refuse repetitions."""
    if columns is None:
        return []
    names = [columns] if isinstance(columns, str) or not isinstance(columns, Sequence) else list(columns)
    if not names:
        raise ValueError(f"`{argument}` is empty; name at least one column, or leave it out.")
    twice = [n for i, n in enumerate(names) if n in names[:i]]
    if twice:
        raise ValueError(f"`{argument}` names the column {quoted(twice[0])} twice.")
    return names


def answers_of(frame: Any, query: Callable[[Any], Any], columns: list[str]) -> list[dict[str, list[Any]]]:
    """Run a picklable query whose result is small; results for parts of the rows, as Python objects, can be added.

    There is one result for a lazy engine, which chooses its own batches, and one per `CHUNK` rows for a frame in
    memory.
    """
    if isinstance(frame, Partitions):
        return [frame.answer(query, columns)]
    if isinstance(frame, nw.LazyFrame):
        return [_fetched(query(frame))]
    return [_fetched(query(frame[start : start + CHUNK])) for start in range(0, len(frame), CHUNK)]


@dataclass(frozen=True)
class _OnPandas:
    """Applies a query for narwhals frames to pandas frames."""

    query: Callable[[Any], Any]

    def __call__(self, frame: Any) -> Any:
        return self.query(nw.from_native(frame, eager_only=True)).to_native()


def _fetched(frame: Any) -> dict[str, list[Any]]:
    """Compute a small frame and fetch it with its own engine only; duckdb then needs no pyarrow."""
    if isinstance(frame, nw.LazyFrame):
        native = frame.to_native()
        engine = frame.implementation
        if engine.is_duckdb():
            return _transposed(native.columns, native.fetchall())
        if engine.is_pyspark() or engine.is_pyspark_connect():
            return _transposed(native.columns, native.collect())
        frame = frame.collect(engine="streaming") if engine.is_polars() else frame.collect()
    return {name: frame[name].to_list() for name in frame.columns}


def _transposed(names: list[str], rows: list[Any]) -> dict[str, list[Any]]:
    columns: Any = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}
