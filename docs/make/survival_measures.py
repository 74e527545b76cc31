"""Measure how often intervals of the calibration intercept and slope, and of the net benefit, at a horizon contain the
truth if times are censored; write docs/explanation/survival.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.optimize import root
from scipy.special import expit, logit
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study, with_fresh_sets
from survival import HORIZON, TRUTHS, Cell, inverse_weights, quantiles

import bayescal as bc
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]

SEED, PROB = 31, 0.95
#: Numbers of rows, and shares of unknown outcomes of each.
SIZES = {300: (0.2, 0.5), 1000: (0.2, 0.5), 2000: (0.5,)}
THRESHOLDS = np.array([0.1, 0.3, 0.6])
#: Truths, and the logits of stated risks relative to those of the risks on which truth and censoring depend.
STATED = {"calibrated": 1.0, "HR 1.3": 1.0, "wave": 1.0, "too extreme": 1.5}
LINES = ("intercept", "slope")
#: Coverage below which a quantity of a cell is measured again.
BAR = 0.85
#: Share of the data sets on which rivals are measured, and resamples of the bootstrap.
RIVALS, RESAMPLES = 0.4, 200
COLUMNS = (
    *("quantity", "n_rows", "truth", "censored", "dependent", "causes", "value"),
    *("method", "coverage", "above", "width", "repeats", "first"),
)  # fmt: skip


def true_risk(truth: str) -> Floats:
    """Probability of the event in equal shares of the population."""
    return TRUTHS["calibrated" if truth == "too extreme" else truth](quantiles())


def stated(truth: str, risk: Floats) -> Floats:
    """Risks that the model states."""
    return np.asarray(expit(STATED[truth] * logit(risk)))


@cache
def true_values(truth: str) -> dict[str, float]:
    """Intercept and slope of the best line in the population, and net benefits."""
    true, risk = true_risk(truth), stated(truth, quantiles())
    x = logit(risk)

    def score(line: Floats) -> Floats:
        gap = true - expit(line[0] + line[1] * x)
        return np.array([gap.mean(), (gap * x).mean()])

    values = dict(zip(LINES, root(score, [0.0, 1.0], tol=1e-10).x.tolist(), strict=True))
    for t in THRESHOLDS:
        treated = risk >= t
        values[name_of(t)] = float(np.mean(treated * (true - t / (1 - t) * (1 - true))))
    return values


def name_of(threshold: float) -> str:
    """Name of the net benefit at a threshold."""
    return f"net benefit at {threshold:g}"


def drawn(truth: str, cell: Cell, n_rows: int, rng: np.random.Generator) -> SurvivalRows:
    """Rows with stated risks."""
    rows = cell.draw(n_rows, rng)
    return SurvivalRows(rows.time, rows.event, stated(truth, rows.risk), None, 1)


def bootstrap(rows: SurvivalRows, rng: np.random.Generator) -> Floats:
    """Percentile intervals of the net benefit with product-limit estimates in resampled rows, (n_thresholds, 2)."""
    order = np.lexsort((rows.event == 0, rows.time))
    time, event, risk = rows.time[order], rows.event[order], rows.risk[order]
    n = len(time)
    weight = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float)
    benefits = []
    for t in THRESHOLDS:
        own = weight * (risk >= t)
        at_risk = np.cumsum(own[:, ::-1], axis=1)[:, ::-1]
        hazard = np.where((event > 0) & (time <= HORIZON), own / np.maximum(at_risk, 1e-12), 0.0)
        before = np.cumprod(np.concatenate([np.ones((RESAMPLES, 1)), 1 - hazard[:, :-1]], axis=1), axis=1)
        share = (before * hazard * (event == 1)).sum(axis=1)
        benefits.append(own.sum(axis=1) / n * (share - t / (1 - t) * (1 - share)))
    return np.quantile(np.array(benefits), [(1 - PROB) / 2, (1 + PROB) / 2], axis=1).T


def sandwich(rows: SurvivalRows) -> Floats:
    """Wald intervals of intercept and slope with one censoring curve of all rows, taken as known; shape (2, 2)."""
    weight = inverse_weights(rows.time, rows.event, rows.time, rows.event)
    x = np.stack([np.ones(len(rows)), logit(rows.risk)])
    hit, line = (rows.event == 1) & (rows.time <= HORIZON), np.array([0.0, 1.0])
    for _ in range(30):
        p = expit(line @ x)
        bread = np.linalg.inv((x * weight * p * (1 - p)) @ x.T)
        line = line + bread @ (x @ (weight * (hit - p)))
    meat = (x * (weight * (hit - expit(line @ x))) ** 2) @ x.T
    half = 1.959964 * np.sqrt(np.diag(bread @ meat @ bread))
    return np.stack([line - half, line + half], axis=1)


def intervals_of(rows: SurvivalRows, draws: int, rng: np.random.Generator, with_rivals: bool) -> dict[Any, Floats]:
    """Intervals by quantity and method."""
    seed = int(rng.integers(2**31))
    columns = (rows.time, rows.event, rows.risk)
    rc = bc.survival.recalibration(*columns, horizon=HORIZON, draws=draws, rng=seed)
    curve = bc.survival.net_benefit(*columns, THRESHOLDS, horizon=HORIZON, draws=draws, rng=seed)
    ends = {(name, "bayescal"): np.array(rc.exact_interval(name, PROB)) for name in LINES}
    low, high = curve.net_benefit["model"].interval(PROB)
    ends |= {(name_of(t), "bayescal"): np.array([a, b]) for t, a, b in zip(THRESHOLDS, low, high, strict=True)}
    if not with_rivals:
        return ends
    hit = (rows.event == 1) & (rows.time <= HORIZON)
    naive = bc.clinical.recalibration(hit, rows.risk, draws=draws, rng=seed)
    ends |= {(name, "censored = event-free"): np.array(naive.exact_interval(name, PROB)) for name in LINES}
    ends |= dict(zip([(name, "pooled weights, sandwich") for name in LINES], sandwich(rows), strict=True))
    names = [(name_of(t), "product limit, bootstrap") for t in THRESHOLDS]
    return ends | dict(zip(names, bootstrap(rows, rng), strict=True))


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods in one cell; quantities below the bar again, on fresh data sets."""
    n_rows, truth, cell, repeats, draws, rng = job

    def covered(times: int) -> list[dict[str, Any]]:
        every = [
            intervals_of(drawn(truth, cell, n_rows, rng), draws, rng, i < max(RIVALS * repeats, 1))
            for i in range(times * repeats)
        ]
        rows = []
        for quantity, value in true_values(truth).items():
            methods = dict.fromkeys(method for found in every for name, method in found if name == quantity)
            by_method = {m: np.array([of[quantity, m] for of in every if (quantity, m) in of]) for m in methods}
            about = {"quantity": quantity, "n_rows": n_rows, "truth": truth, "value": value}
            about |= {name: getattr(cell, name) for name in ("censored", "dependent", "causes")}
            rows += coverage_rows(about, by_method, value)
        return rows

    return with_fresh_sets(covered(1), covered, bar=BAR, where={"method": "bayescal"}, of=("quantity",))


