"""Special functions, sums of exponentials, resampling, and the record `Problem`, which all loops read."""

from math import exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from bayescal._jit import compiled

FARTHEST, FLOOR = 300.0, 1e-9  #: Logits are clipped to [-FARTHEST, FARTHEST], accuracies to [FLOOR, 1 - FLOOR].
#: For functions that only compiled functions call.
inner = compiled(part=True)
outer = compiled(folder=True, no_cfunc_wrapper=True)  #: For functions that Python calls.


class Problem(NamedTuple):
    """One problem: arrays of shape (n_bins,).

    `n`, `k`, `confidence`, `logit`, `x` and `best_logit` are as in `DriftingBins`. `best` is the binomial
    log-likelihood at k / n. `crowded` marks the bins with a share of noise of their own; see `crowded_ends`.
    """

    n: np.ndarray
    k: np.ndarray
    confidence: np.ndarray
    logit: np.ndarray
    x: np.ndarray
    best: np.ndarray
    best_logit: np.ndarray
    crowded: np.ndarray


@inner
def softplus(x):
    """log(1 + exp(x)), with an error of about 1e-16; log is faster than log1p."""
    return max(x, 0.0) + log(1.0 + exp(-abs(x)))


@inner
def expit(x):
    """1 / (1 + exp(-x))."""
    if x >= 0:
        return 1.0 / (1.0 + exp(-x))
    e = exp(x)
    return e / (1.0 + e)


@inner
def add_exp(a, b):
    """log(exp(a) + exp(b))."""
    top = max(a, b)
    if top == -np.inf:
        return top
    return top + log(1.0 + exp(-abs(a - b)))


@inner
def arsinh(x):
    """Inverse hyperbolic sine; faster than that of the C library."""
    size = abs(x)
    value = log(size + sqrt(size * size + 1.0))
    return value if x >= 0 else -value


@inner
def stirling(z):
    """Log Gamma(z) minus ((z - 1/2) log z - z + log(2 pi) / 2), for z >= 8."""
    y = 1.0 / z
    y2 = y * y
    return y * (1 / 12 - y2 * (1 / 360 - y2 * (1 / 1260 - y2 / 1680)))


@inner
def eight_factors(x):
    """Product x (x + 1) ... (x + 7)."""
    q = x * (x + 7)
    return q * (q + 6) * (q + 10) * (q + 12)


@inner
def rise(x, k):
    """Log Gamma(x + k) - log Gamma(x), for x > 0; arguments below 8 are raised by 8, so that `stirling` is accurate."""
    if k <= 0.0:
        return 0.0
    y = x + k
    if x >= 8.0:
        # for large x, the terms nearly cancel, which needs log1p; elsewhere log is faster
        growth = log(y / x) if x < 1e4 else log1p(k / x)
        return (x - 0.5) * growth + k * log(y) - k + stirling(y) - stirling(x)
    factors = eight_factors(x)
    x += 8.0
    if y < 8.0:
        factors /= eight_factors(y)
        y += 8.0
    return (y - 0.5) * log(y) - (x - 0.5) * log(x) - (y - x) + stirling(y) - stirling(x) + log(factors)


@inner
def tail(eta):
    """Represent a logit, at most `FARTHEST` in size, by its tail: exp(-abs(eta)) with the sign of eta."""
    e = exp(-abs(eta))
    return e if eta >= 0 else -e


@inner
def beta_parameters(e, kappa):
    """Return kappa h and kappa (1 - h), both to full relative precision; `e` is the tail of the logit of h."""
    near = kappa / (1.0 + abs(e))
    far = near * abs(e)
    return (near, far) if e >= 0 else (far, near)


@inner
def log_beta_binomial(n, k, e, kappa, rise_n, best):
    """Beta-binomial log-likelihood of k out of n, relative to the binomial log-likelihood `best` at k / n.

    The accuracy is Beta(kappa h, kappa (1 - h)); `e` is the tail of the logit of h, and `rise_n` is ``rise(kappa, n)``.
    """
    above, below = beta_parameters(e, kappa)
    return rise(above, k) + rise(below, n - k) - rise_n - best


