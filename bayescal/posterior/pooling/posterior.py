"""PooledPosterior: the joint posterior of the bins of many groups under partial pooling.

`mixture` gives the weights of the components, given the marginal likelihood of every group under every component.
Groups that are evaluated alone (`Alone`) are one more component, whose evidence competes with the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.special import digamma, gammaln, softmax

from bayescal import _checks
from bayescal._arrays import Bools, Floats, Generator, Indices
from bayescal.draws import BinDraws
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.posterior.pooling.evidence import (
    Chosen,
    Deviations,
    GroupBins,
    Rows,
    deviations,
    draw_accuracies,
    draw_deviations,
    draw_masses,
    parts,
)
from bayescal.posterior.pooling.prior import ALONE, COMMON, DEVIATING, REFUTED, Component, PoolingPrior
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.stats.contract import Counts
from bayescal.stats.sums import logit

#: Steps of the variational approximation, and the change of expected groups below which they end.
STEPS, TOLERANCE = 200, 1e-4
PARTICLES, TEMPER = 1000, 0.5  #: Weights drawn from the proposal; how much of the groups' evidence the proposal uses.
#: Gibbs sweeps after resampling; how many weights are kept: for each centre at least, for all centres together at most,
#: and numbers that the shares of one centre take.
SWEEPS, LEAST_KEPT, MOST_KEPT, BUDGET = 4, 40, 1000, 300_000
LEAST = 1e-300  #: Smallest weight.
FIRST = 20  #: Total number of draws per draw of a group alone that is drawn right after its integration.
CENTRES = 10  #: Draws of the common curve.
WEIGHTS_SEED = 1  #: Seed of the draws of the weights.


@dataclass(frozen=True, eq=False)
class Mixture:
    """Posterior of the weights for one centre."""

    #: Marginal likelihoods, relative to the largest one of each group, shape (n_groups, n_components).
    evidence: Floats
    weights: Floats  #: Draws of the weights, if each group has its own component, shape (n_kept, n_components).
    same: Floats  #: Probabilities of the component that all groups have, if they have the same, shape (n_components,).
    together: float  #: Share of the draws in which all groups have the same component, among those that are not apart.
    apart: float = 0.0  #: Share of the draws in which all groups have the last component: they are evaluated alone.

    def shares(self) -> Floats:
        """Probability of every component for every group, shape (n_groups, n_components)."""
        separate = self.evidence[None] * self.weights[:, None]
        separate = (separate / separate.sum(axis=2, keepdims=True)).mean(axis=0)
        pooled = self.together * self.same + (1 - self.together) * separate
        return (1 - self.apart) * pooled + self.apart * (np.arange(len(self.same)) == len(self.same) - 1)

    def draw(self, n_draws: int, rng: Generator) -> Indices:
        """Draw the component of every group, jointly over groups: shape (n_groups, n_draws)."""
        apart = np.arange(n_draws) >= n_draws - _stratified(self.apart * n_draws, rng)
        together = np.arange(n_draws) < _stratified(self.together * float((~apart).sum()), rng)
        separate = ~(together | apart)
        n_separate = int(separate.sum())
        component = np.full((len(self.evidence), n_draws), len(self.same) - 1, np.intp)
        component[:, together] = rng.choice(len(self.same), int(together.sum()), p=self.same)
        if n_separate:
            of = np.resize(rng.permutation(len(self.weights)), n_separate)
            component[:, separate] = assigned(self.evidence, self.weights, of, rng)
        return component


def mixture(log_evidence: Floats, prior: PoolingPrior, rng: Generator, *, n_centres: int = 1) -> Mixture:
    r"""Posterior of the weights of the components, given log marginal likelihoods, shape (n_groups, n_components).

    Two families have fixed shares among each other. In one, all groups have the same component c, which has the prior
    probability :math:`p_c` and the marginal likelihood :math:`\prod_g e_{gc}`. In the other, weights are :math:`w \sim
    \mathrm{Dirichlet}(A p)` with the prior weights p and their total A in groups; each group has its own component, and
    the likelihood is :math:`\prod_g \sum_c w_c e_{gc}`. Weights are drawn by importance sampling from a Dirichlet whose
    parameters come from a variational approximation (Bishop 2006, Pattern Recognition and Machine Learning, Springer,
    section 10.2), and moved by Gibbs sweeps. The draws are divided among the centres.

    In a third family all groups have the last component, which evaluates them alone. Its share of the draws is
    ``prior.apart``, or less if the marginal likelihood E of another family is much larger: it is multiplied by
    :math:`\exp(-\max(0, \log E - \sum_g \log e_{gc} - 3) / 2)`. The three form a linear pool, not a Bayesian average.
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


