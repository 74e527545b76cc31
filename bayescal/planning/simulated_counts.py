"""Counts of rows that are still to be labelled, simulated from a pilot and a truth."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.estimands.estimand import Estimand
from bayescal.planning.simulated_losses import OF_KIND
from bayescal.planning.simulated_ranks import SimulatedRanks
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.losses import LossSums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def effective_rows(n_rows: int, weight: float, weight_sq: float, n: int) -> tuple[int, float]:
    """Return the effective number of n rows like those of the pilot, and the weight of each; n and 1 if unweighted."""
    return max(1, round(n * (weight**2 / weight_sq / n_rows))), float(weight_sq / weight)


def counts_like(pilot: BinnedCounts, cells: Ints, confidence: Floats, weight: float) -> BinnedCounts:
    """Return counts of simulated rows, each with the mean confidence of its bin, without losses and ranks.

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

    Returns
    -------
    BinnedCounts
        The counts.
    """
    offset = np.where(cells.any(axis=0), confidence - pilot.bins.midpoints, 0.0)
    weights = weight * cells.astype(np.float64)
    total = weights.sum(axis=0)
    return BinnedCounts(pilot.bins, cells, weights, weights * offset, total * offset**2, weight * total, pilot.target)


class LossesAndRanks:
    """Losses and ranks of simulated rows of one classifier, if the estimand needs them."""

    def __init__(self, pilot: BinnedCounts, estimand: Estimand) -> None:
        self.losses = {kind: of(pilot) for kind, of in OF_KIND.items() if kind in estimand.needs}
        self.ranks = SimulatedRanks([pilot]) if "outcomes" in estimand.needs else None

    def added(self, counts: BinnedCounts, weight: float, rng: np.random.Generator) -> BinnedCounts:
        """Return simulated counts, whose rows have this weight, with their simulated losses and ranks."""
        parts: dict[str, Any] = {kind: of.simulate(counts.cells, rng).times(weight) for kind, of in self.losses.items()}
        if self.ranks is not None:
            [parts["ranks"]] = self.ranks.simulate([counts.cells.sum(axis=1)], weight, rng)
        return replace(counts, **parts)


def shared_out(losses: LossSums, cells: Ints) -> LossSums:
    """Divide sums over all rows between outcomes and bins in proportion to their numbers of rows."""
    share = cells / cells.sum()
    return LossSums(losses.total * share, losses.squares * share)
