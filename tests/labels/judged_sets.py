"""Simulated rows with a judge: the true label is known for some of them."""

from dataclasses import dataclass

import numpy as np

import bayescal as bc
from bayescal.labels.counts import LabelCounts
from bayescal.labels.evidence import JudgeEvidence
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
