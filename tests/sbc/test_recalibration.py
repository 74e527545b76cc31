"""Intercept and slope: simulated data sets and wrong samplers."""

from dataclasses import replace

import numpy as np
import pytest
from sbc.controls import run_controls
from sbc.mistakes import controls
from sbc.ranks import sbc
from sbc.recalibration import RecalibrationSimulator
from scipy.special import expit

pytestmark = pytest.mark.measuring

ERROR_RATE = 1e-6


def test_the_simulator_draws_from_the_prior():
    """The shift at the weighted mean logit has mean 0 and standard deviation 2.5, the slope 1 and 1; five errors."""
    simulator = RecalibrationSimulator(rows=40)
    truth, data = simulator.simulate(2000, np.random.default_rng(2))
    slope = truth["slope"][0]
    assert slope.mean() == pytest.approx(1, abs=5 / np.sqrt(2000))
    assert slope.std() == pytest.approx(1, abs=5 / np.sqrt(4000))
    weights = [each.n * expit(each.logit) * expit(-each.logit) for each in data]
    levers = np.array([w @ each.logit / w.sum() for w, each in zip(weights, data, strict=True)])
    shift = truth["intercept"][0] + levers * (slope - 1)
    assert shift.mean() == pytest.approx(0, abs=5 * 2.5 / np.sqrt(2000))
    assert shift.std() == pytest.approx(2.5, abs=5 * 2.5 / np.sqrt(4000))
    assert all(each.n_rows == 40 for each in data)


def test_the_sampler_passes_and_mistakes_do_not():
    """100 data sets; `make verify` runs all mistakes."""
    simulator = RecalibrationSimulator(rows=60, step=0.5)
    assert sbc(simulator, runs=100, rng=3).rejected(ERROR_RATE) == []
    plain = ("posterior = prior", "outcomes flipped", "t for the intercept")
    few = [replace(c, runs=100) for c in controls("recalibration") if c.name in plain]
    found = run_controls(error_rate=ERROR_RATE, rng=3, chosen=few)
    assert found.survivors == []
    assert found.false_alarms == []
