"""Simulated rows with a judge: the true label is known for some of them."""

from dataclasses import dataclass

import numpy as np

import bayescal as bc
from bayescal.labels.evidence import JudgeEvidence
from bayescal.labels.nuisance import JudgeRates
from bayescal.labels.posterior import Problem
from bayescal.labels.sums import LabelCounts
from bayescal.posterior.shrinkage.prior import ShrinkagePrior
from bayescal.stats.binned import BinnedCounts


@dataclass(frozen=True)
class JudgedSet:
    """Confidence, true label of all rows, judge's label, and which rows are checked."""

    confidence: np.ndarray
    truth: np.ndarray
    judge: np.ndarray
    checked: np.ndarray

    @property
    def y(self):
        return np.where(self.checked, self.truth, np.nan)

    def judged(self, rng=1, **options):
        options = {"judge": self.judge, "rng": rng} | options
        return bc.labels.judged(self.y, self.confidence, **options)


def judged_set(seed=1, n=1000, checked=150, s=0.9, p=0.8, slope=0.6):
    """Rows with uniform confidences; accuracy 0.2 + slope c (calibrated with slope 1 and without the constant)."""
    rng = np.random.default_rng(seed)
    c = rng.random(n)
    accuracy = c if slope == 1 else 0.2 + slope * c
    truth = rng.random(n) < accuracy
    judge = np.where(truth, rng.random(n) < s, rng.random(n) >= p)
    return JudgedSet(c, truth, judge, rng.permutation(n) < checked)


def problem_counts(n_checked, k_checked, n, k, confidence):
    """Counts and evidence by bin, made by hand: checked rows, and judged rows with label 1."""
    edges = np.linspace(0, 1, len(n) + 1)
    assert (np.digitize(confidence, edges) == np.arange(1, len(n) + 1)).all()

    def counted(rows, ones):
        c = np.repeat(confidence, rows)
        y = np.concatenate([np.arange(m) < k for m, k in zip(rows, ones, strict=True)])
        if not len(c):
            return BinnedCounts.empty(edges)
        return BinnedCounts.from_arrays(y.astype(int), c, bins=edges)

    n, k, n_checked, k_checked = (np.asarray(each) for each in (n, k, n_checked, k_checked))
    rows = counted(n + n_checked, k + k_checked)
    evidence = JudgeEvidence(n.astype(float), k.astype(float), np.zeros(len(n), np.intp))
    return LabelCounts.without_kernel(rows, counted(n_checked, k_checked)), evidence


def same_ends(one, other, tolerance=0.1):
    """Both 95 % intervals agree within Monte Carlo error, a part of the width."""
    (a, b), (c, d) = (each.interval() for each in (one, other))
    width = max(b - a, d - c, 1e-3)
    assert abs(a - c) < tolerance * width
    assert abs(b - d) < tolerance * width


#: Two bins with few rows, of which all true labels can be enumerated.
PRIOR = ShrinkagePrior(pool=False)
CONFIDENCE = np.array([0.35, 0.8])
COUNTS, EVIDENCE = problem_counts([4, 6], [3, 4], [7, 9], [6, 4], CONFIDENCE)
PROBLEM = Problem(COUNTS, EVIDENCE, PRIOR)
TABLE = np.array([[6.0, 1.0, 2.0, 1.0]])
RATES = JudgeRates(TABLE, np.array([[17.0, 9.0]]))
