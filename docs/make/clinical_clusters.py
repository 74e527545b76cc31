"""Measure how often intervals of intercept, slope and calibration curve of rows in clusters contain the truth; write
docs/explanation/clusters.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, table
from recalibration import fitted, shift_of
from scipy.special import expit, logit
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study, with_fresh_sets

import bayescal as bc

Floats = NDArray[np.float64]

SEED, PROB, NORMAL, BAR = 47, 0.95, 1.959964, 0.85
#: Numbers of clusters, with their mean sizes.
CLUSTERS = {10: 50, 20: 20, 50: 10, 200: 5}
#: Standard deviations between clusters of the shift and of the slope; None: all rows of a cluster are copies of one.
KINDS: dict[str, tuple[float, float] | None] = {
    "independent": (0.0, 0.0),
    "shift": (0.5, 0.0),
    "shift and slope": (0.5, 0.3),
    "copies": None,
}
#: Numbers of clusters whose sizes also differ, by a factor of 10 from the smallest to the largest.
UNEQUAL = (20, 50)
#: Mean line, and the logits: Normal, with this part of their variance between clusters.
SHIFT, SLOPE, MEAN_LOGIT, BETWEEN = 0.2, 0.85, -1.0, 0.25
#: Scores at which the curve is judged.
SCORES = np.array([0.1, 0.2, 0.3, 0.5, 0.65])
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
QUANTITIES = ("slope", "in the large", "O/E", "ICI", "curve")
OURS, INDEPENDENT, SANDWICH = "bayescal", "rows as independent", "sandwich, Normal quantile"
#: Share of the data sets on which the rival of the curve is measured.
RIVALS = 0.4
COLUMNS = (
    "quantity", "clusters", "kind", "sizes", "method", "coverage", "above", "width", "first", "repeats",
)  # fmt: skip


def rates(kind: str, x: Floats) -> Floats:
    """Event rates at logits, over clusters."""
    shift, slope = KINDS[kind] or (0.0, 0.0)
    spread = np.hypot(shift, slope * x)
    return np.asarray(expit(SHIFT + SLOPE * x + spread * NODES[:, None]).T @ (WEIGHTS / WEIGHTS.sum()))


@cache
def true_values(kind: str) -> dict[str, Any]:
    """Best line in the population, calibration in the large, O/E, ICI and the curve at the scores."""
    x, mass = MEAN_LOGIT + NODES, WEIGHTS / WEIGHTS.sum()
    rate = rates(kind, x)
    line = fitted(x, mass, mass * rate)
    assert line is not None
    return {
        "slope": line[0][1],
        "in the large": shift_of(x, mass, float(mass @ rate)),
        "O/E": float(mass @ rate / (mass @ expit(x))),
        "ICI": float(mass @ np.abs(rate - expit(x))),
        "curve": rates(kind, logit(SCORES)),
    }


def drawn(clusters: int, kind: str, sizes: str, rng: np.random.Generator) -> tuple[Any, Floats, Any]:
    """Outcomes, stated risks and clusters of rows."""
    mean, each = CLUSTERS[clusters], np.ones(clusters)
    if sizes == "unequal":
        each = rng.permutation(np.geomspace(1, 10, clusters))
    size = np.maximum(np.rint(each * mean / each.mean()), 2).astype(int)
    of_row = np.repeat(np.arange(clusters), size)
    spread = KINDS[kind]
    if spread is None:
        x = MEAN_LOGIT + rng.standard_normal(clusters)
        return (rng.random(clusters) < expit(SHIFT + SLOPE * x))[of_row], expit(x)[of_row], of_row
    x = np.sqrt(BETWEEN) * rng.standard_normal(clusters)[of_row] + MEAN_LOGIT
    x = x + np.sqrt(1 - BETWEEN) * rng.standard_normal(len(of_row))
    shift, slope = (sd * rng.standard_normal(clusters)[of_row] for sd in spread)
    return rng.random(len(x)) < expit(SHIFT + shift + (SLOPE + slope) * x), expit(x), of_row


def sandwich(y: Any, p: Floats, of_row: Any) -> dict[str, Floats]:
    """Wald intervals of slope and calibration in the large with the sandwich estimate of their variance."""
    x, n = logit(p), np.ones(len(p))
    found, shift = fitted(x, n, y.astype(float)), shift_of(x, n, float(y.sum()))
    if found is None:
        return {name: np.array([-np.inf, np.inf]) for name in ("slope", "in the large")}
    line, bread = found
    design = np.stack([n, x], axis=1)
    score = np.stack([np.bincount(of_row, (y - expit(design @ line)) * column) for column in design.T])
    h = expit(x + shift)
    of_shift = np.bincount(of_row, y - h) / (h * (1 - h)).sum()
    sds = np.sqrt((bread @ score @ score.T @ bread)[1, 1]), np.sqrt(of_shift @ of_shift)
    ends = np.array([-NORMAL, NORMAL])
    return {"slope": line[1] + ends * sds[0], "in the large": shift + ends * sds[1]}


def intervals(y: Any, p: Floats, cluster: Any, draws: int, rng: np.random.Generator, *, curve: bool) -> dict[str, Any]:
    """Intervals of this package, of rows in clusters or of independent rows."""
    rc = bc.clinical.recalibration(y, p, cluster=cluster, draws=draws, rng=rng)
    ends = {"slope": rc.exact_interval("slope", PROB), "in the large": rc.in_the_large.interval(PROB)}
    ends["O/E"] = rc.observed_expected.interval(PROB)
    if curve:
        cv = bc.clinical.calibration_curve(y, p, cluster=cluster, draws=draws, rng=rng)
        low, high = cv.rates(np.clip(SCORES, *cv.span)).interval(PROB)
        ends |= {"ICI": cv.ici.interval(PROB), "curve": np.stack([low, high], axis=1)}
    return ends


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods in one cell; quantities below the bar again, on fresh data sets."""
    clusters, kind, sizes, repeats, draws, rng = job

    def covered(times: int) -> list[dict[str, Any]]:
        found: dict[tuple[str, str], list[Any]] = {}
        for i in range(times * repeats):
            y, p, of_row = drawn(clusters, kind, sizes, rng)
            with_rival = i < max(RIVALS * repeats, 1)
            by_method = {
                OURS: intervals(y, p, of_row, draws, rng, curve=True),
                INDEPENDENT: intervals(y, p, None, draws, rng, curve=with_rival),
                SANDWICH: sandwich(y, p, of_row),
            }
            for method, ends in by_method.items():
                for quantity, each in ends.items():
                    found.setdefault((quantity, method), []).append(np.asarray(each))
        rows = []
        for (quantity, method), each in found.items():
            cell = {"quantity": quantity, "clusters": clusters, "kind": kind, "sizes": sizes}
            truth, ends = true_values(kind)[quantity], np.stack(each)
            if quantity == "curve":
                truth, ends = np.tile(truth, len(ends)), ends.reshape(-1, 2)
            rows += [row | {"repeats": len(each)} for row in coverage_rows(cell, {method: ends}, truth)]
        return rows

    return with_fresh_sets(covered(1), covered, bar=BAR, where={"method": OURS}, of=("quantity",))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, two of them."""
    places = [(number, kind, "equal") for number in CLUSTERS for kind in KINDS]
    places += [(number, "shift and slope", "unequal") for number in UNEQUAL]
    jobs = jobs_of(
        places[1:3] if options.quick else places, options.repeats, options.draws, rng=np.random.default_rng(SEED)
    )
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def by_method(rows: Iterable[dict[str, Any]]) -> str:
    """One line per quantity, number of clusters and method: mean and lowest coverage, and where it is lowest."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["quantity"], row["clusters"], row["method"]), []).append(row)
    lines = []
    for (quantity, clusters, method), of in sorted(groups.items(), key=lambda each: QUANTITIES.index(each[0][0])):
        covered, width = np.array([row["coverage"] for row in of]), np.mean([row["width"] for row in of])
        worst = of[int(covered.argmin())]
        where = worst["kind"] + ", unequal sizes" * (worst["sizes"] == "unequal")
        wide = f"{width:.3f}" if np.isfinite(width) else "infinite"  # of separated outcomes
        numbers = f"{covered.mean():.3f}", f"{covered.min():.2f}", wide
        lines.append([quantity, clusters, method, *numbers, where])
    head = "Quantity | Clusters: | Method | Mean coverage: | Worst cell: | Width: | Where it is worst"
    return table(head, lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and the table by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["clusters"], row["kind"], row["sizes"]) for row in rows})
    return {"clinical_conditions": conditions(numbers, n_cells), "clinical": by_method(rows)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="clinical_clusters.json",
        page="clusters.md",
        shown=("clinical_conditions", "clinical"),
        repeats=(100, 2),
        draws=(1000, 200),
    )
