"""Indirect evidence about the accuracies of bins, of a judge or of known outcomes, and Beta kernels for it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from bayescal._arrays import Bools, Floats, Indices
from bayescal.shift.target import TargetCounts
from bayescal.stats.binned import BinnedCounts

TINY = 1e-12  #: Least distance of a probability from 0 and 1.
#: Rows that are added at the mean confidence, and steps, to find the mode of the evidence of a bin.
ADDED, STEPS = 2.0, 25
INSIDE = 1e-4  #: Mean confidences are at least so far from 0 and 1 there.
#: Standard deviation of the Normal weights of a kernel, in standard deviations of the evidence; nodes within two of it.
REACH, NODES = 1.5, 31
#: Largest standard deviation in the angle, and its least distance from 0 and from a right angle.
WIDEST, EDGE = 0.35, 0.003
#: Nodes of the integral over one accuracy, within so many standard deviations in the angle on each side.
FREE_NODES, FREE_REACH = 200, 8.0


class Direct(Protocol):
    """Counts that the evidence of other rows is added to: rows that give direct evidence, on bins with confidences."""

    @property
    def checked(self) -> BinnedCounts:
        """Rows with the true label."""

    @property
    def confidence(self) -> Floats:
        """Mean confidence of each bin."""


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """Evidence of rows without the true label about the accuracies of bins, given parameters nu.

    Of `n` rows in each bin, `k` have the label 1; each has it with the probability `rate`.
    """

    n: Floats
    k: Floats

    @abstractmethod
    def rate(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        """Return the probability of the label 1 given the accuracy of the bin, and its derivative.

        `theta` has shape (..., n_values, n_bins) and `nu` (n_values, ...), or the same without n_values.
        """

    @property
    def present(self) -> Bools:
        """Whether each bin has such rows."""
        return self.n > 0

    def log_likelihood(self, theta: Floats, nu: Floats) -> Floats:
        """Return the log likelihood of each bin."""
        q, _ = self.rate(theta, nu)
        return np.asarray(self.k * np.log(q) + (self.n - self.k) * np.log1p(-q))

    def slope(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        """Return the derivative of the log likelihood, and the expected information."""
        q, change = self.rate(theta, nu)
        return change * (self.k / q - (self.n - self.k) / (1 - q)), self.n * change**2 / (q * (1 - q))


@dataclass(frozen=True, eq=False)
class JudgeEvidence(Evidence):
    r"""Rows that a judge labelled and nobody checked: `n`, and those labelled 1, `k`, by bin.

    The judge labels a row of bin b with 1 with probability :math:`q = 1 - p + (s + p - 1) \theta_b`, where sensitivity
    s and specificity p are those of the `stratum` of the bin, shape (n_bins,). Parameters nu, shape (..., 2, n_strata),
    hold s and p.
    """

    stratum: Indices

    def rate(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        """Return the probability q that the judge labels a row with 1, and its derivative s + p - 1."""
        s, p = nu[..., 0, self.stratum], nu[..., 1, self.stratum]
        return np.clip(1 - p + (s + p - 1) * theta, TINY, 1 - TINY), s + p - 1


def kernels(counts: Direct, evidence: Evidence, nu: Floats) -> tuple[Floats, Floats]:
    r"""Return the exponents a, b >= 0 of the Beta kernel of each bin that is closest to the evidence.

    It is a least-squares fit of the log likelihood on :math:`\log \theta` and :math:`\log (1 - \theta)`, at nodes
    around the mode of the evidence together with the checked rows. Weights are Normal in the angle
    :math:`\arcsin \sqrt\theta`. A judge without errors has exactly the numbers of rows labelled 1 and 0; without
    evidence both exponents are 0. The results have shape (n_values, n_bins).
    """
    theta, spread = _mode(counts, evidence, nu)
    z = np.linspace(-2 * REACH, 2 * REACH, NODES)[:, None, None]
    angle = np.clip(np.arcsin(np.sqrt(theta)) + z * spread, EDGE, np.pi / 2 - EDGE)
    at, weight = np.sin(angle) ** 2, np.exp(-0.5 * (z / REACH) ** 2)
    weight = weight / weight.sum()
    v, x, y = (
        each - (weight * each).sum(axis=0) for each in (evidence.log_likelihood(at, nu), np.log(at), np.log1p(-at))
    )
    xx, yy, xy, vx, vy = ((weight * one * two).sum(axis=0) for one, two in ((x, x), (y, y), (x, y), (v, x), (v, y)))
    det = xx * yy - xy**2
    a, b = (vx * yy - vy * xy) / det, (vy * xx - vx * xy) / det
    alone_a, alone_b = np.maximum(vx / xx, 0), np.maximum(vy / yy, 0)
    ones, zeros = np.where(b < 0, alone_a, np.maximum(a, 0)), np.where(a < 0, alone_b, np.maximum(b, 0))
    return np.where(evidence.present, ones, 0.0), np.where(evidence.present, zeros, 0.0)


def _mode(counts: Direct, evidence: Evidence, nu: Floats) -> tuple[Floats, Floats]:
    """Return the mode of all evidence of each bin, and its standard deviation in the angle, by Fisher scoring."""
    confidence = np.clip(counts.confidence, INSIDE, 1 - INSIDE)
    n, k = counts.checked.effective_n + ADDED, counts.checked.effective_k + ADDED * confidence
    theta = np.tile(confidence, (len(nu), 1))
    for _ in range(STEPS):
        slope, information = evidence.slope(theta, nu)
        total = information + n / (theta * (1 - theta))
        step = (slope + k / theta - (n - k) / (1 - theta)) / total
        theta = np.clip(theta + step, theta / 2, 1 - (1 - theta) / 2)  # at most half-way to 0 or 1
    total = evidence.slope(theta, nu)[1] + n / (theta * (1 - theta))
    return theta, np.minimum(0.5 / np.sqrt(theta * (1 - theta) * total), WIDEST)


def log_free(counts: Direct, evidence: Evidence, nu: Floats, kernel: tuple[Floats, Floats]) -> Floats:
    """Return the log marginal likelihood of all bins with independent uniform accuracies, shape (n_values,).

    It is the midpoint rule in the angle, where the kernel gives the centre and the width of the evidence. Bins without
    evidence of rows that were not checked have closed forms.
    """
    n, k = counts.checked.effective_n, counts.checked.effective_k
    ones, zeros = k + kernel[0] + 1, n - k + kernel[1] + 1
    centre, spread = np.arcsin(np.sqrt(ones / (ones + zeros))), 0.5 / np.sqrt(ones + zeros)
    low, high = np.maximum(centre - FREE_REACH * spread, 0), np.minimum(centre + FREE_REACH * spread, np.pi / 2)
    step = (high - low) / FREE_NODES
    angle = low + (np.arange(FREE_NODES) + 0.5)[:, None, None] * step
    theta = np.sin(angle) ** 2
    value = evidence.log_likelihood(theta, nu) + xlogy(k, theta) + xlog1py(n - k, -theta) + np.log(np.sin(2 * angle))
    largest = value.max(axis=0)
    integral = largest + np.log(np.exp(value - largest).sum(axis=0) * step)
    return np.asarray(np.where(evidence.present, integral, betaln(k + 1, n - k + 1)).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class VerifiedCounts(TargetCounts):
    """Bins of all rows, whose accuracies come from the Beta kernels of the rows with known outcome alone.

    The odds ratio of the other rows is part of the kernels, so that no row gives direct evidence: `checked` is empty.
    """

    #: The order of the scores of rows without outcome is unknown.
    lacking = frozenset({"outcomes"})

    @classmethod
    def of(cls, counts: TargetCounts) -> "VerifiedCounts":
        """Take masses and rows with known outcome from counts under another assumption."""
        return cls(**{field.name: getattr(counts, field.name) for field in fields(counts)})

    @cached_property
    def checked(self) -> BinnedCounts:
        """Rows that give direct evidence: none."""
        return BinnedCounts.empty(self.bins, target=self.target)

    @property
    def confidence(self) -> Floats:
        """Mean confidence of each bin; the midpoint if it is empty."""
        return np.where(self.occupied, np.clip(np.nan_to_num(self.mean_confidence), 0, 1), self.bins.midpoints)

    def with_kernel(self, ones: Floats, zeros: Floats) -> "VerifiedCounts":
        """Return the counts with the numbers of rows of outcome 1 and 0 that the evidence is worth."""
        rows = ones + zeros
        accuracy = np.divide(ones, rows, out=np.full(len(rows), np.nan), where=rows > 0)
        return replace(self, accuracy=accuracy, effective_n=rows)

    def evidence(self) -> "VerifiedEvidence":
        """Return the evidence of the rows with known outcome; if all are known, there are no others."""
        n, rows = self.source.n.astype(np.float64), self.target_rows
        share = np.ones(len(n)) if (n == rows).all() else (n + 0.5) / (rows + 1)
        return VerifiedEvidence(n, self.source.k.astype(np.float64), share)


@dataclass(frozen=True, eq=False)
class VerifiedEvidence(Evidence):
    r"""Rows with known outcome: `n`, of them `k` with outcome 1, and their `share` of all rows, by bin.

    They have outcome 1 with probability v, and the odds among the other rows are :math:`\Gamma` times as high [1]_. A
    bin in which a share f of the outcomes is known has the accuracy

    .. math:: \theta = f v + (1 - f) \frac{\Gamma v}{1 - v + \Gamma v}.

    Parameters nu, shape (..., 1), hold :math:`\Gamma`.

    .. [1] A. S. Kosinski and H. X. Barnhart (2003), "Accounting for nonignorable verification bias in assessment of
       diagnostic tests", Biometrics 59, 163-171.
    """

    share: Floats

    def rate(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        r"""Return v and its derivative in :math:`\theta`; v is the root in [0, 1] of a quadratic, in stable form."""
        f, more = self.share, nu - 1
        b = f + (1 - f) * nu - theta * more
        root = np.sqrt(np.maximum(b * b + 4 * f * more * theta, 0))
        v = np.clip(2 * theta / np.maximum(b + root, TINY), TINY, 1 - TINY)
        return v, 1 / (f + (1 - f) * nu / (1 + more * v) ** 2)
