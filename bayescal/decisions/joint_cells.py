"""Joint cells: the score cells of several models and the outcome, as integer keys, and sums over their rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.sums import row_counts, summed_by_key, sums_at

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows per chunk.
CHUNK = 262_144
#: Maximum number of joint cells for an array of all of them; with more, only cells that occur are stored.
DENSE_CELLS = 1_000_000
#: Joint cells have integers as keys, in an engine as float64.
MOST_KEYS, MOST_ENGINE_KEYS = 2**62, 2**53


def joint_sums(rows: Sequence[Predictions], bins: Bins) -> tuple[Ints, Ints, Floats]:
    """Return the joint cells that occur, and the numbers of rows and the sums of weights in each."""
    size = 2 * len(bins) ** len(rows)
    require_keys(size, MOST_KEYS, len(bins) - 1, len(rows))
    outcome, weight = rows[0].outcome, rows[0].weight
    dense = [np.zeros(size) for _ in range(1 if weight is None else 2)] if size <= DENSE_CELLS else None
    parts: list[tuple[Ints, Ints, Floats]] = []
    for start in range(0, len(outcome), CHUNK):
        chunk = slice(start, start + CHUNK)
        key = np.zeros(len(outcome[chunk]), np.int64)
        for each in rows:
            key = key * len(bins) + bin_index(each.confidence[chunk], bins)
        key = 2 * key + (outcome[chunk] == 1)
        w = None if weight is None else weight[chunk]
        if dense is not None:
            for total, value in zip(dense, [None, w], strict=False):
                total += sums_at(key, value, size)
        else:
            present, at = np.unique(key, return_inverse=True)
            count = np.bincount(at, minlength=len(present))
            parts.append((present, count, sums_at(at, w, len(present))))
    if dense is not None:
        keys = np.flatnonzero(dense[0])
        return _unpacked(keys, len(bins), len(rows)), dense[0][keys].astype(np.int64), dense[-1][keys]
    present, n, total = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _by_key(present, n, total, len(bins), len(rows))


def merged(cells: Ints, n: Ints, weight: Floats, n_bins: int) -> tuple[Ints, Ints, Floats]:
    """Return joint cells in order, each once, with sums of rows and weights."""
    key = np.zeros(len(cells), np.int64)
    for column in cells[:, :-1].T:
        key = key * n_bins + column
    return _by_key(2 * key + cells[:, -1], n, weight, n_bins, cells.shape[1] - 1)


def _by_key(key: Ints, n: Ints, weight: Floats, n_bins: int, n_models: int) -> tuple[Ints, Ints, Floats]:
    keys, at = np.unique(key, return_inverse=True)
    rows = row_counts("n", summed_by_key(at, n, len(keys)))
    return _unpacked(keys, n_bins, n_models), rows, sums_at(at, weight, len(keys))


def _unpacked(keys: Ints, n_bins: int, n_models: int) -> Ints:
    rest, outcome = np.divmod(keys, 2)
    columns = [outcome]
    for _ in range(n_models):
        rest, own = np.divmod(rest, n_bins)
        columns.insert(0, own)
    return np.stack(columns, axis=1)


def only_by_outcome(outcome: Ints, n: Ints, weight: Floats, weight_sq: Floats) -> bool:
    """Return whether all weights of one outcome are equal, and differ between the outcomes.

    Parameters
    ----------
    outcome, n, weight : ndarray, shape (n_cells,)
        Outcome, rows and sum of weights of each cell.
    weight_sq : ndarray, shape (2,)
        Sum of squared weights, by outcome.
    """
    of_outcome = sums_at(outcome, weight, 2)
    if not (weight_sq > 0).all():
        return False
    size = weight_sq / of_outcome  # the weight of each row, if all positive weights of the outcome are equal
    rows = np.append(weight / size[outcome], of_outcome / size)  # then whole numbers, of cells and in all
    whole = np.isclose(rows, np.rint(rows), rtol=1e-9, atol=1e-9)
    whole &= rows <= np.append(n, sums_at(outcome, n, 2)) * (1 + 1e-9)
    equal = np.isclose(size[0], size[1], rtol=1e-9, atol=0)
    return bool(whole.all() and rows[-2:].min() > 1.5 and not equal)


def require_keys(size: int, most: int, n_thresholds: int, n_models: int) -> None:
    """Refuse joint cells whose keys would not be exact."""
    if size > most:
        raise ValueError(
            f"{n_models} models with {n_thresholds} thresholds have {size:.1g} joint cells, more than {most:.1g}; use "
            "fewer thresholds, or fewer models at a time."
        )
