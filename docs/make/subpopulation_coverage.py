"""Measure how often the interval and the band of a subpopulation contain the truth, for small and large shares of
members; write docs/explanation/cumulative_posterior.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.cumulative.brownian import quantile_range

Floats = NDArray[np.float64]

SEED, PROB, N_ROWS = 17, 0.95, 4000
SHARES, QUICK_SHARES = (0.02, 0.1, 0.25, 0.5, 0.9), (0.5,)
#: Difference between members and others at each score; others have a mean response of 0.4.
DIFFERENCES: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda c: 0 * c,
    "constant": lambda c: 0.3 + 0 * c,
    "rising": lambda c: 0.4 * c,
    "at both ends": lambda c: 0.3 * ((c < 0.2) | (c > 0.8)),
    "changing sign": lambda c: np.where(c < 0.5, 0.3, -0.3),
    "wave": lambda c: 0.3 * np.sin(6 * np.pi * c),
}
#: Whether the share of members is the same at every score, or rises with the score.
SHAPES = ("constant", "rising")
TIES = ("none", "0.01")
GRID = (np.arange(20_000) + 0.5) / 20_000
METHODS = ("without", "interval", "band")
COLUMNS = ("share", "shape", "ties", "difference", "truth", "attenuation", *METHODS, "width_without", "width")


def share_of_members(share: float, shape: str, score: Floats) -> Floats:
    """Probability of membership at each score."""
    if shape == "constant":
        return np.full_like(score, share)
    rising = 2 * share * score if share < 0.5 else share + 0.9 * (1 - share) * (2 * score - 1)
    return np.clip(rising, 0.02 * (share >= 0.5), 0.98)


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of one kind of subpopulation."""
    share, shape, ties, name, repeats, rng = job
    difference = DIFFERENCES[name]
    member_at = share_of_members(share, shape, GRID)
    truth = np.append(0, np.cumsum(member_at * (1 - member_at) * difference(GRID)) / member_at.sum())
    kuiper = np.ptp(truth)
    found = []
    for _ in range(repeats):
        score = rng.random(N_ROWS)
        member = rng.random(N_ROWS) < share_of_members(share, shape, score)
        response = rng.random(N_ROWS) < 0.4 + difference(score) * member
        upper = 0.0
        if ties == "0.01":
            score, upper = score.round(2), 0.005
        sub = bc.cumulative_difference_subpopulation(response, score, member)
        low, high = sub.kuiper_interval(PROB)
        margin = quantile_range(PROB) * max(sub.robust_sigma, sub.scale.null_sigma)
        band = sub.band(PROB)
        at = np.interp(band.score + upper, np.append(0, GRID + 0.5 / len(GRID)), truth)
        plain = max(sub.kuiper - margin, 0), sub.kuiper + margin
        found.append([
            sub.attenuation, plain[0] <= kuiper <= plain[1], low <= kuiper <= high,
            ((band.low <= at) & (at <= band.high)).all(), plain[1] - plain[0], high - low,
        ])  # fmt: skip
    mean = dict(zip(COLUMNS[5:], np.mean(found, axis=0).tolist(), strict=True))
    cell = {"share": share, "shape": shape, "ties": ties, "difference": name, "truth": float(kuiper)}
    return [cell | mean]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study."""
    chosen = list(product(QUICK_SHARES if options.quick else SHARES, SHAPES, TIES, DIFFERENCES))
    jobs = jobs_of(chosen, options.repeats, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers, description="subpopulations")
    return measured(SEED, {"prob": PROB, "repeats": options.repeats}, COLUMNS, rows)


HEAD = (
    "Members: | Ties: | Attenuation: | Curve alone, worst: | Mean: | Interval, worst: | Mean: | Width: | "
    "Band, worst: | Mean: | Where the interval is worst"
)
FORM = (
    "{members}|{ties}|{attenuation:.2f}|{worst_without:.2f}|{without:.3f}|{worst_interval:.2f}|{interval:.3f}|{times:.2f}"
    "|{worst_band:.2f}|{band:.3f}|{where}"
)


def line_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarize the cells of a share and kind of scores."""
    mean = {name: float(np.mean([row[name] for row in rows])) for name in ("attenuation", *METHODS)}
    worst = {f"worst_{name}": min(row[name] for row in rows) for name in METHODS}
    worst_row = min(rows, key=lambda row: row["interval"])
    return {
        **mean,
        **worst,
        "members": f"{100 * rows[0]['share']:g} %",
        "ties": rows[0]["ties"],
        "times": float(np.mean([row["width"] / row["width_without"] for row in rows])),
        "where": "difference {difference}, share {shape}".format(**worst_row),
    }


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table by the name of its marker."""
    rows = rows_again(numbers)
    keys = list(dict.fromkeys((row["share"], row["ties"]) for row in rows))
    lines = [line_of([row for row in rows if (row["share"], row["ties"]) == key]) for key in keys]
    shown = f"{numbers['repeats']} data sets of {N_ROWS} rows for each of {len(rows)} kinds of subpopulations."
    return {"subpopulations": f"{shown}\n\n{table(HEAD, cells(lines, FORM))}"}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="subpopulation_coverage.json",
        page="cumulative_posterior.md",
        shown=("subpopulations",),
        repeats=(300, 5),
    )
