"""Normal scores of hypergeometric counts: uniform and independent by enumeration; values of scipy and exact tails."""

import itertools
from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import hypergeom, norm

from bayescal.monitoring import normal_scores
from bayescal.monitoring.statistics import hypergeometric_scores


def distribution_function(k, n, all_k, all_n, u):
    arrays = (np.array([float(value)]) for value in (k, n, all_k, all_n, u))
    return float(ndtr(hypergeometric_scores(*arrays))[0])


@pytest.mark.parametrize(("n", "all_k", "all_n"), [(3, 4, 9), (5, 1, 6), (4, 4, 4), (2, 0, 5), (6, 7, 10)])
def test_the_randomised_distribution_function_is_uniform(n, all_k, all_n):
    """The value at k covers an interval as long as P(X = k), and the intervals of all k cover (0, 1) in order."""
    at = 0.0
    for k in range(max(0, n + all_k - all_n), min(n, all_k) + 1):
        probability = comb(all_k, k) * comb(all_n - all_k, n - k) / comb(all_n, n)
        assert distribution_function(k, n, all_k, all_n, 0) == pytest.approx(at, abs=1e-12)
        assert distribution_function(k, n, all_k, all_n, 0.25) == pytest.approx(at + probability / 4, rel=1e-12)
        at += probability
        assert distribution_function(k, n, all_k, all_n, 1) == pytest.approx(at, rel=1e-12)
    assert at == pytest.approx(1)


def test_values_of_successive_windows_are_independent():
    """All orders of 4 outcomes 1 and 5 outcomes 0, in a reference of 3 rows and windows of 2, 1 and 3 rows.

    Given the counts of the windows, their values are uniform on a box, so the density of the three values at a point is
    the sum over orders of P(order) / volume of the box, if the point is inside. It must be 1 everywhere.
    """
    sizes, ones = (3, 2, 1, 3), 4
    weight = {}
    for places in itertools.combinations(range(9), ones):
        z = np.zeros(9, int)
        z[list(places)] = 1
        k = tuple(int(part.sum()) for part in np.split(z, np.cumsum(sizes)[:-1]))
        weight[k] = weight.get(k, 0) + 1
    points = np.random.default_rng(1).random((50, 3))
    density = np.zeros(50)
    for k, number in weight.items():
        box = []
        for t in (1, 2, 3):
            arguments = (k[t], sizes[t], sum(k[: t + 1]), sum(sizes[: t + 1]))
            box.append([distribution_function(*arguments, u) for u in (0, 1)])
        low, high = np.array(box).T
        inside = ((points > low) & (points < high)).all(axis=1)
        density += inside * number / comb(9, ones) / np.prod(high - low)
    np.testing.assert_allclose(density, 1, rtol=1e-10)


def test_scores_are_those_of_scipy():
    """1000 problems with up to 10^5 rows; scipy 1.15: hypergeom.cdf and .pmf."""
    rng = np.random.default_rng(2)
    all_n = rng.integers(2, 10**5, 1000)
    all_k = (all_n * rng.random(1000)).astype(int)
    n = 1 + ((all_n - 1) * rng.random(1000) ** 3).astype(int)
    k, u = hypergeom.rvs(all_n, all_k, n, random_state=3), rng.random(1000)
    expected = hypergeom.cdf(k - 1, all_n, all_k, n) + u * hypergeom.pmf(k, all_n, all_k, n)
    found = hypergeometric_scores(*(a.astype(float) for a in (k, n, all_k, all_n)), u)
    np.testing.assert_allclose(found, norm.ppf(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("k", "n", "all_k", "all_n"), [(0, 500, 5000, 10_000), (500, 500, 5000, 10_000), (3, 200, 900, 2000)]
)
def test_far_tails(k, n, all_k, all_n):
    """Exact probabilities from binomial coefficients; scipy's distribution function underflows to 0 or 1 there."""
    below = range(max(0, n + all_k - all_n), k)
    ways = [comb(all_k, j) * comb(all_n - all_k, n - j) for j in (*below, k)]
    lower = Fraction(sum(ways[:-1]) * 2 + ways[-1], 2 * comb(all_n, n))
    z = hypergeometric_scores(*(np.array([float(v)]) for v in (k, n, all_k, all_n, 0.5)))[0]
    tail = lower if lower < Fraction(1, 2) else 1 - lower
    assert log_ndtr(-abs(z)) == pytest.approx(log(tail.numerator) - log(tail.denominator), rel=1e-10)
    assert (z < 0) == (lower < Fraction(1, 2))


def test_scores_are_finite_and_do_not_depend_on_the_size_of_blocks(monkeypatch):
    k, n, all_k, all_n = (
        np.array(v, float) for v in ([0, 4000, 10**6], [5000, 8000, 10**6], [5000, 9000, 10**6], [10**4, 10**5, 10**7])
    )
    found = hypergeometric_scores(k, n, all_k, all_n, np.full(3, 0.5))
    assert np.isfinite(found).all()
    assert found[2] > 37
    monkeypatch.setattr(normal_scores, "MOST_TERMS", 16)
    np.testing.assert_allclose(hypergeometric_scores(k, n, all_k, all_n, np.full(3, 0.5)), found, rtol=1e-12)
