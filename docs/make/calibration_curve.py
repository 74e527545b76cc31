"""Measure how often intervals of ICI, E50, E90 and Emax contain the truth, beside splines, bins and bootstraps; write
docs/explanation/calibration_curve.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from scipy.special import expit, logit
from studies import (
    FEWER_DRAWS,
    about,
    conditions,
    coverage_rows,
    jobs_of,
    one_line_per_cell,
    rows_of_jobs,
    run_study,
)

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve
from bayescal.draws import Draws
from bayescal.estimands.classical_curves import errors_of, spline_basis
from bayescal.estimands.local_regression import loess
from bayescal.results.calibration_curve import ERRORS
from bayescal.verify.studies.study import stacked

Floats = NDArray[np.float64]
Ends = tuple[float, float]

SEED, PROB = 17, 0.95
#: The requirement is on the sizes of `SIZES`; `OTHERS` are measured beside.
SIZES, OTHERS = (300, 2000), (100, 20_000)
PARTS = tuple(str(size) for size in (*SIZES, *OTHERS))
POPULATION_NAMES = ("flat", "rare")
CURVES = (("calibrated", None), ("temperature", 1.5), ("wave", 0.05))
#: Quantiles of the population from which the true errors are computed.
QUANTILES = 100_000
#: Rival: restricted cubic spline with these quantiles as knots, and standard deviation of its coefficients.
KNOTS, SPLINE_SD = (0.05, 0.35, 0.65, 0.95), 5.0
#: Largest number of values that its draws take.
SPLINE_VALUES = 1_000_000
#: Rivals are measured in one of this many data sets.
ONE_IN = 4
#: Resamples of the bootstrap of loess, and rows up to which it is measured.
RESAMPLES, BOOTSTRAPPED = 200, 300
OURS, NO_SPIKE, SPLINE, BINS, BOOTSTRAP = (
    "curve with spike", "no spike", "spline", "bins", "loess bootstrap",
)  # fmt: skip
WORDS = {
    OURS: "`calibration_curve`",
    NO_SPIKE: "the same without exact calibration",
    SPLINE: "restricted cubic spline, Laplace",
    BINS: "`evaluate`, 15 equal-width bins",
    BOOTSTRAP: "loess, percentile bootstrap",
}
COLUMNS = ("quantity", "n_rows", "population", "curve", "truth", "method", "coverage", "above", "width", "repeats")


def true_errors(population: str, curve: Any) -> dict[str, float]:
    """Errors of a population without bins: mean, quantiles and maximum of |m(c) - c| over its quantiles."""
    c = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    return errors_of(curve(c), c)


def of_draws(drawn: Floats, score: Floats) -> dict[str, Ends]:
    """Intervals of the errors from draws of the curve at the rows."""
    error = np.abs(drawn - score)
    e50, e90 = np.quantile(error, (0.5, 0.9), axis=1)
    found = {"ici": error.mean(axis=1), "e50": e50, "e90": e90, "emax": error.max(axis=1)}
    return {name: Draws(each).interval(PROB) for name, each in found.items()}


def spline_draws(outcome: Floats, score: Floats, draws: int, seed: int) -> Floats:
    """Draws at the rows of a logistic regression on a restricted cubic spline of the logit, by Laplace's method."""
    x = logit(np.clip(score, 1e-6, 1 - 1e-6))
    design = np.column_stack([np.ones_like(x), spline_basis(x, np.quantile(x, KNOTS))])
    centre = np.eye(design.shape[1])[1]
    beta = centre
    for _ in range(40):
        h = expit(design @ beta)
        precision = (design * (h * (1 - h))[:, None]).T @ design + np.eye(len(beta)) / SPLINE_SD**2
        step = np.linalg.solve(precision, design.T @ (outcome - h) - (beta - centre) / SPLINE_SD**2)
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return expit((beta + np.random.default_rng(seed).standard_normal((draws, len(beta))) @ root.T) @ design.T)


def bootstrap_intervals(outcome: Floats, score: Floats, seed: int) -> dict[tuple[str, str], Ends]:
    """Percentile intervals of the errors of loess over resampled rows."""
    found: dict[str, list[float]] = {name: [] for name in ERRORS}
    rng = np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(score), len(score))
        for name, value in errors_of(loess(score[chosen], outcome[chosen]), score[chosen]).items():
            found[name].append(value)
    return {(name, BOOTSTRAP): Draws(np.array(values)).interval(PROB) for name, values in found.items()}


def own_intervals(outcome: Floats, score: Floats, draws: int, seed: int) -> dict[tuple[str, str], Ends]:
    """Intervals of `calibration_curve`, with and without exact calibration, by quantity and method."""
    found = {}
    for method, prior in ((OURS, 0.1), (NO_SPIKE, 0.0)):
        cv = bc.calibration_curve(outcome, score, prior_exact=prior, draws=draws, rng=seed)
        found |= {(name, method): getattr(cv, name).interval(PROB) for name in ERRORS}
    return found


