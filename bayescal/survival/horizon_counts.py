"""Right-censored rows at one horizon: influences of rows on totals, and the counts that a posterior of bins needs."""

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal._texts import text_of
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.clusters import ClusterCells, ClusterSums, require_few
from bayescal.stats.frozen import Whole
from bayescal.stats.losses import LossSums
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import effective_number, sums_at
from bayescal.survival.curves import Exits
from bayescal.survival.rows import SurvivalRows

#: Largest share of rows in bins that are not followed for scores and the AUC to have intervals.
MOST_NOT_FOLLOWED = 0.05
#: Strata of the stated risk: their largest number, and rows of each; one censoring curve per stratum.
MOST_STRATA, ROWS_PER_STRATUM = 10, 50
LEAST_WORTH = 10.0  #: A stratum that is worth fewer rows without censoring joins the stratum below it.


@dataclass(frozen=True, eq=False)
class HorizonRows:
    """Rows at one horizon, in the bins of the stated risk; arrays of shape (n_rows,)."""

    bin_of: Ints  # bin of each row
    outcome: Bools  # whether the event of the cause was observed by the horizon
    censored: Bools  # whether the outcome is unknown
    stay: Bools  # whether the row is known to be free of events at the horizon
    weight: Floats  # 1 if rows have none
    exits: Exits  # rows of positive weight that leave
    leaving: Ints  # their positions among the rows, in the order of `exits`

    @classmethod
    def of_rows(cls, rows: SurvivalRows, horizon: float, bins: Bins) -> "HorizonRows":
        """Sort the rows that leave by bin and time."""
        hit, censored = (rows.event > 0) & (rows.time <= horizon), censored_before(rows, horizon)
        bin_of = bin_index(rows.risk, bins)
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        leaving, stay = np.flatnonzero((hit | censored) & (weight > 0)), ~(hit | censored)
        of_cause = rows.event == rows.cause
        staying = sums_at(bin_of[stay], weight[stay], len(bins))
        exits, order = Exits.sorted(
            bin_of[leaving], rows.time[leaving], hit[leaving], of_cause[leaving], weight[leaving], staying
        )
        return cls(bin_of, hit & of_cause, censored, stay, weight, exits, leaving[order])

    def squared_errors(self, risk: Array) -> Floats:
        """Squared error of the stated risk of each row; unknown outcomes are treated as 0."""
        return (self.outcome - risk.astype(np.float64)) ** 2

    @property
    def inverse_censoring(self) -> Floats:
        """Weight of each row by the inverse probability of censoring, times its weight; 0 if its outcome is unknown."""
        exit_weights, stay_weights = self.exits.inverse_censoring
        inverse = np.zeros(len(self.bin_of))
        inverse[self.leaving] = exit_weights
        staying = self.exits.staying
        factor = np.divide(stay_weights, staying, out=np.zeros_like(stay_weights), where=staying > 0)
        factors = factor[self.bin_of[self.stay]]
        inverse[self.stay] = factors * self.weight[self.stay]
        return inverse

    def influences(self, values: Floats) -> Floats:
        """Return how much one more unit of weight of each row would add to a total over rows with known outcome."""
        exits, at = self.exits, self.bin_of[self.stay]
        stay_values = values[self.stay]
        of_exits, of_censoring = exits.influences(
            values[self.leaving], sums_at(at, self.weight[self.stay] * stay_values, len(exits.staying))
        )
        result = np.zeros(len(values))
        result[self.leaving] = of_exits
        result[self.stay] = stay_values / exits.uncensored_at_horizon[at] - of_censoring[at]
        return result

    def on_mean(self, values: Floats) -> tuple[float, Floats]:
        """Return a mean over rows with known outcome, weighted for censoring, and the influence of each row on it.

        Values of rows with unknown outcome do not matter. The influences, shape (n_rows,), are derivatives of the mean
        with respect to the weight of each row, times the total weight; their weighted mean is 0. Both are NaN if no
        outcome is known.
        """
        inverse = self.inverse_censoring
        known = float(inverse.sum())
        if not known:
            return float("nan"), np.full(len(values), np.nan)
        mean = float(inverse @ values) / known
        # the total weight of the known rows varies too
        return mean, self.influences(values - mean) * (float(self.weight.sum()) / known)

    def on_area(self, ranks: Ranks, risk: Array) -> Floats:
        """Return the influence of each row on the area under the ROC curve of the known rows, but for a factor."""
        known = self.inverse_censoring > 0
        known_influences = np.zeros(len(risk))
        known_influences[known] = ranks.influences[self.outcome[known].astype(np.int64), ranks.cell_of(risk[known])]
        return self.influences(known_influences)


