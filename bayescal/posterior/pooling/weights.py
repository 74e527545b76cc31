"""Draws of the weights of the components, given the marginal likelihood of every group under every component."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, softmax

from bayescal.posterior.pooling.prior import REFUTED, PoolingPrior

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Steps of the variational approximation, and the change of expected groups below which they end.
STEPS, TOLERANCE = 200, 1e-4
#: Weights drawn from the proposal; how much of the groups' evidence the proposal uses.
PARTICLES, TEMPER = 1000, 0.5
#: Gibbs sweeps after resampling; how many weights are kept: for each centre at least, for all centres together at most,
#: and numbers that the shares of one centre take.
SWEEPS, LEAST_KEPT, MOST_KEPT, BUDGET = 4, 40, 1000, 300_000
#: Smallest weight.
LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Mixture:
    """Posterior of the weights for one centre.

    Parameters
    ----------
    evidence : ndarray, shape (n_groups, n_components)
        Marginal likelihoods, relative to the largest one of each group.
    weights : ndarray, shape (n_kept, n_components)
        Draws of the weights, if groups have own components.
    same : ndarray, shape (n_components,)
        Probabilities of the component that all groups have, if they have the same.
    together : float
        Share of the draws in which all groups have the same component, among those that are not apart.
    apart : float, default 0
        Share of the draws in which all groups have the last component: they are evaluated alone.
    """

    evidence: Floats
    weights: Floats
    same: Floats
    together: float
    apart: float = 0.0

    def shares(self) -> Floats:
        """Probability of every component for every group, shape (n_groups, n_components)."""
        own = self.evidence[None] * self.weights[:, None]
        own = (own / own.sum(axis=2, keepdims=True)).mean(axis=0)
        pooled = self.together * self.same + (1 - self.together) * own
        return (1 - self.apart) * pooled + self.apart * (np.arange(len(self.same)) == len(self.same) - 1)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Ints:
        """Draw the component of every group, jointly over groups: shape (n_groups, n_draws)."""
        apart = np.arange(n_draws) >= n_draws - _stratified(self.apart * n_draws, rng)
        together = np.arange(n_draws) < _stratified(self.together * float((~apart).sum()), rng)
        own = ~(together | apart)
        n_own = int(own.sum())
        found = np.full((len(self.evidence), n_draws), len(self.same) - 1, np.intp)
        found[:, together] = rng.choice(len(self.same), int(together.sum()), p=self.same)
        if n_own:
            of = np.resize(rng.permutation(len(self.weights)), n_own)
            found[:, own] = assigned(self.evidence, self.weights, of, rng)
        return found


def mixture(log_evidence: Floats, prior: PoolingPrior, rng: np.random.Generator, *, n_centres: int = 1) -> Mixture:
    r"""Posterior of the weights of the components.

    Parameters
    ----------
    log_evidence : ndarray, shape (n_groups, n_components)
        Log marginal likelihoods :math:`\log e_{gc}`.
    prior : PoolingPrior
        Prior weights p, and their total A in groups.
    rng : Generator
        Randomness.
    n_centres : int, default 1
        Number of centres, among which the draws of the weights are divided.

    Returns
    -------
    Mixture
        The posterior.

    Notes
    -----
    Two families have fixed shares among each other. In one, all groups have the same component c, which has the prior
    probability :math:`p_c` and the marginal likelihood :math:`\prod_g e_{gc}`. In the other, weights are :math:`w \sim
    \mathrm{Dirichlet}(A p)`, each group has its own component, and the likelihood is :math:`\prod_g \sum_c w_c
    e_{gc}`. Weights are drawn by importance sampling from a Dirichlet whose parameters come from a variational
    approximation [1]_, and moved by Gibbs sweeps.

    In a third family all groups have the last component, which evaluates them alone. Its share of the draws is
    ``prior.apart``, or less if the marginal likelihood E of another family is much larger: it is multiplied by
    :math:`\exp(-\max(0, \log E - \sum_g \log e_{gc} - 3) / 2)`. The three form a linear pool, not a Bayesian average.

    References
    ----------
    .. [1] C. M. Bishop (2006), Pattern Recognition and Machine Learning, Springer, section 10.2.
    """
    largest = log_evidence.max(axis=1, keepdims=True)
    evidence = np.exp(log_evidence - largest)
    with np.errstate(divide="ignore"):
        of_all = np.log(prior.weights) + (log_evidence - largest).sum(axis=0)
    alpha = prior.pseudo_groups * prior.weights
    weights, log_own = _importance_sample(evidence, alpha, MOST_KEPT // n_centres, rng)
    for _ in range(SWEEPS):
        chosen = assigned(evidence, weights, np.arange(len(weights)), rng)
        place = np.arange(len(weights)) * len(alpha) + chosen
        groups = np.bincount(place.ravel(), minlength=weights.size).reshape(weights.shape)
        weights = _dirichlet(alpha + groups, rng)
    apart = 0.0
    if prior.apart > 0:
        best = max(log_own, float(np.logaddexp.reduce(of_all)))
        ratio = best - float((log_evidence - largest)[:, -1].sum())
        apart = prior.apart * float(np.exp(-max(ratio - REFUTED, 0.0) / 2))
    return Mixture(evidence, weights, softmax(of_all), prior.together, apart)


def _importance_sample(evidence: Floats, alpha: Floats, most: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draw weights of groups with own components, by importance resampling; also the log marginal likelihood."""
    expected = TEMPER * expected_groups(evidence, alpha)
    weights = _dirichlet(np.broadcast_to(alpha + expected, (PARTICLES, len(alpha))), rng)
    log_weight = np.log(np.maximum(weights @ evidence.T, LEAST)).sum(axis=1) - np.log(weights) @ expected
    share = softmax(log_weight)
    kept = max(min(BUDGET // evidence.size, most), LEAST_KEPT)
    at = (np.arange(kept) + rng.random()) / kept
    chosen = np.minimum(np.searchsorted(share.cumsum(), at), PARTICLES - 1)
    log_constant = (gammaln(alpha + expected) - gammaln(alpha)).sum()
    log_constant += gammaln(alpha.sum()) - gammaln((alpha + expected).sum())
    return weights[chosen], float(np.logaddexp.reduce(log_weight) - np.log(PARTICLES) + log_constant)


def expected_groups(evidence: Floats, alpha: Floats) -> Floats:
    """Expected number of groups of each component under the variational approximation."""
    groups = np.full(len(alpha), len(evidence) / len(alpha))
    for _ in range(STEPS):
        weight = np.exp(digamma(alpha + groups) - digamma(alpha.sum() + len(evidence)))
        joint = evidence * weight
        moved = (joint / np.maximum(joint.sum(axis=1, keepdims=True), LEAST)).sum(axis=0)
        done = np.abs(moved - groups).max() < TOLERANCE
        groups = moved
        if done:
            break
    return groups


def assigned(evidence: Floats, weights: Floats, of: Ints, rng: np.random.Generator) -> Ints:
    """Draw a component of every group given weights number ``of[i]``, shape (n_groups, len(of))."""
    cumulated = (evidence[:, None] * weights).cumsum(axis=2)  # (n_groups, n_kept, n_components)
    level = rng.random((len(evidence), len(of))) * cumulated[:, of, -1]
    group = np.arange(len(evidence))[:, None]
    found = np.zeros(level.shape, np.intp)
    size = cumulated.shape[2]
    for step in 2 ** np.arange(int(size).bit_length())[::-1]:  # bisection of all at once
        last = found + step - 1
        passed = (last < size) & (cumulated[group, of, np.minimum(last, size - 1)] <= level)
        found += step * passed
    return np.minimum(found, size - 1)


def _dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    gamma = np.maximum(rng.standard_gamma(alpha), LEAST)
    return np.maximum(gamma / gamma.sum(axis=-1, keepdims=True), LEAST)


def _stratified(expected: float, rng: np.random.Generator) -> int:
    """Round an expected number at random, to the integer below or above."""
    return int(np.floor(expected + rng.random()))
