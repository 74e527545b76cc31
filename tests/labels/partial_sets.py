"""Simulated rows whose outcome is known for some of them, and counts made by hand."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

import bayescal as bc
from bayescal.labels.evidence import VerifiedCounts
from bayescal.shift.target import TargetCounts
from bayescal.stats.binned import BinnedCounts


@dataclass(frozen=True)
class PartialSet:
    """Probability, outcome of all rows, which are known, covariate, and P(outcome known | covariate)."""

    p: np.ndarray
    truth: np.ndarray
    known: np.ndarray
    share: np.ndarray

    @property
    def y(self):
        return np.where(self.known, self.truth, np.nan)

    def observed(self, missing="score", rng=1, **options):
        return bc.labels.partly_observed(self.y, self.p, missing=missing, rng=rng, **options)

    def whole(self, **options):
        return bc.evaluate(self.truth, self.p, rng=1, **options)


def by_score(seed=1, n=2000, slope=0.7, shift=0.3):
    """Outcomes are known more often at high probabilities; calibrated with slope 1 and shift 0."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, n)
    truth, share = rng.random(n) < expit(slope * logit(p) + shift), 0.05 + 0.9 * p
    return PartialSet(p, truth, rng.random(n) < share, share)


def by_covariate(seed=1, n=2000):
    """Outcome and whether it is known depend on a covariate that the probability uses in part."""
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, n))
    truth, share = rng.random(n) < expit(x + z - 0.5), expit(-1 + 1.2 * x)
    return PartialSet(expit(0.4 * x + z - 0.3), truth, rng.random(n) < share, share)


def not_at_random(ratio, seed=1, n=2000, slope=0.7, shift=0.3):
    """The odds of missing outcomes are `ratio` times those of known ones at equal probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, n)
    known = rng.random(n) < 0.05 + 0.9 * p
    odds = np.exp(slope * logit(p) + shift) * np.where(known, 1, ratio)
    return PartialSet(p, rng.random(n) < odds / (1 + odds), known, np.full(n, np.nan))


def verified_counts(n, k, rows, confidence):
    """Counts by bin, made by hand: `n` known outcomes, of them `k` with outcome 1, of `rows` rows."""
    edges = np.linspace(0, 1, len(n) + 1)
    assert (np.digitize(confidence, edges) == np.arange(1, len(n) + 1)).all()
    y = np.concatenate([np.arange(m) < ones for m, ones in zip(n, k, strict=True)]).astype(int)
    source = BinnedCounts.from_arrays(y, np.repeat(confidence, n), bins=edges)
    return VerifiedCounts.of(TargetCounts.from_confidences(source, np.repeat(confidence, rows)))
