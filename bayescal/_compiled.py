"""Loops compiled by numba; this file is imported when one of them is needed, since numba takes a second to import.

Loops over rows add in the same order as the numpy loops, so that both return equal results bit for bit. `_loops`
decides when they save time. `binomial_shares` makes other draws than numpy's generator.
"""

from math import sqrt

import numpy as np

from bayescal._float_bits import EXPONENT, FIRST, FLOOR, MASK, SHIFT
from bayescal._jit import add_at, add_powers, bits_of, compiled, float_of

BLOCK = 2048  #: Rows per block: bins are found for a block (by vector instructions), then its rows are added.
TILE = 256  #: Rows of a matrix that are transposed at a time.
FIELDS = 8  #: Number of sums per bin and outcome of a class, see `stats._kernel.FIELDS`.
GUIDE = 512  #: Of `binomial_shares`: cells of the table that tells where the search for a uniform number begins.
REACH = 9.0  #: Of `binomial_shares`: numbers of successes that are tabulated, in standard deviations from the mean.


@compiled()
def _in_range(confidence):
    """Return whether all values are in [0, 1]; NaN is not. An early return would prevent vector instructions."""
    bad = False
    for j in range(len(confidence)):
        bad |= not (confidence[j] >= 0) or not (confidence[j] <= 1)
    return not bad


@compiled(part=True)
def _by_product(confidence, index, deviation, scale, sure):
    """Set the bin to floor(c M) and the deviation to that of c M from the middle of the bin.

    Return False if a confidence is within rounding of an edge, out of range, NaN or 1: one comparison detects all.
    """
    unsure = False
    for j in range(len(confidence)):
        scaled = np.float64(confidence[j]) * scale
        i = np.int32(scaled)
        d = scaled - i - 0.5
        unsure |= not (abs(d) <= sure) or not (scaled < scale)
        index[j], deviation[j] = i, d
    return not unsure


@compiled(part=True)
def _by_product_at_the_ends(confidence, index, deviation, scale, sure):
    """As `_by_product`, but exact at 0 and 1, which are frequent and have a bin on one side only."""
    last = np.int32(scale) - np.int32(1)
    unsure = False
    for j in range(len(confidence)):
        scaled = np.float64(confidence[j]) * scale
        i = min(np.int32(scaled), last)
        d = scaled - i - 0.5
        unsure |= (d < -sure and i > 0) or (d > sure and i < last)
        index[j], deviation[j] = i, d
    return not unsure


@compiled(part=True)
def _by_comparison(confidence, index, deviation, edges, scale):
    """As `_by_product`, but decide by comparison with the nearest edge."""
    last = np.int64(scale) - 1
    for j in range(len(confidence)):
        c = confidence[j]
        scaled = np.float64(c) * scale
        nearest = np.int64(scaled + 0.5)
        i = min(nearest - np.int64(c < edges[nearest]), last)
        index[j], deviation[j] = i, scaled - i - 0.5


@compiled(part=True)
def _by_table(confidence, index, deviation, edges, middle, table):
    """Find bins for any edges: a grid of 2^g cells limits the binary search; c 2^g is exact."""
    cells = np.float64(len(table) - 2)
    for j in range(len(confidence)):
        c = confidence[j]
        g = np.int64(np.float64(c) * cells)
        low, high = np.int64(table[g]), np.int64(table[g + 1])
        while low < high:
            half = (low + high + 1) >> 1
            if c >= edges[half]:
                low = half
            else:
                high = half - 1
        index[j], deviation[j] = low, np.float64(c) - middle[low]


@compiled(part=True)
def _place(confidence, index, deviation, edges, middle, scale, sure, table):
    """Find the bin and the deviation of each confidence; return False if a confidence is not in [0, 1]."""
    if scale > 0:
        if _by_product(confidence, index, deviation, scale, sure):
            return True
        if not _in_range(confidence):
            return False
        if not _by_product_at_the_ends(confidence, index, deviation, scale, sure):
            _by_comparison(confidence, index, deviation, edges, scale)
        return True
    if not _in_range(confidence):
        return False
    _by_table(confidence, index, deviation, edges, middle, table)
    return True


