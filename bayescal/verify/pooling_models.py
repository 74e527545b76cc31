"""Partial pooling and random effects in PyMC, without Laplace's method and quadrature."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.special import gammaln

from bayescal._arrays import Floats
from bayescal.posterior.pooling.evidence import GroupBins
from bayescal.posterior.pooling.posterior import PooledPosterior
from bayescal.posterior.pooling.prior import COMMON, PoolingPrior
from bayescal.posterior.random_effects import DEGREES

#: How far from 0 and 1 mean confidences stay in the lever, and in likelihoods.
LEVER_FLOOR, FLOOR = 1e-4, 1e-9
#: Standard deviation of the prior of the mean, relative to the largest estimate, error and scale. PyMC draws pictures,
#: and samples priors, of proper priors only.
WIDE = 1e5


def logit(p: Any) -> Any:
    """Logit of probabilities inside (0, 1)."""
    return np.log(p) - np.log1p(-p)


def log_binomial(bins: GroupBins) -> Floats:
    """Logarithms of the binomial coefficients, shape (n_groups, n_bins)."""
    return np.asarray(gammaln(1 + bins.n) - gammaln(1 + bins.k) - gammaln(1 + bins.n - bins.k))


def lever(bins: GroupBins) -> Floats:
    """Logits of the mean confidences around their precision-weighted mean, from the definition."""
    x = logit(np.clip(bins.confidence, LEVER_FLOOR, 1 - LEVER_FLOOR))
    weight = bins.n * bins.confidence * (1 - bins.confidence) + 1e-9
    return x - (weight * x).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)


def of_pooled(posterior: PooledPosterior, *, together: bool, groups: Sequence[str] | None = None) -> pm.Model:
    """Write one family of a pooled posterior in PyMC, around the middle one of the common curves."""
    prior = replace(posterior.prior, together=float(together))
    shift = posterior.shifts[len(posterior.shifts) // 2]
    alone = None if posterior.alone is None else posterior.alone.log_evidence
    return group_model(posterior.bins, shift, prior, alone, groups)


def group_model(
    bins: GroupBins, shift: Floats, prior: PoolingPrior, alone: Floats | None, groups: Sequence[str] | None = None
) -> pm.Model:
    """Write groups that deviate from one curve in PyMC; ``together`` of the prior is 0 or 1.

    `shift`, shape (n_groups, n_used), is what the curve adds to the logits of the mean confidences; `alone`, shape
    (n_groups,), are the log marginal likelihoods of the groups without pooling, if the prior has this component.
    """
    x, components = lever(bins), prior.components
    common, a, b, tau = (np.array(values) for values in zip(*prior.pooled, strict=True))
    names = [f"{c.centre} {c.intercept_sd:g} {c.slope_sd:g} {c.tau:g}" for c in components]
    labels = [str(g) for g in range(len(bins))] if groups is None else list(groups)
    coords = {"group": labels, "deviation": ["intercept", "slope"], "component": names}
    exact = tau == 0
    inside = np.clip(bins.confidence, FLOOR, 1 - FLOOR)
    origin = logit(inside)[:, None] + (common == COMMON)[:, None] * shift[:, None]  # (n_groups, n_components, n_used)
    n, k = bins.n[:, None], bins.k[:, None]
    with pm.Model(coords=coords) as model:
        z = pm.Normal("z", 0.0, 1.0, dims=("group", "deviation"))
        of_intercept, of_slope = (z[:, i][:, None, None] for i in (0, 1))
        eta = origin + a[:, None] * of_intercept + b[:, None] * of_slope * x[:, None]
        h = pt.clip(pm.math.sigmoid(eta), FLOOR, 1 - FLOOR)
        each = [pm.logp(pm.Binomial.dist(n, h[:, exact]), k).sum(axis=2)]
        if not exact.all():
            kappa = (1 / tau[~exact] ** 2 - 1)[:, None]
            of = h[:, ~exact]
            each.append(pm.logp(pm.BetaBinomial.dist(kappa * of, kappa * (1 - of), n), k).sum(axis=2))
        place = np.argsort(np.concatenate([np.flatnonzero(exact), np.flatnonzero(~exact)]))
        terms = [pt.concatenate(each, axis=1)[:, place]]
        if alone is not None:
            terms.append(pt.as_tensor((alone + log_binomial(bins).sum(axis=1))[:, None]))
        of_group = pt.concatenate(terms, axis=1)  # (n_groups, n_components)
        if prior.together:
            joint = (pt.log(prior.weights) + of_group.sum(axis=0))[None]
            total = pt.logsumexp(joint, axis=1, keepdims=True)
            probability = pt.exp(joint - total) * pt.ones((len(bins), 1))
        else:
            weights = pm.Dirichlet("weights", prior.pseudo_groups * prior.weights, dims="component")
            joint = pt.log(weights) + of_group
            total = pt.logsumexp(joint, axis=1, keepdims=True)
            probability = pt.exp(joint - total)
        pm.Potential("outcomes", total.sum())
        pm.Deterministic("probability", probability, dims=("group", "component"))
    return model


def random_effects_model(
    estimate: Floats, error: Floats, scale: float, datasets: Sequence[str] | None = None
) -> pm.Model:
    """Write every difference of one problem, around a mean with a wide prior, in PyMC; data sets may have names.

    `scale` is that of the prior of the standard deviation between data sets.
    """
    wide = WIDE * float(max(scale, np.abs(estimate).max(), error.max()))
    names = [str(i) for i in range(len(estimate))] if datasets is None else list(datasets)
    with pm.Model(coords={"dataset": names}) as model:
        mean = pm.Normal("mean", 0.0, wide)  # stands for a uniform prior
        spread = pm.HalfStudentT("spread", nu=DEGREES, sigma=scale)
        # differences are written as multiples of the standard deviation, so that chains move freely if it is small
        unit = pm.Normal("unit", 0.0, 1.0, shape=len(names), dims="dataset")
        difference = pm.Deterministic("difference", mean + spread * unit, dims="dataset")
        pm.Normal("estimate", difference, error, observed=estimate, dims="dataset")
        pm.Deterministic("new", mean + spread * pm.Normal("new_unit", 0.0, 1.0))
    return model
