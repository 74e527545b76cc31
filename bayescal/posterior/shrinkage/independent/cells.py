"""Adaptive integration over the drift, for a posterior with many narrow modes.

Under a sparse residual, every drift that passes through the observed shares of a few bins can be a mode, since the
other bins may be off. The range of the prior is divided into cells in the coordinates (t, s) of a `Frame`. Each cell
has a Gauss-Legendre rule, and is halved while the rule is inaccurate. It is also halved while an upper bound of the
density in the cell is so high that a mode between the nodes could have been missed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.beta_binomial import FARTHEST_LOGIT
from bayescal.posterior.shrinkage.independent.drift import HOPELESS, PRIOR_REACH, DriftingBins, Frame, Nodes

Floats = NDArray[np.float64]
#: Log-likelihood summed over bins, as a function of the logits of their centres, (..., n_bins).
LogLikelihood = Callable[[Floats], Floats]

#: Gauss-Legendre rule along each side of a cell: nodes, weights, and the start of the interval in [0, 2] that each node
#: represents. LAST_TWO is the matrix that gives the last two Legendre coefficients from weighted values at the nodes.
ORDER = 6
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
STARTS = np.concatenate([[0.0], np.cumsum(WEIGHTS)[:-1]])
LAST_TWO = np.polynomial.legendre.legvander(PLACES, ORDER - 1)[:, -2:] * (np.arange(ORDER)[-2:] + 0.5)
#: First cells end at this many standard deviations from the mode, the next cells at twice that distance, and so on.
FIRST_CELL = 3.0
#: A cell may hide a mode between its nodes if its log bound exceeds its log mass by the larger of HIDDEN and
#: HIDDEN_BY_CHANCE sqrt(n_bins). The bound evaluates every bin at its own best point in the cell, so
#: chance alone makes it exceed the mass, by an amount that grows as sqrt(n_bins).
HIDDEN, HIDDEN_BY_CHANCE = 14.0, 2.0
#: Maximum number of rounds of halving, and of cells integrated before halving stops.
MOST_ROUNDS = 80
MOST_CELLS = 3000


class Cells(NamedTuple):
    """Rectangles in (t, s)."""

    low_t: Floats
    high_t: Floats
    low_s: Floats
    high_s: Floats

    def take(self, index: NDArray[np.bool_]) -> "Cells":
        """Return a selection of the cells."""
        return Cells(*(side[index] for side in self))

    def halved(self, along_t: NDArray[np.bool_]) -> "Cells":
        """Divide each cell into two halves."""
        middle_t = np.where(along_t, (self.low_t + self.high_t) / 2, self.high_t)
        middle_s = np.where(along_t, self.high_s, (self.low_s + self.high_s) / 2)
        near = Cells(self.low_t, middle_t, self.low_s, middle_s)
        far = Cells(
            np.where(along_t, middle_t, self.low_t), self.high_t, np.where(along_t, self.low_s, middle_s), self.high_s
        )
        return _joined([near, far])

    @property
    def log_area(self) -> Floats:
        """Log of the area of each cell."""
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
    """Make Gauss-Legendre rules on cells that are halved until the posterior is smooth in each cell.

    Parameters
    ----------
    bins : DriftingBins
        Prior, and for each bin the logit that maximises its likelihood.
    frame : Frame
        Coordinates and an approximate main mode; fields are scalars.
    log_likelihood : callable
        Log-likelihood at logits (..., n_bins). As a function of each logit, it must decrease on both sides of the logit
        of the observed share.
    tolerance : float
        Tolerated error of a cell, relative to the marginal likelihood.
    floor : float
        Value that replaces the log marginal likelihood as the reference of the tolerance if it is larger. With a value
        derived from other sub-models, few cells are used if this sub-model is negligible.
    once_more : bool, default False
        Whether to halve all cells in both directions at the end.

    Returns
    -------
    (nodes, unfinished) : Nodes, float
        Nodes, and the share of the mass in cells that did not converge; 0 except in extreme cases.
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
    """Return final cells, log densities at their nodes, and the share of the mass in cells that did not converge."""
    cells, unfinished, seen = _first_cells(bins, frame), 0.0, 0
    done: list[Cells] = []
    densities: list[Floats] = []
    excess = max(HIDDEN, HIDDEN_BY_CHANCE * np.sqrt(len(bins.n)))
    total = max(floor, _crude_evidence(bins, frame, log_likelihood))
    for _ in range(MOST_ROUNDS):
        ceiling = _ceiling(bins, frame, cells, log_likelihood) + cells.log_area
        least = total + np.log(tolerance)
        # keep some cells even if the whole sub-model is negligible
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
        if not split.all():  # append no empty parts: a non-empty `done` means that there are nodes
            done.append(cells.take(~split))
            densities.append(log_density[~split])
        wide_t = (cells.high_t - cells.low_t) / frame.sd_t > (cells.high_s - cells.low_s) / frame.sd_s
        cells = cells.take(split).halved(np.where(hidden, wide_t, error_t > error_s)[split])
    return _joined(done), np.concatenate(densities), unfinished


