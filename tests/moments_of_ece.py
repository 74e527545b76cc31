"""Exact moments of the ECE under the shrinkage model, by quadrature without random numbers (about four digits).

The package draws from the posterior. Tests compare its draws with these moments, whose grids are finer than those of
the draws: the absolute gap has a kink at 0, where rules for smooth functions converge slowly.
"""

from dataclasses import replace
from functools import lru_cache, singledispatch
from typing import NamedTuple
from unittest import mock

import numpy as np
from scipy.special import erf, expit

from bayescal.posterior.beta_binomial import absolute_gap
from bayescal.posterior.shrinkage import segments
from bayescal.posterior.shrinkage.independent import integrated
from bayescal.posterior.shrinkage.independent.family import CHUNK, IndependentSubModel, _off_by_rho
from bayescal.posterior.shrinkage.noise import LabelNoise, NoiseAtEnds, _normalised
from bayescal.posterior.shrinkage.saturated import SaturatedBins
from bayescal.posterior.shrinkage.segments import EqualOffsets, Segments
from bayescal.posterior.shrinkage.sub_model import Exact

LEAST = 1e-8  #: Sub-models, and nodes of a sub-model, with a smaller probability are left out.
NARROW = 1e5  #: If both Beta parameters exceed this, the Beta is nearly Normal.
FINE = integrated.Resolution(0.08, 0.5, 0.9, 0.2, 0.1, 1e-6)
FINER_SHIFTS = 0.25  #: Spacing of the grid of shifts, as a multiple of that for draws.


class GapSums(NamedTuple):
    """Posterior moments of the absolute gaps g_b under one sub-model; a_b are the Dirichlet parameters of the masses.

    `mean` and `variance` are those of S = sum_b a_b g_b; `squares` is the mean of sum_b a_b g_b^2.
    """

    mean: float
    variance: float
    squares: float

    def beside(self, other):
        """Return the moments for the union of these bins and other bins, which are independent of them."""
        return GapSums(*(one + two for one, two in zip(self, other, strict=True)))


def ece_mean(posterior):
    """Posterior mean of the ECE of a `ShrinkagePosterior`, in [0, 1]."""
    return _moments(posterior)[0]


def ece_sd(posterior):
    """Posterior standard deviation of the ECE of a `ShrinkagePosterior`."""
    return _moments(posterior)[1]


@lru_cache(maxsize=4)
def _moments(posterior):
    """Posterior mean and standard deviation of the ECE, over described and saturated bins."""
    mass, matters = posterior.mass_parameters, {n: p for n, p in posterior.probabilities.items() if p >= LEAST}
    beside = sums_of_gaps(posterior._saturated, mass[posterior._bins.saturated])
    described = mass[posterior._bins.described]
    sums = [sums_of_gaps(posterior._sub_models[name], described).beside(beside) for name in matters]
    return averaged(list(matters.values()), sums, float(mass.sum()))


def averaged(probability, sums, total):
    """Compute the posterior mean and standard deviation of the ECE, averaged over sub-models by their probabilities.

    The ECE is sum_b m_b g_b. The masses m ~ Dirichlet(a), whose parameters have the sum `total`, are independent of the
    gaps, and E[m_b m_c] = a_b (a_c + [b = c]) / (total (total + 1)). Under one sub-model, the mean of the ECE is
    therefore mean / total, and its variance ((variance + squares) / total - (mean / total)^2) / (total + 1).
    """
    weights = np.array(probability) / np.sum(probability)
    means = np.array([s.mean for s in sums]) / total
    variances = (np.array([s.variance + s.squares for s in sums]) / total - means**2) / (total + 1)
    centre = float(weights @ means)
    return centre, float(np.sqrt(weights @ np.maximum(variances, 0) + weights @ (means - centre) ** 2))


# --- each sub-model


@singledispatch
def sums_of_gaps(sub_model, mass):
    """Return the moments of the sum over bins of `mass` times the absolute gap under one sub-model."""
    raise TypeError(f"there are no moments for {type(sub_model)}")


@sums_of_gaps.register
def _(sub_model: Exact, mass):
    """All gaps are 0."""
    return GapSums(0.0, 0.0, 0.0)


@sums_of_gaps.register
def _(sub_model: SaturatedBins, mass):
    a, b = sub_model._parameters
    first = (sub_model.weights * absolute_gap(sub_model._stated, a, b)).sum(axis=0)
    second = (sub_model.weights * squared_gap(sub_model._stated, a, b)).sum(axis=0)
    off = 1 - sub_model.exact_probability
    mean, variance = float(mass @ first), float(mass**2 @ (second - first**2))
    return GapSums(off * mean, off * variance + off * (1 - off) * mean**2, off * float(mass @ second))


