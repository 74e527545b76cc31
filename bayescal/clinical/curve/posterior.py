"""The posterior of a calibration curve: smooth curves pooled with the shrinkage model on the same knots.

The smooth curve model has exact calibration, a drift, a Gaussian process, or both: Laplace approximations, averaged.
Few rows have a line on the logit scale, or exact calibration.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from bayescal import _checks
from bayescal._arrays import Bools, Floats, Generator
from bayescal.clinical.curve.knots import AT_END, rates_at
from bayescal.clinical.slope.posterior import Logits, RecalibrationPosterior, RecalibrationPrior, posterior_of_logits
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.independent.drift import LEVERAGE_FLOOR
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import EXACT, allot
from bayescal.posterior.shrinkage.saturated import SaturatedBins
from bayescal.stats.contract import Counts
from bayescal.stats.ordered import MergedCounts
from bayescal.stats.sums import logit

#: Sub-models with deviations from exact calibration: the drift, the Gaussian process, and their sum.
DEVIATIONS = ("drift", "curve", "both")
SUB_MODELS = (EXACT, *DEVIATIONS)
PRIOR_EXACT = 0.1  #: Prior probability of exact calibration; the others have equal shares of the rest.
#: Prior standard deviations of intercept and slope of the drift, on the logit scale, and their prior probabilities.
DRIFT_SDS = {0.05: 1 / 6, 0.15: 1 / 6, 0.5: 2 / 3}
#: The same of the Gaussian process, and its ranges, which are equally probable.
SIGMAS = {0.025: 1 / 12, 0.05: 1 / 12, 0.1: 5 / 24, 0.2: 5 / 24, 0.4: 5 / 24, 0.8: 5 / 24}
RANGES = (0.04, 0.1, 0.3)
#: Logits count 1 / LOGIT_UNITS in the distance of two bins, beside ranks: few rows may have scores far apart.
LOGIT_UNITS = 8.0
JITTER = 1e-8  #: Variance added to the diagonal of each covariance, for numerical stability.
#: Newton's method: largest number of steps, largest change of a logit per step, change at which it stops, and how
#: often a step is halved.
STEPS, LARGEST_STEP, CONVERGED, HALVINGS = 100, 3.0, 1e-8, 20
#: The smallest weight of a bin in Newton's method.
LEAST_WEIGHT = 1e-10
SMOOTH, EVERYTHING = "smooth", "everything"
#: Families of the pool with their prior weights, and the prior weights of the sub-models within each. Those of the
#: smooth family are averaged by `SmoothCurvePosterior`; the others are sub-models of the shrinkage model.
FAMILIES: dict[str, tuple[float, dict[str, float]]] = {
    SMOOTH: (2.0, dict.fromkeys(DEVIATIONS, 1 / 3)),
    "independent": (2.0, dict.fromkeys(("dense", "sparse", "logistic_dense", "logistic_sparse"), 1 / 4)),
    "shared": (2.0, {"runs": 2 / 3, "offset": 1 / 3}),
    "noise": (1.0, dict.fromkeys(("label_noise", "label_noise_any_rate"), 1 / 2)),
}
POWER = 0.1  #: Power of the marginal likelihoods of the families in their shares of the draws.
PRIOR_ODDS = 2 / 3  #: Prior odds of exact calibration in `p_calibrated`.
#: Prior weights of all sub-models within their families, and shares of the families.
_WEIGHTS = {key: weight for _, inside in FAMILIES.values() for key, weight in inside.items()}
_FAMILY_WEIGHTS = np.array([weight for weight, _ in FAMILIES.values()]) / sum(weight for weight, _ in FAMILIES.values())
#: Name of the family, and prior standard deviations of shift and slope in the evidence about exact calibration: those
#: of the widest drift of the curve of more rows.
LOGISTIC, OF_EVIDENCE = "logistic", RecalibrationPrior("normal", 0.5, 0.5)


@dataclass(frozen=True, eq=False)
class Covariances:
    """Prior covariances of the deviations of the bins, one per sub-model with deviations and hyperparameters."""

    sub_model: list[str]  # key, of length n_fits
    share: Floats  # prior probability within the sub-model, shape (n_fits,)
    matrix: Floats  # shape (n_fits, n_bins, n_bins)


def covariances(confidence: Floats, rank: Floats) -> Covariances:
    """Compute the covariances of all sub-models with deviations, from mean confidences and ranks (0 to 1) of bins."""
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
        probabilities = dict.fromkeys(SUB_MODELS, 0.0)
        for key, weight in zip((EXACT, *self.covariances.sub_model), self.weights.tolist(), strict=True):
            probabilities[key] += weight
        return probabilities

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

    def draw_accuracy(self, n_draws: int, rng: Generator) -> Floats:
        """Draw the accuracies of occupied bins, shape (n_draws, n_occupied)."""
        stated = self.confidence
        of_each = rng.multinomial(n_draws, self.weights)
        normal, order = rng.standard_normal((n_draws, len(stated))), rng.permutation(n_draws)
        accuracy, first = np.empty_like(normal), 0
        for j, size in enumerate(of_each):  # rows of one fit are contiguous, and mixed afterwards
            rows = slice(first, first := first + int(size))
            if j == 0:
                accuracy[rows] = stated
            elif size:
                moved = normal[rows] @ self.fits.root[j - 1].T + (logit(stated) + self.fits.mean[j - 1])
                accuracy[rows] = expit(moved)
        return accuracy[order]


def _spread(values: Floats, used: Bools, empty: float) -> Floats:
    """Return columns for all bins, with a constant where a bin is empty."""
    if used.all():
        return values
    whole = np.full((len(values), len(used)), empty)
    whole[:, used] = values
    return whole


def smooth_curve_posterior(counts: Counts, *, prior_exact: float = PRIOR_EXACT) -> SmoothCurvePosterior:
    """Compute the posterior of a smooth calibration curve with a spike at exact calibration.

    The logit of the accuracy of a bin is that of its mean confidence, plus a drift, a Gaussian process, or both: see
    ``docs/explanation/calibration_curve.md``. The process has a distance in ranks and logits, because ranks alone would
    make a single place of all scores that are rare. "exact" has the prior probability `prior_exact`, in [0, 1), and the
    other three sub-models have equal shares of the rest. Each of the 75 combinations of sub-model and scales has a
    Laplace approximation [1]_ with the mean shifted for skewness, and all are averaged by their marginal likelihoods.
    Masses are a Bayesian bootstrap, independent of the accuracies. Draws are independent, without Markov chains.

    .. [1] C. E. Rasmussen and C. K. I. Williams (2006), Gaussian Processes for Machine Learning, MIT Press, sections
       3.4 and 5.5.1.
    """
    return SmoothCurvePosterior(counts, _checks.fraction("prior_exact", prior_exact, or_zero=True))


@dataclass(frozen=True, eq=False)
class CurvePosterior:
    """Posterior of a calibration curve, of counts by knot; made by `curve_posterior`, which describes the model."""

    counts: MergedCounts
    prior_exact: float = PRIOR_EXACT  # prior probability of exact calibration in the draws
    contradicted: bool = False  # whether rows contradict a score of exactly 0 or 1
    within: bool = False  # whether such rows are in a knot that also has other scores

    logistic = False

    @property
    def separated(self) -> bool:
        """Whether a score separates the outcomes of a logistic curve; False for other curves."""
        return False

    @property
    def prior(self) -> str:
        """The prior as text; empty for the default."""
        return "" if self.prior_exact == PRIOR_EXACT else f"prior probability of exact calibration {self.prior_exact:g}"

    @cached_property
    def apart(self) -> Bools:
        """Knots at exactly 0 or 1, shape (n_knots,); they have a model of their own."""
        c = self.counts.mean_confidence
        return np.asarray(np.minimum(c, 1 - c) <= AT_END)

    @cached_property
    def smooth(self) -> SmoothCurvePosterior:
        """Posterior of the smooth family, given that calibration is not exact."""
        return smooth_curve_posterior(self._described, prior_exact=0)

    @cached_property
    def shrinkage(self) -> ShrinkagePosterior:
        """Posterior under the sub-models of the shrinkage model."""
        return shrinkage_posterior(self._described, sub_models=[key for key in _WEIGHTS if key not in DEVIATIONS])

    @cached_property
    def _described(self) -> MergedCounts:
        """Counts of the knots that the families describe."""
        return self.counts.part(~self.apart) if self.apart.any() else self.counts

    @cached_property
    def _saturated(self) -> SaturatedBins:
        c, n, k = self.counts.mean_confidence, self.counts.effective_n, self.counts.effective_k
        return SaturatedBins(n[self.apart], k[self.apart], np.round(c[self.apart]))

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihoods of the families relative to exact calibration, of the knots that are not apart."""
        if self.apart.all():
            return dict.fromkeys(FAMILIES, 0.0)
        of = self.shrinkage.log_evidence
        return {
            family: -self.smooth.log_bayes_factor
            if family == SMOOTH
            else float(logsumexp([of[key] for key in inside], b=list(inside.values()))) - of[EXACT]
            for family, (_, inside) in FAMILIES.items()
        }

    @property
    def _log_bayes_factor(self) -> float:
        """Log Bayes factor of exact calibration of the knots that are not apart."""
        return -float(logsumexp(list(self.log_evidence.values()), b=_FAMILY_WEIGHTS))

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the Bayes factor of exact calibration against the weighted mean of the families."""
        if self.contradicted:
            return -np.inf
        # without knots at 0 or 1, the last two are 0
        return self._log_bayes_factor + self._saturated.log_exact - self._saturated.log_evidence

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration at prior odds of 2:3."""
        return float(expit(self.log_bayes_factor + np.log(PRIOR_ODDS)))

    @cached_property
    def families(self) -> dict[str, dict[str, float]]:
        """Shares of the draws, by family and sub-model; they sum to 1."""
        everything, others = self._exact
        log_share = np.log(_FAMILY_WEIGHTS) + POWER * np.array(list(self.log_evidence.values()))
        shares = (1 - everything - others) * np.exp(log_share - logsumexp(log_share))
        families = {EXACT: {EXACT: everything + others}}
        for (family, (_, inside)), share in zip(FAMILIES.items(), shares.tolist(), strict=True):
            families[family] = {key: share * p for key, p in self._within(family, inside).items()}
        return families

    @cached_property
    def _exact(self) -> tuple[float, float]:
        """Shares of draws in which all knots are exact, and in which all but contradicted ones at 0 or 1 are."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(self.prior_exact) - np.log1p(-self.prior_exact)
        share = float(expit(log_odds + self._log_bayes_factor))
        if not self.contradicted and self._saturated.log_exact >= self._saturated.log_evidence:
            return share, 0.0
        return 0.0, share if self.apart.any() and not self.within else 0.0

    def _within(self, family: str, prior: dict[str, float]) -> dict[str, float]:
        """Probabilities of the sub-models of a family, by their marginal likelihoods."""
        if self.apart.all():
            return prior
        if family == SMOOTH:
            return {key: self.smooth.probabilities[key] for key in prior}
        log_joint = np.array([self.shrinkage.log_evidence[key] for key in prior]) + np.log(list(prior.values()))
        return dict(zip(prior, np.exp(log_joint - logsumexp(log_joint)).tolist(), strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        """Shares of the draws of all sub-models; they sum to 1."""
        return {key: p for inside in self.families.values() for key, p in inside.items()}

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw rates of all knots from the pool and Dirichlet masses, (n_draws, n_knots); confidences are fixed."""
        rng = _checks.generator(rng)
        counts, apart = self.counts, self.apart
        everything, others = self._exact
        shares = {EVERYTHING: everything, EXACT: others}
        shares |= {SMOOTH: sum(self.families[SMOOTH].values())} if SMOOTH in self.families else {}
        shares |= {key: p for key, p in self.probabilities.items() if key not in (EXACT, *DEVIATIONS)}
        size = np.bincount(allot(np.array(list(shares.values())), n_draws, rng), minlength=len(shares))
        accuracy = np.empty((n_draws, len(apart)))
        described = [
            self._draw(key, share, int(n), rng) for (key, share), n in zip(shares.items(), size, strict=True) if n
        ]
        accuracy[:, ~apart] = np.concatenate(described)
        accuracy[:, apart] = self._saturated.draw(n_draws, rng)[0]
        accuracy[: size[0]] = counts.mean_confidence
        mass = rng.dirichlet(counts.effective_n, n_draws)
        return BinDraws(mass, accuracy[rng.permutation(n_draws)], counts.mean_confidence[None], counts.occupied, mass)

    def rates(self, bins: BinDraws, score: Floats) -> Floats:
        """Return the draws of the curve at scores, given those of its knots; see `rates_at`."""
        return rates_at(bins, score, self.apart, logistic=self.logistic)

    def _draw(self, key: str, share: float, count: int, rng: Generator) -> Floats:
        """Draw the rates of the knots that are not apart from one sub-model, or from the smooth family."""
        if key in (EVERYTHING, EXACT) or self.apart.all():
            return np.tile(self.counts.mean_confidence[~self.apart], (count, 1))
        if key == SMOOTH:
            return self.smooth.draw_accuracy(count, rng)
        return self.shrinkage.draw_accuracy(key, count, share, rng)