def censored_before(rows: SurvivalRows, horizon: float) -> Bools:
    """Flag rows that are censored before the horizon."""
    return (rows.event == 0) & (rows.time < horizon)


@dataclass(frozen=True, eq=False)
class HorizonCounts(Whole):
    """Right-censored rows at one horizon, by bin of the stated risk; satisfies the protocol `Counts`.

    Without censoring before the horizon all members equal those of `rows`, which have outcome 1 for events of the cause
    that were observed by the horizon. Their `clusters` are sums of pseudo-outcomes minus stated risks
    (`cluster_cells`). `accuracy` is the Kaplan-Meier or Aalen-Johansen estimate of the probability of the event by the
    horizon; in a bin that is not followed, the estimate at the last time of the bin; NaN in empty bins.
    """

    rows: BinnedCounts
    horizon: float
    accuracy: Floats  # shape (n_bins,)
    effective_n: Floats  # uncensored, independent rows that the rows are worth; 0 in bins that are not followed
    followed: Bools  # whether the bin has rows at the horizon or its last row has an event; True for empty bins
    n_censored: Ints  # rows censored before the horizon, whose outcome is unknown
    weight: Floats  # of rows with known outcome, divided by the probability of not being censored; (2, n_bins)
    losses: LossSums | None  # squared errors with these weights; None if more than 5 % of the rows are not followed
    ranks: Ranks | None  # with these weights

    not_added = text_of("counts at one horizon")
    bins, target, n, k = (property(attrgetter(f"rows.{name}")) for name in ("bins", "target", "n", "k"))
    n_rows, weighted = (property(attrgetter(f"rows.{name}")) for name in ("n_rows", "weighted"))
    occupied, share = (property(attrgetter(f"rows.{name}")) for name in ("occupied", "share"))
    mean_confidence, within_variance = (
        property(attrgetter(f"rows.{name}")) for name in ("mean_confidence", "within_variance")
    )
    effective_rows = property(attrgetter("rows.effective_rows"))
    clusters = property(attrgetter("rows.clusters"))

    @classmethod
    def from_rows(
        cls, rows: SurvivalRows, horizon: float, bins: Bins, clusters: Clusters | None = None
    ) -> "HorizonCounts":
        """Count rows with times; `bins` are those of the stated risk."""
        observed = observed_rows(rows, horizon)
        if not censored_before(rows, horizon).any():
            counted = BinnedCounts.from_predictions(observed, bins=bins, clusters=clusters)
            columns = rows.risk, observed.outcome, rows.weight
            ranks = Ranks.of_rows(*columns)
            ranks = ranks if clusters is None else ranks.in_clusters(*columns, clusters.of_row)
            return uncensored_counts(counted, horizon, ranks)
        counted = BinnedCounts.from_predictions(observed, bins=bins)
        at = HorizonRows.of_rows(rows, horizon, bins)
        n_censored = np.bincount(at.bin_of[at.censored], minlength=len(bins))
        of_row = None if clusters is None else clusters.of_row
        if of_row is not None:
            counted = replace(counted, clusters=ClusterSums.from_cells(cluster_cells(at, rows.risk, of_row)))
        return censored_counts(counted, horizon, at.exits, n_censored, _known(at, rows.risk, of_row))

    @property
    def effective_k(self) -> Floats:
        """Effective number of events: `effective_n` times `accuracy`; those of `rows` in bins without censoring."""
        uncensored = self.n_censored == 0
        return np.where(uncensored, self.rows.effective_k, np.nan_to_num(self.effective_n * self.accuracy))

    @property
    def within_covariance(self) -> Floats:
        """Covariance of outcome and risk inside each bin, if all risks of a bin are censored alike."""
        seen = self.rows.accuracy
        ratio = np.divide(self.accuracy, seen, out=np.ones_like(seen), where=seen > 0)
        return self.rows.within_covariance * ratio

    @property
    def log_losses(self) -> LossSums | None:
        """Sums of log losses; None if rows are censored."""
        return None if self.n_censored.any() else self.rows.log_losses

    @property
    def not_followed(self) -> float:
        """Share of the rows in bins whose last row was censored before the horizon."""
        return float(self.share[~self.followed].sum())

    @property
    def lacking(self) -> frozenset[str]:
        """Needs of estimands that these counts do not meet; see `Estimand.available`."""
        return frozenset({"losses", "outcomes"}) if self.not_followed > MOST_NOT_FOLLOWED else frozenset()

    def with_total_effect(self) -> "HorizonCounts":
        """Return counts without clusters that have the design effect of the total in each bin."""
        if self.clusters is None:
            return self
        rows = self.rows.with_total_effect()
        censored = self.effective_n * (self.clusters.effects / self.clusters.total_effect)
        return replace(self, rows=rows, effective_n=np.where(self.n_censored == 0, rows.effective_n, censored))

    def __repr__(self) -> str:
        return (
            f"HorizonCounts({self.bins}, {self.n_rows} rows, {int(self.k.sum())} events by {self.horizon:g}, "
            f"{int(self.n_censored.sum())} censored before)"
        )


