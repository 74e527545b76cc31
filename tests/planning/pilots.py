"""Pilots that several tests of plans share."""

from dataclasses import replace

import numpy as np
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.stats.ranks import Ranks

#: The Dirichlet model with one bin and a mean confidence that is as good as known: only the accuracy is uncertain.
ONE_BIN = {"model": "dirichlet", "alpha": 1e-6, "bin_variance": 1e-10}


def one_bin_pilot(n=400, k=320):
    """Accuracy k / n at confidence 0.2."""
    return bc.BinnedCounts.from_arrays(np.arange(n) < k, np.full(n, 0.2), bins=[0, 1])


def curved_pilot(n=300, seed=3):
    rng = np.random.default_rng(seed)
    confidence = rng.random(n)
    return bc.BinnedCounts.from_arrays(rng.random(n) < confidence**1.2, confidence, bins=8)


def pair_of(cells):
    """One bin for each model, confidence 0.2, so many rows with outcomes (0, 0), (0, 1), (1, 0), (1, 1)."""
    a, b = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], cells, axis=1)
    c = np.full(len(a), 0.2)
    return bc.PairedCounts.from_arrays(a, c, b, c, bins=[0, 1])


PAIR = pair_of([30, 70, 90, 210])


def rows_of_two(n=400, seed=1):
    """Outcomes of events, and two classifiers: the true probabilities, and noisy ones."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, n)
    return (rng.random(n) < p).astype(int), p, np.clip(p + rng.normal(0, 0.1, n), 0.01, 0.99)


def ranked_counts(y, p):
    return replace(bc.BinnedCounts.from_arrays(y, p, bins=[0, 1], target="event"), ranks=Ranks.of_rows(p, y))


FEW = ("--simulations", "20", "--draws", "100")


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})
