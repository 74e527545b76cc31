"""Right-censored counts on a grid of times as plain data: only cells with rows are stored."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _files
from bayescal.stats.documents.bins import bins_document, bins_from_document
from bayescal.stats.documents.values import floats, integers, require_total, within
from bayescal.stats.survival_counts import SurvivalCounts, checked_times

SUMS = ("n", "deviation", "deviation_sq")
NEEDED = ("bins", "times", "cause", "rows", "cell", *SUMS)


def survival_document(counts: SurvivalCounts) -> dict[str, Any]:
    """Return bins, grid of times, and the sums of the cells with rows, by their position."""
    used = np.flatnonzero(counts.exits)
    sums = zip(SUMS, (counts.exits, counts.deviation, counts.deviation_sq), strict=True)
    return {
        "bins": bins_document(counts.bins),
        "times": counts.times.tolist(),
        "cause": counts.cause,
        "rows": counts.n_rows,
        "cell": used.tolist(),
        **{name: values.ravel()[used].tolist() for name, values in sums},
    }


def survival_from_document(document: Mapping[str, Any]) -> SurvivalCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, list(NEEDED))
    bins = bins_from_document(document["bins"])
    length = len(document["times"]) if isinstance(document["times"], list) else 0
    times = checked_times(floats("times", document["times"], (length,)))
    cause = int(_checks.whole_number("cause", int(integers("cause", document["cause"], ()))))
    empty = SurvivalCounts.empty(times=times, bins=bins, cause=cause)
    size = len(document["cell"]) if isinstance(document["cell"], list) else 0
    cell = integers("cell", document["cell"], (size,))
    if np.any(np.diff(cell) <= 0) or (size and cell[-1] >= empty.exits.size):
        raise ValueError(f"`cell` must hold increasing numbers of cells from 0 to {empty.exits.size - 1}.")
    n = integers("n", document["n"], (size,))
    if (n == 0).any():
        raise ValueError("`n` must hold numbers of rows > 0, because cells without rows are not stored.")
    require_total("rows", document["rows"], n)
    off, squares = (floats(name, document[name], (size,)) for name in SUMS[1:])
    if (squares < 0).any():
        raise ValueError("`deviation_sq` must hold numbers >= 0.")
    half = (bins.widths / 2)[(cell // (len(times) + 1)) % len(bins)]
    within("deviation", "be at most half the width of the bin per row", np.abs(off), half * n, off)
    within("deviation_sq", "be at most (half the width of the bin)^2 per row", squares, half**2 * n, squares)
    within("deviation", "have a square of at most deviation_sq times the rows", off**2, squares * n, off)

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        full = np.zeros(empty.exits.size, values.dtype)
        full[cell] = values
        return full.reshape(empty.exits.shape)

    return SurvivalCounts(bins, times, spread(n), spread(off), spread(squares), cause)
