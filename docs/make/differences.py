"""Measure how often intervals of the difference of two models' ECE contain the truth; write
docs/explanation/comparing.md: part of `make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from studies import conditions, coverages, measured, one_line_per_cell, run_study
from studies.differences import COLUMNS, METHODS, UNPAIRED, DifferenceStudy, difference_study

SEED, PROB, SIZES = 1, 0.95, (1000, 5000)
CELL = ("n_rows", "population", "first", "second", "truth")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study in its 40 cells: about ten minutes of one processor for 100 repeats; with --quick, of 1000 rows."""
    settings: dict[str, Any] = {"repeats": options.repeats, "draws": options.draws, "prob": PROB}
    sizes = SIZES[:1] if options.quick else SIZES
    study = difference_study(**settings, sizes=sizes, rng=SEED, workers=options.workers, progress=True)
    return measured(SEED, settings, COLUMNS, study.rows)


def overall_table(study: DifferenceStudy) -> str:
    """One line per method."""
    head = "Method | Worst cell: | Mean coverage: | Bias: | RMSE: | Width: | Where it is worst"
    form = (
        "{method}|{worst_coverage:.2f}|{mean_coverage:.3f}|{mean_absolute_bias:.4f}|{mean_rmse:.4f}|{mean_width:.4f}"
        "|{worst_cell}"
    )
    return table(head, cells(study.overall(), form))


def pair_table(rows: list[dict[str, Any]]) -> str:
    """One line per pair of models: the smallest and the largest ratio of the paired to the unpaired width."""
    by_pair: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["method"] == "paired":
            by_pair.setdefault((row["first"], row["second"]), []).append(row["width_ratio"])
    lines = sorted(by_pair.items(), key=lambda item: np.mean(item[1]))
    return table(
        "First model | Second model | Width, paired / unpaired:",
        ((*pair, f"{min(ratios):.2f} to {max(ratios):.2f}") for pair, ratios in lines),
    )


def cell_table(lines: list[dict[str, Any]], methods: list[str]) -> str:
    """One line per cell: coverage of each method; bias and width of the paired one, and how much narrower it is."""
    head = "Rows: | Probabilities | Models | True difference: | " + " | ".join(f"{method}:" for method in methods)
    form = "{n_rows}|{population}|{first} - {second}|{signed_truth}|" + coverages(methods)
    signed = [
        line | {"signed_truth": _signed(line["truth"]), "signed_bias": _signed(line["paired_bias"])} for line in lines
    ]
    return table(
        f"{head} | Bias: | Width: | / {UNPAIRED}:",
        cells(signed, form + "|{signed_bias}|{paired_width:.4f}|{paired_width_ratio:.2f}"),
    )


def _signed(value: float) -> str:
    """Format four decimals with a sign; a value that rounds to 0 has none."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else "0.0000"


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    study = DifferenceStudy(rows_again(numbers), numbers["prob"])
    lines = one_line_per_cell(study.rows, CELL)
    return {
        "conditions": conditions(numbers, len(lines)),
        "overall": overall_table(study),
        "pairs": pair_table(study.rows),
        "cells": cell_table(lines, [method for method in METHODS if method in study.methods]),
    }


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers="differences.json", page="comparing.md")
