"""Read files of predictions: the labels, probabilities and weights that `evaluate` and `compare` take."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.files.class_columns import class_columns, named_classes
from bayescal.data.files.formats import open_source
from bayescal.data.files.source import Kind, Source
from bayescal.data.reading import Reading, RowSums, divided

Array = NDArray[Any]

#: Minimum number of characters that are kept of a label, so that a message can show one that is not a class.
LABEL_SHOWN = 80


@dataclass(frozen=True, eq=False)
class Rows:
    """Labels, probabilities and weights, read from a file.

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
        The file, which gives the line of a row.
    order : ndarray of int, shape (n_rows,), or None
        Position of each row in its file, from 0, if rows of several files were matched; None for the file's order.
    group, cluster : ndarray of object, shape (n_rows,), or None
        Text of the columns of groups and of clusters.
    """

    y_true: Array
    y_prob: Array
    weights: Array | None
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...]
    source: Source
    order: Array | None = None
    group: Array | None = None
    cluster: Array | None = None

    def place(self, row: int) -> str:
        """Return the position of row number `row` (from 0) in words, with the name of the file if there are several."""
        if self.order is None:
            return self.source.place(row)
        return place_in_file(self.source, int(self.order[row]))


def place_in_file(source: Source, row: int) -> str:
    """Return the position of a row in words, with the name of the file."""
    return f"{source.place(row)} of '{source.path.name}'"


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """Location of the predictions of one classifier.

    Parameters
    ----------
    source : Source
        The file.
    label : str
        Column of labels.
    prob, prob_prefix : str, optional
        As for `read_predictions`, one of the two.
    logprob : bool
        Whether the columns hold logarithms of probabilities.
    """

    source: Source
    label: str
    prob: str | None = None
    prob_prefix: str | None = None
    logprob: bool = False

    def called(self, weights: str | None) -> dict[str, str]:
        """Names of the arguments of `evaluate` that hold rows, for messages; `weights` is a column."""
        matrix = f"the matrix of columns '{self.prob_prefix}*'"
        probabilities = matrix if self.prob is None else f"column {self.prob!r}"
        return {"y_true": f"column {self.label!r}", "y_prob": probabilities, "weights": f"column {weights!r}"}


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

    Delimited text follows RFC 4180: only double quotes quote a field, and apostrophes are text. The number of rows read
    is compared with a count of the records in the file that is independent of how values are read.

    Parameters
    ----------
    path : str or Path
        The file. Its content decides its format; text may be compressed with gzip. The first line of delimited text
        names the columns.
    label : str
        Column of labels: numbers or true/false, or text with `classes` or with class names after `prob_prefix`.
    prob : str, optional
        Column of probabilities of one event. Either this or `prob_prefix`.
    prob_prefix : str, optional
        Common beginning of the names of the columns of a probability matrix. The rest of each name is the class.
        Classes are sorted if all are integers, otherwise in the order of the file.
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
        If the file has none of these formats or lacks a column, a value is missing or not a number, or the numbers of
        rows differ. For values, the message gives the number of rows and the first line.

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


@dataclass(frozen=True)
class Places:
    """Columns to read for one classifier, each with its kind, and the classes."""

    label: tuple[str, Kind]
    probs: tuple[tuple[str, Kind], ...]
    weights: tuple[tuple[str, Kind], ...]
    classes: tuple[Any, ...] | None
    group: tuple[tuple[str, Kind], ...] = ()
    cluster: tuple[tuple[str, Kind], ...] = ()

    @property
    def wanted(self) -> list[tuple[str, Kind]]:
        """All of them."""
        return [self.label, *self.probs, *self.weights, *self.group, *self.cluster]


def places_of(model: ModelColumns, row_columns: tuple[str | None, ...], classes: Sequence[str] | None) -> Places:
    """Return the columns to read for a classifier; `row_columns` are those of weights, clusters, and keys or groups."""
    weights, cluster, *others = row_columns
    _checks.in_order("classes", classes)
    names: tuple[Any, ...] | None = None if classes is None else tuple(classes)
    if model.prob_prefix is not None:
        besides = (model.label, weights, cluster, *others)
        columns, names = class_columns(model.source, model.prob_prefix, besides=besides, classes=names)
    elif model.prob is not None:
        columns, names = (model.prob,), None if names is None else named_classes(names)
    else:
        raise ValueError("`prob` or `prob_prefix` must say where the probabilities are.")
    return Places(
        (model.label, "text" if names and isinstance(names[0], str) else "label"),
        tuple((column, "log" if model.logprob else "number") for column in columns),
        () if weights is None else ((weights, "number"),),
        names,
        cluster=() if cluster is None else ((cluster, "text"),),
    )


def rows_of(model: ModelColumns, place: Places, read: Mapping[tuple[str, Kind], Array]) -> Rows:
    """Combine the columns that were read."""
    probs = [read[column] for column in place.probs]
    labels = read[place.label]
    return Rows(
        _as_wide_as_classes(labels, place.classes or ()) if place.label[1] == "text" else labels,
        probs[0] if model.prob_prefix is None else np.column_stack(probs),
        read[place.weights[0]] if place.weights else None,
        place.classes,
        tuple(column for column, _ in place.probs),
        model.source,
        group=read[place.group[0]] if place.group else None,
        cluster=read[place.cluster[0]] if place.cluster else None,
    )


def _as_wide_as_classes(labels: Array, classes: Sequence[str]) -> Array:
    """Convert text to a fixed-width array that is wide enough for all classes; a truncated label equals no class."""
    width = max(LABEL_SHOWN, *map(len, classes)) + 2
    fixed = labels.astype(f"U{width}")
    for i in np.flatnonzero(fixed.astype(object) != labels):  # truncated, or a trailing NUL was dropped
        fixed[i] = labels[i][: width - 1] + "…"
    return fixed


@dataclass(frozen=True, eq=False)
class RowStream:
    """Predictions of one classifier in a file that may be larger than memory.

    Parameters
    ----------
    source : Source
        The file.
    columns : tuple of str
        The column or columns of probabilities.
    classes : tuple of int, tuple of str, or None
        Label of each of them; None where labels are 0 and 1.
    sums : RowSums, optional
        Sums of all rows of the matrix, if rows are to be divided by them.
    """

    source: Source
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    model: ModelColumns
    places: "Places"
    sums: RowSums | None = None

    def blocks(self) -> Iterator[Rows]:
        """Read the rows in the order of the file, one block at a time; errors as in `read_predictions`.

        Yields
        ------
        Rows
            At most some 100 MB. `RowStream.place` gives the line of a row.
        """
        wanted = list(dict.fromkeys(self.places.wanted))
        for read in self.source.blocks(wanted):
            rows = rows_of(self.model, self.places, dict(zip(wanted, read, strict=True)))
            yield rows if self.sums is None else replace(rows, y_prob=divided(rows.y_prob))

    @property
    def reading(self) -> Reading:
        """How the probabilities of all rows are read; empty if no row is divided."""
        return Reading() if self.sums is None else self.sums.reading

    def read(self) -> Rows:
        """All rows at once."""
        wanted = list(dict.fromkeys(self.places.wanted))
        return rows_of(self.model, self.places, dict(zip(wanted, self.source.read(wanted), strict=True)))

    @property
    def one_column(self) -> bool:
        """Whether probabilities are a column and not a matrix."""
        return self.model.prob_prefix is None

    @property
    def called(self) -> dict[str, str]:
        """Names of the arguments of `evaluate` that hold rows, for messages."""
        weights = [column for column, _ in self.places.weights]
        return self.model.called(weights[0] if weights else None)

    def place(self, row: int) -> str:
        """Return the position of row number `row` (from 0) in words."""
        return self.source.place(row)


def open_predictions(
    path: str | Path,
    *,
    label: str,
    prob: str | None = None,
    prob_prefix: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
    by: str | None = None,
    cluster: str | None = None,
    logprob: bool = False,
) -> RowStream:
    """Open a file of labels and probabilities to be read in blocks.

    Parameters
    ----------
    path, label, prob, prob_prefix, weights, classes
        As for `read_predictions`.
    by : str, optional
        Column of groups, whose values are read as text.
    cluster : str, optional
        Column of clusters, whose values are read as text.
    logprob : bool, default False
        Whether the columns hold logarithms of probabilities.

    Returns
    -------
    RowStream
        The open file; no row has been read.

    Examples
    --------
    >>> import bayescal.datasets
    >>> stream = open_predictions(bayescal.datasets.path("wine"), label="label", prob_prefix="random_forest_")
    >>> [rows.y_prob.shape for rows in stream.blocks()]
    [(178, 3)]
    """
    model = ModelColumns(open_source(path), label, prob, prob_prefix, logprob)
    places = places_of(model, (weights, cluster, by), classes)
    places = places if by is None else replace(places, group=((by, "text"),))
    return RowStream(model.source, tuple(c for c, _ in places.probs), places.classes, model, places)
