"""Files of predictions -> the columns that `evaluate` and `compare` take: labels, probabilities, weights."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.formats import open_source
from bayescal.data.source import Kind, Source, listed

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """What `evaluate` takes, read from a file.

    Parameters
    ----------
    y_true : ndarray, shape (n_rows,)
        Labels.
    y_prob : ndarray, shape (n_rows,) or (n_rows, n_classes)
        Probabilities, float32 or float64 as stored.
    weights : ndarray, shape (n_rows,), or None
        Weights.
    classes : tuple of int, tuple of str, or None
        Label of each column of `y_prob`; None where labels are 0 and 1.
    columns : tuple of str
        The column or columns of probabilities, in the order of `y_prob`.
    source : Source
        Where the rows came from, to say on which line a row stands.
    order : ndarray of int, shape (n_rows,), or None
        Where in its file each row stands, from 0, if rows of several files were matched; None for the file's order.
    """

    y_true: Array
    y_prob: Array
    weights: Array | None
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...]
    source: Source
    order: Array | None = None

    def place(self, row: int) -> str:
        """Where row number `row` (from 0) was read, in words; with the file's name if there are several."""
        if self.order is None:
            return self.source.place(row)
        return _place(self.source, int(self.order[row]))


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """Where the predictions of one model are.

    Parameters
    ----------
    source : Source
        The file.
    label : str
        Column of labels.
    prob, prob_prefix : str, optional
        As for `read_predictions`, one of the two.
    """

    source: Source
    label: str
    prob: str | None = None
    prob_prefix: str | None = None


def read_predictions(
    path: str | Path,
    *,
    label: str,
    prob: str | None = None,
    prob_prefix: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
) -> Rows:
    """Read labels and probabilities from a Parquet, CSV, TSV or JSON-lines file.

    Parameters
    ----------
    path : str or Path
        The file. Its content decides what it is; text may be compressed with gzip. The first line of delimited text
        names the columns.
    label : str
        Column of labels: numbers or true/false, or text with `classes` or with class names after `prob_prefix`.
    prob : str, optional
        Column of probabilities of one event. Either this or `prob_prefix`.
    prob_prefix : str, optional
        What the columns of a probability matrix begin with. The rest of their names are the classes: sorted as
        numbers if all are integers, else in the file's order.
    weights : str, optional
        Column of weights.
    classes : sequence of str, optional
        With `prob`, the label of 0 and the label of 1. With `prob_prefix`, the order of the classes, or names for
        columns that end in integers. Labels are compared as text, or as numbers where all classes are integers.

    Returns
    -------
    Rows
        The arrays.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is none of these formats, a column is not in it, or a value is missing or no number; the message
        says how many rows and names the first line.

    Examples
    --------
    >>> import bayescal.datasets
    >>> rows = read_predictions(bayescal.datasets.path("wine"), label="label", prob_prefix="random_forest_")
    >>> rows.y_prob.shape, rows.classes
    ((178, 3), (0, 1, 2))
    """
    return open_predictions(
        path, label=label, prob=prob, prob_prefix=prob_prefix, weights=weights, classes=classes
    ).read()


@dataclass(frozen=True, eq=False)
class RowStream:
    """Predictions of one model in a file that may be larger than memory.

    Parameters
    ----------
    source : Source
        The file.
    columns : tuple of str
        The column or columns of probabilities.
    classes : tuple of int, tuple of str, or None
        Label of each of them; None where labels are 0 and 1.
    """

    source: Source
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    asked: ModelColumns
    places: "_Places"

    def blocks(self) -> Iterator[Rows]:
        """The rows, in the order of the file, a block at a time; raises what `read_predictions` does.

        Yields
        ------
        Rows
            At most some 100 MB; where a row stands is asked of the stream.
        """
        wanted = list(dict.fromkeys(self.places.wanted))
        for read in self.source.blocks(wanted):
            yield _rows(self.asked, self.places, dict(zip(wanted, read, strict=True)))

    def read(self) -> Rows:
        """All rows at once."""
        wanted = list(dict.fromkeys(self.places.wanted))
        return _rows(self.asked, self.places, dict(zip(wanted, self.source.read(wanted), strict=True)))

    @property
    def one_column(self) -> bool:
        """Whether probabilities are a column and not a matrix."""
        return self.asked.prob_prefix is None

    def place(self, row: int) -> str:
        """Where row number `row` (from 0) was read, in words."""
        return self.source.place(row)


