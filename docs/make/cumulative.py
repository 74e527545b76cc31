"""Measure whether P-values of cumulative differences are uniform under calibration; write
docs/explanation/cumulative.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.stats import chisquare, kstest
from studies import jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate

SEED = 16
SIZES, QUICK_SIZES = (200, 2000), (200,)
#: No ties and weights; scores rounded to 0.01; at most five distinct scores; exponential weights.
DATA = ("plain", "ties", "few scores", "weights")
STATISTICS = ("kuiper", "kolmogorov_smirnov")
#: Levels of tests, and cells of the chi-square test of uniformity.
LEVELS, CELLS = (0.10, 0.05, 0.01), 20
COLUMNS = ("n_rows", "population", "data", "statistic", "correction", "distance", "chi_square", "at_10", "at_5", "at_1")
NAMES = {"kuiper": "Kuiper", "kolmogorov_smirnov": "Kolmogorov-Smirnov"}


def data_set(n_rows: int, population: str, data: str, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Outcomes, scores and weights of a calibrated classifier."""
    score = simulate(n_rows, population=population, rng=rng).confidence
    if data == "ties":
        score = score.round(2)
    if data == "few scores":
        score = (np.minimum(np.floor(5 * score), 4) + 0.5) / 5
    weights = rng.exponential(size=n_rows) if data == "weights" else None
    return rng.random(n_rows) < score, score, weights


def p_values(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """One row per statistic, with the correction and without it."""
    n_rows, population, data, repeats, rng = job
    drawn = np.empty((2, len(STATISTICS), repeats))
    for i in range(repeats):
        outcome, score, weights = data_set(n_rows, population, data, rng)
        cd = bc.cumulative_difference(outcome, score, weights=weights)
        for j, name in enumerate(STATISTICS):
            drawn[:, j, i] = getattr(cd, f"p_{name}"), getattr(cd, f"p_{name}_uncorrected")
    cell = {"n_rows": n_rows, "population": population, "data": data}
    return [
        {**cell, "statistic": name, "correction": correction, **uniformity(drawn[i, j])}
        for (i, correction), (j, name) in product(enumerate(("yes", "no")), enumerate(STATISTICS))
    ]


def uniformity(values: NDArray[np.float64]) -> dict[str, float]:
    """Distance of P-values from uniform ones, the P-value of a chi-square test, and shares of rejections."""
    counts, _ = np.histogram(values, bins=CELLS, range=(0, 1))
    shares = {f"at_{100 * level:g}": float(np.mean(values <= level)) for level in LEVELS}
    return {
        "distance": float(kstest(values, "uniform").statistic),
        "chi_square": float(chisquare(counts).pvalue),
        **shares,
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study."""
    chosen = list(product(QUICK_SIZES if options.quick else SIZES, POPULATIONS, DATA))
    jobs = jobs_of(chosen, options.repeats, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(p_values, jobs, workers=options.workers, description="P-values")
    return measured(SEED, {"repeats": options.repeats}, COLUMNS, rows)


HEAD = (
    "Rows: | Data | Statistic | Corrected | Largest distance: | P <= 0.10: | P <= 0.05: | P <= 0.01: | "
    "Chi-square below 1e-6"
)
FORM = "{n_rows}|{data}|{name}|{correction}|{distance:.3f}|{at_10}|{at_5}|{at_1}|{rejected} of {cells}"


def lines_of(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the extremes over populations."""
    sizes = sorted({row["n_rows"] for row in rows})
    for n_rows, data, statistic, correction in product(sizes, DATA, STATISTICS, ("yes", "no")):
        key = {"n_rows": n_rows, "data": data, "statistic": statistic, "correction": correction}
        of = [row for row in rows if all(row[name] == value for name, value in key.items())]
        ranges = {
            name: f"{min(row[name] for row in of):.3f} to {max(row[name] for row in of):.3f}"
            for name in ("at_10", "at_5", "at_1")
        }
        yield {
            **key,
            **ranges,
            "name": NAMES[statistic],
            "distance": max(row["distance"] for row in of),
            "rejected": sum(row["chi_square"] < 1e-6 for row in of),
            "cells": len(of),
        }


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and table by the name of their marker."""
    rows, repeats = rows_again(numbers), numbers["repeats"]
    errors = ", ".join(f"{np.sqrt(level * (1 - level) / repeats):.4f}" for level in LEVELS)
    return {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {repeats} calibrated data sets per cell, seed {numbers['seed']}. The "
            f"standard errors of the shares\nare {errors}. A distance of {1.358 / np.sqrt(repeats):.4f} has a P-value "
            "of 0.05.\n"
        ),
        "overall": table(HEAD, cells(lines_of(rows), FORM)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="cumulative.json",
        page="cumulative.md",
        shown=("conditions", "overall"),
        repeats=(10_000, 300),
    )
