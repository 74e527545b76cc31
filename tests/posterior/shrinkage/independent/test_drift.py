"""The drift: how far a centre can be, by hand, and the limited leverage of certain bins."""

import numpy as np
import pytest
from scipy.special import expit, logit

from bayescal.posterior.shrinkage.independent.drift import DriftingBins

NAMES = ("logistic", "dense", "sparse", "logistic_dense", "logistic_sparse")


def test_how_far_a_centre_can_be():
    """The bound is the maximum of |logit c| + (exp(6 sd_s) - 1) |x| + 6 sd_a, here that of the first bin, by hand."""
    bins = DriftingBins(np.array([5.0, 5.0]), np.array([1.0, 2.0]), np.array([0.1, 0.6]), 0.3, 0.2)
    x = np.log(9)
    assert bins.farthest_logit == pytest.approx(x + (np.exp(1.2) - 1) * x + 1.8, rel=1e-12)


def test_the_leverage_of_certain_bins_is_limited(counts_of, only):
    """logit h = logit(c) + a + (exp(s) - 1) x, with x the logit of c but kept within 1e-4 of 0 and 1."""
    c = np.array([1e-7, 1e-3, 0.3, 0.9999999])
    draws = only(counts_of([10, 10, 10, 10], [0, 0, 3, 10], c), NAMES[0]).sample_all(100, rng=9)
    x = logit(np.array([1e-4, 1e-3, 0.3, 0.9999]))
    expected = logit(c) + draws.intercept[:, None] + (draws.slope[:, None] - 1) * x
    np.testing.assert_allclose(draws.bin_draws.accuracy, expit(expected), rtol=1e-6)
