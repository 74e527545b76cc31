"""Measure how often intervals of the Kuiper and Kolmogorov-Smirnov statistics, and bands of the cumulative difference,
contain the truth; write docs/explanation/cumulative_posterior.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import conditions, coverage_rows, jobs_of, measured, one_line_per_cell, rows_of_jobs, run_study

from bayescal.cumulative.brownian import quantile_max_abs, quantile_range
from bayescal.cumulative.draws import BINS, confidence_distributions, draw_cumulative
from bayescal.cumulative.statistics import Scale, cumulative_curve, kolmogorov_smirnov, kuiper, scale
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve
from bayescal.draws import Draws
from bayescal.stats.ordered import OrderedSums, merge_scores
from bayescal.verify.coverage import STUDY_CURVES, name_of, stacked
from bayescal.verify.methods import basic_interval

Floats = NDArray[np.float64]
Ends = tuple[float, float]

SEED, PROB = 16, 0.95
SIZES = (300, 2000, 20_000)
#: Quantiles of the population from which its curve is computed.
QUANTILES = 100_000
#: The bootstrap resamples at most this many bins of equal mass: single rows, if there are 300.
BOOTSTRAP_BINS = 300
STATISTICS = {"Kuiper": kuiper, "Kolmogorov-Smirnov": kolmogorov_smirnov}
QUANTILE_OF = {"Kuiper": quantile_range, "Kolmogorov-Smirnov": quantile_max_abs}
BANDS = ("simultaneous band", "pointwise bands")
COLUMNS = ("quantity", "n_rows", "population", "curve", "truth", "method", "coverage", "above", "width", "repeats")


def notch(confidence: Floats) -> Floats:
    """Two narrow ranges of scores with large errors, each inside one of 15 bins."""
    high, low = (confidence > 0.905) & (confidence < 0.925), (confidence > 0.205) & (confidence < 0.225)
    return np.clip(confidence - 0.4 * high + 0.4 * low, 0, 1)


def oscillation(confidence: Floats) -> Floats:
    """Errors that change their sign forty times."""
    return np.clip(confidence + 0.15 * np.sin(40 * np.pi * confidence), 0, 1)


def step(confidence: Floats) -> Floats:
    """Constant errors at both ends."""
    return np.clip(confidence - 0.1 * (confidence > 0.85) + 0.05 * (confidence < 0.15), 0, 1)


CURVES = (*STUDY_CURVES, notch, oscillation, step)


@cache
def quantiles(population: str) -> Floats:
    """Confidences that represent equal shares of a population."""
    return POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)


def curve_of_population(population: str, curve: Any) -> Floats:
    """Cumulative difference of a population: 0, and the values at its quantiles."""
    c = quantiles(population)
    return np.concatenate([[0.0], np.cumsum(curve(c) - c) / QUANTILES])


def bootstrap(steps: OrderedSums, draws: int, rng: np.random.Generator) -> Floats:
    """Curves of the Bayesian bootstrap of the rows, by bins."""
    counts = merge_scores(steps, BOOTSTRAP_BINS)
    one, zero = (rng.standard_gamma(shape, (draws, len(counts.n))) for shape in (counts.k, counts.n - counts.k))
    total = (one + zero).sum(axis=1, keepdims=True)
    gaps = (one * (1 - counts.mean_confidence) - zero * counts.mean_confidence) / total
    return np.concatenate([np.zeros((draws, 1)), np.cumsum(gaps, axis=1)], axis=1)


def intervals_of(steps: OrderedSums, draws: int, seed: int) -> tuple[dict[tuple[str, str], Ends], Any, Scale]:
    """Intervals by statistic and method; also the draws of the package, and the noise of the curve."""
    drawn = draw_cumulative(steps, draws, np.random.default_rng(seed))
    counts = merge_scores(steps, BINS)
    inverted = confidence_distributions(steps, counts, drawn.bins, drawn.curve, np.random.default_rng(seed))
    resampled, observed = bootstrap(steps, draws, np.random.default_rng(seed)), cumulative_curve(steps)
    noise, intervals = scale(steps), {}
    tails = np.array([(1 - PROB) / 2, (1 + PROB) / 2])
    for (name, statistic), confidence in zip(STATISTICS.items(), inverted, strict=True):
        plug_in, again = float(statistic(observed)), Draws(statistic(resampled))
        margin = QUANTILE_OF[name](PROB) * noise.wide_sigma
        found = {
            "pooled": Draws(getattr(drawn, statistic.__name__)).interval(PROB),
            "segments alone": Draws(statistic(drawn.curve)).interval(PROB),
            "inversion alone": tuple(confidence.quantile(tails)),
            "percentile bootstrap": again.interval(PROB),
            "basic bootstrap": tuple(max(end, 0.0) for end in basic_interval(plug_in, again, PROB)[:2]),
            "inverted bound": (max(plug_in - margin, 0.0), plug_in + margin),
        }
        intervals |= {(name, method): ends for method, ends in found.items()}
    return intervals, drawn, noise


def bands_of(steps: OrderedSums, drawn: Any, noise: Scale, at: Floats, population: str) -> dict[str, Ends]:
    """For each kind of band, the share of scores at which it contains the curve, and its mean width."""
    c = quantiles(population)
    half = quantile_max_abs(PROB) * noise.wide_sigma
    inside = np.abs(cumulative_curve(steps)[1:] - np.interp(steps.score, c, at[1:])).max() <= half
    low, high = np.quantile(drawn.curve[:, 1:], [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    truth = np.interp(drawn.score, c, at[1:])
    share = float(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
    return dict(zip(BANDS, ((float(inside), 2 * half), (share, float((high - low).mean()))), strict=True))


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    n_rows, population, given, repeats, draws, rng = job
    curve = true_curve(*given) if isinstance(given, tuple) else true_curve(given)
    at = curve_of_population(population, curve)
    bands: list[dict[str, Ends]] = []

    def intervals() -> Iterator[dict[tuple[str, str], Ends]]:
        for _ in range(repeats):
            data = simulate(n_rows, population=population, curve=curve, rng=rng)
            steps = OrderedSums.from_rows(Predictions.from_outcomes(data.outcome, data.confidence))
            found, drawn, noise = intervals_of(steps, draws, int(rng.integers(2**63)))
            bands.append(bands_of(steps, drawn, noise, at, population))
            yield found

    by_method = stacked(intervals())
    about = {"n_rows": n_rows, "population": name_of(population), "curve": str(curve)}
    rows = []
    for name, statistic in STATISTICS.items():
        truth = float(statistic(at))
        of = {method: ends for (which, method), ends in by_method.items() if which == name}
        rows += coverage_rows({"quantity": name, **about, "truth": truth}, of, truth)
    for kind, found in stacked(bands).items():
        share, width = found.mean(axis=0)
        of_band = {"coverage": float(share), "above": 0.0, "width": float(width), "repeats": repeats}
        rows.append({"quantity": "curve", **about, "truth": 0.0, "method": kind, **of_band})
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, three curves at 300 rows."""
    sizes, curves = (SIZES[:1], CURVES[::4]) if options.quick else (SIZES, CURVES)
    places = [(size, population, curve) for population in POPULATIONS for curve in curves for size in sizes]
    jobs = jobs_of(places, options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs))


