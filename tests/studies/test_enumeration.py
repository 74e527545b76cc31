"""Exact coverage agrees with published values and with other programs."""

import numpy as np
import pytest
from scipy.stats import binomtest
from studies.enumeration import beta_interval, binomial_coverage, clopper_pearson, expected_width, probabilities


def wald(n_rows):
    share = np.arange(n_rows + 1) / n_rows
    half = 1.959963985 * np.sqrt(share * (1 - share) / n_rows)
    return share - half, share + half


@pytest.mark.parametrize(
    ("n_rows", "rate", "published"), [(30, 0.2, 0.946), (98, 0.2, 0.928), (591, 0.005, 0.945), (592, 0.005, 0.792)]
)
def test_published_coverage_of_the_wald_interval(n_rows, rate, published):
    """Brown, Cai and DasGupta (2001), Statistical Science 16, examples 1 and 2."""
    assert binomial_coverage(*wald(n_rows), [rate])[0] == pytest.approx(published, abs=6e-4)


def test_clopper_pearson_is_that_of_scipy_and_never_covers_too_little():
    ends = clopper_pearson(np.arange(21.0), 20, 0.95)
    for k, pair in enumerate(zip(*ends, strict=True)):
        assert pair == pytest.approx(tuple(binomtest(k, 20).proportion_ci(0.95, method="exact")), abs=1e-9)
    assert binomial_coverage(*ends, np.arange(1, 100) / 100).min() >= 0.95


def test_the_uniform_prior_with_one_row():
    """Beta(1, 2) after no success of one: its quantiles are 1 - sqrt(1 - u)."""
    low, high = beta_interval(1, 1)(np.array([0.0, 1.0]), 1, 0.5)
    np.testing.assert_allclose([low[0], high[0]], [1 - np.sqrt(0.75), 0.5])
    np.testing.assert_allclose([low[1], high[1]], [0.5, np.sqrt(0.75)])
    # at 0.3 only the interval (0.13, 0.5) of no success contains the rate
    np.testing.assert_allclose(binomial_coverage(low, high, [0.3]), [0.7])
    np.testing.assert_allclose(expected_width(low, high, [0.3]), [0.5 - (1 - np.sqrt(0.75))])


def test_probabilities_of_two_rows():
    np.testing.assert_allclose(probabilities(2, [0.0, 0.5]), [[1, 0, 0], [0.25, 0.5, 0.25]])


def test_ends_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="`low` must have one end for each number"):
        binomial_coverage([0, 0.1], [0.5, 0.6, 0.7], [0.2])
    with pytest.raises(ValueError, match="`rates` must"):
        binomial_coverage([0, 0.1], [0.5, 0.6], [1.2])
