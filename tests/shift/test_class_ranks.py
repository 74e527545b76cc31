"""Rows by class on a fine grid: ranks for any weights of the classes."""

import numpy as np
import pytest

from bayescal.shift.shifted_bins import ClassRanks, ShiftedBins
from bayescal.stats.bins import make_bins
from bayescal.stats.ranks import Ranks


def rows(n, n_classes, rng):
    """Classes of different frequencies, and confidences with ties."""
    label = rng.choice(n_classes, n, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    return label, np.round(np.clip(rng.normal(0.3 + 0.1 * label, 0.2), 0, 1), 3)


@pytest.mark.parametrize(("n", "of"), [(500, 0), (500, 2), (150_000, 1)])
def test_several_classes_have_the_ranks_of_weighted_rows(n, of):
    """Rows with the weight of their class; beyond 2^17 rows the grid is the fine one."""
    label, confidence = rows(n, 3, np.random.default_rng(1))
    priors = np.array([0.2, 0.7, 0.1])
    counted = ShiftedBins.from_rows(label, confidence, confidence[:1], of, 3, make_bins(4))
    found = counted.ranked(priors)
    expected = Ranks.of_rows(confidence, label == of, (priors / counted.frequency)[label])
    assert found.grid == expected.grid
    np.testing.assert_array_equal(found.position, expected.position)
    np.testing.assert_allclose(found.weight, expected.weight)
    np.testing.assert_allclose(found.weight_sq, expected.weight_sq)


@pytest.mark.parametrize("of", [0, 1])
def test_either_of_two_classes(of):
    label, confidence = rows(300, 2, np.random.default_rng(2))
    found = ClassRanks.of_rows(confidence, label, of, 2).weighted(np.ones(2), of)
    np.testing.assert_array_equal(found.weight, Ranks.of_rows(confidence, label == of).weight)


def test_bins_as_the_grid():
    by_class = np.array([[3, 0, 1], [0, 0, 2], [4, 0, 0]])
    found = ClassRanks.of_bins(make_bins(3), by_class).weighted(np.array([1.0, 2.0, 3.0]), 1)
    assert found.position.tolist() == [0, 2]
    assert found.weight.tolist() == [[15, 1], [0, 4]]
    assert found.weight_sq.tolist() == [[39, 1], [0, 8]]