def observed_rows(rows: SurvivalRows, horizon: float) -> Predictions:
    """Return all rows, with outcome 1 for events of the cause that were observed by the horizon."""
    outcome = (rows.event == rows.cause) & (rows.time <= horizon)
    return Predictions(confidence=rows.risk, outcome=outcome, weight=rows.weight, target="event")


def uncensored_counts(counted: BinnedCounts, horizon: float, ranks: Ranks | None) -> HorizonCounts:
    """Return counts in which every outcome is known."""
    none = np.zeros(len(counted.bins), np.int64)
    effective = counted.effective_n
    return HorizonCounts(
        counted, horizon, counted.accuracy, effective, none == 0, none, counted.weight, counted.losses, ranks
    )


@dataclass(frozen=True, eq=False)
class Known:
    """Rows with known outcome, weighted by the inverse probability of censoring; sums have shape (2, n_bins)."""

    weight: Floats
    losses: LossSums
    ranks: Ranks | None


def _known(at: HorizonRows, risk: Array, of_row: Ints | None) -> Known:
    """Sum rows with known outcome; `of_row` is the cluster of each row, if there are clusters."""
    inverse, outcome, n_bins = at.inverse_censoring, at.outcome, len(at.exits.staying)
    cell = at.bin_of + n_bins * outcome
    loss = at.squared_errors(risk)

    def summed(values: Floats) -> Floats:
        return sums_at(cell, values, 2 * n_bins).reshape(2, n_bins)

    known = inverse > 0
    ranks = Ranks.of_rows(risk[known], outcome[known], inverse[known])
    if of_row is not None and ranks.both_outcomes:
        ranks = ranks.with_clusters(at.weight * at.on_area(ranks, risk), at.weight, of_row)
    return Known(summed(inverse), LossSums(summed(inverse * loss), summed(inverse * loss**2)), ranks)


def cluster_cells(at: HorizonRows, risk: Array, of_row: Ints) -> ClusterCells:
    """Sum rows of which some are censored by cluster and bin; `of_row` is the code of the cluster of each row.

    The pseudo-outcome of a row replaces its outcome: the derivative of the product-limit number of events in its bin
    with respect to the weight of the row (`HorizonRows.influences`). The derivative of the estimated sum of squared
    errors replaces the squared error of the row. Weighted means are then the estimates from all rows. Without
    censoring, both equal the outcome and the squared error. More than 512 bins are refused.
    """
    n_bins = len(at.exits.staying)
    require_few(n_bins)
    residual = at.influences(at.outcome.astype(np.float64)) - risk
    mean, on_mean = at.on_mean(at.squared_errors(risk))
    losses = mean + on_mean, np.zeros(len(residual))
    return ClusterCells.of_residuals(of_row, at.bin_of, n_bins, at.weight, residual, losses)


