"""Chains of `ClassPriorPosterior` in compiled loops, for many classes and cells."""

import numpy as np

from bayescal._jit import compiled

#: Least share of a class or cell, as in `class_priors`.
TINY = 1e-300


@compiled()
def draw_classes(rng, target, weight, reached, gap, drawn):
    """Draw how many of the `target` rows of a cell belong to each class, in proportion to `weight`, into `drawn`.

    Ordered uniform numbers are sums of exponential ones, divided by their total; each is compared with the cumulative
    weights, `reached`, once.
    """
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
        reached[k] = total
        drawn[k] = 0
    length = 0.0
    for i in range(target + 1):
        length += rng.standard_exponential()
        gap[i] = length
    k, last = 0, len(weight) - 1
    for i in range(target):
        while k < last and reached[k] * length <= gap[i] * total:
            k += 1
        drawn[k] += 1


@compiled()
def sweep_chains(rng, pi, cells, source, target, alpha, sweeps):
    """Move chains by sweeps of data augmentation; `pi` and `cells` are changed.

    Parameters
    ----------
    rng : Generator
    pi : ndarray, shape (n_chains, n_classes)
        Class frequencies.
    cells : ndarray, shape (n_chains, n_cells, n_classes)
        Distribution of each class over cells; cells come first.
    source : ndarray, shape (n_cells, n_classes)
        Dirichlet parameters of the cells given the source.
    target : ndarray of int, shape (n_cells,)
        Rows of the target.
    alpha : float
        Dirichlet parameter of the class frequencies.
    sweeps : int
        Number of sweeps.
    """
    n_chains, n_cells, n_classes = cells.shape
    reached, weight = np.empty(n_classes), np.empty(n_classes)
    drawn, gap = np.empty(n_classes, np.int64), np.empty(target.max() + 1)
    rows, total, size = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for c in range(n_chains):
        own = cells[c]  # gamma variables, whose totals over cells are `size`
        size[:] = 1.0
        for _ in range(sweeps):
            rows[:] = alpha
            total[:] = 0.0
            for j in range(n_cells):
                for k in range(n_classes):
                    weight[k] = pi[c, k] / size[k] * own[j, k]
                draw_classes(rng, target[j], weight, reached, gap, drawn)
                for k in range(n_classes):
                    rows[k] += drawn[k]
                    own[j, k] = max(rng.standard_gamma(source[j, k] + drawn[k]), TINY)
                    total[k] += own[j, k]
            size[:] = total
            whole = 0.0
            for k in range(n_classes):
                pi[c, k] = max(rng.standard_gamma(rows[k]), TINY)
                whole += pi[c, k]
            for k in range(n_classes):
                pi[c, k] /= whole
        for j in range(n_cells):
            for k in range(n_classes):
                own[j, k] /= size[k]
