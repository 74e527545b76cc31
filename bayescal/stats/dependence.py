"""Correlation of the errors of several binary problems on the same rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.matrix import ClassRows
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]

#: Rows per chunk, so that temporary arrays are small compared with the input.
CHUNK = 4096


def error_correlation(rows: ClassRows, counts: Sequence[BinnedCounts]) -> tuple[Floats, Floats]:
    r"""Correlate classes over rows: their contributions to the plug-in ECE, and their residuals.

    Parameters
    ----------
    rows : ClassRows
        Class and probabilities of each row.
    counts : sequence of BinnedCounts
        The counts of each class.

    Returns
    -------
    (of_errors, of_residuals) : tuple of ndarray, shape (n_classes, n_classes)
        Correlation matrices.

    Notes
    -----
    The residual of row i for class k is :math:`r_{ik} = w_i (z_{ik} - c_{ik})`. The contribution of the row to the
    plug-in ECE of class k is :math:`\mathrm{sign}(g_b) r_{ik}`, where :math:`g_b` is the observed gap of its bin; this
    is the influence function of the ECE, up to a constant. Residuals have mean 0 under calibration, so their second
    moments are not centred.
    """
    moments = ErrorMoments(counts)
    moments.add(rows)
    return moments.correlations()


class ErrorMoments:
    """Second moments of the contributions of rows to the ECE of each class; rows may be added in batches.

    Parameters
    ----------
    counts : sequence of BinnedCounts
        The counts of each class, over all rows.
    """

    def __init__(self, counts: Sequence[BinnedCounts]) -> None:
        size = len(counts)
        self._bins = [c.bins for c in counts]
        self._signs = [np.sign(np.nan_to_num(c.accuracy - c.mean_confidence)) for c in counts]
        self._influence, self._residual = np.zeros((size, size)), np.zeros((size, size))
        self._total, self._n_rows = np.zeros(size), 0

    def add(self, rows: ClassRows) -> None:
        """Add the moments of a batch of rows, which `counts` must include."""
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            matrix = np.clip(rows.matrix[part], 0, 1)  # as when the rows were counted
            r = -matrix.astype(np.float64)
            r[np.arange(len(r)), rows.label[part]] += 1
            if rows.weight is not None:
                r *= rows.weight[part, None]
            moved = r * self._signs_of(matrix)
            self._influence += moved.T @ moved
            self._residual += r.T @ r
            self._total += moved.sum(axis=0)
            self._n_rows += len(r)

    def correlations(self) -> tuple[Floats, Floats]:
        """Return the correlation matrices of errors and of residuals."""
        centred = self._influence - np.outer(self._total, self._total) / self._n_rows
        return _correlation(centred), _correlation(self._residual)

    def _signs_of(self, matrix: NDArray[Any]) -> Floats:
        """Return the sign of the observed gap of the bin of each matrix entry."""
        return np.stack(
            [s[bin_index(c, bins)] for s, c, bins in zip(self._signs, matrix.T, self._bins, strict=True)], axis=1
        )


def _correlation(moments: Floats) -> Floats:
    """Scale moments to a unit diagonal; a problem with variance 0 has correlation 0 with all others."""
    sd = np.sqrt(np.maximum(np.diag(moments), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    result = np.clip(moments / np.outer(scale, scale), -1, 1)
    np.fill_diagonal(result, 1.0)
    return result
