"""Measure how often intervals of the difference of two models contain the truth; write the numbers and the tables of
docs/explanation/comparing.md: a part of `make coverage`. With --redraw nothing is measured. With --quick, tables are
made from a few data sets and nothing is written.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from pages import rows_again, rows_of, run_study

from bayescal import __version__
from bayescal.verify.studies.differences import COLUMNS, METHODS, UNPAIRED, DifferenceStudy, difference_study

DOCS = Path(__file__).resolve().parents[1]
NUMBERS, PAGE = DOCS / "_static" / "differences.json", DOCS / "explanation" / "comparing.md"
SEED, PROB = 1, 0.95


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Run the study in its 40 cells: about ten minutes of one processor for 100 repeats."""
    known: dict[str, Any] = {"repeats": asked.repeats, "draws": asked.draws, "prob": PROB}
    study = difference_study(**known, rng=SEED, workers=asked.workers, progress=True)
    about = {"bayescal": __version__, **known, "seed": SEED}
    return {**about, "columns": list(COLUMNS), "rows": rows_of(COLUMNS, study.rows)}


def study_of(numbers: dict[str, Any]) -> DifferenceStudy:
    """The stored numbers as what `difference_study` returned."""
    return DifferenceStudy(rows_again(numbers), numbers["prob"])


def conditions(numbers: dict[str, Any], study: DifferenceStudy) -> str:
    """What was run, and how exact the shares are."""
    repeats, prob = numbers["repeats"], numbers["prob"]
    n_cells = len({_cell(row) for row in study.rows})
    at_nominal = np.sqrt(prob * (1 - prob) / repeats)
    return (
        f"bayescal {numbers['bayescal']}: {n_cells} cells, {repeats} data sets in each, {numbers['draws']} draws or "
        f"resamples, seed {numbers['seed']}.\nThe standard error of one share near {prob:g} is {at_nominal:.3f}, "
        f"that of the mean over all cells {at_nominal / np.sqrt(n_cells):.3f}.\n"
    )


def overall_table(study: DifferenceStudy) -> str:
    """One line a method."""
    head = "| Method | Worst cell | Mean coverage | Bias | RMSE | Width | Where it is worst |\n"
    head += "|---|--:|--:|--:|--:|--:|---|\n"
    return head + "".join(
        f"| {o['method']} | {o['worst_coverage']:.2f} | {o['mean_coverage']:.3f} | {o['mean_absolute_bias']:.4f} "
        f"| {o['mean_rmse']:.4f} | {o['mean_width']:.4f} | {o['worst_cell']} |\n"
        for o in study.overall()
    )


def pair_table(study: DifferenceStudy) -> str:
    """One line a pair of models: what the dependence saves, as the smallest and the largest ratio of widths."""
    by_pair: dict[tuple[str, str], list[float]] = {}
    for row in study.rows:
        if row["method"] == "paired":
            by_pair.setdefault((row["first"], row["second"]), []).append(row["width_ratio"])
    head = "| First model | Second model | Width, paired / unpaired |\n|---|---|--:|\n"
    return head + "".join(
        f"| {first} | {second} | {min(ratios):.2f} to {max(ratios):.2f} |\n"
        for (first, second), ratios in sorted(by_pair.items(), key=lambda item: np.mean(item[1]))
    )


def cell_table(study: DifferenceStudy) -> str:
    """One line a cell: the coverage of each method; bias and width of the paired one, and how much narrower it is."""
    methods = [m for m in METHODS if any(row["method"] == m for row in study.rows)]
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in study.rows:
        cells.setdefault(_cell(row), {})[row["method"]] = row
    head = (
        f"| Rows | Probabilities | Models | True difference | {' | '.join(methods)} | Bias | Width | / {UNPAIRED} |\n"
    )
    head += "|--:|---|---|--:|" + "--:|" * (len(methods) + 3) + "\n"
    lines = []
    for (n, population, first, second, truth), of in cells.items():
        covered = " | ".join(f"{of[m]['coverage']:.2f}" for m in methods)
        paired = of["paired"]
        lines.append(
            f"| {n} | {population} | {first} - {second} | {_signed(truth)} | {covered} | {_signed(paired['bias'])} "
            f"| {paired['width']:.4f} | {paired['width_ratio']:.2f} |\n"
        )
    return head + "".join(lines)


def _cell(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["n_rows"], row["population"], row["first"], row["second"], row["truth"]


def _signed(value: float) -> str:
    """Four decimals with a sign; what rounds to 0 has none."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else "0.0000"


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    study = study_of(numbers)
    return {
        "conditions": conditions(numbers, study),
        "overall": overall_table(study),
        "pairs": pair_table(study),
        "cells": cell_table(study),
    }


if __name__ == "__main__":
    run_study(__doc__, measure=measure, tables=tables, numbers=NUMBERS, page=PAGE)
