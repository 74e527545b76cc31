"""Partial pooling: a simulator for `sbc`, and samplers that are wrong on purpose."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy
from twins.pooling import CURVE, named, posterior_of, prior_of

from bayescal.posterior.pooling.evidence import GroupBins
from bayescal.posterior.pooling.posterior import PooledPosterior
from bayescal.posterior.pooling.prior import ALONE, COMMON, PoolingPrior
from bayescal.verify.pooling_models import lever, logit
from sbc.control import Control, with_data, with_draws
from sbc.ranks import NamedSimulator, Sampler

Floats = NDArray[np.float64]

OWN, SAME = "groups with own components", "groups with the same component"
LONE = "groups that may be alone"


@dataclass(frozen=True, eq=False)
class PoolingSimulator(NamedSimulator):
    """Groups drawn from one family of the prior, with a known common curve and known shares.

    Parameters
    ----------
    together : bool, default False
        Whether all groups have the same component.
    n_groups : int, default 4
        Number of groups.
    rows : int, default 40
        Rows of each group.
    alone : float, default 0
        Prior weight of groups with independent, uniform accuracies.
    """

    together: bool = False
    n_groups: int = 4
    rows: int = 40
    alone: float = 0.0
    confidence: tuple[float, ...] = field(default=(0.1, 0.3, 0.5, 0.7, 0.9))

    @property
    def prior(self) -> PoolingPrior:
        """The family."""
        return prior_of(together=self.together, alone=self.alone)

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], GroupBins]:
        """Draw weights, components, deviations, accuracies, masses and rows."""
        prior, size, share = self.prior, (self.n_groups, len(self.confidence)), np.full(len(self.confidence), 0.2)
        mass = rng.dirichlet(rng.choice(prior.precisions) * share, self.n_groups)
        n = rng.multinomial(self.rows, mass)
        weights = prior.weights if self.together else rng.dirichlet(prior.pseudo_groups * prior.weights)
        chosen = rng.choice(len(weights), 1 if self.together else self.n_groups, p=weights)
        chosen = np.broadcast_to(chosen, self.n_groups)
        confidence = np.broadcast_to(self.confidence, size).astype(float)
        bins = GroupBins(n.astype(float), np.zeros(size), n.astype(float), confidence, share)
        x, accuracy = lever(bins), np.empty(size)
        for g, j in enumerate(chosen):
            centre, intercept_sd, slope_sd, tau = prior.components[j]
            if centre == ALONE:
                accuracy[g] = rng.random(size[1])
                continue
            a, b = intercept_sd * rng.standard_normal(), slope_sd * rng.standard_normal()
            shift = np.array(CURVE) if centre == COMMON else np.zeros(size[1])
            moved = centre == COMMON or intercept_sd > 0
            h = 1 / (1 + np.exp(-(logit(confidence[g]) + shift + a + b * x[g]))) if moved else confidence[g]
            accuracy[g] = rng.beta((1 / tau**2 - 1) * h, (1 / tau**2 - 1) * (1 - h)) if tau > 0 else h
        k = rng.binomial(n, accuracy).astype(float)
        truth = {name: v[0] for name, v in named(accuracy[:, None], mass[:, None], confidence).items()}
        return truth, GroupBins(bins.n, k, bins.rows, confidence, share)

    def sample_one(self, data: GroupBins, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        drawn = posterior_of(data, CURVE, self.prior).sample(n_draws, rng=rng)
        return named(drawn.accuracy, drawn.mass, data.confidence)

    def log_likelihood_one(self, values: Mapping[str, Any], data: GroupBins) -> Floats:
        """Compute the log likelihood of the outcomes, and of the numbers of rows in the bins."""
        rates, masses = np.asarray(values["rates"]), np.asarray(values["masses"])
        n, k = data.n.ravel(), data.k.ravel()
        inside = np.clip(rates, 1e-12, 1 - 1e-12)
        value = xlogy(k, inside) + xlog1py(n - k, -inside) + xlogy(n, np.maximum(masses, 1e-300))
        return np.asarray(value.sum(axis=-1))


def _twice(bins: GroupBins) -> GroupBins:
    return replace(bins, n=2 * bins.n, k=2 * bins.k, rows=2 * bins.rows)


def _flipped(bins: GroupBins) -> GroupBins:
    return replace(bins, k=bins.n - bins.k)


def _next_group(bins: GroupBins) -> GroupBins:
    """Give each group the outcomes of the next one."""
    return replace(bins, n=np.roll(bins.n, 1, axis=0), k=np.roll(bins.k, 1, axis=0), rows=bins.rows)


def _posterior(change: Callable[[PooledPosterior], PooledPosterior]) -> Callable[[PoolingSimulator], Sampler]:
    """Draw from a changed posterior of each data set."""

    def sampler(simulator: PoolingSimulator) -> Sampler:
        def sample(data: list[GroupBins], n: int, rng: np.random.Generator) -> dict[str, Any]:
            each = []
            for one in data:
                drawn = change(posterior_of(one, CURVE, simulator.prior)).sample(n, rng=rng)
                each.append(named(drawn.accuracy, drawn.mass, one.confidence))
            return {name: np.stack([of[name] for of in each], axis=1) for name in each[0]}

        return sample

    return sampler


def _with_prior(**changes: Any) -> Callable[[PoolingSimulator], Sampler]:
    return _posterior(lambda posterior: replace(posterior, prior=replace(posterior.prior, **changes)))


def _without_evidence(posterior: PooledPosterior) -> PooledPosterior:
    """Let components keep their prior weights."""
    size = len(posterior.centres), len(posterior.bins), len(posterior.components)
    posterior.__dict__["log_evidence"] = np.zeros(size)
    return posterior


def _too_wide(posterior: PooledPosterior) -> PooledPosterior:
    """Multiply the standard deviations of intercepts and slopes."""
    scales = tuple((3 * a, 3 * b) for a, b in posterior.prior.drift_sds)
    return replace(posterior, prior=replace(posterior.prior, drift_sds=scales))


def _alone_by_prior(posterior: PooledPosterior) -> PooledPosterior:
    """Give groups alone the evidence of the other components, so that they keep their prior weight."""
    evidence, weights = posterior.log_evidence.copy(), posterior.prior.weights[:-1]
    of_others = np.log(np.exp(evidence[..., :-1]) @ (weights / weights.sum()))
    evidence[..., -1] = of_others
    posterior.__dict__["log_evidence"] = evidence
    return posterior


def _never_alone(posterior: PooledPosterior) -> PooledPosterior:
    """Leave groups alone out."""
    return replace(posterior, alone=None, prior=replace(posterior.prior, alone=0.0))


def _independent(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Draw groups independently: their joint distribution is lost, and their margins stay."""
    ece = rng.permuted(drawn["ece"], axis=0)
    return {"heterogeneity": ece.std(axis=2), "largest": ece.max(axis=2)}


