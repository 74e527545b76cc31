"""Measure how often intervals contain the truth if rows are in clusters; write docs/explanation/clusters.md: part of
`make coverage`.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from scipy.special import expit, logit
from studies import about, errors_near, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.clustered import SimulatedClusters, simulate_clusters
from bayescal.datasets.simulate import true_curve, true_ece

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEED, PROB, BINS, ROWS = 31, 0.95, 15, 2000
PARTS = ("cells", "few", "paired", "one_sided", "again")
CURVES = {"calibrated": ("calibrated", None), "T = 1.5": ("temperature", 1.5), "one bad bin": ("one bad bin", 0.3)}
SIZES = (2, 10, "unequal", 50)
#: Numbers of clusters, and rows of each, of the cells with few clusters.
FEW = ((10, 100), (20, 50), (40, 25))
#: Parts with several times as many data sets, and how many cells are shown of those that are measured again.
MORE, TIMES, LOWEST = ("paired", "again"), 4, 6
#: Intervals of the ECE: rows as independent; the effect of each bin; the geometric mean with that of the total; that of
#: the total; the mean up to an effect of the total of 5, and the total beyond; `evaluate`.
METHODS = ("none", "bin", "mean", "total", "switch", "bayescal", "bootstrap")
LARGEST_TOTAL = 5.0
OTHERS = ("signed_error", "l2_error", "e90_bins", "brier_score", "log_score", "auc")
ONE_SIDED = ("overconfidence", "underconfidence")
#: The second classifier of a pair, as a function of the calibrated confidences of the first.
SECOND: dict[str, Callable[[Floats], Floats]] = {
    "T = 0.67": lambda c: expit(1.5 * logit(c)),
    "wave": lambda c: np.clip(c + 0.08 * np.sin(8 * np.pi * c), 0.002, 0.998),
}
#: Quantiles of the population for true values.
QUANTILES = 45_000
COLUMNS = (
    "size",
    "rho",
    "alike",
    "curve",
    "icc",
    "bin_effect",
    "total_effect",
    "quantity",
    "method",
    "coverage",
    "width",
)
KEY = ("size", "rho", "alike", "curve")


def sizes_of(size: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sizes of clusters with 2000 rows in all; unequal ones are log-normal with median 4."""
    if size != "unequal":
        return np.full(ROWS // size, size)
    drawn = np.maximum(1, np.rint(4 * np.exp(0.9 * rng.standard_normal(ROWS)))).astype(np.int64)
    kept = drawn[: np.searchsorted(np.cumsum(drawn), ROWS)]
    return np.append(kept, ROWS - kept.sum())


def truths(curve: str) -> dict[str, float]:
    """True values on the flat population: sums over its quantiles, or quadrature."""
    c = (np.arange(QUANTILES) + 0.5) / QUANTILES
    theta = true_curve(*CURVES[curve])(c)
    gap = (theta - c).reshape(BINS, -1).mean(axis=1)
    return {
        "ece": true_ece("flat", *CURVES[curve][:1], strength=CURVES[curve][1], bins=BINS),
        "signed_error": float(gap.mean()),
        "l2_error": float(np.sqrt((gap**2).mean())),
        "e90_bins": float(np.sort(np.abs(gap))[::-1][int(np.ceil(0.1 * BINS)) - 1]),
        "overconfidence": float(np.maximum(-gap, 0).mean()),
        "underconfidence": float(np.maximum(gap, 0).mean()),
        "brier_score": float((theta * (1 - c) ** 2 + (1 - theta) * c**2).mean()),
        "log_score": float(-(theta * np.log(c) + (1 - theta) * np.log1p(-c)).mean()),
        "auc": _auc(c, theta),
    }


def bootstrap(rows: SimulatedClusters, resamples: int, rng: np.random.Generator) -> Floats:
    """Plug-in ECE of a Bayesian bootstrap of clusters."""
    place = np.minimum((rows.confidence * BINS).astype(np.int64), BINS - 1)
    number = int(rows.cluster[-1]) + 1
    residual = np.bincount(rows.cluster * BINS + place, rows.outcome - rows.confidence, number * BINS)
    weight = rng.standard_exponential((resamples, number))
    drawn: Floats = np.abs(weight @ residual.reshape(number, BINS)).sum(axis=1) / (weight @ np.bincount(rows.cluster))
    return drawn


def intervals(rows: SimulatedClusters, draws: int, rng: np.random.Generator) -> tuple[dict[Any, Floats], Floats]:
    """Intervals by quantity and method; the intra-cluster correlation and the mean design effects."""
    ours = bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, bins=BINS, draws=draws, rng=rng)
    counts, found = ours.counts, ours.counts.clusters
    effects = {
        "bin": found.bin_effects,
        "mean": np.sqrt(found.bin_effects * found.total_effect),
        "total": np.full(BINS, found.total_effect),
    }
    plain = bc.evaluate(rows.outcome, rows.confidence, bins=BINS, draws=draws, rng=rng)
    result: dict[Any, Floats] = {("ece", "bayescal"): np.array(ours.ece.interval(PROB))}
    result["ece", "none"] = np.array(plain.ece.interval(PROB))
    for method, effect in effects.items():
        independent = replace(counts, weight_sq=counts.weight_sq * effect, clusters=None)
        other = bc.evaluate_counts(independent, draws=draws, rng=rng)
        result["ece", method] = np.array(other.ece.interval(PROB))
    for quantity in OTHERS:
        for method, evaluation in (("bayescal", ours), ("none", plain)):
            result[quantity, method] = np.array(evaluation.draws(quantity).interval(PROB))
    # how often the plug-in value of a calibrated classifier lies in the interval of its null distribution
    for method, evaluation in (("bayescal", ours), ("none", plain)):
        result["null", method] = np.append(evaluation.null.interval(PROB), evaluation.plug_in)
    result["ece", "switch"] = result["ece", "mean" if found.total_effect <= LARGEST_TOTAL else "total"]
    resampled = bootstrap(rows, draws, rng)
    result["ece", "bootstrap"] = np.quantile(resampled, [(1 - PROB) / 2, (1 + PROB) / 2])
    return result, np.array([found.icc, found.bin_effects.mean(), found.total_effect])


