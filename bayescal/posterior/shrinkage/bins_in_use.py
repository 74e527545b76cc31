"""Partition of the bins: described by the sub-models, saturated (with a separate model), or empty."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.shrinkage.noise import crowded_ends
from bayescal.posterior.shrinkage.saturated import is_saturated
from bayescal.stats.contract import Counts

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BinsInUse:
    """Masks of the bins by the model that describes them, each of shape (n_bins,).

    Parameters
    ----------
    counts : BinnedCounts
        The counts.
    apart : bool
        Whether saturated bins have a separate model. If not, `saturated` marks no bin.
    """

    counts: Counts
    apart: bool

    @cached_property
    def confidence(self) -> Floats:
        """Mean confidence of each bin; the midpoint if it is empty."""
        counts = self.counts
        return np.where(counts.occupied, np.clip(counts.mean_confidence, 0, 1), counts.bins.midpoints)

    @cached_property
    def used(self) -> Bools:
        """Bins in use: those with rows, or all bins if there are no rows."""
        occupied = self.counts.occupied
        return occupied if occupied.any() else np.ones_like(occupied)

    @cached_property
    def saturated(self) -> Bools:
        """Saturated bins, which have a separate model."""
        return self.used & is_saturated(self.confidence) & self.apart

    @cached_property
    def described(self) -> Bools:
        """Bins that the sub-models describe."""
        return self.used & ~self.saturated

    @cached_property
    def crowded(self) -> Bools:
        """Bins that have a share of noise of their own under "label_noise_ends"."""
        return self.described & self.counts.occupied & crowded_ends(self.counts.bins.edges, self.confidence)

    def rows(self, which: Bools) -> tuple[Floats, Floats, Floats]:
        """Return effective rows, effective positives and mean confidences of the bins in a mask."""
        n = self.counts.effective_n[which]
        return n, np.clip(self.counts.effective_k[which], 0.0, n), self.confidence[which]
