"""Rows and decision curves that several tests use."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bayescal as bc

sys.path.append(str(Path(__file__).parent))

T = np.array([0.1, 0.2, 0.5])


@pytest.fixture(scope="session")
def scores():
    """Make outcomes, rounded scores of three models and weights."""

    def make(n=500, *, seed=1, dtype=np.float64):
        rng = np.random.default_rng(seed)
        p = {name: rng.beta(1, 2, n).round(2).astype(dtype) for name in "abc"}
        return (rng.random(n) < p["a"]).astype(int), p, rng.exponential(size=n)

    return make


@pytest.fixture(scope="session")
def data():
    """Outcomes y and probabilities p of 400 rows, by two models, of which the first is calibrated."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 400)
    y = (rng.random(400) < p).astype(int)
    return SimpleNamespace(y=y, p={"new": p, "old": np.clip(p + 0.2 * rng.standard_normal(400), 0, 1)})


@pytest.fixture(scope="session")
def single(data):
    """Return the decision curve of one model."""
    return bc.decisions.net_benefit(data.y, data.p["new"], T, rng=1)


@pytest.fixture(scope="session")
def pair(data):
    """Return the decision curves of two models."""
    return bc.decisions.net_benefit(data.y, data.p, T, rng=1)
