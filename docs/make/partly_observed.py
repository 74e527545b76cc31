"""Measure intervals of all rows if the outcome is known for some of them: missing given the score, given a covariate,
or not at random; write docs/explanation/partly_observed.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import rows_again, rows_of, save_parts, table
from scipy.special import expit, logit
from studies import FEWER_DRAWS, TIMES_AGAIN, about, errors_near, jobs_of, rows_of_jobs, run_study, with_fresh_sets

import bayescal as bc
from bayescal.labels.evidence import VerifiedEvidence
from bayescal.verify.coverage import contains, stacked

Floats = NDArray[np.float64]

SEED, PROB, BINS, TRUTH_ROWS = 21, 0.95, 15, 400_000
#: Least coverage of the ECE of a cell given the score; below it, the cell is measured again.
BAR = 0.93
SIZES, ESTIMANDS = (1000, 5000), ("ece", "signed_error")
#: Slope and constant of the logit of the outcome of all rows in that of the probability.
CURVES = {"calibrated": (1.0, 0.0), "logit 0.7 x + 0.3": (0.7, 0.3)}
#: Probability that the outcome is known, given the score.
KNOWN: dict[str, Callable[[Floats], Floats]] = {
    "rising, 0.05 + 0.9 p": lambda p: 0.05 + 0.9 * p,
    "step, 0.1 below 0.3 and 0.8 above": lambda p: np.where(p < 0.3, 0.1, 0.8),
    "falling, 0.6 - 0.5 p": lambda p: 0.6 - 0.5 * p,
}
RISING = next(iter(KNOWN))
#: Odds of missing outcomes, divided by those of known ones.
RATIOS = (0.5, 2.0)
ALONE, SCORE, TRUE, FITTED, RIGHT, BAND, PRIOR = (
    "known only", "given the score", "true weights", "fitted weights", "right odds ratio", "band 1/2 to 2",
    "prior, sd 0.7",
)  # fmt: skip
METHODS = {
    "score": (ALONE, SCORE),
    "covariates": (ALONE, SCORE, TRUE, FITTED),
    "not at random": (ALONE, SCORE, RIGHT, BAND, PRIOR),
}
#: Parts by the names of their tables and of --only.
PARTS = {"score": "score", "covariates": "covariates", "random": "not at random"}
COLUMNS = (
    "part", "curve", "known", "ratio", "n_rows", "quantity", "truth", "method", "coverage", "width", "repeats", "first",
)  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Probabilities, those of the outcome if it is known and if it is not, of knowing it, and covariates."""

    p: Floats
    theta: tuple[Floats, Floats]
    known: Floats
    x: Floats


def drawn(part: str, curve: str, known: str, ratio: float, n: int, rng: np.random.Generator) -> Rows:
    """Draw rows of a cell."""
    if part == "covariates":
        x, z = rng.standard_normal((2, n))
        theta = expit(x + z - 0.5)
        return Rows(expit(0.4 * x + z - 0.3), (theta, theta), expit(-1 + 1.2 * x), x)
    p = np.clip(rng.beta(1, 3, n), 1e-9, 1 - 1e-9)
    slope, constant = CURVES[curve]
    share = KNOWN[known](p)
    # the curve is that of all rows, from which those of known and of missing outcomes follow
    none = np.zeros(n)
    v, _ = VerifiedEvidence(none, none, share).rate(expit(slope * logit(p) + constant), np.array([ratio]))
    return Rows(p, (v, expit(logit(v) + np.log(ratio))), share, p)


@cache
def true_values(*cell: Any) -> dict[str, float]:
    """Values of all rows, from many rows with the probabilities of their outcomes."""
    rows = drawn(*cell, TRUTH_ROWS, np.random.default_rng(SEED))
    theta = rows.known * rows.theta[0] + (1 - rows.known) * rows.theta[1]
    cell_of = np.minimum((rows.p * BINS).astype(int), BINS - 1)
    gap = np.bincount(cell_of, theta - rows.p, BINS) / TRUTH_ROWS
    return {"ece": float(np.abs(gap).sum()), "signed_error": float(gap.sum())}


def fitted_weights(x: Floats, known: NDArray[np.bool_]) -> Floats:
    """Estimate 1 / P(outcome known | covariate) by logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e4).fit(x[:, None], known)
    return 1 / model.predict_proba(x[:, None])[:, 1]


def intervals_of(
    part: str, ratio: float, rows: Rows, draws: int, rng: np.random.Generator
) -> dict[tuple[str, str], tuple[float, float]]:
    """Intervals by method and quantity for one data set."""
    known = rng.random(len(rows.p)) < rows.known
    y = rng.random(len(rows.p)) < np.where(known, *rows.theta)
    seed, labels = int(rng.integers(2**63)), np.where(known, y, np.nan)

    def observed(**options: Any) -> Any:
        return bc.labels.partly_observed(labels, rows.p, bins=BINS, draws=draws, rng=seed, **options)

    makers: dict[str, Callable[[], Any]] = {
        ALONE: lambda: bc.evaluate(y[known], rows.p[known], bins=BINS, draws=draws, rng=seed),
        SCORE: lambda: observed(missing="score"),
        TRUE: lambda: observed(missing="covariates", weights=1 / rows.known),
        FITTED: lambda: observed(missing="covariates", weights=fitted_weights(rows.x, known)),
        RIGHT: lambda: observed(missing="not_at_random", odds_ratio=(ratio, ratio)),
        BAND: lambda: observed(missing="not_at_random", odds_ratio=2),
        PRIOR: lambda: observed(missing="not_at_random", prior_sd=0.7),
    }
    found = {}
    for method in METHODS[part]:
        result = makers[method]()
        for quantity in ESTIMANDS:
            band = isinstance(result, bc.labels.PartlyObservedBand)
            ends = result.interval(quantity, PROB) if band else result.draws(quantity).interval(PROB)
            found[method, quantity] = ends
    return found


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Coverage of all methods in one cell; where that of the ECE given the score is low, on fresh data sets."""
    *cell, repeats, draws, rng = job
    judged = {"part": "score", "method": SCORE, "quantity": "ece"}

    def measure(times: int) -> list[dict[str, Any]]:
        return coverage_of(*cell, times * repeats, draws, rng)  # the generator goes on: the data sets are fresh

    return with_fresh_sets(measure(1), measure, bar=BAR, where=judged)


