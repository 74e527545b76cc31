"""Measure P-values of cumulative differences where they are known to be inaccurate: few rare outcomes, few rows, heavy
weights, many rows with one score, and subpopulations that are most of the rows or have other variances; write
docs/explanation/cumulative.md: part of `make coverage`.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import cells, rows_again, table
from studies import jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.cumulative.statistics import FEW_RARE_OUTCOMES

SEED, SIMULATIONS = 17, 199
LEVELS = (0.05, 0.01)
#: Rows, mean of the scores (none: uniform scores), and whether weights are lognormal, or the share of rows at 0.5.
ROWS: tuple[tuple[int, float | None, bool | float], ...] = (
    (10, 0.02, False),
    (50, 0.02, False),
    (200, 0.02, False),
    (500, 0.02, False),
    (1000, 0.02, False),
    (200, 0.05, True),
    (1000, 0.05, True),
    (30, None, False),
    (200, None, True),
    (400, None, 0.3),
    (2000, None, 0.3),
    (2000, None, 0.5),
)
#: Rows, share of the subpopulation, and whether scores are rounded to 0.01.
MEMBERS = ((400, 0.9, False), (400, 0.9, True), (4000, 0.9, False), (4000, 0.9, True), (400, 0.5, True))
#: Standard deviations of members and of others, by score.
SPREADS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "equal": (np.ones_like, np.ones_like),
    "members 3 x": (lambda score: 3 + 0 * score, np.ones_like),
    "others 3 x": (np.ones_like, lambda score: 3 + 0 * score),
    "members fall, others rise": (lambda score: 2.1 - 2 * score, lambda score: 0.1 + score),
}
#: Rows, share of the subpopulation, and standard deviations.
VARIANCES = tuple((1000, part, spread) for spread in SPREADS for part in (0.1, 0.5))
COLUMNS = (
    "kind", "n_rows", "cell", "rare", "remark", "kuiper_5", "kuiper_1", "smirnov_5", "smirnov_1", "simulated_5",
    "simulated_1",
)  # fmt: skip


def p_values(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return one row: shares of rejections, and of results with a remark."""
    kind, (n_rows, centre, special), repeats, rng = job
    measure = {"rows": of_rows, "members": of_subpopulation, "variances": of_groups}[kind]
    drawn = np.array([measure(n_rows, centre, special, rng) for _ in range(repeats)])
    names = ("kuiper", "smirnov", "simulated")
    shares = {f"{name}_{100 * at:g}": share(drawn[:, i], at) for i, name in enumerate(names) for at in LEVELS}
    cell = words(centre, special) if kind == "rows" else member_words(centre, special is True)
    cell += f", standard deviations: {special}" * (kind == "variances")
    about = {"rare": float(np.median(drawn[:, 3])), "remark": float(drawn[:, 4].mean())}
    return [{"kind": kind, "n_rows": n_rows, "cell": cell, **about, **shares}]


def share(values: NDArray[np.float64], level: float) -> float:
    """Share of P-values up to a level; NaN where there are none."""
    return float("nan") if np.isnan(values).any() else float(np.mean(values <= level))


def words(centre: float | None, special: bool | float) -> str:
    """Scores and weights of a cell."""
    scores = "uniform scores" if centre is None else f"scores near {centre:g}"
    if isinstance(special, bool):
        return scores + ", lognormal weights" * special
    return f"{scores}, but {100 * special:g} % of them 0.5"


def member_words(part: float, tied: bool) -> str:
    """Size and scores of a subpopulation."""
    return f"{100 * part:g} % of the rows" + ", scores rounded to 0.01" * tied


def of_rows(n_rows: int, centre: float | None, special: bool | float, rng: np.random.Generator) -> tuple[float, ...]:
    """P-values of one calibrated data set: of Brownian motion, and simulated."""
    score = rng.random(n_rows) if centre is None else rng.beta(100 * centre, 100 * (1 - centre), n_rows)
    weights = rng.lognormal(size=n_rows) if special is True else None
    if not isinstance(special, bool):
        score[: round(special * n_rows)] = 0.5
    cd = bc.cumulative_difference(rng.random(n_rows) < score, score, weights=weights)
    simulated = cd.simulated_p_values(SIMULATIONS, rng=rng).kuiper
    return cd.p_kuiper, cd.p_kolmogorov_smirnov, simulated, cd.scale.rare, warned(cd)


