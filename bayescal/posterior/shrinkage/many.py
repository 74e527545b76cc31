"""The shrinkage posterior with compiled loops, for many problems: a few milliseconds per problem.

The loops write into tables, which a thread keeps and reuses for all problems with the same number of bins. A problem
that does not fit into the tables is solved by `ShrinkagePosterior`.
"""

import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import erf, xlog1py, xlogy

from bayescal._arrays import Bools, Floats, Generator, Indices
from bayescal.posterior.shrinkage.compiled import problem
from bayescal.posterior.shrinkage.compiled.drift import LARGEST_LOG_SLOPE
from bayescal.posterior.shrinkage.compiled.functions import FARTHEST, Problem, dirichlet
from bayescal.posterior.shrinkage.compiled.offsets import Offsets
from bayescal.posterior.shrinkage.compiled.problem import draw
from bayescal.posterior.shrinkage.compiled.segments import Runs
from bayescal.posterior.shrinkage.compiled.sparse import Slab
from bayescal.posterior.shrinkage.independent.drift import PRIOR_REACH, DriftingBins
from bayescal.posterior.shrinkage.independent.integrated import LEAST_EXPONENT, tau_rule
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import SMALL, ShrinkagePrior
from bayescal.posterior.shrinkage.segments import OFFSET_PRIOR, SEGMENT_PRIOR
from bayescal.posterior.shrinkage.sub_model import PARAMETERS, SubModelDraws

MOST_BINS = 40  #: With more bins than this, the tables would need too much memory.
#: DENSE_TAU, SPARSE_TAU: steps in log tau, under a dense residual and for a bin that is off under a sparse one. TABLE:
#: step between nodes of the table of `Slab`.
DENSE_TAU, SPARSE_TAU, TABLE = 0.5, 0.85, 0.4
RULE = 4  #: Nodes along each side of a cell.
#: Room in the tables: HALF, nodes of the table of `Slab` on each side of the peak; SMOOTH, DENSE, SPARSE, nodes over
#: the drift, by residual; CELLS, cells of the grid of shifts; GRID, cells of a grid of noise. Numbers always used:
#: PLACES, points at which the spacing of shifts is computed; AMOUNTS, cells of a grid of amounts; ROUNDS, such grids.
HALF, SMOOTH, DENSE, SPARSE, CELLS, PLACES, AMOUNTS, ROUNDS, GRID = 60, 4000, 20_000, 60_000, 3000, 60, 32, 3, 7000
#: If all Dirichlet parameters are smaller than this, all the Gamma variables of one draw may underflow to 0.
LEAST_ALPHA = 0.1
#: Sub-models whose integration may leave a share of the mass unresolved.
DRIFTING = ("logistic", "logistic_dense", "logistic_sparse", SMALL)
MOST_ROOMS = 3  #: A thread keeps tables for this many different numbers of bins.


class NoRoomError(Exception):
    """A problem does not fit into the tables of the compiled code; `ShrinkagePosterior` can solve it."""


