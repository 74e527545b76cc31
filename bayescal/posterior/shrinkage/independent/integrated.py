"""Integration of each sub-model of independent bins over its parameters.

`BinLikelihoods` has the likelihoods of the bins and the quadrature rules. `integrate` makes nodes over the parameters
of each sub-model: none, the drift, tau, or the drift and tau; rho is summed over, and the tau of single bins is
integrated in a `SlabTable`. The masses of the nodes give the marginal likelihood and the posterior.

Under a sparse residual, every drift that passes through the observed shares of a few bins can be a mode, since the
other bins may be off. `adaptive_nodes` therefore divides the range of the prior into cells in the coordinates (t, s) of
a `Frame`. Each cell has a Gauss-Legendre rule, and is halved while the rule is inaccurate. It is also halved while an
upper bound of the density in the cell is so high that a mode between the nodes could have been missed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, erfc, expit

from bayescal._arrays import Bools, Floats, Indices
from bayescal.posterior.beta_binomial import FARTHEST_LOGIT, log_binomial, log_ratio
from bayescal.posterior.shrinkage.independent import drift as drifts
from bayescal.posterior.shrinkage.independent.drift import AT_ONCE, DriftingBins, Frame, Nodes, find_modes, lattice
from bayescal.posterior.shrinkage.prior import SUB_MODELS, ShrinkagePrior

#: Interpolating polynomials: number of neighbouring nodes, their positions, and the matrix from values to coefficients.
WINDOW = 6
POSITIONS = np.arange(WINDOW) - (WINDOW - 1) / 2
TO_COEFFICIENTS = np.linalg.inv(np.vander(POSITIONS, increasing=True))
#: First node of the rule over tau, in its transformed coordinate; the mass below it is less than 1e-6.
FIRST_NODE = -2.5


class TauRule(NamedTuple):
    """Quadrature rule over a prior of tau on (0, 1): nodes, kappa = 1 / tau^2 - 1, and log weights."""

    tau: Floats
    kappa: Floats
    log_weight: Floats


def tau_rule(largest: float, step: float, power: float = 1.0) -> TauRule:
    r"""Make a quadrature rule over tau with the prior density ``power * tau ** (power - 1)``.

    `step` is the largest step in log tau, and `largest` the number of rows of the largest bin; likelihoods change most
    where tau is about ``largest ** -0.5``. With :math:`\tau^{power} = \mathrm{erf}(v \sinh y)` and :math:`v =
    \max(largest, 4)^{-power / 2}`, they vary on the scale of 1 in y. With :math:`y = \log(1 + e^{w - \exp(-w)})`, the
    integrand decays doubly exponentially in w, so that the trapezoidal rule in w converges exponentially, even if the
    integrand is not smooth at :math:`\tau = 0`: Takahasi and Mori (1974), "Double exponential formulas for numerical
    integration", Publications of the Research Institute for Mathematical Sciences 9, 721-741.
    """
    scale = max(largest, 4.0) ** (-power / 2)
    step = min(power, 1.0) * step
    w = np.arange(FIRST_NODE, np.arcsinh(4.5 / scale), step)
    y, slope = np.logaddexp(0, w - np.exp(-w)), expit(w - np.exp(-w)) * (1 + np.exp(-w))
    u = scale * np.sinh(y)
    # near tau = 1, compute 1 - tau without cancellation
    log_tau = np.where(u < 0.5, np.log(erf(np.minimum(u, 1.0))), np.log1p(-erfc(np.maximum(u, 0.25)))) / power
    log_weight = np.log(2 / np.sqrt(np.pi) * step * scale * np.cosh(y) * slope) - u**2
    return TauRule(np.exp(log_tau), np.expm1(-2 * log_tau), log_weight)


class SlabTable:
    """Likelihood of each bin if it is off, interpolated as a function of the logit of its centre.

    Logits are at most `farthest` in size. Nodes have the distance `step` in the transformed coordinate
    asinh((logit - peak) / scale). The peak is the logit of the observed share, (k + 1/2) / (n + 1), and the scale about
    its standard error. The spacing of the nodes is constant near the peak and proportional to the distance from it
    further away.
    """

    def __init__(self, n: Floats, k: Floats, rule: TauRule, farthest: float, step: float) -> None:
        share = (k + 0.5) / (n + 1)
        self.n, self.k, self.rule, self.step = n, k, rule, step
        self.peak = np.log(share) - np.log1p(-share)
        self.scale = 1 / np.sqrt(n * share * (1 - share) + 0.25)
        reach = np.arcsinh(np.max((min(farthest, FARTHEST_LOGIT) + np.abs(self.peak)) / self.scale))
        self.half = int(reach / step) + WINDOW
        places = np.sinh(step * np.arange(-self.half, self.half + 1))
        self.eta = np.clip(self.peak[:, None] + self.scale[:, None] * places, -FARTHEST_LOGIT, FARTHEST_LOGIT)
        #: Log-likelihood at each node for each tau, shape (n_bins, n_nodes, n_taus).
        self.by_tau = self.log_by_tau(self.eta)
        self._log_slab = self.polynomials(np.log(np.exp(self.by_tau) @ np.exp(rule.log_weight)))

    def log_by_tau(self, eta: Floats) -> Floats:
        """Log-likelihood of each bin if it is off, for logits (n_bins, n) and each tau: shape (n_bins, n, n_taus)."""
        n, k, eta = self.n[:, None, None], self.k[:, None, None], eta[:, :, None]
        result = np.empty((*eta.shape[:2], len(self.rule.kappa)))
        at_once = max(AT_ONCE // max(result[:1].size, 1), 1)
        for start in range(0, len(result), at_once):
            of = n[some := slice(start, start + at_once)], k[some], eta[some]
            np.add(log_binomial(*of), log_ratio(*of, self.rule.kappa), out=result[some])
        return result

    @staticmethod
    def polynomials(values: Floats) -> Floats:
        """Return the coefficients of polynomials through six neighbouring nodes, shape (6, n_bins, n_nodes - 5)."""
        coefficients = np.lib.stride_tricks.sliding_window_view(values, WINDOW, axis=1) @ TO_COEFFICIENTS.T
        return np.ascontiguousarray(np.moveaxis(coefficients, -1, 0))

    def interpolate(self, polynomials: Floats, eta: Floats) -> Floats:
        """Evaluate polynomials at logits of shape (..., n_bins)."""
        cell, x = self._locate(eta, self.peak, self.scale)
        cell += np.arange(len(self.n)) * polynomials.shape[2]
        *lower, highest = polynomials.reshape(WINDOW, -1)
        value = highest.take(cell)
        for coefficients in reversed(lower):
            value *= x
            value += coefficients.take(cell)
        return value

    def log_slab(self, eta: Floats) -> Floats:
        """Log-likelihood of each bin if it is off, relative to that at k / n; logits (..., n_bins)."""
        return self.interpolate(self._log_slab, eta)

    def log_tau_weights(self, bin_index: Indices, eta: Floats) -> Floats:
        """Unnormalised posterior log weights of each tau, for pairs of a bin and the logit of its centre."""
        cell, x = self._locate(eta, self.peak[bin_index], self.scale[bin_index])
        taps = np.vander(x, WINDOW, increasing=True) @ TO_COEFFICIENTS
        value = np.broadcast_to(self.rule.log_weight, (len(x), len(self.rule.tau))).copy()
        for tap in range(WINDOW):
            value += taps[:, tap, None] * self.by_tau[bin_index, cell + tap]
        return value

    def _locate(self, eta: Floats, peak: Floats, scale: Floats) -> tuple[Indices, Floats]:
        """Return the first node of the window around each logit, and the position of the logit within the window."""
        # np.arcsinh takes twice as long
        z = (eta - peak) / scale
        place = np.abs(z)
        place += np.sqrt(place * place + 1)
        place = np.copysign(np.log(place, out=place), z, out=place)
        place /= self.step
        place += self.half
        np.maximum(place, WINDOW, out=place)
        np.minimum(place, 2 * self.half - WINDOW, out=place)
        cell = place.astype(np.intp)
        place -= cell
        place -= 0.5
        cell -= WINDOW // 2 - 1
        return cell, place


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
#: With more than MANY_BINS bins, a cell is judged by its area times the density at its middle before its nodes are
#: evaluated: it is halved if its bound exceeds that by MARGIN more, and otherwise negligible if FAR below the total.
MANY_BINS, MARGIN, FAR = 200, 10.0, 100.0
#: Maximum numbers of rounds of halving, and of cells before halving stops.
MOST_ROUNDS = 80
MOST_CELLS = 3000
NEGLIGIBLE = 15.0  #: A tau has no lattice if its approximate log posterior mass is this far below the largest.
#: Largest step in log tau between lattices of a dense residual, and the largest relative error of the sum over every
#: second tau, by `_sparsest`, for which the step is not halved.
SMOOTH_STEP, ROUGH = 0.3, 0.02
#: Largest number of bins whose likelihoods are multiplied before taking the log, each divided by the larger of its
#: values for off and not off; and the exponent of ten below which such a product must not fall.
BLOCK, LEAST_EXPONENT = 100, -300
#: With at most FEW_BINS bins, steps are multiplied by FEW_BINS_STEP (the step of the table by its square, the tolerance
#: by its fourth power): the posterior is further from Normal, and nodes are cheap.
FEW_BINS = 8
FEW_BINS_STEP = 0.6


class Cells(NamedTuple):
    """Rectangles in (t, s)."""

    low_t: Floats
    high_t: Floats
    low_s: Floats
    high_s: Floats

    def take(self, index: Bools) -> "Cells":
        """Return a selection of the cells."""
        return Cells(*(side[index] for side in self))

    def halved(self, along_t: Bools) -> "Cells":
        """Divide each cell into two halves."""
        middle_t = np.where(along_t, (self.low_t + self.high_t) / 2, self.high_t)
        middle_s = np.where(along_t, self.high_s, (self.low_s + self.high_s) / 2)
        near = Cells(self.low_t, middle_t, self.low_s, middle_s)
        low_t, low_s = np.where(along_t, middle_t, self.low_t), np.where(along_t, self.low_s, middle_s)
        return _joined([near, Cells(low_t, self.high_t, low_s, self.high_s)])

    def wide(self, frame: Frame) -> Bools:
        """Return which cells are wider along t than along s, in standard deviations."""
        return (self.high_t - self.low_t) / frame.sd_t > (self.high_s - self.low_s) / frame.sd_s

    @property
    def log_area(self) -> Floats:
        """Log of the area of each cell."""
        return np.log((self.high_t - self.low_t) * (self.high_s - self.low_s))


def _joined(parts: list[Cells]) -> Cells:
    return Cells(*(np.concatenate(sides) for sides in zip(*parts, strict=True)))


def adaptive_nodes(
    bins: DriftingBins, frame: Frame, likelihood: LogLikelihood, *, tolerance: float, floor: float
) -> tuple[Nodes, float]:
    """Make Gauss-Legendre rules on cells that are halved until the posterior is smooth in each cell.

    `frame` has an approximate main mode; its fields are scalars. As a function of each logit, `likelihood` (a log) must
    decrease on both sides of the logit of the observed share. `tolerance` is that of the error of a cell, relative to
    the marginal likelihood, or to exp(floor) if that is larger: with a `floor` derived from other sub-models, few cells
    are used if this sub-model is negligible. Also return the share of the mass in cells that did not converge; 0 except
    in extreme cases.
    """
    cells, log_density, unfinished = _refine(bins, frame, likelihood, tolerance, floor)
    return _nodes(frame, cells, log_density), unfinished


def _refine(
    bins: DriftingBins, frame: Frame, log_likelihood: LogLikelihood, tolerance: float, floor: float
) -> tuple[Cells, Floats, float]:
    """Return final cells, log densities at their nodes, and the share of the mass in cells that did not converge."""
    cells, unfinished, seen = _first_cells(bins, frame), 0.0, 0
    done: list[Cells] = []
    densities: list[Floats] = []
    excess = max(HIDDEN, HIDDEN_BY_CHANCE * np.sqrt(len(bins.n)))
    # the density at the approximate mode, times its standard deviations
    a = frame.intercept(frame.t0, frame.s0)
    height = log_likelihood(bins.centre(a, frame.s0)) + bins.log_prior(a, frame.s0)
    total = max(floor, float(height + np.log(frame.sd_t * frame.sd_s)))
    for _ in range(MOST_ROUNDS):
        ceiling = _ceiling(bins, frame, cells, log_likelihood) + cells.log_area
        least = total + np.log(tolerance)
        # keep some cells even if the whole sub-model is negligible
        relevant = ceiling > (least if done else min(least, ceiling.max() - excess))
        cells, ceiling = cells.take(relevant), ceiling[relevant]
        if not relevant.any():
            break
        coarse, fine = _coarse(bins, frame, cells, ceiling - excess, total if done else -np.inf, log_likelihood)
        cells, ceiling = cells.take(fine), ceiling[fine]
        if not fine.any():
            cells = coarse
            continue
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
        cells = cells.take(split).halved(np.where(hidden, cells.wide(frame), error_t > error_s)[split])
        cells = _joined([cells, coarse])
    return _joined(done), np.concatenate(densities), unfinished


def _coarse(
    bins: DriftingBins, frame: Frame, cells: Cells, least: Floats, total: float, log_likelihood: LogLikelihood
) -> tuple[Cells, Bools]:
    """Halve cells that may hide a mode, by the density at their middle; also return which cells need all their nodes.

    These are neither halved nor negligible. With few bins, all cells need their nodes, which are cheap.
    """
    need = np.ones(len(least), bool)
    if len(bins.n) <= MANY_BINS:
        return cells.take(~need), need
    s = (cells.low_s + cells.high_s) / 2
    a = frame.intercept((cells.low_t + cells.high_t) / 2, s)
    log_mass = log_likelihood(bins.centre(a, s)) + bins.log_prior(a, s) + cells.log_area
    hidden = log_mass < least - MARGIN
    coarse = cells.take(hidden)
    return coarse.halved(coarse.wide(frame)), ~hidden & (log_mass > total - FAR)


def _first_cells(bins: DriftingBins, frame: Frame) -> Cells:
    """Cover the range of the prior by cells whose size grows with their distance from the mode."""
    reach_t, reach_s = drifts.PRIOR_REACH * bins.intercept_sd, drifts.PRIOR_REACH * bins.log_slope_sd
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
    heavy = log_mass > log_mass.max() - drifts.HOPELESS
    everywhere = Frame(*(np.full(heavy.sum(), value) for value in frame))
    fields: list[Any] = [np.broadcast_to(v, heavy.shape)[heavy] for v in (t, s, low_t, low_s, width_t, width_s)]
    return Nodes(*[*fields, everywhere, log_density[heavy], log_mass[heavy]])


class Resolution(NamedTuple):
    """Step sizes of the quadrature rules."""

    drift: float = 0.5  #: Step of the lattice of the drift without residual, in standard deviations.
    #: Step of the lattices of the drift under a dense residual, one per tau, in standard deviations.
    dense_drift: float = 1.25
    #: Step of the tau of a dense residual, in units of 1 / sqrt(2 n_bins), its approximate posterior sd in log tau.
    tau: float = 1.7
    slab_tau: float = 0.45  #: Step of the tau of a bin that is off under a sparse residual, in log tau.
    table: float = 0.22  #: Step between the nodes of `SlabTable`, in its transformed coordinate.
    #: Tolerated error of a cell over the drift under a sparse residual, relative to the marginal likelihood.
    tolerance: float = 3e-5


RESOLUTION = Resolution()


@dataclass(frozen=True)
class BinLikelihoods:
    """Likelihoods of the occupied bins, and the quadrature rules of all sub-models, at one resolution."""

    drifting: DriftingBins
    prior: ShrinkagePrior
    resolution: Resolution = RESOLUTION

    @cached_property
    def step(self) -> float:
        """Factor of the step sizes; see `FEW_BINS_STEP`."""
        return FEW_BINS_STEP if len(self.drifting.n) <= FEW_BINS else 1.0

    @cached_property
    def slab(self) -> SlabTable:
        """Likelihoods of single bins that are off under a sparse residual."""
        bins, resolution = self.drifting, self.resolution
        rule = tau_rule(bins.n.max(), self.step * resolution.slab_tau, self.prior.sparse_shape)
        step = resolution.table * self.step**2
        return SlabTable(bins.n, bins.k, rule, bins.farthest_logit, step)

    @property
    def dense_step(self) -> float:
        """Step of the tau of a dense residual, in log tau."""
        return self.step * min(0.45, self.resolution.tau / float(np.sqrt(2 * len(self.drifting.n))))

    @cached_property
    def dense_rule(self) -> TauRule:
        """Quadrature rule of the half-Normal tau of a dense residual; more bins need smaller steps."""
        bins, scale = self.drifting, self.prior.dense_scale
        rule = tau_rule(max(bins.n.max(), scale**-2), self.dense_step)
        density = np.exp(-0.5 * (rule.tau / scale) ** 2) / (scale * np.sqrt(np.pi / 2) * erf(1 / (scale * np.sqrt(2))))
        with np.errstate(divide="ignore"):
            return rule._replace(log_weight=rule.log_weight + np.log(density))

    def sparse(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the log-likelihood plus log prior of each rho, (..., n_rho), and log likelihood ratios, (..., n_bins).

        The likelihood ratio of a bin is the likelihood of its count if it is off, divided by that if it is not. Times
        rho / (1 - rho), it is the posterior odds that the bin is off.
        """
        *shape, bins = eta.shape
        at_once = max(AT_ONCE // bins, 1)
        if eta.size // bins <= at_once:
            return self._sparse(eta)
        eta = eta.reshape(-1, bins)
        by_rho, odds = np.empty((len(eta), len(self.prior.rho))), np.empty(eta.shape)
        for start in range(0, len(eta), at_once):
            some = slice(start, start + at_once)
            by_rho[some], odds[some] = self._sparse(eta[some])
        return by_rho.reshape(*shape, -1), odds.reshape(*shape, bins)

    def _sparse(self, eta: Floats) -> tuple[Floats, Floats]:
        drifting = self.drifting
        on, off = log_binomial(drifting.n, drifting.k, eta, drifting.best), self.slab.log_slab(eta)
        odds, top = off - on, np.maximum(on, off)
        smaller = np.exp(-np.abs(odds))
        on, off = np.where(odds > 0, smaller, 1.0), np.where(odds > 0, 1.0, smaller)
        starts = np.arange(0, eta.shape[-1], self._block)
        products = (np.multiply.reduceat((1 - rho) * on + rho * off, starts, axis=-1) for rho in self.prior.rho)
        by_rho = np.stack([np.log(product).sum(axis=-1) for product in products], axis=-1)
        return by_rho + (top.sum(axis=-1) - np.log(len(self.prior.rho)))[..., None], odds

    @cached_property
    def _block(self) -> int:
        """Number of bins whose likelihoods can be multiplied without underflow: each is at least min(rho, 1 - rho)."""
        exponent = float(np.log10(min(min(rho, 1 - rho) for rho in self.prior.rho)))
        return max(1, min(BLOCK, int(LEAST_EXPONENT / exponent)))

    def log_likelihood(self, eta: Floats, residual: str, kappa: Floats | None) -> Floats:
        """Log-likelihood summed over bins, with rho integrated out."""
        if residual == "sparse":
            return np.logaddexp.reduce(self.sparse(eta)[0], axis=-1)
        return self.drifting.log_likelihood(eta, None if kappa is None else kappa[..., None])


@dataclass(frozen=True, eq=False)
class IntegratedSubModel:
    """One sub-model after integration: nodes over its parameters and their posterior masses."""

    drift: bool  #: Whether intercept and slope are free.
    residual: str  #: How bins deviate from the drift: "none", "dense" or "sparse".
    nodes: Nodes
    #: Share of the mass that is not resolved: at the rim of a lattice, or in cells that did not converge.
    unfinished: float = 0.0

    @cached_property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to the likelihood with every accuracy at its observed share."""
        return float(np.logaddexp.reduce(self.nodes.log_mass))

    @property
    def share(self) -> Floats:
        """Posterior mass of each node; sums to 1."""
        return np.exp(self.nodes.log_mass - self.log_evidence)


def integrate(bins: BinLikelihoods) -> dict[str, IntegratedSubModel]:
    """Integrate the sub-models of the family that take part, by name; all of them, if "logistic_sparse" takes part."""
    drifting, resolution, rule = bins.drifting, bins.resolution, bins.dense_rule
    still = drifting.logit[None]
    frame = cache(lambda: find_modes(drifting, None)[0])  # a drift with a dense residual does not need it
    step, alone = bins.step * resolution.drift, np.zeros(1)
    makers: dict[str, Callable[[], tuple[Any, ...]]] = {
        "logistic": lambda: lattice(drifting, frame(), step=step, rim_share=1e-7, kappa=None, log_weight=alone),
        "dense": lambda: (_still(bins.log_likelihood(still, "dense", rule.kappa) + rule.log_weight, rule.kappa),),
        "sparse": lambda: (_still(bins.log_likelihood(still, "sparse", None)),),
        "logistic_dense": lambda: _dense_nodes(bins),
    }
    last = next(name for name in SUB_MODELS if name not in makers)  # refined relative to the best of the others
    wanted = SUB_MODELS if last in bins.prior.sub_models else bins.prior.sub_models
    models = {name: IntegratedSubModel(*SUB_MODELS[name], *makers[name]()) for name in makers if name in wanted}
    if last not in wanted:
        return models
    nodes = adaptive_nodes(
        drifting,
        frame().take(0),
        lambda eta: bins.log_likelihood(eta, "sparse", None),
        tolerance=bins.step**4 * resolution.tolerance,
        floor=max(model.log_evidence for model in models.values()) - drifts.HOPELESS / 2,
    )
    return models | {last: IntegratedSubModel(*SUB_MODELS[last], *nodes)}


def _still(log_likelihood: Floats, kappa: Floats | None = None) -> Nodes:
    """Make one node per tau, or a single node, of a sub-model without drift."""
    zero = np.zeros(len(log_likelihood))
    return Nodes(zero, zero, zero, zero, zero, zero, Frame(*[zero] * 5), log_likelihood, log_likelihood, kappa)


def _dense_nodes(bins: BinLikelihoods) -> tuple[Nodes, float]:
    """Make one lattice over the drift for every relevant tau of a dense residual.

    The rule over tau begins with steps of at most SMOOTH_STEP. The step is halved while the sum over every second tau
    differs; halving squares the error of the trapezoidal rule, or more.
    """
    rule = bins.dense_rule
    step = 2 ** int(np.log2(max(SMOOTH_STEP / bins.dense_step, 1)))
    frame, laplace = Frame(*np.zeros((5, len(rule.kappa)))), np.full(len(rule.kappa), -np.inf)
    new = np.arange(0, len(laplace), step)
    while True:
        modes, height = find_modes(bins.drifting, rule.kappa[new, None], len(new))
        laplace[new] = height + rule.log_weight[new] + np.log(modes.sd_t * modes.sd_s)
        for every, some in zip(frame, modes, strict=True):
            every[new] = some
        if step == 1 or _sparsest(laplace[::step], 2, ROUGH) == 2:
            break
        new = np.arange(step := step // 2, len(laplace), 2 * step)
        beside = np.maximum(laplace[new - step], laplace[np.minimum(new + step, len(laplace) - 1)])
        new = new[beside > laplace.max() - 2 * NEGLIGIBLE]
    live = laplace > laplace.max() - NEGLIGIBLE
    return lattice(
        bins.drifting,
        frame.take(live),
        step=bins.step * bins.resolution.dense_drift,
        rim_share=4e-6,
        kappa=rule.kappa[live],
        log_weight=rule.log_weight[live] + np.log(step),
    )


def _sparsest(log_terms: Floats, largest: int, tolerance: float) -> int:
    """Return the largest m <= `largest` such that m times the sum of every m-th term gives the sum of all terms."""
    terms = np.exp(log_terms - log_terms.max())
    for m in range(largest, 1, -1):
        sums = m * np.bincount(np.arange(len(terms)) % m, terms)
        if np.all(np.abs(sums / terms.sum() - 1) < tolerance):
            return m
    return 1
