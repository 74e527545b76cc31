"""Distributions of source and target over cells: simulated data sets and wrong samplers."""

import pytest
from sbc.cell_shift import CellShiftSimulator
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


def test_ranks_are_uniform():
    assert sbc(CellShiftSimulator(), runs=200, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    """The others run in `make verify` only."""
    every = {control.name: control for control in controls("shift of cells")}
    assert len(every) == 12
    chosen = [every["no difference left out"], every["pooled shares as the common distribution"]]
    found = run_controls(chosen=chosen, runs=300, rng=1)
    assert found.survivors == []
    assert found.false_alarms == []
