"""Runs of bins that are off together, as in the parent's `segments`: grid of shifts, forward recursion, backward draws.

A segment is [start, end); tables of segments are indexed by [end, start]. Each bin is a block of its own.
"""

from math import ceil, erfc, exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from bayescal.posterior.shrinkage.compiled.functions import add_exp, expit, fill, inner, search, softplus

#: As in the parent package's `segments`, but with fewer quadrature points over tau (SCALES) and fewer points for the
#: spacing (in `many`).
LARGEST_SHIFT, FINENESS, COARSEST, EVEN, REACH, LARGEST_RATE = 10.0, 0.4, 0.06, 0.5, 9.0, 0.9
FARTHEST_ORIGIN, SCALES = 9.21, 24


class Runs(NamedTuple):
    """Prior constants and tables of one problem."""

    changes: np.ndarray  # as in `SegmentPrior`, and so the next three
    off: float
    shape: float
    largest_scale: float
    place: np.ndarray  # points on one side of 0
    density: np.ndarray  # number of cells between the first point and each
    side: np.ndarray  # edges of the cells on one side of 0
    edges: np.ndarray  # edges of all cells
    log_prior: np.ndarray  # log prior mass of each cell, given that the segment is off
    shifted: np.ndarray  # (n_bins + 1, n_cells) log likelihood ratio of a shift against 0, summed over the bins before
    log_slab: np.ndarray  # log likelihood ratio of each segment, off against exact
    links: np.ndarray  # [rate, end, start] log of the prior probability of a segment, given its start, times its ratio
    forward: np.ndarray  # [rate, end] log of the sum over all segmentations of the bins before `end`
    backward: np.ndarray  # [rate, end, start] cumulative probability of the start, given the end
    cumulative: np.ndarray  # [end, start, cell] cumulative posterior mass of the cells, if `filled`
    filled: np.ndarray  # [end, start]


@inner
def _origin(logit):
    """Logit to which shifts are added."""
    return min(max(logit, -FARTHEST_ORIGIN), FARTHEST_ORIGIN)


@inner
def _edges_to(sign, p, runs, nearest, farthest):
    """Store the distances from 0 of the edges on one side; return their number, or -1 if they do not fit."""
    information, far = 1.0, 0.0
    n, k, logit, side = p.n, p.k, p.logit, runs.side
    for b in range(len(n)):
        origin = _origin(logit[b])
        h, positive, negative = expit(origin), k[b] + 0.5, n[b] - k[b] + 0.5
        information += n[b] * h * (1 - h)
        observed = sign * (log(positive) - log(negative) - origin)
        reach = REACH * sqrt(1 / positive + 1 / negative)
        nearest[b], farthest[b] = observed - reach, observed + reach
        far = max(far, farthest[b])
    place, cumulative = runs.place, runs.density
    first = 0.5 * FINENESS * min(1 / sqrt(information), COARSEST / FINENESS)
    last, m = min(max(far, 2 * first), LARGEST_SHIFT), len(place)
    for i in range(m):
        place[i] = first * exp(log(last / first) * i / (m - 1))
    before = 0.0
    for i in range(m):
        density = _density(i, sign, n, logit, place, nearest, farthest)
        cumulative[i] = 0.0 if i == 0 else cumulative[i - 1] + (place[i] - place[i - 1]) * (density + before) / 2
        before = density
    count, j = ceil(cumulative[m - 1]) + 1, 0
    if count > len(side):
        return -1
    for i in range(count):
        value = cumulative[m - 1] * i / (count - 1)
        while j < m - 2 and cumulative[j + 1] < value:
            j += 1
        part = (value - cumulative[j]) / (cumulative[j + 1] - cumulative[j])
        side[i] = place[j] + min(max(part, 0.0), 1.0) * (place[j + 1] - place[j])
    return count


@inner
def _density(i, sign, n, logit, place, nearest, farthest):
    """Cells per unit of shift at one point, from the information in the bins for which this shift is plausible."""
    after, before = place[i + 1] if i + 1 < len(place) else np.inf, place[i - 1] if i > 0 else 0.0
    information = 1.0
    for b in range(len(n)):
        if nearest[b] <= after and farthest[b] >= before:
            e = exp(-abs(_origin(logit[b]) + sign * place[i]))
            information += n[b] * e / (1 + e) ** 2
    least = FINENESS / (COARSEST * sqrt(1 + (place[i] / EVEN) ** 2))
    return max(sqrt(information), least) / FINENESS


@inner
def _upper(z):
    """Upper tail probability of the standard Normal."""
    return 0.5 * erfc(z * 0.7071067811865476)


@inner
def _prior_of_cells(cells, runs):
    """Store the log prior mass of each cell, given that the segment is off."""
    mass, edges = runs.log_prior, runs.edges
    fill(mass, cells, 0.0)
    for q in range(SCALES):
        tau = runs.largest_scale * ((q + 0.5) / SCALES) ** (1 / runs.shape)
        before = _upper(abs(edges[0]) / tau)
        for c in range(cells):
            after = _upper(abs(edges[c + 1]) / tau)
            one_side = (edges[c] > 0) == (edges[c + 1] > 0)
            mass[c] += abs(after - before) if one_side else 1 - after - before
            before = after
    for c in range(cells):
        mass[c] = log(mass[c] / SCALES) if mass[c] > 0 else -np.inf


