"""Positive controls: every wrong sampler is caught, the right one is not, and the report can say otherwise."""

from dataclasses import replace

import numpy as np
import pytest
from sbc.control import Control
from sbc.controls import broken_rules, run_controls
from sbc.mistakes import controls, problems, unspoilt

pytestmark = pytest.mark.measuring

#: A shrinkage posterior takes some 15 ms, so only controls that are seen in so many data sets run here.
QUICK = 100
#: Data sets that suffice for most of them, with p-values below 1e-9, and mistakes in the Dirichlet sampler that need
#: those of `make verify`.
ENOUGH = {"dirichlet": 300, "shrinkage": 50}
SUBTLE = {
    "Jeffreys for uniform",
    "masses: alpha of one outcome only",
    "masses from counts without prior",
    "masses independent, then normalised",
    "masses by bootstrap",
    "Normal accuracies",
    "one uniform for accuracy and mean confidence",
    "truncation forgotten",
    "clipped for truncated",
    "n for n + 1 in the precision",
    "observed mean alone, not pulled to the middle",
}


@pytest.fixture(scope="module")
def results():
    """All mistakes in the Dirichlet sampler, the quick ones of those in the shrinkage one; `make verify` runs all."""
    quick = [control for control in controls() if control.of == "dirichlet" or control.runs <= QUICK]
    chosen = [c if c.name in SUBTLE else replace(c, runs=ENOUGH[c.of]) for c in quick]
    return run_controls(error_rate=1e-6, rng=1, chosen=chosen)


def test_every_wrong_sampler_is_caught(results, capsys):
    with capsys.disabled():
        print(f"\n{str(results).splitlines()[-1]}")
    assert results.survivors == []
    assert results.kill_rate == 1.0
    assert sum(row["of"] == "dirichlet" for row in results.rows) >= 20
    assert sum(row["of"] == "shrinkage" for row in results.rows) >= 8


def test_the_right_sampler_is_not(results):
    assert results.false_alarms == []
    assert {row["problem"] for row in results.right} == {row["problem"] for row in results.rows}


def test_the_steps_of_the_mistakes_are_right_without_the_mistake():
    """So it is the mistake that is caught, not the way it is made."""
    assert run_controls(runs=ENOUGH["shrinkage"], error_rate=1e-6, rng=3, chosen=unspoilt()).caught == 0


def test_all_are_caught_by_ranks_alone(results):
    """Rules that any draw must obey (masses sum to 1) see a few besides."""
    by_rules_only = [row["name"] for row in results.rows if row["caught"] and row["p"] > 1e-6]
    assert by_rules_only == []


def test_the_table_says_what_was_caught_by_what(results):
    lines = str(results).splitlines()
    assert len(lines) == len(results.rows) + 1
    assert any(line.startswith("dirichlet  Beta arguments swapped") and "caught  " in line for line in lines)
    assert lines[-1].startswith(f"{results.caught} of {len(results.rows)} wrong samplers caught, 0 of ")


def test_a_sampler_that_is_right_would_survive():
    """So the kill rate is not 1 by construction."""
    right = Control("nothing wrong", "jeffreys", lambda simulator: simulator.sample)
    hidden = Control(
        "a shift that is too small to see",
        "jeffreys",
        lambda simulator: (
            lambda c, n, rng: (lambda bins: replace(bins, accuracy=np.clip(bins.accuracy + 1e-4, 0, 1)))(
                simulator.sample(c, n, rng)
            )
        ),
    )
    results = run_controls(runs=300, rng=2, chosen=[right, hidden])
    assert results.survivors == ["nothing wrong", "a shift that is too small to see"]
    assert results.kill_rate == 0.0
    assert "MISSED" in str(results)


def test_every_control_has_the_runs_it_says():
    few = [control for control in controls("dirichlet") if control.name in ("float32", "half the data")]
    few[0] = replace(few[0], runs=60)
    results = run_controls(rng=4, chosen=few)
    assert [row["runs"] for row in results.rows] == [60, 1000]
    assert "(60 to 1000 data sets each" in str(results)
    assert {row["problem"]: row["runs"] for row in results.right} == {c.problem: c.runs for c in few}


def test_workers_change_nothing():
    few = [control for control in controls() if control.name in ("float32", "half the data") and control.runs != 200]
    alone, together = (run_controls(runs=30, rng=5, chosen=few, workers=workers) for workers in (1, 2))
    assert (alone.rows, alone.right) == (together.rows, together.right)


def test_workers_know_the_registered_controls_only():
    mine = Control("mine", "jeffreys", lambda simulator: simulator.sample)
    with pytest.raises(ValueError, match=r"1 of 1 are not, first 'mine'. Use `workers=1`"):
        run_controls(runs=30, chosen=[mine], workers=2)


def test_rules_of_probabilities():
    simulator = problems()["uniform"]
    _, counts = simulator.simulate(5, np.random.default_rng(5))
    bins = simulator.sample(counts, 10, np.random.default_rng(6))
    assert broken_rules(bins, counts) == []
    assert broken_rules(replace(bins, mass=bins.mass * 1.01), counts) == ["not: masses sum to 1"]
    assert broken_rules(replace(bins, accuracy=bins.accuracy + 1), counts) == ["not: accuracies lie in [0, 1]"]
    assert broken_rules(replace(bins, confidence=np.full_like(bins.mass, np.nan)), counts) == [
        "not: mean confidences lie in their bins"
    ]