def censored_counts(
    counted: BinnedCounts, horizon: float, exits: Exits, n_censored: Ints, known: Known
) -> HorizonCounts:
    """Return counts in which some outcomes are unknown."""
    some = n_censored > 0
    worth = np.where(some, exits.worth(counted.mean_confidence), 1.0)
    incidence = np.where(some, exits.incidence, counted.accuracy)
    followed = exits.followed
    whole = float(counted.share[~followed].sum()) <= MOST_NOT_FOLLOWED
    accuracy = np.where(counted.occupied, incidence, np.nan)
    losses, ranks = (known.losses, known.ranks) if whole else (None, None)
    return HorizonCounts(
        counted, horizon, accuracy, counted.effective_n * worth, followed, n_censored, known.weight, losses, ranks
    )


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows with known outcome at a horizon, which stand for the rows of their stratum.

    Weights of a stratum add up to those of all its rows (Efron's redistribution to the right), so that weighted shares
    are product-limit estimates.
    """

    outcome: Bools  # whether the event of the cause was observed by the horizon, shape (n_rows,)
    stratum: Ints  # of the risk, shape (n_rows,)
    weight: Floats  # divided by the probability of not being censored before; 0 if the outcome is unknown, (n_rows,)
    rows: Floats  # effective numbers of all rows, shape (n_strata,)
    worth: Floats  # how many uncensored rows each of them is worth, in (0, 1]; shape (n_strata,)
    rate: float  # effective rows (Kish) of a weight of 1
    n_censored: int

    @classmethod
    def of_rows(cls, rows: SurvivalRows, horizon: float, risk: Floats) -> "KnownRows":
        """Weight rows in strata of equal mass of a risk, by which censoring may differ."""
        kept = risk if rows.weight is None else risk[rows.weight > 0]
        n_strata = int(np.clip(len(kept) // ROWS_PER_STRATUM, 1, MOST_STRATA))
        strata = make_bins(n_strata, binning="equal-mass", confidence=kept)
        scored = replace(rows, risk=risk)
        while True:
            at = HorizonRows.of_rows(scored, horizon, strata)
            total = sums_at(at.bin_of, at.weight, len(strata))
            mean = sums_at(at.bin_of, at.weight * risk, len(strata)) / np.where(total > 0, total, 1.0)
            rate = float(effective_number(at.weight, at.weight @ at.weight) / total.sum())
            worth = at.exits.worth(mean)
            weak = np.flatnonzero((rate * total * worth < LEAST_WORTH) & (total > 0))
            if not len(weak) or len(strata) == 1:
                break
            strata = Bins(np.delete(strata.edges, max(weak[-1], 1)), "custom")
        if not at.exits.followed.all():
            raise ValueError(
                f"`horizon` {horizon:g} is after the last time of the rows of positive weight, and nothing is known "
                "beyond it. Use an earlier horizon."
            )
        n_censored = int(at.censored.sum())
        return cls(at.outcome, at.bin_of, at.inverse_censoring, rate * total, worth, rate, n_censored)

    @property
    def effective(self) -> Floats:
        """Effective number of uncensored rows that each row counts for, shape (n_rows,)."""
        return self.weight * self.rate * self.worth[self.stratum]


def share_with_event(rows: SurvivalRows, horizon: float, marked: Array) -> Floats:
    """Product-limit estimate of the event by the horizon in each of several sets of rows, shape (n_sets,).

    `marked`, shape (n_sets, n_rows), flags the rows of each set. It is NaN if a set has no rows, or its last row is
    censored before the horizon.
    """
    at = HorizonRows.of_rows(replace(rows, risk=np.zeros(len(rows))), horizon, make_bins(1))
    shares = []
    for of_set in marked:
        kept = of_set[at.leaving]
        columns = {name: getattr(at.exits, name)[kept] for name in ("bin", "time", "event", "of_cause", "weight")}
        exits = replace(at.exits, **columns, staying=np.array([at.weight[at.stay & of_set].sum()]))
        known = exits.followed[0] and exits.weight.sum() + exits.staying[0] > 0
        shares.append(float(exits.incidence[0]) if known else np.nan)
    return np.array(shares)
