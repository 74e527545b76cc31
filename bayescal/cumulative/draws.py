"""Draws of the Kuiper and Kolmogorov-Smirnov statistics of the population, and of its cumulative difference.

They come from the posterior of the segments model, and from confidence distributions of the statistics.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bayescal._arrays import Floats, Ints
from bayescal.cumulative.statistics import SHORTFALL, cumulative_curve, kolmogorov_smirnov, kuiper
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.stats.contract import Counts
from bayescal.stats.ordered import MergedCounts, Steps, merge_scores

BINS = 64  #: Largest number of bins of equal mass.
#: "pooled": half of the draws of each statistic come from the posterior of the segments model, half from a confidence
#: distribution. "segments": all come from the posterior.
POOLED, SEGMENTS = MODELS = ("pooled", "segments")
LEAST_ACCURACY = 1e-4  #: In the variance of the noise, accuracies are at least this far from 0 and 1.
ROUNDING = 1e-12  #: Curves whose Kuiper statistic is at most this are those of exact calibration, up to rounding.
#: The sub-models: a smooth drift, and segments around exact calibration. Saturated bins have no model of their own:
#: with a third sub-model, the prior probability of exact calibration would be 0.04.
SUB_MODELS = ("logistic", "runs")
#: A statistic of curves: reduces the last axis.
Statistic = Callable[[Floats], Floats]
#: Number of values of d, from 0 to the observed value plus REACH standard deviations of the end of the curve.
VALUES, REACH = 33, 3.5
PATHS = 1000  #: Number of simulated paths of the noise.


def segments_posterior(counts: Counts) -> ShrinkagePosterior:
    """Compute the posterior of many narrow bins under the segments model, without Markov chains.

    It keeps two sub-models of `shrinkage_posterior` whose priors hardly depend on the number of bins, unlike those of
    the default model: ``docs/explanation/cumulative_posterior.md``. They have equal prior weights.
    """
    return shrinkage_posterior(counts, sub_models=SUB_MODELS, pool=False)


def noise_paths(variance: Floats, rng: np.random.Generator) -> Floats:
    """Simulate Gaussian random walks, which begin at 0, from the variances of their steps; (PATHS, n_bins + 1)."""
    path = np.zeros((PATHS, len(variance) + 1))
    np.cumsum(np.sqrt(variance) * rng.standard_normal((PATHS, len(variance))), axis=1, out=path[:, 1:])
    return path


@dataclass(frozen=True, eq=False)
class ConfidenceDistribution:
    """Confidence distribution H of d, made by `invert`: VALUES values of d from 0, and H there, non-decreasing to 1."""

    value: Floats
    probability: Floats

    def quantile(self, uniform: Floats) -> Floats:
        """Return the quantiles; the probability of d = 0 is H(0), a P-value of exact calibration."""
        rising = self.probability + 1e-12 * np.arange(VALUES)  # np.interp needs increasing abscissae
        return np.where(uniform <= self.probability[0], 0.0, np.interp(uniform, rising, self.value))


#: Confidence distributions of the Kuiper and of the Kolmogorov-Smirnov statistic.
Distributions = tuple[ConfidenceDistribution, ConfidenceDistribution]


def invert(
    statistic: Statistic, observed: float, shape: Floats, noise: Floats, shortfall: float
) -> ConfidenceDistribution:
    r"""Compute the confidence distribution of a statistic of the cumulative difference, along one shape.

    The true curve is d times a known `shape`, (n_bins + 1,), whose statistic is 1. The probability that the statistic
    of this curve with noise exceeds the observed value :math:`\hat d`, as a function of d, is a confidence distribution
    [1]_: :math:`H(d) = P(\mathrm{statistic}(d \cdot \mathrm{shape} + \mathrm{noise}) > \hat d)`, made non-decreasing.
    ``docs/explanation/cumulative_posterior.md`` says why the plug-in statistic alone does not suffice.

    `noise` has shape (n_paths, n_bins + 1); `shortfall` is added to the statistic of each path, because a path is known
    at the ends of the bins only.

    .. [1] M. Xie and K. Singh (2013), "Confidence distribution, the frequentist distribution estimator of a parameter:
       a review", International Statistical Review 81, 3-39.
    """
    d = np.linspace(0.0, observed + REACH * float(noise[:, -1].std()), VALUES)
    exceeds = np.array([np.mean(statistic(value * shape + noise) + shortfall > observed) for value in d])
    exceeds = np.maximum.accumulate(exceeds)
    exceeds[-1] = 1.0
    return ConfidenceDistribution(d, exceeds)


@dataclass(frozen=True, eq=False)
class CumulativeDraws:
    """Draws of the statistics and of the curve of the population."""

    posterior: ShrinkagePosterior  # of the bins under the segments model
    score: Floats  # largest score in each bin, shape (n_bins,)
    bins: BinDraws
    curve: Floats  # of the segments model: 0, and the values at these scores; shape (n_draws, n_bins + 1)
    kuiper: Floats  # shape (n_draws,); under the segments model, the statistics are those of `curve`
    kolmogorov_smirnov: Floats

    @property
    def fingerprint(self) -> int:
        """Number that identifies the draws; different draws rarely have the same number."""
        return self.bins.fingerprint

    @property
    def observed(self) -> Floats:
        """Curve of the rows at `score`."""
        counts = self.posterior.counts
        return np.cumsum(counts.share * (counts.accuracy - counts.mean_confidence))

    @property
    def n_rows(self) -> Ints:
        """Number of rows of each bin."""
        return self.posterior.counts.n


def draw_cumulative(steps: Steps, n_draws: int, rng: np.random.Generator, *, model: str = POOLED) -> CumulativeDraws:
    """Draw the cumulative difference of the population and its statistics, from steps of outcomes less their scores.

    Under the segments model, draws are independent; for pooled statistics, see `pooled`.
    """
    counts = merge_scores(steps, BINS)
    posterior = segments_posterior(counts)
    bins = posterior.sample(n_draws, rng=rng)
    curve = curve_of(bins)
    d, g = kuiper(curve), kolmogorov_smirnov(curve)
    if model == POOLED:
        inverted = partial(confidence_distributions, steps, counts, bins, curve, rng)
        d, g = (np.minimum(each, 1.0) for each in pooled((d, g), inverted, rng))
    return CumulativeDraws(posterior, counts.upper, bins, curve, d, g)


def pooled(
    statistics: tuple[Floats, Floats], inverted: Callable[[], Distributions], rng: np.random.Generator
) -> list[Floats]:
    """Replace half of the draws of each statistic by draws from its confidence distribution.

    The first half of the draws are independent; the others are stratified quantiles, so that Monte Carlo errors
    computed as for independent draws are too large.
    """
    n_draws = len(statistics[0])
    half = n_draws // 2
    uniform = (rng.permutation(n_draws - half) + rng.random(n_draws - half)) / (n_draws - half)
    order = rng.permutation(n_draws)
    both = zip(statistics, inverted(), strict=True)
    return [np.concatenate([first[:half], distribution.quantile(uniform)])[order] for first, distribution in both]


def confidence_distributions(
    steps: Steps, counts: MergedCounts, bins: BinDraws, curve: Floats, rng: np.random.Generator
) -> Distributions:
    """Compute the confidence distributions of both statistics, along the mean of the curves that are not 0."""
    accuracy = np.clip(bins.accuracy.mean(axis=0), LEAST_ACCURACY, 1 - LEAST_ACCURACY)
    variance = counts.variance(accuracy)
    # steps from bin to bin are longer than those from score to score, so paths miss more of the extremes
    by_bin, by_score = (counts.mean_step(accuracy, between=between) for between in ("bins", "scores"))
    shortfall = SHORTFALL * max(by_bin - by_score, 0.0) * float(np.sqrt(variance.sum()))
    mean = mean_if_different(curve, from_0(counts.curve))
    return along(mean, cumulative_curve(steps), noise_paths(variance, rng), shortfall)


def mean_if_different(curve: Floats, observed: Floats) -> Floats:
    """Return the mean of the curves that are not 0, or the observed curve if all are 0."""
    different = kuiper(curve) > ROUNDING
    return np.asarray(curve[different].mean(axis=0) if different.any() else observed)


def along(mean: Floats, observed: Floats, noise: Floats, shortfall: float = 0.0) -> Distributions:
    """Compute the confidence distributions of both statistics of a curve that has the shape of `mean`."""

    def of(statistic: Statistic, sides: int) -> ConfidenceDistribution:
        size = float(statistic(mean))
        shape = mean / size if size > ROUNDING else np.zeros_like(mean)  # curve is 0 for every d
        return invert(statistic, float(statistic(observed)), shape, noise, sides * shortfall)

    return of(kuiper, 2), of(kolmogorov_smirnov, 1)


def curve_of(bins: BinDraws) -> Floats:
    """Compute the cumulative difference of each draw: 0, and the values at the upper ends of the bins."""
    return from_0(np.cumsum(bins.mass * bins.gap, axis=1))


def from_0(curve: Floats) -> Floats:
    """Put a 0 before the first value of each curve."""
    return np.concatenate([np.zeros((*curve.shape[:-1], 1)), curve], axis=-1)
