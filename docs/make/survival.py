"""Measure how often intervals of the calibration error at a horizon, of observed/expected events, of the Brier score
and of the AUC contain the truth if times are censored; write docs/explanation/survival.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.optimize import brentq
from scipy.stats import beta
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study
from twins.survival import beta_stacy_moments

import bayescal as bc
from bayescal.analyses.one import evaluate_one
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.result import SurvivalEvaluation
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]

SEED, PROB = 23, 0.95
SIZES, BINS, HORIZON, SHAPE = (500, 2000), make_bins(10), 1.0, 1.3
#: Stated risks, and shares of rows whose outcome at the horizon is unknown.
RISKS, CENSORED = beta(1.2, 2.4), (0.2, 0.5, 0.75)
#: The censoring hazard of dependent censoring is exp(DEPENDENCE (risk - 1/3)) times as large.
DEPENDENCE = 3.0
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda r: r,
    "HR 1.3": lambda r: 1 - (1 - r) ** 1.3,
    "wave": lambda r: r + 0.232 * r * (1 - r) * np.sin(4 * np.pi * r),
}
#: Probability of an event of cause 1 at any time is 1 - (1 - F)^1.5; cause 2 has this hazard.
EVENTUALLY, OTHER_HAZARD = 1.5, 0.8
QUANTILES = 100_000
#: Data sets on which rivals are measured, as a share of all.
RIVALS = 0.4
#: Cells whose intervals exist in a smaller share of the data sets are left out of tables.
LEAST = 0.2
COLUMNS = (
    *("quantity", "n_rows", "truth", "censored", "dependent", "causes", "value", "not_followed"),
    *("method", "coverage", "above", "width", "repeats"),
)  # fmt: skip
NAMES = {"ece": "ECE", "observed_expected": "observed / expected", "brier_score": "Brier score", "auc": "AUC"}


@dataclass(frozen=True)
class Cell:
    """A population: the true risk given the stated one, and its censoring."""

    truth: str
    censored: float
    dependent: bool
    causes: int = 1

    def draw(self, n_rows: int, rng: np.random.Generator) -> SurvivalRows:
        """Draw rows."""
        risk = RISKS.rvs(n_rows, random_state=rng)
        time, cause = self.events(TRUTHS[self.truth](risk), rng)
        lost = rng.exponential(1.0, n_rows) / (censoring_rate(self) * self.relative(risk))
        return SurvivalRows(np.minimum(time, lost), np.where(time <= lost, cause, 0), risk, None, 1)

    def relative(self, risk: Floats) -> Floats:
        """Censoring hazard relative to that at a risk of 1/3."""
        return np.exp(DEPENDENCE * self.dependent * (risk - 1 / 3))

    def events(
        self, true: Floats, rng: np.random.Generator, uniform: Floats | None = None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Draw times and causes of events whose probability by the horizon is `true`.

        `uniform` numbers may depend on each other: they decide on the times, or on the causes if there are two.
        """
        size = len(true)
        uniform = rng.random(size) if uniform is None else uniform
        if self.causes == 1:
            time = (np.log(uniform) / np.log1p(-true)) ** (1 / SHAPE)
            return time, np.ones(size, np.int64)
        ever = 1 - (1 - true) ** EVENTUALLY
        first = uniform < ever
        rate = np.where(first, -np.log1p(-true / ever), OTHER_HAZARD)
        return rng.exponential(1.0, size) / rate, np.where(first, 1, 2)


@cache
def quantiles() -> Floats:
    """Stated risks that represent equal shares of the population."""
    return RISKS.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES)


@cache
def censoring_rate(cell: Cell) -> float:
    """Rate at which the share of rows with unknown outcome is that of the cell."""
    rng = np.random.default_rng(SEED)
    risk = quantiles()
    time = np.minimum(cell.events(TRUTHS[cell.truth](risk), rng)[0], HORIZON)
    lost = rng.exponential(1.0, len(risk)) / cell.relative(risk)
    return float(brentq(lambda rate: float(np.mean(lost / rate < time)) - cell.censored, 1e-3, 1e3, xtol=1e-4))


