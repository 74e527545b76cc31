"""One problem under all sub-models: `integrate` computes their evidences, then `draw` draws from them."""

from math import log
from typing import NamedTuple

import numpy as np

from bayescal.posterior.shrinkage.compiled import functions, noise, offsets, segments
from bayescal.posterior.shrinkage.compiled.drift import (
    centre,
    draw_dense,
    draw_drifting_dense,
    draw_smooth,
    find_mode,
    lattice,
    log_dense,
    log_prior,
)
from bayescal.posterior.shrinkage.compiled.functions import inner as _inner
from bayescal.posterior.shrinkage.compiled.functions import log_beta_binomial, outer, rise, softplus, sum_of_logs, tail
from bayescal.posterior.shrinkage.compiled.noise import ANY, END, HALF
from bayescal.posterior.shrinkage.compiled.sparse import adaptive, draw_drifting_sparse, draw_sparse, log_sparse

#: The sub-models in the order of evidences and draws; exact calibration comes last.
ORDER = (
    "logistic", "dense", "sparse", "logistic_dense", "logistic_sparse", "runs", "offset", "label_noise",
    "label_noise_any_rate", "label_noise_ends", "small_errors", "exact",
)  # fmt: skip
#: Steps of the lattices without residual and with a dense one, in standard deviations. A tau has no lattice if its
#: approximate log mass is more than NEGLIGIBLE below the largest.
SMOOTH_STEP, DENSE_STEP, NEGLIGIBLE = 0.7, 1.25, 9.0
#: Largest shares of the mass at the rims of these lattices. Tolerance of the adaptive integration, relative to the
#: evidence, or to exp(-HOPELESS) times the largest evidence of the other four sub-models if that is larger.
SMOOTH_RIM, DENSE_RIM, TOLERANCE, HOPELESS = 1e-4, 2e-3, 6e-3, 12.5
#: Maximum number of cells of a grid of noise: over the share alone (MOST_HALF), over share and rate (MOST_ANY).
MOST_HALF, MOST_ANY = 180, 900


class Dense(NamedTuple):
    """Rules and tables of a drift with a dense residual."""

    sds: tuple  # prior standard deviations of the intercept and the log slope
    kappa: np.ndarray  # nodes of the quadrature rule over the tau of the residual
    log_weight: np.ndarray  # their log weights
    rise_n: np.ndarray  # (n_taus, n_bins) ``rise(kappa, n)``
    by_tau: np.ndarray  # (n_taus, 6) log mass without drift; frame of the drift (t0, s0, lever, sd_t, sd_s)
    nodes: np.ndarray  # (nodes, 6) t, s, log density, radius, log mass, index of tau


class Drift(NamedTuple):
    """Rules and tables of the sub-models with a drift."""

    sds: tuple  # prior standard deviations of the intercept and the log slope
    dense: Dense  # with a dense residual
    small: Dense  # under small errors
    smooth: np.ndarray  # (nodes, 4) t, s, log density, radius
    sparse: np.ndarray  # (nodes, 8) t, s, low t, low s, width t, width s, log density, log mass
    rule: tuple  # Gauss-Legendre nodes and weights, and the matrix that gives the last two Legendre coefficients


class Noise(NamedTuple):
    """Grids of the sub-models of noise: noise of rate 1/2, of any rate, in the first bin, in the last bin."""

    half: np.ndarray
    any_rate: np.ndarray
    first: np.ndarray
    last: np.ndarray
    spare: np.ndarray


class Scratch(NamedTuple):
    """Working arrays for draws."""

    weight: np.ndarray  # one entry per draw or node
    index: np.ndarray  # one entry per draw, as in the next three
    one: np.ndarray
    two: np.ndarray
    three: np.ndarray
    of_bins: np.ndarray  # one entry per bin
    eta: np.ndarray  # (draw, bin), as `odds`
    odds: np.ndarray
    product: np.ndarray  # (draw, rho)


class Integration(NamedTuple):
    """Results of the integration that are needed for draws."""

    frame: tuple  # frame of the drift without residual
    smooth: int  # number of nodes in the table of `Drift`, or -1 if they do not fit; so the next three
    dense: int
    sparse: int
    small: int
    unfinished: tuple  # unresolved shares of the mass under the sub-models with drift, in this order
    cells: int  # number of cells of the grid of shifts, -1 if they do not fit
    middle: int  # index of the cell around 0
    low: float  # ends of the grid of log amounts
    high: float
    half: tuple  # number and width of the cells of the grids of noise
    any_rate: tuple
    ends: tuple  # the same for the first and then the last bin, 0 cells if the bin is not crowded