def _importance_sample(evidence: Floats, alpha: Floats, most: int, rng: Generator) -> tuple[Floats, float]:
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
        moved = weight * ((1 / np.maximum(evidence @ weight, LEAST)) @ evidence)
        done = np.abs(moved - groups).max() < TOLERANCE
        groups = moved
        if done:
            break
    return groups


def assigned(evidence: Floats, weights: Floats, of: Indices, rng: Generator) -> Indices:
    """Draw a component of every group given weights number ``of[i]``, shape (n_groups, len(of))."""
    level = rng.random((len(evidence), len(of)))
    component = np.zeros(level.shape, np.intp)
    size = evidence.shape[1]
    for part in parts(len(evidence), *weights.shape):
        cumulated = evidence.T[:, part, None] * weights.T[:, None]  # (n_components, n_groups, n_kept)
        for before, each in pairwise(cumulated):  # faster than `cumsum`, and the same sums
            each += before
        wanted, last = level[part] * cumulated[-1][:, of], component[part]
        numbers, place = cumulated.ravel(), np.arange(len(wanted))[:, None] * len(weights) + of
        for step in 2 ** np.arange(int(size).bit_length())[::-1]:  # bisection of all at once
            at = last + (step - 1)
            passed = numbers[np.minimum(at, size - 1) * cumulated[0].size + place] <= wanted
            last += step * (passed & (at < size))
    return np.minimum(component, size - 1)


def _dirichlet(alpha: Floats, rng: Generator) -> Floats:
    gamma = np.maximum(rng.standard_gamma(alpha), LEAST)
    return np.maximum(gamma / gamma.sum(axis=-1, keepdims=True), LEAST)


def _stratified(expected: float, rng: Generator) -> int:
    """Round an expected number at random, to the integer below or above."""
    return int(np.floor(expected + rng.random()))


