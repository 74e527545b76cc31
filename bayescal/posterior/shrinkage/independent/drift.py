"""The drift: the centres of bins as a function of intercept a and log slope s, and quadrature rules over (a, s).

`find_modes` finds the posterior mode of (a, s), and a frame of coordinates there; `lattice` makes a rule on a disc in
that frame.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import comb, expit, psi

from bayescal._arrays import Floats, Indices
from bayescal.posterior.beta_binomial import FARTHEST_LOGIT, log_best, log_binomial, log_ratio
from bayescal.stats.sums import logit

LEVERAGE_FLOOR = 1e-4  #: Mean confidences are clipped to this distance from 0 and 1 in x, which the slope multiplies.
LARGEST_LOG_SLOPE = 30.0  #: Log slopes are clipped to this value, to avoid overflow of the slope.
#: First radius of a lattice, in standard deviations. It grows by a quarter while too much mass is at the rim, until it
#: exceeds FARTHEST_RADIUS.
RADIUS = 5.8
FARTHEST_RADIUS = 20.0
PRIOR_REACH = 6.0  #: Range of integration over the prior of the drift, in standard deviations.
#: Nodes whose log mass is this far below the largest are left out; modes this far below need not be accurate.
HOPELESS = 25.0
#: Largest move of a centre, in logits, within a disc on which the log-likelihood is evaluated by polynomials, and their
#: number of terms for small moves; it grows by 2 per logit. The error of the log-likelihood is below 1e-8 where the
#: density is not negligible.
FARTHEST_MOVE, FEWEST_TERMS = 3.0, 8
FEW_BINS = 40  #: Below, the likelihood without residual itself is faster than polynomials.
AT_ONCE = 50_000  #: Values of the log-likelihood per batch, so that temporary arrays stay in the cache.


@dataclass(frozen=True)
class DriftingBins:
    """Occupied bins, (effective) rows and positives, and the prior of their common drift (intercept a, log slope s).

    The drift moves the logit of bin b to the logit of its centre, ``logit[b] + a + (exp(s) - 1) x[b]``; `x` is the
    logit too, but of confidences that are at least 1e-4 away from 0 and 1. `best_logit` is the logit of k / n, and
    `best` the binomial log-likelihood there.
    """

    n: Floats
    k: Floats
    confidence: Floats
    intercept_sd: float
    log_slope_sd: float

    logit: Floats = field(init=False)
    x: Floats = field(init=False)
    best_logit: Floats = field(init=False)
    best: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "logit", logit(self.confidence))
        object.__setattr__(self, "x", logit(self.confidence, LEVERAGE_FLOOR))
        object.__setattr__(self, "best", log_best(self.n, self.k))
        # nan_to_num: the logit is infinite if all or no outcomes are positive, and undefined without rows
        with np.errstate(divide="ignore", invalid="ignore"):
            object.__setattr__(self, "best_logit", np.nan_to_num(np.log(self.k) - np.log(self.n - self.k)))

    @property
    def farthest_logit(self) -> float:
        """Largest absolute logit of a centre within the range of integration over the drift."""
        reach = np.expm1(min(PRIOR_REACH * self.log_slope_sd, LARGEST_LOG_SLOPE)) * np.abs(self.x)
        return float(np.max(np.abs(self.logit) + reach) + PRIOR_REACH * self.intercept_sd)

    def centre(self, a: Floats, s: Floats) -> Floats:
        """Return the logit of the centre h of each bin on a new last axis; h is the confidence at a = s = 0."""
        a, s = np.asarray(a)[..., None], np.asarray(s)[..., None]
        eta = np.expm1(np.minimum(s, LARGEST_LOG_SLOPE)) * self.x
        eta += a
        eta += self.logit
        np.maximum(eta, -FARTHEST_LOGIT, out=eta)
        return np.minimum(eta, FARTHEST_LOGIT, out=eta)

    def log_prior(self, a: Floats, s: Floats) -> Floats:
        """Log prior density of the drift."""
        z = (a / self.intercept_sd) ** 2 + (s / self.log_slope_sd) ** 2
        return -0.5 * z - np.log(2 * np.pi * self.intercept_sd * self.log_slope_sd)

    def log_likelihood(self, eta: Floats, kappa: Any = None) -> Floats:
        """Log-likelihood summed over bins: Beta-binomial if `kappa` is given, otherwise binomial."""
        each = log_binomial(self.n, self.k, eta, self.best)
        return (each if kappa is None else each + log_ratio(self.n, self.k, eta, kappa)).sum(axis=-1)


class Frame(NamedTuple):
    """Coordinates (t, s) in which the ridge of the posterior is straight: a = t - (exp(s - s0) - 1) lever, Jacobian 1.

    The fields are the mode (t0, s0), the lever, and the standard deviations at the mode; all have the same shape. The
    lever is I_as / I_aa at the mode, where I is the Fisher information plus the prior precision: along the ridge, a
    decreases by ``lever * ds`` if s increases by ds.
    """

    t0: Any
    s0: Any
    lever: Any
    sd_t: Any
    sd_s: Any

    def intercept(self, t: Any, s: Any) -> Any:
        """Return the intercept a at (t, s)."""
        # twice as fast as np.clip
        difference = np.minimum(np.maximum(s - self.s0, -LARGEST_LOG_SLOPE), LARGEST_LOG_SLOPE)
        return t - np.expm1(difference) * self.lever

    def take(self, index: Any) -> "Frame":
        """Return a selection of the frames."""
        return Frame(*(values[index] for values in self))


class Polynomials(NamedTuple):
    """The log-likelihood as a polynomial in the drift, on a disc around the mode of each frame.

    In the coordinates of a frame, the logit of the centre of bin b is ``eta0_b + (t - t0) + w z_b``, where w is
    exp(s - s0) - 1, and z_b is ``exp(s0) x_b - lever``. Along this line, the log-likelihood of the bin is interpolated
    at Chebyshev points. The sum over bins is a polynomial in (t - t0) / reach_t and w / reach_w.
    """

    frame: Frame
    reach_t: Floats
    reach_w: Floats
    coefficients: Floats  #: By frame, power of t and power of w: shape (n_frames, n_terms, n_terms).

    def __call__(self, index: Indices, t: Floats, s: Floats) -> Floats:
        """Return the log-likelihood at (t, s), one point or one row of points for each frame of an index."""
        frame = self.frame.take(index)
        by_t = _powers((t - frame.t0) / self.reach_t[index], len(self.coefficients[0]))
        by_w = _powers(np.expm1(s - frame.s0) / self.reach_w[index], len(self.coefficients[0]))
        if t.ndim == 2:  # rows of points have a frame each
            return ((by_t @ self.coefficients[index[:, 0]]) * by_w).sum(axis=-1)
        return np.einsum("pi,pij,pj->p", by_t, self.coefficients[index], by_w)


def _powers(values: Floats, count: int) -> Floats:
    """Return the powers 0 to count - 1 on a new last axis."""
    powers = np.ones((*values.shape, count))
    powers[..., 1:] = values[..., None]
    return np.cumprod(powers, axis=-1, out=powers)


def polynomials(bins: DriftingBins, frame: Frame, kappa: Floats | None, radius: float) -> Polynomials | None:
    """Interpolate the log-likelihood on discs of a radius in standard deviations; None if it varies too much there."""
    slope = np.exp(np.minimum(frame.s0, LARGEST_LOG_SLOPE))[:, None]
    reach_t, reach_w = radius * frame.sd_t, np.expm1(np.minimum(radius * frame.sd_s, LARGEST_LOG_SLOPE))
    centre = bins.centre(frame.intercept(frame.t0, frame.s0), frame.s0)
    by_w = reach_w[:, None] * (slope * bins.x - frame.lever[:, None])
    reach = np.hypot(reach_t[:, None], by_w)
    farthest = float(reach.max())
    if farthest > FARTHEST_MOVE or np.abs(centre).max() + farthest > FARTHEST_LOGIT:
        return None
    terms = FEWEST_TERMS + int(2 * farthest)
    places = np.cos(np.pi * (np.arange(terms) + 0.5) / terms)
    to_coefficients = np.linalg.inv(np.vander(places, increasing=True)).T
    each, total = np.arange(terms), np.zeros((len(centre), terms, terms))
    at_once = max(AT_ONCE // (len(centre) * terms), 1)
    for start in range(0, len(bins.n), at_once):
        some = np.s_[:, start : start + at_once]
        n, k, best = bins.n[some[1], None], bins.k[some[1], None], bins.best[some[1], None]
        values = log_binomial(n, k, eta := centre[some][..., None] + reach[some][..., None] * places, best)
        values = values if kappa is None else values + log_ratio(n, k, eta, kappa[:, None, None])
        along = values @ to_coefficients
        of_t, of_w = (_powers(part / reach[some], terms) for part in (reach_t[:, None], by_w[some]))
        for j in range(terms):
            part = np.einsum("fbi,fbi,fb->fi", along[..., j:], of_t[..., : terms - j], of_w[..., j])
            total[:, : terms - j, j] += part * comb(each[j:], j)
    return Polynomials(frame, reach_t, reach_w, total)


class Nodes(NamedTuple):
    """Nodes of a quadrature rule over (t, s); every node represents the rectangle around it.

    The rectangle has the lower corner (low_t, low_s) and the sides width_t and width_s. `log_density` is the log of
    prior times likelihood at the node, given tau. `log_mass` adds the log of the area of the rectangle and of the
    weight of tau. `kappa` is 1 / tau^2 - 1 under a dense residual, otherwise None. `polynomials`, if there are any,
    have the log-likelihood near the nodes; `of_frame` has the indices of their frames.
    """

    t: Floats
    s: Floats
    low_t: Floats
    low_s: Floats
    width_t: Floats
    width_s: Floats
    frame: Frame
    log_density: Floats
    log_mass: Floats
    kappa: Floats | None = None
    of_frame: Indices | None = None
    polynomials: Polynomials | None = None

    @property
    def drift(self) -> tuple[Floats, Floats]:
        """Intercept a and log slope s of each node."""
        return self.frame.intercept(self.t, self.s), self.s

    def take(self, index: Any) -> "Nodes":
        """Return a selection of the nodes."""
        values: Any = self[:-1]
        some: Any = (v if v is None else v.take(index) if isinstance(v, Frame) else v[index] for v in values)
        return Nodes(*some)._replace(polynomials=self.polynomials)


class _Expansion(NamedTuple):
    """Log posterior at (a, s), its gradient, and the Fisher information in the frame at that point."""

    value: Floats
    by_a: Floats
    by_s: Floats
    info_t: Floats
    info_s: Floats
    lever: Floats


def _expand(bins: DriftingBins, a: Floats, s: Floats, kappa: Floats | None) -> _Expansion:
    """Expand the log posterior at (a, s); the Fisher information is approximate under a dense residual."""
    at_once = max(AT_ONCE // len(bins.n), 1)
    if kappa is not None and len(a) > at_once:
        parts = (slice(start, start + at_once) for start in range(0, len(a), at_once))
        expansions = [_expand(bins, a[some], s[some], kappa[some]) for some in parts]
        return _Expansion(*(np.concatenate(values) for values in zip(*expansions, strict=True)))
    eta = bins.centre(a, s)
    h, g = expit(eta), expit(-eta)
    n, k = bins.n, bins.k
    info = n * h * g
    if kappa is None:
        score = k * g - (n - k) * h
    else:
        alpha, beta = kappa * h, kappa * g
        score = alpha * g * ((psi(alpha + k) - psi(alpha)) - (psi(beta + (n - k)) - psi(beta)))
        info = info * (kappa + 2) / (kappa + np.maximum(n, 2))
    by_s = np.exp(np.minimum(s, LARGEST_LOG_SLOPE))[..., None] * bins.x
    precise_a, precise_s = bins.intercept_sd**-2, bins.log_slope_sd**-2
    info_t = info.sum(-1) + precise_a
    lever = (info * by_s).sum(-1) / info_t
    return _Expansion(
        value=bins.log_likelihood(eta, kappa) + bins.log_prior(a, s),
        by_a=score.sum(-1) - precise_a * a,
        by_s=(score * by_s).sum(-1) - precise_s * s,
        info_t=info_t,
        info_s=(info * (by_s - lever[..., None]) ** 2).sum(-1) + precise_s + precise_a * lever**2,
        lever=lever,
    )


def find_modes(bins: DriftingBins, kappa: Floats | None, count: int = 1) -> tuple[Frame, Floats]:
    """Find the posterior mode of the drift and its log density, for each kappa (count, 1), by damped Fisher scoring."""
    if kappa is not None:  # for larger kappa, the likelihood is binomial, but differences of psi lose their digits
        kappa = np.minimum(kappa, 1e6 * (1 + bins.n.max()))
    a, s, damping = np.zeros(count), np.zeros(count), np.zeros(count)
    now = _expand(bins, a, s, kappa)
    for _ in range(40):
        step_s = np.clip((now.by_s - now.lever * now.by_a) / (now.info_s * (1 + damping)), -0.7, 0.7)
        step_t = np.clip(now.by_a / (now.info_t * (1 + damping)), -1.5, 1.5)
        step_a = step_t - np.expm1(step_s) * now.lever
        trial = _expand(bins, a + step_a, s + step_s, kappa)
        better = trial.value >= now.value - 1e-9 * (1 + np.abs(now.value))
        a, s = np.where(better, a + step_a, a), np.where(better, s + step_s, s)
        now = _Expansion(*(np.where(better, new, old) for new, old in zip(trial, now, strict=True)))
        damping = np.where(better, damping / 4, np.maximum(4 * damping, 1.0))
        settled = np.maximum(np.abs(step_s) * np.sqrt(now.info_s), np.abs(step_t) * np.sqrt(now.info_t)) < 0.2
        # do not wait for hopeless modes: if kappa is tiny, the likelihood hardly depends on the drift
        if np.all((better & settled) | (now.value < now.value.max() - HOPELESS) | (damping > 1e12)):
            break
    return Frame(a, s, now.lever, now.info_t**-0.5, now.info_s**-0.5), now.value


def lattice(
    bins: DriftingBins, frame: Frame, *, step: float, rim_share: float, kappa: Floats | None, log_weight: Floats
) -> tuple[Nodes, float]:
    """Make trapezoidal rules on discs around the modes, one per frame; also return the share of their mass at the rims.

    Discs grow until that share is below `rim_share`. `step` is in standard deviations. `kappa`, that of each frame
    under a dense residual, and `log_weight`, the log weight of each frame in the rule over tau, have shape (n_frames,);
    the weights are included in the masses of the nodes.
    """
    columns, each = frame.take((slice(None), None)), np.arange(len(log_weight))[:, None]
    widest = RADIUS if kappa is not None else 1.25 * RADIUS  # without residual, discs grow once
    cheap = kappa is None and len(bins.n) < FEW_BINS
    smooth = None if cheap else polynomials(bins, frame, kappa, widest + step)
    pieces = []
    inner, radius = -1.0, RADIUS
    while True:
        v_t, v_s, r = _ring(step, inner, radius)
        t, s = columns.t0 + columns.sd_t * v_t, columns.s0 + columns.sd_s * v_s
        a = columns.intercept(t, s)
        of = None if kappa is None else kappa[:, None, None]
        density = bins.log_likelihood(bins.centre(a, s), of) if smooth is None else smooth(each, t, s)
        density += bins.log_prior(a, s)
        pieces.append((t, s, density, np.broadcast_to(r, t.shape)))
        t, s, density, r = (np.concatenate(parts, axis=1) for parts in zip(*pieces, strict=True))
        mass = density + log_weight[:, None] + np.log(step**2 * columns.sd_t * columns.sd_s)
        share = np.exp(mass - mass.max())
        rim = share[r > radius - 0.5].sum() / share.sum()
        if rim < rim_share or radius > FARTHEST_RADIUS:
            break
        inner, radius = radius, 1.25 * radius
        smooth = smooth if radius <= widest else None
    heavy = np.nonzero(share > 1e-12 * share.max())
    chosen = frame.take(heavy[0])
    width_t, width_s = step * chosen.sd_t, step * chosen.sd_s
    t, s = t[heavy], s[heavy]
    low_t, low_s = t - width_t / 2, s - width_s / 2
    kappa = None if kappa is None else kappa[heavy[0]]
    masses = density[heavy], mass[heavy]
    return Nodes(t, s, low_t, low_s, width_t, width_s, chosen, *masses, kappa, heavy[0], smooth), float(rim)


def _ring(step: float, inner: float, outer: float) -> tuple[Floats, Floats, Floats]:
    """Return lattice points with inner < radius <= outer, and their radii."""
    along = np.arange(-int(outer / step), int(outer / step) + 1) * step
    v_t, v_s = np.meshgrid(along, along)
    r = np.hypot(v_t, v_s)
    keep = (r > inner) & (r <= outer)
    return v_t[keep], v_s[keep], r[keep]
