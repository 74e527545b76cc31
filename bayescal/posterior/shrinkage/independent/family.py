"""The family of independent bins: a drift, and independent residuals; and moments by quadrature."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from bayescal._arrays import Floats, Generator
from bayescal.posterior.beta_binomial import quick_absolute_gap, squared_gap
from bayescal.posterior.shrinkage.independent import integrated
from bayescal.posterior.shrinkage.independent.drift import DriftingBins
from bayescal.posterior.shrinkage.independent.sampling import ImportanceSample, draw, importance_sample
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.posterior.shrinkage.sub_model import GapSums, SubModelDraws

#: Nodes with a posterior mass below NEGLIGIBLE are left out of moments. Nodes are processed CHUNK at a time.
NEGLIGIBLE = 1e-8
CHUNK = 2000
Integrated = tuple[integrated.BinLikelihoods, dict[str, integrated.IntegratedSubModel]]


class _Gaps(NamedTuple):
    """Posterior mass of each node; means of absolute and squared gaps given the node, shape (n_nodes, n_bins)."""

    share: Floats
    first: Floats
    second: Floats


def gap_sums(bins: integrated.BinLikelihoods, model: integrated.IntegratedSubModel, mass: Floats) -> GapSums:
    """Return the moments of the sum over bins of `mass` times the absolute gap under one sub-model."""
    share, mean, variance, squares = [], [], [], []
    for gaps in _gaps(bins, model):
        share.append(gaps.share)
        mean.append(gaps.first @ mass)
        variance.append((gaps.second - gaps.first**2) @ mass**2)
        squares.append(gaps.second @ mass)
    shares, means, variances, seconds = (np.concatenate(parts) for parts in (share, mean, variance, squares))
    shares /= shares.sum()
    centre = float(shares @ means)
    spread = float(shares @ np.maximum(variances, 0) + shares @ (means - centre) ** 2)
    return GapSums(centre, spread, float(shares @ seconds))


def _gaps(bins: integrated.BinLikelihoods, model: integrated.IntegratedSubModel) -> Iterator[_Gaps]:
    """Yield moments of the gaps for chunks of nodes; under a sparse residual, once for each rho."""
    heavy = model.share > NEGLIGIBLE
    nodes, share = model.nodes.take(heavy), model.share[heavy] / model.share[heavy].sum()
    tables = None
    if model.residual == "sparse" and model.drift:  # polynomials in the logit of the centre
        tables = [bins.slab.polynomials(values) for values in _off_gaps(bins, bins.slab.eta, bins.slab.by_tau)]
    for start in range(0, len(share), CHUNK):
        some = slice(start, start + CHUNK)
        eta = bins.drifting.centre(*nodes.take(some).drift)
        if nodes.kappa is not None:
            # under a dense residual, accuracies have conjugate Beta posteriors
            kappa, n, k = nodes.kappa[some, None], bins.drifting.n, bins.drifting.k
            alpha, beta = kappa * expit(eta) + k, kappa * expit(-eta) + (n - k)
            c = np.broadcast_to(bins.drifting.confidence, eta.shape)
            yield _Gaps(share[some], quick_absolute_gap(c, alpha, beta), squared_gap(c, alpha, beta))
        elif model.residual == "sparse":
            yield from _sparse_gaps(bins, share[some], eta, tables)
        else:
            yield _Gaps(share[some], *_centre_gaps(bins, eta))


def _centre_gaps(bins: integrated.BinLikelihoods, eta: Floats) -> tuple[Floats, Floats]:
    """Return moments of the gaps of bins whose accuracy is their centre; exactly 0 without drift."""
    gap = np.where(eta == bins.drifting.logit, 0.0, expit(eta) - bins.drifting.confidence)
    return np.abs(gap), gap**2


def _sparse_gaps(bins: integrated.BinLikelihoods, share: Floats, eta: Floats, tables: Any) -> Iterator[_Gaps]:
    """Yield moments of the gaps for each rho: averages over being off and not being off."""
    on_first, on_second = _centre_gaps(bins, eta)
    if tables is None:  # without drift, centres are where the absolute gap has its kink: do not interpolate
        first, variance = (values.T for values in _off_gaps(bins, eta.T, bins.slab.log_by_tau(eta.T)))
    else:
        first, variance = (bins.slab.interpolate(table, eta) for table in tables)
    for each, off in _off_by_rho(bins, share, eta):
        yield _Gaps(each, (1 - off) * on_first + off * first, (1 - off) * on_second + off * (first**2 + variance))


def _off_gaps(bins: integrated.BinLikelihoods, eta: Floats, by_tau: Floats) -> list[Floats]:
    """Mean and variance of the absolute gap of each bin if it is off, for centres with logits (n_bins, n).

    `by_tau` is the log-likelihood at these logits for each tau. The results are interpolated; the variance is returned
    because it can be smaller than the interpolation error of the mean square.
    """
    slab = bins.slab
    weight = np.exp(by_tau + slab.rule.log_weight)
    heavy = weight > NEGLIGIBLE * weight.sum(axis=2, keepdims=True)
    weight *= heavy
    weight /= weight.sum(axis=2, keepdims=True)
    alpha = (slab.rule.kappa * expit(eta)[:, :, None] + slab.k[:, None, None])[heavy]
    beta = (slab.rule.kappa * expit(-eta)[:, :, None] + (slab.n - slab.k)[:, None, None])[heavy]
    c = np.broadcast_to(bins.drifting.confidence[:, None, None], heavy.shape)[heavy]
    means = []
    for gap in (quick_absolute_gap, squared_gap):
        each = np.zeros(heavy.shape)
        each[heavy] = weight[heavy] * gap(c, alpha, beta)
        means.append(each.sum(axis=2))
    return [means[0], means[1] - means[0] ** 2]


def _off_by_rho(bins: integrated.BinLikelihoods, share: Floats, eta: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield for each rho: its joint share with each node, and the probability that each bin is off, given both."""
    by_rho, odds = bins.sparse(eta)
    by_rho = np.exp(by_rho - np.logaddexp.reduce(by_rho, axis=-1)[:, None])
    for j, rho in enumerate(bins.prior.rho):
        yield share * by_rho[:, j], expit(np.log(rho / (1 - rho)) + odds)


