"""Fine bins that can be merged into many choices of bins, and the merging."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, equal_mass_edges, equal_width_edges

Floats = NDArray[np.float64]


def common_refinement(n_bins: Sequence[int], binning: Sequence[str], confidence: ArrayLike) -> Bins:
    """Make the coarsest bins from which every choice of bins can be merged exactly.

    Parameters
    ----------
    n_bins : sequence of int
        Numbers of bins.
    binning : sequence of {"equal-width", "equal-mass"}
        How the edges of each number of bins are chosen.
    confidence : array-like of float, shape (n_rows,)
        The confidences, on which equal-mass edges depend.

    Returns
    -------
    Bins
        The union of the edges of all choices.

    Examples
    --------
    The edges of two and of three equal-width bins:

    >>> common_refinement([2, 3], ["equal-width"], [0.2, 0.9]).edges
    array([0.    , 0.3333, 0.5   , 0.6667, 1.    ])
    """
    edges = [np.array([0.0, 1.0])]
    for number in n_bins:
        if "equal-width" in binning:
            edges.append(equal_width_edges(number))
        if "equal-mass" in binning:
            edges.append(equal_mass_edges(confidence, number))
    return Bins(np.unique(np.concatenate(edges)), "custom")


def can_merge(counts: BinnedCounts, n_bins: int) -> bool:
    """Return whether the edges of this number of equal-width bins are among those of the counts.

    Examples
    --------
    >>> [can_merge(BinnedCounts.empty(12), n) for n in (3, 5)]
    [True, False]
    """
    return bool(np.isin(equal_width_edges(n_bins), counts.bins.edges).all())


def merge(counts: BinnedCounts, n_bins: int, binning: str) -> BinnedCounts:
    """Merge fine bins into fewer equal-width or equal-mass bins.

    Parameters
    ----------
    counts : BinnedCounts
        Counts on fine bins.
    n_bins : int
        Number of bins.
    binning : {"equal-width", "equal-mass"}
        How the edges are chosen among those of the counts.

    Returns
    -------
    BinnedCounts
        The same rows on fewer bins. For "equal-mass" see `equal_mass_among`.

    Raises
    ------
    ValueError
        If an edge of the equal-width bins is not among those of the counts.

    Examples
    --------
    >>> fine = BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9], bins=10)
    >>> merge(fine, 2, "equal-width").n, merge(fine, 2, "equal-mass").n
    (array([3, 1]), array([2, 2]))
    """
    chosen = equal_width_edges(n_bins) if binning == "equal-width" else equal_mass_among(counts, n_bins)
    return counts.coarsen(Bins(chosen, binning, counts.bins.closed))


def equal_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of the counts that put nearly the same number of rows into each bin.

    Parameters
    ----------
    counts : BinnedCounts
        Counts on fine bins, with at least one row.
    n_bins : int
        Requested number of bins; there are fewer if fine bins hold more rows than a bin should.

    Returns
    -------
    ndarray, shape (at most n_bins + 1,)
        The edges nearest, in rows, to equal shares. They are those of `equal_mass_edges` if each fine bin contains one
        distinct confidence.

    Examples
    --------
    >>> fine = BinnedCounts.from_arrays([1] * 6, [0.05, 0.15, 0.25, 0.35, 0.45, 0.95], bins=10)
    >>> equal_mass_among(fine, 3)
    array([0. , 0.2, 0.4, 1. ])
    """
    below = np.concatenate([[0], np.cumsum(counts.n)])
    size, extra = divmod(int(below[-1]), n_bins)
    wanted = np.cumsum(np.where(np.arange(n_bins) < extra, size + 1, size))[:-1]
    upper = np.searchsorted(below, wanted)
    lower = np.searchsorted(below, below[np.maximum(upper - 1, 0)])
    at = np.where(wanted - below[lower] <= below[upper] - wanted, lower, upper)
    at = np.unique(at[(below[at] > 0) & (below[at] < below[-1])])
    return np.concatenate([[0.0], counts.bins.edges[at], [1.0]])


def largest_share(counts: BinnedCounts, n_bins: int) -> float:
    """Return the share of rows in the largest bin, as a multiple of 1 / n_bins.

    Examples
    --------
    >>> largest_share(BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9], bins=2), 2)
    1.5
    """
    total: Any = max(counts.n_rows, 1)
    return float(counts.n.max() * n_bins / total)
