"""Noisy labels: with some probability an outcome has nothing to do with the confidence."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior._gaps import GapSums
from bayescal.posterior._part import PartDraws

Floats = NDArray[np.float64]

#: The share of noise is 1.25 u^2 with u uniform on (0, 1). Its density is proportional to noise^(-1/2), as Jeffreys'
#: prior is near 0, and labels that are all noise (a share of 1) lie inside its range.
LARGEST = 1.25
#: Cells per axis of the grid, by its dimension, and how often it is laid anew around what matters. The last of these
#: grids has more cells: where the rate is at 0 or 1, its density falls by a factor of e within one of 21.
CELLS, LAST_CELLS = {1: 41, 2: 21}, 41
ROUNDS = 4
#: Cells so far below the best (in log) do not matter.
HOPELESS = 18.0
#: Accuracies are kept this far from 0 and 1.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class LabelNoise:
    r"""Posterior of the share and the rate of noisy labels, on a grid; every bin lies on a straight line.

    .. math:: \theta_b = (1 - \lambda) \bar c_b + \lambda \pi

    Parameters
    ----------
    n, k, confidence : ndarray, shape (n_bins,)
        (Effective) rows, positives and mean confidences.
    free_rate : bool
        Whether the rate pi of outcome 1 among noisy labels is uniform on (0, 1); otherwise it is 1/2.
    """

    n: Floats
    k: Floats
    confidence: Floats
    free_rate: bool

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(np.logaddexp.reduce(self._cells[2]))

    def draw(self, count: int, rng: np.random.Generator) -> PartDraws:
        """Draw share and rate within the cells of the grid."""
        low, width, log_mass = self._cells
        cell = rng.choice(len(log_mass), count, p=np.exp(log_mass - self.log_evidence))
        share, rate = self._parameters(low[cell] + width * rng.random((count, len(width))))
        accuracy = np.clip(self.accuracy(share, rate), 0, 1)
        return PartDraws(accuracy, np.zeros(accuracy.shape, bool), {"noise": share, "noise_rate": rate}, count)

    @property
    def off_probability(self) -> Floats:
        """All bins lie on one line."""
        return np.zeros(len(self.n))

    def parameter_means(self) -> dict[str, float]:
        """Posterior means of the share of noise and of the rate."""
        share, rate, weight = self.nodes
        return {"noise": float(weight @ share), "noise_rate": float(weight @ rate)}

    @property
    def nodes(self) -> tuple[Floats, Floats, Floats]:
        """Shares of noise, rates, and posterior masses of the cells of the grid."""
        low, width, log_mass = self._cells
        return *self._parameters(low + width / 2), np.exp(log_mass - self.log_evidence)

    def gap_sums(self, mass: Floats) -> GapSums:
        """Moments of the sum over bins of `mass` times the absolute gap."""
        share, rate, weight = self.nodes
        gap = np.abs(self.accuracy(share, rate) - self.confidence)
        total = gap @ mass
        mean = float(weight @ total)
        return GapSums(mean, float(weight @ (total - mean) ** 2), float(weight @ (gap**2 @ mass)))

    def accuracy(self, share: Floats, rate: Floats) -> Floats:
        """Accuracies of the bins, shape (n, n_bins)."""
        return self.confidence + share[:, None] * (rate[:, None] - self.confidence)

    def _parameters(self, u: Floats) -> tuple[Floats, Floats]:
        return LARGEST * u[:, 0] ** 2, u[:, 1] if self.free_rate else np.full(len(u), 0.5)

    def _log_likelihood(self, u: Floats) -> Floats:
        accuracy = np.clip(self.accuracy(*self._parameters(u)), MARGIN, 1 - MARGIN)
        stated = np.clip(self.confidence, MARGIN, 1 - MARGIN)
        exact = self.k @ np.log(stated) + (self.n - self.k) @ np.log1p(-stated)
        return np.log(accuracy) @ self.k + np.log1p(-accuracy) @ (self.n - self.k) - exact

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats]:
        """Lower ends of the cells in (u, pi), their common width, and log posterior masses, not normalised."""
        axes = 2 if self.free_rate else 1
        low, high = np.zeros(axes), np.ones(axes)
        for i in range(ROUNDS):
            count = CELLS[axes] if i < ROUNDS - 1 else LAST_CELLS
            width = (high - low) / count
            steps = np.stack(np.meshgrid(*[np.arange(count)] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
            starts = low + width * steps
            log_mass = self._log_likelihood(starts + width / 2) + np.log(width).sum()
            matters = starts[log_mass > log_mass.max() - HOPELESS]
            low, high = np.maximum(matters.min(axis=0) - width, 0), np.minimum(matters.max(axis=0) + 2 * width, 1)
        return starts, width, log_mass