def _crude_evidence(bins: DriftingBins, frame: Frame, log_likelihood: LogLikelihood) -> float:
    """Log of: density at the approximate mode, times sd_t, times sd_s."""
    a = frame.intercept(frame.t0, frame.s0)
    height = log_likelihood(bins.centre(a, frame.s0)) + bins.log_prior(a, frame.s0)
    return float(height + np.log(frame.sd_t * frame.sd_s))


def _first_cells(bins: DriftingBins, frame: Frame) -> Cells:
    """Cover the range of the prior by cells whose size grows with their distance from the mode."""
    reach_t, reach_s = PRIOR_REACH * bins.intercept_sd, PRIOR_REACH * bins.log_slope_sd
    tilt = -frame.intercept(0.0, np.array([-reach_s, 0.0, reach_s]))  # t where a = 0
    t = _graded(frame.t0, frame.sd_t, tilt.min() - reach_t, tilt.max() + reach_t)
    s = _graded(frame.s0, frame.sd_s, -reach_s, reach_s)
    i, j = np.indices((len(t) - 1, len(s) - 1)).reshape(2, -1)
    return Cells(t[i], t[i + 1], s[j], s[j + 1])


def _graded(centre: Any, sd: Any, low: Any, high: Any) -> Floats:
    """Return edges of cells from `low` to `high`, whose size grows with their distance from the centre."""
    away = FIRST_CELL * sd * 2.0 ** np.arange(np.ceil(np.log2((high - low) / sd)))
    edges = np.concatenate([centre - away[::-1], [centre], centre + away])
    return np.concatenate([[low], edges[(edges > low) & (edges < high)], [high]])


def _ceiling(bins: DriftingBins, frame: Frame, cells: Cells, log_likelihood: LogLikelihood) -> Floats:
    """Upper bound on the log density in each cell: every bin, and the prior, is evaluated at its own best point."""
    s = np.stack([cells.low_s, cells.high_s])
    a = frame.intercept(0.0, s)
    ends = bins.centre(a, s)  # where t = 0
    low, high = ends.min(axis=0) + cells.low_t[:, None], ends.max(axis=0) + cells.high_t[:, None]
    best = np.clip(np.clip(bins.best_logit, low, high), -FARTHEST_LOGIT, FARTHEST_LOGIT)
    best_a = np.clip(0.0, cells.low_t + a.min(axis=0), cells.high_t + a.max(axis=0))
    return log_likelihood(best) + bins.log_prior(best_a, np.clip(0.0, cells.low_s, cells.high_s))


def _points(cells: Cells) -> tuple[Floats, Floats]:
    """Return nodes t of shape (n_cells, ORDER, 1) and s of shape (n_cells, 1, ORDER)."""
    t = cells.low_t[:, None] + (cells.high_t - cells.low_t)[:, None] / 2 * (1 + PLACES)
    s = cells.low_s[:, None] + (cells.high_s - cells.low_s)[:, None] / 2 * (1 + PLACES)
    return t[:, :, None], s[:, None, :]


def _log_density(bins: DriftingBins, frame: Frame, cells: Cells, log_likelihood: LogLikelihood) -> Floats:
    """Log of prior times likelihood at the nodes, shape (n_cells, ORDER, ORDER)."""
    t, s = _points(cells)
    a = frame.intercept(t, s)
    s = np.broadcast_to(s, a.shape)
    return log_likelihood(bins.centre(a, s)) + bins.log_prior(a, s)


def _assess(log_density: Floats, cells: Cells) -> tuple[Floats, Floats, Floats]:
    """Return the log mass of each cell, and the relative error of its rule along t and along s."""
    top = log_density.max(axis=(1, 2))
    values = np.exp(log_density - top[:, None, None])
    along_t, along_s = values @ WEIGHTS / 2, WEIGHTS @ values / 2
    mean = along_t @ WEIGHTS / 2
    return np.log(mean) + top + cells.log_area, _error(along_t, mean), _error(along_s, mean)


def _error(along: Floats, mean: Floats) -> Floats:
    """Estimate the error from the last two Legendre coefficients, as 0.01 (sum of their absolute values / mean)^2."""
    rough = np.abs((along * WEIGHTS) @ LAST_TWO).sum(axis=1) / mean
    return 0.01 * np.minimum(rough, 10.0) ** 2


def _nodes(frame: Frame, cells: Cells, log_density: Floats) -> Nodes:
    """Make nodes of cells, each with the rectangle that its weights represent."""
    half_t, half_s = (cells.high_t - cells.low_t)[:, None, None] / 2, (cells.high_s - cells.low_s)[:, None, None] / 2
    t, s = _points(cells)
    low_t, low_s = cells.low_t[:, None, None] + half_t * STARTS[:, None], cells.low_s[:, None, None] + half_s * STARTS
    width_t, width_s = half_t * WEIGHTS[:, None], half_s * WEIGHTS
    log_mass = log_density + np.log(width_t * width_s)
    heavy = log_mass > log_mass.max() - HOPELESS
    everywhere = Frame(*(np.full(heavy.sum(), value) for value in frame))
    fields: list[Any] = [np.broadcast_to(v, heavy.shape)[heavy] for v in (t, s, low_t, low_s, width_t, width_s)]
    return Nodes(*[*fields, everywhere, log_density[heavy], log_mass[heavy]])
