"""Measure how often intervals of the mean over classes contain the truth; write the numbers and the tables of
docs/explanation/classwise.md: a part of `make coverage`. With --redraw nothing is measured. With --quick, tables are
made from a few data sets and nothing is written.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, rows_of, run_study, table
from scipy.special import softmax

import bayescal as bc
from bayescal import __version__
from bayescal.verify.jobs import run_jobs

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PAGE = DOCS / "_static" / "classwise.json", DOCS / "explanation" / "classwise.md"
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
    known: dict[str, Any] = {"target": "classwise", "bins": BINS, "draws": draws, "rng": seed}
    known |= {"classes": range(stated.shape[1])}
    found = bc.evaluate(y, stated, **known)
    apart = np.random.default_rng(seed).permuted(found.by_class.values, axis=0).mean(axis=1)
    means = (found.ece, bc.Draws(apart), bc.evaluate(y, stated, model="dirichlet", **known).ece)
    return {method: mean.interval(PROB) for method, mean in zip(METHODS, means, strict=True)}


def of_cell(job: tuple[int, int, float, int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    n_classes, n_rows, stretch, repeats, draws, rng = job
    truth = 0.0 if stretch == 1 else true_error(n_classes, stretch)
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
    for _ in range(repeats):
        true, stated = probabilities(rng, n_rows, n_classes, stretch)
        y = (true.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1).clip(max=n_classes - 1)
        for method, interval in intervals(y, stated, draws, int(rng.integers(2**31))).items():
            found[method].append(interval)
    rows = []
    for method, each in found.items():
        low, high = np.array(each).T
        numbers = {
            "coverage": float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()),
            "above": float((truth > high + 1e-9).mean()),
            "width": float((high - low).mean()),
        }
        about = {"classes": n_classes, "n_rows": n_rows, "stretch": stretch, "truth": truth}
        rows.append({**about, "method": method, **numbers, "repeats": repeats})
    return rows


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of at most ten classes and 1000 rows. A fifth of the data sets for 100 classes."""
    chosen = [cell for cell in CELLS if not asked.quick or (cell[0] <= 10 and cell[1] <= 1000)]
    jobs = [
        (*cell, max(asked.repeats // (5 if cell[0] > 10 else 1), 2), asked.draws, rng)
        for cell, rng in zip(chosen, np.random.default_rng(SEED).spawn(len(chosen)), strict=True)
    ]
    rows = [row for of in run_jobs(of_cell, jobs, workers=asked.workers, progress=True) for row in of]
    about = {"bayescal": __version__, "prob": PROB, "draws": asked.draws, "seed": SEED}
    return {**about, "columns": list(COLUMNS), "rows": rows_of(COLUMNS, rows)}


def conditions(numbers: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """What was run, and how exact the shares are."""
    fewest, most = (f(row["repeats"] for row in rows) for f in (min, max))
    error = [np.sqrt(PROB * (1 - PROB) / repeats) for repeats in (most, fewest)]
    return (
        f"bayescal {numbers['bayescal']}: {most} data sets per line, {fewest} with 100 classes, {numbers['draws']} "
        f"draws, seed {numbers['seed']}.\nThe standard error of one share near {PROB:g} is {error[0]:.3f}, and "
        f"{error[1]:.3f} with 100 classes.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault((row["classes"], row["n_rows"], row["stretch"]), dict(row))
        line[row["method"].split()[0]] = row["coverage"]
        line[f"width_{row['method'].split()[0]}"] = row["width"]
        if row["method"] == "default":
            line["own_above"] = row["above"]
    head = "Classes: | Rows: | Logits times: | True mean: | Coverage: | Truth above: | Width: | independent classes: | "
    form = (
        "{classes}|{n_rows}|{stretch}|{truth:.4f}|{default:.2f}|{own_above:.2f}|{width_default:.4f}|{independent:.2f}"
        "|{width_independent:.4f}|{dirichlet:.2f}"
    )
    made = table(head + "their width: | dirichlet:", cells(lines.values(), form))
    return {"conditions": conditions(numbers, rows), "overall": made}


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers=NUMBERS, page=PAGE)