@dataclass(frozen=True, eq=False)
class CompiledShrinkagePosterior(ShrinkagePosterior):
    """The shrinkage posterior, with evidences and draws from compiled loops.

    They agree with those of `ShrinkagePosterior` to within the Monte Carlo error of thousands of draws. Moments and the
    probabilities that bins are off are computed as in `ShrinkagePosterior`, given the probabilities of the sub-models.
    """

    @cached_property
    def _compiled(self) -> "CompiledProblem | None":
        """The integrated problem; None if it does not fit into the tables, or if no described bin has rows."""
        n, k, confidence = (np.ascontiguousarray(values) for values in self._rows)
        if not len(n) or not n.any() or len(n) > MOST_BINS:
            return None
        try:
            return CompiledProblem(n, k, confidence, self.crowded[self._bins.described], self.prior_options)
        except NoRoomError:
            return None

    @cached_property
    def _evidence(self) -> dict[str, float]:
        if self._compiled is None:
            return super()._evidence
        return {name: self._compiled.log_evidence[name] for name in self.taking_part.names}

    def _draw_mass(self, alpha: Floats, n_draws: int, rng: Generator) -> Floats:
        if alpha.max() < LEAST_ALPHA:
            return super()._draw_mass(alpha, n_draws, rng)
        mass = np.empty((n_draws, len(alpha)))
        dirichlet(rng, alpha, mass)
        return mass

    def _draw_described(self, chosen: Indices, rows: Indices, rng: Generator) -> SubModelDraws:
        if self._compiled is None:
            return super()._draw_described(chosen, rows, rng)
        names = list(self.probabilities)
        number = np.bincount(chosen, minlength=len(names))
        # the loops take the sub-models in their own order
        places = sorted(range(len(names)), key=lambda i: problem.ORDER.index(names[i]))
        order = rows[np.concatenate([np.flatnonzero(chosen == i) for i in places])]
        result, effective = self._compiled.draw(dict(zip(names, number.tolist(), strict=True)), order, rng)
        unfinished = dict(zip(DRIFTING, self._compiled.integrated.unfinished, strict=True))
        for name, count, probability in zip(names, number, self.probabilities.values(), strict=True):
            if count:
                quality = effective[name], unfinished.get(name, 0.0)
                SubModelDraws(result.accuracy[:count], result.off[:0], {}, *quality).warn_if_poor(name, probability)
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}


class CompiledProblem:
    """One problem, integrated: evidences of all sub-models, and draws.

    Arguments are (effective) rows, positives and mean confidences of the bins that the sub-models describe, shape
    (n_bins,), and which of them have a share of noise of their own under "label_noise_ends". Raise NoRoomError if a
    table or a list of nodes does not fit.
    """

    def __init__(self, n: Floats, k: Floats, confidence: Floats, crowded: Bools, prior: ShrinkagePrior) -> None:
        smallest = min(min(rho, 1 - rho) for rho in prior.rho)
        if len(n) > MOST_BINS or len(n) * np.log10(smallest) < LEAST_EXPONENT:
            raise NoRoomError
        self.prior = prior
        bins = DriftingBins(n, k, confidence, prior.intercept_sd, prior.log_slope_sd)
        share = np.divide(k, n, out=np.zeros_like(n), where=n > 0)
        best = xlogy(k, share) + xlog1py(n - k, -share)
        self.problem = Problem(n, k, confidence, bins.logit, bins.x, best, bins.best_logit, crowded)
        self.bucket = int(np.ceil(2 * np.log2(max(float(n.max()), 4.0))))
        log_evidence, self.integrated = self._integrate(_room(len(n)))
        self.log_evidence: dict[str, float] = dict(zip(problem.ORDER, log_evidence.tolist(), strict=True))

    def _integrate(self, room: "_Room") -> tuple[Floats, problem.Integration]:
        """Integrate all sub-models; the tables then belong to this problem, until another one uses them."""
        room.owner = None
        room.prepared = room.tables(self.problem, self.prior, self.bucket)
        log_evidence, integrated = problem.integrate(self.problem, *room.prepared)
        if min(integrated.smooth, integrated.dense, integrated.sparse, integrated.small, integrated.cells) < 0:
            raise NoRoomError
        room.owner = self
        return log_evidence, integrated

    def draw(self, number: dict[str, int], rows: Indices, rng: Generator) -> tuple[SubModelDraws, dict[str, float]]:
        """Draw ``number[name]`` times from each sub-model into successive `rows`; also return effective sizes."""
        if sum(number.values()) != len(rows) or not number.keys() <= set(problem.ORDER):
            raise ValueError("`number` must have keys from `ORDER` and values that sum to the length of `rows`.")
        room = _room(len(self.problem.n))
        if room.owner is not self:  # another problem has used the tables since
            self._integrate(room)
        shape = (len(rows), len(self.problem.n))
        parameters = {name: np.full(len(rows), value) for name, value in PARAMETERS.items()}
        arrays = {name: values for name, values in parameters.items() if name != "slope"}
        out = problem.Out(np.empty(shape), np.zeros(shape, bool), log_slope=np.zeros(len(rows)), **arrays)
        each = np.array([number.get(name, 0) for name in problem.ORDER])
        scratch = room.scratch(int(each.max()), len(self.prior.rho))
        effective = draw(rng, each, rows, self.problem, *room.prepared, self.integrated, scratch, out)
        parameters["slope"] = np.exp(out.log_slope)
        result = SubModelDraws(out.accuracy, out.off, parameters, float(effective.sum()))
        return result, dict(zip(problem.ORDER, effective.tolist(), strict=True))


