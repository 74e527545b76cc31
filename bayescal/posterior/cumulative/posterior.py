"""The posterior of the cumulative difference: draws of its statistics and of the curve, from ordered sums."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.posterior.cumulative.curve import curve_of, kolmogorov_smirnov, kuiper
from bayescal.posterior.cumulative.inversion import SHORTFALL, Statistic, confidence_draws, mean_step, noise_paths
from bayescal.posterior.cumulative.segments import segments_posterior
from bayescal.stats.merged import MergedCounts, merge_scores
from bayescal.stats.ordered import OrderedSums

Floats = NDArray[np.float64]

#: Number of bins of equal mass.
BINS = 64
#: "pooled": half of the draws of each statistic are from the posterior of the segments model, half from a confidence
#: distribution. "segments": all are from the posterior.
MODELS = ("pooled", "segments")
#: Accuracies in the variance of the noise are at least this far from 0 and 1.
LEAST_ACCURACY = 1e-4
#: Curves whose Kuiper statistic is at most this are those of exact calibration.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class CumulativeDraws:
    """Draws of the statistics and of the curve.

    Parameters
    ----------
    counts : MergedCounts
        The bins.
    curve : ndarray, shape (n_draws, n_bins)
        Curves of the segments model at the upper ends of the bins.
    kuiper, kolmogorov_smirnov : ndarray, shape (n_draws,)
        The statistics.
    probabilities : dict of str to float
        Posterior probabilities of the sub-models.
    """

    counts: MergedCounts
    curve: Floats
    kuiper: Floats
    kolmogorov_smirnov: Floats
    probabilities: dict[str, float]


def draw_cumulative(
    sums: OrderedSums, n_draws: int, rng: np.random.Generator, *, model: str = "pooled"
) -> CumulativeDraws:
    """Draw the cumulative difference of the population.

    Parameters
    ----------
    sums : OrderedSums
        Sums by score, with at least one row.
    n_draws : int
        Number of draws.
    rng : Generator
        Randomness.
    model : {"pooled", "segments"}, default "pooled"
        See `MODELS`.

    Returns
    -------
    CumulativeDraws
        Independent draws.
    """
    counts = merge_scores(sums, BINS)
    posterior = segments_posterior(counts)
    bins = posterior.sample(n_draws, rng=rng)
    curve = curve_of(bins)
    d, g = kuiper(curve), kolmogorov_smirnov(curve)
    if model == "pooled":
        half = n_draws // 2
        inversion = _Inversion(sums, counts, bins, curve, n_draws - half, rng)
        order = rng.permutation(n_draws)
        d = np.concatenate([d[:half], inversion.draws(kuiper, ends=2)])[order]
        g = np.concatenate([g[:half], inversion.draws(kolmogorov_smirnov, ends=1)])[order]
    return CumulativeDraws(counts, curve, d, g, dict(posterior.probabilities))


class _Inversion:
    """Confidence distributions of both statistics, along the mean of the curves that are not 0.

    Both use the same paths of the noise and the same uniform numbers.
    """

    def __init__(
        self,
        sums: OrderedSums,
        counts: MergedCounts,
        bins: BinDraws,
        curve: Floats,
        n_draws: int,
        rng: np.random.Generator,
    ) -> None:
        off = kuiper(curve) > ROUNDING
        self.mean = curve[off].mean(axis=0) if off.any() else counts.curve
        accuracy = np.clip(bins.accuracy.mean(axis=0), LEAST_ACCURACY, 1 - LEAST_ACCURACY)
        variance = counts.share**2 * accuracy * (1 - accuracy) / counts.effective_n
        self.noise = noise_paths(variance, rng)
        total = float(sums.weight.sum())
        self.observed = np.cumsum(sums.deviation) / total
        # steps between ends of bins are longer than those between scores, so paths miss more of the extremes
        longer = max(mean_step(variance) - mean_step(sums.calibrated_variance), 0.0)
        self.shortfall = SHORTFALL * longer * float(np.sqrt(variance.sum()))
        self.uniform = (rng.permutation(n_draws) + rng.random(n_draws)) / n_draws

    def draws(self, statistic: Statistic, *, ends: int) -> Floats:
        """Draw one statistic, which depends on the extremes of the curve at `ends` sides."""
        size = float(statistic(self.mean))
        if size <= ROUNDING:  # all outcomes equal their scores
            return np.zeros(len(self.uniform))
        observed = float(statistic(self.observed))
        return confidence_draws(statistic, observed, self.mean / size, self.noise, ends * self.shortfall, self.uniform)
