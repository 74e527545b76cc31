"""Sums of groups by hand; likelihoods and evidences of groups against SciPy and quadrature."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import expit, softmax
from scipy.stats import betabinom, binom, norm
from twins.examples import few_groups
from twins.pooling import CURVE

import bayescal as bc
from bayescal.posterior.pooling.evidence import GroupBins, Rows, deviations, log_likelihood

BINS = few_groups()


@pytest.mark.parametrize("tau", [0.0, 0.08, 0.2])
def test_likelihoods_are_those_of_scipy(tau):
    eta = np.linspace(-2, 2, 5)[None]
    h, n, k = expit(eta), BINS.n[:1], BINS.k[:1]
    if tau == 0:
        expected = binom.logpmf(k, n, h).sum()
    else:
        expected = betabinom.logpmf(k, n, (1 / tau**2 - 1) * h, (1 / tau**2 - 1) * (1 - h)).sum()
    coefficients = (binom.logpmf(k, n, 0.5) - n * np.log(0.5)).sum()
    assert log_likelihood(n, k, eta, tau)[0] == pytest.approx(expected - coefficients)


@pytest.mark.measuring
@pytest.mark.parametrize("tau", [0.0, 0.2])
@pytest.mark.parametrize("sd", [(0.25, 0.0), (0.7, 0.0), (0.25, 0.25), (0.7, 0.7)])
def test_evidences_are_integrals(tau, sd):
    """Adaptive quadrature of SciPy; the rule with three nodes per dimension is accurate to 2 %."""
    rows = Rows(BINS.n, BINS.k, BINS.start + np.array(CURVE), BINS.lever)
    found = deviations(rows, (*sd, tau)).log_evidence
    for g in range(3):
        best = rows.log_likelihood(deviations(rows, (*sd, tau)).mode[:, None], tau)[g, 0]

        def density(b, a, g=g, best=best):
            eta = rows.offset[g] + a + b * rows.lever[g]
            value = np.exp(log_likelihood(rows.n[g], rows.k[g], eta, tau) - best) * norm.pdf(a, 0, sd[0])
            return value * norm.pdf(b, 0, sd[1]) if sd[1] else value

        ends = -5 * sd[0], 5 * sd[0]
        if sd[1]:
            integral = dblquad(density, *ends, -5 * sd[1], 5 * sd[1], epsabs=1e-5)[0]
        else:
            integral = quad(lambda a: density(0.0, a), *ends)[0]
        assert found[g] == pytest.approx(np.log(integral) + best, abs=0.02)


@pytest.mark.parametrize("factor", [30, 3000])
@pytest.mark.parametrize("tau", [0.0, 0.08, 0.2])
def test_evidences_of_many_rows_are_integrals(tau, factor):
    """Residuals limit how much many rows say about the intercept; a fine grid of intercepts."""
    shares = np.array([[0.22, 0.34, 0.47, 0.78, 0.9]])
    n = np.full((1, 5), 10.0 * factor)
    rows = Rows(n, n * shares, BINS.start[:1], BINS.lever[:1])
    found = deviations(rows, (0.4, 0.0, tau))
    a = np.linspace(-2, 2, 40_001)
    at = np.stack([a, np.zeros_like(a)], axis=-1)[None]
    log_density = rows.log_likelihood(at, tau)[0] + norm.logpdf(a, 0, 0.4)
    expected = np.logaddexp.reduce(log_density) + np.log(a[1] - a[0])
    assert found.log_evidence[0] == pytest.approx(expected, abs=0.02)
    sd = np.sqrt(softmax(log_density) @ (a - softmax(log_density) @ a) ** 2)
    assert found.chol[0, 0] == pytest.approx(sd, rel=0.15)


def test_without_deviation_the_evidence_is_the_likelihood():
    rows = Rows(BINS.n, BINS.k, BINS.start, BINS.lever)
    np.testing.assert_allclose(
        deviations(rows, (0, 0, 0.0)).log_evidence, log_likelihood(BINS.n, BINS.k, BINS.start, 0.0)
    )


def test_sums_of_groups_by_hand():
    """Weighted rows: Kish's number of rows of a group, divided by weight; half a row is added to each share."""
    p, w = np.array([0.1, 0.1, 0.6, 0.7, 0.1, 0.7]), np.array([1.0, 3.0, 2.0, 2.0, 1.0, 1.0])
    y, last = np.array([0, 1, 1, 0, 1, 1]), np.arange(6) >= 4
    counts = [bc.BinnedCounts.from_arrays(y[at], p[at], weights=w[at], bins=2) for at in (~last, last)]
    bins = GroupBins.of(counts, counts[0] + counts[1])
    np.testing.assert_allclose(bins.n, [[16 / 10, 2], [1, 1]])
    np.testing.assert_allclose(bins.k, [[0.75 * 1.6, 1], [1, 1]])
    np.testing.assert_allclose(bins.rows, [[64 / 18 / 2, 64 / 18 / 2], [1, 1]])
    np.testing.assert_allclose(bins.confidence, [[0.1, 0.65], [0.1, 0.7]])
    assert bins.share_rows == pytest.approx(100 / 20 + 1)
    np.testing.assert_allclose(bins.share, [0.5, 0.5])
    np.testing.assert_allclose(bins.of_all, [0.1, (2 * 0.6 + 3 * 0.7) / 5])
    x, information = np.log([1 / 9, 65 / 35]), np.array([1.6 * 0.1 * 0.9, 2 * 0.65 * 0.35])
    np.testing.assert_allclose(bins.lever[0], x - (information @ x) / information.sum(), rtol=1e-6)


def test_errors_carry_over_to_other_confidences_within_a_bin():
    """As the same shift of the logit or as the same gap, whichever stays nearer to the accuracy of all rows."""
    of_all, theta = np.array([0.98, 0.98, 0.5, 0.98]), np.array([0.8, 0.8, 0.6, 0.99])
    confidence = np.array([[1.0, 0.97, 0.52, 0.99]])
    n = np.ones((1, 4))
    bins = GroupBins(n, n, n, confidence, np.full(4, 0.25), of_all=of_all)
    curve = np.log(theta / (1 - theta)) - np.log(of_all / (1 - of_all))
    same = 0.99 / 0.01 * (theta[3] / 0.01) / (0.98 / 0.02)  # odds of the group times the ratio of odds of all rows
    found = expit(bins.start + bins.shifts(np.array([curve, np.zeros(4)])))
    np.testing.assert_allclose(found[0, 0], [0.82, 0.79, 0.62, same / (1 + same)], atol=1e-3)
    np.testing.assert_allclose(found[0, 0, :2], [0.82, 0.79], rtol=1e-12)
    np.testing.assert_allclose(found[1, 0], confidence[0])