@cache
def true_values(truth: str) -> dict[str, float]:
    """Values in the population."""
    risk = quantiles()
    true = TRUTHS[truth](risk)
    at = np.minimum((risk * len(BINS)).astype(int), len(BINS) - 1)
    gap = np.bincount(at, true - risk, len(BINS)) / len(risk)
    above = np.cumsum(true[::-1])[::-1] - true / 2
    return {
        "ece": float(np.abs(gap).sum()),
        "observed_expected": float(true.mean() / risk.mean()),
        "brier_score": float(np.mean(true * (1 - risk) ** 2 + (1 - true) * risk**2)),
        "auc": float(((1 - true) * above).sum() / (1 - true).sum() / true.sum()),
    }


def inverse_weights(time: Floats, event: NDArray[Any], of: Floats, of_event: NDArray[Any]) -> Floats:
    """Weights 1 / G(u-) of rows with known outcome, with the curve of the rows `of`; 0 for others."""
    order = np.lexsort((of_event == 0, of))
    t, e = of[order], of_event[order]
    stay = np.where(e == 0, 1 - 1 / np.arange(len(t), 0, -1), 1.0)
    curve = np.concatenate([[1.0], np.cumprod(stay)])[np.searchsorted(t, np.minimum(time, HORIZON), side="left")]
    known = ((event > 0) & (time <= HORIZON)) | (time >= HORIZON)
    return np.where(known & (curve > 0), 1 / np.maximum(curve, 1e-12), 0.0)


def rivals(rows: SurvivalRows, counts: HorizonCounts) -> dict[str, HorizonCounts]:
    """Counts of other recipes: F and effective numbers of rows."""
    size, at = len(BINS), np.minimum((rows.risk * len(BINS)).astype(int), len(BINS) - 1)
    hit = (rows.event == 1) & (rows.time <= HORIZON)
    pooled = inverse_weights(rows.time, rows.event, rows.time, rows.event)
    own, f, n = np.zeros(len(rows)), np.full(size, np.nan), np.zeros(size)
    for b in np.unique(at):
        i = at == b
        own[i] = inverse_weights(rows.time[i], rows.event[i], rows.time[i], rows.event[i])
        mean, variance = beta_stacy_moments(rows.time[i], rows.event[i], HORIZON)
        f[b], n[b] = mean, mean * (1 - mean) / variance - 1 if variance > 0 else counts.effective_n[b]
    n = np.where(counts.followed, np.clip(n, 0, counts.n), 0.0)
    found = {"moments": replace(counts, accuracy=np.where(counts.occupied, f, np.nan), effective_n=n)}
    for name, weight in (("ipcw", pooled), ("ipcw-bin", own)):
        total, squares = np.bincount(at, weight, size), np.bincount(at, weight**2, size)
        share = np.bincount(at, weight * hit, size) / np.maximum(total, 1e-12)
        kish = np.divide(total**2, squares, out=np.zeros(size), where=squares > 0)
        share = np.where(counts.occupied, share, np.nan)
        found[name] = replace(counts, accuracy=share, effective_n=kish, followed=np.ones(size, bool))
    return found


def log_wald(rows: SurvivalRows) -> Floats:
    """Ratio of 1 minus the pooled Kaplan-Meier estimate to the mean risk, with a standard error of its logarithm."""
    mean, variance = beta_stacy_moments(rows.time, rows.event, HORIZON)
    half = 1.959964 * np.sqrt(variance) / max(mean, 1e-12)
    return mean / rows.risk.mean() * np.exp([-half, half])


