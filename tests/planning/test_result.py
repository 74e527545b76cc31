"""A plan: its sentence, what it prints, and what it does not promise."""

import numpy as np
from pilots import ONE_BIN, curved_pilot, one_bin_pilot, pair_of

import bayescal as bc
from bayescal.planning.analysis import labels_needed


def test_a_pilot_that_is_enough_needs_nothing():
    plan = labels_needed(curved_pilot(), width=0.3, rng=1)
    assert (plan.rows, plan.interval, plan.rows_for(0.9), plan.curve()) == (0, (0, 0), 0, [])
    assert plan.sentence().startswith("No more rows are needed for a 95 % interval of the ECE no wider than 0.3:")
    # new rows alone are another matter
    alone = labels_needed(curved_pilot(), width=0.3, keep_pilot=False, simulations=20, draws=200, rng=1)
    assert 1 <= alone.rows < 300


def test_what_is_not_reached_is_said_and_not_extrapolated():
    plan = labels_needed(one_bin_pilot(), width=0.002, largest=3000, simulations=40, draws=200, rng=1, **ONE_BIN)
    assert plan.rows is None
    assert plan.interval[1] is None
    assert plan.sentence().startswith("Not reached: 3000 more rows give")
    assert "with assurance 0.00 (from 40 simulations), below the assurance of 0.8" in plan.sentence()
    assert max(row["rows"] for row in plan.curve()) == 3000
    assert plan.rows_for(0.999) is None


def test_a_plan_shows_itself(capsys):
    plan = labels_needed(
        pair_of([30, 70, 90, 210]), difference=0.01, simulations=20, draws=200, rng=1, progress=True, **ONE_BIN
    )
    assert capsys.readouterr().out == ""
    shown = str(plan)
    assert shown.replace("\n", " ").startswith(plan.sentence())
    assert "second better" in shown
    assert plan.spec not in shown
    assert plan.spec in str(plan.details())
    assert "<table>" in plan._repr_html_()
    assert repr(plan).startswith("Plan(")


def test_the_plan_of_a_top_label_score_names_the_target_once():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(3), 60)
    pilot = bc.evaluate(rng.integers(3, size=60), matrix, draws=100, rng=1).counts
    plan = bc.planning.labels_needed(pilot, width=0.9, estimand="brier_score", rng=1)  # the pilot is enough
    assert plan.spec.startswith("pilot: top-label Brier score, 15 equal-width bins")
