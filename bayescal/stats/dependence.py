"""Correlation of the errors of several binary problems on the same rows, from addable sums over rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.matrix import ClassRows
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.sums import sums_at

Floats = NDArray[np.float64]

#: Rows per chunk, so that temporary arrays are small compared with the input.
CHUNK = 16_384
#: Maximum number of cells (classes times bins) whose joint sums are kept: 1.8 MB. With more classes, the correlation of
#: their errors changes the width of the interval of the mean by less than 1 %; see docs/explanation/classwise.md.
MOST_CELLS = 480
#: Mean squares of residuals below this are rounding errors of residuals of 0.
ROUNDING = 1e-12
#: Steps of a bisection; each halves the interval.
STEPS = 80


def joint_residuals(rows: ClassRows, bins: Sequence[Bins]) -> Floats | None:
    r"""Sum products of the residuals of two classes over the rows in each pair of their bins.

    Parameters
    ----------
    rows : ClassRows
        Class and probabilities of each row.
    bins : sequence of Bins
        Bins of each class.

    Returns
    -------
    ndarray, shape (n_cells, n_cells), or None
        A cell is one bin of one class; the cells of a class follow each other. The entry of the cells (k, b) and
        (l, c) is the sum of :math:`w_i^2 (z_{ik} - p_{ik}) (z_{il} - p_{il})` over the rows i with :math:`p_{ik}` in
        bin b and :math:`p_{il}` in bin c. None if there are more than `MOST_CELLS` cells.
    """
    first = first_cells(bins)
    if first[-1] > MOST_CELLS:
        return None
    total = np.zeros((first[-1], first[-1]))
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        matrix = np.clip(rows.matrix[part], 0, 1)  # as when the rows were counted
        residual = [(rows.label[part] == k) - p.astype(np.float64) for k, p in enumerate(matrix.T)]
        if rows.weight is not None:
            residual = [rows.weight[part] * r for r in residual]
        index = [bin_index(p, edges) for p, edges in zip(matrix.T, bins, strict=True)]
        for k, (r, b) in enumerate(zip(residual, index, strict=True)):
            total[first[k] : first[k + 1], first[k] : first[k + 1]] += np.diag(sums_at(b, r * r, len(bins[k])))
            for j in range(k):
                size = len(bins[k]), len(bins[j])
                place = b * size[1] + index[j]
                sums = sums_at(place, r * residual[j], size[0] * size[1]).reshape(size)
                total[first[k] : first[k + 1], first[j] : first[j + 1]] += sums
    lower = np.tril(total, -1)
    return lower + lower.T + np.diag(np.diag(total))


def first_cells(bins: Sequence[Bins]) -> NDArray[np.int64]:
    """Return the number of the first cell of each class, and the number of cells."""
    return np.cumsum([0, *map(len, bins)])


def error_correlation(counts: Sequence[BinnedCounts], joint: Floats | None) -> tuple[Floats, Floats]:
    r"""Correlate classes over rows: their contributions to the plug-in ECE, and their residuals.

    Parameters
    ----------
    counts : sequence of BinnedCounts
        The counts of each class.
    joint : ndarray or None
        The sums of `joint_residuals` over the same rows.

    Returns
    -------
    (of_errors, of_residuals) : tuple of ndarray, shape (n_classes, n_classes)
        Correlation matrices.

    Notes
    -----
    The residual of row i for class k is :math:`r_{ik} = w_i (z_{ik} - p_{ik})`. The contribution of the row to the
    plug-in ECE of class k is :math:`\mathrm{sign}(g_b) r_{ik}`, where :math:`g_b` is the observed gap of its bin; this
    is the influence function of the ECE, up to a constant. Its second moments are sums of `joint` with these signs.
    Residuals have mean 0 under calibration, so their second moments are not centred.

    Without joint sums, residuals have the covariance of a multinomial distribution, because classes exclude each
    other: :math:`S a_k [k = l] - a_k a_l` with :math:`S = \sum_k a_k` and the observed variance of each class.
    Contributions to the ECE are taken as uncorrelated. Two classes are an exception: their residuals are equal except
    for the sign, so all correlations are 1 in size.
    """
    if joint is None:
        variance = np.array([_squares(each).sum() for each in counts])
        variance[variance <= ROUNDING * counts[0].weight.sum()] = 0.0
        of_residuals = _correlation(_exclusive(variance))
        size = len(counts)
        return np.ones((2, 2)) if size == 2 else np.eye(size), of_residuals
    first = first_cells([each.bins for each in counts])
    gap = [np.nan_to_num(each.accuracy - each.mean_confidence) for each in counts]
    sign = np.sign(np.concatenate(gap))
    total = np.array([np.abs(g) @ each.weight.sum(axis=0) for g, each in zip(gap, counts, strict=True)])
    centre = np.outer(total, total) / max(counts[0].n_rows, 1)
    return _correlation(_by_class(sign[:, None] * joint * sign, first) - centre), _correlation(_by_class(joint, first))


def _by_class(joint: Floats, first: NDArray[np.int64]) -> Floats:
    """Sum over the bins of each class."""
    result: Floats = np.add.reduceat(np.add.reduceat(joint, first[:-1], axis=0), first[:-1], axis=1)
    return result


def _squares(counts: BinnedCounts) -> Floats:
    """Sum of squared residuals by outcome and bin."""
    assert counts.losses is not None  # as ClasswiseCounts requires
    return counts.losses.total


def _exclusive(variance: Floats) -> Floats:
    """Return the covariance of a multinomial distribution with these variances, S diag(a) - a a'."""
    size, largest = len(variance), int(variance.argmax())
    others = variance.sum() - variance[largest]
    if others <= 0:
        return np.diag(variance)
    if size == 2:
        return np.sqrt(np.outer(variance, variance)) * np.array([[1, -1], [-1, 1]])
    # the residual of one class is minus the sum of the others, which have negative correlations
    variance = np.where(np.arange(size) == largest, np.minimum(variance, (1 - 1e-9) * others), variance)

    rest = np.arange(size) != largest

    def roots(total: float) -> Floats:
        """Smaller roots of a (S - a) = variance."""
        return np.asarray(variance / (total / 2 + np.sqrt(np.maximum(total**2 / 4 - variance, 0.0))))

    def exceeds(total: float, upper: bool) -> bool:
        """Whether the shares sum to more than the total; the largest class has its larger root if `upper`."""
        root = roots(total)
        own, others = root[largest], root[rest].sum()
        # the larger root is total - own; total - own + others > total would be decided by rounding
        return bool(others > own if upper else others + own > total)

    least = 2 * np.sqrt(variance[largest])  # then both roots of the largest class are equal
    upper = not exceeds(least, False)
    most = 2 * least
    while exceeds(most, upper) != upper:
        most *= 2
    for _ in range(STEPS):
        middle = (least + most) / 2
        if exceeds(middle, upper) != upper:
            least = middle
        else:
            most = middle
    total = (least + most) / 2
    a = roots(total)
    if upper:
        a[largest] = total - a[largest]
    covariance = -np.outer(a, a)
    np.fill_diagonal(covariance, variance)  # variance + a^2 - a^2 would lose digits
    return covariance


def _correlation(moments: NDArray[Any]) -> Floats:
    """Scale moments to a unit diagonal; a problem with variance 0 has correlation 0 with all others."""
    sd = np.sqrt(np.maximum(np.diag(moments), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    result = np.clip(moments / np.outer(scale, scale), -1, 1)
    np.fill_diagonal(result, 1.0)
    return result