def open_predictions(
    path: str | Path,
    *,
    label: str,
    prob: str | None = None,
    prob_prefix: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
) -> RowStream:
    """Open a file of labels and probabilities to be read in blocks; parameters as for `read_predictions`.

    Returns
    -------
    RowStream
        No row is read yet.

    Examples
    --------
    >>> import bayescal.datasets
    >>> stream = open_predictions(bayescal.datasets.path("wine"), label="label", prob_prefix="random_forest_")
    >>> [rows.y_prob.shape for rows in stream.blocks()]
    [(178, 3)]
    """
    asked = ModelColumns(open_source(path), label, prob, prob_prefix)
    places = _place_of(asked, (weights, None), classes)
    return RowStream(asked.source, tuple(c for c, _ in places.probs), places.classes, asked, places)


def read_models(
    models: Mapping[str, ModelColumns],
    *,
    key: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
    same_labels: bool = True,
) -> dict[str, Rows]:
    """Read the predictions of several models on the same rows: from one file, or from files with a column of keys.

    Parameters
    ----------
    models : mapping of str to ModelColumns
        Where each model's predictions are, by its name.
    key : str, optional
        Column that names each row, once in each file; needed for several files. Keys are compared as they are written.
    weights, classes
        As for `read_predictions`, the same for all.
    same_labels : bool, default True
        Whether labels are the truth, which does not differ between files; False if they are about the predictions.

    Returns
    -------
    dict of str to Rows
        The arrays of each model, all of them in the order of the first file.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError
        As `read_predictions`; if a key is missing in a file or stands in it twice, if labels or weights differ between
        files, or classes between models.

    Examples
    --------
    >>> import bayescal.datasets
    >>> wine = open_source(bayescal.datasets.path("wine"))
    >>> both = {m: ModelColumns(wine, "label", prob_prefix=f"{m}_") for m in ("naive_bayes", "random_forest")}
    >>> {model: rows.y_prob.shape for model, rows in read_models(both).items()}
    {'naive_bayes': (178, 3), 'random_forest': (178, 3)}
    """
    sources = list(dict.fromkeys(asked.source for asked in models.values()))
    several = len(sources) > 1
    if several and key is None:
        raise ValueError("`key` must name the column that says which rows of the files are the same.")
    places = _places(models, (weights, key), classes)
    read: dict[Source, dict[tuple[str, Kind], Array]] = {}
    for source in sources:
        wanted = [c for name, place in places.items() if models[name].source is source for c in place.wanted]
        wanted = list(dict.fromkeys(wanted + ([(key, "text")] if several and key is not None else [])))
        with _named(source, several):
            read[source] = dict(zip(wanted, source.read(wanted), strict=True))
    rows = {name: _rows(models[name], places[name], read[models[name].source]) for name in models}
    if not several or key is None:
        return rows
    orders = _matched({source: read[source][key, "text"] for source in sources}, key)
    rows = {name: _reordered(found, orders[found.source]) for name, found in rows.items()}
    first, *others = rows
    for name in others:
        for column, kind, once in ((models[name].label, "y_true", same_labels), (weights, "weights", True)):
            if column is not None and once:
                keys = read[sources[0]][key, "text"]
                _must_be_the_same(column, rows[first], rows[name], kind, keys)
    return rows


@dataclass(frozen=True)
class _Places:
    """Columns of one model, each with how it is read, and its classes."""

    label: tuple[str, Kind]
    probs: tuple[tuple[str, Kind], ...]
    weights: tuple[tuple[str, Kind], ...]
    classes: tuple[Any, ...] | None

    @property
    def wanted(self) -> list[tuple[str, Kind]]:
        return [self.label, *self.probs, *self.weights]


def _places(
    models: Mapping[str, ModelColumns], row_columns: tuple[str | None, str | None], classes: Sequence[str] | None
) -> dict[str, _Places]:
    """What to read for each model; where classes come from the names of columns, they are those of the first.

    `row_columns` are the columns of weights and of keys.
    """
    places: dict[str, _Places] = {}
    for name, asked in models.items():
        place = _place_of(asked, row_columns, classes)
        first = next(iter(places.values()), place)
        if place.classes != first.classes and asked.prob_prefix is not None:
            if first.classes is None or place.classes is None or set(place.classes) != set(first.classes):
                raise ValueError(
                    f"`prob_prefix` must lead to the same classes for every model: {next(iter(places))!r} has "
                    f"{list(first.classes or ())}, {name!r} has {list(place.classes or ())}."
                )
            place = _place_of(asked, row_columns, [str(c) for c in first.classes])
        places[name] = place
    return places


