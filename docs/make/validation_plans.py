"""Measure how often validations with the planned rows meet their goal, over truths and rows; write
docs/explanation/plans.md: part of `make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit
from studies import measured, rows_of_jobs, run_study

import bayescal as bc

SEED, PROB, ASSURANCE, STUDIES, DRAWS = 45, 0.95, 0.8, (800, 6), (4000, 200)
#: Populations by name: the published numbers, the threshold, and goals.
POPULATIONS: dict[str, tuple[dict[str, Any], float | None, dict[str, float]]] = {
    "known, calibrated": (
        {"prevalence": 0.1, "auc": 0.8},
        None,
        {"observed_expected": 0.25, "slope": 0.3, "in_the_large": 0.3},
    ),
    "known, miscalibrated": (
        {"prevalence": 0.3, "auc": 0.7, "slope": 0.8, "observed_expected": 1.2},
        0.2,
        {"slope": 0.3, "auc": 0.08, "net_benefit": 0.05},
    ),
    "uncertain": (
        {
            "prevalence": (0.1, 0.08, 0.125),
            "auc": (0.8, 0.77, 0.83),
            "slope": (0.95, 0.8, 1.1),
            "observed_expected": (1.0, 0.8, 1.25),
        },
        None,
        {"observed_expected": 0.25, "slope": 0.3, "auc": 0.1},
    ),
    "uncertain, rare": (
        {"prevalence": (0.05, 0.03, 0.075), "auc": (0.75, 0.7, 0.8)},
        None,
        {"in_the_large": 0.4, "ece": 0.015, "ici": 0.02},
    ),
}
COLUMNS = ("population", "goal", "width", "rows_on_average", "rows", "textbook", "bayescal", "median", "repeats")
#: Rows of the plan, and those of the search for a distribution of risks.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)
Z = 1.959964


def study(job: tuple[str, str, int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """One goal in one population: the plan, and studies with its rows."""
    name, goal, repeats, draws, rng = job
    numbers, threshold, goals = POPULATIONS[name]
    plan = bc.planning.validation(**numbers, threshold=threshold, width={goal: goals[goal]}, rng=rng)
    (row,), widths = plan.table(), []
    for _ in range(repeats):
        y, p = rows_of_truth({key: drawn(key, value, rng) for key, value in numbers.items()}, row["rows"], rng)
        widths.append((textbook(goal, y, p, threshold), interval_width(goal, y, p, threshold, draws, rng)))
    of_textbook, of_bayescal = np.array(widths).T
    met = {"textbook": float(np.mean(of_textbook <= goals[goal])) if np.isfinite(of_textbook).all() else None}
    met |= {"bayescal": float(np.mean(of_bayescal <= goals[goal])), "median": float(np.median(of_bayescal))}
    sizes = {"rows_on_average": row["rows_on_average"], "rows": row["rows"]}
    return [{"population": name, "goal": goal, "width": goals[goal], **sizes, **met, "repeats": repeats}]


def drawn(name: str, value: Any, rng: np.random.Generator) -> float:
    """A true value, from the distribution that the documentation of `validation` states."""
    if not isinstance(value, tuple):
        return float(value)
    mean, low, high = value
    if name == "slope":
        return float(rng.normal(mean, (high - low) / (2 * Z)))
    if name == "observed_expected":
        return float(mean * np.exp(rng.normal(0, np.log(high / low) / (2 * Z))))

    def excess(total: float) -> float:
        ends = stats.beta(mean * total, (1 - mean) * total).ppf([0.025, 0.975])
        return float(ends[1] - ends[0] - (high - low))

    total = brentq(excess, 2, 1e6)
    return float(rng.beta(mean * total, (1 - mean) * total))


def rows_of_truth(truth: dict[str, float], n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Outcomes and predicted risks: true risks are logit-normal with the prevalence and the AUC."""
    phi, auc = truth["prevalence"], truth["auc"]

    def centre(sd: float) -> float:
        return float(brentq(lambda mu: WEIGHTS @ expit(mu + sd * NODES) / WEIGHTS.sum() - phi, -60, 60))

    def excess(sd: float) -> float:
        x = centre(sd) + sd * np.linspace(-8, 8, 2001)
        w = stats.norm.pdf(np.linspace(-8, 8, 2001))
        events, others = w * expit(x), w * expit(-x)
        return float(events @ (np.cumsum(others) - others / 2) / (events.sum() * others.sum()) - auc)

    sd = brentq(excess, 0.01, 8, xtol=1e-6)
    true = centre(sd) + sd * rng.standard_normal(n)
    slope = truth.get("slope", 1.0)
    mean = phi / truth.get("observed_expected", 1.0)
    log_odds = (centre(sd) + sd * NODES) / slope
    shift = brentq(lambda a: WEIGHTS @ expit(log_odds + a) / WEIGHTS.sum() - mean, -40, 40)
    return (rng.random(n) < expit(true)).astype(int), expit(true / slope + shift)


