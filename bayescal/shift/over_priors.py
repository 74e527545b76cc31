"""Counts given class frequencies, and a posterior of bins for each of several draws of these; draws are pooled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Indices
from bayescal.draws import BinDraws
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.shift.shifted_bins import LabelShiftedCounts

SMALLEST = 1e-12  #: Least share of a class and of the others in a bin, at which the evidence is evaluated.
FACTOR = 4  #: Number of draws from a part for each draw that is kept.
#: Standard deviation of Normal weights relative to that of the draws, and least effective draws per chosen draw.
NARROW, LEAST = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class CountsGivenPriors(LabelShiftedCounts):
    r"""Counts of a target with known class frequencies, from labels and from the distributions of scores on both sides.

    `LabelShiftedCounts` use labels within bins, and masses of the target's rows. If the class frequencies are known,
    label shift also implies how the distributions of scores differ between source and target. These differences are
    evidence about accuracies. They also make labelled rows informative about masses.

    With n labelled rows and m rows of the target in all bins, the odds that a row in a bin comes from the source are n
    f / m, where :math:`\theta` is the share of the class in the bin of the target and

    .. math::
        f = \frac{\rho}{\pi} \left(\theta + r (1 - \theta)\right)

    is the density of the source relative to that of the target; :math:`\rho` and :math:`\pi` are the frequencies of the
    class in source and target, and r is the ratio of the odds. The source's share of the rows of a bin is Binomial
    evidence about f, and so about :math:`\theta`. One step of Fisher scoring combines it with the labels. The step
    starts from the share that the labels and one pseudo-observation with the value :math:`\pi` give. With more than two
    classes, r is estimated from the labelled rows of the bin. The step is then that of a bivariate Normal distribution
    of :math:`\theta` and log r.

    Masses are proportional to :math:`(t + \phi s) / (m + n \phi f)`, for s labelled rows and t rows of the target in a
    bin. The factor :math:`\phi` reduces the evidence of labelled rows if f is uncertain.
    """

    @cached_property
    def _label_evidence(self) -> tuple[Floats, Floats, Floats]:
        """Smoothed share of the class in each bin, its variance from labels at known log r, and that of log r."""
        n = super().effective_n + 1
        share = np.clip((super().effective_k + self.frequency) / n, SMALLEST, 1 - SMALLEST)
        return share, share * (1 - share) / n, self.rows.log_ratio_variance(self.priors)

    @cached_property
    def _density(self) -> tuple[Floats, Floats, Floats]:
        """Return f, the derivative of log f with respect to the share, and the variance of log f given the labels."""
        (share, variance, ratio_variance), r = self._label_evidence, self.odds_ratio
        mixed = share + r * (1 - share)
        slope = (1 - r) / mixed
        density = self.rows.frequency[self.rows.of] / self.frequency * mixed
        return density, slope, slope**2 * variance + (1 - share) ** 2 * ratio_variance

    @cached_property
    def _source_rows(self) -> tuple[Floats, Floats]:
        """Expected rows of the source among all rows of each bin, and the share of the source."""
        odds = self.n_rows * self._density[0] / super().effective_rows
        share = odds / (1 + odds)
        return (self.n + self.rows.target_rows) * share, share

    @cached_property
    def _evidence(self) -> tuple[Floats, Floats]:
        """Effective rows of each bin, and those with the class: one scoring step from the estimate of the labels."""
        (share, variance, ratio_variance), (_, slope, uncertain) = self._label_evidence, self._density
        expected, source_share = self._source_rows
        known = (self.n > 0) & self.occupied
        binomial = np.where(known, expected * (1 - source_share), 0.0)
        spread = share * (1 - share)
        before = variance + spread**2 * ratio_variance
        covariance = slope * variance + spread * (1 - share) * ratio_variance
        rest = 1 - share - slope * spread  # derivative of log f with respect to log r at a known share
        after = (before + binomial * variance * ratio_variance * rest**2) / (1 + binomial * uncertain)
        n, k = super().effective_n, super().effective_k
        observed = np.divide(k, n, out=share.copy(), where=n > 0)
        residual = np.where(known, self.n - expected, 0.0) - binomial * slope * (observed - share)
        both = observed + covariance * residual / (1 + binomial * uncertain)
        total = np.where(n > 0, np.maximum(spread / after - 1, 0.0), 0.0)
        return total, total * np.clip(both, 0, 1)

    @property
    def effective_n(self) -> Floats:
        """Number of labelled rows of the target that carry the same information, by bin."""
        return self._evidence[0]

    @property
    def effective_k(self) -> Floats:
        """Share of the class, by all rows, times `effective_n`."""
        return self._evidence[1]

    @property
    def accuracy(self) -> Floats:
        """Share of the class in each bin of the target, by all rows; the mean confidence in bins without evidence."""
        n, k = self._evidence
        share = np.divide(k, n, out=np.where(self.occupied, self.mean_confidence, np.nan), where=n > 0)
        return np.where(self.occupied, share, np.nan)

    @cached_property
    def _masses(self) -> tuple[Floats, float]:
        """Mass of each bin with rows of the target, and the number of rows of the target that masses are worth."""
        density, _, uncertain = self._density
        phi = 1 / (1 + self._source_rows[0] * uncertain)
        rows = super().effective_rows + self.n_rows * phi * density
        mass = np.where(self.occupied, (self.rows.target_rows + phi * self.n) / rows, 0.0)
        mass /= mass.sum()
        return mass, float(1 / (mass / rows).sum())

    @property
    def share(self) -> Floats:
        """Mass of each bin of the target; 0 for bins without rows of the target."""
        return self._masses[0]

    @property
    def effective_rows(self) -> float:
        """Rows of the target that would determine the masses as precisely as all rows do: a harmonic mean over bins."""
        return self._masses[1]

    def __repr__(self) -> str:
        return f"CountsGivenPriors({self.rows!r}, frequency {self.frequency:.4g})"


@dataclass(frozen=True, eq=False)
class OverPriors:
    r"""Posteriors `parts` given several class frequencies, with equal weights; their counts are `CountsGivenPriors`.

    The masses m and accuracies :math:`\theta` of the bins of a target imply the frequency of its class, :math:`\sum_b
    m_b \theta_b`. Draws of a part are therefore chosen from `FACTOR` times as many, with Normal weights around its
    frequencies; see `near`. Probabilities of sub-models are computed before this selection.
    """

    counts: LabelShiftedCounts  # at the posterior mean of the class frequencies
    parts: tuple[Posterior, ...]
    near_priors: Floats  # draws of the class frequencies that each part represents, (n_parts, n_near, n_classes)

    @property
    def prior(self) -> str:
        """The prior of each part as text."""
        return self.parts[0].prior

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.counts!r}, {len(self.parts)} draws of the class frequencies)"

    def part_of(self, n_draws: int, rng: Any) -> Indices:
        """Return the part of each draw that `sample` returns for the same `rng`, shape (n_draws,)."""
        return self.priors_of(n_draws, rng) % len(self.parts)

    def priors_of(self, n_draws: int, rng: Any) -> Indices:
        """Return the row of `each_near` for each draw that `sample` returns for the same `rng`, shape (n_draws,)."""
        return np.asarray(_checks.generator(rng).permutation(n_draws) % len(self.each_near))

    @property
    def each_near(self) -> Floats:
        """`near_priors` as a table: row q belongs to part q % n_parts, and is its draw number q // n_parts."""
        return np.concatenate(np.swapaxes(self.near_priors, 0, 1))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
        """Draw the bins: the same number of draws from each part, in random order."""
        generator = _checks.generator(rng)
        part = self.part_of(n_draws, generator)
        places = [np.flatnonzero(part == i) for i in range(len(self.parts))]
        frequencies = self.near_priors[:, :, self.counts.rows.of]
        of_parts = zip(self.parts, frequencies, places, generator.spawn(len(self.parts)), strict=True)
        parts = []
        for posterior, near_to, rows, stream in of_parts:  # draws that imply a class frequency near the given ones
            n_chosen = max(len(rows), 1)
            bins = posterior.sample(FACTOR * n_chosen, rng=stream)
            parts.append(bins.part(near((bins.mass * bins.accuracy).sum(axis=1), near_to, n_chosen, stream)))
        shape = (n_draws, parts[0].accuracy.shape[1])
        columns = {}
        for name in ("mass", "accuracy", "confidence"):
            columns[name] = np.empty(shape)
            for rows, each in zip(places, parts, strict=True):
                columns[name][rows] = getattr(each, name)[: len(rows)]
        if all(len(each.confidence) == 1 for each in parts):
            columns["confidence"] = parts[0].confidence
        return BinDraws(**columns, occupied=parts[0].occupied, weight=columns["mass"])


