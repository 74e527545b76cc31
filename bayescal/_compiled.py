"""The loops over rows once more, compiled by numba. Imported by `_loops` only, when it pays.

Every sum is taken in the order in which the numpy loops take it, so that both give the same bits.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

#: Rows whose bins are found (by vector instructions) before they are added.
BLOCK = 2048
#: Rows of a matrix that are turned into columns at a time.
TILE = 256


def _compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile at the first call, and keep the result on disk where that is possible."""

    def compiled(function: Callable[..., Any]) -> Any:
        known = {"error_model": "numpy", "nogil": True, **options}
        try:
            return numba.njit(cache=True, **known)(function)
        except RuntimeError:  # no folder for the cache can be written to
            return numba.njit(**known)(function)

    return compiled


@_compiled()
def _in_range(confidence):
    """NaN fails both comparisons. No early return: that would stop vector instructions."""
    bad = 0
    for j in range(len(confidence)):
        bad |= np.int64(not (confidence[j] >= 0)) | np.int64(not (confidence[j] <= 1))
    return bad == 0


@_compiled()
def _binary(outcome):
    bad = 0
    for j in range(len(outcome)):
        bad |= np.int64((outcome[j] != 0) & (outcome[j] != 1))
    return bad == 0


@_compiled()
def _equal_width(confidence, index, edges, size, near_edge):
    """floor(c M), which is the bin but for rounding: blocks with a confidence near an edge are compared with edges.

    The edges 0 and 1, where confidences pile up, have a bin on one side only and nothing to compare.
    """
    scale, last = np.float64(size), np.int32(size - 1)
    near = 0
    for j in range(len(confidence)):
        scaled = np.float64(confidence[j]) * scale
        i = min(np.int32(scaled), last)
        rest = scaled - i
        near |= np.int64((rest < near_edge) & (i > 0)) | np.int64((rest > 1 - near_edge) & (i < last))
        index[j] = i
    if near:
        for j in range(len(confidence)):
            i = np.int64(index[j])
            c = confidence[j]
            i -= np.int64(c < edges[i])
            i += np.int64(c >= edges[i + 1])
            index[j] = min(i, size - 1)


@_compiled()
def _by_table(confidence, index, edges, table):
    """Edges of any kind: a grid of 2^g cells says between which bins to search; c 2^g is exact."""
    cells = np.float64(len(table) - 2)
    for j in range(len(confidence)):
        c = confidence[j]
        g = np.int64(np.float64(c) * cells)
        low, high = np.int64(table[g]), np.int64(table[g + 1])
        while low < high:
            middle = (low + high + 1) >> 1
            if c >= edges[middle]:
                low = middle
            else:
                high = middle - 1
        index[j] = low


@_compiled()
def _find(confidence, index, edges, size, near_edge, table):
    if near_edge >= 0:
        _equal_width(confidence, index, edges, size, near_edge)
    else:
        _by_table(confidence, index, edges, table)


@_compiled()
def _add(confidence, outcome, index, middle, sums, lanes):
    """Add a block of unweighted rows to `sums`, which holds 3 numbers for each lane and cell."""
    size = np.uint64(len(middle))
    lane_size, mask = np.uint64(6) * size, np.uint64(lanes - 1)
    for j in range(len(confidence)):
        b = np.uint64(index[j])  # unsigned: a negative index would have to be looked for
        d = np.float64(confidence[j]) - middle[b]
        k = (b + size * np.uint64(outcome[j])) * np.uint64(3) + (np.uint64(j) & mask) * lane_size
        sums[k] += 1.0
        sums[k + np.uint64(1)] += d
        sums[k + np.uint64(2)] += d * d


@_compiled()
def _add_weighted(confidence, outcome, weight, index, middle, sums, lanes):
    """Add a block of weighted rows to `sums`, which holds 5 numbers for each lane and cell; the largest weight."""
    size = np.uint64(len(middle))
    lane_size, mask = np.uint64(10) * size, np.uint64(lanes - 1)
    heaviest = 0.0
    for j in range(len(confidence)):
        w = weight[j]
        if not (0.0 <= w < np.inf):
            return np.nan
        heaviest = max(heaviest, w)
        b = np.uint64(index[j])
        d = np.float64(confidence[j]) - middle[b]
        moment = w * d
        k = (b + size * np.uint64(outcome[j])) * np.uint64(5) + (np.uint64(j) & mask) * lane_size
        sums[k] += 1.0
        sums[k + np.uint64(1)] += moment
        sums[k + np.uint64(2)] += moment * d
        sums[k + np.uint64(3)] += w
        sums[k + np.uint64(4)] += w * w
    return heaviest


@_compiled()
def _collect(sums, total, lanes, fields):
    """Add the lanes to one another, and to the total."""
    for cell in range(len(total)):
        for field in range(fields):
            part = 0.0
            for lane in range(lanes):
                part += sums[(lane * len(total) + cell) * fields + field]
            total[cell, field] += part


