"""Subpopulations and screens: P-values, cells, attenuation, flags, order, weights, and words."""

import re

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.cumulative.plot import cumulative_points
from bayescal.cumulative.subpopulation_result import attenuation
from bayescal.cumulative.subpopulation_sums import Responses, subpopulation_steps


def test_p_values_are_uniform_for_half_of_the_population_with_ties():
    """1000 sets; a uniform P-value below 0.2 occurs in 200 +- 13 of them."""
    rng, below = np.random.default_rng(9), 0
    for _ in range(1000):
        score = rng.random(300).round(1)
        sub = bc.cumulative_difference_subpopulation(rng.random(300) < score, score, rng.random(300) < 0.5)
        below += sub.p_kolmogorov_smirnov < 0.2
        assert sub.p_kolmogorov_smirnov < sub.p_kolmogorov_smirnov_uncorrected
    assert 140 < below < 270


def test_presentation(rows_with_members):
    response, score, member, weights = rows_with_members(weighted=True)
    text = str(bc.cumulative_difference_subpopulation(response + 2.0 * member, score, member, weights=weights))
    text = " ".join(text.split())
    assert "responses of the subpopulation are higher than in the full population" in text
    assert "If the two had equal means at every score," in text
    assert "Average difference over the subpopulation: 1." in text


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


def test_adjusted_p_values_are_those_of_scipy(rows_in_groups):
    from scipy.stats import false_discovery_control

    screen = bc.screen_subpopulations(*rows_in_groups()[:3])
    np.testing.assert_allclose(screen.adjusted_p_value, false_discovery_control(screen.p_value), rtol=1e-12)
    p = [row["p_value"] for row in screen.table()]
    assert p == sorted(p)
    assert list(screen) == [row["group"] for row in screen.table()]
    assert p == screen.p_value.tolist()
    assert [row["adjusted_p_value"] for row in screen.table()] == screen.adjusted_p_value.tolist()
    for label, p_value in zip(screen, screen.p_value, strict=True):
        assert screen[label].p_kuiper == pytest.approx(p_value, rel=1e-8)


def test_a_screen_is_a_mapping(rows_in_groups):
    screen = bc.screen_subpopulations(*rows_in_groups(n_groups=3)[:3])
    assert list(screen.keys()) == list(screen.labels) == list(screen)
    assert [each.kuiper for _, each in screen.items()] == [screen[label].kuiper for label in screen]
    assert 2 in screen
    assert 3 not in screen
    assert repr(screen.groups) == "Groups('group': 3 groups, 2000 rows)"
    assert repr(screen.rows) == "Responses(2000 rows)"


def test_groups_of_several_columns_are_named_by_equations():
    frame = pd.DataFrame({"hospital": ["H1", "H1", "H2", "H2"] * 50, "sex": ["f", "m"] * 100})
    response = (frame["hospital"] == "H1") & (frame["sex"] == "m")
    screen = bc.screen_subpopulations(response, np.arange(200) % 7, frame)
    assert "belongs to hospital = H1, sex = m, with" in screen.sentence()
    one = screen[("H1", "m")]
    assert "hospital = H1, sex = m and the full population" in one.spec
    assert "responses of hospital = H1, sex = m are higher than in the full population" in one.sentence()
    with pytest.raises(KeyError, match=r"Labels are tuples with one entry per column, as \('H1', 'm'\)"):
        screen["H1"]


def test_groups_that_differ_are_flagged(rows_in_groups):
    response, score, group, _ = rows_in_groups(20_000)
    shifted = response + 0.3 * np.isin(group, [3, 7])
    screen = bc.screen_subpopulations(shifted, score, group)
    assert set(screen.flagged[:2]) == {3, 7}
    assert screen.to_frame().loc[3, "flagged"]
    text = " ".join(str(screen).split())
    number = f"{len(screen.flagged)} of 25 groups are flagged as different from the full population at equal scores"
    assert text.startswith(number)
    assert "false discovery rate 0.05" in screen.spec
    assert "cumulative difference between group = 3 and the full population" in screen[3].spec


def test_few_false_discoveries_without_differences(rows_in_groups):
    """100 sets of 25 groups without differences: a set with a flag has probability 0.06; more than 16 has 0.0002."""
    flags = 0
    for seed in range(100):
        flags += bool(bc.screen_subpopulations(*rows_in_groups(seed=seed)[:3]).flagged)
    assert flags <= 16


@pytest.mark.parametrize("per_group", [2, 20, 50])
def test_few_false_discoveries_with_rare_outcomes(per_group):
    """20 screens of 500 groups at risks of 1 %: more than 6 with a flag have probability 3e-5 at 5 % each.

    Without the correction for skewness, every screen has flags.
    """
    rng, screens = np.random.default_rng(5), 0
    for _ in range(20):
        score = 0.02 * rng.random(500 * per_group)
        group = rng.permutation(np.repeat(np.arange(500), per_group))
        screens += bool(bc.screen_subpopulations(rng.random(len(score)) < score, score, group).flagged)
    assert screens <= 6


