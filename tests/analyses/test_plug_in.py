"""Point estimates: by hand, by exact expectation, and on the rows of `evaluate`."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate

Y, P = [0, 1, 1, 1], [0.2, 0.4, 0.5, 0.7]  # with two bins: shares 1/2, gaps 0.2 and 0.4


@pytest.mark.parametrize(
    ("order", "value"), [(1, 0.3), (2, 0.1**0.5), (3, (0.5 * 0.008 + 0.5 * 0.064) ** (1 / 3)), (np.inf, 0.4)]
)
def test_orders_by_hand(order, value):
    assert bc.plug_in_error(Y, P, bins=2, order=order) == pytest.approx(value, rel=1e-14)


def test_order_one_is_the_ece():
    rows = simulate(500, rng=1)
    value = bc.plug_in_error(rows.outcome, rows.confidence)
    assert value == bc.plug_in_ece(rows.outcome, rows.confidence) == bc.evaluate(rows.outcome, rows.confidence).plug_in


def test_classes_are_averaged_in_the_power_of_the_order():
    """Two classes with one bin each: the errors of both columns are 0.3 (3/4 minus 0.45)."""
    matrix = np.column_stack([1 - np.array([0.2, 0.4, 0.5, 0.7]), [0.2, 0.4, 0.5, 0.7]])
    for order in (1, 2, 5, np.inf):
        value = bc.plug_in_error(Y, matrix, target="classwise", bins=1, order=order)
        assert value == pytest.approx(0.3, rel=1e-14)
    three = np.array([[1, 0, 0], [0.5, 0.25, 0.25]])  # labels 0, 0: errors 0.25, 0.125, 0.125
    errors = np.array([0.25, 0.125, 0.125])
    for order in (1, 2, 3):
        expected = np.mean(errors**order) ** (1 / order)
        value = bc.plug_in_error([0, 0], three, target="classwise", bins=1, order=order)
        assert value == pytest.approx(expected, rel=1e-14)
    assert bc.plug_in_error([0, 0], three, target="classwise", bins=1, order=np.inf) == 0.25
    assert bc.plug_in_error([0, 0], three, target="classwise", bins=1, order=900) == pytest.approx(0.25, rel=2e-3)


def test_the_debiased_square_is_unbiased():
    """Exact expectation over Binomial(n, theta) outcomes, in rational arithmetic: (theta - c)^2."""
    n, c, theta = 5, Fraction(9, 20), Fraction(3, 10)
    mean = Fraction(0)
    for k in range(n + 1):
        counts = bc.BinnedCounts.from_arrays([1] * k + [0] * (n - k), [float(c)] * n, bins=1)
        chance = comb(n, k) * theta**k * (1 - theta) ** (n - k)
        mean += chance * Fraction(bc.debiased_squared_l2_error(counts))
    assert float(mean) == pytest.approx(float((theta - c) ** 2), rel=1e-13)


def test_bins_with_one_row_contribute_nothing():
    one_more = bc.BinnedCounts.from_arrays([*Y, 1], [0.2, 0.3, 0.3, 0.4, 0.9], bins=2)
    without = bc.BinnedCounts.from_arrays(Y, [0.2, 0.3, 0.3, 0.4], bins=2)
    value = bc.debiased_squared_l2_error(without)
    assert value == pytest.approx((0.75 - 0.3) ** 2 - 0.75 * 0.25 / 3, rel=1e-14)
    assert bc.debiased_squared_l2_error(one_more) == pytest.approx(0.8 * value, rel=1e-14)


def test_bins_with_one_weighted_row_contribute_nothing():
    """Kish's number of one row is 1 up to rounding, for any weight."""
    for weight in np.random.default_rng(1).random(200):
        counts = bc.BinnedCounts.from_arrays([1], [0.3], bins=1, weights=[weight])
        assert bc.debiased_squared_l2_error(counts) == 0


def test_equal_weights_change_nothing_and_a_weight_of_two_does():
    p = [0.2, 0.3, 0.3, 0.4]
    plain = bc.plug_in_error(Y, p, order=2, debiased=True)
    assert bc.plug_in_error(Y, p, order=2, debiased=True, weights=[3] * 4) == pytest.approx(plain, rel=1e-14)
    assert bc.plug_in_error(Y, p, order=2, debiased=True, weights=[1, 2, 1, 1]) != pytest.approx(plain, rel=1e-3)


def test_a_negative_square_is_reported_and_its_root_is_zero():
    """Accuracy 1/2 equals the mean confidence: 0 - (1/4) / 3."""
    counts = bc.BinnedCounts.from_arrays([0, 1, 0, 1], [0.5] * 4, bins=1)
    assert bc.debiased_squared_l2_error(counts) == pytest.approx(-1 / 12, rel=1e-14)
    assert bc.plug_in_error([0, 1, 0, 1], [0.5] * 4, bins=1, order=2, debiased=True) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 0.5}, "`order` must be at least 1, not 0.5"),
        ({"order": -1}, "`order`"),
        ({"order": np.nan}, "`order`"),
        ({"order": "max"}, "`order`"),
        ({"debiased": True}, "`debiased=True` is defined for `order=2` only, not for 1"),
        ({"debiased": True, "order": np.inf}, "not for inf"),
    ],
)
def test_orders_that_are_refused(options, said):
    with pytest.raises((ValueError, TypeError), match=said):
        bc.plug_in_error(Y, P, **options)


def test_counts_without_rows():
    with pytest.raises(ValueError, match="has no rows"):
        bc.debiased_squared_l2_error(bc.BinnedCounts.empty(3))


@pytest.mark.parametrize(
    ("order", "error", "said"),
    [
        ("inf", TypeError, "must be a number >= 1, not 'inf'. For the maximum calibration error, pass `float('inf')`."),
        (0, ValueError, "`order` must be at least 1, not 0"),
        (np.nan, ValueError, "`order` must be at least 1, not nan"),
        (True, TypeError, "must be a number >= 1, not True"),
    ],
)
def test_orders_that_are_none(order, error, said):
    with pytest.raises(error) as caught:
        bc.plug_in_error([0, 1], [0.2, 0.7], order=order)
    assert said in str(caught.value)
