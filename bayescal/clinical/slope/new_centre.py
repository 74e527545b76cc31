"""Calibration in a new centre: random effects of intercept and slope over centres, and bands of the line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.clinical.slope.result import Recalibration
from bayescal.data.columns import column
from bayescal.data.frames import to_array
from bayescal.draws import Draws
from bayescal.posterior.random_effects import RandomEffectsPosterior
from bayescal.posterior.two_effects import TwoEffectsPosterior

#: Least number of centres, and number below which a remark names the prior.
FEWEST, FEW = 3, 10
#: Scales of the half-t priors of the standard deviations between centres: of the shift at the mean logit, of the slope,
#: and of the logarithm of O/E and the logit of the AUC. Debray et al. (2019) take 0.5 for the latter.
SHIFT_SCALE, SLOPE_SCALE, LOG_SCALE = 0.5, 0.3, 0.5
#: Words of the quantities, and the values of calibrated predictions.
QUANTITIES = {
    "intercept": ("intercept", 0.0),
    "slope": ("slope", 1.0),
    "observed_expected": ("observed / expected events", 1.0),
    "ece": ("ECE of the line", 0.0),
    "auc": ("AUC (c-statistic)", float("nan")),
}
HEADER = ("", "mean centre", "2.5 %", "97.5 %", "new centre: 2.5 %", "97.5 %")


class Bands(NamedTuple):
    """Event rates at probabilities: of the mean centre with their interval, and the interval for a new centre."""

    mean: Floats
    low: Floats
    high: Floats
    new_low: Floats
    new_high: Floats


@public
@dataclass(frozen=True, eq=False, repr=False)
class NewCentre(_presented.Presented):
    r"""Calibration of a risk model in the mean centre, and prediction intervals for a new centre.

    Made by ``recalibration(..., by=centre).new_centre()`` and ``summary(..., by=centre).new_centre()``. A prediction
    interval contains the value of a new centre of the same population of centres with the stated probability; it
    does not shrink to a point with the number of centres, as the interval of the mean does.

    Parameters
    ----------
    centres : tuple
        Labels of the centres.
    posterior : TwoEffectsPosterior
        Posterior of the means and standard deviations between centres: of the logit of the event rate at `at`, and of
        the slope.
    at : float
        The mean logit of all rows, weighted by p (1 - p).
    mean, new : dict of str to ndarray, shape (n_draws,)
        Draws of each quantity for the mean centre and for a new centre.
    spread : ndarray, shape (n_draws, 2)
        Draws of the standard deviations between centres, of the shift at `at` and of the slope.
    correlation : ndarray, shape (n_draws,)
        Draws of their correlation between centres.
    counts : LogitCounts
        All rows: their logits are the distribution of scores of the ECE.
    name : str
        Name of the grouping, such as "site".

    Notes
    -----
    The line of centre j is :math:`\mathrm{logit}\,E[y] = t_j + b_j (x - \bar x)`, with logits x of the stated
    probabilities and their mean :math:`\bar x` over all rows. Within a centre, estimates of t and b are then nearly
    uncorrelated. Over centres, (t, b) are Normal with a correlation. The prior of the mean is uniform; those of the
    standard deviations are half-t with 4 degrees of freedom and the scales 0.5 (t) and 0.3 (b): in meta-analyses of
    validations, standard deviations of such logits are mostly below 1 [1]_. The likelihood of a centre is Normal with
    the moments of its own posterior, from which the prior of the centre is removed.

    O/E and AUC have Normal random effects of their own, on the scales log and logit, with half-t priors of scale 0.5
    [1]_: they also vary with the mix of patients. The ECE is the mean absolute difference between the line and the
    stated probability, over the scores of all rows. The mean centre has the mean t and b of the population.

    References
    ----------
    .. [1] T. P. A. Debray et al. (2019), "A framework for meta-analysis of prediction model studies with binary and
       time-to-event outcomes", Statistical Methods in Medical Research 28, 2768-2786.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(4000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> by_site = bc.clinical.recalibration(rows.outcome, rows.confidence, by=np.arange(4000) % 8, rng=1)
    >>> new = by_site.new_centre()
    >>> [round(end, 1) for end in new.draws("slope").interval()]
    [0.5, 0.9]
    """

    centres: tuple[Any, ...]
    posterior: TwoEffectsPosterior
    at: float
    mean: dict[str, Floats]
    new: dict[str, Floats]
    spread: Floats
    correlation: Floats
    counts: LogitCounts
    name: str
    few_events: tuple[Any, ...] = field(default=())

    def draws(self, quantity: str, *, of: str = "new") -> Draws:
        """Return draws of a quantity.

        Parameters
        ----------
        quantity : {"intercept", "slope", "observed_expected", "ece", "auc"}
            The quantity; "auc" of a clinical summary only.
        of : {"new", "mean"}, default "new"
            Of a new centre, or of the mean centre.
        """
        _checks.one_of("of", of, ("new", "mean"))
        _checks.one_of("quantity", quantity, tuple(self.mean))
        return Draws((self.new if of == "new" else self.mean)[quantity], quantity)

    def bands(self, y_prob: Any, prob: float = 0.95) -> Bands:
        """Return event rates at stated probabilities, in the mean centre and in a new centre.

        The five arrays, each of shape (n_rows,), are the posterior mean of the mean centre, the ends of its interval,
        and the ends of the prediction interval for a new centre. Intervals are equal-tailed and pointwise.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,)
            Probabilities strictly between 0 and 1.

        Raises
        ------
        ValueError, TypeError
            If values are missing or not strictly between 0 and 1.
        """
        tail = (1 - _checks.fraction("prob", prob)) / 2
        values = _checks.probabilities("y_prob", column("y_prob", to_array("y_prob", y_prob))).astype(np.float64)
        outside = (values <= 0) | (values >= 1)
        if outside.any():
            _checks.refuse("y_prob", "must be strictly between 0 and 1", outside, values, "0 and 1 have no logit.")
        ends = []
        for of in (self.mean, self.new):
            rates = expit(of["intercept"][:, None] + of["slope"][:, None] * logit(values))
            ends += [rates.mean(axis=0), *np.quantile(rates, [tail, 1 - tail], axis=0)]
        return Bands(*ends[:3], *ends[4:])

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the quantities of the mean centre and of a new centre as data.

        Keys are quantity, mean, sd, low, high (of the mean centre), new_low, new_high (prediction interval) and
        calibrated (the value of calibrated predictions; NaN for the AUC).
        """
        prob, rows = _checks.fraction("prob", prob), []
        for key, values in self.mean.items():
            of_mean, (new_low, new_high) = Draws(values), Draws(self.new[key]).interval(prob)
            low, high = of_mean.interval(prob)
            numbers = {"mean": of_mean.mean(), "sd": of_mean.sd(), "low": low, "high": high}
            ends = {"new_low": new_low, "new_high": new_high, "calibrated": QUANTITIES[key][1]}
            rows.append({"quantity": key, **{name: float(value) for name, value in (numbers | ends).items()}})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """State the slope and O/E of the mean centre, and their prediction intervals for a new centre."""
        rows, texts = {row["quantity"]: row for row in self.table(prob)}, []
        for key, words in (("slope", "calibration slope"), ("observed_expected", "ratio of observed to expected events")):
            mean, low, high, new_low, new_high = _numbers(rows[key])
            texts.append(
                f"the {words} of the mean centre is {mean} ({100 * prob:g} % credible interval {low} to {high}), and "
                f"that of a new centre lies between {new_low} and {new_high}"
            )
        text = f"{'; '.join(texts)}, with probability {prob:g} each."
        return text[:1].upper() + text[1:]

    @property
    def spec(self) -> str:
        """Centres, rows and priors, on one line."""
        return (
            f"{len(self.centres)} centres by {self.name}, N = {self.counts.n_rows}: random effects of the shift at the "
            f"stated probability {expit(self.at):.3g} and of the slope, half-t priors of their standard deviations "
            f"with scales {SHIFT_SCALE:g} and {SLOPE_SCALE:g}"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Standard deviations between centres, and warnings."""
        shift, slope, correlation = (_interval(each) for each in (*self.spread.T, self.correlation))
        texts = [
            f"Standard deviations between centres: shift of the logits {shift}, slope {slope}; their correlation "
            f"{correlation}."
        ]
        if len(self.centres) < FEW:
            texts.append(
                f"Only {len(self.centres)} centres: the prediction intervals depend on the prior of the standard "
                f"deviations between centres. At least {FEW} centres tell them from the data."
            )
        if self.few_events:
            named = ", ".join(map(str, self.few_events))
            texts.append(f"All rows have the same outcome in {named}: no AUC, and little about the line.")
        return tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = [[QUANTITIES[row["quantity"]][0], *_numbers(row)] for row in self.table()]
        key = (
            "Mean centre: the line with the mean parameters of the population of centres. New centre: 95 % prediction "
            "intervals. ECE of the line: mean absolute difference between the line and the stated probability."
        )
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, self.remarks, (key,))


def _numbers(row: Mapping[str, Any]) -> list[str]:
    d = _render.interval_decimals(row["low"], row["high"], 2)
    return [_render.number(row[key], d) for key in ("mean", "low", "high", "new_low", "new_high")]


def _interval(values: Floats) -> str:
    low, high = Draws(values).interval()
    return f"{values.mean():.2f} ({low:.2f} to {high:.2f})"


def information_of(posterior: RecalibrationPosterior, at: float) -> tuple[Floats, Floats]:
    """Return precision H and H times estimate of (value of the line at the logit `at`, slope), without the prior."""
    mass, (t, b) = np.exp(posterior.log_mass), (posterior.t, posterior.b)
    of_t, of_b = mass.sum(axis=1), mass.sum(axis=0)
    mean = np.array([of_t @ t, of_b @ b])
    off = (t - mean[0]) @ mass @ (b - mean[1])
    covariance = np.array([[of_t @ (t - mean[0]) ** 2, off], [off, of_b @ (b - mean[1]) ** 2]])
    precision, moved = _moved(mean, covariance, at - posterior.lever)
    if posterior.prior.kind == "normal":
        lever = lever_of(posterior.counts)
        variances = np.diag([posterior.prior.shift_sd**2, posterior.prior.slope_sd**2])
        of_prior, moved_prior = _moved(np.array([lever, 1.0]), variances, at - lever)
        precision, moved = precision - of_prior, moved - moved_prior
    # a likelihood has no negative information; rounding may leave some in a direction without any
    values, vectors = np.linalg.eigh(precision)
    kept = vectors * (values > 0)
    return kept * values @ kept.T, kept @ (kept.T @ moved)


def _moved(mean: Floats, covariance: Floats, distance: float) -> tuple[Floats, Floats]:
    """Return precision, and precision times mean, of the value at another logit and the slope."""
    to = np.array([[1.0, distance], [0.0, 1.0]])
    precision = np.linalg.inv(to @ covariance @ to.T)
    return precision, precision @ to @ mean


def lever_of(counts: LogitCounts) -> float:
    """Return the mean logit, weighted by p (1 - p)."""
    weight = counts.n * expit(counts.logit) * expit(-counts.logit)
    return float(weight @ counts.logit / weight.sum())


def new_centre_of(
    groups: Mapping[Any, Recalibration], overall: Recalibration, name: str, rng: Any, more: Mapping[str, Mapping[Any, Floats]]
) -> NewCentre:
    """Compute the result; `more` has draws of further quantities by name and centre, on the scale of a Normal."""
    if len(groups) < FEWEST:
        raise ValueError(
            f"`new_centre` needs at least {FEWEST} centres to estimate how much they differ; there are {len(groups)}: "
            f"{list(groups)}. Use the intervals of each group, as in `result[label]`."
        )
    rng, n_draws, at = _checks.generator(rng), len(overall.drawn), lever_of(overall.counts)
    parts = [information_of(each.posterior, at) for each in groups.values()]
    precision, shift = (np.stack(each) for each in zip(*parts, strict=True))
    posterior = TwoEffectsPosterior(precision, shift, (SHIFT_SCALE, SLOPE_SCALE))
    drawn = posterior.sample(n_draws, rng)
    counts, values = overall.counts, []
    for t, b in (drawn.mean.T, drawn.new.T):
        gaps = np.zeros(n_draws)
        for x, share in zip(counts.logit, counts.n / counts.n.sum(), strict=True):
            gaps += share * np.abs(expit(t + b * (x - at)) - expit(x))
        values.append({"intercept": t - b * at, "slope": b, "ece": gaps})
    ratios = {label: np.log(each.observed_expected.values) for label, each in groups.items()}
    for key, of_each, back in (("observed_expected", ratios, np.exp), ("auc", more.get("auc", {}), expit)):
        if len(of_each) >= FEWEST:
            each = np.stack(list(of_each.values()))
            effects = RandomEffectsPosterior(each.mean(axis=1)[None], each.std(axis=1, ddof=1)[None], LOG_SCALE)
            mean, _, new = effects.sample(n_draws, rng)
            values[0][key], values[1][key] = back(mean[:, 0]), back(new[:, 0])
    one = tuple(label for label, each in groups.items() if each.counts.binned.weight.sum(axis=1).min() == 0)
    of_mean, of_new = ({key: each[key] for key in QUANTITIES if key in each} for each in values)
    return NewCentre(
        tuple(groups), posterior, at, of_mean, of_new, drawn.spread, drawn.correlation, counts, name, one
    )
