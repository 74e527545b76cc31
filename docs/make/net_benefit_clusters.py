"""Measure how often intervals of net benefit, and of its difference between two models, contain the truth if rows are
in clusters, and how often a model is useful; write docs/explanation/net_benefit.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from clusters import sizes_of
from net_benefit import (
    NOISE,
    PROB,
    THRESHOLDS,
    by_stated,
    contributions,
    ends_of,
    quantiles,
    true_net_benefit,
)
from numpy.typing import NDArray
from pages import rows_again, table
from scipy.special import expit, logit
from studies import about, conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.clustered import simulate_clusters
from bayescal.datasets.simulate import true_curve
from bayescal.decisions.thresholds import odds
from bayescal.verify.coverage import stacked

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEED = 23
SIZES = (2, 10, "unequal", 50)
DEPENDENCE = (0.1, 0.5)
#: Curves, and the likeness of the scores of a cluster.
CURVES = ((("calibrated", None), 0.8), (("temperature", 1.5), 0.8))
POPULATION = "rare"
CLUSTERED, IGNORED, BOOTSTRAP = "bayescal, cluster=", "clusters ignored", "bootstrap of clusters"
COLUMNS = (
    *("quantity", "size", "dependence", "curve", "threshold", "truth"),
    *("method", "coverage", "above", "width", "repeats"),
)  # fmt: skip
#: Data sets of each cell with a random truth, per data set with a known curve.
USEFUL_PER_SET = 2


def bootstrap(rows: Any, other: Floats, resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Net benefit of the first model and its difference to the other, in resampled clusters."""
    number = int(rows.cluster[-1]) + 1
    first, second = (contributions(rows.outcome, p) for p in (rows.confidence, other))
    drawn = rng.multinomial(number, np.full(number, 1 / number), resamples).astype(np.float64)
    rows_drawn = drawn @ np.bincount(rows.cluster)
    sums = [
        np.stack([np.bincount(rows.cluster, values[:, k], number) for k in range(len(THRESHOLDS))], axis=1)
        for values in (first, first - second)
    ]
    one, difference = ((drawn @ each) / rows_drawn[:, None] for each in sums)
    return one, difference


def intervals_of(rows: Any, other: Floats, draws: int, rng: np.random.Generator) -> dict[tuple[str, str], Floats]:
    """Intervals by quantity and method, each of shape (2, n_thresholds)."""
    found = {}
    p = {"first": rows.confidence, "second": other}
    for method, cluster in ((CLUSTERED, rows.cluster), (IGNORED, None)):
        result = bc.decisions.net_benefit(rows.outcome, p, THRESHOLDS, cluster=cluster, draws=draws, rng=rng)
        found["net benefit", method] = ends_of(result.net_benefit["first"].values)
        found["difference", method] = ends_of(result.difference().values)
    one, difference = bootstrap(rows, other, draws, rng)
    found["net benefit", BOOTSTRAP], found["difference", BOOTSTRAP] = ends_of(one), ends_of(difference)
    return found


def of_cell(job: tuple[Any, ...]) -> list[Row]:
    """Coverage of all methods on the same data sets."""
    size, dependence, (given, alike), repeats, draws, rng = job
    curve = true_curve(*given)
    score = quantiles(POPULATION)
    mean = curve(score)
    first = true_net_benefit(score, mean)
    truths = {"net benefit": first, "difference": first - true_net_benefit(score, mean, NOISE)}

    def intervals() -> Iterator[dict[tuple[str, str, int], tuple[float, float]]]:
        for _ in range(repeats):
            rows = simulate_clusters(
                sizes_of(size, rng), dependence=dependence, alike=alike, population=POPULATION, curve=curve, rng=rng
            )
            noise = NOISE * rng.standard_normal(len(rows.outcome))
            found = intervals_of(rows, expit(logit(rows.confidence) + noise), draws, rng)
            yield {(*name, k): tuple(ends[:, k]) for name, ends in found.items() for k in range(len(THRESHOLDS))}

    by_method, lines = stacked(intervals()), []
    for quantity, truth in truths.items():
        for k, t in enumerate(THRESHOLDS):
            cell = {"quantity": quantity, "size": str(size), "dependence": dependence, "curve": str(curve)}
            cell |= {"threshold": float(t), "truth": float(truth[k])}
            mine = {m: ends for (q, m, at), ends in by_method.items() if (q, at) == (quantity, k)}
            lines += coverage_rows(cell, mine, truth[k])
    return lines


class Line:
    """A calibration curve that is a line on the logit scale."""

    def __init__(self, intercept: float, slope: float) -> None:
        self.intercept, self.slope = intercept, slope

    def __call__(self, score: Floats) -> Floats:
        rate: Floats = expit(self.intercept + self.slope * logit(score))
        return rate


