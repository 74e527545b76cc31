"""Sub-models of noisy labels: some labels are random (in all bins), or contrary to the confidence (in end bins)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from bayescal._arrays import Bools, Floats, Generator
from bayescal.posterior.shrinkage.independent.family import systematic
from bayescal.posterior.shrinkage.sub_model import SubModel, SubModelDraws, inverse_probabilities
from bayescal.stats.sums import VALUE_FLOOR, effective_number

#: Cells of a grid: lower ends of shape (n_cells, n_axes), common widths of shape (n_axes,), and log posterior masses.
Cells = tuple[Floats, Floats, Floats]

#: The share of noise is 1.25 u^2 with u uniform on (0, 1). Its density is proportional to share^(-1/2), like Jeffreys'
#: prior near 0. The range goes beyond a share of 1, at which all labels are noise, so that 1 is in its interior.
LARGEST = 1.25
#: By dimension of the grid: cells per axis of the first grid, and parts per axis into which a relevant cell is divided.
CELLS, PARTS = {1: 41, 2: 21}, {1: 3, 2: 2}
#: Maximum number of divisions. The grid is not divided further if it would have more than MOST_CELLS cells. With many
#: bins, the limit is MOST_VALUES / n_bins, but at least LEAST_CELLS.
ROUNDS, MOST_CELLS, LEAST_CELLS, MOST_VALUES = 12, {1: 180, 2: 6000}, 1500, 600_000
#: A cell is relevant if its log mass is within HOPELESS of the largest, or if it is among the BEST cells with the
#: largest log masses: on a coarse grid, the peak may lie between the centres of these cells.
HOPELESS, BEST = 14.0, {1: 5, 2: 25}
CROWDED = 0.1  #: A bin is crowded if the distance of its mean confidence from 0 or 1 is below this, in bin widths.
#: Relative variance of 1 / p from which p is small where the grid is coarse. Its mean then is the reciprocal of the
#: mean of p given all other rows, which is computed on a grid of its own.
UNEVEN = 0.01
#: Beta prior of the share of noise in a crowded bin, as for the share of contrary outcomes in saturated bins.
SHARE_AT_ENDS = (0.5, 10.0)


@dataclass(frozen=True, eq=False)
class LabelNoise:
    r"""Posterior of the share of noisy labels and of the rate of outcome 1 among them, on a grid.

    Accuracies are a linear function of mean confidences, with the share :math:`\lambda` and the rate :math:`\pi`:

    .. math:: \theta_b = (1 - \lambda) \bar c_b + \lambda \pi

    The rate is uniform on (0, 1) if `free_rate`, otherwise 1/2. Rows and positives may be effective ones.
    """

    n: Floats
    k: Floats
    confidence: Floats
    free_rate: bool

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(np.logaddexp.reduce(self._cells[2]))

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw cells by mass and a point uniformly in each; resample by the density relative to that at the centre."""
        low, width, log_mass = self._cells
        cell = rng.choice(len(log_mass), count, p=np.exp(log_mass - self.log_evidence))
        u = low[cell] + width * rng.random((count, len(width)))
        weight = np.exp(self._log_likelihood(u) + np.log(width).sum() - log_mass[cell])
        share, rate = self._parameters(u[systematic(weight, count, rng)])
        accuracy, parameters = self.accuracy(share, rate), {"noise": share, "noise_rate": rate}
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), parameters, effective_number(weight))

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        share, rate, weight = self.nodes
        inverse = inverse_probabilities(self.accuracy(share, rate))
        result = np.asarray(weight @ inverse)
        uneven = np.asarray(weight @ inverse**2) > (1 + UNEVEN) * result**2
        for outcome, b in np.argwhere(uneven & (np.stack([self.n - self.k, self.k]) >= 1)):
            row = np.arange(len(self.n)) == b
            share, rate, weight = replace(self, n=self.n - row, k=self.k - outcome * row).nodes
            result[outcome, b] = 1 / (weight @ (1 / inverse_probabilities(self.accuracy(share, rate)[:, b])[outcome]))
        return result

    @property
    def off_probability(self) -> Floats:
        """Zero: all bins follow the same linear function."""
        return np.zeros(len(self.n))

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of the share and the rate of noisy labels."""
        share, rate, weight = self.nodes
        return {"noise": float(weight @ share), "noise_rate": float(weight @ rate)}

    @property
    def nodes(self) -> tuple[Floats, Floats, Floats]:
        """Shares, rates and posterior probabilities at the centres of the cells of the grid."""
        low, width, log_mass = self._cells
        return *self._parameters(low + width / 2), np.exp(log_mass - self.log_evidence)

    def accuracy(self, share: Floats, rate: Floats) -> Floats:
        """Return accuracies of the bins, shape (n, n_bins), clipped to [0, 1] since the share may exceed 1."""
        return np.clip(self.confidence + share[:, None] * (rate[:, None] - self.confidence), 0.0, 1.0)

    def _parameters(self, u: Floats) -> tuple[Floats, Floats]:
        return LARGEST * u[:, 0] ** 2, u[:, 1] if self.free_rate else np.full(len(u), 0.5)

    def _log_likelihood(self, u: Floats) -> Floats:
        share, rate = self._parameters(u)
        accuracy = share[:, None] * (rate[:, None] - self.confidence)
        accuracy += self.confidence
        np.maximum(accuracy, VALUE_FLOOR, out=accuracy)
        np.minimum(accuracy, 1 - VALUE_FLOOR, out=accuracy)
        log_likelihood = np.log(accuracy) @ self.k - self._log_exact
        np.subtract(1, accuracy, out=accuracy)
        return log_likelihood + np.log(accuracy, out=accuracy) @ (self.n - self.k)

    @cached_property
    def _log_exact(self) -> float:
        """Log-likelihood of exact calibration."""
        stated = np.clip(self.confidence, VALUE_FLOOR, 1 - VALUE_FLOOR)
        return float(self.k @ np.log(stated) + (self.n - self.k) @ np.log1p(-stated))

    @cached_property
    def _cells(self) -> Cells:
        """Cells of the grid in (u, rate)."""
        return _adaptive_cells(self._log_likelihood, 2 if self.free_rate else 1, len(self.n))


@dataclass(frozen=True, eq=False)
class NoiseAtEnds(SubModel):
    r"""Posterior of the shares of labels replaced by the contrary outcome, in the first and last bin if crowded.

    Other bins are exact. The contrary outcome is 1 in a bin near 0, and 0 in a bin near 1.

    .. math:: \theta_1 = \bar c_1 + \lambda_1 (1 - \bar c_1), \quad \theta_M = \bar c_M - \lambda_M \bar c_M

    with :math:`\lambda_b \sim \mathrm{Beta}(1/2, 10)`, on a grid of :math:`\sqrt{\lambda_b}`; see `crowded_ends`.
    """

    n: Floats
    k: Floats
    confidence: Floats
    crowded: Bools

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        return float(sum(np.logaddexp.reduce(log_mass) for _, _, log_mass in self._cells))

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw the shares of the bins independently, uniformly within cells of their grids."""
        accuracy = np.tile(self.confidence, (count, 1))
        for b, (low, width, log_mass) in zip(self._bins, self._cells, strict=True):
            cell = rng.choice(len(log_mass), count, p=_normalised(log_mass))
            share = (low[cell, 0] + width[0] * rng.random(count)) ** 2
            accuracy[:, b] += share * (self._contrary_of(b) - self.confidence[b])
        return SubModelDraws(accuracy, np.zeros(accuracy.shape, bool), {}, count)

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        result = inverse_probabilities(self.confidence)
        for b, (low, width, log_mass) in zip(self._bins, self._cells, strict=True):
            share = (low[:, 0] + width[0] / 2) ** 2
            accuracy = self.confidence[b] + share * (self._contrary_of(b) - self.confidence[b])
            result[:, b] = inverse_probabilities(accuracy) @ _normalised(log_mass)
        return result

    @property
    def off_probability(self) -> Floats:
        """Zero: no bin deviates beyond its noise."""
        return np.zeros(len(self.n))

    @property
    def _bins(self) -> list[int]:
        return np.flatnonzero(self.crowded).tolist()

    def _contrary_of(self, b: int) -> float:
        """Return the outcome that is contrary to the confidence of a bin: 0 near 1, 1 near 0."""
        return 0.0 if self.confidence[b] > 0.5 else 1.0

    def _stated(self, b: int) -> tuple[float, float, float]:
        """Return the number of contrary outcomes of a bin, their probability p under exact calibration, and 1 - p."""
        high = self.confidence[b] > 0.5
        contrary = self.n[b] - self.k[b] if high else self.k[b]
        stated = float(max(1 - self.confidence[b] if high else self.confidence[b], VALUE_FLOOR))
        return float(contrary), stated, 1 - stated

    @cached_property
    def _cells(self) -> list[Cells]:
        """Cells of the grid in the square root of the share, for each crowded bin."""
        return [_adaptive_cells(partial(self._log_density, b), 1, 1) for b in self._bins]

    def _log_density(self, b: int, u: Floats) -> Floats:
        """Log of: prior density of the root of the share times likelihood ratio; `u` has shape (n, 1)."""
        contrary, stated, rest = self._stated(b)
        share, (first, second) = u[:, 0] ** 2, SHARE_AT_ENDS
        prior = np.log(2) + (2 * first - 1) * np.log(u[:, 0]) + (second - 1) * np.log1p(-share) - betaln(first, second)
        return prior + (xlogy(contrary, 1 + share * rest / stated) + xlog1py(self.n[b] - contrary, -share))


