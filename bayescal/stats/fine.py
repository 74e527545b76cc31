"""Fine bins that can be merged into many choices of bins, and the choice of edges among them."""

from collections.abc import Iterable

import numpy as np

from bayescal._arrays import Floats, Ints
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, equal_width_edges, equalised


def common_refinement(choices: Iterable[Bins]) -> Bins:
    """Make the coarsest bins from which every choice of bins can be merged exactly: the union of their edges."""
    return Bins(np.unique(np.concatenate([bins.edges for bins in choices])), "custom")


def can_merge(counts: BinnedCounts, n_bins: int) -> bool:
    """Return whether the edges of this number of equal-width bins are among those of the counts."""
    return bool(np.isin(equal_width_edges(n_bins), counts.bins.edges).all())


def bins_among(counts: BinnedCounts, n_bins: int, binning: str) -> Bins:
    """Choose fewer bins whose edges are those of fine bins; `BinnedCounts.coarsen` merges the fine bins into them."""
    if binning == "equal-width":
        edges = equal_width_edges(n_bins)
    elif binning == "equal-mass":
        edges = equal_mass_among(counts, n_bins)
    else:
        edges = equal_effective_mass_among(counts, n_bins)
    return Bins(edges, binning, counts.bins.closed)


def equal_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of fine bins that put nearly the same number of rows into each of at most `n_bins` bins."""
    below = np.concatenate([[0], np.cumsum(counts.n)])
    size, extra = divmod(int(below[-1]), n_bins)
    wanted = np.cumsum(np.where(np.arange(n_bins) < extra, size + 1, size))[:-1]
    upper = np.searchsorted(below, wanted)
    lower = np.searchsorted(below, below[np.maximum(upper - 1, 0)])
    at = np.where(wanted - below[lower] <= below[upper] - wanted, lower, upper)
    at = np.unique(at[(below[at] > 0) & (below[at] < below[-1])])
    return np.concatenate([[0.0], counts.bins.edges[at], [1.0]])


def equal_effective_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of fine bins that put nearly equal effective numbers of rows into at most `n_bins` bins."""
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
    """Return the rows of the largest bin as a multiple of 1 / n_bins; effective rows for equal effective mass."""
    rows = counts.effective_n if counts.bins.kind == "equal-effective-mass" else counts.n
    return float(rows.max() * n_bins / max(rows.sum(), 1))
