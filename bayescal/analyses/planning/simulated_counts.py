"""Counts of rows that are still to be labelled, simulated from a pilot and a truth."""

import numpy as np
from numpy.typing import NDArray

from bayescal.estimands.scores import mean_losses
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import LossSums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def effective_rows(n_rows: int, weight: float, weight_sq: float, n: int) -> tuple[int, float]:
    """Return the effective number of n rows like those of the pilot, and the weight of each; n and 1 if unweighted."""
    return max(1, round(n * (weight**2 / weight_sq / n_rows))), float(weight_sq / weight)


def counts_like(
    pilot: BinnedCounts, cells: Ints, confidence: Floats, weight: float, losses: LossSums | None = None
) -> BinnedCounts:
    """Return counts of simulated rows, each with the mean confidence of its bin.

    Parameters
    ----------
    pilot : BinnedCounts
        Counts with the same bins and target.
    cells : ndarray of int64, shape (2, n_bins)
        Simulated numbers of rows.
    confidence : ndarray, shape (n_bins,)
        Mean confidences.
    weight : float
        Weight of each row.
    losses : LossSums, optional
        Simulated sums of losses of rows with weight 1.

    Returns
    -------
    BinnedCounts
        The counts.
    """
    offset = np.where(cells.any(axis=0), confidence - pilot.bins.midpoints, 0.0)
    weights = weight * cells.astype(np.float64)
    total = weights.sum(axis=0)
    sums = None if losses is None else losses.apply(lambda values: weight * values)
    return BinnedCounts(
        pilot.bins, cells, weights, weights * offset, total * offset**2, weight * total, pilot.target, sums
    )


class Losses:
    """Sums of squared errors of simulated rows, for the Brier score.

    The mean squared error of each outcome and bin is drawn as `brier_score` draws it given the pilot; those of the rows
    vary around it with the variance of the pilot's rows. Sums over n rows are Normal, clipped to their possible range.
    """

    def __init__(self, pilot: BinnedCounts) -> None:
        self.mean, self.sd, self.least, self.most = mean_losses(pilot)
        rows = np.stack([pilot.effective_n - pilot.effective_k, pilot.effective_k])
        #: Standard deviation of the squared errors of rows: `mean_losses` divides their variance by n + 2.
        self.of_rows = self.sd * np.sqrt(rows + 2)

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
        squares = np.divide(total**2, cells, out=np.zeros_like(total), where=cells > 0) + cells * self.of_rows**2
        return LossSums(total, squares)
