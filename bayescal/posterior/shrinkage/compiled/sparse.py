"""Sub-models with errors in a few bins: the likelihood of a bin that is off, integration over the drift, and draws.

The likelihood of a bin that is off is an integral over tau. It is tabulated as a function of the logit of the centre of
the bin, at nodes that are computed when first needed, and interpolated. As in `independent.integrated`, the drift is
integrated on cells that are halved adaptively.
"""

from math import ceil, exp, expm1, log, log2, sinh, sqrt
from typing import NamedTuple

import numpy as np

from bayescal.posterior.shrinkage.compiled import functions
from bayescal.posterior.shrinkage.compiled.drift import LARGEST_LOG_SLOPE, centre, intercept, log_prior
from bayescal.posterior.shrinkage.compiled.functions import FARTHEST, beta, inner, softplus, tail

#: As in `cells`: size of the first cells and reach of the prior, in standard deviations. A cell may hide a mode if
#: its bound exceeds its log mass by the larger of HIDDEN and BY_CHANCE sqrt(n_bins).
FIRST_CELL, REACH, HIDDEN, BY_CHANCE = 3.0, 6.0, 14.0, 2.0
#: Maximum numbers of rounds of halving, and of cells integrated before halving stops.
MOST_ROUNDS, MOST_CELLS = 80, 3000


class Slab(NamedTuple):
    """Table of the likelihood of each bin if it is off, and working arrays.

    Node i of bin b is the logit peak[b] + scale[b] sinh(step (i - half)).
    """

    rho: np.ndarray
    kappa: np.ndarray  # nodes of the quadrature rule over tau
    log_weight: np.ndarray
    rise_n: np.ndarray  # (n_bins, n_taus) ``rise(kappa, n)``
    peak: np.ndarray
    scale: np.ndarray
    step: float
    half: int
    log_slab: np.ndarray  # (n_bins, n_nodes) log-likelihood, relative to the binomial at k / n; NaN if not computed yet
    by_tau: np.ndarray  # (n_bins, n_nodes, n_taus) cumulative posterior weights of tau, where `log_slab` is not NaN
    product: np.ndarray  # (n_rho,) product over bins of the likelihood, divided by its larger value for off and not off
    eta: np.ndarray  # (n_bins,) logits of the centres
    odds: np.ndarray  # (n_bins,) log likelihood ratios of being off against not being off


@inner
def _fill(b, i, p, slab):
    """Compute node i of bin b: the integral over tau, and the cumulative weights of tau."""
    eta = slab.peak[b] + slab.scale[b] * sinh(slab.step * (i - slab.half))
    e = tail(min(max(eta, -FARTHEST), FARTHEST))
    weights, top, total = slab.by_tau[b, i], -np.inf, 0.0
    n, k, best, kappa, log_weight, rise_n = p.n[b], p.k[b], p.best[b], slab.kappa, slab.log_weight, slab.rise_n[b]
    for q in range(len(kappa)):
        weights[q] = log_weight[q] + functions.log_beta_binomial(n, k, e, kappa[q], rise_n[q], best)
        top = max(top, weights[q])
    for q in range(len(kappa)):
        total += exp(weights[q] - top)
        weights[q] = total
    for q in range(len(kappa)):
        weights[q] /= total
    slab.log_slab[b, i] = top + log(total)


@inner
def _place(eta, peak, scale, slab):
    """Position of a logit between the nodes of a bin: the inverse of the formula in `Slab`."""
    place = functions.arsinh((eta - peak) / scale) / slab.step + slab.half
    return min(max(place, 1.0), 2.0 * slab.half - 2.001)


@inner
def _cubic(f, c, x):
    """Evaluate at c + x the cubic through the values at c - 1, ..., c + 2."""
    outside = (x + 1) * (x - 2)
    return (
        -x * (x - 1) * (x - 2) / 6 * f[c - 1]
        + outside * (x - 1) / 2 * f[c]
        - outside * x / 2 * f[c + 1]
        + (x + 1) * x * (x - 1) / 6 * f[c + 2]
    )


