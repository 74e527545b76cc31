"""Measure how often intervals of parts of the Brier score, of scores of all classes, and of differences of two such
scores, contain the truth; write docs/explanation/decompositions.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import softmax, stdtrit
from studies import coverage_rows, errors_near, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve
from bayescal.verify.coverage import stacked

SEED, PROB = 7, 0.95
Floats = NDArray[np.float64]
Job = tuple[int, Any, int, int, np.random.Generator]

SIZES = (300, 3000)
CURVES = ("calibrated", "temperature", "shift", "wave", "one bad bin")
#: Populations and curves; the last two curves hardly move rare confidences.
EVENTS = [(of, curve) for of in ("top", "flat", "rare") for curve in CURVES[: 3 if of == "rare" else 5]]
#: Quantiles that stand for the confidences of a population.
QUANTILES = 1_000_000

CLASS_SIZES = (50, 200, 1000, 5000)
#: Number of classes, logit of the true class above the others, how much stated logits are stretched, their spread.
CLASSES = (
    (3, 2.0, 1.0, 1.0), (3, 6.0, 1.0, 1.0), (10, 4.0, 1.0, 1.0), (10, 8.0, 1.0, 1.0), (10, 8.0, 1.7, 1.0),
    (10, 12.0, 1.0, 1.0), (10, 12.0, 1.5, 2.0), (100, 8.0, 1.0, 1.0), (100, 12.0, 1.5, 1.0),
)  # fmt: skip
#: Differences: numbers of rows; number of classes and logit of the true class; factor of the logits of each classifier,
#: standard deviation of the noise that it adds to each, and share of rows in which it has the logits in another order.
PAIR_SIZES = (100, 300, 2000)
PAIR_CLASSES = ((3, 2.0), (3, 6.0), (10, 4.0), (10, 12.0))
PAIRS = {
    "calibrated - over-confident": ((1, 0, 0), (1.5, 0, 0)),
    "calibrated - nearly calibrated": ((1, 0, 0), (1.05, 0, 0)),
    "calibrated - little noise": ((1, 0, 0), (1, 0.1, 0)),
    "noise - other noise": ((1, 1, 0), (1, 1, 0)),
    "over-confident - with little noise": ((1.5, 0, 0), (1.5, 0.1, 0)),
    "calibrated - under-confident": ((1, 0, 0), (0.25, 0, 0)),
    "calibrated - wrong in 5 % of rows": ((1, 0, 0), (1, 0, 0.05)),
}
#: Resamples of the rows in the percentile bootstrap.
RESAMPLES = 400
DIFFERENCE = "difference of "
#: Entries of the matrices from which a true score is computed.
TRUTH_VALUES = 6_000_000
COLUMNS = ("n_rows", "population", "truth", "method", "coverage", "above", "width", "repeats")


# --- parts of the Brier score by bins


def parts(mass: Floats, accuracy: Floats, confidence: Floats) -> dict[str, Floats]:
    """Reliability, resolution and uncertainty of each draw of the bins."""
    base = (mass * accuracy).sum(axis=1, keepdims=True)
    return {
        "reliability: as offered": (mass * (accuracy - confidence) ** 2).sum(axis=1),
        "resolution: not offered": (mass * (accuracy - base) ** 2).sum(axis=1),
        "uncertainty: not offered": (base * (1 - base))[:, 0],
    }


def true_parts(population: str, curve: Any) -> dict[str, float]:
    """Parts of the population with 15 bins."""
    confidence = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    index = np.minimum((confidence * 15).astype(int), 14)
    n = np.bincount(index, minlength=15)
    of_bins = [np.bincount(index, values, 15) / np.maximum(n, 1) for values in (curve(confidence), confidence)]
    return {name: float(values[0]) for name, values in parts((n / n.sum())[None], *(b[None] for b in of_bins)).items()}


def event_cell(job: Job) -> list[dict[str, Any]]:
    """Intervals of the parts for one population of an event."""
    size, (population, named), repeats, draws, rng = job
    curve = true_curve(named)

    def of_data_set() -> dict[str, tuple[float, float]]:
        data = simulate(size, population=population, curve=curve, rng=rng)
        counts = bc.BinnedCounts.from_arrays(data.outcome, data.confidence)
        drawn = bc.evaluate_counts(counts, draws=draws, rng=rng).bin_draws
        of = parts(drawn.mass, drawn.accuracy, drawn.confidence)
        return {name: bc.Draws(values).interval(PROB) for name, values in of.items()}

    truth = true_parts(population, curve)
    about = {"n_rows": size, "population": f"{population}, {curve}"}
    return list(_rows(about, truth, stacked(of_data_set() for _ in range(repeats))))


# --- scores of all classes


def predictions(rng: np.random.Generator, size: int, of: tuple[int, float, float, float]) -> tuple[Any, Floats]:
    """Labels and stated probabilities; true logits are the stated ones divided by the stretch."""
    n_classes, above, stretch, spread = of
    logits = logits_of(rng, size, n_classes, above, spread)
    return labels(softmax(logits / stretch, axis=1), rng), softmax(logits, axis=1)


def logits_of(rng: np.random.Generator, size: int, n_classes: int, above: float, spread: float = 1.0) -> Floats:
    """Normal logits; that of one class is raised."""
    logits = rng.normal(0, spread, (size, n_classes))
    logits[np.arange(size), rng.integers(n_classes, size=size)] += above
    return logits


def labels(true: Floats, rng: np.random.Generator) -> Any:
    """Draw a label of each row from its true probabilities."""
    return (true.cumsum(axis=1) < rng.random((len(true), 1))).sum(axis=1).clip(max=true.shape[1] - 1)


def scores(y: Any, stated: Floats) -> dict[str, bc.MultiClassScore]:
    """Both scores."""
    return {
        "multi-class Brier score": bc.multiclass_brier_score(y, stated),
        "multi-class log score": bc.multiclass_log_score(y, stated),
    }


def without_prior(of: bc.MultiClassScore) -> tuple[float, float]:
    """Student t interval of the mean loss, from the same sums."""
    n = of.n_rows
    half = float(stdtrit(n - 1, (1 + PROB) / 2) * np.sqrt((of.mean_square - of.observed**2) / (n - 1)))
    return of.observed - half, of.observed + half


def class_cell(job: Job) -> list[dict[str, Any]]:
    """Intervals of both scores for one population of classes."""
    size, population, repeats, _, rng = job
    fixed, n = np.random.default_rng(0), 30_000
    batches = [scores(*predictions(fixed, n, population)) for _ in range(max(TRUTH_VALUES // (n * population[0]), 2))]
    means = {name: float(np.mean([batch[name].observed for batch in batches])) for name in batches[0]}
    truth = {f"{name}: {how}": mean for name, mean in means.items() for how in ("as offered", "without half rows")}

    def of_data_set() -> dict[str, tuple[float, float]]:
        of = scores(*predictions(rng, size, population))
        offered = {f"{name}: as offered": each.interval(PROB) for name, each in of.items()}
        return offered | {f"{name}: without half rows": without_prior(each) for name, each in of.items()}

    n_classes, above, stretch, spread = population
    about = {
        "n_rows": size,
        "population": f"{n_classes} classes, margin {above:g}, stretch {stretch:g}, spread {spread:g}",
    }
    return list(_rows(about, truth, stacked(of_data_set() for _ in range(repeats))))


# --- differences of two scores on the same rows


def stated(logits: Floats, how: tuple[float, float, float], rng: np.random.Generator) -> Floats:
    """Probabilities that a classifier states, given the true logits."""
    factor, noise, other_order = how
    shown = factor * logits + noise * rng.normal(size=logits.shape)
    wrong = rng.random(len(logits)) < other_order
    shown[wrong] = rng.permuted(shown[wrong], axis=1)
    return np.asarray(softmax(shown, axis=1))


def losses(matrix: Floats) -> dict[str, Floats]:
    """Loss of every row if its label were each class, by score."""
    return {"brier": (matrix**2).sum(axis=1, keepdims=True) + 1 - 2 * matrix, "log": -np.log(matrix)}


def true_differences(n_classes: int, above: float, pair: str) -> dict[str, float]:
    """Expected differences of the losses."""
    rng, n = np.random.default_rng(0), TRUTH_VALUES // 2 // n_classes
    logits = logits_of(rng, n, n_classes, above)
    true, (first, second) = softmax(logits, axis=1), (losses(stated(logits, how, rng)) for how in PAIRS[pair])
    return {score: float((true * (first[score] - second[score])).sum(axis=1).mean()) for score in first}


def pair_cell(job: Job) -> list[dict[str, Any]]:
    """Intervals of the differences of both scores for one population and one pair of classifiers."""
    size, (n_classes, above, pair), repeats, draws, rng = job
    known = true_differences(n_classes, above, pair)

    def of_data_set() -> dict[str, tuple[float, float]]:
        logits = logits_of(rng, size, n_classes, above)
        y = labels(softmax(logits, axis=1), rng)
        matrices = {name: stated(logits, how, rng) for name, how in zip("ab", PAIRS[pair], strict=True)}
        own = [{score: of[np.arange(size), y] for score, of in losses(p).items()} for p in matrices.values()]
        times = rng.multinomial(size, np.full(size, 1 / size), size=RESAMPLES) / size
        ends: dict[str, tuple[float, float]] = {}
        for score in known:
            loss = own[0][score] - own[1][score]
            found = bc.compare_scores(y, matrices, score=score, draws=draws, rng=rng)
            half = float(stdtrit(size - 1, (1 + PROB) / 2) * loss.std(ddof=1) / np.sqrt(size))
            ends[f"{score}: compare_scores"] = found.difference("a", "b").interval(PROB)
            ends[f"{score}: Student t"] = float(loss.mean()) - half, float(loss.mean()) + half
            ends[f"{score}: percentile bootstrap"] = bc.Draws(times @ loss).interval(PROB)
        return ends

    named = {score: f"{DIFFERENCE}multi-class {'Brier' if score == 'brier' else 'log'} scores" for score in known}
    of_all = stacked(of_data_set() for _ in range(repeats))
    by_method = {
        name.replace(name.partition(":")[0], named[name.partition(":")[0]], 1): v for name, v in of_all.items()
    }
    truth = {name: known["brier" if "Brier" in name else "log"] for name in by_method}
    about = {"n_rows": size, "population": f"{n_classes} classes, margin {above:g}, {pair}"}
    return list(_rows(about, truth, by_method))


def _rows(about: dict[str, Any], truth: Mapping[str, float], ends: Mapping[str, Floats]) -> Iterator[dict[str, Any]]:
    for name, each in ends.items():
        yield from coverage_rows({**about, "truth": truth[name]}, {name: each}, truth[name])


# --- the study


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All cells; with --quick, two of each kind."""
    few = slice(2 if options.quick else None)
    events = [(size, of, options.repeats) for of in EVENTS for size in SIZES][few]
    classes = [(size, of, options.repeats) for of in CLASSES for size in CLASS_SIZES][few]
    pairs = [(size, (*of, pair), options.repeats) for of in PAIR_CLASSES for pair in PAIRS for size in PAIR_SIZES][few]
    rng = np.random.default_rng(SEED)
    rows = rows_of_jobs(event_cell, jobs_of(events, options.draws, rng=rng), workers=options.workers)
    rows += rows_of_jobs(class_cell, jobs_of(classes, options.draws, rng=rng), workers=options.workers)
    rows += rows_of_jobs(pair_cell, jobs_of(pairs, options.draws, rng=rng), workers=options.workers)
    settings = {"prob": PROB, "draws": options.draws, "repeats": options.repeats}
    return measured(SEED, settings, COLUMNS, rows)


