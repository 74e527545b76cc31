"""LabelShiftedCounts: labelled rows of a source, as counts of a target in which other class frequencies hold."""

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.losses import LossSums
from bayescal.stats.ranks import Ranks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShiftedBins:
    """One class against the others: labelled rows of the source and rows of the target, in the same bins.

    Parameters
    ----------
    source : BinnedCounts
        Labelled rows; the outcome is that the row has the class.
    by_class : ndarray of int, shape (n_classes, n_bins)
        The same rows by their class.
    target_rows : ndarray of int, shape (n_bins,)
        Rows of the target.
    target_confidence : ndarray, shape (n_bins,)
        Their mean confidence; NaN in bins without rows of the target.
    of : int
        Number of the class.
    ranks : Ranks
        The labelled rows on a fine grid. The area under the ROC curve of two classes does not depend on their
        frequencies. With more classes, rows are weighted by the ratio of class frequencies, at their posterior mean.
    """

    source: BinnedCounts
    by_class: Ints
    target_rows: Ints
    target_confidence: Floats
    of: int
    ranks: Ranks

    @classmethod
    def from_rows(
        cls, label: Ints, source: Floats, target: Floats, of: int, bins: Bins, priors: Floats
    ) -> "ShiftedBins":
        """Count rows.

        Parameters
        ----------
        label : ndarray of int, shape (n_source,)
            Class of each labelled row.
        source, target : ndarray, shapes (n_source,) and (n_target,)
            Stated probability of class number `of`.
        of : int
            The class.
        bins : Bins
            Bins of the probability.
        priors : ndarray, shape (n_classes,)
            Class frequencies at which rows are ranked if there are more than two classes.
        """
        n_classes, n_bins, name = len(priors), len(bins), "event" if len(priors) == 2 else "classwise"
        outcome = label == of
        counted = BinnedCounts.from_predictions(Predictions(confidence=source, outcome=outcome, target=name), bins=bins)
        cell = label * n_bins + bin_index(source, bins)
        at = bin_index(target, bins)
        rows = np.bincount(at, minlength=n_bins)
        confidence = np.full(n_bins, np.nan)
        np.divide(np.bincount(at, target, n_bins), rows, out=confidence, where=rows > 0)
        frequency = np.bincount(label, minlength=n_classes) / len(label)
        weight = None if n_classes == 2 else (priors / frequency)[label]
        return cls(
            source=counted,
            by_class=np.bincount(cell, minlength=n_classes * n_bins).reshape(n_classes, n_bins),
            target_rows=rows,
            target_confidence=confidence,
            of=of,
            ranks=Ranks.of_rows(source, outcome, weight),
        )

    @property
    def bins(self) -> Bins:
        """Bins of the probability."""
        return self.source.bins

    @cached_property
    def frequency(self) -> Floats:
        """Share of each class among the labelled rows, shape (n_classes,)."""
        rows = self.by_class.sum(axis=1)
        return rows / rows.sum()

    def odds_ratio(self, priors: Floats) -> Floats:
        r"""Odds of the class in the target divided by those in the source, within each bin; shape (n_bins,).

        Parameters
        ----------
        priors : ndarray, shape (n_classes,)
            Class frequencies of the target.

        Notes
        -----
        With weights :math:`w_l = \pi_l / \rho_l`, the ratio of two classes is :math:`w_1 / w_0` in every bin. With more
        classes the other classes of a bin have the mean weight of its labelled rows, to which one row is added that
        has each of the other classes in proportion to its frequency in the source.
        """
        weight = priors / self.frequency
        others = np.delete(np.arange(len(priors)), self.of)
        rest = self.frequency[others] / self.frequency[others].sum()
        rows = self.by_class[others] + rest[:, None]
        return np.asarray(weight[self.of] * rows.sum(axis=0) / (weight[others] @ rows))

    def at(self, priors: Floats) -> "LabelShiftedCounts":
        """Return the counts of a target with these class frequencies, shape (n_classes,)."""
        return LabelShiftedCounts(self, priors)


