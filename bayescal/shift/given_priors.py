"""CountsGivenPriors: evidence of all rows of source and target about the bins, given the class frequencies."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.shift.shifted_bins import LabelShiftedCounts

Floats = NDArray[np.float64]

#: Least share of a class and of the others in a bin, at which the evidence is evaluated.
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class CountsGivenPriors(LabelShiftedCounts):
    r"""Counts of a target with known class frequencies, from labels and from the distributions of scores on both sides.

    `LabelShiftedCounts` use labels within bins, and masses of the target's rows. If the class frequencies are known,
    label shift also implies how the distributions of scores differ between source and target. These differences are
    evidence about accuracies. They also make labelled rows informative about masses.

    Parameters
    ----------
    rows, priors
        As for `LabelShiftedCounts`.

    Notes
    -----
    With n labelled rows and m rows of the target in all bins, the odds that a row in a bin comes from the source are
    n f / m, where :math:`\theta` is the share of the class in the bin of the target and

    .. math::
        f = \frac{\rho}{\pi} \left(\theta + r (1 - \theta)\right)

    is the density of the source relative to that of the target; :math:`\rho` and :math:`\pi` are the frequencies of the
    class in source and target, and r is the ratio of the odds. The source's share of the rows of a bin is Binomial
    evidence about f, and so about :math:`\theta`. One step of Fisher scoring combines it with the labels. The step
    starts from the share that the labels and one pseudo-observation with the value :math:`\pi` give. With more than two
    classes, r is estimated from the labelled rows of the bin. The step is then that of a bivariate Normal
    distribution of :math:`\theta` and log r.

    Masses are proportional to :math:`(t + \phi s) / (m + n \phi f)`, for s labelled rows and t rows of the target in a
    bin. The factor :math:`\phi` reduces the evidence of labelled rows if f is uncertain.
    """

    @cached_property
    def _of_labels(self) -> tuple[Floats, Floats, Floats]:
        """Smoothed share of the class in each bin, its variance from labels at known log r, and that of log r."""
        n = super().effective_n + 1
        share = np.clip((super().effective_k + self.frequency) / n, SMALLEST, 1 - SMALLEST)
        return share, share * (1 - share) / n, self.rows.log_ratio_variance(self.priors)

    @cached_property
    def _density(self) -> tuple[Floats, Floats, Floats]:
        """Return f, the derivative of log f with respect to the share, and the variance of log f given the labels.

        An error of log r adds the same error to the log odds of the share; together they change log f by 1 - share.
        """
        (share, variance, of_ratio), r = self._of_labels, self.odds_ratio
        mixed = share + r * (1 - share)
        slope = (1 - r) / mixed
        density = self.rows.frequency[self.rows.of] / self.frequency * mixed
        return density, slope, slope**2 * variance + (1 - share) ** 2 * of_ratio

    @cached_property
    def _of_source(self) -> tuple[Floats, Floats]:
        """Expected rows of the source among all rows of each bin, and the share of the source."""
        odds = self.n_rows * self._density[0] / super().effective_rows
        share = odds / (1 + odds)
        return (self.n + self.rows.target_rows) * share, share

    @cached_property
    def _evidence(self) -> tuple[Floats, Floats]:
        """Effective rows of each bin, and those with the class: one scoring step from the estimate of the labels."""
        (share, variance, of_ratio), (_, slope, uncertain) = self._of_labels, self._density
        expected, of_source = self._of_source
        known = (self.n > 0) & self.occupied
        binomial = np.where(known, expected * (1 - of_source), 0.0)
        spread = share * (1 - share)
        before = variance + spread**2 * of_ratio
        covariance = slope * variance + spread * (1 - share) * of_ratio
        rest = 1 - share - slope * spread  # derivative of log f with respect to log r at a known share
        after = (before + binomial * variance * of_ratio * rest**2) / (1 + binomial * uncertain)
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
        phi = 1 / (1 + self._of_source[0] * uncertain)
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
