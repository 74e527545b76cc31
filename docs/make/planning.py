"""Measure how often the rows of a plan reach its goal, for truths from the posterior of the pilot and for known truths;
write docs/explanation/plans.md: part of `make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from studies import FEWER_DRAWS, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve, true_ece

SEED, PROB, ASSURANCE, STUDIES = 12, 0.95, 0.8, (240, 6)
#: The goals; rows of a pilot; largest plan; draws of a simulated study.
GOALS = ({"below": 0.03}, {"width": 0.03})
PILOT, LARGEST, DRAWS = 300, 50_000, 300
#: Simulated studies of a plan, and with --quick. Each plan is followed by this many sets of new rows of either kind.
SIMULATIONS, SETS = (200, 20), 4
#: The share of all studies that each goal has.
TIMES = (1, 0.35)
#: Curves with the range from which a study draws the strength.
CURVES = {"calibrated": None, "temperature": (1.0, 1.4), "shift": (0.0, 0.3), "wave": (0.0, 0.05)}
COLUMNS = ("goal", "population", "curve", "truth", "outcome", "rows", "reachable", "same", "posterior")
PLANNED, ENOUGH, UNREACHABLE, TOO_MANY = "planned", "pilot enough", "not reachable", "more than the largest"


def study(job: tuple[dict[str, float], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """One study: a truth, a pilot, the plan, and the rows that it asks for.

    The new rows come from the same truth, and from truths of the posterior of the pilot.
    """
    goal, draws, simulations, rng = job
    population = str(rng.choice(list(POPULATIONS)))
    name = str(rng.choice(list(CURVES)))
    ends = CURVES[name]
    curve = true_curve(name, None if ends is None else float(rng.uniform(*ends)))
    pilot = counts(PILOT, population, curve, rng)
    plan = bc.planning.labels_needed(
        pilot,
        **goal,
        assurance=ASSURANCE,
        prob=PROB,
        largest=LARGEST,
        simulations=simulations,
        draws=min(DRAWS, draws),
        rng=rng,
    )
    row = {"goal": " ".join(f"{kind} {size:g}" for kind, size in goal.items()), "population": population}
    row |= {"curve": str(curve), "truth": true_ece(population, curve), "rows": plan.rows or 0}
    row |= {"reachable": plan.reachable, "outcome": outcome(plan), "same": 0.0, "posterior": 0.0}
    if plan.rows:
        n, truths = plan.rows, bc.shrinkage_posterior(pilot).sample(SETS, rng=rng)
        new = {
            "same": [counts(n, population, curve, rng) for _ in range(SETS)],
            "posterior": [counts_of_truth(n, pilot, truths, i, rng) for i in range(SETS)],
        }
        row |= {kind: float(np.mean([met(pilot + of, goal, draws, rng) for of in sets])) for kind, sets in new.items()}
    return [row]


def met(after: bc.BinnedCounts, goal: dict[str, float], draws: int, rng: np.random.Generator) -> bool:
    """Whether the evaluation of all rows meets the goal."""
    ece = bc.evaluate_counts(after, draws=draws, rng=rng).ece
    low, high = ece.interval(PROB)
    return bool(ece.pr(lambda e: e < goal["below"]) >= PROB if "below" in goal else high - low <= goal["width"])


def counts_of_truth(n_rows: int, pilot: bc.BinnedCounts, truths: Any, i: int, rng: np.random.Generator) -> Any:
    """Counts of rows that are drawn one by one from the truth number i."""
    at = rng.choice(len(pilot.bins), size=n_rows, p=truths.mass[i])
    confidence = np.clip(np.broadcast_to(truths.confidence, truths.accuracy.shape)[i], 0, 1)[at]
    return bc.BinnedCounts.from_arrays(rng.random(n_rows) < truths.accuracy[i][at], confidence)


def counts(n_rows: int, population: str, curve: Any, rng: np.random.Generator) -> bc.BinnedCounts:
    """Counts of simulated rows."""
    rows = simulate(n_rows, population=population, curve=curve, rng=rng)
    return bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence)


def outcome(plan: bc.Plan) -> str:
    """What the plan says."""
    if plan.rows is None:
        return TOO_MANY if plan.simulated else UNREACHABLE
    return PLANNED if plan.rows else ENOUGH


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All studies of all goals."""
    chosen = [
        (goal,) for goal, times in zip(GOALS, TIMES, strict=True) for _ in range(max(int(times * options.repeats), 1))
    ]
    simulations = SIMULATIONS[options.quick]
    jobs = jobs_of(chosen, options.draws, simulations, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(study, jobs, workers=options.workers)
    settings = {"prob": PROB, "assurance": ASSURANCE, "repeats": options.repeats, "draws": options.draws}
    settings |= {"simulations": simulations, "sets": SETS}
    return measured(SEED, settings, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions, one line per goal, and one line per kind of truth, by the name of their marker."""
    rows = rows_again(numbers)
    goals = list(dict.fromkeys(row["goal"] for row in rows))
    by_goal = {goal: [row for row in rows if row["goal"] == goal] for goal in goals}
    head = "Goal | Studies: | Pilot enough: | Not reachable: | of them truth beyond: | Above the largest: | Planned: | "
    form = "{goal}|{studies}|{enough}|{unreachable}|{beyond}|{too_many}|{planned}|{rows}|{posterior}|{same}"
    overall = table(
        head + "Median rows: | Goal met, truths from the posterior: | Goal met, same truth:",
        cells([_line(goal, of) for goal, of in by_goal.items()], form),
    )
    kinds = [line for goal, of in by_goal.items() for line in _lines_of_truths(goal, of)]
    by_truth = table(
        "Goal | Truth | Planned: | Median rows: | Goal met, truths from the posterior: | Goal met, same truth:",
        cells(kinds, "{goal}|{truth}|{planned}|{rows}|{posterior}|{same}"),
    )
    about = (
        f"bayescal {numbers['bayescal']}: pilots of {PILOT} rows, assurance {numbers['assurance']:g},\nat most "
        f"{LARGEST} rows, {numbers['simulations']} simulated studies per plan with {DRAWS} draws each; then "
        f"{numbers['sets']} sets of new rows of either kind\nper plan, evaluated with {numbers['draws']} draws. Seed "
        f"{numbers['seed']}.\n"
    )
    return {"conditions": about, "overall": overall, "by_truth": by_truth}


def _line(goal: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers of one goal."""
    by = {each: [row for row in rows if row["outcome"] == each] for each in (PLANNED, ENOUGH, UNREACHABLE, TOO_MANY)}
    kind, size = goal.split(" ")
    beyond = sum(row["truth"] >= float(size) for row in by[UNREACHABLE]) if kind == "below" else "-"
    return {
        "goal": goal,
        "studies": len(rows),
        "enough": len(by[ENOUGH]),
        "unreachable": len(by[UNREACHABLE]),
        "beyond": beyond,
        "too_many": len(by[TOO_MANY]),
        **_shares(by[PLANNED]),
    }


def _lines_of_truths(goal: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Numbers of the planned studies of one goal by population, by curve and, for a limit, by the side of the truth."""
    planned = [row for row in rows if row["outcome"] == PLANNED]
    kind, size = goal.split(" ")
    parts = {f"population {name}": [r for r in planned if r["population"] == name] for name in POPULATIONS}
    parts |= {name: [r for r in planned if r["curve"].split(" ")[0] == name] for name in CURVES}
    if kind == "below":
        parts |= {
            "true ECE within the limit": [r for r in planned if r["truth"] < float(size)],
            "true ECE beyond the limit": [r for r in planned if r["truth"] >= float(size)],
        }
    return [{"goal": goal, "truth": name, **_shares(part)} for name, part in parts.items() if part]


def _shares(planned: list[dict[str, Any]]) -> dict[str, Any]:
    """Number of planned studies, median rows, and shares that meet the goal with standard errors over studies."""
    shares = {}
    for kind in ("posterior", "same"):
        values = np.array([row[kind] for row in planned])
        error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
        shares[kind] = f"{values.mean():.2f}{error}" if len(values) else "-"
    rows = int(np.median([row["rows"] for row in planned])) if planned else "-"
    return {"planned": len(planned), "rows": rows, **shares}


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="planning.json",
        page="plans.md",
        repeats=STUDIES,
        draws=FEWER_DRAWS,
    )
