"""Net benefit: simulation-based calibration and wrong samplers."""

import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.net_benefit import NetBenefitSimulator
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


@pytest.mark.parametrize("simulator", [NetBenefitSimulator(), NetBenefitSimulator(("a",), rows=100)])
def test_ranks_are_uniform(simulator):
    assert sbc(simulator, runs=200, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    """Those that need 2000 data sets or more run in `make verify` only."""
    quick = [control for control in controls("net benefit") if control.runs <= 1000]
    assert len(quick) == 5
    found = run_controls(chosen=quick, runs=300, rng=1)
    assert found.survivors == []
    assert found.false_alarms == []
