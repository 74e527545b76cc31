"""Class frequencies of a target without labels, from rows by cell; drawn by short parallel chains."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from bayescal import _checks
from bayescal._arrays import Array, Floats, Generator, Indices, Ints
from bayescal._loops import in_threads
from bayescal.shift import two_classes
from bayescal.shift.counts import ShiftCounts

ALPHA = 1.0  #: Dirichlet parameter of the class frequencies: uniform.
#: Largest Dirichlet parameter of a cell, and of all cells of a class.
CELL_ALPHA, CELL_ROWS = 0.5, 3.0
#: Most steps of expectation maximisation, those before a chain of several classes, and the change at which steps end.
STEPS, FIRST_STEPS, CHANGE = 40, 10, 1e-8
#: Sweeps of chains of several classes in correlation lengths of the cells; half as many are enough with as many cells
#: as classes, unless there are more rows of the target per labelled row than LARGER. A remark states if the limit of
#: the sweeps, for problems with few and with many entries of C, is below MOST_LENGTHS.
LENGTHS, LARGER, MOST_LENGTHS, MOST_SWEEPS, MOST_SWEEPS_OF_MANY, BUDGET = 4, 1.2, 8, 600, 120, 16_000
#: Before chains of two classes, expectation maximisation ends when no frequency changes by more than this value divided
#: by the square root of the number of target rows.
NEARLY = 0.01
#: Entries of (chains, classes, cells) that are held at a time, for the second-level cache, and fewest chains.
HELD, LEAST_CHAINS = 50_000, 100
FEWEST_MOVES = 20  #: Least number of pairs of classes between which the frequencies move in a sweep.
OUTSIDE = 5.0  #: Largest distance of the mean of a truncated Normal proposal from its interval, in standard deviations.
LEAST_CURVATURE = 1e-6  #: Smallest curvature of the likelihood along a line between two classes.
TINY = 1e-300  #: Least share of a class or cell, so that logarithms and ratios are finite.
RELEVANT = 1e-9  #: Smaller eigenvalues and squared entries of eigenvectors are rounding errors.


@dataclass(frozen=True, eq=False)
class ClassPriorPosterior:
    r"""Posterior of the class frequencies of a target, given rows by class and cell.

    With K classes and J cells, class k has the distribution :math:`C_k \sim \mathrm{Dirichlet}(\min(1/2, 3/J))` over
    cells, and

    .. math::
        s_k \sim \mathrm{Multinomial}(n_k, C_k), \quad \pi \sim \mathrm{Dirichlet}(1), \quad
        t \sim \mathrm{Multinomial}\left(m, \textstyle\sum_k \pi_k C_k\right).

    Each draw is the last state of a chain of its own, so that draws are independent. A chain starts with a draw of C
    given the source and probable :math:`\pi` given that C [2]_. Given the unknown classes of the target rows, all is
    conjugate: a sweep draws these classes, :math:`\pi` and C in turn, by data augmentation [1]_. It then moves
    :math:`\pi` for given C along lines between two classes: between classes that the cells hardly separate, and between
    random pairs. Along a line, Metropolis-Hastings proposals are from the truncated Normal with the slope and the
    curvature of the likelihood. Without these moves, chains would be slow if cells contain little information about the
    classes. They are slow if the target has many times as many rows as the source. For chains of two classes, see the
    module `bayescal.shift.two_classes`.

    .. [1] M. A. Tanner and W. H. Wong (1987), "The calculation of posterior distributions by data augmentation",
       Journal of the American Statistical Association 82, 528-540.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 21-41.
    """

    counts: ShiftCounts

    @property
    def cell_alpha(self) -> float:
        """Dirichlet parameter of the cells of a class: at most half a row per cell, and three rows in total."""
        return min(CELL_ALPHA, CELL_ROWS / len(self.counts.cells))

    @cached_property
    def _cell_parameters(self) -> Floats:
        """Parameters of the Dirichlet posterior of C given the source, shape (n_classes, n_cells)."""
        return self.counts.source.astype(np.float64) + self.cell_alpha

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """Mean of C given the source, and the most probable class frequencies given it."""
        cells: Floats = self._cell_parameters / self._cell_parameters.sum(axis=1, keepdims=True)
        return most_probable(cells, self.counts.target, ALPHA, steps=10 * STEPS), cells

    @cached_property
    def information(self) -> Floats:
        """Fisher information about the class frequencies per target row, relative to rows with labels.

        Shape (n_classes, n_classes): a symmetric matrix with eigenvalues in [0, 1], one of which is 1 because
        frequencies add up to 1. It is the identity if each class has cells of its own.
        """
        pi, cells = self._expected
        joint = pi[:, None] * cells
        total = joint.sum(axis=0)
        scaled = joint / np.sqrt(np.maximum(pi[:, None] * total, TINY))
        return np.asarray(scaled @ scaled.T)

    @property
    def worth(self) -> Floats:
        """Labelled rows of the target that carry as much information as one unlabelled row, shape (n_classes,).

        For each class, it is the variance of the frequency if the classes of the target rows were observed, divided by
        the variance if only their cells are, with known C. It is 1 if cells determine the class; 0 if they contain no
        information about it.
        """
        return worth_of(self.information, self._expected[0])

    @property
    def sweeps(self) -> int:
        """Sweeps of each chain: more if the target is larger than the source.

        Given the frequencies, successive sweeps of the cells of a class with n labelled rows and m expected rows of the
        target have the correlation m / (n + m), and so the length 1 + m / n. For two classes, see `two_classes`.
        """
        if self._two:
            expected = self.counts.n_target * self._expected[0]
            return two_classes.sweeps_for(self.counts.by_class, expected, float(self.worth[1]))
        if self.slow:
            return self.most_sweeps
        (n_classes, n_cells), (of_all, of_class) = self.counts.source.shape, self._ratios
        ratio = max(of_all, of_class / 2)
        return int(np.ceil((LENGTHS if n_cells > n_classes or ratio > LARGER else LENGTHS / 2) * (1 + ratio)))

    @property
    def _ratios(self) -> tuple[float, float]:
        """Rows of the target per labelled row: of all rows, and the largest one of a class."""
        expected, labelled = self.counts.n_target * self._expected[0], np.maximum(self.counts.by_class, 1)
        return float(expected.sum() / labelled.sum()), float((expected / labelled).max())

    @property
    def most_sweeps(self) -> int:
        """Limit of the sweeps with more than two classes."""
        return int(np.clip(BUDGET // self.counts.source.size, MOST_SWEEPS_OF_MANY, MOST_SWEEPS))

    @property
    def slow(self) -> str:
        """Reason why chains may not have reached the posterior; empty if none is known."""
        of_all, of_class = self._ratios
        if self._two or MOST_LENGTHS * (1 + max(of_all, of_class)) <= self.most_sweeps:
            return ""
        if of_class <= 2 * of_all:
            return f"the target has {of_all:.3g} times as many rows as the source"
        return f"the target has about {of_class:.3g} rows per labelled row of a class"

    @property
    def _two(self) -> bool:
        return len(self.counts.source) == 2

    def sample(self, n_draws: int = 1000, *, rng: Any = None) -> Floats:
        """Draw the class frequencies, shape (n_draws, n_classes)."""
        return np.concatenate([pi for pi, _ in self._blocks(n_draws, rng)])

    def sample_all(self, n_draws: int = 1000, *, rng: Any = None) -> tuple[Floats, Floats]:
        """Draw the class frequencies, and the cells of each class, shape (n_draws, n_classes, n_cells)."""
        pi, cells = zip(*self._blocks(n_draws, rng), strict=True)
        return np.concatenate(pi), np.concatenate(cells)

    def _blocks(self, n_draws: int, rng: Any) -> Iterator[tuple[Floats, Floats]]:
        step = max(HELD // self.counts.source.size, LEAST_CHAINS)
        chains = np.diff(np.append(np.arange(0, n_draws, step), n_draws)).tolist()
        generators = _checks.generator(rng).spawn(len(chains))  # so that draws do not depend on the number of threads
        return in_threads(lambda i: self._chains(chains[i], generators[i]), range(len(chains)))

    def _chains(self, chains: int, rng: Generator) -> tuple[Floats, Floats]:
        target = self.counts.target
        parameters = self._cell_parameters
        cells = dirichlet(np.broadcast_to(parameters, (chains, *parameters.shape)), rng)
        if not self.counts.n_target:
            return dirichlet(np.full((chains, len(parameters)), ALPHA), rng), cells
        if self._two:
            return self._chains_of_two(cells, rng)
        pi = self._moved(most_probable(cells, target, ALPHA, FIRST_STEPS), cells, rng)
        for _ in range(self.sweeps):
            classes = classes_of(target, pi[:, :, None] * cells, rng)
            cells = dirichlet(parameters + classes, rng)
            pi = self._moved(dirichlet(ALPHA + np.einsum("nkj->nk", classes), rng), cells, rng)
        return pi, cells

    @cached_property
    def _nearest(self) -> Indices:
        """The class that the cells separate least from each class."""
        pi, cells = self._expected
        of_two = (cells / np.maximum(pi @ cells, TINY)) @ cells.T
        apart = np.diag(of_two)[:, None] + np.diag(of_two) - 2 * of_two
        np.fill_diagonal(apart, np.inf)
        return np.asarray(apart.argmin(axis=1))

    def _moved(self, pi: Floats, cells: Floats, rng: Generator) -> Floats:
        """Move the class frequencies between half of the classes and their nearest ones, and between random pairs."""
        mixed = np.einsum("nk,nkj->nj", pi, cells)
        for _ in range(-(-FEWEST_MOVES // len(self._nearest))):
            order = rng.permutation(len(self._nearest))
            half = order[::2]
            for k, other in (*zip(half, self._nearest[half], strict=True), *zip(order[1::2], half, strict=False)):
                apart = cells[:, k] - cells[:, other]
                step, mixed = between(pi[:, k], pi[:, other], apart, mixed, self.counts.target, rng)
                pi[:, k] += step
                pi[:, other] -= step
        return np.asarray(pi / pi.sum(axis=1, keepdims=True))

    def _chains_of_two(self, cells: Floats, rng: Generator) -> tuple[Floats, Floats]:
        target, n = self.counts.target, self.counts.n_target
        pi = most_probable(cells, target, change=NEARLY / np.sqrt(n))
        mean = self._expected[0][1]
        sd = np.sqrt(mean * (1 - mean) / max(n * self.worth[1], 1.0))
        return two_classes.swept(pi, cells, self._cell_parameters, target, sd, self.sweeps, rng)


def worth_of(information: Floats, pi: Floats) -> Floats:
    """Return `ClassPriorPosterior.worth` for an information matrix and class frequencies."""
    values, vectors = np.linalg.eigh(information)
    squares = vectors**2
    spread = np.where(squares > RELEVANT, squares / np.maximum(values, RELEVANT), 0.0).sum(axis=1)
    return np.asarray((1 - pi) / np.maximum(spread - pi, 1 - pi))


def most_probable(
    cells: Floats, target: Array, alpha: float = 1.0, steps: int = STEPS, change: float = CHANGE
) -> Floats:
    """Approximate the most probable class frequencies, shape (..., n_classes), by expectation maximisation.

    `cells` has shape (..., n_classes, n_cells), the distribution of each class over cells, and `target`, shape
    (n_cells,), the rows of the target. Each step adds the Dirichlet parameter `alpha` to the expected rows of a class.
    Steps end when no frequency changes by more than `change`.
    """
    n_classes = cells.shape[-2]
    pi = np.full(cells.shape[:-1], 1 / n_classes)
    total = target.sum() + n_classes * alpha
    for _ in range(steps):
        mixed = np.einsum("...k,...kj->...j", pi, cells)
        ratio = target / np.maximum(mixed, TINY)
        before, pi = pi, (pi * np.einsum("...kj,...j->...k", cells, ratio) + alpha) / total
        if np.abs(pi - before).max() <= change:
            break
    return pi


def dirichlet(parameters: Array, rng: Generator) -> Floats:
    """Draw from Dirichlet distributions along the last axis."""
    shares = np.maximum(rng.standard_gamma(parameters), TINY)
    shares /= np.einsum("...j->...", shares)[..., None]  # several times as fast as `sum` along a short axis
    return shares


def between(
    one: Floats, other: Floats, apart: Floats, mixed: Floats, target: Ints, rng: Generator
) -> tuple[Floats, Floats]:
    """Draw what moves to one class from another one, shape (n_chains,); also the new distributions over cells.

    `apart`, shape (n_chains, n_cells), is the difference of their distributions, and `mixed` that of the target.
    """

    def expanded(mixed: Floats) -> tuple[Floats, Floats]:
        ratio = apart / mixed
        curvature = np.einsum("nj,j->n", ratio**2, target) + LEAST_CURVATURE
        return np.einsum("nj,j->n", ratio, target) / curvature, 1 / np.sqrt(curvature)

    step, forth = truncated_normal(*expanded(mixed), -one, other, rng.random(len(one)))
    new = np.maximum(mixed + step[:, None] * apart, TINY)
    _, back = truncated_normal(*expanded(new), -one - step, other - step, at=-step)
    height = np.einsum("nj,j->n", np.log(new / mixed), target) + back - forth
    taken = np.log(rng.random(len(one))) < height
    # neither frequency becomes negative by rounding
    return np.clip(np.where(taken, step, 0.0), -one, other), np.where(taken[:, None], new, mixed)


def truncated_normal(
    mean: Floats, sd: Floats, low: Floats, high: Floats, uniform: Floats | None = None, at: Floats | None = None
) -> tuple[Floats, Floats]:
    """Draw from Normals between `low` and `high` by uniform numbers, or evaluate `at`; also the log densities."""
    mean = np.clip(mean, low - OUTSIDE * sd, high + OUTSIDE * sd)
    a, b = (low - mean) / sd, (high - mean) / sd
    mirrored = a + b < 0  # probabilities of the upper tail are accurate
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    above = ndtr(-b)
    mass = np.maximum(ndtr(-a) - above, TINY)
    if uniform is None:
        z = (np.asarray(at) - mean) / sd
    else:
        z = np.clip(-ndtri(np.maximum(above + uniform * mass, TINY)), a, b)
        z = np.where(mirrored, -z, z)
    return mean + sd * z, -0.5 * z**2 - np.log(sd * mass)


def classes_of(target: Ints, joint: Floats, rng: Generator) -> Ints:
    """Draw how many of the target rows of each cell belong to each class."""
    by_cell = np.ascontiguousarray(np.swapaxes(joint, 1, 2))
    by_cell /= by_cell.sum(axis=2, keepdims=True)
    return np.swapaxes(rng.multinomial(target, by_cell), 1, 2)
