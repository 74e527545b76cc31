"""Measure how often intervals of evaluate_survival contain the truth if rows are censored and in clusters; write
docs/explanation/survival.md: part of `make coverage`.
"""

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from clusters import sizes_of
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study
from survival import BINS, HORIZON, LEAST, NAMES, RISKS, TRUTHS, Cell, censoring_rate, quantiles, true_values

from bayescal.analyses.one import evaluate_one
from bayescal.data.groups import Clusters
from bayescal.datasets.clustered import uniform_in_clusters
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.result import SurvivalEvaluation
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]

SEED, PROB = 37, 0.95
#: Latent correlations: of stated risks, and of times of censoring that depend on the cluster, within clusters.
ALIKE, TOGETHER = 0.5, 0.5
SIZES, CORRELATIONS, CENSORED = (2, 10, "unequal", 50), (0.1, 0.5), (0.2, 0.75)
#: Other data with half of the outcomes unknown and a latent correlation of 0.5.
OTHERS = ("censoring depends on the risk", "censoring depends on the cluster", "competing causes", "weights")
#: Rows of the data sets without clusters: as many as the fewest effective rows, 2000 / 8, of half unknown outcomes.
INDEPENDENT = 250
QUANTITIES = ("ece", "signed_error", "observed_expected", "brier_score", "auc")
WORDS = {**NAMES, "signed_error": "signed error", "null": "plug-in ECE if calibrated"}
COLUMNS = ("size", "rho", "truth", "censored", "data", "value", "icc", "bin_effect", "total_effect", "not_followed")
COLUMNS = (*COLUMNS, "quantity", "method", "coverage", "above", "width", "repeats")
METHODS = ("evaluate_survival", "clusters ignored", "total everywhere")


@dataclass(frozen=True)
class Clustered:
    """A population of rows in clusters.

    Parameters
    ----------
    size : int or "unequal"
        Rows per cluster; 1 for `INDEPENDENT` rows.
    rho : float
        Latent correlation of times of events within clusters.
    truth, censored
        As for `Cell`.
    data : str
        One of `OTHERS`, or "".
    """

    size: Any
    rho: float
    truth: str
    censored: float
    data: str = ""

    @property
    def cell(self) -> Cell:
        """The same population without clusters."""
        return Cell(self.truth, self.censored, self.data == OTHERS[0], 2 if self.data == OTHERS[2] else 1)

    def draw(self, rng: np.random.Generator) -> tuple[SurvivalRows, Clusters]:
        """Draw rows; given its risk, each has the event by the horizon with the probability of its curve."""
        sizes = np.ones(INDEPENDENT, np.int64) if self.size == 1 else sizes_of(self.size, rng)
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        risk = RISKS.ppf(uniform_in_clusters(cluster, ALIKE, rng))
        uniform = uniform_in_clusters(cluster, self.rho, rng)
        time, cause = self.cell.events(TRUTHS[self.truth](risk), rng, uniform)
        together = TOGETHER if self.data == OTHERS[1] else 0.0
        lost = -np.log(uniform_in_clusters(cluster, together, rng))
        # without censoring, the same random numbers are drawn
        lost = lost / (censoring_rate(self.cell) * self.cell.relative(risk)) if self.censored else lost + np.inf
        weight = rng.gamma(2.0, 1.0, len(risk)) if self.data == OTHERS[3] else None
        event = np.where(time <= lost, cause, 0)
        rows = SurvivalRows(np.minimum(time, lost), event, risk, weight, 1)
        return rows, Clusters.from_column(cluster, len(risk))


def truths(truth: str) -> dict[str, float]:
    """Values in the population."""
    risk = quantiles()
    return true_values(truth) | {"signed_error": float(np.mean(TRUTHS[truth](risk) - risk))}


