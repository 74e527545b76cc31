"""Posteriors of subpopulations and of two groups: statistics, words, documents, intervals of scores, and refusals."""

import json
import re

import numpy as np
import pytest

import bayescal as bc
from bayescal.cumulative.matched import MatchedRows
from bayescal.cumulative.subpopulation_posterior import draw_differences

MODELS = ("pooled", "segments")


def rows(n=2000, *, difference=0.0, seed=1, share=0.3):
    """Members have responses of 0 and 1 that are larger by the difference on average."""
    rng = np.random.default_rng(seed)
    score, member = rng.random(n), rng.random(n) < share
    return rng.random(n) < 0.2 + 0.5 * score + difference * member, score, member


@pytest.fixture(scope="module")
def of_members():
    sub = bc.cumulative.subpopulation(*rows(difference=0.2))
    return {model: sub.posterior(600, rng=1, model=model) for model in MODELS}


@pytest.fixture(scope="module")
def of_groups():
    response, score, member = rows(difference=0.2)
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member, names=("new", "old"))
    return {model: compared.posterior(600, rng=1, model=model) for model in MODELS}


# --- statistics


@pytest.mark.parametrize("model", MODELS)
def test_equal_groups_have_intervals_from_0(model):
    """One set of 2000 rows without differences; seed fixed."""
    response, score, member = rows(seed=2)
    sub = bc.cumulative.subpopulation(response, score, member)
    both = bc.cumulative.compare_subpopulations(response, score, member, ~member)
    for observed in (sub, both):
        posterior = observed.posterior(1000, rng=1, model=model)
        assert posterior.kuiper.interval()[0] == 0
        assert posterior.p_zero > 0.2


@pytest.mark.parametrize("model", MODELS)
def test_a_constant_difference(model):
    """0.3 at every score: D is 0.3 between groups, and 0.3 times the share 0.7 of others for members."""
    response, score, member = rows(6000, difference=0.3)
    both = bc.cumulative.compare_subpopulations(response, score, member, ~member).posterior(1000, rng=1, model=model)
    sub = bc.cumulative.subpopulation(response, score, member).posterior(1000, rng=1, model=model)
    for posterior, truth in ((both, 0.3), (sub, 0.3 * 0.7)):
        low, high = posterior.kuiper.interval(0.99)
        assert low < truth < high
        assert high - low < 0.12
        assert posterior.p_zero == 0


def test_the_curve_has_the_shape_of_the_difference():
    """Real responses, 10 higher for scores above 0.5: half of the rows, of which 0.7 are others."""
    rng = np.random.default_rng(3)
    score, member = rng.random(6000), rng.random(6000) < 0.3
    cost = rng.normal(50, 10, 6000) + 10 * member * (score > 0.5)
    posterior = bc.cumulative.subpopulation(cost, score, member).posterior(1000, rng=1, model="segments")
    low, high = posterior.kuiper.interval(0.99)
    assert low < 3.5 < high
    middle = posterior.curve.values[:, np.searchsorted(posterior.score, 0.5)]
    assert abs(middle.mean()) < 0.4
    assert posterior.p_drift < 0.2
    assert posterior.difference.shape == (1000, len(posterior.score))
    assert abs(posterior.difference[:, posterior.score > 0.6].mean() - 10) < 1


def test_statistics_of_each_draw(of_members, of_groups):
    for posterior in (of_members["segments"], of_groups["segments"]):
        d, g = posterior.kuiper.values, posterior.kolmogorov_smirnov.values
        curve = np.column_stack([np.zeros(600), posterior.curve.values])
        np.testing.assert_array_equal(d, curve.max(axis=1) - curve.min(axis=1))
        np.testing.assert_array_equal(g, np.abs(curve).max(axis=1))
        assert ((g <= d) & (d <= 2 * g + 1e-15)).all()
        assert ((posterior.kuiper - posterior.kolmogorov_smirnov).values >= 0).all()
    with pytest.raises(TypeError, match="same evaluation"):
        of_members["pooled"].kuiper - of_members["pooled"].kolmogorov_smirnov


