"""Sums of groups, their deviations under one scale and its evidence, and draws of accuracies and masses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import expit, gammaln, log_expit, softmax

from bayescal._arrays import Floats, Generator, Indices
from bayescal.posterior.beta_binomial import DIRECT, log_beta_binomial, ratio_by_stirling
from bayescal.posterior.pooling.prior import COMMON, PoolingPrior
from bayescal.posterior.shrinkage.independent.drift import LEVERAGE_FLOOR
from bayescal.stats.contract import Counts
from bayescal.stats.sums import VALUE_FLOOR, logit

_COLUMNS = ("effective_n", "effective_k", "share")
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(3)  #: Nodes and weights of the Gauss-Hermite rule.
#: Chebyshev points, and the matrix that gives the terms of a polynomial from its values there: errors are below 1e-5.
PLACES = np.cos(np.pi * (np.arange(16) + 0.5) / 16)
TERMS = np.linalg.inv(chebyshev.chebvander(PLACES, len(PLACES) - 1))
POINTS = len(NODES) ** 2  #: Points of the rule in two dimensions.
NEWTON_STEPS, CLOSE = 7, 1e-8  #: Most steps of Newton's method; smaller steps are not taken.
FIXED = 1e12  #: Prior precision of a deviation that a scale does not have.
CHUNK = 50_000  #: Numbers that are held at once, few enough for the cache of a processor; results do not depend on it.
FARTHEST = 30.0  #: Bound of logits in Newton steps and in Beta-binomial likelihoods.


@dataclass(frozen=True, eq=False)
class GroupBins:
    """Bins of several groups, one row of the arrays per group; only bins with rows in some group."""

    n: Floats  #: Effective rows, shape (n_groups, n_used).
    k: Floats  #: Effective rows with outcome 1.
    rows: Floats  #: Effective rows of the masses: the effective number of a group's rows, divided among bins by weight.
    confidence: Floats  #: Mean confidences; of bins that are empty in a group, those of all rows.
    share: Floats  #: Shares of all rows around which masses vary, shape (n_used,); positive.
    #: Effective number of rows from which the shares were estimated; infinite if they are known.
    share_rows: float = np.inf
    #: Mean confidences of all rows, shape (n_used,); by default those of all groups are equal to them.
    of_all: Floats | None = None

    @classmethod
    def of(cls, counts: Sequence[Counts], overall: Counts) -> "GroupBins":
        """Stack the counts of the groups; half a row is added to each share of all rows."""
        used = overall.occupied
        n, k, share = (np.stack([getattr(c, name)[used] for c in counts]) for name in _COLUMNS)
        effective = np.array([c.effective_rows for c in counts])
        seen = np.stack([c.mean_confidence[used] for c in counts])
        of_all = np.clip(overall.mean_confidence[used], 0.0, 1.0)
        confidence = np.where(np.isfinite(seen), np.clip(seen, 0.0, 1.0), of_all)
        total = overall.effective_rows * overall.share[used] + 0.5
        rows = effective[:, None] * np.where(effective[:, None] > 0, share, 0.0)
        shares = total / total.sum()
        return cls(n, np.clip(k, 0.0, n), rows, confidence, shares, float(total.sum()), of_all)

    def __len__(self) -> int:
        return len(self.n)

    @cached_property
    def start(self) -> Floats:
        """Logits of the mean confidences, shape (n_groups, n_used)."""
        return logit(self.confidence)

    @cached_property
    def lever(self) -> Floats:
        """Logits of the mean confidences around their centre in the group, which the slope multiplies."""
        x = logit(self.confidence, LEVERAGE_FLOOR)
        c = self.confidence
        information = self.n * c * (1 - c) + 1e-9
        return x - ((information * x).sum(axis=1) / information.sum(axis=1))[:, None]

    def take(self, groups: Indices) -> "GroupBins":
        """Return some groups, or groups several times."""
        by_group = {name: getattr(self, name)[groups] for name in ("n", "k", "rows", "confidence")}
        return replace(self, **by_group)

    def shifts(self, curves: Floats) -> Floats:
        r"""Shifts of the logits of the confidences by common curves, (n_curves, n_used): (n_curves, n_groups, n_used).

        Curves are logits of the accuracies minus logits of the mean confidences, of all rows. The mean confidence c of
        a group in a bin may differ from that of all rows, :math:`\bar c`, whose accuracy is :math:`\theta`. The group
        has the same shift of the logit, or the same gap, the accuracy :math:`\theta + c - \bar c`: the one that is
        nearer to :math:`\theta`. Logits of confidences near 0 and 1 can differ by any amount within a bin, the gaps by
        no more than its width.
        """
        same = np.broadcast_to(curves[:, None], (len(curves), *self.n.shape))
        if self.of_all is None:
            return same
        accuracy = expit(logit(self.of_all) + same)
        difference = self.confidence - self.of_all
        nearer = np.abs(difference) < np.abs(expit(self.start + same) - accuracy)
        return np.where(nearer & (same != 0), logit(accuracy + difference) - self.start, same)


@dataclass(frozen=True, eq=False)
class Rows:
    """Binomial rows of several problems: groups, or groups beside several centres; shape (n_problems, n_bins)."""

    n: Floats  #: Rows.
    k: Floats  #: Rows with outcome 1.
    offset: Floats  #: Logits of the accuracies without deviation.
    lever: Floats  #: What the slope multiplies.

    def take(self, part: slice | Indices) -> "Rows":
        """Return some problems."""
        return Rows(self.n[part], self.k[part], self.offset[part], self.lever[part])

    def log_likelihood(self, deviation: Floats, tau: float) -> Floats:
        """Log likelihood at deviations of shape (n_problems, n_points, 2), summed over bins."""
        eta = self.offset[:, None] + deviation[..., :1] + deviation[..., 1:] * self.lever[:, None]
        return log_likelihood(self.n[:, None], self.k[:, None], eta, tau)


def log_likelihood(n: Floats, k: Floats, eta: Floats, tau: float) -> Floats:
    """Binomial log likelihood, or Beta-binomial for tau > 0, up to a constant; bins are on the last axis."""
    if tau == 0:
        return _sums(k, eta) + _sums(n, log_expit(-eta))
    kappa, near = kappa_of(tau), np.clip(eta, -FARTHEST, FARTHEST)
    value = log_beta_binomial(n, k, near, kappa)
    many = kappa + n >= DIRECT  # differences of log Gammas cancel
    if many.any():
        binomial = k * eta + n * log_expit(-eta)
        value = np.where(many, binomial + ratio_by_stirling(n, k, near, np.array(kappa)), value)
    return _sums(value)


def kappa_of[T: (float, Floats)](tau: T) -> T:
    """Precision of the Beta distribution whose standard deviation is tau sqrt(h (1 - h))."""
    return 1 / tau**2 - 1


@dataclass(frozen=True, eq=False)
class Deviations:
    """Laplace approximation of the intercept and slope of each problem, and marginal likelihoods."""

    mode: Floats  #: Mode of intercept and slope, shape (n_problems, 2); 0 where the scale has none.
    chol: Floats  #: Lower Cholesky factor of their covariance, first row and second row, shape (n_problems, 3).
    #: Log marginal likelihood, by an adaptive Gauss-Hermite rule around the mode, shape (n_problems,).
    log_evidence: Floats


def deviations(rows: Rows, scale: tuple[float, float, float]) -> Deviations:
    """Approximate the deviations of every problem under one scale: sds of intercept and slope, and tau."""
    of_parts = [_deviations(rows.take(part), scale) for part in parts(*rows.n.shape, POINTS)]
    names = ("mode", "chol", "log_evidence")
    return Deviations(*(np.concatenate([getattr(each, name) for each in of_parts]) for name in names))


def parts(size: int, *widths: int) -> Iterator[slice]:
    """Yield slices of `size` items, each of which holds the product of `widths` numbers."""
    step = max(CHUNK // max(int(np.prod(widths)), 1), 1)
    for start in range(0, max(size, 1), step):
        yield slice(start, start + step)


def _deviations(rows: Rows, scale: tuple[float, float, float]) -> Deviations:
    *sd, tau = scale
    size = len(rows.n)
    if not any(sd):
        at = np.zeros((size, 1, 2))
        return Deviations(at[:, 0], np.zeros((size, 3)), rows.log_likelihood(at, tau)[:, 0])
    precision = np.array([1 / s**2 if s > 0 else FIXED for s in sd])
    mode, (haa, hab, hbb) = _mode(rows, precision, tau)
    live, precision = np.array(sd) > 0, np.where(precision < FIXED, precision, 0.0)
    mode = mode * live
    determinant = haa * hbb - hab**2
    caa, cab, cbb = hbb / determinant, -hab / determinant, haa / determinant
    first = np.sqrt(caa)
    second = cab / first
    chol = np.stack([first, second, np.sqrt(np.maximum(cbb - second**2, 1e-300))], axis=1) * live[[0, 1, 1]]
    z, weight = _rule(two=sd[1] > 0)
    at = placed(mode[:, None], chol[:, None], z[None])
    ratio = rows.log_likelihood(at, tau) + 0.5 * _sums(live * z**2 - precision * at**2)
    log_size = np.log(np.where(live, chol[:, [0, 2]] * np.sqrt(precision), 1.0)).sum(axis=1)
    return Deviations(mode, chol, np.logaddexp.reduce(ratio + np.log(weight), axis=1) + log_size)


def _mode(rows: Rows, precision: Floats, tau: float) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Find the mode by Newton's method, with information reduced by the residual; also the negative Hessian."""
    n, k, x = rows.n, rows.k, rows.lever
    shrink = 1 / (1 + np.maximum(n - 1, 0) * tau**2)
    k, n = k * shrink, n * shrink
    mode = np.zeros((len(n), 2))
    for _ in range(NEWTON_STEPS):
        h = expit(np.clip(rows.offset + mode[:, :1] + mode[:, 1:] * x, -FARTHEST, FARTHEST))
        expected = n * h
        score, information = k - expected, expected * (1 - h)
        gradient = np.stack([_sums(score), _sums(score, x)], axis=1) - precision * mode
        along = information * x
        hessian = _sums(information) + precision[0], _sums(along), _sums(along, x) + precision[1]
        haa, hab, hbb = hessian
        step = np.stack([hbb * gradient[:, 0] - hab * gradient[:, 1], haa * gradient[:, 1] - hab * gradient[:, 0]], 1)
        step = np.clip(step / (haa * hbb - hab**2)[:, None], -1, 1)
        step[np.abs(step).max(axis=1) < CLOSE] = 0
        if not step.any():
            break
        mode += step
    return mode, hessian