def textbook(goal: str, y: Any, p: Any, threshold: float | None) -> float:
    """Width of the usual interval: Wald, on the log scale for observed / expected, Newcombe for the AUC."""
    n, phi, x = len(y), y.mean(), logit(p)
    if goal == "observed_expected":
        return float(2 * phi / p.mean() * np.sinh(Z * np.sqrt((1 - phi) / (n * phi))))
    if goal == "auc":
        c = (stats.rankdata(p)[y == 1].mean() - (y.sum() + 1) / 2) / (n - y.sum())
        factor = 1 + (n / 2 - 1) * ((1 - c) / (2 - c) + c / (1 + c))
        return float(2 * Z * np.sqrt(c * (1 - c) * factor / (n**2 * phi * (1 - phi))))
    if goal == "net_benefit":
        gain = np.where(p >= threshold, np.where(y == 1, 1.0, -threshold / (1 - threshold)), 0.0)
        return float(2 * Z * gain.std() / np.sqrt(n))
    if goal not in ("slope", "in_the_large"):
        return float("nan")
    design = np.stack([np.ones(n), x if goal == "slope" else np.zeros(n)])[: 2 if goal == "slope" else 1]
    fitted, offset = np.zeros(len(design)), 0.0 if goal == "slope" else x
    for _ in range(30):
        q = expit(offset + fitted @ design)
        information = (design * (q * (1 - q))) @ design.T
        fitted = fitted + np.linalg.solve(information, design @ (y - q))
    return float(2 * Z * np.sqrt(np.linalg.inv(information)[-1, -1]))


def interval_width(goal: str, y: Any, p: Any, threshold: float | None, draws: int, rng: np.random.Generator) -> float:
    """Width of the interval of this package."""
    options = {"draws": draws, "rng": rng}
    if goal == "slope":
        low, high = bc.clinical.recalibration(y, p, **options).exact_interval("slope")
    elif goal in ("observed_expected", "in_the_large"):
        low, high = getattr(bc.clinical.recalibration(y, p, **options), goal).interval(PROB)
    elif goal == "net_benefit":
        low, high = (row := bc.decisions.net_benefit(y, p, [threshold], **options).table(PROB)[0])["low"], row["high"]
    elif goal == "ici":
        low, high = bc.clinical.calibration_curve(y, p, **options).ici.interval(PROB)
    else:
        low, high = getattr(bc.evaluate(y, p, **options), goal).interval(PROB)
    return float(high - low)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All studies of all goals; with --quick, those of every fourth."""
    chosen = [(name, goal) for name, (_, _, goals) in POPULATIONS.items() for goal in goals]
    streams = np.random.default_rng(SEED).spawn(len(chosen))
    jobs = [(*each, options.repeats, options.draws, stream) for each, stream in zip(chosen, streams, strict=True)]
    rows = rows_of_jobs(study, jobs[:: 4 if options.quick else 1], workers=options.workers)
    settings = {"prob": PROB, "assurance": ASSURANCE, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions, and one line per goal and population, by the name of their marker."""
    lines = [{**row, "textbook": "-" if row["textbook"] is None else f"{row['textbook']:.2f}"}
             for row in rows_again(numbers)]  # fmt: skip
    head = "Published numbers | Goal | Width: | Rows on average: | Rows with assurance: | Met, textbook: | "
    form = "{population}|{goal}|{width:g}|{rows_on_average}|{rows}|{textbook}|{bayescal:.2f}|{median:.3f}"
    about = (
        f"bayescal {numbers['bayescal']}: assurance {numbers['assurance']:g}, {numbers['repeats']} studies per line, "
        f"each with\na truth of its own and {numbers['draws']} draws. Seed {numbers['seed']}.\n"
    )
    return {
        "conditions_validation": about,
        "validation": table(head + "Met, bayescal: | Median width, bayescal:", cells(lines, form)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="validation_plans.json",
        page="plans.md",
        shown=("validation",),
        repeats=STUDIES,
        draws=DRAWS,
    )
