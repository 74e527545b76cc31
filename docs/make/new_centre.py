"""Measure how often the intervals of a new centre contain its intercept, slope, ratio of observed to expected events,
ECE of the line and curve; write docs/explanation/recalibration.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, table
from recalibration import fitted
from scipy import stats
from scipy.special import expit
from studies import conditions, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.clinical.slope.new_centre import NewCentre
from bayescal.clinical.slope.result import GroupedRecalibration, Recalibration

Floats = NDArray[np.float64]

SEED, PROB = 45, 0.95
#: Numbers of centres; a repeat simulates the most, and evaluates at most TWICE disjoint collections of each number.
NUMBERS, TWICE = (3, 5, 10, 30), 2
#: Standard deviations between centres, of the shift at the logit `AT` and of the slope, and their correlation.
SPREADS = {
    "none": (0.0, 0.0, 0.0),
    "moderate": (0.3, 0.15, 0.0),
    "large": (0.8, 0.3, 0.0),
    "large, correlated": (0.8, 0.3, 0.7),
}
#: Rows of each centre: equal, or with equal ratios in random order.
SIZES = {"100": (100, 100), "500": (500, 500), "50 to 1000": (50, 1000), "200, rare events": (200, 200)}
#: Difference of the logits of a population, whose event rate is 0.04 instead of 0.24.
OFFSETS = {"200, rare events": -2.0}
CELLS = [(spread, size) for spread in ("none", "moderate", "large") for size in tuple(SIZES)[:3]]
CELLS += [("large, correlated", "500"), ("large, correlated", "50 to 1000"), ("moderate", "200, rare events")]
#: Mean line: shift of the logits at AT, and slope. Logits are Normal around a mean that varies between centres.
AT, SHIFT, SLOPE, LOGIT_SD, MIX_SD = -1.5, 0.2, 0.85, 1.0, 0.3
#: Stated probabilities at which bands are judged, and new centres per repeat.
SCORES, NEW = np.array([0.05, 0.1, 0.2, 0.35, 0.6]), 100
#: Nodes of the logits of a centre, as quantiles.
Z = stats.norm.ppf((np.arange(60) + 0.5) / 60)
#: Wider intervals are not stated exactly.
WIDEST = 100
COLUMNS = ("centres", "spread", "size", "quantity", "of", "method", "coverage", "width", "sets", "again", "sets_again")
#: Cells of the package's intervals below this coverage are measured again: data sets by number of centres, in PARTS.
WORST, AGAIN, PARTS, SEED_AGAIN = 0.85, {3: 400, 5: 400, 10: 400, 30: 96}, 8, 4545


class Lines(NamedTuple):
    """True lines and case mixes of centres."""

    shift: Floats
    slope: Floats
    mix: Floats

    def rates(self, x: Floats) -> Floats:
        """Event rates at logits, of shape (n_centres, n) or (n,)."""
        at = np.broadcast_to(x, (len(self.shift), np.shape(x)[-1]))
        rates: Floats = expit(AT + self.shift[:, None] + self.slope[:, None] * (at - AT))
        return rates


def lines(spread: str, size: str, number: int, rng: np.random.Generator) -> Lines:
    """Draw centres of the population."""
    of_shift, of_slope, rho = SPREADS[spread]
    first, second, third = rng.standard_normal((3, number))
    second = rho * first + np.sqrt(1 - rho**2) * second
    return Lines(SHIFT + of_shift * first, SLOPE + of_slope * second, AT + OFFSETS.get(size, 0.0) + MIX_SD * third)


def scores(size: str) -> Floats:
    """Stated probabilities at which bands are judged."""
    judged: Floats = expit(np.log(SCORES / (1 - SCORES)) + OFFSETS.get(size, 0.0))
    return judged


def truths(of: Lines, size: str) -> dict[str, Floats]:
    """True values of centres by quantity; curves have one column per score."""
    logits = of.mix[:, None] + LOGIT_SD * Z
    pooled = AT + OFFSETS.get(size, 0.0) + np.hypot(LOGIT_SD, MIX_SD) * Z
    at = scores(size)
    return {
        "intercept": AT + of.shift - of.slope * AT,
        "slope": of.slope,
        "O/E": of.rates(logits).mean(axis=1) / expit(logits).mean(axis=1),
        "ECE": np.abs(of.rates(pooled) - expit(pooled)).mean(axis=1),
        "curve": of.rates(np.log(at / (1 - at))),
    }


def centre(line: Lines, place: int, n_rows: int, draws: int, rng: np.random.Generator) -> tuple[Recalibration, Any]:
    """Simulate a centre; return its recalibration, and estimates with standard errors of logistic regression."""
    x = line.mix[place] + LOGIT_SD * rng.standard_normal(n_rows)
    one = Lines(*(each[place : place + 1] for each in line))
    y = (rng.random(n_rows) < one.rates(x)[0]).astype(int)
    of_centre = bc.clinical.recalibration(y, expit(x), draws=draws, rng=rng)
    events, estimates = float(y.sum()), {}
    if 0 < events < n_rows:
        se = np.sqrt(1 / events - 1 / n_rows)
        estimates["O/E"] = (np.log(events / expit(x).sum()), se)
        fit = fitted(x, np.ones(n_rows), y)
        if fit is not None:
            (a, b), covariance = fit
            estimates |= {"intercept": (a, covariance[0, 0] ** 0.5), "slope": (b, covariance[1, 1] ** 0.5)}
    return of_centre, estimates


def rivals(estimates: Iterable[dict[str, tuple[float, float]]]) -> dict[tuple[str, str, str], Floats]:
    """Intervals by quantity, object and method: DerSimonian-Laird with a Normal interval of the mean and the
    t-prediction interval of Higgins, Thompson and Spiegelhalter (2009), and the fixed effect.
    """
    found: dict[tuple[str, str, str], Floats] = {}
    for quantity in ("intercept", "slope", "O/E"):
        y, s = np.array([each[quantity] for each in estimates if quantity in each]).T
        w, k = s**-2.0, len(y)
        fixed = (w @ y) / w.sum()
        tau2 = max(0.0, (w @ (y - fixed) ** 2 - (k - 1)) / (w.sum() - (w @ w) / w.sum()))
        v = 1 / (s**2 + tau2)
        mean, se = (v @ y) / v.sum(), v.sum() ** -0.5
        t, z = stats.t.ppf((1 + PROB) / 2, k - 2), stats.norm.ppf((1 + PROB) / 2)
        sides = np.array([-1.0, 1.0])
        ends = {
            ("mean", "DerSimonian-Laird"): mean + sides * z * se,
            ("new", "DerSimonian-Laird"): mean + sides * t * np.sqrt(tau2 + se**2),
            ("mean", "fixed effect"): fixed + sides * z * w.sum() ** -0.5,
            ("new", "fixed effect"): fixed + sides * z * w.sum() ** -0.5,
        }
        for (of, method), each in ends.items():
            found[quantity, of, method] = np.exp(each) if quantity == "O/E" else each
    return found


def intervals(result: NewCentre, size: str) -> dict[tuple[str, str, str], Floats]:
    """Intervals by quantity, object and method, of shape (2,) or (2, n_scores)."""
    found = {}
    names = {"intercept": "intercept", "slope": "slope", "observed_expected": "O/E", "ece": "ECE"}
    for key, name in names.items():
        for of in ("mean", "new") if key in result.mean else ("new",):
            found[name, of, "two effects"] = np.array(getattr(result, of)[key].interval(PROB))
    _, low, high, new_low, new_high = result.bands(scores(size), PROB)
    found["curve", "mean", "two effects"] = np.stack([low, high])
    found["curve", "new", "two effects"] = np.stack([new_low, new_high])
    return found


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Simulate 30 centres per repeat, and evaluate all disjoint collections of each number of centres."""
    spread, size, repeats, draws, numbers, rng = job
    of_mean = truths(Lines(np.array([SHIFT]), np.array([SLOPE]), np.array([AT])), size)
    many = truths(lines(spread, size, 4000, rng), size)["O/E"]
    of_mean["O/E"] = np.exp(np.log(many).mean(keepdims=True))
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
    for _ in range(repeats):
        most = max(numbers)
        true = lines(spread, size, most, rng)
        rows = rng.permutation(np.geomspace(*SIZES[size], most).round().astype(int))
        each = [centre(true, place, int(rows[place]), draws, rng) for place in range(most)]
        for number in numbers:
            for begin in range(0, most - number + 1, number)[:TWICE]:
                part = each[begin : begin + number]
                groups = {f"centre {i}": of_centre for i, (of_centre, _) in enumerate(part)}
                counts = [of_centre.counts for of_centre, _ in part]
                # the prediction reads the counts of all rows and the number of draws, and not their posterior
                overall = replace(part[0][0], counts=sum(counts[1:], counts[0]))
                result = GroupedRecalibration(groups, overall, "centre").new_centre(rng=rng)
                of_new = truths(lines(spread, size, NEW, rng), size)
                ends = intervals(result, size) | rivals([estimates for _, estimates in part])
                for (quantity, of, method), (low, high) in ends.items():
                    true_value = (of_mean if of == "mean" else of_new)[quantity]
                    covered = float(((low <= true_value) & (true_value <= high)).mean())
                    key = (number, spread, size, quantity, of, method)
                    found.setdefault(key, []).append((covered, float(np.mean(high - low))))
    rows_of_table = []
    for key, values in found.items():
        covered, width = np.mean(values, axis=0)
        numbers_of = {"coverage": float(covered), "width": float(width), "sets": len(values)}
        numbers_of |= {"again": None, "sets_again": None}
        rows_of_table.append({**dict(zip(COLUMNS, key, strict=False)), **numbers_of})
    return rows_of_table


