"""Rows, and a registry that forgets what a test registers."""

import numpy as np
import pytest

from bayescal.estimands import registry as module


@pytest.fixture
def registry(monkeypatch):
    """What a test registers is gone after it."""
    module.registered()
    monkeypatch.setattr(module, "_REGISTRY", dict(module._REGISTRY))


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 0.5, 4000)
    return rng.random(4000) < p, p
