"""Posterior of the bins given labels of some rows and indirect evidence of the others, over parameters of the latter.

Given parameters nu, such as sensitivity and specificity of a judge, the evidence of a bin is replaced by a Beta kernel
(`kernels`). Counts with the kernel have a shrinkage posterior, which gives draws and the marginal likelihood of its
sub-models. The ratio of the evidence to the kernel at the draws corrects both: the prior cancels, so that the result
is exact up to Monte Carlo error. Values of nu come from a mixture of proposals and have importance weights.
"""

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, xlog1py, xlogy

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Indices
from bayescal._texts import text_of
from bayescal.draws import BinDraws
from bayescal.labels.evidence import TINY, Evidence, VerifiedCounts, kernels, log_free
from bayescal.labels.nuisance import JudgeRates, Proposal, at_mode, fitted, log_mixture, normalised
from bayescal.labels.sums import LabelCounts
from bayescal.posterior.shrinkage.independent.family import systematic
from bayescal.posterior.shrinkage.model import SamplerWarning, ShrinkagePosterior, compiled_form, compiled_form_pays
from bayescal.posterior.shrinkage.prior import EXACT, FAMILIES, ShrinkagePrior, alternatives

#: Values of nu from the table of checked rows, from true labels given the judge's, from exact calibration, and from
#: each round of adaptation, relative to their sum.
FROM_TABLE, FROM_VERIFIED, FROM_EXACT, ADAPTED = 6, 6, 8, (14, 12, 14)
#: Number of values of nu with compiled loops, and without them.
VALUES, VALUES_NOT_COMPILED = 240, 60
#: Draws of the bins per value of nu; and for a few known values, draws in all relative to those that are wanted.
NEAR, FACTOR = 160, 4
#: Share of the weights of nu that independent uniform accuracies determine, in place of the shrinkage model.
FREE = 0.5
CANDIDATES = 8  #: Candidates for each accuracy that is drawn without the shrinkage model.
#: Least effective number of values of nu, and least effective share of draws of a value with this much of the weight.
FEWEST_VALUES, LEAST_SHARE, MATTERS = 20, 0.05, 0.02


@dataclass(frozen=True, eq=False)
class Problem:
    """One classifier: counts, the evidence of rows that were not checked, and the prior of the shrinkage model."""

    counts: LabelCounts | VerifiedCounts
    evidence: Evidence
    prior: ShrinkagePrior

    def with_kernel(self, ones: Floats, zeros: Floats) -> ShrinkagePosterior:
        """Return the posterior in which a kernel replaces the evidence."""
        return ShrinkagePosterior(self.counts.with_kernel(ones, zeros), self.prior)

    def log_ratio(self, theta: Floats, nu: Floats, ones: Floats, zeros: Floats) -> Floats:
        """Return the log ratio of the evidence to the kernel in each bin; `theta` has shape (..., n_values, n_bins)."""
        theta = np.clip(theta, TINY, 1 - TINY)
        return self.evidence.log_likelihood(theta, nu) - xlogy(ones, theta) - xlog1py(zeros, -theta)


