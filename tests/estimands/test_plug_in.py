"""Plug-in value and null distribution against enumeration of all outcomes."""

from itertools import product

import numpy as np
import pytest
from scipy.special import binom

import bayescal as bc
from bayescal.estimands.plug_in import null_bins, observed_bins


def test_observed_bins_leave_empty_ones_out():
    counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.15, 0.9], bins=5)
    bins = observed_bins(counts)
    np.testing.assert_allclose(bins.mass, [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(bins.weight, [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(bins.accuracy, [[0.5, 1.0]])
    np.testing.assert_allclose(bins.confidence, [[0.125, 0.9]])
    np.testing.assert_array_equal(bins.occupied, [True, True])


def test_null_by_enumeration(close_to):
    """Three and two rows with mean confidence 0.2 and 0.7: all twelve outcomes and their binomial probabilities."""
    confidence = [0.1, 0.2, 0.3, 0.65, 0.75]
    counts = bc.BinnedCounts.from_arrays([0, 0, 1, 1, 0], confidence, bins=2)
    mean = second = 0.0
    for i, j in product(range(4), range(3)):
        probability = binom(3, i) * 0.2**i * 0.8 ** (3 - i) * binom(2, j) * 0.7**j * 0.3 ** (2 - j)
        error = 0.6 * abs(i / 3 - 0.2) + 0.4 * abs(j / 2 - 0.7)
        mean, second = mean + probability * error, second + probability * error**2
    n = 200_000
    drawn = bc.ece(null_bins(counts, n, rng=1)).values
    close_to(drawn.mean(), mean, np.sqrt((second - mean**2) / n), "mean of the null")
    close_to((drawn**2).mean(), second, (drawn**2).std() / np.sqrt(n), "second moment of the null")
    assert len(np.unique(np.round(drawn, 12))) <= 12


def test_null_has_the_observed_shares_and_confidences():
    counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.15, 0.9], bins=5)
    bins = null_bins(counts, 10, rng=1)
    np.testing.assert_array_equal(bins.mass, observed_bins(counts).mass)
    np.testing.assert_array_equal(bins.confidence, observed_bins(counts).confidence)
    assert bins.accuracy.shape == (10, 2)


def test_null_is_reproducible():
    counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.15, 0.9], bins=5)
    one, same, other = (null_bins(counts, 100, rng=seed).accuracy for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_certain_confidences_leave_no_room_for_chance():
    """Confidence exactly 0 and 1: a calibrated model would show an ECE of exactly 0."""
    counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.0, 1.0, 1.0], bins=10)
    np.testing.assert_array_equal(bc.ece(null_bins(counts, 100, rng=1)).values, 0)


def test_null_with_weights_counts_effective_rows(close_to):
    """Weights 3, 1, 1, 1 on one bin are worth 36 / 12 = 3 rows: k / 3."""
    counts = bc.BinnedCounts.from_arrays([0, 1, 0, 1], [0.4] * 4, bins=1, weights=[3, 1, 1, 1])
    accuracy = null_bins(counts, 20_000, rng=2).accuracy[:, 0]
    np.testing.assert_allclose(np.unique(accuracy), [0, 1 / 3, 2 / 3, 1])
    close_to(accuracy.mean(), 0.4, np.sqrt(0.24 / 3 / 20_000))


@pytest.mark.parametrize("function", [observed_bins, null_bins])
def test_without_rows_there_is_nothing_to_observe(function):
    with pytest.raises(ValueError, match="`counts` has no rows"):
        function(bc.BinnedCounts.empty(5))


def test_the_number_of_draws_is_checked():
    counts = bc.BinnedCounts.from_arrays([0], [0.1])
    with pytest.raises(ValueError, match="`draws` must be an integer >= 1, not 0"):
        null_bins(counts, 0)
