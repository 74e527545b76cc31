"""The smooth curve model: exact calibration, a drift, a Gaussian process, or both; Laplace approximations, averaged."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.independent.drift import LEVERAGE_FLOOR
from bayescal.stats.contract import Counts
from bayescal.stats.log_odds import logit

Floats = NDArray[np.float64]

#: Sub-models with deviations from exact calibration: the drift, the Gaussian process, and their sum.
DEVIATIONS = ("drift", "curve", "both")
EXACT = "exact"
SUB_MODELS = (EXACT, *DEVIATIONS)
#: Prior probability of exact calibration; the others have equal shares of the rest.
PRIOR_EXACT = 0.1
#: Prior standard deviations of intercept and slope of the drift, on the logit scale, and their prior probabilities.
DRIFT_SDS = {0.05: 1 / 6, 0.15: 1 / 6, 0.5: 2 / 3}
#: The same of the Gaussian process, and its ranges, which are equally probable.
SIGMAS = {0.025: 1 / 12, 0.05: 1 / 12, 0.1: 5 / 24, 0.2: 5 / 24, 0.4: 5 / 24, 0.8: 5 / 24}
RANGES = (0.04, 0.1, 0.3)
#: Logits count 1 / LOGIT_UNITS in the distance of two bins, beside ranks: few rows may have scores far apart.
LOGIT_UNITS = 8.0
#: Variance added to the diagonal of each covariance, for numerical stability.
JITTER = 1e-8
#: Newton's method: largest number of steps, largest change of a logit per step, change at which it stops, and how
#: often a step is halved.
STEPS, LARGEST_STEP, CONVERGED, HALVINGS = 100, 3.0, 1e-8, 20
#: The smallest weight of a bin in Newton's method.
LEAST_WEIGHT = 1e-10


@dataclass(frozen=True, eq=False)
class Covariances:
    """Prior covariances of the deviations of the bins, one per sub-model with deviations and hyperparameters."""

    sub_model: list[str]  # key, of length n_fits
    share: Floats  # prior probability within the sub-model, shape (n_fits,)
    matrix: Floats  # shape (n_fits, n_bins, n_bins)


def covariances(confidence: Floats, rank: Floats) -> Covariances:
    """Compute the covariances of all sub-models with deviations, from mean confidences and ranks (0 to 1) of bins.

    The drift has one for each standard deviation, the curve for each pair of (sigma, range), both for each combination.
    """
    x, ranges = logit(confidence, LEVERAGE_FLOOR), len(RANGES)
    distance_sq = (rank[:, None] - rank) ** 2 + ((x[:, None] - x) / LOGIT_UNITS) ** 2
    drifts = np.array([sd**2 * (1 + np.outer(x, x)) for sd in DRIFT_SDS])
    curves = np.array([s**2 * np.exp(-0.5 * distance_sq / r**2) for s in SIGMAS for r in RANGES])
    both = (drifts[:, None] + curves).reshape(-1, *distance_sq.shape)
    of_drift, of_curve = np.array(list(DRIFT_SDS.values())), np.repeat(list(SIGMAS.values()), ranges) / ranges
    parts = {
        "drift": (of_drift, drifts),
        "curve": (of_curve, curves),
        "both": (np.outer(of_drift, of_curve).ravel(), both),
    }
    return Covariances(
        [key for key, (share, _) in parts.items() for _ in share],
        np.concatenate([share for share, _ in parts.values()]),
        np.concatenate([matrix for _, matrix in parts.values()]) + JITTER * np.eye(len(x)),
    )


@dataclass(frozen=True, eq=False)
class Laplace:
    """Laplace approximations of the posterior of the deviations, one per covariance."""

    mode: Floats  # deviations of the logits with the largest posterior density, shape (n_fits, n_bins)
    mean: Floats  # their approximate means
    root: Floats  # matrices R, where R R' is the approximate covariance; shape (n_fits, n_bins, n_bins)
    log_evidence: Floats  # log marginal likelihoods without binomial coefficients, shape (n_fits,)

    @property
    def covariance(self) -> Floats:
        """Covariances of the approximating Normal distributions."""
        return self.root @ np.swapaxes(self.root, 1, 2)


def laplace(x: Floats, n: Floats, k: Floats, covariance: Floats) -> Laplace:
    """Approximate the posterior of logit deviations f with k ~ Binomial(n, expit(x + f)) and f ~ Normal(0, K).

    Newton's method for the mode, for all covariances K, shape (n_fits, n_bins, n_bins), at once; Rasmussen and Williams
    (2006), algorithms 3.1 and 5.1, equations 3.21 and 3.32. The mean differs from the mode where the likelihood is
    skew; the first-order difference is that of Tierney and Kadane (1986), Journal of the American Statistical
    Association 81, 82-86.

    Two rows, one of them with outcome 1. The mode is 0, where the likelihood is 0.25 and the weight W is 0.5. With
    prior variance 2, the evidence is 0.25 / sqrt(1 + 0.5 x 2), and the posterior variance is 1 / (1 / 2 + 0.5).

    >>> fit = laplace(np.zeros(1), np.array([2.0]), np.array([1.0]), np.array([[[2.0]]]))
    >>> fit.mode, np.exp(fit.log_evidence), fit.covariance
    (array([[0.]]), array([0.1768]), array([[[1.]]]))
    """
    dual = np.zeros(covariance.shape[:2])  # f = K dual
    f, height = np.zeros_like(dual), _log_likelihood(x, n, k, np.zeros_like(dual))
    for _ in range(STEPS):
        h, sw, factor = _curvature(x, n, f, covariance)
        rhs = sw**2 * f + k - n * h
        inner = np.linalg.solve(factor, (sw * _times(covariance, rhs))[..., None])[..., 0]
        ahead = rhs - sw * inner - dual
        step = _times(covariance, ahead)
        size = np.abs(step).max(axis=1)
        t = np.minimum(1.0, LARGEST_STEP / np.maximum(size, 1e-300))
        for _ in range(HALVINGS):  # the density is log-concave, so that a short step always raises it
            new_dual, new_f = dual + t[:, None] * ahead, f + t[:, None] * step
            new_height = _log_likelihood(x, n, k, new_f) - 0.5 * (new_dual * new_f).sum(axis=1)
            worse = new_height < height - 1e-9 * np.abs(height)
            if not worse.any():
                break
            t = np.where(worse, t / 2, t)
        dual, f, height = new_dual, new_f, new_height
        if size.max() < CONVERGED:
            break
    _, sw, factor = _curvature(x, n, f, covariance)
    # (K^-1 + W)^-1 = C (1 + C' W C)^-1 C' with K = C C'
    root = np.linalg.cholesky(covariance)
    inside = np.linalg.cholesky(np.eye(len(x)) + np.swapaxes(root, 1, 2) @ (sw[:, :, None] ** 2 * root))
    root = np.swapaxes(np.linalg.solve(inside, np.swapaxes(root, 1, 2)), 1, 2)
    variance, h = (root**2).sum(axis=2), expit(x + f)
    # mean - mode = C t / 2 with the third derivatives t of the log likelihood times the variances, to first order
    skewed = -0.5 * n * h * (1 - h) * (1 - 2 * h) * variance
    mean = f + _times(root, _times(np.swapaxes(root, 1, 2), skewed))
    return Laplace(f, mean, root, height - 0.5 * np.linalg.slogdet(factor)[1])


def _curvature(x: Floats, n: Floats, f: Floats, covariance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return probabilities, square roots of the weights W, and 1 + W^(1/2) K W^(1/2)."""
    h = expit(x + f)
    sw = np.sqrt(np.maximum(n * h * (1 - h), LEAST_WEIGHT))
    return h, sw, np.eye(len(x)) + sw[:, :, None] * covariance * sw[:, None, :]


