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
    """Labels, probabilities and weights, read from a file; arrays of shape (n_rows,)."""

    y_true: Array
    y_prob: Array  # or (n_rows, n_classes); float32 or float64 as stored
    weights: Array | None
    classes: tuple[Any, ...] | None  # label of each column of `y_prob`; None where labels are 0 and 1
    columns: tuple[str, ...]  # the column or columns of probabilities, in the order of `y_prob`
    source: Source  # gives the line of a row
    order: Array | None = None  # position of each row in its file, from 0, if files were matched; None: as in the file
    group: Array | None = None  # text, as `cluster`
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
    """Location of the predictions of one classifier: a file, and columns as for `read_predictions`."""

    source: Source
    label: str
    prob: str | None = None
    prob_prefix: str | None = None
    logprob: bool = False  # whether the columns hold logarithms of probabilities

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
    """Read labels and probabilities from a Parquet, CSV, TSV or JSON-lines file, whose content decides its format.

    Arguments are those of `count_file`. Delimited text follows RFC 4180: only double quotes quote a field, and
    apostrophes are text. The number of rows read is compared with a count of the records in the file that is
    independent of how values are read. Classes after `prob_prefix` are sorted if all are integers, otherwise in the
    order of the file; `classes` may also name columns that end in integers. Labels are compared as text, or as numbers
    where all classes are integers.
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
    """Predictions of one classifier in a file that may be larger than memory."""

    source: Source
    columns: tuple[str, ...]  # the column or columns of probabilities
    classes: tuple[Any, ...] | None  # label of each of them; None where labels are 0 and 1
    model: ModelColumns
    places: "Places"
    sums: RowSums | None = None  # of all rows of the matrix, if rows are to be divided by them

    def blocks(self) -> Iterator[Rows]:
        """Read the rows in the order of the file, in blocks of at most some 100 MB; errors as in `read_predictions`."""
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
    """Open a file to be read in blocks, as for `read_predictions`; groups (`by`) and clusters are read as text."""
    model = ModelColumns(open_source(path), label, prob, prob_prefix, logprob)
    places = places_of(model, (weights, cluster, by), classes)
    places = places if by is None else replace(places, group=((by, "text"),))
    return RowStream(model.source, tuple(c for c, _ in places.probs), places.classes, model, places)
