"""Joint cells, the score cells of several models and the outcome: integer keys, sums over rows, and weights by cluster.

ClusteredCells is for statistics that treat clusters as independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal._arrays import Array, Floats, Ints, csr_array
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import require_several
from bayescal.stats.frozen import Sums
from bayescal.stats.sums import effective_number, row_counts, summed_by_key, sums_at

CHUNK = 262_144  #: Rows per chunk.
#: Maximum number of joint cells for an array of all of them; with more, only cells that occur are stored.
DENSE_CELLS = 1_000_000
MOST_KEYS = 2**62  #: Joint cells have integers as keys.


def joint_sums(rows: Sequence[Predictions], bins: Bins) -> tuple[Ints, Ints, Floats]:
    """Return the joint cells that occur, and the numbers of rows and the sums of weights in each."""
    size = 2 * len(bins) ** len(rows)
    check_keys(size, MOST_KEYS, len(bins) - 1, len(rows))
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
        rest, cell = np.divmod(rest, n_bins)
        columns.insert(0, cell)
    return np.stack(columns, axis=1)


def only_by_outcome(outcome: Ints, n: Ints, weight: Floats, weight_sq: Floats) -> bool:
    """Return whether all weights of one outcome are equal, and differ between the outcomes."""
    of_outcome = sums_at(outcome, weight, 2)
    if not (weight_sq > 0).all():
        return False
    size = weight_sq / of_outcome  # the weight of each row, if all positive weights of the outcome are equal
    rows = np.append(weight / size[outcome], of_outcome / size)  # then whole numbers, of cells and in all
    whole = np.isclose(rows, np.rint(rows), rtol=1e-9, atol=1e-9)
    whole &= rows <= np.append(n, sums_at(outcome, n, 2)) * (1 + 1e-9)
    equal = np.isclose(size[0], size[1], rtol=1e-9, atol=0)
    return bool(whole.all() and rows[-2:].min() > 1.5 and not equal)


def check_keys(size: int, most: int, n_thresholds: int, n_models: int) -> None:
    """Refuse joint cells whose keys would not be exact."""
    if size > most:
        raise ValueError(
            f"{n_models} models with {n_thresholds} thresholds have {size:.1g} joint cells, more than {most:.1g}; use "
            "fewer thresholds, or fewer models at a time."
        )


@dataclass(frozen=True, eq=False)
class ClusteredCells(Sums):
    """Weights of rows by cluster and joint cell, in the order of clusters; only combinations with weight are stored.

    Two batches can be added if no cluster has rows in both. Labels are not kept, so this cannot be checked.

    >>> ClusteredCells.of_rows(np.array([5, 5, 7]), np.array([[0, 1], [0, 1], [1, 0]]), np.ones(3))
    ClusteredCells(2 clusters, 2 entries)
    """

    number: int  # of clusters with rows of positive weight
    cluster: Ints  # code of the cluster, from 0 to number - 1; shape (n_entries,)
    cells: Ints  # score cell of each model, and the outcome; shape (n_entries, n_models + 1)
    weight: Floats  # sum of weights, shape (n_entries,)

    @classmethod
    def of_rows(cls, of_row: Array, cells: Ints, weight: Floats) -> "ClusteredCells":
        """Sum weights of rows, or of parts of clusters, by cluster and cell; codes of clusters become consecutive."""
        kept = weight > 0
        of_row, cells, weight = of_row[kept], cells[kept], weight[kept]
        order = np.lexsort([*cells.T[::-1], of_row])
        cluster, cells = of_row[order], cells[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (cluster[1:] != cluster[:-1]) | (cells[1:] != cells[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        sums = np.add.reduceat(weight[order], first) if len(first) else weight
        codes = np.cumsum(np.diff(cluster[first], prepend=cluster[:1]) != 0)
        return cls(int(codes[-1]) + 1 if len(codes) else 0, codes, cells[first], sums)

    def __repr__(self) -> str:
        return f"ClusteredCells({self.number} clusters, {len(self.weight)} entries)"

    def _plus(self, other: "ClusteredCells") -> "ClusteredCells":
        joined = (np.concatenate([getattr(each, name) for each in (self, other)]) for name in ("cells", "weight"))
        cluster = np.concatenate([self.cluster, self.number + other.cluster])
        return ClusteredCells(self.number + other.number, cluster, *joined)

    def at(self, place: Ints) -> "ClusteredCells":
        """Merge score cells: those up to `place[0]` become cell 0, those up to `place[1]` cell 1, and so on."""
        cells = self.cells.copy()
        cells[:, :-1] = np.searchsorted(place, self.cells[:, :-1], side="left")
        return ClusteredCells.of_rows(self.cluster, cells, self.weight)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays: cluster, cells and weight of each entry."""
        return self.cluster, self.cells, self.weight

    @property
    def effective_number(self) -> float:
        """Number of clusters of equal weight that carry as much evidence, (sum W_j)^2 / sum W_j^2."""
        of_cluster = sums_at(self.cluster, self.weight, self.number)
        return effective_number(of_cluster, of_cluster @ of_cluster)

    def outcome_effect(self, weight_sq: Floats) -> float:
        r"""Return the design effect of the share of outcome 1, between 1 and that of equal rows in each cluster.

        With J clusters, it is :math:`\frac{J}{J - 1} \sum_j (\sum_{i \in j} w_i (y_i - \bar y))^2 / \sum_i w_i^2 (y_i -
        \bar y)^2`, at most :math:`\sum_j W_j^2 / \sum_i w_i^2`; 1 without both outcomes. `weight_sq` has the sums of
        squared weights by outcome.
        """
        of_cluster = sums_at(self.cluster, self.weight, self.number)
        events = sums_at(self.cluster, self.weight * self.cells[:, -1], self.number)
        share = float(events.sum() / max(of_cluster.sum(), np.finfo(np.float64).tiny))
        alone = float(weight_sq[1] * (1 - share) ** 2 + weight_sq[0] * share**2)
        if self.number < 2 or alone <= 0:
            return 1.0
        between = float(((events - share * of_cluster) ** 2).sum()) * self.number / (self.number - 1)
        most = float(of_cluster @ of_cluster / weight_sq.sum())
        return max(1.0, min(between / alone, most))

    def reaching(self, model: int, n_bins: int) -> Ints:
        """Return how many clusters have rows that reach each threshold, and that lie below: (2, n_bins - 1)."""
        if not self.number:
            return np.zeros((2, n_bins - 1), np.int64)
        first = np.flatnonzero(np.diff(self.cluster, prepend=-1))
        highest = np.maximum.reduceat(self.cells[:, model], first)
        lowest = np.minimum.reduceat(self.cells[:, model], first)
        reach = np.cumsum(np.bincount(highest, minlength=n_bins)[::-1])[::-1][1:]
        below = np.cumsum(np.bincount(lowest, minlength=n_bins))[:-1]
        return np.stack([reach, below])

    def matrix(self, n_bins: int, scale: Floats) -> "csr_array":
        """Return weights by cluster, and by model, outcome and score cell: (number, n_models * 2 * n_bins), sparse.

        Weights of each outcome are multiplied by its `scale`, shape (2,).
        """
        from scipy.sparse import csr_array

        n_models, outcome = self.cells.shape[1] - 1, self.cells[:, -1]
        place = (2 * np.arange(n_models) + outcome[:, None]) * n_bins + self.cells[:, :-1]
        values = np.repeat(self.weight * scale[outcome], n_models)
        rows = np.repeat(self.cluster, n_models)
        return csr_array((values, (rows, place.ravel())), shape=(self.number, n_models * 2 * n_bins))


def cells_of_clusters(rows: Sequence[Predictions], clusters: Clusters | None, bins: Bins) -> ClusteredCells | None:
    """Return the joint cells of each cluster, of the rows of several models; None if there are no clusters."""
    if clusters is None:
        return None
    first = rows[0]
    columns = [*(bin_index(each.confidence, bins) for each in rows), first.outcome == 1]
    weight = np.ones(len(first)) if first.weight is None else first.weight
    clustered = ClusteredCells.of_rows(clusters.of_row, np.stack(columns, axis=1).astype(np.int64), weight)
    require_several(clustered.number)
    return clustered
