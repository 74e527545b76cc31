"""Class frequencies of a target without labels (`make bench`); nothing is asserted of time.

Targets on a two-core machine: 20 ms for two classes and 2 s for ten, with 2000 rows on each side and 1000 draws.
"""

import os

import numpy as np
import pytest
from scipy.special import softmax

import bayescal as bc

N_TARGET = 20_000 if "BAYESCAL_QUICK" in os.environ else 1_000_000
DRAWS = 1000
CELLS = bc.ShiftCells.predicted_class(2)


def rows(n_classes, n_source, n_target):
    rng = np.random.default_rng(3)
    label = [np.arange(n_source) % n_classes, rng.integers(n_classes, size=n_target) % (n_classes - 1)]
    x = (rng.standard_normal((len(each), n_classes)) + 2 * np.eye(n_classes)[each] for each in label)
    p, p_target = (softmax(2 * each, axis=1) for each in x)
    return (label[0], p[:, 1], p_target[:, 1]) if n_classes == 2 else (label[0], p, p_target)


def bootstrap(y, p, p_target):
    """Resample both sides and invert the confusion matrix (Lipton et al. 2018): what others report."""
    rng = np.random.default_rng(1)
    p, p_target = (each if each.ndim == 2 else np.stack([1 - each, each], axis=1) for each in (p, p_target))
    n_classes = p.shape[1]
    confusion = np.bincount(y * n_classes + p.argmax(axis=1), minlength=n_classes**2) / len(y)
    share = np.bincount(p_target.argmax(axis=1), minlength=n_classes) / len(p_target)
    source = np.maximum(rng.multinomial(len(y), confusion, DRAWS), 1e-9).reshape(DRAWS, n_classes, n_classes)
    target = rng.multinomial(len(p_target), share, DRAWS) / len(p_target)
    rates = source / source.sum(axis=2, keepdims=True)
    return np.linalg.solve(np.swapaxes(rates, 1, 2), target[:, :, None])[:, :, 0]


def posterior(y, p, p_target, **options):
    return bc.class_priors(y, p, p_target, draws=DRAWS, rng=1, **options)


WAYS = {
    "cells": posterior,
    "probabilities": lambda *arrays: posterior(*arrays, using="probabilities"),
    "bootstrap of the confusion matrix": bootstrap,
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("n_classes", [2, 10])
def test_frequencies(benchmark, way, n_classes):
    benchmark.group = f"class frequencies of {n_classes} classes, {DRAWS} draws"
    arrays = rows(n_classes, 2000, 2000)
    found = benchmark.pedantic(WAYS[way], arrays, rounds=5, warmup_rounds=1)
    mean = found.mean() if isinstance(found, bc.ClassPriors) else found.mean(axis=0)
    assert abs(mean.sum() - 1) < 1e-6


@pytest.mark.parametrize("what", ["numpy.histogram", "cells", "cells and bins"])
def test_rows_of_a_target(benchmark, what):
    benchmark.group = f"{N_TARGET:.0e} rows of a target"
    p = rows(2, 10, N_TARGET)[2]
    ways = {
        "numpy.histogram": lambda: np.histogram(p, 15, (0, 1))[0],
        "cells": lambda: bc.ShiftCounts.of_target(p, cells=CELLS).target,
        "cells and bins": lambda: bc.ShiftCounts.of_target(p, cells=CELLS, bins=15).target,
    }
    assert benchmark.pedantic(ways[what], rounds=3, warmup_rounds=1).sum() == N_TARGET