def jobs_again(rows: Iterable[dict[str, Any]], draws: int) -> list[tuple[Any, ...]]:
    """Jobs with fresh data sets for cells in which an interval of the package was below the bar."""
    low = [row for row in rows if row["method"] == "two effects" and row["coverage"] < WORST]
    cells = sorted({(row["spread"], row["size"], row["centres"]) for row in low})
    places = [
        (spread, size, AGAIN[number] // PARTS, draws, (number,)) for spread, size, number in cells for _ in range(PARTS)
    ]
    return jobs_of(places, rng=np.random.default_rng(SEED_AGAIN))


def with_again(rows: list[dict[str, Any]], again: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add coverage with fresh data sets to the rows of the package that were below the bar."""
    parts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in again:
        parts.setdefault(tuple(row[name] for name in COLUMNS[:6]), []).append(row)
    for row in rows:
        fresh = parts.get(tuple(row[name] for name in COLUMNS[:6]), [])
        if fresh and row["method"] == "two effects" and row["coverage"] < WORST:
            sets = [each["sets"] for each in fresh]
            mean = float(np.average([each["coverage"] for each in fresh], weights=sets))
            row |= {"again": mean, "sets_again": sum(sets)}
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, two cells and collections of 3 and 5 centres."""
    numbers = NUMBERS[:2] if options.quick else NUMBERS
    places = CELLS[3:5] if options.quick else CELLS
    jobs = jobs_of(places, options.repeats, options.draws, numbers, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    if not options.quick:
        again = rows_of_jobs(of_cell, jobs_again(rows, options.draws), workers=options.workers)
        rows = with_again(rows, again)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def overall(rows: Iterable[dict[str, Any]]) -> str:
    """One line per number of centres, quantity, object and method: mean and worst cell."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["centres"], row["of"], row["quantity"], row["method"]), []).append(row)
    lines_of = []
    for (number, of, quantity, method), each in sorted(groups.items(), key=lambda item: item[0][:2]):
        covered = np.array([row["coverage"] if row["again"] is None else row["again"] for row in each])
        worst = each[int(covered.argmin())]
        where = f"{worst['spread']}, {worst['size']} rows"
        width = np.mean([row["width"] for row in each])
        wide = f"{width:.2f}" if width < WIDEST else f"> {WIDEST:g}"  # also of intervals whose ends overflow
        lines_of.append([number, of, quantity, method, f"{covered.mean():.3f}", f"{covered.min():.2f}", wide, where])
    head = "Centres: | Centre | Quantity | Method | Mean coverage: | Worst cell: | Width: | Where it is worst"
    return table(head, lines_of)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and the table by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["spread"], row["size"]) for row in rows})
    return {"new_centre_conditions": conditions(numbers, n_cells), "new_centre": overall(rows)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="new_centre.json",
        page="recalibration.md",
        shown=("new_centre_conditions", "new_centre"),
        repeats=(60, 1),
        draws=(1000, 200),
    )
