"""Accuracies from known outcomes: simulated data sets and wrong samplers, also one that learns the odds ratio."""

import pytest
from sbc.known import KNOWN_MISTAKES, KnownSimulator
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


def test_ranks_are_uniform():
    assert sbc(KnownSimulator(), runs=500, rng=1).rejected(ERROR_RATE) == []


@pytest.mark.parametrize("mistake", KNOWN_MISTAKES, ids=lambda each: each.name)
def test_wrong_samplers_are_caught(mistake):
    simulator = KnownSimulator()
    assert sbc(simulator, mistake.sampler(simulator), runs=mistake.runs, rng=1).rejected(ERROR_RATE)
