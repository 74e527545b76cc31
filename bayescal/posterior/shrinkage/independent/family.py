"""The family of independent bins: a drift, drawn by importance sampling, and residuals, independent given it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.shrinkage.independent.drift import DriftingBins
from bayescal.posterior.shrinkage.independent.integrated import BinLikelihoods, IntegratedSubModel, integrate
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.posterior.shrinkage.sub_model import SubModelDraws
from bayescal.stats.sums import effective_number


class ImportanceSample(NamedTuple):
    """Weighted draws of the drift of one sub-model.

    The drift has the intercept `a` and the log slope `s`; `eta` are the logits of the centres of the bins. `kappa`
    belongs to a dense residual. `by_rho` and `odds` belong to a sparse one: they are the two results of
    `BinLikelihoods.sparse`.
    """

    a: Floats
    s: Floats
    eta: Floats
    log_weights: Floats
    kappa: Floats | None = None
    by_rho: Floats | None = None
    odds: Floats | None = None

    @property
    def effective_size(self) -> float:
        """Kish's effective number of draws."""
        return effective_number(self.weights)

    @property
    def weights(self) -> Floats:
        """Importance weights, relative to the largest."""
        return np.exp(self.log_weights - self.log_weights.max())

    def take(self, index: Indices) -> "ImportanceSample":
        """Return a selection of the draws."""
        some: Any = (None if values is None else values[index] for values in self)
        return ImportanceSample(*some)


def importance_sample(bins: BinLikelihoods, model: IntegratedSubModel, count: int, rng: Generator) -> ImportanceSample:
    """Draw nodes by their mass, then a drift uniformly from the rectangle around each."""
    nodes = model.nodes.take(systematic(model.share, count, rng))
    t = nodes.low_t + nodes.width_t * rng.random(count)
    s = nodes.low_s + nodes.width_s * rng.random(count)
    a = nodes.frame.intercept(t, s)
    eta = bins.drifting.centre(a, s)
    if model.residual == "sparse":
        by_rho, odds = bins.sparse(eta)
        log_density = np.logaddexp.reduce(by_rho, axis=-1) + bins.drifting.log_prior(a, s)
        return ImportanceSample(a, s, eta, log_density - nodes.log_density, None, by_rho, odds)
    if nodes.polynomials is None or nodes.of_frame is None:
        log_density = bins.log_likelihood(eta, model.residual, nodes.kappa)
    else:
        log_density = nodes.polynomials(nodes.of_frame, t, s)
    log_weights = log_density + bins.drifting.log_prior(a, s) - nodes.log_density
    return ImportanceSample(a, s, eta, log_weights, nodes.kappa)


def _without_drift(bins: BinLikelihoods, model: IntegratedSubModel, count: int, rng: Generator) -> ImportanceSample:
    """Like `importance_sample`, but for sub-models without drift: all weights are equal."""
    zero, eta = np.zeros(count), np.tile(bins.drifting.logit, (count, 1))
    if model.residual == "sparse":
        by_rho, odds = bins.sparse(eta[:1])
        return ImportanceSample(zero, zero, eta, zero, None, np.tile(by_rho, (count, 1)), np.tile(odds, (count, 1)))
    assert model.nodes.kappa is not None  # without drift, the residual is sparse or dense
    return ImportanceSample(zero, zero, eta, zero, model.nodes.kappa[systematic(model.share, count, rng)])