def one_sided(rows: SimulatedClusters, draws: int, rng: np.random.Generator) -> tuple[dict[Any, Floats], Floats]:
    """Intervals of the one-sided errors, as `intervals` returns them."""
    result: dict[Any, Floats] = {}
    for method, cluster in (("bayescal", rows.cluster), ("none", None)):
        found = bc.evaluate(rows.outcome, rows.confidence, cluster=cluster, bins=BINS, draws=draws, rng=rng)
        result |= {(quantity, method): np.array(found.draws(quantity).interval(PROB)) for quantity in ONE_SIDED}
        if cluster is not None:
            clusters = found.counts.clusters
            effects = np.array([clusters.icc, clusters.bin_effects.mean(), clusters.total_effect])
    return result, effects


def of_ece(rows: SimulatedClusters, draws: int, rng: np.random.Generator) -> tuple[dict[Any, Floats], Floats]:
    """Intervals of the ECE by the default, by the rule that switches, and for independent rows."""
    counts = bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=BINS, cluster=rows.cluster)
    found = counts.clusters
    mean = np.sqrt(found.bin_effects * found.total_effect)
    switch = mean if found.total_effect <= LARGEST_TOTAL else np.full(BINS, found.total_effect)
    result = {}
    for method, effect in (("bayescal", found.effects), ("switch", switch), ("none", np.ones(BINS))):
        independent = replace(counts, weight_sq=counts.weight_sq * effect, clusters=None)
        result["ece", method] = np.array(bc.evaluate_counts(independent, draws=draws, rng=rng).ece.interval(PROB))
    return result, np.array([found.icc, found.bin_effects.mean(), found.total_effect])


def of_cell(job: tuple[Any, ...]) -> list[Row]:
    """One row per quantity and method."""
    size, rho, alike, curve, part, repeats, draws, rng = job
    true, all_of, effects = truths(curve), {}, []
    measured = {"one_sided": one_sided, "again": of_ece}.get(part, intervals)
    named, strength = CURVES[curve]
    for _ in range(repeats):
        number = sizes_of(size, rng) if not isinstance(size, tuple) else np.full(*size)
        rows = simulate_clusters(number, dependence=rho, alike=alike, curve=named, strength=strength, rng=rng)
        found, effect = measured(rows, draws, rng)
        effects.append(effect)
        for key, value in found.items():
            all_of.setdefault(key, []).append(value)
    icc, bin_effect, total_effect = np.mean(effects, axis=0)
    if isinstance(size, tuple):
        size = f"{size[0]} clusters of {size[1]}"
    cell = {"size": size, "rho": rho, "alike": alike, "curve": curve}
    cell |= {"icc": float(icc), "bin_effect": float(bin_effect), "total_effect": float(total_effect)}
    lines = []
    for (quantity, method), values in all_of.items():
        if quantity == "null" and curve != "calibrated":
            continue
        low, high, *plug_in = np.array(values).T
        value = plug_in[0] if plug_in else true[quantity]
        inside = (low <= value + 1e-12) & (value <= high + 1e-12)
        numbers = {"coverage": float(inside.mean()), "width": float((high - low).mean())}
        lines.append({**cell, "quantity": quantity, "method": method, **numbers})
    return lines


