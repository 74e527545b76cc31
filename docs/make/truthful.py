"""Measure how often intervals of the averaged two-bin error and of the largest regret contain the truth, that no other
confidence has a smaller two-bin error on average, and intervals of the k most probable classes; write
docs/explanation/truthful.md: part of `make coverage`.

Cells whose coverage is below the bar are measured again in four times as many fresh data sets, and that share counts.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from jobs import named_streams
from numpy.typing import NDArray
from pages import rows_again, rows_of, save_parts, table
from scipy.special import expit, logit, softmax
from selective import CELLS, Cell
from studies import TIMES_AGAIN, about, errors_near, rows_of_jobs, run_study, with_fresh_sets

import bayescal as bc
from bayescal.cumulative.draws import draw_cumulative
from bayescal.datasets.simulate import POPULATIONS, true_curve
from bayescal.draws import BinDraws
from bayescal.estimands.regret import regret_draws
from bayescal.estimands.two_bins import over_thresholds
from bayescal.stats.bins import make_bins
from bayescal.verify.coverage import contains
from bayescal.verify.methods import bootstrap_bins

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEED, PROB, BAR = 44, 0.95, 0.85
TAILS = [(1 - PROB) / 2, (1 + PROB) / 2]
EDGES = make_bins(15).edges
ATB, REGRET = "averaged two-bin error", "largest regret"
OURS, SEGMENTS, DIRICHLET, BOOTSTRAP = "bayescal", "segments of 64 bins", "Dirichlet model", "percentile bootstrap"
COLUMNS = (
    "part", "population", "curve", "n_rows", "quantity", "truth", "method", "coverage", "above", "width", "repeats",
    "first",
)  # fmt: skip
PARTS = ("simulated", "populations", "top_k", "honest")
#: Classes, concentration of the probabilities, temperature of the stated ones, and rows of the cells of top-k.
TOP_CELLS = tuple((k, a, t, n) for k, a in ((5, 1.0), (20, 0.2)) for t in (1.0, 1.5) for n in (500, 5000))
TOP_K, POINTS = (1, 2, 3), 400_000
#: Populations, numbers of rows, and false confidences of the simulation of truthfulness.
HONEST_SIZES, HONEST_SETS = (50, 1000), 20_000


# ------------------------------------------------------------------------------------------------ truths
def true_error(confidence: Floats, mean: Floats) -> float:
    """Averaged two-bin error of points that represent a population."""
    order = np.argsort(confidence)
    return float(over_thresholds(confidence[order], (mean - confidence)[order] / len(mean)))


def true_regret(confidence: Floats, mean: Floats) -> float:
    """Largest regret over the inner edges of the bins."""
    place = np.minimum((confidence * 15).astype(int), 14)
    mass = np.bincount(place, minlength=15) / len(mean)
    accuracy = np.bincount(place, mean, 15) / np.maximum(mass * len(mean), 1)
    bins = BinDraws(mass[None], accuracy[None], accuracy[None], mass > 0, mass[None])
    return float(max(regret_draws(bins, t, i + 1)[0] for i, t in enumerate(EDGES[1:-1])))


# ------------------------------------------------------------------------------------------------ methods
def largest(bins: BinDraws) -> Floats:
    """Largest regret over the inner edges, of draws of all bins."""
    return np.stack([regret_draws(bins, t, i + 1) for i, t in enumerate(EDGES[1:-1])]).max(axis=0)


def intervals(z: Any, c: Floats, draws: int, rng: np.random.Generator) -> dict[tuple[str, str], tuple[float, float]]:
    """Intervals of one data set, by quantity and method."""
    seed = int(rng.integers(2**63))
    ev = bc.evaluate(z, c, target="confidence", draws=draws, rng=seed)
    dirichlet = bc.evaluate_counts(ev.counts, draws=draws, rng=seed, model="dirichlet")
    resampled = bootstrap_bins(ev.counts, draws, rng=seed)
    steps = bc.cumulative.difference(z, c).steps
    drawn = draw_cumulative(steps, draws, np.random.default_rng(seed), model="segments")
    values = {
        (ATB, OURS): ev.atb.values,
        (ATB, SEGMENTS): bc.estimands.atb(drawn.bins).values,
        (ATB, DIRICHLET): dirichlet.atb.values,
        (ATB, BOOTSTRAP): bc.estimands.atb(resampled).values,
        (REGRET, OURS): ev.largest_regret.values,
        (REGRET, DIRICHLET): largest(dirichlet.bin_draws),
        (REGRET, BOOTSTRAP): largest(resampled),
    }
    return {key: tuple(np.quantile(each, TAILS).tolist()) for key, each in values.items()}  # type: ignore[misc]


def of_data(
    draw: Callable[[], tuple[Any, Floats]], truths: dict[str, float], columns: Row, repeats: int, draws: int, rng: Any
) -> list[Row]:
    """Coverage of all methods in data sets of one cell."""
    every = [intervals(*draw(), draws, rng) for _ in range(repeats)]
    return [
        {**columns, "quantity": quantity, "method": method, **scored([each[quantity, method] for each in every], truth)}
        for quantity, truth in truths.items()
        for method in dict.fromkeys(name for of, name in every[0] if of == quantity)
    ]


def scored(ends: list[tuple[float, float]], truth: float) -> Row:
    """Coverage, share of truths above the interval, and mean width."""
    low, high = np.array(ends).T
    return {
        "truth": truth,
        "coverage": float(contains(low, high, truth).mean()),
        "above": float((truth > high + 1e-9).mean()),
        "width": float((high - low).mean()),
        "repeats": len(ends),
    }


def measured_cell(job: tuple[Cell, int, int, np.random.Generator]) -> list[Row]:
    """Coverage in one cell; of quantities below the bar, that in fresh data sets."""
    cell, repeats, draws, rng = job
    draw, points = cell.source(rng)
    truths = {ATB: true_error(*points), REGRET: true_regret(*points)}

    def measure(times: int) -> list[Row]:
        return of_data(draw, truths, cell.columns, times * repeats, draws, rng)

    return twice_if_low(measure)


def twice_if_low(measure: Callable[[int], list[Row]]) -> list[Row]:
    """Measure once, and quantities below the bar again; the generator goes on, so that the data sets are fresh."""
    return with_fresh_sets(measure(1), measure, bar=BAR, where={"method": OURS}, of=("quantity",))


# ------------------------------------------------------------------------------------------------ top-k
def sorted_classes(true: Floats, temperature: float) -> tuple[Floats, Floats]:
    """True and stated probabilities in the order of the stated ones, the largest first."""
    stated = softmax(np.log(np.maximum(true, 1e-300)) * temperature, axis=1)
    order = np.argsort(-stated, axis=1, kind="stable")
    return np.take_along_axis(true, order, axis=1), np.take_along_axis(stated, order, axis=1)


def measured_top(job: tuple[tuple[int, float, float, int], int, int, np.random.Generator]) -> list[Row]:
    """Coverage of the ECE of the k most probable classes, with the truth of many simulated rows."""
    (n_classes, concentration, temperature, n_rows), repeats, draws, rng = job
    columns = {"part": "top_k", "population": f"{n_classes} classes", "n_rows": n_rows}
    columns["curve"] = "calibrated" if temperature == 1 else f"temperature {temperature:g}"
    true, stated = sorted_classes(rng.dirichlet(np.full(n_classes, concentration), POINTS), temperature)
    truths = {}
    for k in TOP_K:
        c, mean = stated[:, :k].sum(axis=1), true[:, :k].sum(axis=1)
        place = np.clip(np.searchsorted(EDGES, c, side="right") - 1, 0, 14)
        truths[f"ECE, k = {k}"] = float(np.abs(np.bincount(place, mean - c, 15)).sum() / POINTS)

    def measure(times: int) -> list[Row]:
        every: list[dict[int, tuple[float, float]]] = []
        for _ in range(times * repeats):
            p, q = sorted_classes(rng.dirichlet(np.full(n_classes, concentration), n_rows), temperature)
            y = np.minimum((p.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1), n_classes - 1)
            top = bc.decisions.top_k(y, q, TOP_K, draws=draws, rng=int(rng.integers(2**63)))
            every.append({k: each.ece.interval(PROB) for k, each in top.items()})
        return [
            {**columns, "quantity": name, "method": OURS, **scored([each[k] for each in every], truth)}
            for k, (name, truth) in zip(TOP_K, truths.items(), strict=True)
        ]

    return twice_if_low(measure)


# ------------------------------------------------------------------------------------------------ truthfulness
#: False confidences, as functions of the true probability.
FALSE: dict[str, Callable[[Floats], Floats]] = {
    "honest": lambda r: r,
    "mean of all": lambda r: np.full_like(r, r.mean()),
    "rounded to tenths": lambda r: np.round(r, 1),
    "sharper": lambda r: expit(1.2 * logit(np.clip(r, 1e-12, 1 - 1e-12))),
    "softer": lambda r: expit(0.8 * logit(np.clip(r, 1e-12, 1 - 1e-12))),
    "0.03 higher": lambda r: np.minimum(r + 0.03, 1.0),
}
#: Sample values that are compared: the two-bin error, its root, and the plug-in ECE of 15 bins.
VALUES = (ATB, "root of it", "plug-in ECE")


def honest_rows(job: tuple[str, int, int, np.random.Generator]) -> list[Row]:
    """Mean sample values of honest and of false confidences, on the same outcomes."""
    population, n_rows, sets, rng = job
    r = np.sort(POPULATIONS[population].quantile((np.arange(n_rows) + 0.5) / n_rows))
    r = np.clip(true_curve("calibrated", None)(r), 0, 1)
    y = rng.random((sets, n_rows)) < r
    rows = []
    for name, false in FALSE.items():
        c = false(r)
        error = over_thresholds(c, (y - c) / n_rows)
        place = np.clip(np.searchsorted(EDGES, c, side="right") - 1, 0, 14)
        gaps = np.stack([(y - c)[:, place == b].sum(axis=1) for b in range(15)], axis=1)
        gap = (r - c) / n_rows
        # the probabilities of these rows are given, so that the expected value is exact
        exact = float((r * (1 - r)).sum() / n_rows**2 + over_thresholds(c, gap))
        for value, drawn in zip(VALUES, (error, np.sqrt(error), np.abs(gaps).sum(axis=1) / n_rows), strict=True):
            row = {"population": population, "n_rows": n_rows, "confidence": name, "value": value}
            row |= {"mean": float(drawn.mean()), "se": float(drawn.std() / np.sqrt(sets)), "sets": sets}
            rows.append(row | {"exact": exact if value == ATB else None})
    return rows


HONEST_COLUMNS = ("population", "n_rows", "confidence", "value", "mean", "se", "exact", "sets")


# ------------------------------------------------------------------------------------------------ command
def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the chosen parts; with --quick, one cell of each."""
    stream_of = named_streams(np.random.default_rng(SEED))
    found: dict[str, Any] = {}
    settings = options.repeats, options.draws
    known = {"workers": options.workers}
    for part in options.only:
        if part == "honest":
            sets = 200 if options.quick else HONEST_SETS
            places = [(p, n) for p in POPULATIONS for n in HONEST_SIZES][: 1 if options.quick else None]
            jobs: list[Any] = [(*place, sets, stream_of(part, *map(str, place))) for place in places]
            rows = rows_of_jobs(honest_rows, jobs, **known, description=part)
            found |= {part: rows_of(HONEST_COLUMNS, rows), "honest_columns": list(HONEST_COLUMNS)}
            continue
        if part == "top_k":
            chosen = TOP_CELLS[: 1 if options.quick else None]
            jobs = [(cell, *settings, stream_of(part, *map(str, cell))) for cell in chosen]
            rows = rows_of_jobs(measured_top, jobs, **known, description=part)
        else:
            cells = [cell for cell in CELLS if cell.part == part][: 1 if options.quick else None]
            jobs = [(cell, *settings, stream_of(*map(str, cell.columns.values()))) for cell in cells]
            rows = rows_of_jobs(measured_cell, jobs, **known, description=part)
        found[part] = rows_of(COLUMNS, rows)
    stated = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return {**about(SEED, stated), "columns": list(COLUMNS), **found}