class AveragesModels(Posterior, HasHypotheses, Protocol):
    """A posterior that averages sub-models and has their evidences, as `ShrinkagePosterior`."""

    @property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of each sub-model, and of exact calibration."""


@dataclass(frozen=True, eq=False)
class Alone:
    """The posteriors that groups have without pooling."""

    posteriors: Sequence[AveragesModels]  #: Posterior of each group, given its counts.
    used: Bools  #: Bins with rows in some group, shape (n_bins,).
    confidence: Floats  #: Mean confidences from which the pooled posterior measures gaps, shape (n_groups, n_used).
    shared: bool = False  #: Whether the posteriors share tables: each is then drawn right after its integration.

    @cached_property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods of the outcomes, shape (n_groups,).

        The prior weight of exact calibration, 2 %, is neglected: it would change the logarithms by at most 0.02.
        """
        result = []
        for each in self.posteriors:
            exact, probability = each.log_evidence[EXACT], each.probabilities.get(EXACT, 0.0)
            certain = probability == 1  # no sub-model but exact calibration
            result.append(exact if certain else exact - each.log_bayes_factor - float(np.log1p(-probability)))
        return np.array(result)

    def draw_first(self, n_draws: int, rngs: Sequence[Generator]) -> list[BinDraws]:
        """Draw a share of `n_draws` for each group if tables are shared: groups seldom need more draws."""
        each = zip(self.posteriors, rngs, strict=True) if self.shared else ()
        return [posterior.sample(max(n_draws // FIRST, 1), rng=rng) for posterior, rng in each]

    def draw(
        self, group: int, count: int, rng: Generator, first: Sequence[BinDraws] = ()
    ) -> tuple[Floats | None, Floats]:
        """Draw masses and accuracies, shape (count, n_used): those without pooling, or the prior's if it has no rows.

        Masses of a group without rows are None, for those of the pooled posterior. Draws in `first` are used first.
        """
        posterior, confidence = self.posteriors[group], self.confidence[group]
        enough = bool(first) and len(first[group]) >= count
        bins: BinDraws = first[group].part(slice(count)) if enough else posterior.sample(count, rng=rng)
        occupied = posterior.counts.occupied[self.used]
        if not occupied.any():
            return None, np.clip(confidence + bins.gap[:, self.used], 0.0, 1.0)
        return bins.mass[:, self.used], np.where(occupied, bins.accuracy[:, self.used], confidence)


@dataclass(frozen=True, eq=False)
class PooledDraws:
    """Joint draws of all groups."""

    mass: Floats  #: Masses of the bins with rows in some group, shape (n_groups, n_draws, n_used).
    accuracy: Floats  #: Accuracies of these bins, of the same shape.
    chosen: Chosen  #: Component of every group and centre of every draw.
    deviation: Floats  #: Intercepts and slopes, shape (n_groups, n_draws, 2).


@dataclass(frozen=True, eq=False)
class PooledPosterior:
    r"""Joint posterior of the accuracies and masses of many groups that borrow strength from each other.

    Parameters
    ----------
    bins : GroupBins
        Sums of the groups.
    centres : ndarray, shape (n_centres, n_used)
        Draws of the common curve: logit of the accuracy minus logit of the mean confidence.
    prior : PoolingPrior, default DEVIATING
        Constants of the prior.
    alone : Alone, optional
        Posteriors of the groups without pooling; needed if the prior has a component of groups alone, and only then.

    Raises
    ------
    ValueError
        If `alone` is missing, or is not used.

    Notes
    -----
    Group g has accuracies with logits :math:`\eta_{gb} = \mathrm{logit}\,\bar c_{gb} + \delta_b + a_g + b_g (x_{gb} -
    \bar x_g)`, where :math:`\delta` is a draw of the common curve, or 0 (exact calibration), and :math:`x =
    \mathrm{logit}\,\bar c`. Accuracies are :math:`\mathrm{expit}\,\eta_{gb}`, or vary around it as
    :math:`\mathrm{Beta}(\kappa h, \kappa (1 - h))` with :math:`\kappa = 1 / \tau^2 - 1`. The centre and the standard
    deviations of a, b and the residual form a component of a mixture over a fixed grid [1]_, whose weights all groups
    share; see `mixture`. If a group has another mean confidence than all rows in a bin, :math:`\delta_b` is shifted
    accordingly. Every draw of the common curve has the same number of draws: the groups do not change its posterior.

    A group may also be unlike all others. One component of the mixture is therefore the posterior of the group alone,
    with the marginal likelihood of its own rows: the data decide how often a group has this component, in which its
    draws are those without pooling, masses included.

    References
    ----------
    .. [1] M. Stephens (2017), "False discovery rates: a new deal", Biostatistics 18, 275-294.
    """

    bins: GroupBins
    centres: Floats
    prior: PoolingPrior = DEVIATING
    alone: Alone | None = None

    def __post_init__(self) -> None:
        if (self.alone is None) != (self.prior.alone == 0):
            raise ValueError("`alone` must be given if the prior has a component of groups alone, and only then.")

    @classmethod
    def of(
        cls,
        counts: Sequence[Counts],
        overall: Counts,
        bin_draws: BinDraws,
        prior: PoolingPrior = DEVIATING,
        alone: Sequence[AveragesModels] = (),
        *,
        shared: bool = False,
    ) -> "PooledPosterior":
        """Take draws of the curve of all rows as centres: one from each of equal parts, in the order of their ECE.

        `alone` holds the posterior of each group without pooling, if the prior has groups alone; `shared`: see `Alone`.
        """
        used = overall.occupied
        confidence = np.broadcast_to(bin_draws.confidence, bin_draws.accuracy.shape)[:, used]
        at = (2 * np.arange(CENTRES) + 1) * len(bin_draws) // (2 * CENTRES)
        chosen = np.argsort((bin_draws.weight * np.abs(bin_draws.gap)).sum(axis=1), kind="stable")[at]
        delta = logit(bin_draws.accuracy[chosen][:, used]) - logit(confidence[chosen])
        bins = GroupBins.of(counts, overall)
        return cls(bins, delta, prior, Alone(alone, used, bins.confidence, shared) if prior.alone else None)

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of the mixture."""
        return self.prior.components

    @cached_property
    def shares(self) -> Floats:
        """Posterior probability of every component for every group, shape (n_groups, n_components)."""
        return np.mean([each.shares() for each in self._mixtures], axis=0)

    @cached_property
    def shifts(self) -> Floats:
        """Shifts of the logits of the confidences by the common curve, shape (n_centres, n_groups, n_used)."""
        return self.bins.shifts(self.centres)

    @cached_property
    def _rows(self) -> Rows:
        """Rows of every group beside each centre, then around the diagonal."""
        bins, n_centres = self.bins, len(self.centres)
        tiled = bins.take(np.tile(np.arange(len(bins)), n_centres + 1))
        shifts = np.concatenate([self.shifts, np.zeros_like(self.shifts[:1])])
        return Rows(tiled.n, tiled.k, tiled.start + shifts.reshape(tiled.n.shape), tiled.lever)

    @cached_property
    def _fits(self) -> list[Deviations]:
        """Deviations under every component with a centre: of every group beside every centre, or of every group."""
        first = len(self.centres) * len(self.bins)
        around, diagonal = self._rows.take(slice(first)), self._rows.take(slice(first, None))
        return [deviations(around if c.centre == COMMON else diagonal, c[1:]) for c in self.prior.pooled]

    @cached_property
    def log_evidence(self) -> Floats:
        """Log marginal likelihoods, shape (n_centres, n_groups, n_components)."""
        shape = len(self.centres), len(self.bins)
        each = [fit.log_evidence for fit in self._fits] + ([] if self.alone is None else [self.alone.log_evidence])
        return np.stack([np.broadcast_to(values.reshape(-1, shape[1]), shape) for values in each], axis=2)

    @cached_property
    def _mixtures(self) -> list[Mixture]:
        """Posterior of the weights for every centre, with a fixed seed."""
        n_centres = len(self.centres)
        streams = np.random.default_rng(WEIGHTS_SEED).spawn(n_centres)
        each = zip(self.log_evidence, streams, strict=True)
        return [mixture(of, self.prior, rng, n_centres=n_centres) for of, rng in each]

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> PooledDraws:
        """Draw all groups jointly: draw i of all groups has the same draw of the common curve and the same weights.

        Masses and accuracies have the shape (n_groups, n_draws, n_used).

        Parameters
        ----------
        n_draws, rng
            As for `DirichletPosterior.sample`.
        """
        n_draws = _checks.whole_number("draws", n_draws)
        for_choice, for_deviations, for_accuracies, for_masses, for_alone = _checks.generator(rng).spawn(5)
        streams = for_alone.spawn(len(self.bins) if self.alone else 0)
        first = self.alone.draw_first(n_draws, streams) if self.alone else []
        chosen = self._choose(n_draws, for_choice)
        deviation = draw_deviations(self._rows, self.prior, self._fits, chosen, for_deviations)
        accuracy = draw_accuracies(self.bins, self.shifts, self.prior, chosen, deviation, for_accuracies)
        mass = draw_masses(self.bins, np.array(self.prior.precisions), n_draws, for_masses)
        if self.alone is not None:  # replace the draws in which a group is evaluated alone
            separate = np.array([c.centre == ALONE for c in self.components])[chosen.component]
            for group, stream in enumerate(streams):
                if count := int(separate[group].sum()):
                    masses, accuracy[group, separate[group]] = self.alone.draw(group, count, stream, first)
                    if masses is not None:
                        mass[group, separate[group]] = masses
        return PooledDraws(mass, accuracy, chosen, deviation)

    def _choose(self, n_draws: int, rng: Generator) -> Chosen:
        """Draw components, the same number of draws for every centre, in random order."""
        n_centres = len(self.centres)
        of = np.sort(np.resize(rng.permutation(n_centres), n_draws))
        sizes = np.bincount(of, minlength=n_centres).tolist()
        components = [each.draw(size, rng) for each, size in zip(self._mixtures, sizes, strict=True)]
        order = rng.permutation(n_draws)
        return Chosen(np.concatenate(components, axis=1)[:, order], of[order])


@dataclass(frozen=True, eq=False)
class GroupPosterior:
    """Posterior of one group under partial pooling; its draws are joint with those of the other groups.

    Parameters
    ----------
    counts : BinnedCounts
        Counts of the group.
    pooled : PooledPosterior
        Joint posterior of all groups.
    place : int
        Position of the group.
    used : ndarray of bool, shape (n_bins,)
        Bins with rows in some group.
    pooling : {"partial", "complete"}, default "partial"
        How the groups are pooled.
    prior : str, default ""
        The prior as text, for printing.
    """

    counts: Counts
    pooled: PooledPosterior
    place: int
    used: Bools
    pooling: str = "partial"
    prior: str = ""

    def __repr__(self) -> str:
        return f"GroupPosterior({self.counts!r}, one of {len(self.pooled.bins)} groups)"

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins of this group; the other groups are drawn jointly with it.

        Mass and accuracy have the shape (n_draws, n_bins), confidence (1, n_bins).

        Parameters
        ----------
        n_draws, rng
            As for `DirichletPosterior.sample`.
        """
        return self.of_draws(self.pooled.sample(n_draws, rng=rng))

    def of_draws(self, joint: PooledDraws) -> BinDraws:
        """Return the bins of this group among joint draws."""
        mass, accuracy = joint.mass[self.place], joint.accuracy[self.place]
        confidence = self.counts.bins.midpoints.copy()
        confidence[self.used] = self.pooled.bins.confidence[self.place]
        if not self.used.all():
            some = mass
            mass = np.zeros((len(some), len(self.used)))
            mass[:, self.used] = some
            accuracy, some = np.broadcast_to(confidence, mass.shape).copy(), accuracy
            accuracy[:, self.used] = some
        return BinDraws(mass, accuracy, confidence[None], self.used, mass)