def rival_intervals(outcome: Floats, score: Floats, draws: int, seed: int) -> dict[tuple[str, str], Ends]:
    """Intervals of other methods, by quantity and method."""
    binned, found = bc.evaluate(outcome, score, draws=draws, rng=seed).bin_draws, {}
    for name, (_, share) in ERRORS.items():
        drawn = bc.ece(binned) if share is None else bc.max_error(binned, share=share)
        found[name, BINS] = drawn.interval(PROB)
    splines = spline_draws(outcome, score, min(draws, max(SPLINE_VALUES // len(score), 200)), seed)
    found |= {(name, SPLINE): ends for name, ends in of_draws(splines, score).items()}
    return found | (bootstrap_intervals(outcome, score, seed) if len(score) <= BOOTSTRAPPED else {})


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    n_rows, population, given, repeats, draws, rng = job
    curve = true_curve(*given)

    own, rivals = [], []
    for i in range(repeats):
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        columns, seed = (data.outcome.astype(np.float64), data.confidence), int(rng.integers(2**63))
        own.append(own_intervals(*columns, draws, seed))
        if i % ONE_IN == 0:
            rivals.append(rival_intervals(*columns, draws, seed))
    by_method = stacked(own) | stacked(rivals)
    cell = {"n_rows": n_rows, "population": population, "curve": str(curve)}
    rows = []
    for name, truth in true_errors(population, curve).items():
        of = {method: ends for (which, method), ends in by_method.items() if which == name}
        rows += coverage_rows({"quantity": name, **cell, "truth": truth}, of, truth)
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the chosen sizes; with --quick, those of 300 rows."""
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    found = {**about(SEED, settings), "columns": list(COLUMNS)}
    for part in PARTS[:1] if options.quick else options.only:
        places = [(int(part), population, curve) for population in POPULATION_NAMES for curve in CURVES]
        # a stream per size, so that each can be measured alone
        rng = np.random.default_rng([SEED, int(part)])
        jobs = jobs_of(places, options.repeats, options.draws, rng=rng)
        rows = rows_of_jobs(of_cell, jobs, workers=options.workers, description=f"{part} rows")
        found[part] = rows_of(COLUMNS, rows)
    return found


def rows_in(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Stored rows of all sizes as dicts."""
    return [dict(zip(numbers["columns"], row, strict=True)) for part in PARTS for row in numbers.get(part, [])]


def overall(rows: Iterable[dict[str, Any]], sizes: tuple[int, ...]) -> str:
    """One line per quantity and method, over the cells of some sizes."""
    lines = []
    for name, (symbol, _) in ERRORS.items():
        of = [row for row in rows if row["quantity"] == name and row["n_rows"] in sizes]
        for method in dict.fromkeys(row["method"] for row in of):
            mine = [row for row in of if row["method"] == method]
            covered = np.array([row["coverage"] for row in mine])
            worst = mine[int(covered.argmin())]
            lines.append([
                symbol, WORDS[method], f"{covered.mean():.3f}", f"{covered.min():.2f}",
                f"{np.mean([row['width'] for row in mine]):.4f}",
                "{population}, {curve}, n = {n_rows}".format(**worst),
            ])  # fmt: skip
    return table("Quantity | Method | Mean coverage: | Worst cell: | Width: | Where it is worst", lines)


def by_cell(rows: Iterable[dict[str, Any]]) -> str:
    """One line per cell and quantity: truth, coverage and width of the package's interval."""
    head = "Rows: | Population | Curve | Quantity | Truth: | Coverage: | Truth above: | Truth below: | Width:"
    form = (
        "{n_rows}|{population}|{curve}|{symbol}|{truth:.4f}|{curve_coverage:.2f}|{curve_above:.2f}|{below:.2f}"
        "|{curve_width:.4f}"
    )
    of = [row for row in rows if row["method"] == OURS]
    lines = one_line_per_cell(of, ("quantity", "n_rows", "population", "curve", "truth"))
    for line in lines:
        line |= {"symbol": ERRORS[line["quantity"]][0], "below": 1 - line["curve_coverage"] - line["curve_above"]}
    return table(head, cells(sorted(lines, key=lambda line: line["n_rows"]), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_in(numbers)
    n_cells = len({(row["n_rows"], row["population"], row["curve"]) for row in rows})
    made = {
        "conditions": conditions(numbers, n_cells)
        + f"Splines, bins and loess were measured in one of {ONE_IN} data sets, loess with up to {BOOTSTRAPPED} rows "
        f"and {RESAMPLES} resamples.\n",
        "overall": overall(rows, SIZES),
        "cells": by_cell(rows),
    }
    return made | {f"rows_{size}": overall(rows, (size,)) for size in OTHERS}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="calibration_curve.json",
        page="calibration_curve.md",
        save=save_parts,
        parts=PARTS,
        shown=("conditions", "overall", "cells"),
        repeats=(100, 2),
        draws=FEWER_DRAWS,
    )
