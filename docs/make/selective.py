"""Measure how often intervals of selective prediction contain the truth: the risk of the most confident predictions,
the largest share at a risk, the AUGRC, the curve, and differences of two classifiers; and how often a confidence from
which predictions are kept holds its promise; write docs/explanation/selective.md: part of `make coverage`.

Cells of the first three parts whose coverage is below the bar are measured again in four times as many fresh data
sets, and that share counts. The third part has rows with weights, rows in clusters, and risks with a bump.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from jobs import named_streams
from pages import rows_again, rows_of, save_parts, table
from scipy.special import betaincinv
from studies import (
    TIMES_AGAIN,
    about,
    errors_near,
    risk_curves,
    risk_thresholds,
    rows_of_jobs,
    run_study,
    with_fresh_sets,
)
from studies.populations import POPULATIONS as KINDS
from studies.populations import population_of
from studies.risk_curves import resampled
from studies.selection import (
    BOOTSTRAP,
    OURS,
    SPECIAL,
    SPECIAL_CELLS,
    Floats,
    Row,
    Source,
    largest_share,
    name_of,
    path_of,
    simulated,
)

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS
from bayescal.estimands.selective import Selection
from bayescal.verify.coverage import STUDY_CURVES, contains

SEED, PROB, BAR = 43, 0.95, 0.85
SHARES, AT_RISKS_OF = (0.1, 0.5, 0.8, 0.95), (0.3, 0.8)
SIZES = (200, 1000, 5000)
#: Resamples of the bootstrap; most draws of parts with rows of their own.
RESAMPLES, FEWER = 200, 1000
BINOMIAL, SHRUNK = "binomial, threshold as known", "shrunk bins"
RISK, SHARE, AREA = "selective risk", "largest share", "AUGRC"
COLUMNS = (
    "part", "population", "curve", "n_rows", "quantity", "at", "truth", "method", "coverage", "above", "width",
    "repeats", "first",
)  # fmt: skip
OF_INTERVALS = ("simulated", "populations", "special")


@dataclass(frozen=True)
class Further:
    """A part with other columns.

    Parameters
    ----------
    function : callable
        Rows of one cell, from (cell, prob, repeats, draws, rng).
    cells : tuple
        Cells; their text is the name of their random stream.
    columns : tuple of str
        Columns of a row.
    times : int
        Data sets per cell, as a multiple of those of the study.
    tables : dict of str to callable
        Tables of the rows by the name of their marker.
    """

    function: Callable[[Any], list[Row]]
    cells: tuple[Any, ...]
    columns: tuple[str, ...]
    times: int
    tables: dict[str, Callable[[list[Row]], str]]


FURTHER = {
    "curves": Further(
        risk_curves.curve_cell,
        risk_curves.CURVE_CELLS,
        risk_curves.CURVE_COLUMNS,
        1,
        {"curves": risk_curves.curve_table},
    ),
    "differences": Further(
        risk_curves.difference_cell,
        risk_curves.DIFFERENCE_CELLS,
        risk_curves.DIFFERENCE_COLUMNS,
        2,
        {"differences": risk_curves.difference_table},
    ),
    "thresholds": Further(
        risk_thresholds.threshold_cell,
        risk_thresholds.CELLS,
        risk_thresholds.COLUMNS,
        5,
        {"thresholds": risk_thresholds.threshold_table, "weak_thresholds": risk_thresholds.weak_table},
    ),
}
PARTS = (*OF_INTERVALS, *FURTHER)
#: Tables in the order of the page.
SHOWN = (
    *("conditions", *OF_INTERVALS),
    *(name for part, of in FURTHER.items() for name in (f"{part}_conditions", *of.tables)),
)


@dataclass(frozen=True)
class Cell:
    """A population of confidences and correctness, and a number of rows."""

    part: str
    population: str
    curve: tuple[str, float | None]
    n_rows: int

    def source(self, rng: np.random.Generator) -> Source:
        """A function that draws correctness and confidence, and points that represent the population."""
        if self.part == "special":
            return SPECIAL[self.population](self.curve, self.n_rows, rng)
        if self.part == "populations":
            classifier = population_of(self.population).classifier(rng)
            return lambda: classifier.draw(self.n_rows, rng), classifier.grid
        return simulated(self.population, self.curve, self.n_rows, rng)

    @property
    def columns(self) -> Row:
        """Columns of the cell in the table."""
        curve = name_of(self.curve)
        return {"part": self.part, "population": self.population, "curve": curve, "n_rows": self.n_rows}


CELLS = (
    *(Cell("simulated", population, curve, n) for curve, population, n in product(STUDY_CURVES, POPULATIONS, SIZES)),
    *(Cell("populations", kind.name, ("", None), n) for kind in KINDS if not kind.varies for n in kind.sizes),
    *(Cell("special", *cell) for cell in SPECIAL_CELLS),
)


# ------------------------------------------------------------------------------------------------ truths
def of_path(kept: Floats, wrong: Floats, risks: tuple[float, ...]) -> dict[tuple[str, float], float]:
    """Quantities of a path."""
    found = {(RISK, share): float(np.interp(share, kept, wrong)) / share for share in SHARES}
    for risk in risks:
        found[SHARE, risk] = largest_share(kept, wrong, risk)
    found[AREA, 0.0] = float(np.trapezoid(wrong, kept))
    return found


# ------------------------------------------------------------------------------------------------ methods
def resamples(z: Any, c: Floats, weights: Any, cluster: Any, rng: np.random.Generator) -> Selection:
    """Selections from resamples of rows, with their weights, or of clusters."""
    if weights is None and cluster is None:
        distinct, place = np.unique(-c, return_inverse=True)
        counted = np.bincount(2 * place + z, minlength=2 * len(distinct))
        drawn = rng.multinomial(len(z), counted / len(z), RESAMPLES).reshape(RESAMPLES, -1, 2)
        return Selection.of_cells(drawn[:, :, 0].astype(float), drawn[:, :, 1].astype(float))
    unit = np.arange(len(z)) if cluster is None else cluster
    number = int(unit.max()) + 1
    times = rng.multinomial(number, np.full(number, 1 / number), RESAMPLES)[:, unit]
    return resampled(times * (1.0 if weights is None else weights), z, c)


def intervals(
    risks: tuple[float, ...],
    draws: int,
    rng: np.random.Generator,
    z: Any,
    c: Floats,
    weights: Any = None,
    cluster: Any = None,
) -> dict[tuple[str, float, str], tuple[float, float]]:
    """Intervals of one data set, by quantity, place and method."""
    seed = int(rng.integers(2**63))
    ev = bc.evaluate(z, c, target="confidence", weights=weights, cluster=cluster, draws=draws, rng=seed)
    found: dict[tuple[str, float, str], tuple[float, float]] = {(AREA, 0.0, OURS): ev.augrc.interval(PROB)}
    low, high = ev.selective_risk(SHARES).interval(PROB)
    found |= {(RISK, share, OURS): (low[i], high[i]) for i, share in enumerate(SHARES)}
    found |= {(SHARE, risk, OURS): ev.largest_share(risk).interval(PROB) for risk in risks}

    tails = [(1 - PROB) / 2, (1 + PROB) / 2]
    drawn = resamples(z, c, weights, cluster, rng)
    ends = np.quantile(drawn.risk(np.array(SHARES)), tails, axis=0)
    found |= {(RISK, share, BOOTSTRAP): (ends[0, i], ends[1, i]) for i, share in enumerate(SHARES)}
    found |= {(SHARE, risk, BOOTSTRAP): tuple(np.quantile(drawn.largest_share(risk), tails)) for risk in risks}
    found[AREA, 0.0, BOOTSTRAP] = tuple(np.quantile(drawn.area(), tails))
    if weights is not None or cluster is not None:
        return found

    wrong_bins = ev.bin_draws.mass * (1 - ev.bin_draws.accuracy)
    by_bin = Selection.of_cells(wrong_bins[:, ::-1], (ev.bin_draws.mass - wrong_bins)[:, ::-1])
    found[AREA, 0.0, SHRUNK] = tuple(np.quantile(by_bin.area(), tails))
    ends = np.quantile(by_bin.risk(np.array(SHARES)), tails, axis=0)
    order = np.argsort(-c, kind="stable")
    for i, share in enumerate(SHARES):
        found[RISK, share, SHRUNK] = (ends[0, i], ends[1, i])
        k = max(round(share * len(z)), 1)
        wrong = int((1 - z[order[:k]]).sum())
        found[RISK, share, BINOMIAL] = tuple(betaincinv(wrong + 0.5, k - wrong + 0.5, tails).tolist())
    return found


def coverage_of(cell: Cell, repeats: int, draws: int, rng: np.random.Generator) -> list[Row]:
    """Coverage of all methods in data sets of one cell."""
    draw, points = cell.source(rng)
    path = path_of(*points)
    at_risks = tuple(float(np.interp(share, *path)) / share for share in AT_RISKS_OF)
    risks = tuple(risk for risk in at_risks if 0 < risk < 1)
    truths, every = of_path(*path, risks), []
    for _ in range(repeats):
        every.append(intervals(risks, draws, rng, *draw()))
    rows = []
    for quantity, at, method in every[0]:
        low, high = np.array([each[quantity, at, method] for each in every]).T
        truth = truths[quantity, at]
        rows.append(
            {
                **cell.columns, "quantity": quantity, "at": at, "truth": truth, "method": method,
                "coverage": float(contains(low, high, truth).mean()), "above": float((truth > high + 1e-9).mean()),
                "width": float((high - low).mean()), "repeats": repeats,
            }
        )  # fmt: skip
    return rows


def measured_cell(job: tuple[Cell, int, int, np.random.Generator]) -> list[Row]:
    """Coverage in one cell; of quantities below the bar, that in fresh data sets."""
    cell, repeats, draws, rng = job
    first, second = rng.spawn(2)
    rows = coverage_of(cell, repeats, draws, first)

    def again(times: int) -> list[Row]:
        return coverage_of(cell, times * repeats, draws, second)

    return with_fresh_sets(rows, again, bar=BAR, where={"method": OURS}, of=("quantity", "at"))


def measured_part(part: str, options: argparse.Namespace, stream_of: Callable[..., np.random.Generator]) -> Row:
    """Columns and rows of a part with other columns; with --quick, of its first cell."""
    of = FURTHER[part]
    cells = of.cells[: 1 if options.quick else None]
    draws = min(options.draws, FEWER)
    jobs = [(cell, PROB, of.times * options.repeats, draws, stream_of(part, str(cell))) for cell in cells]
    rows = rows_of_jobs(of.function, jobs, workers=options.workers, description=part)
    return {f"{part}_columns": list(of.columns), part: rows_of(of.columns, rows)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the cells of the chosen parts; with --quick, one of each."""
    stream_of = named_streams(np.random.default_rng(SEED))
    found: dict[str, Any] = {}
    for part in options.only:
        if part in FURTHER:
            found |= measured_part(part, options, stream_of)
            continue
        cells = [cell for cell in CELLS if cell.part == part][: 1 if options.quick else None]
        jobs = [(cell, options.repeats, options.draws, stream_of(*map(str, cell.columns.values()))) for cell in cells]
        rows = rows_of_jobs(measured_cell, jobs, workers=options.workers, description=part)
        found[part] = rows_of(COLUMNS, rows)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws, "resamples": RESAMPLES}
    return {**about(SEED, settings), "columns": list(COLUMNS), **found}


