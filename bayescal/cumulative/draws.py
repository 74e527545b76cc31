"""Draws of the Kuiper and Kolmogorov-Smirnov statistics of the population, and of its cumulative difference."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.cumulative.inversion import ConfidenceDistribution, Statistic, invert, noise_paths
from bayescal.cumulative.segments import segments_posterior
from bayescal.cumulative.statistics import SHORTFALL, cumulative_curve, kolmogorov_smirnov, kuiper
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.stats.ordered import MergedCounts, Steps, merge_scores

Floats = NDArray[np.float64]

#: Largest number of bins of equal mass.
BINS = 64
#: "pooled": half of the draws of each statistic come from the posterior of the segments model, half from a confidence
#: distribution. "segments": all come from the posterior.
POOLED, SEGMENTS = MODELS = ("pooled", "segments")
#: In the variance of the noise, accuracies are at least this far from 0 and 1.
LEAST_ACCURACY = 1e-4
#: Curves whose Kuiper statistic is at most this are those of exact calibration, up to rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class CumulativeDraws:
    """Draws of the statistics and of the curve of the population.

    Parameters
    ----------
    posterior : ShrinkagePosterior
        Posterior of the bins under the segments model.
    score : ndarray, shape (n_bins,)
        Largest score in each bin.
    bins : BinDraws
        Draws of the bins.
    curve : ndarray, shape (n_draws, n_bins + 1)
        Curves of the segments model: 0, and the values at these scores.
    kuiper, kolmogorov_smirnov : ndarray, shape (n_draws,)
        The statistics: those of `curve` under the segments model.
    """

    posterior: ShrinkagePosterior
    score: Floats
    bins: BinDraws
    curve: Floats
    kuiper: Floats
    kolmogorov_smirnov: Floats


def draw_cumulative(steps: Steps, n_draws: int, rng: np.random.Generator, *, model: str = POOLED) -> CumulativeDraws:
    """Draw the cumulative difference of the population, and its statistics.

    Parameters
    ----------
    steps : Steps
        Steps of outcomes 0 and 1 less their scores, with at least one row.
    n_draws : int
        Number of draws.
    rng : Generator
        Random number generator.
    model : {"pooled", "segments"}, default "pooled"
        See `MODELS`.

    Returns
    -------
    CumulativeDraws
        Under the segments model, independent draws. Of the pooled statistics, half are independent; the other half are
        stratified quantiles, so that Monte Carlo errors computed as for independent draws are too large.
    """
    counts = merge_scores(steps, BINS)
    posterior = segments_posterior(counts)
    bins = posterior.sample(n_draws, rng=rng)
    curve = curve_of(bins)
    d, g = kuiper(curve), kolmogorov_smirnov(curve)
    if model == POOLED:
        half = n_draws // 2
        uniform = (rng.permutation(n_draws - half) + rng.random(n_draws - half)) / (n_draws - half)
        order = rng.permutation(n_draws)
        others = [each.quantile(uniform) for each in confidence_distributions(steps, counts, bins, curve, rng)]
        d, g = (np.concatenate([own[:half], other])[order] for own, other in zip((d, g), others, strict=True))
    return CumulativeDraws(posterior, counts.upper, bins, curve, d, g)


def confidence_distributions(
    steps: Steps, counts: MergedCounts, bins: BinDraws, curve: Floats, rng: np.random.Generator
) -> tuple[ConfidenceDistribution, ConfidenceDistribution]:
    """Compute the confidence distributions of both statistics, along the mean of the curves that are not 0.

    Parameters
    ----------
    steps : Steps
        The steps.
    counts : MergedCounts
        Their bins.
    bins : BinDraws
        Draws of the bins under the segments model, for the variance of the noise.
    curve : ndarray, shape (n_draws, n_bins + 1)
        Their curves.
    rng : Generator
        Random number generator of the noise; both statistics use the same paths.

    Returns
    -------
    (kuiper, kolmogorov_smirnov) : tuple of ConfidenceDistribution
        Confidence distributions of the statistics of the population.
    """
    off = kuiper(curve) > ROUNDING
    mean = curve[off].mean(axis=0) if off.any() else _from_0(counts.curve)
    accuracy = np.clip(bins.accuracy.mean(axis=0), LEAST_ACCURACY, 1 - LEAST_ACCURACY)
    variance = counts.variance(accuracy)
    # steps from bin to bin are longer than those from score to score, so paths miss more of the extremes
    by_bin, by_score = (counts.mean_step(accuracy, between=between) for between in ("bins", "scores"))
    shortfall = SHORTFALL * max(by_bin - by_score, 0.0) * float(np.sqrt(variance.sum()))
    noise, observed = noise_paths(variance, rng), cumulative_curve(steps)

    def along(statistic: Statistic, sides: int) -> ConfidenceDistribution:
        size = float(statistic(mean))
        shape = mean / size if size > ROUNDING else np.zeros_like(mean)  # curve is 0 for every d
        return invert(statistic, float(statistic(observed)), shape, noise, sides * shortfall)

    return along(kuiper, 2), along(kolmogorov_smirnov, 1)


def curve_of(bins: BinDraws) -> Floats:
    """Compute the cumulative difference of each draw: 0, and the values at the upper ends of the bins.

    Examples
    --------
    >>> mass, accuracy, confidence = np.array([[0.25, 0.75]]), np.array([[0.5, 0.75]]), np.array([[0.25, 0.875]])
    >>> curve_of(BinDraws(mass, accuracy, confidence, np.ones(2, bool), weight=mass))
    array([[ 0.     ,  0.0625 , -0.03125]])
    """
    return _from_0(np.cumsum(bins.mass * bins.gap, axis=1))


def _from_0(curve: Floats) -> Floats:
    return np.concatenate([np.zeros((*curve.shape[:-1], 1)), curve], axis=-1)
