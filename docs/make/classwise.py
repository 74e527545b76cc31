"""Measure how often intervals of the mean over classes contain the truth; write docs/explanation/classwise.md: part of
`make coverage`.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import softmax
from studies import coverage_rows, errors_near, jobs_of, measured, one_line_per_cell, rows_of_jobs, run_study

import bayescal as bc
from bayescal.verify.coverage import stacked

SEED, PROB, BINS = 6, 0.95, 15
#: Number of classes, rows, and how much the stated logits are stretched: 1 is calibrated.
CELLS = tuple((k, n, s) for k in (3, 10, 100) for n in (1000, 5000) for s in (1.0, 1.1, 1.5))
#: Standard deviation of the true logits.
SPREAD = 2.0
#: Probabilities from which a true error is computed, over all classes.
TRUTH_VALUES = 6_000_000
COLUMNS = ("classes", "n_rows", "stretch", "truth", "method", "coverage", "above", "width", "repeats")
METHODS = ("default", "independent classes", "dirichlet")
Floats = NDArray[np.float64]


def probabilities(rng: np.random.Generator, n_rows: int, n_classes: int, stretch: float) -> tuple[Floats, Floats]:
    """True probabilities of the classes, and stated ones, whose logits are stretched."""
    logits = rng.normal(0, SPREAD, (n_rows, n_classes))
    return softmax(logits, axis=1), softmax(stretch * logits, axis=1)


def true_error(n_classes: int, stretch: float) -> float:
    """Mean over classes of the ECE of the bins; all classes are alike."""
    true, stated = probabilities(np.random.default_rng(0), TRUTH_VALUES // n_classes, n_classes, stretch)
    index = np.minimum((stated * BINS).astype(int), BINS - 1).ravel()
    return float(np.abs(np.bincount(index, (true - stated).ravel())).sum() / stated.size)


def intervals(y: NDArray[np.int64], stated: Floats, draws: int, seed: int) -> dict[str, tuple[float, float]]:
    """Interval of each method."""
    options: dict[str, Any] = {"target": "classwise", "bins": BINS, "draws": draws, "rng": seed}
    options |= {"classes": range(stated.shape[1])}
    evaluation = bc.evaluate(y, stated, **options)
    apart = np.random.default_rng(seed).permuted(evaluation.by_class.values, axis=0).mean(axis=1)
    means = (evaluation.ece, bc.Draws(apart), bc.evaluate(y, stated, model="dirichlet", **options).ece)
    return {method: mean.interval(PROB) for method, mean in zip(METHODS, means, strict=True)}


def of_cell(job: tuple[int, int, float, int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    n_classes, n_rows, stretch, repeats, draws, rng = job

    def of_data_sets() -> Iterator[dict[str, tuple[float, float]]]:
        for _ in range(repeats):
            true, stated = probabilities(rng, n_rows, n_classes, stretch)
            y = (true.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=n_classes - 1)
            yield intervals(y, stated, draws, int(rng.integers(2**31)))

    truth = 0.0 if stretch == 1 else true_error(n_classes, stretch)
    about = {"classes": n_classes, "n_rows": n_rows, "stretch": stretch, "truth": truth}
    return coverage_rows(about, stacked(of_data_sets()), truth)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of at most ten classes and 1000 rows. A fifth of the data sets for 100 classes."""
    chosen = [
        (*cell, max(options.repeats // (5 if cell[0] > 10 else 1), 2))
        for cell in CELLS
        if not options.quick or (cell[0] <= 10 and cell[1] <= 1000)
    ]
    jobs = jobs_of(chosen, options.draws, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    return measured(SEED, {"prob": PROB, "draws": options.draws}, COLUMNS, rows)


def conditions(numbers: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Conditions of the study, and standard errors of its shares."""
    fewest, most = (f(row["repeats"] for row in rows) for f in (min, max))
    of_most, of_fewest = errors_near(PROB, most, fewest)
    return (
        f"bayescal {numbers['bayescal']}: {most} data sets per line, {fewest} with 100 classes, {numbers['draws']} "
        f"draws, seed {numbers['seed']}.\nThe standard error of one share near {PROB:g} is {of_most}, and "
        f"{of_fewest} with 100 classes.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    head = "Classes: | Rows: | Logits times: | True mean: | Coverage: | Truth above: | Width: | independent classes: | "
    form = (
        "{classes}|{n_rows}|{stretch}|{truth:.4f}|{default_coverage:.2f}|{default_above:.2f}|{default_width:.4f}"
        "|{independent_coverage:.2f}|{independent_width:.4f}|{dirichlet_coverage:.2f}"
    )
    lines = one_line_per_cell(rows, ("classes", "n_rows", "stretch", "truth"))
    overall = table(head + "their width: | dirichlet:", cells(lines, form))
    return {"conditions": conditions(numbers, rows), "overall": overall}


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers="classwise.json", page="classwise.md")
