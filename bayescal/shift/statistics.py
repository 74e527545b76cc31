"""Whether cells of a target differ from those of a source, and by how much: a posterior, and tests of the causes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Ints
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior, dirichlet
from bayescal.shift.counts import ShiftCounts

#: Expected total variations of the prior, each as probable as no difference.
SCALES = (0.64, 0.32, 0.16, 0.08, 0.04, 0.02, 0.01)
PROPOSALS = 1000  #: Proposals of the common distribution for each scale.
TINY = 1e-300  #: Least share of a cell, so that logarithms are finite.
STEPS = 100  #: Steps of expectation maximisation.
HELD = 2_000_000  #: Entries of (replicates, classes, cells) that are fitted at a time.
ROUNDING = 1e-9  #: Statistics that differ by less count as equal.


@dataclass(frozen=True, eq=False)
class CellShiftPosterior:
    r"""Posterior of the distributions of `source` and `target` over cells, given rows of shape (n_cells,).

    Both distributions vary around a common one, m, by an amount that is learnt from the data:

    .. math::
        m \sim \mathrm{Dirichlet}(1/J), \quad q_s, q_t \mid m \sim \mathrm{Dirichlet}(c m), \quad
        s \sim \mathrm{Multinomial}(q_s), \quad t \sim \mathrm{Multinomial}(q_t).

    The concentration c takes eight values with equal prior probabilities: no difference, :math:`c = \infty`, and those
    for which the total variation of :math:`q_s` and :math:`q_t` is expected to be 0.01, 0.02, ..., 0.64. Given m, the
    distributions integrate out [1]_, and the marginal likelihood of each c is estimated by importance sampling of m.

    .. [1] I. J. Good (1976), "On the application of symmetric Dirichlet distributions and their mixtures to contingency
       tables", Annals of Statistics 4, 1159-1189.
    """

    source: Ints
    target: Ints

    @property
    def alpha(self) -> float:
        """Dirichlet parameter of each cell of the common distribution: one row in total."""
        return 1 / len(self.source)

    @cached_property
    def concentrations(self) -> Floats:
        r"""Concentrations c of finite differences, shape (7,).

        The total variation of two distributions over J cells of equal shares has about the expectation
        :math:`\sqrt{(J - 1) / (\pi c)}`.
        """
        return (len(self.source) - 1) / (np.pi * np.square(SCALES))

    def log_evidence(self, rng: Any = None) -> Floats:
        """Log marginal likelihood of each concentration and, last, of no difference; shape (8,)."""
        return np.append(self._proposed(_checks.generator(rng))[1], self._without_difference())

    def sample(self, n_draws: int, *, rng: Any = None) -> Floats:
        """Draw both distributions, shape (n_draws, 2, n_cells); they are equal in draws without a difference."""
        generator = _checks.generator(rng)
        proposals, evidence, weights = self._proposed(generator)
        evidence = np.append(evidence, self._without_difference())
        probability = np.exp(evidence - evidence.max())
        chosen = generator.choice(len(evidence), n_draws, p=probability / probability.sum())
        rows = np.stack([self.source, self.target])
        # no difference: both are one distribution, given all rows
        same = dirichlet(np.broadcast_to(rows.sum(axis=0) + self.alpha, (n_draws, rows.shape[1])), generator)
        distributions = np.repeat(same[:, None], 2, axis=1)
        for i, c in enumerate(self.concentrations):
            places = np.flatnonzero(chosen == i)
            common = proposals[i, generator.choice(PROPOSALS, len(places), p=weights[i])]
            distributions[places] = dirichlet(c * common[:, None] + rows, generator)
        return distributions

    def _proposed(self, rng: Generator) -> tuple[Floats, Floats, Floats]:
        """Propose common distributions for each concentration: (proposals, log evidence, weights that sum to 1)."""
        c = self.concentrations[:, None]
        # rows vary more than those of a multinomial: they are worth c / (c + rows) of it for the common distribution
        worth = self.alpha + np.zeros((len(c), len(self.source)))
        for rows in (self.source, self.target):
            worth += rows * (c / (c + rows.sum()))
        common = dirichlet(np.broadcast_to(worth[:, None], (len(c), PROPOSALS, len(self.source))), rng)
        log_weight = _log_density(common, np.full(len(self.source), self.alpha)) - _log_density(common, worth[:, None])
        for rows in (self.source, self.target):
            log_weight += _log_marginal(rows, c[..., None] * common)
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        total = weight.sum(axis=1, keepdims=True)
        return common, (top + np.log(total / PROPOSALS))[:, 0], weight / total

    def _without_difference(self) -> float:
        both = np.full(len(self.source), self.alpha)
        return float(_log_marginal(self.source + self.target, both))


def total_variation(distributions: Floats) -> Floats:
    """Return half of the summed absolute differences of pairs of distributions, shape (..., 2, n_cells)."""
    return np.asarray(np.abs(np.diff(distributions, axis=-2)).sum(axis=(-2, -1)) / 2)


def _log_marginal(rows: Ints, parameters: Floats) -> Floats:
    """Log probability of a sequence of rows under a Dirichlet-multinomial distribution."""
    total = parameters.sum(axis=-1)
    cells = gammaln(parameters + rows) - gammaln(np.maximum(parameters, TINY))
    return np.asarray(gammaln(total) - gammaln(total + rows.sum()) + cells.sum(axis=-1))


def _log_density(values: Floats, parameters: Floats) -> Floats:
    """Log density of a Dirichlet distribution."""
    cells = (parameters - 1) * np.log(values) - gammaln(parameters)
    return np.asarray(gammaln(parameters.sum(axis=-1)) + cells.sum(axis=-1))


@dataclass(frozen=True)
class ShiftTest:
    """A test on rows by cell.

    Parameters
    ----------
    statistic : float
        Twice the logarithm of the likelihood ratio of any distribution of the target against that of the hypothesis.
    null_mean : float
        Its mean under the hypothesis.
    p_value : float
        Share of simulated statistics that are at least as large, the observed one included.
    """

    statistic: float
    null_mean: float
    p_value: float

    @classmethod
    def against(cls, statistic: float, simulated: Floats) -> "ShiftTest":
        """Compare a statistic with simulated ones."""
        larger = int(np.count_nonzero(simulated >= statistic - ROUNDING))
        return cls(statistic, float(simulated.mean()), (1 + larger) / (1 + len(simulated)))


def no_shift_test(source: Ints, target: Ints, n_simulated: int, *, rng: Any = None) -> ShiftTest:
    """Test whether source and target, shape (n_cells,), have one distribution over cells, by permutations of the rows.

    If rows are exchangeable, the target rows are a sample of all rows without replacement (Lehmann and Romano 2005,
    Testing Statistical Hypotheses, 3rd edition, section 15.2). The P-value is exact: under the hypothesis it is at most
    a with probability at most a.
    """
    both = source + target
    permuted = _checks.generator(rng).multivariate_hypergeometric(
        both, int(target.sum()), size=n_simulated, method="marginals"
    )
    simulated = _likelihood_ratio(both - permuted, permuted)
    return ShiftTest.against(float(_likelihood_ratio(source, target)), simulated)


def _likelihood_ratio(source: Ints, target: Ints) -> Floats:
    both = source + target
    separate = sum(xlogy(rows, rows / rows.sum(axis=-1, keepdims=True)) for rows in (source, target))
    pooled = xlogy(both, both / both.sum(axis=-1, keepdims=True))
    return np.asarray(2 * (separate - pooled).sum(axis=-1))


def label_shift_test(counts: ShiftCounts, n_simulated: int, *, rng: Any = None) -> ShiftTest:
    """Test whether different class frequencies alone explain the cells of the target; needs more cells than classes.

    The statistic compares the likelihood of any distribution of the target with the maximum under label shift, where
    the class frequencies of the target and the cells of each class are fitted to the rows of both. It is a posterior
    predictive check (Gelman, Meng and Stern 1996, Statistica Sinica 6, 733-807): source and target are replicated, each
    time with other class frequencies and cells from their posterior under label shift (`ClassPriorPosterior`), and the
    model is fitted to each replicate. The distribution of a likelihood ratio hardly depends on the parameters, so that
    the P-value is nearly uniform under label shift (Robins, van der Vaart and Ventura 2000, Journal of the American
    Statistical Association 95, 1143-1156). With parameters that are not fitted to each replicate, P-values would be too
    large. Data and replicates have the same number of steps of expectation maximisation, so that these need not
    converge.
    """
    generator = _checks.generator(rng)
    statistic = _beyond_label_shift(counts.source[None], counts.target[None])[0]
    simulated = np.empty(n_simulated)
    step = max(HELD // counts.source.size, 1)
    for start in range(0, n_simulated, step):
        part = slice(start, min(start + step, n_simulated))
        simulated[part] = _beyond_label_shift(*_replicates(counts, part.stop - part.start, generator))
    return ShiftTest.against(float(statistic), simulated)


def _replicates(counts: ShiftCounts, n: int, rng: Generator) -> tuple[Ints, Ints]:
    """Replicate source and target under label shift: shapes (n, n_classes, n_cells) and (n, n_cells)."""
    frequencies, cells = ClassPriorPosterior(counts).sample_all(n, rng=rng)
    mixed = np.einsum("rk,rkj->rj", frequencies, cells)
    source = rng.multinomial(counts.by_class, cells / cells.sum(axis=2, keepdims=True))
    return source, rng.multinomial(counts.n_target, mixed / mixed.sum(axis=1, keepdims=True))


def _beyond_label_shift(source: Ints, target: Ints) -> Floats:
    """Twice the log likelihood ratio of any target against label shift, for each of several data sets."""
    class_rows, target_rows = source.sum(axis=2, keepdims=True), target.sum(axis=1, keepdims=True)
    n_classes, n_cells = source.shape[1:]
    cells = (source + 1 / n_cells) / (class_rows + 1)
    frequency = np.full(source.shape[:2], 1 / n_classes)
    for _ in range(STEPS):
        joint = frequency[:, :, None] * cells
        joint *= (target / np.maximum(joint.sum(axis=1), TINY))[:, None]
        frequency = joint.sum(axis=2) / target_rows
        joint += source
        cells = joint / np.maximum(joint.sum(axis=2, keepdims=True), TINY)
    mixed = np.einsum("rk,rkj->rj", frequency, cells)
    any_target = xlogy(source, source / class_rows).sum(axis=(1, 2)) + xlogy(target, target / target_rows).sum(axis=1)
    fitted = xlogy(source, np.maximum(cells, TINY)).sum(axis=(1, 2))
    fitted += xlogy(target, np.maximum(mixed, TINY)).sum(axis=1)
    return np.asarray(2 * (any_target - fitted))
