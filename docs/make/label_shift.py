"""Measure how often intervals of class frequencies, and of calibration errors in a target under label shift, contain
the truth; write docs/explanation/shift.md: part of `make coverage`.
"""

import argparse
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rounded, save_parts, table
from scipy.special import expit, softmax
from studies import about, errors_near, jobs_of, rows_of_jobs, run_study

import bayescal as bc
from bayescal.estimands.area_under_roc import auc
from bayescal.estimands.errors import ece
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.shift.class_frequencies_posterior import most_probable
from bayescal.shift.counts import FEW_CLASSES
from bayescal.shift.label_shift import pooled
from bayescal.stats.bins import make_bins
from bayescal.stats.ranks import Ranks

Floats = NDArray[np.float64]
Ends = tuple[Any, Any]

SEED, PROB, TARGET_ROWS = 20, 0.95, 500
#: Distances of the means of classes that give an accuracy near 0.8, and sizes of the source.
DISTANCE, SIZES = {2: 2**0.5, 5: 2.05, 10: 2.45}, (500, 2000)
#: Numbers of classes whose frequencies are measured, and whose errors are.
CLASSES, SEVERAL = {"two": (2,), "priors": (5, 10)}, (5,)
#: Factors of the logits: calibrated and over-confident.
PRIOR_FACTORS, FACTORS, SHARES = (1.0, 2.0), (0.7, 1.0, 1.5), (0.3, 0.15)
#: Rows of source and target that differ in number.
UNEQUAL = ((200, 2000), (300, 10_000), (500, 100), (2000, 200))
#: Bins of the errors; points of a grid and rows that stand for the population.
BINS, GRID, POPULATION = 10, 40_001, 200_000
#: Resamples of the bootstraps, and steps of expectation maximisation in each.
RESAMPLES, STEPS = 100, 100
OURS, PLUGGED = "pooled over frequencies", "frequencies plugged in"
AUC = "AUC"
IGNORED, ONE_RATIO = "shift ignored", "one ratio of odds in all bins"


def frequencies(n_classes: int) -> Floats:
    """Class frequencies of the target: squares of evenly spaced numbers from 1 to 0.1."""
    squares = np.linspace(1, 0.1, n_classes) ** 2
    return np.asarray(squares / squares.sum())


def probabilities(label: Any, n_classes: int, factor: float, rng: np.random.Generator) -> Floats:
    """Scores of rows of Gaussian classes: those of Bayes' rule for equal frequencies, with logits times a factor."""
    distance = DISTANCE[n_classes]
    x = rng.standard_normal((len(label), n_classes))
    x[np.arange(len(label)), label] += distance
    return np.asarray(softmax(factor * distance * x, axis=1))


def labels(n_rows: int, n_classes: int, rng: np.random.Generator) -> Any:
    """Labels of a source with equal frequencies; every class occurs."""
    return np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)])


def bbse(source: Floats, target: Floats) -> Floats:
    """Black-box shift estimation for confusion matrices (m, K, K) and counts (m, K); negative values become 0."""
    rates = source / source.sum(axis=2, keepdims=True)
    share = target / target.sum(axis=1, keepdims=True)
    found = [np.linalg.lstsq(rate.T, each, rcond=None)[0] for rate, each in zip(rates, share, strict=True)]
    positive = np.maximum(found, 0)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def bootstraps(y: Any, p: Floats, p_target: Floats, rng: np.random.Generator) -> Iterator[tuple[str, Floats]]:
    """Yield resampled estimates of other methods."""
    n_classes = p.shape[1]
    top, top_target = p.argmax(axis=1), p_target.argmax(axis=1)
    confusion = np.bincount(y * n_classes + top, minlength=n_classes**2)
    source = rng.multinomial(len(y), confusion / len(y), RESAMPLES).reshape(RESAMPLES, n_classes, n_classes)
    counts = np.bincount(top_target, minlength=n_classes)
    target = rng.multinomial(len(p_target), counts / len(p_target), RESAMPLES)
    yield "BBSE, bootstrap", bbse(np.maximum(source, 1e-9), target)
    if n_classes == 2:  # one resample after the other would take hours for more
        rho = rng.binomial(len(y), y.mean(), RESAMPLES) / len(y)
        ratio = p_target.T[None] / np.stack([1 - rho, rho], axis=1)[:, :, None]
        rows = rng.multinomial(len(p_target), np.full(len(p_target), 1 / len(p_target)), RESAMPLES)
        yield "EM, bootstrap", np.stack([most_probable(r, n, 0.0, STEPS) for r, n in zip(ratio, rows, strict=True)])


