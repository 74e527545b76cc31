"""Compiled runs of bins against the other form."""

import numpy as np
import pytest

from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.posterior.shrinkage import many

pytest.importorskip("numba")


def test_shifts_of_bins_near_0_and_1_start_from_the_same_logits():
    confidence = np.repeat([0.0, 1e-6, 0.3, 0.8, 1.0], 200)
    outcome = (np.arange(1000) % 20 == 0) ^ (confidence > 0.5)
    edges = [0, 1e-7, 0.1, 0.5, 0.9, 1]
    counts = BinnedCounts.from_arrays(outcome, confidence, bins=edges)
    posterior = shrinkage_posterior(counts, sub_models=["runs"])
    compiled = many.CompiledShrinkagePosterior(counts, posterior.prior_options)
    assert compiled._compiled is not None
    assert compiled.log_evidence["runs"] == pytest.approx(posterior.log_evidence["runs"], abs=0.02)
    one, other = (each.sample(4000, rng=1).accuracy for each in (posterior, compiled))
    error = 6 * one.std(axis=0) * np.sqrt(2 / 4000)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < error).all()
    assert 0.02 < one[:, 0].mean() < 0.08  # 5 % of the outcomes are contrary to a confidence of 0


def test_draws_have_the_same_distribution(same_distribution):
    same_distribution("runs")
