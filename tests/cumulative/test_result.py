"""CumulativeDifference: counts in bins, targets, certain scores, rare outcomes and the bound of c_emp."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.result import question_of
from bayescal.cumulative.statistics import c_emp_bound
from bayescal.datasets.simulate import simulate

HAND = ([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])


def test_certain_scores():
    """Scores of 0 and 1 leave no noise: a single contrary outcome refutes calibration."""
    right = bc.cumulative_difference([1, 0, 1], [1.0, 0.0, 1.0])
    assert (right.kuiper, right.p_kuiper, right.p_kolmogorov_smirnov) == (0, 1, 1)
    assert np.isnan(right.kuiper_interval()).all()
    assert "there is no interval" in str(right)
    wrong = bc.cumulative_difference([1, 0, 0], [1.0, 0.0, 1.0])
    assert (wrong.p_kuiper, wrong.p_kolmogorov_smirnov) == (0, 0)


def test_intervals_from_counts_end_at_edges():
    """The edges are 0, 1/3, 2/3 and 1, while the mean scores of the bins are 0.2, 0.5 and 0.9."""
    rows = [1, 1, 1, 0, 0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.9]
    counts = bc.BinnedCounts.from_arrays(*rows, bins=3)
    cd = bc.cumulative_difference.from_counts(counts)
    assert cd.score == pytest.approx([1 / 3, 2 / 3, 1])
    # deviations of the bins: 2.4, -0.5 and -1.8
    assert cd.curve == pytest.approx([0, 0.3, 0.2375, 0.0125])
    assert cd.worst_interval == pytest.approx((0, 1 / 3))
    assert cd.slope(0, 1 / 3).difference == pytest.approx(0.8)
    assert cd.slope(0.3, 1) == cd.slope(1 / 3, 1)
    assert cd.slope(1 / 3, 1).difference == pytest.approx(-2.3 / 5)
    assert cd.zoom(0, 0.7).curve == pytest.approx([0, 0.4, 1.9 / 6])
    with pytest.raises(ValueError, match=r"at least one bin; there is none in \[0.4, 0.6\]. All bins lie in \[0, 1\]"):
        cd.slope(0.4, 0.6)
    # the first bin can only rise; in the second, two outcomes of 0 come before or after that of 1
    assert cd.kuiper + cd.grid_error == pytest.approx(0.3 + 0.4 / 8)
    words = "statistic is at least 0.3000 (at most 0.3500, depending on the order of the rows within bins)"
    assert words in cd.sentence()


def test_counts_without_rows_and_other_objects_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        bc.CumulativeDifference.from_counts(bc.BinnedCounts.empty(10))
    with pytest.raises(TypeError, match="must be BinnedCounts, not list"):
        bc.CumulativeDifference.from_counts([1, 2])
    assert bc.cumulative_difference(*HAND).grid_error == 0


def test_top_label_results_name_their_target():
    from bayescal.cumulative.analysis import cumulative_difference_of
    from bayescal.data.predictions import Predictions

    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 900)
    matrix = np.full((900, 3), 0.2)
    matrix[np.arange(900), label] = 0.6
    cd = cumulative_difference_of(Predictions.from_labels(label, matrix))
    counts = bc.BinnedCounts.from_arrays(np.ones(900), np.full(900, 0.6), bins=100, target="top-label")
    for each in (cd, bc.CumulativeDifference.from_counts(counts)):
        assert "predictions are right more often than their confidence states, by 0.400" in each.sentence()
        assert each.spec.startswith("top-label cumulative difference")
    assert "outcome 1 is more frequent" in bc.cumulative_difference(np.ones(900), np.full(900, 0.6)).sentence()


def test_certain_predictions_are_named():
    assert "All scores are 0 or 1: pass probabilities" in str(bc.cumulative_difference([1, 0, 0], [1, 0, 1]))
    assert "All scores" not in str(bc.cumulative_difference([1, 0, 0], [1, 0, 0.5]))


@pytest.mark.parametrize("bins", [1, 3, 100])
def test_bounds_from_counts_include_the_error_of_the_bins(bins):
    """The error is 1/4 of either sign in each half of the scores: D of the population is 1/8."""
    rng = np.random.default_rng(1)
    score = rng.uniform(0.25, 0.75, 20_000)
    outcome = rng.random(20_000) < score + np.where(score < 0.5, 0.25, -0.25)
    cd = bc.CumulativeDifference.from_counts(bc.BinnedCounts.from_arrays(outcome, score, bins=bins))
    low, high = cd.kuiper_interval()
    assert low < 1 / 8 < high
    assert abs(cd.kuiper - 1 / 8) <= cd.c_emp_bound()


def test_equal_weights_have_the_bound_of_rows():
    assert (
        bc.cumulative_difference(*HAND, weights=[3] * 5).c_emp_bound() == bc.cumulative_difference(*HAND).c_emp_bound()
    )
    for weights in ([1, 2, 1, 1, 1], [1, 3, 2, 2, 2]):
        with pytest.raises(ValueError, match="rows of equal weight"):
            bc.cumulative_difference(*HAND, weights=weights).c_emp_bound()


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


def test_weighted_rows_use_their_effective_number():
    rows = simulate(500, rng=1)
    weights = np.repeat([1.0, 3.0], 250)
    cd = bc.cumulative_difference(rows.outcome, rows.confidence, weights=weights)
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert cd.c_emp_bound(given_scores=True) == pytest.approx(c_emp_bound(effective, given_scores=True))
    with pytest.raises(ValueError, match="`given_scores` must be True"):
        cd.c_emp_bound()


def test_example_of_question_of():
    assert question_of("top-label") == "top-label cumulative difference between outcomes and scores"
