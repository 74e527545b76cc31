"""Probabilities of sub-models: by marginal likelihood, except within the pool of families."""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from bayescal.posterior.shrinkage.prior import EXACT, POOL_WEIGHT, POOLED, SMALL

#: Prior weights of sub-models by family.
Families = Mapping[str, Mapping[str, float]]

#: The share of small errors in the pool is multiplied by exp(-FADE (d - TOLERATED)) if the log marginal likelihood of
#: another family is larger by d > TOLERATED.
FADE, TOLERATED = 0.5, 8.0


def posterior_probabilities(
    families: Families, evidence: Mapping[str, float], pooled: Collection[str] = POOLED
) -> dict[str, float]:
    """Compute the posterior probability of each sub-model.

    Parameters
    ----------
    families : mapping of str to mapping of str to float
        Prior weights > 0 of the sub-models, by family.
    evidence : mapping of str to float
        Log marginal likelihoods, up to a constant.
    pooled : collection of str
        Families of the pool; if there are none, all sub-models are averaged by their marginal likelihoods.

    Returns
    -------
    dict of str to float
        They sum to 1. The families of the pool have the shares of its probability that `pool_shares` returns; the
        marginal likelihood of the pool is the average over its families, weighted by these shares.

    Notes
    -----
    Giving families fixed shares regardless of their marginal likelihoods is a linear opinion pool [1]_.

    References
    ----------
    .. [1] Stone (1961), "The opinion pool", Annals of Mathematical Statistics 32, 1339-1342.

    Examples
    --------
    >>> families = {"independent": {"a": 1.0, "b": 1.0}, "shared": {"c": 1.0}}
    >>> probability = posterior_probabilities(families, {"a": 0.0, "b": np.log(3.0), "c": -5.0})
    >>> {name: round(p, 3) for name, p in probability.items()}
    {'a': 0.125, 'b': 0.375, 'c': 0.5}
    """
    inside, joint = {}, {}
    for family, weights in families.items():
        each = np.array([evidence[name] for name in weights]) + np.log(list(weights.values()))
        total = np.logaddexp.reduce(each)
        inside[family] = dict(zip(weights, np.exp(each - total).tolist(), strict=True))
        joint[family] = total - np.log(sum(weights.values())) if family in pooled else total
    pool = [family for family in pooled if family in joint]
    if pool:
        shares = pool_shares({family: joint[family] for family in pool})
        average = np.logaddexp.reduce([joint[family] + share for family, share in shares.items()])
        joint |= {family: np.log(POOL_WEIGHT) + average + share for family, share in shares.items()}
    total = np.logaddexp.reduce(list(joint.values()))
    return {name: float(np.exp(joint[family] - total)) * p for family, of in inside.items() for name, p in of.items()}


def pool_shares(log_evidence: Mapping[str, float]) -> dict[str, float]:
    """Compute the log share of each family in the pool.

    Parameters
    ----------
    log_evidence : mapping of str to float
        Log marginal likelihoods of the families of the pool, up to a constant.

    Returns
    -------
    dict of str to float
        Logs of shares that sum to 1. They are equal unless the data refute small errors: if the log marginal likelihood
        of another family is d > 8 larger, the share of small errors is multiplied by exp(-(d - 8) / 2), and the others
        divide the rest equally.

    Examples
    --------
    >>> shares = pool_shares({"independent": 0.0, "shared": -30.0, "small_errors": -10.0})
    >>> {family: round(float(np.exp(share)), 3) for family, share in shares.items()}
    {'independent': 0.439, 'shared': 0.439, 'small_errors': 0.123}
    """
    others = [value for family, value in log_evidence.items() if family != SMALL]
    equal = -np.log(len(log_evidence))
    if not others or SMALL not in log_evidence:
        return dict.fromkeys(log_evidence, equal)
    small = equal - FADE * max(max(others) - log_evidence[SMALL] - TOLERATED, 0.0)
    rest = np.log1p(-np.exp(small)) - np.log(len(others))
    return {family: small if family == SMALL else rest for family in log_evidence}


def alternatives(families: Families, pooled: Collection[str] = POOLED) -> dict[str, float]:
    """Compute the prior probabilities of all sub-models except exact calibration, given that it does not hold.

    Parameters
    ----------
    families : mapping of str to mapping of str to float
        Prior weights > 0 of the sub-models, by family.
    pooled : collection of str
        Families of the pool.

    Returns
    -------
    dict of str to float
        They sum to 1; empty if there is no other sub-model.
    """
    others = {family: of for family, of in families.items() if family != EXACT}
    even = {name: 0.0 for of in others.values() for name in of}
    return posterior_probabilities(others, even, pooled) if others else {}


def allot(probability: NDArray[np.float64], n_draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Assign a sub-model to each draw, sorted; each sub-model gets ``n_draws * probability`` draws to within one."""
    edges = np.cumsum(probability)
    return np.searchsorted(edges / edges[-1], (np.arange(n_draws) + rng.random()) / n_draws, side="right")
