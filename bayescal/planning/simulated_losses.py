"""Sums of squared errors and of log losses of simulated rows: by bin, or jointly for two classifiers."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayescal.estimands.scores import mean_log_losses, mean_losses
from bayescal.posterior.joint import symmetric_root
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import KINDS, LossSums
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Largest value of a mean loss, by its kind.
LARGEST = {"losses": 1.0, "log_losses": np.inf}


class SquaredErrors:
    """Sums of squared errors by outcome and bin, for the Brier score.

    The mean squared error of each outcome and bin is drawn as `brier_score` draws it given the pilot; those of the rows
    vary around it with the variance of the pilot's rows. Sums over n rows are Normal, clipped to their possible range.
    """

    def __init__(self, pilot: BinnedCounts) -> None:
        self.mean, self.sd, self.least, self.most = mean_losses(pilot)
        self.of_rows = _sd_of_rows(pilot, self.sd)

    def simulate(self, cells: Ints, rng: np.random.Generator) -> LossSums:
        """Draw sums of losses and of squared losses of simulated rows.

        Parameters
        ----------
        cells : ndarray of int64, shape (2, n_bins)
            Numbers of rows.
        rng : Generator
            Randomness.

        Returns
        -------
        LossSums
            Sums of rows with weight 1.
        """
        truth, around = rng.standard_normal((2, *cells.shape))
        mean = np.clip(self.mean + self.sd * truth, self.least, self.most)
        total = np.clip(cells * mean + np.sqrt(cells) * self.of_rows * around, cells * self.least, cells * self.most)
        return _with_squares(total, cells, self.of_rows)


class LogLosses:
    """Sums of log losses by outcome and bin, for the log score.

    The mean log loss of each outcome and bin is drawn as `log_score` draws it given the pilot; those of the rows vary
    around it with the variance of the pilot's rows. The excess of a sum over its smallest possible value is Gamma.
    """

    def __init__(self, pilot: BinnedCounts) -> None:
        self.mean, self.sd, self.least, self.most = mean_log_losses(pilot)
        self.of_rows = _sd_of_rows(pilot, self.sd)

    def simulate(self, cells: Ints, rng: np.random.Generator) -> LossSums:
        """Draw sums of losses and of squared losses of simulated rows, as `SquaredErrors.simulate`."""
        mean = np.minimum(self.least + _gamma(self.mean - self.least, self.sd, rng), self.most)
        excess = _gamma(cells * (mean - self.least), np.sqrt(cells) * self.of_rows, rng)
        largest = np.where(cells > 0, self.most, 0.0) * np.maximum(cells, 1)
        return _with_squares(np.minimum(cells * self.least + excess, largest), cells, self.of_rows)


#: What simulates the losses of one classifier, by the member of counts that holds their sums.
OF_KIND: dict[str, Callable[[BinnedCounts], SquaredErrors | LogLosses]] = {
    "losses": SquaredErrors,
    "log_losses": LogLosses,
}


def _sd_of_rows(pilot: BinnedCounts, sd: Floats) -> Floats:
    """Standard deviation of the losses of rows: that of a mean loss is divided by the root of n + 2."""
    return sd * np.sqrt(np.stack([pilot.effective_n - pilot.effective_k, pilot.effective_k]) + 2)


def _with_squares(total: Floats, cells: Ints, of_rows: Floats) -> LossSums:
    squares = np.divide(total**2, cells, out=np.zeros_like(total), where=cells > 0) + cells * of_rows**2
    return LossSums(total, squares)


def _gamma(mean: Floats, sd: Floats, rng: np.random.Generator) -> Floats:
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

    def simulate(self, rows: int, rng: np.random.Generator) -> tuple[LossSums, LossSums, LossSums]:
        """Draw sums over simulated rows with weight 1.

        Parameters
        ----------
        rows : int
            Number of rows.
        rng : Generator
            Randomness.

        Returns
        -------
        tuple of LossSums
            Sums of the first classifier, of the second, and of the difference.
        """
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