def overall(rows: Iterable[dict[str, Any]], quantity: str) -> str:
    """One line per method."""
    of = [row for row in rows if row["quantity"] == quantity]
    lines = []
    for method in dict.fromkeys(row["method"] for row in of):
        mine = [row for row in of if row["method"] == method]
        covered = np.array([row["coverage"] for row in mine])
        worst = mine[int(covered.argmin())]
        lines.append([
            method, f"{covered.min():.2f}", f"{covered.mean():.3f}", f"{int((covered >= 0.9).sum())} of {len(mine)}",
            f"{np.mean([row['above'] for row in mine]):.3f}", f"{np.mean([row['width'] for row in mine]):.4f}",
            "{population}, {curve}, n = {n_rows}".format(**worst),
        ])  # fmt: skip
    head = "Method | Worst cell: | Mean coverage: | Cells at 0.90 or more: | Truth above: | Width: | Where it is worst"
    return table(head, lines)


def by_cell(rows: Iterable[dict[str, Any]], quantity: str) -> str:
    """One line per cell: truth, coverage and width of the package's intervals, and coverage of others."""
    head = "Rows: | Population | Curve | Truth: | Pooled: | Width: | Segments: | Inversion: | Percentile: | Inverted:"
    form = (
        "{n_rows}|{population}|{curve}|{truth:.4f}|{pooled_coverage:.2f}|{pooled_width:.4f}|{segments_coverage:.2f}"
        "|{inversion_coverage:.2f}|{percentile_coverage:.2f}|{inverted_coverage:.2f}"
    )
    of = [row for row in rows if row["quantity"] == quantity]
    lines = one_line_per_cell(of, ("n_rows", "population", "curve", "truth"))
    return table(head, cells(sorted(lines, key=lambda line: line["n_rows"]), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["n_rows"], row["population"], row["curve"]) for row in rows})
    return {
        "conditions": conditions(numbers, n_cells),
        "kuiper": overall(rows, "Kuiper"),
        "kolmogorov_smirnov": overall(rows, "Kolmogorov-Smirnov"),
        "bands": overall(rows, "curve"),
        "cells": by_cell(rows, "Kuiper"),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="cumulative_coverage.json",
        page="cumulative_posterior.md",
        shown=("conditions", "kuiper", "kolmogorov_smirnov", "bands", "cells"),
        repeats=(76, 2),
        draws=(600, 200),
    )
