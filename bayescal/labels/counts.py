"""Counts of rows of which some have the true label: masses from all rows, accuracies from labels and from a kernel."""

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Floats
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.frozen import Whole


@dataclass(frozen=True, eq=False)
class LabelCounts(Whole):
    r"""Bins of rows of which some were checked, and the Beta kernel that replaces the evidence of the other rows.

    It satisfies the protocol `Counts`. `rows` are all rows, which give masses and mean confidences; their outcomes are
    the judge's labels where there is a judge. `checked` are the rows with the true label, on the same bins. `ones` and
    `zeros`, shape (n_bins,), are the exponents of the kernel :math:`\theta^a (1 - \theta)^b`: the rows with outcome 1
    and 0 that the other rows are worth. `n` and `n_rows` are numbers of all rows, and `k` is the number of checked rows
    with outcome 1.
    """

    rows: BinnedCounts
    checked: BinnedCounts
    ones: Floats
    zeros: Floats

    not_added = "counts of checked and other rows cannot be added; evaluate the rows together."
    #: Needs of estimands that these counts do not meet: the order of the rows is known for judged labels only.
    lacking = frozenset({"outcomes"})
    bins, target, n, n_rows = (property(attrgetter(f"rows.{name}")) for name in ("bins", "target", "n", "n_rows"))
    occupied, share = (property(attrgetter(f"rows.{name}")) for name in ("occupied", "share"))
    mean_confidence, effective_rows = (
        property(attrgetter(f"rows.{name}")) for name in ("mean_confidence", "effective_rows")
    )
    k, weight, weighted = (property(attrgetter(f"checked.{name}")) for name in ("k", "weight", "weighted"))
    losses, log_losses, ranks = (property(attrgetter(f"checked.{name}")) for name in ("losses", "log_losses", "ranks"))
    within_variance = property(attrgetter("checked.within_variance"))
    within_covariance = property(attrgetter("checked.within_covariance"))
    reading = property(attrgetter("rows.reading"))
    n_checked = property(attrgetter("checked.n"))

    @classmethod
    def without_kernel(cls, rows: BinnedCounts, checked: BinnedCounts) -> "LabelCounts":
        """Return counts in which rows that were not checked give no evidence about accuracies."""
        none = np.zeros(len(rows.bins))
        return cls(rows, checked, none, none)

    def with_kernel(self, ones: Floats, zeros: Floats) -> "LabelCounts":
        """Return the counts with another kernel."""
        return replace(self, ones=ones, zeros=zeros)

    @property
    def confidence(self) -> Floats:
        """Mean confidence of each bin; the midpoint if it is empty."""
        return np.where(self.occupied, np.clip(np.nan_to_num(self.mean_confidence), 0, 1), self.bins.midpoints)

    @property
    def effective_n(self) -> Floats:
        """Checked (effective) rows of each bin, and those that the other rows are worth."""
        return self.checked.effective_n + self.ones + self.zeros

    @property
    def effective_k(self) -> Floats:
        """Checked (effective) rows with outcome 1, and those that the other rows are worth."""
        return self.checked.effective_k + self.ones

    @property
    def accuracy(self) -> Floats:
        """Estimated share of outcome 1 per bin; NaN without evidence."""
        n = self.effective_n
        return np.divide(self.effective_k, n, out=np.full(len(n), np.nan), where=(n > 0) & self.occupied)

    @property
    def rows_by_outcome(self) -> NDArray[np.float64]:
        """Number of checked rows without and with outcome 1, shape (2, n_bins), for mean losses given the outcome."""
        n, k = self.checked.effective_n, self.checked.effective_k
        return np.stack([n - k, k])

    def __repr__(self) -> str:
        return f"LabelCounts({self.bins}, {self.n_rows} rows, {self.checked.n_rows} of them checked)"
