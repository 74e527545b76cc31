r"""Chains of the class frequencies and cells of two classes, also for a target that is much larger than the source.

With the joint probabilities :math:`w_{kj} = \pi_k C_{kj}` of class k and cell j, the density of the posterior of
`ClassPriorPosterior` is proportional to

.. math::
    \prod_{kj} w_{kj}^{a_{kj} - 1} \prod_k w_{k\cdot}^{1 - a_{k\cdot}} \prod_j w_{\cdot j}^{t_j},

where a are the Dirichlet parameters of the cells given the source, t the rows of the target, and dots are sums. Three
parts form a sweep:

* A total :math:`T \sim \mathrm{Gamma}(m + 2)`, where m is the number of target rows, removes the constraint on the
  sum of w. Rates :math:`u_k \sim \mathrm{Gamma}(a_{k\cdot} - 1)` with scale :math:`1 / (T w_{k\cdot})` make the cells
  independent of each other: :math:`\int u^{s - 1} e^{-u W} du = \Gamma(s) W^{-s}`.
* With :math:`v_k = 1 + u_k`, the sum :math:`S_j = \sum_k v_k T w_{kj}` of a cell is Gamma(:math:`a_{\cdot j} + t_j`).
  It is independent of the share :math:`\varphi_j = v_1 T w_{1j} / S_j`, whose density is proportional to
  :math:`\varphi^{a_{1j} - 1} (1 - \varphi)^{a_{0j} - 1} (\varphi / v_1 + (1 - \varphi) / v_0)^{t_j}`. Metropolis steps
  move its logit.
* Metropolis steps move :math:`\pi` for given C. Further ones move probability between the classes: for class k and the
  other class l, :math:`w_k` becomes :math:`w_k + s w_l` and :math:`w_l` becomes :math:`(1 - s) w_l`, so that
  :math:`C_l` and the distribution :math:`w_{\cdot j}` of the target over the cells stay the same. This is a translation
  of :math:`w_k` for given :math:`C_l`. In these terms the density is proportional to
  :math:`\prod_j w_{kj}^{a_{kj} - 1} C_{lj}^{a_{lj} - 1} w_{\cdot j}^{t_j} \, w_{k\cdot}^{1 - a_{k\cdot}}`.

Data augmentation, which is used for more classes, draws the classes of the target rows in place of u. Its chains move
slowly if the target has many rows per labelled row, or if cells contain little information about the classes.
"""

import numpy as np
from scipy.special import polygamma

from bayescal._arrays import Floats, Generator, Ints

#: Fewest sweeps of a chain, and most unless the target is larger than the source or the source is very large. Between
#: these limits, the number of sweeps is the larger of 1000 divided by the labelled rows of the rarer class and 1
#: divided by `ClassPriorPosterior.worth`: chains move slowly if either is small.
FEWEST_SWEEPS, MOST_SWEEPS, TIMES_ROWS, TIMES_WORTH = 8, 40, 1000.0, 1.0
#: A larger target needs more: FEWEST_SWEEPS sweeps, and PER_RATIO for each further row of the target per labelled row,
#: at most OF_LARGER. The ratio is that of all rows, or half of the largest ratio of one class. With 1000 labelled
#: rows, 100 000 of the target and a frequency of 0.01, means were up to 0.9 posterior standard deviations off after 8
#: sweeps, and at most 0.05 after 48. More than MANY_ROWS labelled rows need OF_LARGER sweeps, too.
PER_RATIO, OF_LARGER, MANY_ROWS = 20.0, 48.0, 10**6
#: If `worth` is below LITTLE, such chains take LITTLE / worth times as many sweeps, at most MOST_TIMES as many. With
#: 100 million labelled rows and values of `worth` below 0.1, standard deviations were up to 15 times too large after 48
#: sweeps, and at most 9 % too large after 96.
LITTLE, MOST_TIMES = 0.2, 4.0
STEPS = 3  #: Metropolis steps of each share, and of the frequencies, per sweep.
#: Standard deviation of a step divided by that of the posterior (Gelman et al. 1996). The latter is known only
#: approximately, so steps are multiplied by a random factor; RANGE is its width on the log scale.
OPTIMAL, RANGE = 2.4, 1.0
#: Steps between the classes are relative to the possible interval, times a random factor. Its width on the log scale is
#: RANGE_BETWEEN up to WIDER_FROM labelled rows, and larger by 1 for each further factor of 10: with more rows, the
#: posterior is narrower relative to this interval.
RANGE_BETWEEN, WIDER_FROM = 2.0, 10_000
WIDTH = 3**0.5  #: Largest uniform step with the standard deviation 1.
#: Largest standard deviation of a step of the frequency, and least weight of a class in a cell.
LARGEST, TINY = 0.5, 1e-300


def sweeps_for(labelled: Ints, expected: Floats, worth: float) -> int:
    """Return the number of sweeps."""
    labelled, worth = np.maximum(labelled, 1), max(worth, TINY)
    wanted = np.clip(np.ceil(max(TIMES_ROWS / labelled.min(), TIMES_WORTH / worth)), FEWEST_SWEEPS, MOST_SWEEPS)
    ratio = max(expected.sum() / labelled.sum(), (expected / labelled).max() / 2)
    if ratio > 1 or labelled.sum() > MANY_ROWS:
        more = OF_LARGER if labelled.sum() > MANY_ROWS else min(FEWEST_SWEEPS + PER_RATIO * (ratio - 1), OF_LARGER)
        wanted = max(wanted, np.rint(more * np.clip(LITTLE / worth, 1, MOST_TIMES)))
    return int(wanted)


