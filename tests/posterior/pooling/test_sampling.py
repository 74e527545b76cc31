"""Draws of deviations, accuracies and masses of groups, against grids and the moments of a Dirichlet."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import dirichlet_multinomial, norm
from twins.examples import few_groups
from twins.pooling import CURVE

from bayescal.posterior.pooling import evidence
from bayescal.posterior.pooling.evidence import GroupBins, Rows, draw_masses, precision_probabilities
from bayescal.posterior.pooling.posterior import PooledPosterior
from bayescal.posterior.pooling.prior import PoolingPrior

BINS = few_groups()
CENTRE = np.array([CURVE])


def test_precisions_have_dirichlet_multinomial_probabilities():
    precisions = np.array([3.0, 30.0, 3000.0])
    rows = BINS.rows.astype(int)
    each = [sum(dirichlet_multinomial(c * BINS.share, n.sum()).logpmf(n) for n in rows) for c in precisions]
    np.testing.assert_allclose(precision_probabilities(BINS, precisions), softmax(each))


def test_masses_vary_with_the_shares_of_all_rows(close_to):
    """Moments of a Dirichlet whose centre is Dirichlet: E = (C s + r) / (C + R), and the law of total variance."""
    rows, share, precision, of_all = np.array([[3.0, 1.0, 6.0], [0.0, 0.0, 0.0]]), np.array([0.2, 0.3, 0.5]), 20.0, 50.0
    bins = GroupBins(rows, 0 * rows, rows, np.full((2, 3), 0.5), share, share_rows=of_all)
    drawn = draw_masses(bins, np.array([precision]), 40_000, np.random.default_rng(1))
    total = precision + rows.sum(axis=1, keepdims=True)
    expected = (precision * share + rows) / total
    of_centre = (precision / total) ** 2 * share * (1 - share) / (of_all + 1)
    variance = (expected * (1 - expected) - of_centre) / (total + 1) + of_centre
    close_to(drawn.mean(axis=1), expected, np.sqrt(variance / 40_000))
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.05)
    # groups of one draw have the same shares
    np.testing.assert_allclose(
        np.cov(drawn[0, :, 0], drawn[1, :, 0])[0, 1], precision / total[0, 0] * share[0] * (1 - share[0]) / 51, rtol=0.1
    )


def test_draws_do_not_depend_on_chunks(monkeypatch):
    factor = np.geomspace(1, 1e5, len(BINS))[:, None]  # likelihoods of few rows and of many are computed differently
    many = GroupBins(BINS.n * factor, BINS.k * factor, BINS.rows, BINS.confidence, BINS.share)
    whole = PooledPosterior(many, CENTRE).sample(300, rng=1)
    monkeypatch.setattr(evidence, "CHUNK", 700)
    parts = PooledPosterior(many, CENTRE).sample(300, rng=1)
    for name in ("mass", "accuracy", "deviation"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.parametrize("tau", [0.0, 0.2])
def test_interpolated_likelihoods_are_those_of_each_intercept(tau):
    """Few rows and many, near the mode and far from it; errors of the polynomials are below 1e-5."""
    factor = np.array([[0.0], [1.0], [1e4]])
    bins = GroupBins(BINS.n * factor, BINS.k * factor, BINS.rows, BINS.confidence, BINS.share)
    rows = Rows(bins.n, bins.k, bins.start, bins.lever)
    width = np.array([2.5, 1.5, 0.05])
    problem = np.repeat([0, 1, 2, 1], [100, 100, 100, 3])
    at = np.zeros((2, len(problem), 2))
    at[..., 0] = np.random.default_rng(1).uniform(-1, 1, at.shape[:2]) * width[problem]
    found = evidence._at_intercepts(rows, problem, at, tau)
    expected = rows.take(problem).log_likelihood(at.swapaxes(0, 1), tau).T
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-5)


def test_groups_that_do_not_deviate_from_the_diagonal_are_exactly_calibrated():
    prior = PoolingPrior(drift_sds=((0.0, 0.0),), taus=(0.0,), centres=("diagonal",))
    drawn = PooledPosterior(BINS, CENTRE, prior).sample(50, rng=1)
    np.testing.assert_array_equal(drawn.accuracy, np.broadcast_to(BINS.confidence[:, None], drawn.accuracy.shape))


def test_a_group_without_rows_has_the_prior_given_the_weights(close_to):
    """One scale: intercepts of a group without rows are Normal with its standard deviation."""
    n = np.vstack([BINS.n, np.zeros(5)])
    bins = GroupBins(n, np.vstack([BINS.k, np.zeros(5)]), n, np.tile(BINS.confidence[:1], (4, 1)), BINS.share)
    prior = PoolingPrior(drift_sds=((0.4, 0.0),), taus=(0.0,), centres=("common",))
    a = PooledPosterior(bins, CENTRE, prior).sample(20_000, rng=1).deviation[3, :, 0]
    close_to(a.mean(), 0.0, 0.4 / np.sqrt(20_000))
    close_to(a.std(), 0.4, 0.4 / np.sqrt(40_000))


@pytest.mark.parametrize("tau", [0.0, 0.2])
def test_deviations_have_their_posterior_after_many_steps(tau, monkeypatch, close_to):
    """A skewed posterior: nearly all outcomes are 1, and the prior is wide; 60 steps instead of 2, and a fine grid."""
    monkeypatch.setattr(evidence, "STEPS", 60)
    n = np.full((1, 3), 20.0)
    confidence = np.array([[0.3, 0.5, 0.7]])
    bins = GroupBins(n, n * np.array([0.7, 0.9, 1.0]), n, confidence, np.full(3, 1 / 3))
    prior = PoolingPrior(drift_sds=((1.0, 0.0),), taus=(tau,), centres=("diagonal",), together=1.0)
    drawn = PooledPosterior(bins, np.zeros((1, 3)), prior).sample(20_000, rng=1).deviation[0, :, 0]
    a = np.linspace(-5, 9, 40_001)
    at = np.stack([a, np.zeros_like(a)], axis=-1)[None]
    rows = Rows(bins.n, bins.k, bins.start, bins.lever)
    share = softmax(rows.log_likelihood(at, tau)[0] + norm.logpdf(a, 0, 1.0))
    mean = share @ a
    sd = np.sqrt(share @ (a - mean) ** 2)
    close_to(drawn.mean(), mean, sd / np.sqrt(20_000))
    close_to(drawn.std(), sd, np.sqrt((share @ (a - mean) ** 4 - sd**4) / (4 * sd**2 * 20_000)))


def test_a_large_group_keeps_its_own_rate(close_to):
    """With 10^6 rows per bin, accuracies are observed shares under a component with residuals."""
    n = np.full((2, 5), 1e6)
    share = np.array([[0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.3, 0.5, 0.7, 0.9]])
    bins = GroupBins(n, n * share, n, np.tile([0.1, 0.3, 0.5, 0.7, 0.9], (2, 1)), np.full(5, 0.2))
    drawn = PooledPosterior(bins, CENTRE).sample(200, rng=1)
    np.testing.assert_allclose(drawn.accuracy, np.broadcast_to(share[:, None], drawn.accuracy.shape), atol=0.003)