def populations(quick: bool) -> list[tuple[int, str, Cell]]:
    """All cells; with --quick, the smallest number of rows and half of the outcomes unknown."""
    found = []
    for n_rows, shares in SIZES.items():
        for truth in STATED:
            of = "calibrated" if truth == "too extreme" else truth
            found += [(n_rows, truth, Cell(of, share, dep)) for share in shares for dep in (False, True)]
        found += [(n_rows, "calibrated", Cell("calibrated", 0.5, True, causes=2))]
    return [each for each in found if each[0] == min(SIZES) and each[2].censored == 0.5] if quick else found


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells."""
    jobs = jobs_of(populations(options.quick), options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def summary(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per quantity, number of rows and method: mean and worst coverage."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["quantity"], row["n_rows"], row["method"]), []).append(row)
    lines = []
    for (quantity, n_rows, method), each in groups.items():
        worst = min(each, key=lambda row: row["coverage"])
        about = f"{100 * worst['censored']:g} % {'dependent' if worst['dependent'] else 'independent'}"
        about += ", 2 causes" * (worst["causes"] == 2)
        lines.append(
            {
                "quantity": quantity, "n_rows": n_rows, "method": method, "cells": len(each),
                "mean": float(np.mean([row["coverage"] for row in each])), "worst": worst["coverage"],
                "width": float(np.mean([row["width"] for row in each])), "where": f"{worst['truth']}, {about}",
            }
        )  # fmt: skip
    return lines


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table by the name of its marker."""
    form = "{quantity}|{n_rows}|{method}|{cells}|{mean:.3f}|{worst:.2f}|{where}|{width:.3f}"
    head = "Quantity | Rows: | Method | Cells: | Mean coverage: | Worst: | Worst cell | Mean width:"
    n_cells = len(populations(numbers["repeats"] < 10))
    lines = sorted(summary(rows_again(numbers)), key=lambda line: (line["quantity"], line["n_rows"]))
    return {"survival_measures": conditions(numbers, n_cells) + "\n" + table(head, cells(lines, form))}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="survival_measures.json",
        page="survival.md",
        shown=("survival_measures",),
        draws=(1000, 200),
    )
