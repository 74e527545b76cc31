"""Measure comparisons over several data sets: coverage of mean differences over them and over their population, and
false alarms of tests on plug-in ECEs; write docs/explanation/several_data_sets.md: part of `make coverage`.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import cells, table
from scipy import stats
from scipy.special import expit, logit
from studies import errors_near, jobs_of, measured, rows_of_jobs, run_study

import bayescal as bc
from bayescal.datasets.simulate import BetaPopulation
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]

SEED, PROB, ROWS, ROPE = 23, 0.95, 1000, 0.01
#: Data sets of one repeat, from which disjoint collections of each size are taken.
SIZES, MOST = (3, 5, 10, 30), 30
POPULATION = BetaPopulation(1.0, 1.0, name="flat")
#: Mean ECE of both classifiers, mean difference, and standard deviation between data sets.
BASE = 0.06
CELLS = (
    *(("alike", mean, spread) for mean in (0.0, 0.03) for spread in (0.0, 0.01, 0.04)),
    ("unlike", 0.0, 0.0),
    ("calibrated", 0.0, 0.0),
)
#: Critical value of Nemenyi's test for three classifiers at 5 % (Demsar 2006, table 5a).
NEMENYI = 2.343
COLUMNS = (
    *("kind", "mean", "spread", "n_sets", "repeats", "fixed", "fixed_width", "population", "population_width"),
    *("new", "excludes_0", "population_excludes_0", "decided", "t_test", "wilcoxon", "friedman", "nemenyi"),
)
#: True probabilities at equal shares of the population, and shifts and factors of the logit, for true errors.
Q = (np.arange(20_000) + 0.5) / 20_000
SHIFTS, FACTORS = np.linspace(0.0, 2.0, 201), np.linspace(1.0, 3.0, 201)


def true_ece(score: Floats) -> float:
    """Expected calibration error, 15 bins, of scores at the probabilities `Q`."""
    place = np.minimum((score * 15).astype(int), 14)
    return float(np.abs(np.bincount(place, score - Q, 15)).sum() / len(Q))


OF_SHIFTS = np.array([true_ece(expit(logit(Q) + shift)) for shift in SHIFTS])
OF_FACTORS = np.array([true_ece(expit(factor * logit(Q))) for factor in FACTORS])


def shifted(q: Floats, error: float, sign: int) -> Floats:
    """Scores that are all too high or all too low, with this true ECE; both have the same bias of the plug-in ECE."""
    scores: Floats = expit(logit(q) + sign * np.interp(error, OF_SHIFTS, SHIFTS))
    return scores


def sharp(q: Floats, error: float) -> Floats:
    """Overconfident scores with this true ECE."""
    scores: Floats = expit(np.interp(error, OF_FACTORS, FACTORS) * logit(q))
    return scores


def coarse(q: Floats, error: float, groups: int) -> Floats:
    """Few scores: the mean of each group of rows, plus this error."""
    scores: Floats = (np.floor(groups * q) + 0.5) / groups + error
    return scores


class DataSet(NamedTuple):
    """The true difference, the comparison of both classifiers, and plug-in ECEs of these two and a third one."""

    difference: float
    comparison: bc.Comparison
    plug_in: tuple[float, float, float]


def data_set(kind: str, difference: float, draws: int, rng: np.random.Generator) -> DataSet:
    """Simulate one data set, and compare the classifiers "a" and "b"; "c" has the mean error of both."""
    q = POPULATION.sample(ROWS, rng=rng)
    y = (rng.random(ROWS) < q).astype(np.int64)
    if kind == "alike":
        errors = BASE + difference / 2, BASE - difference / 2
        scores = [shifted(q, errors[0], 1), shifted(q, errors[1], -1), sharp(q, BASE)]
    elif kind == "unlike":
        scores = [sharp(q, BASE), coarse(q, BASE, 3), coarse(q, BASE, 4)]
    else:
        scores = [q, coarse(q, 0.0, 3), coarse(q, 0.0, 4)]
    pair = PairedCounts.from_arrays(y, scores[0], y, scores[1])
    comparison = bc.compare_counts({("a", "b"): pair}, draws=draws, rng=rng, rope=ROPE, compiled=True)
    first, second, third = (bc.plug_in_ece(y, score) for score in scores)
    return DataSet(difference, comparison, (first, second, third))


def differences(mean: float, spread: float, size: int, rng: np.random.Generator) -> Floats:
    """Draw true differences: uniform around the mean, so that no error is negative."""
    drawn: Floats = mean + spread * np.sqrt(3) * rng.uniform(-1, 1, size)
    return drawn


def tests(plug_in: Floats) -> dict[str, bool]:
    """Rejections at 5 % by tests of plug-in ECEs, shape (n_sets, 3), for the first two classifiers."""
    gap, n = plug_in[:, 0] - plug_in[:, 1], len(plug_in)
    friedman = bool(stats.friedmanchisquare(*plug_in.T).pvalue < 0.05)
    ranks = stats.rankdata(plug_in, axis=1).mean(axis=0)
    apart = abs(ranks[0] - ranks[1]) > NEMENYI * np.sqrt(3 * 4 / (6 * n))
    return {
        "t_test": bool(stats.ttest_1samp(gap, 0.0).pvalue < 0.05),
        "wilcoxon": bool(stats.wilcoxon(gap).pvalue < 0.05),
        "friedman": friedman,
        "nemenyi": bool(friedman and apart),
    }


def of_collection(sets: Sequence[DataSet], new: float, mean: float, rng: np.random.Generator) -> dict[str, Any]:
    """Evaluate one collection of data sets: intervals of the difference of "a" and "b", decisions and tests."""
    found = bc.compare_over_datasets({f"set {i}": each.comparison for i, each in enumerate(sets)}, rng=rng)
    truth = float(np.mean([each.difference for each in sets]))
    population, fixed = found.population("a", "b"), found.difference("a", "b").interval(PROB)
    ends, decision = population.mean.interval(PROB), found.decide("a", "b")
    return {
        "fixed": fixed[0] <= truth <= fixed[1],
        "fixed_width": fixed[1] - fixed[0],
        "population": ends[0] <= mean <= ends[1],
        "population_width": ends[1] - ends[0],
        "new": population.new.interval(PROB)[0] <= new <= population.new.interval(PROB)[1],
        "excludes_0": not fixed[0] <= 0 <= fixed[1],
        "population_excludes_0": not ends[0] <= 0 <= ends[1],
        "decided": max(decision["p_left"], decision["p_right"]) >= PROB,
        **tests(np.array([each.plug_in for each in sets])),
    }


def of_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Simulate 30 data sets per repeat, and evaluate all disjoint collections of 3, 5, 10 and 30 of them."""
    kind, mean, spread, repeats, draws, sizes, rng = job
    found: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    for _ in range(repeats):
        truths = differences(mean, spread, max(sizes), rng)
        sets = [data_set(kind, float(truth), draws, rng) for truth in truths]
        for size in sizes:
            for begin in range(0, max(sizes) - size + 1, size):
                new = float(differences(mean, spread, 1, rng)[0])
                found[size].append(of_collection(sets[begin : begin + size], new, mean, rng))
    cell = {"kind": kind, "mean": mean, "spread": spread}
    return [
        {**cell, "n_sets": size, "repeats": len(rows)}
        | {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
        for size, rows in found.items()
    ]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cells; with --quick, collections of 3 and 5 data sets only."""
    sizes = SIZES[:2] if options.quick else SIZES
    jobs = jobs_of(CELLS, options.repeats, options.draws, sizes, rng=np.random.default_rng(SEED))
    rows = rows_of_jobs(of_cell, jobs, workers=options.workers)
    settings = {"prob": PROB, "rows_per_set": ROWS, "rope": ROPE, "draws": options.draws}
    return measured(SEED, settings, COLUMNS, rows)


def rows_by_name(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows as dicts."""
    return [dict(zip(numbers["columns"], row, strict=True)) for row in numbers["rows"]]


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return the tables by the name of their marker."""
    rows = rows_by_name(numbers)
    head = "Classifiers | Mean: | sd: | Data sets: | Repeats: | These: | Width: | Population: | Width: | New data set:"
    form = (
        "{kind}|{mean:g}|{spread:g}|{n_sets}|{repeats}|{fixed:.2f}|{fixed_width:.4f}|{population:.2f}|"
        "{population_width:.4f}|{new:.2f}"
    )
    calm = [row for row in rows if row["mean"] == 0]
    of_tests = "{kind}|{spread:g}|{n_sets}|{decided:.2f}|{population_excludes_0:.2f}|{t_test:.2f}|{wilcoxon:.2f}|"
    of_tests += "{friedman:.2f}|{nemenyi:.2f}"
    titles = (
        "Classifiers | sd: | Data sets: | P(better) at least 0.95: | Population interval without 0: | Paired t-test: | "
        "Wilcoxon: | Friedman: | Nemenyi, a and b:"
    )
    repeats = {row["n_sets"]: row["repeats"] for row in rows}
    of_sizes = zip(repeats, errors_near(PROB, *repeats.values()), strict=True)
    errors = ", ".join(f"{error} with {size} data sets" for size, error in of_sizes)
    overall = [
        f"bayescal {numbers['bayescal']}: {len(rows)} cells, {numbers['rows_per_set']} rows per data set, "
        f"{numbers['draws']} draws, seed {numbers['seed']}.\nThe standard error of a coverage near 0.95 is {errors}.\n"
        "\n",
    ]
    for name, words in {"fixed": "mean over these", "population": "population mean", "new": "new data set"}.items():
        for kind in ("alike", "unlike", "calibrated"):
            each = [row[name] for row in rows if row["kind"] == kind]
            overall.append(f"* {words}, {kind}: worst {min(each):.2f}, mean {np.mean(each):.3f}\n")
    return {
        "overall": "".join(overall),
        "several_data_sets": table(head, cells(rows, form)),
        "false_alarms": table(titles, cells(calm, of_tests)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="several_data_sets.json",
        page="several_data_sets.md",
        repeats=(50, 1),
        draws=(500, 100),
    )
