"""Random effects: simulated data sets and wrong samplers."""

import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.random_effects import RandomEffectsSimulator
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


@pytest.mark.parametrize("n_sets", [2, 5, 30])
def test_ranks_are_uniform(n_sets):
    assert sbc(RandomEffectsSimulator(n_sets), runs=400, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    """Those that need 2000 data sets or more run in `make verify` only."""
    quick = [control for control in controls("random effects") if control.runs <= 1000]
    assert len(quick) == 5
    found = run_controls(chosen=quick, runs=1000, rng=1)
    assert found.survivors == []
    assert found.false_alarms == []
