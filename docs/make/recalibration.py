"""Measure how often intervals of the calibration intercept, the slope, the calibration in the large and the ratio of
observed to expected events contain the truth; write docs/explanation/recalibration.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.special import expit, logit
from studies import conditions, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import BetaPopulation, simulate, true_curve
from bayescal.verify.coverage import contains, name_of, stacked

Floats = NDArray[np.float64]
Ends = tuple[float, float]

SEED, PROB = 17, 0.95
#: Half of the 0.95 quantile of chi-square with one degree of freedom, and the Normal quantile.
DEPTH, NORMAL = 1.920729, 1.959964
QUANTILES = 20_000
#: Truths (intercept, slope) of both parts, and a curve that is not logistic; sizes of both parts.
TRUTHS, WAVE, SIZES = ((0.0, 1.0), (0.5, 1.0), (-0.5, 0.7)), "wave", (100, 300, 2000)
FAR_TRUTHS, FAR_SIZES = ((0.0, 1.0), (0.0, 0.3), (-0.5, 0.7), (0.0, 2.0)), (100, 500)
VERY_RARE = BetaPopulation(0.5, 15.0, name="very rare")
POPULATIONS, FAR_POPULATIONS = ("flat", "rare", "top"), (VERY_RARE, "rare", "flat")
QUANTITIES = ("slope", "intercept", "in the large", "O/E")
#: Other priors of each part: those without an answer in many data sets of the second part are left out.
PRIORS: dict[str, tuple[str, ...]] = {"near": ("flat", "jeffreys"), "far": ()}
NONE = (float("nan"), float("nan"))
COLUMNS = (
    "part", "quantity", "n_rows", "population", "curve", "truth", "method", "coverage", "width", "none", "repeats",
)  # fmt: skip


def curve_of(truth: Any) -> Any:
    """Curve of a truth: a pair (intercept, slope) or the name of a curve."""
    if isinstance(truth, str):
        return true_curve(truth)
    intercept, slope = truth
    return lambda c: expit(intercept + slope * logit(np.clip(c, 1e-15, 1 - 1e-15)))


@cache
def true_values(population: Any, truth: Any) -> dict[str, float]:
    """Intercept and slope that maximise the expected log likelihood, shift with the mean event rate, and its ratio."""
    from bayescal.datasets.simulate import POPULATIONS as NAMED

    of = NAMED[population] if isinstance(population, str) else population
    x = logit(np.clip(of.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES), 1e-15, 1 - 1e-15))
    rate = curve_of(truth)(expit(x))
    slope, intercept = fitted(x, np.ones(QUANTILES), rate)[0][::-1] if isinstance(truth, str) else truth[::-1]
    shift = shift_of(x, np.ones(QUANTILES), rate.sum())
    return {"slope": slope, "intercept": intercept, "in the large": shift, "O/E": rate.sum() / expit(x).sum()}


def fitted(x: Floats, n: Floats, k: Floats) -> tuple[Floats, Floats] | None:
    """Maximum likelihood of (intercept, slope) and its covariance by Newton's method; None if it does not converge."""
    design, at = np.stack([np.ones_like(x), x]), np.array([0.0, 1.0])
    for _ in range(60):
        h = expit(at @ design)
        information = (design * (n * h * (1 - h))) @ design.T
        if not np.linalg.det(information) > 1e-9:
            return None
        step = np.linalg.solve(information, design @ (k - n * h))
        at = at + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            return (at, np.linalg.inv(information)) if np.abs(at).max() < 30 else None
    return None


def shift_of(x: Floats, n: Floats, events: float) -> float:
    """The shift s with sum n expit(x + s) = events."""
    s = 0.0
    for _ in range(60):
        h = expit(x + s)
        step = (events - n @ h) / (n @ (h * (1 - h)))
        s += float(np.clip(step, -2, 2))
        if abs(step) < 1e-10:
            break
    return s


def profile(height: Any, best: float, se: float) -> Ends:
    """Where a log likelihood, relative to its maximum, falls to -1.92, on both sides."""

    def end(side: float) -> float:
        near, far = best, best + side * se
        while height(far) > -DEPTH:
            near, far = far, far + (far - best)
        for _ in range(30):
            middle = (near + far) / 2
            near, far = (middle, far) if height(middle) > -DEPTH else (near, middle)
        return (near + far) / 2

    return end(-1.0), end(1.0)


def rivals(x: Floats, n: Floats, k: Floats) -> dict[tuple[str, str], Ends]:
    """Wald and profile intervals of logistic regression; in the large with the slope fixed at 1.

    The Wald interval of O/E is that of its logarithm, for Binomial events and fixed scores.
    """
    none = {(q, m): NONE for q in QUANTITIES for m in ("Wald", "profile")}
    del none["intercept", "profile"], none["O/E", "profile"]
    events = float(k.sum())
    if not 0 < events < n.sum():
        return none
    log_ratio, log_sd = np.log(events / (n @ expit(x))), np.sqrt(1 / events - 1 / n.sum())
    none["O/E", "Wald"] = tuple(np.exp(log_ratio + np.array([-1, 1]) * NORMAL * log_sd).tolist())
    s = shift_of(x, n, events)
    h = expit(x + s)
    se = float((n @ (h * (1 - h))) ** -0.5)

    def value(eta: Floats) -> float:
        return float(k @ eta - n @ np.logaddexp(0.0, eta))

    top = value(x + s)
    none["in the large", "Wald"] = s - NORMAL * se, s + NORMAL * se
    none["in the large", "profile"] = profile(lambda v: value(x + v) - top, s, se)
    found = fitted(x, n, k)
    if found is None:
        return none
    (a, b), cov = found
    best = value(a + b * x)
    for name, at, sd in (("intercept", a, cov[0, 0] ** 0.5), ("slope", b, cov[1, 1] ** 0.5)):
        none[name, "Wald"] = at - NORMAL * sd, at + NORMAL * sd
    none["slope", "profile"] = profile(
        lambda v: value(shift_of(v * x, n, events) + v * x) - best, b, float(cov[1, 1] ** 0.5)
    )
    return none