@sums_of_gaps.register
def _(sub_model: EqualOffsets, mass):
    shifted = (sub_model.shifted(sign * sub_model.amounts[:, None]) for sign in (1, -1))
    up, down = (np.abs(accuracy - sub_model.confidence) for accuracy in shifted)
    p = sub_model.up_probability
    one, two = p * up + (1 - p) * down, p * up**2 + (1 - p) * down**2
    i, j = np.indices(sub_model._log_joint.shape).reshape(2, -1)
    off, weight = sub_model._off(i, j), sub_model.share.ravel()
    first, second = off * one[i], off * two[i]
    total = first @ mass
    mean = float(weight @ total)
    spread = weight @ ((second - first**2) @ mass**2 + (total - mean) ** 2)
    return GapSums(mean, float(spread), float(weight @ (second @ mass)))


@sums_of_gaps.register
def _(sub_model: LabelNoise, mass):
    share, rate, weight = sub_model.nodes
    gap = np.abs(sub_model.accuracy(share, rate) - sub_model.confidence)
    total = gap @ mass
    mean = float(weight @ total)
    return GapSums(mean, float(weight @ (total - mean) ** 2), float(weight @ (gap**2 @ mass)))


@sums_of_gaps.register
def _(sub_model: NoiseAtEnds, mass):
    sums = GapSums(0.0, 0.0, 0.0)
    for b, (low, width, log_mass) in zip(sub_model._bins, sub_model._cells, strict=True):
        weight, gap = _normalised(log_mass), (low[:, 0] + width[0] / 2) ** 2 * sub_model._stated(b)[2]
        mean, square = float(weight @ gap), float(weight @ gap**2)
        sums = sums.beside(GapSums(mass[b] * mean, mass[b] ** 2 * (square - mean**2), mass[b] * square))
    return sums


@sums_of_gaps.register
def _(sub_model: Segments, mass):
    with mock.patch.multiple(
        segments, FINENESS=FINER_SHIFTS * segments.FINENESS, COARSEST=FINER_SHIFTS * segments.COARSEST
    ):
        return _of_segments(replace(sub_model), mass)


def _of_segments(fine, mass):
    shift = fine._middles.copy()
    # in the cell around 0, use the mean distance from 0 under the prior instead of the middle
    shift[fine._middle] += 0.5 * np.diff(fine._edges)[fine._middle] / (1 + 1 / fine.prior.shape)
    gap = np.abs(expit(fine._origin[:, None] + shift) - fine.confidence[:, None])
    first, square = (fine._cumulated(mass[:, None] * values) for values in (gap, gap**2))
    # by [end, start], if the segment is off: posterior means of S = sum(mass gap), of S^2, and of sum(mass gap^2)
    moments = np.zeros((3, fine._blocks + 1, fine._blocks + 1))
    for end in range(1, fine._blocks + 1):
        weight = fine._cell_mass(end)
        total = first[end] - first[:end]
        moments[0, end, :end] = (weight * total).sum(axis=1)
        moments[1, end, :end] = (weight * total**2).sum(axis=1)
        moments[2, end, :end] = (weight * (square[end] - square[:end])).sum(axis=1)
    one, two, squares = moments * fine._off
    # given the segments, their shifts are independent: add the moments of each to those of the blocks before it
    mean, second = np.zeros((2, len(fine._rates), fine._blocks + 1))
    for end in range(1, fine._blocks + 1):
        probability = fine._backward[:, end, :end]
        mean[:, end] = (probability * (mean[:, :end] + one[end, :end])).sum(axis=1)
        each = second[:, :end] + 2 * mean[:, :end] * one[end, :end] + two[end, :end]
        second[:, end] = (probability * each).sum(axis=1)
    average = float(fine._rate_probability @ mean[:, -1])
    spread = float(fine._rate_probability @ second[:, -1]) - average**2
    return GapSums(average, spread, float((fine._segment_probability * squares).sum()))


# --- independent bins


@sums_of_gaps.register
def _(sub_model: IndependentSubModel, mass):
    bins, models = finely(sub_model.family)
    return of_independent(bins, models[sub_model.name], mass)


@lru_cache(maxsize=4)
def finely(family):
    """Integrate the sub-models of independent bins at a finer resolution; halve the cells once more at the end."""
    refine = integrated._refine

    def refine_once_more(bins, frame, log_likelihood, tolerance, floor):
        cells, _, unfinished = refine(bins, frame, log_likelihood, tolerance, floor)
        for along_t in (True, False):
            cells = cells.halved(np.full(len(cells.low_t), along_t))
        return cells, integrated._log_density(bins, frame, cells, log_likelihood), unfinished

    bins = replace(family.integration[0], resolution=FINE)
    with mock.patch.object(integrated, "_refine", refine_once_more):
        return bins, integrated.integrate(bins)


def of_independent(bins, model, mass):
    """Return the moments under one sub-model of independent bins that was integrated."""
    share, mean, variance, squares = [], [], [], []
    for of_nodes, first, second in _gaps(bins, model):
        share.append(of_nodes)
        mean.append(first @ mass)
        variance.append((second - first**2) @ mass**2)
        squares.append(second @ mass)
    shares, means, variances, seconds = (np.concatenate(parts) for parts in (share, mean, variance, squares))
    shares /= shares.sum()
    centre = float(shares @ means)
    spread = float(shares @ np.maximum(variances, 0) + shares @ (means - centre) ** 2)
    return GapSums(centre, spread, float(shares @ seconds))


