"""Mistakes in partial pooling: in its data, prior, approximation and draws."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.pooling.group_bins import GroupBins
from bayescal.posterior.pooling.posterior import PooledPosterior
from bayescal.verify.mistakes.control import Control, with_data, with_draws
from bayescal.verify.pooling import CURVE, PoolingSimulator, named, posterior_of
from bayescal.verify.sbc import Sampler

Floats = NDArray[np.float64]

OWN, SAME = "groups with own components", "groups with the same component"
LONE = "groups that may be alone"


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