def _sums(*factors: Floats) -> Floats:
    """Sum products over bins, several times as fast as `sum` along a short axis."""
    return np.asarray(np.einsum(",".join(["...j"] * len(factors)) + "->...", *factors))


def _rule(*, two: bool) -> tuple[Floats, Floats]:
    """Points (n_points, 2) and weights of the rule for the standard Normal in one or two dimensions."""
    weight = WEIGHTS / np.sqrt(2 * np.pi)
    if not two:
        return np.stack([NODES, np.zeros_like(NODES)], axis=1), weight
    points = np.stack([m.ravel() for m in np.meshgrid(NODES, NODES, indexing="ij")], axis=1)
    return points, np.outer(weight, weight).ravel()


def placed(mode: Floats, chol: Floats, z: Floats) -> Floats:
    """Return mode + L z for factors (..., 3) and points (..., 2)."""
    first = chol[..., 0] * z[..., 0]
    second = chol[..., 1] * z[..., 0] + chol[..., 2] * z[..., 1]
    return mode + np.stack([first, second], axis=-1)


STEPS = 2  #: Steps of the independence sampler that corrects the Laplace approximation.
LEAST = 1e-12  #: Smallest parameter of a Gamma variable.


@dataclass(frozen=True, eq=False)
class Chosen:
    """Component and centre of every draw."""

    component: Indices  #: Index into the components of the prior, shape (n_groups, n_draws).
    centre: Indices  #: Index of the draw of the common curve, shape (n_draws,).


