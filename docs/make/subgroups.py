"""Measure how often the intervals of differences between subgroups contain the truth, without and with pooling; write
docs/explanation/partial_pooling.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, table
from scipy import stats
from scipy.special import expit
from studies import conditions, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.clinical import ClinicalSummary, GroupedClinicalSummary, ModelParts

Floats = NDArray[np.float64]

SEED, PROB = 46, 0.95
#: Numbers of groups; a repeat simulates the most, and evaluates at most TWICE disjoint collections of each number.
NUMBERS, TWICE = (2, 5, 10), 2
#: Standard deviations between groups: of the shift and the slope of the line, and of the mean of the logits.
SPREADS = {"none": (0.0, 0.0, 0.0), "moderate": (0.3, 0.15, 0.2), "large": (0.8, 0.3, 0.5)}
#: Rows of each group: equal, or with equal ratios in random order.
SIZES = {"150": (150, 150), "600": (600, 600), "80 to 1200": (80, 1200)}
CELLS = [(spread, size) for spread in SPREADS for size in SIZES]
#: Mean line: shift of the logits at AT, and slope. Logits are Normal around AT.
AT, SHIFT, SLOPE, LOGIT_SD = -1.5, 0.2, 0.85, 1.0
#: Nodes of the logits of a group, as quantiles.
Z = stats.norm.ppf((np.arange(400) + 0.5) / 400)
QUANTITIES = {
    "auc": "AUC",
    "brier_score": "Brier score",
    "observed_expected": "O/E",
    "in_the_large": "in the large",
    "slope": "slope",
}
COLUMNS = ("groups", "spread", "size", "quantity", "method", "coverage", "width", "p_wrong", "sets")


def rates(line: Floats, x: Floats) -> Floats:
    """Event rates at logits of a group with this shift, slope and mean logit."""
    at: Floats = expit(AT + line[0] + line[1] * (x - AT))
    return at


def truth(line: Floats) -> dict[str, float]:
    """True measures of a group with this shift, slope and mean logit."""
    x = line[2] + LOGIT_SD * Z
    rate, p = rates(line, x), expit(x)
    below = np.cumsum(1 - rate) - (1 - rate) / 2
    shift = 0.0
    for _ in range(40):
        h = expit(x + shift)
        shift += (rate.sum() - h.sum()) / (h * (1 - h)).sum()
    return {
        "auc": float(rate @ below / (rate.sum() * (1 - rate).sum())),
        "brier_score": float((rate * (1 - p) ** 2 + (1 - rate) * p**2).mean()),
        "observed_expected": float(rate.sum() / p.sum()),
        "in_the_large": shift,
        "slope": float(line[1]),
    }


def group(line: Floats, n_rows: int, draws: int, rng: np.random.Generator) -> ClinicalSummary:
    """Simulate a group, and evaluate the parts of its summary that have differences."""
    x = line[2] + LOGIT_SD * rng.standard_normal(n_rows)
    y = (rng.random(n_rows) < rates(line, x)).astype(int)
    ev = bc.evaluate(y, expit(x), draws=draws, rng=rng)
    rc = bc.clinical.recalibration(y, expit(x), draws=draws, rng=rng)
    parts: dict[str, Any] = {"net_benefit": None, "decision_curve": None}
    counts = {"n_rows": n_rows, "n_events": int(y.sum()), "event_rate": float(y.mean())}
    return ClinicalSummary(parts={"model": ModelParts(ev, rc, None)}, **parts, **counts)


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Simulate the most groups per repeat, and judge the differences of all pairs of each collection."""
    spread, size, repeats, draws, numbers, rng = job
    found: dict[tuple[Any, ...], list[tuple[float, ...]]] = {}
    most = max(numbers)
    for _ in range(repeats):
        lines = np.array([SHIFT, SLOPE, AT]) + np.array(SPREADS[spread]) * rng.standard_normal((most, 3))
        rows = rng.permutation(np.geomspace(*SIZES[size], most).round().astype(int))
        each = [group(line, int(n), draws, rng) for line, n in zip(lines, rows, strict=True)]
        true = [truth(line) for line in lines]
        for number in numbers:
            for begin in range(0, most - number + 1, number)[:TWICE]:
                of = range(begin, begin + number)
                seed = int(rng.integers(2**32))
                result = GroupedClinicalSummary({place: each[place] for place in of}, each[begin], "group", {}, seed)
                for key, name in QUANTITIES.items():
                    for prefix, method in (("", "each alone"), ("pooled_", "pooled")):
                        judged = []
                        for row in result.differences(key, PROB):
                            gap = true[row["first"]][key] - true[row["second"]][key]
                            low, high = row[f"{prefix}low"], row[f"{prefix}high"]
                            p = row[f"{prefix}p_larger"]
                            wrong = (p > PROB and gap < 0) or (p < 1 - PROB and gap > 0)
                            judged.append((low <= gap <= high, high - low, wrong))
                        key_of_row = (number, spread, size, name, method)
                        found.setdefault(key_of_row, []).append(tuple(np.mean(judged, axis=0)))
    lines_of = []
    for key, values in found.items():
        covered, width, wrong = map(float, np.mean(values, axis=0))
        numbers_of = {"coverage": covered, "width": width, "p_wrong": wrong, "sets": len(values)}
        lines_of.append({**dict(zip(COLUMNS, key, strict=False)), **numbers_of})
    return lines_of


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, two cells and collections of 2 and 5 groups."""
    numbers = NUMBERS[:2] if options.quick else NUMBERS
    places = CELLS[3:5] if options.quick else CELLS
    jobs = jobs_of(places, options.repeats, options.draws, numbers, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def overall(rows: Iterable[dict[str, Any]]) -> str:
    """One line per number of groups, quantity and method: mean and worst cell."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["groups"], row["quantity"], row["method"]), []).append(row)
    lines = []
    for key, each in sorted(groups.items(), key=lambda item: item[0][0]):
        covered = np.array([row["coverage"] for row in each])
        worst = each[int(covered.argmin())]
        width, wrong = (np.mean([row[name] for row in each]) for name in ("width", "p_wrong"))
        where = f"{worst['spread']}, {worst['size']} rows"
        lines.append([*key, f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{width:.3f}", f"{wrong:.3f}", where])
    head = "Groups: | Quantity | Method | Mean coverage: | Worst cell: | Width: | Wrong sign: | Where it is worst"
    return table(head, lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and the table by the name of their marker."""
    rows = rows_again(numbers)
    n_cells = len({(row["spread"], row["size"]) for row in rows})
    return {"subgroups_conditions": conditions(numbers, n_cells), "subgroups": overall(rows)}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="subgroups.json",
        page="partial_pooling.md",
        shown=("subgroups_conditions", "subgroups"),
        repeats=(60, 1),
        draws=(1000, 200),
    )
