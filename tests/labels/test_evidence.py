"""Evidence of judged rows, its Beta kernels, and integrals over free accuracies."""

import numpy as np
import pytest
from judged_sets import problem_counts
from scipy.integrate import quad
from scipy.special import betaln, gammaln, xlogy
from scipy.stats import beta

from bayescal.labels.evidence import JudgeEvidence, kernels, log_free

CONFIDENCE = np.array([0.15, 0.5, 0.9])
COUNTS, EVIDENCE = problem_counts([4, 9, 20], [1, 5, 19], [60, 0, 300], [22, 0, 250], CONFIDENCE)


def nu(s, p):
    return np.array([[[s], [p]]], float)


def test_a_judge_without_errors_has_the_kernel_of_its_labels():
    ones, zeros = kernels(COUNTS, EVIDENCE, nu(1, 1))
    np.testing.assert_allclose(ones[0], EVIDENCE.k, rtol=1e-8)
    np.testing.assert_allclose(zeros[0], EVIDENCE.n - EVIDENCE.k, rtol=1e-8)


def test_a_judge_that_guesses_has_no_kernel():
    np.testing.assert_allclose(kernels(COUNTS, EVIDENCE, nu(0.3, 0.7)), 0, atol=1e-8)


def test_the_likelihood_is_binomial_and_the_slope_its_derivative():
    theta, step = np.array([[0.2, 0.4, 0.8]]), 1e-6
    s, p = 0.9, 0.7
    q = s * theta + (1 - p) * (1 - theta)
    expected = xlogy(EVIDENCE.k, q) + xlogy(EVIDENCE.n - EVIDENCE.k, 1 - q)
    np.testing.assert_allclose(EVIDENCE.log_likelihood(theta, nu(s, p)), expected, rtol=1e-12)
    slope, information = EVIDENCE.slope(theta, nu(s, p))
    up, down = (EVIDENCE.log_likelihood(theta + d, nu(s, p)) for d in (step, -step))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=1e-5)
    # the variance of the slope, over Binomial labels at this q
    np.testing.assert_allclose(information, EVIDENCE.n * (s + p - 1) ** 2 / (q * (1 - q)), rtol=1e-12)


def test_strata_have_their_own_rates():
    two = JudgeEvidence(EVIDENCE.n, EVIDENCE.k, np.array([0, 0, 1]))
    rates, theta = np.array([[[0.9, 0.7], [0.8, 0.95]]]), np.full((1, 3), 0.6)
    of = [EVIDENCE.log_likelihood(theta, nu(*each)) for each in ((0.9, 0.8), (0.7, 0.95))]
    np.testing.assert_allclose(two.log_likelihood(theta, rates)[0], [of[0][0, 0], of[0][0, 1], of[1][0, 2]])


@pytest.mark.parametrize(("s", "p"), [(0.95, 0.95), (0.9, 0.6), (0.75, 0.9), (1.0, 0.5)])
def test_the_kernel_is_close_to_the_evidence_where_the_posterior_is(s, p):
    """Total variation of the posteriors of one bin under a uniform prior, from the likelihood and from the kernel."""
    ones, zeros = (each[0] for each in kernels(COUNTS, EVIDENCE, nu(s, p)))
    theta = (np.arange(20_000) + 0.5)[:, None] / 20_000
    checked = xlogy(COUNTS.checked.k, theta) + xlogy(COUNTS.checked.n - COUNTS.checked.k, 1 - theta)
    exact = EVIDENCE.log_likelihood(theta, nu(s, p)[0]) + checked
    near = xlogy(ones, theta) + xlogy(zeros, 1 - theta) + checked
    exact, near = (np.exp(each - each.max(axis=0)) for each in (exact, near))
    distance = 0.5 * np.abs(exact / exact.sum(axis=0) - near / near.sum(axis=0)).sum(axis=0)
    assert distance.max() < 0.1  # the ratio of evidence and kernel corrects the rest


def test_free_integrals_by_quadrature():
    rates = np.concatenate([nu(0.9, 0.8), nu(0.6, 0.99), nu(1, 1)])
    found = log_free(COUNTS, EVIDENCE, rates, kernels(COUNTS, EVIDENCE, rates))
    n, k = COUNTS.checked.n, COUNTS.checked.k

    def integral(b, s, p):
        def value(theta):
            q = np.clip(1 - p + (s + p - 1) * theta, 1e-12, 1 - 1e-12)
            each = EVIDENCE.k[b] * np.log(q) + (EVIDENCE.n[b] - EVIDENCE.k[b]) * np.log(1 - q)
            return each + xlogy(k[b], theta) + xlogy(n[b] - k[b], 1 - theta)

        grid = np.linspace(1e-6, 1 - 1e-6, 4001)
        top = value(grid).max()
        area = quad(lambda theta: np.exp(value(theta) - top), 0, 1, points=[grid[value(grid).argmax()]], limit=200)
        return np.log(area[0]) + top

    expected = [sum(integral(b, *each) for b in range(3)) for each in rates[:, :, 0]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4)
    # without judged rows: Beta functions
    none = JudgeEvidence(0 * EVIDENCE.n, 0 * EVIDENCE.k, EVIDENCE.stratum)
    alone = log_free(COUNTS, none, rates[:1], kernels(COUNTS, none, rates[:1]))
    assert alone[0] == pytest.approx(betaln(k + 1, n - k + 1).sum(), abs=1e-9)


def test_free_integrals_of_many_rows():
    """A hundred million rows of a judge without errors: the Beta function by Stirling's series, as gammaln has it."""
    counts, evidence = problem_counts([10], [5], [1000], [700], np.array([0.6]))
    many = JudgeEvidence(evidence.n * 1e5, evidence.k * 1e5, evidence.stratum)
    found = log_free(counts, many, nu(1, 1), kernels(counts, many, nu(1, 1)))
    a, b = 7e7 + 5 + 1, 3e7 + 5 + 1
    assert found[0] == pytest.approx(gammaln(a) + gammaln(b) - gammaln(a + b), rel=1e-9)
    assert beta(a, b).std() < 1e-4