@lru_cache(maxsize=256)
def _sparse_rule(bucket: int, shape: float) -> tuple[Floats, Floats]:
    """Return kappa and log weight of the rule over the tau of bins that are off under a sparse residual."""
    rule = tau_rule(2.0 ** (bucket / 2), SPARSE_TAU, shape)
    return rule.kappa, rule.log_weight


@lru_cache(maxsize=256)
def _dense_rule(bucket: int, scale: float) -> tuple[Floats, Floats]:
    """Return kappa and log weight of the rule over the tau of a dense residual; see `_sparse_rule`."""
    dense = tau_rule(max(2.0 ** (bucket / 2), scale**-2), DENSE_TAU)
    with np.errstate(divide="ignore"):
        density = -0.5 * (dense.tau / scale) ** 2 - np.log(scale * np.sqrt(np.pi / 2) * erf(1 / (scale * np.sqrt(2))))
        log_weight = dense.log_weight + density
    keep = log_weight > log_weight.max() - 60
    return dense.kappa[keep], log_weight[keep]


@lru_cache(maxsize=1)
def _cell_rule() -> tuple[Floats, Floats, Floats]:
    """Gauss-Legendre nodes and weights, and the matrix that gives the last two Legendre coefficients."""
    places, weights = np.polynomial.legendre.leggauss(RULE)
    last = np.polynomial.legendre.legvander(places, RULE - 1)[:, -2:] * (np.arange(RULE)[-2:] + 0.5)
    return places, weights, np.ascontiguousarray(last)


