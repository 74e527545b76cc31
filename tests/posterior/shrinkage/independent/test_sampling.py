"""How points are drawn by their weight: each as often as its weight says, the first and the last too."""

import numpy as np
import pytest

from bayescal.posterior.shrinkage.independent.family import _categorical, systematic


@pytest.mark.parametrize("weights", [[1, 1, 2], [3, 0, 1], [0, 5, 0], [0.001, 0.999], [7]])
def test_systematic_draws_come_as_often_as_their_weight_says_to_within_one(weights):
    drawn = systematic(np.array(weights, dtype=float), 1000, np.random.default_rng(1))
    often = np.bincount(drawn, minlength=len(weights))
    assert np.all(np.abs(often - 1000 * np.array(weights) / np.sum(weights)) <= 1)
    assert len(set(drawn)) == 1 or not np.all(np.diff(drawn) >= 0)  # in random order


def test_categories_of_each_row(close_to):
    """Weights 1, 2, 5 and 1, 0, 0 in every other row; only ratios count."""
    weights = np.array([[1.0, 2.0, 5.0], [1.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights) + np.array([[700.0], [-700.0]])
    rows = np.tile([0, 1], 40_000)
    drawn = _categorical(log_weights, np.random.default_rng(2), rows)
    assert np.all(drawn[rows == 1] == 0)
    share = np.bincount(drawn[rows == 0], minlength=3) / 40_000
    expected = np.array([1, 2, 5]) / 8
    close_to(share, expected, np.sqrt(expected * (1 - expected) / 40_000))
    assert _categorical(log_weights, np.random.default_rng(3)).shape == (2,)
