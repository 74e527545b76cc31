"""A subpopulation against the full population: the definition in exact arithmetic, cells, real responses, errors."""

import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.plot import cumulative_points
from bayescal.cumulative.subpopulation_sums import midpoints


def population(n=150, *, seed=1, weighted=False, real=True):
    rng = np.random.default_rng(seed)
    score = np.round(8 * rng.normal(size=n)) / 8  # midpoints are exact, and some rows lie on them
    response = rng.gamma(1 + score**2).round(3) if real else rng.random(n) < 0.4
    weights = rng.exponential(size=n).round(2) + 0.01 if weighted else None
    return response, score, rng.random(n) < 0.3, weights


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
def test_curve_and_sigma_equal_the_definition(weighted, real):
    rows = population(weighted=weighted, real=real)
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


def test_p_values_are_uniform_for_half_of_the_population_with_ties():
    """1000 sets; a uniform P-value below 0.2 occurs in 200 +- 13 of them."""
    rng, below = np.random.default_rng(9), 0
    for _ in range(1000):
        score = rng.random(300).round(1)
        sub = bc.cumulative_difference_subpopulation(rng.random(300) < score, score, rng.random(300) < 0.5)
        below += sub.p_kolmogorov_smirnov < 0.2
        assert sub.p_kolmogorov_smirnov < sub.p_kolmogorov_smirnov_uncorrected
    assert 140 < below < 270


def test_units_of_response_and_score_have_no_effect():
    """P-values do not change if responses are shifted and scaled, nor if scores are scaled by a power of two."""
    response, score, member, _ = population()
    one = bc.cumulative_difference_subpopulation(response, score, member)
    other = bc.cumulative_difference_subpopulation(1e6 + 1e3 * response, 8 * score, member)
    assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-9)
    assert other.kuiper == pytest.approx(1e3 * one.kuiper, rel=1e-9)


def test_weights_of_one_give_the_same_numbers():
    response, score, member, _ = population()
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


def test_presentation():
    response, score, member, weights = population(weighted=True)
    text = str(bc.cumulative_difference_subpopulation(response + 2.0 * member, score, member, weights=weights))
    text = " ".join(text.split())
    assert "responses of the subpopulation are higher than in the full population" in text
    assert "If the two had equal means at every score," in text
    assert "Average difference over the subpopulation: 1." in text


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ([0, 0, 0], "at least one row of positive weight; it marks 0 of 3 rows"),
        ([1, 1, 1], "must not mark all rows of positive weight; it marks 3 of 3 rows"),
        ([0, 0, 1], "at least one row of positive weight; it marks 1 of 3 rows"),
        ([1, 1, 0], "must not mark all rows of positive weight; it marks 2 of 3 rows"),
        ([1, 2, 0], "`member`"),
        ([1, 0], "`member` and `response` must have the same length"),
    ],
)
def test_invalid_members(member, words):
    with pytest.raises(ValueError, match=words):
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], member, weights=[1, 1, 0])


@pytest.mark.parametrize(
    ("response", "score", "words"),
    [
        ([1, np.nan, 2], [0.1, 0.2, 0.3], "`response`"),
        ([1, 2, 3], [0.1, np.inf, 0.3], "`score` must be finite"),
        ([1, 2], [0.1, 0.2, 0.3], "`response` and `score` must have the same length"),
        ([], [], "`response` is empty; at least one row is needed[.]$"),
    ],
)
def test_invalid_rows(response, score, words):
    with pytest.raises(ValueError, match=words):
        bc.cumulative_difference_subpopulation(response, score, [1, 0, 0])


@pytest.mark.parametrize(("member", "error"), [(["a", "b", "c"], TypeError), ([1, 2, 2], bc.InvalidRows)])
def test_members_are_no_names_of_groups(member, error):
    with pytest.raises(error, match=r"`member` must .*Pass whether each row belongs to the group, as in `group == la"):
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], member)


