r"""Posterior of the calibration intercept a and slope b: :math:`\mathrm{logit}\,E[y] = a + b\,\mathrm{logit}\,p`.

The density is evaluated on a grid in coordinates in which the posterior is nearly a product: the logit t of the event
rate at a weighted mean logit, the lever, and the slope b. Marginal densities, quantiles, draws and the evidence come
from this grid, without Markov chains. The calibration in the large, and the ratio of observed to expected events, are
functionals of intercept, slope and the logits.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal._texts import text_of
from bayescal.clinical.slope.counts import LogitCounts

NAMES = ("intercept", "slope")  #: Quantities with a marginal density.
#: Nodes per side of the grid on which the density is evaluated, its first half-width in standard deviations, and the
#: nodes per side to which its logarithm is interpolated.
NODES, REACH, FINE = 25, 6.5, 257
#: The number of nodes is doubled, up to MOST_NODES, while the mean error of the interpolated log density may exceed
#: TOLERANCE. It is estimated from every second node, whose error is ORDER times as large.
MOST_NODES, TOLERANCE, ORDER = 97, 1e-4, 16.0
LARGEST_ERROR = 0.01  #: Mean error of the log density with all nodes beyond which there is no answer.
#: Rows at 0 or 1 that agree with their outcome are refused if slopes at or below 0 are more probable than this.
MOST_P_NOT_INCREASING = 0.5
CHUNK = 1_000_000  #: Numbers that are computed at once.
#: A side of the grid moves outwards by WIDER of the width while its rim holds more than this share of the mass, and
#: inwards if the nodes that hold it are fewer than USED of all.
RIM, WIDER, USED = 1e-9, 0.35, 0.75
MOST_ROUNDS, FARTHEST = 60, 1e4
EQUAL = 1e-9  #: Largest difference between logits that count as equal.
#: Newton steps: largest size, number and tolerance. For the shift of a draw, Newton's method converges quadratically:
#: the last step is below SHIFT_CONVERGED, so the error is below 1e-9.
LARGEST_STEP, NEWTON_STEPS, CONVERGED, SHIFT_CONVERGED = 2.0, 80, 1e-10, 1e-5
#: Default prior standard deviations of the shift at the mean logit and of the slope.
WEAK = (2.5, 1.0)
JEFFREYS, FLAT = "jeffreys", "flat"
MOST_GROUPS = 48  #: Cells of the logits, which merge those of the counts.


class Logits(NamedTuple):
    """Rows by logit, all that a posterior of intercept and slope depends on, as `LogitCounts` has them."""

    logit: Floats  # (n_cells,), increasing
    n: Floats  # effective rows
    k: Floats  # effective rows with outcome 1
    certain_events: float = 0.0

    @property
    def mass(self) -> Floats:
        """Effective number of rows in each cell from which the distribution of the logits comes, shape (n_cells,)."""
        return self.n


@dataclass(frozen=True)
class RecalibrationPrior:
    """Prior of intercept and slope: `kind` is "normal", "jeffreys" or "flat".

    With "normal", the shift at the prior's lever and the slope have independent Normal distributions around 0 and 1,
    with these standard deviations. "jeffreys" is the square root of the determinant of Fisher's information, "flat" is
    constant.
    """

    kind: str = "normal"
    shift_sd: float = WEAK[0]
    slope_sd: float = WEAK[1]

    @classmethod
    def read(cls, prior: Any) -> "RecalibrationPrior":
        """Read the argument ``prior``: the name of a prior, or a pair of standard deviations."""
        if isinstance(prior, cls):
            return prior
        if isinstance(prior, str):
            _checks.one_of("prior", prior, ["weak", JEFFREYS, FLAT])
            return cls() if prior == "weak" else cls(prior)
        sds = _checks.positive("prior", prior)
        if sds.shape != (2,):
            raise ValueError(
                "`prior` must be 'weak', 'jeffreys', 'flat', or a pair of standard deviations: of the shift at the "
                f"mean logit and of the slope, as in `prior=(2.5, 1.0)`; not {_checks.quoted(prior)}."
            )
        return cls("normal", float(sds[0]), float(sds[1]))

    def __str__(self) -> str:
        if self.kind != "normal":
            return f"{self.kind.capitalize() if self.kind == JEFFREYS else self.kind} prior"
        return f"prior shift ~ Normal(0, {self.shift_sd:g}), slope ~ Normal(1, {self.slope_sd:g})"


def lever_of(counts: LogitCounts | Logits) -> float:
    """Return the mean logit, weighted by p (1 - p): the prior of the shift holds there."""
    weight = counts.n * expit(counts.logit) * expit(-counts.logit)
    return float(weight @ counts.logit / weight.sum())


def in_the_large(counts: LogitCounts | Logits, lines: Floats, *, rng: Generator) -> Floats:
    r"""Draw the calibration in the large: the shift of the logits after which the mean probability is the event rate.

    For each draw of intercept a and slope b, shape (n_draws, 2), and of the distribution q of the logits x (a Bayesian
    bootstrap of the cells), it is the shift s with :math:`\sum q\,\mathrm{expit}(x + s) = \sum q\,\mathrm{expit}(a + b
    x)`. It does not assume that the slope is 1. With slope 1, it is the intercept.
    """
    x, n = _merged(counts.logit, counts.mass)
    q = _masses(n, len(lines), rng)
    q /= q.sum(axis=1, keepdims=True)
    goal = (q * expit(lines[:, :1] + lines[:, 1:] * x)).sum(axis=1)
    low, high = np.full(len(lines), -FARTHEST), np.full(len(lines), FARTHEST)
    spread = n * expit(x) * expit(-x)
    shift = lines[:, 0] + (lines[:, 1] - 1) * (spread @ x) / spread.sum()  # first order in slope - 1
    for _ in range(NEWTON_STEPS):  # Newton's method, kept within a bracket
        h = expit(x + shift[:, None])
        weighted = q * h
        excess = weighted.sum(axis=1) - goal
        slope = np.maximum(weighted.sum(axis=1) - (weighted * h).sum(axis=1), np.finfo(np.float64).tiny)
        low, high = np.where(excess < 0, shift, low), np.where(excess > 0, shift, high)
        new = shift - excess / slope
        new = np.where((new > low) & (new < high), new, np.where(excess == 0, shift, (low + high) / 2))
        done = np.abs(new - shift).max() < SHIFT_CONVERGED
        shift = new
        if done:
            break
    return shift


def observed_expected(counts: LogitCounts | Logits, lines: Floats, *, rng: Generator) -> Floats:
    r"""Draw the ratio of observed to expected events: the event rate, divided by the mean probability.

    It is :math:`\sum q\,\mathrm{expit}(a + b x) / \sum q\,\mathrm{expit}(x)` for each draw of (a, b), shape (n_draws,
    2), and of the distribution q of the logits x, which is that of `in_the_large` with the same seed; above 1 if and
    only if the calibration in the large is above 0. Rows of outcome 1 with a probability of exactly 1 count as one
    observed and one expected event.
    """
    x, n = _merged(counts.logit, counts.mass)
    q = _masses(n, len(lines), rng)
    certain = rng.standard_gamma(counts.certain_events, len(lines))
    observed = (q * expit(lines[:, :1] + lines[:, 1:] * x)).sum(axis=1) + certain
    ratio: Floats = observed / (q @ expit(x) + certain)
    return ratio


def _masses(n: Floats, n_draws: int, rng: Generator) -> Floats:
    """Draw masses of the cells, whose shares are a Bayesian bootstrap; shape (n_draws, n_cells)."""
    masses: Floats = np.maximum(rng.standard_gamma(n, (n_draws, len(n))), np.finfo(np.float64).tiny)
    return masses


def _merged(x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Merge neighbouring cells into at most `MOST_GROUPS`, half by their rows and half by their range of logits."""
    if len(x) <= MOST_GROUPS:
        return x, n
    share = (np.cumsum(n) - n / 2) / n.sum() + (x - x[0]) / (x[-1] - x[0])
    group = np.minimum((share / 2 * MOST_GROUPS).astype(np.int64), MOST_GROUPS - 1)
    total = np.bincount(group, n, MOST_GROUPS)
    used = total > 0
    return np.bincount(group, n * x, MOST_GROUPS)[used] / total[used], total[used]


