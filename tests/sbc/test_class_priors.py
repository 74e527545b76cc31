"""Class frequencies of a target: simulated data sets and wrong samplers."""

import pytest
from sbc.class_priors import ClassPriorSimulator
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


@pytest.mark.parametrize(("n_classes", "n_ranges", "target_rows"), [(2, 3, 100), (4, 3, 100), (4, 1, 1000)])
def test_ranks_are_uniform(n_classes, n_ranges, target_rows):
    """Chains of two classes; chains of four, with more cells than classes, and with more rows of the target."""
    simulator = ClassPriorSimulator(n_classes, n_ranges, target_rows=target_rows)
    assert sbc(simulator, runs=150, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    """The others run in `make verify` only."""
    every = controls("class frequencies")
    assert len(every) == 6
    found = run_controls(chosen=[every[0]], rng=1)
    assert found.survivors == []
    assert found.false_alarms == []
