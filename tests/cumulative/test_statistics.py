"""Statistics, their noise and P-values against definitions, simulated and enumerated outcomes; bounds of c_emp."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.statistics import c_emp_bound, scale
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import simulate
from bayescal.stats.ordered import OrderedSums


def largest_mean(outcome, score, weights):
    """Largest absolute weighted mean of 1{p1 < c <= p2} (z - c) over all pairs of scores, in rational numbers."""
    w = [Fraction(1)] * len(score) if weights is None else [Fraction(x) for x in weights.tolist()]
    sums = {}
    for z, c, x in zip(outcome, score.tolist(), w, strict=True):
        sums[c] = sums.get(c, 0) + x * (int(z) - Fraction(c))
    points = [Fraction(0)]
    for c in sorted(sums):
        points.append(points[-1] + sums[c] / sum(w))
    return float(max(abs(b - a) for a, b in combinations(points, 2))), float(max(map(abs, points)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 2, 15])
def test_statistics_equal_the_definition(weighted, decimals, simulated):
    outcome, score, weights = simulated(120, decimals=decimals, weighted=weighted)
    cd = bc.cumulative_difference(outcome, score, weights=weights)
    kuiper, smirnov = largest_mean(outcome, score, weights)
    assert cd.kuiper == pytest.approx(kuiper, rel=1e-12)
    assert cd.kolmogorov_smirnov == pytest.approx(smirnov, rel=1e-12)
    w = np.ones(120) if weights is None else weights
    assert cd.sigma == pytest.approx(np.sqrt(np.sum(w**2 * score * (1 - score))) / w.sum(), rel=1e-12)
    assert cd.robust_sigma == pytest.approx(np.sqrt(np.sum(w**2 * (outcome - score) ** 2)) / w.sum(), rel=1e-12)


def test_very_small_scores_have_a_p_value():
    """Variances of 1e-250 and 1e-240: nearly a single step."""
    cd = bc.cumulative_difference([0, 0], [1e-250, 1e-240])
    assert cd.scale.mean_step == pytest.approx(1, abs=1e-4)
    assert cd.p_kuiper == pytest.approx(1)


def test_correction_adds_the_shortfall_at_both_ends():
    """Steps of equal variance: the mean step is 1/sqrt(n), and the walk falls short by 0.5826 of it at each end."""
    from bayescal.cumulative.brownian import sf_max_abs, sf_range

    rng = np.random.default_rng(4)
    score = np.repeat([0.5], 400) + np.linspace(-1e-9, 1e-9, 400)
    cd = bc.cumulative_difference(rng.random(400) < 0.5, score)
    assert cd.scale.mean_step == pytest.approx(1 / 20, rel=1e-9)
    assert cd.p_kuiper == pytest.approx(sf_range(cd.kuiper / cd.sigma + 2 * 0.5825971579390106 / 20), rel=1e-9)
    smirnov = cd.kolmogorov_smirnov / cd.sigma
    assert cd.p_kolmogorov_smirnov == pytest.approx(sf_max_abs(smirnov + 0.5825971579390106 / 20), rel=1e-9)
    assert cd.p_kolmogorov_smirnov_uncorrected == pytest.approx(sf_max_abs(smirnov), rel=1e-12)


@pytest.mark.parametrize("bins", [1, 7, 100, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_bound_the_statistics_of_their_rows(bins, weighted, simulated):
    for seed in range(10):
        outcome, score, weights = simulated(seed=seed, decimals=15, weighted=weighted)
        rows = bc.cumulative_difference(outcome, score, weights=weights)
        counts = bc.BinnedCounts.from_arrays(outcome, score, bins=bins, weights=weights)
        cd = bc.cumulative_difference.from_counts(counts)
        for statistic in ("kuiper", "kolmogorov_smirnov"):
            of_rows, of_counts = getattr(rows, statistic), getattr(cd, statistic)
            assert of_counts - 1e-12 <= of_rows <= of_counts + cd.grid_error + 1e-12
        assert cd.curve[-1] == pytest.approx(rows.curve[-1], abs=1e-14)
        if not weighted:
            assert cd.sigma == pytest.approx(rows.sigma, rel=1e-10)
            assert cd.robust_sigma == pytest.approx(rows.robust_sigma, rel=1e-10)


def test_the_grid_error_is_reached():
    """All outcomes 1 come first in the bin, so that the curve rises by 5/20 before it falls to 0."""
    score = np.linspace(0.49999, 0.50001, 20)
    outcome = np.repeat([1, 0], 10)
    counts = bc.BinnedCounts.from_arrays(outcome, score, bins=1)
    cd = bc.CumulativeDifference.from_counts(counts)
    assert cd.kuiper == pytest.approx(0, abs=1e-12)
    assert cd.grid_error == pytest.approx(0.25, abs=1e-4)
    assert bc.cumulative_difference(outcome, score).kuiper == pytest.approx(0.25, abs=1e-4)
    assert "1 equal-width bin" in cd.spec
    assert cd.spec.endswith(", 1 occupied bin")


def test_one_distinct_score_has_the_exact_law_of_one_step():
    """60 of 100 events at 0.5: the deviation is 0.1, or 2 sigma; a Normal number exceeds 2 with probability 0.0455."""
    cd = bc.cumulative_difference([1] * 60 + [0] * 40, [0.5] * 100)
    assert cd.p_kuiper == pytest.approx(0.04550026, rel=1e-6)
    assert cd.p_kolmogorov_smirnov == pytest.approx(0.04550026, rel=1e-6)
    assert "The curve has a single step" in " ".join(str(cd).split())
    assert "The P-values are rough" in " ".join(str(bc.cumulative_difference([1, 0], [0.5, 0.5])).split())


#: One step with 30 % of the variance among 140 small ones, as of many rows with one score.
CLUMP = [1] * 70 + [60] + [1] * 70


@pytest.mark.parametrize("steps", [[1, 1], [1, 1, 1], [1] * 5, [1] * 10, [1] * 25, [1] * 10 + [30] + [1] * 10, CLUMP])
def test_few_steps_do_not_reject_too_often(steps):
    """100 000 walks with Normal steps of these variances: the shares below 0.05 and 0.01 are at most 0.055 and 0.0125.

    The standard errors are 0.0007 and 0.0003; with the correction of many steps, the first share is 0.11 for two. With
    a mean step weighted by variance, it is 0.07 for the large step among small ones.
    """
    from bayescal.cumulative.brownian import sf_max_abs, sf_range
    from bayescal.cumulative.statistics import corrected_tail

    variance = np.array(steps) / np.sum(steps)
    walk = np.zeros((100_000, len(steps) + 1))
    walk[:, 1:] = np.cumsum(np.random.default_rng(1).normal(size=(100_000, len(steps))) * np.sqrt(variance), axis=1)
    mean_step = float(1 / np.sum(np.sqrt(variance)))
    for tail, ends, value in ((sf_range, 2, np.ptp(walk, axis=1)), (sf_max_abs, 1, np.abs(walk).max(axis=1))):
        p_value = corrected_tail(tail, value, mean_step, ends)
        assert 0.02 < np.mean(p_value < 0.05) < 0.055
        assert np.mean(p_value < 0.01) < 0.0125


@pytest.mark.parametrize("n", [1, 2, 5, 11, 100])
def test_the_mean_range_of_equal_steps_is_the_sum_of_spitzer(n):
    """E range = sqrt(2 / (pi n)) sum k^(-1/2) for n Normal steps of variance 1/n."""
    from bayescal.cumulative.statistics import Scale, null_mean

    exact = np.sqrt(2 / (np.pi * n)) * np.sum(np.arange(1, n + 1) ** -0.5)
    noise = Scale(1.0, 1.0, 3.0, n**-0.5)
    assert null_mean("kuiper", noise) == pytest.approx(3 * exact, rel=1e-3)
    walk = np.cumsum(np.random.default_rng(1).normal(size=(40_000, n)) / np.sqrt(n), axis=1)
    largest = np.abs(walk).max(axis=1)
    # the standard error of the mean is 0.4 % at most
    assert null_mean("kolmogorov_smirnov", noise) == pytest.approx(3 * largest.mean(), rel=0.02)
    assert null_mean("kolmogorov_smirnov", noise) <= null_mean("kuiper", noise)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [1, 11])
def test_the_mean_under_calibration_is_that_of_simulated_outcomes(scores):
    """1000 calibrated sets of 2000 rows with few scores; the tolerance is 4 standard errors and 2 %."""
    rng = np.random.default_rng(1)
    score = np.repeat(np.linspace(0.3, 0.7, scores) if scores > 1 else [0.5], 2200 // scores)
    sets = [bc.cumulative_difference(rng.random(len(score)) < score, score) for _ in range(1000)]
    for row in sets[0].table():
        values = np.array([getattr(each, row["quantity"]) for each in sets])
        mean = np.mean([each.table()[0 if row["quantity"] == "kuiper" else 1]["null_mean"] for each in sets])
        assert abs(mean - values.mean()) < 4 * values.std() / np.sqrt(1000) + 0.02 * mean


def test_p_values_that_underflow_are_bounded():
    cd = bc.cumulative_difference(np.zeros(10_000, dtype=int), np.linspace(0.4, 0.6, 10_000))
    assert cd.p_kuiper == 0
    assert "a statistic of at least this size is less than 1e-300." in cd.sentence()
    assert cd.sheet().rows[0][-2:] == ["< 1e-300", "< 1e-300"]
    assert "P-value < 1e-300" in bc.plot_cumulative(cd).get_title(loc="left")


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


def test_example_of_scale():
    assert round(
        scale(OrderedSums.from_rows(Predictions.from_outcomes([0] * 500, [0.01] * 500))).rare, 2
    ) == pytest.approx(5.15, abs=1e-2)
