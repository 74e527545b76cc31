"""Finite-sample bounds of c_emp: the numbers of rows, and simulated worst cases."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.statistics import c_emp_bound
from bayescal.datasets.simulate import simulate


@pytest.mark.parametrize("given_scores", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 0.05, 0.002])
def test_rows_are_the_fewest_with_which_the_bound_holds(epsilon, given_scores):
    n = bc.rows_for_c_emp(epsilon, 0.9, given_scores=given_scores)
    bounds = [c_emp_bound(rows, 0.9, given_scores=given_scores) for rows in (n, n - 1)]
    assert bounds[0] <= epsilon < bounds[1]


def test_constants_of_the_inequalities():
    """P(sup > e) <= 2 exp(-2 n e^2) for each end: e = 0.0429 for 1000 rows and 0.95."""
    assert 2 * np.exp(-2 * 1000 * (c_emp_bound(1000) / 4) ** 2) == pytest.approx(0.05)
    assert 2 * np.exp(-2 * 1000 * (c_emp_bound(1000, given_scores=True) / 2) ** 2) == pytest.approx(0.05)


def test_the_bound_holds_in_simulations():
    """Scores of 1/2, or spread, of a calibrated classifier: far less than 5 % of 400 sets exceed the bounds."""
    rng = np.random.default_rng(5)
    bound = c_emp_bound(50, given_scores=True)
    exceeded = 0
    for _ in range(400):
        score = np.sort(0.5 + 1e-9 * rng.random(50))
        exceeded += bc.cumulative_difference(rng.random(50) < score, score).kuiper > bound
    assert exceeded / 400 <= 0.05


def test_weighted_rows_use_their_effective_number():
    rows = simulate(500, rng=1)
    weights = np.repeat([1.0, 3.0], 250)
    cd = bc.cumulative_difference(rows.outcome, rows.confidence, weights=weights)
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert cd.c_emp_bound(given_scores=True) == pytest.approx(c_emp_bound(effective, given_scores=True))
    with pytest.raises(ValueError, match="`given_scores` must be True"):
        cd.c_emp_bound()


@pytest.mark.parametrize("value", [0, 1, np.nan, "a"])
def test_arguments_are_fractions(value):
    with pytest.raises((ValueError, TypeError), match="`epsilon`"):
        bc.rows_for_c_emp(value)
    with pytest.raises((ValueError, TypeError), match="`prob`"):
        bc.rows_for_c_emp(0.1, value)


def test_the_regret_of_a_threshold_is_at_most_c_emp():
    """Mean cost t of a false positive and 1 - t of a false negative, for all pairs of a threshold and another cut."""
    rows = simulate(300, curve="temperature", strength=1.5, rng=3)
    z, c = rows.outcome, rows.confidence
    kuiper = bc.cumulative_difference(z, c).kuiper
    cuts = np.concatenate([[0.0], np.sort(c), [1.1]])
    largest = -1.0
    for t in np.linspace(0.01, 0.99, 99):
        acts = c >= np.append(cuts, t)[:, None]
        cost = np.mean(t * (acts & (z == 0)) + (1 - t) * (~acts & (z == 1)), axis=1)
        largest = max(largest, cost[-1] - cost.min())
    assert 0 < largest <= kuiper


def test_rows_of_very_small_errors_are_integers():
    """8 log(2 / 0.05) / epsilon^2, whose float underflows."""
    assert bc.rows_for_c_emp(1e-200) / 10**400 == pytest.approx(8 * np.log(40), rel=1e-12)