def crowded_ends(edges: Floats, confidence: Floats) -> Bools:
    """Mark the first and last bin if crowded: their mean confidence is within a tenth of the bin width of 0 or 1."""
    crowded = np.zeros(len(confidence), bool)
    crowded[0] = confidence[0] - edges[0] < CROWDED * (edges[1] - edges[0])
    crowded[-1] |= edges[-1] - confidence[-1] < CROWDED * (edges[-1] - edges[-2])
    return crowded


def _adaptive_cells(log_density: Callable[[Floats], Floats], axes: int, n_bins: int) -> Cells:
    """Make a grid on the unit interval or square that is fine where the density is large.

    Each relevant cell is divided on its own, because the posterior can be a narrow ridge: if all confidences are close
    to the rate of the noise, the rows contain little information about the share of noise. Log masses are not
    normalised.
    """
    most = max(min(MOST_CELLS[axes], MOST_VALUES // n_bins), min(LEAST_CELLS, MOST_CELLS[axes]))
    starts, width = _lattice(CELLS[axes], axes) / CELLS[axes], np.full(axes, 1 / CELLS[axes])
    inner = _lattice(PARTS[axes], axes) / PARTS[axes]
    for _ in range(ROUNDS):
        log_mass = log_density(starts + width / 2) + np.log(width).sum()
        enough = np.partition(log_mass, -BEST[axes])[-BEST[axes]]
        matters = starts[log_mass >= min(enough, log_mass.max() - HOPELESS)]
        if len(matters) * len(inner) > most:
            break
        starts, width = (matters[:, None] + width * inner).reshape(-1, axes), width / PARTS[axes]
    else:
        log_mass = log_density(starts + width / 2) + np.log(width).sum()
    return starts, width, log_mass


def _normalised(log_mass: Floats) -> Floats:
    mass: Floats = np.exp(log_mass - log_mass.max())
    return mass / mass.sum()


def _lattice(count: int, axes: int) -> Floats:
    """Return all points with integer coordinates below `count`, shape (count ** axes, axes)."""
    return np.stack(np.meshgrid(*[np.arange(float(count))] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
