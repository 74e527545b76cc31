"""Measure the coverage of intervals on populations that break them; write docs/explanation/hostile.md: part of
`make coverage`. A population whose intervals of the default model contain the truth in too few data sets is measured
again in four times as many fresh ones, and that share counts. With --quick, only the first two populations of each
list are measured.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hostile_sets import TestSet, lists
from pages import cells, rows_again, table
from studies import (
    REPEATS,
    TIMES_AGAIN,
    coverage_rows,
    errors_near,
    measured,
    one_line_per_cell,
    rows_of_jobs,
    run_study,
    with_fresh_sets,
)

import bayescal as bc
from bayescal.posterior.contract import Posterior
from bayescal.verify.coverage import stacked

SEED, AGAIN, PROB = 5, 6, 0.95
COLUMNS = (
    *("list", "name", "n_rows", "bins", "cause", "truth", "method", "coverage", "above", "width", "repeats"),
    "first",
)
#: Coverage of the default model below which a population is measured again.
LIMIT = 0.87
METHODS: dict[str, Callable[[bc.BinnedCounts], Posterior]] = {
    "shrinkage": bc.shrinkage_posterior,
    "release 0.1.0": lambda counts: bc.shrinkage_posterior(counts, sub_models=["independent"]),
    "dirichlet": bc.dirichlet_posterior,
}
TITLES = {
    "audit": "The audit of release 0.1.0",
    "further": "Ten further populations",
    "saturated": "Saturated and noisy data",
    "many bins": "Many bins, and uninformative classifiers",
    "million": "A million rows",
}
#: Lists whose single lines are judged have more data sets, by this factor.
TIMES = {"saturated": 2, "many bins": 4}


def of_set(name: str, index: int, test_set: TestSet, repeats: int, draws: int) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets; where it is low, on fresh ones, with the first share beside it."""
    first = measured_set(name, index, test_set, repeats * TIMES.get(name, 1), draws, SEED)

    def again(times: int) -> list[dict[str, Any]]:
        return measured_set(name, index, test_set, repeats * times, draws, AGAIN)

    bar = LIMIT if repeats > REPEATS[1] else 0.0  # no set is measured again in a short run
    return with_fresh_sets(first, again, bar=bar, where={"method": "shrinkage"})


def measured_set(name: str, index: int, test_set: TestSet, repeats: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets, drawn with this seed."""
    rng = np.random.default_rng([seed, *name.encode(), index])
    truths: list[float] = []

    def intervals() -> Iterator[dict[str, tuple[float, float]]]:
        for _ in range(repeats):
            counts, truth = test_set.draw(rng)
            truths.append(truth)
            of_draws = int(rng.integers(2**63))
            yield {
                method: bc.ece(posterior(counts).sample(draws, rng=of_draws)).interval(PROB)
                for method, posterior in METHODS.items()
            }

    by_method = stacked(intervals())
    about = {"list": name, "name": test_set.name, "n_rows": test_set.n_rows, "bins": test_set.bins}
    about |= {"cause": test_set.cause, "truth": float(np.mean(truths))}
    return coverage_rows(about, by_method, np.array(truths))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all lists; with --quick, the first two populations of each."""
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    jobs = [
        (name, i, test_set)
        for name, sets in lists().items()
        for i, test_set in enumerate(sets[:2] if options.quick else sets)
        if not (options.quick and test_set.n_rows > 10**5)
    ]

    def of_job(job: tuple[str, int, TestSet]) -> list[dict[str, Any]]:
        return of_set(*job, options.repeats, options.draws)

    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_job, jobs))


def conditions(numbers: dict[str, Any]) -> str:
    """Conditions of the study, and standard errors of its shares."""
    repeats = sorted({numbers["repeats"] * times for times in (1, *TIMES.values())})
    again = "".join(
        f"\n* {row['name']}, {row['n_rows']} rows: {row['coverage']:.3f} in {row['repeats']} fresh data sets, "
        f"{row['first']:.3f} in the first."
        for row in rows_again(numbers)
        if row["method"] == "shrinkage" and row["first"] is not None
    )
    after = f":\n{again}" if again else "."
    errors = ", ".join(f"{error} with {n}" for n, error in zip(repeats, errors_near(PROB, *repeats), strict=True))
    return (
        f"bayescal {numbers['bayescal']}: {numbers['draws']} draws, seed {numbers['seed']}. The standard error of one "
        f"share near {PROB:g}\ndepends on the number of data sets per line: {errors}.\n\nA population in which "
        f"intervals of the default model contain the truth in fewer than {100 * LIMIT:g} % of the data sets\nis "
        f"measured again in {TIMES_AGAIN * numbers['repeats']} fresh ones, and that share counts{after}\n"
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


def list_table(rows: list[dict[str, Any]]) -> str:
    """One line per population: coverage and width of the default model, coverage of the others."""
    head = "Population | Rows: | Bins: | True ECE: | Coverage: | Truth above: | Width: | 0.1.0: | dirichlet:"
    form = (
        "{name}|{n_rows}|{bins}|{truth:.4f}|{shrinkage_coverage:.2f}|{shrinkage_above:.2f}|{shrinkage_width:.4f}"
        "|{release_coverage:.2f}|{dirichlet_coverage:.2f}"
    )
    if any(row["cause"] for row in rows):
        head, form = f"{head} | What is hard", form + "|{cause}"
    return table(head, cells(one_line_per_cell(rows, ("name", "n_rows", "bins", "truth", "cause")), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    each = {name.replace(" ", "_"): list_table([row for row in rows if row["list"] == name]) for name in TITLES}
    return {"conditions": conditions(numbers), "overall": overall_table(rows), **each}


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers="hostile.json", page="hostile.md")
