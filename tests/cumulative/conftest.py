"""Rows that several tests of cumulative differences use."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def simulated():
    """Make outcomes, scores and weights (or None) of rows that are not quite calibrated."""

    def make(n=300, *, seed=1, decimals=2, weighted=False):
        rng = np.random.default_rng(seed)
        score = rng.random(n).round(decimals)
        weights = rng.exponential(size=n) if weighted else None
        return rng.random(n) < score**1.2, score, weights

    return make


@pytest.fixture(scope="session")
def rows_in_groups():
    """Make responses, scores, groups and weights (or None) without differences between groups."""

    def make(n=2000, n_groups=25, *, seed=1, weighted=False, real=False):
        rng = np.random.default_rng(seed)
        score = rng.random(n).round(2)
        response = rng.normal(size=n) + 100 if real else rng.random(n) < score
        weights = rng.exponential(size=n) * (rng.random(n) < 0.9) if weighted else None
        return response, score, rng.integers(0, n_groups, n), weights

    return make


@pytest.fixture(scope="session")
def rows_with_members():
    """Make responses, scores, marks of members and weights (or None)."""

    def make(n=150, *, seed=1, weighted=False, real=True):
        rng = np.random.default_rng(seed)
        score = np.round(8 * rng.normal(size=n)) / 8  # midpoints are exact, and some rows lie on them
        response = rng.gamma(1 + score**2).round(3) if real else rng.random(n) < 0.4
        weights = rng.exponential(size=n).round(2) + 0.01 if weighted else None
        return response, score, rng.random(n) < 0.3, weights

    return make
