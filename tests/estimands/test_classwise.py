"""Means over classes."""

import numpy as np
import pytest

from bayescal import Draws
from bayescal.estimands.classwise import classwise_mean, marginal_mean


@pytest.fixture
def by_class():
    return Draws(np.array([[0.1, 0.2, 0.6], [0.0, 0.3, 0.3]]))


def test_by_hand(by_class):
    np.testing.assert_allclose(classwise_mean(by_class).values, [0.3, 0.2])
    np.testing.assert_allclose(marginal_mean(by_class, [0.5, 0.25, 0.25]).values, [0.25, 0.15])
    assert classwise_mean(by_class).name == "classwise_ece"
    assert marginal_mean(by_class, [0.5, 0.25, 0.25]).name == "marginal_error"


def test_equal_frequencies_make_them_equal(by_class):
    np.testing.assert_allclose(marginal_mean(by_class, np.full(3, 1 / 3)).values, classwise_mean(by_class).values)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ([0.5, 0.5], "`frequency` has 2, `by_class` has 3"),
        ([0.5, 0.5, 0.5], "must be >= 0 and sum to 1; it sums to 1.5"),
        ([1.5, -0.5, 0.0], "must be >= 0 and sum to 1"),
        ([50, 25, 25], "it sums to 100"),
    ],
)
def test_frequencies_that_are_none(by_class, frequency, message):
    with pytest.raises(ValueError, match=message):
        marginal_mean(by_class, frequency)
