"""Many groups at once, with and without partial pooling (`make bench`); nothing is asserted of time.

Target on a two-core machine: 500 groups of 30 to 400 rows under partial pooling, 800 draws, in under 5 s.
"""

import os

import numpy as np
import pytest

import bayescal as bc

N_GROUPS = 50 if "BAYESCAL_QUICK" in os.environ else 500
N_DRAWS = 800


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(N_GROUPS), rng.integers(30, 400, N_GROUPS))
    x = rng.normal(0, 1.5, len(site))
    shift = rng.normal(0, 0.3, N_GROUPS)[site]
    y = rng.random(len(site)) < 1 / (1 + np.exp(-x - shift))
    return y, 1 / (1 + np.exp(-x)), site


@pytest.mark.benchmark(group=f"{N_GROUPS} groups, {N_DRAWS} draws")
@pytest.mark.parametrize("pooling", ["none", "partial", "complete"])
def test_groups(benchmark, rows, pooling):
    y, p, site = rows
    found = benchmark.pedantic(
        bc.evaluate, (y, p), {"by": site, "pooling": pooling, "draws": N_DRAWS, "rng": 1}, rounds=2, warmup_rounds=1
    )
    assert len(found) == N_GROUPS