def _place_of(
    asked: ModelColumns, row_columns: tuple[str | None, str | None], classes: Sequence[str] | None
) -> _Places:
    weights, key = row_columns
    names: tuple[Any, ...] | None = None if classes is None else tuple(classes)
    if asked.prob_prefix is not None:
        besides = (asked.label, weights, key)
        columns, names = class_columns(asked.source, asked.prob_prefix, besides=besides, classes=names)
    elif asked.prob is not None:
        columns, names = (asked.prob,), None if names is None else _integers(names) or names
    else:
        raise ValueError("`prob` or `prob_prefix` must say where the probabilities are.")
    return _Places(
        (asked.label, "text" if names and isinstance(names[0], str) else "label"),
        tuple((column, "number") for column in columns),
        () if weights is None else ((weights, "number"),),
        names,
    )


def _rows(asked: ModelColumns, place: _Places, read: Mapping[tuple[str, Kind], Array]) -> Rows:
    probs = [read[column] for column in place.probs]
    return Rows(
        read[place.label],
        probs[0] if asked.prob_prefix is None else np.column_stack(probs),
        read[place.weights[0]] if place.weights else None,
        place.classes,
        tuple(column for column, _ in place.probs),
        asked.source,
    )


@contextmanager
def _named(source: Source, several: bool) -> Iterator[None]:
    """Of several files, say in which one something is wrong."""
    try:
        yield
    except ValueError as problem:
        if not several or repr(source.path.name) in str(problem):
            raise
        raise ValueError(f"'{source.path.name}': {problem}") from problem


def _place(source: Source, row: int) -> str:
    return f"{source.place(row)} of '{source.path.name}'"


def _matched(keys: Mapping[Source, Array], key: str) -> dict[Source, Array]:
    """For each file, the numbers of its rows in the order of the first file's keys; every key once in every file."""
    import duckdb

    sources = list(keys)
    with duckdb.connect(":memory:") as engine:

        def rows_of(sql: str) -> Array:
            return np.asarray(engine.execute(sql).fetchnumpy()["row"])

        for i, source in enumerate(sources):
            # as objects and copied: text arrays are sorted anew by every query
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
            alone = [
                rows_of(f"SELECT row FROM file{a} ANTI JOIN file{b} USING (key) ORDER BY row")
                for a, b in ((0, i), (i, 0))
            ]
            if any(map(len, alone)):
                _refuse_unmatched(key, keys, (sources[0], sources[i]), alone)
            orders.append(rows_of(f"SELECT file{i}.row AS row FROM file0 JOIN file{i} USING (key) ORDER BY file0.row"))
    return dict(zip(sources, orders, strict=True))


def _refuse_repeated(key: str, values: Array, source: Source, later: Array) -> NoReturn:
    """Refuse keys that come again in the rows `later`."""
    again = int(later[0])
    before = int(np.argmax(values == values[again]))
    raise ValueError(
        f"`key` must be a column that names each row once; in '{source.path.name}' {len(later)} of {len(values)} rows "
        f"repeat the key of an earlier row, first {str(values[again])!r} in {source.place(again)}, which is also in "
        f"{source.place(before)}. Which one is meant cannot be guessed: remove the others, or name another column."
    )


def _refuse_unmatched(
    key: str, keys: Mapping[Source, Array], pair: tuple[Source, Source], alone: Sequence[Array]
) -> NoReturn:
    told = "; ".join(
        f"{len(rows)} of {len(keys[source])} rows of '{source.path.name}' have a key that is not in "
        f"'{other.path.name}', first {str(keys[source][rows[0]])!r} in {source.place(int(rows[0]))}"
        for rows, source, other in ((alone[0], *pair), (alone[1], *pair[::-1]))
        if len(rows)
    )
    hint = (
        "Not one key is in both: are they written alike ('7', '07' and '7.0' are three keys)?"
        if len(alone[0]) == len(keys[pair[0]])
        else "Rows are never dropped for you: if a model has no prediction for a row, take the row out of both files."
    )
    raise ValueError(f"`key` must find the same rows in both files; by column {key!r}, {told}. {hint}")