class _Room:
    """Tables for problems with a given number of bins, reused by successive problems in a thread."""

    def __init__(self, bins: int) -> None:
        self.owner: CompiledProblem | None = None
        self.prepared: tuple[Any, ...] = ()  # the tables of the owner
        self.bins = bins
        self.smooth, self.sparse = np.empty((SMOOTH, 4)), np.empty((SPARSE, 8))
        self.nodes = {False: np.empty((DENSE, 6)), True: np.empty((DENSE, 6))}  # by: under small errors
        ends, changes, amounts = bins + 1, len(SEGMENT_PRIOR.changes), (AMOUNTS, bins)
        ratios = len(OFFSET_PRIOR.rho)
        self.runs = Runs(
            np.array(SEGMENT_PRIOR.changes), SEGMENT_PRIOR.off, SEGMENT_PRIOR.shape, SEGMENT_PRIOR.largest_scale,
            np.empty(PLACES), np.empty(PLACES), np.empty(CELLS), np.empty(CELLS), np.empty(CELLS),
            np.empty((ends, CELLS)), np.empty((ends, ends)), np.empty((changes, ends, ends)),
            np.empty((changes, ends)), np.empty((changes, ends, ends)), np.empty((ends, ends, CELLS)),
            np.empty((ends, ends), bool),
        )  # fmt: skip
        self.amounts = Offsets(
            OFFSET_PRIOR.least, OFFSET_PRIOR.largest, np.array(OFFSET_PRIOR.rho), ROUNDS, np.empty(amounts),
            np.empty(amounts), np.empty((AMOUNTS, ratios)), np.empty(AMOUNTS * ratios),
        )  # fmt: skip
        grids = [np.empty((GRID, 3)) for _ in range(4)]
        self.noise = problem.Noise(grids[0], grids[1], grids[2], grids[3], np.empty((GRID, 2)))
        self.by_bin = np.empty((3, bins))
        self.of_slab: dict[int, tuple[Floats, ...]] = {}
        self.of_dense: dict[tuple[bool, int], tuple[Floats, Floats]] = {}

    def tables(self, p: Problem, prior: ShrinkagePrior, bucket: int) -> tuple[Any, ...]:
        """Prepare the tables for one problem; their contents remain valid until the next problem."""
        off_kappa, off_weight = _sparse_rule(bucket, prior.sparse_shape)
        bins, taus = self.bins, len(off_kappa)
        if taus not in self.of_slab:
            nodes = 2 * HALF + 1
            self.of_slab[taus] = np.empty((bins, taus)), np.empty((bins, nodes)), np.empty((bins, nodes, taus))
        rise_n, log_slab, by_tau = self.of_slab[taus]
        share = (p.k + 0.5) / (p.n + 1)
        peak, scale = np.log(share) - np.log1p(-share), 1 / np.sqrt(p.n * share * (1 - share) + 0.25)
        reach = np.expm1(min(PRIOR_REACH * prior.log_slope_sd, LARGEST_LOG_SLOPE)) * np.abs(p.x)
        farthest = float(np.max(np.abs(p.logit) + reach) + PRIOR_REACH * prior.intercept_sd)
        half = int(np.arcsinh(np.max((min(farthest, FARTHEST) + np.abs(peak)) / scale)) / TABLE) + 4
        if half > HALF:
            raise NoRoomError
        drift = problem.Drift(
            (prior.intercept_sd, prior.log_slope_sd), self._dense(prior, bucket, small=False),
            self._dense(prior.of_small_errors, bucket, small=True), self.smooth, self.sparse, _cell_rule(),
        )  # fmt: skip
        slab = Slab(
            np.array(prior.rho), off_kappa, off_weight, rise_n, peak, scale, TABLE, half, log_slab, by_tau,
            np.empty(len(prior.rho)), *self.by_bin[:2],
        )  # fmt: skip
        return drift, slab, self.runs, self.amounts, self.noise

    def _dense(self, prior: ShrinkagePrior, bucket: int, *, small: bool) -> problem.Dense:
        """Prepare the tables of a drift with a dense residual."""
        kappa, log_weight = _dense_rule(bucket, prior.dense_scale)
        key = (small, len(kappa))
        if key not in self.of_dense:
            self.of_dense[key] = np.empty((len(kappa), self.bins)), np.empty((len(kappa), 6))
        sds = (prior.intercept_sd, prior.log_slope_sd)
        return problem.Dense(sds, kappa, log_weight, *self.of_dense[key], self.nodes[small])

    def scratch(self, count: int, ratios: int) -> problem.Scratch:
        """Allocate working arrays for draws."""
        room = max(count, SPARSE)
        one, two, three = np.empty((3, count))
        eta, odds = np.empty((2, count, self.bins))
        index, product = np.empty(count, np.intp), np.empty((count, ratios))
        return problem.Scratch(np.empty(room), index, one, two, three, self.by_bin[2], eta, odds, product)


_rooms = threading.local()


def _room(bins: int) -> _Room:
    """Return this thread's tables for a number of bins; drop the oldest ones if there are too many."""
    if not hasattr(_rooms, "by_bins"):
        _rooms.by_bins = {}
    if bins not in _rooms.by_bins:
        if len(_rooms.by_bins) >= MOST_ROOMS:
            _rooms.by_bins.pop(next(iter(_rooms.by_bins)))
        _rooms.by_bins[bins] = _Room(bins)
    return _rooms.by_bins[bins]
