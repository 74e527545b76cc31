"""Rows and counts of a source and a target that several tests share, and the command that evaluates files of them."""

from functools import partial

import numpy as np
from scipy.special import expit, softmax
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior

PREDICTED = bc.ShiftCells.predicted_class(2)


def three(bins=4):
    rng = np.random.default_rng(4)
    y, p, p_target = rng.integers(3, size=200), rng.dirichlet(np.ones(3), 200), rng.dirichlet(np.ones(3), 150)
    cells = bc.ShiftCells.of_confidences(p, 2)
    how = {"cells": cells, "bins": bins, "classes": ("a", "b", "c")}
    return bc.ShiftCounts.of_source(np.array(list("abc"))[y], p, **how) + bc.ShiftCounts.of_target(p_target, **how)


def two(**how):
    p = np.random.default_rng(5).random(90)
    how = {"cells": PREDICTED, **how}
    return bc.ShiftCounts.of_source(np.arange(90) % 2, p, **how) + bc.ShiftCounts.of_target(p, **how)


def posterior(source, target, cells=PREDICTED):
    return ClassPriorPosterior(bc.ShiftCounts(np.array(source), np.array(target), cells))


covariate = partial(bc.evaluate_shifted, shift="covariate")


def labelled_rows(n=1000, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(int), p, rng


def event(n, share, rng, n_target=None, target=0.2):
    y, y_target = np.arange(n) % 100 < 100 * share, rng.random(n_target or n) < target
    return y.astype(int), *(expit(2 * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target)), y_target.astype(int)


def several(n, rng):
    y, y_target = rng.integers(3, size=n), rng.choice(3, n, p=[0.6, 0.3, 0.1])
    p, p_target = (softmax(1.75 * (rng.standard_normal((n, 3)) + 1.75 * np.eye(3)[c]), axis=1) for c in (y, y_target))
    return y, p, p_target, y_target


def run(*arguments):
    given = ["shift", *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})


BOTH = ("--label", "y", "--prob", "p")
