"""Class frequencies from probabilities: recalibration, its test, and draws against quadrature."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import chi2

from bayescal.shift.prior_likelihood import (
    PriorLikelihoodPosterior,
    fit_recalibration,
    p_of_recalibration,
    recalibrated,
    sample_given_ratios,
)
from bayescal.shift.rows import ShiftedRows


def test_recalibration_is_logistic_regression():
    """The gradient of the penalised log likelihood is 0, by numerical differences."""
    from scipy.optimize import approx_fprime

    rng = np.random.default_rng(5)
    label = rng.integers(3, size=400)
    x = rng.standard_normal((400, 3)) + 2 * np.eye(3)[label]
    matrix = softmax(2 * x, axis=1)
    mode, covariance = fit_recalibration(matrix, label)

    def height(theta):
        eta = np.log(matrix) * (1 + theta[0]) + np.r_[theta[1:], 0]
        chosen = eta[np.arange(400), label] - np.log(np.exp(eta).sum(axis=1))
        return chosen.sum() - theta[0] ** 2 / 2 - (theta[1:] ** 2).sum() / (2 * 2.5**2)

    np.testing.assert_allclose(approx_fprime(mode, height, 1e-6), 0, atol=1e-2)
    curvature = approx_fprime(mode, lambda theta: approx_fprime(theta, height, 1e-4), 1e-4)
    np.testing.assert_allclose(np.linalg.inv(-curvature), covariance, rtol=0.02, atol=1e-5)


def logits_with_labels(rng, n=1500):
    y = np.arange(n) % 2
    logit = 2 * rng.normal(2.0 * y - 1, 1)
    return y, logit, np.stack([expit(-logit), expit(logit)], axis=1)


@pytest.mark.parametrize(("shift", "power"), [(3.0, 1), (-4.0, 1), (0.0, 6)])
def test_recalibration_converges_far_from_its_start(shift, power):
    """Log odds with a large bias or factor, which the recalibration contains: full steps of Newton's method diverge."""
    y, logit, _ = logits_with_labels(np.random.default_rng(12))
    stated = power * logit + shift
    mode, covariance = fit_recalibration(np.stack([expit(-stated), expit(stated)], axis=1), y)
    assert abs(power * (1 + mode[0]) - 1) < 4 * power * np.sqrt(covariance[0, 0])
    assert abs((1 + mode[0]) * shift - mode[1]) < 0.4  # the bias of the log odds
    target = PriorLikelihoodPosterior(ShiftedRows.read(y, expit(stated), expit(stated)))
    assert abs(target.sample(1000, rng=1)[:, 1].mean() - 0.5) < 0.02
    assert target.p_value > 0.01


def test_the_test_of_recalibration_is_a_score_test_of_logistic_regression():
    """Two classes: the columns log p and (log p)^2 - (log (1 - p))^2 are added to an intercept and the log odds."""
    y, logit, matrix = logits_with_labels(np.random.default_rng(10))
    at = fit_recalibration(matrix, y)[0]
    fitted = expit(logit * (1 + at[0]) - at[1])
    x = np.log(matrix)
    old, new = np.stack([np.ones(len(y)), logit], axis=1), np.stack([x[:, 1], x[:, 1] ** 2 - x[:, 0] ** 2], axis=1)
    weight = (fitted * (1 - fitted))[:, None]
    slope = np.linalg.solve(old.T @ (weight * old), old.T @ (weight * new))
    rest = new - old @ slope
    gradient = rest.T @ (y - fitted)
    statistic = gradient @ np.linalg.solve(rest.T @ (weight * rest), gradient)
    assert p_of_recalibration(matrix, y, at) == pytest.approx(chi2.sf(statistic, 2), rel=1e-6)


@pytest.mark.slow
def test_p_values_of_recalibration():
    """Uniform if a temperature and biases are enough, in three classes; small if one class has another power."""
    rng, found = np.random.default_rng(11), []
    for _ in range(400):
        label = rng.integers(3, size=300)
        matrix = softmax(3 * rng.standard_normal((300, 3)) + 4 * np.eye(3)[label], axis=1)
        found.append(p_of_recalibration(matrix, label, fit_recalibration(matrix, label)[0]))
    assert abs(np.mean(found) - 0.5) < 4 * np.sqrt(1 / 12 / 400)
    assert np.mean(np.array(found) < 0.1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 400))
    matrix = softmax(np.log(matrix) * [0.3, 1, 1], axis=1)
    assert p_of_recalibration(matrix, label, fit_recalibration(matrix, label)[0]) < 1e-3


