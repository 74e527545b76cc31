"""How the errors of several binary problems on the same rows vary together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]

#: Rows at a time: a chunk of all problems stays small beside the input.
CHUNK = 4096


def error_correlation(problems: Sequence[Predictions], counts: Sequence[BinnedCounts]) -> tuple[Floats, Floats]:
    r"""Correlation, over rows, of what each row adds to the ECE of each problem, and of its residuals.

    Parameters
    ----------
    problems : sequence of Predictions
        Problems on the same rows, in the same order, such as the classes of one classifier.
    counts : sequence of BinnedCounts
        The counts of each.

    Returns
    -------
    (of_errors, of_residuals) : tuple of ndarray, shape (n_problems, n_problems)
        Correlation matrices.

    Notes
    -----
    A row's residual in problem k is :math:`r_{ik} = w_i (z_{ik} - c_{ik})`. It moves the plug-in ECE by
    :math:`\mathrm{sign}(g_b) r_{ik}`, with :math:`g_b` the observed gap of its bin: the influence function of the ECE,
    up to a constant. Uncentred second moments are used for residuals, whose mean under calibration is 0.
    """
    size = len(problems)
    influence, residual = np.zeros((size, size)), np.zeros((size, size))
    total, weight_sum = np.zeros(size), 0.0
    signs = [np.sign(np.nan_to_num(c.accuracy - c.mean_confidence)) for c in counts]
    for start in range(0, len(problems[0]), CHUNK):
        rows = slice(start, start + CHUNK)
        r = np.stack([_residual(p, rows) for p in problems], axis=1)
        moved = r * np.stack(
            [s[bin_index(p.confidence[rows], c.bins)] for p, c, s in zip(problems, counts, signs, strict=True)], axis=1
        )
        influence += moved.T @ moved
        residual += r.T @ r
        total += moved.sum(axis=0)
        weight_sum += len(r)
    return _correlation(influence - np.outer(total, total) / weight_sum), _correlation(residual)


def _residual(problem: Predictions, rows: slice) -> Any:
    r = problem.outcome[rows].astype(np.float64) - problem.confidence[rows]
    return r if problem.weight is None else r * problem.weight[rows]


def _correlation(moments: Floats) -> Floats:
    """Scale to a unit diagonal; a problem without any spread correlates with none."""
    sd = np.sqrt(np.maximum(np.diag(moments), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    result = np.clip(moments / np.outer(scale, scale), -1, 1)
    np.fill_diagonal(result, 1.0)
    return result
