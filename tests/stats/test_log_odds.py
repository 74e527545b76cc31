"""Log odds of probabilities, clipped where they would be infinite."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bayescal.stats.sums import VALUE_FLOOR, logit


@pytest.mark.parametrize("odds", [Fraction(1, 999), Fraction(1, 3), Fraction(1), Fraction(9), Fraction(10**6)])
def test_log_of_odds(odds):
    p = odds / (1 + odds)
    assert logit(np.array([float(p)]))[0] == pytest.approx(math.log(odds), rel=1e-9, abs=1e-15)


def test_certain_probabilities_have_the_log_odds_of_the_floor():
    largest = math.log((1 - VALUE_FLOOR) / VALUE_FLOOR)
    np.testing.assert_allclose(logit(np.array([0.0, 1.0])), [-largest, largest], rtol=1e-8)
    np.testing.assert_allclose(logit(np.array([0.0, 0.1, 1.0]), floor=0.25), np.log([1 / 3, 1 / 3, 3]), rtol=1e-15)
