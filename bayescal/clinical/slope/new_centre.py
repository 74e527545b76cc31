"""Calibration in a new centre: random effects of intercept and slope over centres, and bands of the line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
from scipy.special import expit, logit

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import RecalibrationPosterior, lever_of
from bayescal.data.columns import column
from bayescal.data.frames import to_array
from bayescal.draws import Draws
from bayescal.posterior.random_effects import RandomEffectsPosterior, TwoEffectsPosterior

FEWEST_CENTRES, FEW_CENTRES = 3, 10  #: Least number of centres, and that below which a remark names the prior.
#: Scales of the half-t priors of standard deviations: of the shift at the mean logit, the slope, and logs or logits.
SHIFT_SCALE, SLOPE_SCALE, LOG_SCALE = 0.5, 0.3, 0.5
#: Words of the quantities, and the values of calibrated predictions.
QUANTITIES = {
    "intercept": ("intercept", 0.0),
    "slope": ("slope", 1.0),
    "observed_expected": ("observed / expected events", 1.0),
    "ece": ("ECE of the line", 0.0),
    "auc": ("AUC (c-statistic)", float("nan")),
}
KEY = text_of("columns of a new centre")


@public
@dataclass(frozen=True, eq=False, repr=False)
class NewCentre(_presented.Presented):
    r"""Calibration of a risk model in the mean centre, and prediction intervals for a new centre.

    Made by ``recalibration(..., by=centre).new_centre()`` and ``summary(..., by=centre).new_centre()``. A prediction
    interval contains the value of a new centre of the same population of centres with the stated probability.

    Parameters
    ----------
    centres : tuple
        Labels of the centres.
    mean, new : dict of str to Draws
        Intercept, slope, O/E and, from a summary, AUC of the mean centre; the same and the ECE of a new centre.
    spread : ndarray, shape (n_draws, 3)
        Standard deviations between centres of the shift at the mean logit and of the slope; their correlation.
    counts : LogitCounts
        All rows: their logits are the distribution of scores of the ECE.
    name : str
        Name of the grouping, such as "site".

    Notes
    -----
    The line of centre j is :math:`\mathrm{logit}\,E[y] = t_j + b_j (x - \bar x)`, with the mean logit :math:`\bar x` of
    all rows, so that estimates of t and b are nearly uncorrelated within centres. Over centres, (t, b) are Normal; see
    `bayescal.posterior.random_effects.TwoEffectsPosterior`. The half-t priors of their standard deviations have scales
    0.5 and 0.3. The likelihood of a centre is Normal with the moments of its own posterior, from which its prior is
    divided out. O/E and AUC vary with the mix of patients, too: they have random effects of their own, as in
    `GroupedClinicalSummary`. Imputations of a centre are combined by Rubin's rules before; the distribution of scores
    is that of the first.

    Examples
    --------
    >>> rows = simulate(4000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> by_site = bc.clinical.recalibration(rows.outcome, rows.confidence, by=np.arange(4000) % 8, rng=1)
    >>> [round(end, 2) for end in by_site.new_centre().new["slope"].interval()]
    [0.44, 0.78]
    """

    centres: tuple[Any, ...]
    mean: dict[str, Draws]
    new: dict[str, Draws]
    spread: Floats
    counts: LogitCounts
    name: str

    def bands(self, y_prob: Any, prob: float = 0.95) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return event rates at stated probabilities: five arrays of shape (n_rows,).

        They are the posterior mean in the mean centre, the ends of its interval, and the ends of the prediction
        interval for a new centre; intervals are pointwise.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,)
            Probabilities strictly between 0 and 1; others raise a ValueError.
        """
        tail = (1 - _checks.fraction("prob", prob)) / 2
        values = _checks.probabilities("y_prob", column("y_prob", to_array("y_prob", y_prob))).astype(np.float64)
        outside = (values <= 0) | (values >= 1)
        if outside.any():
            _checks.refuse("y_prob", "must be strictly between 0 and 1", outside, values, "0 and 1 have no logit.")
        x = logit(values)[:, None]
        rates = [expit(of["intercept"].values + of["slope"].values * x) for of in (self.mean, self.new)]
        (low, high), (new_low, new_high) = (np.quantile(each, [tail, 1 - tail], axis=1) for each in rates)
        return rates[0].mean(axis=1), low, high, new_low, new_high

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the quantities as data.

        Keys are quantity, mean, sd, low, high (of the mean centre), new_low, new_high (ends of the prediction interval)
        and calibrated (the value of calibrated predictions; NaN for the AUC). The mean centre has no ECE (NaN).
        """
        prob, rows = _checks.fraction("prob", prob), []
        for key, new in self.new.items():
            of = self.mean.get(key)
            of_mean = (nan,) * 4 if of is None else (of.mean(), of.sd(), *of.interval(prob))
            numbers = (*of_mean, *new.interval(prob), QUANTITIES[key][1])
            names = ("mean", "sd", "low", "high", "new_low", "new_high", "calibrated")
            rows.append({"quantity": key, **dict(zip(names, map(float, numbers), strict=True))})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """State the slope and O/E of the mean centre, and their prediction intervals for a new centre."""
        rows, texts = {row["quantity"]: row for row in self.table(prob)}, []
        for key, words in (("slope", "slope"), ("observed_expected", "ratio of observed to expected events")):
            mean, low, high, *new = _numbers(rows[key])
            texts.append(f"the {words} is {mean} ({low} to {high}) in the mean centre, {' to '.join(new)} in a new one")
        text = f"{'; '.join(texts)} ({100 * prob:g} % intervals)."
        return text[:1].upper() + text[1:]

    @property
    def spec(self) -> str:
        """Centres, rows and priors, on one line."""
        scales = f"half-t priors of their standard deviations with scales {SHIFT_SCALE:g} and {SLOPE_SCALE:g}"
        return f"{len(self.centres)} centres by {self.name}, N = {self.counts.n_rows}: random lines, {scales}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Standard deviations between centres, and a warning about few centres."""
        shift, slope, rho = (
            "{:.2f} ({:.2f} to {:.2f})".format(each.mean(), *Draws(each).interval()) for each in self.spread.T
        )
        text = f"Standard deviations between centres: shift of the logits {shift}, slope {slope}; correlation {rho}."
        if len(self.centres) >= FEW_CENTRES:
            return (text,)
        few = f"With fewer than {FEW_CENTRES} centres, prediction intervals depend on the prior of these deviations."
        return text, few

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = ("", "mean centre", "2.5 %", "97.5 %", "new centre: 2.5 %", "97.5 %")
        rows = [[QUANTITIES[row["quantity"]][0], *_numbers(row)] for row in self.table()]
        return _render.Sheet(self.sentence(), self.spec, header, rows, self.remarks, (KEY,))


def _numbers(row: Mapping[str, Any]) -> list[str]:
    d = min(_render.interval_decimals(row["new_low"], row["new_high"], 2), 3)
    keys = ("mean", "low", "high", "new_low", "new_high")
    return ["" if isnan(row[key]) else _render.number(row[key], d) for key in keys]


def information_of(posterior: RecalibrationPosterior, at: float) -> tuple[Floats, Floats]:
    """Return precision H and H times estimate of (value of the line at the logit `at`, slope), without the prior.

    Moments of several imputations are combined by Rubin's rules.
    """
    sets = getattr(posterior, "parts", (posterior,))
    means, covariances = (np.stack(each) for each in zip(*(_moments(each, at) for each in sets), strict=True))
    covariance = covariances.mean(axis=0)
    if len(sets) > 1:
        covariance = covariance + (1 + 1 / len(sets)) * np.cov(means.T)
    precision = np.linalg.inv(covariance)
    moved = precision @ means.mean(axis=0)
    if posterior.prior.kind == "normal":
        variances = np.diag([posterior.prior.shift_sd**2, posterior.prior.slope_sd**2])
        lever = lever_of(posterior.counts)
        mean, covariance = _moved(np.array([lever, 1.0]), variances, at - lever)
        of_prior = np.linalg.inv(covariance)
        precision, moved = precision - of_prior, moved - of_prior @ mean
    # no likelihood has negative information; rounding may leave some in a direction without any
    values, vectors = np.linalg.eigh(precision)
    kept = vectors * (values > 0)
    return kept * values @ kept.T, kept @ (kept.T @ moved)


def _moments(posterior: RecalibrationPosterior, at: float) -> tuple[Floats, Floats]:
    """Return mean and covariance of (value of the line at the logit `at`, slope) on the grid."""
    mass, t, b = np.exp(posterior.log_mass), posterior.t, posterior.b
    of_t, of_b = mass.sum(axis=1), mass.sum(axis=0)
    mean = np.array([of_t @ t, of_b @ b])
    off = (t - mean[0]) @ mass @ (b - mean[1])
    covariance = np.array([[of_t @ (t - mean[0]) ** 2, off], [off, of_b @ (b - mean[1]) ** 2]])
    return _moved(mean, covariance, at - posterior.lever)


def _moved(mean: Floats, covariance: Floats, distance: float) -> tuple[Floats, Floats]:
    """Return mean and covariance of the value of the line at another logit, and the slope."""
    to = np.array([[1.0, distance], [0.0, 1.0]])
    return to @ mean, to @ covariance @ to.T


def new_centre_of(groups: Mapping[Any, Any], overall: Any, name: str, rng: Any, auc: list[Floats]) -> NewCentre:
    """Compute the result from recalibrations of the centres and of all rows, and draws of logits of AUCs, if any."""
    if len(groups) < FEWEST_CENTRES:
        raise ValueError(
            f"`new_centre` needs at least {FEWEST_CENTRES} centres, which show how much centres differ; there are "
            f"{len(groups)}: {list(groups)}. Use the intervals of each group, as in `result[label]`."
        )
    rng, n_draws, counts, at = _checks.generator(rng), len(overall.drawn), overall.counts, lever_of(overall.counts)
    parts = [information_of(each.posterior, at) for each in groups.values()]
    precision, shift = (np.stack(each) for each in zip(*parts, strict=True))
    effects = TwoEffectsPosterior(precision, shift, (SHIFT_SCALE, SLOPE_SCALE)).sample(n_draws, rng)
    values: list[dict[str, Floats]] = []
    for t, b in (effects[0].T, effects[3].T):
        values.append({"intercept": t - b * at, "slope": b})
    gaps = np.zeros(n_draws)
    for x, share in zip(counts.logit, counts.n / counts.n.sum(), strict=True):
        gaps += share * np.abs(expit(t + b * (x - at)) - expit(x))
    values[1]["ece"] = gaps  # lines whose mean is known with errors lie farther from the diagonal than their mean
    ratios = [np.log(each.observed_expected.values) for each in groups.values()]
    scales: dict[str, tuple[list[Floats], Callable[[Floats], Floats]]]
    scales = {"observed_expected": (ratios, np.exp), "auc": (auc, expit)}
    for key, (each, back) in scales.items():
        if len(each) >= FEWEST_CENTRES:
            means, errors = np.mean(each, axis=1)[None], np.std(each, axis=1, ddof=1)[None]
            mean, _, new = RandomEffectsPosterior(means, errors, LOG_SCALE).sample(n_draws, rng)
            values[0][key], values[1][key] = back(mean[:, 0]), back(new[:, 0])
    of_mean, of_new = ({key: Draws(each[key], key) for key in QUANTITIES if key in each} for each in values)
    return NewCentre(tuple(groups), of_mean, of_new, np.column_stack(effects[1:3]), counts, name)
