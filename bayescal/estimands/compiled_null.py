"""Observed accuracies of an exactly calibrated classifier, drawn by inversion in a compiled loop."""

from math import sqrt

import numpy as np

from bayescal._jit import compiled

#: Cells of the table that tells where the search for a uniform number begins.
GUIDE = 512
#: Numbers of successes that are tabulated, in standard deviations from the mean.
REACH = 9.0


@compiled(no_cfunc_wrapper=True)
def binomial_shares(rng, n, p, out):
    """Fill column b of `out` with draws of Binomial(n[b], p[b]) / n[b]."""
    guide = np.empty(GUIDE, np.int64)
    for b in range(len(n)):
        if p[b] <= 0.0 or p[b] >= 1.0:
            out[:, b] = p[b]
            continue
        mode, reach = int((n[b] + 1) * p[b]), REACH * sqrt(n[b] * p[b] * (1 - p[b])) + 12
        low, high = max(0, int(mode - reach)), min(n[b], int(mode + reach))
        cumulative, odds = np.empty(high - low + 1), p[b] / (1 - p[b])
        cumulative[mode - low] = 1.0
        for k in range(mode, high):
            cumulative[k + 1 - low] = cumulative[k - low] * (n[b] - k) / (k + 1) * odds
        for k in range(mode, low, -1):
            cumulative[k - 1 - low] = cumulative[k - low] * k / (n[b] - k + 1) / odds
        for i in range(1, len(cumulative)):
            cumulative[i] += cumulative[i - 1]
        total, i = cumulative[-1], 0
        for g in range(GUIDE):
            while cumulative[i] <= g * total / GUIDE and i < len(cumulative) - 1:
                i += 1
            guide[g] = i
        for row in range(len(out)):
            u = rng.random()
            i = guide[int(u * GUIDE)]
            while cumulative[i] <= u * total and i < len(cumulative) - 1:
                i += 1
            out[row, b] = (low + i) / n[b]
