"""Measure how often intervals of ICI, E50, E90, Emax and of the curve contain the truth, beside splines and
bins, and how often classifiers are calibrated at a stated probability; write
docs/explanation/calibration_curve.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit
from studies import (
    FEWER_DRAWS,
    about,
    conditions,
    coverage_rows,
    errors_near,
    jobs_of,
    one_line_per_cell,
    rows_of_jobs,
    run_study,
    small_sets,
)

import bayescal as bc
from bayescal.clinical.curve.knots import merge_to_knots
from bayescal.clinical.curve.posterior import curve_posterior, smooth_curve_posterior
from bayescal.clinical.curve.result import BINS as CURVE_BINS
from bayescal.clinical.curve.result import ERRORS, ROWS_PER_BIN
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve
from bayescal.draws import Draws
from bayescal.estimands.errors import ece, largest_error
from bayescal.posterior.shrinkage.model import compiled_form, compiled_form_pays
from bayescal.stats.ordered import OrderedSums
from bayescal.verify.coverage import stacked

Floats = NDArray[np.float64]
Ends = tuple[float, float]

SEED, PROB = 17, 0.95
#: The requirement is on the sizes of `SIZES`; `OTHERS` are measured beside.
SIZES, OTHERS = (300, 2000), (100,)
OF_SIZES = tuple(str(size) for size in (*SIZES, *OTHERS))
RIVALS, LOCAL, CALIBRATED, SMALL = "rivals", "local", "p_calibrated", "small"
PARTS = (*OF_SIZES, RIVALS, LOCAL, CALIBRATED, SMALL)
POPULATION_NAMES = ("flat", "rare")
CURVES = (("calibrated", None), ("temperature", 1.5), ("wave", 0.05))
#: Quantiles of the population from which the true errors are computed.
QUANTILES = 100_000
#: Scores at which the band is measured: quantiles of the population.
AT = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Rows of the populations with local errors, and their name in the tables.
LOCAL_ROWS = 3000
#: Rows from which true errors of such a population are computed, and their seed.
MANY, MANY_SEED = 400_000, 5
#: Classes of the stated probability of calibration; truths per job; smallest number of truths per class, and most jobs.
STATED = (0.0, 0.05, 0.4, 0.55, 0.63, 0.69, 0.74, 1.0)
TRUTHS_PER_JOB, LEAST_TRUTHS, MOST_JOBS = 100, 300, 60
#: Rival: restricted cubic spline with these quantiles as knots, and standard deviation of its coefficients.
KNOTS, SPLINE_SD = (0.05, 0.35, 0.65, 0.95), 5.0
#: Largest number of values that its draws take.
SPLINE_VALUES = 1_000_000
#: Rivals are measured in one of this many data sets.
ONE_IN = 4
OURS, SMOOTH, SPLINE, BINS = "curve", "smooth", "spline", "bins"
WORDS = {
    OURS: "`calibration_curve`",
    SMOOTH: "its smooth curves alone, never exact",
    SPLINE: "restricted cubic spline, Laplace",
    BINS: "`evaluate`, 15 equal-width bins",
}
TRUTH_COLUMNS = ("low", "high", "truths", "stated", "true")
#: Quantities of the tables, and their rows; the band is measured at five scores.
QUANTITIES = {symbol: (name,) for name, (symbol, _) in ERRORS.items()} | {
    "band": tuple(f"rate {i + 1}" for i in range(len(AT)))
}
COLUMNS = ("quantity", "n_rows", "population", "curve", "truth", "method", "coverage", "above", "width", "repeats")


Scores = Callable[[np.random.Generator, int], Floats]
Curve = Callable[[Floats], Floats]


def errors_of(rate: Floats, score: Floats) -> dict[str, float]:
    """Mean, median, 90th percentile and maximum of the absolute difference between rates and scores."""
    error = np.abs(rate - score)
    e50, e90 = np.quantile(error, (0.5, 0.9))
    return {"ici": float(error.mean()), "e50": float(e50), "e90": float(e90), "emax": float(error.max())}


def true_errors(population: str, curve: Any) -> dict[str, float]:
    """Errors of a population without bins: mean, quantiles and maximum of |m(c) - c| over its quantiles."""
    c = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    return errors_of(curve(c), c)


def uniform_scores(rng: np.random.Generator, n: int) -> Floats:
    """Scores uniform on [0, 1]."""
    return rng.random(n)


def rare_high_scores(rng: np.random.Generator, n: int) -> Floats:
    """Scores of a rare event, of which 3 % are high."""
    return np.where(rng.random(n) < 0.03, rng.beta(6, 3, n), rng.beta(1.2, 25, n))


def stated_words(rng: np.random.Generator, n: int) -> Floats:
    """Eight stated confidences, the largest of which is exactly 1."""
    return rng.choice([0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0], n, p=[0.04, 0.06, 0.12, 0.14, 0.2, 0.26, 0.1, 0.08])


def moved(shift: float, slope: float = 1.0) -> Curve:
    """Curve of scores whose logits are off by a shift and a slope."""
    return lambda c: expit(shift + slope * logit(np.clip(c, 1e-12, 1 - 1e-12)))


#: Populations with errors of few scores, and with few scores in a wide range: scores, curve, and five scores.
LOCAL_POPULATIONS: dict[str, tuple[Scores, Curve, Floats]] = {
    "flat, above 0.9 too high by 0.12": (
        uniform_scores, lambda c: np.where(c > 0.9, c - 0.12, c), np.array([0.1, 0.3, 0.5, 0.7, 0.95]),
    ),
    "flat, by 0.08 too low below 0.5, too high above": (
        uniform_scores, lambda c: np.where(c < 0.5, np.minimum(c + 0.08, 1), c - 0.08),
        np.array([0.1, 0.25, 0.4, 0.7, 0.9]),
    ),
    "stated words, 1.0 is 0.97": (
        stated_words, lambda c: np.where(c == 1, 0.97, c), np.array([0.7, 0.85, 0.95, 0.99, 1.0]),
    ),
    "rare high scores, calibrated": (rare_high_scores, moved(0.0), np.array([0.1, 0.25, 0.4, 0.55, 0.7])),
    "rare high scores, shift 0.3": (rare_high_scores, moved(0.3), np.array([0.1, 0.25, 0.4, 0.55, 0.7])),
    "rare high scores, shift -0.5, slope 1.8": (
        rare_high_scores, moved(-0.5, 1.8), np.array([0.1, 0.25, 0.4, 0.55, 0.7]),
    ),
}  # fmt: skip


def of_draws(drawn: Floats, score: Floats) -> dict[str, Ends]:
    """Intervals of the errors from draws of the curve at the rows."""
    error = np.abs(drawn - score)
    e50, e90 = np.quantile(error, (0.5, 0.9), axis=1)
    found = {"ici": error.mean(axis=1), "e50": e50, "e90": e90, "emax": error.max(axis=1)}
    return {name: Draws(each).interval(PROB) for name, each in found.items()}


def spline_columns(x: Floats, knots: Floats) -> Floats:
    """Columns of a restricted cubic spline: x, and natural splines that continue as lines beyond the outer knots.

    Harrell (2015), Regression Modeling Strategies, equation 2.25. Values at the knots define a natural spline.
    """
    at, (before, last) = knots[:, None], knots[-2:]
    values = np.maximum(at - knots[:-2], 0) ** 3
    values[-1] -= (last - before) ** 2 * (last - knots[:-2])
    natural = CubicSpline(knots, values / (last - knots[0]) ** 2, bc_type="natural")
    inside = np.clip(x, knots[0], last)
    return np.column_stack([x, natural(inside) + (x - inside)[:, None] * natural(inside, 1)])


def spline_draws(outcome: Floats, score: Floats, draws: int, seed: int) -> Floats:
    """Draws at the rows of a logistic regression on a restricted cubic spline of the logit, by Laplace's method."""
    x = logit(np.clip(score, 1e-6, 1 - 1e-6))
    design = np.column_stack([np.ones_like(x), spline_columns(x, np.quantile(x, KNOTS))])
    centre = np.eye(design.shape[1])[1]
    beta = centre
    for _ in range(40):
        h = expit(design @ beta)
        precision = (design * (h * (1 - h))[:, None]).T @ design + np.eye(len(beta)) / SPLINE_SD**2
        step = np.linalg.solve(precision, design.T @ (outcome - h) - (beta - centre) / SPLINE_SD**2)
        beta = beta + step * min(1.0, 5.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return expit((beta + np.random.default_rng(seed).standard_normal((draws, len(beta))) @ root.T) @ design.T)


def own_intervals(outcome: Floats, score: Floats, at: Floats, draws: int, seed: int) -> dict[tuple[str, str], Ends]:
    """Intervals of `calibration_curve`, of its band at some scores, and of its smooth curves alone."""
    cv = bc.calibration_curve(outcome, score, draws=draws, rng=seed)
    found: dict[tuple[str, str], Ends] = {(name, OURS): getattr(cv, name).interval(PROB) for name in ERRORS}
    # a score beyond those of the rows is answered at the last of them
    ends = np.transpose(cv.rates(np.clip(at, *cv.span)).interval(PROB))
    found |= {(f"rate {i + 1}", OURS): tuple(each) for i, each in enumerate(ends)}
    smooth = smooth_curve_posterior(cv.counts, prior_exact=0).sample(draws, rng=seed)
    for name, (_, share) in ERRORS.items():
        found[name, SMOOTH] = (ece(smooth) if share is None else largest_error(smooth, share=share)).interval(PROB)
    return found


def rival_intervals(outcome: Floats, score: Floats, draws: int, seed: int) -> dict[tuple[str, str], Ends]:
    """Intervals of other methods, by quantity and method."""
    binned, found = bc.evaluate(outcome, score, draws=draws, rng=seed).bin_draws, {}
    for name, (_, share) in ERRORS.items():
        drawn = bc.ece(binned) if share is None else bc.largest_error(binned, share=share)
        found[name, BINS] = drawn.interval(PROB)
    splines = spline_draws(outcome, score, min(draws, max(SPLINE_VALUES // len(score), 200)), seed)
    return found | {(name, SPLINE): ends for name, ends in of_draws(splines, score).items()}


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the package's intervals, or of those of the rivals in some of the same data sets."""
    n_rows, population, given, rivals, repeats, draws, rng = job
    curve, found = true_curve(*given), []
    at = POPULATIONS[population].quantile(np.array(AT))
    for i in range(repeats):
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        columns, seed = (data.outcome.astype(np.float64), data.confidence), int(rng.integers(2**63))
        if not rivals:
            found.append(own_intervals(*columns, at, draws, seed))
        elif i % ONE_IN == 0:
            found.append(rival_intervals(*columns, draws, seed))
    cell = {"n_rows": n_rows, "population": population, "curve": str(curve)}
    return rows_of_cell(cell, stacked(found), true_errors(population, curve), curve(at))


def of_local_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the package's intervals in a population with local errors or few high scores."""
    name, repeats, draws, rng = job
    scores, curve, at = LOCAL_POPULATIONS[name]
    found = []
    for _ in range(repeats):
        data = simulate(LOCAL_ROWS, population=scores, curve=curve, rng=rng)
        columns, seed = (data.outcome.astype(np.float64), data.confidence), int(rng.integers(2**63))
        found.append(own_intervals(*columns, at, draws, seed))
    many = scores(np.random.default_rng(MANY_SEED), MANY)
    cell = {"n_rows": LOCAL_ROWS, "population": name, "curve": ""}
    return rows_of_cell(cell, stacked(found), errors_of(curve(many), many), curve(at))


def rows_of_cell(
    cell: dict[str, Any], by_method: dict[tuple[str, str], Floats], truths: dict[str, float], rates: Floats
) -> list[dict[str, Any]]:
    """One row per quantity and method."""
    truths = truths | {f"rate {i + 1}": float(rate) for i, rate in enumerate(rates)}
    rows = []
    for name, truth in truths.items():
        of = {method: ends for (which, method), ends in by_method.items() if which == name}
        rows += coverage_rows({"quantity": name, **cell, "truth": truth}, of, truth)
    return rows


#: Score laws of random truths: (rng, number of rows) -> scores.
LAWS: tuple[Scores, ...] = (
    uniform_scores,
    rare_high_scores,
    lambda rng, n: rng.beta(1.2, 12, n),
    lambda rng, n: rng.beta(4, 1.2, n),
    lambda rng, n: expit(rng.normal(0, 2.5, n)),
    lambda rng, n: rng.choice(rng.uniform(0.02, 0.98, 12), n),
)
#: Mean size of the errors of random truths, whose distribution is exponential.
SIZE = 0.5
#: Errors of random truths: (scores, their logits, size, rng) -> rates, which are clipped to [0, 1]. In this order: a
#: slope, a shift, both, noisy labels, errors in ten bins, in the highest tenth of the scores, and quadratic in logits.
KINDS: tuple[Callable[[Floats, Floats, float, np.random.Generator], Floats], ...] = (
    lambda c, x, size, rng: expit(x * np.exp(0.3 * size)),
    lambda c, x, size, rng: expit(x + 0.3 * size),
    lambda c, x, size, rng: expit(x * np.exp(0.2 * size) + 0.2 * abs(size) * rng.choice([-1, 1])),
    lambda c, x, size, rng: c + 0.1 * abs(size) * (0.5 - c),
    lambda c, x, size, rng: c + 0.05 * size * rng.choice([-1, 0, 1], 11)[(10 * c).astype(int)],
    lambda c, x, size, rng: np.where(c > np.quantile(c, 0.9), c - 0.08 * size, c),
    lambda c, x, size, rng: expit(x + 0.15 * size * (((x - x.mean()) / x.std()) ** 2 - 1)),
)


def random_truth(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores and true rates of a random population with 200 to 10 000 rows; in half of them, rates are scores."""
    n = int(np.exp(rng.uniform(np.log(200), np.log(10_000))))
    c = np.clip(LAWS[rng.integers(len(LAWS))](rng, n), 1e-6, 1 - 1e-6)
    kind = int(rng.integers(2 * len(KINDS)))
    if kind >= len(KINDS):
        return c, c
    size = float(rng.exponential(SIZE)) * rng.choice([-1, 1])
    return c, np.clip(KINDS[kind](c, logit(c), size, rng), 0, 1)


def of_truths(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Stated probabilities of calibration of random truths, and which are calibrated, by class."""
    number, rng = job
    found = []
    for _ in range(number):
        c, rate = random_truth(rng)
        outcome = (rng.random(len(c)) < rate).astype(np.int64)
        steps = OrderedSums.from_rows(Predictions.from_outcomes(outcome, c))
        posterior = curve_posterior(merge_to_knots(steps, min(CURVE_BINS, len(c) // ROWS_PER_BIN)))
        if compiled_form_pays(number):  # the same evidences, in less time
            vars(posterior)["shrinkage"] = compiled_form(posterior.shrinkage)
        found.append((posterior.p_calibrated, bool((rate == c).all())))
    stated, exact = np.array(found).T
    place = np.clip(np.searchsorted(STATED, stated, side="right") - 1, 0, len(STATED) - 2)
    return [
        {"class": i, "truths": int(own.sum()), "stated": float(stated[own].sum()), "exact": int(exact[own].sum())}
        for i, own in enumerate(place == i for i in range(len(STATED) - 1))
    ]


def measure_truths(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Random truths until each class of the stated probability has enough; with --quick, few."""
    rng, total = np.random.default_rng([SEED, len(STATED)]), np.zeros((len(STATED) - 1, 3))
    number, at_once = (20, 1) if options.quick else (TRUTHS_PER_JOB, 2 * options.workers)
    for _ in range(0, at_once if options.quick else MOST_JOBS, at_once):
        jobs = jobs_of([(number,)] * at_once, rng=rng)
        for row in rows_of_jobs(of_truths, jobs, workers=options.workers, description="random truths"):
            total[row["class"]] += (row["truths"], row["stated"], row["exact"])
        if total[:, 0].min() >= LEAST_TRUTHS:
            break
    return [
        {"low": low, "high": high, "truths": int(n), "stated": p / max(n, 1), "true": k / max(n, 1)}
        for low, high, (n, p, k) in zip(STATED[:-1], STATED[1:], total.tolist(), strict=True)
    ]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the chosen parts; with --quick, a little of each kind."""
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    found = {**about(SEED, settings), "columns": list(COLUMNS)}
    parts = (PARTS[0], RIVALS, LOCAL, CALIBRATED, SMALL) if options.quick else options.only
    of_size = {size: [int(size)] for size in OF_SIZES} | {RIVALS: [300] if options.quick else [*SIZES, *OTHERS]}
    for part in parts:
        known = {"workers": options.workers, "description": part}
        if part == CALIBRATED:
            found[part] = rows_of(TRUTH_COLUMNS, measure_truths(options))
        elif part == SMALL:
            jobs = jobs_of(
                small_sets.CELLS[:: 15 if options.quick else 1], small_sets.TIMES * options.repeats, options.draws,
                rng=np.random.default_rng([SEED, *small_sets.SIZES]),
            )  # fmt: skip
            found[part] = rows_of(small_sets.COLUMNS, rows_of_jobs(small_sets.of_cell, jobs, **known))
        elif part == LOCAL:
            jobs = jobs_of(
                [(name,) for name in LOCAL_POPULATIONS], options.repeats, options.draws,
                rng=np.random.default_rng([SEED, LOCAL_ROWS]),
            )  # fmt: skip
            found[part] = rows_of(COLUMNS, rows_of_jobs(of_local_cell, jobs, **known))
        else:
            rows = []
            for size in of_size[part]:
                places = [
                    (size, population, curve, part == RIVALS) for population in POPULATION_NAMES for curve in CURVES
                ]
                # a stream per size, so that each can be measured alone
                rng = np.random.default_rng([SEED, size])
                rows += rows_of_jobs(of_cell, jobs_of(places, options.repeats, options.draws, rng=rng), **known)
            found[part] = rows_of(COLUMNS, rows)
    return found


def rows_in(numbers: dict[str, Any], parts: Iterable[str] = (*OF_SIZES, RIVALS)) -> list[dict[str, Any]]:
    """Stored rows of some parts as dicts, in the order of the quantities and methods."""
    rows = [dict(zip(numbers["columns"], row, strict=True)) for part in parts for row in numbers.get(part, [])]
    return sorted(rows, key=lambda row: list(WORDS).index(row["method"]))


def place_of(row: dict[str, Any]) -> str:
    """Cell of a row in words."""
    named = ", ".join(filter(None, (row["population"], row["curve"])))
    return f"{named}, n = {row['n_rows']}"


def overall(rows: Iterable[dict[str, Any]], sizes: tuple[int, ...]) -> str:
    """One line per quantity and method, over the cells of some sizes; the five scores of the band are one quantity."""
    lines = []
    for symbol, names in QUANTITIES.items():
        of = [row for row in rows if row["quantity"] in names and row["n_rows"] in sizes]
        for method in dict.fromkeys(row["method"] for row in of):
            mine = [row for row in of if row["method"] == method]
            covered = np.array([row["coverage"] for row in mine])
            lines.append([
                symbol, WORDS[method], f"{covered.mean():.3f}", f"{covered.min():.2f}",
                f"{np.mean([row['width'] for row in mine]):.4f}", place_of(mine[int(covered.argmin())]),
            ])  # fmt: skip
    return table("Quantity | Method | Mean coverage: | Worst cell: | Width: | Where it is worst", lines)


def band(rows: Iterable[dict[str, Any]]) -> str:
    """One line per cell: coverage of the band at five scores."""
    of: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if row["quantity"] in QUANTITIES["band"]:
            of.setdefault((row["n_rows"], row["population"], row["curve"]), []).append(row)
    lines = [[*cell, *(f"{row['coverage']:.2f}" for row in of[cell])] for cell in sorted(of)]
    return table("Rows: | Population | Curve | " + " | ".join(f"{100 * q:g} %:" for q in AT), lines)


def local(rows: list[dict[str, Any]]) -> str:
    """One line per population with local errors: coverage of the errors and of the band at five scores."""
    lines = []
    for population in dict.fromkeys(row["population"] for row in rows):
        of = {row["quantity"]: row for row in rows if (row["population"], row["method"]) == (population, OURS)}
        alone = next(
            row["coverage"] for row in rows
            if (row["population"], row["method"], row["quantity"]) == (population, SMOOTH, "ici")
        )  # fmt: skip
        lines.append([
            population, f"{of['ici']['truth']:.4f}", f"{of['ici']['width']:.4f}", f"{alone:.2f}",
            *(f"{of[name]['coverage']:.2f}" for name in ERRORS),
            " ".join(f"{of[name]['coverage']:.2f}" for name in QUANTITIES["band"]),
        ])  # fmt: skip
    head = "Population | ICI: | Width: | Smooth alone: | ICI: | E50: | E90: | Emax: | Band at five scores"
    return table(head, lines)


def calibrated(numbers: dict[str, Any]) -> str:
    """One line per class of the stated probability of calibration."""
    lines = []
    for low, high, truths, stated, true in numbers.get(CALIBRATED, []):
        error = errors_near(max(true, 0.01), max(truths, 1))[0]
        lines.append([f"{low:g} to {high:g}", truths, f"{stated:.3f}", f"{true:.3f}", error])
    return table("Stated probability | Truths: | Mean stated: | Share calibrated: | Standard error:", lines)


def by_cell(rows: Iterable[dict[str, Any]]) -> str:
    """One line per cell and quantity: truth, coverage and width of the package's interval."""
    head = "Rows: | Population | Curve | Quantity | Truth: | Coverage: | Truth above: | Truth below: | Width:"
    form = (
        "{n_rows}|{population}|{curve}|{symbol}|{truth:.4f}|{curve_coverage:.2f}|{curve_above:.2f}|{below:.2f}"
        "|{curve_width:.4f}"
    )
    of = [row for row in rows if row["method"] == OURS and row["quantity"] in ERRORS]
    lines = one_line_per_cell(of, ("quantity", "n_rows", "population", "curve", "truth"))
    for line in lines:
        line |= {"symbol": ERRORS[line["quantity"]][0], "below": 1 - line["curve_coverage"] - line["curve_above"]}
    return table(head, cells(sorted(lines, key=lambda line: line["n_rows"]), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_in(numbers)
    n_cells = len({(row["n_rows"], row["population"], row["curve"]) for row in rows})
    made = {
        "conditions": conditions(numbers, n_cells) + f"Splines and bins were measured in one of {ONE_IN} data sets.\n",
        "overall": overall(rows, SIZES),
        "cells": by_cell(rows),
        "band": band(rows),
        "local": local(rows_in(numbers, [LOCAL])),
        "calibrated": calibrated(numbers),
    }
    small = [dict(zip(small_sets.COLUMNS, row, strict=True)) for row in numbers.get(SMALL, [])]
    if small:
        made |= {"small": small_sets.overall(small), "small_cells": small_sets.by_cell(small)}
    return made | {f"rows_{size}": overall(rows, (size,)) for size in OTHERS}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="calibration_curve.json",
        page="calibration_curve.md",
        save=save_parts,
        parts=PARTS,
        shown=("conditions", "overall", "cells", "band", "local", "calibrated", "small"),
        repeats=(100, 2),
        draws=FEWER_DRAWS,
    )
