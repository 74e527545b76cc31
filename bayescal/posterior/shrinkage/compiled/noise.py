"""Noisy labels: grids in the share and the rate of noise, divided where the posterior mass is large, and draws."""

from math import exp, lgamma, log, log1p

import numpy as np

from bayescal.posterior.shrinkage.compiled import functions
from bayescal.posterior.shrinkage.compiled.functions import FLOOR, effective_size, inner, search, systematic, weights_of

LARGEST, HOPELESS, ROUNDS = 1.25, 14.0, 12  #: As in the parent package's `noise`.
LOG_BETA = lgamma(0.5) + lgamma(10.0) - lgamma(10.5)  #: Log of B(1/2, 10).
HALF, ANY, END = 0, 1, 2  #: Kinds of grid: noise of rate 1/2, noise of any rate, noise of one bin at an end.


@inner
def log_noise(p, share, rate):
    """Binomial log-likelihood of all bins, without its constant."""
    n, k, confidence = p.n, p.k, p.confidence
    total = 0.0
    for b in range(len(n)):
        accuracy = min(max(confidence[b] + share * (rate - confidence[b]), FLOOR), 1 - FLOOR)
        total += k[b] * log(accuracy) + (n[b] - k[b]) * log(1.0 - accuracy)
    return total


@inner
def _log_end(p, b, u):
    """Log of prior density times likelihood ratio at u; u^2 is the share of labels replaced by the contrary outcome."""
    high = p.confidence[b] > 0.5
    contrary = p.n[b] - p.k[b] if high else p.k[b]
    stated, share = max(1 - p.confidence[b] if high else p.confidence[b], FLOOR), u * u
    density = log(2.0) + (9.0 + p.n[b] - contrary) * log1p(-share) - LOG_BETA
    return density + (contrary * log1p(share * (1 - stated) / stated) if contrary > 0 else 0.0)


@inner
def _fill(kind, p, at, cells, m, width):
    """Store the log masses of m cells; return the largest."""
    top, axes = -np.inf, 2 if kind == ANY else 1
    exact = log_noise(p, 0.0, 0.5)
    for i in range(m):
        u = cells[i, 0] + width / 2
        if kind == END:
            value = _log_end(p, at, u)
        else:
            value = log_noise(p, LARGEST * u * u, cells[i, 1] + width / 2 if kind == ANY else 0.5) - exact
        cells[i, 2] = value + axes * log(width)
        top = max(top, cells[i, 2])
    return top


@inner
def _best(cells, m, count):
    """The `count`-th largest log mass of m cells."""
    best = np.empty(count)
    functions.fill(best, count, -np.inf)
    for i in range(m):
        value = cells[i, 2]
        if value > best[count - 1]:
            j = count - 1
            while j > 0 and best[j - 1] < value:
                best[j] = best[j - 1]
                j -= 1
            best[j] = value
    return best[count - 1]


@inner
def _divide(kind, cells, m, width, least, parts, spare):
    """Divide the cells whose log mass is at least `least`; return the number of new cells, which replace all cells."""
    end = 0
    for i in range(m):
        if cells[i, 2] >= least:
            for a in range(parts):
                for b in range(parts if kind == ANY else 1):
                    spare[end, 0], spare[end, 1] = cells[i, 0] + width * a / parts, cells[i, 1] + width * b / parts
                    end += 1
    for i in range(end):
        functions.copy(spare[i], cells[i], 2)
    return end


@inner
def evidence(kind, p, at, cells, spare, most):
    """Return the log evidence, the number of cells, and their width.

    Each cell is a row of `cells`: lower end in u, lower end in the rate, log mass. The share of noise is 1.25 u^2, or
    u^2 at an end.
    """
    first, parts, bests = (21, 2, 25) if kind == ANY else (41, 3, 5)
    m, width, rates = 0, 1.0 / first, first if kind == ANY else 1
    for i in range(first):
        for j in range(rates):
            cells[m, 0], cells[m, 1] = i / first, j / first
            m += 1
    top = _fill(kind, p, at, cells, m, width)
    for _ in range(ROUNDS):
        least, matter = min(_best(cells, m, bests), top - HOPELESS), 0
        for i in range(m):
            matter += cells[i, 2] >= least
        if matter * (parts**2 if kind == ANY else parts) > most:
            break
        m = _divide(kind, cells, m, width, least, parts, spare)
        width /= parts
        top = _fill(kind, p, at, cells, m, width)
    total = 0.0
    for i in range(m):
        total += exp(cells[i, 2] - top)
    return top + log(total), m, width


@inner
def draw(rng, count, rows, out, kind, p, cells, m, width, v):
    """Draw share and rate of noise, and store the accuracies; return the effective number of draws."""
    weight, index, shares, rates = v.weight, v.index, v.one, v.two
    confidence, accuracy = p.confidence, out.accuracy
    weights_of(cells, m, 2, weight)
    systematic(rng, weight, m, count, index)
    exact, area = log_noise(p, 0.0, 0.5), (2 if kind == ANY else 1) * log(width)
    for q in range(count):
        i = index[q]
        u = cells[i, 0] + width * rng.random()
        rate = cells[i, 1] + width * rng.random() if kind == ANY else 0.5
        shares[q], rates[q] = LARGEST * u * u, rate
        weight[q] = exp(log_noise(p, shares[q], rate) - exact + area - cells[i, 2])
    effective = effective_size(weight, count)
    systematic(rng, weight, count, count, index)
    for q in range(count):
        share, rate, row = shares[index[q]], rates[index[q]], rows[q]
        out.noise[row], out.noise_rate[row] = share, rate
        for b in range(len(confidence)):
            accuracy[row, b] = min(max(confidence[b] + share * (rate - confidence[b]), 0.0), 1.0)
    return effective


@inner
def draw_end(rng, count, rows, out, p, b, cells, m, width, v):
    """Draw the share of replaced labels in one bin."""
    weights_of(cells, m, 2, v.weight)
    for i in range(1, m):
        v.weight[i] += v.weight[i - 1]
    contrary = 0.0 if p.confidence[b] > 0.5 else 1.0
    for q in range(count):
        i = search(v.weight, 0, m, rng.random() * v.weight[m - 1])
        share = (cells[i, 0] + width * rng.random()) ** 2
        out.accuracy[rows[q], b] = p.confidence[b] + share * (contrary - p.confidence[b])
