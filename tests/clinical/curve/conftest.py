"""Rows and their calibration curve, which several tests use."""

import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="session")
def sample():
    """2000 rows of a flat population at temperature 1.5."""
    return simulate(2000, population="flat", curve="temperature", strength=1.5, rng=3)


@pytest.fixture(scope="session")
def cv(sample):
    """Return their calibration curve."""
    return bc.calibration_curve(sample.outcome, sample.confidence, rng=1)