@inner
def _product(p, slab):
    """Log-likelihood of all bins at the centres `slab.eta`, averaged over rho; store `slab.odds` and `slab.product`."""
    n, k, best, rho = p.n, p.k, p.best, slab.rho
    peak, scale, table, product, etas, odds = slab.peak, slab.scale, slab.log_slab, slab.product, slab.eta, slab.odds
    functions.fill(product, len(rho), 1.0)
    top = 0.0
    for b in range(len(n)):
        eta = etas[b]
        place = _place(eta, peak[b], scale[b], slab)
        c = int(place)
        off = _cubic(table[b], c, place - c)
        if np.isnan(off):  # at least one of the four nodes is not computed yet
            for i in range(c - 1, c + 3):
                if np.isnan(table[b, i]):
                    _fill(b, i, p, slab)
            off = _cubic(table[b], c, place - c)
        on = k[b] * eta - n[b] * softplus(eta) - best[b]
        odds[b] = off - on
        r = exp(-abs(off - on))
        for j in range(len(rho)):
            product[j] *= (1 - rho[j]) * r + rho[j] if off > on else (1 - rho[j]) + rho[j] * r
        top += max(on, off)
    return top + _average(product)


@inner
def _average(product):
    """Log of the average of `Slab.product` over rho."""
    total = -np.inf
    for j in range(len(product)):
        if product[j] > 0:
            total = functions.add_exp(total, log(product[j]))
    return total - log(len(product))


@inner
def log_sparse(p, a, s, slab):
    """Log-likelihood of all bins given the drift; store `slab.eta`, `slab.odds` and `slab.product`."""
    logit, x, eta = p.logit, p.x, slab.eta
    slope = expm1(min(s, LARGEST_LOG_SLOPE))
    for b in range(len(logit)):
        eta[b] = centre(logit[b], x[b], a, slope)
    return _product(p, slab)


@inner
def _bound(p, sds, frame, cell, slab):
    """Upper bound of the log mass of a cell: every bin, and the prior, is evaluated at its own best point."""
    low_t, high_t, low_s, high_s = cell
    logit, x, best_logit, eta = p.logit, p.x, p.best_logit, slab.eta
    first, second = expm1(min(low_s, LARGEST_LOG_SLOPE)), expm1(min(high_s, LARGEST_LOG_SLOPE))
    one, two = intercept(0.0, low_s, frame), intercept(0.0, high_s, frame)
    for b in range(len(logit)):
        e, f = centre(logit[b], x[b], one, first), centre(logit[b], x[b], two, second)
        best = min(max(best_logit[b], min(e, f) + low_t), max(e, f) + high_t)
        eta[b] = min(max(best, -FARTHEST), FARTHEST)
    a, s = min(max(0.0, low_t + min(one, two)), high_t + max(one, two)), min(max(0.0, low_s), high_s)
    return _product(p, slab) + log_prior(a, s, sds) + log((high_t - low_t) * (high_s - low_s))