def _times(matrices: Floats, vectors: Floats) -> Floats:
    product: Floats = (matrices @ vectors[..., None])[..., 0]
    return product


def _log_likelihood(x: Floats, n: Floats, k: Floats, f: Floats) -> Floats:
    eta = x + f
    total: Floats = (k * eta + n * log_expit(-eta)).sum(axis=-1)
    return total


@dataclass(frozen=True, eq=False)
class SmoothCurvePosterior:
    """Posterior of the smooth curve model, of counts by bin; made by `smooth_curve_posterior`."""

    counts: Counts
    prior_exact: float = PRIOR_EXACT

    @property
    def prior(self) -> str:
        """The prior as text; empty for the default."""
        return "" if self.prior_exact == PRIOR_EXACT else f"prior probability of exact calibration {self.prior_exact:g}"

    @property
    def confidence(self) -> Floats:
        """Mean confidences of occupied bins."""
        return np.asarray(self.counts.mean_confidence[self.counts.occupied], dtype=np.float64)

    @cached_property
    def covariances(self) -> Covariances:
        """Covariances of the sub-models with deviations."""
        share = self.counts.share[self.counts.occupied]
        return covariances(self.confidence, np.cumsum(share) - share / 2)

    @cached_property
    def fits(self) -> Laplace:
        """Laplace approximations of the sub-models with deviations."""
        return laplace(*self._rows, self.covariances.matrix)

    @property
    def _rows(self) -> tuple[Floats, Floats, Floats]:
        """Logits of the confidences, (effective) rows, and those with outcome 1."""
        used = self.counts.occupied
        return logit(self.confidence), self.counts.effective_n[used], self.counts.effective_k[used]

    @cached_property
    def log_evidence_exact(self) -> float:
        """Logarithm of the likelihood of exact calibration, without binomial coefficients."""
        return float(_log_likelihood(*self._rows, np.zeros(len(self.confidence))))

    @cached_property
    def weights(self) -> Floats:
        """Posterior probabilities of exact calibration and of the fits, shape (1 + n_fits,)."""
        prior = np.append(self.prior_exact, (1 - self.prior_exact) / len(DEVIATIONS) * self.covariances.share)
        log_evidence = np.append(self.log_evidence_exact, self.fits.log_evidence)
        weights: Floats = np.exp(log_evidence - logsumexp(log_evidence, b=prior)) * prior
        return weights / weights.sum()

    @property
    def probabilities(self) -> dict[str, float]:
        """Posterior probabilities of the sub-models "exact", "drift", "curve" and "both"."""
        found = dict.fromkeys(SUB_MODELS, 0.0)
        for key, weight in zip((EXACT, *self.covariances.sub_model), self.weights.tolist(), strict=True):
            found[key] += weight
        return found

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the Bayes factor of exact calibration against the average of the other sub-models."""
        others = logsumexp(self.fits.log_evidence, b=self.covariances.share / len(DEVIATIONS))
        return self.log_evidence_exact - float(others)

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw all bins: accuracies from the sub-models, masses from a Dirichlet distribution, as by `Posterior`."""
        rng = _checks.generator(rng)
        used, accuracy = self.counts.occupied, self.draw_accuracy(n_draws, rng)
        mass = rng.dirichlet(self.counts.effective_n[used], n_draws)
        confidence = np.where(used, self.counts.mean_confidence, self.counts.bins.midpoints)
        spread_mass = _spread(mass, used, 0.0)
        return BinDraws(spread_mass, _spread(accuracy, used, 0.5), confidence[None], used, spread_mass)

    def draw_accuracy(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw the accuracies of occupied bins, shape (n_draws, n_occupied)."""
        own = self.confidence
        of_each = rng.multinomial(n_draws, self.weights)
        normal, order = rng.standard_normal((n_draws, len(own))), rng.permutation(n_draws)
        accuracy, first = np.empty_like(normal), 0
        for j, size in enumerate(of_each):  # rows of one fit are contiguous, and mixed afterwards
            rows = slice(first, first := first + int(size))
            if j == 0:
                accuracy[rows] = own
            elif size:
                moved = normal[rows] @ self.fits.root[j - 1].T + (logit(own) + self.fits.mean[j - 1])
                accuracy[rows] = expit(moved)
        return accuracy[order]


def _spread(values: Floats, used: NDArray[np.bool_], empty: float) -> Floats:
    """Return columns for all bins, with a constant where a bin is empty."""
    if used.all():
        return values
    whole = np.full((len(values), len(used)), empty)
    whole[:, used] = values
    return whole


def smooth_curve_posterior(counts: Counts, *, prior_exact: float = PRIOR_EXACT) -> SmoothCurvePosterior:
    r"""Compute the posterior of a smooth calibration curve with a spike at exact calibration.

    In bin b with mean confidence :math:`c_b`, the logit of the accuracy is

    .. math:: \mathrm{logit}\,\theta_b = \mathrm{logit}\,c_b + [a + s\,x_b] + [g_b],

    where each bracket is absent or present: "exact" (neither), "drift" (the first), "curve" (the second), "both". The
    intercept a and the slope s are :math:`\mathrm{Normal}(0, \tau)`, and :math:`x_b` is the logit of :math:`c_b`,
    clipped to [0.0001, 0.9999]. g is a Gaussian process with covariance :math:`\sigma^2 \exp(-d^2 / (2 r^2))` in the
    distance

    .. math:: d^2 = (u - u')^2 + ((x - x') / 8)^2,

    where :math:`u_b` is the rank of the bin, from 0 to 1. Ranks alone would make a single place of all scores that are
    rare. The standard deviation tau is 0.05, 0.15 or 0.5 with probabilities 1/6, 1/6 and 2/3; sigma is 0.025, 0.05,
    0.1, 0.2, 0.4 or 0.8 with probabilities 1/12, 1/12 and four times 5/24; the range r is 0.04, 0.1 or 0.3, equally
    probable. "exact" has the prior probability `prior_exact`, in [0, 1), and the other three sub-models have equal
    shares of the rest.

    Each of the 75 combinations of sub-model and scales (3 of the drift, 18 of the curve, 54 of both) has a Laplace
    approximation [1]_ with the mean shifted for skewness, and all are averaged by their marginal likelihoods. Masses
    are Dirichlet with the rows of the bins as parameters (the Bayesian bootstrap), independent of the accuracies. Draws
    are independent, without Markov chains.

    .. [1] C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, MIT Press, sections
       3.4 and 5.5.1.

    >>> from bayescal import BinnedCounts
    >>> p = np.linspace(0.05, 0.95, 400)
    >>> counts = BinnedCounts.from_arrays(np.arange(400) % 2, p, bins=10)  # half of the outcomes are 1, whatever p is
    >>> {key: round(value, 3) for key, value in smooth_curve_posterior(counts).probabilities.items()}
    {'exact': 0.0, 'drift': 0.69, 'curve': 0.0, 'both': 0.31}
    """
    return SmoothCurvePosterior(counts, _checks.fraction("prior_exact", prior_exact, or_zero=True))
