"""PairedHorizons: right-censored rows at one horizon, by the bins of two models together."""

from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.losses import LossSums
from bayescal.stats.paired import PairedCounts
from bayescal.stats.sums import Coefficients, cosine, sums_at
from bayescal.survival.horizon_counts import HorizonCounts, HorizonRows, observed_rows
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]

#: Smallest mean risk by which a number of events is divided.
LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class PairedHorizons:
    """Right-censored rows at one horizon, by the bins of two models of the same event.

    Without censoring before the horizon all members equal those of `rows`, which has outcome 1 for events of the cause
    that were observed by the horizon. Otherwise a row enters sums with its pseudo-outcome d in place of its outcome:
    the derivative of the product-limit number of events in its bin by the weight of the row (`Exits.influences`).
    Pseudo-outcomes of the two models differ, because their bins do. They equal the outcomes if no row of the bin is
    censored.

    `moments`, shape (6, n_cells), are sums over the rows of each joint cell of `rows`: of :math:`w^2` times 1, e, f, e
    f, e^2 and f^2, with the pseudo-outcomes minus the mean risks of the bins, e and f, of the first and the second
    model; e is 0 in bins that are not followed. The correlations are those of the influences of rows on the two ratios
    of observed to expected events, and on the two areas under the ROC curve. `loss_difference` sums the difference
    between the squared errors, and the squared difference of the influences of rows on the two Brier scores;
    `loss_covariance`, shape (2, 2), is the covariance over rows of these influences. Areas and losses are None if one
    of the two is not available, `moments` and `loss_covariance` also without censoring.
    """

    rows: PairedCounts
    first: HorizonCounts
    second: HorizonCounts
    moments: Floats | None
    ratio_correlation: float
    area_correlation: float | None
    loss_difference: LossSums | None
    loss_covariance: Floats | None

    cells, n, n_rows = (property(attrgetter(f"rows.{name}")) for name in ("cells", "n", "n_rows"))
    weight, weight_sq = (property(attrgetter(f"rows.{name}")) for name in ("weight", "weight_sq"))
    #: Rows in clusters are not supported.
    clusters = None

    @property
    def log_loss_difference(self) -> LossSums | None:
        """Sums of the difference between the log losses; None if rows are censored."""
        return self.rows.log_loss_difference if self.moments is None else None

    def linear_cosine(self, of_gap: Coefficients, of_mass: Coefficients) -> float:
        """Cosine similarity over rows of two linear functions of gaps and masses; see `Paired`."""
        if self.moments is None:
            return self.rows.linear_cosine(of_gap, of_mass)
        centred = []
        for counts, gap, mass in zip((self.first, self.second), of_gap, of_mass, strict=True):
            shown = np.where(counts.occupied & counts.followed, counts.accuracy - counts.mean_confidence, 0.0)
            centred.append(mass - float(counts.share @ (gap * shown + mass)))
        (a, b), (c, d) = ([each[at] for each, at in zip(pair, self._bins, strict=True)] for pair in (of_gap, centred))
        one, e, f, ef, ee, ff = self.moments
        xy = a * b * ef + a * d * e + c * b * f + c * d * one
        xx, yy = a * a * ee + 2 * a * c * e + c * c * one, b * b * ff + 2 * b * d * f + d * d * one
        return cosine(float(xx.sum()), float(yy.sum()), float(xy.sum()), same=self._same_bins)

    def gap_cosine(self, gaps: tuple[Floats, Floats]) -> float:
        """Cosine similarity over rows of two profiles of gaps by bin; see `Paired`."""
        return self.rows.gap_cosine(gaps)

    @property
    def _bins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.cells[:, 0], self.cells[:, 2]

    @property
    def _same_bins(self) -> bool:
        return bool(np.array_equal(*self._bins))

    def __repr__(self) -> str:
        return f"PairedHorizons({self.n_rows} rows in {len(self.n)} joint cells, {self.first!r} and {self.second!r})"


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows of one model at one horizon, its counts, and the influences of rows on its quantities.

    `rows` have the risks that the model states, `at` are the same rows sorted, and `pseudo`, shape (n_rows,), the
    pseudo-outcomes: the outcomes themselves without censoring.
    """

    rows: SurvivalRows
    at: HorizonRows
    counts: HorizonCounts
    pseudo: Floats

    @classmethod
    def read(cls, rows: SurvivalRows, horizon: float, bins: Bins) -> "ModelRows":
        """Sort and count rows."""
        at = HorizonRows.of_rows(rows, horizon, bins)
        counts = HorizonCounts.from_rows(rows, horizon, bins)
        return cls(rows, at, counts, at.influences(at.outcome.astype(np.float64)))

    @property
    def observed(self) -> tuple[Predictions, BinnedCounts]:
        """All rows with outcome 1 for observed events, and their counts with ranks."""
        rows = observed_rows(self.rows, self.counts.horizon)
        return rows, replace(self.counts.rows, ranks=self.counts.ranks)

    def error(self) -> Floats:
        """Pseudo-outcomes minus the mean risk of the bin; 0 in bins that are not followed."""
        counts, bin_of = self.counts, self.at.bin_of
        return np.where(counts.followed[bin_of], self.pseudo - counts.mean_confidence[bin_of], 0.0)

    def on_ratio(self) -> Floats:
        """Influence of each row on the ratio of observed to expected events, up to a constant factor."""
        counts, bin_of = self.counts, self.at.bin_of
        used = counts.occupied
        share, expected = counts.share[used], counts.mean_confidence[used]
        ratio = float(share @ counts.accuracy[used]) / max(float(share @ expected), LEAST)
        return self.pseudo - ratio * counts.mean_confidence[bin_of]

    @property
    def brier_score(self) -> float:
        """Observed Brier score; NaN if it is not available."""
        losses = self.counts.losses
        return np.nan if losses is None else float(losses.total.sum()) / float(self.counts.weight.sum())

    def on_brier_score(self) -> Floats | None:
        """Influence of each row on the Brier score; None if the score is not available."""
        if self.counts.losses is None:
            return None
        return self.at.on_mean(self.at.squared_errors(self.rows.risk))[1]

    def on_area(self) -> Floats | None:
        """Influence of each row on the area under the ROC curve; None if the area is not available."""
        ranks = self.counts.ranks
        if ranks is None or not ranks.both_outcomes:
            return None
        return self.at.on_area(ranks, self.rows.risk)


def paired_horizons(first: ModelRows, second: ModelRows) -> PairedHorizons:
    """Count the rows of two models of the same event together."""
    (one, one_counted), (other, other_counted) = first.observed, second.observed
    rows = PairedCounts.from_predictions(one, other, one_counted, other_counted)
    weight = first.at.weight
    of_ratio = correlation(first.on_ratio(), second.on_ratio(), weight)
    if not first.at.censored.any():
        of_area, of_losses = rows.area_correlation, rows.loss_difference
        return PairedHorizons(rows, first.counts, second.counts, None, of_ratio, of_area, of_losses, None)
    on_areas = first.on_area(), second.on_area()
    return PairedHorizons(
        rows,
        first.counts,
        second.counts,
        _moments(rows, first, second),
        of_ratio,
        None if on_areas[0] is None or on_areas[1] is None else correlation(on_areas[0], on_areas[1], weight),
        *_score_differences(first, second),
    )


def _moments(rows: PairedCounts, first: ModelRows, second: ModelRows) -> Floats:
    """Sum products of errors over the rows of each joint cell."""
    size = len(second.counts.bins)
    of_cells, of_rows = (
        ((2 * bin_a + outcome) * size + bin_b)
        for bin_a, outcome, bin_b in (rows.cells.T[:3], (first.at.bin_of, first.at.outcome, second.at.bin_of))
    )
    at = np.searchsorted(of_cells, of_rows)
    e, f = first.error(), second.error()
    squared = first.at.weight**2
    return np.stack([sums_at(at, squared * x, len(of_cells)) for x in (np.ones(len(e)), e, f, e * f, e * e, f * f)])


def _score_differences(first: ModelRows, second: ModelRows) -> tuple[LossSums | None, Floats | None]:
    """Return the difference of losses, and the covariance of the influences on the two Brier scores."""
    one, other = first.on_brier_score(), second.on_brier_score()
    if one is None or other is None:
        return None, None
    weight = first.at.weight
    total = float(weight.sum())
    difference = one - other
    squares = np.asarray(np.sum(weight * difference * difference))
    covariance = np.array([[np.sum(weight * x * y) for y in (one, other)] for x in (one, other)]) / total
    return LossSums(np.asarray(total * (first.brier_score - second.brier_score)), squares), covariance


def correlation(first: Floats, second: Floats, weight: Floats) -> float:
    """Correlate influences of rows, whose mean is 0; 1 if all are equal."""
    if np.array_equal(first, second):
        return 1.0
    one, other = weight * first, weight * second
    return cosine(float(one @ one), float(other @ other), float(one @ other), same=False)