def draw_deviations(rows: Rows, prior: PoolingPrior, fits: list[Deviations], chosen: Chosen, rng: Generator) -> Floats:
    """Draw intercepts and slopes, shape (n_groups, n_draws, 2).

    Each is a proposal of the Laplace approximation, followed by Metropolis-Hastings steps with independent proposals of
    the same kind. `rows` are those of all groups beside each centre, then around the diagonal; `fits` are the Laplace
    approximations of all components, of which those around the diagonal are the same for every centre.
    """
    sds = np.array([(c.intercept_sd, c.slope_sd) for c in prior.components])
    kinds = np.array([(c.tau, c.slope_sd > 0) for c in prior.components])
    around = np.array([c.centre == COMMON for c in prior.components])
    n_groups, n_draws = chosen.component.shape
    n_centres = len(rows.n) // n_groups - 1
    mode, chol = (
        np.stack(
            [np.broadcast_to(v.reshape(-1, n_groups, v.shape[-1]), (n_centres, n_groups, v.shape[-1])) for v in of]
        )
        for of in ([fit.mode for fit in fits], [fit.chol for fit in fits])
    )
    normal = rng.standard_normal((STEPS, n_groups, n_draws, 2))
    uniform = rng.random((STEPS - 1, n_groups, n_draws))
    deviation = np.zeros((n_groups, n_draws, 2))
    for part in parts(n_groups, n_draws):
        for kind in np.unique(kinds, axis=0):
            of_kind = sds.any(axis=1) & (kinds == kind).all(axis=1)
            g, i = np.nonzero(of_kind[chosen.component[part]])
            if not len(g):
                continue
            g += part.start
            of, centre, z = chosen.component[g, i], chosen.centre[i], normal[:, g, i]
            at = placed(mode[of, centre, g], chol[of, centre, g], z)
            problem = np.where(around[of], centre, n_centres) * n_groups + g
            live, precision = sds[of] > 0, 1 / np.where(sds > 0, sds, np.inf)[of] ** 2
            log_weight = (_at_both if kind[1] else _at_intercepts)(rows, problem, at, kind[0])
            log_weight += 0.5 * _sums(live * z**2 - precision * at**2)  # other terms cancel
            state = at[0]
            for step in range(1, STEPS):
                taken = np.log(uniform[step - 1, g, i]) < log_weight[step] - log_weight[0]
                state = np.where(taken[:, None], at[step], state)
                log_weight[0] = np.where(taken, log_weight[step], log_weight[0])
            deviation[g, i] = state
    return deviation


