"""Multiply imputed columns: lists of predictions, or of outcomes, with one array per imputation."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def imputed_sets(y_true: Any, y_prob: Any) -> list[tuple[Any, Any]] | None:
    """Return outcomes and predictions of each imputation; None if neither argument has imputations.

    A list of arrays, each as long as the outcomes, has one per imputation; `y_prob` may be a mapping of models to
    lists. The reading depends on lengths and never on values. A vector is part of every set.
    """
    outcomes = _entries(y_true)
    n_rows = _length(outcomes[0] if outcomes else y_true)
    _require_lengths("y_true", outcomes, n_rows, "the first")
    by_model = isinstance(y_prob, Mapping)
    columns = {f"y_prob[{name!r}]": each for name, each in y_prob.items()} if by_model else {"y_prob": y_prob}
    lists = {"y_true": outcomes} if outcomes else {}
    for name, values in columns.items():
        entries = _entries(values)
        # as many entries as rows: rows of a matrix
        if entries and (outcomes or len(entries) != n_rows or _length(entries[0]) == n_rows):
            _require_lengths(name, entries, n_rows, "`y_true`", matrix=not outcomes)
            lists[name] = entries
    if not lists:
        return None
    first, number = next((name, len(entries)) for name, entries in lists.items())
    for name, entries in lists.items():
        if len(entries) != number:
            raise ValueError(
                f"`{name}` must have as many imputations as `{first}`, which has {number}; it has {len(entries)}. "
                "Imputation j of each belongs to one completed data set."
            )
    if number < 2:
        raise ValueError(
            f"`{first}` must have at least 2 imputations, which show how uncertain the missing values are, and has 1. "
            f"For predictions without missing values, pass the array itself, `{first}[0]`."
        )
    of_sets = zip(*(lists.get(name, [values] * number) for name, values in columns.items()), strict=True)
    predictions = [dict(zip(y_prob, each, strict=True)) if by_model else each[0] for each in of_sets]
    return list(zip(outcomes or [y_true] * number, predictions, strict=True))


def _entries(values: Any) -> list[Any]:
    """Return the arrays of a list or tuple; an empty list for anything else, such as a column as rows of one value."""
    listed = isinstance(values, list | tuple) and len(values) and np.ndim(values[0]) > 0
    return list(values) if listed and {*map(_length, values)} != {1} else []


def _length(values: Any) -> int:
    return len(values) if hasattr(values, "__len__") and not isinstance(values, str) else -1


def _require_lengths(name: str, entries: list[Any], n_rows: int, of: str, *, matrix: bool = False) -> None:
    """Refuse arrays of other lengths than the rows, and lists that are as long as their arrays."""
    lengths = [_length(each) for each in entries]
    other = next((j for j, length in enumerate(lengths) if length != n_rows), None)
    if other is not None:
        what = "is a single value" if lengths[other] < 0 else f"has length {lengths[other]}"
        rows = f" As the rows of a matrix, there would be {n_rows} of them." if matrix else ""
        raise ValueError(
            f"`{name}` must have arrays as long as {of}, {n_rows}, to be read as imputations: it is a list of "
            f"{len(lengths)} arrays, and that at index {other} {what}.{rows} Pass one vector, or `[p_1, p_2, ...]` "
            "with the predictions of all rows in each imputation."
        )
    if matrix and len(lengths) == n_rows:
        raise ValueError(
            f"`{name}` is a list of {n_rows} arrays of length {n_rows}: it may hold {n_rows} imputations, or the rows "
            "of a matrix. Leave out one imputation, or pass the matrix as `numpy.asarray(...)`."
        )
