"""Compute the captions of 16 figures of Tygert (2021) again, with exact expectations and intervals, and measure two
choices of its programs, the order of tied scores and the number of weighted bins; write
docs/explanation/figures_of_the_paper.md: part of `make pictures`.
"""

import argparse
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pages import cells, rounded, save_parts, table
from studies import DOCS, about, errors_near, run_study

import bayescal as bc
from bayescal.cumulative.base import Cumulative
from bayescal.report.drawing import BLUE, ORANGE
from bayescal.results.wording import p_words

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "reference"))

from tygert_figures import (
    CALIBRATION,
    ROWS,
    SUBPOPULATIONS,
    Caption,
    Rows,
    calibration_rows,
    subpopulation_rows,
)

COMMAND = "docs/make/figures_of_the_paper.py"
PICTURES = {name: DOCS / "_static" / f"figures_of_the_paper_{name}.png" for name in ("subpopulations", "calibration")}
SEED, PROB, LEVEL = 19, 0.95, 0.05
#: Descriptions of the kinds of figures, by the first figure of each kind.
KINDS = {
    1: "members are higher, except in a notch",
    3: "members oscillate around the others",
    5: "members differ in steps",
    7: "one row of large weight makes the jump",
    28: "error falls linearly",
    34: "scores too low, but for a notch",
    40: "error oscillates",
    46: "calibrated",
}
#: Rows, decimals of the scores, and error of the outcomes, of data sets with ties.
TIES = ((200, 1, 0.0), (1000, 1, 0.0), (10_000, 1, 0.0), (1000, 2, 0.0), (10_000, 2, 0.0), (1000, 1, 0.1))
#: Size of the perturbation in the weighted program of subpopulations, as a share of the score.
PERTURBATION = 1e-8
#: Requested bins.
BINS = 10
Floats = NDArray[np.float64]


def result_of(figure: int, rows: Rows, response: Any) -> Cumulative:
    """Return the cumulative difference of outcomes, or for subpopulations of expectations."""
    if figure in SUBPOPULATIONS:
        return bc.cumulative.subpopulation(response, rows.score, rows.member, weights=rows.weights)
    return bc.cumulative.difference(response, rows.score)


def rows_of_figure(figure: int) -> Rows:
    return subpopulation_rows(figure) if figure in SUBPOPULATIONS else calibration_rows(figure)


def exact_curve(figure: int, rows: Rows) -> Floats:
    """Return the curve of expected outcomes, given scores and members, from its origin."""
    if figure in SUBPOPULATIONS:
        return result_of(figure, rows, rows.probability).curve
    return np.append(0.0, np.cumsum(rows.probability - rows.score) / len(rows.score))


def printed(result: Cumulative) -> list[str]:
    """Return the numbers of a caption, in its digits."""
    values = (result.kuiper, result.kuiper / result.sigma)
    others = (result.kolmogorov_smirnov, result.kolmogorov_smirnov / result.sigma)
    return [f"{result.n:,}", *(f"{value:#.4g}" for value in (*values, *others))]


def of_figure(figure: int) -> dict[str, Any]:
    """Return the results of the package for one figure."""
    rows = rows_of_figure(figure)
    result, exact = result_of(figure, rows, rows.outcome), exact_curve(figure, rows)
    band, caption = result.band(PROB), captions()[figure]
    return {
        "figure": figure,
        "agree": sum(ours == theirs for ours, theirs in zip(printed(result)[1:], caption[1:], strict=True)),
        "numbers": len(caption) - 1,
        "sigma": result.sigma,
        "null_sigma": result.null_sigma,
        "kuiper": result.kuiper,
        "kuiper_in_sigma": result.table()[0]["in_sigma"],
        "p_uncorrected": result.p_kuiper_uncorrected,
        "p": result.p_kuiper,
        "exact": float(np.ptp(exact)),
        "inside": bool(((exact[1:] >= band.low) & (exact[1:] <= band.high)).all()),
        "interval": list(result.kuiper_interval(PROB)),
        "posterior": list(result.posterior(rng=figure).kuiper.interval(PROB)),
    }


def captions() -> dict[int, Caption]:
    return SUBPOPULATIONS | CALIBRATION