def priors_of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of class frequencies by all methods on the same data sets."""
    part, n_classes, n_rows, factor, repeats, draws, rng = job
    truth, found = frequencies(n_classes), {}
    for _ in range(repeats):
        y, y_target = labels(n_rows, n_classes, rng), rng.choice(n_classes, TARGET_ROWS, p=truth)
        p, p_target = (probabilities(each, n_classes, factor, rng) for each in (y, y_target))
        options: dict[str, dict[str, Any]] = {"cells": {}, "probabilities": {"using": "probabilities"}}
        if n_classes <= FEW_CLASSES:  # otherwise it is the default
            options["predicted class"] = {"cells": bc.ShiftCells.predicted_class(n_classes)}
        for method, given in options.items():
            priors = bc.class_priors(y, p, p_target, draws=draws, rng=rng, **given)
            found.setdefault(method, []).append(priors.interval(PROB))
        for method, drawn in bootstraps(y, p, p_target, rng):
            tail = (1 - PROB) / 2
            found.setdefault(method, []).append(np.quantile(drawn, [tail, 1 - tail], axis=0))
    cell = {"part": part, "n_classes": n_classes, "n_rows": n_rows, "factor": factor, "share": float("nan")}
    return [row_of({**cell, "quantity": "frequency", "method": method}, ends, truth) for method, ends in found.items()]


def row_of(cell: dict[str, Any], ends: Iterable[Any], truth: Any) -> dict[str, Any]:
    """Coverage of one method: mean and least over classes. `ends` are pairs per data set."""
    low, high = np.moveaxis(np.asarray(list(ends)), 1, 0)
    inside = np.atleast_1d(((low <= truth) & (truth <= high)).mean(axis=0))
    numbers = {"coverage": float(inside.mean()), "worst": float(inside.min()), "width": float((high - low).mean())}
    return {**cell, **numbers, "repeats": len(low)}


def error_of_event(share: float, scores: Floats, x: Floats) -> float:
    """ECE of scores of a grid of x in a target with N(-1, 1) and N(1, 1)."""
    zero, one = (1 - share) * np.exp(-((x + 1) ** 2) / 2), share * np.exp(-((x - 1) ** 2) / 2)
    return error_of(scores, one / (zero + one), zero + one)


def error_of(scores: Floats, theta: Floats, mass: Floats) -> float:
    """ECE of scores with known probabilities of the event."""
    cell = np.minimum((scores * BINS).astype(int), BINS - 1)
    gaps = np.bincount(cell, mass * (theta - scores), BINS)
    return float(np.abs(gaps).sum() / mass.sum())


def ends_of(counts: Any, draws: int, rng: np.random.Generator) -> Ends:
    """Interval of the ECE for counts."""
    return ece(shrinkage_posterior(counts).sample(draws, rng=rng)).interval(PROB)


def ends_of_one_ratio(evaluation: bc.LabelShiftEvaluation, draws: int, rng: np.random.Generator) -> Ends:
    """Interval of the ECE of a class against the others, as if these were one class: pooled over frequencies."""
    rows = evaluation.counts.rows
    own, share = rows.by_class[rows.of], evaluation.priors.drawn[:, rows.of]
    both = replace(rows, by_class=np.stack([rows.by_class.sum(axis=0) - own, own]), of=1)
    counts = both.at(np.array([1 - share.mean(), share.mean()]))
    posterior = pooled(shrinkage_posterior, np.stack([1 - share, share], axis=1), counts)
    return ece(posterior.sample(draws, rng=rng)).interval(PROB)


def events_of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the ECE of an event in the target, of raw and of adapted predictions."""
    part, n_rows, target_rows, factor, share, repeats, draws, rng = job
    x, edges = np.linspace(-7, 7, GRID), make_bins(BINS)
    stated = expit(2 * factor * x)
    found: dict[tuple[str, str], list[Ends]] = {}
    truths: dict[str, list[float]] = {"raw": [], "adapted": []}
    for _ in range(repeats):
        y, y_target = np.arange(n_rows) % 2, rng.random(target_rows) < share
        p, p_target = (expit(2 * factor * rng.normal(2.0 * each - 1, 1)) for each in (y, y_target))
        raw = bc.evaluate_shifted(y, p, p_target, shift="label", bins=BINS, draws=draws, rng=rng)
        truths["raw"].append(error_of_event(share, stated, x))
        truths["adapted"].append(error_of_event(share, raw.adapt(stated), x))
        for quantity, each in (("raw", raw), ("adapted", raw.adapted)):
            found.setdefault((quantity, OURS), []).append(each.ece.interval(PROB))
            found.setdefault((quantity, PLUGGED), []).append(ends_of(each.counts, draws, rng))
        for quantity, own in (("raw", p), ("adapted", raw.adapt(p))):
            counts = bc.BinnedCounts.from_arrays(y, own, bins=edges)
            found.setdefault((quantity, IGNORED), []).append(ends_of(counts, draws, rng))
    cell = {"part": part, "n_classes": 2, "n_rows": n_rows, "factor": factor, "share": share}
    if target_rows != n_rows:
        cell["target_rows"] = target_rows
    return [
        row_of({**cell, "quantity": quantity, "method": method}, ends, np.array(truths[quantity]))
        | {"coverage": inside(ends, truths[quantity]), "worst": inside(ends, truths[quantity])}
        for (quantity, method), ends in found.items()
    ]


