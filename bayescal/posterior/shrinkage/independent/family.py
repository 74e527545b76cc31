"""The family of independent bins: a drift, and independent residuals."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logsumexp

from bayescal._arrays import Floats, Generator
from bayescal.posterior.shrinkage.independent import integrated
from bayescal.posterior.shrinkage.independent.drift import DriftingBins
from bayescal.posterior.shrinkage.independent.sampling import ImportanceSample, draw, importance_sample
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.posterior.shrinkage.sub_model import SubModelDraws

CHUNK = 2000  #: Nodes are processed so many at a time.
Integrated = tuple[integrated.BinLikelihoods, dict[str, integrated.IntegratedSubModel]]


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
    def integration(self) -> Integrated:
        """Likelihoods and integrated sub-models."""
        prior = self.prior
        drifting = DriftingBins(self.n, self.k, self.confidence, prior.intercept_sd, prior.log_slope_sd)
        bins = integrated.BinLikelihoods(drifting, prior)
        return bins, integrated.integrate(bins)


@dataclass(frozen=True, eq=False)
class IndependentSubModel:
    """One sub-model of the family, by its name."""

    family: IndependentBins
    name: str

    @property
    def _integration(self) -> tuple[integrated.BinLikelihoods, integrated.IntegratedSubModel]:
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
