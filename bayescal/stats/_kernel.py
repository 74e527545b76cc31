"""The hot loop: the only pass over rows. Chunked, so that it needs no memory beside the input."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.bins import Bins

Array = NDArray[Any]

#: Rows at a time: all temporaries of a chunk stay in the processor's second-level cache.
CHUNK = 16_384
#: Up to here floor(c * M) is off by at most one in float32, which the comparison with the edges repairs.
FAST_INDEX_BINS = 100_000


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows; the first axis of a (2, M) array is the outcome."""

    cells: NDArray[np.int64]  # (2, M) rows
    weight: NDArray[np.float64]  # (2, M) sum of w
    deviation: NDArray[np.float64]  # (2, M) sum of w (c - midpoint)
    deviation_sq: NDArray[np.float64]  # (M,) sum of w (c - midpoint)^2
    weight_sq: NDArray[np.float64]  # (M,) sum of w^2


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


def accumulate(confidence: Array, outcome: Array, weight: Array | None, bins: Bins) -> Sums:
    """Sum rows into bins and outcomes, in float64, centred on the midpoints so that nothing cancels.

    Parameters
    ----------
    confidence, outcome, weight : ndarray, shape (n_rows,)
        Checked columns; `weight` may be None for unit weights.
    bins : Bins
        The edges.

    Returns
    -------
    Sums
        What every posterior needs.
    """
    size = len(bins)
    edges, mid = bins.edges_as(confidence.dtype), bins.midpoints
    cells = np.zeros(2 * size, np.int64)
    sums = np.zeros((2, 2 * size))  # weight, deviation by cell
    squares = np.zeros((2, size))  # deviation_sq, weight_sq by bin
    for start in range(0, len(outcome), CHUNK):
        rows = slice(start, start + CHUNK)
        c = confidence[rows]
        index = _index(c, edges, bins.kind == "equal-width")
        deviation = c - mid[index]
        cell = index + size * outcome[rows].astype(np.intp)
        cells += np.bincount(cell, minlength=2 * size)
        if weight is None:
            sums[1] += np.bincount(cell, deviation, 2 * size)
            squares[0] += np.bincount(index, deviation * deviation, size)
        else:
            w = weight[rows]
            moment = w * deviation
            sums[0] += np.bincount(cell, w, 2 * size)
            sums[1] += np.bincount(cell, moment, 2 * size)
            squares[0] += np.bincount(index, moment * deviation, size)
            squares[1] += np.bincount(index, w * w, size)
    if weight is None:
        sums[0] = cells
        squares[1] = cells.reshape(2, size).sum(axis=0)
    shape = (2, size)
    return Sums(cells.reshape(shape), sums[0].reshape(shape), sums[1].reshape(shape), squares[0], squares[1])