def useful_in_cell(job: tuple[Any, ...]) -> list[Row]:
    """Stated probabilities of being useful, and whether it is so, for random truths."""
    size, dependence, repeats, draws, rng = job
    score, found = quantiles(POPULATION), []
    for _ in range(repeats):
        curve = Line(0.7 * rng.standard_normal(), np.exp(0.4 * rng.standard_normal()))
        mean = curve(score)
        default = np.maximum(mean.mean() - odds(THRESHOLDS) * (1 - mean.mean()), 0.0)
        is_so = true_net_benefit(score, mean) > default + 1e-12
        rows = simulate_clusters(
            sizes_of(size, rng), dependence=dependence, alike=0.8, population=POPULATION, curve=curve, rng=rng
        )
        for method, cluster in ((CLUSTERED, rows.cluster), (IGNORED, None)):
            result = bc.decisions.net_benefit(
                rows.outcome, rows.confidence, THRESHOLDS, cluster=cluster, draws=draws, rng=rng
            )
            stated, few = result.p_useful["model"], result.few_rows["model"]
            found += [
                {"method": method, "stated": float(s), "useful": bool(u)}
                for s, u, f in zip(stated, is_so, few, strict=True)
                if not f
            ]
    return found


def measure(options: argparse.Namespace) -> Row:
    """Measure all cells; with --quick, clusters of ten rows."""
    sizes = SIZES[1:2] if options.quick else SIZES
    streams = np.random.default_rng(SEED).spawn(2)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    places = [(size, rho, curve) for size in sizes for rho in DEPENDENCE for curve in CURVES]
    jobs = jobs_of(places, options.repeats, options.draws, rng=streams[0])
    found = measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))
    places = [(size, rho) for size in sizes for rho in DEPENDENCE]
    jobs = jobs_of(places, USEFUL_PER_SET * options.repeats, options.draws, rng=streams[1])
    every = rows_of_jobs(useful_in_cell, jobs, workers=options.workers)
    useful = []
    for method in (CLUSTERED, IGNORED):
        records = by_stated([row for row in every if row["method"] == method])
        useful += [{"method": method, **record} for record in records]
    return {**about(SEED, settings), **found, "useful": useful}


def by_cell(rows: list[Row], quantity: str) -> str:
    """One line per method, cluster size and dependence: lowest and mean coverage, and mean width."""
    lines = []
    for method in (CLUSTERED, IGNORED, BOOTSTRAP):
        of = [row for row in rows if (row["quantity"], row["method"]) == (quantity, method)]
        for size, rho in dict.fromkeys((row["size"], row["dependence"]) for row in of):
            mine = [row for row in of if (row["size"], row["dependence"]) == (size, rho)]
            covered = np.array([row["coverage"] for row in mine])
            width = np.mean([row["width"] for row in mine])
            lines.append([method, size, f"{rho:g}", f"{covered.min():.2f}", f"{covered.mean():.3f}", f"{width:.4f}"])
        covered, width = np.array([row["coverage"] for row in of]), np.mean([row["width"] for row in of])
        lines.append([method, "all", "", f"{covered.min():.2f}", f"{covered.mean():.3f}", f"{width:.4f}"])
    return table("Method | Cluster size: | Dependence: | Worst: | Mean: | Width:", lines)


def of_useful(records: list[Row]) -> str:
    """One line per bin of stated probabilities: both methods beside each other."""
    by_bin: dict[tuple[float, float], dict[str, Row]] = {}
    for record in records:
        by_bin.setdefault((record["low"], record["high"]), {})[record["method"]] = record
    lines = []
    for (low, high), found in sorted(by_bin.items()):
        columns = [f"{low:g} to {high:g}"]
        for method in (CLUSTERED, IGNORED):
            record = found.get(method)
            none = ["-"] * 3
            columns += (
                none if record is None else [f"{record['stated']:.3f}", f"{record['frequency']:.3f}", record["n"]]
            )
        lines.append(columns)
    return table("P(useful) | Stated: | Useful: | Cases: | Ignored, stated: | Useful: | Cases:", lines)


def tables(numbers: Row) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["size"], row["dependence"], row["curve"]) for row in rows})
    return {
        "net_benefit_clusters_conditions": conditions(numbers, n_cells),
        "net_benefit_clusters_intervals": by_cell(rows, "net benefit"),
        "net_benefit_clusters_differences": by_cell(rows, "difference"),
        "net_benefit_clusters_useful": of_useful(numbers["useful"]),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="net_benefit_clusters.json",
        page="net_benefit.md",
        shown=(
            *("net_benefit_clusters_conditions", "net_benefit_clusters_intervals"),
            *("net_benefit_clusters_differences", "net_benefit_clusters_useful"),
        ),
        repeats=(50, 2),
        draws=(1000, 200),
    )
