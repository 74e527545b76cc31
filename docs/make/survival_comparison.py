"""Measure how often intervals of the difference of two survival models contain the truth; write
docs/explanation/survival.md: part of `make coverage`.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import expit, logit
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study
from survival import BINS, HORIZON, NAMES, RISKS, Cell

import bayescal as bc
from bayescal.survival.analysis import NotFollowedWarning
from bayescal.survival.comparison import ModelRows
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]
#: Risks that a model states, given the true risk and standard Normal noise.
Statement = Callable[[Floats, Floats], Floats]

SEED, PROB = 29, 0.95
SIZES = (500, 2000)
#: Shares of rows with unknown outcome, and whether censoring depends on the true risk.
CENSORINGS = ((0.2, True), (0.5, False), (0.5, True))
STATED: dict[str, Statement] = {
    "calibrated": lambda p, _: p,
    "HR 1.3": lambda p, _: 1 - (1 - p) ** (1 / 1.3),
    "HR 1/1.3": lambda p, _: 1 - (1 - p) ** 1.3,
    "noisy": lambda p, noise: expit(logit(p) + 0.3 * noise),
    "over-confident": lambda p, _: expit(1.5 * logit(p) + 0.4),
    "over-confident, noisy": lambda p, noise: expit(1.5 * logit(p) + 0.4 + 0.75 * noise),
}
PAIRS = (
    ("calibrated", "HR 1.3"),
    ("HR 1.3", "HR 1/1.3"),
    ("calibrated", "noisy"),
    ("over-confident", "over-confident, noisy"),
)
TRUTH_ROWS = 1_000_000
QUANTITIES = ("ece", "observed_expected", "brier_score", "auc")
OURS, UNPAIRED, DELTA, NAIVE = "compare_survival", "unpaired", "plug-in, jackknife", "censored = event-free"
#: Rows of the smallest size as clusters of so many copies, with `cluster=` and as independent rows.
COPIES, CLUSTERED, IGNORED = 4, "copies, cluster=", "copies as independent rows"
COLUMNS = (
    *("quantity", "n_rows", "first", "second", "censored", "dependent", "value"),
    *("method", "coverage", "above", "width", "repeats"),
)  # fmt: skip


@cache
def true_values(name: str) -> dict[str, float]:
    """Values of one model in the population."""
    rng = np.random.default_rng(SEED)
    true = RISKS.ppf((np.arange(TRUTH_ROWS) + 0.5) / TRUTH_ROWS)
    stated = STATED[name](true, rng.standard_normal(TRUTH_ROWS))
    at = np.minimum((stated * len(BINS)).astype(int), len(BINS) - 1)
    order = np.argsort(-stated, kind="stable")
    events, others = true[order], 1 - true[order]
    above = np.cumsum(events) - events / 2
    return {
        "ece": float(np.abs(np.bincount(at, true - stated, len(BINS))).sum() / TRUTH_ROWS),
        "observed_expected": float(true.mean() / stated.mean()),
        "brier_score": float(np.mean(true * (1 - stated) ** 2 + (1 - true) * stated**2)),
        "auc": float(others @ above / others.sum() / events.sum()),
    }


def jackknife(models: list[ModelRows]) -> Floats:
    """Interval of the difference of plug-in ECEs, with the standard error of the influences of rows."""
    plug_in, influence = [], []
    for each in models:
        counts, bin_of = each.counts, each.at.bin_of
        gap = np.nan_to_num(counts.accuracy - counts.mean_confidence)
        plug_in.append(float(counts.share @ np.abs(gap)))
        influence.append(np.sign(gap)[bin_of] * (each.pseudo - each.rows.risk) - plug_in[-1])
    half = 1.959964 * float(np.std(influence[0] - influence[1])) / np.sqrt(len(influence[0]))
    return plug_in[0] - plug_in[1] + np.array([-half, half])


def intervals_of(rows: SurvivalRows, stated: dict[str, Floats], draws: int, seed: int) -> dict[tuple[str, str], Floats]:
    """Intervals of the differences, by quantity and method."""
    names = list(stated)
    call = {"horizon": HORIZON, "bins": BINS, "draws": draws, "rng": seed}
    found = bc.compare_survival(rows.time, rows.event, stated, **call)
    ends = {("observed_expected", OURS): found.observed_expected_difference().interval(PROB)}
    each = [found[name] for name in names]
    if len(rows) == SIZES[0]:
        for method, cluster in ((CLUSTERED, np.repeat(np.arange(len(rows)), COPIES)), (IGNORED, None)):
            time, event, *risks = (np.repeat(of, COPIES) for of in (rows.time, rows.event, *stated.values()))
            copied = bc.survival.compare(time, event, dict(zip(names, risks, strict=True)), cluster=cluster, **call)
            ends["observed_expected", method] = copied.observed_expected_difference().interval(PROB)
            ends |= {
                (key, method): copied.difference(estimand=key).interval(PROB)
                for key in ("ece", "brier_score", "auc")
                if all(hasattr(copied[name], key) for name in names)
            }
    rng = np.random.default_rng(seed)
    for quantity in QUANTITIES:
        if quantity == "observed_expected":
            values = [evaluation.observed_expected.values for evaluation in each]
        elif all(hasattr(evaluation, quantity) for evaluation in each):
            ends[quantity, OURS] = found.difference(estimand=quantity).interval(PROB)
            values = [evaluation.draws(quantity).values for evaluation in each]
        else:
            continue
        ends[quantity, UNPAIRED] = np.quantile(values[0] - rng.permutation(values[1]), [0.025, 0.975])
    observed = (rows.event == 1) & (rows.time <= HORIZON)
    naive = bc.compare(observed, stated, bins=BINS, draws=draws, rng=seed)
    ends["ece", NAIVE] = naive.difference().interval(PROB)
    models = [ModelRows.read(SurvivalRows(rows.time, rows.event, p, None, 1), HORIZON, BINS) for p in stated.values()]
    ends["ece", DELTA] = jackknife(models)
    return {key: np.asarray(value) for key, value in ends.items()}


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods in one cell."""
    n_rows, pair, cell, repeats, draws, rng = job
    warnings.simplefilter("ignore", NotFollowedWarning)
    every = []
    for _ in range(repeats):
        rows = cell.draw(n_rows, rng)
        noise = rng.standard_normal(n_rows)
        stated = {name: STATED[name](rows.risk, noise) for name in pair}
        every.append(intervals_of(rows, stated, draws, int(rng.integers(2**31))))
    lines = []
    for quantity in QUANTITIES:
        value = true_values(pair[0])[quantity] - true_values(pair[1])[quantity]
        methods = dict.fromkeys(method for found in every for name, method in found if name == quantity)
        by_method = {m: np.array([found[quantity, m] for found in every if (quantity, m) in found]) for m in methods}
        about = {"quantity": quantity, "n_rows": n_rows, "first": pair[0], "second": pair[1]}
        about |= {"censored": cell.censored, "dependent": cell.dependent, "value": value}
        lines += coverage_rows(about, by_method, value)
    return lines