def _at_both(rows: Rows, problem: Indices, at: Floats, tau: float) -> Floats:
    """Log likelihood of each problem at deviations of shape (n_steps, n_problems, 2)."""
    value = np.empty(at.shape[:2])
    for part in parts(len(problem), len(at), rows.n.shape[1]):
        value[:, part] = rows.take(problem[part]).log_likelihood(at[:, part].swapaxes(0, 1), tau).T
    return value


def _at_intercepts(rows: Rows, problem: Indices, at: Floats, tau: float) -> Floats:
    """As `_at_both`, at slopes 0; by interpolation if a problem has more deviations than a polynomial has terms."""
    each, place, count = np.unique(problem, return_inverse=True, return_counts=True)
    often = count * len(at) > len(PLACES)
    value = np.empty(at.shape[:2])
    single = np.flatnonzero(~often[place])
    value[:, single] = _at_both(rows, problem[single], at[:, single], tau)
    rest = np.flatnonzero(often[place])
    place, intercept = np.cumsum(often)[place[rest]] - 1, at[:, rest, 0]
    ends = np.full((2, int(often.sum())), np.inf)
    for sign, end in zip((1, -1), ends, strict=True):
        np.minimum.at(end, place, (sign * intercept).min(axis=0))
    middle, reach = (ends[0] - ends[1]) / 2, np.maximum(-(ends[0] + ends[1]) / 2, LEAST)
    nodes = middle[:, None] + reach[:, None] * PLACES
    at_nodes = np.stack([nodes, np.zeros_like(nodes)], axis=-1).swapaxes(0, 1)
    terms = np.einsum("ij,jp->ip", TERMS, _at_both(rows, each[often], at_nodes, tau))
    value[:, rest] = chebyshev.chebval((intercept - middle[place]) / reach[place], terms[:, place], tensor=False)
    return value