def inside(ends: list[Ends], truth: list[float]) -> float:
    """Share of intervals that contain the truth of their data set."""
    low, high = np.array(ends).T
    return float(np.mean((low <= truth) & (truth <= high)))


def areas_of(n_classes: int, factor: float, rng: np.random.Generator) -> list[float]:
    """Area under the ROC curve of each class against the others in the target, with equal numbers of simulated rows."""
    label = np.arange(POPULATION) % n_classes
    scores, weight = probabilities(label, n_classes, factor, rng), frequencies(n_classes)[label]
    return [Ranks.of_rows(scores[:, k], label == k, weight).auc for k in range(n_classes)]


def classes_of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the ECE and the AUC of each of several classes in the target."""
    _, n_classes, n_rows, factor, repeats, draws, rng = job
    pi = frequencies(n_classes)
    areas = areas_of(n_classes, factor, rng)
    of_population = rng.choice(n_classes, POPULATION, p=pi)
    right = probabilities(of_population, n_classes, 1.0, rng)
    stated = softmax(factor * np.log(right), axis=1)
    theta = right * pi
    theta /= theta.sum(axis=1, keepdims=True)
    mass = np.ones(POPULATION)
    found: dict[tuple[str, str], list[Any]] = {}
    truths: dict[str, list[Any]] = {"raw": [], "adapted": [], AUC: []}
    for _ in range(repeats):
        y, y_target = labels(n_rows, n_classes, rng), rng.choice(n_classes, n_rows, p=pi)
        p, p_target = (probabilities(each, n_classes, factor, rng) for each in (y, y_target))
        result = bc.evaluate_shifted(y, p, p_target, shift="label", bins=BINS, draws=draws, rng=rng)
        for quantity, scores in (("raw", stated), ("adapted", result.adapt(stated))):
            truths[quantity].append([error_of(scores[:, k], theta[:, k], mass) for k in range(n_classes)])
            own = [each if quantity == "raw" else each.adapted for each in result.values()]
            found.setdefault((quantity, OURS), []).append(np.array([each.ece.interval(PROB) for each in own]).T)
            plugged = [ends_of(each.counts, draws, rng) for each in own]
            found.setdefault((quantity, PLUGGED), []).append(np.array(plugged).T)
            found.setdefault((quantity, ONE_RATIO), []).append(
                np.array([ends_of_one_ratio(each, draws, rng) for each in own]).T
            )
        truths[AUC].append(areas)
        found.setdefault((AUC, OURS), []).append(np.array([each.auc.interval(PROB) for each in result.values()]).T)
        plugged = [auc(each.bin_draws, each.counts, rng=rng).interval(PROB) for each in result.values()]
        found.setdefault((AUC, PLUGGED), []).append(np.array(plugged).T)
    cell = {"part": "classes", "n_classes": n_classes, "n_rows": n_rows, "factor": factor, "share": float("nan")}
    return [
        row_of({**cell, "quantity": quantity, "method": method}, ends, np.array(truths[quantity]))
        for (quantity, method), ends in found.items()
    ]


WORK = {
    "two": priors_of_cell,
    "priors": priors_of_cell,
    "event": events_of_cell,
    "classes": classes_of_cell,
    "sizes": events_of_cell,
}
TITLES = {
    "two": "Class frequencies, K = 2",
    "priors": "Class frequencies, K = 5 and 10",
    "event": "ECE of an event",
    "sizes": "ECE of an event, other numbers of rows",
    "classes": "ECE and AUC of each class",
}


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage in one cell of any part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes with few rows are part of the study
        return WORK[job[0]](job)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, one of each part."""
    priors = [(part, k, n, f) for part, own in CLASSES.items() for k in own for n in SIZES for f in PRIOR_FACTORS]
    events = [("event", n, n, f, share) for n in SIZES for f in FACTORS for share in SHARES]
    classes = [("classes", k, n, f) for k in SEVERAL for n in SIZES for f in FACTORS[1:]]
    sizes = [("sizes", *each, f, share) for each in UNEQUAL for f, share in ((1.0, 0.3), (1.5, 0.15))]
    every = [priors, events, classes, sizes]
    places = [each[0] for each in every] if options.quick else [place for each in every for place in each]
    jobs = jobs_of(places, options.repeats, options.draws, rng=np.random.default_rng(SEED))
    chosen = [job for job in jobs if job[0] in options.only]
    rows = rows_of_jobs(of_cell, chosen, workers=options.workers)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return about(SEED, settings) | {part: rounded([r for r in rows if r["part"] == part]) for part in options.only}


