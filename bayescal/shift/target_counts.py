"""TargetCounts: bins of a target population without labels, whose accuracies come from labelled rows of a source."""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.reading import Reading
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.frozen import Whole
from bayescal.stats.sums import sums_at

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetCounts(Whole):
    """Bins of a target population: masses and mean confidences of its rows, and accuracies from labelled source rows.

    It satisfies the protocol `Counts`. `n`, `k` and `n_rows` are numbers of labelled rows.

    Parameters
    ----------
    source : BinnedCounts
        The labelled rows of the source, with their weights.
    target_rows : ndarray of int64, shape (n_bins,)
        Numbers of target rows.
    mean_confidence : ndarray, shape (n_bins,)
        Mean confidence of the target rows; NaN in bins without them.
    accuracy : ndarray, shape (n_bins,)
        Estimated share of outcome 1 in the target; NaN in bins without labelled rows.
    effective_n : ndarray, shape (n_bins,)
        Number of labelled rows of the target that the labelled rows of the source are worth.
    target_reading : Reading
        How the probabilities of the target were read.

    Examples
    --------
    >>> source = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.3, 0.8], bins=2, weights=[1, 3, 1])
    >>> counts = TargetCounts.from_confidences(source, np.array([0.1, 0.7, 0.9]))
    >>> counts.share, counts.accuracy, counts.effective_n
    (array([0.33333333, 0.66666667]), array([0.75, 1.  ]), array([1.6, 1. ]))
    """

    source: BinnedCounts
    target_rows: NDArray[np.int64]
    mean_confidence: Floats
    accuracy: Floats
    effective_n: Floats
    target_reading: Reading = field(default_factory=Reading)

    not_added = "counts of a target cannot be added; add the counts of its source, and evaluate all rows."
    bins, target, n, k = (property(attrgetter(f"source.{name}")) for name in ("bins", "target", "n", "k"))
    n_rows, weight, weighted = (property(attrgetter(f"source.{name}")) for name in ("n_rows", "weight", "weighted"))
    losses, log_losses, ranks = (property(attrgetter(f"source.{name}")) for name in ("losses", "log_losses", "ranks"))
    reading = property(attrgetter("source.reading"))
    within_variance = property(attrgetter("source.within_variance"))
    within_covariance = property(attrgetter("source.within_covariance"))

    @classmethod
    def from_confidences(
        cls, source: BinnedCounts, confidence: NDArray[Any], reading: Reading | None = None
    ) -> "TargetCounts":
        """Count target rows on the bins of the source; accuracies are those of the (weighted) source rows."""
        cell, middle = bin_index(confidence, source.bins), source.bins.midpoints
        rows = np.bincount(cell, minlength=len(middle))
        deviation = sums_at(cell, confidence.astype(np.float64) - middle[cell], len(middle))
        mean = middle + np.divide(deviation, rows, out=np.full(len(middle), np.nan), where=rows > 0)
        return cls(source, rows, mean, source.accuracy, source.effective_n, reading or Reading())

    @property
    def effective_k(self) -> Floats:
        """Effective number of rows with outcome 1: `effective_n` times `accuracy`."""
        return np.nan_to_num(self.effective_n * self.accuracy)

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Whether each bin has target rows."""
        return self.target_rows > 0

    @property
    def share(self) -> Floats:
        """Share of the target rows in each bin."""
        return self.target_rows / max(self.n_target_rows, 1)

    @property
    def n_target_rows(self) -> int:
        """Number of target rows."""
        return int(self.target_rows.sum())

    @property
    def effective_rows(self) -> float:
        """Number of target rows, which give the masses of the bins."""
        return float(self.n_target_rows)

    @property
    def labelled_rows(self) -> float:
        """Effective number of labelled rows of all bins."""
        return self.source.effective_rows

    @property
    def uncovered(self) -> float:
        """Share of the target rows in bins without labelled rows of positive weight."""
        return float(self.share[~self.source.occupied].sum())

    def __repr__(self) -> str:
        return f"TargetCounts({self.bins}, {self.n_target_rows} rows, {self.n_rows} labelled rows of the source)"
