"""Measure how often the rows of a plan reach its goal on populations with a known truth; write
docs/explanation/plans.md: part of `make coverage`.
"""

import argparse
from typing import Any

import numpy as np
from pages import cells, rows_again, table
from studies import FEWER_DRAWS, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import POPULATIONS, simulate, true_curve, true_ece

SEED, PROB, ASSURANCE, STUDIES = 12, 0.95, 0.8, (200, 3)
#: The goals; rows of a pilot; largest plan; simulated futures of a plan, and draws of each.
GOALS = ({"below": 0.03}, {"width": 0.03})
PILOT, LARGEST, SIMULATIONS, DRAWS = 300, 50_000, 40, 300
#: The share of all studies that each goal has.
TIMES = (1, 0.4)
#: Curves with the range from which a study draws the strength.
CURVES = {"calibrated": None, "temperature": (1.0, 1.4), "shift": (0.0, 0.3), "wave": (0.0, 0.05)}
COLUMNS = ("goal", "population", "curve", "truth", "outcome", "rows", "reachable", "met")
PLANNED, ENOUGH, UNREACHABLE, TOO_MANY = "planned", "pilot enough", "not reachable", "more than the largest"


def study(job: tuple[dict[str, float], int, np.random.Generator]) -> list[dict[str, Any]]:
    """One study: a truth, a pilot, the plan, and the rows that it asks for."""
    goal, draws, rng = job
    population = str(rng.choice(list(POPULATIONS)))
    name = str(rng.choice(list(CURVES)))
    ends = CURVES[name]
    curve = true_curve(name, None if ends is None else float(rng.uniform(*ends)))
    pilot = counts(PILOT, population, curve, rng)
    plan = bc.labels_needed(
        pilot,
        **goal,
        assurance=ASSURANCE,
        prob=PROB,
        largest=LARGEST,
        simulations=SIMULATIONS,
        draws=min(DRAWS, draws),
        rng=rng,
    )
    row = {"goal": " ".join(f"{kind} {size:g}" for kind, size in goal.items()), "population": population}
    row |= {"curve": str(curve), "truth": true_ece(population, curve), "rows": plan.rows or 0}
    row |= {"reachable": plan.reachable, "outcome": outcome(plan), "met": 0}
    if plan.rows:
        after = bc.evaluate_counts(pilot + counts(plan.rows, population, curve, rng), draws=draws, rng=rng).ece
        low, high = after.interval(PROB)
        met = after.pr(lambda e: e < goal["below"]) >= PROB if "below" in goal else high - low <= goal["width"]
        row["met"] = int(met)
    return [row]


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
    jobs = jobs_of(chosen, options.draws, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(study, jobs, workers=options.workers)
    settings = {"prob": PROB, "assurance": ASSURANCE, "repeats": options.repeats, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and one line per goal, by the name of their marker."""
    rows = rows_again(numbers)
    lines = [
        _line(goal, [row for row in rows if row["goal"] == goal]) for goal in dict.fromkeys(r["goal"] for r in rows)
    ]
    head = "Goal | Studies: | Pilot enough: | Not reachable: | of them truth beyond: | Above the largest: | Planned: | "
    form = "{goal}|{studies}|{enough}|{unreachable}|{beyond}|{too_many}|{planned}|{rows}|{met}|{error}"
    overall = table(head + "Median rows: | Goal met: | Standard error:", cells(lines, form))
    about = (
        f"bayescal {numbers['bayescal']}: pilots of {PILOT} rows, assurance "
        f"{numbers['assurance']:g},\nat most {LARGEST} rows, {SIMULATIONS} simulated futures per plan with {DRAWS} "
        f"draws each, seed {numbers['seed']}.\n"
    )
    return {"conditions": about, "overall": overall}


def _line(goal: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers of one goal."""
    by = {each: [row for row in rows if row["outcome"] == each] for each in (PLANNED, ENOUGH, UNREACHABLE, TOO_MANY)}
    kind, size = goal.split(" ")
    beyond = sum(row["truth"] >= float(size) for row in by[UNREACHABLE]) if kind == "below" else "-"
    planned = by[PLANNED]
    share = float(np.mean([row["met"] for row in planned])) if planned else float("nan")
    return {
        "goal": goal,
        "studies": len(rows),
        "enough": len(by[ENOUGH]),
        "unreachable": len(by[UNREACHABLE]),
        "beyond": beyond,
        "too_many": len(by[TOO_MANY]),
        "planned": len(planned),
        "rows": int(np.median([row["rows"] for row in planned])) if planned else "-",
        "met": f"{share:.2f}",
        "error": f"{np.sqrt(share * (1 - share) / max(len(planned), 1)):.2f}",
    }


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