def test_draws_are_those_of_the_seed():
    response, score, member = rows(500, difference=0.2)
    sub = bc.cumulative.subpopulation(response, score, member)
    np.testing.assert_array_equal(sub.posterior(50, rng=3).kuiper.values, sub.posterior(50, rng=3).kuiper.values)
    matched = MatchedRows.of(sub.rows, member, ~member)
    drawn = draw_differences(matched, 50, np.random.default_rng(3), model="pooled", of_both=False)
    np.testing.assert_array_equal(drawn.kuiper, sub.posterior(50, rng=3).kuiper.values)


@pytest.mark.parametrize("seed", range(30))
def test_exchanging_groups_changes_the_sign_only(seed):
    """With and without ties, weights, and rows of neither group."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 400))
    score = rng.random(n).round(int(rng.integers(1, 5)))
    response = rng.random(n) < score if seed % 2 else rng.normal(size=n)
    weights = rng.exponential(size=n) if seed % 3 else None
    group = rng.integers(0, 3 if seed % 5 else 2, n)
    there, back = (
        bc.cumulative.compare_subpopulations(response, score, group == a, group == 1 - a, weights=weights)
        for a in (0, 1)
    )
    np.testing.assert_allclose(there.curve, -back.curve, rtol=0, atol=1e-12)
    for name in ("kuiper", "kolmogorov_smirnov", "p_kuiper", "p_kolmogorov_smirnov", "null_sigma", "robust_sigma"):
        assert getattr(there, name) == pytest.approx(getattr(back, name), rel=1e-9, abs=1e-12), name
    assert there.average_difference == pytest.approx(-back.average_difference, abs=1e-12)
    one, other = there.slope(-np.inf, np.inf), back.slope(-np.inf, np.inf)
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9, nan_ok=True)
    assert there.worst_interval == back.worst_interval


def test_the_scale_of_weights_has_no_effect():
    response, score, member = rows(500, difference=0.2)
    weights = np.random.default_rng(1).exponential(size=500)
    first, second = (
        bc.cumulative.subpopulation(response, score, member, weights=scale * weights).posterior(100, rng=1)
        for scale in (1.0, 1e-4)
    )
    np.testing.assert_allclose(first.kuiper.values, second.kuiper.values, rtol=1e-6, atol=1e-9)


# --- words, tables and documents


def test_words(of_members, of_groups):
    text = " ".join(str(of_members["pooled"]).split())
    assert "if equal" in text
    assert "if calibrated" not in text
    assert "per member, is at most this number" in of_members["pooled"].sentence()
    assert "with equal means at every score it would be" in of_members["pooled"].sentence()
    assert "because members are part of the means; draws are not" in text
    assert "95 % interval" in text
    assert "This is a pool, not the posterior of one model" in of_members["pooled"].sheet().notes[1]
    both = " ".join(str(of_groups["segments"]).split())
    assert "per effective row, is at most this number" in of_groups["segments"].sentence()
    assert "95 % credible interval" in both
    assert "members are part of the means" not in both
    assert "This is a pool" not in " ".join(of_groups["segments"].sheet().notes)
    assert "cumulative difference between new and old" in of_groups["segments"].spec


def test_shares_that_are_left_out_are_stated():
    """A hundred of 400 members have scores above all other rows."""
    score = np.r_[np.linspace(0, 1, 900), np.linspace(2, 3, 100)]
    member = np.r_[np.arange(900) % 3 == 0, np.full(100, True)]
    response = np.random.default_rng(1).random(1000)
    sub = bc.cumulative.subpopulation(response, score, member)
    assert re.search(
        "Rows of the subpopulation with 25[.0-9]* % of its weight are left out: no rows of others have similar scores",
        " ".join(sub.posterior(20, rng=1).remarks),
    )
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member, names=("x", "y"))
    for text in (str(compared), str(compared.posterior(20, rng=1))):
        assert "% of its weight are left out: no rows of y have similar scores." in " ".join(text.split())
        assert "Rows of y with" not in " ".join(text.split())


@pytest.mark.parametrize("model", MODELS)
def test_tables(of_members, of_groups, model):
    for posterior in (of_members[model], of_groups[model]):
        assert posterior.summary(kind="stats").shape[0] == 2
        tree = posterior.to_datatree()
        bins = len(posterior.score)
        assert tree["posterior"]["curve"].shape[-1] == bins
        assert tree["posterior"]["kuiper"].size == 600
        assert tree["observed_data"]["observed_curve"].shape == (bins,)
        assert tree["constant_data"]["n_rows"].shape == (bins,)
        assert tree["constant_data"]["n_rows"].values.sum() <= 2000
        row = posterior.table()[0]
        assert row["plug_in"] == posterior.observed.kuiper
        assert (row["low"], row["high"]) == tuple(posterior.kuiper.interval())


@pytest.mark.parametrize("model", MODELS)
def test_documents(of_members, of_groups, model):
    for posterior in (of_members[model], of_groups[model]):
        found = json.loads(posterior.to_json())
        assert found["model"] == model
        assert found["draws"] == 600
        assert found["probability_of_0"] == posterior.p_zero
        assert found["sub_models"] == {"drift": posterior.p_drift, "segments": 1 - posterior.p_drift}
        assert found["interval"] == {"probability": 0.95, "kind": "equal-tailed"}
        observed = json.loads(posterior.observed.to_json())
        assert found["observed"]["average_difference"] == posterior.observed.average_difference
        assert found["observed"]["curve"] == observed["curve"]


# --- intervals of scores


def test_intervals_of_scores_have_posteriors_of_their_rows():
    """Members differ by 0.4 below the score 0.5 only."""
    response, score, member = rows(4000)
    response = np.where(member & (score < 0.5), response + 0.4, response)
    inside = (score >= 0.5) & (score <= 0.9)
    part = bc.cumulative.subpopulation(response, score, member).zoom(0.5, 0.9)
    alone = bc.cumulative.subpopulation(response[inside], score[inside], member[inside])
    np.testing.assert_array_equal(part.rows.score, score[inside])
    np.testing.assert_array_equal(part.posterior(200, rng=1).kuiper.values, alone.posterior(200, rng=1).kuiper.values)
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member)
    part, whole = compared.zoom(0.5, 0.9), compared.posterior(200, rng=1)
    alone = bc.cumulative.compare_subpopulations(response[inside], score[inside], member[inside], ~member[inside])
    np.testing.assert_array_equal(part.curve, alone.curve)
    posterior = part.posterior(200, rng=1)
    np.testing.assert_array_equal(posterior.kuiper.values, alone.posterior(200, rng=1).kuiper.values)
    assert posterior.kuiper.median() < 0.1 < whole.kuiper.median()
    assert len(json.loads(posterior.to_json())["observed"]["curve"]["score"]) == len(part.steps.weight) + 1


# --- screens


@pytest.mark.parametrize("statistic", ["kuiper", "kolmogorov_smirnov"])
def test_probabilities_to_be_the_largest(statistic):
    rng = np.random.default_rng(1)
    score, ward = rng.random(2000), np.repeat(["a", "b", "c", "d"], 500)
    response = (rng.random(2000) < score) + 0.4 * (ward == "c")
    screen = bc.cumulative.screen(response, score, ward, statistic=statistic)
    found = screen.p_largest(100, rng=1)
    assert set(found) == set("abcd")
    assert sum(found.values()) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert found["c"] > 0.9
    assert found == screen.p_largest(100, rng=1)
    with pytest.raises(ValueError, match="`draws`"):
        screen.p_largest(1)


def test_constant_responses_are_refused():
    """Constant responses do not show how large a difference can be."""
    screen = bc.cumulative.screen(np.ones(120), np.tile(np.arange(20), 6), np.repeat(["a", "b", "c"], 40))
    for function in (screen.p_largest, screen["a"].posterior):
        with pytest.raises(ValueError, match="`response` must have at least two values for a posterior"):
            function(100, rng=1)


def test_responses_without_noise():
    """Members have the response 1 and others 0, so that the difference is 1 up to the prior of its size."""
    score, member = np.arange(400) // 4, np.arange(400) % 4 == 0
    posterior = bc.cumulative.compare_subpopulations(1.0 * member, score, member, ~member).posterior(100, rng=1)
    np.testing.assert_allclose(posterior.difference, 1, atol=0.05)
    np.testing.assert_allclose(posterior.kuiper.values, 1, atol=0.05)


# --- refusals


def test_rows_in_both_groups_are_refused():
    a = np.array([True, True, False, False, True, False])
    b = np.array([False, False, True, True, True, False])
    with pytest.raises(ValueError, match=r"`b` must not mark rows of `a`.*index 4(.|\n)*`b & ~a`"):
        bc.cumulative.compare_subpopulations(np.arange(6) % 2, np.arange(6), a, b)
    for name, marks in (("a", (a & False, b)), ("b", (a, b & False))):
        with pytest.raises(ValueError, match=f"`{name}` must mark at least one row of positive weight"):
            bc.cumulative.compare_subpopulations(np.arange(6) % 2, np.arange(6), *marks)


@pytest.mark.parametrize("names", ["ab", ("a",), ("a", "a"), ("a", "b", "c"), {"a": 1, "b": 2}])
def test_groups_have_two_different_names(names):
    response, score, member = rows(200)
    with pytest.raises(ValueError, match="`names` must be two different names"):
        bc.cumulative.compare_subpopulations(response, score, member, ~member, names=names)


def test_an_interval_without_other_rows_has_no_posterior():
    """All rows with scores of at least 40 are members."""
    score = np.arange(60.0)
    part = bc.cumulative.subpopulation(score % 3, score, (score % 2 == 0) | (score >= 40)).zoom(45, 59)
    with pytest.raises(ValueError, match="Both groups must have at least one row of positive weight"):
        part.posterior(20, rng=1)


def test_a_screen_names_the_group_without_posterior():
    """Scores of c lie above those of all others."""
    ward = np.repeat(["a", "b", "c"], 100)
    score = np.r_[np.arange(100), np.arange(100), np.arange(1000, 1100)].astype(float)
    screen = bc.cumulative.screen(np.arange(300) % 2, score, ward)
    with pytest.raises(ValueError, match=r"c has no posterior\. The two groups must have scores in common"):
        screen.p_largest(20, rng=1)


def test_a_note_says_why_g_can_be_above_d():
    """Pooled draws of a monotone curve, whose D and G are equal, have means in either order."""
    response, score, member = rows(2000)
    sub, seen = bc.cumulative.subpopulation(response + 0.2 * member, score, member), set()
    for seed in range(12):
        posterior = sub.posterior(50, rng=seed)
        d, g = (round(row["mean"], posterior._decimals) for row in posterior.table())
        said = any("draws of the two are not joint" in note for note in posterior.sheet().notes)
        assert said == (g > d)
        seen.add(said)
    assert seen == {True, False}
    assert not any("not joint" in note for note in sub.posterior(50, rng=1, model="segments").sheet().notes)


def test_arguments_are_checked():
    sub = bc.cumulative.subpopulation(*rows(200))
    with pytest.raises(ValueError, match="`model` must be"):
        sub.posterior(model="runs")
    with pytest.raises(ValueError, match="`draws`"):
        sub.posterior(1)
    score = np.arange(40.0)
    apart = bc.cumulative.subpopulation(score % 2, score, score < 20)
    with pytest.raises(ValueError, match=r"first lie in \[0, 19\], those of the second in \[20, 39\]"):
        apart.posterior(rng=1)
