"""Measure intervals of all verbs on sixteen populations of scores as models state them; write
docs/explanation/populations.md: part of `make coverage`.

Every part measures the same data sets, so that one of them can be measured again with --only. A cell whose coverage is
below the limit of its quantity is measured again on four times as many fresh data sets, and that share counts. With
--quick, three populations with few data sets are measured.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from jobs import run_jobs
from numpy.typing import NDArray
from pages import cells, rows_of, save_parts, table
from scipy.special import expit, ndtri
from scipy.stats import norm
from studies import FEWER_DRAWS, about, coverage_rows, errors_near, run_study
from studies import populations as kinds
from studies.populations import POPULATIONS, Classifier, Mixture, Population, logit
from studies.true_values import bin_values, classwise_values, decision_losses, net_benefits, top_label_rows, true_values

import bayescal as bc
from bayescal.decisions.loss_ratio_result import THRESHOLDS
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import registered
from bayescal.verify.methods import bootstrap_bins, percentile_interval

Floats = NDArray[np.float64]
#: Quantity, threshold or score (0 if it has none), and method -> low, high and true value of one data set.
Found = dict[tuple[str, float, str], tuple[float, float, float]]
Row = dict[str, Any]

SEED, AGAIN, PROB = 38, 39, 0.95
#: Data sets of a cell that is measured again, as a multiple of the first number; data sets of one job.
TIMES, CHUNK = 4, 25
OURS = "bayescal"
#: Standard deviation of the noise in the logits of the second model.
NOISE = 0.5
#: Validation rows of the loss ratio, and rows of the population from which its true value is computed.
VALIDATION, LOSS_GRID = 1000, 20_000
#: Groups of the rows with partial pooling; those with odd numbers are calibrated. They are measured in one of this many
#: data sets, each of which has six intervals.
GROUPS, ONE_IN = 6, 2
COLUMNS = (
    *("population", "n_rows", "quantity", "at", "truth", "method", "coverage", "above", "width"),
    *("repeats", "none", "again"),
)
WALD, BOOTSTRAP, DIRICHLET, UNPOOLED = "Wald", "percentile bootstrap", "Dirichlet model", "no pooling"

#: Words of the quantities, and the smallest mean and smallest single coverage that are required of them.
QUANTITIES: dict[str, tuple[str, float | None, float | None]] = {
    "ece": ("ECE", 0.945, 0.80),
    "l2_error": ("l_2 error", None, None),
    "e90_bins": ("E90 of bins", None, None),
    "signed_error": ("signed error", 0.94, 0.83),
    "overconfidence": ("over-confidence", 0.94, 0.83),
    "underconfidence": ("under-confidence", 0.94, 0.83),
    "brier_score": ("Brier score", 0.94, 0.83),
    "log_score": ("log score", None, None),
    "auc": ("AUC", None, None),
    "observed_expected": ("O/E", None, None),
    "in_the_large": ("calibration in the large", None, None),
    "intercept": ("intercept", None, None),
    "slope": ("slope", None, None),
    "kuiper": ("Kuiper", None, None),
    "kolmogorov_smirnov": ("Kolmogorov-Smirnov", None, None),
    "ici": ("ICI of the curve", 0.94, 0.70),
    "e50": ("E50 of the curve", 0.92, None),
    "e90": ("E90 of the curve", 0.92, None),
    "emax": ("Emax of the curve", None, None),
    "band": ("pointwise band of the curve", 0.93, 0.80),
    "net_benefit": ("net benefit", 0.94, 0.85),
    "net_benefit_difference": ("difference of net benefits", 0.94, 0.85),
    "loss_ratio": ("loss ratio at a threshold", 0.93, 0.82),
    "mean_loss_ratio": ("mean loss ratio", 0.93, 0.82),
    "ece_difference": ("difference of ECEs", None, None),
    "brier_difference": ("difference of Brier scores", None, None),
    "group_ece": ("ECE of groups, partial pooling", 0.94, 0.85),
    "group_off": ("of these, groups that are off", None, None),
    "group_calibrated": ("of these, calibrated groups", None, None),
    "top_label_ece": ("top-label ECE", None, None),
    "classwise_ece": ("classwise ECE", None, None),
    "marginal_error": ("marginal error", None, None),
    "rms_error": ("root mean square over classes", None, None),
}


# ------------------------------------------------------------------------------------------------ groups of their own
def _stretches(number: int) -> Classifier:
    """One group of six: uniform scores, of which those of one sixth of the range are 0.15 too high."""

    def curve(c: Floats) -> Floats:
        return np.clip(np.where((number <= GROUPS * c) & (GROUPS * c < number + 1), c - 0.15, c), 0, 1)

    return Classifier(Mixture([(1.0, kinds.beta(1, 1))]), kinds.exact, curve, curve, kinds.RECALIBRATED_GRID)


def _tempered(number: int) -> Classifier:
    """One group of six: uniform scores, calibrated or with temperature 2."""
    curve = kinds.exact if number % 2 else kinds.logistic(0, 0.5)
    return Classifier(Mixture([(1.0, kinds.beta(1, 1))]), kinds.exact, curve, curve, kinds.RECALIBRATED_GRID)


#: Sets of groups that are populations of their own: a classifier for each group.
OF_GROUPS: dict[str, Callable[[int], Classifier]] = {
    "groups with a bad stretch each": cache(_stretches),
    "half of the groups at temperature 2": cache(_tempered),
}
GROUP_SIZES = (600, 2400)


# ------------------------------------------------------------------------------------------------ data sets
@dataclass(frozen=True, eq=False)
class Truths:
    """True values of a classifier, each computed when it is first needed.

    Parameters
    ----------
    classifier : Classifier
        The classifier.
    thresholds : tuple of float
        Thresholds of decisions.
    """

    classifier: Classifier
    thresholds: tuple[float, ...]

    @cached_property
    def of_scores(self) -> dict[str, float]:
        """Quantities of the first model."""
        return true_values(*self.classifier.grid)

    @cached_property
    def other(self) -> Floats:
        """Scores of the second model on the rows that represent the population."""
        score, _ = self.classifier.grid
        # a low-discrepancy sequence, so that noise and scores fill their square evenly
        return expit(logit(score) + NOISE * ndtri((0.5 + np.arange(len(score)) * (np.sqrt(5) - 1) / 2) % 1))

    @cached_property
    def net_benefit(self) -> tuple[Floats, Floats]:
        """Net benefit of the first model at each threshold, and its difference to the second one."""
        score, probability = self.classifier.grid
        first = net_benefits(score, probability, self.thresholds)
        return first, first - net_benefits(self.other, probability, self.thresholds)

    @cached_property
    def differences(self) -> tuple[float, float]:
        """Differences of ECE and Brier score between both models."""
        score, probability = self.classifier.grid
        ece = bin_values(score, probability)["ece"] - bin_values(self.other, probability)["ece"]
        return ece, float(((score - probability) ** 2 - (self.other - probability) ** 2).mean())

    @cached_property
    def of_classes(self) -> dict[str, float]:
        """Top-label ECE, and means over two classes."""
        grid = self.classifier.grid
        of_both = classwise_values(*grid)
        top = bin_values(*top_label_rows(*grid))["ece"]
        return {
            "top_label_ece": top,
            "classwise_ece": of_both["ece"],
            **{k: of_both[k] for k in ("marginal_error", "rms_error")},
        }


@cache
def truths_of(name: str) -> Truths:
    """True values of a population that does not vary."""
    population = kinds.population_of(name)
    return Truths(population.classifier(np.random.default_rng(0)), population.thresholds)


@dataclass(frozen=True, eq=False)
class DataSet:
    """One data set of a population: the same for all parts.

    Parameters
    ----------
    population : Population
        The population.
    classifier : Classifier
        The classifier, of which there is another one for each data set if the population varies.
    outcome, score, other : ndarray, shape (n_rows,)
        Outcomes, scores, and scores of a second model.
    validation : (ndarray, ndarray)
        Outcomes and scores of other rows.
    calibrated : ndarray, shape (n_rows,)
        Outcomes of the same scores if they were calibrated.
    draws, seed : int
        Settings of the posteriors.
    """

    population: Population
    classifier: Classifier
    outcome: NDArray[np.int64]
    score: Floats
    other: Floats
    validation: tuple[NDArray[np.int64], Floats]
    calibrated: NDArray[np.int64]
    draws: int
    seed: int

    @classmethod
    def drawn(cls, population: Population, n_rows: int, draws: int, rng: np.random.Generator) -> "DataSet":
        """Draw a data set."""
        classifier = population.classifier(rng)
        outcome, score = classifier.draw(n_rows, rng)
        other = expit(logit(score) + NOISE * rng.standard_normal(n_rows))
        calibrated = (rng.random(n_rows) < score).astype(np.int64)
        validation = classifier.draw(VALIDATION, rng)
        seed = int(rng.integers(2**63))
        return cls(population, classifier, outcome, score, other, validation, calibrated, draws, seed)

    @property
    def options(self) -> dict[str, int]:
        """Options of every posterior."""
        return {"draws": self.draws, "rng": self.seed}

    @cached_property
    def true(self) -> Truths:
        """True values."""
        if self.population.varies:
            return Truths(self.classifier, self.population.thresholds)
        return truths_of(self.population.name)

    @property
    def truths(self) -> dict[str, float]:
        """True values of the quantities of the scores."""
        return self.true.of_scores


# ------------------------------------------------------------------------------------------------ parts
def of_errors(data: DataSet) -> Found:
    """Errors of the bins, Brier score, log score and AUC, of one call of `evaluate`."""
    ours = bc.evaluate(data.outcome, data.score, **data.options)
    other = bc.evaluate(data.outcome, data.score, model="dirichlet", **data.options)
    resampled, observed = bootstrap_bins(ours.counts, data.draws, rng=data.seed), observed_bins(ours.counts)
    found: Found = {}
    for name, record in registered().items():
        if name not in data.truths or name not in QUANTITIES:
            continue
        truth = data.truths[name]
        for method, evaluation in ((OURS, ours), (DIRICHLET, other)):
            found[name, 0, method] = (*evaluation.draws(name).interval(PROB), truth)
        if not record.needs:
            plug_in = record.draw(observed, ours.counts).mean()
            low, high, _ = percentile_interval(plug_in, record.draw(resampled, ours.counts), PROB)
            found[name, 0, BOOTSTRAP] = (low, high, truth)
    for name, losses in losses_of(data).items():
        found[name, 0, WALD] = (*wald(losses), data.truths[name])
    found["signed_error", 0, WALD] = (*wald(data.outcome - data.score), data.truths["signed_error"])
    return found


def losses_of(data: DataSet) -> dict[str, Floats]:
    """Squared errors and, where it is finite, log losses of the rows."""
    losses = {"brier_score": (data.outcome - data.score) ** 2}
    if "log_score" in data.truths:
        right = np.where(data.outcome == 1, data.score, 1 - data.score)
        losses["log_score"] = -np.log(right)
    return losses


def wald(values: Floats) -> tuple[float, float]:
    """Mean of the rows, plus and minus standard errors."""
    half = norm.ppf((1 + PROB) / 2) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def of_logits(data: DataSet) -> Found:
    """O/E, calibration in the large, intercept and slope, unless a score is 0 or 1."""
    if "slope" not in data.truths:
        return {}
    rc = bc.recalibration(data.outcome, data.score, **data.options)
    found: Found = {}
    for name in ("observed_expected", "in_the_large", "intercept", "slope"):
        found[name, 0, OURS] = (*getattr(rc, name).interval(PROB), data.truths[name])
    events = data.outcome.sum()
    if 0 < events < len(data.outcome):
        half = norm.ppf((1 + PROB) / 2) * np.sqrt(1 / events - 1 / len(data.outcome))
        low, high = events / data.score.sum() * np.exp([-half, half])
        found["observed_expected", 0, WALD] = (float(low), float(high), data.truths["observed_expected"])
    return found


def of_cumulative(data: DataSet) -> Found:
    """Kuiper and Kolmogorov-Smirnov statistic."""
    posterior = bc.cumulative_difference(data.outcome, data.score).posterior(data.draws, rng=data.seed)
    return {
        (name, 0, OURS): (*getattr(posterior, name).interval(PROB), data.truths[name])
        for name in ("kuiper", "kolmogorov_smirnov")
    }


def of_curve(data: DataSet) -> Found:
    """Errors of the calibration curve, and its pointwise band; outside the range of the curve there is no band."""
    cv = bc.calibration_curve(data.outcome, data.score, **data.options)
    found: Found = {
        (name, 0, OURS): (*getattr(cv, name).interval(PROB), data.truths[name])
        for name in ("ici", "e50", "e90", "emax")
    }
    for score in data.population.at:
        assert data.classifier.curve is not None
        truth = float(data.classifier.curve(np.array([score]))[0])
        try:
            found["band", score, OURS] = (*cv.at(score).interval(PROB), truth)
        except ValueError:
            found["band", score, OURS] = (np.nan, np.nan, truth)
    return found


def of_decisions(data: DataSet) -> Found:
    """Net benefit of the first model, its difference to the second one, and loss ratios of a recalibration."""
    thresholds = np.array(data.population.thresholds)
    joint = bc.decisions.net_benefit(
        data.outcome, {"first": data.score, "second": data.other}, thresholds, **data.options
    )
    weight = np.where(data.outcome[:, None] == 1, 1.0, -thresholds / (1 - thresholds))
    first, second = ((p[:, None] >= thresholds) * weight for p in (data.score, data.other))
    found: Found = {}
    for name, true, drawn, rows in (
        ("net_benefit", data.true.net_benefit[0], joint.net_benefit["first"], first),
        ("net_benefit_difference", data.true.net_benefit[1], joint.difference(), first - second),
    ):
        low, high = drawn.interval(PROB)
        for k, t in enumerate(thresholds):
            found[name, float(t), OURS] = (float(low[k]), float(high[k]), float(true[k]))
            found[name, float(t), WALD] = (*wald(rows[:, k]), float(true[k]))
    return found | _loss_ratios(data)


def _loss_ratios(data: DataSet) -> Found:
    outcome, score = data.validation
    grid, probability = (values[:: max(len(values) // LOSS_GRID, 1)] for values in data.classifier.grid)
    after = bc.IsotonicRecalibration().fit(score, outcome).transform(grid)
    found: Found = {}
    for name, thresholds in (("loss_ratio", data.population.thresholds), ("mean_loss_ratio", THRESHOLDS)):
        true = decision_losses(after, probability, thresholds) / decision_losses(grid, probability, thresholds)
        single = name == "loss_ratio"
        places = list(thresholds) if single else [0.0]
        try:
            ratio = bc.loss_ratio(data.outcome, data.score, outcome, score, thresholds, **data.options)
        except ValueError:  # no row is decided wrongly before
            found |= {(name, float(t), OURS): (np.nan, np.nan, np.nan) for t in places}
            continue
        low, high = (np.atleast_1d(end) for end in (ratio.ratio if single else ratio.mean_ratio).interval(PROB))
        true = true if single else np.atleast_1d(true.mean())
        found |= {(name, float(t), OURS): (low[k], high[k], true[k]) for k, t in enumerate(places)}
    return found


def of_pairs(data: DataSet) -> Found:
    """Differences of ECE and Brier score between two models on the same rows."""
    compared = bc.compare(data.outcome, {"first": data.score, "second": data.other}, **data.options)
    ece, brier = data.true.differences
    rows = (data.outcome - data.score) ** 2 - (data.outcome - data.other) ** 2
    return {
        ("ece_difference", 0, OURS): (*compared.difference("first", "second").interval(PROB), ece),
        ("brier_difference", 0, OURS): (
            *compared.difference("first", "second", estimand="brier_score").interval(PROB),
            brier,
        ),
        ("brier_difference", 0, WALD): (*wald(rows), brier),
    }


def of_groups(data: DataSet) -> Found:
    """ECE of groups in turn, of which every other one is calibrated, with partial pooling."""
    group = np.arange(len(data.outcome)) % GROUPS
    off = group % 2 == 0
    truth = np.where(np.arange(GROUPS) % 2 == 0, data.truths["ece"], 0.0)
    return groups_of(np.where(off, data.outcome, data.calibrated), data.score, group, truth, data.options)


def groups_of(
    outcome: NDArray[np.int64], score: Floats, group: NDArray[np.int64], truth: Floats, options: Mapping[str, int]
) -> Found:
    """Intervals of the ECE of groups; the number of the group is the second part of the key."""
    found: Found = {}
    for method, pooling in ((OURS, "partial"), (UNPOOLED, "none")):
        grouped = bc.evaluate(outcome, score, by=group, pooling=pooling, progress=False, **options)
        low, high = np.quantile(grouped.draws("ece").values, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
        for g, true in enumerate(truth.tolist()):
            found["group_ece", g, method] = (low[g], high[g], true)
    return found


def of_classes(data: DataSet) -> Found:
    """The scores as a matrix of two classes: top label, and means over both classes."""
    matrix = np.column_stack([1 - data.score, data.score])
    top = bc.evaluate(data.outcome, matrix, **data.options)
    both = bc.evaluate(data.outcome, matrix, target="classwise", progress=False, **data.options)
    drawn = {
        "top_label_ece": top.ece,
        "classwise_ece": both.ece,
        "marginal_error": both.marginal_error,
        "rms_error": both.rms_error,
    }
    return {(name, 0, OURS): (*each.interval(PROB), data.true.of_classes[name]) for name, each in drawn.items()}


PARTS: dict[str, Callable[[DataSet], Found]] = {
    "errors": of_errors,
    "logits": of_logits,
    "cumulative": of_cumulative,
    "curve": of_curve,
    "decisions": of_decisions,
    "pairs": of_pairs,
    "groups": of_groups,
    "classes": of_classes,
}


# ------------------------------------------------------------------------------------------------ jobs
@dataclass(frozen=True)
class Job:
    """Some data sets of one cell: everything that another process needs.

    Parameters
    ----------
    population : str
        Name of a population, or of a set of groups.
    n_rows, sets, draws : int
        Rows of a data set, data sets, and draws.
    parts : tuple of str
        Parts that are measured.
    stream : tuple of int
        Seed of the data sets; the same for all parts.
    """

    population: str
    n_rows: int
    sets: int
    draws: int
    parts: tuple[str, ...]
    stream: tuple[int, ...]


def of_job(job: Job) -> dict[str, dict[tuple[str, float, str], Floats]]:
    """Intervals and true values by part and key; arrays of shape (sets, 3)."""
    os.environ.setdefault("BAYESCAL_COMPILE", "always")  # groups in compiled form, however few there are
    rng = np.random.default_rng(job.stream)
    found: dict[str, dict[tuple[str, float, str], list[tuple[float, ...]]]] = {part: {} for part in job.parts}
    for i in range(job.sets):
        for part, values in measured_parts(job, i, rng):
            for key, ends in values.items():
                found[part].setdefault(key, []).append(ends)
    return {part: {key: np.array(ends) for key, ends in of.items()} for part, of in found.items()}


def measured_parts(job: Job, number: int, rng: np.random.Generator) -> Iterator[tuple[str, Found]]:
    """Draw one data set, and measure all parts on it."""
    if job.population in OF_GROUPS:
        classifiers = [OF_GROUPS[job.population](g) for g in range(GROUPS)]
        rows = [classifier.draw(job.n_rows // GROUPS, rng) for classifier in classifiers]
        outcome, score = (np.concatenate(column) for column in zip(*rows, strict=True))
        truth = np.array([_group_truth(job.population, g) for g in range(GROUPS)])
        options = {"draws": job.draws, "rng": int(rng.integers(2**63))}
        yield "groups", groups_of(outcome, score, np.repeat(np.arange(GROUPS), job.n_rows // GROUPS), truth, options)
        return
    data = DataSet.drawn(kinds.population_of(job.population), job.n_rows, job.draws, rng)
    for part in job.parts:
        if part != "groups" or number % ONE_IN == 0:
            yield part, PARTS[part](data)


@cache
def _group_truth(population: str, group: int) -> float:
    return bin_values(*OF_GROUPS[population](group).grid)["ece"]


def places(quick: bool) -> list[tuple[str, int]]:
    """Return the names and sizes of all cells, the largest first."""
    chosen = POPULATIONS[::6] if quick else POPULATIONS
    every = [(population.name, size) for population in chosen for size in population.sizes[: 1 if quick else 2]]
    every += [(name, size) for name in OF_GROUPS for size in GROUP_SIZES[: 1 if quick else 2]]
    return sorted(every, key=lambda place: -place[1])


def jobs_of_cell(place: tuple[str, int], parts: Sequence[str], sets: int, draws: int, seed: int) -> list[Job]:
    """Return the jobs of a cell, each with a stream of its own."""
    name, n_rows = place
    known = [*(population.name for population in POPULATIONS), *OF_GROUPS]
    own = tuple(part for part in parts if name not in OF_GROUPS or part == "groups")
    starts = range(0, sets, CHUNK) if own else range(0)
    return [
        Job(name, n_rows, min(CHUNK, sets - start), draws, own, (seed, known.index(name), n_rows, start))
        for start in starts
    ]


def run(jobs: Sequence[Job], workers: int, description: str) -> dict[tuple[str, tuple[str, int]], list[Row]]:
    """Rows by part and cell."""
    gathered: dict[tuple[str, tuple[str, int]], dict[tuple[str, float, str], list[Floats]]] = {}
    results = run_jobs(of_job, jobs, workers=workers, progress=True, description=description)
    for job, result in zip(jobs, results, strict=True):
        for part, of in result.items():
            cell = gathered.setdefault((part, (job.population, job.n_rows)), {})
            for key, ends in of.items():
                cell.setdefault(key, []).append(ends)
    return {place: list(scored(place[1], of)) for place, of in gathered.items()}


def scored(place: tuple[str, int], found: Mapping[tuple[str, float, str], Sequence[Floats]]) -> Iterator[Row]:
    """Yield one row per quantity, place and method; groups of a data set are counted together and by kind."""
    by_key: dict[tuple[str, float, str], list[Floats]] = {}
    for (quantity, at, method), chunks in found.items():
        if quantity == "group_ece":
            ends = np.concatenate(chunks)
            kind = "group_off" if ends[0, 2] > 0 else "group_calibrated"
            for name in (quantity, kind):
                by_key.setdefault((name, 0.0, method), []).append(ends)
        else:
            by_key[quantity, at, method] = list(chunks)
    for (quantity, at, method), chunks in by_key.items():
        ends = np.concatenate(chunks)
        kept = ends[np.isfinite(ends[:, 0])]
        if not len(kept):
            continue
        cell = {"population": place[0], "n_rows": place[1], "quantity": quantity, "at": at}
        cell["truth"] = float(kept[:, 2].mean())
        (row,) = coverage_rows(cell, {method: kept[:, :2]}, kept[:, 2])
        yield {**row, "none": len(ends) - len(kept), "again": None}


def is_below(row: Row) -> bool:
    """Whether the coverage of a row is below the limit of its quantity."""
    limit = QUANTITIES[row["quantity"]][2]
    return row["method"] == OURS and limit is not None and row["coverage"] < limit


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the chosen parts, and cells below their limits again."""
    every = places(options.quick)
    jobs = [job for at in every for job in jobs_of_cell(at, options.only, options.repeats, options.draws, SEED)]
    rows = run(jobs, options.workers, "populations")
    below = {key for key, of in rows.items() if any(map(is_below, of))}
    if below and not options.quick:
        sets = TIMES * options.repeats
        jobs = [job for part, at in sorted(below) for job in jobs_of_cell(at, [part], sets, options.draws, AGAIN)]
        for key, of in run(jobs, options.workers, "cells below their limits again").items():
            shares = {(row["quantity"], row["at"], row["method"]): row["coverage"] for row in of}
            for row in filter(is_below, rows[key]):
                row["again"] = shares.get((row["quantity"], row["at"], row["method"]))
    settings = {"prob": PROB, "repeats": options.repeats, "draws": options.draws}
    found = {**about(SEED, settings), "columns": list(COLUMNS)}
    for part in options.only:
        found[part] = rows_of(COLUMNS, [row for (name, _), of in rows.items() if name == part for row in of])
    return found


