"""Sums of rows by cluster and bin, of which only those with rows are kept; blocks of a file can be joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.predictions import Columns, Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.losses import log_losses
from bayescal.stats.sums import sums_at

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows per chunk.
CHUNK = 262_144
#: Blocks that are joined at a time.
MOST_PARTS = 16
#: Sums of a cell: weight, weight * residual, weight * squared error, weight * log loss.
SUMS = 4


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """Sums over the rows of one cluster in one bin.

    Parameters
    ----------
    key : ndarray of int64, shape (n_cells,)
        Code of the cluster times the number of bins, plus the bin; each once.
    sums : ndarray, shape (4, n_cells)
        Sums of weight, of weight times residual (outcome - confidence), times squared error, and times log loss, which
        is 0 for rows where it is infinite.
    weight_sq, own, own_sq : ndarray, shape (n_bins,)
        Sums over all rows of a bin of squared weights, times residual, and times squared residual.
    """

    key: Ints
    sums: Floats
    weight_sq: Floats
    own: Floats
    own_sq: Floats

    @classmethod
    def of_rows(cls, rows: Predictions | Columns, of_row: Array, bins: Bins) -> "ClusterCells":
        """Sum validated rows, given the code of the cluster of each."""
        size = len(bins)
        parts = []
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            confidence, outcome = np.clip(rows.confidence[part], 0, 1), rows.outcome[part]
            place = bin_index(confidence, bins)
            residual = outcome - confidence.astype(np.float64)
            losses = residual * residual, log_losses(confidence, outcome)[0]
            weight = np.ones(len(residual)) if rows.weight is None else rows.weight[part].astype(np.float64)
            parts.append(cls.of_residuals(of_row[part], place, size, weight, residual, losses))
        return cls.joined(parts)

    @classmethod
    def of_residuals(
        cls, of_row: Array, place: Ints, n_bins: int, weight: Floats, residual: Floats, losses: tuple[Floats, Floats]
    ) -> "ClusterCells":
        """Sum rows with given residuals and losses.

        Parameters
        ----------
        of_row, place : ndarray of int64, shape (n_rows,)
            Code of the cluster, and bin, of each row.
        n_bins : int
            Number of bins.
        weight, residual : ndarray, shape (n_rows,)
            Weight and residual of each row.
        losses : pair of ndarray, shape (n_rows,)
            Squared error and log loss of each row, or values that replace them.
        """
        key, cell = np.unique(of_row * n_bins + place, return_inverse=True)
        sums = (sums_at(cell, weight * values, len(key)) for values in (1.0, residual, *losses))
        own = (sums_at(place, weight**2 * values, n_bins) for values in (1.0, residual, residual * residual))
        return cls(key, np.stack(list(sums)), *own)

    @classmethod
    def joined(cls, parts: Sequence["ClusterCells"]) -> "ClusterCells":
        """Join the cells of blocks of rows; the cells of a cluster with rows in several blocks are added."""
        if len(parts) == 1:
            return parts[0]
        key, cell = np.unique(np.concatenate([part.key for part in parts]), return_inverse=True)
        sums = np.concatenate([part.sums for part in parts], axis=1)
        joined = np.stack([sums_at(cell, values, len(key)) for values in sums])
        by_bin = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("weight_sq", "own", "own_sq"))
        return cls(key, joined, *by_bin)

    def matrices(self) -> tuple[int, Any, Any, tuple[Floats, Floats, Floats]]:
        """Return the number of clusters, sparse matrices of weight and residual, and sums of each cluster.

        The matrices have shape (n_clusters, n_bins); the sums of clusters are weight, squared error and log loss.
        """
        from scipy.sparse import csr_array

        kept = self.sums[0] > 0
        code, place = np.divmod(self.key[kept], len(self.weight_sq))
        distinct, row = np.unique(code, return_inverse=True)
        shape = len(distinct), len(self.weight_sq)
        weight, residual = (csr_array((values[kept], (row, place)), shape=shape) for values in self.sums[:2])
        whole = tuple(sums_at(row, values[kept], shape[0]) for values in self.sums[[0, 2, 3]])
        return shape[0], weight, residual, whole  # type: ignore[return-value]  # three of them


class CollectedCells:
    """Cells of blocks of rows, in which clusters may be split.

    Memory grows with the number of cells that have rows, and not with that of rows.

    Parameters
    ----------
    bins : Bins
        The bins.
    """

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._parts: list[ClusterCells] = []

    def add(self, rows: Predictions | Columns, of_row: Array) -> None:
        """Add a block of validated rows, given the code of the cluster of each, the same in all blocks."""
        self._parts.append(ClusterCells.of_rows(rows, of_row, self.bins))
        if len(self._parts) == MOST_PARTS:
            self._parts = [ClusterCells.joined(self._parts)]

    @property
    def joined(self) -> ClusterCells:
        """The cells of all blocks, of which there is at least one."""
        return ClusterCells.joined(self._parts)
