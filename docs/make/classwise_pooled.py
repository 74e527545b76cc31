"""Measure how often intervals of the marginal calibration error and of pooled errors contain the truth; write
docs/explanation/classwise.md: part of `make coverage`. Populations are those of classwise_means.py.
"""

import argparse
import os
from functools import partial
from typing import Any

import numpy as np
from classwise_means import COLUMNS, POPULATIONS, PROB, REPEATS, bins_of_classes, of_cell, squares_of, tables_of
from pages import rows_again
from studies import FEWER_DRAWS, errors_near, jobs_of, measured, rows_of_jobs, run_study

SEED = 16
CELLS = tuple((k, n, name) for k in (2, 3, 10) for n in (300, 2000) for name in POPULATIONS)
METHODS = {"squared": "marginal, squared", "pooled": "pooled ECE", "pooled_l2": "pooled l_2"}


def true_errors(n_classes: int, population: str) -> dict[str, float]:
    """True marginal and pooled errors of the bins."""
    mass, outcome, gap = bins_of_classes(n_classes, population)
    pooled = gap.sum(axis=0) / n_classes, mass.sum(axis=0) / n_classes
    return {
        "squared": float(squares_of(gap, mass).sum(axis=1) @ outcome.sum(axis=1)),
        "pooled": float(np.abs(pooled[0]).sum()),
        "pooled_l2": float(np.sqrt(squares_of(*pooled).sum())),
    }


def errors_of(found: Any) -> dict[str, Any]:
    """Return draws of each error."""
    errors = found.marginal_calibration_error(squared=True), found.pooled_error(), found.pooled_error("l2_error")
    return dict(zip(METHODS, errors, strict=True))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of three classes and 300 rows."""
    chosen = [(*cell, options.repeats) for cell in CELLS if not options.quick or cell[:2] == (3, 300)]
    jobs = jobs_of(chosen, options.draws, rng=np.random.default_rng(SEED))
    os.environ["BAYESCAL_COMPILE"] = "always"  # as in classwise_means.py
    rows = rows_of_jobs(partial(of_cell, errors=errors_of, truths=true_errors), jobs, workers=options.workers)
    return measured(SEED, {"prob": PROB, "draws": options.draws}, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    repeats = rows[0]["repeats"]
    (error,) = errors_near(PROB, repeats)
    conditions = (
        f"bayescal {numbers['bayescal']}: {repeats} data sets per line, {numbers['draws']} draws, seed "
        f"{numbers['seed']}.\nThe standard error of one share near {PROB:g} is {error}.\n"
    )
    pooled, short = tables_of(rows, METHODS, "Error")
    return {"pooled_conditions": conditions, "pooled": pooled, "pooled_summary": short}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="classwise_pooled.json",
        page="classwise.md",
        shown=("pooled", "pooled_summary"),
        command="docs/make/classwise_pooled.py",
        repeats=REPEATS,
        draws=FEWER_DRAWS,
    )
