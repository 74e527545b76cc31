"""Draws given the class frequency that masses and accuracies imply."""

import numpy as np
import pytest

from bayescal.shift.over_priors import OverPriors, near


def test_draws_near_a_value_have_the_moments_of_a_product_of_normals():
    """N(0, 1) times N(1, 0.3²): mean 1 / (1 + 0.09), variance 0.09 / 1.09."""
    values = np.random.default_rng(1).standard_normal(400_000)
    chosen = values[near(values, np.array([1.0]), 20_000, np.random.default_rng(2))]
    assert chosen.mean() == pytest.approx(1 / 1.09, abs=0.012)  # five standard errors
    assert chosen.var() == pytest.approx(0.09 / 1.09, rel=0.05)


def test_several_values_have_equal_numbers_of_draws():
    """Around -1 and 1 the means are -1 / 1.09 and 1 / 1.09; the variance is that within plus that between."""
    values = np.random.default_rng(1).standard_normal(400_000)
    chosen = values[near(values, np.array([-1.0, 1.0]), 20_000, np.random.default_rng(2))]
    assert (chosen > 0).mean() == pytest.approx(0.5, abs=0.02)
    assert chosen.var() == pytest.approx(0.09 / 1.09 + 1 / 1.09**2, rel=0.05)


def test_a_value_far_from_all_draws_has_little_influence():
    """The weights become wider until half as many draws as are chosen are effective."""
    values = np.random.default_rng(1).standard_normal(4000)
    chosen = near(values, np.array([50.0]), 1000, np.random.default_rng(2))
    assert len(np.unique(chosen)) > 300
    assert 0 < values[chosen].mean() < 2


@pytest.mark.parametrize("n_draws", [16, 100, 128, 1000])
def test_draws_of_the_frequencies_belong_to_their_part(n_draws):
    near_priors = np.random.default_rng(1).random((16, 8, 3))
    posterior = OverPriors(None, (None,) * 16, near_priors)
    part, row = posterior.part_of(n_draws, 5), posterior.priors_of(n_draws, 5)
    assert sorted(row.tolist()) == sorted(q % 128 for q in range(n_draws))
    for i, q in zip(part, row, strict=True):
        assert (posterior.each_near[q] == near_priors[i]).all(axis=1).any()


def test_equal_values_are_taken_in_order():
    assert near(np.full(8, 0.3), np.array([0.1, 0.2]), 2, np.random.default_rng(1)).tolist() == [0, 1]