def intervals_of(rows: SurvivalRows, draws: int, seed: int, with_rivals: bool) -> dict[tuple[str, str], Floats]:
    """Intervals by quantity and method, and the share that is not followed."""
    counts = HorizonCounts.from_rows(rows, HORIZON, BINS)
    ev = SurvivalEvaluation.of(evaluate_one(counts, draws=draws, rng=seed))
    found = {("ece", "bayescal"): ev.ece, ("observed_expected", "bayescal"): ev.observed_expected}
    found |= {(name, "bayescal"): ev.draws(name) for name in ("brier_score", "auc") if hasattr(ev, name)}
    ends = {key: np.array(drawn.interval(PROB)) for key, drawn in found.items()}
    if with_rivals:
        naive = bc.BinnedCounts.from_arrays((rows.event == 1) & (rows.time <= HORIZON), rows.risk, bins=BINS)
        others = {"censored = event-free": naive, **(rivals(rows, counts) if rows.event.max() < 2 else {})}
        for name, each in others.items():
            ends["ece", name] = np.array(evaluate_one(each, draws=draws, rng=seed).ece.interval(PROB))
        if rows.event.max() < 2:
            ends["observed_expected", "pooled Kaplan-Meier"] = log_wald(rows)
    ends["followed", ""] = np.array([counts.not_followed] * 2)
    return ends


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods in one cell."""
    n_rows, cell, repeats, draws, rng = job
    every = [
        intervals_of(cell.draw(n_rows, rng), draws, int(rng.integers(2**31)), i < max(RIVALS * repeats, 1))
        for i in range(repeats)
    ]
    values = true_values(cell.truth)
    lost = float(np.mean([found.pop(("followed", ""))[0] for found in every]))
    rows = []
    for quantity in values:
        by_method = {}
        for method in dict.fromkeys(method for found in every for name, method in found if name == quantity):
            by_method[method] = np.array([found[quantity, method] for found in every if (quantity, method) in found])
        about = {
            "quantity": quantity,
            "n_rows": n_rows,
            **{name: getattr(cell, name) for name in ("truth", "censored", "dependent", "causes")},
            "value": values[quantity],
            "not_followed": lost,
        }
        rows += coverage_rows(about, by_method, values[quantity])
    return rows


def populations(quick: bool) -> list[tuple[int, Cell]]:
    """All cells; with --quick, the smallest number of rows and one share of censored rows."""
    sizes, shares = (SIZES[:1], CENSORED[1:2]) if quick else (SIZES, CENSORED)
    found = [Cell(truth, share, dep) for truth in TRUTHS for share in shares for dep in (False, True)]
    found += [Cell(truth, 0.5, dep, causes=2) for truth in list(TRUTHS)[:2] for dep in (False, True)]
    return [(n, cell) for n in sizes for cell in found]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells."""
    every = populations(options.quick)
    jobs = jobs_of(every, options.repeats, options.draws, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def summary(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per quantity, number of rows, causes and method: mean and worst coverage."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in ("quantity", "causes", "n_rows", "method")), []).append(row)
    lines = []
    for (quantity, causes, n_rows, method), each in groups.items():
        worst = min(each, key=lambda row: row["coverage"])
        censoring = "dependent" if worst["dependent"] else "independent"
        lines.append(
            {
                "quantity": NAMES[quantity],
                "causes": causes,
                "n_rows": n_rows,
                "method": method,
                "cells": len(each),
                "mean": float(np.mean([row["coverage"] for row in each])),
                "worst": worst["coverage"],
                "width": float(np.mean([row["width"] for row in each])),
                "where": f"{worst['truth']}, {100 * worst['censored']:g} % {censoring}",
            }
        )
    return lines


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    # scores have no interval in data sets with many rows that are not followed
    rows = [row for row in rows_again(numbers) if row["repeats"] >= LEAST * numbers["repeats"]]
    lines = summary(rows)
    form = "{n_rows}|{method}|{cells}|{mean:.3f}|{worst:.2f}|{where}|{width:.3f}"
    head = "Rows: | Method | Cells: | Mean coverage: | Worst: | Worst cell | Mean width:"

    def part(quantity: str, causes: int) -> str:
        return table(head, cells((x for x in lines if (x["quantity"], x["causes"]) == (NAMES[quantity], causes)), form))

    own = [row for row in rows if row["method"] == "bayescal" and row["quantity"] == "ece" and row["causes"] == 1]
    for row in own:
        row |= {"share": 100 * row["censored"], "dep": "yes" if row["dependent"] else "no"}
        row |= {"lost": 100 * row["not_followed"]}
    cell = "{truth}|{value:.4f}|{n_rows}|{share:g} %|{dep}|{lost:.1f} %|{coverage:.2f}|{width:.3f}"
    title = "Truth | ECE: | Rows: | Unknown: | Depends on risk | Not followed: | Coverage: | Width:"
    scores = [x for x in lines if x["quantity"] in (NAMES["brier_score"], NAMES["auc"]) and x["causes"] == 1]
    return {
        "survival": conditions(numbers, len(populations(numbers["repeats"] < 10))) + "\n" + part("ece", 1),
        "survival_cells": table(title, cells(own, cell)),
        "survival_competing": part("ece", 2),
        "survival_ratio": part("observed_expected", 1),
        "survival_scores": table("Quantity | " + head, cells(scores, "{quantity}|" + form)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="survival.json",
        page="survival.md",
        shown=("survival", "survival_competing", "survival_ratio", "survival_scores"),
        draws=(1000, 200),
    )