def intervals_of(cell: Clustered, draws: int, rng: np.random.Generator) -> tuple[dict[Any, Floats], Floats]:
    """Intervals by quantity and method; and the correlation, design effects and share not followed."""
    rows, clusters = cell.draw(rng)
    seed = int(rng.integers(2**31))
    counts = HorizonCounts.from_rows(rows, HORIZON, BINS, clusters)
    alone = HorizonCounts.from_rows(rows, HORIZON, BINS)
    found: dict[Any, Floats] = {}
    for method, each in zip(METHODS, (counts, alone, counts.with_total_effect()), strict=True):
        ev = SurvivalEvaluation.of(evaluate_one(each, draws=draws, rng=seed))
        wanted = ("ece",) if method == METHODS[2] else QUANTITIES
        for name in (name for name in wanted if hasattr(ev, name)):
            drawn = ev.observed_expected if name == "observed_expected" else ev.draws(name)
            found[name, method] = np.array(drawn.interval(PROB))
        if cell.truth == "calibrated" and method != METHODS[2]:
            # shifted so that the true value is 0 in every data set
            found["null", method] = np.array(ev.null.interval(PROB)) - ev.plug_in
    sums = counts.clusters
    return found, np.array([sums.icc, sums.bin_effects.mean(), sums.total_effect, counts.not_followed])


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all quantities and methods in one cell."""
    cell, repeats, draws, rng = job
    every, effects = zip(*(intervals_of(cell, draws, rng) for _ in range(repeats)), strict=True)
    values = truths(cell.truth) | {"null": 0.0}
    about = {name: getattr(cell, name) for name in ("size", "rho", "truth", "censored", "data")}
    about |= dict(zip(("icc", "bin_effect", "total_effect", "not_followed"), np.mean(effects, axis=0), strict=True))
    rows = []
    for quantity in dict.fromkeys(name for found in every for name, _ in found):
        by_method = {}
        for method in METHODS:
            ends = [found[quantity, method] for found in every if (quantity, method) in found]
            by_method |= {method: np.array(ends)} if ends else {}
        cell_of = {**about, "quantity": quantity, "value": values[quantity]}
        rows += coverage_rows(cell_of, by_method, values[quantity])
    return [{name: float(x) if isinstance(x, np.floating) else x for name, x in row.items()} for row in rows]


def populations(quick: bool) -> list[tuple[Clustered]]:
    """All cells; with --quick, three."""
    both = ("calibrated", "HR 1.3")
    found = [Clustered(size, rho, truth, 0.5) for size in SIZES for rho in CORRELATIONS for truth in both]
    found += [Clustered(size, 0.5, truth, share) for size in (10, 50) for share in CENSORED for truth in both]
    found += [Clustered(10, 0.5, truth, 0.5, data) for data in OTHERS for truth in both]
    found += [Clustered(size, 0.5, truth, 0.0, "all outcomes known") for size in (10, 50) for truth in both]
    found += [Clustered(1, 0.0, truth, 0.5, f"{INDEPENDENT} independent rows") for truth in both]
    return [(each,) for each in (found[4:5] + found[28:29] + found[-1:] if quick else found)]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells."""
    jobs = jobs_of(populations(options.quick), options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per quantity and method: mean and worst coverage."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["quantity"], row["method"]), []).append(row)
    return [
        {
            "words": WORDS[quantity],
            "method": method,
            "cells": len(each),
            "mean": float(np.mean([row["coverage"] for row in each])),
            "worst": min(row["coverage"] for row in each),
            "width": float(np.mean([row["width"] for row in each])),
        }
        for (quantity, method), each in groups.items()
    ]


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    # scores have no interval in data sets with many rows that are not followed
    rows = [row for row in rows_again(numbers) if row["repeats"] >= LEAST * numbers["repeats"]]
    head = "Quantity | Method | Cells: | Mean coverage: | Worst: | Mean width:"
    clustered = [row for row in rows if row["size"] != 1]
    overall = table(head, cells(summary(clustered), "{words}|{method}|{cells}|{mean:.3f}|{worst:.2f}|{width:.3f}"))
    lines: dict[Any, dict[str, Any]] = {}
    for row in (row for row in rows if row["quantity"] in ("ece", "observed_expected")):
        key = tuple(row[name] for name in ("size", "rho", "truth", "censored", "data"))
        line = lines.setdefault(key, {**row, "unknown": 100 * row["censored"], "lost": 100 * row["not_followed"]})
        name = f"{row['quantity']}_{METHODS.index(row['method'])}"
        line |= {f"{name}_coverage": row["coverage"], f"{name}_width": row["width"]}
    head = (
        "Rows per cluster | rho: | Truth | Unknown: | Data | ICC: | Effect of bins: | Of the total: | Not followed: | "
        "ECE: | ECE, ignored: | ECE, total: | Observed / expected: | Ignored:"
    )
    form = "{size}|{rho:g}|{truth}|{unknown:g} %|{data}|{icc:.2f}|{bin_effect:.2f}|{total_effect:.2f}|{lost:.1f} %"
    for name in ("ece_0", "ece_1", "ece_2", "observed_expected_0", "observed_expected_1"):
        form += f"|{{{name}_coverage:.2f}} ({{{name}_width:.3f}})"
    n_cells = len(populations(numbers["repeats"] < 10))
    return {
        "survival_clusters": conditions(numbers, n_cells) + "\n" + overall,
        "survival_clusters_cells": table(head, cells(lines.values(), form)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="survival_clusters.json",
        page="survival.md",
        shown=("survival_clusters", "survival_clusters_cells"),
        draws=(1000, 200),
    )
