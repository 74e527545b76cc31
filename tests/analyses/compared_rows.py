"""Rows of two classifiers, of an event and of three classes."""

import numpy as np

DRAWS = 1000


def event(n=600, seed=1):
    """Outcomes, and the probabilities of an honest and an over-confident model."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    return y, p, p**3 / (p**3 + (1 - p) ** 3)


def multiclass(n=400, seed=2):
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet([1, 1, 1], n), rng.dirichlet([1, 1, 1], n)
    return np.array([rng.choice(3, p=row) for row in first]), first, second
