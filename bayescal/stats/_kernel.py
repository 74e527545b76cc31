"""The hot loop: the only pass over rows, in chunks, so it needs no memory beside the input; compiled where it pays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._loops import compiled
from bayescal.stats.bins import Bins

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Rows at a time: all temporaries of a chunk stay in the processor's second-level cache. Sums are taken within chunks
#: first, so it decides the last digits.
CHUNK = 16_384
#: Up to here floor(c * M) is off by at most one in float32, which the comparison with the edges repairs.
FAST_INDEX_BINS = 100_000
#: Neighbouring rows are added in lanes of their own until there are so many sums: additions to one number wait for
#: one another, and few bins would make a queue. A power of two, as lanes are.
SUMS_AT_ONCE = 2048
#: Cells of the grid that finds bins of any kind.
GRID = 4096
#: What numpy needs for a row, roughly; see `bayescal._loops`.
SECONDS_A_ROW = 8e-9
#: Rows, w, w d, w d^2, w^2.
FIELDS = 5


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows; the first axis of a (2, M) array is the outcome."""

    cells: NDArray[np.int64]  # (2, M) rows
    weight: Floats  # (2, M) sum of w
    deviation: Floats  # (2, M) sum of w (c - midpoint)
    deviation_sq: Floats  # (M,) sum of w (c - midpoint)^2
    weight_sq: Floats  # (M,) sum of w^2


def bin_index(confidence: Array, bins: Bins) -> NDArray[np.intp]:
    """Bin of each confidence, decided by comparison with the stored edges in the confidence's own dtype.

    Parameters
    ----------
    confidence : ndarray of float, shape (n_rows,)
        In [0, 1].
    bins : Bins
        The edges.

    Returns
    -------
    ndarray of intp, shape (n_rows,)
        b with e_b <= c < e_{b+1}; a confidence of 1 lies in the last bin.
    """
    return _index(confidence, bins.edges_as(confidence.dtype), bins.kind == "equal-width")


def _index(confidence: Array, edges: Array, equal_width: bool) -> NDArray[np.intp]:
    last = len(edges) - 2
    if not equal_width or last >= FAST_INDEX_BINS or confidence.dtype.itemsize < 4:
        return np.minimum(np.searchsorted(edges, confidence, side="right") - 1, last)
    index = (confidence * edges.dtype.type(last + 1)).astype(np.intp)
    np.minimum(index, last, out=index)
    index -= confidence < edges[index]
    index += confidence >= edges[1:][index]
    return np.minimum(index, last, out=index)


def accumulate(confidence: Array, outcome: Array, weight: Array | None, bins: Bins) -> tuple[Sums, float] | None:
    """Sum rows into bins and outcomes, in float64, centred on the midpoints so that nothing cancels.

    Parameters
    ----------
    confidence, outcome, weight : ndarray of numbers, shape (n_rows,)
        Columns, looked at in the same pass; `weight` may be None for unit weights.
    bins : Bins
        The edges.

    Returns
    -------
    (Sums, float) or None
        What every posterior needs, and the largest weight (1 for unit weights). None if a confidence is not in [0, 1],
        an outcome neither 0 nor 1, a weight negative or not finite: who can say more of it must look again.
    """
    loops = compiled("rows", (confidence, outcome, weight), len(outcome) * SECONDS_A_ROW)
    if loops is None:
        total, heaviest = _with_numpy(confidence, outcome, weight, bins)
    else:
        search = _search(bins, confidence.dtype)
        total, heaviest = loops.add_rows(confidence, outcome, weight, *search, _lanes(len(bins)), CHUNK)
    return None if np.isnan(heaviest) else (_named(total, weight is not None), heaviest)


def accumulate_classes(
    matrix: Array, label: Array, weight: Array | None, bins: Bins, tolerance: float
) -> tuple[list[Sums], float] | None:
    """Sum rows into bins and outcomes for every class, in one pass over the matrix.

    Parameters
    ----------
    matrix : ndarray of float, shape (n_rows, n_classes)
        Probabilities.
    label : ndarray of int, shape (n_rows,)
        Class of each row; its outcome is 1 for this column and 0 for the others.
    weight : ndarray of float, shape (n_rows,), or None
        Weights.
    bins : Bins
        The edges, the same for all classes.
    tolerance : float
        How far from 1 a row may add up to.

    Returns
    -------
    (list of Sums, float) or None
        One a class, and the largest weight. None if any value is not allowed, as in `accumulate`.
    """
    loops = compiled("classes", (matrix, label, weight), matrix.size * SECONDS_A_ROW)
    if loops is None:
        total, heaviest = _classes_with_numpy(matrix, label, weight, bins, tolerance)
    else:
        total, heaviest = loops.add_classes(matrix, label, weight, *_search(bins, matrix.dtype), CHUNK, tolerance)
    if np.isnan(heaviest):
        return None
    return [_named(of_class, weight is not None) for of_class in total], heaviest


