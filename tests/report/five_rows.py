"""Five rows whose plots can be drawn by hand, and made-up rows with a given look."""

import numpy as np

import bayescal as bc

# five rows, two bins: [0, 1/2) holds 0.2 and 0.4, one of two right; [1/2, 1] holds 0.7, 0.9, 0.95, two of three right
Y, P = [0, 1, 1, 1, 0], [0.2, 0.4, 0.7, 0.9, 0.95]


def small(**options: object) -> bc.Evaluation:
    return bc.evaluate(Y, P, **{"bins": 2, "rng": 1, "model": "dirichlet", **options})


def rows(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Made-up data with a given look."""
    rng = np.random.default_rng(5)
    n = {"three rows": 3, "million": 1_000_000}.get(case, 2000)
    p = {
        "squeezed": lambda: 1 - 0.1 * rng.beta(1, 3, n),
        "one bin": lambda: 0.61 + 0.03 * rng.random(n),
        "rare": lambda: rng.beta(0.5, 4, n),
        "sure": lambda: (rng.random(n) < 0.5).astype(float),
    }.get(case, lambda: rng.random(n))()
    return (rng.random(n) < p**1.1).astype(int), p
