"""Loops compiled by numba; this file is imported when one of them is needed, since numba takes a second to import.

Loops over rows add in the same order as the numpy loops, so that both return equal results bit for bit. `_loops`
decides when they save time. `binomial_shares` makes other draws than numpy's generator.
"""

from math import sqrt

import numpy as np

from bayescal._jit import add_at, compiled
from bayescal._logarithm import (
    BIAS,
    FRACTION,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
    LN2,
    ROOT_HALF,
    SHIFT,
    SHIFTED,
    SMALLEST,
    TO_ROOT_HALF,
)

BLOCK = 2048  #: Rows per block: bins are found for a block (by vector instructions), then its rows are added.
TILE = 256  #: Rows of a matrix that are transposed at a time.
#: Number of sums per bin and outcome: rows, w d, w d^2, w l^2, w g, w g^2, w, w^2 (weight w, deviation d, squared error
#: l, log g of the probability of the outcome).
FIELDS = 8
GUIDE = 512  #: Of `binomial_shares`: cells of the table that tells where the search for a uniform number begins.
REACH = 9.0  #: Of `binomial_shares`: numbers of successes that are tabulated, in standard deviations from the mean.


@compiled()
def _in_range(confidence):
    """Return whether all values are in [0, 1]; NaN is not. An early return would prevent vector instructions."""
    bad = False
    for j in range(len(confidence)):
        bad |= not (confidence[j] >= 0) or not (confidence[j] <= 1)
    return not bad


@compiled()
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


@compiled()
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


@compiled()
def _by_comparison(confidence, index, deviation, edges, scale):
    """As `_by_product`, but decide by comparison with the nearest edge."""
    last = np.int64(scale) - 1
    for j in range(len(confidence)):
        c = confidence[j]
        scaled = np.float64(c) * scale
        nearest = np.int64(scaled + 0.5)
        i = min(nearest - np.int64(c < edges[nearest]), last)
        index[j], deviation[j] = i, scaled - i - 0.5


@compiled()
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


@compiled()
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


@compiled()
def _logs(confidence, outcome, weight, logs, bits, power, power_bits, infinite):
    """Set `logs` to the logarithms of the probabilities of the outcomes, as `_logarithm.log_in_place` computes them.

    `bits` and `power_bits` are `logs` and `power` as integers. Rows with probability 0 get 0, and are counted.
    """
    small = False
    for j in range(len(outcome)):
        p = abs(1.0 - np.float64(outcome[j]) - np.float64(confidence[j]))
        small |= p < SMALLEST
        logs[j] = p
    if small:
        _shift_small(logs, outcome, weight, infinite)
    for j in range(len(outcome)):
        up = bits[j] + TO_ROOT_HALF
        power_bits[j] = (up >> np.uint64(52)) | SHIFTED
        bits[j] = (up & FRACTION) + ROOT_HALF
    for j in range(len(outcome)):
        s = (logs[j] - 1.0) / (logs[j] + 1.0)
        z = s * s
        high = L4 + z * (L5 + z * (L6 + z * L7))
        logs[j] = (power[j] - BIAS) * LN2 + s * (2.0 + z * (L1 + z * (L2 + z * (L3 + z * high))))
    if small:
        for j in range(len(outcome)):
            if 0.0 < abs(1.0 - np.float64(outcome[j]) - np.float64(confidence[j])) < SMALLEST:
                logs[j] -= 54.0 * LN2


@compiled()
def _shift_small(probability, outcome, weight, infinite):
    """Replace probabilities of 0 by 1, and count them; multiply others that are not normal numbers."""
    for j in range(len(outcome)):
        if probability[j] == 0.0:
            probability[j] = 1.0
            infinite[np.int64(outcome[j])] += weight is None or weight[j] > 0
        elif probability[j] < SMALLEST:
            probability[j] *= SHIFT