def _gaps(bins, model):
    """Yield for chunks of nodes: mass of each node, and means of absolute and squared gaps, shape (n_nodes, n_bins).

    Under a sparse residual, each chunk comes once for each rho.
    """
    heavy = model.share > LEAST
    nodes, share = model.nodes.take(heavy), model.share[heavy] / model.share[heavy].sum()
    tables = None
    if model.residual == "sparse" and model.drift:  # polynomials in the logit of the centre
        tables = [bins.slab.polynomials(values) for values in _off_gaps(bins, bins.slab.eta, bins.slab.by_tau)]
    for start in range(0, len(share), CHUNK):
        some = slice(start, start + CHUNK)
        eta = bins.drifting.centre(*nodes.take(some).drift)
        if nodes.kappa is not None:
            # under a dense residual, accuracies have conjugate Beta posteriors
            kappa, n, k = nodes.kappa[some, None], bins.drifting.n, bins.drifting.k
            alpha, beta = kappa * expit(eta) + k, kappa * expit(-eta) + (n - k)
            c = np.broadcast_to(bins.drifting.confidence, eta.shape)
            yield share[some], quick_absolute_gap(c, alpha, beta), squared_gap(c, alpha, beta)
        elif model.residual == "sparse":
            yield from _sparse_gaps(bins, share[some], eta, tables)
        else:
            yield share[some], *_centre_gaps(bins, eta)


def _centre_gaps(bins, eta):
    """Return moments of the gaps of bins whose accuracy is their centre; exactly 0 without drift."""
    gap = np.where(eta == bins.drifting.logit, 0.0, expit(eta) - bins.drifting.confidence)
    return np.abs(gap), gap**2


def _sparse_gaps(bins, share, eta, tables):
    """Yield moments of the gaps for each rho: averages over being off and not being off."""
    on_first, on_second = _centre_gaps(bins, eta)
    if tables is None:  # without drift, centres are where the absolute gap has its kink: do not interpolate
        first, variance = (values.T for values in _off_gaps(bins, eta.T, bins.slab.log_by_tau(eta.T)))
    else:
        first, variance = (bins.slab.interpolate(table, eta) for table in tables)
    for each, off in _off_by_rho(bins, share, eta):
        yield each, (1 - off) * on_first + off * first, (1 - off) * on_second + off * (first**2 + variance)


def _off_gaps(bins, eta, by_tau):
    """Mean and variance of the absolute gap of each bin if it is off, for centres with logits (n_bins, n).

    `by_tau` is the log-likelihood at these logits for each tau. The results are interpolated; the variance is returned
    because it can be smaller than the interpolation error of the mean square.
    """
    slab = bins.slab
    weight = np.exp(by_tau + slab.rule.log_weight)
    heavy = weight > LEAST * weight.sum(axis=2, keepdims=True)
    weight *= heavy
    weight /= weight.sum(axis=2, keepdims=True)
    alpha = (slab.rule.kappa * expit(eta)[:, :, None] + slab.k[:, None, None])[heavy]
    beta = (slab.rule.kappa * expit(-eta)[:, :, None] + (slab.n - slab.k)[:, None, None])[heavy]
    c = np.broadcast_to(bins.drifting.confidence[:, None, None], heavy.shape)[heavy]
    means = []
    for gap in (quick_absolute_gap, squared_gap):
        each = np.zeros(heavy.shape)
        each[heavy] = weight[heavy] * gap(c, alpha, beta)
        means.append(each.sum(axis=2))
    return [means[0], means[1] - means[0] ** 2]


# --- the distance of a Beta from a point


def quick_absolute_gap(c, a, b):
    """As `absolute_gap`, but faster, with a relative error of a few millionths if the Beta is narrow; equal shapes."""
    result = np.empty(c.shape)
    narrow = np.minimum(a, b) > NARROW
    wide = ~narrow
    result[wide] = absolute_gap(c[wide], a[wide], b[wide])
    result[narrow] = _edgeworth_gap(c[narrow], a[narrow], b[narrow])
    return result


def _edgeworth_gap(c, a, b):
    """Mean absolute gap of a Normal with the mean and variance of the Beta, plus an Edgeworth term for its skewness."""
    total = a + b
    sd = np.sqrt(a / total * (b / total) / (total + 1))
    skewness = 2 * (b - a) / (total + 2) * np.sqrt((total + 1) / a / b)
    z = (a / total - c) / sd
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return sd * (2 * density + z * erf(z / np.sqrt(2)) - skewness * z * density / 3)


def squared_gap(c, a, b):
    r"""Mean of :math:`(\theta - c)^2` for :math:`\theta \sim \mathrm{Beta}(a, b)`."""
    total = a + b
    return a / total * (b / total) / (total + 1) + (a / total - c) ** 2
