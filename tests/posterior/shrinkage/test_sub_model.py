"""Moments of the ECE from sums of gaps: a linear form of a Dirichlet, and the law of total variance."""

import numpy as np
import pytest
from moments_of_ece import GapSums, averaged, sums_of_gaps

from bayescal.posterior.shrinkage.sub_model import Exact

N = np.array([40.0, 25.0, 60.0, 30.0])
C = np.array([0.2, 0.45, 0.7, 0.9])
MASS = N + 0.5


def test_moments_of_the_ece_are_those_of_a_dirichlet(gap_sums):
    """A single state of gaps: the mean and variance of a Dirichlet's linear form."""
    gaps, total = np.array([0.1, 0.3, 0.02, 0.2]), MASS.sum()
    share = MASS / total
    mean, sd = averaged([1.0], [GapSums(*gap_sums(np.ones(1), gaps[None], MASS))], total)
    assert mean == pytest.approx(share @ gaps, rel=1e-12)
    assert sd**2 == pytest.approx((share @ gaps**2 - (share @ gaps) ** 2) / (total + 1), rel=1e-9)


def test_moments_of_the_ece_average_sub_models(gap_sums):
    """Of two sub-models, one without gaps: the law of total variance."""
    sums = GapSums(*gap_sums(np.array([1.0, 3.0]), np.array([[0.1, 0.0, 0.2, 0.0], [0.0, 0.05, 0.0, 0.1]]), MASS))
    (mean, sd), (half, spread) = (averaged(p, [sums, GapSums(0, 0, 0)], MASS.sum()) for p in ([1, 0], [0.5, 0.5]))
    assert half == pytest.approx(mean / 2)
    assert spread**2 == pytest.approx(sd**2 / 2 + mean**2 / 4)


def test_moments_of_the_ece_take_probabilities_in_proportion(gap_sums):
    """Sub-models that hardly matter are left out, so that the probabilities add up to less than 1."""
    sums = [
        GapSums(*gap_sums(np.ones(1), np.array([gap]), MASS)) for gap in ([0.1, 0.0, 0.2, 0.0], [0.0, 0.05, 0.0, 0.1])
    ]
    assert averaged([0.3, 0.1], sums, MASS.sum()) == pytest.approx(averaged([0.75, 0.25], sums, MASS.sum()))


def test_exact_calibration_has_no_gaps():
    exact = Exact(C)
    assert sums_of_gaps(exact, MASS) == (0, 0, 0)
    np.testing.assert_array_equal(exact.draw(3, np.random.default_rng(1)).accuracy, np.tile(C, (3, 1)))
