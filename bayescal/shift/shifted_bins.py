"""Counts of a target in which other class frequencies hold: labelled rows of a source by class, bins and ranks."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.frozen import Sums, Whole
from bayescal.stats.losses import LossSums
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import added, row_counts, sums_at


@dataclass(frozen=True, eq=False)
class ClassRanks:
    """Numbers of rows by class and by cell of a grid of confidences; `grid` and `position` as for `Ranks`.

    Pairs of class and cell without rows are left out, except with two classes.
    """

    grid: Bins | str
    position: Array
    label: Ints  # class of each pair, shape (n_pairs,)
    cell: Ints  # cell of each pair
    n: Array  # rows of each pair

    @classmethod
    def of_rows(cls, confidence: Floats, label: Ints, of: int, n_classes: int) -> "ClassRanks":
        """Count validated rows: confidence in class number `of`, and class, shape (n_rows,)."""
        ranks = Ranks.of_rows(confidence, label == of)
        cells = len(ranks.position)
        if n_classes == 2:
            each = np.repeat([1 - of, of], cells)
            return cls(ranks.grid, ranks.position, each, np.tile(np.arange(cells), 2), ranks.weight.ravel())
        pair, n = np.unique(label * cells + ranks.cell_of(confidence), return_counts=True)
        return cls(ranks.grid, ranks.position, *np.divmod(pair, cells), n)

    @classmethod
    def of_bins(cls, bins: Bins, by_class: Ints) -> "ClassRanks":
        """Use bins as the grid, with counts of shape (n_classes, n_bins)."""
        occupied = np.flatnonzero(by_class.any(axis=0))
        label, cell = np.nonzero(by_class[:, occupied])
        return cls(bins, occupied, label, cell, by_class[label, occupied[cell]])

    def weighted(self, weight: Floats, of: int) -> Ranks:
        """Return the ranks of class number `of` against the others; `weight` of a row of each class: (n_classes,)."""
        cells, weights = len(self.position), weight[self.label]
        at = self.cell + cells * (self.label == of)
        sums, squares = (sums_at(at, self.n * each, 2 * cells).reshape(2, cells) for each in (weights, weights**2))
        return Ranks(self.grid, self.position, sums, squares)


@dataclass(frozen=True, eq=False)
class ShiftedBins(Sums):
    """One class against the others: labelled rows of the source and rows of the target, in the same bins. Addable."""

    source: BinnedCounts  # outcome 1 if the row has the class
    by_class: Ints  # the same rows by their class, shape (n_classes, n_bins)
    unlabelled: BinnedCounts  # rows of the target, whose classes are unknown: outcome 0, which is not used
    of: int  # number of the class
    #: Labelled rows by class on a fine grid; None if rows are not known one by one: `ranked` then uses the bins.
    ranks: ClassRanks | None = field(default=None, compare=False)

    @classmethod
    def of_source(cls, label: Ints, source: Floats, of: int, n_classes: int, bins: Bins) -> "ShiftedBins":
        """Count labelled rows: class, shape (n_source,), and stated probability of class number `of`."""
        counted = _counted(source, label == of, n_classes, bins)
        cell = label * len(bins) + bin_index(source, bins)
        by_class = np.bincount(cell, minlength=n_classes * len(bins)).reshape(n_classes, len(bins))
        return cls(counted, by_class, BinnedCounts.empty(bins, target=counted.target), of)

    @classmethod
    def of_target(cls, target: Floats, of: int, n_classes: int, bins: Bins) -> "ShiftedBins":
        """Count rows without labels: stated probability of class number `of`, shape (n_target,)."""
        counted = _counted(target, np.zeros(len(target), bool), n_classes, bins)
        none = np.zeros((n_classes, len(bins)), np.int64)
        return cls(BinnedCounts.empty(bins, target=counted.target), none, counted, of)

    @classmethod
    def from_rows(
        cls, label: Ints, source: Floats, target: Floats, of: int, n_classes: int, bins: Bins
    ) -> "ShiftedBins":
        """Count and rank rows: class, shape (n_source,), and stated probability of class number `of` on both sides."""
        counted = cls.of_source(label, source, of, n_classes, bins) + cls.of_target(target, of, n_classes, bins)
        return replace(counted, ranks=ClassRanks.of_rows(source, label, of, n_classes))

    def _plus(self, other: "ShiftedBins") -> "ShiftedBins":
        """Add the counts of other rows of the same class on the same bins, without ranks."""
        source = self.source + other.source  # refuses other bins
        by_class = row_counts("by_class", added(self.by_class, other.by_class))
        return ShiftedBins(source, by_class, self.unlabelled + other.unlabelled, self.of)

    @property
    def target_rows(self) -> Ints:
        """Rows of the target in each bin, shape (n_bins,)."""
        return self.unlabelled.n

    @property
    def target_confidence(self) -> Floats:
        """Their mean confidence, shape (n_bins,); NaN in bins without rows of the target."""
        return self.unlabelled.mean_confidence

    @property
    def bins(self) -> Bins:
        """Bins of the probability."""
        return self.source.bins

    @cached_property
    def frequency(self) -> Floats:
        """Share of each class among the labelled rows, shape (n_classes,)."""
        rows = self.by_class.sum(axis=1)
        return rows / rows.sum()

    def ranked(self, priors: Floats) -> Ranks:
        """Return the labelled rows on `ranks` or the bins, at these class frequencies, shape (n_classes,).

        The area under the ROC curve of two classes does not depend on their frequencies. With more classes, the others
        are a mixture, in which rows have the weight of their class.
        """
        if len(priors) == 2:
            return self._ranks_of_two
        return self._class_ranks.weighted(priors / self.frequency, self.of)

    @cached_property
    def _class_ranks(self) -> ClassRanks:
        return ClassRanks.of_bins(self.bins, self.by_class) if self.ranks is None else self.ranks

    @cached_property
    def _ranks_of_two(self) -> Ranks:
        return self._class_ranks.weighted(np.ones(2), self.of)

    def odds_ratio(self, priors: Floats) -> Floats:
        r"""Odds of the class in the target divided by those in the source, within each bin; shape (n_bins,).

        With weights :math:`w_l = \pi_l / \rho_l`, the ratio of two classes is :math:`w_1 / w_0` in every bin. With more
        classes the other classes of a bin have the mean weight of its labelled rows, to which one row is added that has
        each of the other classes in proportion to its frequency in the source.
        """
        weight, rows = self._others(priors)
        return np.asarray(priors[self.of] / self.frequency[self.of] * rows.sum(axis=0) / (weight @ rows))

    def log_ratio_variance(self, priors: Floats) -> Floats:
        """Variance of the logarithm of `odds_ratio`, shape (n_bins,): 0 for two classes.

        With more classes, the labelled rows of a bin are a sample of the mixture of its other classes.
        """
        weight, rows = self._others(priors)
        total = weight @ rows
        mean = total / rows.sum(axis=0)
        return np.asarray((rows * (weight[:, None] - mean) ** 2).sum(axis=0) / total**2)

    def _others(self, priors: Floats) -> tuple[Floats, Floats]:
        """Weights of the other classes, and their rows in each bin, to which one row is added."""
        others = np.delete(np.arange(len(priors)), self.of)
        rest = self.frequency[others] / self.frequency[others].sum()
        return priors[others] / self.frequency[others], self.by_class[others] + rest[:, None]

    def at(self, priors: Floats) -> "LabelShiftedCounts":
        """Return the counts of a target with these class frequencies, shape (n_classes,)."""
        return LabelShiftedCounts(self, priors)


@dataclass(frozen=True, eq=False)
class LabelShiftedCounts(Whole):
    r"""Labelled rows of a source as counts of a target with the class frequencies `priors`; see `Counts`.

    Masses and mean confidences of the bins are those of the target. By Bayes' rule, a bin with the share
    :math:`\theta_s` of the class in the source has :math:`\theta_t = r \theta_s / (1 - \theta_s + r \theta_s)` in the
    target, with the ratio r of the odds. Its n labelled rows are worth :math:`n (1 - \theta_s + r \theta_s)^2 / r` rows
    of the target: the logarithm of the odds then has the variance :math:`1 / (n \theta_s (1 - \theta_s))` that it has
    in the source.
    """

    rows: ShiftedBins
    priors: Floats

    not_added = "counts of a target cannot be added; pass all rows of the source and of the target at once."
    bins, target_rows = (property(attrgetter(f"rows.{name}")) for name in ("bins", "target_rows"))
    target, n, k = (property(attrgetter(f"rows.source.{name}")) for name in ("target", "n", "k"))
    n_rows = property(attrgetter("rows.source.n_rows"))
    weighted = property(lambda self: False)

    @property
    def occupied(self) -> Bools:
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
    def ranks(self) -> Ranks:
        """The labelled rows on a grid of confidences, which is the bins if rows were counted without ranks."""
        return self.rows.ranked(self.priors)

    @property
    def frequency(self) -> float:
        """Frequency of the class in the target."""
        return float(self.priors[self.rows.of])

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
        ratio = self.priors[of] / frequency[of]
        return np.stack([ratio / self.odds_ratio, np.full(len(self.bins), ratio)])

    @property
    def weight(self) -> Floats:
        """Sums of weights of the labelled rows without and with the class, shape (2, n_bins)."""
        return self._class_weight * self.rows.source.weight

    @property
    def rows_by_outcome(self) -> Floats:
        """Number of labelled rows without and with the class, shape (2, n_bins), for mean losses given the outcome.

        Class frequencies change `effective_n`, but not the distribution of the loss given the outcome.
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

    def __repr__(self) -> str:
        return f"LabelShiftedCounts({self.bins}, {self.n_rows} labelled rows, {self.effective_rows:.0f} of the target)"


def _counted(confidence: Floats, outcome: Bools, n_classes: int, bins: Bins) -> BinnedCounts:
    name = "event" if n_classes == 2 else "classwise"
    return BinnedCounts.from_predictions(Predictions(confidence=confidence, outcome=outcome, target=name), bins=bins)
