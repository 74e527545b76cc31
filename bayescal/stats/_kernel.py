"""The only pass over rows: rows -> sums by bin and outcome; in chunks that need little memory, compiled if it pays."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Array, Floats, Indices, Ints
from bayescal._loops import choice_of_user, compiled, in_threads
from bayescal.stats._cells import MOST, Cells
from bayescal.stats.bins import Bins
from bayescal.stats.losses import LossSums, probability_of_outcome, total_loss
from bayescal.stats.sums import sums_at

#: Rows per chunk. Rows are summed within chunks first, so this number affects the last digits of sums.
CHUNK = 131_072
FEW_ROWS = 16_384  #: Up to this number of rows, the losses of each row are computed.
PIECE = 16_384  #: Rows at a time, so that temporary arrays stay in the second-level cache.
#: Up to this number of bins, floor(c * M) is off by at most one in float32; comparison with the edges corrects it.
FAST_INDEX_BINS = 100_000
#: Rows per task of a thread, and most rows of a chunk. Sums of tasks are added in order, so the result does not depend
#: on the number of threads.
SPAN = 8 * CHUNK
#: Up to this number of bins, deviations from the midpoint are computed from the product c M, with errors below 1e-12 of
#: a bin width.
FEW_BINS = 4096
#: Minimum number of cells of the lookup grid for custom edges, or for more than FEW_BINS bins; at least four per bin.
GRID = 4096
SECONDS_A_ROW = 8e-9  #: Approximate time of numpy per row; see `bayescal._loops`.
#: Number of sums per bin and outcome: rows, w d, w d^2, w l^2, w g, w g^2, w, w^2 (weight w, deviation d, squared error
#: l, log g of the probability of the outcome). Those of g are 0 for all classes of a matrix.
FIELDS = 8
LOGS = slice(4, 6)  #: Places of the sums of g and g^2.


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over rows; the first axis of a (2, M) array is the outcome."""

    cells: Ints  # (2, M) rows
    weight: Floats  # (2, M) sum of w
    deviation: Floats  # (2, M) sum of w (c - midpoint)
    deviation_sq: Floats  # (M,) sum of w (c - midpoint)^2
    weight_sq: Floats  # (M,) sum of w^2
    losses: LossSums  # (2, M) sums of w l and w l^2, where l = (z - c)^2
    log_losses: LossSums | None  # (2, M) sums of w g and w g^2, where g = -log(c) or -log(1 - c); None for classes


def bin_index(confidence: Array, bins: Bins) -> Indices:
    """Return the bin b of each confidence c in [0, 1]: s_b <= c < s_{b+1}, see `Bins.starts_as`; 1 is in the last."""
    if bins.by_product and len(bins) <= FEW_BINS:
        return _Search.of(bins, confidence.dtype).place(confidence)[0]
    return _index(confidence, bins.starts_as(confidence.dtype), bins.by_product)


def _index(confidence: Array, edges: Array, by_product: bool) -> Indices:
    last = len(edges) - 2
    if not by_product or last >= FAST_INDEX_BINS or confidence.dtype.itemsize < 4:
        return np.minimum(np.searchsorted(edges, confidence, side="right") - 1, last)
    index = (confidence * edges.dtype.type(last + 1)).astype(np.intp)
    np.minimum(index, last, out=index)
    index -= confidence < edges[index]
    index += confidence >= edges[1:][index]
    return np.minimum(index, last, out=index)


