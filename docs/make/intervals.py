"""Measure how often intervals of the ECE contain the truth; write the numbers, the picture and the tables of
docs/explanation/coverage.md: `make coverage`. With --redraw nothing is measured, the stored numbers are shown anew.
With --quick, the plot and the tables are made from a few data sets and nothing is written.
"""

import argparse
import io
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from pages import rows_again, rows_of, run_study

from bayescal import __version__
from bayescal.report.drawing import BLUE, GREY, ORANGE, SKY
from bayescal.verify.studies.coverage import COLUMNS, CoverageStudy, coverage_study

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PICTURE = DOCS / "_static" / "coverage.json", DOCS / "_static" / "coverage.png"
PAGE = DOCS / "explanation" / "coverage.md"
SEED, PROB = 1, 0.95
#: Colour and marker of each method.
STYLE = {
    "shrinkage": (BLUE, "o"),
    "dirichlet": (ORANGE, "s"),
    "percentile bootstrap": ("black", "x"),
    "basic bootstrap": (SKY, "^"),
}


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Run the study in the 54 cells; the longest part, about two seconds a repeat."""
    known: dict[str, Any] = {"repeats": asked.repeats, "draws": asked.draws, "prob": PROB}
    study = coverage_study(methods=list(STYLE), **known, rng=SEED, progress=True)
    about = {"bayescal": __version__, **known, "seed": SEED}
    return {**about, "columns": list(COLUMNS), "rows": rows_of(COLUMNS, study.rows)}


def study_of(numbers: dict[str, Any]) -> CoverageStudy:
    """The stored numbers as what `coverage_study` returned."""
    return CoverageStudy(rows_again(numbers), numbers["prob"])


def overall_table(study: CoverageStudy) -> str:
    """One line a method."""
    head = "| Method | Worst cell | Mean coverage | RMSE | Width | Where it is worst |\n|---|--:|--:|--:|--:|---|\n"
    return head + "".join(
        f"| {o['method']} | {o['worst_coverage']:.2f} | {o['mean_coverage']:.3f} | {o['mean_rmse']:.4f} "
        f"| {o['mean_width']:.4f} | {o['worst_cell']} |\n"
        for o in study.overall()
    )


def cell_table(study: CoverageStudy) -> str:
    """One line a cell, with the coverage of each method."""
    methods = list(dict.fromkeys(row["method"] for row in study.rows))
    cells: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in study.rows:
        cells.setdefault(_cell(row), {})[row["method"]] = row["coverage"]
    head = f"| Rows | Confidences | True curve | True ECE | {' | '.join(methods)} |\n"
    head += "|--:|---|---|--:|" + "--:|" * len(methods) + "\n"
    return head + "".join(
        f"| {n} | {population} | {curve} | {truth:.4f} | {' | '.join(f'{covered[m]:.2f}' for m in methods)} |\n"
        for (n, population, curve, truth), covered in cells.items()
    )


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["n_rows"], row["population"], row["curve"], row["truth"]


def conditions(numbers: dict[str, Any], study: CoverageStudy) -> str:
    """What was run, and how exact the shares are."""
    repeats, prob = numbers["repeats"], numbers["prob"]
    n_cells = len({_cell(row) for row in study.rows})
    at_nominal = np.sqrt(prob * (1 - prob) / repeats)
    return (
        f"bayescal {numbers['bayescal']}: {n_cells} cells, {repeats} data sets in each, {numbers['draws']} draws or "
        f"resamples, seed {numbers['seed']}.\nThe standard error of one share near {prob:g} is {at_nominal:.3f}, "
        f"that of the mean over all cells {at_nominal / np.sqrt(n_cells):.3f}.\n"
    )


def draw(study: CoverageStudy) -> plt.Figure:
    """Coverage by cell: a column of points for each cell, sorted by the true ECE in each size."""
    sizes = list(dict.fromkeys(row["n_rows"] for row in study.rows))
    figure, panels = plt.subplots(1, len(sizes), figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, size in zip(panels, sizes, strict=True):
        cells = {_cell(row)[1:3]: row["truth"] for row in study.rows if row["n_rows"] == size}
        place = {cell: i for i, cell in enumerate(sorted(cells, key=lambda cell: cells[cell]))}
        calibrated = sum(truth < 1e-12 for truth in cells.values())
        ax.axvspan(-0.5, calibrated - 0.5, color=GREY, alpha=0.15, linewidth=0)
        ax.text((calibrated - 1) / 2, 0.15, "calibrated", rotation=90, ha="center", va="center", color=GREY)
        ax.axhline(study.prob, color="black", linewidth=0.8, linestyle="--")
        for method, (colour, marker) in reversed(STYLE.items()):
            of = [r for r in study.rows if r["n_rows"] == size and r["method"] == method]
            ax.plot(
                [place[_cell(r)[1:3]] for r in of],
                [r["coverage"] for r in of],
                marker,
                color=colour,
                label=method,
                markersize=7 if method == "shrinkage" else 5.5,
                clip_on=False,
                zorder=4 if marker == "x" else 3,
            )
        ax.set(title=f"{size} rows", xlim=(-0.5, len(cells) - 0.5), ylim=(-0.03, 1.03), xticks=[])
        ax.set_xlabel("cells, by true ECE: 0 to " + f"{max(cells.values()):.2f}")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of intervals that contain the truth")
    panels[0].set_yticks([0, 0.2, 0.4, 0.6, 0.8, study.prob])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=len(STYLE), frameon=False)
    return figure


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    study = study_of(numbers)
    return {"conditions": conditions(numbers, study), "overall": overall_table(study), "cells": cell_table(study)}


def picture(numbers: dict[str, Any], keep: bool) -> None:
    """Draw the study, and keep the picture or not."""
    plt.switch_backend("agg")
    draw(study_of(numbers)).savefig(PICTURE if keep else io.BytesIO(), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers=NUMBERS, page=PAGE, picture=picture)