def pair_truths(second: str) -> dict[str, float]:
    """True differences between calibrated confidences and their other version, on the flat population."""
    c = (np.arange(QUANTILES) + 0.5) / QUANTILES
    q = SECOND[second](c)
    place = np.minimum((q * BINS).astype(np.int64), BINS - 1)
    return {
        "ece": -float(np.abs(np.bincount(place, c - q, BINS)).sum()) / QUANTILES,
        "signed_error": -float((c - q).mean()),
        "brier_score": -float(((c - q) ** 2).mean()),
        "log_score": float((c * np.log(q / c) + (1 - c) * np.log((1 - q) / (1 - c))).mean()),
        "auc": _auc(c, c) - _auc(q, c),
    }


def _auc(score: Floats, theta: Floats) -> float:
    """Area under the ROC curve of scores without ties, with the probability of outcome 1 at each."""
    theta = theta[np.argsort(score, kind="stable")]
    below = (np.cumsum(1 - theta) - (1 - theta) / 2) / (1 - theta).sum()
    return float((theta * below).sum() / theta.sum())


def of_pair(job: tuple[Any, ...]) -> list[Row]:
    """Coverage of differences of two classifiers on the same rows."""
    size, rho, alike, second, _, repeats, draws, rng = job
    true, all_of = pair_truths(second), {}
    for _ in range(repeats):
        rows = simulate_clusters(sizes_of(size, rng), dependence=rho, alike=alike, rng=rng)
        both = {"first": rows.confidence, "second": SECOND[second](rows.confidence)}
        for method, cluster in (("none", None), ("bayescal", rows.cluster)):
            found = bc.compare(rows.outcome, both, cluster=cluster, bins=BINS, draws=draws, rng=rng)
            for quantity in true:
                ends = found.difference("first", "second", estimand=quantity).interval(PROB)
                all_of.setdefault((quantity, method), []).append(ends)
    cell = {
        "size": size,
        "rho": rho,
        "alike": alike,
        "curve": second,
        "icc": 0.0,
        "bin_effect": 0.0,
        "total_effect": 0.0,
    }
    lines = []
    for (quantity, method), values in all_of.items():
        low, high = np.array(values).T
        inside = (low <= true[quantity] + 1e-12) & (true[quantity] <= high + 1e-12)
        numbers = {"coverage": float(inside.mean()), "width": float((high - low).mean())}
        lines.append({**cell, "quantity": quantity, "method": method, **numbers})
    return lines


def all_cells(sizes: Any, curves: Any = CURVES, dependence: Any = (0.1, 0.5)) -> list[tuple[Any, ...]]:
    """Cells: sizes, dependence, likeness of confidences and curves; one bad bin with different confidences only."""
    return [
        (size, rho, alike, curve)
        for size in sizes
        for rho in dependence
        for alike in (0.0, 0.8)
        for curve in curves
        if not (alike and curve == "one bad bin")
    ]


def measure(options: argparse.Namespace) -> Row:
    """Measure the parts; with --quick, some cells with ten rows per cluster."""
    streams = dict(zip(PARTS, np.random.default_rng(SEED).spawn(len(PARTS)), strict=True))
    few, pairs = (FEW[:1], SIZES[1:2]) if options.quick else (FEW, SIZES[1:])
    of_part = {
        "cells": all_cells(SIZES[1:2], dependence=(0.5,)) if options.quick else all_cells(SIZES),
        "few": all_cells(few, ("calibrated", "T = 1.5"), (0.5,)),
        "paired": all_cells(pairs, SECOND, (0.5,)) + all_cells(pairs[:1], SECOND, (0.0,))[:2],
    }
    # the largest clusters
    of_part["one_sided"] = of_part["cells"][:2] if options.quick else all_cells(SIZES[3:])
    of_part["again"] = of_part["cells"][:1] if options.quick else of_part["cells"]
    results = about(SEED, {"prob": PROB, "repeats": options.repeats, "draws": options.draws, "columns": list(COLUMNS)})
    for part in [part for part in of_part if part in options.only]:
        jobs = zip(of_part[part], streams[part].spawn(len(of_part[part])), strict=True)
        repeats = options.repeats * (TIMES if part in MORE and not options.quick else 1)
        listed = [(*cell, part, repeats, options.draws, stream) for cell, stream in jobs]
        results[part] = rows_of(
            COLUMNS, rows_of_jobs(of_pair if part == "paired" else of_cell, listed, workers=options.workers)
        )
    return results


def records(numbers: Row, part: str) -> list[Row]:
    """Return stored rows of a part as dicts."""
    return [dict(zip(numbers["columns"], row, strict=True)) for row in numbers.get(part, [])]


