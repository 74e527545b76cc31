"""Partial pooling: simulated groups and wrong samplers."""

import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls, unspoilt
from sbc.pooling import PoolingSimulator
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring


@pytest.mark.parametrize(("together", "alone"), [(False, 0.0), (True, 0.0), (False, 0.4)])
def test_ranks_are_uniform(together, alone):
    """A false alarm in a thousand; seed fixed. `make verify` ranks more data sets."""
    assert sbc(PoolingSimulator(together=together, alone=alone), runs=300, rng=2).rejected(1e-3) == []


@pytest.mark.parametrize("name", ["outcomes flipped", "outcomes of another group", "no group alone"])
def test_wrong_samplers_are_caught(name):
    (control,) = [each for each in controls("pooling") if each.name == name]
    assert [row["caught"] for row in run_controls(chosen=[control], runs=150, rng=1).rows] == [True]


def test_right_draws_in_another_order_are_not_caught():
    (control,) = [each for each in unspoilt() if each.of == "pooling"]
    assert [row["caught"] for row in run_controls(chosen=[control], runs=150, rng=1).rows] == [False]
