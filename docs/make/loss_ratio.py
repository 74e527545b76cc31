"""Measure what isotonic recalibration changes in the loss of decisions on simulated scores, the experiment of Gao,
Parameswaran and Peng, and how often intervals of the mean loss ratio contain the truth; write
docs/explanation/loss_ratio.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, save_parts, table
from scipy.special import expit, logit
from studies import about, rows_of_jobs, run_study

import bayescal as bc
from bayescal.analyses.loss_ratio import THRESHOLDS
from bayescal.datasets.simulate import BetaPopulation

Floats = NDArray[np.float64]

SEED, PROB = 18, 0.95
#: About a quarter of the rows have the event, as in data on incomes.
POPULATION = BetaPopulation(0.6, 1.9, name="a quarter")
VALIDATION, TEST = 2000, 14_000
#: Test rows of the coverage study, and quantiles of the population for its truths.
SIZES, QUANTILES = (300, 2000, 14_000), 20_000
SCORES: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda c: c,
    "logit x 2": lambda c: expit(2 * logit(c)),
    "logit / 2": lambda c: expit(logit(c) / 2),
    "logit + 1": lambda c: expit(logit(c) + 1),
}


def simulated(n_rows: int, scores: str, rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
    """Draw outcomes and scores."""
    c = POPULATION.sample(n_rows, rng=rng)
    return (rng.random(n_rows) < c).astype(np.int64), SCORES[scores](c)


def losses(treated: NDArray[np.bool_], mean: NDArray[Any]) -> Floats:
    """Mean loss at each threshold, of rows with a probability of outcome 1; `treated` is (n_rows, n_thresholds)."""
    t, m = THRESHOLDS, mean[:, None]
    each: Floats = np.where(treated, t * (1 - m), (1 - t) * m).mean(axis=0)
    return each


def largest_regret(y: NDArray[np.int64], p: Floats) -> float:
    """Largest difference, over thresholds t, between the loss at t and that of the best cut on the same scores."""
    order = np.argsort(p)
    y, p = y[order], p[order]
    possible = np.concatenate([[True], np.diff(p) > 0, [True]])
    ones, zeros = (np.concatenate([[0], np.cumsum(y == z)])[possible] for z in (1, 0))
    below = np.searchsorted(p[np.diff(p, prepend=-1.0) > 0], THRESHOLDS)  # distinct scores below each threshold
    every = [(1 - t) * ones + t * (zeros[-1] - zeros) for t in THRESHOLDS]
    return max(float(of[at] - of.min()) for of, at in zip(every, below, strict=True)) / len(y)


def experiment(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """One line of the table."""
    scores, draws, rng = job
    (y, p), (y_val, p_val) = simulated(TEST, scores, rng), simulated(VALIDATION, scores, rng)
    found = bc.loss_ratio(y, p, y_val, p_val, draws=draws, rng=rng)
    low, high = found.mean_ratio.interval(PROB)
    treated = p[:, None] >= THRESHOLDS
    values = {
        "c_emp": found.c_emp,
        "ece": bc.plug_in_ece(y, p, bins=30),
        "ratio": found.mean_ratio.mean(),
        "low": low,
        "high": high,
        "regret": largest_regret(y, p),
        "stated": float(np.abs(losses(treated, y) - losses(treated, p)).max()),
    }
    return [{"scores": scores, **{name: float(f"{value:.5g}") for name, value in values.items()}}]


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of the mean loss ratio of test sets, each with validation rows of its own."""
    n_rows, scores, repeats, draws, rng = job
    c = POPULATION.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    score, inside, width = SCORES[scores](c), 0, []
    for _ in range(repeats):
        (y, p), (y_val, p_val) = simulated(n_rows, scores, rng), simulated(VALIDATION, scores, rng)
        after = bc.IsotonicRecalibration().fit(p_val, y_val).transform(score)
        before, recalibrated = (losses(s[:, None] >= THRESHOLDS, c) for s in (score, after))
        truth = float(np.mean(recalibrated / before))
        low, high = bc.loss_ratio(y, p, y_val, p_val, draws=draws, rng=rng).mean_ratio.interval(PROB)
        inside += low <= truth <= high
        width.append(high - low)
    return [{"n_rows": n_rows, "scores": scores, "coverage": inside / repeats, "width": float(f"{np.mean(width):.4g}")}]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the table and the coverage; with --quick, the smallest test sets only."""
    streams = iter(np.random.default_rng(SEED).spawn(2 * len(SCORES) * (1 + len(SIZES))))
    lines = rows_of_jobs(experiment, [(scores, options.draws, next(streams)) for scores in SCORES])
    sizes = SIZES[:1] if options.quick else SIZES
    jobs = [(n, scores, options.repeats, options.draws, next(streams)) for n in sizes for scores in SCORES]
    covered = rows_of_jobs(of_cell, jobs, workers=options.workers)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return {**about(SEED, settings), "experiment": lines, "coverage": covered}


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    head = "Scores | c_emp: | ECE, 30 bins: | Mean loss ratio: | Largest regret: | Largest difference to stated loss:"
    form = "{scores}|{c_emp:.4f}|{ece:.4f}|{ratio:.3f} [{low:.3f}, {high:.3f}]|{regret:.4f}|{stated:.4f}"
    of_coverage = "{n_rows}|{scores}|{coverage:.2f}|{width:.3f}"
    return {
        "loss_ratio": table(head, cells(numbers["experiment"], form)),
        "loss_ratio_coverage": table(
            "Test rows: | Scores | Coverage: | Width:", cells(numbers["coverage"], of_coverage)
        ),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="loss_ratio.json",
        page="loss_ratio.md",
        save=save_parts,
        shown=("loss_ratio", "loss_ratio_coverage"),
        repeats=(200, 5),
        draws=(2000, 200),
    )
