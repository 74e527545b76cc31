"""HorizonCounts: right-censored rows at one horizon, as counts that posteriors take."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.data.clusters import Clusters
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import ClusterCells, ClusterSums, require_few
from bayescal.stats.frozen import Whole
from bayescal.stats.losses import LossSums
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import sums_at
from bayescal.survival.curves import Exits
from bayescal.survival.horizon_rows import HorizonRows, censored_before
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Largest share of rows in bins that are not followed for scores and the AUC to have intervals.
MOST_NOT_FOLLOWED = 0.05


@dataclass(frozen=True, eq=False)
class HorizonCounts(Whole):
    """Right-censored rows at one horizon, by bin of the stated risk.

    It satisfies the protocol `Counts`. Without censoring before the horizon all members equal those of `rows`.

    Parameters
    ----------
    rows : BinnedCounts
        All rows, with outcome 1 for events of the cause that were observed by the horizon. Their `clusters` are sums
        of pseudo-outcomes minus stated risks; see `cluster_sums`.
    horizon : float
        The horizon.
    accuracy : ndarray, shape (n_bins,)
        Kaplan-Meier or Aalen-Johansen estimate of the probability of the event by the horizon. In a bin that is not
        followed, the estimate at the last time of the bin. NaN in empty bins.
    effective_n : ndarray, shape (n_bins,)
        Number of uncensored, independent rows that the rows are worth; 0 in bins that are not followed.
    followed : ndarray of bool, shape (n_bins,)
        Whether the bin has rows at the horizon or its last row has an event; True for empty bins.
    n_censored : ndarray of int, shape (n_bins,)
        Number of rows censored before the horizon, whose outcome is unknown.
    weight : ndarray, shape (2, n_bins)
        Sums of the weights of rows with known outcome, divided by the probability of not being censored before.
    losses : LossSums of shape (2, n_bins), or None
        Squared errors with these weights, for the Brier score. None if more than 5 % of the rows are not followed.
    ranks : Ranks or None
        Ranks with these weights, for the area under the ROC curve.
    """

    rows: BinnedCounts
    horizon: float
    accuracy: Floats
    effective_n: Floats
    followed: Bools
    n_censored: NDArray[np.int64]
    weight: Floats
    losses: LossSums | None
    ranks: Ranks | None

    not_added = (
        "counts at one horizon cannot be added, because curves of all rows do not follow from those of two parts; "
        "add `SurvivalCounts`."
    )
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
            counted = replace(counted, clusters=cluster_sums(at, rows.risk, of_row))
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
        of_seen = np.divide(self.accuracy, seen, out=np.ones_like(seen), where=seen > 0)
        return self.rows.within_covariance * of_seen

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
    """Rows whose outcome is known, weighted by the inverse probability of censoring.

    Parameters
    ----------
    weight : ndarray, shape (2, n_bins)
        Sums of weights, by outcome.
    losses : LossSums of shape (2, n_bins)
        Sums of squared errors.
    ranks : Ranks or None
        Their ranks.
    """

    weight: Floats
    losses: LossSums
    ranks: Ranks | None


def _known(at: HorizonRows, risk: NDArray[Any], of_row: NDArray[np.int64] | None) -> Known:
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


def cluster_sums(at: HorizonRows, risk: NDArray[Any], of_row: NDArray[np.int64]) -> ClusterSums:
    """Return sums over clusters of rows of which some are censored.

    The pseudo-outcome of a row replaces its outcome: the derivative of the product-limit number of events in its bin
    with respect to the weight of the row (`HorizonRows.influences`). The derivative of the estimated sum of squared
    errors replaces the squared error of the row. Weighted means are then the estimates from all rows. Without
    censoring, both equal the outcome and the squared error.

    Parameters
    ----------
    at : HorizonRows
        The rows.
    risk : ndarray, shape (n_rows,)
        Stated risks.
    of_row : ndarray of int64, shape (n_rows,)
        Code of the cluster of each row.

    Raises
    ------
    ValueError
        If there are more than 512 bins.
    """
    n_bins = len(at.exits.staying)
    require_few(n_bins)
    residual = at.influences(at.outcome.astype(np.float64)) - risk
    mean, on_mean = at.on_mean(at.squared_errors(risk))
    losses = mean + on_mean, np.zeros(len(residual))
    return ClusterSums.from_cells(ClusterCells.of_residuals(of_row, at.bin_of, n_bins, at.weight, residual, losses))


def censored_counts(
    counted: BinnedCounts, horizon: float, exits: Exits, n_censored: NDArray[np.int64], known: Known
) -> HorizonCounts:
    """Return counts in which some outcomes are unknown."""
    own = n_censored > 0
    worth = np.where(own, exits.worth(counted.mean_confidence), 1.0)
    incidence = np.where(own, exits.incidence, counted.accuracy)
    followed = exits.followed
    whole = float(counted.share[~followed].sum()) <= MOST_NOT_FOLLOWED
    return HorizonCounts(
        counted,
        horizon,
        np.where(counted.occupied, incidence, np.nan),
        counted.effective_n * worth,
        followed,
        n_censored,
        known.weight,
        known.losses if whole else None,
        known.ranks if whole else None,
    )