@compiled()
def _add(cell, deviation, confidence, outcome, logs, sums):
    """Add a block of unweighted rows to `sums`."""
    for j in range(len(deviation)):
        k = np.uint64(cell[j])  # unsigned, so that no check for negative indexes is compiled
        d, g = deviation[j], logs[j]
        error = np.float64(outcome[j]) - np.float64(confidence[j])
        loss = error * error
        add_at(sums, k, (1.0, d, d * d, loss * loss))
        add_at(sums, k + np.uint64(4), (g, g * g))


@compiled()
def _add_weighted(cell, deviation, confidence, outcome, weight, logs, sums):
    """Add a block of weighted rows to `sums`; return the largest weight, or NaN if a weight is invalid."""
    heaviest = 0.0
    for j in range(len(deviation)):
        w = np.float64(weight[j])
        if not (0.0 <= w < np.inf):
            return np.nan
        heaviest = max(heaviest, w)
        k = np.uint64(cell[j])
        d, g = deviation[j], logs[j]
        moment = w * d
        error = np.float64(outcome[j]) - np.float64(confidence[j])
        loss = error * error
        add_at(sums, k, (1.0, moment, moment * d, w * (loss * loss)))
        add_at(sums, k + np.uint64(4), (w * g, w * (g * g), w, w * w))
    return heaviest


@compiled()
def _cells(outcome, index, lane, size, fields):
    """Find the place of each row in the sums; return False if an outcome is neither 0 nor 1."""
    bad = False
    for j in range(len(outcome)):
        bad |= (outcome[j] != 0) & (outcome[j] != 1)
        index[j] = (index[j] + size * np.int32(outcome[j])) * fields + lane[j]
    return not bad


@compiled()
def _collect(sums, total, lanes, fields):
    """Add the sums of all lanes to the total."""
    for cell in range(len(total)):
        for field in range(fields):
            part = 0.0
            for lane in range(lanes):
                part += sums[(lane * len(total) + cell) * fields + field]
            total[cell, field] += part


@compiled()
def add_rows(confidence, outcome, weight, edges, middle, scale, sure, table, lanes, chunk):
    """Sum rows, shape (2 M, 8): the sums of FIELDS by outcome and bin; the largest weight; rows of infinite log loss.

    Neighbouring rows are interleaved over independent accumulators (lanes) to hide addition latency. If any value is
    invalid, the largest weight is NaN and the sums must not be used. Without weights, the last two sums are 0.
    """
    size = len(middle)
    total, infinite = np.zeros((2 * size, FIELDS)), np.zeros(2, np.int64)
    index, deviation = np.empty(BLOCK, np.int32), np.empty(BLOCK)
    logs, power = np.empty(BLOCK), np.empty(BLOCK)
    bits, power_bits = logs.view(np.uint64), power.view(np.uint64)
    fields = 6 if weight is None else FIELDS
    lane = (np.arange(BLOCK) % lanes * (2 * size * fields)).astype(np.int32)
    sums = np.empty(2 * size * lanes * fields)
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, len(outcome), chunk):
        end = min(start + chunk, len(outcome))
        sums[:] = 0.0
        for begin in range(start, end, BLOCK):
            rows = slice(begin, min(begin + BLOCK, end))
            c, z, w = confidence[rows], outcome[rows], None if weight is None else weight[rows]
            n = len(c)
            cell, d, g = index[:n], deviation[:n], logs[:n]
            if not _place(c, cell, d, edges, middle, scale, sure, table):
                return total, np.nan, infinite
            if not _cells(z, cell, lane, np.int32(size), np.int32(fields)):
                return total, np.nan, infinite
            _logs(c, z, w, g, bits[:n], power[:n], power_bits[:n], infinite)
            if weight is None:
                _add(cell, d, c, z, g, sums)
            else:
                largest = _add_weighted(cell, d, c, z, w, g, sums)
                if not largest >= 0:
                    return total, np.nan, infinite
                heaviest = max(heaviest, largest)
        _collect(sums, total, lanes, fields)
    return total, heaviest, infinite


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


@compiled(fastmath={"reassoc", "nsz"})
def _sum(values):
    total = 0.0
    for j in range(len(values)):
        total += values[j]
    return total


@compiled()
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
