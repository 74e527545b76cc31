"""The drift: how far a centre can be, by hand, and the limited leverage of certain bins."""

import numpy as np
import pytest
from scipy.special import betaln, expit, logit

from bayescal.posterior.shrinkage.independent.drift import DriftingBins, Frame, polynomials

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


@pytest.mark.parametrize("kappa", [None, 3.0, 400.0])
def test_polynomials_are_the_likelihood_on_a_disc(kappa):
    """Beta functions at random drifts within 6 standard deviations, relative to those at the mode."""
    rng = np.random.default_rng(4)
    c, n = np.linspace(0.03, 0.97, 12), np.full(12, 3000.0)
    k = rng.binomial(3000, expit(0.1 + 1.2 * logit(c))).astype(float)
    frame = Frame(*(np.array([value]) for value in (0.08, 0.2, 0.3, 0.02, 0.03)))
    found = polynomials(DriftingBins(n, k, c, 0.5, 0.5), frame, None if kappa is None else np.array([kappa]), 6.0)
    t, s = 0.08 + 0.02 * rng.uniform(-4, 4, 30), 0.2 + 0.03 * rng.uniform(-4, 4, 30)

    def exact(t, s):
        eta = logit(c) + t[:, None] - np.expm1(s - 0.2)[:, None] * 0.3 + np.expm1(s)[:, None] * logit(c)
        if kappa is None:
            return (k * np.log(expit(eta)) + (n - k) * np.log(expit(-eta))).sum(axis=1)
        a, b = kappa * expit(eta), kappa * expit(-eta)
        return (betaln(a + k, b + n - k) - betaln(a, b)).sum(axis=1)

    centre = np.array([0.08]), np.array([0.2])
    got = found(np.zeros(30, int), t, s) - found(np.zeros(1, int), *centre)
    np.testing.assert_allclose(got, exact(t, s) - exact(*centre), rtol=1e-9, atol=1e-6)


def test_there_are_no_polynomials_where_centres_move_far():
    """With 6 rows, a disc of 6 standard deviations moves the logit of 0.9 by more than 3."""
    bins = DriftingBins(np.array([3.0, 3.0]), np.array([1.0, 2.0]), np.array([0.2, 0.9]), 0.5, 0.5)
    assert polynomials(bins, Frame(*np.array([[0.0], [0.0], [0.0], [0.4], [0.4]])), None, 6.0) is None
