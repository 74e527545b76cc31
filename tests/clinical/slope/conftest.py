"""Rows and their recalibration, which several tests use."""

import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="session")
def too_extreme():
    """Predictions that are too extreme by a factor of 2 on the logit scale."""
    return simulate(3000, population="flat", curve="temperature", strength=2, rng=2)


@pytest.fixture(scope="session")
def rc(too_extreme):
    """Return their recalibration."""
    return bc.recalibration(too_extreme.outcome, too_extreme.confidence, rng=1)
