"""Knots of a calibration curve: equal mass, divided where scores are sparse, and apart at exactly 0 and 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from bayescal.clinical.curve.knots import merge_to_knots, rates_at
from bayescal.data.predictions import Predictions
from bayescal.draws import BinDraws
from bayescal.stats.ordered import OrderedSums, merge_scores


def steps_of(outcome, score, weights=None):
    return OrderedSums.from_rows(Predictions.from_outcomes(outcome, score, weights))


@st.composite
def rows(draw):
    """Scores with ties, sparse ends, and exact 0 and 1, sometimes with weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 400))
    score = rng.beta(draw(st.sampled_from([0.1, 0.5, 1, 5])), draw(st.sampled_from([0.1, 1, 20])), n)
    score = np.round(score, draw(st.sampled_from([1, 2, 12])))
    score[rng.random(n) < draw(st.sampled_from([0, 0.1]))] = draw(st.sampled_from([0.0, 1.0]))
    weight = rng.exponential(size=n) if draw(st.booleans()) else None
    return (rng.random(n) < 0.5).astype(int), score, weight, draw(st.integers(1, 30))


@settings(max_examples=60, deadline=None)
@given(rows())
def test_knots_divide_the_bins_and_keep_their_sums(given_rows):
    """Brute force over rows: each row is in one knot, and only wide bins, and exact 0 and 1, are divided."""
    outcome, score, weight, n_bins = given_rows
    steps = steps_of(outcome, score, weight)
    bins, knots = merge_scores(steps, n_bins), merge_to_knots(steps, n_bins)
    w = np.ones(len(score)) if weight is None else weight
    assert knots.n.sum() == len(score)
    inside = np.searchsorted(knots.upper, score)
    of_bin = np.searchsorted(bins.upper, score)
    x = logit(np.clip(score, 1e-3, 1 - 1e-3))
    for j in range(len(knots.n)):
        own = inside == j
        assert knots.n[j] == own.sum() > 0
        assert knots.weight[j] == pytest.approx(w[own].sum())
        assert knots.mean_confidence[j] == pytest.approx((w * score)[own].sum() / w[own].sum(), abs=1e-12)
        assert knots.accuracy[j] == pytest.approx((w * outcome)[own].sum() / w[own].sum(), abs=1e-12)
        if len(np.unique(of_bin[own])) > 1:  # only scores of exactly 0 or 1 are joined again
            assert score[own].max() <= 1e-9 or score[own].min() >= 1 - 1e-9
        elif own.sum() < (of_bin == of_bin[own][0]).sum() and score[own].min() > 0 and score[own].max() < 1:
            wide = np.ptp(x[of_bin == of_bin[own][0]]) > 0.5
            assert wide or ((score <= 1e-9) | (score >= 1 - 1e-9)).any()


def test_sparse_scores_have_knots_of_half_a_logit():
    """97 % of the scores around 0.03, the others spread to 0.95: a grid of half a logit with at least five rows."""
    rng = np.random.default_rng(1)
    score = np.where(rng.random(3000) < 0.03, rng.beta(6, 3, 3000), rng.beta(1.2, 25, 3000))
    steps = steps_of((rng.random(3000) < score).astype(int), score)
    plain, knots = merge_scores(steps, 30), merge_to_knots(steps, 30)
    assert plain.mean_confidence[-1] > 0.5
    high = knots.mean_confidence > 0.2
    assert high.sum() >= 6 > (plain.mean_confidence > 0.2).sum()
    assert knots.n[high].min() >= 5
    assert np.diff(logit(knots.mean_confidence[high])).max() < 0.9


def test_few_rows_and_narrow_bins_are_not_divided():
    even = np.linspace(0.4, 0.6, 300)
    outcome = np.arange(300) % 2
    np.testing.assert_array_equal(merge_to_knots(steps_of(outcome, even), 5).n, np.full(5, 60))
    nine = np.linspace(0.1, 0.9, 9)
    assert len(merge_to_knots(steps_of(outcome[:9], nine), 1).n) == 1  # no two parts of five rows
    ten = np.linspace(0.1, 0.9, 10)
    assert merge_to_knots(steps_of(outcome[:10], ten), 1).n.tolist() == [5, 5]
    weights = np.append(np.ones(9), 1e-3)  # the effective number of rows of the upper part is 4
    assert len(merge_to_knots(steps_of(outcome[:10], ten, weights), 1).n) == 1


def test_scores_of_exactly_0_and_1_have_one_knot_each():
    score = np.concatenate([np.zeros(5), np.linspace(0.4, 0.6, 50), np.full(300, 1 - 1e-12), np.ones(100)])
    knots = merge_to_knots(steps_of(np.arange(455) % 2, score), 20)
    assert (knots.n[0], knots.n[-1]) == (5, 400)
    few = merge_to_knots(steps_of(np.arange(54) % 2, score[1:55]), 1)  # four rows at 0
    assert few.upper[0] == 0.4


def test_a_part_has_the_counts_of_its_bins():
    rng = np.random.default_rng(2)
    counts = merge_scores(steps_of(rng.integers(2, size=100), rng.random(100)), 10)
    which = np.arange(10) % 3 > 0
    part = counts.part(which)
    np.testing.assert_array_equal(part.n, counts.n[which])
    np.testing.assert_allclose(part.accuracy, counts.accuracy[which])
    assert len(part.bins) == which.sum() == len(part.upper)
    middle = part.bins.edges[1:-1]
    assert ((part.mean_confidence[:-1] < middle) & (middle < part.mean_confidence[1:])).all()


def test_example_of_rates_at():
    knots = BinDraws(np.ones((1, 2)), np.array([[0.25, 0.5]]), np.array([[0.25, 0.75]]), np.ones(2, bool), 1)
    assert rates_at(knots, np.array([0.1, 0.25, 0.5, 0.75, 1.0]), np.zeros(2, bool)).round(3).tolist() == [
        [0.1, 0.25, 0.371, 0.5, 0.933]
    ]