def draw(bins: BinLikelihoods, model: IntegratedSubModel, count: int, rng: Generator) -> SubModelDraws:
    """Draw from one sub-model, by importance sampling over the drift, with resampling."""
    if model.drift:
        proposed = importance_sample(bins, model, count, rng)
        sample = proposed.take(systematic(proposed.weights, count, rng))
        accuracy = expit(sample.eta)
    else:
        proposed = sample = _without_drift(bins, model, count, rng)
        accuracy = np.tile(bins.drifting.confidence, (count, 1))
    tau, rho = np.full((2, count), np.nan)
    off = np.full(accuracy.shape, sample.kappa is not None)
    n, k = bins.drifting.n, bins.drifting.k
    if sample.kappa is not None:
        tau = 1 / np.sqrt(1 + sample.kappa)
        accuracy = _accuracies(sample.eta, sample.kappa[:, None], n, k, rng)
    if sample.by_rho is not None:
        rho = np.asarray(bins.prior.rho)[_categorical(sample.by_rho, rng)]
        off = rng.random(off.shape) < expit(np.log(rho / (1 - rho))[:, None] + sample.odds)
        row, b = np.nonzero(off)
        eta = sample.eta[row, b]
        # tau takes values on the grid of its rule; the resulting error of accuracies is far below the Monte Carlo error
        if model.drift:
            tau_index = _categorical(bins.slab.log_tau_weights(b, eta), rng)
        else:
            every = np.arange(len(n))
            tau_index = _categorical(bins.slab.log_tau_weights(every, bins.drifting.logit), rng, b)
        accuracy[row, b] = _accuracies(eta, bins.slab.rule.kappa[tau_index], n[b], k[b], rng)
    parameters = {"intercept": sample.a, "slope": np.exp(sample.s), "tau": tau, "rho": rho}
    return SubModelDraws(accuracy, off, parameters, proposed.effective_size, model.unfinished)


def _accuracies(eta: Floats, kappa: Floats, n: Floats, k: Floats, rng: Generator) -> Floats:
    """Draw the accuracies of bins that are off from their conjugate Beta posteriors."""
    tiny = np.finfo(float).tiny
    return rng.beta(np.maximum(kappa * expit(eta) + k, tiny), np.maximum(kappa * expit(-eta) + (n - k), tiny))


def _categorical(log_weights: Floats, rng: Generator, rows: Indices | None = None) -> Indices:
    """Draw a column for each row, or for each of the given `rows`, by unnormalised log weights."""
    cumulative = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    cumulative /= cumulative[:, -1:]
    cumulative = cumulative if rows is None else cumulative[rows]
    # the last entry is exactly 1; random numbers are below 1
    return (cumulative <= rng.random((len(cumulative), 1))).sum(axis=1)


def systematic(weights: Floats, count: int, rng: Generator) -> Indices:
    """Draw indices by weight with systematic resampling (Kitagawa 1996), which has little variance; shuffle them."""
    cumulative = np.cumsum(weights)
    index = np.searchsorted(cumulative / cumulative[-1], (np.arange(count) + rng.random()) / count, side="right")
    return rng.permutation(np.minimum(index, len(weights) - 1))


CHUNK = 2000  #: Nodes are processed so many at a time.
Integrated = tuple[BinLikelihoods, dict[str, IntegratedSubModel]]


