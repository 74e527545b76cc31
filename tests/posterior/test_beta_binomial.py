"""Beta-binomial over binomial, and a Beta's distance from a point, against mpmath with 60 digits."""

import mpmath as mp
import numpy as np
import pytest
from moments_of_ece import quick_absolute_gap, squared_gap

from bayescal.posterior.beta_binomial import (
    _stirling,
    absolute_gap,
    log_binomial,
    log_ratio,
)


def exact_log_ratio(n, k, eta, kappa):
    """Log Beta functions with 60 digits."""
    with mp.workdps(60):
        n, k, eta, kappa = (mp.mpf(float(v)) for v in (n, k, eta, kappa))
        h = 1 / (1 + mp.exp(-eta))

        def log_beta(x, y):
            return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)

        mixed = log_beta(kappa * h + k, kappa * (1 - h) + n - k) - log_beta(kappa * h, kappa * (1 - h))
        return float(mixed - k * mp.log(h) - (n - k) * mp.log(1 - h))


@pytest.mark.parametrize("n", [1.0, 2.5, 40.0, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("tau", [1e-8, 1e-5, 1e-3, 0.03, 0.3, 0.9, 0.999999])
def test_log_ratio(n, tau):
    """A thousand-millionth, and rounding of the logit that grows with n, from 1e9 to 1e-6 positives expected a row."""
    kappa = (1 - tau) * (1 + tau) / tau**2
    for eta in (-20.7, -9.2, -0.8, 0.0, 3.5):
        for share in (0.0, 0.3, 1.0, 1 / (1 + np.exp(-eta))):
            k = np.round(n * share) if n > 3 else n * share
            got = log_ratio(*(np.array([v]) for v in (n, k, eta, kappa)))[0]
            assert got == pytest.approx(
                exact_log_ratio(n, k, eta, kappa), abs=2e-9 + 1e-15 * n * (1 + abs(eta)), rel=1e-12
            )


def test_log_ratio_with_kappa_small_and_large_at_once():
    """Along any axis: what is computed apart is put together in its place."""
    n, k = np.array([10.0, 400.0]), np.array([3.0, 390.0])
    kappa = np.array([1e-2, 5.0, 1e6, 1e12])
    eta = np.array([[0.1, 2.0], [-1.0, 3.0], [0.0, 0.0]])
    expected = [[[exact_log_ratio(n[b], k[b], row[b], kap) for b in range(2)] for row in eta] for kap in kappa]
    np.testing.assert_allclose(log_ratio(n, k, eta, kappa[:, None, None]), expected, atol=1e-8, rtol=1e-10)
    last = log_ratio(n[:, None, None], k[:, None, None], eta.T[:, :, None], kappa)
    np.testing.assert_allclose(np.moveaxis(last, [0, 1, 2], [2, 1, 0]), expected, atol=1e-8, rtol=1e-10)


@pytest.mark.parametrize(("n", "k", "eta"), [(10, 3, 0.5), (5, 0, -2.0), (5, 5, 4.0), (0, 0, 1.0), (2.5, 1.25, 0.0)])
def test_log_binomial_by_hand(n, k, eta):
    """k log(h / (k/n)) + (n - k) log((1 - h) / (1 - k/n)), with 0 log 0 = 0."""
    h = 1 / (1 + np.exp(-eta))
    expected = (k * np.log(h * n / k) if k else 0) + ((n - k) * np.log((1 - h) * n / (n - k)) if n > k else 0)
    assert log_binomial(np.array([float(n)]), np.array([float(k)]), np.array([eta]))[0] == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (5.0, 3.0), (4e4, 9e5), (2e5, 3e5), (3e8, 7e8), (1.5e5, 1e9)])
@pytest.mark.parametrize("z", [-3.0, -0.4, 0.0, 1.0])
def test_gap_moments(a, b, z):
    """z standard deviations from the mean: the square by hand; the quick form against the exact one."""
    mean, sd = a / (a + b), np.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    c = float(np.clip(mean + z * sd, 0.0, 1.0))
    args = np.array([c]), np.array([a]), np.array([b])
    assert squared_gap(*args)[0] == pytest.approx(sd**2 + (mean - c) ** 2, rel=1e-12)
    assert quick_absolute_gap(*args)[0] == pytest.approx(absolute_gap(*args)[0], rel=3e-6)


@pytest.mark.parametrize("x", [1e-3, 0.5, 3.0, 7.999, 8.0, 8.5, 10.0, 15.0, 40.0, 1e3, 1e8])
def test_what_stirling_leaves_of_log_gamma(x):
    """The error of six terms is (7 / 6) / (13 * 14 x^13), 1.2e-14 at x = 8; below 8, numbers near 10 are subtracted."""
    with mp.workdps(40):
        expected = mp.loggamma(x) - ((mp.mpf(x) - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2)
    assert _stirling(np.array([x, 1.0, x]))[[0, 2]] == pytest.approx(float(expected), abs=3e-14 if x >= 8 else 1e-14)
