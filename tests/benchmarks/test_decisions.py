"""Decision curves (`make bench`); nothing is asserted of time.

Target on a two-core machine: 99 thresholds and 4000 draws from 14 000 rows in under 100 ms, intervals and probabilities
included. The Bayesian bootstrap of the rows beside it makes 20 resamples at the same thresholds; 4000 take 200 times as
long.
"""

import numpy as np
import pytest

import bayescal as bc

N_ROWS, N_RESAMPLES = 14_000, 20
THRESHOLDS = np.arange(1, 100) / 100
GROUP = f"decision curve of {N_ROWS:,} rows, 99 thresholds"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, N_ROWS)
    return (rng.random(N_ROWS) < p).astype(np.int64), p


def row_bootstrap(y, p, rng):
    """Net benefits of weighted rows, sorted once: cumulative sums from the largest score down."""
    order = np.argsort(-p)
    y, p = y[order], p[order]
    treated = np.searchsorted(-p, -THRESHOLDS, side="right")
    found = []
    for _ in range(N_RESAMPLES):
        weight = rng.standard_exponential(len(p))
        ones, zeros = (np.concatenate([[0], np.cumsum(weight * (y == z))]) for z in (1, 0))
        found.append((ones[treated] - THRESHOLDS / (1 - THRESHOLDS) * zeros[treated]) / weight.sum())
    return np.array(found)


@pytest.mark.benchmark(group=GROUP)
def test_net_benefit(benchmark, rows):
    """Target: under 100 ms."""

    def once():
        found = bc.decisions.net_benefit(*rows, rng=1)
        return found.net_benefit["model"].interval(), found.p_useful["model"]

    (low, high), _ = benchmark(once)
    # E 1{p >= 1/2} (2 p - 1) of Beta(1, 2)
    assert low[49] < 1 / 12 < high[49]


@pytest.mark.benchmark(group=GROUP)
def test_from_counts(benchmark, rows):
    counts = bc.ThresholdCounts.from_arrays(*rows)
    benchmark(lambda: bc.net_benefit_counts(counts, rng=1).net_benefit)


@pytest.mark.benchmark(group=GROUP)
def test_bayesian_bootstrap_of_20_resamples(benchmark, rows):
    drawn = benchmark(lambda: row_bootstrap(*rows, np.random.default_rng(2)))
    expected = bc.decisions.net_benefit(*rows, rng=1).moments["model"]
    assert np.abs(drawn.mean(axis=0) - expected[0])[49] < 5 * expected[1][49] / np.sqrt(N_RESAMPLES)
