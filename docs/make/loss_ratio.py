"""Measure what isotonic recalibration changes in the loss of decisions on simulated scores, the experiment of Gao,
Parameswaran and Peng, and how often intervals of the loss ratio contain the truth, by how many decisions change, and
under other priors; write docs/explanation/loss_ratio.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, save_parts, table
from scipy.special import expit, logit
from studies import about, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import BetaPopulation
from bayescal.decisions.loss_ratio_result import THRESHOLDS

Floats = NDArray[np.float64]

#: Name of the package in tables of methods.
MINE = "bayescal"
SEED, PROB = 18, 0.95
TAILS = [(1 - PROB) / 2, (1 + PROB) / 2]
#: About a quarter of the rows have the event, as in data on incomes.
POPULATION = BetaPopulation(0.6, 1.9, name="a quarter")
VALIDATION, TEST = 2000, 14_000
#: Test rows of the coverage study, and quantiles of the population for its truths.
SIZES, QUANTILES = (300, 2000, 14_000), 20_000
#: Least and largest numbers of test rows whose decision changes, for the coverage at single thresholds.
CHANGED = ((0, 0), (1, 4), (5, 14), (15, TEST))
#: Prior of `net_benefit`, with the same pseudo-rows at all thresholds.
SAME = "same pseudo-rows at all thresholds"
#: Prior parameters of rows in the eight cells of treatment before and after and outcome at one threshold; "changed" is
#: half a row where a decision changes.
BOOTSTRAP = "Bayesian bootstrap"
PRIORS: dict[str, Floats] = {
    BOOTSTRAP: np.zeros((2, 2, 2)),
    "half a row in each changed cell": 0.5 * (1 - np.eye(2))[:, :, None] * np.ones(2),
    "half a row in each cell": np.full((2, 2, 2), 0.5),
}
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


def of_priors(counts: NDArray[np.int64], t: float, draws: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Intervals of the ratio at one threshold under each of `PRIORS`, from the rows in the eight cells."""
    before, after = (np.zeros((2, 2, 2)) for _ in range(2))
    before[1, :, 0], before[0, :, 1], after[:, 1, 0], after[:, 0, 1] = t, 1 - t, t, 1 - t
    found = {}
    for method, prior in PRIORS.items():
        mass = rng.standard_gamma(counts + prior, (draws, 2, 2, 2)).reshape(draws, 8)
        found[method] = np.quantile((mass @ after.ravel()) / (mass @ before.ravel()), TAILS)
    return found


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of loss ratios of test sets, each with validation rows of its own: the mean, and single thresholds."""
    n_rows, scores, repeats, draws, rng = job
    c = POPULATION.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    score = SCORES[scores](c)
    found: list[dict[str, Any]] = []
    for _ in range(repeats):
        (y, p), (y_val, p_val) = simulated(n_rows, scores, rng), simulated(VALIDATION, scores, rng)
        transform = bc.IsotonicRecalibration().fit(p_val, y_val).transform
        before, after = (losses(s[:, None] >= THRESHOLDS, c) for s in (score, transform(score)))
        truth = after / before
        # no ratio is defined where no test row is decided wrongly
        kept = THRESHOLDS[losses(p[:, None] >= THRESHOLDS, y) > 0]
        result = bc.loss_ratio(y, p, y_val, p_val, kept, draws=draws, rng=rng)
        if len(kept) == len(THRESHOLDS):
            found.append(_case("mean", MINE, result.mean_ratio.interval(PROB), truth.mean(), 0))
            after = {"before": p, "after": transform(p)}
            joint = bc.decisions.net_benefit(y, after, THRESHOLDS, draws=draws, rng=rng)
            before, after = (joint.prevalence_draws - joint.net_benefit[name].values for name in ("before", "after"))
            found.append(_case("mean", SAME, np.quantile((after / before).mean(axis=1), TAILS), truth.mean(), 0))
            rows = result.counts.n
            lost = rng.standard_gamma(rows, (draws, len(rows))) @ result._losses.swapaxes(1, 2)
            ends = np.quantile((lost[1] / lost[0]).mean(axis=1), TAILS)
            found.append(_case("mean", BOOTSTRAP, ends, truth.mean(), 0))
        low, high = result.ratio.interval(PROB)
        for i, t in enumerate(kept):
            at, changed = truth[np.flatnonzero(t == THRESHOLDS)[0]], int(result.changed[i])
            place = 4 * (p >= t) + 2 * (transform(p) >= t) + y
            counts = np.bincount(place.astype(np.intp), minlength=8).reshape(2, 2, 2)
            ends = {MINE: (low[i], high[i])} | of_priors(counts, float(t), draws, rng)
            found += [_case("one", method, each, at, changed) for method, each in ends.items()]
    return [{"n_rows": n_rows, "scores": scores, **line} for line in _summed(found)]


def _case(quantity: str, method: str, ends: Any, truth: float, changed: int) -> dict[str, Any]:
    low, high = ends
    group = next(i for i, (least, most) in enumerate(CHANGED) if least <= changed <= most)
    inside = low - 1e-12 <= truth <= high + 1e-12
    return {"quantity": quantity, "method": method, "changed": group, "inside": inside, "width": high - low}


def _summed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per quantity, method and number of changed decisions."""
    key, lines = ("quantity", "method", "changed"), []
    for values in dict.fromkeys(tuple(case[name] for name in key) for case in found):
        mine = [case for case in found if tuple(case[name] for name in key) == values]
        numbers = {name: float(f"{np.mean([case[name] for case in mine]):.4g}") for name in ("inside", "width")}
        lines.append({**dict(zip(key, values, strict=True)), **numbers, "cases": len(mine)})
    return lines


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
    of_mean = [line for line in numbers["coverage"] if line["quantity"] == "mean"]
    return {
        "loss_ratio": table(head, cells(numbers["experiment"], form)),
        "loss_ratio_coverage": by_method(of_mean),
        "loss_ratio_changed": by_changed(row for row in numbers["coverage"] if row["quantity"] == "one"),
    }


def by_method(rows: Iterable[dict[str, Any]]) -> str:
    """One line per number of test rows and scores: coverage and width of the mean loss ratio, of all methods."""
    lines: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        lines.setdefault((row["n_rows"], row["scores"]), []).append(f"{row['inside']:.2f} ({row['width']:.3f})")
    head = f"Test rows: | Scores | {MINE}: | {SAME}: | {BOOTSTRAP}:"
    return table(head, [[*cell, *values] for cell, values in lines.items()])


def by_changed(rows: Iterable[dict[str, Any]]) -> str:
    """One line per method and number of changed decisions: coverage and mean width at single thresholds."""
    every, lines = list(rows), []
    for method in (MINE, *PRIORS):
        for group, (least, most) in enumerate(CHANGED):
            mine = [row for row in every if (row["method"], row["changed"]) == (method, group)]
            if mine:
                cases = np.array([row["cases"] for row in mine])
                inside, width = (np.average([row[name] for row in mine], weights=cases) for name in ("inside", "width"))
                called = str(least) if least == most else f"{least} or more" if most == TEST else f"{least} to {most}"
                lines.append([method, called, f"{inside:.3f}", f"{width:.3f}", int(cases.sum())])
    return table("Prior | Changed rows | Coverage: | Width: | Cases:", lines)


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="loss_ratio.json",
        page="loss_ratio.md",
        save=save_parts,
        shown=("loss_ratio", "loss_ratio_coverage", "loss_ratio_changed"),
        repeats=(200, 5),
        draws=(1000, 200),
    )
