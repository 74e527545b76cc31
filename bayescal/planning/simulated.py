"""Simulated rows like those of a pilot: their counts, and the losses and ranks that estimands need besides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr

from bayescal._arrays import Floats, Generator, Ints
from bayescal.estimands.area_under_roc import beta_parameters, correlation_of_aucs, ranks_of
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.scores import mean_log_losses, mean_losses
from bayescal.posterior.joint import symmetric_root
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import Counts
from bayescal.stats.losses import KINDS, LossSums
from bayescal.stats.paired import PairedCounts
from bayescal.stats.ranks import Ranks

LARGEST = {"losses": 1.0, "log_losses": np.inf}  #: Largest value of a mean loss, by its kind.
#: Exponents by which the ranks of a pilot are tilted towards smaller and larger areas.
TILTS = np.linspace(-30.0, 30.0, 601)


class SquaredErrors:
    """Sums of squared errors by outcome and bin, for the Brier score.

    The mean squared error of each outcome and bin is drawn as `brier_score` draws it given the pilot; those of the rows
    vary around it with the variance of the pilot's rows. Sums over n rows are Normal, clipped to their possible range.
    """

    def __init__(self, pilot: BinnedCounts) -> None:
        self.mean, self.sd, self.least, self.most = mean_losses(pilot)
        self.row_sd = _sd_of_rows(pilot, self.sd)

    def simulate(self, cells: Ints, rng: Generator) -> LossSums:
        """Draw sums of losses and of squared losses of simulated rows, whose numbers are `cells`, shape (2, n_bins)."""
        truth, around = rng.standard_normal((2, *cells.shape))
        mean = np.clip(self.mean + self.sd * truth, self.least, self.most)
        total = np.clip(cells * mean + np.sqrt(cells) * self.row_sd * around, cells * self.least, cells * self.most)
        return _with_squares(total, cells, self.row_sd)


class LogLosses:
    """Sums of log losses by outcome and bin, for the log score.

    The mean log loss of each outcome and bin is drawn as `log_score` draws it given the pilot; those of the rows vary
    around it with the variance of the pilot's rows. The excess of a sum over its smallest possible value is Gamma.
    """

    def __init__(self, pilot: BinnedCounts) -> None:
        self.mean, self.sd, self.least, self.most = mean_log_losses(pilot)
        self.row_sd = _sd_of_rows(pilot, self.sd)

    def simulate(self, cells: Ints, rng: Generator) -> LossSums:
        """Draw sums of losses and of squared losses of simulated rows, as `SquaredErrors.simulate`."""
        mean = np.minimum(self.least + _gamma(self.mean - self.least, self.sd, rng), self.most)
        excess = _gamma(cells * (mean - self.least), np.sqrt(cells) * self.row_sd, rng)
        largest = np.where(cells > 0, self.most, 0.0) * np.maximum(cells, 1)
        return _with_squares(np.minimum(cells * self.least + excess, largest), cells, self.row_sd)


#: What simulates the losses of one classifier, by the member of counts that holds their sums.
OF_KIND: dict[str, Callable[[BinnedCounts], SquaredErrors | LogLosses]] = {
    "losses": SquaredErrors,
    "log_losses": LogLosses,
}


def _sd_of_rows(pilot: BinnedCounts, sd: Floats) -> Floats:
    """Standard deviation of the losses of rows: that of a mean loss is divided by the root of n + 2."""
    return sd * np.sqrt(np.stack([pilot.effective_n - pilot.effective_k, pilot.effective_k]) + 2)


def _with_squares(total: Floats, cells: Ints, row_sd: Floats) -> LossSums:
    squares = np.divide(total**2, cells, out=np.zeros_like(total), where=cells > 0) + cells * row_sd**2
    return LossSums(total, squares)


def _gamma(mean: Floats, sd: Floats, rng: Generator) -> Floats:
    """Draw from Gamma distributions with these means and standard deviations; the mean itself if one of them is 0."""
    vary = (mean > 0) & (sd > 0)
    scale = np.divide(sd**2, mean, out=np.ones_like(mean), where=vary)
    shape = np.divide(mean, scale, out=np.ones_like(mean), where=vary)
    return np.where(vary, rng.standard_gamma(shape) * scale, np.maximum(mean, 0.0))


class JointLosses:
    """Sums over all rows of the losses of two classifiers and of their difference.

    The truth is drawn from the posterior that `joint_brier_scores` and `joint_log_scores` use: a Normal sample with a
    noninformative prior. The losses of the rows are a Normal sample from the truth.
    """

    def __init__(self, pilot: PairedCounts, kind: str) -> None:
        self.rows, self.largest = min(pilot.first.effective_rows, pilot.second.effective_rows), LARGEST[kind]
        weight = float(pilot.weight.sum())
        first, second = (getattr(counts, kind) for counts in (pilot.first, pilot.second))
        between = getattr(pilot, KINDS[kind].difference)
        means = np.array([sums.total.sum() for sums in (first, second, between)]) / weight
        squares = np.array([sums.squares.sum() for sums in (first, second, between)]) / weight
        of_first, of_second, of_difference = np.maximum(squares - means**2, 0.0)
        shared = (of_first + of_difference - of_second) / 2 if of_difference > 0 else 0.0
        self.mean = means[[0, 2]]
        #: Covariance over rows of the loss of the first classifier and the difference of losses.
        self.covariance = np.array([[of_first, shared], [shared, of_difference]])
        self.root = symmetric_root(self.covariance)

    def simulate(self, rows: int, rng: Generator) -> tuple[LossSums, LossSums, LossSums]:
        """Draw sums over rows with weight 1: of the first classifier, of the second, and of the difference."""
        scale = self.rows / rng.chisquare(self.rows - 1)  # of the true covariance over that of the pilot
        truth, around = rng.standard_normal((2, 2)) @ self.root
        first, between = self.mean + np.sqrt(scale / self.rows) * truth + np.sqrt(scale / rows) * around
        ends = np.clip([first, first - between], 0.0, self.largest)
        means = np.array([*ends, ends[0] - ends[1]])
        observed = self.covariance * scale * (rng.chisquare(rows - 1) / rows if rows > 1 else 0.0)
        of_first, of_difference = np.diag(observed)
        of_second = max(of_first + of_difference - 2 * observed[0, 1], 0.0)
        squares = means**2 + [of_first, of_second, of_difference]
        one, other, difference = (LossSums(rows * m, rows * s) for m, s in zip(means, squares, strict=True))
        return one, other, difference


class SimulatedRanks:
    """Simulated ranks of rows like those of a pilot.

    The true area is drawn from its posterior given the pilot (see `auc`), jointly for several classifiers. The area of
    n rows is Beta around the truth; its variance is that of the posterior, with n rows in place of the pilot's. The
    simulated ranks are those of the pilot, with one more row per outcome whose placement is uniform, tilted so that
    they have this area: the weight of a row is multiplied by exp(t placement).
    """

    def __init__(self, pilots: Sequence[Counts], pairs: Mapping[tuple[int, int], PairedCounts] | None = None) -> None:
        self.classifiers = [_ClassifierRanks(ranks_of(pilot)) for pilot in pilots]
        self.root = symmetric_root(correlation_of_aucs(pilots, pairs or {}))

    def simulate(self, rows: Sequence[Any], weight: float, rng: Generator) -> list[Ranks]:
        """Draw the ranks of each classifier, for its numbers of rows with outcome 0 and 1 and this weight of a row."""
        truth, around = ndtr(rng.standard_normal((2, len(self.classifiers))) @ self.root)
        return [
            of.simulate(np.asarray(n, np.float64), t, a, weight)
            for of, n, t, a in zip(self.classifiers, rows, truth, around, strict=True)
        ]


class _ClassifierRanks:
    """Simulated ranks of one classifier, from quantiles of its true area and of that of the rows."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks, self.parameters = ranks, beta_parameters(ranks)
        area, rows = ranks.auc, ranks.rows
        #: Variance of the placements of each outcome, including the additional row.
        self.spread = ranks.sampling_spread + (1 / 3 - area + area**2) / rows
        fewest = 1 / (1 / rows).sum()
        centre = (area * fewest + 0.5) / (fewest + 1)
        self.centre_variance = centre * (1 - centre)
        #: Shares of the weight, and of the squared weights, of the rows of each outcome by cell; a uniform placement is
        #: that of a row of the other outcome.
        self.share, self.share_sq = (
            (each / each.sum(axis=1, keepdims=True) * rows[:, None] + ranks.weight[::-1] / ranks.total[::-1, None])
            / (rows[:, None] + 1)
            for each in (ranks.weight, ranks.weight_sq)
        )
        tilted = (self._tilted(self.share, tilt) for tilt in TILTS)
        self.areas = np.array([one @ (zero.cumsum() - zero / 2) for zero, one in tilted])  # ties count half

    def simulate(self, rows: Floats, truth: float, around: float, weight: float) -> Ranks:
        """Return the ranks of rows, given quantiles of the true area and of the area of the rows."""
        area = float(betaincinv(*self.parameters, truth))
        if rows.all() and 0 < area < 1:
            trials = self.centre_variance / (self.spread / rows).sum()
            area = float(betaincinv(area * trials, (1 - area) * trials, around))
        tilt = float(np.interp(area, self.areas, TILTS))
        row_weight = weight * rows[:, None]
        weights, squares = (row_weight * self._tilted(share, tilt) for share in (self.share, self.share_sq))
        return Ranks(self.ranks.grid, self.ranks.position, weights, weight * squares)

    def _tilted(self, share: Floats, tilt: float) -> Floats:
        tilted = share * np.exp(tilt * (self.ranks.placements - 0.5))
        return tilted / tilted.sum(axis=1, keepdims=True)


