"""Clinical summaries that several tests use."""

from types import SimpleNamespace

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="session")
def data():
    """Outcomes y, risks p that are too extreme by a factor of 1.5, noisy risks q, and thresholds."""
    rows = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=3)
    p = rows.confidence
    noise = np.random.default_rng(1).normal(0, 0.8, len(p))
    q = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + noise)))
    return SimpleNamespace(y=rows.outcome.astype(int), p=p, q=q, thresholds=[0.1, 0.4])


@pytest.fixture(scope="session")
def single(data):
    """Return the summary of one model."""
    return bc.clinical_summary(data.y, data.p, data.thresholds, rng=1)


@pytest.fixture(scope="session")
def pair(data):
    """Return the summary of two models."""
    return bc.clinical_summary(data.y, {"new": data.p, "old": data.q}, data.thresholds, rng=1)


@pytest.fixture(scope="session")
def rows_of():
    """Rows of one model, by quantity, and by quantity and threshold for the utility."""

    def by_quantity(summary, model="model"):
        table = [row for row in summary.table() if row["model"] == model]
        return {
            row["quantity"] if np.isnan(row["threshold"]) else (row["quantity"], row["threshold"]): row for row in table
        }

    return by_quantity
