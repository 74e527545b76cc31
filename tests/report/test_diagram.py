"""Points and limits of reliability diagrams, by hand."""

import numpy as np
from scipy import stats

import bayescal as bc
from bayescal.report.diagram import common_scales, reliability_points

# five rows, two bins: [0, 1/2) holds 0.2 and 0.4, one of two right; [1/2, 1] holds 0.7, 0.9, 0.95, two of three right
Y, P = [0, 1, 1, 1, 0], [0.2, 0.4, 0.7, 0.9, 0.95]


def small(**options: object) -> bc.Evaluation:
    return bc.evaluate(Y, P, **{"bins": 2, "rng": 1, "model": "dirichlet", **options})


def test_points_by_hand() -> None:
    points = reliability_points(small(draws=40_000, alpha="jeffreys"))
    np.testing.assert_array_equal(points.bin_low, [0, 0.5])
    np.testing.assert_array_equal(points.bin_high, [0.5, 1])
    np.testing.assert_array_equal(points.n, [2, 3])
    np.testing.assert_array_equal(points.effective_n, [2, 3])
    np.testing.assert_allclose(points.share, [2 / 5, 3 / 5])
    np.testing.assert_allclose(points.confidence, [0.3, 0.85])
    np.testing.assert_allclose(points.accuracy, [1 / 2, 2 / 3])
    # Jeffreys: Beta(1/2 + k, 1/2 + n - k); the Monte Carlo error of these quantiles is below 0.003
    exact = stats.beta([1.5, 2.5], [1.5, 1.5])
    np.testing.assert_allclose(points.low, exact.ppf(0.025), atol=0.012)
    np.testing.assert_allclose(points.high, exact.ppf(0.975), atol=0.012)
    half = reliability_points(small(draws=40_000, alpha="jeffreys"), prob=0.5)
    np.testing.assert_allclose(half.low, exact.ppf(0.25), atol=0.012)


def test_only_occupied_bins_have_points() -> None:
    # ten bins: 0.2, 0.4, 0.7 and (0.9, 0.95)
    points = reliability_points(small(bins=10, draws=40_000, alpha="jeffreys"))
    np.testing.assert_array_equal(points.n, [1, 1, 1, 2])
    np.testing.assert_array_equal(points.bin_low, [0.2, 0.4, 0.7, 0.9])
    # outcomes 0, 1, 1 and (1, 0)
    exact = stats.beta([0.5, 1.5, 1.5, 1.5], [1.5, 0.5, 0.5, 1.5])
    np.testing.assert_allclose(points.low, exact.ppf(0.025), atol=0.012)
    np.testing.assert_allclose(points.high, exact.ppf(0.975), atol=0.012)


def test_without_rows_the_scales_are_whole():
    empty = bc.evaluate_counts(bc.BinnedCounts.empty(4), draws=50, rng=1)
    scales = common_scales([reliability_points(empty)])
    assert (scales.x, scales.y, scales.share, scales.thin) == ((-0.02, 1.02), (-0.02, 1.02), 1.0, False)
