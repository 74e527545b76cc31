"""Outcomes that are known for some rows: evidence about accuracies of all rows, given the odds ratio of the others."""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Floats
from bayescal.labels.evidence import TINY
from bayescal.shift.target import TargetCounts
from bayescal.stats.binned import BinnedCounts


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
class VerifiedEvidence:
    r"""Rows with known outcome: `n`, of them `k` with outcome 1, and their `share` of all rows, by bin.

    They have outcome 1 with probability v, and the odds among the other rows are :math:`\Gamma` times as high [1]_. A
    bin in which a share f of the outcomes is known has the accuracy

    .. math:: \theta = f v + (1 - f) \frac{\Gamma v}{1 - v + \Gamma v}.

    Parameters nu, shape (..., 1), hold :math:`\Gamma`.

    .. [1] A. S. Kosinski and H. X. Barnhart (2003), "Accounting for nonignorable verification bias in assessment of
       diagnostic tests", Biometrics 59, 163-171.
    """

    n: Floats
    k: Floats
    share: Floats

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each bin has such rows."""
        return self.n > 0

    def rate(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        r"""Return v and its derivative in :math:`\theta`; v is the root in [0, 1] of a quadratic, in stable form."""
        f, more = self.share, nu - 1
        b = f + (1 - f) * nu - theta * more
        root = np.sqrt(np.maximum(b * b + 4 * f * more * theta, 0))
        v = np.clip(2 * theta / np.maximum(b + root, TINY), TINY, 1 - TINY)
        return v, 1 / (f + (1 - f) * nu / (1 + more * v) ** 2)

    def log_likelihood(self, theta: Floats, nu: Floats) -> Floats:
        """Return the log likelihood of each bin; see `Evidence`."""
        v, _ = self.rate(theta, nu)
        return np.asarray(self.k * np.log(v) + (self.n - self.k) * np.log1p(-v))

    def slope(self, theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
        """Return the derivative of the log likelihood, and the expected information."""
        v, change = self.rate(theta, nu)
        return change * (self.k / v - (self.n - self.k) / (1 - v)), self.n * change**2 / (v * (1 - v))
