"""Calibration errors of bins worked by hand, and the identities that hold within every draw."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

import bayescal as bc
from bayescal import BinDraws


@pytest.fixture
def by_hand():
    """Two draws of three bins. Gaps: (0.2, -0.1, 0.4) and (-0.3, 0, 0.5); the third bin has no rows."""
    mass = np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]])
    accuracy = np.array([[0.3, 0.4, 1.0], [0.0, 0.5, 1.0]])
    confidence = np.array([[0.1, 0.5, 0.6], [0.3, 0.5, 0.5]])
    return BinDraws(mass, accuracy, confidence, np.array([True, True, False]), mass)


@pytest.fixture
def random_bins():
    rng = np.random.default_rng(1)
    mass = rng.dirichlet(np.ones(8), 500)
    return BinDraws(mass, rng.random((500, 8)), rng.random((500, 8)), np.ones(8, bool), mass)


@pytest.mark.parametrize(
    ("estimand", "expected"),
    [
        (bc.ece, [0.5 * 0.2 + 0.3 * 0.1 + 0.2 * 0.4, 0.25 * 0.3 + 0.25 * 0.5]),
        (bc.l2_error, [(0.5 * 0.04 + 0.3 * 0.01 + 0.2 * 0.16) ** 0.5, (0.25 * 0.09 + 0.25 * 0.25) ** 0.5]),
        (
            lambda b: bc.lp_error(b, 3),
            [(0.5 * 0.008 + 0.3 * 0.001 + 0.2 * 0.064) ** (1 / 3), (0.25 * 0.027 + 0.25 * 0.125) ** (1 / 3)],
        ),
        (bc.e90_bins, [0.2, 0.3]),  # without the empty bin
        (lambda b: bc.largest_error(b, share=0.55), [0.1, 0.0]),  # 0.5 < 0.55, so both occupied bins are needed
        (bc.signed_error, [0.5 * 0.2 - 0.3 * 0.1 + 0.2 * 0.4, -0.25 * 0.3 + 0.25 * 0.5]),
        (bc.overconfidence, [0.3 * 0.1, 0.25 * 0.3]),
        (bc.underconfidence, [0.5 * 0.2 + 0.2 * 0.4, 0.25 * 0.5]),
    ],
)
def test_by_hand(by_hand, estimand, expected):
    np.testing.assert_allclose(estimand(by_hand).values, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("estimand", "name"),
    [
        (bc.ece, "ece"),
        (bc.l2_error, "l2_error"),
        (bc.e90_bins, "e90_bins"),
        (bc.signed_error, "signed_error"),
        (bc.overconfidence, "overconfidence"),
        (bc.underconfidence, "underconfidence"),
        (lambda b: bc.lp_error(b, 1.5), "l1.5_error"),
    ],
)
def test_draws_know_their_name(by_hand, estimand, name):
    assert estimand(by_hand).name == name


def test_the_parts_add_up(random_bins):
    over, under = bc.overconfidence(random_bins).values, bc.underconfidence(random_bins).values
    np.testing.assert_allclose(over + under, bc.ece(random_bins).values, rtol=1e-12)
    np.testing.assert_allclose(under - over, bc.signed_error(random_bins).values, atol=1e-15)


def test_orders_increase_up_to_the_maximum(random_bins):
    """Norms of a probability measure: l_1 <= l_1.5 <= l_2 <= l_10 <= max."""
    orders = [bc.lp_error(random_bins, p).values for p in (1, 1.5, 2, 10, 100)]
    orders.append(bc.largest_error(random_bins).values)
    for lower, higher in pairwise(orders):
        assert np.all(lower <= higher * (1 + 1e-12))
    np.testing.assert_allclose(orders[0], bc.ece(random_bins).values, rtol=1e-12)
    np.testing.assert_allclose(bc.l2_error(random_bins).values, orders[2], rtol=1e-12)


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.35, 0.9])
def test_the_largest_error_of_a_share_by_its_definition(random_bins, share):
    """The largest t such that bins with errors of at least t hold the share; with 0, the largest error of all."""
    gap, mass = np.abs(random_bins.gap), random_bins.mass
    expected = [
        max(t for t in errors if masses[errors >= t].sum() >= share) for errors, masses in zip(gap, mass, strict=True)
    ]
    np.testing.assert_array_equal(bc.largest_error(random_bins, share).values, expected)


def test_bins_that_hold_exactly_the_share_count():
    """Ten bins with a tenth of the population each: sums of 0.1 may be smaller than 0.1 by rounding."""
    mass, gap = np.full((1, 10), 0.1), np.arange(10)[None] / 20
    bins = BinDraws(mass, 0.5 + gap, np.full((1, 10), 0.5), np.ones(10, bool), mass)
    for k in range(1, 10):
        assert bc.largest_error(bins, share=k / 10).values[0] == pytest.approx((10 - k) / 20)


def test_a_larger_share_has_a_smaller_error_and_a_split_bin_the_same(random_bins):
    """The error depends on the population, not on the number of bins that hold it."""
    errors = [bc.largest_error(random_bins, share).values for share in (0, 0.1, 0.3, 0.6)]
    for larger, smaller in pairwise(errors):
        assert np.all(smaller <= larger)
    assert np.any(errors[1] < errors[0])
    twice = {name: np.repeat(getattr(random_bins, name), 2, axis=1) for name in ("accuracy", "confidence")}
    half = np.repeat(random_bins.mass / 2, 2, axis=1)
    split = BinDraws(half, twice["accuracy"], twice["confidence"], np.ones(16, bool), half)
    np.testing.assert_array_equal(bc.e90_bins(split).values, errors[1])


def test_the_mass_of_a_bin_is_that_of_the_draw():
    """A bin near the limit counts in the draws in which its mass reaches it."""
    mass = np.array([[0.09, 0.91], [0.11, 0.89]])
    bins = BinDraws(mass, np.full((2, 2), 0.5), np.array([[0.9, 0.4]]), np.ones(2, bool), mass)
    np.testing.assert_allclose(bc.e90_bins(bins).values, [0.1, 0.4])


def test_bins_without_rows_do_not_fill_the_share():
    """The occupied bins hold less than the share: the smallest of their errors counts."""
    mass = np.array([[0.1, 0.2, 0.7]])
    bins = BinDraws(mass, np.full((1, 3), 0.5), np.array([[0.9, 0.3, 0.5]]), np.array([True, True, False]), mass)
    assert bc.largest_error(bins, share=0.5).values[0] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("share", "error", "message"),
    [
        (1, ValueError, "`share` must lie in [0, 1), not 1"),
        (-0.1, ValueError, "`share` must lie in [0, 1), not -0.1"),
        (10, ValueError, "Percent? Divide by 100."),
        (np.nan, ValueError, "`share`"),
        ("all", TypeError, "`share` must be a number"),
    ],
)
def test_shares_that_are_none(random_bins, share, error, message):
    with pytest.raises(error) as caught:
        bc.largest_error(random_bins, share)
    assert message in str(caught.value)


def test_perfect_and_worst(random_bins):
    perfect = dataclasses.replace(random_bins, confidence=random_bins.accuracy)
    ones, zeros = np.ones((500, 8)), np.zeros((500, 8))
    worst = dataclasses.replace(random_bins, accuracy=zeros, confidence=ones)
    for estimand in (bc.ece, bc.l2_error, bc.e90_bins, bc.overconfidence):
        np.testing.assert_array_equal(estimand(perfect).values, 0)
        np.testing.assert_allclose(estimand(worst).values, 1, rtol=1e-12)
    np.testing.assert_allclose(bc.signed_error(worst).values, -1, rtol=1e-12)


def test_weights_other_than_the_masses(by_hand):
    """The original formula weighs bins by other numbers than their mass."""
    weight = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(bc.ece(dataclasses.replace(by_hand, weight=weight)).values, [0.2, 0.5])


def test_one_row_of_confidences_serves_all_draws(random_bins):
    confidence = random_bins.confidence[:1]
    one = dataclasses.replace(random_bins, confidence=confidence)
    many = dataclasses.replace(random_bins, confidence=np.repeat(confidence, 500, axis=0))
    np.testing.assert_array_equal(bc.ece(one).values, bc.ece(many).values)


def test_bins_are_left_as_they_were(random_bins):
    before = [random_bins.mass.copy(), random_bins.accuracy.copy(), random_bins.confidence.copy()]
    for estimand in (bc.ece, bc.l2_error, bc.e90_bins, bc.signed_error, bc.overconfidence, bc.underconfidence):
        estimand(random_bins)
    for was, now in zip(before, (random_bins.mass, random_bins.accuracy, random_bins.confidence), strict=True):
        np.testing.assert_array_equal(was, now)


@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        (0.5, ValueError, "`p` must be >= 1, not 0.5"),
        (0, ValueError, "`p` must be finite and > 0"),
        (-1, ValueError, "`p` must be finite and > 0"),
        (np.inf, ValueError, "`p` must be finite and > 0"),
        (np.nan, ValueError, "`p` must be finite and > 0"),
        ("two", TypeError, "`p` must be a number"),
    ],
)
def test_orders_that_are_no_norm(by_hand, order, error, message):
    with pytest.raises(error) as caught:
        bc.lp_error(by_hand, order)
    assert message in str(caught.value)


@pytest.mark.parametrize("function", [bc.ece, bc.lp_error, bc.e90_bins, bc.signed_error])
def test_labels_and_probabilities_are_sent_to_evaluate(function):
    """A user who knows scikit-learn calls `ece(y_true, y_prob)`."""
    with pytest.raises(
        TypeError, match=rf"call `bayescal\.evaluate\(y_true, y_prob\)`; its attribute `{function.__name__}`"
    ):
        function([0, 1], [0.2, 0.9])
    with pytest.raises(TypeError, match="`bin_draws` must be BinDraws, not list"):
        function(bin_draws=[0.2, 0.9])
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        function()