def summary(rows: list[dict[str, Any]], **chosen: Any) -> str:
    """Mean and worst coverage, and mean width, of the rows with these values; empty without rows."""
    own = [row for row in rows if all(row[key] == value for key, value in chosen.items())]
    if not own:
        return ""
    mean, width = (float(np.mean([row[key] for row in own])) for key in ("coverage", "width"))
    return f"{mean:.3f} / {min(row['worst'] for row in own):.2f}, {width:.3f}"


def by_size(rows: list[dict[str, Any]]) -> str:
    """One line per pair of numbers of rows, and one column per quantity and method."""
    columns = [(quantity, method) for quantity in ("raw", "adapted") for method in (OURS, PLUGGED, IGNORED)]
    lines = [
        [str(n), str(m), *(summary(rows, n_rows=n, target_rows=m, quantity=q, method=method) for q, method in columns)]
        for n, m in UNEQUAL
    ]
    return table("Source: | Target: | " + " | ".join(f"{q}, {method}" for q, method in columns), lines)


def by_method(rows: list[dict[str, Any]], columns: list[tuple[str, dict[str, Any]]], head: str) -> str:
    """One line per method: mean and worst coverage, and mean width, in each column of cells."""
    lines: list[list[str]] = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line = [method]
        for _, chosen in columns:
            line.append(summary(rows, method=method, **chosen))
        lines.append(line)
    return table(" | ".join([head, *(title for title, _ in columns)]), lines)


def conditions_of(numbers: dict[str, Any], part: str, rows: list[dict[str, Any]]) -> str:
    """Conditions of one part, with the standard error of one share of its data sets."""
    repeats = rows[0]["repeats"]
    return (
        f"* {TITLES[part]}: bayescal {numbers['bayescal']}, {repeats} data sets per condition, "
        f"{numbers['draws']} draws, seed {numbers['seed']}; the standard error of one share near "
        f"{numbers['prob']:g} is {errors_near(numbers['prob'], repeats)[0]}."
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    parts = {part: numbers.get(part, []) for part in WORK}
    of_priors = [
        (f"K = {k}, factor {f:g}", {"n_classes": k, "factor": f})
        for own in CLASSES.values()
        for k in own
        for f in PRIOR_FACTORS
    ]
    of_errors = [(name, {"quantity": name}) for name in ("raw", "adapted")]
    of_classes = [
        (f"K = {k}, {title}", {"n_classes": k, "quantity": name})
        for k in SEVERAL
        for name, title in (("raw", "ECE, raw"), ("adapted", "ECE, adapted"), (AUC, AUC))
    ]
    return {
        "label_conditions": "\n".join(conditions_of(numbers, name, rows) for name, rows in parts.items() if rows)
        + "\n",
        "label_priors": by_method([*parts["two"], *parts["priors"]], of_priors, "Class frequencies"),
        "label_event": by_method(parts["event"], of_errors, TITLES["event"]),
        "label_sizes": by_size(parts["sizes"]),
        "label_classes": by_method(parts["classes"], of_classes, TITLES["classes"]),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="label_shift.json",
        page="shift.md",
        shown=("label_conditions", "label_priors", "label_event", "label_sizes", "label_classes"),
        save=save_parts,
        repeats=(60, 2),
        draws=(1000, 200),
        parts=tuple(WORK),
    )