def line(method: str, of: list[dict[str, Any]]) -> dict[str, Any]:
    """Worst and mean coverage of one interval over its cells."""
    worst = min(of, key=lambda row: row["coverage"])
    quantity, _, interval = method.partition(": ")
    return {
        "quantity": quantity,
        "interval": interval,
        "cells": len(of),
        "worst": worst["coverage"],
        "mean": float(np.mean([row["coverage"] for row in of])),
        "width": float(np.mean([row["width"] for row in of])),
        "where": f"{worst['population']}; n = {worst['n_rows']}",
    }


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and table by the name of their marker."""
    rows = sorted(rows_again(numbers), key=lambda row: row["method"])
    lines = [line(method, list(of)) for method, of in groupby(rows, key=lambda row: row["method"])]
    lines.sort(key=lambda each: (each["quantity"].startswith("multi"), each["quantity"]))
    form = "{quantity}|{interval}|{cells}|{worst:.2f}|{mean:.3f}|{where}"
    of_one = errors_near(PROB, numbers["repeats"])[0]
    conditions = (
        f"bayescal {numbers['bayescal']}: {numbers['repeats']} data sets per population, {numbers['draws']} draws, "
        f"seed {numbers['seed']}.\nThe standard error of the coverage in one population is {of_one} near {PROB:g}.\n"
    )
    head = "Quantity | Interval | Populations: | Worst coverage: | Mean coverage: | Worst population"
    of_pairs = [each for each in lines if each["quantity"].startswith(DIFFERENCE)]
    overall = [each for each in lines if each not in of_pairs]
    with_width = form.replace("{mean:.3f}", "{mean:.3f}|{width:.4f}")
    return {
        "conditions": conditions,
        "overall": table(head, cells(overall, form)),
        "differences": table(
            head.replace("Worst population", "Mean width: | Worst population"), cells(of_pairs, with_width)
        ),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="decompositions.json",
        page="decompositions.md",
        shown=("overall", "differences"),
    )
