"""Right-censored counts on a grid of times as plain data: only cells with rows are stored."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._arrays import Array, Floats
from bayescal.stats.documents import sums as plain
from bayescal.stats.stored import register_counts
from bayescal.stats.sums import sums_at
from bayescal.survival.counts import SurvivalCounts, checked_times

SUMS = ("n", "deviation", "deviation_sq")
NEEDED = ("bins", "times", "cause", "rows", "cell", *SUMS)


def survival_document(counts: SurvivalCounts) -> dict[str, Any]:
    """Return bins, grid of times, and the sums of the cells with rows, by their position."""
    used = np.flatnonzero(counts.exits)
    weights: dict[str, Any] = {}
    if counts.weight is not None and counts.weight_sq is not None:
        weights = {"weight": counts.weight.ravel()[used].tolist(), "weight_sq": counts.weight_sq.tolist()}
    sums = zip(SUMS, (counts.exits, counts.deviation, counts.deviation_sq), strict=True)
    return {
        "bins": plain.bins_document(counts.bins),
        "times": counts.times.tolist(),
        "cause": counts.cause,
        "rows": counts.n_rows,
        "cell": used.tolist(),
        **{name: values.ravel()[used].tolist() for name, values in sums},
        **weights,
    }


def survival_from_document(document: Mapping[str, Any]) -> SurvivalCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, list(NEEDED), plain.WEIGHTS)
    bins = plain.bins_from_document(document["bins"])
    length = len(document["times"]) if isinstance(document["times"], list) else 0
    times = checked_times(plain.floats("times", document["times"], (length,)))
    cause = int(_checks.whole_number("cause", int(plain.integers("cause", document["cause"], ()))))
    empty = SurvivalCounts.empty(times=times, bins=bins, cause=cause)
    size = len(document["cell"]) if isinstance(document["cell"], list) else 0
    cell = plain.integers("cell", document["cell"], (size,))
    if np.any(np.diff(cell) <= 0) or (size and cell[-1] >= empty.exits.size):
        raise ValueError(f"`cell` must hold increasing numbers of cells from 0 to {empty.exits.size - 1}.")
    n = plain.integers("n", document["n"], (size,))
    if (n == 0).any():
        raise ValueError("`n` must hold numbers of rows > 0, because cells without rows are not stored.")
    plain.require_total("rows", document["rows"], n)
    off, squares = (plain.floats(name, document[name], (size,)) for name in SUMS[1:])
    if (squares < 0).any():
        raise ValueError("`deviation_sq` must hold numbers >= 0.")
    bin_of = (cell // (len(times) + 1)) % len(bins)
    weight, weight_sq = _read_weights(document, n, bin_of, len(bins))
    total, half = (n if weight is None else weight), (bins.widths / 2)[bin_of]
    plain.within("deviation", "be at most half the width of the bin per row", np.abs(off), half * total, off)
    plain.within("deviation_sq", "be at most (half the width of the bin)^2 per row", squares, half**2 * total, squares)
    plain.within("deviation", "have a square of at most deviation_sq times the rows", off**2, squares * total, off)

    def spread(values: Array) -> Array:
        full = np.zeros(empty.exits.size, values.dtype)
        full[cell] = values
        return full.reshape(empty.exits.shape)

    cell_weights = None if weight is None else spread(weight)
    return SurvivalCounts(bins, times, spread(n), spread(off), spread(squares), cause, cell_weights, weight_sq)


def _read_weights(
    document: Mapping[str, Any], n: Array, bin_of: Array, size: int
) -> tuple[Floats, Floats] | tuple[None, None]:
    """Read sums of weights by cell and of squared weights by bin; None if rows have none."""
    entries = [name for name in plain.WEIGHTS if name in document]
    if not entries:
        return None, None
    if len(entries) < len(plain.WEIGHTS):
        raise ValueError(f"`{entries[0]}` stands alone: weights need both of {list(plain.WEIGHTS)}.")
    weight = plain.floats("weight", document["weight"], n.shape)
    weight_sq = plain.floats("weight_sq", document["weight_sq"], (size,))
    for name, values in (("weight", weight), ("weight_sq", weight_sq)):
        if (values < 0).any():
            raise ValueError(f"`{name}` must hold numbers >= 0.")
    rows = sums_at(bin_of, n, size).astype(np.int64)
    plain.require_possible_weights("", rows, sums_at(bin_of, weight, size), weight_sq)
    return weight, weight_sq


register_counts(
    "survival",
    SurvivalCounts,
    survival_document,
    survival_from_document,
    "counts of right-censored rows",
    "holds right-censored rows, and a report has outcomes. `bayescal.survival.evaluate_counts` evaluates them in "
    "Python.",
    binary=lambda counts: counts.binned,
)
