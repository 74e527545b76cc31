"""Ranks of simulated rows, for the area under the ROC curve of one classifier, or of several on the same rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr

from bayescal.estimands.area_under_roc import beta_parameters, correlation_of_aucs, ranks_of
from bayescal.posterior.joint import symmetric_root
from bayescal.stats.contract import Counts
from bayescal.stats.paired import PairedCounts
from bayescal.stats.ranks import Ranks

Floats = NDArray[np.float64]

#: Exponents by which the ranks of a pilot are tilted towards smaller and larger areas.
TILTS = np.linspace(-30.0, 30.0, 601)


class SimulatedRanks:
    """Simulated ranks of rows like those of a pilot.

    The true area is drawn from its posterior given the pilot (see `auc`), jointly for several classifiers. The area of
    n rows is Beta around the truth; its variance is that of the posterior, with n rows in place of the pilot's. The
    simulated ranks are those of the pilot, with one more row per outcome whose placement is uniform, tilted so that
    they have this area: the weight of a row is multiplied by exp(t placement).
    """

    def __init__(self, pilots: Sequence[Counts], pairs: Mapping[tuple[int, int], PairedCounts] | None = None) -> None:
        self.classifiers = [_OfOne(ranks_of(pilot)) for pilot in pilots]
        self.root = symmetric_root(correlation_of_aucs(pilots, pairs or {}))

    def simulate(self, rows: Sequence[Any], weight: float, rng: np.random.Generator) -> list[Ranks]:
        """Draw ranks of simulated rows.

        Parameters
        ----------
        rows : sequence of ndarray, shape (2,)
            For each classifier, numbers of rows with outcome 0 and 1.
        weight : float
            Weight of each row.
        rng : Generator
            Randomness.

        Returns
        -------
        list of Ranks
            The ranks of each classifier.
        """
        truth, around = ndtr(rng.standard_normal((2, len(self.classifiers))) @ self.root)
        return [
            of.simulate(np.asarray(n, np.float64), t, a, weight)
            for of, n, t, a in zip(self.classifiers, rows, truth, around, strict=True)
        ]


class _OfOne:
    """Simulated ranks of one classifier, from quantiles of its true area and of that of the rows."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks, self.parameters = ranks, beta_parameters(ranks)
        area, rows = ranks.auc, ranks.rows
        #: Variance of the placements of each outcome, including the additional row.
        self.spread = ranks.sampling_spread + (1 / 3 - area + area**2) / rows
        fewest = 1 / (1 / rows).sum()
        centre = (area * fewest + 0.5) / (fewest + 1)
        self.of_centre = centre * (1 - centre)
        #: Shares of the weight, and of the squared weights, of the rows of each outcome by cell; a uniform placement is
        #: that of a row of the other outcome.
        self.share, self.share_sq = (
            (each / each.sum(axis=1, keepdims=True) * rows[:, None] + ranks.weight[::-1] / ranks.total[::-1, None])
            / (rows[:, None] + 1)
            for each in (ranks.weight, ranks.weight_sq)
        )
        self.areas = np.array([_area(self._tilted(self.share, tilt)) for tilt in TILTS])

    def simulate(self, rows: Floats, truth: float, around: float, weight: float) -> Ranks:
        """Return the ranks of rows, given quantiles of the true area and of the area of the rows."""
        area = float(betaincinv(*self.parameters, truth))
        if rows.all() and 0 < area < 1:
            trials = self.of_centre / (self.spread / rows).sum()
            area = float(betaincinv(area * trials, (1 - area) * trials, around))
        tilt = float(np.interp(area, self.areas, TILTS))
        of_rows = weight * rows[:, None]
        weights, squares = (of_rows * self._tilted(share, tilt) for share in (self.share, self.share_sq))
        return Ranks(self.ranks.grid, self.ranks.position, weights, weight * squares)

    def _tilted(self, share: Floats, tilt: float) -> Floats:
        tilted = share * np.exp(tilt * (self.ranks.placements - 0.5))
        return tilted / tilted.sum(axis=1, keepdims=True)


def _area(share: Floats) -> float:
    """Area under the ROC curve of shares of rows by outcome and cell; ties count half."""
    return float(share[1] @ (share[0].cumsum() - share[0] / 2))
