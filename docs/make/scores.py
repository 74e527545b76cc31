"""Measure how often intervals of Brier score (also scaled), log score and accuracy, and of differences, hold the truth;
write docs/explanation/scores.md: part of `make coverage`.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain, product
from operator import itemgetter
from typing import Any

import numpy as np
from pages import cells, rows_again, rows_of, save_parts, table
from scipy.special import stdtrit
from studies import Floats, about, accuracies, errors_near, jobs_of, rows_of_jobs, run_study
from studies.differences import Stated

from bayescal import BinDraws, BinnedCounts, PairedCounts, evaluate_counts
from bayescal._arrays import Ints
from bayescal.analyses.compare import SameRowsWarning, compare_counts, compare_independent
from bayescal.datasets.simulate import POPULATIONS, BetaPopulation, simulate, true_curve
from bayescal.estimands.scores import joint_log_scores, joint_scaled_brier_scores
from bayescal.posterior.joint import correlation, reorder
from bayescal.verify.coverage import CoverageStudy, score, stacked
from bayescal.verify.methods import Interval

SEED, PROB, NORMAL = 1, 0.95, 1.959964
SIZES, CURVES, BINS = (200, 2000), (("calibrated", None), ("temperature", 1.5)), (1, 2, 5, 15)
#: Resamples of the rows in the Bayesian bootstrap, and in the percentile bootstrap of log losses.
RESAMPLES, LOG_RESAMPLES = 1000, 400
#: Log scores: numbers of rows, numbers of bins, and populations, of which `sharp` has most confidences near 0 and 1.
LOG_SIZES, LOG_BINS = (100, 300, 2000, 20_000), (1, 15)
LOG_POPULATIONS = {**POPULATIONS, "sharp": BetaPopulation(0.4, 0.4, name="sharp")}
#: Quantiles that stand for the confidences of a population, and rows of a sample of true probabilities.
QUANTILES = 100_000
TRUTH_ROWS = 1_000_000
CALIBRATED, OVER = Stated("calibrated"), Stated("over-confident", slope=1.5)
PAIRS = (
    (CALIBRATED, OVER),
    (CALIBRATED, Stated("shifted", shift=0.3)),
    (Stated("noisy", noise=0.3), Stated("noisy", noise=0.3)),
    (OVER, Stated("nearly over-confident", slope=1.5, noise=0.1)),
    (CALIBRATED, Stated("nearly calibrated", noise=0.1)),
)
COLUMNS = ("n_rows", "population", "curve", "truth", "bins", "method", "coverage", "bias", "rmse", "width", "repeats")
DIFFERENCE_COLUMNS = tuple({"curve": "pair"}.get(name, name) for name in COLUMNS)
#: Scores have more data sets than differences of Brier scores, by these factors, since single cells are judged.
TIMES_SCORES, TIMES_LOG_SCORES, TIMES_ACCURACIES, TIMES_SCALED = 4, 2, 4, 2
#: Scaled Brier scores: numbers of rows; the populations and bins are those of log scores.
SCALED_SIZES = (60, 200, 2000)
#: Parts of the study and their tables, in the order of their random streams.
PARTS = {
    "brier": ("scores", "differences"),
    "log": ("log_scores", "log_differences"),
    "accuracy": ("accuracies", "accuracy_differences"),
    "scaled": ("scaled_scores", "scaled_differences"),
}
TABLES = tuple(chain.from_iterable(PARTS.values()))
#: Number of bins (0: none) and method.
Key = tuple[int, str]


def release_0_1_0(bins: BinDraws, counts: BinnedCounts) -> np.ndarray[Any, Any]:
    """Draws as release 0.1.0 made them: the terms within bins are as observed in every draw."""
    weight = np.where(counts.occupied, counts.weight.sum(axis=0), 1.0)
    offset = counts.deviation.sum(axis=0) / weight
    variance = np.maximum(counts.deviation_sq / weight - offset**2, 0.0)
    covariance = counts.deviation[1] / weight - counts.weight[1] / weight * offset
    each = bins.accuracy * (1 - bins.accuracy) + bins.gap**2 + variance - 2 * covariance
    return np.asarray((bins.mass * each).sum(axis=-1))


def bootstrap(loss: Any, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Bayesian bootstrap of the mean loss over rows."""
    weight = rng.standard_exponential((RESAMPLES, len(loss)))
    return np.asarray(weight @ loss / weight.sum(axis=1))


def summary(drawn: Any) -> Interval:
    """Interval and mean of draws."""
    low, high = np.quantile(drawn, [(1 - PROB) / 2, (1 + PROB) / 2])
    return float(low), float(high), float(np.mean(drawn))


