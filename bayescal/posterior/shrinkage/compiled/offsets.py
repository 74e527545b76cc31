"""Bins that are off by one amount, as in the parent package's `offsets`: a grid of log amounts, and draws.

The grid is replaced several times by a finer one on its relevant part.
"""

from math import asin, cos, exp, log, log1p, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from bayescal.posterior.shrinkage.compiled.functions import FLOOR, add_exp, expit, fill, inner, largest, search

#: As in the parent package's `offsets`: cells whose log mass is this far below the largest are not relevant.
HOPELESS = 18.0


class Offsets(NamedTuple):
    """Prior constants and tables of one problem."""

    least: float  # as in `OffsetPrior`, and so the next two
    largest: float
    rho: np.ndarray
    rounds: int  # number of grids
    log_up: np.ndarray  # (n_amounts, n_bins) log likelihood ratio of each bin, off upwards against off downwards
    log_off: np.ndarray  # (n_amounts, n_bins) the same, off against exact, averaged over directions
    log_joint: np.ndarray  # (n_amounts, n_rho) log likelihood ratio of all bins
    cumulative: np.ndarray  # (n_amounts * n_rho,) cumulative posterior weights


@inner
def _log_ratio(n, k, accuracy, confidence):
    """Log likelihood ratio of one bin: of an accuracy against its confidence."""
    accuracy, confidence = min(max(accuracy, FLOOR), 1 - FLOOR), min(max(confidence, FLOOR), 1 - FLOOR)
    return k * log(accuracy / confidence) + (n - k) * (log1p(-accuracy) - log1p(-confidence))


@inner
def _fill(p, table, low, step):
    """Store the log likelihood ratios of all amounts; return the largest of `log_joint`."""
    n, k, confidence, rho = p.n, p.k, p.confidence, table.rho
    log_up, log_off, log_joint = table.log_up, table.log_off, table.log_joint
    top = -np.inf
    for i in range(len(log_joint)):
        amount = exp(low + step * (i + 0.5))
        fill(log_joint[i], len(rho), 0.0)
        for b in range(len(n)):
            angle = asin(sqrt(confidence[b]))
            up = _log_ratio(n[b], k[b], sin(min(angle + amount, pi / 2)) ** 2, confidence[b])
            down = _log_ratio(n[b], k[b], sin(max(angle - amount, 0.0)) ** 2, confidence[b])
            log_up[i, b], log_off[i, b] = up - down, add_exp(up, down) - log(2.0)
            for j in range(len(rho)):
                log_joint[i, j] += add_exp(log(rho[j]) + log_off[i, b], log1p(-rho[j]))
        top = max(top, largest(log_joint[i], len(rho)))
    return top


@inner
def evidence(p, table):
    """Return the log evidence, and the ends of the last grid in the log of the amount."""
    low, high, cells = log(table.least), log(table.largest), len(table.log_joint)
    for _ in range(table.rounds - 1):
        step = (high - low) / cells
        top, first, last = _fill(p, table, low, step), cells, 0
        for i in range(cells):
            if largest(table.log_joint[i], len(table.rho)) > top - HOPELESS:
                first, last = min(first, i), max(last, i)
        low, high = low + step * max(first - 1, 0), low + step * min(last + 2, cells)
    step = (high - low) / cells
    top, total = _fill(p, table, low, step), 0.0
    for i in range(cells):
        for j in range(len(table.rho)):
            total += exp(table.log_joint[i, j] - top)
            table.cumulative[i * len(table.rho) + j] = total
    return top + log(total) + log(step / log(table.largest / table.least) / len(table.rho)), low, high


@inner
def draw(rng, count, rows, out, p, table, low, high):
    """Draw amount and rho on the grid, then the bins.

    A bin that is off has the accuracy sin(angle +- amount)^2, where the angle is arcsin(sqrt(confidence)) and the sum
    or difference is clipped to [0, pi / 2].
    """
    cumulative, rhos, log_up, log_off = table.cumulative, table.rho, table.log_up, table.log_off
    confidence, accuracy, off = p.confidence, out.accuracy, out.off
    ratios, nodes = len(rhos), len(cumulative)
    step = (high - low) / len(table.log_joint)
    for q in range(count):
        row = rows[q]
        node = search(cumulative, 0, nodes, rng.random() * cumulative[nodes - 1])
        i, rho = node // ratios, rhos[node % ratios]
        amount = exp(low + step * (i + rng.random()))
        out.amount[row], out.rho[row] = amount, rho
        sine, cosine, odds = sin(amount), cos(amount), log(rho) - log1p(-rho)
        for b in range(len(confidence)):
            root, other = sqrt(confidence[b]), sqrt(1 - confidence[b])
            off[row, b] = rng.random() < expit(odds + log_off[i, b])
            accuracy[row, b] = confidence[b]
            if off[row, b]:
                if rng.random() < expit(log_up[i, b]):
                    sum_of = root * cosine + other * sine
                    accuracy[row, b] = 1.0 if other * cosine < root * sine else sum_of * sum_of
                else:
                    difference = root * cosine - other * sine
                    accuracy[row, b] = 0.0 if difference < 0 else difference * difference
