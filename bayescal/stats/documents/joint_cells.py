"""Joint cells as plain data: their numbers and rows, shared by counts of several classifiers and between thresholds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.stats.documents.values import integers
from bayescal.stats.row_counts import row_counts

Ints = NDArray[np.int64]


def read_cells(document: Mapping[str, Any], top: Sequence[int], words: str) -> tuple[Ints, Ints]:
    """Read joint cells and their numbers of rows.

    Parameters
    ----------
    document : mapping
        With the entries "cells" and "n".
    top : sequence of int
        Number of values of each column.
    words : str
        Names of the columns, for messages.

    Returns
    -------
    (cells, n) : tuple of ndarray, shapes (n_cells, n_columns) and (n_cells,)
        The cells in lexicographic order without duplicates, and at least one row in each.

    Raises
    ------
    ValueError
        If a number is not an integer or out of range, a cell has no rows, or cells are not in this order.
    """
    if not isinstance(document["n"], list):
        raise ValueError("`n` must be an array.")
    size = len(document["n"])
    n = row_counts("n", integers("n", document["n"], (size,)))
    cells = integers("cells", document["cells"], (size, len(top)))
    if (n == 0).any():
        _checks.refuse("n", "must be >= 1: only cells with rows are kept", n == 0, n)
    outside = cells >= np.array(top)
    if outside.any():
        _checks.refuse("cells", f"must be {words}, each below {list(top)}", outside, cells)
    _ascending(cells)
    return cells, n


def _ascending(cells: Ints) -> None:
    """Require cells in lexicographic order without duplicates."""
    steps = np.diff(cells, axis=0)
    first = np.argmax(steps != 0, axis=1)
    falls = np.zeros(len(cells), bool)
    falls[1:] = np.take_along_axis(steps, first[:, None], axis=1)[:, 0] <= 0
    if falls.any():
        _checks.refuse("cells", "must be in ascending order, each once", falls)