def swept(
    pi: Floats, cells: Floats, alpha: Floats, target: Ints, sd: float, sweeps: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Return the last state of each chain.

    Frequencies `pi` have shape (n_chains, 2), and `cells` (n_chains, 2, n_cells): the distribution of each class over
    cells. `alpha`, shape (2, n_cells), are the parameters of the Dirichlet distributions of the cells given the source;
    `target`, shape (n_cells,), has at least one row; `sd` is the approximate standard deviation of the class
    frequencies given the cells. Scales of Metropolis steps: Gelman, Roberts and Gilks (1996), "Efficient Metropolis
    jumping rules", Bayesian Statistics 5, 599-607.
    """
    rows = target.astype(np.float64)
    width = RANGE_BETWEEN + max(np.log10(alpha.sum() / WIDER_FROM), 0)
    # chains are on the last axis: reductions along a short last axis take several times as long
    weight = np.ascontiguousarray(np.moveaxis(pi[:, :, None] * cells, 0, -1))
    for _ in range(sweeps):
        weight = _given_rates(weight, alpha, rows, rng)
        weight = _along_frequency(weight, rows, min(OPTIMAL * sd, LARGEST), rng)
        for k in (0, 1):
            weight = _between_classes(weight, alpha[k], k, width, rng)
    pi = weight.sum(axis=1)
    return np.ascontiguousarray(pi.T), np.ascontiguousarray(np.moveaxis(weight / pi[:, None], -1, 0))


def _given_rates(weight: Floats, alpha: Floats, target: Floats, rng: Generator) -> Floats:
    """Draw the rates of both classes, and then the weights of each cell; weights have shape (2, n_cells, n_chains)."""
    n_chains = weight.shape[-1]
    total = rng.standard_gamma(2 + target.sum(), n_chains)
    shape = alpha.sum(axis=1, keepdims=True) - 1
    v = 1 + rng.standard_gamma(np.broadcast_to(shape, (2, n_chains))) / (total * weight.sum(axis=1))
    logit = np.log((v[1] / v[0]) * (weight[1] / weight[0]))
    sums = rng.standard_gamma((alpha.sum(axis=0) + target)[:, None], logit.shape)
    one, rest = _shares(_moved(logit, v[0] / v[1], alpha, target, rng))
    weight = np.stack([np.exp(rest) * (sums / v[0]), np.exp(one) * (sums / v[1])])
    weight /= weight.sum(axis=(0, 1))
    return np.maximum(weight, TINY)


def _shares(logit: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of a share and of the rest."""
    log = np.minimum(logit, 0) - np.log1p(np.exp(-np.abs(logit)))
    return log, log - logit


def _moved(logit: Floats, ratio: Floats, alpha: Floats, target: Floats, rng: Generator) -> Floats:
    """Move the logits of the shares of class 1 by Metropolis steps, independently in each cell and chain."""
    alpha_one, alpha_rest, rows = alpha[1][:, None], alpha[0][:, None], target[:, None]

    def height(logit: Floats) -> Floats:
        one, rest = _shares(logit)
        return np.asarray(alpha_one * one + alpha_rest * rest + rows * np.log(np.exp(rest) + ratio * np.exp(one)))

    # OPTIMAL times the standard deviation given the source, where the share has a Beta distribution
    scale = OPTIMAL * np.sqrt(polygamma(1, alpha_one) + polygamma(1, alpha_rest))
    at = height(logit)
    for _ in range(STEPS):
        proposed = logit + scale * _steps(logit.shape, rng)
        new = height(proposed)
        taken = np.log(rng.random(logit.shape)) < new - at
        logit, at = np.where(taken, proposed, logit), np.where(taken, new, at)
    return logit


def _along_frequency(weight: Floats, target: Floats, scale: float, rng: Generator) -> Floats:
    """Move the class frequencies by Metropolis steps; the distribution of each class over the cells stays the same."""
    rest, one = weight.sum(axis=1)
    first, second = weight[0] / rest, weight[1] / one
    mixed, apart = weight[0] + weight[1], second - first
    for _ in range(STEPS):
        step = scale * _steps(one.shape, rng)
        possible = (one + step > 0) & (rest - step > 0)
        step = np.where(possible, step, 0.0)
        new = mixed + step * apart
        taken = possible & (np.log(rng.random(one.shape)) < target @ np.log(new / mixed))
        step = np.where(taken, step, 0.0)
        # both frequencies are kept: 1 minus one of them may round to 0
        one, rest, mixed = one + step, rest - step, np.where(taken, new, mixed)
    return np.stack([rest * first, one * second])


def _between_classes(weight: Floats, alpha: Floats, k: int, width: float, rng: Generator) -> Floats:
    """Move probability between class k and the other one."""
    part, other = weight[k], weight[1 - k]
    n_chains = part.shape[1]
    least = -(part / other).min(axis=0)
    step = (1 - least) * np.exp(-width * rng.random(n_chains)) * rng.uniform(-1, 1, n_chains)
    moved = part + step * other
    possible = (step < 1) & (moved.min(axis=0) > TINY)
    moved = np.where(possible, moved, part)
    log = (alpha - 1) @ np.log(moved / part) - (alpha.sum() - 1) * np.log(moved.sum(axis=0) / part.sum(axis=0))
    taken = possible & (np.log(rng.random(n_chains)) < log)
    pair = [np.where(taken, moved, part), np.where(taken, (1 - step) * other, other)]
    return np.stack(pair if k == 0 else pair[::-1])


def _steps(shape: tuple[int, ...], rng: Generator) -> Floats:
    """Draw uniform steps with the standard deviation 1, times a random factor per chain."""
    return np.asarray(rng.uniform(-WIDTH, WIDTH, shape) * np.exp(RANGE * (rng.random(shape[-1]) - 0.5)))