def overall(rows: list[Row]) -> str:
    """One line per quantity and method: mean and least coverage, width, and where it is worst."""
    lines = []
    for quantity, method in dict.fromkeys((row["quantity"], row["method"]) for row in rows):
        of = [row for row in rows if (row["quantity"], row["method"]) == (quantity, method)]
        covered = np.array([row["coverage"] for row in of])
        worst = of[int(covered.argmin())]
        first = f" (first {worst['first']:.2f})" if worst["first"] is not None else ""
        where = ", ".join(filter(None, (worst["population"], worst["curve"], f"{worst['n_rows']} rows")))
        numbers = [f"{covered.mean():.3f}", f"{covered.min():.3f}{first}", f"{(covered < BAR).sum()} of {len(of)}"]
        numbers += [f"{np.mean([row['above'] for row in of]):.3f}", f"{np.mean([row['width'] for row in of]):.4f}"]
        lines.append([quantity, method, *numbers, where])
    head = "Quantity | Method | Mean coverage: | Worst cell: | Below 0.85: | Truth above: | Width: | Worst cell"
    return table(head, lines)


def honest_table(rows: list[Row]) -> str:
    """One line per population, number of rows and value: the mean of each confidence, relative to the honest one."""
    lines = []
    for key in dict.fromkeys((row["population"], row["n_rows"], row["value"]) for row in rows):
        of = {row["confidence"]: row for row in rows if (row["population"], row["n_rows"], row["value"]) == key}
        one = of["honest"]
        cells = [f"{each['mean'] / one['mean']:.2f}" for name, each in of.items() if name != "honest"]
        off = "" if one["exact"] is None else f"{max(abs(e['mean'] - e['exact']) / e['se'] for e in of.values()):.1f}"
        lines.append([key[0], str(key[1]), key[2], f"{one['mean']:.2g}", *cells, off])
    names = " | ".join(f"{name.capitalize()}:" for name in FALSE if name != "honest")
    return table(f"Population | Rows: | Value | Honest: | {names} | Largest distance to the formula, SE:", lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    repeats, prob = numbers["repeats"], numbers["prob"]
    one, again = errors_near(prob, repeats, TIMES_AGAIN * repeats)
    texts = {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {repeats} data sets per cell, {numbers['draws']} draws, seed "
            f"{numbers['seed']}.\nThe standard error of one share near {prob:g} is {one}; a cell below {BAR:g} is "
            f"measured again in {TIMES_AGAIN * repeats}\nfresh data sets ({again}), and that share counts.\n"
        )
    }
    for part in PARTS:
        if part == "honest" and part in numbers:
            texts[part] = honest_table(
                [dict(zip(numbers["honest_columns"], row, strict=True)) for row in numbers[part]]
            )
        elif part in numbers:
            texts[part] = overall(rows_again({"columns": numbers["columns"], "rows": numbers[part]}))
    return texts


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="truthful.json",
        page="truthful.md",
        save=save_parts,
        shown=("conditions", *PARTS),
        parts=PARTS,
    )
