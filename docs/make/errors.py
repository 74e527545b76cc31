"""Measure the coverage of intervals of all calibration errors; write docs/explanation/coverage_other_errors.md: part of
`make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from studies import FEWER_DRAWS, conditions, measured, rows_of_jobs, run_study
from studies.published_l2 import l2_interval

from bayescal.analyses.one import MODELS
from bayescal.datasets.simulate import POPULATIONS, Curve, simulate, true_bins, true_curve
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import largest_error, lp_error
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.stats.binned import BinnedCounts
from bayescal.verify.coverage import COLUMNS, STUDY_CURVES, CoverageStudy, score, stacked
from bayescal.verify.methods import Interval, basic_interval, bootstrap_bins, percentile_interval

SEED, PROB, DEFAULT = 3, 0.95, "shrinkage"
#: Cells with a lower coverage of the default model are named.
WEAK = 0.9


def l4_error(bin_draws: BinDraws) -> Draws:
    """Draw the l_4 error."""
    return lp_error(bin_draws, 4)


def mce(bin_draws: BinDraws) -> Draws:
    """Draw the largest error of all bins with rows: the maximum calibration error of the literature."""
    return largest_error(bin_draws)


#: Estimands and their words on the page.
ESTIMANDS: dict[str, tuple[EstimandLike, str]] = {
    "ece": ("ece", "ECE"),
    "l2_error": ("l2_error", "l_2 error"),
    "e90_bins": ("e90_bins", "90th percentile of the absolute error, E90 of bins (`e90_bins`)"),
    "signed_error": ("signed_error", "signed error"),
    "overconfidence": ("overconfidence", "over-confidence"),
    "underconfidence": ("underconfidence", "under-confidence"),
    "l4_error": (l4_error, "l_4 error"),
    "mce": (mce, "largest error of any bin (MCE)"),
}
PERCENTILE, BASIC, SUN = "percentile bootstrap", "basic bootstrap", "Sun et al."
#: A population, a curve, a number of rows, and the random stream of the cell.
Cell = tuple[str, Curve, int, np.random.Generator]


def of_cell(cell: Cell, repeats: int, draws: int) -> list[dict[str, Any]]:
    """Rows of one cell: all methods and estimands on the same data sets, each posterior drawn once per data set."""
    population, curve, n_rows, rng = cell
    records = {name: as_scalar(estimand) for name, (estimand, _) in ESTIMANDS.items()}
    true = true_bins(population, curve)

    def intervals() -> dict[tuple[str, str], Interval]:
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        counts = BinnedCounts.from_arrays(data.outcome, data.confidence)
        observed, resampled = observed_bins(counts), bootstrap_bins(counts, draws, rng=rng)
        posteriors = {name: model(counts).sample(draws, rng=rng) for name, model in MODELS.items()}
        made: dict[tuple[str, str], Interval] = {}
        for name, record in records.items():
            for method, bin_draws in posteriors.items():
                drawn = record.draw(bin_draws, counts)
                made[name, method] = (*drawn.interval(PROB), drawn.mean())
            plug_in, bootstrap = record.draw(observed, counts).mean(), record.draw(resampled, counts)
            made[name, PERCENTILE] = percentile_interval(plug_in, bootstrap, PROB)
            made[name, BASIC] = tuple(np.clip(basic_interval(plug_in, bootstrap, PROB), *record.bounds))
        made["l2_error", SUN] = l2_interval(counts, PROB)
        return made

    by_method = stacked(intervals() for _ in range(repeats))
    rows = []
    for name, record in records.items():
        truth = record.draw(true, BinnedCounts.empty()).mean()
        about = {"estimand": name, "n_rows": n_rows, "population": population, "curve": str(curve), "truth": truth}
        rows += [
            {**about, "method": method, **score(values, truth), "repeats": repeats}
            for (estimand, method), values in by_method.items()
            if estimand == name
        ]
    return rows


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the cells of `coverage_study`; with --quick, those of 300 rows."""
    settings: dict[str, Any] = {"repeats": options.repeats, "draws": options.draws, "prob": PROB}
    sizes = (300,) if options.quick else (300, 2000, 20000)
    places = [(p, true_curve(*curve), n) for n in sizes for p in POPULATIONS for curve in STUDY_CURVES]
    streams = np.random.default_rng(SEED).spawn(len(places))
    jobs = [(*place, stream) for place, stream in zip(places, streams, strict=True)]
    rows = rows_of_jobs(lambda job: of_cell(job, options.repeats, options.draws), jobs)
    return measured(SEED, settings, ("estimand", *COLUMNS), rows)


def studies(numbers: dict[str, Any]) -> dict[str, CoverageStudy]:
    """Return the stored numbers by estimand, as `coverage_study` returned them."""
    rows = rows_again(numbers)
    return {
        name: CoverageStudy([row for row in rows if row["estimand"] == name], numbers["prob"], name)
        for name in ESTIMANDS
    }


def overall_table(by_estimand: dict[str, CoverageStudy]) -> str:
    """One line per estimand and method."""
    lines = [
        {**row, "words": ESTIMANDS[name][1] if row["method"] == DEFAULT else ""}
        for name, study in by_estimand.items()
        for row in study.overall()
    ]
    form = "{words}|{method}|{worst_coverage:.2f}|{mean_coverage:.3f}|{mean_width:.4f}|{mean_rmse:.4f}|{worst_cell}"
    head = "Estimand | Method | Worst cell: | Mean coverage: | Mean width: | RMSE: | Where it is worst"
    return table(head, cells(lines, form))


def weak_table(by_estimand: dict[str, CoverageStudy]) -> str:
    """One line per cell in which the coverage of the default model is below `WEAK`."""
    lines = [
        {**row, "words": ESTIMANDS[name][1]}
        for name, study in by_estimand.items()
        for row in study.rows
        if row["method"] == DEFAULT and row["coverage"] < WEAK
    ]
    form = "{words}|{n_rows}|{population}|{curve}|{truth:.4f}|{coverage:.2f}|{width:.4f}|{bias:+.4f}"
    head = "Estimand | Rows: | Confidences | True curve | True value: | Coverage: | Width: | Bias:"
    return table(head, cells(lines, form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    by_estimand = studies(numbers)
    n_cells = len({(row["n_rows"], row["population"], row["curve"]) for row in rows_again(numbers)})
    return {
        "conditions": conditions(numbers, n_cells),
        "overall": overall_table(by_estimand),
        "weak": weak_table(by_estimand),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="errors.json",
        page="coverage_other_errors.md",
        draws=FEWER_DRAWS,
    )