def _lanes(size: int) -> int:
    return 2 ** max(0, int(np.log2(SUMS_AT_ONCE / (2 * size))))


def _search(bins: Bins, dtype: Any) -> tuple[Floats, Floats, float, NDArray[np.int32]]:
    """Edges as the dtype has them, midpoints, and how compiled loops find a bin.

    Either the distance from an edge, in bins, within which floor(c M) is not trusted; or -1 and, for each cell of a
    grid, the bin of its lower end.
    """
    edges = bins.edges_as(dtype).astype(np.float64)
    if bins.kind == "equal-width":
        # c M and the edge k / M are each rounded once: together they are off by M ulp(1) at most; four times that
        near_edge = 4 * len(bins) * float(np.finfo(dtype).eps)
        return edges, bins.midpoints, near_edge, np.zeros(0, np.int32)
    ends = np.arange(GRID + 2) / GRID
    table = np.minimum(np.searchsorted(edges, ends, side="right") - 1, len(bins) - 1).astype(np.int32)
    return edges, bins.midpoints, -1.0, table


def _with_numpy(confidence: Array, outcome: Array, weight: Array | None, bins: Bins) -> tuple[Floats, float]:
    size, lanes = len(bins), _lanes(len(bins))
    edges, equal_width, mid = bins.edges_as(confidence.dtype), bins.kind == "equal-width", bins.midpoints
    total = np.zeros((2 * size, FIELDS))
    lane = np.arange(CHUNK) % lanes * (2 * size)
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, len(outcome), CHUNK):
        rows = slice(start, start + CHUNK)
        c, z = confidence[rows], outcome[rows]
        w = None if weight is None else weight[rows].astype(np.float64, copy=False)
        if not _allowed(c, z, w):
            return total, np.nan
        index = _index(c, edges, equal_width)
        cell = index + size * z.astype(np.intp)
        cell += lane[: len(cell)]
        parts = _chunk_sums(cell, c - mid[index], w, 2 * size * lanes)
        total += parts.reshape(lanes, 2 * size, FIELDS).sum(axis=0)
        heaviest = heaviest if w is None else max(heaviest, float(w.max()))
    return total, heaviest


def _classes_with_numpy(
    matrix: Array, label: Array, weight: Array | None, bins: Bins, tolerance: float
) -> tuple[Floats, float]:
    size, classes = len(bins), matrix.shape[1]
    edges, equal_width, mid = bins.edges_as(matrix.dtype), bins.kind == "equal-width", bins.midpoints
    total = np.zeros((classes, 2 * size, FIELDS))
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, len(label), CHUNK):
        rows = slice(start, start + CHUNK)
        block, z = matrix[rows], label[rows]
        w = None if weight is None else weight[rows].astype(np.float64, copy=False)
        sums = block.sum(axis=1, dtype=np.float64)
        fine = z.min() >= 0 and z.max() < classes and bool((np.abs(sums - 1) <= tolerance).all())
        if not (fine and _allowed(block, z[:0], w)):
            return total, np.nan
        for k in range(classes):
            index = _index(block[:, k], edges, equal_width)
            total[k] += _chunk_sums(index + size * (z == k), block[:, k] - mid[index], w, 2 * size)
        heaviest = heaviest if w is None else max(heaviest, float(w.max()))
    return total, heaviest


def _allowed(confidence: Array, outcome: Array, weight: Array | None) -> bool:
    """Comparisons that NaN fails."""
    return bool(
        confidence.min() >= 0
        and confidence.max() <= 1
        and (outcome.dtype.kind == "b" or ((outcome == 0) | (outcome == 1)).all())
        and (weight is None or (weight.min() >= 0 and weight.max() < np.inf))
    )


@np.errstate(over="ignore")  # squares of weights that are too large: refused, from the largest weight
def _chunk_sums(cell: NDArray[np.intp], deviation: Floats, weight: Array | None, size: int) -> Floats:
    """Shape (size, FIELDS); without weights w and w^2 stay 0."""
    sums = np.zeros((size, FIELDS))
    sums[:, 0] = np.bincount(cell, minlength=size)
    moment = deviation if weight is None else weight * deviation
    sums[:, 1] = np.bincount(cell, moment, size)
    sums[:, 2] = np.bincount(cell, moment * deviation, size)
    if weight is not None:
        sums[:, 3] = np.bincount(cell, weight, size)
        sums[:, 4] = np.bincount(cell, weight * weight, size)
    return sums


def _named(total: Floats, weighted: bool) -> Sums:
    """From shape (2 M, FIELDS); rows are exact in float64 up to 2^53 of them."""
    rows, deviation, deviation_sq, weight, weight_sq = np.moveaxis(total.reshape(2, -1, FIELDS), -1, 0).copy()
    if not weighted:
        weight, weight_sq = rows, rows
    return Sums(rows.astype(np.int64), weight, deviation, deviation_sq.sum(axis=0), weight_sq.sum(axis=0))
