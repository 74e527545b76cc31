"""SubpopulationPosterior: draws of the cumulative difference between groups at equal scores, and their text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats, Ints
from bayescal._meant import public
from bayescal.cumulative.draws import MODELS, PATHS, POOLED, along, from_0, mean_if_different, pooled
from bayescal.cumulative.matched import MatchedBins, MatchedRows, matched_bins
from bayescal.cumulative.posterior_result import CurvePosterior
from bayescal.cumulative.segments import NormalSegments
from bayescal.cumulative.statistics import FEW_RARE_OUTCOMES, kolmogorov_smirnov, kuiper
from bayescal.draws import fingerprint
from bayescal.results import wording

FIRST_DRAWS = 400  #: Draws of the differences from which the variances of the bins are computed.


@dataclass(frozen=True, eq=False)
class SubpopulationDraws:
    """Draws of the statistics and of the curve; shapes as for `CumulativeDraws`."""

    rows: MatchedRows
    bins: MatchedBins
    posterior: NormalSegments
    difference: Floats  # true difference of the mean responses in each bin, shape (n_draws, n_bins)
    curve: Floats
    kuiper: Floats
    kolmogorov_smirnov: Floats

    @property
    def score(self) -> Floats:
        """Largest score in each bin."""
        return self.bins.upper

    @property
    def observed(self) -> Floats:
        """Curve of the rows at `score`."""
        return np.cumsum(self.bins.mass * self.bins.difference)

    @property
    def n_rows(self) -> Ints:
        """Effective number of rows of each bin."""
        return np.rint((self.bins.weight**2 / self.bins.weight_sq).sum(axis=0)).astype(np.int64)

    @property
    def fingerprint(self) -> int:
        """Number that identifies the draws; different draws rarely have the same number."""
        return fingerprint(self.difference[0], self.curve[0])


def draw_differences(
    rows: MatchedRows, n_draws: int, rng: np.random.Generator, *, model: str, of_both: bool
) -> SubpopulationDraws:
    """Draw the cumulative difference between two groups, from differences in bins with Normal errors."""
    bins = matched_bins(rows, of_both=of_both)
    extent = float(np.ptp(rows.response))
    if extent == 0:
        raise ValueError("`response` must have at least two values for a posterior; all compared responses are equal.")
    noise, unit = bins.noise(np.zeros_like(bins.difference))
    first = NormalSegments(bins.difference, noise, unit).sample(FIRST_DRAWS, rng)
    noise, unit = bins.noise(first.mean(axis=0))
    posterior = NormalSegments(bins.difference, noise, unit)
    difference = posterior.sample(n_draws, rng)
    mass = bins.draw_masses(max(n_draws, PATHS), rng)
    curve = np.clip(from_0(np.cumsum(mass[:n_draws] * difference, axis=1)), -extent, extent)
    d, g = kuiper(curve), kolmogorov_smirnov(curve)
    if model == POOLED:
        observed = from_0(np.cumsum(bins.mass * bins.difference))

        def inverted() -> Any:
            paths = bins.mass * np.sqrt(noise) * rng.standard_normal((PATHS, len(noise)))
            paths += (mass[:PATHS] - bins.mass) * difference.mean(axis=0)
            return along(mean_if_different(curve, observed), observed, from_0(np.cumsum(paths, axis=1)))

        d, g = pooled((d, g), inverted, rng)
    d, g = (np.minimum(each, extent) for each in (d, g))
    return SubpopulationDraws(rows, bins, posterior, difference, curve, d, g)


@public
@dataclass(frozen=True, eq=False, repr=False)
class SubpopulationPosterior(CurvePosterior):
    r"""Draws of the Kuiper and Kolmogorov-Smirnov statistics of a subpopulation, and of its cumulative difference.

    Returned by `SubpopulationDifference.posterior`, and with "both groups" in place of "members" by
    `SubpopulationComparison.posterior`. The curve is :math:`C(t) = E[1\{s \le t\}\,(\mu_1(s) - \mu(s))]` over members,
    with their mean response :math:`\mu_1` and that of the full population :math:`\mu` at each score s; :math:`D =
    \max(C, 0) - \min(C, 0)` and :math:`G = \max |C|`. Both are in units of the response.

    Parameters
    ----------
    observed : SubpopulationDifference or SubpopulationComparison
        The curve of the rows and its statistics.
    drawn : SubpopulationDraws
        The draws.
    model : {"pooled", "segments"}
        Origin of the draws of the statistics; see `CumulativePosterior`.

    Notes
    -----
    Rows form cells of about 20 rows with neighbouring scores (fewer if there are fewer than 400 rows), and cells form
    at most 64 bins. In each bin, the difference of the mean responses of members and other rows at equal scores is
    estimated with the weights of Mantel and Haenszel, with Normal errors. True differences follow a drift (intercept
    and slope over the order of the scores), or they are 0 except for segments of neighbouring bins, as for
    `CumulativePosterior`; the size of a difference is in units of the standard deviation of a response. The share of
    members at each score is drawn by the Bayesian bootstrap. The differences are not attenuated.

    The model is the same for binary and for real responses. The page "Intervals of the cumulative difference" shows how
    often the intervals contain the truth. They can be too narrow for responses with rare large values.

    Examples
    --------
    >>> rows = simulate(4000, population="flat", rng=1)
    >>> member = np.arange(4000) % 4 == 0
    >>> cost = rows.outcome + np.where(member, 0.2, 0.0)
    >>> bc.cumulative.subpopulation(cost, rows.confidence, member).posterior(rng=1).kuiper
    Draws(kuiper: mean 0.1457, 95 % interval [0.1231, 0.1685], 4000 draws)
    """

    _header = (*wording.HEADER[:-1], "if equal")

    @property
    def difference(self) -> Floats:
        """Draws of the difference of mean responses of members and other rows in each bin, (n_draws, n_bins)."""
        return self.drawn.difference

    @property
    def p_drift(self) -> float:
        """Posterior probability of a smooth drift of the differences."""
        return self.drawn.posterior.p_drift

    def sentence(self, prob: float = 0.95) -> str:
        """Return the Kuiper statistic with its interval, the observed value and its mean for equal means, in words."""
        row = self.table(prob)[0]
        plug_in, null = (self._as_kuiper(row, row[name]) for name in ("plug_in", "null_mean"))
        return (
            f"{self._headline(prob)[:-1]}: the sum of the differences at equal scores over any interval of scores, per "
            f"{self.observed.unit}, is at most this number. The observed value is {plug_in}; with equal means at every "
            f"score it would be {null} on average."
        )

    @property
    def spec(self) -> str:
        """Rows, model, the Kuiper statistic with its interval, and the probability that it is 0, on one line."""
        text = f"{self.observed.spec}, {self.model} model: Kuiper {wording.with_interval(self.kuiper, self._decimals)}"
        return f"{text}, P(Kuiper = 0) {_render.probability(self.p_zero)}"

    def _notes(self) -> list[str]:
        return self._about_draws(self.p_drift, "equal means at every score", "equal means", "differences")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, which are printed below the table; empty if none is known."""
        few, number = [], self.observed.scale.rare
        if number < FEW_RARE_OUTCOMES:
            few = [f"Intervals can be too narrow: the effective number of rare responses is {number:.1f}."]
        return (*few, *self.observed.about_posterior(self.drawn.rows))


def posterior_of_groups(observed: Any, rows: MatchedRows, draws: int, rng: Any, model: str) -> SubpopulationPosterior:
    """Draw the posterior of the difference between two groups; see `SubpopulationDifference.posterior`."""
    draws = _checks.whole_number("draws", draws, 2)
    _checks.one_of("model", model, MODELS)
    paths = draw_differences(rows, draws, _checks.generator(rng), model=model, of_both=observed.of_both)
    return SubpopulationPosterior(observed, paths, model)