def percentile_bootstrap(loss: Any, rng: np.random.Generator) -> Interval:
    """Percentile bootstrap of the mean loss over rows."""
    return summary(loss[rng.integers(len(loss), size=(LOG_RESAMPLES, len(loss)), dtype=np.int32)].mean(axis=1))


def t_interval(loss: Any) -> Interval:
    """Student t interval of the mean loss over rows."""
    mean, half = loss.mean(), stdtrit(len(loss) - 1, (1 + PROB) / 2) * loss.std(ddof=1) / np.sqrt(len(loss))
    return float(mean - half), float(mean + half), float(mean)


def log_loss(outcome: Any, confidence: Any) -> Any:
    """-log of the probability of the outcome."""
    return -np.log(np.where(outcome == 1, confidence, 1 - confidence))


def true_log_score(probability: Any, confidence: Any) -> float:
    """Expected log loss."""
    return float(np.mean(probability * log_loss(1, confidence) + (1 - probability) * log_loss(0, confidence)))


def true_score(probability: Any, confidence: Any) -> float:
    """Expected squared error."""
    return float(np.mean(probability * (1 - confidence) ** 2 + (1 - probability) * confidence**2))


def rows_of_cell(cell: dict[str, Any], intervals: Mapping[Key, Floats]) -> list[dict[str, Any]]:
    """One row for each number of bins and method."""
    return [
        {**cell, "bins": bins, "method": method, **score(values, cell["truth"]), "repeats": len(values)}
        for (bins, method), values in intervals.items()
    ]


