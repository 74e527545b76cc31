"""Read files of predictions: the labels, probabilities and weights that `evaluate` and `compare` take."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Array
from bayescal._checks import quoted
from bayescal.data.files.formats import open_source
from bayescal.data.files.source import FileError, Kind, Source, listed
from bayescal.data.matrix import as_integers
from bayescal.data.reading import Reading, RowSums, divided

#: Minimum number of characters that are kept of a label, so that a message can show one that is not a class.
LABEL_SHOWN = 80


def class_columns(
    source: Source, prefix: str, *, besides: Sequence[str | None] = (), classes: Sequence[str] | None = None
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Find the columns of a probability matrix by the beginning of their names, and the class of each."""
    columns = [c for c in source.beginning_with(prefix) if c not in besides]
    if len(columns) < 2:
        matches = (
            f"only {quoted(columns[0])} does (for one column of probabilities use `prob`)" if columns else "none does"
        )
        near = "" if columns else _checks.did_you_mean(prefix, [c for c in source.columns if c not in besides])
        if columns == [prefix] and len(source.beginning_with(f"{prefix}.")) > 1:
            near = f" Is `prob_prefix={quoted(prefix + '.')}` meant, with a dot at its end?"
        raise FileError(
            f"`prob_prefix={quoted(prefix)}` must begin at least two columns of '{source.path.name}'; {matches}."
            f"{near} {source.columns_sentence}"
        )
    endings = [source.ending(c, prefix) for c in columns]
    numbers = as_integers(endings)
    if numbers is None:
        _endings_name_classes(prefix, columns, endings)
        if not prefix and classes is None:
            _require_no_longer_prefix(columns)
    else:
        order = sorted(range(len(columns)), key=numbers.__getitem__)
        columns, endings = [columns[i] for i in order], [endings[i] for i in order]
    if classes is None:
        return tuple(columns), named_classes(endings)
    if set(classes) == set(endings):
        of_class = dict(zip(endings, columns, strict=True))
        columns = [of_class[name] for name in classes]
    elif numbers is None or len(classes) != len(columns):
        raise ValueError(
            f"`classes` {quoted(list(classes))} must be the classes that the columns name, {quoted(endings)}"
            + (f", or {len(columns)} names for them." if numbers else ".")
        )
    return tuple(columns), named_classes(classes)


def named_classes(names: Sequence[str]) -> tuple[int, ...] | tuple[str, ...]:
    """Return the classes as integers if all are below 2**53, which float64 labels can hold; otherwise as text."""
    numbers = as_integers(names)
    if numbers is None or max(map(abs, numbers), default=0) >= 2**53:
        return tuple(names)
    return numbers


def _endings_name_classes(prefix: str, columns: Sequence[str], endings: Sequence[str]) -> None:
    """Refuse endings such as 0, 1, mean or _0, _1, which indicate a prefix that is too short."""
    rule = f"`prob_prefix={quoted(prefix)}` must be followed by the names of the classes;"
    integers = [c for c, ending in zip(columns, endings, strict=True) if as_integers([ending])]
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


def _require_no_longer_prefix(columns: Sequence[str]) -> None:
    """Refuse an empty prefix if all names begin alike, as in p_0, p_1 or p_cat, p_dog."""
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
    common = "".join(letters[0] for letters in shared).rstrip("0123456789")
    endings = [name.removeprefix(common) for name in columns]
    if common and (common[-1] in "_-.: " or as_integers(endings)):
        raise ValueError(
            f"`prob_prefix=''` takes whole names of columns as classes; {listed(list(columns))} begin with "
            f"{quoted(common)}. Did you mean the prefix {quoted(common)}?"
        )


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
        return f"{self.source.place(int(self.order[row]))} of '{self.source.path.name}'"


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """Location of the predictions of one classifier: a file, and columns as for `open_predictions`."""

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


