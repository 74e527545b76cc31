"""Simulated studies of two classifiers: their truths, and what settles no difference."""

import numpy as np
import pytest
from pilots import ONE_BIN, pair_of, ranked_counts, rows_of_two

import bayescal as bc
from bayescal.planning import studies as planning
from bayescal.planning.analysis import labels_needed


def test_truths_of_a_pair_have_the_accuracies_of_both_models():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    q = np.clip(p + rng.normal(0, 0.1, 500), 0, 1)
    y = rng.random(500) < p
    pair = bc.PairedCounts.from_arrays(y, p, y, q, bins=4, target="event")
    weight, within, at = planning._pairs_of_bins(pair)
    assert weight.sum() == pytest.approx(500)
    # one event: the models' outcomes never differ
    np.testing.assert_array_equal(within[:, 1:3], 0)
    mass = rng.dirichlet(weight)
    accuracies = [rng.random(4), rng.random(4)]
    shares = planning._outcomes(within, mass, at, accuracies)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for k, (cells, accuracy) in enumerate(zip(at, accuracies, strict=True)):
        positive = shares[:, 2 - k] + shares[:, 3]
        got = [np.average(positive[cells == b], weights=mass[cells == b]) for b in range(4)]
        np.testing.assert_allclose(got, accuracy)
    # and no more often than their accuracies make them
    np.testing.assert_allclose(np.minimum(shares[:, 1], shares[:, 2]), 0, atol=1e-12)


@pytest.mark.measuring
def test_two_names_of_one_model_never_settle_which_is_smaller():
    """Both ECEs are equal in every draw: no number of rows says which is smaller, and that is no verdict."""
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = rng.random(300) < p
    same = bc.PairedCounts.from_arrays(y, p, y, p, bins=5)
    plan = labels_needed(same, difference=0, simulations=40, draws=200, largest=20_000, rng=1)
    assert plan.rows is None
    assert plan.sentence().startswith("Not reached: ")
    assert {row["share"] for row in plan.curve()} == {0.0}


@pytest.mark.parametrize("name", ["brier_score", "log_score", "auc"])
def test_scores_of_one_classifier_under_two_names_are_equal(name):
    y, p, _ = rows_of_two()
    rows, counts = bc.Predictions.from_labels(y, p), ranked_counts(y, p)
    pair = bc.PairedCounts.from_predictions(rows, rows, counts, counts)
    known = {"estimand": name, "simulations": 20, "draws": 200, "rng": 1, "keep_pilot": False, **ONE_BIN}
    alone = labels_needed(pair, difference=0.01, **known)
    assert {row["equal"] for row in alone.curve() if row["rows"] >= 20} == {1.0}


def test_a_few_new_rows_of_one_outcome_meet_no_goal():
    y, p, _ = rows_of_two()
    plan = labels_needed(
        ranked_counts(y, p), width=0.9, estimand="auc", keep_pilot=False, simulations=40, draws=200, rng=1, **ONE_BIN
    )
    assert 1 <= plan.rows < 50
    assert plan.curve()[0]["share"] < 1


@pytest.mark.measuring
def test_pairs_worth_half_need_twice_as_many():
    """As for one classifier: weights 0 and 2 in turn, so half of the rows count."""
    plain, w = pair_of([30, 70, 90, 210]), np.tile([0.0, 2.0], 400)
    a, b = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], [60, 140, 180, 420], axis=1)
    c = np.full(800, 0.2)
    weighted = bc.PairedCounts.from_arrays(a, c, b, c, bins=[0, 1], weights=w)
    assert planning._pairs_of_bins(weighted)[0].sum() == pytest.approx(400)
    known = {"difference": 0, "simulations": 200, "draws": 500, "rng": 1, **ONE_BIN}
    few, many = (labels_needed(each, **known).rows for each in (plain, weighted))
    assert many == pytest.approx(2 * few, rel=0.35)
