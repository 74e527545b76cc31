"""Measure intervals from the labels of an imperfect judge, and those of other methods; write
docs/explanation/judge.md: part of `make coverage`. Some rows are checked: they have true labels. Cells in which fewer
intervals of the ECE than the bar contain the truth are measured again in four times as many fresh data sets, and that
share counts.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from jobs import named_streams
from numpy.typing import NDArray
from pages import cells, rounded, rows_again, save_parts, table
from scipy.special import expit, logit, ndtr, ndtri
from studies import TIMES_AGAIN, about, errors_near, rows_of_jobs, run_study, with_fresh_sets
from studies.true_values import bin_values

import bayescal as bc
from bayescal.datasets.clustered import simulate_clusters
from bayescal.datasets.simulate import POPULATIONS, true_curve
from bayescal.stats.bins import make_bins
from bayescal.verify.coverage import contains

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Row = dict[str, Any]

SEED, PROB, BINS = 42, 0.95, 15
#: Points of a population that stand for equal shares of it; resamples of the bootstraps.
POINTS, RESAMPLES = 200_000, 200
#: Points of a pair's population along each of two axes.
GRID = 2000
#: Least share of intervals of the ECE of a cell; below it, the cell is measured again.
BARS = {"judged": 0.83, "further": 0.83, "dependent": 0.65, "chosen": 0.83}
SMALL_P = 0.05

OURS, ONE_RANGE = "bayescal", "bayescal, one range"
CHECKED, TRUTH, ALL_TRUE = "checked rows only", "judge as truth", "all true labels"
ROGAN_GLADEN, PREDICTION_POWERED = "Rogan-Gladen by bin, bootstrap", "prediction-powered by bin, bootstrap"
QUANTITIES, RATES = ("ece", "signed_error", "accuracy", "brier_score"), ("sensitivity", "specificity")
COLUMNS = (
    "part", "curve", "population", "n_rows", "n_checked", "rates", "how", "quantity", "truth", "method", "coverage",
    "above", "width", "alike", "random", "repeats", "first",
)  # fmt: skip

Rates = Callable[[Floats], tuple[Floats, Floats]]
PAIRS = {"0.95 and 0.95": (0.95, 0.95), "0.9 and 0.8": (0.9, 0.8), "0.75 and 0.9": (0.75, 0.9)}
#: Sensitivity and specificity that depend on the confidence.
FALLS, RISES = "specificity from 0.9 to 0.6", "sensitivity rises by 0.4"
DEPENDENT: dict[str, Rates] = {
    FALLS: lambda c: (np.full_like(c, 0.9), 0.9 - 0.3 * c),
    RISES: lambda c: (np.clip(0.75 + 0.4 * (c - 0.5), 0.55, 0.95), np.full_like(c, 0.85)),
}
RANDOM, BY_JUDGE, BY_CONFIDENCE, BY_TRUTH = "at random", "by judged label", "by confidence", "by the truth"


def words_of(curve: tuple[str, float | None]) -> str:
    """Name and strength of a curve."""
    name, strength = curve
    return name if strength is None else f"{name} {strength:g}"


@dataclass(frozen=True)
class Cell:
    """A population of rows, a judge, and how rows are chosen to be checked."""

    part: str
    curve: tuple[str, float | None]
    population: str
    n_rows: int
    n_checked: int
    rates: str
    how: str = RANDOM

    @property
    def columns(self) -> Row:
        """Columns of the cell in the table."""
        return {
            "part": self.part, "curve": words_of(self.curve), "population": self.population, "n_rows": self.n_rows,
            "n_checked": self.n_checked, "rates": self.rates, "how": self.how,
        }  # fmt: skip

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Bools, Bools, Bools]:
        """Confidences, true labels, judged labels, and which rows are checked."""
        c = np.clip(POPULATIONS[self.population].sample(self.n_rows, rng=rng), 1e-6, 1 - 1e-6)
        y = rng.random(self.n_rows) < true_curve(*self.curve)(c)
        s, p = DEPENDENT[self.rates](c) if self.rates in DEPENDENT else PAIRS[self.rates]
        judge = np.where(y, rng.random(self.n_rows) < s, rng.random(self.n_rows) >= p)
        favoured = {RANDOM: np.ones(self.n_rows), BY_JUDGE: np.where(judge, 1.0, 4.0), BY_CONFIDENCE: 0.1 + c}
        favoured[BY_TRUTH] = np.where(y, 1.0, 4.0)
        share = favoured[self.how] / favoured[self.how].sum()
        checked = np.zeros(self.n_rows, bool)
        checked[rng.choice(self.n_rows, self.n_checked, replace=False, p=share)] = True
        return c, y, judge, checked


CURVES: tuple[tuple[str, float | None], ...] = (
    ("calibrated", None), ("temperature", 1.5), ("shift", 0.3), ("wave", 0.05),
)  # fmt: skip
#: Rows, and checked rows of which the last is for 500 rows.
SIZES, FEW_MANY = (500, 2000, 10_000), (50, 200, 1000, 400)


def _crossed() -> Iterator[Cell]:
    """Curves, numbers of rows and of checked rows, with populations and rates in turn."""
    for i, (curve, (j, n), k) in enumerate(product(CURVES, enumerate(SIZES), range(3))):
        at = CURVES.index(curve)
        checked = FEW_MANY[3 if n == SIZES[0] and k == 2 else k]
        yield Cell("judged", curve, ("top", "flat")[i % 2], n, checked, list(PAIRS)[(at + j + k) % 3])


CELLS = (
    *_crossed(),
    # further cells: rare events, one bad bin, nearly calibrated
    Cell("further", ("calibrated", None), "rare", 2000, 200, "0.9 and 0.8"),
    Cell("further", ("temperature", 1.5), "rare", 10_000, 1000, "0.95 and 0.95"),
    Cell("further", ("shift", 0.3), "rare", 2000, 200, "0.75 and 0.9"),
    Cell("further", ("shift", 0.3), "rare", 10_000, 200, "0.9 and 0.8"),
    Cell("further", ("one bad bin", 0.3), "top", 2000, 200, "0.95 and 0.95"),
    Cell("further", ("one bad bin", 0.3), "flat", 2000, 200, "0.9 and 0.8"),
    Cell("further", ("one bad bin", 0.3), "top", 10_000, 1000, "0.75 and 0.9"),
    Cell("further", ("temperature", 1.1), "flat", 2000, 200, "0.9 and 0.8"),
    Cell("further", ("temperature", 1.1), "top", 10_000, 200, "0.95 and 0.95"),
    Cell("further", ("temperature", 1.1), "flat", 10_000, 1000, "0.75 and 0.9"),
    *(
        Cell("dependent", curve, population, n, checked, rates)
        for curve, population, (rates, n, checked) in product(
            CURVES[:2], ("top", "flat"), ((FALLS, 2000, 200), (FALLS, 10_000, 1000), (RISES, 2000, 200))
        )
    ),
    *(
        Cell("chosen", curve, population, 2000, 300, "0.9 and 0.8", how)
        for curve, population, how in product(CURVES[:2], ("top", "flat"), (BY_JUDGE, BY_CONFIDENCE, BY_TRUTH))
    ),
)
#: Cells in which as many rows as before are checked in addition, at random and as planned.
PLANNED_CELLS = (
    Cell("planned", ("temperature", 1.5), "top", 2000, 200, "0.9 and 0.8"),
    Cell("planned", ("temperature", 1.5), "flat", 2000, 200, "0.95 and 0.95"),
    Cell("planned", ("temperature", 1.5), "flat", 10_000, 200, "0.75 and 0.9"),
    Cell("planned", ("shift", 0.3), "flat", 2000, 200, "0.75 and 0.9"),
    Cell("planned", ("shift", 0.3), "top", 10_000, 50, "0.9 and 0.8"),
    Cell("planned", ("wave", 0.05), "top", 2000, 200, "0.9 and 0.8"),
    Cell("planned", ("calibrated", None), "flat", 2000, 200, "0.9 and 0.8"),
    Cell("planned", ("calibrated", None), "top", 2000, 100, "0.95 and 0.95"),
)
PLANNED_COLUMNS = (
    "curve", "population", "n_rows", "n_checked", "rates", "linear", "now", "random_predicted", "random",
    "random_coverage", "planned_predicted", "planned", "planned_coverage", "repeats",
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two models with one judge: accuracies and confidences of both are functions of two uniform numbers.

    Each model has answers of its own, or both predict one outcome.
    """

    models: str
    made: Callable[[Floats, Floats], tuple[Floats, Floats, Floats, Floats]]
    n_rows: int
    n_checked: int
    rates: str
    own: bool = False

    @property
    def columns(self) -> Row:
        """Columns of the pair in the table."""
        outcomes = "own answers" if self.own else "same outcome"
        return {
            "models": self.models, "outcomes": outcomes, "n_rows": self.n_rows, "n_checked": self.n_checked,
            "rates": self.rates,
        }  # fmt: skip

    def draw(self, rng: np.random.Generator) -> tuple[dict[str, Floats], dict[str, tuple[Bools, Bools, Bools]]]:
        """Confidences by model; true labels, judged labels and which rows are checked, by model."""
        first, c_first, second, c_second = self.made(*rng.random((2, self.n_rows)))
        labels = self._labels(first, rng)
        of_second = self._labels(second, rng) if self.own else labels
        return {"first": c_first, "second": c_second}, {"first": labels, "second": of_second}

    def _labels(self, theta: Floats, rng: np.random.Generator) -> tuple[Bools, Bools, Bools]:
        y = rng.random(len(theta)) < theta
        s, p = DEPENDENT[self.rates](theta) if self.rates in DEPENDENT else PAIRS[self.rates]
        judge = np.where(y, rng.random(len(theta)) < s, rng.random(len(theta)) >= p)
        return y, judge, rng.permutation(len(theta)) < self.n_checked


