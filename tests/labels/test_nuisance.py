"""Rates of a judge given checked rows; proposals of importance sampling."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, gaussian_kde, multivariate_t

from bayescal.labels.nuisance import JudgeRates, Student, Verified, at_mode, fitted, log_mixture

TABLE = np.array([[40.0, 5.0, 12.0, 3.0], [10.0, 0.0, 7.0, 6.0]])
RATES = JudgeRates(TABLE, np.array([[100.0, 50.0], [40.0, 60.0]]))


def test_the_density_of_rates_is_that_of_beta_distributions_of_logits():
    eta = np.array([[1.5, 2.0, 0.5, 0.2]])
    s, p = expit(eta[0, :2]), expit(eta[0, 2:])
    expected = sum(
        beta(1 + t[0], 1 + t[1]).logpdf(s[i]) + beta(1 + t[2], 1 + t[3]).logpdf(p[i]) for i, t in enumerate(TABLE)
    )
    expected += np.log(np.concatenate([s * (1 - s), p * (1 - p)])).sum()
    assert RATES.log_density(eta)[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(RATES.rates(eta), [[s, p]])
    assert RATES.log_density(np.array([[1.5, -3.0, 0.5, 0.2]]))[0] == -np.inf  # s + p < 1 in one stratum


def test_draws_have_the_means_of_beta_distributions():
    drawn = RATES.rates(RATES.draw(20_000, np.random.default_rng(1)))
    expected = np.stack([(1 + TABLE[:, 0]) / (2 + TABLE[:, :2].sum(1)), (1 + TABLE[:, 2]) / (2 + TABLE[:, 2:].sum(1))])
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.005)


def test_the_probability_of_no_better_than_chance():
    table = np.array([[6.0, 5.0, 3.0, 4.0]])
    rng = np.random.default_rng(1)
    s, p = rng.beta(7, 6, 400_000), rng.beta(4, 5, 400_000)
    assert JudgeRates(table, np.zeros((1, 2))).p_no_better_than_chance[0] == pytest.approx(
        (s + p <= 1).mean(), abs=0.004
    )
    assert JudgeRates(np.zeros((1, 4)), np.zeros((1, 2))).p_no_better_than_chance[0] == pytest.approx(0.5, abs=1e-3)


def test_student_density_and_draws():
    covariance = np.array([[1.0, 0.3], [0.3, 0.5]])
    student = Student(np.array([1.0, -2.0]), covariance)
    at = np.array([[0.5, -1.0], [3.0, 2.0]])
    expected = multivariate_t([1.0, -2.0], covariance, df=5).logpdf(at)
    np.testing.assert_allclose(student.log_density(at), expected, rtol=1e-10)
    drawn = student.draw(200_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.cov(drawn.T), covariance * 5 / 3, rtol=0.05)


def test_the_mode_and_curvature_of_a_normal_density():
    mean, covariance = np.array([0.5, 2.0]), np.array([[0.4, 0.1], [0.1, 0.2]])
    inverse = np.linalg.inv(covariance)
    found = at_mode(lambda eta: -0.5 * ((eta - mean) @ inverse * (eta - mean)).sum(axis=-1), np.zeros(2))
    np.testing.assert_allclose(found.mean, mean, atol=1e-3)
    np.testing.assert_allclose(found.covariance, covariance * 1.4**2, rtol=1e-3)


def test_rounding_errors_of_a_density_do_not_move_its_mode():
    """Other processors round differently; draws are the same only if the proposal is the same."""

    def rounded_by(error):
        return at_mode(
            lambda eta: np.round(-(((eta**2).sum(axis=-1) - 1.234567) ** 2) - 0.3 * eta[..., 0], error), np.ones(2)
        )

    one, other = rounded_by(12), rounded_by(13)
    assert (one.mean == other.mean).all()
    assert (one.covariance == other.covariance).all()


def test_fitted_moments_and_flattened_weights():
    rng = np.random.default_rng(1)
    eta = rng.standard_normal((50_000, 2))
    # a standard Normal sample with weights of a Normal with mean 0.5 in the first coordinate
    found = fitted(eta, 0.5 * eta[:, 0])
    np.testing.assert_allclose(found.mean, [0.5, 0], atol=0.03)
    np.testing.assert_allclose(found.covariance, 1.4**2 * np.eye(2), atol=0.1)
    # one value has all weight: it is flattened until 7.5 of 20 values count
    few = np.arange(40.0).reshape(20, 2)
    log_weight = np.where(np.arange(20) == 3, 0.0, -1000.0 - np.arange(20))
    spread = fitted(few, log_weight)
    assert np.isfinite(spread.root).all()
    assert spread.covariance[0, 0] > 1
    assert np.isfinite(fitted(few, np.where(np.arange(20) < 10, -np.inf, log_weight)).root).all()


def test_a_mixture_is_weighted_by_numbers_of_values():
    one, two = (Student(np.full(1, m), np.eye(1)) for m in (0.0, 3.0))
    at = np.array([[1.0]])
    expected = np.log(0.25 * np.exp(one.log_density(at)) + 0.75 * np.exp(two.log_density(at)))
    np.testing.assert_allclose(log_mixture([(10, one), (30, two)], at), expected)


def test_the_search_begins_at_the_means_of_the_rates():
    assert RATES.start == pytest.approx(logit([41 / 47, 11 / 12, 13 / 17, 8 / 15]))


def test_the_proposal_from_verified_labels_has_its_density():
    """Draws obey Bayes' rule, and the density is that of a kernel estimate of the draws."""
    table = np.array([[60.0, 25.0, 40.0, 12.0]])
    verified = Verified(table, np.array([[800.0, 200.0]]))
    rng = np.random.default_rng(1)
    drawn = verified.draw(200_000, rng)
    one, zero = 61 / 74, 26 / 67  # P(true label 1) given the judge's labels 1 and 0
    s = 800 * one / (800 * one + 200 * zero)
    p = 200 * (1 - zero) / (200 * (1 - zero) + 800 * (1 - one))
    np.testing.assert_allclose(expit(drawn).mean(axis=0), [s, p], atol=0.01)
    at = drawn[:4]
    expected = gaussian_kde(drawn[:50_000].T, 0.08)(at.T)
    np.testing.assert_allclose(np.exp(verified.log_density(at)), expected, rtol=0.2)
    assert verified.log_density(np.array([[-3.0, -3.0]]))[0] == -np.inf
    # the density integrates to the probability of s + p > 1
    edges = np.stack(np.meshgrid(np.arange(-3, 9, 0.02), np.arange(-6, 5, 0.02), indexing="ij"), axis=-1)
    total = np.exp(verified.log_density(edges.reshape(-1, 2))).sum() * 0.02**2
    assert total == pytest.approx((expit(drawn).sum(axis=1) > 1).mean(), abs=0.01)