def accumulate(confidence: Array, outcome: Array, weight: Array | None, bins: Bins) -> tuple[CellSums, float] | None:
    """Sum rows by bin and outcome, and return the largest weight, or 1; None if a value is invalid, for a rescan."""
    search, weighted = _Search.of(bins, confidence.dtype), weight is not None
    choice_of_user()  # a wrong choice is refused with few rows, too, which are not compiled
    if 0 < len(outcome) <= FEW_ROWS:
        return _of_few(confidence, outcome, weight, search)
    loops = compiled("rows", (confidence, outcome, weight), len(outcome) * SECONDS_A_ROW)
    cells = search.cells

    def sums_of(start: int) -> tuple[Floats, float, Floats, Ints]:
        rows = slice(start, start + SPAN)
        c, z, w = confidence[rows], outcome[rows], None if weight is None else weight[rows]
        if loops is None:
            moments, largest, rare = _with_numpy(c, z, w, search)
        else:
            moments, largest, rare = loops.add_rows(
                c, z, w, search.arguments, cells.arguments, search.lanes, search.chunk
            )
        return moments, largest, *_logs(c[rare], z[rare], None if w is None else w[rare], search)

    spans = range(0, len(outcome), SPAN)
    total, heaviest = np.zeros((4 * cells.each, MOST + 2 * weighted)), 0.0
    logs, infinite = np.zeros((2 * len(bins), 2)), np.zeros(2, np.int64)
    for moments, largest, of_rare, infinite_of_rare in in_threads(sums_of, spans) if loops else map(sums_of, spans):
        if np.isnan(largest):
            return None
        total += moments
        heaviest = max(heaviest, largest)
        logs += of_rare
        infinite += infinite_of_rare
    return _named(cells.sums(total, logs), search.middle, weighted, infinite), heaviest


def _of_few(
    confidence: Array, outcome: Array, weight: Array | None, search: "_Search"
) -> tuple[CellSums, float] | None:
    """Sum the losses of each row; with few rows, this takes less time than sums of cells."""
    w = None if weight is None else weight.astype(np.float64, copy=False)
    if not _allowed(confidence, outcome, w):
        return None
    index, deviation = search.place(confidence)
    cell = index + len(search.middle) * outcome.astype(np.intp)
    error = outcome - confidence.astype(np.float64, copy=False)
    total = search.in_units(_chunk_sums(cell, deviation, error, w, 2 * len(search.middle)))
    total[:, LOGS], infinite = _logs(confidence, outcome, w, search)
    return _named(total, search.middle, w is not None, infinite), 1.0 if w is None else float(w.max())


def _logs(confidence: Array, outcome: Array, weight: Array | None, search: "_Search") -> tuple[Floats, Ints]:
    """Sum logarithms of probabilities of outcomes, and their squares, by outcome and bin; count those of 0."""
    z, size = outcome.astype(np.intp), len(search.middle)
    p = probability_of_outcome(confidence, z)
    zero = p == 0
    infinite = np.bincount(z[zero if weight is None else zero & (weight > 0)], minlength=2)
    g = np.log(p, out=np.zeros_like(p), where=~zero)
    w, at = 1.0 if weight is None else weight, search.place(confidence)[0] + size * z
    return np.stack([sums_at(at, w * g, 2 * size), sums_at(at, w * (g * g), 2 * size)], axis=1), infinite


def accumulate_classes(
    matrix: Array, label: Array, weight: Array | None, bins: Bins, tolerance: float
) -> tuple[list[CellSums], float] | None:
    """Sum rows by bin and outcome for every class, in one pass over the matrix of probabilities; see `accumulate`."""
    loops = compiled("classes", (matrix, label, weight), matrix.size * SECONDS_A_ROW)
    search = _Search.of(bins, matrix.dtype)
    total, heaviest = np.zeros((matrix.shape[1], 2 * len(bins), FIELDS)), 0.0
    for start in range(0, len(label), PIECE):
        rows = slice(start, start + PIECE)
        columns = np.ascontiguousarray(matrix[rows]), label[rows], None if weight is None else weight[rows]
        if loops is None:
            part, largest = _classes_with_numpy(*columns, search, tolerance)
        else:
            part, largest = loops.add_classes(*columns, *search.arguments, PIECE, tolerance)
        if np.isnan(largest):
            return None
        total += part
        heaviest = max(heaviest, largest)
    total = search.in_units(total)
    return [_named(of_class, search.middle, weight is not None) for of_class in total], heaviest