@compiled(part=True)
def _cell(c, z, number, last, cells):
    """Return the place of a row, its offset, and whether its outcome is invalid and its probability below FLOOR.

    `number` is the number of its bin. All are floats, and flags are integers, which vector instructions count fastest.
    """
    other = 1.0 - c
    right, one = c > other, z > 0.5
    u = other if right else c
    bits, small = bits_of(u), u < FLOOR
    # the integer that numbers the cell is the fraction of 2^52 plus it, as a float
    cell = max(float_of((bits >> SHIFT) | EXPONENT), FIRST)
    side = (last + cells) - number if right else number
    place = cell + (side + (2.0 * cells if one else 0.0))
    offset = u - (0.0 if small else float_of(bits & MASK))
    bad = z != (1.0 if one else 0.0)
    return place - FIRST, offset, np.int64(bad), np.int64(small & (one != right))


@compiled(part=True)
def _cells(confidence, outcome, index, place, offset, size, cells, fields):
    """Find the places of the sums of rows and their offsets from the lower ends of cells, see `stats._cells.Cells`.

    Return how many outcomes are neither 0 nor 1, and how many probabilities of outcomes are below FLOOR.
    """
    bad = rare = np.int64(0)
    for j in range(len(outcome)):
        c, z = abs(np.float64(confidence[j])), np.float64(outcome[j])
        at, offset[j], is_bad, is_rare = _cell(c, z, np.float64(index[j]), size - 1.0, cells)
        place[j] = np.int32(at) * fields
        bad += is_bad
        rare += is_rare
    return bad, rare


@compiled(part=True)
def _cells_by_product(confidence, outcome, scale, sure, place, offset, cells, fields):
    """As `_by_product` and then `_cells`, in one loop; return the results of both."""
    unsure = bad = rare = np.int64(0)
    for j in range(len(outcome)):
        c, z = np.float64(confidence[j]), np.float64(outcome[j])
        scaled = c * scale
        number = np.float64(np.int32(scaled))
        unsure += np.int64(not (abs(scaled - number - 0.5) <= sure)) + np.int64(not (scaled < scale))
        at, offset[j], is_bad, is_rare = _cell(abs(c), z, number, scale - 1.0, cells)
        place[j] = np.int32(at) * fields
        bad += is_bad
        rare += is_rare
    return unsure > 0, bad, rare


@compiled(part=True)
def _from_starts(confidence, index, offset, starts):
    """Measure offsets from the nearer of the ends of cell and bin, since bins may be much narrower than cells."""
    last = np.int32(starts.shape[1] - 1)
    for j in range(len(confidence)):
        c = np.float64(confidence[j])
        other = 1.0 - c
        right = np.int64(c > other)
        u = abs(other if right else c)
        low = float_of(bits_of(u) & MASK) if u >= FLOOR else 0.0
        offset[j] = u - max(low, starts[right, last - index[j] if right else index[j]])


@compiled(part=True)
def _weights(weight, floats):
    """Copy weights; return the largest, or NaN if one is negative, infinite or NaN."""
    bad, heaviest = False, 0.0
    for j in range(len(weight)):
        w = np.float64(weight[j])
        bad |= not (0.0 <= w < np.inf)
        heaviest = max(heaviest, w)
        floats[j] = w
    return np.nan if bad else heaviest


@compiled(part=True)
def _collect(sums, total, lanes, stride, counts):
    """Add the sums of all lanes to the total, and set them to 0; empty cells are skipped."""
    cells, fields = total.shape
    for cell in range(cells):
        at, rows = cell * fields, 0.0
        for lane in range(lanes):
            rows += sums[at + lane * stride + counts]
        if rows == 0.0:
            continue
        for field in range(fields):
            part = 0.0
            for lane in range(lanes):
                part += sums[at + lane * stride + field]
                sums[at + lane * stride + field] = 0.0
            total[cell, field] += part


