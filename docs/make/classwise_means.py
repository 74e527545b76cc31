"""Measure how often intervals of three means over classes contain the truth; write docs/explanation/classwise.md: part
of `make coverage`. All posteriors are in compiled form, as by default from 100 classes on.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import softmax
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

SEED, PROB, BINS = 15, 0.95, 15
#: Populations: how much the stated logits are stretched, and the share of labels that are replaced at random.
POPULATIONS = {
    "calibrated": (1.0, 0.0),
    "logits x 1.1": (1.1, 0.0),
    "logits x 1.5": (1.5, 0.0),
    "10 % noise": (1.0, 0.1),
}
CELLS = tuple((k, n, name) for k in (3, 10, 50) for n in (300, 2000, 10_000) for name in POPULATIONS)
#: Standard deviation of the true logits, and range of their means: classes differ in frequency.
SPREAD, RANGE = 2.0, 2.0
#: Probabilities from which true errors are computed, over all classes, and rows at a time.
TRUTH_VALUES, CHUNK = 6_000_000, 20_000
#: From this number of classes on, the number of data sets is divided.
MANY, FEWER = 50, 2
#: Data sets per cell, in full and with --quick.
REPEATS = (120, 2)
COLUMNS = ("classes", "n_rows", "population", "method", "truth", "coverage", "above", "width", "repeats")
METHODS = ("mean", "marginal", "rms")
Floats = NDArray[np.float64]


def probabilities(rng: np.random.Generator, n_rows: int, n_classes: int, population: str) -> tuple[Floats, Floats]:
    """True probabilities of the classes, and stated ones."""
    stretch, noise = POPULATIONS[population]
    logits = rng.normal(0, SPREAD, (n_rows, n_classes)) + np.linspace(0, RANGE, n_classes)
    true = softmax(logits, axis=1)
    return (1 - noise) * true + noise / n_classes, softmax(stretch * logits, axis=1)


def bins_of_classes(n_classes: int, population: str) -> tuple[Floats, Floats, Floats]:
    """Mass, mean of mass x true probability and of mass x gap in each bin of each class; shape (n_classes, BINS)."""
    rng, total = np.random.default_rng(0), np.zeros((3, n_classes, BINS))
    rows = TRUTH_VALUES // n_classes
    for start in range(0, rows, CHUNK):
        true, stated = probabilities(rng, min(CHUNK, rows - start), n_classes, population)
        cell = np.minimum((stated * BINS).astype(int), BINS - 1) + BINS * np.arange(n_classes)
        for values, sums in zip((np.ones_like(true), true, true - stated), total, strict=True):
            sums += np.bincount(cell.ravel(), values.ravel(), n_classes * BINS).reshape(n_classes, BINS)
    mass, outcome, gap = total / rows
    return mass, outcome, gap


def squares_of(gap: Floats, mass: Floats) -> Floats:
    """Squared errors of bins, times their mass."""
    return np.divide(gap**2, mass, out=np.zeros_like(gap), where=mass > 0)


def true_errors(n_classes: int, population: str) -> dict[str, float]:
    """Means over classes of the errors of the bins."""
    mass, outcome, gap = bins_of_classes(n_classes, population)
    ece = np.abs(gap).sum(axis=1)
    return {
        "mean": float(ece.mean()),
        "marginal": float(ece @ outcome.sum(axis=1)),
        "rms": float(np.sqrt(squares_of(gap, mass).sum() / n_classes)),
    }


def errors_of(found: Any) -> dict[str, Any]:
    """Return draws of each mean."""
    return dict(zip(METHODS, (found.ece, found.marginal_error, found.rms_error), strict=True))


def of_cell(
    job: tuple[int, int, str, int, int, np.random.Generator],
    errors: Callable[[Any], dict[str, Any]] = errors_of,
    truths: Callable[[int, str], dict[str, float]] = true_errors,
) -> list[dict[str, Any]]:
    """Coverage of all errors on the same data sets; `errors` of a classwise evaluation, and their true values."""
    n_classes, n_rows, population, repeats, draws, rng = job

    def of_data_sets() -> Iterator[dict[str, tuple[float, float]]]:
        for _ in range(repeats):
            true, stated = probabilities(rng, n_rows, n_classes, population)
            y = (true.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=n_classes - 1)
            options = {"classes": range(n_classes), "bins": BINS, "draws": draws, "rng": int(rng.integers(2**31))}
            found = bc.evaluate(y, stated, target="classwise", **options)
            yield {method: values.interval(PROB) for method, values in errors(found).items()}

    found = stacked(of_data_sets())
    truth = dict.fromkeys(found, 0.0) if population == "calibrated" else truths(n_classes, population)
    about = {"classes": n_classes, "n_rows": n_rows, "population": population}
    return [
        {**row, "truth": truth[method]}
        for method in found
        for row in coverage_rows(about, {method: found[method]}, truth[method])
    ]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of at most ten classes and 2000 rows."""
    chosen = [
        (*cell, max(options.repeats // (FEWER if cell[0] >= MANY else 1), 2))
        for cell in CELLS
        if not options.quick or (cell[0] <= 10 and cell[1] <= 2000)
    ]
    jobs = jobs_of(chosen, options.draws, rng=np.random.default_rng(SEED))
    os.environ["BAYESCAL_COMPILE"] = "always"  # the loops that 100 classes take by default, four times as fast
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    return measured(SEED, {"prob": PROB, "draws": options.draws}, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    fewest, most = (f(row["repeats"] for row in rows) for f in (min, max))
    of_most, of_fewest = errors_near(PROB, most, fewest)
    conditions = (
        f"bayescal {numbers['bayescal']}: {most} data sets per line, {fewest} with {MANY} classes, {numbers['draws']} "
        f"draws, seed {numbers['seed']}.\nThe standard error of one share near {PROB:g} is {of_most}, and {of_fewest} "
        f"with {MANY} classes.\n"
    )
    means, short = tables_of(rows, {name: name for name in METHODS}, "Mean over classes")
    return {"means_conditions": conditions, "means": means, "means_summary": short}


def tables_of(rows: list[dict[str, Any]], names: dict[str, str], first: str) -> tuple[str, str]:
    """Return the table of all cells and that of the worst and mean coverage of each error."""
    form = "{classes}|{n_rows}|{population}|" + "|".join(
        f"{{{name}_truth:.4f}}|{{{name}_coverage:.2f}}|{{{name}_width:.4f}}" for name in names
    )
    head = "Classes: | Rows: | Population | " + " | ".join(f"{n}: true: | coverage: | width:" for n in names.values())
    lines = one_line_per_cell(rows, ("classes", "n_rows", "population"))
    shares = {name: np.array([row["coverage"] for row in rows if row["method"] == name]) for name in names}
    short = (
        [names[n], f"{c.min():.2f}", f"{c.mean():.3f}", f"{(c < 0.85).sum()} of {len(c)}"] for n, c in shares.items()
    )
    heading = f"{first} | Worst coverage: | Mean coverage: | Cells below 0.85:"
    return table(head, cells(lines, form)), table(heading, short)


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="classwise_means.json",
        page="classwise.md",
        shown=("means", "means_summary"),
        command="docs/make/classwise_means.py",
        repeats=REPEATS,
        draws=FEWER_DRAWS,
    )
