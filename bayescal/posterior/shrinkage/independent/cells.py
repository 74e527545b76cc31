"""Adaptive integration over the drift of a posterior with many sharp modes, none of which may be missed.

A sparse residual makes one mode for every line through a few of the bins. An upper bound shows where none can hide.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.beta_binomial import FARTHEST_LOGIT
from bayescal.posterior.shrinkage.independent.drift import HOPELESS, PRIOR_REACH, DriftingBins, Frame, Nodes

Floats = NDArray[np.float64]
#: Log-likelihood summed over bins at logits of their centres (..., n_bins).
LogLikelihood = Callable[[Floats], Floats]

#: Gauss-Legendre nodes along each side of a cell, and the interval that each stands for, from the left end of [0, 2].
ORDER = 6
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
STARTS = np.concatenate([[0.0], np.cumsum(WEIGHTS)[:-1]])
LAST_TWO = np.polynomial.legendre.legvander(PLACES, ORDER - 1)[:, -2:] * (np.arange(ORDER)[-2:] + 0.5)
#: First cells end at so many standard deviations from the mode, the next ones at twice that, and so on.
FIRST_CELL = 3.0
#: A bound so far (in log) above what the nodes of a cell saw may hide a mode between them. Each bin adds to the bound
#: what its own best point gains; by chance alone that grows as the square root of the number of bins.
HIDDEN, HIDDEN_BY_CHANCE = 14.0, 2.0
MOST_ROUNDS = 80
MOST_CELLS = 3000


class Cells(NamedTuple):
    """Rectangles in (t, s)."""

    low_t: Floats
    high_t: Floats
    low_s: Floats
    high_s: Floats

    def take(self, index: NDArray[np.bool_]) -> "Cells":
        """Some of the cells."""
        return Cells(*(side[index] for side in self))

    def halved(self, along_t: NDArray[np.bool_]) -> "Cells":
        """Two of each cell."""
        middle_t = np.where(along_t, (self.low_t + self.high_t) / 2, self.high_t)
        middle_s = np.where(along_t, self.high_s, (self.low_s + self.high_s) / 2)
        near = Cells(self.low_t, middle_t, self.low_s, middle_s)
        far = Cells(
            np.where(along_t, middle_t, self.low_t), self.high_t, np.where(along_t, self.low_s, middle_s), self.high_s
        )
        return _joined([near, far])

    @property
    def log_area(self) -> Floats:
        """Log of the areas."""
        return np.log((self.high_t - self.low_t) * (self.high_s - self.low_s))


def _joined(parts: list[Cells]) -> Cells:
    return Cells(*(np.concatenate(sides) for sides in zip(*parts, strict=True)))


def adaptive_nodes(
    bins: DriftingBins,
    frame: Frame,
    log_likelihood: LogLikelihood,
    *,
    tolerance: float,
    floor: float,
    once_more: bool = False,
) -> tuple[Nodes, float]:
    """Gauss-Legendre rules on cells that are halved until the posterior is smooth in each.

    Parameters
    ----------
    bins : DriftingBins
        Prior, and the logits that maximise the likelihood of each bin.
    frame : Frame
        Coordinates, with a guess of the main mode; scalars.
    log_likelihood : callable
        Of logits (..., n_bins); for each bin it falls off on both sides of the observed share.
    tolerance : float
        Error of a cell, relative to the evidence.
    floor : float
        Log evidence against which this one may be negligible.
    once_more : bool, default False
        Whether all cells are halved in both directions at the end.

    Returns
    -------
    (nodes, unfinished) : Nodes, float
        And the share of the mass in cells that are still rough: 0 except in hopeless cases.
    """
    cells, log_density, unfinished = _refine(bins, frame, log_likelihood, tolerance, floor)
    if once_more:
        for along_t in (True, False):
            cells = cells.halved(np.full(len(cells.low_t), along_t))
        log_density = _log_density(bins, frame, cells, log_likelihood)
    return _nodes(frame, cells, log_density), unfinished


def _refine(
    bins: DriftingBins, frame: Frame, log_likelihood: LogLikelihood, tolerance: float, floor: float
) -> tuple[Cells, Floats, float]:
    """Final cells, the log density at their nodes, and the share of the mass in cells that are still rough."""
    cells, unfinished, seen = _first_cells(bins, frame), 0.0, 0
    done: list[Cells] = []
    densities: list[Floats] = []
    excess = max(HIDDEN, HIDDEN_BY_CHANCE * np.sqrt(len(bins.n)))
    total = max(floor, _crude_evidence(bins, frame, log_likelihood))
    for _ in range(MOST_ROUNDS):
        ceiling = _ceiling(bins, frame, cells, log_likelihood) + cells.log_area
        least = total + np.log(tolerance)
        # of a sub-model that is negligible as a whole, something must be left
        relevant = ceiling > (least if done else min(least, ceiling.max() - excess))
        cells, ceiling = cells.take(relevant), ceiling[relevant]
        if not relevant.any():
            break
        log_density = _log_density(bins, frame, cells, log_likelihood)
        log_mass, error_t, error_s = _assess(log_density, cells)
        total = max(total, np.logaddexp.reduce(log_mass))
        share = np.exp(log_mass - total)
        hidden = ceiling - log_mass > excess
        split = hidden | (share * np.maximum(error_t, error_s) > tolerance)
        seen += len(split)
        if seen > MOST_CELLS:
            unfinished, split = float(share[split].sum()), np.zeros_like(split)
        if not split.all():  # `done` means that something is left, so no empty round counts
            done.append(cells.take(~split))
            densities.append(log_density[~split])
        wide_t = (cells.high_t - cells.low_t) / frame.sd_t > (cells.high_s - cells.low_s) / frame.sd_s
        cells = cells.take(split).halved(np.where(hidden, wide_t, error_t > error_s)[split])
    return _joined(done), np.concatenate(densities), unfinished


def _crude_evidence(bins: DriftingBins, frame: Frame, log_likelihood: LogLikelihood) -> float:
    """Height of the guessed mode times its width."""
    a = frame.intercept(frame.t0, frame.s0)
    height = log_likelihood(bins.centre(a, frame.s0)) + bins.log_prior(a, frame.s0)
    return float(height + np.log(frame.sd_t * frame.sd_s))


def _first_cells(bins: DriftingBins, frame: Frame) -> Cells:
    """Cover the prior by cells that grow with their distance from the mode."""
    reach_t, reach_s = PRIOR_REACH * bins.intercept_sd, PRIOR_REACH * bins.log_slope_sd
    tilt = -frame.intercept(0.0, np.array([-reach_s, 0.0, reach_s]))  # t where a = 0
    t = _graded(frame.t0, frame.sd_t, tilt.min() - reach_t, tilt.max() + reach_t)
    s = _graded(frame.s0, frame.sd_s, -reach_s, reach_s)
    i, j = np.indices((len(t) - 1, len(s) - 1)).reshape(2, -1)
    return Cells(t[i], t[i + 1], s[j], s[j + 1])


def _graded(centre: Any, sd: Any, low: Any, high: Any) -> Floats:
    away = FIRST_CELL * sd * 2.0 ** np.arange(np.ceil(np.log2((high - low) / sd)))
    edges = np.concatenate([centre - away[::-1], [centre], centre + away])
    return np.concatenate([[low], edges[(edges > low) & (edges < high)], [high]])


def _ceiling(bins: DriftingBins, frame: Frame, cells: Cells, log_likelihood: LogLikelihood) -> Floats:
    """Upper bound of the log density in each cell: as if every bin, and the prior, could choose its own best point."""
    s = np.stack([cells.low_s, cells.high_s])
    a = frame.intercept(0.0, s)
    ends = bins.centre(a, s)  # where t = 0
    low, high = ends.min(axis=0) + cells.low_t[:, None], ends.max(axis=0) + cells.high_t[:, None]
    best = np.clip(np.clip(bins.best_logit, low, high), -FARTHEST_LOGIT, FARTHEST_LOGIT)
    best_a = np.clip(0.0, cells.low_t + a.min(axis=0), cells.high_t + a.max(axis=0))
    return log_likelihood(best) + bins.log_prior(best_a, np.clip(0.0, cells.low_s, cells.high_s))


def _points(cells: Cells) -> tuple[Floats, Floats]:
    """Nodes t (n_cells, ORDER, 1) and s (n_cells, 1, ORDER)."""
    t = cells.low_t[:, None] + (cells.high_t - cells.low_t)[:, None] / 2 * (1 + PLACES)
    s = cells.low_s[:, None] + (cells.high_s - cells.low_s)[:, None] / 2 * (1 + PLACES)
    return t[:, :, None], s[:, None, :]


def _log_density(bins: DriftingBins, frame: Frame, cells: Cells, log_likelihood: LogLikelihood) -> Floats:
    """Log density of prior and likelihood at the nodes, shape (n_cells, ORDER, ORDER)."""
    t, s = _points(cells)
    a = frame.intercept(t, s)
    s = np.broadcast_to(s, a.shape)
    return log_likelihood(bins.centre(a, s)) + bins.log_prior(a, s)


def _assess(log_density: Floats, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Log mass of each cell, and the relative error of the rule along t and along s."""
    top = log_density.max(axis=(1, 2))
    values = np.exp(log_density - top[:, None, None])
    along_t, along_s = values @ WEIGHTS / 2, WEIGHTS @ values / 2
    mean = along_t @ WEIGHTS / 2
    return np.log(mean) + top + cells.log_area, _error(along_t, mean), _error(along_s, mean)