@dataclass(frozen=True, eq=False)
class _Search:
    """Method to find the bin of a confidence and its deviation from the midpoint of the bin."""

    edges: Array  # (M + 1,) first value of each bin in the dtype of the confidences, and 1
    middle: Floats  # (M,) midpoints of the bins
    scale: float  # M if equal-width bins are found by the product c M, and deviations are in bin widths; otherwise 0
    sure: float  # up to this deviation, in bin widths, rounding of the product cannot give a wrong bin
    table: NDArray[np.int32]  # if `scale` is 0: for each cell of a grid on [0, 1], the bin of its lower end
    by_product: bool

    @staticmethod
    def of(bins: Bins, dtype: Any) -> "_Search":
        """Return the method for bins and the dtype of confidences."""
        return _search(bins, bins.kind, dtype)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the compiled loops."""
        return self.edges.astype(np.float64), self.middle, self.scale, self.sure, self.table

    @cached_property
    def cells(self) -> Cells:
        """Cells in which the moments of rows are summed."""
        return Cells(self.edges.astype(np.float64), self.middle)

    @property
    def lanes(self) -> int:
        """Number of independent accumulators over which neighbouring rows are interleaved to hide addition latency."""
        return 2 if len(self.middle) <= FEW_BINS else 1

    @property
    def chunk(self) -> int:
        """Rows that are summed before they are added to the total; more if there are many bins to add."""
        return int(min(SPAN, CHUNK * 2 ** max(0, int(np.ceil(np.log2(4 * len(self.middle) / CHUNK))))))

    def in_units(self, total: Floats) -> Floats:
        """Return sums by bin, shape (..., FIELDS), with deviations on the scale of confidences."""
        unit = self.scale or 1.0
        return total / [1.0, unit, unit**2, *[1.0] * (FIELDS - 3)]

    def place(self, confidence: Array) -> tuple[Indices, Floats]:
        """Return bins and deviations from their midpoints, in bin widths if `scale` is not 0."""
        if not self.scale:
            index = _index(confidence, self.edges, self.by_product)
            return index, confidence - self.middle[index]
        scaled = confidence * np.float64(self.scale)
        index = scaled.astype(np.intp)
        deviation = scaled - index
        deviation -= 0.5
        near = np.flatnonzero(np.abs(deviation) > self.sure)  # within rounding of an edge, or 1
        if len(near):
            index[near] = _index(confidence[near], self.edges, self.by_product)
            deviation[near] = scaled[near] - index[near] - 0.5
        return index, deviation


@lru_cache(maxsize=8)
def _search(bins: Bins, kind: str, dtype: Any) -> _Search:
    """Return the method for bins. Bins with equal edges are equal, but their kind decides how edges are rounded."""
    edges, by_product = bins.starts_as(dtype), bins.by_product
    if by_product and len(bins) <= FEW_BINS:
        # c M and the edge k / M are each rounded once; their joint error is at most M ulp(1). Use four times that
        sure = 0.5 - 4 * len(bins) * float(np.finfo(dtype).eps)
        return _Search(edges, bins.midpoints, float(len(bins)), sure, np.zeros(0, np.int32), True)
    grid = max(GRID, 2 ** int(np.ceil(np.log2(4 * len(bins)))))
    ends = np.arange(grid + 2) / grid
    table = np.minimum(np.searchsorted(edges.astype(np.float64), ends, side="right") - 1, len(bins) - 1)
    return _Search(edges, bins.midpoints, 0.0, 0.0, table.astype(np.int32), by_product)


def _named(total: Floats, middle: Floats, weighted: bool, infinite: Ints | None = None) -> CellSums:
    """Make `CellSums` from an array of shape (2 M, FIELDS); float64 holds numbers of rows exactly up to 2^53."""
    rows, deviation, deviation_sq, loss_sq, logs, logs_sq, weight, weight_sq = np.moveaxis(
        total.reshape(2, -1, FIELDS), -1, 0
    ).copy()
    if not weighted:
        weight, weight_sq = rows, rows
    squared = LossSums(total_loss(middle, weight, deviation, deviation_sq), loss_sq)
    of_logs, cells = None, rows.astype(np.int64)
    if infinite is not None:
        with_infinite = np.zeros_like(cells)  # numbers of rows with infinite log loss by outcome and bin
        with_infinite[0, -1], with_infinite[1, 0] = infinite
        of_logs = LossSums(0.0 - logs, logs_sq, with_infinite)
    by_bin = deviation_sq.sum(axis=0), weight_sq.sum(axis=0)
    return CellSums(cells, weight, deviation, *by_bin, squared, of_logs)


def _with_numpy(
    confidence: Array, outcome: Array, weight: Array | None, search: _Search
) -> tuple[Floats, float, Indices]:
    cells, lanes = search.cells, search.lanes
    places = 4 * cells.each
    total = np.zeros((places, MOST if weight is None else MOST + 2))
    lane = np.arange(min(search.chunk, len(outcome))) % lanes * places
    heaviest, rare = 1.0 if weight is None else 0.0, [np.zeros(0, np.intp)]
    place, offset = np.empty(len(lane), np.intp), np.empty(len(lane))
    for start in range(0, len(outcome), search.chunk):
        n = min(search.chunk, len(outcome) - start)
        for begin in range(0, n, PIECE):
            piece = slice(begin, min(begin + PIECE, n))
            rows = slice(start + piece.start, start + piece.stop)
            c, z = confidence[rows], outcome[rows]
            if not _allowed(c, z, None if weight is None else weight[rows]):
                return total, np.nan, rare[0]
            place[piece], offset[piece], small = cells.place(c.astype(np.float64, copy=False), z, search.place(c)[0])
            rare.append(start + begin + small)
        place[:n] += lane[:n]
        w = None if weight is None else weight[start : start + n].astype(np.float64, copy=False)
        total += _moments(place[:n], offset[:n], w, places * lanes).reshape(lanes, *total.shape).sum(axis=0)
        heaviest = heaviest if w is None else max(heaviest, float(w.max()))
    return total, heaviest, np.concatenate(rare)


@np.errstate(over="ignore")  # squares of large weights may overflow; the caller checks the largest weight
def _moments(place: Indices, offset: Floats, weight: Floats | None, size: int) -> Floats:
    """Return the sums of w, w d, w d^2 and w d^3 by place, and of 1 and w^2 if there are weights."""
    rows = np.bincount(place, minlength=size)
    term = offset if weight is None else weight * offset
    square = term * offset
    terms = [term, square, square * offset]
    powers = [sums_at(place, each, size) for each in (terms if weight is None else [weight, *terms, weight * weight])]
    columns = [rows, *powers] if weight is None else [*powers[:MOST], rows, powers[MOST]]
    return np.stack(columns, axis=1, dtype=np.float64)


def _classes_with_numpy(
    matrix: Array, label: Array, weight: Array | None, search: _Search, tolerance: float
) -> tuple[Floats, float]:
    size, classes = len(search.middle), matrix.shape[1]
    total = np.zeros((classes, 2 * size, FIELDS))
    w = None if weight is None else weight.astype(np.float64, copy=False)
    fine = label.min() >= 0 and label.max() < classes and _allowed(matrix, label[:0], w)
    if not (fine and bool((np.abs(matrix.sum(axis=1, dtype=np.float64) - 1) <= tolerance).all())):
        return total, np.nan
    for k in range(classes):
        index, deviation = search.place(matrix[:, k])
        hit = label == k
        total[k] = _chunk_sums(index + size * hit, deviation, hit - matrix[:, k].astype(np.float64), w, 2 * size)
    return total, 1.0 if w is None else float(w.max())


def _allowed(confidence: Array, outcome: Array, weight: Array | None) -> bool:
    """Return whether all values are valid; NaN fails every comparison."""
    binary = outcome.dtype.kind == "b" or ((outcome == 0) | (outcome == 1)).all()
    finite = weight is None or (weight.min() >= 0 and weight.max() < np.inf)
    return bool(confidence.min() >= 0 and confidence.max() <= 1 and binary and finite)


@np.errstate(over="ignore")  # squares of large weights may overflow; the caller checks the largest weight
def _chunk_sums(cell: Indices, deviation: Floats, error: Floats, weight: Array | None, size: int) -> Floats:
    """Return the sums of a chunk but for log losses, shape (size, FIELDS); without weights, those of w, w^2 are 0."""
    loss = error * error
    loss *= loss
    sums = np.zeros((size, FIELDS))
    sums[:, 0] = np.bincount(cell, minlength=size)
    moment = deviation if weight is None else weight * deviation
    sums[:, 1] = sums_at(cell, moment, size)
    sums[:, 2] = sums_at(cell, moment * deviation, size)
    sums[:, 3] = sums_at(cell, loss if weight is None else weight * loss, size)
    if weight is not None:
        sums[:, 6] = sums_at(cell, weight, size)
        sums[:, 7] = sums_at(cell, weight * weight, size)
    return sums
