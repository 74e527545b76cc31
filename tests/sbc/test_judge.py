"""Accuracies from a judge's labels: simulated data sets and wrong samplers."""

import pytest
from sbc.judge import JUDGE_MISTAKES, JudgeSimulator
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


def test_ranks_are_uniform():
    assert sbc(JudgeSimulator(), runs=300, rng=1).rejected(ERROR_RATE) == []


@pytest.mark.parametrize("mistake", JUDGE_MISTAKES, ids=lambda each: each.name)
def test_wrong_samplers_are_caught(mistake):
    simulator = JudgeSimulator()
    assert sbc(simulator, mistake.sampler(simulator), runs=mistake.runs, rng=1).rejected(ERROR_RATE)
