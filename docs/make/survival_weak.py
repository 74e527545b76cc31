"""Measure how often intervals of the calibration error at a horizon contain the truth with weights, in small groups, if
censoring depends on more than the risk, and in the small waves of survival.py; write docs/explanation/survival.md:
part of `make coverage`.
"""

import argparse
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from scipy.optimize import brentq
from scipy.special import expit, logit
from studies import conditions, coverage_rows, jobs_of, measured, rows_of_jobs, run_study
from survival import BINS, HORIZON, QUANTILES, RISKS, SEED, SHAPE, TRUTHS, Cell, quantiles, true_values

from bayescal.analyses.one import evaluate_one
from bayescal.stats.binned import BinnedCounts
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.rows import SurvivalRows

Floats = NDArray[np.float64]

PROB = 0.95
#: Numbers of rows of small groups, and of data sets with weights.
GROUPS, WEIGHTED = (50, 100, 200), 1000
#: Parts that are measured on several times as many data sets.
MORE, TIMES = ("group", "repeated"), 4
#: Rows are sampled with a probability of at least this share, which grows with the risk up to 1.
LEAST_SAMPLED = 0.2
#: A hidden variable changes the log odds of the event and the log hazard of censoring by these factors.
ON_EVENT, ON_CENSORING = 1.0, 1.0
COLUMNS = ("part", "n_rows", "truth", "dependent", "value", "not_followed", "method", "coverage", "above", "width")
COLUMNS = (*COLUMNS, "repeats")
WORDS = {
    "group": "small group",
    "weights": "weights unrelated to rows",
    "sampled": "sampled by risk, inverse weights",
    "hidden": "hidden cause",
    "repeated": "small wave",
}


def interval(counts: Any, draws: int, seed: int) -> Floats:
    """Interval of the ECE given counts."""
    return np.asarray(evaluate_one(counts, draws=draws, rng=seed).ece.interval(PROB))


def counted(rows: SurvivalRows, weight: Floats | None) -> HorizonCounts:
    """Counts of rows with weights."""
    return HorizonCounts.from_rows(SurvivalRows(rows.time, rows.event, rows.risk, weight, 1), HORIZON, BINS)


def sampled(cell: Cell, n_rows: int, rng: np.random.Generator) -> tuple[SurvivalRows, Floats]:
    """Draw rows of which those with a large risk are sampled more often, with inverse weights."""
    rows = cell.draw(4 * n_rows, rng)
    share = np.maximum(LEAST_SAMPLED, rows.risk)
    kept = np.flatnonzero(rng.random(len(rows)) < share)[:n_rows]
    return rows.part(kept), 1 / share[kept]


@cache
def hidden_rate() -> float:
    """Rate of censoring at which half of the outcomes are unknown."""
    rng = np.random.default_rng(SEED)
    hidden = rng.standard_normal(QUANTILES)
    time = np.minimum(hidden_times(quantiles(), rng, hidden)[0], HORIZON)
    lost = rng.exponential(1.0, QUANTILES) / np.exp(ON_CENSORING * hidden)
    return float(brentq(lambda rate: float(np.mean(lost / rate < time)) - 0.5, 1e-3, 1e3, xtol=1e-4))


def hidden_times(risk: Floats, rng: np.random.Generator, hidden: Floats | None = None) -> tuple[Floats, Floats]:
    """Times of events whose log odds by the horizon depend on a hidden variable, and true risks."""
    hidden = rng.standard_normal(len(risk)) if hidden is None else hidden
    true = expit(logit(risk) + ON_EVENT * hidden)
    return (np.log(rng.random(len(risk))) / np.log1p(-true)) ** (1 / SHAPE), true


@cache
def hidden_truth() -> float:
    """ECE of the stated risks, which ignore the hidden variable."""
    risk, rng = quantiles(), np.random.default_rng(SEED)
    _, true = hidden_times(risk, rng)
    at = np.minimum((risk * len(BINS)).astype(int), len(BINS) - 1)
    return float(np.abs(np.bincount(at, true - risk, len(BINS))).sum() / len(risk))


