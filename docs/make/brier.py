"""Measure how often intervals of the Brier score, and of the difference of two, contain the truth; write the numbers
and the tables of docs/explanation/brier_score.md: a part of `make coverage`. With --redraw nothing is measured. With
--quick, tables are made from a few data sets and nothing is written.
"""

import argparse
import warnings
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pages import rows_again, rows_of, run_study, save_parts, table

from bayescal import BinDraws, BinnedCounts, PairedCounts, __version__, evaluate_counts
from bayescal.analyses.compare import SameRowsWarning, compare_counts, compare_independent
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve
from bayescal.posterior.copula import reorder
from bayescal.posterior.joint import correlation
from bayescal.verify.jobs import run_jobs
from bayescal.verify.studies.coverage import score
from bayescal.verify.studies.differences import Stated

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PAGE = DOCS / "_static" / "brier.json", DOCS / "explanation" / "brier_score.md"
SEED, PROB = 1, 0.95
SIZES, CURVES, BINS = (200, 2000), (("calibrated", None), ("temperature", 1.5)), (1, 2, 5, 15)
#: Resamples of the rows in the Bayesian bootstrap.
RESAMPLES = 1000
#: Quantiles that stand for the confidences of a population, and rows of a sample of true probabilities.
QUANTILES = 100_000
TRUTH_ROWS = 1_000_000
CALIBRATED, OVER = Stated("calibrated"), Stated("over-confident", slope=1.5)
PAIRS = (
    (CALIBRATED, OVER),
    (CALIBRATED, Stated("shifted", shift=0.3)),
    (Stated("noisy", noise=0.3), Stated("noisy", noise=0.3)),
    (OVER, Stated("nearly over-confident", slope=1.5, noise=0.1)),
    (CALIBRATED, Stated("nearly calibrated", noise=0.1)),
)
COLUMNS = ("n_rows", "population", "curve", "truth", "bins", "method", "coverage", "bias", "rmse", "width", "repeats")
DIFFERENCE_COLUMNS = tuple({"curve": "pair"}.get(name, name) for name in COLUMNS)
#: Scores have more data sets than differences, by this factor, since single cells are judged.
TIMES_SCORES = 4
Found = dict[tuple[int, str], list[tuple[float, float, float]]]


def release_0_1_0(bins: BinDraws, counts: BinnedCounts) -> np.ndarray[Any, Any]:
    """Draws as release 0.1.0 made them: the terms within bins are as observed in every draw."""
    weight = np.where(counts.occupied, counts.weight.sum(axis=0), 1.0)
    offset = counts.deviation.sum(axis=0) / weight
    variance = np.maximum(counts.deviation_sq / weight - offset**2, 0.0)
    covariance = counts.deviation[1] / weight - counts.weight[1] / weight * offset
    each = bins.accuracy * (1 - bins.accuracy) + bins.gap**2 + variance - 2 * covariance
    return np.asarray((bins.mass * each).sum(axis=-1))


def bootstrap(loss: Any, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Bayesian bootstrap of the mean loss over rows."""
    weight = rng.standard_exponential((RESAMPLES, len(loss)))
    return np.asarray(weight @ loss / weight.sum(axis=1))


def summary(drawn: Any) -> tuple[float, float, float]:
    """Interval and mean of draws."""
    low, high = np.quantile(drawn, [(1 - PROB) / 2, (1 + PROB) / 2])
    return float(low), float(high), float(np.mean(drawn))


def true_score(probability: Any, confidence: Any) -> float:
    """Expected squared error."""
    return float(np.mean(probability * (1 - confidence) ** 2 + (1 - probability) * confidence**2))


def rows_of_cell(cell: dict[str, Any], found: Found) -> list[dict[str, Any]]:
    """One row for each method and number of bins."""
    return [
        {**cell, "bins": bins, "method": method, **score(np.array(values), cell["truth"]), "repeats": len(values)}
        for (bins, method), values in found.items()
    ]


def score_cell(job: tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the Brier score of one classifier."""
    size, population, named, repeats, draws, rng = job
    curve = true_curve(*named)
    confidence = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    truth = true_score(curve(confidence), confidence)
    found: Found = {}
    for _ in range(repeats):
        data = simulate(size, population=population, curve=curve, rng=rng)
        for n_bins in BINS:
            counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=n_bins)
            of = evaluate_counts(counts, draws=draws, rng=rng)
            drawn = {"bayescal": of.brier_score.values, "release 0.1.0": release_0_1_0(of.bin_draws, counts)}
            for method, values in drawn.items():
                found.setdefault((n_bins, method), []).append(summary(values))
        loss = (data.outcome - data.confidence) ** 2
        found.setdefault((0, "bootstrap of rows"), []).append(summary(bootstrap(loss, rng)))
    return rows_of_cell({"n_rows": size, "population": population, "curve": str(curve), "truth": truth}, found)