def draw_accuracies(
    bins: GroupBins, shifts: Floats, prior: PoolingPrior, chosen: Chosen, deviation: Floats, rng: Generator
) -> Floats:
    """Draw accuracies given the deviations, shape (n_groups, n_draws, n_used)."""
    taus = np.array([c.tau for c in prior.components])
    around = np.array([c.centre == COMMON for c in prior.components])
    accuracy = np.empty((*chosen.component.shape, bins.n.shape[1]))
    table = np.concatenate([shifts, np.zeros_like(shifts[:1])])
    for g, of in enumerate(chosen.component):
        shift = table[:, g][np.where(around[of], chosen.centre, len(shifts))]
        shift += deviation[g, :, :1]
        if deviation[g, :, 1].any():
            shift += deviation[g, :, 1:] * bins.lever[g]
        curve = expit(bins.start[g] + shift, out=accuracy[g])
        np.copyto(curve, bins.confidence[g], where=shift == 0)
        spread = np.flatnonzero(taus[of] > 0)
        kappa = kappa_of(taus[of[spread]])[:, None]
        h = np.clip(curve[spread], VALUE_FLOOR, 1 - VALUE_FLOOR)
        curve[spread] = rng.beta(kappa * h + bins.k[g], kappa * (1 - h) + bins.n[g] - bins.k[g])
    return accuracy


def precision_probabilities(bins: GroupBins, precisions: Floats) -> Floats:
    """Posterior probability of each precision by the Dirichlet-multinomial likelihood; equally probable before."""
    alpha = precisions[:, None] * bins.share
    by_bin = gammaln(alpha + bins.rows[:, None]) - gammaln(alpha)
    by_group = gammaln(precisions) - gammaln(precisions + bins.rows.sum(axis=1)[:, None])
    return softmax(by_bin.sum(axis=(0, 2)) + by_group.sum(axis=0))


def draw_masses(bins: GroupBins, precisions: Floats, n_draws: int, rng: Generator) -> Floats:
    """Draw masses, shape (n_groups, n_draws, n_used); the groups of one draw share its precision and its shares."""
    chosen = precisions[rng.choice(len(precisions), n_draws, p=precision_probabilities(bins, precisions))]
    # shares of all rows: groups that are alike are as uncertain as all rows
    share = bins.share if np.isinf(bins.share_rows) else rng.dirichlet(bins.share_rows * bins.share, n_draws)
    alpha = chosen[:, None] * share
    mass = np.empty((len(bins), *alpha.shape))
    for part in parts(len(bins), *alpha.shape):
        gamma = rng.standard_gamma(np.maximum(alpha + bins.rows[part, None], LEAST), out=mass[part])
        gamma /= _sums(gamma)[..., None]
    return mass