@dataclass(frozen=True, eq=False)
class LabelShiftedCounts:
    r"""Labelled rows of a source as counts of a target with given class frequencies; satisfies the protocol `Counts`.

    Masses and mean confidences of the bins are those of the target.

    Parameters
    ----------
    rows : ShiftedBins
        Rows of source and target.
    priors : ndarray, shape (n_classes,)
        Class frequencies of the target.

    Notes
    -----
    By Bayes' rule, a bin with the share :math:`\theta_s` of the class in the source has
    :math:`\theta_t = r \theta_s / (1 - \theta_s + r \theta_s)` in the target, with the ratio r of the odds. Its n
    labelled rows are worth :math:`n (1 - \theta_s + r \theta_s)^2 / r` rows of the target: the logarithm of the odds
    then has the variance :math:`1 / (n \theta_s (1 - \theta_s))` that it has in the source.
    """

    rows: ShiftedBins
    priors: Floats

    bins = property(attrgetter("rows.bins"))
    target, n, k = (property(attrgetter(f"rows.source.{name}")) for name in ("target", "n", "k"))
    n_rows = property(attrgetter("rows.source.n_rows"))
    ranks = property(attrgetter("rows.ranks"))
    weighted = property(lambda self: False)

    @property
    def occupied(self) -> NDArray[np.bool_]:
        """Whether each bin has rows of the target."""
        return self.rows.target_rows > 0

    @property
    def share(self) -> Floats:
        """Share of the target's rows in each bin."""
        return self.rows.target_rows / self.rows.target_rows.sum()

    @property
    def mean_confidence(self) -> Floats:
        """Mean confidence of the target's rows in each bin; NaN without them."""
        return self.rows.target_confidence

    @property
    def effective_rows(self) -> float:
        """Number of rows of the target, from which the masses of the bins are known."""
        return float(self.rows.target_rows.sum())

    @cached_property
    def odds_ratio(self) -> Floats:
        """Odds of the class in the target divided by those in the source, shape (n_bins,)."""
        return self.rows.odds_ratio(self.priors)

    @cached_property
    def _source_share(self) -> Floats:
        return np.nan_to_num(self.rows.source.accuracy)

    @property
    def _spread(self) -> Floats:
        return 1 - self._source_share + self.odds_ratio * self._source_share

    @property
    def effective_n(self) -> Floats:
        """Rows of the target that the labelled rows of each bin are worth."""
        return np.asarray(self.n * self._spread**2 / self.odds_ratio)

    @property
    def effective_k(self) -> Floats:
        """Share of the class times `effective_n`."""
        return np.asarray(self.n * self._spread * self._source_share)

    @property
    def accuracy(self) -> Floats:
        """Share of the class in each bin of the target; the mean confidence in bins without labelled rows."""
        share = self.odds_ratio * self._source_share / self._spread
        return np.where(self.occupied, np.where(self.n > 0, share, self.mean_confidence), np.nan)

    @property
    def without_labels(self) -> float:
        """Share of the target's rows in bins without labelled rows."""
        return float(self.share[self.n == 0].sum())

    @property
    def _class_weight(self) -> Floats:
        """Weight of labelled rows without and with the class in each bin, shape (2, n_bins)."""
        of, frequency = self.rows.of, self.rows.frequency
        own = self.priors[of] / frequency[of]
        return np.stack([own / self.odds_ratio, np.full(len(self.bins), own)])

    @property
    def weight(self) -> Floats:
        """Sums of weights of the labelled rows without and with the class, shape (2, n_bins)."""
        return self._class_weight * self.rows.source.weight

    @property
    def rows_by_outcome(self) -> Floats:
        """Labelled rows without and with the class, shape (2, n_bins): the evidence of mean losses within outcomes.

        Frequencies do not change the distribution of losses within an outcome, as they change `effective_n`.
        """
        return np.stack([self.n - self.k, self.k]).astype(np.float64)

    @property
    def losses(self) -> LossSums | None:
        """Squared errors of the labelled rows with these weights."""
        return self._weighted(self.rows.source.losses)

    @property
    def log_losses(self) -> LossSums | None:
        """Log losses of the labelled rows with these weights."""
        return self._weighted(self.rows.source.log_losses)

    def _weighted(self, sums: LossSums | None) -> LossSums | None:
        weight = self._class_weight
        return None if sums is None else LossSums(weight * sums.total, weight * sums.squares, sums.infinite)

    def __add__(self, other: Any) -> "LabelShiftedCounts":
        if isinstance(other, int) and other == 0:
            return self
        raise TypeError("counts of a target cannot be added; pass all rows of the source and of the target at once.")

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"LabelShiftedCounts({self.bins}, {self.n_rows} labelled rows, {self.effective_rows:.0f} of the target)"
