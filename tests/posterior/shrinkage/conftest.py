"""Counts and posteriors that tests of several sub-models share."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.posterior.shrinkage.model import compiled_form
from bayescal.posterior.shrinkage.prior import SUB_MODELS


@pytest.fixture(scope="session")
def counts_of():
    """Make counts with a bin for each given row of (n, k, mean confidence), edges half-way between the confidences."""

    def make(n, k, confidence):
        order = np.argsort(confidence)
        n, k, confidence = (np.asarray(v, dtype=float)[order] for v in (n, k, confidence))
        empty = BinnedCounts.empty(np.r_[0.0, (confidence[1:] + confidence[:-1]) / 2, 1.0])
        cells = np.stack([n - k, k])
        deviation = confidence - empty.bins.midpoints
        return replace(
            empty,
            cells=np.ceil(cells).astype(np.int64),
            weight=cells,
            deviation=deviation * cells,
            deviation_sq=deviation**2 * n,
            weight_sq=n,
        )

    return make


@pytest.fixture(scope="session")
def simulated():
    """Count rows of uniform confidences, whose logits are to be divided by a temperature."""

    def make(n_rows, bins=15, temperature=1.0, seed=0):
        rng = np.random.default_rng(seed)
        p = rng.random(n_rows)
        return BinnedCounts.from_arrays(rng.random(n_rows) < expit(logit(p) / temperature), p, bins=bins)

    return make


@pytest.fixture(scope="session")
def counted():
    """Count rows of uniform confidences with a true calibration curve."""

    def make(n_rows, curve=lambda p: p, bins=15, seed=1):
        rng = np.random.default_rng(seed)
        p = rng.random(n_rows)
        return BinnedCounts.from_arrays(rng.random(n_rows) < curve(p), p, bins=bins)

    return make


@pytest.fixture(scope="session")
def only():
    """Make the posterior under one sub-model of independent bins."""

    def make(counts, name, **options):
        weights = [float(n == name) for n in SUB_MODELS]
        return shrinkage_posterior(counts, sub_models=["independent"], sub_model_weights=weights, **options)

    return make


@pytest.fixture(scope="session")
def log_likelihood():
    """Log-likelihood of accuracies by bin, relative to exact calibration."""

    def ratio(accuracy, n, k, c):
        accuracy = np.clip(accuracy, 1e-9, 1 - 1e-9)
        return k * np.log(accuracy / c) + (n - k) * np.log((1 - accuracy) / (1 - c))

    return ratio


@pytest.fixture(scope="session")
def gap_sums():
    """Moments of gaps (n, n_bins) of joint states with probabilities `weight` (n,), in bins with masses."""

    def moments(weight, gaps, mass):
        weight = weight / weight.sum()
        total = np.abs(gaps) @ mass
        mean = weight @ total
        return np.array([mean, weight @ (total - mean) ** 2, weight @ (gaps**2 @ mass)])

    return moments


@pytest.fixture(scope="session")
def counts_of_kind():
    """Count rows with confidences of one kind, and a drift."""

    def make(kind, n_rows, bins=15, seed=1):
        rng = np.random.default_rng([seed, n_rows])
        p = {
            "flat": lambda: rng.random(n_rows),
            "crowded": lambda: rng.beta(0.05, 1.5, n_rows),
            "top": lambda: 0.5 + 0.5 * rng.beta(4.0, 1.0, n_rows),
            "saturated": lambda: np.where(rng.random(n_rows) < 0.4, np.round(rng.random(n_rows)), rng.random(n_rows)),
        }[kind]()
        logit = np.log(np.clip(p, 1e-12, 1)) - np.log1p(-np.clip(p, 0, 1 - 1e-12))
        truth = 1 / (1 + np.exp(-(logit * rng.uniform(0.7, 1.2) + 0.2 * rng.normal())))
        return BinnedCounts.from_arrays((rng.random(n_rows) < truth).astype(int), p, bins=bins)

    return make


@pytest.fixture(scope="session")
def both():
    """Make the posterior of counts in both forms, the second one compiled."""

    def make(counts, **options):
        posterior = shrinkage_posterior(counts, **options)
        return posterior, compiled_form(posterior)

    return make
