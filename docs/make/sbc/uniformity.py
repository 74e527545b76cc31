"""Tests that counts come from equally probable cells, as the ranks of a right sampler do."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, chdtrc

from bayescal import _checks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Absolute precision of p-values; smaller ones are reported as this.
SMALLEST_P = 1e-12


def chi_square_p(histogram: ArrayLike) -> float:
    """Compute the p-value of Pearson's chi-square test that counts come from equally probable cells.

    Parameters
    ----------
    histogram : array-like of int, shape (n_cells,)
        Count of each cell.

    Returns
    -------
    float
        In [0, 1]. The asymptotic distribution needs about five or more expected counts per cell, and far more in the
        far tail. With 20 cells, the true probability of p <= 1e-8 is 1.8e-7 for 100 counts, 4e-8 for 300 and 3e-8 for
        500.

    Examples
    --------
    Two cells of 60 and 40: chi-square 4 on one degree of freedom.

    >>> chi_square_p([60, 40])
    0.0455
    """
    counts = np.asarray(histogram)
    expected = counts.sum() / len(counts)
    return float(chdtrc(len(counts) - 1, ((counts - expected) ** 2).sum() / expected))


def ecdf_p(histogram: ArrayLike) -> float:
    r"""Compute the p-value of a simultaneous test of an empirical distribution function for equally probable cells.

    Parameters
    ----------
    histogram : array-like of int, shape (n_cells,)
        Number of ranks in each cell.

    Returns
    -------
    float
        Probability that an empirical distribution function reaches at least as far into its pointwise Binomial tails,
        at any point, as this one. Exact except for rounding; at least 1e-12.

    Notes
    -----
    The statistic is :math:`\gamma = 2 \min_i \min(P(B_i \le c_i), P(B_i \ge c_i))` for cumulative counts :math:`c_i`
    (eq. 2 and 13 of [1]_). Its distribution follows from the cumulative counts, cell by cell; for a Poisson process
    conditioned on its total, each step is a convolution [2]_.

    References
    ----------
    .. [1] Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications in
       goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32.
    .. [2] Moscovich and Nadler (2017), Fast calculation of boundary crossing probabilities for Poisson processes,
       Statistics and Probability Letters 123, 177-182.

    Examples
    --------
    One point of evaluation, B ~ Binomial(3, 1/2): P(B = 0 or B = 3) = 1/4.

    >>> ecdf_p([3, 0])
    0.25
    """
    counts = np.asarray(histogram, dtype=np.int64)
    n, below = int(counts.sum()), np.cumsum(counts)[:-1]
    place = np.arange(1, len(counts)) / len(counts)
    level = 2 * min(float(_at_most(below, n, place).min()), float(_at_least(below, n, place).min()))
    if level >= 1:
        return 1.0
    if level * len(place) < SMALLEST_P:  # the union bound
        return SMALLEST_P
    # levels that differ by rounding only count as equal
    return max(1 - _probability_inside(*_band(n, len(counts), level * (1 + 1e-9))), SMALLEST_P)


def ecdf_band(n_ranks: int, n_cells: int, prob: float = 0.95) -> tuple[Ints, Ints]:
    """Compute a simultaneous band of the cumulative counts of uniform ranks.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.
    n_cells : int
        Number of cells in which they are counted.
    prob : float, default 0.95
        Probability that all cumulative counts are inside. Counts are discrete, so the band has at least this
        probability.

    Returns
    -------
    (low, high) : ndarray of int, shape (n_cells - 1,)
        Smallest and largest cumulative count at the inner ends of the cells; see `ecdf_p`.

    References
    ----------
    Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications in
    goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32:32.

    Examples
    --------
    >>> ecdf_band(100, 4, 0.95)
    (array([15, 39, 65]), array([35, 61, 85]))
    """
    prob = _checks.fraction("prob", prob)
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if _probability_inside(*_band(n_ranks, n_cells, middle)) >= prob:
            low = middle
        else:
            high = middle
    lower, upper, _, _ = _band(n_ranks, n_cells, low)
    return lower, upper


def _at_most(count: Ints, n: int, place: Floats) -> Floats:
    return np.where(count >= n, 1.0, bdtr(np.minimum(count, n - 1).astype(float), n, place))


def _at_least(count: Ints, n: int, place: Floats) -> Floats:
    return np.where(count <= 0, 1.0, bdtrc(np.maximum(count - 1, 0).astype(float), n, place))


def _band(n: int, n_cells: int, level: float) -> tuple[Ints, Ints, int, int]:
    """Range of counts whose Binomial tails both exceed level / 2, at each inner end of a cell."""
    place = np.arange(1, n_cells) / n_cells
    reach = 8 * np.sqrt(n * place * (1 - place)) + 12  # tails out there are below 1e-14
    offset = np.arange(-int(reach.max()) - 1, int(reach.max()) + 2)
    count = np.clip(np.rint(n * place).astype(np.int64)[:, None] + offset, 0, n)
    inside = (_at_most(count, n, place[:, None]) > level / 2) & (_at_least(count, n, place[:, None]) > level / 2)
    rows, last = np.arange(len(place)), count.shape[1] - 1
    low, high = count[rows, inside.argmax(axis=1)], count[rows, last - inside[:, ::-1].argmax(axis=1)]
    some = inside.any(axis=1)
    return np.where(some, low, 1), np.where(some, high, 0), n, n_cells


def _probability_inside(low: Ints, high: Ints, n: int, n_cells: int) -> float:
    """Probability that cumulative counts of n uniform ranks stay within low..high at the inner ends of the cells."""
    if np.any(low > high):
        return 0.0
    step, first = _poisson(n / n_cells)
    density, start = np.ones(1), 0
    for least, most in zip([*low.tolist(), n], [*high.tolist(), n], strict=True):
        density = np.convolve(density, step)
        start += first
        count = np.arange(least, most + 1) - start
        inside = (count >= 0) & (count < len(density))
        density, start = np.where(inside, density[np.clip(count, 0, len(density) - 1)], 0.0), least
    return float(density[0] / _poisson_at_mean(n))


def _poisson(mean: float) -> tuple[Floats, int]:
    """Poisson probabilities around the mean, computed from ratios, because log factorials would lose digits."""
    reach = 12 * np.sqrt(mean) + 40
    first = max(0, int(mean - reach))
    count = np.arange(first + 1, int(mean + reach))
    log_p = np.concatenate([[0.0], np.cumsum(np.log(mean / count))])
    p = np.exp(log_p - log_p.max())
    return p / p.sum(), first


def _poisson_at_mean(n: int) -> float:
    """Compute exp(-n) n^n / n!, by Stirling's series if n is not small."""
    if n < 20:
        return float(np.exp(n * np.log(n) - n - np.log(np.arange(1, n + 1)).sum()))
    return float(np.exp(-1 / (12 * n) + 1 / (360 * n**3) - 1 / (1260 * n**5)) / np.sqrt(2 * np.pi * n))