def test_fractions_are_no_members():
    with pytest.raises(bc.InvalidRows, match=r"`member` must be binary.*2 of 3 values are not") as caught:
        bc.cumulative_difference_subpopulation([1, 2, 3], [0.1, 0.2, 0.3], [0.1, 0.2, 1.0])
    assert "swapped" not in str(caught.value)
    assert "as in `group == label`" in str(caught.value)


def test_responses_are_numbers():
    with pytest.raises(TypeError, match=r"`response` must hold numbers; .* \['a', 'b'\]. Pass an outcome as 0 and 1"):
        bc.cumulative_difference_subpopulation(["a", "b"], [0.1, 0.2], [1, 0])


def test_intervals_of_real_responses_are_not_cut_at_1():
    """The difference of the two means is exactly 500 for half of the rows, and the interval is symmetric."""
    score = np.repeat(np.arange(100.0), 2)
    member = np.tile([True, False], 100)
    sub = bc.cumulative_difference_subpopulation(1000.0 * member, score, member)
    low, high = sub.kuiper_interval()
    assert sub.kuiper == pytest.approx(500)
    assert low + high == pytest.approx(1000)
    rows = bc.cumulative_difference([1, 1, 1], [0.1, 0.2, 0.3])
    assert rows.kuiper_interval()[1] == 1


@pytest.mark.parametrize("n", [3, 30, 300])
def test_a_cell_far_beyond_the_scores_of_the_subpopulation_is_named(n):
    """Scores of members end at 0.02, those of the population at 1: the last member is compared with all the others.

    The mean of these outcomes is about 1/2, so that the average difference is -1/(2 n).
    """
    rng, differences = np.random.default_rng(1), []
    for _ in range(100):
        score = np.append(rng.uniform(0, 0.02, n), rng.random(4000))
        outcome = rng.random(len(score)) < score
        sub = bc.cumulative_difference_subpopulation(outcome, score, np.arange(len(score)) < n)
        differences.append(sub.average_difference)
    error = np.std(differences) / 10
    assert abs(np.mean(differences) + 0.5 / n) < 4 * error + 0.1 / n
    text = " ".join(str(sub).split())
    assert re.search(
        "(9[0-9]|more than 99) % of the weight behind the population mean has scores outside the range", text
    )


@pytest.mark.parametrize("largest", [0.5, 1])
def test_cells_of_many_random_members_are_not_named(largest):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        score = rng.random(2000)
        sub = bc.cumulative_difference_subpopulation(
            rng.random(2000) < score, score, (rng.random(2000) < 0.1) & (score < largest)
        )
        assert "outside the range" not in " ".join(str(sub).split())


# --- attenuation


@pytest.mark.parametrize(("share", "expected"), [(0.02, 0.965), (0.1, 0.822), (0.25, 0.6), (0.5, 0.335), (0.9, 0.053)])
def test_attenuation_is_the_share_of_a_known_difference(share, expected):
    """Members have the response 1 and others 0: by definition the difference is the share of others.

    The expected average differences in the curve are means over 40 sets, measured by a reviewer.
    """
    rng = np.random.default_rng(5)
    score, member = rng.random(20_000), rng.random(20_000) < share
    sub = bc.cumulative_difference_subpopulation(1.0 * member, score, member)
    assert sub.average_difference == pytest.approx(expected, rel=0.06)
    assert sub.attenuation == pytest.approx(sub.average_difference / (1 - member.mean()), rel=0.03)
    assert ("members are part of the means" in " ".join(str(sub).split())) == (share > 0.05)
    tied = bc.cumulative_difference_subpopulation(1.0 * member, score.round(2), member)
    assert tied.attenuation > 0.97
    assert tied.average_difference == pytest.approx(1 - share, rel=0.03)
    assert "members are part of the means" not in " ".join(str(tied).split())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("changing", [False, True])