def _permuted(drawn: Mapping[str, Any], data: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Put the draws into another order, which is no mistake."""
    order = rng.permutation(len(drawn["ece"]))
    return {name: values[order] for name, values in drawn.items()}


def _control(name: str, sampler: Callable[[PoolingSimulator], Sampler], runs: int, problem: str = OWN) -> Control:
    return Control(name, problem, sampler, of="pooling", runs=runs)


#: Mistakes in the sampler of pooled groups.
POOLING_MISTAKES = (
    _control("rows counted twice", with_data(_twice), 500),
    _control("outcomes flipped", with_data(_flipped), 200),
    _control("outcomes of another group", with_data(_next_group), 300),
    _control("weights of the prior", _posterior(_without_evidence), 1000),
    _control("no exact calibration", _with_prior(centres=("common",)), 500),
    _control("no residuals", _with_prior(taus=(0.0,)), 2000),
    _control("deviations three times as large", _posterior(_too_wide), 2000),
    _control("masses of all rows", _with_prior(precisions=(3000.0,)), 500),
    _control("one component for all groups", _with_prior(together=1.0), 2000),
    _control("a component for each group", _with_prior(together=0.0), 2000, SAME),
    _control("groups drawn independently", with_draws(_independent), 2000, SAME),
    _control("no group alone", _posterior(_never_alone), 500, LONE),
    _control("groups alone by their prior weight", _posterior(_alone_by_prior), 2000, LONE),
)
#: Right draws in another order.
UNSPOILT_POOLING = (_control("draws permuted", with_draws(_permuted), 500),)
