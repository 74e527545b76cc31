"""The drift (intercept a, log slope s): modes, lattices, and draws of the sub-models with no residual or a dense one.

As in `independent.drift`, a lattice of nodes covers the posterior of (a, s). Draws are nodes, drawn by mass and moved
uniformly within their cells, then resampled with the density at the moved point relative to that at the node. A
kappa of -1 stands for "no residual".
"""

from math import exp, expm1, hypot, log, pi, sqrt

from bayescal.posterior.shrinkage.compiled import functions
from bayescal.posterior.shrinkage.compiled.functions import FARTHEST, beta, inner, log_beta_binomial, softplus, tail

#: First radius of a lattice, in standard deviations, and the radius beyond which it no longer grows.
RADIUS, LARGEST_RADIUS = 4.6, 20.0
LARGEST_LOG_SLOPE = 30.0  #: Log slopes are clipped to this value, so that slopes do not overflow.


@inner
def centre(logit, x, a, slope):
    """Logit of the centre of a bin; `slope` is exp(s) - 1."""
    return min(max(logit + a + slope * x, -FARTHEST), FARTHEST)


@inner
def intercept(t, s, frame):
    """Return the intercept a at (t, s) in a frame (t0, s0, lever, sd_t, sd_s); see `Frame`."""
    return t - expm1(min(max(s - frame[1], -LARGEST_LOG_SLOPE), LARGEST_LOG_SLOPE)) * frame[2]


@inner
def log_prior(a, s, sds):
    """Log prior density of the drift."""
    return -0.5 * ((a / sds[0]) ** 2 + (s / sds[1]) ** 2) - log(2 * pi * sds[0] * sds[1])


@inner
def log_smooth(p, a, s):
    """Binomial log-likelihood of all bins, each relative to that at k / n."""
    n, k, logit, x, best = p.n, p.k, p.logit, p.x, p.best
    slope, total = expm1(min(s, LARGEST_LOG_SLOPE)), 0.0
    for b in range(len(n)):
        eta = centre(logit[b], x[b], a, slope)
        total += k[b] * eta - n[b] * softplus(eta) - best[b]
    return total


@inner
def log_dense(p, a, s, kappa, rise_n):
    """Beta-binomial log-likelihood of all bins, each relative to the binomial at k / n."""
    n, k, logit, x, best = p.n, p.k, p.logit, p.x, p.best
    slope, total = expm1(min(s, LARGEST_LOG_SLOPE)), 0.0
    for b in range(len(n)):
        total += log_beta_binomial(n[b], k[b], tail(centre(logit[b], x[b], a, slope)), kappa, rise_n[b], best[b])
    return total


@inner
def _expand(p, a, s, sds, kappa):
    """Log posterior, its gradient (a, s), and Fisher information in the frame: info_t, lever, info_s.

    If kappa > 0, a quasi-likelihood replaces the Beta-binomial: the binomial one, with the log-likelihood of each bin
    multiplied by (kappa + 1) / (kappa + n).
    """
    precise_a, precise_s = sds[0] ** -2, sds[1] ** -2
    n, k, logit, by = p.n, p.k, p.logit, p.x
    slope = expm1(min(s, LARGEST_LOG_SLOPE))
    value = -0.5 * (a * a * precise_a + s * s * precise_s)
    by_a, by_s, aa, ab, bb = -precise_a * a, -precise_s * s, precise_a, 0.0, precise_s
    for b in range(len(n)):
        eta = centre(logit[b], by[b], a, slope)
        e = exp(-abs(eta))
        h = 1.0 / (1.0 + e) if eta >= 0 else e / (1.0 + e)
        w = (kappa + 1.0) / (kappa + n[b]) if kappa > 0 and n[b] > 1.0 else 1.0
        value += w * (k[b] * eta - n[b] * (max(eta, 0.0) + log(1.0 + e)))
        residual, info, x = w * (k[b] - n[b] * h), w * n[b] * h * (1 - h), (slope + 1.0) * by[b]
        by_a += residual
        by_s += residual * x
        aa += info
        ab += info * x
        bb += info * x * x
    return value, by_a, by_s, aa, ab / aa, max(bb - ab * ab / aa, precise_s * 1e-3)


