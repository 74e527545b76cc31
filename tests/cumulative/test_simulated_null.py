"""Simulated P-values against enumerated outcomes; the number of rare outcomes against the skewness of a sum."""

from itertools import product

import numpy as np
import pytest

import bayescal as bc

SCORE = np.array([0.02, 0.1, 0.1, 0.35, 0.6, 0.9])
OUTCOME = np.array([1, 0, 0, 1, 0, 1])
WEIGHT = np.array([1.0, 0.5, 2.0, 3.0, 0.25, 1.5])
SIMULATIONS = 100_000


def enumerated(score, weight, outcome):
    """Probabilities of statistics that are at least as large as those of the rows, over all outcomes."""
    levels = np.unique(score)

    def statistics(z):
        steps = [np.sum((weight * (z - score))[score == level]) for level in levels]
        curve = np.concatenate([[0.0], np.cumsum(steps)]) / weight.sum()
        return np.array([curve.max() - curve.min(), np.abs(curve).max()])

    observed, reached = statistics(outcome), np.zeros(2)
    for z in product([0, 1], repeat=len(score)):
        probability = np.prod(np.where(z, score, 1 - score))
        reached += probability * (statistics(np.array(z)) >= observed - 1e-12)
    return reached


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outcome", [OUTCOME, 1 - OUTCOME, (SCORE > 0.5).astype(int)])
def test_simulated_p_values_are_those_of_all_outcomes(weighted, outcome):
    """Within 5 standard errors; without weights, two rows share a score."""
    score = SCORE + (np.arange(6) * 1e-3 if weighted else 0)
    weight = WEIGHT if weighted else np.ones(6)
    cd = bc.cumulative_difference(outcome, score, weights=weight if weighted else None)
    expected = enumerated(score, weight, outcome)
    error = np.sqrt(expected * (1 - expected) / SIMULATIONS) + 2 / SIMULATIONS
    assert (np.abs(cd.simulated_p_values(SIMULATIONS, rng=1) - expected) <= 5 * error).all()


def test_p_values_are_reproducible_and_do_not_depend_on_chunks(monkeypatch):
    cd = bc.cumulative_difference(OUTCOME, SCORE)
    first = cd.simulated_p_values(1000, rng=3)
    assert first == cd.simulated_p_values(1000, rng=3)
    assert first != cd.simulated_p_values(1000, rng=4)
    monkeypatch.setattr("bayescal.cumulative.statistics.AT_ONCE", 7 * 5)
    assert first == cd.simulated_p_values(1000, rng=3)


def test_the_smallest_p_value_is_one_of_all_sets():
    """300 outcomes of 1 at scores near 0.01 are not reached by chance."""
    cd = bc.cumulative_difference(np.ones(300), np.linspace(0.009, 0.011, 300))
    assert cd.simulated_p_values(99, rng=1) == (0.01, 0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_number_of_rare_outcomes_is_the_inverse_square_of_the_skewness(weighted):
    """Third central moment of a Bernoulli variable: c (1 - c) (1 - 2 c); all scores are below 1/2."""
    score = np.random.default_rng(1).uniform(0, 0.3, 50)
    weight = np.random.default_rng(2).exponential(size=50) if weighted else np.ones(50)
    variance = score * (1 - score)
    skewness = np.sum(weight**3 * variance * (1 - 2 * score)) / np.sum(weight**2 * variance) ** 1.5
    cd = bc.cumulative_difference(score > 0.2, score, weights=weight if weighted else None)
    assert cd.scale.rare == pytest.approx(skewness**-2, rel=1e-12)


def test_rare_outcomes_of_ties_are_those_of_their_rows():
    score, outcome = np.full(500, 0.01), np.zeros(500)
    apart = bc.cumulative_difference(outcome, score + 1e-12 * np.arange(500))
    assert bc.cumulative_difference(outcome, score).scale.rare == pytest.approx(apart.scale.rare)
    assert bc.cumulative_difference([0, 1], [0.5, 0.5]).scale.rare == np.inf


def test_a_remark_says_that_rare_outcomes_are_few():
    def text(n, weights=None):
        score = np.linspace(0.01, 0.03, n)
        return " ".join(str(bc.cumulative_difference(np.arange(n) % 50 == 0, score, weights=weights)).split())

    said, remedy = "the effective number of expected outcomes that contradict", "`simulated_p_values()`"
    assert said in text(200)
    assert remedy in text(200)
    assert said not in text(2000)
    assert remedy not in text(2000)
    assert said in text(2000, np.random.default_rng(1).lognormal(0, 2, 2000))


def test_counts_and_tied_rows_with_weights_are_refused():
    counts = bc.BinnedCounts.from_arrays([0, 0, 1], [0.01, 0.02, 0.03], bins=100)
    cd = bc.cumulative_difference.from_counts(counts)
    with pytest.raises(ValueError, match="needs the scores of rows, which counts do not contain"):
        cd.simulated_p_values()
    assert "simulated_p_values" not in str(cd)
    tied = bc.cumulative_difference([0, 0, 1], [0.01, 0.02, 0.02], weights=[1, 2, 3])
    with pytest.raises(ValueError, match=r"1 scores have several rows, first 0\.02"):
        tied.simulated_p_values()
    assert "simulated_p_values" not in str(tied)
    with pytest.raises(ValueError, match="`simulations` must be an integer >= 1"):
        bc.cumulative_difference([0, 1], [0.1, 0.9]).simulated_p_values(0)