def test_two_distinct_probabilities_leave_nothing_to_test():
    label = np.array([0, 1, 1, 0] * 30)
    matrix = np.array([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]] * 30)
    assert p_of_recalibration(matrix, label, fit_recalibration(matrix, label)[0]) == 1


def test_draws_given_ratios_agree_with_quadrature():
    rng = np.random.default_rng(6)
    ratio = np.stack([rng.gamma(2, size=60), rng.gamma(2, size=60)], axis=1)
    drawn = sample_given_ratios(ratio, 4000, 1.0, np.random.default_rng(1))[:, 1]
    grid = (np.arange(20_000) + 0.5) / 20_000
    height = np.log(ratio[:, :1] * (1 - grid) + ratio[:, 1:] * grid).sum(axis=0)
    distribution = np.cumsum(np.exp(height - height.max()))
    cdf = np.interp(drawn, grid, distribution / distribution[-1])
    assert abs(cdf.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 1000)  # resampled draws repeat: worth at least 1000
    assert abs((cdf < 0.025).mean() - 0.025) < 5 * np.sqrt(0.025 / 1000)


def test_probabilities_of_a_source_with_unequal_classes():
    """A fifth of the source has class 1: ratios are those to its frequency in the source, not to 1/2."""
    rng = np.random.default_rng(8)
    y, y_target = np.arange(4000) % 5 == 0, np.arange(2000) % 5 < 3
    p, p_target = (1 / (1 + 4 * np.exp(-2 * rng.normal(2.0 * each - 1, 1))) for each in (y, y_target))
    drawn = PriorLikelihoodPosterior(ShiftedRows.read(y.astype(int), p, p_target)).sample(1000, rng=1)[:, 1]
    assert abs(drawn.mean() - 0.6) < 4 * drawn.std()
    assert drawn.std() < 0.03


def test_uncertain_recalibration_widens_the_interval():
    """Few labelled rows and many of the target: nearly all uncertainty is that of the recalibration."""
    rng = np.random.default_rng(9)
    y, y_target = np.arange(120) % 2, rng.random(5000) < 0.3
    p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2.0 * each - 1, 1))) for each in (y, y_target))
    found = PriorLikelihoodPosterior(ShiftedRows.read(y, p, p_target))
    given = sample_given_ratios(found._ratios(found.recalibration[0]), 1000, 1.0, np.random.default_rng(1))
    assert found.sample(1000, rng=1)[:, 1].std() > 1.5 * given[:, 1].std()


def test_probabilities_that_are_too_extreme_are_recalibrated():
    """Logits times 2: the interval still contains 0.2; with 400 rows it would exclude it without recalibration."""
    rng = np.random.default_rng(7)
    y, y_target = np.arange(2000) % 2, rng.random(1000) < 0.2
    p, p_target = (1 / (1 + np.exp(-4 * rng.normal(2.0 * each - 1, 1))) for each in (y, y_target))
    found = PriorLikelihoodPosterior(ShiftedRows.read(y, p, p_target))
    assert found.recalibration[0][0] == pytest.approx(-0.5, abs=0.1)
    low, high = np.quantile(found.sample(1000, rng=1)[:, 1], [0.025, 0.975])
    assert low < y_target.mean() < high


def test_recalibration_by_hand():
    """Squares of 0.2 and 0.8, divided by their sum: 1/17 and 16/17. A factor e^b multiplies the odds of class 0."""
    p = np.array([[0.2, 0.8]])
    assert recalibrated(p, np.array([1.0, 0.0])) == pytest.approx(np.array([[1 / 17, 16 / 17]]), rel=1e-12)
    assert recalibrated(p, np.array([0.0, np.log(4)])) == pytest.approx(np.array([[0.5, 0.5]]), rel=1e-12)