def intervals_of(
    outcome: Any, confidence: Any, draws: int, seed: int, priors: tuple[str, ...]
) -> dict[tuple[str, str], Ends]:
    """Intervals by quantity and method, on one data set."""
    counts = bc.LogitCounts.from_arrays(outcome, np.clip(confidence, 1e-15, 1 - 1e-15))
    rc = bc.recalibration_counts(counts, draws=draws, rng=seed)
    found = {(name, "weak"): rc.exact_interval(name, PROB) for name in ("slope", "intercept")}
    found["in the large", "weak"] = rc.in_the_large.interval(PROB)
    found["O/E", "weak"] = rc.observed_expected.interval(PROB)
    found |= rivals(counts.logit, counts.n, counts.k)
    for prior in priors:
        try:
            posterior = bc.recalibration_counts(counts, prior=prior, draws=2, rng=seed)
            found |= {(name, prior): posterior.exact_interval(name, PROB) for name in ("slope", "intercept")}
        except ValueError:  # no posterior, or too heavy tails, if outcomes are separated
            found |= {(name, prior): NONE for name in ("slope", "intercept")}
    return found


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods on the same data sets."""
    part, n_rows, population, truth, repeats, draws, rng = job
    curve, truths = curve_of(truth), true_values(population, truth)

    def intervals() -> Iterator[dict[tuple[str, str], Ends]]:
        for _ in range(repeats):
            data = simulate(n_rows, population=population, curve=curve, rng=rng)
            yield intervals_of(data.outcome, data.confidence, draws, int(rng.integers(2**63)), PRIORS[part])

    shown = truth if isinstance(truth, str) else "({:g}, {:g})".format(*truth)
    about = {"part": part, "n_rows": n_rows, "population": name_of(population), "curve": shown}
    rows = []
    for (quantity, method), ends in stacked(intervals()).items():
        kept = ends[np.isfinite(ends[:, 0])]
        covered = contains(*kept.T, truths[quantity]).mean() if len(kept) else float("nan")
        width = float((kept[:, 1] - kept[:, 0]).mean()) if len(kept) else float("nan")
        numbers = {"coverage": float(covered), "width": width, "none": len(ends) - len(kept), "repeats": len(ends)}
        rows.append({"quantity": quantity, **about, "truth": truths[quantity], "method": method, **numbers})
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, one population and size of each part."""
    near = [("near", n, p, t) for n in SIZES for p in POPULATIONS for t in (*TRUTHS, WAVE)]
    far = [("far", n, p, t) for n in FAR_SIZES for p in FAR_POPULATIONS for t in FAR_TRUTHS]
    places = [*near[:4], *far[:4]] if options.quick else [*near, *far]
    jobs = jobs_of(places, options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs))


def overall(rows: Iterable[dict[str, Any]]) -> str:
    """One line per size, quantity and method."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["n_rows"], row["quantity"], row["method"]), []).append(row)
    order = sorted(groups, key=lambda key: (key[0], QUANTITIES.index(key[1])))
    lines = []
    for key in order:
        of = [row for row in groups[key] if row["coverage"] == row["coverage"]]
        covered = np.array([row["coverage"] for row in of])
        worst = of[int(covered.argmin())]
        width = float(np.mean([row["width"] for row in of]))
        none = sum(row["none"] for row in groups[key])
        where = "{population}, {curve}".format(**worst)
        lines.append([*key, f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{width:.2f}", none, where])
    return table("Rows: | Quantity | Method | Mean coverage: | Worst cell: | Width: | None: | Where it is worst", lines)


def by_cell(rows: Iterable[dict[str, Any]]) -> str:
    """One line per cell of the second part: calibration in the large by all methods, and the slope."""
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = (row["n_rows"], row["population"], row["curve"])
        line = lines.setdefault(key, {name: row[name] for name in ("n_rows", "population", "curve")})
        short = row["quantity"].replace(" ", "_").replace("/", "")
        line |= {f"{short}_{row['method']}_{name}": row[name] for name in ("coverage", "width", "none")}
    head = (
        "Rows: | Population | Truth | In the large: | Width: | Slope 1, Wald: | Slope 1, profile: | Slope: | Width: "
        "| Slope, Wald: | Slope, none:"
    )
    form = (
        "{n_rows}|{population}|{curve}|{in_the_large_weak_coverage:.2f}|{in_the_large_weak_width:.2f}"
        "|{in_the_large_Wald_coverage:.2f}|{in_the_large_profile_coverage:.2f}|{slope_weak_coverage:.2f}"
        "|{slope_weak_width:.2f}|{slope_Wald_coverage:.2f}|{slope_Wald_none}"
    )
    return table(head, cells(lines.values(), form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_again(numbers)
    near, far = ([row for row in rows if row["part"] == part] for part in ("near", "far"))
    n_cells = len({(row["part"], row["n_rows"], row["population"], row["curve"]) for row in rows})
    return {
        "conditions": conditions(numbers, n_cells),
        "overall": overall(near),
        "far": overall(row for row in far if row["quantity"] in ("in the large", "O/E")),
        "cells": by_cell(far),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="recalibration.json",
        page="recalibration.md",
        shown=("conditions", "overall", "far", "cells"),
        repeats=(100, 2),
        draws=(1000, 200),
    )
