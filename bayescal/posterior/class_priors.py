"""Class frequencies of a target without labels, from cells: conditionally conjugate, drawn by short parallel chains."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._loops import in_threads
from bayescal.stats.shift_cells import ShiftCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Largest Dirichlet parameter of a cell, and of all cells of a class.
CELL_ALPHA, CELL_ROWS = 0.5, 3.0
#: Steps of expectation maximisation before the first sweep of a chain, and the change at which steps end.
STEPS, CHANGE = 40, 1e-8
#: Fewest sweeps of a chain, and most of a problem with few and with many entries of C; entries times sweeps.
FEWEST, MOST, MOST_OF_MANY, BUDGET = 15, 300, 60, 8000
#: Sweeps in units of the correlation length of a chain, so that exp(-6) of the distance of its start remains.
LENGTHS = 6
#: Fewest sweeps, most sweeps and correlation lengths of two classes, whose chains also use `exchanged`: with 100
#: labelled rows and 50 000 of the target, means were within 0.13 standard deviations of those of long chains, and
#: within 0.6 without these steps.
FEWEST_OF_TWO, MOST_OF_TWO, LENGTHS_OF_TWO = 10, 40, 4
#: Chains of more than two classes converge slowly if the target has more rows per row of the source than this.
FAR = 10
#: Scales of the steps of an exchange, relative to the possible interval: uniform between -6 and 0 on the log scale.
STEP_RANGE = 6.0
#: Entries of (chains, classes, cells) that are held at a time; they fit into the second-level cache.
HELD = 50_000
#: Least share of a class or cell, so that logarithms and ratios are finite.
TINY = 1e-300
#: Smaller eigenvalues and squared entries of eigenvectors are rounding errors.
RELEVANT = 1e-9


@dataclass(frozen=True, eq=False)
class ClassPriorPosterior:
    r"""Posterior of the class frequencies of a target, given rows by class and cell.

    Parameters
    ----------
    counts : ShiftCounts
        The rows.
    alpha : float, default 1.0
        Dirichlet parameter of the class frequencies; 1 is uniform.

    Notes
    -----
    With K classes and J cells, class k has the distribution :math:`C_k \sim \mathrm{Dirichlet}(\min(1/2, 3/J))` over
    cells, and

    .. math::
        s_k \sim \mathrm{Multinomial}(n_k, C_k), \quad \pi \sim \mathrm{Dirichlet}(\alpha), \quad
        t \sim \mathrm{Multinomial}\left(m, \textstyle\sum_k \pi_k C_k\right).

    Given the unknown classes of the target rows, everything is conjugate: data augmentation [1]_ draws these classes,
    :math:`\pi` and C in turn. Each draw is the last state of a chain of its own, so that draws are independent. A chain
    starts with a draw of C given the source and the most probable :math:`\pi` given that C [2]_.

    If the target has many times the rows of the source, :math:`\sum_k \pi_k C_k` is nearly known, and data augmentation
    moves slowly along the :math:`\pi` and C that give the same sum. With two classes, a Metropolis step along them
    follows each sweep; see `exchanged`.

    References
    ----------
    .. [1] M. A. Tanner and W. H. Wong (1987), "The calculation of posterior distributions by data augmentation",
       Journal of the American Statistical Association 82, 528-540.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 21-41.
    """

    counts: ShiftCounts
    alpha: float = 1.0

    @property
    def cell_alpha(self) -> float:
        """Dirichlet parameter of the cells of a class: at most half a row per cell, and three rows in total."""
        return min(CELL_ALPHA, CELL_ROWS / len(self.counts.cells))

    @cached_property
    def _of_source(self) -> Floats:
        """Parameters of the Dirichlet posterior of C given the source, shape (n_classes, n_cells)."""
        return self.counts.source.astype(np.float64) + self.cell_alpha

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """Mean of C given the source, and the most probable class frequencies given it."""
        cells: Floats = self._of_source / self._of_source.sum(axis=1, keepdims=True)
        return most_probable(cells, self.counts.target, self.alpha, steps=10 * STEPS), cells

    @cached_property
    def information(self) -> Floats:
        """Fisher information about the class frequencies per target row, relative to rows with labels.

        Shape (n_classes, n_classes): a symmetric matrix with eigenvalues in [0, 1], one of which is 1 because
        frequencies add up to 1. It is the identity if each class has cells of its own.
        """
        pi, cells = self._expected
        joint = pi[:, None] * cells
        total = joint.sum(axis=0)
        given = joint / np.sqrt(np.maximum(pi[:, None] * total, TINY))
        return np.asarray(given @ given.T)

    @property
    def worth(self) -> Floats:
        """Labelled rows that a row of the target is worth for the frequency of each class, shape (n_classes,).

        It is the variance of the frequency if the classes of the target rows were known, divided by that given their
        cells, where the cells of each class are known. 1 if cells show the class; 0 if they do not.
        """
        return worth_of(self.information, self._expected[0])

    @property
    def sweeps(self) -> int:
        """Sweeps of each chain: more if the cells retain little information about the classes.

        The correlation of successive sweeps is about 1 minus the least eigenvalue of `information`.
        """
        least = float(np.linalg.eigvalsh(self.information)[0])
        lengths, fewest = (LENGTHS_OF_TWO, FEWEST_OF_TWO) if self._two else (LENGTHS, FEWEST)
        return int(np.clip(np.ceil(lengths / max(least, TINY)), fewest, self.most_sweeps))

    @property
    def most_sweeps(self) -> int:
        """Most sweeps of a chain, which limits the time if the cells retain little information."""
        if self._two:
            return MOST_OF_TWO
        return int(np.clip(BUDGET // self.counts.source.size, MOST_OF_MANY, MOST))

    @property
    def slow(self) -> str:
        """Reason why chains may not have reached the posterior; empty if none is known."""
        if self._two:
            return ""
        if self.counts.n_target > FAR * self.counts.n_source:
            return f"the target has more than {FAR} times the rows of the source"
        if self.sweeps == self.most_sweeps:
            return "the cells contain little information about some frequencies"
        return ""

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
        step = max(HELD // self.counts.source.size, 1)
        chains = np.diff(np.append(np.arange(0, n_draws, step), n_draws)).tolist()
        own = _checks.generator(rng).spawn(len(chains))  # so that draws do not depend on the number of threads
        return in_threads(lambda i: self._chains(chains[i], own[i]), range(len(chains)))

    def _chains(self, chains: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        target = self.counts.target
        own = self._of_source
        cells = dirichlet(np.broadcast_to(own, (chains, *own.shape)), rng)
        if not self.counts.n_target:
            return dirichlet(np.full((chains, len(own)), self.alpha), rng), cells
        pi = most_probable(cells, target, self.alpha)
        for _ in range(self.sweeps):
            drawn = classes_of(target, pi[:, :, None] * cells, rng)
            pi = dirichlet(self.alpha + np.einsum("nkj->nk", drawn), rng)
            cells = dirichlet(own + drawn, rng)
            if self._two:
                pi, cells = exchanged(pi, cells, own, self.alpha, rng)
        return pi, cells


def worth_of(information: Floats, pi: Floats) -> Floats:
    """Return `ClassPriorPosterior.worth` for an information matrix and class frequencies."""
    values, vectors = np.linalg.eigh(information)
    squares = vectors**2
    spread = np.where(squares > RELEVANT, squares / np.maximum(values, RELEVANT), 0.0).sum(axis=1)
    return np.asarray((1 - pi) / np.maximum(spread - pi, 1 - pi))


def most_probable(cells: Floats, target: NDArray[Any], alpha: float = 1.0, steps: int = STEPS) -> Floats:
    """Approximate the most probable class frequencies, given the cells of each class, by expectation maximisation.

    Parameters
    ----------
    cells : ndarray, shape (..., n_classes, n_cells)
        Distribution of each class over cells.
    target : ndarray, shape (n_cells,)
        Rows of the target.
    alpha : float, default 1.0
        Dirichlet parameter; each step adds it to the expected rows of a class.
    steps : int
        Maximum number of steps; they end earlier if no frequency changes by more than 1e-8.

    Returns
    -------
    ndarray, shape (..., n_classes)
        Positive, with sum 1.
    """
    n_classes = cells.shape[-2]
    pi = np.full(cells.shape[:-1], 1 / n_classes)
    total = target.sum() + n_classes * alpha
    for _ in range(steps):
        mixed = np.einsum("...k,...kj->...j", pi, cells)
        ratio = target / np.maximum(mixed, TINY)
        before, pi = pi, (pi * np.einsum("...kj,...j->...k", cells, ratio) + alpha) / total
        if np.abs(pi - before).max() <= CHANGE:
            break
    return pi


def exchanged(pi: Floats, cells: Floats, own: Floats, alpha: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    r"""Move probability between two classes, without a change of the distribution of the target over cells.

    Parameters
    ----------
    pi : ndarray, shape (n_chains, 2)
        Class frequencies.
    cells : ndarray, shape (n_chains, 2, n_cells)
        Distribution of each class over cells.
    own : ndarray, shape (2, n_cells)
        Dirichlet parameters of the cells given the source.
    alpha : float
        Dirichlet parameter of the class frequencies.
    rng : Generator
        Randomness.

    Returns
    -------
    pi, cells : ndarray
        The next state of each chain.

    Notes
    -----
    With :math:`w = \pi_a C_a` for a class a, chosen at random, and the other class b, the step is
    :math:`w' = w + \delta C_b` and :math:`\pi_b' = \pi_b - \delta`: the sum :math:`w + \pi_b C_b` stays the same. In
    terms of w and :math:`C_b` the step is a translation, and :math:`\pi_a = \sum w`, so that the density is that of
    :math:`\pi` and C divided by :math:`\pi_a^{J - 1}`. A step shifts the interval of possible :math:`\delta` and keeps
    its length. Proposals are scaled by this length, so that they are symmetric.
    """
    at = np.arange(len(pi))
    a = rng.integers(2, size=len(pi))
    part, other, rest = np.maximum(pi[at, a][:, None] * cells[at, a], TINY), cells[at, 1 - a], pi[at, 1 - a]
    least = -(part / other).min(axis=1)
    step = (rest - least) * np.exp(-STEP_RANGE * rng.random(len(pi))) * rng.uniform(-1, 1, len(pi))
    moved = part + step[:, None] * other
    possible = (step < rest) & (moved > TINY).all(axis=1)
    step, moved = np.where(possible, step, 0.0), np.where(possible[:, None], moved, part)
    before, after = part.sum(axis=1), moved.sum(axis=1)
    log = ((own[a] - 1) * np.log(moved / part)).sum(axis=1) - (own[a].sum(axis=1) - 1) * np.log(after / before)
    log += (alpha - 1) * (np.log(after / before) + np.log((rest - step) / rest))
    taken = np.flatnonzero(possible & (np.log(rng.random(len(pi))) < log))
    pi, cells, a = pi.copy(), cells.copy(), a[taken]
    pi[taken, a], pi[taken, 1 - a] = after[taken], (rest - step)[taken]
    cells[taken, a] = moved[taken] / after[taken, None]
    return pi, cells


def dirichlet(parameters: NDArray[Any], rng: np.random.Generator) -> Floats:
    """Draw from Dirichlet distributions along the last axis."""
    drawn = np.maximum(rng.standard_gamma(parameters), TINY)
    drawn /= np.einsum("...j->...", drawn)[..., None]  # several times as fast as `sum` along a short axis
    return drawn


def classes_of(target: Ints, joint: Floats, rng: np.random.Generator) -> Ints:
    """Draw how many of the target rows of each cell belong to each class.

    `joint` has shape (chains, classes, cells), as the result; it is proportional to the probability of the class.
    """
    if joint.shape[1] == 2:
        ones = rng.binomial(target, joint[:, 1] / (joint[:, 0] + joint[:, 1]))
        return np.stack([target - ones, ones], axis=1)
    by_cell = np.ascontiguousarray(np.swapaxes(joint, 1, 2))
    by_cell /= by_cell.sum(axis=2, keepdims=True)
    return np.swapaxes(rng.multinomial(target, by_cell), 1, 2)
