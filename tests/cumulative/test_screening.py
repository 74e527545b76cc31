"""Screening: every group has the numbers of its own comparison; flags, order, weights, errors."""

import numpy as np
import pandas as pd
import pytest

import bayescal as bc


def population(n=2000, n_groups=25, *, seed=1, weighted=False, real=False):
    rng = np.random.default_rng(seed)
    score = rng.random(n).round(2)
    response = rng.normal(size=n) + 100 if real else rng.random(n) < score
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
    return response, score, rng.integers(0, n_groups, n), weights


@pytest.mark.parametrize("statistic", ["kuiper", "kolmogorov_smirnov"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_each_group_has_the_numbers_of_its_own_comparison(statistic, weighted, real):
    response, score, group, weights = population(weighted=weighted, real=real)
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


def test_adjusted_p_values_are_those_of_scipy():
    from scipy.stats import false_discovery_control

    screen = bc.screen_subpopulations(*population()[:3])
    np.testing.assert_allclose(screen.adjusted_p_value, false_discovery_control(screen.p_value), rtol=1e-12)
    p = [row["p_value"] for row in screen.table()]
    assert p == sorted(p)
    assert list(screen) == [row["group"] for row in screen.table()]
    assert p == screen.p_value.tolist()
    assert [row["adjusted_p_value"] for row in screen.table()] == screen.adjusted_p_value.tolist()
    for label, p_value in zip(screen, screen.p_value, strict=True):
        assert screen[label].p_kuiper == pytest.approx(p_value, rel=1e-8)


def test_a_screen_is_a_mapping():
    screen = bc.screen_subpopulations(*population(n_groups=3)[:3])
    assert list(screen.keys()) == list(screen.labels) == list(screen)
    assert [each.kuiper for _, each in screen.items()] == [screen[label].kuiper for label in screen]
    assert 2 in screen
    assert 3 not in screen
    assert repr(screen.groups) == "Groups('group': 3 groups, 2000 rows)"
    assert repr(screen.rows) == "Responses(2000 rows)"


def test_an_error_that_all_groups_share_is_no_difference():
    """Responses are 0.2 too high everywhere: calibration by group needs the rows of each group alone."""
    response, score, group, _ = population(20_000)
    residual = response + 0.2 - score
    screen = bc.screen_subpopulations(residual, score, group)
    assert screen.flagged == ()
    assert screen.sentence().startswith("None of the 25 groups is shown to differ from the full population")


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


def test_groups_that_differ_are_flagged():
    response, score, group, _ = population(20_000)
    shifted = response + 0.3 * np.isin(group, [3, 7])
    screen = bc.screen_subpopulations(shifted, score, group)
    assert set(screen.flagged[:2]) == {3, 7}
    assert screen.to_frame().loc[3, "flagged"]
    text = " ".join(str(screen).split())
    number = f"{len(screen.flagged)} of 25 groups are flagged as different from the full population at equal scores"
    assert text.startswith(number)
    assert "false discovery rate 0.05" in screen.spec
    assert "cumulative difference between group = 3 and the full population" in screen[3].spec


def test_few_false_discoveries_without_differences():
    """100 sets of 25 groups without differences: a set with a flag has probability 0.06; more than 16 has 0.0002."""
    flags = 0
    for seed in range(100):
        flags += bool(bc.screen_subpopulations(*population(seed=seed)[:3]).flagged)
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


def test_long_tables_are_shortened_and_groups_of_weight_zero_left_out():
    response, score, group, _ = population(n_groups=40)
    screen = bc.screen_subpopulations(response, score, group, weights=(group != 11).astype(float))
    assert 11 not in list(screen)
    assert len(screen.to_frame()) == 39
    assert "14 groups with larger P-values are not shown" in str(screen)


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


def test_wrong_arguments():
    response, score, group, _ = population(50)
    with pytest.raises(ValueError, match="`by` and `response` must have the same length"):
        bc.screen_subpopulations(response, score, group[:-1])
    with pytest.raises(ValueError, match="at least two groups"):
        bc.screen_subpopulations(response, score, np.zeros(50))
    with pytest.raises(ValueError, match="`statistic`"):
        bc.screen_subpopulations(response, score, group, statistic="ks")
    with pytest.raises(ValueError, match="`fdr`"):
        bc.screen_subpopulations(response, score, group, fdr=2)
    with pytest.raises(TypeError, match=r"Pass the column itself, as in `by=frame\['ward'\]"):
        bc.screen_subpopulations(response, score, by="ward")
    with pytest.raises(TypeError, match=r"it is a list of columns. Pass a data frame, as in `by=frame\[\["):
        bc.screen_subpopulations(response, score, by=[group, group])
    with pytest.raises(KeyError, match=r"no group 99 among .* and 14 more"):
        bc.screen_subpopulations(response, score, group)[99]


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


def test_responses_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"`response` must lie between -1e\+100 and 1e\+100; .* 1: 1e\+200"):
        bc.screen_subpopulations([0, 1e200, 1, 3], [0.1, 0.2, 0.3, 0.3], list("abab"))


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


# --- weights and responses of different sizes


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
