"""Measure how often intervals of the ECE contain the truth; write docs/explanation/coverage.md: `make coverage`."""

import argparse
import io
from typing import Any

import matplotlib.pyplot as plt
from pages import cells, rows_again, table
from studies import DOCS, conditions, coverages, measured, one_line_per_cell, run_study

from bayescal.report.drawing import BLUE, GREY, ORANGE, SKY
from bayescal.verify.coverage import COLUMNS, CoverageStudy, coverage_study

PICTURE = DOCS / "_static" / "coverage.png"
SEED, PROB = 1, 0.95
CELL = ("n_rows", "population", "curve", "truth")
#: Colour and marker of each method.
STYLE = {
    "shrinkage": (BLUE, "o"),
    "dirichlet": (ORANGE, "s"),
    "percentile bootstrap": ("black", "x"),
    "basic bootstrap": (SKY, "^"),
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study in its 54 cells, the longest part: about two seconds per repeat."""
    settings: dict[str, Any] = {"repeats": options.repeats, "draws": options.draws, "prob": PROB}
    study = coverage_study(methods=list(STYLE), **settings, rng=SEED, progress=True)
    return measured(SEED, settings, COLUMNS, study.rows)


def study_of(numbers: dict[str, Any]) -> CoverageStudy:
    """Return the stored numbers as `coverage_study` returned them."""
    return CoverageStudy(rows_again(numbers), numbers["prob"])


def overall_table(study: CoverageStudy) -> str:
    """One line per method."""
    form = "{method}|{worst_coverage:.2f}|{mean_coverage:.3f}|{mean_rmse:.4f}|{mean_width:.4f}|{worst_cell}"
    head = "Method | Worst cell: | Mean coverage: | RMSE: | Width: | Where it is worst"
    return table(head, cells(study.overall(), form))


def cell_table(lines: list[dict[str, Any]], methods: list[str]) -> str:
    """One line per cell, with the coverage of each method."""
    head = "Rows: | Confidences | True curve | True ECE: | " + " | ".join(f"{method}:" for method in methods)
    return table(head, cells(lines, "{n_rows}|{population}|{curve}|{truth:.4f}|" + coverages(methods)))


def draw(study: CoverageStudy) -> plt.Figure:
    """Draw coverage by cell: a column of points for each cell, sorted by the true ECE in each size."""
    sizes = list(dict.fromkeys(row["n_rows"] for row in study.rows))
    figure, panels = plt.subplots(1, len(sizes), figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, size in zip(panels, sizes, strict=True):
        truths = {_population(row): row["truth"] for row in study.rows if row["n_rows"] == size}
        place = {population: i for i, population in enumerate(sorted(truths, key=truths.__getitem__))}
        calibrated = sum(truth < 1e-12 for truth in truths.values())
        ax.axvspan(-0.5, calibrated - 0.5, color=GREY, alpha=0.15, linewidth=0)
        ax.text((calibrated - 1) / 2, 0.15, "calibrated", rotation=90, ha="center", va="center", color=GREY)
        ax.axhline(study.prob, color="black", linewidth=0.8, linestyle="--")
        for method, (colour, marker) in reversed(STYLE.items()):
            of = [r for r in study.rows if r["n_rows"] == size and r["method"] == method]
            ax.plot(
                [place[_population(r)] for r in of],
                [r["coverage"] for r in of],
                marker,
                color=colour,
                label=method,
                markersize=7 if method == "shrinkage" else 5.5,
                clip_on=False,
                zorder=4 if marker == "x" else 3,
            )
        ax.set(title=f"{size} rows", xlim=(-0.5, len(truths) - 0.5), ylim=(-0.03, 1.03), xticks=[])
        ax.set_xlabel("cells, by true ECE: 0 to " + f"{max(truths.values()):.2f}")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of intervals that contain the truth")
    panels[0].set_yticks([0, 0.2, 0.4, 0.6, 0.8, study.prob])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=len(STYLE), frameon=False)
    return figure


def _population(row: dict[str, Any]) -> tuple[str, str]:
    return row["population"], row["curve"]


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    study = study_of(numbers)
    lines = one_line_per_cell(study.rows, CELL)
    return {
        "conditions": conditions(numbers, len(lines)),
        "overall": overall_table(study),
        "cells": cell_table(lines, study.methods),
    }


def picture(numbers: dict[str, Any], keep: bool) -> None:
    """Draw the study, and write the picture if `keep`."""
    plt.switch_backend("agg")
    draw(study_of(numbers)).savefig(PICTURE if keep else io.BytesIO(), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers="coverage.json", page="coverage.md", picture=picture)
