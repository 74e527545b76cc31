"""The posterior of the calibration curve of few rows: a line on the logit scale, or exact calibration."""

from dataclasses import dataclass
from functools import cached_property

from scipy.special import expit

from bayescal import _checks
from bayescal._arrays import Floats, Generator
from bayescal.clinical.curve.knots import rates_at
from bayescal.clinical.curve.posterior import EVERYTHING, PRIOR_EXACT, CurvePosterior
from bayescal.clinical.slope.posterior import RecalibrationPosterior, RecalibrationPrior, posterior_of_logits
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.stats.log_odds import logit
from bayescal.stats.ordered import MergedCounts

#: Name of the family, and prior standard deviations of shift and slope in the evidence about exact calibration: those
#: of the widest drift of the curve of more rows.
LOGISTIC, OF_EVIDENCE = "logistic", RecalibrationPrior("normal", 0.5, 0.5)


@dataclass(frozen=True)
class _KnotLogits:
    """Knots between 0 and 1, as `Logits`."""

    logit: Floats
    n: Floats
    k: Floats
    certain_events: float = 0.0


@dataclass(frozen=True, eq=False)
class LogisticCurvePosterior(CurvePosterior):
    """Posterior of a logistic calibration curve, of counts by score; made by `logistic_curve_posterior`."""

    @cached_property
    def line(self) -> RecalibrationPosterior:
        """Posterior of intercept and slope."""
        return self._line(RecalibrationPrior())

    def _line(self, prior: RecalibrationPrior) -> RecalibrationPosterior:
        of = self._described
        return posterior_of_logits(_KnotLogits(logit(of.mean_confidence), of.effective_n, of.effective_k), prior)

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
    def _shares(self) -> dict[str, float]:
        everything, others = self._exact
        return {EVERYTHING: everything, EXACT: others, LOGISTIC: 1 - everything - others}

    @property
    def separated(self) -> bool:
        """Whether a score divides the rows of outcome 0 from those of outcome 1, so that no slope fits them best."""
        c, n, k = self.counts.mean_confidence, self.counts.effective_n, self.counts.effective_k
        zeros, ones = c[n - k > n / 1e9], c[k > n / 1e9]
        return bool(len(zeros) and len(ones) and (zeros.max() < ones.min() or ones.max() < zeros.min()))

    def rates(self, bins: BinDraws, score: Floats) -> Floats:
        """Return the draws of the curve at scores, given those of its knots; see `rates_at`."""
        return rates_at(bins, score, self.apart, logistic=True)

    def _draw(self, key: str, share: float, count: int, rng: Generator) -> Floats:
        if key != LOGISTIC or self.apart.all():
            return super()._draw(EXACT, share, count, rng)
        lines = self.line.sample(count, rng=rng)
        return expit(lines[:, :1] + lines[:, 1:] * logit(self._described.mean_confidence))


def logistic_curve_posterior(
    counts: MergedCounts, *, prior_exact: float = PRIOR_EXACT, contradicted: bool = False, within: bool = False
) -> LogisticCurvePosterior:
    r"""Compute the posterior of a calibration curve that is a line on the logit scale, or the diagonal.

    .. math:: \mathrm{logit}\,m(c) = a + b\,\mathrm{logit}\,c

    Intercept a and slope b have the posterior and the prior of `recalibration`: the shift at the mean logit is
    Normal(0, 2.5), the slope Normal(1, 1). This prior keeps the posterior proper if a score separates the outcomes, or
    if all outcomes are equal. Calibration is exact (a = 0, b = 1) in a share of the draws: its posterior probability
    with the prior `prior_exact`, against a shift that is Normal(0, 0.5) and a slope that is Normal(1, 0.5). Against
    the wider prior of the line, exact calibration would be the more probable the wider this prior is (Lindley's
    paradox), and hide moderate errors. The draws are therefore no posterior of a single prior, and are judged by their
    coverage. Scores of exactly 0 or 1 have the model of `curve_posterior`, and the masses its Dirichlet distribution.
    """
    prior_exact = _checks.fraction("prior_exact", prior_exact, or_zero=True)
    return LogisticCurvePosterior(counts, prior_exact, contradicted, within)
