"""Measure the coverage of intervals of calibration errors that other packages print; write
docs/explanation/related_work.md: `make related`.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from pages import cells, rows_again, table, versions_of
from studies import conditions, coverage_rows, coverages, jobs_of, measured, one_line_per_cell, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, Curve, Simulated, simulate, true_curve, true_ece
from bayescal.stats.bins import make_bins
from bayescal.verify.coverage import stacked
from bayescal.verify.methods import Interval

SEED, PROB, BINS = 14, 0.95, 15
#: Data sets per cell, and with --quick: bootstraps of rows are slow.
REPEATS = (40, 2)
SIZES, SHAPES = (300, 2000), ("top", "flat")
CURVES = (("calibrated", None), ("temperature", 1.1), ("temperature", 1.5), ("one bad bin", 0.3))
CELL = ("n_rows", "population", "curve", "estimand")
COLUMNS = (*CELL, "truth", "method", "coverage", "above", "width", "repeats")
#: Estimands, in the order of the table.
WIDTH, SQUARED, MASS = "ECE, equal-width bins", "l_2 error, equal-width bins", "ECE, equal-mass bins"
#: Programs beside bayescal, by the names of their distributions.
PROGRAMS = ("calibstats", "probcal", "uncertainty-calibration")
#: What each method is called in the table.
TITLES = {
    "bayescal": "bayescal",
    "calibstats": "calibstats, percentile (its default)",
    "calibstats_basic": 'calibstats, `method="basic"`',
    "calibstats_debiased": "calibstats, `debiased_ece`, percentile (its default)",
    "probcal": "probcal, percentile (its default)",
    "calibration": "uncertainty-calibration, `p=1, alpha=5`",
}
#: Equally likely confidences that stand for a population in the true l_2 error.
QUANTILES = 300_000
Key = tuple[str, str]
Job = tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]


def true_l2_error(population: str, curve: Curve) -> float:
    """Root mean square over rows of the gap of their bin, on quantiles of the population."""
    confidence = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    index = np.searchsorted(make_bins(BINS).edges[1:-1], confidence, side="right")
    rows, gap = np.bincount(index), np.bincount(index, curve(confidence) - confidence)
    return float(np.sqrt((gap**2 / np.maximum(rows, 1)).sum() / QUANTILES))


def of_bayescal(rows: Simulated, draws: int, seed: int) -> Iterator[tuple[Key, tuple[float, float], Any]]:
    """Yield the intervals of the default model, and the bins."""
    evaluation = bc.evaluate(rows.outcome, rows.confidence, bins=BINS, draws=draws, rng=seed)
    yield (WIDTH, "bayescal"), evaluation.ece.interval(PROB), BINS
    yield (SQUARED, "bayescal"), evaluation.l2_error.interval(PROB), None
    evaluation = bc.evaluate(rows.outcome, rows.confidence, bins=BINS, binning="equal-mass", draws=draws, rng=seed)
    yield (MASS, "bayescal"), evaluation.ece.interval(PROB), evaluation.counts.bins


def of_calibstats(rows: Simulated, draws: int, seed: int) -> Iterator[tuple[Key, tuple[float, float], Any]]:
    """Yield percentile intervals of both its errors as in its report, and the basic interval of the ECE."""
    import calibstats

    errors = {"ece": calibstats.ece, "debiased": calibstats.debiased_ece}  # 15 equal-width bins [a, b) by default
    found = calibstats.bootstrap_metrics(rows.confidence, rows.outcome, errors, n_boot=draws, alpha=1 - PROB, seed=seed)
    error = found["ece"]
    yield (WIDTH, "calibstats"), error.ci, BINS
    # method="basic" reflects the same quantiles; taking them from here saves a second bootstrap
    yield (WIDTH, "calibstats_basic"), (2 * error.estimate - error.high, 2 * error.estimate - error.low), BINS
    yield (SQUARED, "calibstats_debiased"), found["debiased"].ci, None


def of_probcal(rows: Simulated, draws: int, seed: int) -> Iterator[tuple[Key, tuple[float, float], Any]]:
    """Yield its 95 % percentile interval, from at most its default number of resamples: 15 equal-mass bins."""
    from probcal.metrics import evaluate

    edges = np.quantile(rows.confidence, np.arange(BINS + 1) / BINS)
    edges[[0, -1]] = 0, 1
    n_boot = min(draws, 1000)
    report = evaluate(rows.outcome, rows.confidence, metrics=["ece"], n_boot=n_boot, random_state=seed)
    yield (MASS, "probcal"), (float(report.ci_low[0]), float(report.ci_high[0])), edges


def of_uncertainty_calibration(
    rows: Simulated, draws: int, seed: int
) -> Iterator[tuple[Key, tuple[float, float], Any]]:
    """Yield its interval from 100 resamples, 15 equal-mass bins; it reads `alpha` in per cent."""
    import calibration

    np.random.seed(seed % 2**32)  # noqa: NPY002 -- the program draws from numpy's global generator
    low, _, high = calibration.get_calibration_error_uncertainties(
        rows.confidence, rows.outcome, p=1, alpha=100 * (1 - PROB)
    )
    yield (
        (MASS, "calibration"),
        (float(low), float(high)),
        make_bins(BINS, binning="equal-mass", confidence=rows.confidence),
    )


def intervals_of(rows: Simulated, l2_error: float, draws: int, seed: int) -> Iterator[tuple[Key, Interval]]:
    """Yield the intervals of all programs from the same rows, each with the true value in the bins that it used."""
    for program in (of_bayescal, of_calibstats, of_probcal, of_uncertainty_calibration):
        for key, (low, high), bins in program(rows, draws, seed):
            truth = l2_error if bins is None else true_ece(rows.population, rows.curve, bins=bins)
            yield key, (low, high, truth)


def of_cell(job: Job) -> list[dict[str, Any]]:
    """Coverage and width of all methods in one cell; the truth is the mean over data sets."""
    size, population, named, repeats, draws, rng = job
    curve = true_curve(*named)
    l2_error = true_l2_error(population, curve)

    def results() -> Iterator[dict[Key, Interval]]:
        for _ in range(repeats):
            rows = simulate(size, population=population, curve=curve, rng=rng)
            yield dict(intervals_of(rows, l2_error, draws, int(rng.integers(2**63))))

    lines = []
    for (estimand, method), values in stacked(results()).items():
        ends, truth = values[:, :2], values[:, 2]
        cell = {"n_rows": size, "population": population, "curve": str(curve), "estimand": estimand}
        lines += coverage_rows({**cell, "truth": float(truth.mean())}, {method: ends}, truth)
    return lines


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all programs in the 16 cells: about a second per data set."""
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    jobs = jobs_of(
        list(product(SIZES, SHAPES, CURVES)), options.repeats, options.draws, rng=np.random.default_rng(SEED)
    )
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    return measured(SEED, {"programs": dict(versions_of(PROGRAMS)), **settings}, COLUMNS, rows)


