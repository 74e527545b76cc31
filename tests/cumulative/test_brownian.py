"""Tails of the range and the maximum of Brownian motion: 40-digit values, both series, simulation."""

import numpy as np
import pytest

from bayescal.cumulative import brownian

# x, P(range > x), P(range <= x), P(max > x), P(max <= x): sums of 40-digit normal tails (mpmath), to 16 digits
EXACT = [
    (0.2, 1.0, 5.2948351493644341e-52, 0.99999999999994869, 5.1306995980981986e-14),
    (0.5, 0.99999991222227752, 8.7777722481093861e-8, 0.99084300971023924, 0.0091569902897607558),
    (0.999, 0.93714454010562912, 0.062855459894370879, 0.63013754500869793, 0.36986245499130207),
    (1, 0.93663541207954943, 0.06336458792045057, 0.62922257020047609, 0.37077742979952391),
    (1.499, 0.51383658479683333, 0.48616341520316667, 0.267733480321292, 0.732266519678708),
    (1.5, 0.51294075423024825, 0.48705924576975175, 0.26721521438306098, 0.73278478561693902),
    (2, 0.18149433939418731, 0.81850566060581269, 0.091000523846366249, 0.90899947615363375),
    (4, 0.00025336993465500583, 0.99974663006534499, 0.00012668496733247969, 0.99987331503266752),
    (8, 4.9767684594174273e-15, 0.99999999999999502, 2.4883842297087136e-15, 0.99999999999999751),
    (20, 2.202899294884987e-88, 1.0, 1.1014496474424935e-88, 1.0),
]
TAILS = (brownian.sf_range, brownian.cdf_range, brownian.sf_max_abs, brownian.cdf_max_abs)


@pytest.mark.parametrize("row", EXACT, ids=str)
def test_both_tails_have_all_digits(row):
    x, *expected = row
    for tail, value in zip(TAILS, expected, strict=True):
        assert tail(x) == pytest.approx(value, rel=1e-12, abs=0)


def test_the_series_meet():
    """Near the switch, both series are accurate, so that they agree."""
    x = np.linspace(0.8, 2.5, 200)[:, None]
    np.testing.assert_allclose(brownian._range_tail(x), 1 - brownian._range_body(x), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(brownian._max_abs_tail(x), 1 - brownian._max_abs_body(x), rtol=1e-13, atol=1e-14)


def test_published_values():
    """Printed P-values of two statistics, and their probability of 95 %."""
    assert f"{brownian.sf_max_abs(6.607):.1e} {brownian.sf_range(6.78):.1e}" == "7.8e-11 4.8e-11"
    assert brownian.quantile_range(0.95) == pytest.approx(2.4976722, abs=5e-8)
    assert brownian.quantile_max_abs(0.95) == pytest.approx(2.2414027, abs=5e-8)


@pytest.mark.parametrize("prob", [1e-9, 0.01, 0.5, 0.95, 1 - 1e-10])
def test_quantiles_invert_the_distribution(prob):
    assert brownian.cdf_range(brownian.quantile_range(prob)) == pytest.approx(prob, rel=1e-10)
    assert brownian.cdf_max_abs(brownian.quantile_max_abs(prob)) == pytest.approx(prob, rel=1e-10)


def test_values_outside_the_support():
    """Negative numbers and 0 have probability 1 above them; infinity has 0; NaN stays NaN."""
    x = [-1.0, 0.0, np.inf]
    for sf in TAILS[::2]:
        assert sf(x).tolist() == [1.0, 1.0, 0.0]
    for cdf in TAILS[1::2]:
        assert cdf(x).tolist() == [0.0, 0.0, 1.0]
    assert all(np.isnan(tail(np.nan)) for tail in TAILS)


def test_means_equal_those_of_the_distributions():
    x = np.linspace(0, 12, 120_001)
    assert np.trapezoid(brownian.sf_range(x), x) == pytest.approx(brownian.MEAN_RANGE, rel=1e-6)
    assert np.trapezoid(brownian.sf_max_abs(x), x) == pytest.approx(brownian.MEAN_MAX_ABS, rel=1e-6)
