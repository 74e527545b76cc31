"""Compute how often intervals contain the truth if all confidences are exactly 0 or 1, by enumeration where it is
possible; write docs/explanation/saturated.md: part of `make coverage`. With --quick, 10 and 20 rows are enumerated.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from studies import about, coverage_rows, errors_near, jobs_of, rows_of_jobs, run_study
from studies.enumeration import ProportionInterval, beta_interval, binomial_coverage, clopper_pearson, expected_width

import bayescal as bc

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEED, PROB = 41, 0.95
#: Rows and true shares of wrong labels of the enumeration, and the share at which its width is stated.
SIZES, RATES, SMALL = (10, 20, 30, 50, 100), np.arange(1, 91) / 100, 0.005
OURS = "bayescal"
RIVALS: dict[str, ProportionInterval] = {
    "Clopper-Pearson": clopper_pearson,
    "Beta(1/2, 1/2), Jeffreys": beta_interval(0.5, 0.5),
    "Beta(1/2, 10), formerly": beta_interval(0.5, 10.0),
}
#: Draws of the simulated cells, where quantiles need be less accurate than in an enumeration.
FEWER = 1000
#: Rows of groups, and of top labels and risks that are enumerated.
GROUP, TOP, RISKS = 25, 25, 50
HARD_SIZES, HARD_RATES = (20, 40, 80, 160), (0.05, 0.1, 0.2, 0.4)
#: Rows, and shares of wrong labels of both models.
PAIRS = ((40, 0.1, 0.3), (40, 0.3, 0.4), (160, 0.1, 0.3), (160, 0.3, 0.4))
#: Clusters of five rows, whose shares of wrong labels vary with this intra-cluster correlation.
CLUSTER, CORRELATION = 5, 0.2
EXACT_COLUMNS = ("kind", "n_rows", "method", "worst", "at", "mean", "width", "width_small")
COLUMNS = ("kind", "n_rows", "truth", "method", "coverage", "above", "width", "repeats")


# ------------------------------------------------------------------------------------------------ by enumeration
def of_one_column(value: float) -> Callable[[int, int, int], Floats]:
    """Intervals of the ECE of confidences that all have one value, for each number of contrary outcomes."""

    def ends(n_rows: int, draws: int, seed: int) -> Floats:
        found = []
        for wrong in range(n_rows + 1):
            outcome = np.where(np.arange(n_rows) < wrong, 1 - value, value).astype(int)
            found.append(bc.evaluate(outcome, np.full(n_rows, value), draws=draws, rng=seed + wrong).ece.interval(PROB))
        return np.array(found)

    return ends


def of_top_labels(n_rows: int, draws: int, seed: int) -> Floats:
    """Intervals of the top-label ECE of probabilities that are 1 for one of three classes."""
    stated = np.arange(n_rows) % 3
    found = []
    for wrong in range(n_rows + 1):
        label = np.where(np.arange(n_rows) < wrong, (stated + 1) % 3, stated)
        evaluation = bc.evaluate(label, np.eye(3)[stated], classes=range(3), draws=draws, rng=seed + wrong)
        found.append(evaluation.ece.interval(PROB))
    return np.array(found)


def of_groups(n_rows: int, draws: int, seed: int) -> Floats:
    """Intervals of the ECE of groups with confidence 1, one for each number of contrary outcomes."""
    group, row = np.divmod(np.arange(n_rows * (n_rows + 1)), n_rows)
    outcome = (row >= group).astype(int)
    grouped = bc.evaluate(outcome, np.ones(len(outcome)), by=group, draws=draws, rng=seed, progress=False)
    return ends_of(grouped.draws("ece").values)


def of_risks(n_rows: int, draws: int, seed: int) -> Floats:
    """Intervals of the error at a horizon of risks of 0, for each number of events before it; nobody is censored."""
    found = []
    for events in range(n_rows + 1):
        time = np.where(np.arange(n_rows) < events, 1.0, 2.0)  # the last time must not lie before the horizon
        evaluation = bc.evaluate_survival(
            time, np.ones(n_rows, int), np.zeros(n_rows), horizon=1.0, draws=draws, rng=seed + events
        )
        found.append(evaluation.ece.interval(PROB))
    return np.array(found)


def ends_of(values: Floats) -> Floats:
    """Equal-tailed interval of each column, shape (n_columns, 2)."""
    return np.quantile(values, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0).T


ENUMERATED: dict[str, tuple[Callable[[int, int, int], Floats], tuple[int, ...]]] = {
    "all confidences 1": (of_one_column(1.0), SIZES),
    "all confidences 0": (of_one_column(0.0), SIZES),
    "groups": (of_groups, (GROUP,)),
    "top label of three classes": (of_top_labels, (TOP,)),
    "survival, risks 0": (of_risks, (RISKS,)),
}


def enumerated(job: tuple[Any, ...]) -> list[Row]:
    """One row per method: worst and mean coverage over the shares of wrong labels, and widths."""
    kind, n_rows, draws, rng = job
    by_method = {OURS: ENUMERATED[kind][0](n_rows, draws, int(rng.integers(2**31))).T}
    if kind == next(iter(ENUMERATED)):
        by_method |= {name: np.array(of(np.arange(n_rows + 1.0), n_rows, PROB)) for name, of in RIVALS.items()}
    rows = []
    for method, (low, high) in by_method.items():
        coverage = binomial_coverage(low, high, RATES)
        widths = expected_width(low, high, [*RATES, SMALL])
        numbers = {
            "worst": float(coverage.min()),
            "at": float(RATES[coverage.argmin()]),
            "mean": float(coverage.mean()),
        }
        numbers |= {"width": float(widths[:-1].mean()), "width_small": float(widths[-1])}
        rows.append({"kind": kind, "n_rows": n_rows, "method": method, **numbers})
    return rows


# ------------------------------------------------------------------------------------------------ by simulation
def of_hard_predictions(n_rows: int, rate: float, sets: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Intervals of the ECE of predictions 0 and 1 that are wrong at random."""
    stated = rng.integers(0, 2, n_rows * sets)
    outcome = np.where(rng.random(n_rows * sets) < rate, 1 - stated, stated)
    of = np.repeat(np.arange(sets), n_rows)
    grouped = bc.evaluate(outcome, stated.astype(float), by=of, draws=FEWER, rng=rng, progress=False)
    return ends_of(grouped.draws("ece").values), rate