def effective_rows(n_rows: int, weight: float, weight_sq: float, n: int) -> tuple[int, float]:
    """Return the effective number of n rows like those of the pilot, and the weight of each; n and 1 if unweighted."""
    return max(1, round(n * (weight**2 / weight_sq / n_rows))), float(weight_sq / weight)


def counts_like(pilot: BinnedCounts, cells: Ints, confidence: Floats, weight: float) -> BinnedCounts:
    """Return counts of simulated rows, each with the mean confidence of its bin, without losses and ranks."""
    offset = np.where(cells.any(axis=0), confidence - pilot.bins.midpoints, 0.0)
    weights = weight * cells.astype(np.float64)
    total = weights.sum(axis=0)
    return BinnedCounts(pilot.bins, cells, weights, weights * offset, total * offset**2, weight * total, pilot.target)


class LossesAndRanks:
    """Losses and ranks of simulated rows of one classifier, if the estimand needs them."""

    def __init__(self, pilot: BinnedCounts, estimand: Estimand) -> None:
        self.losses = {kind: of(pilot) for kind, of in OF_KIND.items() if kind in estimand.needs}
        self.ranks = SimulatedRanks([pilot]) if "outcomes" in estimand.needs else None

    def added(self, counts: BinnedCounts, weight: float, rng: Generator) -> BinnedCounts:
        """Return simulated counts, whose rows have this weight, with their simulated losses and ranks."""
        parts: dict[str, Any] = {kind: of.simulate(counts.cells, rng).times(weight) for kind, of in self.losses.items()}
        if self.ranks is not None:
            [parts["ranks"]] = self.ranks.simulate([counts.cells.sum(axis=1)], weight, rng)
        return replace(counts, **parts)


def shared_out(losses: LossSums, cells: Ints) -> LossSums:
    """Divide sums over all rows between outcomes and bins in proportion to their numbers of rows."""
    share = cells / cells.sum()
    return LossSums(losses.total * share, losses.squares * share)