# ------------------------------------------------------------------------------------------------ tables
def overall(rows: list[Row]) -> str:
    """One line per quantity and method: mean and least coverage, width, and where it is worst."""
    lines = []
    keys = dict.fromkeys((row["quantity"], row["at"] if row["quantity"] == RISK else None) for row in rows)
    for quantity, at in keys:
        for method in (OURS, BOOTSTRAP, BINOMIAL, SHRUNK):
            of = [
                row
                for row in rows
                if (row["quantity"], row["method"]) == (quantity, method) and (at is None or row["at"] == at)
            ]
            if not of:
                continue
            covered = np.array([row["coverage"] for row in of])
            worst = of[int(covered.argmin())]
            first = f" (first {worst['first']:.2f})" if worst["first"] is not None else ""
            where = ", ".join(filter(None, (worst["population"], worst["curve"], f"{worst['n_rows']} rows")))
            lines.append(
                [
                    quantity if at is None else f"{quantity} at share {at:g}",
                    method,
                    f"{covered.mean():.3f}",
                    f"{covered.min():.3f}{first}",
                    f"{np.mean([row['above'] for row in of]):.3f}",
                    f"{np.mean([row['width'] for row in of]):.3f}",
                    where,
                ]
            )
    return table("Quantity | Method | Mean coverage: | Worst cell: | Truth above: | Width: | Worst cell", lines)