@dataclass(frozen=True, eq=False)
class Values:
    """Draws of one problem given several values of nu; arrays have one row per value."""

    nu: Floats
    ones: Floats
    zeros: Floats
    log_free: Floats  # log marginal likelihood under independent uniform accuracies, shape (n_values,)
    mass: Floats  # shape (n_values, n_near, n_bins)
    accuracy: Floats  # shape (n_values, n_near, n_bins)
    log_ratio: Floats  # log weights of the draws, shape (n_values, n_near)
    sub_model: Indices  # of each draw
    log_evidence: Floats  # log marginal likelihood of the evidence and the checked rows, shape (n_values,)
    log_exact: Floats  # that under exact calibration
    log_others: Floats  # that under the other sub-models

    @classmethod
    def solve(cls, problem: Problem, nu: Floats, near: int, compiled: bool, rng: Generator) -> "Values":
        """Solve the problem given each value of nu."""
        ones, zeros = kernels(problem.counts, problem.evidence, nu)
        generators, confidence = rng.spawn(len(nu)), problem.counts.confidence
        columns: list[tuple[Any, ...]] = []
        for i, generator in enumerate(generators):
            posterior: Any = problem.with_kernel(ones[i], zeros[i])
            posterior = compiled_form(posterior) if compiled else posterior
            draws, at = posterior.sample_all(near, rng=generator), (nu[i : i + 1], ones[i], zeros[i])
            log_ratio = problem.log_ratio(draws.bin_draws.accuracy, *at).sum(axis=-1)
            exact = posterior.log_evidence[EXACT] + problem.log_ratio(confidence[None], *at).sum()
            evidence = posterior.log_marginal_likelihood + logsumexp(log_ratio) - np.log(near)
            others = _log_others(posterior, draws.sub_model, log_ratio)
            bins = draws.bin_draws
            columns.append((bins.mass, bins.accuracy, log_ratio, draws.sub_model, evidence, exact, others))
        free = log_free(problem.counts, problem.evidence, nu, (ones, zeros))
        return cls(nu, ones, zeros, free, *(np.array(column) for column in zip(*columns, strict=True)))

    def __add__(self, other: "Values") -> "Values":
        both = ((getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return Values(*(np.concatenate(each) for each in both))

    @cached_property
    def draw_weights(self) -> Floats:
        """Weights of the draws given each value, which sum to 1, shape (n_values, n_near)."""
        return np.asarray(np.exp(self.log_ratio - logsumexp(self.log_ratio, axis=1, keepdims=True)))


def _log_others(posterior: ShrinkagePosterior, sub_model: Indices, log_ratio: Floats) -> float:
    """Return the log marginal likelihood of all sub-models but exact calibration, corrected by the ratio of draws."""
    names, top = list(posterior.probabilities), log_ratio.max()
    number = np.bincount(sub_model, minlength=len(names))
    total = np.bincount(sub_model, np.exp(log_ratio - top), len(names))
    overall = np.exp(log_ratio - top).mean()
    mean = np.divide(total, number, out=np.full(len(names), overall), where=number > 0)
    prior = posterior.taking_part
    weights = alternatives(prior.families, prior.pooled)
    used = [i for i, name in enumerate(names) if name in weights]
    if not used:
        return -np.inf
    each = [posterior.log_evidence[names[i]] + np.log(weights[names[i]]) + np.log(mean[i]) for i in used]
    return float(logsumexp(each) + top)


@dataclass(frozen=True, eq=False)
class Solved:
    """Problems with the same nu, solved for several values of it."""

    problems: tuple[Problem, ...]
    of: tuple[Values, ...]
    log_shrunk: Floats  # log weights of the values under the shrinkage model, shape (n_values,)
    log_free: Floats  # those with free accuracies
    learnt: bool  # whether data determine the weights
    free: float = FREE

    @property
    def nu(self) -> Floats:
        """The values of nu."""
        return self.of[0].nu

    @cached_property
    def free_weights(self) -> Floats:
        """Weights of the values with free accuracies."""
        return normalised(self.log_free)

    @cached_property
    def weights(self) -> Floats:
        """Weights of the values: a linear pool of both."""
        return (1 - self.free) * normalised(self.log_shrunk) + self.free * self.free_weights

    @property
    def effective_values(self) -> float:
        """Effective number of values of nu."""
        return float(1 / (self.weights**2).sum())

    @property
    def least_share(self) -> float:
        """Smallest effective share of the draws given a value of nu, over values with at least 2 % of the weight."""
        matters = self.weights >= min(MATTERS, self.weights.max())
        shares = [(1 / (each.draw_weights[matters] ** 2).sum(axis=1)).min() for each in self.of]
        return float(min(shares) / self.of[0].log_ratio.shape[1])

    def warn_if_poor(self) -> None:
        """Warn if few values of nu, or few draws given one of them, have nearly all weight."""
        values, share = self.effective_values, self.least_share
        few = self.learnt and values < FEWEST_VALUES
        if few or share < LEAST_SHARE:
            part = f"{values:.0f} of {len(self.weights)} values of the error rates" if few else ""
            inside = f"{100 * share:.2g} % of the draws given their values" if share < LEAST_SHARE else ""
            warnings.warn(
                text_of("posterior of a judge is uncertain", grounds=" and on ".join(filter(None, (part, inside)))),
                SamplerWarning,
                skip_file_prefixes=_checks.PACKAGE,
            )


def _solve_all(
    problems: Sequence[Problem], nu: Floats, near: int, compiled: bool, rng: Generator, same_rows: bool
) -> tuple[Values, ...]:
    """Solve each problem given values of nu; with `same_rows`, all have the same random numbers."""
    shared = rng.spawn(1)[0] if same_rows else rng
    sources = (deepcopy(shared) if same_rows else shared for _ in problems)
    return tuple(Values.solve(each, nu, near, compiled, g) for each, g in zip(problems, sources, strict=True))


def solve_known(problems: Sequence[Problem], known: Floats, near: int, rng: Any, *, same_rows: bool = False) -> Solved:
    """Solve problems for known values of nu with equal weights, with `near` draws of each value."""
    compiled = compiled_form_pays(VALUES) and len(known) > 1
    solved = _solve_all(problems, known, near, compiled, _checks.generator(rng), same_rows)
    even = np.zeros(len(known))
    return Solved(tuple(problems), solved, even, even, learnt=False)


def solve(
    problems: Sequence[Problem],
    nuisance: JudgeRates,
    *,
    known: Floats | None = None,
    rng: Any = None,
    values: int | None = None,
    draws: int = 4000,
    free: float = FREE,
    same_rows: bool = False,
) -> Solved:
    """Solve problems for values of nu that have weights, or for `known` values with equal weights.

    Proposals of values are the checked rows in two forms, a t distribution around the mode under exact calibration, and
    three t distributions with the moments of the values so far: weighted under the shrinkage model, with free
    accuracies, and again under the shrinkage model. Weights are relative to the mixture of all (balance heuristic).

    The marginal likelihoods of problems are multiplied. With `same_rows`, the problems are several predictions of the
    same judged rows, which count once: their geometric mean is taken, and all problems have the same random numbers.
    """
    generator, compiled = _checks.generator(rng), compiled_form_pays(VALUES)
    power = 1 / len(problems) if same_rows else 1.0
    if known is not None:
        return solve_known(problems, known, max(FACTOR * draws // len(known), NEAR), generator, same_rows=same_rows)
    total = (VALUES if compiled else VALUES_NOT_COMPILED) if values is None else values
    parts = np.array([FROM_TABLE, FROM_VERIFIED, FROM_EXACT, *ADAPTED])
    of_table, verified, exact, *adapted = (parts * total // parts.sum()).tolist()
    eta, prior, mixture = np.empty((0, len(nuisance.start))), np.empty(0), list[tuple[int, Proposal]]()
    of: tuple[Values, ...] = ()

    def add(size: int, proposal: Proposal) -> None:
        nonlocal eta, of, prior
        new = proposal.draw(size, generator)
        inside = nuisance.log_density(new)
        # values outside the constraint have weight 0 and are not solved
        kept = np.isfinite(inside)
        mixture.append((size, proposal))
        if kept.any():
            nu = nuisance.rates(new[kept])
            more = _solve_all(problems, nu, NEAR, compiled, generator, same_rows)
            of = tuple(a + b for a, b in zip(of, more, strict=True)) if of else more
            eta, prior = np.concatenate([eta, new[kept]]), np.concatenate([prior, inside[kept]])

    def weights(name: str) -> Floats:
        evidences: list[Floats] = [getattr(each, name) for each in of]
        return np.asarray(prior + power * np.sum(evidences, axis=0) - log_mixture(mixture, eta))

    def exactly(eta: Floats) -> Floats:
        rates = nuisance.rates(eta)
        likelihoods = [each.evidence.log_likelihood(each.counts.confidence, rates).sum(axis=-1) for each in problems]
        return np.asarray(nuisance.log_density(eta) + power * np.sum(likelihoods, axis=0))

    add(of_table, nuisance)
    add(verified, nuisance.verified)
    add(exact, at_mode(exactly, nuisance.start))
    for size, name in zip(adapted, ("log_evidence", "log_free", "log_evidence"), strict=True):
        add(size, fitted(eta, weights(name)))
    return Solved(tuple(problems), of, weights("log_evidence"), weights("log_free"), learnt=True, free=free)


@dataclass(frozen=True, eq=False)
class LabelPosterior:
    """Posterior of the bins of problem number `place` of those that were solved together.

    Draws of several problems with the same `rng` are joint: they have the same value of nu. For rows in clusters,
    `of_total` solves the problem with the design effect of the total in each bin.
    """

    solved: Solved
    place: int = 0
    of_total: Callable[[], Solved] | None = None

    @cached_property
    def _total(self) -> "LabelPosterior | None":
        return None if self.of_total is None else LabelPosterior(self.of_total())

    @property
    def with_total_effect(self) -> "LabelPosterior":
        """The posterior with the design effect of the total; this one without clusters."""
        return self._total or self

    @property
    def _problem(self) -> Problem:
        return self.solved.problems[self.place]

    @property
    def _values(self) -> Values:
        return self.solved.of[self.place]

    @cached_property
    def counts(self) -> LabelCounts | VerifiedCounts:
        """Counts with the mean kernel over the values of nu."""
        weights, values = self.solved.weights, self._values
        return self._problem.counts.with_kernel(weights @ values.ones, weights @ values.zeros)

    @property
    def prior(self) -> str:
        """The prior as text."""
        return str(self._problem.prior)

    def __repr__(self) -> str:
        return f"LabelPosterior({self.counts!r}, {len(self.solved.weights)} values of the error rates)"

    def _chosen(self, n_draws: int, rng: Any) -> Indices:
        """Return numbers of draws, which run over all values of nu, by systematic resampling and in random order."""
        generator = _checks.generator(rng)
        weight = self.solved.weights[:, None] * self._values.draw_weights
        return systematic(weight.ravel(), _checks.whole_number("draws", n_draws), generator)

    def value_of(self, n_draws: int, rng: Any) -> Indices:
        """Return the number of the value of nu of each draw that `sample` returns for the same `rng`."""
        return np.asarray(self._chosen(n_draws, rng) // self._values.log_ratio.shape[1])

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins; empty bins have mass 0."""
        chosen, values = self._chosen(n_draws, rng), self._values
        mass, accuracy = (each.reshape(-1, each.shape[-1])[chosen] for each in (values.mass, values.accuracy))
        counts = self._problem.counts
        return BinDraws(mass, accuracy, counts.confidence[None], counts.occupied, mass)

    def sample_free(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        r"""Draw the bins with accuracies that are not shrunk towards each other.

        The prior of each accuracy is :math:`\mathrm{Beta}(\mu_b, 1 - \mu_b)` with the mean confidence :math:`\mu_b`,
        one further row per bin. Values of nu have their weights with free accuracies.
        """
        generator, problem, values = _checks.generator(rng), self._problem, self._values
        part = systematic(self.solved.free_weights, n_draws, generator)
        mean, checked = np.clip(problem.counts.confidence, TINY, 1 - TINY), problem.counts.checked
        ones, zeros, n, k = values.ones[part], values.zeros[part], checked.effective_n, checked.effective_k
        shape = (CANDIDATES, *ones.shape)
        theta = generator.beta(k + ones + mean, n - k + zeros + 1 - mean, shape)
        # several candidates, of which one is chosen with the ratio of the evidence to the kernel
        noise = generator.gumbel(size=shape)
        best = (problem.log_ratio(theta, values.nu[part], ones, zeros) + noise).argmax(axis=0)
        accuracy = np.take_along_axis(theta, best[None], axis=0)[0]
        alpha = problem.with_kernel(values.ones[0], values.zeros[0]).mass_parameters
        mass = generator.standard_gamma(alpha, ones.shape)
        mass /= mass.sum(axis=1, keepdims=True)
        occupied = problem.counts.occupied
        return BinDraws(mass, accuracy, problem.counts.confidence[None], occupied, mass)

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model, over all values of nu."""
        names = list(self._problem.with_kernel(self._values.ones[0], self._values.zeros[0]).probabilities)
        weight = self.solved.weights[:, None] * self._values.draw_weights
        total = np.bincount(self._values.sub_model.ravel(), weight.ravel(), len(names))
        return dict(zip(names, (total / total.sum()).tolist(), strict=True))

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family."""
        groups = {family: [n for n in names if n in self.probabilities] for family, names in FAMILIES.items()}
        return {family: {n: self.probabilities[n] for n in names} for family, names in groups.items() if names}

    @property
    def all_saturated(self) -> bool:
        """Whether all bins are saturated."""
        return self._problem.with_kernel(self._values.ones[0], self._values.zeros[0]).all_saturated

    @property
    def prior_odds(self) -> float:
        """Prior odds of exact calibration."""
        return self._problem.prior.prior_odds

    @property
    def log_bayes_factor(self) -> float:
        """Log Bayes factor of exact calibration against the other sub-models, averaged over the prior of nu."""
        values = self._values
        other = self.solved.log_shrunk - values.log_evidence  # the prior of nu, relative to the proposals
        return float(logsumexp(other + values.log_exact) - logsumexp(other + values.log_others))

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""
        return float(np.exp(min(self.log_bayes_factor, 700.0)))

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration."""
        return float(expit(self.log_bayes_factor + np.log(self.prior_odds)))
