"""Measure how often intervals of the marginal calibration error and of pooled errors contain the truth; write
docs/explanation/classwise.md: part of `make coverage`. All posteriors are in compiled form, as in classwise_means.py.
"""

import argparse
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from classwise_means import BINS, CHUNK, POPULATIONS, PROB, TRUTH_VALUES, Floats, probabilities
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import (
    FEWER_DRAWS,
    coverage_rows,
    errors_near,
    jobs_of,
    measured,
    one_line_per_cell,
    rows_of_jobs,
    run_study,
)

import bayescal as bc
from bayescal.verify.coverage import stacked

SEED = 16
CELLS = tuple((k, n, name) for k in (2, 3, 10) for n in (300, 2000) for name in POPULATIONS)
#: Data sets per cell, in full and with --quick.
REPEATS = (120, 2)
COLUMNS = ("classes", "n_rows", "population", "method", "truth", "coverage", "above", "width", "repeats")
METHODS = {"squared": "marginal, squared", "pooled": "pooled ECE", "pooled_l2": "pooled l_2"}


def true_errors(n_classes: int, population: str) -> dict[str, float]:
    """True marginal and pooled errors of the bins."""
    rng, total = np.random.default_rng(0), np.zeros((3, n_classes, BINS))
    rows = TRUTH_VALUES // n_classes
    for start in range(0, rows, CHUNK):
        true, stated = probabilities(rng, min(CHUNK, rows - start), n_classes, population)
        cell = np.minimum((stated * BINS).astype(int), BINS - 1) + BINS * np.arange(n_classes)
        for values, sums in zip((np.ones_like(true), true, true - stated), total, strict=True):
            sums += np.bincount(cell.ravel(), values.ravel(), n_classes * BINS).reshape(n_classes, BINS)
    mass, outcome, gap = total / rows
    squares = _squares(gap, mass).sum(axis=1)
    pooled = gap.sum(axis=0) / n_classes, mass.sum(axis=0) / n_classes
    return {
        "squared": float(squares @ outcome.sum(axis=1)),
        "pooled": float(np.abs(pooled[0]).sum()),
        "pooled_l2": float(np.sqrt(_squares(*pooled).sum())),
    }


def _squares(gap: Floats, mass: Floats) -> Floats:
    return np.divide(gap**2, mass, out=np.zeros_like(gap), where=mass > 0)


def intervals(y: NDArray[np.int64], stated: Floats, draws: int, seed: int) -> dict[str, tuple[float, float]]:
    """Interval of each error."""
    classes = range(stated.shape[1])
    found = bc.evaluate(y, stated, target="classwise", classes=classes, bins=BINS, draws=draws, rng=seed)
    errors = found.marginal_calibration_error(squared=True), found.pooled_error(), found.pooled_error("l2_error")
    return {method: error.interval(PROB) for method, error in zip(METHODS, errors, strict=True)}


def of_cell(job: tuple[int, int, str, int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Coverage of all errors on the same data sets."""
    n_classes, n_rows, population, repeats, draws, rng = job

    def of_data_sets() -> Iterator[dict[str, tuple[float, float]]]:
        for _ in range(repeats):
            true, stated = probabilities(rng, n_rows, n_classes, population)
            y = (true.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=n_classes - 1)
            yield intervals(y, stated, draws, int(rng.integers(2**31)))

    truth = dict.fromkeys(METHODS, 0.0) if population == "calibrated" else true_errors(n_classes, population)
    about = {"classes": n_classes, "n_rows": n_rows, "population": population}
    found = stacked(of_data_sets())
    return [
        {**row, "truth": truth[method]}
        for method in METHODS
        for row in coverage_rows(about, {method: found[method]}, truth[method])
    ]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of 300 rows."""
    chosen = [(*cell, options.repeats) for cell in CELLS if not options.quick or cell[1] <= 300]
    jobs = jobs_of(chosen, options.draws, rng=np.random.default_rng(SEED))
    os.environ["BAYESCAL_COMPILE"] = "always"  # as in classwise_means.py
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
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
    form = "{classes}|{n_rows}|{population}|" + "|".join(
        f"{{{name}_truth:.4f}}|{{{name}_coverage:.2f}}|{{{name}_width:.4f}}" for name in METHODS
    )
    head = "Classes: | Rows: | Population | " + " | ".join(f"{m}: true: | coverage: | width:" for m in METHODS.values())
    lines = one_line_per_cell(rows, ("classes", "n_rows", "population"))
    shares = {name: np.array([row["coverage"] for row in rows if row["method"] == name]) for name in METHODS}
    short = table(
        "Error | Worst coverage: | Mean coverage: | Cells below 0.85:",
        (
            [METHODS[n], f"{c.min():.2f}", f"{c.mean():.3f}", f"{(c < 0.85).sum()} of {len(c)}"]
            for n, c in shares.items()
        ),
    )
    return {"pooled_conditions": conditions, "pooled": table(head, cells(lines, form)), "pooled_summary": short}


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
