"""Smooth calibration curves from rows and from fine counts (`make bench`).

Target on a two-core machine: 14 000 rows in at most 30 ms, with 4000 draws of the curve and of the ICI.
"""

import numpy as np
import pytest

import bayescal as bc

N_ROWS = 14_000
GROUP = f"ICI of {N_ROWS:,} rows"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 1.8, N_ROWS)
    return (rng.random(N_ROWS) < p).astype(np.int64), p


@pytest.mark.benchmark(group=GROUP)
def test_calibration_curve(benchmark, rows):
    """Target: under 30 ms."""
    low, _ = benchmark(lambda: bc.calibration_curve(*rows, rng=1).ici.interval(0.95))
    assert low == 0


@pytest.mark.benchmark(group=GROUP)
def test_from_counts(benchmark, rows):
    counts = bc.BinnedCounts.from_arrays(*rows, bins=1000)
    low, _ = benchmark(lambda: bc.calibration_curve.from_counts(counts, rng=1).ici.interval(0.95))
    assert low == 0
