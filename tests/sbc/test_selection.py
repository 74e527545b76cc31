"""Selective prediction: simulation-based calibration and wrong samplers."""

import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.ranks import sbc
from sbc.selection import SelectionSimulator

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


@pytest.mark.parametrize("simulator", [SelectionSimulator(), SelectionSimulator(20, 200)])
def test_ranks_are_uniform(simulator):
    assert sbc(simulator, runs=200, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    found = run_controls(chosen=controls("selection"), runs=300, rng=1)
    assert len(found.rows) == 8
    assert found.survivors == []
    assert found.false_alarms == []