def _error(along: Floats, mean: Floats) -> Floats:
    """From the last two Legendre coefficients of a margin: by experience a hundredth of their square, or less."""
    rough = np.abs((along * WEIGHTS) @ LAST_TWO).sum(axis=1) / mean
    return 0.01 * np.minimum(rough, 10.0) ** 2


def _nodes(frame: Frame, cells: Cells, log_density: Floats) -> Nodes:
    """Nodes of cells, each with the rectangle that its weights span."""
    half_t, half_s = (cells.high_t - cells.low_t)[:, None, None] / 2, (cells.high_s - cells.low_s)[:, None, None] / 2
    t, s = _points(cells)
    low_t, low_s = cells.low_t[:, None, None] + half_t * STARTS[:, None], cells.low_s[:, None, None] + half_s * STARTS
    width_t, width_s = half_t * WEIGHTS[:, None], half_s * WEIGHTS
    log_mass = log_density + np.log(width_t * width_s)
    heavy = log_mass > log_mass.max() - HOPELESS
    everywhere = Frame(*(np.full(heavy.sum(), value) for value in frame))
    fields: list[Any] = [np.broadcast_to(v, heavy.shape)[heavy] for v in (t, s, low_t, low_s, width_t, width_s)]
    return Nodes(*[*fields, everywhere, log_density[heavy], log_mass[heavy]])
