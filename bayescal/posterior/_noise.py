"""Noisy labels: with some probability an outcome has nothing to do with the confidence."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior._drift import VALUE_FLOOR
from bayescal.posterior._gaps import GapSums
from bayescal.posterior._part import PartDraws

Floats = NDArray[np.float64]

#: The share of noise is 1.25 u^2 with u uniform on (0, 1). Its density is proportional to noise^(-1/2), as Jeffreys'
#: prior is near 0, and labels that are all noise (a share of 1) lie inside its range.
LARGEST = 1.25
#: Cells per axis of the first grid, by its dimension, and into how many parts per axis cells that matter are divided.
CELLS, PARTS = {1: 41, 2: 21}, {1: 3, 2: 2}
#: Cells are divided so often at most, and while there are no more than that; with many bins fewer, as they cost more.
ROUNDS, MOST_CELLS, LEAST_CELLS, MOST_VALUES = 12, {1: 180, 2: 6000}, 1500, 600_000
#: Cells so far below the best (in log) do not matter, but the best few always do: the peak may lie between them.
HOPELESS, BEST = 14.0, {1: 5, 2: 25}


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
        accuracy = np.clip(self.accuracy(*self._parameters(u)), VALUE_FLOOR, 1 - VALUE_FLOOR)
        stated = np.clip(self.confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        exact = self.k @ np.log(stated) + (self.n - self.k) @ np.log1p(-stated)
        return np.log(accuracy) @ self.k + np.log1p(-accuracy) @ (self.n - self.k) - exact

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats]:
        """Lower ends of the cells in (u, pi), their common width, and log posterior masses, not normalised.

        Only cells that matter are divided, not the box around them: if noise has the rate of the stated outcomes, its
        share is hardly limited, and the posterior is a narrow ridge.
        """
        axes = 2 if self.free_rate else 1
        most = max(min(MOST_CELLS[axes], MOST_VALUES // len(self.n)), min(LEAST_CELLS, MOST_CELLS[axes]))
        starts, width = _lattice(CELLS[axes], axes) / CELLS[axes], np.full(axes, 1 / CELLS[axes])
        inner = _lattice(PARTS[axes], axes) / PARTS[axes]
        for _ in range(ROUNDS):
            log_mass = self._log_likelihood(starts + width / 2) + np.log(width).sum()
            enough = np.partition(log_mass, -BEST[axes])[-BEST[axes]]
            matters = starts[log_mass >= min(enough, log_mass.max() - HOPELESS)]
            if len(matters) * len(inner) > most:
                break
            starts, width = (matters[:, None] + width * inner).reshape(-1, axes), width / PARTS[axes]
        else:
            log_mass = self._log_likelihood(starts + width / 2) + np.log(width).sum()
        return starts, width, log_mass


def _lattice(count: int, axes: int) -> Floats:
    """Whole numbers below `count` along each axis, shape (count ** axes, axes)."""
    return np.stack(np.meshgrid(*[np.arange(float(count))] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