@dataclass(frozen=True, eq=False)
class RecalibrationPosterior:
    """Posterior of intercept and slope on a grid; made by `recalibration_posterior`."""

    counts: LogitCounts | Logits
    prior: RecalibrationPrior
    lever: float  # mean logit, weighted by the information at the mode; t is the logit of the event rate there
    t: Floats  # coordinates of the grid, shape (FINE,)
    b: Floats
    log_mass: Floats  # log probability of each cell, shape (FINE, FINE); the probabilities sum to 1
    log_evidence: float  # log marginal likelihood; NaN under a prior without a density
    exact: tuple[float, float] = (0.0, 1.0)  # line whose likelihood is that of exact calibration
    wider: tuple[float, float] = (1.0, 1.0)  # factors of the standard deviations of t and b, for rows in clusters

    @property
    def log_bayes_factor(self) -> float:
        """Log Bayes factor of intercept 0 and slope 1 against the prior; NaN under a prior without a density."""
        n, k, line = self.counts.n, self.counts.k, self.exact[0] + self.exact[1] * self.counts.logit
        return float(k @ line - n @ np.logaddexp(0.0, line)) - self.log_evidence

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> Floats:
        """Draw intercept and slope jointly, (n_draws, 2), uniformly within cells of about 0.05 standard deviations."""
        rng = _checks.generator(rng)
        cell = np.searchsorted(self._cumulative, rng.random(n_draws), side="right")
        i, j = np.unravel_index(np.minimum(cell, self.log_mass.size - 1), self.log_mass.shape)
        t = self.t[i] + float(self.t[1] - self.t[0]) * (rng.random(n_draws) - 0.5)
        b = self.b[j] + float(self.b[1] - self.b[0]) * (rng.random(n_draws) - 0.5)
        return np.stack([t - b * self.lever, b], axis=1)

    def quantile(self, name: str, p: ArrayLike) -> Floats:
        """Quantiles of "intercept" or "slope" at probabilities p, exact to about 1e-4 standard deviations."""
        _checks.one_of("name", name, NAMES)
        nodes, cdf = self._slope_cdf if name == "slope" else self._intercept_cdf
        return np.interp(np.asarray(p, dtype=np.float64), cdf, nodes)

    def moments(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation of the intercept or of the slope."""
        _checks.one_of("name", name, NAMES)
        mass = np.exp(self.log_mass)
        values = self.b[None, :] if name == "slope" else self.t[:, None] - self.b * self.lever
        mean = float((mass * values).sum())
        return mean, float(np.sqrt((mass * (values - mean) ** 2).sum()))

    @property
    def p_not_increasing(self) -> float:
        """Probability that the slope is at or below 0: events are then not more frequent at higher probabilities."""
        ends, cdf = self._slope_cdf
        return float(np.interp(0.0, ends, cdf))

    @cached_property
    def _cumulative(self) -> Floats:
        cumulative = np.exp(self.log_mass).ravel().cumsum()
        return cumulative / cumulative[-1]

    @cached_property
    def _slope_cdf(self) -> tuple[Floats, Floats]:
        """Ends of the cells of b, and the distribution function there."""
        return _ends(self.b), np.concatenate([[0.0], np.exp(self.log_mass).sum(axis=0).cumsum()])

    @cached_property
    def _intercept_cdf(self) -> tuple[Floats, Floats]:
        """Nodes of a = t - b lever, and the distribution function there: the sum of that of t given each b."""
        ends = _ends(self.t)
        below = np.concatenate([np.zeros((1, len(self.b))), np.exp(self.log_mass).cumsum(axis=0)])
        corners = [t - b * self.lever for t in ends[[0, -1]] for b in self.b[[0, -1]]]
        nodes = np.linspace(min(corners), max(corners), 2 * FINE)
        cdf = sum(np.interp(nodes + b * self.lever, ends, of_b) for b, of_b in zip(self.b, below.T, strict=True))
        return nodes, np.asarray(cdf)

    def in_the_large(self, lines: Floats, *, rng: Any = None) -> Floats:
        """Draw the calibration in the large given draws of intercept and slope; see `in_the_large`."""
        return in_the_large(self.counts, lines, rng=_checks.generator(rng))

    def observed_expected(self, lines: Floats, *, rng: Any = None) -> Floats:
        """Draw the ratio of observed to expected events given draws of intercept and slope; see `observed_expected`."""
        return observed_expected(self.counts, lines, rng=_checks.generator(rng))


def _ends(nodes: Floats) -> Floats:
    half = (nodes[1] - nodes[0]) / 2
    return np.append(nodes - half, nodes[-1] + half)


def recalibration_posterior(counts: LogitCounts, *, prior: Any = WEAK) -> RecalibrationPosterior:
    """Compute the posterior of intercept and slope on a grid.

    Rows at exactly 0 or 1 must agree with their outcome. They have probability 1 at every positive slope, and are left
    out. `prior` is "weak", "jeffreys", "flat", or a pair of standard deviations: the shift at the mean logit is Normal
    around 0, the slope Normal around 1. The mean logit is weighted by p (1 - p), so that no prior depends on outcomes.

    Refused are rows that contradict a probability of 0 or 1; no rows with a probability between 0 and 1, or equal ones;
    a flat prior if the posterior is improper, because outcomes are separated; rows at 0 or 1 that agree with their
    outcome, if the slope of the others is more probably negative than positive.
    """
    prior = RecalibrationPrior.read(prior)
    _require_logits(counts)
    posterior = posterior_of_logits(counts, prior)
    p_reversed = posterior.p_not_increasing
    if counts.agreeing and p_reversed > MOST_P_NOT_INCREASING:
        raise ValueError(
            text_of("certain rows and a negative slope", certain=counts.agreeing, rows=counts.n_rows, p=p_reversed)
        )
    return posterior


def posterior_of_logits(counts: LogitCounts | Logits, prior: RecalibrationPrior) -> RecalibrationPosterior:
    """Compute the posterior on a grid of rows that were checked; with a Normal prior, also of equal logits."""
    density = _Density.of(counts, prior)
    t, b, log_density = _placed(density)
    fine_t, fine_b = (np.linspace(nodes[0], nodes[-1], FINE) for nodes in (t, b))
    # not by `@`, whose rounding depends on the number of threads, and so on the process
    log_fine = np.einsum("it,tb->ib", _interpolation(t, fine_t), log_density)
    log_fine = np.einsum("ib,jb->ij", log_fine, _interpolation(b, fine_b))
    top = log_fine.max()
    log_total = top + np.log(np.exp(log_fine - top).sum())
    area = (fine_t[1] - fine_t[0]) * (fine_b[1] - fine_b[0])
    evidence = float(log_total + np.log(area)) if prior.kind == "normal" else float("nan")
    return RecalibrationPosterior(counts, prior, density.lever, fine_t, fine_b, log_fine - log_total, evidence)


def _require_logits(counts: LogitCounts) -> None:
    zeros, ones = counts.contradicted.tolist()
    if zeros or ones:
        raise ValueError(text_of("certain rows that are wrong", zeros=zeros, rows=counts.n_rows, ones=ones))
    if not len(counts.n):
        raise ValueError(
            f"`y_prob` must have values strictly between 0 and 1 for an intercept and a slope; all {counts.n_rows} "
            "rows are at 0 or 1."
        )
    if np.ptp(counts.logit) < EQUAL:
        raise ValueError(
            text_of("scores within one cell", step=counts.step, rows=counts.n_inside, score=expit(counts.logit[0]))
        )


@dataclass(frozen=True)
class _Density:
    """Log of prior times likelihood in the coordinates (t, b)."""

    x: Floats
    n: Floats
    k: Floats
    prior: RecalibrationPrior
    prior_lever: float
    lever: float
    mode: tuple[float, float]
    sds: tuple[float, float]

    @classmethod
    def of(cls, counts: LogitCounts | Logits, prior: RecalibrationPrior) -> "_Density":
        """Find the mode, and the lever that makes t and b uncorrelated there."""
        x, n, k = counts.logit, counts.n, counts.k
        prior_lever = lever_of(counts)
        lever, mode, sds = _mode(x, n, k, prior, prior_lever)
        return cls(x, n, k, prior, prior_lever, lever, mode, sds)

    def __call__(self, t: Floats, b: Floats) -> Floats:
        """Evaluate on the grid of t and b, shape (len(t), len(b))."""
        parts = np.array_split(t, -(-t.size * b.size * len(self.x) // CHUNK))
        return np.concatenate([self._values(part, b) for part in parts])

    def _values(self, t: Floats, b: Floats) -> Floats:
        d = self.x - self.lever
        eta = t[:, None, None] + b[:, None] * d
        small = np.exp(-np.abs(eta))
        loss = np.log1p(small)
        loss += np.maximum(eta, 0.0)
        value = t[:, None] * self.k.sum() + b * (self.k @ d) - loss @ self.n
        if self.prior.kind == JEFFREYS:
            value += 0.5 * _log_determinant(np.log(self.n) - np.abs(eta) - 2 * np.log1p(small), d)
        elif self.prior.kind == "normal":
            shift = t[:, None] + b * (self.prior_lever - self.lever) - self.prior_lever
            value += _log_normal(shift, self.prior.shift_sd) + _log_normal(b - 1, self.prior.slope_sd)
        return np.asarray(value)


def _log_determinant(log_weight: Floats, d: Floats) -> Floats:
    """Log determinant of the sum of w (1, d) (1, d)^T, from centred squares, which do not cancel."""
    top = log_weight.max(axis=-1)
    weight = np.exp(log_weight - top[..., None])
    total = weight.sum(axis=-1)
    squares = (weight * (d - (weight @ d / total)[..., None]) ** 2).sum(axis=-1)
    return np.asarray(2 * top + np.log(total) + np.log(np.maximum(squares, np.finfo(np.float64).tiny)))


def _log_normal(z: Floats, sd: float) -> Floats:
    return -0.5 * (z / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))


def _mode(
    x: Floats, n: Floats, k: Floats, prior: RecalibrationPrior, prior_lever: float
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """Newton's method for the penalised likelihood: lever, mode (t, b) and standard deviations, to place the grid."""
    if prior.kind == "normal":
        penalty = np.array([prior.shift_sd**-2.0, prior.slope_sd**-2.0])
    else:
        penalty = np.array([0.25, 0.05])
    columns = np.stack([np.ones_like(x), x - prior_lever])
    centre = np.array([prior_lever, 1.0])  # logit of the event rate at the prior's lever, and slope
    at = centre.copy()
    for _ in range(NEWTON_STEPS):
        h = expit(at @ columns)
        information = (columns * (n * h * (1 - h))) @ columns.T + np.diag(penalty)
        step = np.linalg.solve(information, columns @ (k - n * h) - penalty * (at - centre))
        size = np.abs(step).max()
        at = at + step * min(1.0, LARGEST_STEP / max(size, CONVERGED))
        if size < CONVERGED:
            break
    shift = float(information[0, 1] / information[0, 0])  # of the lever, so that the coordinates are uncorrelated
    sds = information[0, 0] ** -0.5, (information[1, 1] - information[0, 1] ** 2 / information[0, 0]) ** -0.5
    return prior_lever + shift, (float(at[0] + shift * at[1]), float(at[1])), (float(sds[0]), float(sds[1]))


def _placed(density: _Density) -> tuple[Floats, Floats, Floats]:
    """Move the sides of the grid until it holds the mass and not much more; return t, b and the log density."""
    centre, sds = np.array(density.mode), np.array(density.sds)
    low, high = centre - REACH * sds, centre + REACH * sds
    for _ in range(MOST_ROUNDS):
        t, b = (np.linspace(*ends, NODES) for ends in zip(low, high, strict=True))
        log_density = density(t, b)
        mass = np.exp(log_density - log_density.max())
        mass /= mass.sum()
        width, moved = high - low, False
        for axis in (0, 1):
            along = mass.sum(axis=1 - axis)
            moved |= bool(along[0] > RIM or along[-1] > RIM)
            low[axis] -= WIDER * width[axis] * (along[0] > RIM)
            high[axis] += WIDER * width[axis] * (along[-1] > RIM)
        if not moved:
            for axis, nodes in enumerate((t, b)):
                used = np.flatnonzero(mass.sum(axis=1 - axis) > RIM / 100)
                if used[-1] - used[0] < USED * NODES:
                    margin = 2 * (nodes[1] - nodes[0])
                    low[axis], high[axis], moved = nodes[used[0]] - margin, nodes[used[-1]] + margin, True
        if not moved:
            return _refined(density, t, b, log_density)
        if max(np.abs(low).max(), np.abs(high).max()) > FARTHEST:
            break
    if density.prior.kind == "normal":
        raise ValueError(text_of("prior of separated rows", shift=density.prior.shift_sd, slope=density.prior.slope_sd))
    raise ValueError(
        f"`prior` must not be {density.prior.kind!r} for these rows: outcomes are separated, or have one value only, "
        "so that the posterior is improper. Use the default prior."
    )


def _refined(density: _Density, t: Floats, b: Floats, log_density: Floats) -> tuple[Floats, Floats, Floats]:
    """Double the number of nodes until cubic splines describe the log density."""
    while True:
        by_t, by_b = (_interpolation(nodes[::2], nodes) for nodes in (t, b))
        mass = np.exp(log_density - log_density.max())
        error = np.abs(by_t @ log_density[::2, ::2] @ by_b.T - log_density)
        mean = (mass * error).sum() / mass.sum() / ORDER
        if mean <= TOLERANCE or len(t) >= MOST_NODES:
            break
        t, b = (np.linspace(nodes[0], nodes[-1], 2 * len(nodes) - 1) for nodes in (t, b))
        log_density = density(t, b)
    if mean > LARGEST_ERROR and density.prior.kind == "normal":
        raise ValueError(
            f"`y_prob` must not be so near 0 or 1, with so few events: its logits are from {density.x[0]:.0f} to "
            f"{density.x[-1]:.0f}, and the grid does not describe the posterior. Pass `floor=1e-6`."
        )
    if mean > LARGEST_ERROR:
        raise ValueError(
            f"`prior` must not be {density.prior.kind!r} for these rows: outcomes are nearly separated, and the tails "
            "of the posterior are too heavy for an interval. Use the default prior."
        )
    return t, b, log_density


def _interpolation(nodes: Floats, fine: Floats) -> Floats:
    """Return the matrix of cubic spline interpolation from nodes to finer nodes."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(nodes, np.eye(len(nodes)))(fine))
