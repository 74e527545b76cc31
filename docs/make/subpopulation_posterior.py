"""Measure how often intervals of the posterior of a subpopulation contain the truth; write
docs/explanation/cumulative_posterior.md: part of `make coverage`.

Responses are 0 and 1, also rare, and real, also with unequal variances; further families have weights, scores related
to the response, and two groups.
"""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import Row, coverage_rows, jobs_of, measured, rows_of_jobs, run_study, with_fresh_sets
from subpopulation_coverage import DIFFERENCES, GRID, N_ROWS, PROB, SHAPES, SHARES, TIES, share_of_members

import bayescal as bc
from bayescal.cumulative.matched import MatchedRows
from bayescal.cumulative.statistics import kuiper

Floats = NDArray[np.float64]

SEED, BAR, DRAWS, RESAMPLES = 44, 0.85, 1000, 200
#: Real responses with a mean of 0.4 plus the difference of members; rows with rare, large values are the last ones.
RESPONSES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "0 or 1": lambda mean, rng: (rng.random(len(mean)) < mean).astype(float),
    "Normal": lambda mean, rng: rng.normal(mean, 0.5),
    "number of events": lambda mean, rng: rng.poisson(mean).astype(float),
    "length of stay": lambda mean, rng: rng.exponential(mean),
    "cost": lambda mean, rng: mean * rng.lognormal(-0.5, 1.0, len(mean)),
}
#: Kinds of data sets: which responses, their standard deviations, ties, weights, mean responses of others, a factor of
#: differences, and whether two groups are compared.
#: "0 or 1" are the 120 kinds of the study of intervals without a model.
PLAIN = {
    "response": "0 or 1", "spread": "equal", "ties": "none", "weights": "none", "base": "constant", "factor": 1.0,
    "compared": "full population",
}  # fmt: skip
#: Mean responses of others.
BASES: dict[str, Callable[[Floats], Floats]] = {
    "constant": lambda score: np.full(len(score), 0.4),
    "rising": lambda score: 0.25 + 0.5 * score,
    "rare": lambda score: np.full(len(score), 0.06),
}
#: Factors of the noise of members and of others, if they differ.
SPREADS: dict[str, Callable[[Floats, NDArray[np.bool_]], Floats]] = {
    "members 3 x": lambda score, member: np.where(member, 3.0, 1.0),
    "members fall, others rise": lambda score, member: np.where(member, 4.2 - 4 * score, 0.2 + 2 * score),
}
FAMILIES: dict[str, tuple[dict[str, str], dict[str, tuple[Any, ...]]]] = {
    "0 or 1": ({}, {"share": SHARES, "shape": SHAPES, "ties": TIES, "difference": tuple(DIFFERENCES)}),
    "real responses": (
        {"shape": "rising"},
        {
            "response": tuple(RESPONSES)[1:],
            "share": (0.1, 0.5),
            "difference": ("none", "constant", "changing sign", "wave"),
        },
    ),
    "small differences": (
        {"shape": "rising", "factor": 0.3},
        {"share": (0.1, 0.5), "difference": tuple(DIFFERENCES)[1:]},
    ),
    "rare outcomes": (
        {"shape": "rising", "base": "rare", "factor": 0.15},
        {"share": (0.1, 0.5), "difference": tuple(DIFFERENCES)},
    ),
    "unequal variances": (
        {"shape": "rising", "response": "Normal"},
        {
            "spread": tuple(SPREADS),
            "share": (0.1, 0.5),
            "difference": ("none", "constant", "changing sign", "wave"),
        },
    ),
    "weights": ({"shape": "rising", "weights": "gamma"}, {"share": (0.1, 0.5), "difference": tuple(DIFFERENCES)}),
    "responses rise with the score": (
        {"shape": "rising", "base": "rising", "factor": 0.6},  # probabilities stay below 1
        {"share": (0.1, 0.5), "difference": tuple(DIFFERENCES)},
    ),
    "two groups": (
        {"compared": "another group"},
        {"share": (0.1, 0.5), "shape": SHAPES, "difference": tuple(DIFFERENCES)},
    ),
}
COLUMNS = (
    "family", *PLAIN, "share", "shape", "difference", "quantity", "truth", "method", "coverage", "above", "width",
    "repeats", "first",
)  # fmt: skip
#: Values of the kinds with --quick.
QUICK = {"share": (0.5,), "difference": ("constant",)}