def _off_by_rho(bins: BinLikelihoods, share: Floats, eta: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield for each rho: its joint share with each node, and the probability that each bin is off, given both."""
    by_rho, odds = bins.sparse(eta)
    by_rho = np.exp(by_rho - np.logaddexp.reduce(by_rho, axis=-1)[:, None])
    for j, rho in enumerate(bins.prior.rho):
        yield share * by_rho[:, j], expit(np.log(rho / (1 - rho)) + odds)


def inverse_predictive(bins: BinLikelihoods, model: IntegratedSubModel) -> Floats:
    """Return the posterior mean of 1 / p for each cell under one sub-model; see `SubModel`."""
    n, k = bins.drifting.n, bins.drifting.k
    others = np.stack([n - k, k])[:, None] - 1  # other rows of a cell: those of cells without rows have no meaning
    total = np.zeros((2, len(n)))
    tables = None
    if model.residual == "sparse" and model.drift:
        tables = [bins.slab.polynomials(each) for each in _log_inverse_off(bins, bins.slab.eta, bins.slab.by_tau)]
    for start in range(0, len(model.share), CHUNK):
        some = slice(start, start + CHUNK)
        share, eta = model.share[some], bins.drifting.centre(*model.nodes.take(some).drift)
        centre = np.stack([expit(-eta), expit(eta)])
        if model.nodes.kappa is not None:
            kappa = model.nodes.kappa[some, None]
            total += share @ ((kappa + np.maximum(n - 1, 0)) / (kappa * centre + np.maximum(others, 0)))
        elif model.residual == "sparse":
            if tables is None:
                log_off = np.swapaxes(_log_inverse_off(bins, eta.T, bins.slab.log_by_tau(eta.T)), 1, 2)
            else:
                log_off = np.stack([bins.slab.interpolate(table, eta) for table in tables])
            for each, off in _off_by_rho(bins, share, eta):
                total += each @ ((1 - off) / centre + off * np.exp(log_off))
        else:
            total += share @ (1 / centre)
    return total


def _log_inverse_off(bins: BinLikelihoods, eta: Floats, by_tau: Floats) -> Floats:
    """Log of the posterior mean of 1 / p for each cell if its bin is off, for centres with logits (n_bins, n).

    `by_tau` is the log-likelihood at these logits for each tau; the result has shape (2, n_bins, n).
    """
    slab = bins.slab
    n, k, kappa = slab.n[:, None, None], slab.k[:, None, None], slab.rule.kappa
    joint = by_tau + slab.rule.log_weight
    cells = ((n - k, expit(-eta)[:, :, None]), (k, expit(eta)[:, :, None]))
    log_p = (np.log(kappa * h + np.maximum(rows - 1, 0)) - np.log(kappa + np.maximum(n - 1, 0)) for rows, h in cells)
    return np.stack([logsumexp(joint - each, axis=2) for each in log_p]) - logsumexp(joint, axis=2)


def off_probability(bins: BinLikelihoods, model: IntegratedSubModel) -> Floats:
    """Return the probability that each bin is off under one sub-model, shape (n_bins,)."""
    if model.residual != "sparse":
        return np.full(len(bins.drifting.n), float(model.residual == "dense"))
    eta = bins.drifting.centre(*model.nodes.drift)
    return np.sum([share @ off for share, off in _off_by_rho(bins, model.share, eta)], axis=0)


@dataclass(frozen=True, eq=False)
class IndependentBins:
    """All sub-models of the family given (effective) rows, positives and mean confidences, integrated at first use."""

    n: Floats
    k: Floats
    confidence: Floats
    prior: ShrinkagePrior

    @cached_property
    def integration(self) -> Integrated:
        """Likelihoods and integrated sub-models."""
        prior = self.prior
        drifting = DriftingBins(self.n, self.k, self.confidence, prior.intercept_sd, prior.log_slope_sd)
        bins = BinLikelihoods(drifting, prior)
        return bins, integrate(bins)


@dataclass(frozen=True, eq=False)
class IndependentSubModel:
    """One sub-model of the family, by its name."""

    family: IndependentBins
    name: str

    @property
    def _integration(self) -> tuple[BinLikelihoods, IntegratedSubModel]:
        bins, models = self.family.integration
        return bins, models[self.name]

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        bins, model = self._integration
        return model.log_evidence - float(bins.drifting.log_likelihood(bins.drifting.logit))

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw by importance sampling over the drift, with resampling."""
        return draw(*self._integration, count, rng)

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        return inverse_predictive(*self._integration)

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin deviates from the drift, shape (n_bins,)."""
        return off_probability(*self._integration)

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of intercept, slope, tau and rho; a tau or rho that is no parameter is NaN."""
        bins, model = self._integration
        share, (a, s) = model.share, model.nodes.drift
        tau = rho = float("nan")
        if model.nodes.kappa is not None:
            tau = float(share @ (1 / np.sqrt(1 + model.nodes.kappa)))
        if model.residual == "sparse":
            pairs = zip(bins.prior.rho, _off_by_rho(bins, share, bins.drifting.centre(a, s)), strict=True)
            rho = sum(value * float(each.sum()) for value, (each, _) in pairs)
        return {"intercept": float(share @ a), "slope": float(share @ np.exp(s)), "tau": tau, "rho": rho}

    def importance(self, count: int) -> ImportanceSample | None:
        """Draw an importance sample of the drift with a fixed seed; None if the sub-model has no drift."""
        bins, model = self._integration
        return importance_sample(bins, model, count, np.random.default_rng(0)) if model.drift else None
