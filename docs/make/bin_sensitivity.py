"""Measure how often the interval of the average over choices of bins contains the truth; write
docs/explanation/choice_of_bins.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import (
    FEWER_DRAWS,
    conditions,
    coverage_rows,
    jobs_of,
    measured,
    one_line_per_cell,
    rows_of_jobs,
    run_study,
)

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve

SEED, PROB, REPEATS = 8, 0.95, (50, 2)
SIZES = (500, 5000)
CURVES = (("calibrated", None), ("temperature", 1.2), ("wave", 0.05), ("one bad bin", 0.3))
#: Quantiles of a population over which the true gap is summed.
QUANTILES = 400_000
METHOD, PAIRED, INDEPENDENT, SINGLE = "mixture", "paired", "independent", "single"
COLUMNS = ("n_rows", "population", "curve", "truth", "plug_in_few", "plug_in_many", "method", "coverage", "above")
COLUMNS += ("width", "repeats")
Floats = NDArray[np.float64]


def true_error(population: str, named: tuple[str, float | None]) -> Callable[[Floats], float]:
    """Return the function from edges to the ECE of the population, by sums over its quantiles."""
    confidence = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    gap = true_curve(*named)(confidence) - confidence
    summed = np.concatenate([[0.0], np.cumsum(gap)]) / QUANTILES

    def of_edges(edges: Floats) -> float:
        at = np.searchsorted(confidence, edges[1:-1])
        return float(np.abs(np.diff(summed[np.concatenate([[0], at, [QUANTILES]])])).sum())

    return of_edges


def of_cell(job: tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Coverage of the average, as a mixture and with draws paired by rank or independent, and of single choices."""
    n_rows, population, named, repeats, draws, rng = job
    truth_of, curve = true_error(population, named), true_curve(*named)
    intervals: dict[str, list[Any]] = {METHOD: [], PAIRED: [], INDEPENDENT: [], SINGLE: []}
    truths: dict[str, list[float]] = {name: [] for name in intervals}
    plug_in = []
    for result in _results(n_rows, population, curve, repeats, draws, rng):
        true = [truth_of(each.counts.bins.edges) for each in result.evaluations.values()]
        drawn = np.stack([each.ece.values for each in result.evaluations.values()], axis=1)
        paired, apart = np.sort(drawn, axis=0).mean(axis=1), rng.permuted(drawn, axis=0).mean(axis=1)
        averages = {METHOD: result.average, PAIRED: bc.Draws(paired), INDEPENDENT: bc.Draws(apart)}
        for name, average in averages.items():
            intervals[name].append(average.interval(PROB))
            truths[name].append(float(np.mean(true)))
        intervals[SINGLE] += [each.ece.interval(PROB) for each in result.evaluations.values()]
        truths[SINGLE] += true
        plug_in.append([row["plug_in"] for row in result.table()])
    few, many = np.mean(plug_in, axis=0)[[0, len(plug_in[0]) // 2 - 1]]
    cell = {"n_rows": n_rows, "population": population, "curve": str(curve), "truth": float(np.mean(truths[METHOD]))}
    cell |= {"plug_in_few": float(few), "plug_in_many": float(many)}
    return [row for name in intervals for row in _row(cell, name, intervals[name], truths[name])]


def _row(cell: dict[str, Any], name: str, intervals: list[Any], truths: list[float]) -> list[dict[str, Any]]:
    return coverage_rows(cell, {name: np.array(intervals)}, np.array(truths))


def _results(
    n_rows: int, population: str, curve: Any, repeats: int, draws: int, rng: np.random.Generator
) -> Iterator[bc.BinSensitivity]:
    for _ in range(repeats):
        rows = simulate(n_rows, population=population, curve=curve, rng=rng)
        yield bc.bin_sensitivity(rows.outcome, rows.confidence, draws=draws, rng=rng)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, those of one size and two curves."""
    sizes, curves = (SIZES[:1], CURVES[:2]) if options.quick else (SIZES, CURVES)
    chosen = list(product(sizes, POPULATIONS, curves))
    jobs = jobs_of(chosen, options.repeats, options.draws, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions, a line per method and a line per cell, by the name of their marker."""
    rows = rows_again(numbers)
    lines = one_line_per_cell(rows, ("n_rows", "population", "curve", "truth", "plug_in_few", "plug_in_many"))
    form = (
        "{n_rows}|{population}|{curve}|{truth:.4f}|{mixture_coverage:.2f}|{mixture_above:.2f}|{mixture_width:.4f}"
        "|{paired_coverage:.2f}|{independent_coverage:.2f}|{single_coverage:.2f}|{single_width:.4f}|{plug_in_few:.4f}|{plug_in_many:.4f}"
    )
    head = (
        "Rows: | Population | Curve | True average: | Average: | Truth above: | Width: | Paired: | Independent: "
        "| Single choices: | Their width: | Plug-in, 5 bins: | Plug-in, 50 bins:"
    )
    return {
        "conditions": conditions(numbers, len(lines)),
        "overall": _overall(rows),
        "cells": table(head, cells(lines, form)),
    }


def _overall(rows: list[dict[str, Any]]) -> str:
    lines = []
    words = {
        METHOD: "mixture of the posteriors (`average`)",
        PAIRED: "mean of draws with equal ranks",
        INDEPENDENT: "mean of independent draws",
        SINGLE: "one choice, for its own ECE",
    }
    for name, shown in words.items():
        shares = [row["coverage"] for row in rows if row["method"] == name]
        widths = [row["width"] for row in rows if row["method"] == name]
        lines.append([shown, f"{min(shares):.2f}", f"{np.mean(shares):.3f}", f"{np.mean(widths):.4f}"])
    return table("Interval | Worst cell: | Mean coverage: | Mean width:", lines)


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="bin_sensitivity.json",
        page="choice_of_bins.md",
        repeats=REPEATS,
        draws=FEWER_DRAWS,
    )
