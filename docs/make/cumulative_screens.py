"""Measure how many groups screens flag if no group differs: rare outcomes, skewed costs, ordinary outcomes; write
docs/explanation/cumulative.md: part of `make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from studies import jobs_of, measured, rows_of_jobs, run_study

from bayescal.cumulative.analysis import screen as screen_subpopulations
from bayescal.cumulative.brownian import sf_range

SEED, GROUPS = 18, 500
#: Kind of responses, their parameter (largest score, or standard deviation of logarithms), and rows per group.
SCREENS = (
    ("rare", 0.02, 2),
    ("rare", 0.02, 20),
    ("rare", 0.02, 50),
    ("rare", 0.02, 200),
    ("rare", 0.1, 50),
    ("skewed", 1.0, 100),
    ("skewed", 1.0, 400),
    ("skewed", 0.5, 50),
    ("ordinary", 1.0, 50),
)
COLUMNS = ("responses", "n_rows", "rare", "unreliable", "any_flag", "flags", "uncorrected")


def of_screens(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return one row: screens with a flag, and mean numbers of flags."""
    kind, parameter, n_rows, repeats, rng = job
    drawn = np.array([one_screen(kind, parameter, n_rows, rng) for _ in range(repeats)])
    rare, unreliable, flags, uncorrected = drawn.mean(axis=0)
    words = f"lognormal costs, log sd {parameter:g}" if kind == "skewed" else f"outcomes, risks 0 to {parameter:g}"
    about = {"responses": words, "n_rows": n_rows, "rare": rare, "unreliable": unreliable}
    return [{**about, "any_flag": float(np.mean(drawn[:, 2] > 0)), "flags": flags, "uncorrected": uncorrected}]


def one_screen(kind: str, parameter: float, n_rows: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Screen groups that do not differ; also the number of flags by the tail of Brownian motion alone."""
    n = GROUPS * n_rows
    score = rng.random(n) * (1.0 if kind == "skewed" else parameter)
    response = rng.lognormal(sigma=parameter, size=n) if kind == "skewed" else rng.random(n) < score
    screen = screen_subpopulations(response, score, rng.permutation(np.repeat(np.arange(GROUPS), n_rows)))
    p_value = np.sort(sf_range(np.nan_to_num(screen.to_frame()["in_sigma"].to_numpy())))
    brownian = np.flatnonzero(p_value * GROUPS / np.arange(1, GROUPS + 1) <= screen.fdr)
    unreliable = 1 - screen.reliable.mean()
    return float(np.median(screen.sums.rare)), unreliable, len(screen.flagged), brownian.max(initial=-1) + 1


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study."""
    jobs = jobs_of(SCREENS, options.repeats, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_screens, jobs, workers=options.workers, description="null screens")
    return measured(SEED, {"repeats": options.repeats}, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table by the name of its marker."""
    head = (
        "Responses | Rows per group: | Rare responses: | Groups not used: | Screens with a flag: | Flags per screen: | "
        "Without correction:"
    )
    form = "{responses}|{n_rows}|{rare:.2g}|{unreliable:.2f}|{any_flag:.2f}|{flags:.2f}|{uncorrected:.2f}"
    repeats = numbers["repeats"]
    return {
        "screens": (
            f"{repeats} screens of {GROUPS} groups per line, seed {numbers['seed']}; the standard error of a share of "
            f"0.05 is {np.sqrt(0.05 * 0.95 / repeats):.3f}.\n\n" + table(head, cells(rows_again(numbers), form))
        )
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="cumulative_screens.json",
        page="cumulative.md",
        command="docs/make/cumulative_screens.py",
        shown=("screens",),
        repeats=(80, 3),
    )
