"""The only pass over rows: rows -> sums by bin and outcome; in chunks that need little memory, compiled if it pays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Array, Floats, Indices, Ints
from bayescal._logarithm import log_in_place
from bayescal._loops import compiled, in_threads
from bayescal.stats.bins import Bins
from bayescal.stats.losses import LossSums, probability_of_outcome, total_loss
from bayescal.stats.sums import sums_at

#: Rows per chunk, so that temporary arrays stay in the second-level cache. Rows are summed within chunks first, so this
#: number affects the last digits of sums.
CHUNK = 16_384
#: Up to this number of bins, floor(c * M) is off by at most one in float32; comparison with the edges corrects it.
FAST_INDEX_BINS = 100_000
#: Rows per task of a thread, so that their logarithms stay in the cache. Sums of tasks are added in order, so the
#: result does not depend on the number of threads.
SPAN = 4 * CHUNK
LONG_SPAN = 64 * CHUNK  #: Maximum number of rows of a chunk, and so of a task, with many bins.
#: Up to this number of bins, deviations from the midpoint are computed from the product c M, with errors below 1e-12 of
#: a bin width.
FEW_BINS = 4096
#: Interleave neighbouring rows over independent accumulators (lanes) to hide addition latency: so many lanes that there
#: are about this many sums in all. A power of two, like the number of lanes.
SUMS_AT_ONCE = 512
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
    loops = compiled("rows", (confidence, outcome, weight), len(outcome) * SECONDS_A_ROW)
    search = _Search.of(bins, confidence.dtype)
    span = max(SPAN, search.chunk)

    def sums_of(start: int) -> tuple[Floats, float, Ints]:
        rows = slice(start, start + span)
        columns = confidence[rows], outcome[rows], None if weight is None else weight[rows]
        if loops is not None:
            sums: tuple[Floats, float, Ints] = loops.add_rows(*columns, *search.arguments, search.lanes, search.chunk)
            return sums
        logs, infinite = _logs(*columns)
        return *_with_numpy(*columns, logs, search), infinite

    spans = range(0, len(outcome), span)
    total, heaviest, infinite = np.zeros((2 * len(bins), FIELDS)), 0.0, np.zeros(2, np.int64)
    for part, largest, of_part in in_threads(sums_of, spans) if loops else map(sums_of, spans):
        if np.isnan(largest):
            return None
        total += part
        heaviest = max(heaviest, largest)
        infinite += of_part
    return search.named(total, weight is not None, infinite), heaviest


@np.errstate(invalid="ignore")  # the sums find invalid values
def _logs(confidence: Array, outcome: Array, weight: Array | None) -> tuple[Floats, Ints]:
    """Return the logarithm of the probability of the outcome, 0 for probability 0; and the number of the latter."""
    logs = probability_of_outcome(confidence, outcome)
    zero = log_in_place(logs)
    if zero is None:
        return logs, np.zeros(2, np.int64)
    zero = zero if weight is None else zero & (weight > 0)
    return logs, np.array([np.count_nonzero(zero & (outcome == z)) for z in (0, 1)])


def accumulate_classes(
    matrix: Array, label: Array, weight: Array | None, bins: Bins, tolerance: float
) -> tuple[list[CellSums], float] | None:
    """Sum rows by bin and outcome for every class, in one pass over the matrix of probabilities; see `accumulate`."""
    loops = compiled("classes", (matrix, label, weight), matrix.size * SECONDS_A_ROW)
    search = _Search.of(bins, matrix.dtype)
    total, heaviest = np.zeros((matrix.shape[1], 2 * len(bins), FIELDS)), 0.0
    for start in range(0, len(label), CHUNK):
        rows = slice(start, start + CHUNK)
        columns = np.ascontiguousarray(matrix[rows]), label[rows], None if weight is None else weight[rows]
        if loops is None:
            part, largest = _classes_with_numpy(*columns, search, tolerance)
        else:
            part, largest = loops.add_classes(*columns, *search.arguments, CHUNK, tolerance)
        if np.isnan(largest):
            return None
        total += part
        heaviest = max(heaviest, largest)
    return [search.named(of_class, weight is not None) for of_class in total], heaviest


@dataclass(frozen=True, eq=False)
class _Search:
    """Method to find the bin of a confidence and its deviation from the midpoint of the bin."""

    edges: Array  # (M + 1,) first value of each bin in the dtype of the confidences, and 1
    middle: Floats  # (M,) midpoints of the bins
    scale: float  # M if equal-width bins are found by the product c M, and deviations are in bin widths; otherwise 0
    sure: float  # up to this deviation, in bin widths, rounding of the product cannot give a wrong bin
    table: NDArray[np.int32]  # if `scale` is 0: for each cell of a grid on [0, 1], the bin of its lower end
    by_product: bool

    @classmethod
    def of(cls, bins: Bins, dtype: Any) -> "_Search":
        edges, by_product = bins.starts_as(dtype), bins.by_product
        if by_product and len(bins) <= FEW_BINS:
            # c M and the edge k / M are each rounded once; their joint error is at most M ulp(1). Use four times that
            sure = 0.5 - 4 * len(bins) * float(np.finfo(dtype).eps)
            return cls(edges, bins.midpoints, float(len(bins)), sure, np.zeros(0, np.int32), True)
        grid = max(GRID, 2 ** int(np.ceil(np.log2(4 * len(bins)))))
        ends = np.arange(grid + 2) / grid
        table = np.minimum(np.searchsorted(edges.astype(np.float64), ends, side="right") - 1, len(bins) - 1)
        return cls(edges, bins.midpoints, 0.0, 0.0, table.astype(np.int32), by_product)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the compiled loops."""
        return self.edges.astype(np.float64), self.middle, self.scale, self.sure, self.table

    @property
    def lanes(self) -> int:
        """Number of independent accumulators over which neighbouring rows are interleaved."""
        return int(2 ** max(0, int(np.log2(SUMS_AT_ONCE / (2 * len(self.middle))))))

    @property
    def chunk(self) -> int:
        """Rows that are summed before they are added to the total; more if there are many bins to add."""
        return int(min(LONG_SPAN, CHUNK * 2 ** max(0, int(np.ceil(np.log2(4 * len(self.middle) / CHUNK))))))

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

    def named(self, total: Floats, weighted: bool, infinite: Ints | None = None) -> CellSums:
        """Make `CellSums` from an array of shape (2 M, FIELDS); float64 holds numbers of rows exactly up to 2^53."""
        sums = np.moveaxis(total.reshape(2, -1, FIELDS), -1, 0).copy()
        rows, deviation, deviation_sq, loss_sq, logs, logs_sq, weight, weight_sq = sums
        if not weighted:
            weight, weight_sq = rows, rows
        unit = self.scale or 1.0
        deviation, deviation_sq = deviation / unit, deviation_sq / unit**2
        squared = LossSums(total_loss(self.middle, weight, deviation, deviation_sq), loss_sq)
        of_logs, cells = None, rows.astype(np.int64)
        if infinite is not None:
            with_infinite = np.zeros_like(cells)  # numbers of rows with infinite log loss by outcome and bin
            with_infinite[0, -1], with_infinite[1, 0] = infinite
            of_logs = LossSums(0.0 - logs, logs_sq, with_infinite)
        by_bin = deviation_sq.sum(axis=0), weight_sq.sum(axis=0)
        return CellSums(cells, weight, deviation, *by_bin, squared, of_logs)


