"""Screening: every group has the numbers of its own comparison; flags, order, weights, errors."""

import numpy as np
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
        alone = bc.cumulative_difference_subpopulation(response, score, group == row["group"], weights)
        again = screen[row["group"]]
        assert again.kuiper == alone.kuiper
        assert row["n"] == alone.steps.n_rows.sum()
        assert row[statistic] == pytest.approx(getattr(alone, statistic), rel=1e-9)
        assert row["sigma"] == pytest.approx(alone.sigma, rel=1e-9)
        assert row["average_difference"] == pytest.approx(alone.average_difference, rel=1e-9, abs=1e-12)
        assert row["p_value"] == pytest.approx(getattr(alone, f"p_{statistic}"), rel=1e-8)


def test_adjusted_p_values_are_those_of_scipy():
    from scipy.stats import false_discovery_control

    screen = bc.screen_subpopulations(*population()[:3])
    np.testing.assert_allclose(screen.adjusted_p_value, false_discovery_control(screen.p_value), rtol=1e-12)
    p = [row["p_value"] for row in screen.table()]
    assert p == sorted(p)
    assert list(screen) == [row["group"] for row in screen.table()]


def test_groups_that_differ_are_flagged():
    response, score, group, _ = population(20_000)
    shifted = response + 0.3 * np.isin(group, [3, 7])
    screen = bc.screen_subpopulations(shifted, score, group)
    assert set(screen.flagged[:2]) == {3, 7}
    assert screen.to_frame().loc[3, "flagged"]
    text = " ".join(str(screen).split())
    assert text.startswith(f"{len(screen.flagged)} of 25 groups differ from the full population at equal scores")
    assert "false discovery rate 0.05" in screen.spec
    assert "cumulative difference between the group 3 and the full population" in screen[3].spec


def test_few_false_discoveries_without_differences():
    """100 sets of 25 groups without differences: a set with a flag has probability 0.06; more than 16 has 0.0002."""
    flags = 0
    for seed in range(100):
        flags += bool(bc.screen_subpopulations(*population(seed=seed)[:3]).flagged)
    assert flags <= 16


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
    sums = bc.screen_subpopulations(response, np.arange(501.0), ["a"] * 500 + ["b"]).sums
    assert sums.top[0] == 0
    assert sums.bottom[0] == sums.end[0] < 0


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
    with pytest.raises(KeyError, match="no group 99"):
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
    with pytest.raises(ValueError, match=r"`response` must lie between -1e\+140 and 1e\+140; .* 1: 1e\+200"):
        bc.screen_subpopulations([0, 1e200, 1, 3], [0.1, 0.2, 0.3, 0.3], list("abab"))


def test_the_sentence_has_the_signed_difference_and_few_scores_are_counted():
    rng = np.random.default_rng(1)
    score = rng.integers(1, 4, 4000) / 4
    group = rng.integers(0, 8, 4000)
    screen = bc.screen_subpopulations(rng.random(4000) < score - 0.2 * (group == 5), score, group)
    text = " ".join(str(screen).split())
    assert f"belongs to 5, with an average difference of {screen[5].average_difference:.3f};" in text
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
    named = ["beyond the scores" in " ".join(screen[label].sheet().remarks) for label in screen]
    assert 3 <= sum(named) <= 7
    text = " ".join(str(screen).split())
    assert f"{sum(named)} of 8 groups are compared at their smallest or largest score with cells" in text
    random = (group == 4) | (group == 5)
    assert "compared at their" not in str(bc.screen_subpopulations(outcome[random], score[random], group[random]))
