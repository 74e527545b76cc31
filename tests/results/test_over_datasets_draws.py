"""Draws over data sets: means, differences, ranks and populations, by hand."""

import numpy as np
import pytest
from scipy import stats

import bayescal as bc
from bayescal.posterior.random_effects import RandomEffectsPosterior


def test_means_differences_and_ranks_by_hand(over_datasets):
    drawn = over_datasets.draws("ece").values
    np.testing.assert_allclose(over_datasets.average("ece").values, drawn.mean(axis=1))
    by_hand = (drawn[..., 0] - drawn[..., 2]).mean(axis=1)
    np.testing.assert_allclose(over_datasets.difference("A", "C").values, by_hand)
    ranks = stats.rankdata(drawn, axis=2).mean(axis=1)
    np.testing.assert_allclose(over_datasets.ranks("ece").values, ranks)
    row = {each["classifier"]: each for each in over_datasets.each()}["B"]
    assert row["rank"] == pytest.approx(ranks[:, 1].mean())
    assert (row["rank_low"], row["rank_high"]) == pytest.approx(tuple(np.quantile(ranks[:, 1], [0.025, 0.975])))
    assert row["datasets_won"] == pytest.approx((drawn.argmin(axis=2) == 1).mean(axis=0).sum())
    decision = over_datasets.decide("A", "C")
    assert decision["p_left"] == (by_hand < -0.01).mean()
    assert decision["p_rope"] == (np.abs(by_hand) <= 0.01).mean()
    assert sum(over_datasets.p_best().values()) == pytest.approx(1)
    assert list(over_datasets.expected_ranks().values()) == pytest.approx(ranks.mean(axis=0))
    means = drawn.mean(axis=1)
    assert list(over_datasets.p_worst().values()) == pytest.approx(
        (means.argmax(axis=1)[:, None] == range(3)).mean(axis=0)
    )
    curve = over_datasets.rope_curve([0.0, 0.01, 1.0], "A", "C")
    assert curve.tolist() == [(by_hand == 0).mean(), decision["p_rope"], 1.0]


def test_larger_values_of_the_auc_have_the_lower_ranks(over_datasets, rows_of_set):
    """A and C have the same order of rows in each data set, so that they tie; B too."""
    given = {}
    for i in range(3):
        y, scores = rows_of_set(i, 400, ("A", "C"))
        given[f"set {i}"] = bc.compare(y, scores | {"noise": np.random.default_rng(i).random(400)}, rng=i, draws=400)
    found = bc.compare_over_datasets(given, rng=1)
    ranks = {row["classifier"]: row["rank"] for row in found.each(estimand="auc")}
    assert ranks == {"A": pytest.approx(1.5), "C": pytest.approx(1.5), "noise": pytest.approx(3)}
    assert found.decide("A", "noise", estimand="auc")["p_left"] == 1
    assert found.table(estimand="auc")[1]["p_left_new"] > 0.9
    assert "has a larger AUC than" in found.sentence(estimand="auc") or "same AUC" in found.sentence(estimand="auc")


def test_absolute_values_of_signed_errors_are_averaged():
    """Errors of +0.1 and -0.1 do not cancel: their mean size is 0.1."""
    y = np.array([0, 1] * 300)
    given = {
        "up": (y, {"A": np.full(600, 0.6), "B": np.full(600, 0.5)}),
        "down": (y[:500], {"A": np.full(500, 0.4), "B": np.full(500, 0.5)}),
    }
    found = bc.compare_over_datasets(given, rng=1, draws=500)
    assert found.difference("A", "B", "signed_error").mean() == pytest.approx(0.1, abs=0.03)
    assert "size of the signed error" in found.sentence(estimand="signed_error")


def test_the_population_is_that_of_means_and_standard_deviations_of_the_differences(over_datasets):
    each = over_datasets.differences("A", "C").values
    exact = RandomEffectsPosterior(each.mean(axis=0)[None], each.std(axis=0, ddof=1)[None], 0.05)
    population = over_datasets.population("A", "C")
    center, sd = (values[0] for values in exact.mean_moments)
    assert population.mean.mean() == pytest.approx(center, abs=5 * sd / np.sqrt(800))
    assert population.new.sd() > population.mean.sd()
    np.testing.assert_allclose(
        over_datasets.population("C", "A").mean.mean(), -population.mean.mean(), atol=5 * sd / 28
    )
    row = next(row for row in over_datasets.table() if {row["first"], row["second"]} == {"A", "C"})
    assert abs(row["population_mean"]) == pytest.approx(abs(population.mean.mean()), abs=5 * sd / np.sqrt(800))


def test_a_pair_has_the_same_population_in_any_list(over_datasets):
    table = {(row["first"], row["second"]): row for row in over_datasets.table()}
    for (first, second), row in table.items():
        assert row["population_low"] == over_datasets.population(first, second).mean.interval(0.95)[0]