def of_subpopulation(n_rows: int, part: float, tied: bool, rng: np.random.Generator) -> tuple[float, ...]:
    """P-values of a random subpopulation, which does not differ."""
    score = rng.random(n_rows)
    outcome, member = rng.random(n_rows) < score, rng.random(n_rows) < part
    sub = bc.cumulative_difference_subpopulation(outcome, score.round(2) if tied else score, member)
    return sub.p_kuiper, sub.p_kolmogorov_smirnov, np.nan, np.nan, warned(sub)


def of_groups(n_rows: int, part: float, spread: str, rng: np.random.Generator) -> tuple[float, ...]:
    """P-values of a subpopulation with the same mean, against the full population, and against other rows."""
    score, member = rng.random(n_rows), rng.random(n_rows) < part
    response = rng.normal(0, np.where(member, *(each(score) for each in SPREADS[spread])))
    sub = bc.cumulative.subpopulation(response, score, member)
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member)
    return sub.p_kuiper, sub.p_kolmogorov_smirnov, compared.p_kuiper, np.nan, warned(sub)


def warned(result: Any) -> bool:
    """Whether a remark says that P-values are inaccurate."""
    return any(remark.startswith("The P-values ") for remark in result.sheet().remarks)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study."""
    chosen = [("rows", cell) for cell in ROWS] + [("members", cell) for cell in MEMBERS]
    chosen += [("variances", cell) for cell in VARIANCES]
    jobs = jobs_of(chosen, options.repeats, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(p_values, jobs, workers=options.workers, description="weak P-values")
    return measured(SEED, {"repeats": options.repeats, "simulations": SIMULATIONS}, COLUMNS, rows)


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows, repeats = rows_again(numbers), numbers["repeats"]
    errors = ", ".join(f"{np.sqrt(level * (1 - level) / repeats):.4f}" for level in LEVELS)
    of_rows, of_members, of_variances = (
        [row for row in rows if row["kind"] == kind] for kind in ("rows", "members", "variances")
    )
    simulated = "{simulated_5:.3f}|{simulated_1:.3f}"
    shares = "{kuiper_5:.3f}|{kuiper_1:.3f}|{smirnov_5:.3f}|{smirnov_1:.3f}"
    return {
        "weak_conditions": (
            f"bayescal {numbers['bayescal']}: {repeats} calibrated data sets per row of the tables, seed "
            f"{numbers['seed']}; {numbers['simulations']} simulations\nper P-value. The standard errors of the shares "
            f"are {errors}. A remark on rare outcomes needs fewer than {FEW_RARE_OUTCOMES}.\n"
        ),
        "weak_rows": table(
            "Rows: | Data | Rare outcomes: | Remark: | Kuiper P <= 0.05: | P <= 0.01: | K.-S. P <= 0.05: | "
            "P <= 0.01: | Simulated Kuiper P <= 0.05: | P <= 0.01:",
            cells(of_rows, "{n_rows}|{cell}|{rare:.1f}|{remark:.2f}|" + shares + "|" + simulated),
        ),
        "weak_members": table(
            "Rows: | Subpopulation | Remark: | Kuiper P <= 0.05: | P <= 0.01: | K.-S. P <= 0.05: | P <= 0.01:",
            cells(of_members, "{n_rows}|{cell}|{remark:.2f}|" + shares),
        ),
        "weak_variances": table(
            "Rows: | Subpopulation | Kuiper P <= 0.05: | P <= 0.01: | K.-S. P <= 0.05: | P <= 0.01: | "
            "Two groups, Kuiper P <= 0.05: | P <= 0.01:",
            cells(of_variances, "{n_rows}|{cell}|" + shares + "|" + simulated),
        ),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="cumulative_weak.json",
        page="cumulative.md",
        command="docs/make/cumulative_weak.py",
        shown=("weak_conditions", "weak_rows", "weak_members", "weak_variances"),
        repeats=(2000, 60),
    )