# ------------------------------------------------------------------------------------------------ tables
def rows_in(numbers: Mapping[str, Any]) -> list[Row]:
    """Stored rows of all parts, with the share that counts."""
    order = {name: i for i, name in enumerate([*(population.name for population in POPULATIONS), *OF_GROUPS])}
    rows = [dict(zip(numbers["columns"], row, strict=True)) for part in PARTS for row in numbers.get(part, [])]
    for row in rows:
        row["share"] = row["coverage"] if row["again"] is None else row["again"]
        row["words"] = QUANTITIES[row["quantity"]][0] + (f" at {row['at']:g}" if row["at"] else "")
    return sorted(rows, key=lambda row: (order[row["population"]], row["n_rows"]))


def overall(rows: Iterable[Row]) -> str:
    """One line per quantity and method."""
    rows, lines = list(rows), []
    for name, (words, mean, worst) in QUANTITIES.items():
        of = [row for row in rows if row["quantity"] == name]
        for method in dict.fromkeys(row["method"] for row in of):
            mine = [row for row in of if row["method"] == method]
            shares = np.array([row["share"] for row in mine])
            least = mine[int(shares.argmin())]
            ours = method == OURS
            required = ["" if each is None or not ours else f"{each:g}" for each in (mean, worst)]
            lines.append([
                words if ours else "", method, len(mine), f"{shares.mean():.3f}", f"{shares.min():.2f}", *required,
                f"{np.mean([row['width'] for row in mine]):.4f}",
                "{population}, n = {n_rows}".format(**least),
            ])  # fmt: skip
    head = "Quantity | Method | Cells: | Mean: | Worst: | Mean required: | Worst required: | Width: | Where it is worst"
    return table(head, lines)