@_compiled()
def add_rows(confidence, outcome, weight, edges, middle, near_edge, table, lanes, chunk):
    """Sums over rows, shape (2 M, 5): rows, w d, w d^2, w, w^2 by outcome and bin; and the largest weight.

    Neighbouring rows are added in different lanes: additions to one number wait for one another. The largest weight
    is NaN if any value is not allowed; then the sums mean nothing. Without weights the last two sums are 0.
    """
    size = len(middle)
    fields = 3 if weight is None else 5
    total = np.zeros((2 * size, 5))
    index = np.empty(BLOCK, np.int32)
    sums = np.empty(2 * size * lanes * fields)
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, len(outcome), chunk):
        end = min(start + chunk, len(outcome))
        sums[:] = 0.0
        for begin in range(start, end, BLOCK):
            rows = slice(begin, min(begin + BLOCK, end))
            c, z = confidence[rows], outcome[rows]
            if not (_in_range(c) and _binary(z)):
                return total, np.nan
            _find(c, index, edges, size, near_edge, table)
            if weight is None:
                _add(c, z, index, middle, sums, lanes)
            else:
                largest = _add_weighted(c, z, weight[rows], index, middle, sums, lanes)
                if not largest >= 0:
                    return total, np.nan
                heaviest = max(heaviest, largest)
        _collect(sums, total, lanes, fields)
    return total, heaviest


@_compiled(fastmath={"reassoc", "nsz"})
def top_label(matrix, label, confidence, correct, columns, tolerance):
    """Largest entry of each row, and whether the first such column is the label; False if a value is not allowed.

    The number of columns is the length of a tuple, hence known when this is compiled: the loops over columns are
    unrolled, those over rows are turned into vector instructions.
    """
    size = len(columns)
    zero, one = matrix.dtype.type(0), matrix.dtype.type(1)
    flat = matrix.reshape(matrix.size)
    tile = np.empty(size * TILE, matrix.dtype)
    top, place = np.empty(TILE, matrix.dtype), np.empty(TILE, np.int32)
    for begin in range(0, len(label), TILE):
        rows = min(TILE, len(label) - begin)
        cells = flat[begin * size : (begin + rows) * size]
        for r in range(rows):
            for k in range(size):
                tile[k * TILE + r] = cells[r * size + k]
        for r in range(rows, TILE):  # the last tile is filled with its first row: loops of known length are faster
            for k in range(size):
                tile[k * TILE + r] = cells[k]
        bad = np.int32(0)
        for r in range(TILE):
            p = tile[r]
            highest, lowest, total, first = p, p, p, np.int32(0)
            for k in range(1, size):
                p = tile[k * TILE + r]
                first = np.int32(k) if p > highest else first
                highest = p if p > highest else highest
                lowest = p if p < lowest else lowest
                total += p  # NaN stays
            top[r], place[r] = highest, first
            bad |= np.int32(not (lowest >= zero)) | np.int32(not (highest <= one))
            bad |= np.int32(not (abs(total - one) <= tolerance))
        z = label[begin : begin + rows]
        c, right = confidence[begin : begin + rows], correct[begin : begin + rows]
        for r in range(rows):
            bad |= np.int32((z[r] < 0) | (z[r] >= size))
            right[r] = place[r] == z[r]
            c[r] = top[r]
        if bad:
            return False
    return True


@_compiled(fastmath={"reassoc", "nsz"})
def top_of_many(matrix, bits, label, confidence, correct, one, tolerance):
    """The same for many columns, in vector instructions along a row.

    Bits of floats >= 0 are ordered as the floats are; those of -0.0, of negative numbers and of NaN are beyond those of
    `one`, and are left to who looks again.
    """
    size = matrix.shape[1]
    for i in range(len(label)):
        row, code, z = matrix[i], bits[i], label[i]
        highest, total = code[0], row[0]
        for k in range(1, size):
            highest = max(highest, code[k])
            total += row[k]
        if highest > one or not (abs(total - 1.0) <= tolerance) or z < 0 or z >= size:
            return False
        right = code[z] == highest
        if right:
            earlier = np.int64(0)
            for k in range(z):
                earlier |= np.int64(code[k] == highest)
            right = earlier == 0
        correct[i] = right
        confidence[i] = highest
    return True


@_compiled(fastmath={"reassoc", "nsz"})
def _sum(values):
    total = 0.0
    for j in range(len(values)):
        total += values[j]
    return total


@_compiled()
def add_classes(matrix, label, weight, edges, middle, near_edge, table, chunk, tolerance):
    """Sums over rows for every column, shape (K, 2 M, 5) as in `add_rows`; the second value is NaN as there."""
    rows, classes = matrix.shape
    size = len(middle)
    total = np.zeros((classes, 2 * size, 5))
    sums = np.empty((classes, 2 * size, 5))
    index = np.empty(classes, np.int32)
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, rows, chunk):
        sums[:] = 0.0
        for i in range(start, min(start + chunk, rows)):
            c, z = matrix[i], np.int64(label[i])
            if z < 0 or z >= classes or not _in_range(c) or not abs(_sum(c) - 1) <= tolerance:
                return total, np.nan
            w = 1.0 if weight is None else np.float64(weight[i])
            if not (0.0 <= w < np.inf):
                return total, np.nan
            heaviest = max(heaviest, w)
            _find(c, index, edges, size, near_edge, table)
            for k in range(classes):
                b = np.int64(index[k])
                d = np.float64(c[k]) - middle[b]
                cell = sums[k, b + size if k == z else b]
                cell[0] += 1.0
                cell[1] += w * d
                cell[2] += w * d * d
                cell[3] += w
                cell[4] += w * w
        total += sums
    return total, heaviest