def _with_numpy(
    confidence: Array, outcome: Array, weight: Array | None, logs: Floats, search: _Search
) -> tuple[Floats, float]:
    size, lanes = len(search.middle), search.lanes
    total = np.zeros((2 * size, FIELDS))
    lane = np.arange(search.chunk) % lanes * (2 * size)
    heaviest = 1.0 if weight is None else 0.0
    for start in range(0, len(outcome), search.chunk):
        rows = slice(start, start + search.chunk)
        c, z = confidence[rows], outcome[rows]
        w = None if weight is None else weight[rows].astype(np.float64, copy=False)
        if not _allowed(c, z, w):
            return total, np.nan
        index, deviation = search.place(c)
        cell = index + size * z.astype(np.intp)
        cell += lane[: len(cell)]
        parts = _chunk_sums(cell, deviation, z - c.astype(np.float64, copy=False), w, 2 * size * lanes)
        parts[:, LOGS] = _log_sums(cell, logs[rows], w, 2 * size * lanes)
        total += parts.reshape(lanes, 2 * size, FIELDS).sum(axis=0)
        heaviest = heaviest if w is None else max(heaviest, float(w.max()))
    return total, heaviest


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


def _log_sums(cell: Indices, logs: Floats, weight: Array | None, size: int) -> Floats:
    """Return the sums of w g and w g^2 of a chunk, shape (size, 2)."""
    terms = logs, logs * logs
    return np.stack([sums_at(cell, g if weight is None else weight * g, size) for g in terms], axis=1)
