"""Predictions of several classifiers, from one file or from several files with rows matched by a column of keys."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from bayescal import _packages
from bayescal._arrays import Array
from bayescal._invalid import prefixed, quoted
from bayescal.data.files.predictions import ModelColumns, Places, Rows, places_of, rows_of
from bayescal.data.files.source import FileError, Kind, Source


def read_models(
    models: Mapping[str, ModelColumns],
    *,
    key: str | None = None,
    weights: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    classes: Sequence[str] | None = None,
    same_labels: bool = True,
) -> dict[str, Rows]:
    """Read the predictions of several classifiers on the same rows, from one file or from files with a column `key`.

    Rows have the order of the first file. Weights must agree between files, and labels too if they are true classes
    (`same_labels`) and do not state whether a prediction was right.
    """
    sources = list(dict.fromkeys(classifier.source for classifier in models.values()))
    several = len(sources) > 1
    if several and key is None:
        raise ValueError("`key` must name the column that says which rows of the files are the same.")
    places = _places(models, (weights, cluster, key, by), classes)
    if by is not None:
        places = {name: replace(place, group=((by, "text"),)) for name, place in places.items()}
    read: dict[Source, dict[tuple[str, Kind], Array]] = {}
    for source in sources:
        wanted = [c for name, place in places.items() if models[name].source is source for c in place.wanted]
        wanted = list(dict.fromkeys(wanted + ([(key, "text")] if several and key is not None else [])))
        with _named(source, several):
            read[source] = dict(zip(wanted, source.read(wanted), strict=True))
    rows = {name: rows_of(models[name], places[name], read[models[name].source]) for name in models}
    if not several or key is None:
        return rows
    orders = _matched({source: read[source][key, "text"] for source in sources}, key)
    rows = {name: _reordered(of_classifier, orders[of_classifier.source]) for name, of_classifier in rows.items()}
    first, *others = rows
    for name in others:
        of_rows = ((weights, "weights"), (cluster, "cluster"), (by, "group"))
        for column, kind in (*([(models[name].label, "y_true")] if same_labels else []), *of_rows):
            if column is not None:
                keys = read[sources[0]][key, "text"]
                _must_be_the_same(column, rows[first], rows[name], kind, keys)
    return rows


def _places(
    models: Mapping[str, ModelColumns], row_columns: tuple[str | None, ...], classes: Sequence[str] | None
) -> dict[str, Places]:
    """Return the columns to read for each classifier; classes from column names are those of the first."""
    places: dict[str, Places] = {}
    for name, classifier in models.items():
        place = places_of(classifier, row_columns, classes)
        first = next(iter(places.values()), place)
        if place.classes != first.classes and classifier.prob_prefix is not None:
            if first.classes is None or place.classes is None or set(place.classes) != set(first.classes):
                raise ValueError(
                    f"`prob_prefix` must lead to the same classes for every classifier: {quoted(next(iter(places)))} "
                    f"has {quoted(list(first.classes or ()))}, {quoted(name)} has {quoted(list(place.classes or ()))}."
                )
            place = places_of(classifier, row_columns, [str(c) for c in first.classes])
        places[name] = place
    return places


@contextmanager
def _named(source: Source, several: bool) -> Iterator[None]:
    """Add the name of the file to error messages if there are several files."""
    try:
        yield
    except ValueError as problem:
        if not several or isinstance(problem, FileError):
            raise
        raise prefixed(problem, f"'{source.path.name}': ") from problem


def _matched(keys: Mapping[Source, Array], key: str) -> dict[Source, Array]:
    """Return the row numbers of each file in the order of the keys of the first file; refuse unmatched keys."""
    _packages.require("duckdb")
    import duckdb

    sources = list(keys)
    with duckdb.connect(":memory:") as engine:

        def rows_of(sql: str) -> Array:
            return np.asarray(engine.execute(sql).fetchnumpy()["row"])

        for i, source in enumerate(sources):
            # a table of objects, since text arrays would be sorted anew by every query
            engine.register("rows", {"key": keys[source].astype(object), "row": np.arange(len(keys[source]))})
            engine.execute(f"CREATE TABLE file{i} AS SELECT * FROM rows")
            later = rows_of(
                f"SELECT row FROM (SELECT row, row_number() OVER (PARTITION BY key ORDER BY row) AS time FROM file{i}) "
                "WHERE time > 1 ORDER BY row"
            )
            if len(later):
                _refuse_repeated(key, keys[source], source, later)
        orders = [np.arange(len(keys[sources[0]]))]
        for i in range(1, len(sources)):
            query = "SELECT row FROM file{} ANTI JOIN file{} USING (key) ORDER BY row"
            alone = [rows_of(query.format(*pair)) for pair in ((0, i), (i, 0))]
            if any(map(len, alone)):
                _refuse_unmatched(key, keys, (sources[0], sources[i]), alone)
            orders.append(rows_of(f"SELECT file{i}.row AS row FROM file0 JOIN file{i} USING (key) ORDER BY file0.row"))
    return dict(zip(sources, orders, strict=True))


def _refuse_repeated(key: str, values: Array, source: Source, later: Array) -> NoReturn:
    """Refuse keys that an earlier row has; `later` are the rows that repeat one."""
    again = int(later[0])
    before = int(np.argmax(values == values[again]))
    raise ValueError(
        f"`key` must be a column that names each row once; in '{source.path.name}' {len(later)} of {len(values)} rows "
        f"repeat the key of an earlier row, first {quoted(str(values[again]))} in {source.place(again)}, which is also "
        f"in {source.place(before)}. Which one is meant cannot be guessed: remove the others, or name another column."
    )


def _refuse_unmatched(
    key: str, keys: Mapping[Source, Array], pair: tuple[Source, Source], alone: Sequence[Array]
) -> NoReturn:
    unmatched = "; ".join(
        f"{len(rows)} of {len(keys[source])} rows of '{source.path.name}' have a key that is not in "
        f"'{other.path.name}', first {quoted(str(keys[source][rows[0]]))} in {source.place(int(rows[0]))}"
        for rows, source, other in ((alone[0], *pair), (alone[1], *pair[::-1]))
        if len(rows)
    )
    hint = (
        "No key is in both: are keys written in the same way ('7', '07' and '7.0' differ)?"
        if len(alone[0]) == len(keys[pair[0]])
        else "Rows are never dropped for you: if a classifier has no prediction for a row, remove it from both files."
    )
    raise ValueError(f"`key` must find the same rows in both files; by column {quoted(key)}, {unmatched}. {hint}")


def _reordered(rows: Rows, order: Array) -> Rows:
    named = {name: getattr(rows, name) for name in ("weights", "cluster", "group")}
    moved: dict[str, Any] = {name: None if values is None else values[order] for name, values in named.items()}
    return replace(rows, y_true=rows.y_true[order], y_prob=rows.y_prob[order], **moved, order=order)


def _must_be_the_same(column: str, rows: Rows, others: Rows, what: str, keys: Array) -> None:
    """Refuse labels or weights that differ between two files."""
    one, other = getattr(rows, what), getattr(others, what)
    differ = one != other
    if not differ.any():
        return
    at = int(np.argmax(differ))
    hint = (
        "Labels do not depend on the classifier. Do both files have the same rows, identified by the same keys?"
        if what == "y_true"
        else "Weights, clusters and groups belong to a row and not to a classifier."
    )
    raise ValueError(
        f"column {quoted(column)} must be the same in both files; {int(differ.sum())} of {len(differ)} rows differ, "
        f"first key {quoted(str(keys[at]))}: {_written(one[at])} in {rows.place(at)}, {_written(other[at])} in "
        f"{others.place(at)}. {hint}"
    )


def _written(value: Any) -> str:
    return quoted(str(value)) if isinstance(value, str) else f"{float(value):g}"