def _reordered(rows: Rows, order: Array) -> Rows:
    weights = None if rows.weights is None else rows.weights[order]
    return replace(rows, y_true=rows.y_true[order], y_prob=rows.y_prob[order], weights=weights, order=order)


def _must_be_the_same(column: str, rows: Rows, others: Rows, what: str, keys: Array) -> None:
    """Refuse what belongs to a row and not to a model, if two files say different things of it."""
    one, other = getattr(rows, what), getattr(others, what)
    differ = one != other
    if not differ.any():
        return
    at = int(np.argmax(differ))
    hint = (
        "The truth does not depend on the model: are these the same rows, and the keys of the same numbering?"
        if what == "y_true"
        else "A weight belongs to a row and not to a model."
    )
    raise ValueError(
        f"column {column!r} must be the same in both files; {int(differ.sum())} of {len(differ)} rows differ, first "
        f"key {str(keys[at])!r}: {_written(one[at])} in {rows.place(at)}, {_written(other[at])} in {others.place(at)}. "
        f"{hint}"
    )


def _written(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else f"{float(value):g}"


def class_columns(
    source: Source,
    prefix: str,
    *,
    besides: Sequence[str | None] = (),
    classes: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Columns of a probability matrix, and the class of each.

    Parameters
    ----------
    source : Source
        The file.
    prefix : str
        What the columns begin with.
    besides : sequence of str
        Columns that are something else.
    classes : sequence of str, optional
        As for `read_predictions`.

    Returns
    -------
    (columns, classes) : tuple of tuple
        Names and classes; classes are integers where all of them are, else strings.

    Raises
    ------
    ValueError
        If fewer than two columns begin with `prefix`, or their endings do not name classes.
    """
    columns = [c for c in source.columns if c.startswith(prefix) and c not in besides]
    if len(columns) < 2:
        found = f"only {columns[0]!r} does (for one column of probabilities use `prob`)" if columns else "none does"
        near = "" if columns else _checks.did_you_mean(prefix, [c for c in source.columns if c not in besides])
        raise ValueError(
            f"`prob_prefix={prefix!r}` must begin at least two columns of '{source.path.name}'; {found}.{near} "
            f"{source.columns_said}"
        )
    endings = [c.removeprefix(prefix) for c in columns]
    numbers = _integers(endings)
    if numbers is None:
        _endings_name_classes(prefix, columns, endings)
    else:
        order = sorted(range(len(columns)), key=numbers.__getitem__)
        columns, endings = [columns[i] for i in order], [endings[i] for i in order]
        numbers = tuple(numbers[i] for i in order)
    if classes is None:
        return tuple(columns), numbers or tuple(endings)
    if set(classes) == set(endings):
        columns = [prefix + name for name in classes]
    elif numbers is None or len(classes) != len(columns):
        raise ValueError(
            f"`classes` {list(classes)} must be the classes that the columns name, {endings}"
            + (f", or {len(columns)} names for them." if numbers else ".")
        )
    return tuple(columns), _integers(classes) or tuple(classes)


def _integers(names: Sequence[str]) -> tuple[int, ...] | None:
    whole = all(re.fullmatch(r"-?\d+", name, re.ASCII) for name in names)
    return tuple(int(name) for name in names) if whole else None


def _endings_name_classes(prefix: str, columns: Sequence[str], endings: Sequence[str]) -> None:
    """Endings like 0, 1, mean or _0, _1 are rather a prefix that is too short than names of classes."""
    rule = f"`prob_prefix={prefix!r}` must be followed by the names of the classes;"
    integers = [c for c, ending in zip(columns, endings, strict=True) if _integers([ending])]
    others = [c for c in columns if c not in integers]
    if integers:
        raise ValueError(
            f"{rule} integers follow in {listed(integers)}, something else in {listed(others)}. "
            "A longer prefix (or renamed columns) tells them apart."
        )
    if endings[0][:1] in tuple("_-.: ") and all(ending[:1] == endings[0][:1] for ending in endings):
        raise ValueError(
            f"{rule} in {listed(columns)} all of them begin with {endings[0][:1]!r}. "
            f"Did you mean the prefix {prefix + endings[0][:1]!r}?"
        )