def tables(numbers: Row) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    made = {}
    for part in ("cells", "few"):
        rows = records(numbers, part)
        if not rows:
            continue
        made[f"clusters_{part}"] = _ece_table(rows)
        made[f"clusters_{part}_overall"] = _overall(rows, numbers["repeats"])
        made[f"clusters_{part}_others"] = _others(rows, (*OTHERS, "null"))
    if rows := records(numbers, "one_sided"):
        made["clusters_one_sided"] = _others(rows, ONE_SIDED)
    if rows := records(numbers, "again"):
        made["clusters_again"] = _again(rows, numbers)
    if rows := records(numbers, "paired"):
        of_pairs = ("ece", "signed_error", "brier_score", "log_score", "auc")
        made["clusters_paired"] = _others([row for row in rows if row["rho"]], of_pairs)
        if independent := [row for row in rows if not row["rho"]]:
            made["clusters_paired_independent"] = _others(independent, of_pairs)
    return made


def _ece_table(rows: list[Row]) -> str:
    lines: dict[Any, Row] = {}
    for row in (row for row in rows if row["quantity"] == "ece"):
        line = lines.setdefault(tuple(row[name] for name in KEY), dict(row))
        line |= {f"{row['method']}_{name}": row[name] for name in ("coverage", "width")}
    head = "Cluster size | rho: | Alike: | Curve | ICC: | Effect of bins: | Of the total: | " + " | ".join(
        f"{method}:" for method in METHODS
    )
    form = "{size}|{rho:g}|{alike:g}|{curve}|{icc:.2f}|{bin_effect:.2f}|{total_effect:.2f}|"
    return table(
        head, cells(lines.values(), form + "|".join(f"{{{m}_coverage:.2f}} ({{{m}_width:.3f}})" for m in METHODS))
    )


def _again(rows: list[Row], numbers: Row) -> str:
    """Return the lowest and the mean coverage of each rule, and the cells with the lowest coverage by `evaluate`."""
    methods = ("none", "switch", "bayescal")
    lines: dict[Any, Row] = {}
    for row in rows:
        line = lines.setdefault(tuple(row[name] for name in KEY), dict(row))
        line |= {f"{row['method']}_{name}": row[name] for name in ("coverage", "width")}
    head = "Cluster size | rho: | Alike: | Curve | " + " | ".join(f"{method}:" for method in methods)
    form = "{size}|{rho:g}|{alike:g}|{curve}|"
    lowest = sorted(lines.values(), key=lambda line: line["bayescal_coverage"])[:LOWEST]
    shown = cells(lowest, form + "|".join(f"{{{m}_coverage:.3f}} ({{{m}_width:.3f}})" for m in methods))
    return f"{_overall(rows, TIMES * numbers['repeats'], methods)}\nThe lowest of them:\n\n{table(head, shown)}"


def _overall(rows: list[Row], repeats: int, methods: tuple[str, ...] = METHODS) -> str:
    lines = []
    for method in methods:
        mine = [row for row in rows if (row["quantity"], row["method"]) == ("ece", method)]
        coverage = [row["coverage"] for row in mine]
        width = np.mean([row["width"] for row in mine])
        lines.append([method, f"{min(coverage):.3f}", f"{np.mean(coverage):.3f}", f"{width:.4f}"])
    n_cells = len({tuple(row[name] for name in KEY) for row in rows})
    text = f"{n_cells} cells, {repeats} data sets in each; the standard error of one share near 0.95 is"
    return f"{text} {errors_near(PROB, repeats)[0]}.\n\n" + table(
        "Method | Lowest coverage: | Mean: | Mean width:", lines
    )


def _others(rows: list[Row], quantities: tuple[str, ...]) -> str:
    lines = []
    for quantity in quantities:
        line = [{"null": "plug-in ECE if calibrated"}.get(quantity, quantity)]
        for method in ("none", "bayescal"):
            mine = [row for row in rows if (row["quantity"], row["method"]) == (quantity, method)]
            coverage = [row["coverage"] for row in mine]
            line += [
                f"{min(coverage):.2f}",
                f"{np.mean(coverage):.3f}",
                f"{np.mean([row['width'] for row in mine]):.3f}",
            ]
        lines.append(line)
    head = "Quantity | Rows as independent, lowest: | Mean: | Width: | bayescal, lowest: | Mean: | Width:"
    return table(head, lines)


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="clusters.json",
        page="clusters.md",
        save=save_parts,
        shown=("clusters_cells_overall", "clusters_cells_others", "clusters_few_overall", "clusters_paired"),
        repeats=(50, 2),
        draws=(1000, 200),
        parts=PARTS,
    )