def by_cell(rows: list[Row]) -> str:
    """One line per cell and method: coverage and width by quantity."""
    lines: dict[tuple[Any, ...], list[str]] = {}
    # within a quantity, places are in the order of the heads
    for row in sorted(rows, key=lambda row: (AREA, RISK, SHARE).index(row["quantity"])):
        if row["method"] in (OURS, BOOTSTRAP):
            key = (row["population"], row["curve"], row["n_rows"], row["method"])
            first = f" (first {row['first']:.2f})" if row["first"] is not None and row["method"] == OURS else ""
            lines.setdefault(key, []).append(f"{row['coverage']:.2f}{first}, {row['width']:.3f}")
    heads = ["Population", "Curve", "Rows:", "Method", "AUGRC:", *(f"Risk at share {share:g}:" for share in SHARES)]
    heads += [f"Largest share, risk of share {share:g}:" for share in AT_RISKS_OF]
    return table(" | ".join(heads), ([*key, *of] for key, of in lines.items()))


def conditions_of(rows: list[Row], numbers: dict[str, Any], part: str) -> str:
    """Conditions of a part with other columns."""
    repeats, prob = rows[0]["repeats"], risk_thresholds.PROMISE if part == "thresholds" else numbers["prob"]
    n_cells = len({(row["population"], row.get("curve"), row.get("pair"), row["n_rows"]) for row in rows})
    (error,) = errors_near(prob, repeats)
    return (
        f"{n_cells} cells, {repeats} data sets in each, {min(numbers['draws'], FEWER)} draws. The standard error of\n"
        f"one share near {prob:g} is {error}.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    repeats, prob = numbers["repeats"], numbers["prob"]
    one, again = errors_near(prob, repeats, TIMES_AGAIN * repeats)
    texts = {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {repeats} data sets per cell, {numbers['draws']} draws, "
            f"{numbers['resamples']} bootstrap resamples, seed {numbers['seed']}.\nThe standard error of one share "
            f"near {prob:g} is {one}; a cell below {BAR:g} is measured again in {TIMES_AGAIN * repeats} fresh data\n"
            f"sets ({again}), and that share counts.\n"
        )
    }
    for part in OF_INTERVALS:
        if part in numbers:
            shown = by_cell if part == "special" else overall
            texts[part] = shown(rows_again({"columns": numbers["columns"], "rows": numbers[part]}))
    for part, of in FURTHER.items():
        if part in numbers:
            rows = rows_again({"columns": numbers[f"{part}_columns"], "rows": numbers[part]})
            texts |= {f"{part}_conditions": conditions_of(rows, numbers, part)}
            texts |= {name: shown(rows) for name, shown in of.tables.items()}
    return texts


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="selective.json",
        page="selective.md",
        save=save_parts,
        shown=SHOWN,
        parts=PARTS,
    )