def kinds(*, quick: bool) -> list[dict[str, Any]]:
    """Return all cells."""
    chosen = []
    for family, (fixed, varied) in FAMILIES.items():
        values = {name: QUICK.get(name, each) if quick else each for name, each in varied.items()}
        for one in product(*values.values()):
            chosen.append({"family": family, **PLAIN, **fixed, **dict(zip(values, one, strict=True))})
    return chosen


def truth_of(cell: dict[str, Any]) -> Floats:
    """The curve of the population, on a fine grid of scores."""
    member = share_of_members(cell["share"], cell["shape"], GRID)
    both = cell["compared"] == "another group"
    total = (member * (1 - member) if both else member).sum()
    step = member * (1 - member) * DIFFERENCES[cell["difference"]](GRID) * cell["factor"]
    return np.append(0, np.cumsum(step) / total)


def data_set(cell: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Response, score, member and weights of one data set."""
    score = rng.random(N_ROWS)
    member = rng.random(N_ROWS) < share_of_members(cell["share"], cell["shape"], score)
    mean = BASES[cell["base"]](score) + cell["factor"] * DIFFERENCES[cell["difference"]](score) * member
    response = RESPONSES[cell["response"]](np.clip(mean, 0, None), rng)
    if cell["spread"] != "equal":
        response = mean + SPREADS[cell["spread"]](score, member) * (response - mean)
    if cell["ties"] == "0.01":
        score = score.round(2)
    return response, score, member, rng.gamma(1.0, size=N_ROWS) if cell["weights"] == "gamma" else None


def bootstrap(rows: MatchedRows, rng: np.random.Generator) -> Floats:
    """Kuiper statistic of the Bayesian bootstrap of rows: each row has an Exponential weight."""
    sizes = rows.ends - rows.starts
    cell = np.repeat(np.arange(len(sizes)), sizes)
    values = []
    for _ in range(RESAMPLES):
        weight = rows.weight * rng.standard_exponential(len(cell))
        v, u = (np.bincount(cell, each) for each in weight)
        difference = np.bincount(cell, weight[0] * rows.response) / v - np.bincount(cell, weight[1] * rows.response) / u
        curve = np.cumsum(v * u / (v + u) * difference) / v.sum()
        values.append(kuiper(np.append(0, curve)))
    return np.array(values)


def ends_of(draws: Floats) -> Floats:
    """Ends of the equal-tailed interval."""
    return np.asarray(np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2]))


def of_cell(cell: dict[str, Any], rng: np.random.Generator, repeats: int) -> list[Row]:
    """Measure one cell in fresh data sets: intervals by quantity and method."""
    both = cell["compared"] == "another group"
    found: dict[tuple[str, str], list[Any]] = {}
    for _ in range(repeats):
        response, score, member, weights = data_set(cell, rng)
        if both:
            result = bc.cumulative.compare_subpopulations(response, score, member, ~member, weights=weights)
        else:
            result = bc.cumulative.subpopulation(response, score, member, weights=weights)
        posterior = result.posterior(DRAWS, rng=rng)
        curve = posterior.drawn.curve
        for quantity, draws, of_segments in (
            ("kuiper", posterior.kuiper.values, kuiper(curve)),
            ("kolmogorov_smirnov", posterior.kolmogorov_smirnov.values, np.abs(curve).max(axis=1)),
        ):
            found.setdefault((quantity, "pooled"), []).append(ends_of(draws))
            found.setdefault((quantity, "segments"), []).append(ends_of(of_segments))
        found.setdefault(("kuiper", "without a model"), []).append(result.kuiper_interval(PROB))
        if not both:
            found.setdefault(("kuiper", "Bayesian bootstrap"), []).append(ends_of(bootstrap(posterior.drawn.rows, rng)))
    truth = truth_of(cell)
    true_values = {"kuiper": float(np.ptp(truth)), "kolmogorov_smirnov": float(np.abs(truth).max())}
    rows = []
    for quantity, true in true_values.items():
        by_method = {method: np.array(ends) for (of, method), ends in found.items() if of == quantity}
        rows += coverage_rows({**cell, "quantity": quantity, "truth": true}, by_method, true)
    return rows


def of_job(job: tuple[Any, ...]) -> list[Row]:
    """Measure one cell, and again if it is below the bar."""
    cell, repeats, rng = job
    first, again = rng.spawn(2)
    rows = of_cell(cell, first, repeats)
    fresh = lambda times: of_cell(cell, again, times * repeats)  # noqa: E731
    return with_fresh_sets(rows, fresh, bar=BAR, where={"method": "pooled"}, of=("quantity",))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study."""
    chosen = [(cell,) for cell in kinds(quick=options.quick)]
    jobs = jobs_of(chosen, options.repeats, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_job, jobs, workers=options.workers, description="posteriors of subpopulations")
    return measured(SEED, {"prob": PROB, "repeats": options.repeats, "draws": DRAWS}, COLUMNS, rows)


HEAD = (
    "Data sets | Kinds: | Method | Kuiper, mean: | worst: | width: | Smirnov, mean: | worst: | width: | D is worst in"
)
FORM = "{family}|{kinds}|{method}|{mean:.3f}|{worst:.2f}|{width:.4f}|{mean_g}|{worst_g}|{width_g}|{where}"
METHODS = ("pooled", "segments", "without a model", "Bayesian bootstrap")


def line_of(rows: list[Row], family: str, method: str) -> Row:
    """Summarize the cells of a family."""
    mine = [row for row in rows if row["family"] == family and row["method"] == method]
    d, g = ([row for row in mine if row["quantity"] == name] for name in ("kuiper", "kolmogorov_smirnov"))
    worst = min(d, key=lambda row: row["coverage"])
    said = {"share": "{:.0%} members", "shape": "share {}", "ties": "ties {}", "difference": "difference {}"}
    where = [text.format(worst[name]) for name, text in said.items()]
    where[:0] = [worst[name] for name in ("response", "spread") if worst[name] != PLAIN[name]]
    return {
        "family": family,
        "method": method,
        "kinds": len(d),
        "mean": float(np.mean([row["coverage"] for row in d])),
        "worst": worst["coverage"],
        "width": float(np.mean([row["width"] for row in d])),
        "mean_g": f"{np.mean([row['coverage'] for row in g]):.3f}" if g else "",
        "worst_g": f"{min(row['coverage'] for row in g):.2f}" if g else "",
        "width_g": f"{np.mean([row['width'] for row in g]):.4f}" if g else "",
        "where": ", ".join(where).replace("%", " %"),
    }


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the table by the name of its marker."""
    rows = rows_again(numbers)
    pairs = [(f, m) for f in FAMILIES for m in METHODS if any((r["family"], r["method"]) == (f, m) for r in rows)]
    lines = [line_of(rows, family, method) for family, method in pairs]
    kind = ("family", *PLAIN, "share", "shape", "difference")
    again = {tuple(row[name] for name in kind) for row in rows if row["first"] is not None}
    repeats, draws = numbers["repeats"], numbers["draws"]
    shown = (
        f"{repeats} data sets of {N_ROWS} rows per kind, {draws} draws. Kinds in which the coverage of a pooled "
        f"interval was below {BAR:g} ({len(again)}) were measured again in {4 * repeats} fresh data sets, whose share "
        "counts."
    )
    return {"subpopulation_posteriors": f"{shown}\n\n{table(HEAD, cells(lines, FORM))}"}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="subpopulation_posterior.json",
        page="cumulative_posterior.md",
        shown=("subpopulation_posteriors",),
        repeats=(100, 2),
    )
