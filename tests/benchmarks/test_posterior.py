"""From rows to an interval, and drawing (`make bench`); nothing is asserted of time, as in the tests beside this one.

Targets on a two-core machine: a million rows of event data, 15 bins and 4000 draws end to end in under 60 ms; 4000
draws of the Dirichlet model at 15 bins in under 15 ms, of the shrinkage model in under 40 ms, at 100 bins in under
200 ms; a thousand separate 15-bin problems with their null distributions in under 8 s on one core, timed as a hundred
of them. The plain row bootstrap beside them makes 20 resamples; 1000, as one would report, take 50 times as long.
"""

import os

import numpy as np
import pytest
from ways import row_bootstrap

import bayescal as bc
from bayescal.analyses.one import evaluate_one
from bayescal.datasets.simulate import simulate
from bayescal.estimands.plug_in import null_bins

N_ROWS = 100_000 if "BAYESCAL_QUICK" in os.environ else 1_000_000
N_BINS, N_DRAWS, N_RESAMPLES = 15, 4000, 20
END_TO_END = f"from {N_ROWS:,} rows to an interval"
DRAWING = f"{N_DRAWS} draws at {N_BINS} bins"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.random(N_ROWS)
    return (rng.random(N_ROWS) < p**1.1).astype(np.int64), p


@pytest.fixture(scope="module")
def counts(rows):
    return bc.BinnedCounts.from_arrays(*rows, bins=N_BINS)


@pytest.mark.benchmark(group=END_TO_END)
@pytest.mark.parametrize("model", ["shrinkage", "dirichlet"])
def test_evaluate(benchmark, rows, model):
    """Target: under 60 ms, the draws of the null distribution included."""

    def once():
        return bc.evaluate(*rows, bins=N_BINS, draws=N_DRAWS, rng=1, model=model).ece.interval(0.95)

    low, high = benchmark(once)
    assert low < 1 / 2 - 1 / 2.1 < high  # the mean of p - p^1.1, which is nowhere negative


@pytest.mark.benchmark(group=END_TO_END)
def test_plug_in(benchmark, rows):
    benchmark(bc.plug_in_ece, *rows, bins=N_BINS)


@pytest.mark.benchmark(group=END_TO_END)
def test_plain_bootstrap_of_20_resamples(benchmark, rows):
    rng = np.random.default_rng(2)
    benchmark.pedantic(row_bootstrap, (*rows, N_BINS, N_RESAMPLES, rng), rounds=2)


@pytest.mark.benchmark(group=DRAWING)
def test_draw_ece(benchmark, counts):
    """Target: under 15 ms."""
    posterior = bc.dirichlet_posterior(counts)
    benchmark(lambda: bc.ece(posterior.sample(N_DRAWS, rng=1)))


@pytest.mark.benchmark(group=DRAWING)
def test_draw_null(benchmark, counts):
    benchmark(lambda: bc.ece(null_bins(counts, N_DRAWS, rng=1)))


@pytest.mark.benchmark(group=DRAWING)
def test_exact_moments(benchmark, counts):
    """No draws at all: the mean and the sd of the ECE by quadrature."""
    posterior = bc.dirichlet_posterior(counts)
    benchmark(posterior.ece_sd)


@pytest.mark.benchmark(group=DRAWING)
def test_evaluate_counts(benchmark, counts):
    """Everything but reading the rows: posterior, null and all summaries of the printed page."""
    benchmark(lambda: str(bc.evaluate_counts(counts, draws=N_DRAWS, rng=1)))


SHRINKAGE = f"shrinkage model, integrated and drawn {N_DRAWS} times"


def simulated(n_bins, seed):
    rows = simulate(2000, population="flat", curve="temperature", strength=1.2, rng=seed)
    return bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=n_bins)


@pytest.mark.benchmark(group=SHRINKAGE)
@pytest.mark.parametrize("n_bins", [15, 100])
def test_shrinkage(benchmark, n_bins):
    """Targets: under 40 ms, under 200 ms."""
    counts = simulated(n_bins, seed=1)
    benchmark(lambda: bc.ece(bc.shrinkage_posterior(counts).sample(N_DRAWS, rng=1)))


@pytest.mark.benchmark(group="100 problems of 15 bins, posterior and null distribution")
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
def test_a_hundred_problems(benchmark, compiled):
    """Target in compiled form: a tenth of 8 s; every problem has other counts."""
    problems = [simulated(15, seed) for seed in range(100)]

    def once():
        evaluations = (evaluate_one(c, draws=N_DRAWS, rng=1, compiled=compiled) for c in problems)
        return [(each.ece.values, each.null.values, each.posterior.log_bayes_factor) for each in evaluations]

    benchmark.pedantic(once, rounds=3, warmup_rounds=1)
