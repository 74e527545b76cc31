"""The posterior of the calibration curve of few rows: a line on the logit scale, or exact calibration."""

from dataclasses import dataclass
from functools import cached_property

from scipy.special import expit

from bayescal._arrays import Floats, Generator
from bayescal.clinical.curve.posterior import CurvePosterior
from bayescal.clinical.slope.posterior import Logits, RecalibrationPosterior, RecalibrationPrior, posterior_of_logits
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.stats.log_odds import logit

#: Name of the family, and prior standard deviations of shift and slope in the evidence about exact calibration: those
#: of the widest drift of the curve of more rows.
LOGISTIC, OF_EVIDENCE = "logistic", RecalibrationPrior("normal", 0.5, 0.5)


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
