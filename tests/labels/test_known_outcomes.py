"""Evidence of rows with known outcome given the odds ratio of the others: roots, derivatives, quadrature."""

import numpy as np
import pytest
from partial_sets import verified_counts
from scipy.integrate import quad
from scipy.special import xlog1py, xlogy

from bayescal.labels.evidence import VerifiedEvidence, kernels, log_free
from bayescal.labels.posterior import LabelPosterior, Problem, solve_known
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import ShrinkagePrior

COUNTS = verified_counts([8, 30, 0], [3, 21, 0], [40, 45, 7], np.array([0.2, 0.5, 0.8]))
EVIDENCE = COUNTS.evidence()
RATIOS = np.array([1 / 20, 0.5, 1, 2, 20])[:, None]


def accuracy(v, f, ratio):
    """Accuracy of all rows given that of the known ones, by the odds of the others."""
    odds = ratio * v / (1 - v)
    return f * v + (1 - f) * odds / (1 + odds)


@pytest.mark.parametrize("f", [0.001, 0.3, 0.999])
def test_the_rate_of_known_rows_is_the_root(f):
    v = np.concatenate([[1e-9, 1e-5], np.linspace(0.001, 0.999, 999), [1 - 1e-5]])
    evidence = VerifiedEvidence(np.ones(len(v)), np.ones(len(v)), np.full(len(v), f))
    found, slope = evidence.rate(accuracy(v, f, RATIOS), RATIOS)
    np.testing.assert_allclose(found, np.tile(v, (5, 1)), rtol=1e-8)
    step = 1e-7
    inside = slice(20, -20)
    up, down = (accuracy((v + each)[inside], f, RATIOS) for each in (step, -step))
    np.testing.assert_allclose(1 / slope[:, inside], (up - down) / (2 * step), rtol=1e-4)


def test_without_a_difference_the_kernel_is_the_known_rows():
    ones, zeros = kernels(COUNTS, EVIDENCE, np.ones((1, 1)))
    np.testing.assert_allclose(ones[0], COUNTS.source.k, rtol=1e-8)
    np.testing.assert_allclose(zeros[0], COUNTS.source.n - COUNTS.source.k, rtol=1e-8)
    given = COUNTS.with_kernel(ones[0], zeros[0])
    np.testing.assert_allclose(given.effective_n, COUNTS.source.n, rtol=1e-8)
    np.testing.assert_allclose(given.accuracy[:2], [3 / 8, 0.7], rtol=1e-8)
    assert np.isnan(given.accuracy[2])


def test_the_likelihood_is_binomial_and_the_slope_its_derivative():
    theta, step = np.array([[0.3, 0.6, 0.8]]), 1e-6
    v = EVIDENCE.rate(theta, RATIOS)[0]
    expected = xlogy(EVIDENCE.k, v) + xlog1py(EVIDENCE.n - EVIDENCE.k, -v)
    np.testing.assert_allclose(EVIDENCE.log_likelihood(theta, RATIOS), expected, rtol=1e-12)
    slope, information = EVIDENCE.slope(theta, RATIOS)
    up, down = (EVIDENCE.log_likelihood(theta + each, RATIOS) for each in (step, -step))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=1e-5)
    # the expected information is the variance of the slope over Binomial outcomes
    k = np.random.default_rng(1).binomial(30, v[:, 1], (200_000, 5)).T
    many = VerifiedEvidence(np.full(5, 30.0), k.T.astype(float), np.full(5, EVIDENCE.share[1]))
    drawn = many.slope(np.full((1, 5), 0.6), RATIOS.T)[0]
    np.testing.assert_allclose(drawn.var(axis=0), information[:, 1], rtol=0.02)


def test_the_share_of_known_rows():
    np.testing.assert_allclose(EVIDENCE.share, [8.5 / 41, 30.5 / 46, 0.5 / 8])
    complete = verified_counts([8, 30], [3, 21], [8, 30], np.array([0.2, 0.7])).evidence()
    np.testing.assert_array_equal(complete.share, 1)
    theta = np.array([[0.3, 0.6]])
    np.testing.assert_allclose(complete.rate(theta, RATIOS)[0], np.tile(theta, (5, 1)), rtol=1e-9)


def one_bin(n=12, k=9, rows=60, confidence=0.6):
    counts = verified_counts([n], [k], [rows], np.array([confidence]))
    return Problem(counts, counts.evidence(), ShrinkagePrior(pool=False))


@pytest.mark.parametrize("ratio", [0.2, 1, 3])
def test_one_bin_with_a_free_accuracy_by_quadrature(ratio):
    """Beta(c, 1 - c) is the prior of the draws, and a uniform one that of the marginal likelihood."""
    problem, nu = one_bin(), np.array([[ratio]])
    c, evidence = 0.6, problem.evidence

    def likelihood(theta):
        return np.exp(evidence.log_likelihood(np.array([[theta]]), nu)[0, 0])

    def integral(function):
        value, _ = quad(function, 0, 1, epsabs=0, epsrel=1e-10, limit=400, points=[0.2, 0.5, 0.8])
        return value

    free = log_free(problem.counts, evidence, nu, kernels(problem.counts, evidence, nu))
    assert free[0] == pytest.approx(np.log(integral(likelihood)), abs=1e-4)

    def density(theta):
        return theta ** (c - 1) * (1 - theta) ** -c * likelihood(theta)

    area = integral(density)
    mean = integral(lambda theta: theta * density(theta)) / area
    sd = np.sqrt(integral(lambda theta: (theta - mean) ** 2 * density(theta)) / area)
    posterior = LabelPosterior(solve_known([problem], nu, 200, 1))
    theta = posterior.sample_free(100_000, rng=1).accuracy[:, 0]
    assert theta.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(100_000) + 0.001)
    assert theta.std() == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("ratio", [0.2, 1, 3])
def test_one_bin_under_the_shrinkage_model_from_draws_of_its_prior(ratio):
    """400 000 draws of the prior, weighted by the likelihood: mean, standard deviation and marginal likelihood."""
    problem, nu = one_bin(), np.array([[ratio]])
    at = problem.counts.with_kernel(np.zeros(1), np.zeros(1))
    prior = ShrinkagePosterior(at, problem.prior).sample(400_000, rng=2).accuracy[:, 0]
    weight = np.exp(problem.evidence.log_likelihood(prior[:, None, None], nu)[:, 0, 0])
    mean = weight @ prior / weight.sum()
    sd = np.sqrt(weight @ (prior - mean) ** 2 / weight.sum())
    solved = solve_known([problem], nu, 40_000, 1)
    theta = LabelPosterior(solved).sample(40_000, rng=1).accuracy[:, 0]
    assert theta.mean() == pytest.approx(mean, abs=0.03 * sd)
    assert theta.std() == pytest.approx(sd, rel=0.03)
    assert solved.of[0].log_evidence[0] == pytest.approx(np.log(weight.mean()), abs=0.02)


def test_values_of_the_odds_ratio_keep_equal_weights():
    """Known outcomes are as frequent as stated: values without a difference must not weigh more."""
    counts = verified_counts([400, 400], [100, 300], [2000, 2000], np.array([0.25, 0.75]))
    solved = solve_known([Problem(counts, counts.evidence(), ShrinkagePrior())], RATIOS, 500, 1)
    np.testing.assert_allclose(solved.weights, 0.2)
    drawn = np.bincount(LabelPosterior(solved).value_of(5000, 1), minlength=5)
    np.testing.assert_array_equal(drawn, 1000)