def by_cell(rows: Iterable[Row], quantities: Sequence[str]) -> str:
    """One line per population and size: coverage of each quantity, the worst of several thresholds or scores."""
    lines: dict[tuple[str, int], dict[str, list[float]]] = {}
    for row in rows:
        if row["method"] == OURS and row["quantity"] in quantities:
            line = lines.setdefault((row["population"], row["n_rows"]), {})
            line.setdefault(row["quantity"], []).append(row["share"])
    head = "Population | Rows: | " + " | ".join(f"{QUANTITIES[name][0]}:" for name in quantities)
    return table(
        head,
        (
            [name, n_rows, *(f"{min(of[quantity]):.2f}" if quantity in of else "" for quantity in quantities)]
            for (name, n_rows), of in lines.items()
        ),
    )


def weak(rows: Iterable[Row]) -> str:
    """One line per cell of the package whose share is below 0.85."""
    of = [row for row in rows if row["method"] == OURS and row["share"] < 0.85]
    for row in of:
        row["first"] = f"{row['coverage']:.2f}" if row["again"] is not None else ""
    form = "{population}|{n_rows}|{words}|{truth:.4g}|{share:.2f}|{first}|{above:.2f}|{width:.4g}"
    head = "Population | Rows: | Quantity | True value: | Coverage: | First share: | Truth above: | Width:"
    return table(head, cells(of, form))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    rows = rows_in(numbers)
    sets = sorted({row["repeats"] + row["none"] for row in rows if not row["quantity"].startswith("group")})
    first, again = errors_near(PROB, sets[-1], TIMES * sets[-1])
    n_cells = len({(row["population"], row["n_rows"]) for row in rows})
    words, n, draws = " or ".join(map(str, sets)), sets[-1], f"{numbers['draws']} draws or resamples"
    conditions = (
        f"bayescal {numbers['bayescal']}: {n_cells} pairs of population and size, {words} data sets of each, {TIMES} "
        f"times as many fresh ones\nwhere a share is below its requirement, {draws}, seed {numbers['seed']}. Groups "
        f"are measured in one of {ONE_IN} data\nsets. The standard error of a share near {PROB:g} is {first} with {n} "
        f"data sets, and {again} where it was measured again.\n"
    )
    quantities = {
        "of_bins": list(QUANTITIES)[:9],
        "of_scores": [*list(QUANTITIES)[9:15], "ece_difference", "brier_difference"],
        "of_curve": ["ici", "e50", "e90", "emax", "band"],
        "of_decisions": ["net_benefit", "net_benefit_difference", "loss_ratio", "mean_loss_ratio"],
        "of_groups": [name for name in QUANTITIES if name.startswith("group")],
        "of_classes": ["top_label_ece", "classwise_ece", "marginal_error", "rms_error"],
    }
    return {
        "conditions": conditions,
        "overall": overall(rows),
        "weak": weak(rows),
        **{name: by_cell(rows, chosen) for name, chosen in quantities.items()},
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="populations.json",
        page="populations.md",
        save=save_parts,
        parts=tuple(PARTS),
        shown=("conditions", "overall"),
        draws=FEWER_DRAWS,
    )