class Out(NamedTuple):
    """Draws: row r of each array is one draw."""

    accuracy: np.ndarray
    off: np.ndarray
    intercept: np.ndarray
    log_slope: np.ndarray
    tau: np.ndarray
    rho: np.ndarray
    amount: np.ndarray
    noise: np.ndarray
    noise_rate: np.ndarray


@_inner
def _still(p, dense, slab, log_evidence):
    """Store the log evidences of the sub-models without drift, and those of each tau."""
    tails = slab.eta
    for b in range(len(p.n)):
        tails[b] = tail(centre(p.logit[b], p.x[b], 0.0, 0.0))
    for q in range(len(dense.kappa)):
        total = dense.log_weight[q]
        for b in range(len(p.n)):
            kappa, rise_n = dense.kappa[q], dense.rise_n[q, b]
            total += log_beta_binomial(p.n[b], p.k[b], tails[b], kappa, rise_n, p.best[b])
        dense.by_tau[q, 0] = total
    log_evidence[1] = sum_of_logs(dense.by_tau, len(dense.kappa), 0)
    log_evidence[2] = log_sparse(p, 0.0, 0.0, slab)


@_inner
def _dense(p, dense, a, s):
    """Make a lattice over the drift for each relevant tau of a dense residual; modes are sought from the drift (a, s).

    Return the log evidence, the number of nodes (-1 if they do not fit) and the largest unresolved share of the mass at
    a rim.
    """
    end, top, rims = 0, -np.inf, 0.0
    count = len(dense.kappa)
    guess = np.empty(count)
    for q in range(count):
        for b in range(len(p.n)):
            dense.rise_n[q, b] = rise(dense.kappa[q], p.n[b])
        frame = find_mode(p, dense.sds, dense.kappa[q], a, s)
        a, s = frame[0], frame[1]
        row = dense.by_tau[q]
        row[1], row[2], row[3], row[4], row[5] = frame
        height = log_dense(p, a, s, dense.kappa[q], dense.rise_n[q]) + log_prior(a, s, dense.sds)
        guess[q] = height + dense.log_weight[q] + log(frame[3] * frame[4])
        top = max(top, guess[q])
    for q in range(count):
        if guess[q] < top - NEGLIGIBLE:
            continue
        row = dense.by_tau[q]
        frame = (row[1], row[2], row[3], row[4], row[5])
        kappa, rise_n, begin = dense.kappa[q], dense.rise_n[q], end
        end, rim = lattice(p, dense.sds, kappa, rise_n, frame, DENSE_STEP, DENSE_RIM, dense.nodes, begin)
        if end < 0:
            return -np.inf, -1, 1.0
        rims = max(rims, rim)
        area = log(DENSE_STEP**2 * frame[3] * frame[4])
        for i in range(begin, end):
            dense.nodes[i, 4], dense.nodes[i, 5] = dense.nodes[i, 2] + dense.log_weight[q] + area, q
    return sum_of_logs(dense.nodes, end, 4), end, rims