def places_of(classifier: ModelColumns, row_columns: tuple[str | None, ...], classes: Sequence[str] | None) -> Places:
    """Return the columns to read for a classifier; `row_columns` are those of weights, clusters, and keys or groups."""
    weights, cluster, *others = row_columns
    _checks.in_order("classes", classes)
    names: tuple[Any, ...] | None = None if classes is None else tuple(classes)
    if classifier.prob_prefix is not None:
        besides = (classifier.label, weights, cluster, *others)
        columns, names = class_columns(classifier.source, classifier.prob_prefix, besides=besides, classes=names)
    elif classifier.prob is not None:
        columns, names = (classifier.prob,), None if names is None else named_classes(names)
    else:
        raise ValueError("`prob` or `prob_prefix` must say where the probabilities are.")
    return Places(
        (classifier.label, "text" if names and isinstance(names[0], str) else "label"),
        tuple((column, "log" if classifier.logprob else "number") for column in columns),
        () if weights is None else ((weights, "number"),),
        names,
        cluster=() if cluster is None else ((cluster, "text"),),
    )


def rows_of(classifier: ModelColumns, place: Places, read: Mapping[tuple[str, Kind], Array]) -> Rows:
    """Combine the columns that were read."""
    probs = [read[column] for column in place.probs]
    labels = read[place.label]
    y_true = as_wide_as_classes(labels, place.classes or ()) if place.label[1] == "text" else labels
    y_prob = probs[0] if classifier.prob_prefix is None else np.column_stack(probs)
    of_rows = {"weights": place.weights, "group": place.group, "cluster": place.cluster}
    known: dict[str, Any] = {name: read[columns[0]] if columns else None for name, columns in of_rows.items()}
    columns = tuple(column for column, _ in place.probs)
    return Rows(y_true, y_prob, classes=place.classes, columns=columns, source=classifier.source, **known)


def as_wide_as_classes(labels: Array, classes: Sequence[str]) -> Array:
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
    classifier: ModelColumns
    places: "Places"
    sums: RowSums | None = None  # of all rows of the matrix, if rows are to be divided by them

    def blocks(self) -> Iterator[Rows]:
        """Read the rows in the order of the file, in blocks of at most some 100 MB; errors as in `open_predictions`."""
        wanted = list(dict.fromkeys(self.places.wanted))
        for read in self.source.blocks(wanted):
            rows = rows_of(self.classifier, self.places, dict(zip(wanted, read, strict=True)))
            yield rows if self.sums is None else replace(rows, y_prob=divided(rows.y_prob))

    @property
    def reading(self) -> Reading:
        """How the probabilities of all rows are read; empty if no row is divided."""
        return Reading() if self.sums is None else self.sums.reading

    def read(self) -> Rows:
        """All rows at once."""
        wanted = list(dict.fromkeys(self.places.wanted))
        return rows_of(self.classifier, self.places, dict(zip(wanted, self.source.read(wanted), strict=True)))

    @property
    def one_column(self) -> bool:
        """Whether probabilities are a column and not a matrix."""
        return self.classifier.prob_prefix is None

    @property
    def called(self) -> dict[str, str]:
        """Names of the arguments of `evaluate` that hold rows, for messages."""
        weights = [column for column, _ in self.places.weights]
        return self.classifier.called(weights[0] if weights else None)

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
    """Open a Parquet, CSV, TSV or JSON-lines file with labels and probabilities; arguments are those of `count_file`.

    Only double quotes quote a field (RFC 4180). Classes after `prob_prefix` are sorted if all are integers, otherwise
    in the order of the file. Labels are compared as text, or as numbers where all classes are integers.
    """
    classifier = ModelColumns(open_source(path), label, prob, prob_prefix, logprob)
    places = places_of(classifier, (weights, cluster, by), classes)
    places = places if by is None else replace(places, group=((by, "text"),))
    return RowStream(classifier.source, tuple(c for c, _ in places.probs), places.classes, classifier, places)