def with_hidden(n_rows: int, rng: np.random.Generator) -> tuple[SurvivalRows, Floats]:
    """Draw rows and the probability of not being censored before their last time or the horizon."""
    risk, hidden = RISKS.rvs(n_rows, random_state=rng), rng.standard_normal(n_rows)
    time, _ = hidden_times(risk, rng, hidden)
    rate = hidden_rate() * np.exp(ON_CENSORING * hidden)
    lost = rng.exponential(1.0, n_rows) / rate
    rows = SurvivalRows(np.minimum(time, lost), (time <= lost).astype(np.int64), risk, None, 1)
    return rows, np.exp(-rate * np.minimum(rows.time, HORIZON))


def intervals_of(part: str, cell: Cell, n_rows: int, draws: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Intervals of one data set by method, and the share that is not followed."""
    seed = int(rng.integers(2**31))
    if part == "hidden":
        rows, uncensored = with_hidden(n_rows, rng)
        known = (rows.event > 0) | (rows.time >= HORIZON)
        own = {"hidden cause ignored": None, "inverse weights, censored rows 0": known / uncensored}
        own["inverse weights of all rows"] = 1 / uncensored
        counts = {method: counted(rows, weight) for method, weight in own.items()}
    elif part == "sampled":
        rows, weight = sampled(cell, n_rows, rng)
        counts = {"weights": counted(rows, weight), "weights ignored": counted(rows, None)}
    elif part == "weights":
        counts = {"weights": counted(cell.draw(n_rows, rng), rng.gamma(2.0, 1.0, n_rows))}
    else:
        rows = cell.draw(n_rows, rng)
        counts = {"censored": counted(rows, None)}
        if part == "repeated":
            outcome = rng.random(n_rows) < TRUTHS[cell.truth](rows.risk)
            counts["all outcomes known"] = BinnedCounts.from_arrays(outcome, rows.risk, bins=BINS, target="event")
    found = {method: interval(each, draws, seed) for method, each in counts.items()}
    first = next(iter(counts.values()))
    return found | {"": np.array([first.not_followed] * 2)}


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage in one cell."""
    part, n_rows, cell, repeats, draws, rng = job
    repeats = repeats * (TIMES if part in MORE else 1)
    every = [intervals_of(part, cell, n_rows, draws, rng) for _ in range(repeats)]
    lost = float(np.mean([found.pop("")[0] for found in every]))
    value = hidden_truth() if part == "hidden" else true_values(cell.truth)["ece"]
    by_method = {method: np.array([found[method] for found in every]) for method in every[0]}
    about = {"part": part, "n_rows": n_rows, "truth": cell.truth, "dependent": cell.dependent}
    return coverage_rows({**about, "value": value, "not_followed": lost}, by_method, value)


def populations(quick: bool) -> list[tuple[str, int, Cell]]:
    """All cells; with --quick, one of each part."""
    both = [Cell(truth, 0.5, True) for truth in ("calibrated", "HR 1.3")]
    found = [("group", n, cell) for n in GROUPS for cell in both]
    found += [(part, WEIGHTED, cell) for part in ("weights", "sampled") for cell in both]
    found += [("hidden", WEIGHTED, Cell("calibrated", 0.5, True))]
    found += [("repeated", 2000, Cell("wave", 0.2, dependent)) for dependent in (False, True)]
    return [next(each for each in found if each[0] == part) for part in WORDS] if quick else found


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells: 100 data sets per cell, and 400 of the small groups and small waves."""
    jobs = jobs_of(populations(options.quick), options.repeats, options.draws, rng=np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows_of_jobs(of_cell, jobs, workers=options.workers))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table by the name of its marker."""
    rows = rows_again(numbers)
    for row in rows:
        row |= {"words": WORDS[row["part"]], "lost": 100 * row["not_followed"]}
        row |= {"truth": "hidden cause left out" if row["part"] == "hidden" else row["truth"]}
    head = "Data | Rows: | Truth | Method | ECE: | Not followed: | Coverage: | Width: | Data sets:"
    form = "{words}|{n_rows}|{truth}|{method}|{value:.4f}|{lost:.1f} %|{coverage:.2f}|{width:.3f}|{repeats}"
    n_cells = len(populations(numbers["repeats"] < 10))
    return {"survival_weak": conditions(numbers, n_cells) + "\n" + table(head, cells(rows, form))}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="survival_weak.json",
        page="survival.md",
        shown=("survival_weak",),
        draws=(1000, 200),
    )