@inner
def find_mode(p, sds, kappa, a, s):
    """Find the mode by damped Fisher scoring from (a, s); return it as a frame (t0, s0, lever, sd_t, sd_s)."""
    now = _expand(p, a, s, sds, kappa)
    damping = 0.0
    for _ in range(30):
        _, by_a, by_s, info_t, lever, info_s = now
        step_s, step_t = (by_s - lever * by_a) / (info_s * (1 + damping)), by_a / (info_t * (1 + damping))
        settled = max(abs(step_s) * sqrt(info_s), abs(step_t) * sqrt(info_t)) < 0.1
        if (settled and damping < 1.0) or damping > 1e12:
            break
        step_s, step_t = min(max(step_s, -0.7), 0.7), min(max(step_t, -1.5), 1.5)
        step_a = step_t - expm1(step_s) * lever
        trial = _expand(p, a + step_a, s + step_s, sds, kappa)
        if trial[0] >= now[0] - 1e-9 * (1 + abs(now[0])):
            a, s, now, damping = a + step_a, s + step_s, trial, damping / 4
        else:
            damping = max(4 * damping, 1.0)
    return a, s, now[4], now[3] ** -0.5, now[5] ** -0.5


@inner
def lattice(p, sds, kappa, rise_n, frame, step, rim_share, nodes, first):
    """Make a lattice on a disc around the mode; the disc grows until the mass at its rim is below `rim_share`.

    The nodes are rows (t, s, log density, radius) of `nodes`, from row `first` on. Return the index after the last row
    (-1 if the rows do not fit), and the share of the mass at the rim (0 if it is below `rim_share`).
    """
    inside, radius, end, top = -1.0, RADIUS, first, -1e300
    while True:
        m = int(radius / step)
        for i in range(-m, m + 1):
            for j in range(-m, m + 1):
                r = hypot(i * step, j * step)
                if r <= inside or r > radius:
                    continue
                if end >= len(nodes):
                    return -1, 1.0
                t, s = frame[0] + frame[3] * i * step, frame[1] + frame[4] * j * step
                a = intercept(t, s, frame)
                density = log_smooth(p, a, s) if kappa < 0 else log_dense(p, a, s, kappa, rise_n)
                density += log_prior(a, s, sds)
                nodes[end, 0], nodes[end, 1], nodes[end, 2], nodes[end, 3] = t, s, density, r
                top = max(top, density)
                end += 1
        rim = _rim(nodes, first, end, top, radius - 0.6)
        if rim < rim_share:
            return end, 0.0
        if radius > LARGEST_RADIUS:
            return end, rim
        inside, radius = radius, 1.25 * radius


@inner
def _rim(nodes, first, end, top, radius):
    """Share of the mass of a lattice beyond a radius."""
    total = rim = 0.0
    for q in range(first, end):
        mass = exp(nodes[q, 2] - top)
        total += mass
        if nodes[q, 3] > radius:
            rim += mass
    return rim / total