def coverage_of(*job: Any) -> list[dict[str, Any]]:
    """Coverage of all methods and quantities on the same data sets."""
    *cell, n, repeats, draws, rng = job
    part, curve, known, ratio = cell
    truths = true_values(*cell)

    def each() -> Iterator[dict[tuple[str, str], tuple[float, float]]]:
        for _ in range(repeats):
            yield intervals_of(part, ratio, drawn(part, curve, known, ratio, n, rng), draws, rng)

    about_cell = {"part": part, "curve": curve, "known": known, "ratio": ratio, "n_rows": n, "repeats": repeats}
    return [
        {
            **about_cell, "quantity": quantity, "truth": truths[quantity], "method": method,
            "coverage": float(contains(*ends.T, truths[quantity]).mean()),
            "width": float((ends[:, 1] - ends[:, 0]).mean()),
        }
        for (method, quantity), ends in stacked(each()).items()
    ]  # fmt: skip


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the cells of the chosen parts; with --quick, one of each."""
    score = [("score", curve, known, 1.0, n) for curve in CURVES for known in KNOWN for n in SIZES]
    covariates = [("covariates", "depends on a covariate", "depends on a covariate", 1.0, n) for n in SIZES]
    random = [("not at random", curve, RISING, ratio, n) for curve in CURVES for ratio in RATIOS for n in SIZES]
    # all jobs, so that the data sets of a part are the same if it is measured alone
    jobs = jobs_of([*score, *covariates, *random], options.repeats, options.draws, rng=np.random.default_rng(SEED))
    found = {}
    for part in options.only:
        of_part = [job for job in jobs if job[0] == PARTS[part]][:: 100 if options.quick else 1]
        rows = rows_of_jobs(of_cell, of_part, workers=options.workers, description=part)
        found[part] = rows_of(COLUMNS, rows)
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    return {**about(SEED, settings), "columns": list(COLUMNS), **found}


def by_cell(rows: list[dict[str, Any]], part: str, about: tuple[str, ...], heads: str) -> str:
    """One line per cell: coverage and width of the ECE by method."""
    lines: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        if row["part"] == part and row["quantity"] == "ece":
            key = tuple(row[name] for name in (*about, "n_rows"))
            line = lines.setdefault(key, [*key, f"{row['truth']:.3f}"])
            first = "" if row["first"] is None else f" (first {row['first']:.2f})"
            line.append(f"{row['coverage']:.2f}{first}, {row['width']:.3f}")
    methods = " | ".join(f"{method}:" for method in METHODS[part])
    return table(f"{heads}Rows: | True ECE: | {methods}", lines.values())


def overall(rows: list[dict[str, Any]]) -> str:
    """One line per part, quantity and method: mean and worst coverage over cells, and mean width."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["part"], row["quantity"], row["method"]), []).append(row)
    lines = []
    for key, of in sorted(groups.items(), key=lambda item: (list(METHODS).index(item[0][0]), item[0][1])):
        covered, width = (np.array([row[name] for row in of]) for name in ("coverage", "width"))
        lines.append([*key, len(of), f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{width.mean():.3f}"])
    return table("Missing | Quantity | Method | Cells: | Mean coverage: | Worst cell: | Width:", lines)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    by_part = {
        part: rows_again({"columns": numbers["columns"], "rows": numbers[part]}) for part in PARTS if part in numbers
    }
    rows = [row for of in by_part.values() for row in of]
    sets = {PARTS[part]: min(row["repeats"] for row in of) for part, of in by_part.items()}
    different = sorted(set(sets.values()), reverse=True)
    errors = errors_near(numbers["prob"], *different)
    stated = ", ".join(f"{error} with {number}" for number, error in zip(different, errors, strict=True))
    return {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {numbers['draws']} draws, seed {numbers['seed']}. Data sets in each "
            f"cell: {', '.join(f'{number} ({part})' for part, number in sets.items())}.\n"
            f"The standard error of one share near {numbers['prob']:g} is {stated}. A cell given the score below "
            f"{BAR:g}\nis measured again in {TIMES_AGAIN} times as many fresh data sets, and that share counts.\n"
        ),
        "overall": overall(rows),
        "score": by_cell(rows, "score", ("curve", "known"), "Outcome | P(known) | "),
        "covariates": by_cell(rows, "covariates", (), ""),
        "random": by_cell(rows, "not at random", ("curve", "ratio"), "Outcome | Odds ratio: | "),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="partly_observed.json",
        page="partly_observed.md",
        save=save_parts,
        parts=tuple(PARTS),
        shown=("conditions", "overall", "score", "covariates", "random"),
        repeats=(100, 2),
        draws=FEWER_DRAWS,
    )
