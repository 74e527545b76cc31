"""The smooth curve model: simulated data sets and wrong samplers."""

import numpy as np
import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls, unspoilt
from sbc.ranks import sbc
from sbc.smooth_curve import SmoothCurveSimulator

from bayescal.verify.topic_models import components

pytestmark = pytest.mark.measuring


def test_ranks_are_uniform():
    """A false alarm in a thousand; seed fixed. `make verify` ranks more data sets."""
    assert sbc(SmoothCurveSimulator(), runs=200, rng=1).rejected(1e-3) == []


def test_the_simulator_draws_from_its_prior(close_to):
    """A tenth of the truths is exact, and the mean squared deviation of logits is that of the covariances."""
    simulator, rng = SmoothCurveSimulator(), np.random.default_rng(2)
    rates = np.array([simulator.simulate_one(rng)[0]["rates"] for _ in range(4000)])
    exact = (rates == simulator.confidence).all(axis=1)
    close_to(exact.mean(), 0.1, np.sqrt(0.09 / 4000))
    deviation = np.log(rates / (1 - rates)) - np.log(simulator.confidence / (1 - simulator.confidence))
    _, share, matrix = components(simulator.confidence, simulator.confidence)
    expected = 0.3 * np.einsum("j,jab,jab->a", share, matrix, matrix)
    squares = deviation**2
    close_to(squares.mean(axis=0), expected, squares.std(axis=0) / np.sqrt(4000))


@pytest.mark.parametrize("name", ["posterior = prior", "outcomes flipped", "errors of the wrong sign"])
def test_wrong_samplers_are_caught(name):
    """Those that few data sets suffice for; `make verify` has all."""
    (control,) = [each for each in controls("smooth curve") if each.name == name]
    assert [row["caught"] for row in run_controls(chosen=[control], runs=200, rng=1).rows] == [True]


def test_right_draws_in_another_order_are_not_caught():
    (control,) = [each for each in unspoilt() if each.of == "smooth curve"]
    assert [row["caught"] for row in run_controls(chosen=[control], runs=200, rng=1).rows] == [False]