def populations(quick: bool) -> list[tuple[int, tuple[str, str], Cell]]:
    """All cells; with --quick, the smallest number of rows and one kind of censoring."""
    sizes, censorings = (SIZES[:1], CENSORINGS[1:2]) if quick else (SIZES, CENSORINGS)
    return [(n, pair, Cell("calibrated", *each)) for n in sizes for pair in PAIRS for each in censorings]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells: about eight minutes of one processor for 100 data sets."""
    jobs = jobs_of(populations(options.quick), options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def explained(row: dict[str, Any]) -> bool:
    """Whether censoring depends on nothing but the stated risk of each model; noise hides the true risk."""
    return not (row["dependent"] and "noisy" in row["second"])


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per quantity, kind of censoring, number of rows and method: mean and worst coverage."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (QUANTITIES.index(row["quantity"]), not explained(row))):
        key = (row["quantity"], explained(row), row["n_rows"], row["method"])
        groups.setdefault(key, []).append(row)
    lines = []
    for (quantity, holds, n_rows, method), each in groups.items():
        worst = min(each, key=lambda row: row["coverage"])
        censoring = f"{100 * worst['censored']:g} % {'dependent' if worst['dependent'] else 'independent'}"
        line = {
            "quantity": NAMES[quantity],
            "holds": "yes" if holds else "no",
            "n_rows": n_rows,
            "method": method,
            "cells": len(each),
        }
        line |= {"cells": len(each), "mean": float(np.mean([row["coverage"] for row in each]))}
        line |= {"worst": worst["coverage"], "width": float(np.mean([row["width"] for row in each]))}
        lines.append(line | {"where": f"{worst['first']} - {worst['second']}, {censoring}"})
    return lines


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    rows = rows_again(numbers)
    for row in rows:
        row |= {"share": 100 * row["censored"], "dep": "yes" if row["dependent"] else "no"}
    title = "Quantity | Explained | Rows: | Method | Cells: | Mean coverage: | Worst: | Worst cell | Mean width:"
    form = "{quantity}|{holds}|{n_rows}|{method}|{cells}|{mean:.3f}|{worst:.2f}|{where}|{width:.3f}"
    own = [row for row in rows if row["method"] == OURS and row["quantity"] == "ece"]
    head = "Models | Difference of ECE: | Rows: | Unknown: | Depends on risk | Coverage: | Width:"
    cell = "{first} - {second}|{value:+.4f}|{n_rows}|{share:g} %|{dep}|{coverage:.2f}|{width:.3f}"
    n_cells = len(populations(numbers["repeats"] < 10))
    return {
        "survival_differences": conditions(numbers, n_cells) + "\n" + table(title, cells(summary(rows), form)),
        "survival_difference_cells": table(head, cells(own, cell)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="survival_comparison.json",
        page="survival.md",
        shown=("survival_differences",),
        draws=(1000, 200),
    )