def of_comparison(n_rows: int, rates: tuple[float, float], sets: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Intervals of the difference of ECEs of two models with predictions 0 and 1 on the same rows."""
    found = []
    for _ in range(sets):
        outcome = rng.integers(0, 2, n_rows)
        stated = {name: np.abs(outcome - (rng.random(n_rows) < rate)) for name, rate in zip("ab", rates, strict=True)}
        compared = bc.compare(outcome, {name: p.astype(float) for name, p in stated.items()}, draws=FEWER, rng=rng)
        found.append(compared.difference("a", "b").interval(PROB))
    return np.array(found), rates[0] - rates[1]


def of_clusters(n_rows: int, rate: float, sets: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Intervals of the ECE of confidences of 1 if wrong labels come in clusters."""
    cluster, scale = np.arange(n_rows) // CLUSTER, 1 / CORRELATION - 1
    found = []
    for _ in range(sets):
        wrong = rng.random(n_rows) < rng.beta(rate * scale, (1 - rate) * scale, n_rows)[cluster]
        evaluation = bc.evaluate((~wrong).astype(int), np.ones(n_rows), cluster=cluster, draws=FEWER, rng=rng)
        found.append(evaluation.ece.interval(PROB))
    return np.array(found), rate


def of_censored(n_rows: int, rate: float, sets: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Intervals of the error of risks of 0 at the horizon 1, with exponential times of events and of censoring."""
    found = []
    for _ in range(sets):
        event, lost = rng.exponential(-1 / np.log1p(-rate), n_rows), rng.exponential(2.0, n_rows)
        evaluation = bc.evaluate_survival(
            np.minimum(event, lost), (event <= lost).astype(int), np.zeros(n_rows), horizon=1.0, draws=FEWER, rng=rng
        )
        found.append(evaluation.ece.interval(PROB))
    return np.array(found), rate


SIMULATED: dict[str, Callable[..., tuple[Floats, float]]] = {
    "hard predictions": of_hard_predictions,
    "compare, hard predictions": of_comparison,
    "clusters of five rows, confidence 1": of_clusters,
    "survival, risks 0, censored": of_censored,
}
CELLS: tuple[tuple[str, int, Any], ...] = (
    *(("hard predictions", n, rate) for n in HARD_SIZES for rate in HARD_RATES),
    *(("compare, hard predictions", n, (first, second)) for n, first, second in PAIRS),
    *(("clusters of five rows, confidence 1", n, rate) for n in (50, 200) for rate in (0.1, 0.3)),
    *(("survival, risks 0, censored", n, rate) for n in (50, 200) for rate in (0.1, 0.3)),
)


def simulated(job: tuple[Any, ...]) -> list[Row]:
    """Coverage in simulated data sets."""
    kind, n_rows, setting, sets, rng = job
    ends, truth = SIMULATED[kind](n_rows, setting, sets, rng)
    return coverage_rows({"kind": kind, "n_rows": n_rows, "truth": truth}, {OURS: ends}, truth)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Compute exact coverages, and simulate where they cannot be computed."""
    first, second = np.random.default_rng(SEED).spawn(2)
    places = [(kind, n) for kind, (_, sizes) in ENUMERATED.items() for n in sizes if not options.quick or n <= GROUP]
    exact = rows_of_jobs(
        enumerated, jobs_of(places, options.draws, rng=first), workers=options.workers, description="enumeration"
    )
    chosen = CELLS[::4] if options.quick else CELLS
    others = rows_of_jobs(
        simulated, jobs_of(chosen, options.repeats, rng=second), workers=options.workers, description="simulation"
    )
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws, "fewer_draws": FEWER}
    return {
        **about(SEED, settings),
        "exact_columns": list(EXACT_COLUMNS),
        "exact": rows_of(EXACT_COLUMNS, exact),
        "columns": list(COLUMNS),
        "simulated": rows_of(COLUMNS, others),
    }


def rows_in(numbers: dict[str, Any], part: str) -> Iterator[Row]:
    """Stored rows of a part as dicts."""
    columns = numbers["exact_columns" if part == "exact" else "columns"]
    return (dict(zip(columns, row, strict=True)) for row in numbers[part])


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    exact, others = (list(rows_in(numbers, part)) for part in ("exact", "simulated"))
    (error,) = errors_near(PROB, numbers["repeats"])
    mine = [row for row in exact if row["method"] == OURS]
    worst = min(mine, key=lambda row: row["worst"])
    least = min(others, key=lambda row: row["coverage"])
    conditions = (
        f"bayescal {numbers['bayescal']}: {numbers['draws']} draws for each number of wrong labels in the enumeration; "
        f"{numbers['repeats']} data sets per simulated cell,\n{numbers['fewer_draws']} draws, seed {numbers['seed']}. "
        f"The standard error of one simulated share near {PROB:g} is {error}.\n\n"
        f"Least exact coverage: {worst['worst']:.3f} ({worst['kind']}, {worst['n_rows']} rows, share wrong "
        f"{worst['at']:g}). Mean: {np.mean([row['mean'] for row in mine]):.3f}.\n"
        f"Least simulated coverage: {least['coverage']:.3f} ({least['kind']}, {least['n_rows']} rows, true value "
        f"{least['truth']:.3g}).\n"
    )
    head = "Predictions | Rows: | Method | Worst coverage: | At a share wrong of: | Mean coverage: | Mean width: | "
    form = "{kind}|{n_rows}|{method}|{worst:.3f}|{at:.2f}|{mean:.3f}|{width:.4f}|{width_small:.4f}"
    of_simulated = "{kind}|{n_rows}|{truth:.3g}|{coverage:.3f}|{above:.3f}|{width:.4f}"
    return {
        "conditions": conditions,
        "exact": table(head + f"Width at {SMALL:g}:", cells(exact, form)),
        "simulated": table(
            "Predictions | Rows: | True value: | Coverage: | Truth above: | Width:", cells(others, of_simulated)
        ),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="saturated.json",
        page="saturated.md",
        save=save_parts,
        shown=("conditions", "exact", "simulated"),
        repeats=(400, 10),
        draws=(20_000, 1000),
    )
