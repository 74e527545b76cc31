"""Convert the sums that an engine returns to the sums that counts store."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _rules
from bayescal._invalid import AllZero, InvalidRows
from bayescal._rules import LARGEST_WEIGHT
from bayescal.data.engines import names_of_columns
from bayescal.data.predictions import TARGETS
from bayescal.stats._kernel import Sums
from bayescal.stats.bins import FROM_ROWS, Bins, make_bins
from bayescal.stats.clusters import ClusterCells, ClusterSums, require_few
from bayescal.stats.losses import DIFFERENCES, LossSums, total_loss
from bayescal.stats.query.row_sums import RowSums, row_sums
from bayescal.stats.sums import row_counts, summed_by_key, sums_at, unit_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def bins_before_rows(bins: Any, binning: str) -> Bins:
    """Make bins that do not depend on the rows; refuse equal mass and equal effective mass, which do."""
    if binning in FROM_ROWS:
        edges = "equal_mass_edges(sample, 15)"
        if binning == "equal-effective-mass":
            edges = "equal_effective_mass_edges(sample, weights_of_sample, 15)"
        raise ValueError(
            f"`binning={binning!r}` needs all confidences in order, which no single query gives. Take the edges from a "
            f"sample, `bins={edges}`; or count on a fine grid, `bins=1000`, and `coarsen` it."
        )
    return make_bins(bins, binning=binning)


def framed(
    frame: Any, models: Sequence[dict[str, str]], weights: str | None, by: Any, bins: Bins, target: str
) -> Iterator[tuple[Any, RowSums]]:
    """Yield the label and the sums of each group of rows; the label is None if there are no groups."""
    _checks.one_of("target", target, TARGETS)
    for label, rows in row_sums(frame, models, weights, names_of_columns("by", by), bins).split():
        require_weight(rows, "" if label is None else f" in group {label!r}")
        yield label, rows


def framed_clusters(
    frame: Any, model: dict[str, str], cluster: Any, bins: Bins, target: str
) -> tuple[Sums, ClusterSums]:
    """Return the sums of one model without weights, and its sums over clusters, from one query by cluster and bin."""
    _checks.one_of("target", target, TARGETS)
    require_few(len(bins))
    rows = row_sums(frame, [model], None, names_of_columns("cluster", cluster), bins, labels="cluster")
    assert rows.groups is not None
    size, index, z, n = len(bins), rows.index[0], rows.outcome[0], rows.n.astype(np.float64)
    error, deviation = z - bins.midpoints[index], rows.deviation[0]
    residual = error * n - deviation
    square = np.maximum(error * (residual - deviation) + rows.deviation_sq[0], 0.0)
    key, cell = np.unique(rows.groups.of_row * size + index, return_inverse=True)
    each = (n, residual, square, rows.log_losses[0].total)
    sums = np.stack([sums_at(cell, values, len(key)) for values in each])
    own = (sums_at(index, values, size) for values in (n, residual, square))
    return sums_of(rows, 0, bins), ClusterSums.from_cells(ClusterCells(key, sums, *own))


def require_weight(rows: RowSums, where: str) -> None:
    """Refuse weights that are all zero or too small; `where` names the group."""
    if rows.largest_weight is None:
        return
    most, n = rows.largest_weight.max(), rows.n.sum()
    if most == 0:
        raise InvalidRows(AllZero(count=int(n), size=int(n), group=where))
    if most <= 1 / LARGEST_WEIGHT:
        raise _rules.too_small(most, where)


def sums_of(rows: RowSums, model: int, bins: Bins) -> Sums:
    """Return the sums of one model on these bins."""
    size = len(bins)
    index = rows.index[model]
    cell = index + size * rows.outcome[model]

    def by_cell(values: Any) -> Floats:
        return sums_at(cell, values, 2 * size).reshape(2, size)

    cells = row_counts("n", summed_by_key(cell, rows.n, 2 * size)).reshape(2, size)
    if rows.weight is None or rows.weight_sq is None:
        weight, weight_sq = unit_weights(cells)
    else:
        weight, weight_sq = by_cell(rows.weight), sums_at(index, rows.weight_sq, size)
    deviation, deviation_sq = by_cell(rows.deviation[model]), by_cell(rows.deviation_sq[model])
    losses = LossSums(total_loss(bins.midpoints, weight, deviation, deviation_sq), by_cell(rows.loss_sq[model]))
    log_losses = rows.log_losses[model].apply(by_cell)
    return Sums(cells, weight, deviation, deviation_sq.sum(axis=0), weight_sq, losses, log_losses)


def loss_differences_of(rows: RowSums) -> dict[str, Any]:
    """Return the sums of the difference between the losses of two models, and of its square, for each kind."""
    return {name: getattr(rows, name).apply(np.sum) for name in DIFFERENCES}


def joint_of(rows: RowSums, size: int) -> tuple[Ints, Ints, Floats, Floats]:
    """Joint cells of two models that occur, in lexicographic order: their keys, rows, weights and squared weights."""
    own, other = (2 * rows.index[i] + rows.outcome[i] for i in (0, 1))
    keys, at = np.unique(own * (2 * size) + other, return_inverse=True)
    count = row_counts("n", summed_by_key(at, rows.n, len(keys)))
    if rows.weight is None or rows.weight_sq is None:
        return keys, count, *unit_weights(count)
    return keys, count, sums_at(at, rows.weight, len(keys)), sums_at(at, rows.weight_sq, len(keys))