@outer
def integrate(p, drift, slab, runs, amounts, grids):
    """Return log evidences relative to exact calibration, in `ORDER`, and the results that are needed for draws."""
    log_evidence = np.zeros(len(ORDER))
    exact = 0.0
    for b in range(len(p.n)):
        exact += p.k[b] * p.logit[b] - p.n[b] * softplus(p.logit[b]) - p.best[b]
        for q in range(len(slab.kappa)):
            slab.rise_n[b, q] = rise(slab.kappa[q], p.n[b])
    for b in range(len(p.n)):
        functions.fill(slab.log_slab[b], slab.log_slab.shape[1], np.nan)
    frame = find_mode(p, drift.sds, -1.0, 0.0, 0.0)
    smooth, rim = lattice(p, drift.sds, -1.0, drift.dense.rise_n[0], frame, SMOOTH_STEP, SMOOTH_RIM, drift.smooth, 0)
    log_evidence[0] = sum_of_logs(drift.smooth, smooth, 2) + log(SMOOTH_STEP**2 * frame[3] * frame[4])
    log_evidence[3], dense, rims = _dense(p, drift.dense, frame[0], frame[1])
    _still(p, drift.dense, slab, log_evidence)
    floor = functions.largest(log_evidence, 4) - HOPELESS
    sparse, unfinished = adaptive(p, drift.sds, frame, slab, drift.rule, TOLERANCE, floor, drift.sparse)
    log_evidence[4] = sum_of_logs(drift.sparse, sparse, 7)
    log_evidence[10], small, rims_small = _dense(p, drift.small, 0.0, 0.0)
    for z in (0, 1, 2, 3, 4, 10):
        log_evidence[z] -= exact
    log_evidence[5], cells, middle = segments.evidence(p, runs)
    log_evidence[6], low, high = offsets.evidence(p, amounts)
    log_evidence[7], m, width = noise.evidence(HALF, p, 0, grids.half, grids.spare, MOST_HALF)
    log_evidence[8], m_any, width_any = noise.evidence(ANY, p, 0, grids.any_rate, grids.spare, MOST_ANY)
    first = (0.0, 0, 1.0)
    last = (0.0, 0, 1.0)
    end = len(p.n) - 1
    if p.crowded[0]:
        first = noise.evidence(END, p, 0, grids.first, grids.spare, MOST_HALF)
    if end > 0 and p.crowded[end]:
        last = noise.evidence(END, p, end, grids.last, grids.spare, MOST_HALF)
    log_evidence[9] = first[0] + last[0]
    ends = (first[1], first[2], last[1], last[2])
    at_rim, normal, normal_any = (rim, rims, unfinished, rims_small), (m, width), (m_any, width_any)
    return log_evidence, Integration(
        frame, smooth, dense, sparse, small, at_rim, cells, middle, low, high, normal, normal_any, ends
    )


@outer
def draw(rng, counts, order, p, drift, slab, runs, amounts, grids, integration, v, out):
    """Draw ``counts[z]`` times from each sub-model z, in `ORDER`, into `order`; return effective numbers of draws."""
    effective, at = counts.astype(np.float64), 0
    for z in range(len(counts)):
        count = counts[z]
        rows = order[at : at + count]
        at += count
        if count == 0:
            continue
        if z == 0:
            effective[z] = draw_smooth(
                rng, count, rows, out, p, drift.sds, integration.frame, SMOOTH_STEP, drift.smooth, integration.smooth, v
            )
        elif z == 1:
            draw_dense(rng, count, rows, out, p, drift.dense.kappa, drift.dense.by_tau, v)
        elif z == 2:
            draw_sparse(rng, count, rows, out, p, slab)
        elif z == 3 or z == 10:
            dense, end = (drift.dense, integration.dense) if z == 3 else (drift.small, integration.small)
            effective[z] = draw_drifting_dense(rng, count, rows, out, p, dense, DENSE_STEP, end, v)
        elif z == 4:
            effective[z] = draw_drifting_sparse(
                rng, count, rows, out, p, drift.sds, integration.frame, slab, drift.sparse, integration.sparse, v
            )
        else:
            effective[z] = _draw_others(rng, z, count, rows, p, runs, amounts, grids, integration, v, out)
    return effective


@_inner
def _draw_others(rng, z, count, rows, p, runs, amounts, grids, integration, v, out):
    """Draw from a sub-model of another family; return the effective number of draws."""
    if z == 5:
        segments.draw(rng, count, rows, out, p, integration.cells, integration.middle, runs)
    elif z == 6:
        offsets.draw(rng, count, rows, out, p, amounts, integration.low, integration.high)
    elif z == 7 or z == 8:
        grid, cells = (grids.half, integration.half) if z == 7 else (grids.any_rate, integration.any_rate)
        return noise.draw(rng, count, rows, out, HALF if z == 7 else ANY, p, grid, cells[0], cells[1], v)
    else:
        for q in range(count):
            functions.copy(p.confidence, out.accuracy[rows[q]], len(p.n))
        last, ends = len(p.n) - 1, integration.ends
        if z == 9 and ends[0] > 0:
            noise.draw_end(rng, count, rows, out, p, 0, grids.first, ends[0], ends[1], v)
        if z == 9 and ends[2] > 0:
            noise.draw_end(rng, count, rows, out, p, last, grids.last, ends[2], ends[3], v)
    return float(count)
