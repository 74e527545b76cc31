"""Sums of subpopulations in exact arithmetic and of all groups at once; sizes of weights and responses."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.subpopulation_sums import midpoints


def by_definition(response, score, member, weights):
    """Points of the curve and sigma^2 in rational numbers, one cell after the other."""
    w = [Fraction(1)] * len(score) if weights is None else [Fraction(x) for x in weights.tolist()]
    r, s = ([Fraction(float(x)) for x in values] for values in (response, score))
    levels = sorted({s[i] for i in range(len(s)) if member[i]})
    ends = [(a + b) / 2 for a, b in pairwise(levels)]
    total = sum(w[i] for i in range(len(s)) if member[i])
    points, variance, low = [Fraction(0)], Fraction(0), None
    for level, high in zip(levels, [*ends, None], strict=True):
        cell = [i for i in range(len(s)) if (low is None or s[i] > low) and (high is None or s[i] <= high)]
        weight = sum(w[i] for i in cell)
        mean = sum(w[i] * r[i] for i in cell) / weight
        spread = sum(w[i] * r[i] ** 2 for i in cell) / weight - mean**2
        own = [i for i in range(len(s)) if member[i] and s[i] == level]
        points.append(points[-1] + sum(w[i] * (r[i] - mean) for i in own) / total)
        variance += sum(w[i] ** 2 for i in own) / total**2 * spread
        low = high
    return np.array(points, dtype=float), float(variance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_curve_and_sigma_equal_the_definition(weighted, real, rows_with_members):
    rows = rows_with_members(weighted=weighted, real=real)
    sub = bc.cumulative_difference_subpopulation(*rows[:3], weights=rows[3])
    curve, variance = by_definition(*rows)
    np.testing.assert_allclose(sub.curve, curve, rtol=1e-10, atol=1e-13)
    assert sub.sigma**2 == pytest.approx(variance, rel=1e-10)
    assert sub.kuiper == pytest.approx(curve.max() - curve.min(), rel=1e-10)
    assert sub.average_difference == pytest.approx(curve[-1], rel=1e-10, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_corrected_variance_is_that_of_independent_responses(weighted):
    """Against the mean square of the end of the curve over 2500 sets, at tied scores, for half of the rows."""
    rng = np.random.default_rng(8)
    score, member = np.repeat([1.0, 2.0, 3.0], 10), np.arange(30) % 2 == 0
    weights = rng.exponential(size=30) if weighted else np.ones(30)
    ends, variances = [], []
    for _ in range(2500):
        rows = rng.normal(size=30), score, member, weights
        sub = bc.cumulative_difference_subpopulation(*rows[:3], weights=rows[3])
        ends.append(sub.average_difference)
        variances.append(sub.scale.null_sigma**2)
        assert weighted or sub.sigma**2 > 1.5 * variances[-1]
    ends = np.array(ends)
    assert np.mean(variances) == pytest.approx(np.mean(ends**2), rel=5 * np.sqrt(2 / 2500))


def test_units_of_response_and_score_have_no_effect(rows_with_members):
    """P-values do not change if responses are shifted and scaled, nor if scores are scaled by a power of two."""
    response, score, member, _ = rows_with_members()
    one = bc.cumulative_difference_subpopulation(response, score, member)
    other = bc.cumulative_difference_subpopulation(1e6 + 1e3 * response, 8 * score, member)
    assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-9)
    assert other.kuiper == pytest.approx(1e3 * one.kuiper, rel=1e-9)


def test_weights_of_one_give_the_same_numbers(rows_with_members):
    response, score, member, _ = rows_with_members()
    one = bc.cumulative_difference_subpopulation(response, score, member)
    other = bc.cumulative_difference_subpopulation(response, score, member, weights=np.ones(len(score)))
    assert np.array_equal(one.curve, other.curve)
    assert one.sigma == other.sigma


def test_cells_between_neighbouring_floats_contain_their_own_score():
    score = np.array([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)])
    assert (midpoints(score) >= score[:-1]).all()
    assert (midpoints(score) < score[1:]).all()
    sub = bc.cumulative_difference_subpopulation([1, 2, 4, 9], [*score, 3], [1, 1, 1, 0])
    assert np.isfinite(sub.curve).all()
    assert (midpoints(np.array([-1.7e308, 1.7e308])) == 0).all()


@pytest.mark.parametrize("weight", [1, 1e9, 1e10, 1e15])
def test_one_member_and_one_other_have_the_law_of_one_normal_number(weight):
    """The deviation is its own standard deviation, whatever the weights: 2 Q(1) = 0.3173105."""
    sub = bc.cumulative_difference_subpopulation([0, 1], [0.5, 0.5], [True, False], weights=[1, weight])
    assert sub.p_kuiper == pytest.approx(0.31731050786, rel=1e-10)


def test_heavy_rows_have_a_limit():
    """With 400 heavy others, light others have no effect: the P-value changes by less than 1e-6 from 1e8 to 1e15."""
    rng = np.random.default_rng(0)
    score, member = rng.random(2000).round(1), rng.random(2000) < 0.5
    response, found = rng.normal(size=2000), []
    for weight in (1e8, 1e10, 1e12, 1e15):
        weights = np.ones(2000)
        weights[np.flatnonzero(~member)[:400]] = weight
        found.append(bc.cumulative_difference_subpopulation(response, score, member, weights=weights).p_kuiper)
    kept = np.flatnonzero(member | np.isin(np.arange(2000), np.flatnonzero(~member)[:400]))
    weights = np.where(member[kept], 1, 1e15)
    alone = bc.cumulative_difference_subpopulation(response[kept], score[kept], member[kept], weights=weights)
    assert found == pytest.approx([alone.p_kuiper] * 4, abs=1e-6)


@pytest.mark.parametrize("factor", [1e-79, 1e-60, 1e90])
def test_scale_of_responses_and_weights_has_no_effect(factor, rows_with_members):
    response, score, member, weights = rows_with_members(weighted=True)
    one = bc.cumulative_difference_subpopulation(response, score, member, weights=weights)
    other = bc.cumulative_difference_subpopulation(factor * response, score, member, weights=1e100 * weights)
    assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-9)
    assert other.sigma == pytest.approx(factor * one.sigma, rel=1e-9)
    screen = bc.screen_subpopulations(factor * response, score, member, weights=weights)
    assert {row["group"]: row["p_value"] for row in screen.table()}[True] == pytest.approx(one.p_kuiper, rel=1e-9)


@pytest.mark.parametrize("statistic", ["kuiper", "kolmogorov_smirnov"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_each_group_has_the_numbers_of_its_own_comparison(statistic, weighted, real, rows_in_groups):
    response, score, group, weights = rows_in_groups(weighted=weighted, real=real)
    screen = bc.screen_subpopulations(response, score, group, weights=weights, statistic=statistic)
    assert len(screen) == 25
    for row in screen.table():
        alone = bc.cumulative_difference_subpopulation(response, score, group == row["group"], weights=weights)
        again = screen[row["group"]]
        assert again.kuiper == alone.kuiper
        assert row["n"] == alone.steps.n_rows.sum()
        assert row[statistic] == pytest.approx(getattr(alone, statistic), rel=1e-9)
        assert row["sigma"] == pytest.approx(alone.null_sigma, rel=1e-9)
        assert row["average_difference"] == pytest.approx(alone.average_difference, rel=1e-9, abs=1e-12)
        assert row["p_value"] == pytest.approx(getattr(alone, f"p_{statistic}"), rel=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_number_of_rare_responses_is_the_inverse_square_of_the_skewness(weighted):
    """Outcomes with the risk 0.05 at all scores, in cells of many rows; weights of members count, others do not."""
    rng = np.random.default_rng(3)
    score, group = rng.random(40_000), rng.integers(0, 200, 40_000)
    weights = rng.exponential(size=40_000) if weighted else None
    sub = bc.cumulative_difference_subpopulation(rng.random(40_000) < 0.05, score, group == 0, weights=weights)
    w = np.ones(40_000) if weights is None else weights
    w, variance = w[group == 0], 0.05 * 0.95
    expected = np.sum(w**2 * variance) ** 3 / np.sum(w**3 * variance * 0.9) ** 2
    assert sub.scale.rare == pytest.approx(expected, rel=0.1)


def test_cells_with_rows_of_one_group_add_exactly_nothing():
    """The cells of a end at 3 and 7; only the last one contains another row, whose response is 0.5 higher."""
    screen = bc.screen_subpopulations([0.1, 0.7, 0.3, 0.8], [1, 5, 9, 20], ["a", "a", "a", "b"])
    (row,) = [row for row in screen.table() if row["group"] == "a"]
    assert (row["kuiper"], row["average_difference"]) == (pytest.approx(0.25 / 3), pytest.approx(-0.25 / 3))
    assert screen["a"].curve == pytest.approx([0, 0, 0, -0.25 / 3])
    # with responses of different sizes, differences of cumulative sums are not exact
    response = np.append(np.random.default_rng(1).lognormal(sigma=8, size=500), 1e12)
    screen = bc.screen_subpopulations(response, np.arange(501.0), ["a"] * 500 + ["b"])
    sums, a = screen.sums, screen.labels.index("a")
    assert sums.top[a] == 0
    assert sums.bottom[a] == sums.end[a] < 0


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_responses_in_each_cell_are_no_difference(weighted):
    """Responses that depend on the score alone: rounding errors must not become P-values."""
    rng = np.random.default_rng(1)
    score = rng.integers(0, 5, 2000) / 10
    response, member = np.where(score > 0.15, 0.7, 0.1), rng.random(2000) < 0.3
    weights = rng.random(2000) if weighted else None
    alone = bc.cumulative_difference_subpopulation(response, score, member, weights=weights)
    assert (alone.kuiper, alone.sigma, alone.p_kuiper, alone.p_kolmogorov_smirnov) == (0, 0, 1, 1)
    screen = bc.screen_subpopulations(response, score, member, weights=weights)
    assert [(row["p_value"], row["flagged"]) for row in screen.table()] == [(1, False), (1, False)]


def strata(scale):
    """Two groups with scores in [0, 1], and two with scores in [5, 6]; rows of the first two have this weight."""
    rng = np.random.default_rng(0)
    score = np.r_[np.linspace(0, 1, 200), np.linspace(5, 6, 200)]
    group = np.r_[np.tile(["a", "b"], 100), np.tile(["c", "d"], 100)]
    return rng.normal(size=400), score, group, np.r_[np.full(200, scale), np.ones(200)]


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e10, 1e15])
def test_heavy_rows_of_other_scores_have_no_effect(scale):
    """No cell of group d contains heavy rows: its numbers are those of the second stratum alone."""
    response, score, group, weights = strata(scale)
    screen = bc.screen_subpopulations(response, score, group, weights=weights)
    assert screen.flagged == ()
    for row in screen.table():
        assert row["p_value"] == pytest.approx(screen[row["group"]].p_kuiper, rel=1e-9)
    alone = bc.screen_subpopulations(response[200:], score[200:], group[200:]).to_frame()
    # the cell of its first score has no lower end
    first = np.array([each["p_value"] for each in screen.table() if each["group"] == "d"])
    assert first == pytest.approx(alone.loc["d", "p_value"], abs=0.03)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_far_apart_have_the_numbers_of_their_own_comparison(weighted):
    """Weights over sixty powers of e, and responses with levels of 1e8 beside noise of 1."""
    rng = np.random.default_rng(4)
    level = rng.integers(0, 2, 400)
    group, score = rng.integers(0, 5, 400), 100.0 * level + rng.random(400)
    weights = rng.lognormal(sigma=8, size=400) if weighted else None
    response = rng.normal(size=400) + (0 if weighted else 1e8 * level)
    screen = bc.screen_subpopulations(response, score, group, weights=weights)
    for row in screen.table():
        alone = screen[row["group"]]
        # responses near 1e8 have errors of 1e-8
        assert row["p_value"] == pytest.approx(alone.p_kuiper, rel=1e-9 if weighted else 1e-6)
        assert row["kuiper"] == pytest.approx(alone.kuiper, rel=1e-9 if weighted else 1e-6)


# --- unequal variances


def normal(spread, share, n, seed, *, weighted=False):
    """Responses with the mean 0 and standard deviations by group and score."""
    rng = np.random.default_rng(seed)
    score, member = rng.random(n), rng.random(n) < share
    response = rng.normal(0, spread(score, member))
    return response, score, member, rng.gamma(1.0, size=n) if weighted else None


SPREADS = {
    "members": lambda score, member: np.where(member, 3.0, 1.0),
    "members fall, others rise": lambda score, member: np.where(member, 2.1 - 2 * score, 0.1 + score),
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("spread", SPREADS)
def test_variances_of_members_and_others_may_differ(spread, share, weighted):
    """Means are equal, so that P(P-value <= 0.05) should be 0.05: at most 30 of 200, with probability 1e-8 at 0.05.

    If all rows have the same variance, tests of subpopulations with 10 % of the rows reject in 38 to 65 % of the sets.
    """
    rejected = np.zeros(2)
    for seed in range(200):
        response, score, member, weights = normal(SPREADS[spread], share, 1000, seed, weighted=weighted)
        sub = bc.cumulative.subpopulation(response, score, member, weights=weights)
        compared = bc.cumulative.compare_subpopulations(response, score, member, ~member, weights=weights)
        rejected += [each.p_kuiper <= 0.05 for each in (sub, compared)]
    assert (rejected <= 30).all(), rejected


def test_the_variance_of_the_end_is_that_of_the_sum():
    """2000 members of 20 000 rows: the standard deviation of the end of the curve over 300 sets, within 15 %."""
    ends, sigmas = [], []
    for seed in range(300):
        sub = bc.cumulative.subpopulation(*normal(SPREADS["members"], 0.1, 2000, seed)[:3])
        ends.append(sub.curve[-1])
        sigmas.append(sub.null_sigma)
    assert np.mean(sigmas) == pytest.approx(np.std(ends), rel=0.15)


def test_two_values_have_the_variance_of_their_mean():
    """Outcomes of members and others have equal variances if means are equal: few members without events keep it."""
    rng = np.random.default_rng(1)
    score, member = rng.random(4000), rng.random(4000) < 0.01
    outcome = (rng.random(4000) < 0.02) & ~member
    real = outcome + 1e-9 * rng.random(4000)
    a, b = (bc.cumulative.subpopulation(each, score, member).null_sigma for each in (1.0 * outcome, real))
    assert a == pytest.approx((0.02 * 0.98 / member.sum()) ** 0.5, rel=0.2)
    assert b == pytest.approx(a, rel=0.3)  # shrunk by about 50 rows: kurtosis - 1