@dataclass(frozen=True)
class OwnAnswers:
    """Curves of two models whose confidences have the population "top" and a correlation of normal scores of 0.8."""

    first: tuple[str, float | None]
    second: tuple[str, float | None]

    def __call__(self, u: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        other = ndtr(0.8 * ndtri(u) + 0.6 * ndtri(v))
        c, d = (np.clip(POPULATIONS["top"].quantile(each), 1e-6, 1 - 1e-6) for each in (u, other))
        return true_curve(*self.first)(c), c, true_curve(*self.second)(d), d


def overconfident(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The first model is calibrated; the second states 1.5 times its log odds."""
    return u, u, u, expit(1.5 * logit(u))


def noisy(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The first model is calibrated; the second adds normal noise to its log odds."""
    return u, u, u, expit(logit(u) + 0.7 * ndtri(v))


def partly_informed(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Both models are calibrated, and each knows one of two predictors."""
    x, z = ndtri(u), ndtri(v)
    theta = ndtr(x + z)
    return theta, ndtr(x / np.sqrt(2)), theta, ndtr(z / np.sqrt(2))


def both_wrong(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The first model shifts the log odds by -0.3; the second multiplies them by 1.5."""
    return u, expit(logit(u) - 0.3), u, expit(1.5 * logit(u))


PAIR_CELLS = (
    Pair("both calibrated", OwnAnswers(CURVES[0], CURVES[0]), 2000, 200, "0.9 and 0.8", own=True),
    Pair("calibrated, temperature 1.5", OwnAnswers(CURVES[0], CURVES[1]), 2000, 200, "0.9 and 0.8", own=True),
    Pair("calibrated, temperature 1.5", OwnAnswers(CURVES[0], CURVES[1]), 10_000, 200, "0.75 and 0.9", own=True),
    Pair("shift 0.3, temperature 1.5", OwnAnswers(CURVES[2], CURVES[1]), 2000, 200, "0.9 and 0.8", own=True),
    Pair("calibrated, log odds times 1.5", overconfident, 2000, 200, "0.9 and 0.8"),
    Pair("calibrated, log odds times 1.5", overconfident, 10_000, 200, "0.75 and 0.9"),
    Pair("calibrated, log odds times 1.5", overconfident, 2000, 200, FALLS),
    Pair("calibrated, noise in log odds", noisy, 2000, 200, "0.9 and 0.8"),
    Pair("both calibrated, half informed", partly_informed, 2000, 200, "0.9 and 0.8"),
    Pair("log odds - 0.3, log odds times 1.5", both_wrong, 10_000, 1000, "0.9 and 0.8"),
)
PAIR_COLUMNS = (
    "models", "outcomes", "n_rows", "n_checked", "rates", "quantity", "truth", "method", "coverage", "width", "repeats",
)  # fmt: skip
COMPARED = ("ece", "signed_error", "brier_score")
PARTS = (*BARS, "planned", "differences", "clusters")
WORDS_OF_PARTS = {
    "judged": "the 36 cells", "further": "further cells", "dependent": "errors that depend on the confidence",
    "chosen": "chosen rows", "planned": "planned checks", "differences": "differences", "clusters": "clusters",
}  # fmt: skip


@cache
def true_values(curve: tuple[str, float | None], population: str, rates: str) -> dict[str, float]:
    """True values of the quantities in a population, and mean rates of the judge over rows of each true label."""
    c = POPULATIONS[population].quantile((np.arange(POINTS) + 0.5) / POINTS)
    theta = true_curve(*curve)(c)
    of_bins = bin_values(c, theta, BINS)
    brier = float((theta * (1 - c) ** 2 + (1 - theta) * c**2).mean())
    s, p = DEPENDENT[rates](c) if rates in DEPENDENT else PAIRS[rates]
    of_judge = {
        "sensitivity": np.mean(s * theta) / theta.mean(),
        "specificity": np.mean(p * (1 - theta)) / (1 - theta).mean(),
    }
    values = {"accuracy": theta.mean(), "brier_score": brier, **of_judge} | {
        name: of_bins[name] for name in QUANTITIES[:2]
    }
    return {name: float(value) for name, value in values.items()}


# ------------------------------------------------------------------------------------------------ other methods
def resampled(
    c: Floats, y: Bools, judge: Bools, checked: Bools, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Yield resampled ECEs of accuracies by bin that are corrected with the checked rows."""
    bins = make_bins(BINS, binning="equal-width", confidence=c)
    place = np.clip(np.searchsorted(bins.edges, c, side="right") - 1, 0, BINS - 1)
    # unchecked rows with the judge's label 0 and 1; checked ones with true and judged labels (0, 0) to (1, 1)
    kind = np.where(checked, 2 + 2 * y + judge, judge.astype(int))
    counted = np.bincount(6 * place + kind, minlength=6 * BINS)
    drawn = rng.multinomial(len(c), counted / len(c), RESAMPLES).reshape(RESAMPLES, BINS, 6).astype(np.float64)
    rows = drawn.sum(axis=2)
    own = np.bincount(place, c, BINS) / np.maximum(np.bincount(place, minlength=BINS), 1)
    mass = rows / len(c)

    def ratio(one: Floats, of: Floats) -> Floats:
        return np.divide(one, of, out=np.zeros_like(one), where=of > 0)

    judged = ratio(drawn[:, :, [1, 3, 5]].sum(axis=2), rows)
    of_all = drawn[:, :, 2:].sum(axis=1)
    s = (of_all[:, 3] + 0.5) / (of_all[:, 2] + of_all[:, 3] + 1)
    p = (of_all[:, 0] + 0.5) / (of_all[:, 0] + of_all[:, 1] + 1)
    better = np.maximum(s + p - 1, 0.02)[:, None]
    corrected = np.clip((judged + p[:, None] - 1) / better, 0, 1)
    yield ROGAN_GLADEN, (mass * np.abs(corrected - own)).sum(axis=1)
    of_checked = drawn[:, :, 2:].sum(axis=2)
    rectified = judged + ratio(drawn[:, :, 4] - drawn[:, :, 3], of_checked)
    yield PREDICTION_POWERED, (mass * np.abs(rectified - own)).sum(axis=1)


def ends_of_cell(cell: Cell, draws: int, rng: np.random.Generator) -> dict[tuple[str, str], tuple[float, ...]]:
    """Interval, and P-values of both tests, by method and quantity, for one data set."""
    c, y, judge, checked = cell.draw(rng)
    given = np.where(checked, y, np.nan)
    options = {"draws": draws, "rng": int(rng.integers(2**63)), "bins": BINS}
    ours = bc.labels.judged(given, c, judge=judge, **options)
    found: dict[str, bc.Evaluation] = {OURS: ours, CHECKED: ours.checked_only, TRUTH: ours.judge_as_truth}
    found[ALL_TRUE] = bc.evaluate(y, c, target="confidence", **options)
    if cell.part == "dependent":
        found[ONE_RANGE] = bc.labels.judged(given, c, judge=judge, strata=1, **options)
    tests = (ours.judge.p_errors_alike, ours.judge.p_checked_at_random)
    ends = {
        (method, name): (*each.draws(name).interval(PROB), *tests)
        for method, each in found.items()
        for name in QUANTITIES
    }
    ends |= {(OURS, name): (*getattr(ours.judge, name).interval(PROB), *tests) for name in RATES}
    for method, values in resampled(c, y, judge, checked, rng):
        tail = (1 - PROB) / 2
        ends[method, "ece"] = (*np.quantile(values, [tail, 1 - tail]).tolist(), *tests)
    return ends


def measured_cell(job: tuple[Cell, int, int, np.random.Generator]) -> list[Row]:
    """Coverage of all methods on the same data sets; where that of the ECE is low, on fresh ones."""
    cell, repeats, draws, rng = job
    warnings.simplefilter("ignore")  # few checked rows of a label, few effective values: results are used as they are
    first, second = rng.spawn(2)
    rows = coverage_of(cell, repeats, draws, first)

    def again(times: int) -> list[Row]:
        return coverage_of(cell, times * repeats, draws, second)

    bar = 0.0 if cell.how == BY_TRUTH else BARS[cell.part]
    return with_fresh_sets(rows, again, bar=bar, where={"method": OURS, "quantity": "ece"})


def coverage_of(cell: Cell, repeats: int, draws: int, rng: np.random.Generator) -> list[Row]:
    """Coverage of all methods in data sets of one cell."""
    every = [ends_of_cell(cell, draws, rng) for _ in range(repeats)]
    truths, rows = true_values(cell.curve, cell.population, cell.rates), []
    for method, name in every[0]:
        low, high, alike, random = np.array([each[method, name] for each in every]).T
        numbers = {
            "coverage": float(contains(low, high, truths[name]).mean()),
            "above": float((truths[name] > high + 1e-9).mean()),
            "width": float((high - low).mean()),
            "alike": float((alike < SMALL_P).mean()),
            "random": float((random < SMALL_P).mean()),
        }
        rows.append(
            {**cell.columns, "quantity": name, "truth": truths[name], "method": method, **numbers, "repeats": repeats}
        )
    return rows


# ------------------------------------------------------------------------------------------------ planned checks
def planned_set(cell: Cell, draws: int, rng: np.random.Generator) -> list[float]:
    """Widths now, predicted and reached, and coverage, with checks at random and as planned."""
    c, y, judge, checked = cell.draw(rng)
    options = {"draws": draws, "rng": int(rng.integers(2**63)), "bins": BINS}
    ev = bc.labels.judged(np.where(checked, y, np.nan), c, judge=judge, **options)
    plan = bc.planning.checks_needed(ev, rows=cell.n_checked)
    place = np.clip(np.searchsorted(plan.edges, c, side="right") - 1, 0, BINS - 1)
    order = rng.permutation(len(c))
    free = order[~checked[order]]
    # the first rows of each cell of the plan, in random order
    kind = 2 * place[free] + judge[free]
    sorted_by_kind = np.argsort(kind, kind="stable")
    rank = np.empty(len(free), np.intp)
    first = np.searchsorted(kind[sorted_by_kind], np.arange(2 * BINS))
    rank[sorted_by_kind] = np.arange(len(free)) - first[kind[sorted_by_kind]]
    chosen = {"random": free[: plan.rows], "planned": free[rank < plan.planned[judge[free].astype(int), place[free]]]}
    truth, found = true_values(cell.curve, cell.population, cell.rates)["ece"], [plan.linear, plan.now]
    for name, predicted in (("random", plan.at_random), ("planned", plan.width)):
        more = checked.copy()
        more[chosen[name]] = True
        again = bc.labels.judged(np.where(more, y, np.nan), c, judge=judge, **options)
        low, high = again.ece.interval(PROB)
        found += [predicted, high - low, float(contains(np.array([low]), np.array([high]), truth)[0])]
    return found


def planned_cell(job: tuple[Cell, int, int, np.random.Generator]) -> list[Row]:
    """Mean widths and coverage of a cell."""
    cell, repeats, draws, rng = job
    warnings.simplefilter("ignore")
    means = np.mean([planned_set(cell, draws, rng) for _ in range(repeats)], axis=0).tolist()
    about_cell = {name: cell.columns[name] for name in PLANNED_COLUMNS[:5]}
    return [about_cell | dict(zip(PLANNED_COLUMNS[5:-1], means, strict=True)) | {"repeats": repeats}]


# ------------------------------------------------------------------------------------------------ differences
@cache
def true_differences(pair: Pair) -> dict[str, float]:
    """True differences of two models, over a grid of both uniform numbers."""
    grid = (np.arange(GRID) + 0.5) / GRID
    u, v = (each.ravel() for each in np.meshgrid(grid, grid))
    first, c, second, d = pair.made(u, v)
    values = []
    for theta, confidence in ((first, c), (second, d)):
        of_bins = bin_values(confidence, theta, BINS)
        brier = float((theta * (1 - confidence) ** 2 + (1 - theta) * confidence**2).mean())
        values.append({"ece": of_bins["ece"], "signed_error": of_bins["signed_error"], "brier_score": brier})
    return {name: float(values[0][name] - values[1][name]) for name in COMPARED}


def pair_set(pair: Pair, draws: int, rng: np.random.Generator) -> dict[tuple[str, str], tuple[float, float]]:
    """Intervals of differences by method and quantity, for one data set."""
    confidence, labels = pair.draw(rng)
    options: dict[str, Any] = {"draws": draws, "rng": int(rng.integers(2**63)), "bins": BINS, "target": "confidence"}
    given: Any = {name: np.where(checked, y, np.nan) for name, (y, _, checked) in labels.items()}
    judge: Any = {name: judged for name, (_, judged, _) in labels.items()}
    if not pair.own:
        given, judge = given["first"], judge["first"]
    found: dict[str, Any] = {OURS: bc.labels.compare_judged(given, confidence, judge=judge, **options)}
    for method, which in ((CHECKED, 0), (TRUTH, 1), (ALL_TRUE, 0)):
        columns = {}
        for name, of_model in labels.items():
            rows = of_model[2] if method == CHECKED else slice(None)
            columns[name] = of_model[which][rows], confidence[name][rows]
        if pair.own:
            each: dict[str, Any] = {name: bc.evaluate(*column, **options) for name, column in columns.items()}
            found[method] = bc.compare_independent(each)
        else:
            by_model = {name: c for name, (_, c) in columns.items()}
            found[method] = bc.compare(columns["first"][0], by_model, **options)
    return {
        (method, name): found[method].difference("first", "second", estimand=name).interval(PROB)
        for method in found
        for name in COMPARED
    }


def pair_cell(job: tuple[Pair, int, int, np.random.Generator]) -> list[Row]:
    """Coverage and width of intervals of differences in data sets of one pair."""
    pair, repeats, draws, rng = job
    warnings.simplefilter("ignore")
    every, truths, rows = [pair_set(pair, draws, rng) for _ in range(repeats)], true_differences(pair), []
    for method, name in every[0]:
        low, high = np.array([each[method, name] for each in every]).T
        numbers = {
            "coverage": float(contains(low, high, truths[name]).mean()),
            "width": float((high - low).mean()),
        }
        about_pair = {**pair.columns, "quantity": name, "truth": truths[name], "method": method}
        rows.append({**about_pair, **numbers, "repeats": repeats})
    return rows


# ------------------------------------------------------------------------------------------------ clusters
@dataclass(frozen=True)
class ClusteredCell:
    """Rows in clusters of which a judge labels all, and a share is checked."""

    curve: tuple[str, float | None]
    n_clusters: int
    size: int
    n_checked: int
    rates: str
    dependence: float

    @property
    def columns(self) -> Row:
        """Columns of the cell in the table."""
        return {
            "curve": words_of(self.curve), "n_clusters": self.n_clusters, "size": self.size,
            "n_checked": self.n_checked, "rates": self.rates, "dependence": self.dependence,
        }  # fmt: skip


CLUSTERED_CELLS = (
    ClusteredCell(CURVES[0], 400, 5, 200, "0.9 and 0.8", 0.5),
    ClusteredCell(CURVES[1], 400, 5, 200, "0.95 and 0.95", 0.5),
    ClusteredCell(CURVES[2], 400, 5, 400, "0.9 and 0.8", 0.5),
    ClusteredCell(CURVES[1], 100, 10, 200, "0.9 and 0.8", 0.8),
    ClusteredCell(CURVES[0], 100, 10, 400, "0.75 and 0.9", 0.8),
    ClusteredCell(CURVES[3], 1000, 3, 300, "0.9 and 0.8", 0.8),
)
CLUSTERED_COLUMNS = (
    "curve", "n_clusters", "size", "n_checked", "rates", "dependence", "quantity", "truth", "method", "coverage",
    "width", "repeats",
)  # fmt: skip
IGNORED = "bayescal, clusters ignored"


def clustered_cell(job: tuple[ClusteredCell, int, int, np.random.Generator]) -> list[Row]:
    """Coverage with and without the clusters, in data sets of one cell."""
    cell, repeats, draws, rng = job
    warnings.simplefilter("ignore")
    s, p = PAIRS[cell.rates]
    name, strength = cell.curve
    every = []
    for _ in range(repeats):
        sizes = np.full(cell.n_clusters, cell.size)
        data = simulate_clusters(sizes, dependence=cell.dependence, curve=name, strength=strength, rng=rng)
        c, y, n = data.confidence, data.outcome, len(data.outcome)
        judge = np.where(y == 1, rng.random(n) < s, rng.random(n) >= p)
        given = np.where(rng.permutation(n) < cell.n_checked, y, np.nan)
        options: dict[str, Any] = {"judge": judge, "draws": draws, "rng": int(rng.integers(2**63)), "bins": BINS}
        found = {OURS: bc.labels.judged(given, c, cluster=data.cluster, **options)}
        found[IGNORED] = bc.labels.judged(given, c, **options)
        every.append({(m, q): each.draws(q).interval(PROB) for m, each in found.items() for q in QUANTITIES})
    truths, rows = true_values(cell.curve, "flat", cell.rates), []
    for method, quantity in every[0]:
        low, high = np.array([each[method, quantity] for each in every]).T
        covered = contains(low, high, truths[quantity])
        numbers = {"coverage": float(covered.mean()), "width": float((high - low).mean()), "repeats": repeats}
        rows.append({**cell.columns, "quantity": quantity, "truth": truths[quantity], "method": method, **numbers})
    return rows


#: Cells, and function and columns of a cell, of parts with tables of their own.
CELLS_OF: dict[str, tuple[Any, ...]] = {
    "planned": PLANNED_CELLS, "differences": PAIR_CELLS, "clusters": CLUSTERED_CELLS,
}  # fmt: skip
FUNCTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "planned": (planned_cell, PLANNED_COLUMNS), "differences": (pair_cell, PAIR_COLUMNS),
    "clusters": (clustered_cell, CLUSTERED_COLUMNS),
}  # fmt: skip


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the cells of the chosen parts; with --quick, one of each."""
    stream_of = named_streams(np.random.default_rng(SEED))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws, "resamples": RESAMPLES}
    by_part: dict[str, list[list[Any]]] = {}
    for part in options.only:
        every = CELLS_OF.get(part) or tuple(cell for cell in CELLS if cell.part == part)
        chosen = every[: 1 if options.quick else None]
        jobs = [(cell, options.repeats, options.draws, stream_of(*map(str, cell.columns.values()))) for cell in chosen]
        function, columns = FUNCTIONS.get(part, (measured_cell, COLUMNS))
        rows = rows_of_jobs(function, jobs, workers=options.workers, description=part)
        by_part[part] = [[row[name] for name in columns] for row in rows]
    columns_of = {"columns": list(COLUMNS)} | {f"{part}_columns": list(of) for part, (_, of) in FUNCTIONS.items()}
    return {**about(SEED, settings), **columns_of, **rounded(by_part)}


# ------------------------------------------------------------------------------------------------ tables
def every_row(numbers: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Rows of the table by part."""
    return {
        part: rows_again({"columns": numbers.get(f"{part}_columns", numbers["columns"]), "rows": numbers[part]})
        for part in PARTS
        if part in numbers
    }


def chosen_rows(rows: list[Row], method: str, quantity: str = "ece", **where: Any) -> list[Row]:
    """Rows of one method and quantity with the given values of columns."""
    wanted = {"method": method, "quantity": quantity, **where}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def means(rows: list[Row]) -> list[str]:
    """Mean and least coverage, and mean width."""
    covered = np.array([row["coverage"] for row in rows])
    return [f"{covered.mean():.3f}", f"{covered.min():.2f}", f"{np.mean([row['width'] for row in rows]):.3f}"]


def overall(rows: list[Row]) -> str:
    """One line per method: all cells, and the calibrated ones."""
    lines = []
    for method in (OURS, CHECKED, TRUTH, ROGAN_GLADEN, PREDICTION_POWERED, ALL_TRUE):
        of = chosen_rows(rows, method)
        zero = [row["coverage"] for row in of if row["truth"] < 1e-9]
        missed = [f"{np.mean([row[name] for row in of]):.3f}" for name in ("above",)]
        lines.append([method, *means(of), *missed, f"{np.mean(zero):.2f}" if zero else ""])
    return table("Method | Mean coverage: | Worst cell: | Width: | Truth above: | 0 if calibrated:", lines)


def quantities(rows: list[Row]) -> str:
    """One line per quantity: this package, the checked rows alone, and all true labels; where the first is worst."""
    lines = []
    for name in (*QUANTITIES, *RATES):
        if not (of := chosen_rows(rows, OURS, name)):
            continue
        worst = min(of, key=lambda row: row["coverage"])
        others = [chosen_rows(rows, method, name) for method in (CHECKED, ALL_TRUE)]
        beside = [" / ".join(means(each)) if each else "" for each in others]
        lines.append([name, *means(of), place(worst), *beside])
    heads = "Checked only, mean / worst / width | All true labels, the same"
    return table(f"Quantity | Mean coverage: | Worst cell: | Width: | Where it is worst | {heads}", lines)


def place(row: Row) -> str:
    """Words for a cell."""
    return f"{row['curve']}, {row['population']}, {row['n_rows']} / {row['n_checked']}, {row['rates']}"


def by_cell(rows: list[Row], methods: tuple[str, ...], *more: str) -> str:
    """One line per cell: coverage and width of each method."""
    lines = []
    for row in chosen_rows(rows, OURS):
        where = {name: row[name] for name in ("curve", "population", "n_rows", "n_checked", "rates", "how")}
        shown = []
        for method in methods:
            of = chosen_rows(rows, method, **where)[0]
            again = f" (first {of['first']:.2f})" if of["first"] is not None and method == OURS else ""
            shown.append(f"{of['coverage']:.2f}{again} {of['width']:.3f}")
        about_cell = [row["curve"], row["population"], row["n_rows"], row["n_checked"]]
        extra = [row[name] if isinstance(row[name], str) else f"{row[name]:.2f}" for name in more]
        lines.append([*about_cell, row["rates"], f"{row['truth']:.3f}", *shown, *extra])
    titles = {"how": "Checked", "alike": "Errors alike, P < 0.05:", "random": "Checked at random, P < 0.05:"}
    heads = " | ".join(f"{method}:" for method in methods)
    extra_heads = "".join(f" | {titles[name]}" for name in more)
    return table(f"Curve | Confidences | Rows: | Checked: | Judge | True ECE: | {heads}{extra_heads}", lines)


def differences(rows: list[Row]) -> str:
    """One line per pair and quantity: this package and others."""
    lines = []
    for row in (row for name in COMPARED for row in chosen_rows(rows, OURS, name)):
        where = {name: row[name] for name in ("models", "outcomes", "n_rows", "n_checked", "rates")}
        shown = []
        for method in (OURS, CHECKED, TRUTH, ALL_TRUE):
            of = chosen_rows(rows, method, row["quantity"], **where)[0]
            shown.append(f"{of['coverage']:.2f} {of['width']:.3f}")
        lines.append([row["quantity"], *where.values(), f"{row['truth']:.3f}", *shown])
    heads = " | ".join(f"{method}:" for method in (OURS, CHECKED, TRUTH, ALL_TRUE))
    return table(f"Difference of | Models | Outcomes | Rows: | Checked: | Judge | True: | {heads}", lines)


def clustered(rows: list[Row]) -> str:
    """One line per cell and quantity: with the clusters and without."""
    lines = []
    for row in (row for name in QUANTITIES for row in chosen_rows(rows, OURS, name)):
        where = {name: row[name] for name in CLUSTERED_COLUMNS[:6]}
        (other,) = chosen_rows(rows, IGNORED, row["quantity"], **where)
        shown = [f"{of['coverage']:.2f} {of['width']:.3f}" for of in (row, other)]
        lines.append([row["quantity"], *where.values(), f"{row['truth']:.3f}", *shown, row["repeats"]])
    head = "Quantity | Curve | Clusters: | Rows of each: | Checked: | Judge | Dependence: | True: "
    return table(f"{head}| {OURS}: | clusters ignored: | Data sets:", lines)


def conditions(numbers: dict[str, Any], rows: dict[str, list[Row]]) -> str:
    """State versions, settings and the numbers of data sets of each part."""
    first = {part: min(row["repeats"] for row in of_part) for part, of_part in rows.items()}
    by_number: dict[int, list[str]] = {}
    for part, number in first.items():
        by_number.setdefault(number, []).append(WORDS_OF_PARTS[part])
    by_number = dict(sorted(by_number.items(), reverse=True))
    sets = ",\n".join(f"{number} ({', '.join(parts)})" for number, parts in by_number.items())
    errors = errors_near(numbers["prob"], *by_number)
    stated = ", ".join(f"{error} with {number}" for number, error in zip(by_number, errors, strict=True))
    return (
        f"bayescal {numbers['bayescal']}: {numbers['draws']} draws, {numbers['resamples']} resamples of bootstraps, "
        f"{BINS} equal-width bins, seed {numbers['seed']}.\nData sets per cell: {sets}.\nThe standard error of one "
        f"share near {numbers['prob']:g} is {stated}.\nA cell of the ECE below its bar is measured again in "
        f"{TIMES_AGAIN} times as many fresh data sets, and that share counts.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows, beside = every_row(numbers), (CHECKED, TRUTH, ROGAN_GLADEN, PREDICTION_POWERED)
    texts = {"conditions": conditions(numbers, rows)}
    if "judged" in rows:
        texts |= {"overall": overall(rows["judged"]), "quantities": quantities(rows["judged"])}
        texts["cells"] = by_cell(rows["judged"], (OURS, *beside, ALL_TRUE))
    if "further" in rows:
        texts |= {"further": overall(rows["further"]), "further_cells": by_cell(rows["further"], (OURS, *beside))}
    if "dependent" in rows:
        texts["dependent"] = by_cell(rows["dependent"], (OURS, ONE_RANGE, *beside), "alike")
    if "chosen" in rows:
        texts["chosen"] = by_cell(rows["chosen"], (OURS, *beside), "how", "random")
    if "planned" in rows:
        head = (
            "Curve | Confidences | Rows: | Checked: | Judge | Linear: | Width now: | At random, predicted: | reached: "
            "| coverage: | Planned, predicted: | reached: | coverage: | Data sets:"
        )
        form = (
            "{curve}|{population}|{n_rows}|{n_checked}|{rates}|{linear:.2f}|{now:.3f}|{random_predicted:.3f}|"
            "{random:.3f}|{random_coverage:.2f}|{planned_predicted:.3f}|{planned:.3f}|{planned_coverage:.2f}|{repeats}"
        )
        texts["planned"] = table(head, cells(rows["planned"], form))
    if "differences" in rows:
        texts["differences"] = differences(rows["differences"])
    if "clusters" in rows:
        texts["clusters"] = clustered(rows["clusters"])
    return texts


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="judged.json",
        page="judge.md",
        save=save_parts,
        shown=(
            "conditions",
            "overall",
            "quantities",
            "further",
            "dependent",
            "chosen",
            "planned",
            "differences",
            "clusters",
        ),
        repeats=(100, 1),
        parts=PARTS,
    )