def test_small_groups_of_skewed_costs_are_not_flagged():
    """Lognormal costs have the skewness 6.2, so that 50 rows have an effective number of 50 / 6.2^2 = 1.3."""
    rng = np.random.default_rng(2)
    cost, score = rng.lognormal(size=5000), rng.random(5000)
    group = np.append(np.repeat(np.arange(10), 50), np.full(4500, 10))
    cost[group == 3] += 100
    screen = bc.screen_subpopulations(cost, score, group)
    assert screen.labels[0] == 3
    assert 3 not in screen.flagged
    row = next(each for each in screen.table() if each["group"] == 3)
    assert (np.isnan(row["adjusted_p_value"]), row["flagged"]) == (True, False)
    few = int(np.count_nonzero(~screen.reliable))
    assert few >= 10
    assert f"{few} of 11 groups have an effective number of rare responses below 10" in " ".join(str(screen).split())
    assert bc.screen_subpopulations(cost > 50, score, group).flagged[0] == 3


def test_long_tables_are_shortened_and_groups_of_weight_zero_left_out(rows_in_groups):
    response, score, group, _ = rows_in_groups(n_groups=40)
    screen = bc.screen_subpopulations(response, score, group, weights=(group != 11).astype(float))
    assert 11 not in list(screen)
    assert len(screen.to_frame()) == 39
    assert "14 groups with larger P-values are not shown" in str(screen)


def test_the_sentence_has_the_signed_difference_and_few_scores_are_counted():
    rng = np.random.default_rng(1)
    score = rng.integers(1, 4, 4000) / 4
    group = rng.integers(0, 8, 4000)
    screen = bc.screen_subpopulations(rng.random(4000) < score - 0.2 * (group == 5), score, group)
    text = " ".join(str(screen).split())
    assert f"belongs to group = 5, with an average difference of {screen[5].average_difference:.3f};" in text
    assert "The P-values of 8 of 8 groups are rough" in text
    assert "average difference Kuiper in sigma" in text
    single = bc.screen_subpopulations(score, np.zeros(4000), group)
    assert not any("rough" in remark for remark in single.sheet().remarks)


def test_few_false_flags_with_a_single_score():
    """100 screens of 20 groups: a flag has probability 0.05 at most, more than 14 flags 0.0001; 33 of 100 once had."""
    rng, flags = np.random.default_rng(2), 0
    for _ in range(100):
        flags += bool(
            bc.screen_subpopulations(rng.random(2000) < 0.3, np.full(2000, 0.3), rng.integers(0, 20, 2000)).flagged
        )
    assert flags <= 14


def test_labels_and_statistics_are_suggested():
    screen = bc.screen_subpopulations([0, 1, 0, 1], [1, 2, 3, 4], ["ward 1", "ward 1", "ward 2", "ward 2"])
    with pytest.raises(KeyError, match=r"no group 'ward1' among \['ward 1', 'ward 2'\]. Did you mean 'ward 1'"):
        screen["ward1"]
    with pytest.raises(ValueError, match=r"not 'ks'[.] Did you mean 'kolmogorov_smirnov'"):
        bc.screen_subpopulations([0, 1], [1, 2], ["a", "b"], statistic="ks")


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_with_cells_far_beyond_their_scores_are_counted(weighted):
    """The same groups that are named by their own results; groups of one score have a single cell."""
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(8), [4, 30, 300, 1, 1000, 1000, 4, 20])
    score = rng.random(len(group))
    score[group < 3] *= 0.02
    score[group == 7] = 0.99
    outcome = rng.random(len(group)) < score
    screen = bc.screen_subpopulations(
        outcome, score, group, weights=rng.exponential(size=len(group)) if weighted else None
    )
    named = ["outside the range" in " ".join(screen[label].sheet().remarks) for label in screen]
    assert 3 <= sum(named) <= 7
    text = " ".join(str(screen).split())
    assert f"{sum(named)} of 8 groups are compared at their smallest or largest score with cells" in text
    random = (group == 4) | (group == 5)
    assert "compared at their" not in str(bc.screen_subpopulations(outcome[random], score[random], group[random]))


def test_example_of_attenuation():
    """With one member and one other in each cell, the share of members is that of all rows."""
    rows = Responses.read([1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], None, others={})
    steps = subpopulation_steps(rows, np.array([True, False, True, False]))
    assert [each.tolist() for each in (steps.weight, steps.cell_weight)] == [[1.0, 1.0], [2.0, 2.0]]
    assert attenuation(steps).mean == pytest.approx(1.0)
