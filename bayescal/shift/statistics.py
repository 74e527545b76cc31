"""Tests of no shift and of label shift alone, on rows by class and cell, with simulated null distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bayescal import _checks
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior
from bayescal.shift.counts import ShiftCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Steps of expectation maximisation.
STEPS = 100
#: Least expected number of rows, which replaces 0 / 0.
TINY = 1e-300
#: Entries of (replicates, classes, cells) that are fitted at a time.
HELD = 2_000_000
#: Statistics that differ by less count as equal.
ROUNDING = 1e-9


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
    """Test whether source and target have one distribution over cells, by permutations of the rows.

    Parameters
    ----------
    source, target : ndarray of int, shape (n_cells,)
        Rows per cell.
    n_simulated : int
        Number of permutations.
    rng : None, int, SeedSequence or Generator
        Seed or generator.

    Returns
    -------
    ShiftTest
        The P-value is exact: under the hypothesis it is at most a with probability at most a.

    Notes
    -----
    If rows are exchangeable, the target rows are a sample of all rows without replacement [1]_.

    References
    ----------
    .. [1] E. L. Lehmann and J. P. Romano (2005), Testing Statistical Hypotheses, 3rd edition, Springer, section 15.2.
    """
    both = source + target
    drawn = _checks.generator(rng).multivariate_hypergeometric(
        both, int(target.sum()), size=n_simulated, method="marginals"
    )
    simulated = _likelihood_ratio(both - drawn, drawn)
    return ShiftTest.against(float(_likelihood_ratio(source, target)), simulated)


def _likelihood_ratio(source: Ints, target: Ints) -> Floats:
    both = source + target
    own = sum(xlogy(rows, rows / rows.sum(axis=-1, keepdims=True)) for rows in (source, target))
    pooled = xlogy(both, both / both.sum(axis=-1, keepdims=True))
    return np.asarray(2 * (own - pooled).sum(axis=-1))


def label_shift_test(counts: ShiftCounts, n_simulated: int, *, rng: Any = None) -> ShiftTest:
    """Test whether different class frequencies alone explain the cells of the target.

    Parameters
    ----------
    counts : ShiftCounts
        Rows by class and cell; each class needs labelled rows, and there must be more cells than classes.
    n_simulated : int
        Number of replicates.
    rng : None, int, SeedSequence or Generator
        Seed or generator.

    Returns
    -------
    ShiftTest
        The P-value is approximate.

    Notes
    -----
    The statistic compares the likelihood of any distribution of the target with the maximum under label shift, where
    the class frequencies of the target and the cells of each class are fitted to the rows of both. It is a posterior
    predictive check [1]_: source and target are replicated, each time with other class frequencies and cells from
    their posterior under label shift (`ClassPriorPosterior`), and the model is fitted to each replicate. The
    distribution of a likelihood ratio hardly depends on the parameters, so that the P-value is nearly uniform under
    label shift [2]_. (With parameters that are not fitted to each replicate, P-values would be too large.) The same
    number of steps of expectation maximisation is used for data and replicates, so that they need not converge.

    References
    ----------
    .. [1] A. Gelman, X.-L. Meng and H. Stern (1996), "Posterior predictive assessment of model fitness via realized
       discrepancies", Statistica Sinica 6, 733-807.
    .. [2] J. M. Robins, A. van der Vaart and V. Ventura (2000), "Asymptotic distribution of P values in composite null
       models", Journal of the American Statistical Association 95, 1143-1156.
    """
    generator = _checks.generator(rng)
    statistic = _beyond_label_shift(counts.source[None], counts.target[None])[0]
    simulated = np.empty(n_simulated)
    step = max(HELD // counts.source.size, 1)
    for start in range(0, n_simulated, step):
        part = slice(start, min(start + step, n_simulated))
        simulated[part] = _beyond_label_shift(*_replicates(counts, part.stop - part.start, generator))
    return ShiftTest.against(float(statistic), simulated)


def _replicates(counts: ShiftCounts, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Replicate source and target under label shift: shapes (n, n_classes, n_cells) and (n, n_cells)."""
    frequencies, cells = ClassPriorPosterior(counts).sample_all(n, rng=rng)
    mixed = np.einsum("rk,rkj->rj", frequencies, cells)
    source = rng.multinomial(counts.by_class, cells / cells.sum(axis=2, keepdims=True))
    return source, rng.multinomial(counts.n_target, mixed / mixed.sum(axis=1, keepdims=True))


def _beyond_label_shift(source: Ints, target: Ints) -> Floats:
    """Twice the log likelihood ratio of any target against label shift, for each of several data sets."""
    of_class, of_target = source.sum(axis=2, keepdims=True), target.sum(axis=1, keepdims=True)
    n_classes, n_cells = source.shape[1:]
    cells = (source + 1 / n_cells) / (of_class + 1)
    frequency = np.full(source.shape[:2], 1 / n_classes)
    for _ in range(STEPS):
        joint = frequency[:, :, None] * cells
        joint *= (target / np.maximum(joint.sum(axis=1), TINY))[:, None]
        frequency = joint.sum(axis=2) / of_target
        joint += source
        cells = joint / np.maximum(joint.sum(axis=2, keepdims=True), TINY)
    mixed = np.einsum("rk,rkj->rj", frequency, cells)
    any_target = xlogy(source, source / of_class).sum(axis=(1, 2)) + xlogy(target, target / of_target).sum(axis=1)
    fitted = xlogy(source, np.maximum(cells, TINY)).sum(axis=(1, 2)) + xlogy(target, np.maximum(mixed, TINY)).sum(
        axis=1
    )
    return np.asarray(2 * (any_target - fitted))