def score_cell(job: tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the Brier score of one classifier."""
    size, population, named, repeats, draws, rng = job
    curve = true_curve(*named)
    confidence = POPULATIONS[population].quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    truth = true_score(curve(confidence), confidence)

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        data = simulate(size, population=population, curve=curve, rng=rng)
        for n_bins in BINS:
            counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=n_bins)
            of = evaluate_counts(counts, draws=draws, rng=rng)
            yield (n_bins, "bayescal"), summary(of.brier_score.values)
            yield (n_bins, "release 0.1.0"), summary(release_0_1_0(of.bin_draws, counts))
        yield (0, "bootstrap of rows"), summary(bootstrap((data.outcome - data.confidence) ** 2, rng))

    cell = {"n_rows": size, "population": population, "curve": str(curve), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def scaled_of(loss: Any, outcome: Any, rows: Any) -> Any:
    """Scaled Brier scores of weighted rows, shape (n_sets, n_rows); NaN of one outcome."""
    size = rows.sum(axis=1)
    rate = rows @ outcome / size
    with np.errstate(divide="ignore", invalid="ignore"):
        return 1 - (rows @ loss / size) / (rate * (1 - rate))


def scaled_rivals(loss: Any, outcome: Any, rng: np.random.Generator) -> Iterator[tuple[Key, Interval]]:
    """Percentile bootstrap of the rows, and Wald interval from the influence of each row, of losses or differences."""
    size, rate, mean = len(loss), outcome.mean(), loss.mean()
    rows = rng.multinomial(size, np.full(size, 1 / size), LOG_RESAMPLES).astype(np.float64)
    resampled = scaled_of(loss, outcome, rows)
    yield (0, "percentile bootstrap of rows"), summary(resampled[np.isfinite(resampled)])
    variance = rate * (1 - rate)
    influence = (mean - loss) / variance + mean * (1 - 2 * rate) / variance**2 * (outcome - rate)
    middle, half = 1 - mean / variance, NORMAL * influence.std(ddof=1) / np.sqrt(size)
    yield (0, "Wald"), (float(middle - half), float(middle + half), float(middle))


def scaled_cell(job: tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the scaled Brier score of one classifier; the model determines the order of its draws only."""
    size, name, named, repeats, draws, rng = job
    population, curve = LOG_POPULATIONS[name], true_curve(*named)
    confidence = population.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    rate = float(np.mean(curve(confidence)))
    truth = 1 - true_score(curve(confidence), confidence) / (rate * (1 - rate))

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        data = simulate(size, population=population, curve=curve, rng=rng)
        while not 0 < data.outcome.sum() < size:  # the score is refused
            data = simulate(size, population=population, curve=curve, rng=rng)
        for n_bins in LOG_BINS:
            counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=n_bins)
            of = evaluate_counts(counts, draws=draws, model="dirichlet", rng=rng)
            yield (n_bins, "bayescal"), summary(of.scaled_brier_score.values)
        yield from scaled_rivals((data.outcome - data.confidence) ** 2, data.outcome.astype(np.float64), rng)

    cell = {"n_rows": size, "population": name, "curve": str(curve), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def rows_of_pair(
    size: int, population: str, pair: tuple[Stated, Stated], rng: np.random.Generator
) -> tuple[Ints, Floats, Floats]:
    """Outcomes of simulated rows, and what two classifiers state for them."""
    p = simulate(size, population=population, rng=rng).confidence
    outcome = (rng.random(size) < p).astype(np.int64)
    return outcome, pair[0](p, rng), pair[1](p, rng)


def scaled_difference_cell(
    job: tuple[int, str, tuple[Stated, Stated], int, int, np.random.Generator],
) -> list[dict[str, Any]]:
    """Intervals of the difference of two scaled Brier scores on the same rows, which do not depend on the bins."""
    size, population, pair, repeats, draws, rng = job
    p = simulate(TRUTH_ROWS, population=population, rng=0).confidence
    fixed = np.random.default_rng(0)
    truth = (true_score(p, pair[1](p, fixed)) - true_score(p, pair[0](p, fixed))) / (p.mean() * (1 - p.mean()))

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        outcome, first, second = rows_of_pair(size, population, pair, rng)
        counts = PairedCounts.from_arrays(outcome, first, outcome, second, bins=1)
        drawn = joint_scaled_brier_scores([counts.first, counts.second], {(0, 1): counts}, draws, rng=rng)
        assert drawn is not None
        yield (0, "same rows"), summary(drawn[:, 0] - drawn[:, 1])
        loss = (outcome - first) ** 2 - (outcome - second) ** 2
        for (bins, method), (low, high, middle) in scaled_rivals(loss, outcome.astype(np.float64), rng):
            yield (bins, f"same rows, {method}"), (low - 1, high - 1, middle - 1)

    cell = {"n_rows": size, "population": population, "pair": " - ".join(map(str, pair)), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def log_cell(job: tuple[int, str, tuple[str, float | None], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the log score of one classifier; the model determines the order of its draws only."""
    size, name, named, repeats, draws, rng = job
    population, curve = LOG_POPULATIONS[name], true_curve(*named)
    confidence = population.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    truth = true_log_score(curve(confidence), confidence)

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        data = simulate(size, population=population, curve=curve, rng=rng)
        rows, weights = (data.outcome, data.confidence), rng.exponential(size=size)
        counts = {(n, "bayescal"): BinnedCounts.from_arrays(*rows, bins=n) for n in LOG_BINS}
        weighted = BinnedCounts.from_arrays(*rows, bins=LOG_BINS[-1], weights=weights)
        for key, of in {**counts, (LOG_BINS[-1], "bayescal, weighted rows"): weighted}.items():
            yield key, summary(evaluate_counts(of, draws=draws, model="dirichlet", rng=rng).log_score.values)
        loss = log_loss(*rows)
        yield (0, "percentile bootstrap of rows"), percentile_bootstrap(loss, rng)
        yield (0, "t interval"), t_interval(loss)

    cell = {"n_rows": size, "population": name, "curve": str(curve), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def log_difference_cell(
    job: tuple[int, str, tuple[Stated, Stated], int, int, np.random.Generator],
) -> list[dict[str, Any]]:
    """Intervals of the difference of two log scores on the same rows, which do not depend on the bins."""
    size, population, pair, repeats, draws, rng = job
    p = simulate(TRUTH_ROWS, population=population, rng=0).confidence
    fixed = np.random.default_rng(0)
    truth = true_log_score(p, pair[0](p, fixed)) - true_log_score(p, pair[1](p, fixed))

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        outcome, first, second = rows_of_pair(size, population, pair, rng)
        counts = PairedCounts.from_arrays(outcome, first, outcome, second, bins=1)
        drawn = joint_log_scores([counts.first, counts.second], {(0, 1): counts}, draws, rng=rng)
        assert drawn is not None
        yield (0, "same rows"), summary(drawn[:, 0] - drawn[:, 1])
        loss = log_loss(outcome, first) - log_loss(outcome, second)
        yield (0, "same rows, percentile bootstrap of rows"), percentile_bootstrap(loss, rng)

    cell = {"n_rows": size, "population": population, "pair": " - ".join(map(str, pair)), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def difference_cell(job: tuple[int, str, tuple[Stated, Stated], int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the difference of two Brier scores, on the same rows and on different rows."""
    size, population, pair, repeats, draws, rng = job
    p = simulate(TRUTH_ROWS, population=population, rng=0).confidence
    fixed = np.random.default_rng(0)
    truth = true_score(p, pair[0](p, fixed)) - true_score(p, pair[1](p, fixed))

    def of_data_set() -> Iterator[tuple[Key, Interval]]:
        outcome, first, second = rows_of_pair(2 * size, population, pair, rng)
        here, there = slice(None, size), slice(size, None)
        for n_bins in (1, 15):
            counts = PairedCounts.from_arrays(outcome[here], first[here], outcome[here], second[here], bins=n_bins)
            elsewhere = BinnedCounts.from_arrays(outcome[there], second[there], bins=n_bins)
            for method, values in _differences(counts, elsewhere, draws, rng):
                yield (n_bins, method), summary(values)
        loss = (outcome[here] - first[here]) ** 2 - (outcome[here] - second[here]) ** 2
        yield (0, "same rows, bootstrap of rows"), summary(bootstrap(loss, rng))

    cell = {"n_rows": size, "population": population, "pair": " - ".join(map(str, pair)), "truth": truth}
    return rows_of_cell(cell, stacked(dict(of_data_set()) for _ in range(repeats)))


def _differences(
    counts: PairedCounts, elsewhere: BinnedCounts, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, Floats]]:
    """Draws of each method; `elsewhere` has as many rows of the second model, and they are others."""
    together = compare_counts({("a", "b"): counts}, draws=draws, rng=rng)
    alone = {"a": together["a"], "b": evaluate_counts(elsewhere, draws=draws, rng=rng)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameRowsWarning)  # equal numbers of rows, but different rows
        apart = compare_independent(alone, rng=rng)
    yield "same rows", together.difference("a", "b", "brier_score").values
    yield "same rows, release 0.1.0", _difference_0_1_0(together, counts, rng)
    yield "different rows", apart.difference("a", "b", "brier_score").values


def _difference_0_1_0(together: Any, pair: PairedCounts, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Margins of release 0.1.0, tied by the copula that ties ECEs."""
    margins = [together[name] for name in together.names]
    values = [release_0_1_0(of.bin_draws, of.counts) for of in margins]
    joint = correlation(values, [of.bin_draws for of in margins], {(0, 1): pair})
    first, second = reorder(np.stack(values, axis=1), joint, rng=rng).T
    return np.asarray(first - second)


def accuracy_cell(job: tuple[str, float, int, int, int, np.random.Generator]) -> list[dict[str, Any]]:
    """Intervals of the accuracy of one classifier."""
    design, accuracy, size, repeats, draws, rng = job
    cell = {"n_rows": size, "population": design, "curve": f"accuracy {accuracy:g}"}
    found = stacked(
        {(15, method): summary(values) for method, values in accuracies.accuracies(design, accuracy, size, draws, rng)}
        for _ in range(repeats)
    )
    return rows_of_cell({**cell, "truth": accuracies.truth_of(design, accuracy)}, found)


def accuracy_difference_cell(
    job: tuple[str, tuple[float, float], int, int, int, np.random.Generator],
) -> list[dict[str, Any]]:
    """Intervals of the difference of two accuracies on the same rows."""
    design, pair, size, repeats, draws, rng = job
    cell = {"n_rows": size, "population": design, "pair": "{:g} - {:g}".format(*pair), "truth": pair[0] - pair[1]}
    found = stacked(
        {(15, method): summary(values) for method, values in accuracies.differences(design, pair, size, draws, rng)}
        for _ in range(repeats)
    )
    return rows_of_cell(cell, found)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all studies, or those of ``--only``; with --quick, the smallest number of rows and two pairs."""
    sizes, log_sizes, pairs = (SIZES[:1], LOG_SIZES[:1], PAIRS[:2]) if options.quick else (SIZES, LOG_SIZES, PAIRS)
    scaled_sizes = SCALED_SIZES[: 1 if options.quick else None]
    of_pairs = list(product(sizes, ("flat", "top"), pairs))
    of_accuracies = accuracies.cells(accuracies.DESIGNS, accuracies.ACCURACIES, accuracies.SIZES, quick=options.quick)
    of_accuracy_pairs = accuracies.cells(
        accuracies.PAIRED, accuracies.PAIRS, accuracies.PAIR_SIZES, quick=options.quick
    )
    studies = {
        "scores": (score_cell, list(product(sizes, POPULATIONS, CURVES)), TIMES_SCORES, COLUMNS),
        "differences": (difference_cell, of_pairs, 1, DIFFERENCE_COLUMNS),
        "log_scores": (log_cell, list(product(log_sizes, LOG_POPULATIONS, CURVES)), TIMES_LOG_SCORES, COLUMNS),
        "log_differences": (log_difference_cell, of_pairs, TIMES_LOG_SCORES, DIFFERENCE_COLUMNS),
        "accuracies": (accuracy_cell, of_accuracies, TIMES_ACCURACIES, COLUMNS),
        "accuracy_differences": (accuracy_difference_cell, of_accuracy_pairs, TIMES_ACCURACIES, DIFFERENCE_COLUMNS),
        "scaled_scores": (scaled_cell, list(product(scaled_sizes, LOG_POPULATIONS, CURVES)), TIMES_SCALED, COLUMNS),
        "scaled_differences": (scaled_difference_cell, of_pairs, TIMES_SCALED, DIFFERENCE_COLUMNS),
    }
    numbers = {
        **about(SEED, {"prob": PROB, "repeats": options.repeats, "draws": options.draws}),
        "columns": list(COLUMNS),
        "difference_columns": list(DIFFERENCE_COLUMNS),
    }
    wanted = list(chain.from_iterable(PARTS[part] for part in options.only))
    for rng, name in zip(np.random.default_rng(SEED).spawn(len(TABLES)), TABLES, strict=True):
        if name in wanted:
            function, places, times, columns = studies[name]
            jobs = jobs_of(places, times * options.repeats, options.draws, rng=rng)
            found = rows_of_jobs(function, jobs, description=name.replace("_", " "), workers=options.workers)
            numbers[name] = rows_of(columns, found)
    return numbers


def overall(rows: list[dict[str, Any]], cell: str) -> str:
    """One line for each number of bins and method."""
    lines = []
    for n_bins in sorted({row["bins"] for row in rows}, key=lambda n: n or 99):
        study = CoverageStudy([row | {"curve": row[cell]} for row in rows if row["bins"] == n_bins], PROB)
        lines += [line | {"bins": n_bins or "none"} for line in sorted(study.overall(), key=itemgetter("method"))]
    form = "{bins}|{method}|{worst_coverage:.2f}|{mean_coverage:.3f}|{mean_width:.4f}|{worst_cell}"
    return table("Bins: | Method | Worst cell: | Mean coverage: | Width: | Where it is worst", cells(lines, form))


def by_design(rows: list[dict[str, Any]], cell: str) -> str:
    """One line per design of the rows."""
    lines = sorted(
        CoverageStudy([row | {"curve": row[cell]} for row in rows], PROB).overall(), key=itemgetter("method")
    )
    form = "{method}|{worst_coverage:.2f}|{mean_coverage:.3f}|{mean_width:.4f}|{worst_cell}"
    return table("Rows | Worst cell: | Mean coverage: | Width: | Where it is worst", cells(lines, form))


def conditions(numbers: dict[str, Any], scores: list[dict[str, Any]], differences: list[dict[str, Any]]) -> str:
    """Conditions of two studies, and standard errors of their shares."""
    n_scores = len({(row["n_rows"], row["population"], row["curve"]) for row in scores})
    n_differences = len({(row["n_rows"], row["population"], row["pair"]) for row in differences})
    of_scores, of_differences = (rows[0]["repeats"] for rows in (scores, differences))
    errors = errors_near(PROB, of_scores, of_differences)
    return (
        f"bayescal {numbers['bayescal']}: {n_scores} cells for scores with {of_scores} data sets each, "
        f"{n_differences} for differences with {of_differences}; {numbers['draws']} draws, seed {numbers['seed']}.\n"
        f"The standard error of one share near {PROB:g} is {errors[0]} for scores and {errors[1]} for differences.\n"
    )


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    texts = {}
    for kind in ("", "log_", "scaled_"):
        if f"{kind}scores" not in numbers:
            continue
        scores = rows_again({"columns": numbers["columns"], "rows": numbers[f"{kind}scores"]})
        differences = rows_again({"columns": numbers["difference_columns"], "rows": numbers[f"{kind}differences"]})
        texts[f"{kind}conditions"] = conditions(numbers, scores, differences)
        texts[f"{kind}scores"] = overall(scores, "curve")
        texts[f"{kind}differences"] = overall(differences, "pair")
    if "accuracies" in numbers:
        scores = rows_again({"columns": numbers["columns"], "rows": numbers["accuracies"]})
        differences = rows_again({"columns": numbers["difference_columns"], "rows": numbers["accuracy_differences"]})
        texts["accuracy_conditions"] = conditions(numbers, scores, differences)
        texts["accuracies"] = by_design(scores, "curve")
        texts["accuracy_differences"] = by_design(differences, "pair")
    return texts


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="scores.json",
        page="scores.md",
        save=save_parts,
        shown=TABLES,
        parts=tuple(PARTS),
    )
