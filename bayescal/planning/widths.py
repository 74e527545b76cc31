"""Widths of the intervals of a validation, for true risks and for simulated studies."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from bayescal._arrays import Floats, Generator
from bayescal.planning.risks import Risks, shift_to_mean

#: Newton steps of a logistic fit, and the size beyond which a coefficient shows that outcomes are separated.
STEPS, SEPARATED = 25, 30.0
#: Steps of a bisection, and the log of the largest number of rows.
BISECTIONS, MOST_LOG_ROWS = 60, 28.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Quantities that the widths depend on; arrays have one value per truth or per simulated study.

    `information` is that of intercept and slope per row, (I_00, I_01, I_11); `shift_variance` is the variance per row
    of the calibration in the large; shares of all rows above the threshold have the event or not; `odds` are its odds.
    """

    prevalence: Floats
    observed_expected: Floats
    auc: Floats
    information: tuple[Floats, Floats, Floats]
    shift_variance: Floats
    true_positive: Floats
    false_positive: Floats
    odds: float

    @classmethod
    def of(
        cls, log_odds: Floats, weight: Floats, events: Floats, fitted: Floats, above: tuple[Floats, Floats], odds: float
    ) -> "Moments":
        """Compute them from the shares of rows and of events at each node, and the risks of the logistic fit."""
        prevalence, others = events.sum(axis=1), weight - events
        with np.errstate(all="ignore"):  # studies without events have infinite widths
            shifted = expit(log_odds + shift_to_mean(log_odds, weight, np.clip(prevalence, 1e-9, 1 - 1e-9))[:, None])
            residual = (events * (1 - shifted) ** 2 + others * shifted**2).sum(axis=1)
            spread, of_shift = weight * fitted * (1 - fitted), (weight * shifted * (1 - shifted)).sum(axis=1)
            below = np.cumsum(others, axis=1) - others / 2
            return cls(
                prevalence=prevalence,
                observed_expected=prevalence / (weight * expit(log_odds)).sum(axis=1),
                auc=(events * below).sum(axis=1) / (prevalence * (1 - prevalence)),
                information=(spread.sum(axis=1), (spread * log_odds).sum(axis=1), (spread * log_odds**2).sum(axis=1)),
                shift_variance=residual / of_shift**2,
                true_positive=above[0],
                false_positive=above[1],
                odds=odds,
            )


Width = Callable[[Moments, Floats, float], Floats]


def _wald(variance: Callable[[Moments], Floats]) -> Width:
    """Width of a Normal interval, for a variance per row, a number of rows and the Normal quantile."""
    return lambda of, n, z: 2 * z * np.sqrt(variance(of) / n)


def _observed_expected(of: Moments, n: Floats, z: float) -> Floats:
    """Interval of the log, with the variance (1 - phi) / (n phi); Riley et al. (2021)."""
    width: Floats = 2 * of.observed_expected * np.sinh(z * np.sqrt((1 - of.prevalence) / (n * of.prevalence)))
    return width


def _slope(of: Moments) -> Floats:
    i00, i01, i11 = of.information
    return i00 / (i00 * i11 - i01**2)


def _auc(of: Moments, n: Floats, z: float) -> Floats:
    """The variance of Newcombe (2006), as in Riley et al. (2021)."""
    c = of.auc
    factor = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
    width: Floats = 2 * z * np.sqrt(c * (1 - c) * factor / (n**2 * of.prevalence * (1 - of.prevalence)))
    return width


def _net_benefit(of: Moments) -> Floats:
    return of.true_positive + of.odds**2 * of.false_positive - (of.true_positive - of.odds * of.false_positive) ** 2


def _standardised(of: Moments) -> Floats:
    """Riley et al. (2021), with sensitivity s, false positive rate f and w = odds (1 - phi) / phi."""
    phi, rest = of.prevalence, 1 - of.prevalence
    s, f, w = of.true_positive / phi, of.false_positive / rest, of.odds * rest / phi
    variance: Floats = s * (1 - s) / phi + w**2 * (f * (1 - f) / rest + f**2 / (phi * rest))
    return variance


WIDTHS: dict[str, Width] = {
    "observed_expected": _observed_expected,
    "in_the_large": _wald(lambda of: of.shift_variance),
    "slope": _wald(_slope),
    "auc": _auc,
    "net_benefit": _wald(_net_benefit),
    "standardised_net_benefit": _wald(_standardised),
}


def rows_with(width: Callable[[Floats], Floats], target: float, size: int) -> Floats:
    """Real numbers of rows at which widths, which decrease with the rows, are the target; infinite if none is."""
    low, high = np.zeros(size), np.full(size, MOST_LOG_ROWS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        with np.errstate(all="ignore"):
            narrow = width(np.exp(middle)) <= target  # False for NaN
        low, high = np.where(narrow, low, middle), np.where(narrow, middle, high)
    return np.where(high >= MOST_LOG_ROWS, np.inf, np.exp(high))


def simulated(truths: Risks, above: tuple[Floats, Floats], odds: float, n: int, size: int, rng: Generator) -> Moments:
    """Moments that studies of n rows estimate, one study per truth; `size` studies if there is one truth."""
    log_odds, risk = (np.broadcast_to(of, (size, of.shape[1])) for of in (truths.log_odds, truths.risk))
    rows: Floats = rng.multinomial(n, truths.weight, size=size).astype(np.float64)
    events: Floats = rng.binomial(rows.astype(np.int64), risk).astype(np.float64)
    total, phi = events.sum(axis=1).astype(np.int64), truths.risk @ truths.weight
    true = rng.binomial(total, np.clip(above[0] / phi, 0.0, 1.0)) / n
    false = rng.binomial(n - total, np.clip(above[1] / (1 - phi), 0.0, 1.0)) / n
    return Moments.of(log_odds, rows / n, events / n, _fitted(log_odds, rows, events, risk), (true, false), odds)


def _fitted(log_odds: Floats, rows: Floats, events: Floats, risk: Floats) -> Floats:
    """Risks that logistic regressions fit, which begin at the true risks; NaN where the outcomes are separated."""
    start = logit(np.clip(risk, 1e-13, 1 - 1e-13))
    change = np.zeros((2, len(rows)))
    for _ in range(STEPS):
        fitted = expit(start + change[0][:, None] + change[1][:, None] * log_odds)
        score, spread = events - rows * fitted, rows * fitted * (1 - fitted)
        i00, i01, i11 = ((spread * log_odds**k).sum(axis=1) for k in (0, 1, 2))
        s0, s1 = score.sum(axis=1), (score * log_odds).sum(axis=1)
        step = np.stack([i11 * s0 - i01 * s1, i00 * s1 - i01 * s0]) / np.maximum(i00 * i11 - i01**2, 1e-12)
        change = change + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-8:
            break
    lost = (np.abs(step) > 1e-3).any(axis=0) | (np.abs(change) > SEPARATED).any(axis=0)
    return np.where(lost[:, None], np.nan, fitted)
