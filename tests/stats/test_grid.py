"""Steps from counts in bins: the noise of weighted counts, and the largest statistic of any order within bins."""

from itertools import permutations, product

import numpy as np
import pytest

import bayescal as bc


def test_noise_of_weighted_counts():
    """If weights are equal within each bin, the noise of the counts is that of the rows."""
    rng = np.random.default_rng(1)
    score = rng.random(500)
    outcome, weights = rng.random(500) < score, np.exp(np.floor(10 * score) / 3)
    rows = bc.cumulative_difference(outcome, score, weights=weights)
    counts = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays(outcome, score, bins=10, weights=weights))
    assert counts.sigma == pytest.approx(rows.sigma, rel=1e-9)
    assert counts.robust_sigma == pytest.approx(rows.robust_sigma, rel=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_the_grid_error_is_the_largest_of_all_orders_within_bins(seed):
    """Outcomes of nearly equal scores in three bins, in every order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    middle = np.repeat([1 / 6, 1 / 2, 5 / 6], sizes)
    outcome = rng.random(sizes.sum()) < rng.random()
    orders = [set(permutations(part.tolist())) for part in np.split(outcome, np.cumsum(sizes)[:-1])]
    largest = 0.0
    for chosen in product(*orders):
        curve = np.append(0, np.cumsum(np.concatenate(chosen) - middle)) / len(middle)
        largest = max(largest, np.ptp(curve))
    cd = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays(outcome, middle, bins=3))
    assert cd.kuiper + cd.grid_error == pytest.approx(largest, abs=1e-9)


def test_the_grid_error_of_one_bin():
    """If the 12 outcomes 1 come first, the curve rises to 12 (1 - 0.5) / 20 before it falls to 0.1."""
    cd = bc.cumulative_difference.from_counts(bc.BinnedCounts.from_arrays([1] * 12 + [0] * 8, [0.5] * 20, bins=1))
    assert (cd.kuiper, cd.kuiper + cd.grid_error) == (pytest.approx(0.1), pytest.approx(0.3))