@compiled(part=True)
def _places(confidence, outcome, bins, cells, fields, index, place, offset):
    """Find places and offsets of a block; return how many probabilities are below FLOOR, -1 if a value is invalid."""
    edges, middle, scale, sure, table = bins
    starts, narrow, each = cells
    unsure, bad, rare = True, np.int64(0), np.int64(0)
    if scale > 0:
        unsure, bad, rare = _cells_by_product(confidence, outcome, scale, sure, place, offset, float(each), fields)
    if unsure:
        if not _place(confidence, index, offset, edges, middle, scale, sure, table):
            return -1
        bad, rare = _cells(confidence, outcome, index, place, offset, float(len(middle)), float(each), fields)
        if narrow:
            _from_starts(confidence, index, offset, starts)
    return -1 if bad else rare


@compiled(part=True)
def _find_rare(confidence, outcome, first, rare, n_rare):
    """Append the rows whose outcome has a probability below FLOOR, and return the number of all."""
    for j in range(len(outcome)):
        if abs(1.0 - np.float64(outcome[j]) - np.float64(confidence[j])) < FLOOR:
            rare[n_rare] = first + j
            n_rare += 1
    return n_rare


@compiled(part=True)
def _add(sums, place, offset, weight, n, unused, lane):
    """Add n rows to the sums; rows that make n a multiple of 4 are added to an unused cell."""
    for j in range(n, (n + 3) // 4 * 4):
        place[j], offset[j] = unused, 0.0
    for j in range(0, n, 4):
        add_powers(sums, place, offset, weight, j, lane)


@compiled()
def add_rows(confidence, outcome, weight, bins, cells, lanes, chunk):
    """Sum the moments of rows by cell, shape (4 Q, 4), or (4 Q, 6) with weights, see `stats._cells.Cells`.

    Return the sums, the largest weight, and the rows whose outcome has a very small probability. If any value is
    invalid, the largest weight is NaN and the sums must not be used. Neighbouring rows are interleaved over independent
    accumulators (lanes) to hide addition latency.
    """
    places, fields = 4 * cells[2], 4 if weight is None else 6
    unused, stride = places * fields, (places + 1) * fields
    total, sums, lane = np.zeros((places, fields)), np.zeros(lanes * stride), np.int64((lanes - 1) * stride)
    index, place, offset = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32), np.empty(BLOCK)
    floats, heaviest = np.zeros(BLOCK), 1.0 if weight is None else 0.0
    rare, n_rare = np.empty(len(outcome), np.int64), 0
    for start in range(0, len(outcome), chunk):
        end = min(start + chunk, len(outcome))
        for begin in range(start, end, BLOCK):
            rows = slice(begin, min(begin + BLOCK, end))
            c, z = confidence[rows], outcome[rows]
            n = len(c)
            below = _places(c, z, bins, cells, np.int32(fields), index[:n], place[:n], offset[:n])
            largest = 1.0 if weight is None else _weights(weight[rows], floats)
            if below < 0 or not largest >= 0:
                return total, np.nan, rare[:0]
            heaviest = max(heaviest, largest)
            if below > 0:
                n_rare = _find_rare(c, z, begin, rare, n_rare)
            if weight is None:
                _add(sums, place, offset, None, n, unused, lane)
            else:
                _add(sums, place, offset, floats, n, unused, lane)
        _collect(sums, total, lanes, stride, 0 if weight is None else 4)
    return total, heaviest, rare[:n_rare]


@compiled(fastmath={"reassoc", "nsz"})
def top_label(matrix, label, confidence, correct, columns, tolerance):
    """Find the largest entry of each row, and whether its first column is the label; False if a value is invalid.

    The number of columns is the length of a tuple, so it is known at compile time: loops over columns are unrolled, and
    loops over rows use vector instructions.
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
        for r in range(rows, TILE):  # pad the last tile with its first row: loops of fixed length are faster
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


@compiled(fastmath={"reassoc", "nsz"})
def top_of_many(matrix, bits, label, confidence, correct, one, tolerance):
    """As `top_label`, for many columns: vector instructions work along a row.

    The bit patterns of floats >= 0, read as integers, have the order of the floats. Those of -0.0, negative numbers and
    NaN are larger than that of `one`; False is returned then, and the caller checks all values.
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


@compiled(part=True, fastmath={"reassoc", "nsz"})
def _sum(values):
    total = 0.0
    for j in range(len(values)):
        total += values[j]
    return total