def overall_table(rows: list[dict[str, Any]]) -> str:
    """One line per estimand and method."""
    lines = []
    for estimand, method in dict.fromkeys((row["estimand"], row["method"]) for row in rows):
        of = [row for row in rows if (row["estimand"], row["method"]) == (estimand, method)]
        covered = np.array([row["coverage"] for row in of])
        exact = np.array([row["curve"] == "calibrated" for row in of])
        numbers = [covered.min(), covered.mean(), covered[exact].mean(), covered[~exact].mean()]
        width = f"{np.mean([row['width'] for row in of]):.4f}"
        lines.append([estimand, TITLES[method], *(f"{number:.2f}" for number in numbers), width])
    order = [WIDTH, SQUARED, MASS]
    head = "Estimand | Method | Worst cell: | Mean: | Calibrated: | Not calibrated: | Width:"
    return table(head, sorted(lines, key=lambda line: order.index(line[0])))


def cell_table(rows: list[dict[str, Any]]) -> str:
    """One line per cell, with the coverage of each interval of the ECE in equal-width bins."""
    of = [row for row in rows if row["estimand"] == WIDTH]
    methods = list(dict.fromkeys(row["method"] for row in of))
    head = "Rows: | Confidences | True curve | True ECE: | " + " | ".join(f"{TITLES[method]}:" for method in methods)
    lines = one_line_per_cell(of, (*CELL, "truth"))
    return table(head, cells(lines, "{n_rows}|{population}|{curve}|{truth:.4f}|" + coverages(methods)))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    programs = ", ".join(f"{name} {version}" for name, version in numbers["programs"].items())
    stated = f"{conditions(numbers, len(SIZES) * len(SHAPES) * len(CURVES))}Other packages: {programs}.\n"
    return {"conditions": stated, "overall": overall_table(rows), "cells": cell_table(rows)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="related.json",
        page="related_work.md",
        command="make related",
        repeats=REPEATS,
    )
