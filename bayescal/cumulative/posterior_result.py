"""CumulativePosterior: draws of the cumulative difference of the population and of its statistics, and their text."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import Floats, pd, xr
from bayescal._meant import public
from bayescal.cumulative.base import CumulativeBand
from bayescal.cumulative.draws import MODELS, POOLED, ROUNDING, SEGMENTS, CumulativeDraws, draw_cumulative
from bayescal.cumulative.statistics import FEW_RARE_OUTCOMES, NAMES, kuiper, null_mean
from bayescal.draws import BinDraws, Draws
from bayescal.results import wording
from bayescal.results.remarks import few_rows

#: Largest error by bins, in standard deviations of the end of the curve, with which counts have a posterior.
LARGE_GRID_ERROR = 10
#: Origin of the draws of both statistics.
POOL = (
    "Half of the draws of each statistic come from the posterior of the segments model, half from a confidence "
    "distribution that removes the upward bias of the plug-in value. This is a pool, not the posterior of one model; "
    'use `model="segments"` for joint draws of the statistics and the curve.'
)
NOT_JOINT = (
    "The mean of the Kolmogorov-Smirnov statistic is above that of the Kuiper statistic, which is impossible for a "
    "population: the draws of the two are not joint."
)


@dataclass(frozen=True, eq=False, repr=False)
class CurvePosterior(_presented.Presented, ABC):
    """Base class of `CumulativePosterior` and `SubpopulationPosterior`, which document its attributes."""

    observed: Any
    drawn: Any
    model: str

    _header = wording.HEADER

    @abstractmethod
    def sentence(self, prob: float = 0.95) -> str:
        """Return the Kuiper statistic with its interval, in words."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals."""

    @abstractmethod
    def _notes(self) -> list[str]: ...

    @property
    def _origin(self) -> int | None:
        """Draws under the segments model can be combined, because they are joint."""
        return self.drawn.fingerprint if self.model == SEGMENTS else None

    @cached_property
    def kuiper(self) -> Draws:
        """Draws of the Kuiper statistic D."""
        return Draws(self.drawn.kuiper, "kuiper", self._origin)

    @cached_property
    def kolmogorov_smirnov(self) -> Draws:
        """Draws of the Kolmogorov-Smirnov statistic G; G <= D <= 2 G holds in each draw of "segments"."""
        return Draws(self.drawn.kolmogorov_smirnov, "kolmogorov_smirnov", self._origin)

    def _about_draws(self, p_drift: float, none: str, zero: str, others: str) -> list[str]:
        """Return the probability of a statistic of 0, the origin of the draws, and the parts of the segments model."""
        d, g = (round(float(getattr(self, name).mean()), self._decimals) for name in NAMES)
        p_zero = float(np.mean(kuiper(self.drawn.curve) <= ROUNDING))
        return [
            f"Probability of a Kuiper statistic of 0 ({none}): {share(self.p_zero)}.",
            *[POOL] * (self.model == POOLED),
            *[NOT_JOINT] * (g > d),  # why the printed mean of G may be above that of D
            f"Segments model: probability {share(p_drift)} of a smooth drift, {share(p_zero)} of {zero}, "
            f"{share(max(1 - p_drift - p_zero, 0.0))} of {others} in segments of scores.",
        ]

    @property
    def score(self) -> Floats:
        """Scores at which the curve is drawn: the largest one in each bin, shape (n_bins,)."""
        return self.drawn.score

    @cached_property
    def curve(self) -> Draws:
        """Draws of the curve at `score` under the segments model, shape (n_draws, n_bins)."""
        return Draws(self.drawn.curve[:, 1:], "cumulative difference", self._origin)

    @cached_property
    def p_zero(self) -> float:
        """Share of the draws in which the Kuiper statistic is 0."""
        return float(np.mean(self.drawn.kuiper <= ROUNDING))

    def band(self, prob: float = 0.95, *, simultaneous: bool = True) -> CumulativeBand:
        """Return a band of the cumulative difference of the population.

        Parameters
        ----------
        prob : float, default 0.95
            Probability that the band contains the whole curve or, pointwise, its value at each score; in (0, 1), else
            a ValueError is raised.
        simultaneous : bool, default True
            With True, the confidence band of the observed curve from squared residuals, which assumes no
            model. With False, the credible intervals of the curve at the upper ends of the bins. They are narrower, but
            in simulations they miss curves that jump or oscillate within a few bins too often.

        Returns
        -------
        CumulativeBand
            Scores, and the ends of the band at each: all distinct scores, or those at the upper ends of the bins.
        """
        if simultaneous:
            return self.observed.band(prob)
        return CumulativeBand(self.score, *self.curve.interval(prob))

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of the two statistics.

        It has one row per statistic: mean, sd, interval, effective sample sizes, Monte Carlo errors. The draws are
        independent.
        """
        prob = _checks.fraction("prob", prob)
        return _arviz.summary({name: getattr(self, name) for name in NAMES}, prob, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Everything as an ArviZ DataTree.

        It has the groups ``posterior`` (kuiper, kolmogorov_smirnov, and the curve along ``score``), ``observed_data``
        (the curve of the rows at these scores) and ``constant_data`` (rows per bin). The statistics and the curve are
        joint draws only with ``model="segments"``; the attribute ``model`` says so.
        """
        return _arviz.datatree(
            {name: getattr(self, name) for name in NAMES} | {"curve": self.curve.values},
            observed={"observed_curve": self.drawn.observed},
            constant={"n_rows": self.drawn.n_rows},
            along="score",
            coords={"score": self.score},
            attrs={"spec": self.spec, "model": self.model, "p_zero": self.p_zero},
        )

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per statistic.

        Keys are quantity, mean, sd, low, high, plug_in, null_mean (mean of the plug-in value under calibration or equal
        means).
        """
        prob = _checks.fraction("prob", prob)
        seen = self.observed
        return [
            wording.table_row(getattr(self, name), name, prob, float(getattr(seen, name)), null_mean(name, seen.scale))
            for name in NAMES
        ]

    def _headline(self, prob: float) -> str:
        row = self.table(prob)[0]
        mean, low, high = (self._as_kuiper(row, row[name]) for name in ("mean", "low", "high"))
        kind = "credible interval" if self.model == SEGMENTS else "interval"
        return f"The Kuiper statistic of the population is {mean} ({100 * prob:g} % {kind} {low} to {high})."

    def _as_kuiper(self, row: dict[str, Any], value: float) -> str:
        return _render.number(value, _render.interval_decimals(row["low"], row["high"]))

    @property
    def _decimals(self) -> int:
        return max(wording.decimals(getattr(self, name)) for name in NAMES)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        d, columns = self._decimals, ("mean", "sd", "low", "high", "plug_in", "null_mean")
        rows = [[NAMES[row["quantity"]], *(_render.number(row[name], d) for name in columns)] for row in self.table()]
        return _render.Sheet(
            self.sentence(), self.spec, self._header, rows, self.remarks, self._notes(), self._headline(0.95)
        )


@public
@dataclass(frozen=True, eq=False, repr=False)
class CumulativePosterior(CurvePosterior):
    r"""Draws of the Kuiper and Kolmogorov-Smirnov statistics of the population, and of its cumulative difference.

    Returned by `CumulativeDifference.posterior`. The population curve is :math:`C(t) = E[1\{c \le t\} (z - c)]`; its
    Kuiper statistic is :math:`D = \max(C, 0) - \min(C, 0)`, the largest :math:`|E[1\{a < c \le b\} (z - c)]|` over all
    intervals of scores, and its Kolmogorov-Smirnov statistic is :math:`G = \max |C|`.

    Parameters
    ----------
    observed : CumulativeDifference
        The curve of the rows and its statistics.
    drawn : CumulativeDraws
        The draws.
    model : {"pooled", "segments"}
        Origin of the draws of the statistics; see the notes.
    limit : float, default 0.02
        `spec` states the probability that the Kuiper statistic is below this limit.

    Notes
    -----
    The plug-in statistics are too large: noise increases the range of a curve. A posterior of the curve has the same
    problem in a weaker form if the true curve returns to 0 again and again. Therefore the statistics have two sources:

    * *segments*: a posterior. The rows are in at most 64 bins of equal weight. The accuracies of the bins have a smooth
      drift (intercept and slope of the logit), or they are exact except for segments of neighbouring bins with a shift
      of the logit [1]_. The two sub-models are averaged by their marginal likelihoods; exact calibration of all bins
      belongs to the second.
    * *inversion*: a confidence distribution [2]_. The shape of the curve is fixed at the posterior mean, and its size d
      is unknown. For each d, the sampling distribution of the plug-in statistic follows from simulated noise. The
      probability that it exceeds the observed value, as a function of d, is the confidence distribution of d. Its
      probability of d = 0 is a P-value of exact calibration.

    With ``model="pooled"``, half of the draws of each statistic are from either source. This pools a posterior and a
    confidence distribution with fixed shares: it is not the posterior of one model, and draws of the two statistics
    and of the curve are not joint. With ``model="segments"``, all draws are from the posterior and joint. The page
    "Intervals of the cumulative difference" shows how often the intervals contain the truth.

    References
    ----------
    .. [1] P. Fearnhead (2006), "Exact and efficient Bayesian inference for multiple changepoint problems", Statistics
       and Computing 16, 203-213.
    .. [2] M. Xie and K. Singh (2013), "Confidence distribution, the frequentist distribution estimator of a parameter:
       a review", International Statistical Review 81, 3-39.

    Examples
    --------
    >>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> posterior = bc.cumulative.difference(rows.outcome, rows.confidence).posterior(rng=1)
    >>> posterior.kuiper
    Draws(kuiper: mean 0.03346, 95 % interval [0.01784, 0.04753], 4000 draws)
    >>> posterior.kuiper < 0.02
    P(kuiper < 0.02) = 0.0455
    """

    drawn: CumulativeDraws
    limit: float = wording.SMALL_ECE

    @cached_property
    def bins(self) -> BinDraws:
        """Draws of the bins behind the curve: masses, accuracies and mean confidences."""
        return self.drawn.bins

    @property
    def sub_models(self) -> dict[str, float]:
        """Posterior probabilities of the sub-models of the segments model: "logistic", a smooth drift, and "runs"."""
        return dict(self.drawn.posterior.probabilities)

    def sentence(self, prob: float = 0.95) -> str:
        """Return the Kuiper statistic with its interval, the plug-in value, and its mean if calibrated, in words."""
        row = self.table(prob)[0]
        plug_in, null = (self._as_kuiper(row, row[name]) for name in ("plug_in", "null_mean"))
        return (
            f"{self._headline(prob)[:-1]}: the net excess of outcomes over scores, in any interval of scores, is at "
            f"most this share of all rows. The plug-in value is {plug_in}; for a perfectly calibrated classifier it "
            f"would be {null} on average."
        )

    @property
    def spec(self) -> str:
        """Rows, model, the Kuiper statistic with its interval, and the probability that it is small, on one line."""
        small = _render.probability(self.p_below["kuiper"])
        kuiper = wording.with_interval(self.kuiper, self._decimals)
        return f"{self.observed.spec}, {self.model} model: Kuiper {kuiper}, P(Kuiper < {self.limit:g}) {small}"

    @property
    def p_below(self) -> dict[str, float]:
        """Probability that each statistic is below `limit`; for another one, write ``posterior.kuiper < 0.01``."""
        return {name: float(getattr(self, name) < self.limit) for name in NAMES}

    def _notes(self) -> list[str]:
        return self._about_draws(self.sub_models["logistic"], "exact calibration", "exact calibration", "errors")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, which are printed below the table; empty if none is known."""
        texts = []
        if self.observed.grid_error > 0:
            texts.append(
                "From counts: the posterior is that of the curve at the edges of the bins. The statistics of the rows "
                f"can exceed those of the counts by up to {self.observed.grid_error:.2g}, which intervals do not "
                "include."
            )
        if (number := self.observed.scale.rare) < FEW_RARE_OUTCOMES:
            texts.append(
                "Intervals can be too narrow: the effective number of expected outcomes that contradict scores near 0 "
                f"or 1 is {number:.1f}."
            )
        if warning := few_rows(self.drawn.posterior.counts):
            texts.append(warning)
        return tuple(texts)


def share(probability: float) -> str:
    """Format a probability of a sub-model."""
    return _render.probability(probability).removeprefix("= ")


def posterior_of(observed: Any, draws: int, rng: Any, model: str) -> CumulativePosterior:
    """Draw the posterior of a cumulative difference; arguments as for `CumulativeDifference.posterior`."""
    draws = _checks.whole_number("draws", draws, 2)
    _checks.one_of("model", model, MODELS)
    error, sigma = observed.grid_error, observed.scale.wide_sigma
    if error > LARGE_GRID_ERROR * sigma:
        raise ValueError(
            f"The bins of the counts must be finer for a posterior: within them, the curve of the rows can change by "
            f"{error:.2g}, which is more than {LARGE_GRID_ERROR} times its standard deviation by chance, {sigma:.2g}. "
            "Count in more bins, or use `kuiper_interval`, which includes this error."
        )
    paths = draw_cumulative(observed.steps, draws, _checks.generator(rng), model=model)
    return CumulativePosterior(observed, paths, model)
