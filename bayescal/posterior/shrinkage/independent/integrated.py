"""Integration of each sub-model of independent bins over its parameters.

`BinLikelihoods` has the likelihoods of the bins and the quadrature rules. `integrate` makes nodes over the parameters
of each sub-model: none, the drift, tau, or the drift and tau; rho is summed over, and the tau of single bins is
integrated in `slab`. The masses of the nodes give the marginal likelihood and the posterior.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from bayescal.posterior.beta_binomial import log_binomial
from bayescal.posterior.shrinkage.independent.cells import adaptive_nodes
from bayescal.posterior.shrinkage.independent.drift import HOPELESS, DriftingBins, Frame, Nodes, find_modes, lattice
from bayescal.posterior.shrinkage.independent.slab import SlabTable, TauRule, tau_rule
from bayescal.posterior.shrinkage.prior import SUB_MODELS, ShrinkagePrior

Floats = NDArray[np.float64]

#: A tau has no lattice if its approximate log posterior mass is this far below the largest.
NEGLIGIBLE = 15.0
#: Largest step in log tau between lattices of a dense residual; `_sparsest` determines whether a smaller one is needed.
SMOOTH_STEP = 0.3
#: Number of points times bins per batch, so that temporary arrays stay in the cache.
CACHED = 50_000
#: Largest number of bins whose likelihoods are multiplied before taking the log, each divided by the larger of its
#: values for off and not off; and the exponent of ten below which such a product must not fall.
BLOCK, LEAST_EXPONENT = 100, -300


class Resolution(NamedTuple):
    """Step sizes of the quadrature rules.

    Parameters
    ----------
    drift : float
        Step of the lattice of the drift without residual, in standard deviations.
    dense_drift : float
        Step of the lattices of the drift under a dense residual, one per tau, in standard deviations.
    tau : float
        Step of the tau of a dense residual, in units of 1 / sqrt(2 n_bins), its approximate posterior standard
        deviation in log tau.
    slab_tau : float
        Step of the tau of a bin that is off under a sparse residual, in log tau.
    table : float
        Step between the nodes of `SlabTable`, in its transformed coordinate.
    tolerance : float
        Tolerated error of a cell over the drift under a sparse residual, relative to the marginal likelihood.
    cells_once_more : bool
        Whether to halve all of these cells once more, in both directions, at the end.
    """

    drift: float = 0.5
    dense_drift: float = 1.25
    tau: float = 1.7
    slab_tau: float = 0.45
    table: float = 0.22
    tolerance: float = 3e-5
    cells_once_more: bool = False


COARSE = Resolution()
#: For moments: the absolute gap has a kink at 0, where rules for smooth functions converge slowly.
FINE = Resolution(0.08, 0.5, 0.9, 0.2, 0.1, 1e-6, True)
#: With at most FEW_BINS bins, steps are multiplied by FEW_BINS_STEP (the step of the table by its square, the tolerance
#: by its fourth power): the posterior is further from Normal, and nodes are cheap.
FEW_BINS = 8
FEW_BINS_STEP = 0.6


@dataclass(frozen=True)
class BinLikelihoods:
    """Likelihoods of the occupied bins, and the quadrature rules of all sub-models, at one resolution."""

    drifting: DriftingBins
    prior: ShrinkagePrior
    resolution: Resolution

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
        at_once = max(CACHED // eta.shape[-1], 1)
        if eta.ndim != 2 or len(eta) <= at_once:
            return self._sparse(eta)
        parts = [self._sparse(eta[start : start + at_once]) for start in range(0, len(eta), at_once)]
        by_rho, odds = (np.concatenate(each) for each in zip(*parts, strict=True))
        return by_rho, odds

    def _sparse(self, eta: Floats) -> tuple[Floats, Floats]:
        on, off = log_binomial(self.drifting.n, self.drifting.k, eta), self.slab.log_slab(eta)
        odds, top = off - on, np.maximum(on, off)
        smaller = np.exp(-np.abs(odds))
        on, off = np.where(odds > 0, smaller, 1.0), np.where(odds > 0, 1.0, smaller)
        starts = np.arange(0, eta.shape[-1], self._block)
        columns = [
            np.log(np.multiply.reduceat((1 - rho) * on + rho * off, starts, axis=-1)).sum(axis=-1)
            for rho in self.prior.rho
        ]
        return np.stack(columns, axis=-1) + (top.sum(axis=-1) - np.log(len(columns)))[..., None], odds

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
    """One sub-model after integration: nodes over its parameters and their posterior masses.

    Parameters
    ----------
    drift : bool
        Whether intercept and slope are free.
    residual : {"none", "dense", "sparse"}
        How bins deviate from the drift.
    nodes : Nodes
        Nodes over the parameters, and the posterior at each.
    unfinished : float
        Share of the mass that is not resolved: at the rim of a lattice, or in cells that did not converge.
    """

    drift: bool
    residual: str
    nodes: Nodes
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
    frame, _ = find_modes(drifting, None)
    makers = {
        "logistic": lambda: IntegratedSubModel(True, "none", *_smooth_nodes(bins, frame)),
        "dense": lambda: IntegratedSubModel(
            False, "dense", _still(drifting.log_likelihood(still, rule.kappa[:, None]) + rule.log_weight, rule.kappa)
        ),
        "sparse": lambda: IntegratedSubModel(False, "sparse", _still(bins.log_likelihood(still, "sparse", None))),
        "logistic_dense": lambda: IntegratedSubModel(True, "dense", *_dense_nodes(bins)),
    }
    last = next(name for name in SUB_MODELS if name not in makers)  # refined relative to the best of the others
    wanted = SUB_MODELS if last in bins.prior.sub_models else bins.prior.sub_models
    models = {name: make() for name, make in makers.items() if name in wanted}
    if last not in wanted:
        return models
    nodes = adaptive_nodes(
        drifting,
        frame.take(0),
        lambda eta: bins.log_likelihood(eta, "sparse", None),
        tolerance=bins.step**4 * resolution.tolerance,
        floor=max(model.log_evidence for model in models.values()) - HOPELESS / 2,
        once_more=resolution.cells_once_more,
    )
    return models | {last: IntegratedSubModel(True, "sparse", *nodes)}


def _still(log_likelihood: Floats, kappa: Floats | None = None) -> Nodes:
    """Make one node per tau, or a single node, of a sub-model without drift."""
    zero = np.zeros(len(log_likelihood))
    return Nodes(zero, zero, zero, zero, zero, zero, Frame(*[zero] * 5), log_likelihood, log_likelihood, kappa)


def _smooth_nodes(bins: BinLikelihoods, frame: Frame) -> tuple[Nodes, float]:
    """Make one lattice over a drift without residual."""
    step = bins.step * bins.resolution.drift
    return lattice(bins.drifting, frame, step=step, rim_share=1e-7, kappa=None, log_weight=np.zeros(1))


def _dense_nodes(bins: BinLikelihoods) -> tuple[Nodes, float]:
    """Make one lattice over the drift for every relevant tau of a dense residual."""
    rule = bins.dense_rule
    frame, height = find_modes(bins.drifting, rule.kappa[:, None], len(rule.kappa))
    laplace = height + rule.log_weight + np.log(frame.sd_t * frame.sd_s)
    each = _sparsest(laplace, int(SMOOTH_STEP / bins.dense_step), bins.resolution.tolerance)
    rule = rule._replace(log_weight=rule.log_weight + np.log(each))
    live = (laplace > laplace.max() - NEGLIGIBLE) & (np.arange(len(laplace)) % each == 0)
    return lattice(
        bins.drifting,
        frame.take(live),
        step=bins.step * bins.resolution.dense_drift,
        rim_share=4e-6,
        kappa=rule.kappa[live],
        log_weight=rule.log_weight[live],
    )


def _sparsest(log_terms: Floats, largest: int, tolerance: float) -> int:
    """Return the largest m <= `largest` such that m times the sum of every m-th term gives the sum of all terms.

    It must do so within the relative `tolerance`, whichever of the first m terms the sum starts with.
    """
    terms = np.exp(log_terms - log_terms.max())
    for m in range(largest, 1, -1):
        sums = m * np.bincount(np.arange(len(terms)) % m, terms)
        if np.all(np.abs(sums / terms.sum() - 1) < tolerance):
            return m
    return 1
