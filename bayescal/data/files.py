"""A file of predictions -> the columns that `evaluate` takes: labels, probabilities, weights."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.data.formats import Kind, Source, listed, open_source

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
    """

    y_true: Array
    y_prob: Array
    weights: Array | None
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...]
    source: Source


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
    source = open_source(path)
    names: tuple[Any, ...] | None = None if classes is None else tuple(classes)
    if prob_prefix is not None:
        columns, names = class_columns(source, prob_prefix, besides=(label, weights), classes=names)
    elif prob is not None:
        columns, names = (prob,), None if names is None else _integers(names) or names
    else:
        raise ValueError("`prob` or `prob_prefix` must say where the probabilities are.")
    wanted: list[tuple[str, Kind]] = [(label, "text" if names and isinstance(names[0], str) else "label")]
    wanted += [(column, "number") for column in columns]
    wanted += [(weights, "number")] if weights is not None else []
    arrays = source.read(wanted)
    y_true, y_prob = arrays[0], arrays[1 : 1 + len(columns)]
    return Rows(
        y_true,
        y_prob[0] if prob_prefix is None else np.column_stack(y_prob),
        None if weights is None else arrays[-1],
        names,
        columns,
        source,
    )


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