def difference_cell(job: tuple[int, str, tuple[Stated, Stated], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the difference of two Brier scores, on the same rows and on different rows."""
    size, population, pair, repeats, draws, rng = job
    p = simulate(TRUTH_ROWS, population=population, rng=0).confidence
    fixed = np.random.default_rng(0)
    truth = true_score(p, pair[0](p, fixed)) - true_score(p, pair[1](p, fixed))
    found: Found = {}
    for _ in range(repeats):
        p = simulate(2 * size, population=population, rng=rng).confidence
        outcome = (rng.random(2 * size) < p).astype(np.int64)
        first, second = (stated(p, rng) for stated in pair)
        here, there = slice(None, size), slice(size, None)
        for n_bins in (1, 15):
            counts = PairedCounts.from_arrays(outcome[here], first[here], outcome[here], second[here], bins=n_bins)
            together = compare_counts({("a", "b"): counts}, draws=draws, rng=rng)
            elsewhere = BinnedCounts.from_arrays(outcome[there], second[there], bins=n_bins)
            alone = {"a": together["a"], "b": evaluate_counts(elsewhere, draws=draws, rng=rng)}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SameRowsWarning)  # there are as many of them, and they are others
                apart = compare_independent(alone, rng=rng)
            drawn = {
                "same rows": together.difference("a", "b", "brier_score").values,
                "same rows, release 0.1.0": _difference_0_1_0(together, counts, rng),
                "different rows": apart.difference("a", "b", "brier_score").values,
            }
            for method, values in drawn.items():
                found.setdefault((n_bins, method), []).append(summary(values))
        loss = (outcome[here] - first[here]) ** 2 - (outcome[here] - second[here]) ** 2
        found.setdefault((0, "same rows, bootstrap of rows"), []).append(summary(bootstrap(loss, rng)))
    named = " - ".join(map(str, pair))
    return rows_of_cell({"n_rows": size, "population": population, "pair": named, "truth": truth}, found)


def _difference_0_1_0(together: Any, pair: PairedCounts, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Margins of release 0.1.0, tied by the copula that ties ECEs."""
    margins = [together[name] for name in together.names]
    values = [release_0_1_0(of.bin_draws, of.counts) for of in margins]
    joint = correlation(values, [of.bin_draws for of in margins], {(0, 1): pair})
    first, second = reorder(np.stack(values, axis=1), joint, rng=rng).T
    return np.asarray(first - second)


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Run both studies."""
    for_scores, for_differences = np.random.default_rng(SEED).spawn(2)
    of_scores = list(product(SIZES, POPULATIONS, CURVES))
    of_pairs = list(product(SIZES, ("flat", "top"), PAIRS))
    known: dict[str, Any] = {"workers": asked.workers, "progress": True}
    repeats, draws = asked.repeats, asked.draws
    score_jobs = [
        (*cell, TIMES_SCORES * repeats, draws, rng)
        for cell, rng in zip(of_scores, for_scores.spawn(len(of_scores)), strict=True)
    ]
    pair_jobs = [
        (*cell, repeats, draws, rng) for cell, rng in zip(of_pairs, for_differences.spawn(len(of_pairs)), strict=True)
    ]
    scores = [row for rows in run_jobs(score_cell, score_jobs, description="Brier scores", **known) for row in rows]
    pairs = [row for rows in run_jobs(difference_cell, pair_jobs, description="differences", **known) for row in rows]
    about = {"bayescal": __version__, "prob": PROB, "repeats": repeats, "draws": draws, "seed": SEED}
    about |= {"columns": list(COLUMNS), "difference_columns": list(DIFFERENCE_COLUMNS)}
    return {**about, "scores": rows_of(COLUMNS, scores), "differences": rows_of(DIFFERENCE_COLUMNS, pairs)}


def overall(rows: Iterable[dict[str, Any]], cell: str) -> str:
    """One line for each number of bins and method."""
    of: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["bins"], row["method"]), []).append(row)
    lines = []
    for (n_bins, method), group in sorted(of.items(), key=lambda item: (item[0][0] or 99, item[0][1])):
        worst = min(group, key=lambda row: row["coverage"])
        lines.append(
            [
                n_bins or "none",
                method,
                f"{worst['coverage']:.2f}",
                f"{np.mean([row['coverage'] for row in group]):.3f}",
                f"{np.mean([row['width'] for row in group]):.4f}",
                f"{worst['population']}, {worst[cell]}, n = {worst['n_rows']}",
            ]
        )
    return table("Bins: | Method | Worst cell: | Mean coverage: | Width: | Where it is worst", lines)


def conditions(numbers: dict[str, Any], scores: list[dict[str, Any]], differences: list[dict[str, Any]]) -> str:
    """What was run, and how exact the shares are."""
    n_scores = len({(row["n_rows"], row["population"], row["curve"]) for row in scores})
    n_differences = len({(row["n_rows"], row["population"], row["pair"]) for row in differences})
    of_scores, of_differences = (rows[0]["repeats"] for rows in (scores, differences))
    errors = [np.sqrt(PROB * (1 - PROB) / repeats) for repeats in (of_scores, of_differences)]
    return (
        f"bayescal {numbers['bayescal']}: {n_scores} cells for scores with {of_scores} data sets each, "
        f"{n_differences} for differences with {of_differences}; {numbers['draws']} draws, seed {numbers['seed']}.\n"
        f"The standard error of one share near {PROB:g} is {errors[0]:.3f} for scores and {errors[1]:.3f} for "
        f"differences.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    scores = rows_again({"columns": numbers["columns"], "rows": numbers["scores"]})
    differences = rows_again({"columns": numbers["difference_columns"], "rows": numbers["differences"]})
    return {
        "conditions": conditions(numbers, scores, differences),
        "scores": overall(scores, "curve"),
        "differences": overall(differences, "pair"),
    }


if __name__ == "__main__":
    shown = ("scores", "differences")
    run_study(__doc__, measure=measure, tables=tables, numbers=NUMBERS, page=PAGE, save=save_parts, shown=shown)