def test_interval_and_band_contain_the_difference_from_the_population_mean(share, changing):
    """60 sets; the coverage is at least 0.95 for the interval and 0.9 for the band; fewer than 50 have P < 1e-3."""
    rng, inside, band_inside = np.random.default_rng(6), 0, 0
    for _ in range(60):
        score, member = rng.random(2000), rng.random(2000) < share
        response = rng.random(2000) < 0.3 + 0.3 * member * (score > 0.5 if changing else 1)
        sub = bc.cumulative_difference_subpopulation(response, score, member)
        low, high = sub.kuiper_interval()
        inside += low <= 0.3 * (1 - share) * (0.5 if changing else 1) <= high
        score, low, high = sub.band()
        truth = 0.3 * (1 - share) * (np.maximum(score - 0.5, 0) if changing else score)
        band_inside += ((low <= truth) & (truth <= high)).all()
    assert inside >= 50
    assert band_inside >= 50


# --- sizes of weights and responses


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
def test_scale_of_responses_and_weights_has_no_effect(factor):
    response, score, member, weights = population(weighted=True)
    one = bc.cumulative_difference_subpopulation(response, score, member, weights=weights)
    other = bc.cumulative_difference_subpopulation(factor * response, score, member, weights=1e100 * weights)
    assert other.p_kuiper == pytest.approx(one.p_kuiper, rel=1e-9)
    assert other.sigma == pytest.approx(factor * one.sigma, rel=1e-9)
    screen = bc.screen_subpopulations(factor * response, score, member, weights=weights)
    assert {row["group"]: row["p_value"] for row in screen.table()}[True] == pytest.approx(one.p_kuiper, rel=1e-9)


def test_numbers_that_cannot_be_squared_are_refused():
    response, score, member, _ = population()
    with pytest.raises(ValueError, match=r"`response` must have a range of at least 1e-80, .*; it is .*e-17"):
        bc.cumulative_difference_subpopulation(1e-171 * response, score, member)
    with pytest.raises(bc.InvalidRows, match=r"`response` must lie between -1e[+]100 and 1e[+]100"):
        bc.cumulative_difference_subpopulation(1e110 * response, score, member)
    for call in (
        lambda w: bc.cumulative_difference_subpopulation(response, score, member, weights=w),
        lambda w: bc.cumulative_difference(np.arange(150) < 40, np.linspace(0, 1, 150), weights=w),
    ):
        with pytest.raises(bc.InvalidRows, match="must be 0 or at least 1e-60 of the largest weight; 1 of 150"):
            call(np.append(np.ones(149), 1e-70))


def test_printed_noise_is_that_of_members_in_the_mean():
    """400 sets of 1000 equal means, 90 % members, scores rounded to 0.1: sigma of the literature is too large.

    The standard deviations of 400 ends, and slopes, have relative standard errors of 0.035.
    """
    rng, ends, slopes, found = np.random.default_rng(2), [], [], []
    for _ in range(400):
        score, member = rng.random(1000).round(1), rng.random(1000) < 0.9
        sub = bc.cumulative_difference_subpopulation(rng.random(1000) < 0.4, score, member)
        ends.append(sub.average_difference)
        slope = sub.slope(0.25, 0.75)
        slopes.append(slope.difference)
        table = sub.table()[0]
        found.append([
            sub.null_sigma, slope.standard_error, slope.null_standard_error, sub.kuiper, table["null_mean"],
            sub.kuiper / table["in_sigma"], cumulative_points(sub).sigma, sub.sigma,
        ])  # fmt: skip
    null_sigma, error, null_error, kuiper, null_mean, unit, triangle, sigma = np.mean(found, axis=0)
    assert null_sigma == pytest.approx(np.std(ends), rel=0.15)
    assert (unit, triangle) == (pytest.approx(null_sigma), pytest.approx(null_sigma))
    assert [error, null_error] == pytest.approx([np.std(slopes)] * 2, rel=0.15)
    assert null_mean == pytest.approx(kuiper, rel=0.1)
    assert sigma > 2.5 * null_sigma