def curve_posterior(
    counts: MergedCounts, *, prior_exact: float = PRIOR_EXACT, contradicted: bool = False, within: bool = False
) -> CurvePosterior:
    """Compute the posterior of a calibration curve at its knots, as a pool of smooth curves and the shrinkage model.

    The families, their weights, the share of exact draws and the power pool [1]_ are described and justified in
    ``docs/explanation/calibration_curve.md``. `prior_exact` is in [0, 1). If rows contradict a score of exactly 0 or 1
    (`contradicted`), the likelihood of exact calibration is 0; if such rows are in a knot that also has other scores
    (`within`), not all other knots can be exact.

    Knots at exactly 0 or 1 have the model of saturated bins of `shrinkage_posterior`, and the families describe the
    other knots. Their marginal likelihood is part of the Bayes factor, but not of the share of exact draws. If outcomes
    contradict them, they have their Betas in all draws, and exact calibration in the draws concerns the other knots.

    .. [1] N. Friel and A. N. Pettitt (2008), "Marginal likelihood estimation via power posteriors", Journal of the
       Royal Statistical Society B 70, 589-607.
    """
    return CurvePosterior(counts, _checks.fraction("prior_exact", prior_exact, or_zero=True), contradicted, within)


@dataclass(frozen=True, eq=False)
class LogisticCurvePosterior(CurvePosterior):
    """Posterior of a calibration curve that is a line on the logit scale, or the diagonal, of counts by score.

    Intercept and slope have the posterior and the weak prior of `recalibration`, which is proper for any outcomes.
    Calibration is exact in a share of the draws: its posterior probability with the prior `prior_exact`, against a
    shift that is Normal(0, 0.5) and a slope that is Normal(1, 0.5). Against the weak prior, exact calibration would
    hide moderate errors (Lindley's paradox). The draws are not the posterior of one prior; their coverage was measured.
    Scores of exactly 0 or 1, and masses, are those of `curve_posterior`.
    """

    logistic = True

    @cached_property
    def line(self) -> RecalibrationPosterior:
        """Posterior of intercept and slope."""
        return self._line(RecalibrationPrior())

    def _line(self, prior: RecalibrationPrior) -> RecalibrationPosterior:
        of = self._described
        return posterior_of_logits(Logits(logit(of.mean_confidence), of.effective_n, of.effective_k), prior)

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of a line relative to exact calibration, of the knots that are not apart."""
        return {LOGISTIC: 0.0 if self.apart.all() else -self._line(OF_EVIDENCE).log_bayes_factor}

    @property
    def _log_bayes_factor(self) -> float:
        return -self.log_evidence[LOGISTIC]

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Shares of the draws, by family and sub-model; they sum to 1."""
        exact = sum(self._exact)
        return {EXACT: {EXACT: exact}, LOGISTIC: {LOGISTIC: 1 - exact}}

    @property
    def separated(self) -> bool:
        """Whether a score divides the rows of outcome 0 from those of outcome 1, so that no slope fits them best."""
        c, n, k = self.counts.mean_confidence, self.counts.effective_n, self.counts.effective_k
        zeros, ones = c[n - k > n / 1e9], c[k > n / 1e9]
        return bool(len(zeros) and len(ones) and (zeros.max() < ones.min() or ones.max() < zeros.min()))

    def _draw(self, key: str, share: float, count: int, rng: Generator) -> Floats:
        if key != LOGISTIC or self.apart.all():
            return super()._draw(EXACT, share, count, rng)
        lines = self.line.sample(count, rng=rng)
        rates: Floats = expit(lines[:, :1] + lines[:, 1:] * logit(self._described.mean_confidence))
        return rates