@inner
def draw_smooth(rng, count, rows, out, p, sds, frame, step, nodes, end, v):
    """Draw accuracies under a drift without residual; return the effective number of draws."""
    weight, index, intercepts, slopes, centres = v.weight, v.index, v.one, v.two, v.eta
    n, k, logit, x, best, accuracy = p.n, p.k, p.logit, p.x, p.best, out.accuracy
    functions.weights_of(nodes, end, 2, weight)
    functions.systematic(rng, weight, end, count, index)
    for q in range(count):
        i = index[q]
        t = nodes[i, 0] + step * frame[3] * (rng.random() - 0.5)
        s = nodes[i, 1] + step * frame[4] * (rng.random() - 0.5)
        a = intercept(t, s, frame)
        intercepts[q], slopes[q] = a, s
        slope, total = expm1(min(s, LARGEST_LOG_SLOPE)), log_prior(a, s, sds) - nodes[i, 2]
        for b in range(len(n)):
            eta = centre(logit[b], x[b], a, slope)
            e = exp(-abs(eta))
            centres[q, b] = 1.0 / (1.0 + e) if eta >= 0 else e / (1.0 + e)
            total += k[b] * eta - n[b] * (max(eta, 0.0) + log(1.0 + e)) - best[b]
        weight[q] = exp(total)
    effective = functions.effective_size(weight, count)
    functions.systematic(rng, weight, count, count, index)
    for q in range(count):
        i, r = index[q], rows[q]
        out.intercept[r], out.log_slope[r] = intercepts[i], slopes[i]
        functions.copy(centres[i], accuracy[r], len(n))
    return effective


@inner
def draw_dense(rng, count, rows, out, p, taus, by_tau, v):
    """Draw accuracies with a dense residual around the confidences; `taus` are values of kappa = 1 / tau^2 - 1."""
    functions.weights_of(by_tau, len(taus), 0, v.weight)
    functions.systematic(rng, v.weight, len(taus), count, v.index)
    tails = v.of_bins
    for b in range(len(p.n)):
        tails[b] = tail(centre(p.logit[b], p.x[b], 0.0, 0.0))
    for q in range(count):
        _scatter(rng, rows[q], out, p, 0.0, 0.0, taus[v.index[q]], tails)


@inner
def _scatter(rng, r, out, p, a, s, kappa, tails):
    """Draw the accuracies of all bins from their conjugate Beta posteriors; store them in row r."""
    out.intercept[r], out.log_slope[r], out.tau[r] = a, s, 1 / sqrt(1 + kappa)
    n, k, accuracy, off = p.n, p.k, out.accuracy, out.off
    for b in range(len(n)):
        above, below = functions.beta_parameters(tails[b], kappa)
        accuracy[r, b] = beta(rng, above + k[b], below + n[b] - k[b])
        off[r, b] = True


@inner
def draw_drifting_dense(rng, count, rows, out, p, dense, step, end, v):
    """Draw accuracies with a dense residual around a drift; return the effective number of draws."""
    weight, index, intercepts, slopes, kappas = v.weight, v.index, v.one, v.two, v.three
    n, k, logit, x, best, rise_n, tails = p.n, p.k, p.logit, p.x, p.best, v.of_bins, v.eta
    sds, taus, by_tau, nodes = dense.sds, dense.kappa, dense.by_tau, dense.nodes
    functions.weights_of(nodes, end, 4, weight)
    functions.systematic(rng, weight, end, count, index)
    last = -1
    for q in range(count):
        i = index[q]
        j = int(nodes[i, 5])
        if j != last:
            for b in range(len(n)):
                rise_n[b] = functions.rise(taus[j], n[b])
            last = j
        frame = (by_tau[j, 1], by_tau[j, 2], by_tau[j, 3], by_tau[j, 4], by_tau[j, 5])
        t = nodes[i, 0] + step * frame[3] * (rng.random() - 0.5)
        s = nodes[i, 1] + step * frame[4] * (rng.random() - 0.5)
        a = intercept(t, s, frame)
        intercepts[q], slopes[q], kappas[q] = a, s, taus[j]
        slope, total = expm1(min(s, LARGEST_LOG_SLOPE)), log_prior(a, s, sds) - nodes[i, 2]
        for b in range(len(n)):
            tails[q, b] = tail(centre(logit[b], x[b], a, slope))
            total += log_beta_binomial(n[b], k[b], tails[q, b], taus[j], rise_n[b], best[b])
        weight[q] = exp(total)
    effective = functions.effective_size(weight, count)
    functions.systematic(rng, weight, count, count, index)
    for q in range(count):
        i = index[q]
        _scatter(rng, rows[q], out, p, intercepts[i], slopes[i], kappas[i], tails[i])
    return effective
