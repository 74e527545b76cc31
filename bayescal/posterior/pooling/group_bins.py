"""Sums of several groups on the same bins, as arrays with one row per group."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayescal.posterior.shrinkage.independent.drift import LEVERAGE_FLOOR
from bayescal.stats.contract import Counts
from bayescal.stats.log_odds import logit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupBins:
    """Bins of several groups; only bins with rows in some group.

    Parameters
    ----------
    n, k : ndarray, shape (n_groups, n_used)
        Effective rows, and effective rows with outcome 1.
    rows : ndarray, shape (n_groups, n_used)
        Effective rows of the masses: the effective number of a group's rows, divided among bins by weight.
    confidence : ndarray, shape (n_groups, n_used)
        Mean confidences; of bins that are empty in a group, those of all rows.
    share : ndarray, shape (n_used,)
        Shares of all rows around which masses vary; positive.
    share_rows : float, default infinity
        Effective number of rows from which the shares were estimated; infinite if they are known.
    of_all : ndarray, shape (n_used,), optional
        Mean confidences of all rows; by default those of all groups are equal to them.
    """

    n: Floats
    k: Floats
    rows: Floats
    confidence: Floats
    share: Floats
    share_rows: float = np.inf
    of_all: Floats | None = None

    @classmethod
    def of(cls, counts: Sequence[Counts], overall: Counts) -> "GroupBins":
        """Stack the counts of the groups; half a row is added to each share of all rows."""
        used = overall.occupied
        n, k, share = (np.stack([getattr(c, name)[used] for c in counts]) for name in _COLUMNS)
        effective = np.array([c.effective_rows for c in counts])
        seen = np.stack([c.mean_confidence[used] for c in counts])
        of_all = np.clip(overall.mean_confidence[used], 0.0, 1.0)
        confidence = np.where(np.isfinite(seen), np.clip(seen, 0.0, 1.0), of_all)
        total = overall.effective_rows * overall.share[used] + 0.5
        rows = effective[:, None] * np.where(effective[:, None] > 0, share, 0.0)
        shares = total / total.sum()
        return cls(n, np.clip(k, 0.0, n), rows, confidence, shares, float(total.sum()), of_all)

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def start(self) -> Floats:
        """Logits of the mean confidences, shape (n_groups, n_used)."""
        return logit(self.confidence)

    @cached_property
    def lever(self) -> Floats:
        """Logits of the mean confidences around their centre in the group, which the slope multiplies."""
        x = logit(self.confidence, LEVERAGE_FLOOR)
        c = self.confidence
        information = self.n * c * (1 - c) + 1e-9
        return x - ((information * x).sum(axis=1) / information.sum(axis=1))[:, None]

    def take(self, groups: NDArray[np.intp]) -> "GroupBins":
        """Return some groups, or groups several times."""
        by_group = {name: getattr(self, name)[groups] for name in ("n", "k", "rows", "confidence")}
        return replace(self, **by_group)

    def shifts(self, curves: Floats) -> Floats:
        r"""Shifts of the logits of the confidences of each group by common curves.

        Parameters
        ----------
        curves : ndarray, shape (n_curves, n_used)
            Logits of the accuracies minus logits of the mean confidences, of all rows.

        Returns
        -------
        ndarray, shape (n_curves, n_groups, n_used)
            The mean confidence c of a group in a bin may differ from that of all rows, :math:`\bar c`, whose accuracy
            is :math:`\theta`. The group has the same shift of the logit, or the same gap, the accuracy
            :math:`\theta + c - \bar c`: the one that is nearer to :math:`\theta`. Logits of confidences near 0 and 1
            can differ by any amount within a bin, the gaps by no more than its width.
        """
        same = np.broadcast_to(curves[:, None], (len(curves), *self.n.shape))
        if self.of_all is None:
            return same
        accuracy = expit(logit(self.of_all) + same)
        difference = self.confidence - self.of_all
        nearer = np.abs(difference) < np.abs(expit(self.start + same) - accuracy)
        return np.where(nearer & (same != 0), logit(accuracy + difference) - self.start, same)


_COLUMNS = ("effective_n", "effective_k", "share")