def cells_of_figure_3() -> dict[str, Any]:
    """Kolmogorov-Smirnov statistic of Figure 3 if its scores have other last digits."""
    rows = subpopulation_rows(3)
    score = (np.arange(ROWS) + 0.5) / ROWS
    other = bc.cumulative.subpopulation(rows.outcome, score, rows.member)
    return {"apart": float(np.abs(score - rows.score).max()), "ks": other.kolmogorov_smirnov, "sigma": other.sigma}


def of_ties(n_rows: int, decimals: int, error: float, repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Mean Kuiper statistics of data sets with rounded scores, which are one step or perturbed."""
    found = []
    for _ in range(repeats):
        score = rng.random(n_rows).round(decimals)
        outcome = rng.random(n_rows) < np.clip(score + error, 0, 1)
        cd, other = (bc.cumulative.difference(outcome, each) for each in (score, perturbed(score, rng)))
        found.append((cd.kuiper, other.kuiper, cd.p_kuiper <= LEVEL, other.p_kuiper_uncorrected <= LEVEL))
    # the last data set again, in other orders of its ties
    orders = [bc.cumulative.difference(outcome, perturbed(score, rng)).kuiper for _ in range(100)]
    ours, theirs, rejected, theirs_rejected = np.array(found, dtype=np.float64).T
    ratio = theirs.mean() / ours.mean()
    error_of_ratio = (theirs - ratio * ours).std() / np.sqrt(repeats) / ours.mean()
    return {
        "n_rows": n_rows, "decimals": decimals, "error": error, "ours": ours.mean(), "theirs": theirs.mean(),
        "ratio": ratio, "ratio_error": error_of_ratio, "smallest": (theirs / ours).min(), "rejected": rejected.mean(),
        "theirs_rejected": theirs_rejected.mean(), "orders": [min(orders), max(orders)], "of_ties": ours[-1],
    }  # fmt: skip


def perturbed(score: Floats, rng: np.random.Generator) -> Floats:
    """Break ties at random: multiply by 1 plus a small Normal number."""
    return np.minimum(score * (1 + PERTURBATION * rng.standard_normal(len(score))), 1)


def weights_of_bins() -> dict[str, Floats]:
    """Weights of rows in the order of their scores."""
    rows = subpopulation_rows(7)
    x, rng = np.arange(1000) / 1000, np.random.default_rng(SEED)
    return {
        "Figure 7, full population": rows.weights,
        "Figure 7, members": rows.weights[rows.member],
        "4 - cos(9x), 1000 rows": 4 - np.cos(9 * x),
        "lognormal, log sd 1, 1000 rows": rng.lognormal(sigma=1.0, size=1000),
        "lognormal, log sd 2, 1000 rows": rng.lognormal(sigma=2.0, size=1000),
    }


def of_bins(words: str, weights: Floats, repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of bins and ratios of their largest to their smallest U, by the random rule and by the package."""
    random = [bins_of_random_rule(weights, rng) for _ in range(repeats)]
    counts = [len(starts) for starts in random]
    score = (np.arange(len(weights)) + 0.5) / len(weights)
    edges = bc.equal_effective_mass_edges(score, weights, BINS)
    ours = np.searchsorted(score, edges[:-1])
    low, middle, high = (int(each) for each in np.quantile(counts, [0, 0.5, 1], method="nearest"))
    return {
        "words": words, "least": low, "median": middle, "most": high, "ours": len(ours),
        "theirs_ratio": float(np.median([ratio_of_u(weights, starts) for starts in random])),
        "ratio": ratio_of_u(weights, ours),
    }  # fmt: skip


def bins_of_random_rule(weights: Floats, rng: np.random.Generator) -> list[int]:
    """Return the first row of each bin by Remark 5 of the paper: U is that of a random part of the rows."""
    part = rng.permutation(weights)[: len(weights) // BINS]
    bound, starts, total, squares = (part**2).sum() / part.sum() ** 2, [0], 0.0, 0.0
    for i, weight in enumerate(weights.tolist()):
        if i > starts[-1] and squares <= bound * total**2:
            starts.append(i)
            total = squares = 0.0
        total, squares = total + weight, squares + weight**2
    if len(starts) > 1 and len(weights) - starts[-1] < (starts[-1] - starts[-2]) / 2:
        starts.pop()
    return starts


def ratio_of_u(weights: Floats, starts: Any) -> float:
    """Ratio of the largest to the smallest U, the norm of the weights of a bin over their sum."""
    u = np.sqrt(np.add.reduceat(weights**2, starts)) / np.add.reduceat(weights, starts)
    return float(u.max() / u.min())


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compute all figures and run both experiments."""
    streams = iter(np.random.default_rng(SEED).spawn(len(TIES) + len(weights_of_bins())))
    return {
        **about(SEED, {"repeats": options.repeats, "prob": PROB}),
        "cells": rounded(cells_of_figure_3()),
        "figures": [_digits(of_figure(figure)) for figure in captions()],
        "ties": [_digits(of_ties(*cell, options.repeats, next(streams))) for cell in TIES],
        "bins": [_digits(of_bins(*each, options.repeats // 5, next(streams))) for each in weights_of_bins().items()],
    }


def _digits(row: dict[str, Any]) -> dict[str, Any]:
    return rounded({key: float(value) if isinstance(value, np.floating) else value for key, value in row.items()})


def tables(numbers: Mapping[str, Any]) -> dict[str, str]:
    """Return sentences and tables by the name of their marker."""
    figures, prob = numbers["figures"], 100 * numbers["prob"]
    of_members = [row for row in figures if row["figure"] in SUBPOPULATIONS]
    others = [row for row in figures if row["figure"] in CALIBRATION]
    without = [row for row in figures if row["interval"][0] <= row["exact"] <= row["interval"][1]]
    with_model = [row for row in others if row["posterior"][0] <= row["exact"] <= row["posterior"][1]]
    agree, printed = (sum(row[name] for row in figures) for name in ("agree", "numbers"))
    three, ties = captions()[3], numbers["ties"]
    orders = [
        {**row, "unit": 10 ** -row["decimals"], "low": row["orders"][0], "high": row["orders"][1]} for row in ties
    ]
    head = "Figure | Rows: | Kuiper: | / sigma: | Kolmogorov-Smirnov: | / sigma: | Digits that agree"
    own = f"P uncorrected: | P-value: | Exact Kuiper: | {prob:g} % interval, no model | {prob:g} % posterior interval"
    return {
        "agreement": (
            f"bayescal {numbers['bayescal']}: {agree} of {printed} printed numbers of {len(figures)} captions agree in "
            "all digits.\n"
        ),
        "inside": (
            f"The exact curve lies within the {prob:g} % band at every score in "
            f"{sum(row['inside'] for row in figures)} of {len(figures)} figures. The exact Kuiper statistic lies in\n"
            f"{len(without)} of {len(figures)} intervals without a model, and in {len(with_model)} of {len(others)} "
            "posterior intervals of scores.\n"
        ),
        "captions_subpopulations": table(head, map(_caption, of_members)),
        "captions_calibration": table(head, map(_caption, others)),
        "subpopulations": table(
            f"Figure | sigma, published: | sigma, null: | Kuiper / null sigma: | {own}", map(_own, of_members)
        ),
        "calibration": table(f"Figure | sigma: | {own}", map(_own, others)),
        "cells": (
            f"With scores computed as $(j + 0.5) / m$, which differ by at most {numbers['cells']['apart']:.1g}, the "
            f"Kolmogorov-Smirnov statistic of\nFigure 3 is {numbers['cells']['ks']:#.4g} instead of {three.ks}, and "
            f"{numbers['cells']['ks'] / numbers['cells']['sigma']:#.4g} instead of {three.ks_over_sigma} sigma.\n"
        ),
        "ties_conditions": (
            f"{numbers['repeats']} data sets per line, seed {numbers['seed']}; the standard error of a share of "
            f"{LEVEL:g} is {errors_near(LEVEL, numbers['repeats'])[0]}.\n"
            "In every data set, the perturbed statistic is at least "
            f"{min(row['smallest'] for row in ties):.6f} times the other one.\n"
        ),
        "ties": table(
            "Rows: | Scores rounded to: | Error: | Mean Kuiper, one step: | perturbed: | Ratio (standard error): | "
            f"P <= {LEVEL:g}, one step: | perturbed: | One data set, one step: | 100 perturbations of it",
            cells(
                orders,
                "{n_rows}|{unit:g}|{error:g}|{ours:.4f}|{theirs:.4f}|{ratio:.3f} ({ratio_error:.3f})|{rejected:.3f}|"
                "{theirs_rejected:.3f}|{of_ties:.4f}|{low:.4f} to {high:.4f}",
            ),
        ),
        "bins": table(
            "Weights | Bins, random rule | Median: | Bins, bayescal: | Largest / smallest U, random rule: | bayescal:",
            cells(numbers["bins"], "{words}|{least} to {most}|{median}|{ours}|{theirs_ratio:.2f}|{ratio:.2f}"),
        ),
    }


def _caption(row: Mapping[str, Any]) -> list[Any]:
    n, *values = captions()[row["figure"]]
    return [row["figure"], n, *values, f"{row['agree']} of {row['numbers']}"]


def _own(row: Mapping[str, Any]) -> list[Any]:
    p_values = (p_words(row[name]) for name in ("p_uncorrected", "p"))
    values = [f"{row['sigma']:.5f}", *p_values, f"{row['exact']:.4f}"]
    if row["figure"] in SUBPOPULATIONS:
        values[1:1] = [f"{row['null_sigma']:.5f}", f"{row['kuiper_in_sigma']:#.4g}"]
    ends = (row[name] for name in ("interval", "posterior"))
    return [row["figure"], *values, *(f"{low:.4f} to {high:.4f}" for low, high in ends)]


def picture(numbers: Mapping[str, Any], keep: bool) -> None:
    """Draw both pictures, and write them if `keep`."""
    for name, drawn in (("subpopulations", draw(SUBPOPULATIONS, 2)), ("calibration", draw(CALIBRATION, 3))):
        drawn.savefig(PICTURES[name] if keep else io.BytesIO(), dpi=90, metadata={"Software": None})


def draw(shown: Mapping[int, Caption], columns: int) -> Figure:
    """Draw one panel per figure: the curve of the rows with its band, and the exact curve."""
    lines = len(shown) // columns
    figure = Figure(figsize=(8.4, 2.2 * lines + 0.7), layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey="row" if columns == 3 else False).ravel()
    for ax, number in zip(panels, shown, strict=True):
        panel(ax, number)
    figure.supxlabel("share of the rows (of their weight), in the order of the scores", fontsize=10)
    figure.supylabel("cumulative difference", fontsize=10)
    handles = [panels[0].get_children()[i] for i in range(3)]
    words = [f"{100 * PROB:g} % band", "curve of the rows", "exact expectation"]
    figure.legend(handles, words, loc="outside upper center", ncols=3, frameon=False)
    return figure


def panel(ax: Axes, number: int) -> None:
    rows = rows_of_figure(number)
    result = result_of(number, rows, rows.outcome)
    band, share = result.band(PROB), result.abscissae
    seen = np.unique(np.linspace(0, len(share) - 1, 501).round().astype(int))
    inner = seen[1:]
    ax.fill_between(share[inner], band.low[inner - 1], band.high[inner - 1], color=BLUE, alpha=0.18, linewidth=0)
    ax.plot(share[seen], result.curve[seen], color=BLUE, linewidth=1.3)
    ax.plot(share[seen], exact_curve(number, rows)[seen], color=ORANGE, linewidth=1.5, linestyle=(0, (4, 2)))
    ax.axhline(0, color="black", linewidth=0.7)
    words = next(KINDS[first] for first in sorted(KINDS, reverse=True) if first <= number)
    ax.set_title(f"Figure {number}: n = {captions()[number].n}\n{words}", fontsize=9.5)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="figures_of_the_paper.json",
        page="figures_of_the_paper.md",
        save=save_parts,
        shown=("agreement", "inside", "ties", "bins"),
        picture=picture,
        command=COMMAND,
        repeats=(5000, 20),
    )
