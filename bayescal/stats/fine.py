"""Fine bins that can be merged into many choices of bins, and the choice of edges among them."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, equal_width_edges, equalised

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def common_refinement(choices: Iterable[Bins]) -> Bins:
    """Make the coarsest bins from which every choice of bins can be merged exactly.

    Parameters
    ----------
    choices : iterable of Bins
        The choices.

    Returns
    -------
    Bins
        The union of the edges of all choices.

    Examples
    --------
    The edges of two and of three equal-width bins:

    >>> from bayescal import make_bins
    >>> common_refinement([make_bins(2), make_bins(3)]).edges
    array([0.    , 0.3333, 0.5   , 0.6667, 1.    ])
    """
    return Bins(np.unique(np.concatenate([bins.edges for bins in choices])), "custom")


def can_merge(counts: BinnedCounts, n_bins: int) -> bool:
    """Return whether the edges of this number of equal-width bins are among those of the counts.

    Examples
    --------
    >>> [can_merge(BinnedCounts.empty(12), n) for n in (3, 5)]
    [True, False]
    """
    return bool(np.isin(equal_width_edges(n_bins), counts.bins.edges).all())


def bins_among(counts: BinnedCounts, n_bins: int, binning: str) -> Bins:
    """Choose fewer bins whose edges are those of fine bins; `BinnedCounts.coarsen` merges the fine bins into them.

    Parameters
    ----------
    counts : BinnedCounts
        Counts on fine bins, with at least one row.
    n_bins : int
        Number of bins.
    binning : {"equal-width", "equal-mass", "equal-effective-mass"}
        How the edges are chosen among those of the counts.

    Returns
    -------
    Bins
        For equal-width bins, the edges k / n_bins. For the others, see `equal_mass_among` and
        `equal_effective_mass_among`.

    Examples
    --------
    >>> fine = BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9], bins=10)
    >>> fine.coarsen(bins_among(fine, 2, "equal-width")).n, fine.coarsen(bins_among(fine, 2, "equal-mass")).n
    (array([3, 1]), array([2, 2]))
    """
    if binning == "equal-width":
        edges = equal_width_edges(n_bins)
    elif binning == "equal-mass":
        edges = equal_mass_among(counts, n_bins)
    else:
        edges = equal_effective_mass_among(counts, n_bins)
    return Bins(edges, binning, counts.bins.closed)


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


def equal_effective_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of the counts that put nearly the same effective number of rows into each bin.

    Parameters
    ----------
    counts : BinnedCounts
        Counts on fine bins, with rows of positive weight.
    n_bins : int
        Requested number of bins; there are fewer if fine bins hold more rows than a bin should.

    Returns
    -------
    ndarray, shape (at most n_bins + 1,)
        Beginning with the edges of `equal_mass_among`, edges move as described at `equal_effective_mass_edges`. Without
        weights they are those of `equal_mass_among`.

    Examples
    --------
    >>> fine = BinnedCounts.from_arrays([1] * 4, [0.1, 0.3, 0.6, 0.8], weights=[1, 1, 1, 9], bins=10)
    >>> equal_effective_mass_among(fine, 2)
    array([0. , 0.6, 1. ])
    """
    even = equal_mass_among(counts, n_bins)
    if not counts.weighted:
        return even
    weight, start = counts.weight.sum(axis=0)[counts.occupied], counts.bins.edges[:-1][counts.occupied]
    weight_sq = counts.weight_sq[counts.occupied]

    def inside(cuts: Ints) -> Ints:
        return np.unique(cuts[(cuts > 0) & (cuts < len(start))])

    cuts = equalised(weight, weight_sq, inside(np.searchsorted(start, even[1:-1])), n_bins, settle=inside)
    return np.concatenate([[0.0], start[cuts], [1.0]])


def largest_share(counts: BinnedCounts, n_bins: int) -> float:
    """Return the rows of the largest bin as a multiple of 1 / n_bins; effective rows for equal effective mass.

    Examples
    --------
    >>> largest_share(BinnedCounts.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.3, 0.9], bins=2), 2)
    1.5
    """
    rows = counts.effective_n if counts.bins.kind == "equal-effective-mass" else counts.n
    return float(rows.max() * n_bins / max(rows.sum(), 1))