@inner
def _graded(middle, sd, low, high, edges):
    """Store edges of cells whose size grows with their distance from the middle; return the number of edges."""
    edges[0] = low
    m, most = 1, min(ceil(log2((high - low) / sd)), len(edges) // 2 - 2)
    for i in range(2 * most + 1):
        away = 0.0 if i == most else 2.0 ** (most - 1 - i if i < most else i - most - 1)
        edge = middle + FIRST_CELL * sd * (away if i > most else -away)
        if low < edge < high:
            edges[m] = edge
            m += 1
    edges[m] = high
    return m + 1


@inner
def _first_cells(sds, frame, cells):
    """Cover the range of the prior with cells; return the number of cells, or -1 if they do not fit."""
    reach_t, reach_s = REACH * sds[0], REACH * sds[1]
    one, two, three = intercept(0.0, -reach_s, frame), intercept(0.0, 0.0, frame), intercept(0.0, reach_s, frame)
    t, s = np.empty(200), np.empty(200)
    low, high = -max(one, two, three) - reach_t, -min(one, two, three) + reach_t
    many, count = _graded(frame[0], frame[3], low, high, t), 0
    more = _graded(frame[1], frame[4], -reach_s, reach_s, s)
    if (many - 1) * (more - 1) > len(cells):
        return -1
    for j in range(more - 1):
        for i in range(many - 1):
            cells[count, 0], cells[count, 1], cells[count, 2], cells[count, 3] = t[i], t[i + 1], s[j], s[j + 1]
            count += 1
    return count


@inner
def _integrate(p, sds, frame, cell, slab, rule, values):
    """Log mass of a cell, and the relative errors of the rule along t and s; store the log density at its nodes."""
    places, weights, last = rule
    low_t, high_t, low_s, high_s = cell
    order, top = len(places), -np.inf
    for j in range(order):
        s = low_s + (high_s - low_s) / 2 * (1 + places[j])
        for i in range(order):
            a = intercept(low_t + (high_t - low_t) / 2 * (1 + places[i]), s, frame)
            values[i, j] = log_sparse(p, a, s, slab) + log_prior(a, s, sds)
            top = max(top, values[i, j])
    mean = rough_t = rough_s = rougher_t = rougher_s = 0.0
    for i in range(order):
        along_t = along_s = 0.0
        for j in range(order):
            along_t += exp(values[i, j] - top) * weights[j] / 2
            along_s += exp(values[j, i] - top) * weights[j] / 2
        mean += along_t * weights[i] / 2
        rough_t += along_t * weights[i] * last[i, 0]
        rougher_t += along_t * weights[i] * last[i, 1]
        rough_s += along_s * weights[i] * last[i, 0]
        rougher_s += along_s * weights[i] * last[i, 1]
    error_t = 0.01 * min((abs(rough_t) + abs(rougher_t)) / mean, 10.0) ** 2
    error_s = 0.01 * min((abs(rough_s) + abs(rougher_s)) / mean, 10.0) ** 2
    return log(mean) + top + log((high_t - low_t) * (high_s - low_s)), error_t, error_s


@inner
def _keep(cell, rule, values, nodes, end):
    """Append the nodes of a cell as rows (t, s, low t, low s, width t, width s, log density, log mass)."""
    places, weights, _ = rule
    low_t, high_t, low_s, high_s = cell
    half_t, half_s = (high_t - low_t) / 2, (high_s - low_s) / 2
    if end + len(places) ** 2 > len(nodes):
        return -1
    at_s = low_s
    for j in range(len(places)):
        at_t = low_t
        for i in range(len(places)):
            width_t, width_s = half_t * weights[i], half_s * weights[j]
            t, s = low_t + half_t * (1 + places[i]), low_s + half_s * (1 + places[j])
            density, node = values[i, j], nodes[end]
            node[0], node[1], node[2], node[3], node[4], node[5] = t, s, at_t, at_s, width_t, width_s
            node[6], node[7] = density, density + log(width_t * width_s)
            at_t += width_t
            end += 1
        at_s += half_s * weights[j]
    return end


@inner
def _halve(cell, along_t, cells, m):
    """Store the two halves of a cell in rows m and m + 1."""
    low_t, high_t, low_s, high_s = cell
    middle_t, middle_s = (low_t + high_t) / 2, (low_s + high_s) / 2
    one, two = cells[m], cells[m + 1]
    one[0], one[2], two[1], two[3] = low_t, low_s, high_t, high_s
    one[1], two[0] = (middle_t, middle_t) if along_t else (high_t, low_t)
    one[3], two[2] = (high_s, low_s) if along_t else (middle_s, middle_s)


@inner
def _relevant(p, sds, frame, cells, count, slab, bounds, least, excess):
    """Keep the cells with a bound above `least`; return their number."""
    top = -np.inf
    for c in range(count):
        bounds[c] = _bound(p, sds, frame, (cells[c, 0], cells[c, 1], cells[c, 2], cells[c, 3]), slab)
        top = max(top, bounds[c])
    least, m = min(least, top - excess) if excess > 0 else least, 0
    for c in range(count):
        if bounds[c] > least:
            functions.copy(cells[c], cells[m], 4)
            bounds[m] = bounds[c]
            m += 1
    return m


@inner
def adaptive(p, sds, frame, slab, rule, tolerance, floor, nodes):
    """Integrate as `integrated.adaptive_nodes`; return the number of nodes (-1: no room) and the unresolved share."""
    order, room = len(rule[0]), 2 * MOST_CELLS + 4000
    cells, halves, bounds = np.empty((room, 4)), np.empty((room, 4)), np.empty(room)
    log_mass, error_t, error_s = np.empty(room), np.empty(room), np.empty(room)
    values = np.empty((room, order, order))
    count, excess = _first_cells(sds, frame, cells), max(HIDDEN, BY_CHANCE * sqrt(len(p.n)))
    if count < 0:
        return -1, 1.0
    total = log_sparse(p, frame[0], frame[1], slab) + log_prior(frame[0], frame[1], sds) + log(frame[3] * frame[4])
    total, end, seen, unfinished = max(floor, total), 0, 0, 0.0
    for _ in range(MOST_ROUNDS):
        least = total + log(tolerance)
        count = _relevant(p, sds, frame, cells, count, slab, bounds, least, excess if end == 0 else 0.0)
        if count == 0:
            break
        for c in range(count):
            cell = (cells[c, 0], cells[c, 1], cells[c, 2], cells[c, 3])
            log_mass[c], error_t[c], error_s[c] = _integrate(p, sds, frame, cell, slab, rule, values[c])
        total, seen, m = max(total, _log_sum(log_mass, count)), seen + count, 0
        for c in range(count):
            cell = (cells[c, 0], cells[c, 1], cells[c, 2], cells[c, 3])
            hidden, share = bounds[c] - log_mass[c] > excess, exp(log_mass[c] - total)
            split = hidden or share * max(error_t[c], error_s[c]) > tolerance
            if split and seen > MOST_CELLS:
                unfinished, split = unfinished + share, False
            if split:
                wide_t = (cell[1] - cell[0]) / frame[3] > (cell[3] - cell[2]) / frame[4]
                _halve(cell, wide_t if hidden else error_t[c] > error_s[c], halves, m)
                m += 2
            else:
                end = _keep(cell, rule, values[c], nodes, end)
                if end < 0:
                    return -1, 1.0
        count = m
        for c in range(count):
            functions.copy(halves[c], cells[c], 4)
    return end, unfinished


@inner
def _log_sum(values, count):
    """Log of the sum of the exponentials of the first `count` values."""
    total = -np.inf
    for c in range(count):
        total = functions.add_exp(total, values[c])
    return total


@inner
def _draw_bins(rng, r, drifting, etas, odds, product, out, p, slab):
    """Draw rho, the bins that are off, their tau and their accuracies, given the arrays of `Slab` at one drift."""
    n, k, confidence, accuracy, off = p.n, p.k, p.confidence, out.accuracy, out.off
    rhos, kappas = slab.rho, slab.kappa
    total, j, reached = 0.0, 0, product[0]
    for share in product:
        total += share
    value = rng.random() * total
    while reached <= value and j < len(rhos) - 1:
        j += 1
        reached += product[j]
    out.rho[r] = rhos[j]
    prior = log(rhos[j] / (1 - rhos[j]))
    for b in range(len(n)):
        eta = etas[b]
        if rng.random() < functions.expit(prior + odds[b]):
            place = _place(eta, slab.peak[b], slab.scale[b], slab)
            c = int(place) + (rng.random() < place - int(place))  # one of two nodes, the nearer with higher probability
            kappa = kappas[functions.search(slab.by_tau[b, c], 0, len(kappas), rng.random())]
            above, below = functions.beta_parameters(tail(eta), kappa)
            accuracy[r, b] = beta(rng, above + k[b], below + n[b] - k[b])
            off[r, b] = True
        else:
            accuracy[r, b] = functions.expit(eta) if drifting else confidence[b]


@inner
def draw_sparse(rng, count, rows, out, p, slab):
    """Draw accuracies without drift, with errors in a few bins."""
    log_sparse(p, 0.0, 0.0, slab)
    for q in range(count):
        _draw_bins(rng, rows[q], False, slab.eta, slab.odds, slab.product, out, p, slab)


@inner
def draw_drifting_sparse(rng, count, rows, out, p, sds, frame, slab, nodes, end, v):
    """Draw accuracies with a drift and errors in a few bins; return the effective number of draws."""
    weight, index, intercepts, slopes, etas, odds, products = v.weight, v.index, v.one, v.two, v.eta, v.odds, v.product
    functions.weights_of(nodes, end, 7, weight)
    functions.systematic(rng, weight, end, count, index)
    for q in range(count):
        i = index[q]
        t, s = nodes[i, 2] + nodes[i, 4] * rng.random(), nodes[i, 3] + nodes[i, 5] * rng.random()
        a = intercept(t, s, frame)
        intercepts[q], slopes[q] = a, s
        weight[q] = exp(log_sparse(p, a, s, slab) + log_prior(a, s, sds) - nodes[i, 6])
        functions.copy(slab.eta, etas[q], len(p.n))
        functions.copy(slab.odds, odds[q], len(p.n))
        functions.copy(slab.product, products[q], len(slab.rho))
    effective = functions.effective_size(weight, count)
    functions.systematic(rng, weight, count, count, index)
    for q in range(count):
        i, r = index[q], rows[q]
        out.intercept[r], out.log_slope[r] = intercepts[i], slopes[i]
        _draw_bins(rng, r, True, etas[i], odds[i], products[i], out, p, slab)
    return effective
