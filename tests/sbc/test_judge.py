"""Accuracies from a judge's labels: simulated data sets and wrong samplers."""

import pytest
from sbc.judge import JUDGE_MISTAKES, JUDGE_PROBLEMS
from sbc.ranks import sbc

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


@pytest.mark.parametrize("simulator", JUDGE_PROBLEMS.values(), ids=JUDGE_PROBLEMS)
def test_ranks_are_uniform(simulator):
    assert sbc(simulator, runs=300, rng=1).rejected(ERROR_RATE) == []


# wrong data may contradict the model, which the sampler says
@pytest.mark.filterwarnings("ignore::bayescal.posterior.shrinkage.model.SamplerWarning")
@pytest.mark.parametrize("mistake", JUDGE_MISTAKES, ids=lambda each: each.name)
def test_wrong_samplers_are_caught(mistake):
    simulator = JUDGE_PROBLEMS[mistake.problem]
    assert sbc(simulator, mistake.sampler(simulator), runs=mistake.runs, rng=1).rejected(ERROR_RATE)