@inner
def fill(values, count, value):
    """Set the first entries of an array; in a loop, because assignments of slices compile slowly."""
    for i in range(count):
        values[i] = value


@inner
def copy(values, target, count):
    """Copy the first entries of an array."""
    for i in range(count):
        target[i] = values[i]


@inner
def largest(values, count):
    """The largest of the first entries of an array."""
    top = -np.inf
    for i in range(count):
        top = max(top, values[i])
    return top


@inner
def search(cumulative, low, high, value):
    """First index in [low, high) whose cumulative weight exceeds the value; high - 1 at most."""
    while low < high - 1:
        middle = (low + high - 1) // 2
        if cumulative[middle] > value:
            high = middle + 1
        else:
            low = middle + 1
    return low


@inner
def systematic(rng, weight, m, count, index):
    """Draw `count` indices below m by weight, with systematic resampling; store them sorted in `index`."""
    total = 0.0
    for i in range(m):
        total += weight[i]
    u = rng.random()
    reached, i = weight[0], 0
    for q in range(count):
        value = (q + u) / count * total
        while reached < value and i < m - 1:
            i += 1
            reached += weight[i]
        index[q] = i


@inner
def weights_of(logs, m, column, weight):
    """Store in `weight` the exponentials of m log weights in a column of `logs`, relative to the largest."""
    top = -np.inf
    for i in range(m):
        top = max(top, logs[i, column])
    for i in range(m):
        weight[i] = exp(logs[i, column] - top)


@inner
def effective_size(weight, count):
    """Kish's effective number of weighted draws."""
    one = two = 0.0
    for i in range(count):
        one += weight[i]
        two += weight[i] * weight[i]
    return one * one / two if two > 0 else 0.0


@inner
def sum_of_logs(logs, m, column):
    """Log of the sum of the exponentials of the first m values in a column."""
    top, total = -np.inf, 0.0
    for i in range(m):
        top = max(top, logs[i, column])
    if top == -np.inf:
        return top
    for i in range(m):
        total += exp(logs[i, column] - top)
    return top + log(total)


@compiled(part=True, forceinline=True)  # a call would cost 5 ns of 15
def gamma(rng, d, c):
    """Draw from a Gamma with shape a >= 1 by rejection (Marsaglia and Tsang, 2000); d = a - 1/3, c = 1 / sqrt(9 d)."""
    x, u = rng.standard_normal(), rng.random()
    v = (1.0 + c * x) ** 3
    while v <= 0.0 or not (u < 1.0 - 0.0331 * (x * x) * (x * x) or log(u) < 0.5 * x * x + d * (1.0 - v + log(v))):
        x, u = rng.standard_normal(), rng.random()
        v = (1.0 + c * x) ** 3
    return d * v


@inner
def beta(rng, a, b):
    """Draw from a Beta; its parameters are raised to the smallest positive number if they underflow."""
    if a < 1.0 or b < 1.0:
        return rng.beta(max(a, 2.3e-308), max(b, 2.3e-308))
    one, two = gamma(rng, a - 1 / 3, 1 / sqrt(9 * a - 3)), gamma(rng, b - 1 / 3, 1 / sqrt(9 * b - 3))
    return one / (one + two)


@outer
def dirichlet(rng, alpha, out):
    """Fill the rows of `out` with draws from a Dirichlet distribution."""
    bins = len(alpha)
    d, c, power = np.empty(bins), np.empty(bins), np.zeros(bins)
    for b in range(bins):
        power[b] = 1 / alpha[b] if alpha[b] < 1.0 else 0.0
        d[b] = alpha[b] + (2 / 3 if alpha[b] < 1.0 else -1 / 3)
        c[b] = 1 / sqrt(9 * d[b])
    for i in range(len(out)):
        total = 0.0
        for b in range(bins):
            value = gamma(rng, d[b], c[b])
            if power[b] > 0.0:
                value *= rng.random() ** power[b]
            out[i, b] = value
            total += value
        for b in range(bins):
            out[i, b] /= total
