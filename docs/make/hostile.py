"""Measure the coverage of intervals on populations that break them; write the numbers and the tables of
docs/explanation/hostile.md: a part of `make coverage`. With --redraw nothing is measured, the stored numbers are shown
anew. With --quick, two data sets of every list are measured and nothing is written.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hostile_sets import TestSet, lists
from pages import cells, rows_again, rows_of, run_study, table

import bayescal as bc
from bayescal import __version__
from bayescal.posterior.contract import Posterior
from bayescal.verify.jobs import run_jobs

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PAGE = DOCS / "_static" / "hostile.json", DOCS / "explanation" / "hostile.md"
SEED, PROB = 5, 0.95
COLUMNS = ("list", "name", "n_rows", "bins", "cause", "truth", "method", "coverage", "above", "width", "repeats")
METHODS: dict[str, Callable[[bc.BinnedCounts], Posterior]] = {
    "shrinkage": bc.shrinkage_posterior,
    "release 0.1.0": lambda counts: bc.shrinkage_posterior(counts, sub_models=["independent"]),
    "dirichlet": bc.dirichlet_posterior,
}
TITLES = {
    "audit": "The audit of release 0.1.0",
    "further": "Ten further populations",
    "saturated": "Saturated and noisy data",
    "many bins": "Many bins, and useless models",
    "million": "A million rows",
}
#: Lists whose single lines are judged have more data sets, by this factor.
TIMES = {"saturated": 2, "many bins": 4}


def of_set(name: str, index: int, test_set: TestSet, repeats: int, draws: int) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    rng = np.random.default_rng([SEED, *name.encode(), index])
    found: dict[str, list[tuple[float, float, float]]] = {method: [] for method in METHODS}
    for _ in range(repeats):
        counts, truth = test_set.draw(rng)
        seed = int(rng.integers(2**63))
        for method, posterior in METHODS.items():
            low, high = bc.ece(posterior(counts).sample(draws, rng=seed)).interval(PROB)
            found[method].append((low, high, truth))
    about = {"list": name, "name": test_set.name, "n_rows": test_set.n_rows, "bins": test_set.bins}
    rows = []
    for method, values in found.items():
        low, high, truth = np.array(values).T
        numbers = {
            "truth": float(truth.mean()),
            "coverage": float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()),
            "above": float((truth > high + 1e-9).mean()),
            "width": float((high - low).mean()),
        }
        rows.append({**about, "cause": test_set.cause, "method": method, **numbers, "repeats": repeats})
    return rows


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """All lists; with --quick, the first two populations of each."""
    few, repeats, draws = asked.quick, asked.repeats, asked.draws
    jobs = [
        (name, i, test_set)
        for name, sets in lists().items()
        for i, test_set in enumerate(sets[:2] if few else sets)
        if not (few and test_set.n_rows > 10**5)
    ]

    def rows_of_job(job: tuple[str, int, TestSet]) -> list[dict[str, Any]]:
        return of_set(*job, repeats * TIMES.get(job[0], 1), draws)

    rows = [row for found in run_jobs(rows_of_job, jobs, progress=True) for row in found]
    about = {"bayescal": __version__, "prob": PROB, "repeats": repeats, "draws": draws, "seed": SEED}
    return {**about, "columns": list(COLUMNS), "rows": rows_of(COLUMNS, rows)}


def conditions(numbers: dict[str, Any]) -> str:
    """What was run, and how exact the shares are."""
    repeats = sorted({numbers["repeats"] * times for times in (1, *TIMES.values())})
    errors = ", ".join(f"{np.sqrt(PROB * (1 - PROB) / each):.3f} with {each}" for each in repeats)
    return (
        f"bayescal {numbers['bayescal']}: {numbers['draws']} draws, seed {numbers['seed']}. The standard error of one "
        f"share near {PROB:g}\ndepends on the number of data sets per line: {errors}.\n"
    )


def overall_table(rows: list[dict[str, Any]]) -> str:
    """One line per list and method."""
    lines = []
    for name, title in TITLES.items():
        for method in METHODS:
            of = [row for row in rows if row["list"] == name and row["method"] == method]
            if of:
                covered = np.array([row["coverage"] for row in of])
                width = np.mean([row["width"] for row in of])
                lines.append(
                    [title, len(of), of[0]["repeats"], method, f"{covered.min():.2f}", f"{covered.mean():.3f}",
                     int((covered >= 0.9).sum()), f"{width:.4f}"]
                )  # fmt: skip
    return table("Populations | Number: | Data sets: | Method | Worst: | Mean: | At 0.90 or more: | Width:", lines)


def list_table(rows: list[dict[str, Any]], name: str) -> str:
    """One line per population: coverage and width of the default model, coverage of the others."""
    by_set: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row["list"] == name:
            line = by_set.setdefault((row["name"], row["n_rows"], row["bins"]), dict(row))
            line[row["method"].replace(" 0.1.0", "")] = row["coverage"]
            if row["method"] == "shrinkage":
                line |= {"own_width": row["width"], "own_above": row["above"]}
    head = "Population | Rows: | Bins: | True ECE: | Coverage: | Truth above: | Width: | 0.1.0: | dirichlet:"
    form = (
        "{name}|{n_rows}|{bins}|{truth:.4f}|{shrinkage:.2f}|{own_above:.2f}|{own_width:.4f}|{release:.2f}|"
        "{dirichlet:.2f}"
    )
    if any(line["cause"] for line in by_set.values()):
        head, form = f"{head} | What is hard", form + "|{cause}"
    return table(head, cells(by_set.values(), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    each = {name.replace(" ", "_"): list_table(rows, name) for name in TITLES}
    return {"conditions": conditions(numbers), "overall": overall_table(rows), **each}


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers=NUMBERS, page=PAGE)