def inverse_predictive(bins: integrated.BinLikelihoods, model: integrated.IntegratedSubModel) -> Floats:
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


def _log_inverse_off(bins: integrated.BinLikelihoods, eta: Floats, by_tau: Floats) -> Floats:
    """Log of the posterior mean of 1 / p for each cell if its bin is off, for centres with logits (n_bins, n).

    `by_tau` is the log-likelihood at these logits for each tau; the result has shape (2, n_bins, n).
    """
    slab = bins.slab
    n, k, kappa = slab.n[:, None, None], slab.k[:, None, None], slab.rule.kappa
    joint = by_tau + slab.rule.log_weight
    cells = ((n - k, expit(-eta)[:, :, None]), (k, expit(eta)[:, :, None]))
    log_p = (np.log(kappa * h + np.maximum(rows - 1, 0)) - np.log(kappa + np.maximum(n - 1, 0)) for rows, h in cells)
    return np.stack([logsumexp(joint - each, axis=2) for each in log_p]) - logsumexp(joint, axis=2)


def off_probability(bins: integrated.BinLikelihoods, model: integrated.IntegratedSubModel) -> Floats:
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
    def coarse(self) -> Integrated:
        """Likelihoods and integrated sub-models, at the resolution for evidences and draws."""
        return self._integrate(integrated.COARSE)

    @cached_property
    def fine(self) -> Integrated:
        """Likelihoods and integrated sub-models, at the finer resolution for moments."""
        return self._integrate(integrated.FINE)

    def _integrate(self, resolution: integrated.Resolution) -> Integrated:
        prior = self.prior
        drifting = DriftingBins(self.n, self.k, self.confidence, prior.intercept_sd, prior.log_slope_sd)
        bins = integrated.BinLikelihoods(drifting, prior, resolution)
        return bins, integrated.integrate(bins)


@dataclass(frozen=True, eq=False)
class IndependentSubModel:
    """One sub-model of the family, by its name."""

    family: IndependentBins
    name: str

    @property
    def _coarse(self) -> tuple[integrated.BinLikelihoods, integrated.IntegratedSubModel]:
        return self.family.coarse[0], self.family.coarse[1][self.name]

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood, relative to exact calibration."""
        bins, model = self._coarse
        return model.log_evidence - float(bins.drifting.log_likelihood(bins.drifting.logit))

    def draw(self, count: int, rng: Generator) -> SubModelDraws:
        """Draw by importance sampling over the drift, with resampling."""
        return draw(*self._coarse, count, rng)

    def gap_sums(self, mass: Floats) -> GapSums:
        """Return the moments of the sum over bins of `mass` times the absolute gap, at the finer resolution."""
        bins, models = self.family.fine
        return gap_sums(bins, models[self.name], mass)

    def inverse_predictive(self) -> Floats:
        """Return the posterior mean of 1 / p for each cell; see `SubModel`."""
        return inverse_predictive(*self._coarse)

    @property
    def off_probability(self) -> Floats:
        """Posterior probability that a bin deviates from the drift, shape (n_bins,)."""
        return off_probability(*self._coarse)

    def parameter_means(self) -> dict[str, float]:
        """Return the posterior means of intercept, slope, tau and rho; a tau or rho that is no parameter is NaN."""
        bins, model = self._coarse
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
        bins, model = self._coarse
        return importance_sample(bins, model, count, np.random.default_rng(0)) if model.drift else None