@compiled(part=True)
def _add_to_classes(confidence, label, weight, index, deviation, sums):
    """Add a block of rows to `sums`, shape (K, 2, M, 8); return the largest weight, or NaN if a value is invalid."""
    classes, _, size, _ = sums.shape
    flat = sums.reshape(sums.size)
    heaviest = 0.0
    for r in range(len(label)):
        z = np.int64(label[r])
        w = 1.0 if weight is None else np.float64(weight[r])
        if not (0.0 <= w < np.inf) or z < 0 or z >= classes:
            return np.nan
        heaviest = max(heaviest, w)
        for k in range(classes):
            d = deviation[r * classes + k]
            cell = (2 * k + np.int64(k == z)) * size + np.int64(index[r * classes + k])
            at = np.uint64(cell) * np.uint64(FIELDS)
            moment = w * d
            error = np.float64(k == z) - np.float64(confidence[r * classes + k])
            loss = error * error
            add_at(flat, at, (1.0, moment, moment * d, w * (loss * loss)))
            if weight is not None:
                add_at(flat, at + np.uint64(6), (w, w * w))
    return heaviest


@compiled()
def add_classes(matrix, label, weight, edges, middle, scale, sure, table, chunk, tolerance):
    """Return sums over rows for every column of a matrix in C order, shape (K, 2 M, 8); and the largest weight."""
    rows, classes = matrix.shape
    size = len(middle)
    flat = matrix.reshape(matrix.size)
    total, sums = np.zeros((classes, 2, size, FIELDS)), np.empty((classes, 2, size, FIELDS))
    step = max(BLOCK // classes, 1)
    index, deviation = np.empty(step * classes, np.int32), np.empty(step * classes)
    heaviest = 0.0
    for start in range(0, rows, chunk):
        end = min(start + chunk, rows)
        sums[:] = 0.0
        for begin in range(start, end, step):
            stop = min(begin + step, end)
            c = flat[begin * classes : stop * classes]
            b, d = index[: len(c)], deviation[: len(c)]
            if not _place(c, b, d, edges, middle, scale, sure, table):
                return total.reshape(classes, 2 * size, FIELDS), np.nan
            for r in range(begin, stop):
                if not abs(_sum(matrix[r]) - 1) <= tolerance:
                    return total.reshape(classes, 2 * size, FIELDS), np.nan
            w = None if weight is None else weight[begin:stop]
            largest = _add_to_classes(c, label[begin:stop], w, b, d, sums)
            if not largest >= 0:
                return total.reshape(classes, 2 * size, FIELDS), np.nan
            heaviest = max(heaviest, largest)
        total += sums
    return total.reshape(classes, 2 * size, FIELDS), heaviest


@compiled(no_cfunc_wrapper=True)
def binomial_shares(rng, n, p, out):
    """Fill column b of `out` with draws of Binomial(n[b], p[b]) / n[b]."""
    guide = np.empty(GUIDE, np.int64)
    for b in range(len(n)):
        if p[b] <= 0.0 or p[b] >= 1.0:
            out[:, b] = p[b]
            continue
        mode, reach = int((n[b] + 1) * p[b]), REACH * sqrt(n[b] * p[b] * (1 - p[b])) + 12
        low, high = max(0, int(mode - reach)), min(n[b], int(mode + reach))
        cumulative, odds = np.empty(high - low + 1), p[b] / (1 - p[b])
        cumulative[mode - low] = 1.0
        for k in range(mode, high):
            cumulative[k + 1 - low] = cumulative[k - low] * (n[b] - k) / (k + 1) * odds
        for k in range(mode, low, -1):
            cumulative[k - 1 - low] = cumulative[k - low] * k / (n[b] - k + 1) / odds
        for i in range(1, len(cumulative)):
            cumulative[i] += cumulative[i - 1]
        total, i = cumulative[-1], 0
        for g in range(GUIDE):
            while cumulative[i] <= g * total / GUIDE and i < len(cumulative) - 1:
                i += 1
            guide[g] = i
        for row in range(len(out)):
            u = rng.random()
            i = guide[int(u * GUIDE)]
            while cumulative[i] <= u * total and i < len(cumulative) - 1:
                i += 1
            out[row, b] = (low + i) / n[b]
