"""Tests of uniformity against their definition, ArviZ, SciPy and simulation."""

import itertools
import math

import numpy as np
import pytest
from sbc.uniformity import chi_square_p, ecdf_band, ecdf_p
from scipy import stats


def slow_ecdf_p(histogram):
    """Sum of the probabilities of all histograms whose statistic is as small: the definition, by enumeration."""
    n, n_cells = sum(histogram), len(histogram)
    place = np.arange(1, n_cells) / n_cells

    def statistic(counts):
        below = np.cumsum(counts)[:-1]
        return 2 * min(stats.binom.cdf(below, n, place).min(), stats.binom.sf(below - 1, n, place).min())

    own = statistic(histogram)
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=n_cells):
        if sum(counts) == n and statistic(counts) <= own * (1 + 1e-9):
            total += math.factorial(n) / math.prod(math.factorial(c) for c in counts) / n_cells**n
    return total


@pytest.mark.parametrize(
    "histogram", [(3, 0), (2, 2, 2), (0, 6, 0), (5, 1, 0), (0, 0, 6), (1, 2, 1, 1), (4, 0, 1, 0), (0, 1, 2, 3)]
)
def test_ecdf_p_is_its_definition(histogram):
    assert ecdf_p(histogram) == pytest.approx(slow_ecdf_p(histogram), rel=1e-12)


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_the_band_holds_as_many_uniform_samples_as_it_says(n):
    """100 000 simulated samples; the band is discrete, so it holds 95 % or somewhat more, and a narrower one less."""
    rng = np.random.default_rng(1)
    below = np.cumsum(rng.multinomial(n, np.full(20, 1 / 20), size=100_000), axis=1)[:, :-1]
    low, high = ecdf_band(n, 20, 0.95)
    inside = np.all((below >= low) & (below <= high), axis=1).mean()
    assert 0.95 - 5 * np.sqrt(0.95 * 0.05 / 100_000) < inside < 0.96
    histogram = np.diff(low, prepend=0, append=n)  # a sample that walks along the lower edge is inside, just
    assert ecdf_p(histogram) + 0.01 > 0.05 - 0.01
    assert ecdf_p(np.diff(np.maximum(low - 1, 0), prepend=0, append=n)) < 0.05


def test_the_band_is_that_of_arviz():
    """ArviZ finds it by simulation (10 000 samples); counts agree to one."""
    from arviz_stats.ecdf_utils import get_pointwise_confidence_band, simulate_confidence_bands

    place = np.arange(1, 20) / 20
    pointwise = simulate_confidence_bands(500, 1, place, 0.95, 10_000, np.random.default_rng(1))
    theirs = np.stack(get_pointwise_confidence_band(pointwise, 500, place)) * 500
    assert np.abs(np.stack(ecdf_band(500, 20, 0.95)) - theirs).max() < 1.01


@pytest.mark.measuring
def test_p_values_of_uniform_ranks_are_uniform():
    """Of 800 samples, the share with p < q is q at most (p-values are discrete) and not far below."""
    rng = np.random.default_rng(2)
    histograms = rng.multinomial(1000, np.full(20, 1 / 20), size=800)
    for test in (chi_square_p, ecdf_p):
        p = np.array([test(h) for h in histograms])
        for q in (0.5, 0.1, 0.01):
            assert abs((p < q).mean() - q) < 5 * np.sqrt(q * (1 - q) / 800) + 0.02 * q, (test.__name__, q)


def test_chi_square_against_scipy():
    for histogram in ([60, 40], [5, 9, 7, 11], np.arange(20) + 40):
        assert chi_square_p(histogram) == pytest.approx(stats.chisquare(histogram).pvalue, rel=1e-10)


def test_far_tails_stay_finite():
    assert ecdf_p([0] * 19 + [100_000]) == 1e-12
    assert ecdf_p([5000] * 20) == 1.0