@dataclass(frozen=True, eq=False, repr=False)
class HypothesesOverPriors(OverPriors):
    """The same for parts that average sub-models; probabilities are means over the parts."""

    parts: tuple[Any, ...]

    @cached_property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each sub-model."""
        names = self.parts[0].probabilities
        return {name: float(np.mean([each.probabilities[name] for each in self.parts])) for name in names}

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Posterior probabilities of the sub-models, by family."""
        return {family: {n: self.probabilities[n] for n in names} for family, names in self.parts[0].families.items()}

    @property
    def all_saturated(self) -> bool:
        """Whether all bins are saturated."""
        return all(each.all_saturated for each in self.parts)

    @property
    def prior_odds(self) -> float:
        """Prior odds of exact calibration."""
        return float(self.parts[0].prior_odds)

    @cached_property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration."""
        return float(np.mean([each.p_calibrated for each in self.parts]))

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the Bayes factor."""
        return float(logit(self.p_calibrated) - np.log(self.prior_odds))

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""
        return float(np.exp(min(self.log_bayes_factor, 700.0)))


def near(values: Floats, centres: Floats, n_chosen: int, rng: Generator) -> Indices:
    """Choose `n_chosen` draws by importance resampling, the same number for each centre; return their positions.

    `values` has shape (n_draws,), `centres` (n_centres,). The weights are Normal densities around the centres. Their
    standard deviation is 0.3 times that of `values`, and is doubled until the effective number of draws is at least
    half of `n_chosen`. Wide weights make the selection weak if a centre is far from all draws. One uniform number is
    used, for systematic resampling (Carpenter, Clifford and Fearnhead 1999, IEE Proceedings - Radar, Sonar and
    Navigation 146, 2-7).
    """
    sd, squares = NARROW * values.std(), (values - centres[:, None]) ** 2
    if sd == 0:
        return np.arange(n_chosen)
    weight = _normal(squares, sd)
    while 1 / (weight**2).sum() < LEAST * n_chosen:
        sd *= 2
        weight = _normal(squares, sd)
    at = (np.arange(n_chosen) + rng.random()) / n_chosen
    return np.asarray(np.minimum(np.searchsorted(weight.cumsum(), at), len(values) - 1))


def _normal(squares: Floats, sd: float) -> Floats:
    """Return the mean of the normalised weights of all centres, shape (n_draws,)."""
    weight = np.exp((squares.min(axis=1, keepdims=True) - squares) / (2 * sd**2))
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(weight.mean(axis=0))


def over_priors(counts: LabelShiftedCounts, parts: Sequence[Posterior], near_priors: Floats) -> OverPriors:
    """Pool posteriors; see `OverPriors`. `counts` are those at the posterior mean of the class frequencies."""
    kind = HypothesesOverPriors if all(isinstance(each, HasHypotheses) for each in parts) else OverPriors
    return kind(counts, tuple(parts), near_priors)