@inner
def _slab(end, start, cells, runs):
    """Log likelihood ratio of one segment, off against exact."""
    after, before, log_prior = runs.shifted[end], runs.shifted[start], runs.log_prior
    top, total = -np.inf, 0.0
    for c in range(cells):
        top = max(top, after[c] - before[c] + log_prior[c])
    for c in range(cells):
        value = after[c] - before[c] + log_prior[c] - top
        if value > -20.0:
            total += exp(value)
    return top + log(total)


@inner
def evidence(p, runs):
    """Return the log evidence, the number of cells (-1 if they do not fit), and the index of the cell around 0."""
    bins = len(p.n)
    nearest, farthest = np.empty(bins), np.empty(bins)
    down = _edges_to(-1.0, p, runs, nearest, farthest)
    if down < 0:
        return 0.0, -1, 0
    for i in range(down):
        runs.edges[i] = -runs.side[down - 1 - i]
    up = _edges_to(1.0, p, runs, nearest, farthest)
    cells = down + up - 1
    if up < 0 or down + up > len(runs.edges):
        return 0.0, -1, 0
    for i in range(up):
        runs.edges[down + i] = runs.side[i]
    _prior_of_cells(cells, runs)
    shifted, edges = runs.shifted, runs.edges
    fill(shifted[0], cells, 0.0)
    for b in range(bins):
        n, k, origin = p.n[b], p.k[b], _origin(p.logit[b])
        base, clipped = softplus(p.logit[b]), k * (origin - p.logit[b])
        for c in range(cells):
            shift = 0.5 * (edges[c] + edges[c + 1])
            shifted[b + 1, c] = shifted[b, c] + k * shift - n * (softplus(origin + shift) - base) + clipped
    for end in range(1, bins + 1):
        for start in range(end):
            runs.log_slab[end, start] = _slab(end, start, cells, runs)
    return _forward(bins, runs), cells, down - 1


@inner
def _forward(bins, runs):
    """Return the log evidence: the log of the sum over all segmentations of the bins, averaged over rates."""
    forward, links, log_slab = runs.forward, runs.links, runs.log_slab
    log_off, log_on, total = log(runs.off), log1p(-runs.off), -np.inf
    for r in range(len(runs.changes)):
        rate = min(runs.changes[r] / max(bins - 1, 1), LARGEST_RATE)
        forward[r, 0] = 0.0
        for end in range(1, bins + 1):
            reached, change = -np.inf, log(rate) if end < bins else 0.0
            for start in range(end):
                ratio = add_exp(log_off + log_slab[end, start], log_on)
                links[r, end, start] = ratio + log1p(-rate) * (end - start - 1) + change
                reached = add_exp(reached, forward[r, start] + links[r, end, start])
            forward[r, end] = reached
        total = add_exp(total, forward[r, bins])
    return total - log(len(runs.changes))


@inner
def _prepare(bins, runs, rates):
    """Store cumulative posterior weights of the rates, and cumulative probabilities of the start given the end."""
    forward, links, backward = runs.forward, runs.links, runs.backward
    top, total = -np.inf, 0.0
    for r in range(len(rates)):
        top = max(top, forward[r, bins])
    for r in range(len(rates)):
        total += exp(forward[r, bins] - top)
        rates[r] = total
        for end in range(1, bins + 1):
            reached = 0.0
            for start in range(end):
                reached += exp(forward[r, start] + links[r, end, start] - forward[r, end])
                backward[r, end, start] = reached
            for start in range(end):
                backward[r, end, start] /= reached


@inner
def _shift(rng, end, start, cells, middle, runs):
    """Draw the shift of a segment that is off: a cell by its posterior mass, and a point within it."""
    weights = runs.cumulative[end, start]
    if not runs.filled[end, start]:
        after, before, log_prior = runs.shifted[end], runs.shifted[start], runs.log_prior
        reached, total = 0.0, runs.log_slab[end, start]
        for c in range(cells):
            reached += exp(after[c] - before[c] + log_prior[c] - total)
            weights[c] = reached
        for c in range(cells):
            weights[c] /= reached
        runs.filled[end, start] = True
    c = search(weights, 0, cells, rng.random())
    part = 2 * rng.random() - 1
    if c == middle:  # by the prior density, which has a pole at 0
        part = (1.0 if part > 0 else -1.0) * abs(part) ** (1 / runs.shape)
    return 0.5 * (runs.edges[c] + runs.edges[c + 1] + part * (runs.edges[c + 1] - runs.edges[c]))


@inner
def draw(rng, count, rows, out, p, cells, middle, runs):
    """Draw segments from the last bin to the first, and their shifts."""
    bins, rates = len(p.n), np.empty(len(runs.changes))
    _prepare(bins, runs, rates)
    for end in range(bins + 1):
        fill(runs.filled[end], bins + 1, False)
    backward, log_slab, logit, confidence = runs.backward, runs.log_slab, p.logit, p.confidence
    accuracy, all_off = out.accuracy, out.off
    log_odds = log(runs.off) - log1p(-runs.off)
    for q in range(count):
        row, end, r = rows[q], bins, 0
        value = rng.random() * rates[-1]
        while rates[r] <= value and r < len(rates) - 1:
            r += 1
        while end > 0:
            start = search(backward[r, end], 0, end, rng.random())
            off = rng.random() < expit(log_odds + log_slab[end, start])
            shift = _shift(rng, end, start, cells, middle, runs) if off else 0.0
            for b in range(start, end):
                accuracy[row, b] = expit(_origin(logit[b]) + shift) if off else confidence[b]
                all_off[row, b] = off
            end = start
