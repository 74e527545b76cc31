"""Draws from the sub-models: the drift by importance sampling, then the bins, which are independent given it."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.shrinkage.independent.integrated import BinLikelihoods, IntegratedSubModel
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
    log_density = bins.log_likelihood(eta, model.residual, nodes.kappa) + bins.drifting.log_prior(a, s)
    return ImportanceSample(a, s, eta, log_density - nodes.log_density, nodes.kappa)


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
