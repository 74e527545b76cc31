"""Measure how often intervals of the area under the ROC curve, and of the difference of two, contain the truth; write
docs/explanation/auc.md: part of `make coverage`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from pages import cells, rows_again, rows_of, save_parts, table
from scipy.special import expit, ndtr, ndtri
from studies import about, coverage_rows, errors_near, jobs_of, rows_of_jobs, run_study

from bayescal import BinDraws, BinnedCounts, PairedCounts, Predictions, auc
from bayescal.estimands.area_under_roc import correlation_of_aucs, delong_variance, ranks_of
from bayescal.posterior.joint import reorder
from bayescal.stats.ranks import Ranks
from bayescal.verify.coverage import stacked

SEED, PROB = 1, 0.95
Z = float(ndtri((1 + PROB) / 2))
#: Rows and prevalence. The bootstrap, which takes longest, is measured with few rows.
FEW = ((50, 0.5), (50, 0.1), (200, 0.5), (200, 0.05))
MANY = ((2000, 0.5), (2000, 0.05), (2000, 0.01), (20_000, 0.01))
AREAS = (0.55, 0.75, 0.9, 0.99)
POPULATIONS = ("Normal", "mixture", "ties", "weights", "weights by score")
#: Share of the pairs that a mixture misranks: the positive rows that look like negative ones, relative to 1 - AUC.
MIXED = 1.6
#: Edges of confidences that are rounded to one digit, as scores.
EDGES = 2 * np.log((np.arange(10) + 0.5) / (9.5 - np.arange(10)))
#: Bootstrap resamples.
RESAMPLES = 200
#: Areas of two classifiers and the correlation of their scores.
PAIRS = ((0.8, 0.8, 0.5), (0.8, 0.85, 0.9), (0.9, 0.9, 0.99), (0.98, 0.99, 0.9))
PAIR_SIZES = ((200, 0.5), (200, 0.05), (2000, 0.5), (2000, 0.01))
COLUMNS = ("n_rows", "prevalence", "population", "area", "method", "coverage", "above", "width", "repeats")
FINE_BINS, BINS = 1000, 15
#: Intervals of weighted rows if weights are taken as unrelated to scores.
WEIGHTED = "bayescal, weights unrelated to scores"


class SpreadOfWeights(Ranks):
    """Ranks whose variance takes weights as unrelated to scores: a rival."""

    @property
    def sampling_spread(self) -> Any:  # type: ignore[override]  # computed once in the base
        """The variance of the placements weighted by w."""
        return self.spread


def shift(area: float) -> float:
    """Difference of the means of two Normal scores with this AUC."""
    return float(np.sqrt(2) * ndtri(area))


def true_area(population: str, area: float) -> float:
    """AUC of a population; rounding changes it."""
    if population != "ties":
        return area
    zero, one = (np.diff(ndtr(np.concatenate([[-np.inf], EDGES - d, [np.inf]]))) for d in (0, shift(area)))
    return float(one @ (zero.cumsum() - zero / 2))


def outcomes(n_rows: int, prevalence: float, rng: np.random.Generator) -> Any:
    """Outcomes of a data set that has both outcomes."""
    while True:
        outcome = (rng.random(n_rows) < prevalence).astype(np.int64)
        if 0 < outcome.sum() < n_rows:
            return outcome


def data_set(n_rows: int, prevalence: float, population: str, area: float, rng: np.random.Generator) -> Predictions:
    """Draw one data set."""
    outcome = outcomes(n_rows, prevalence, rng)
    score, moved = rng.standard_normal(n_rows), shift(area)
    if population == "mixture":
        hidden = MIXED * (1 - area)
        moved = shift((area - hidden / 2) / (1 - hidden)) * (rng.random(n_rows) >= hidden)
    score += moved * outcome
    confidence = np.searchsorted(EDGES, score) / len(EDGES) if population == "ties" else expit(score / 2)
    weight = rng.exponential(size=n_rows) if population == "weights" else None
    if population == "weights by score":
        weight = np.exp(score)  # both Normal distributions move by 1, and the AUC stays the same
    return Predictions(confidence=confidence, outcome=outcome, weight=weight, target="event")


def counted(rows: Predictions, bins: int = BINS) -> BinnedCounts:
    """Counts of rows without their ranks."""
    return BinnedCounts.from_predictions(rows, bins=bins)


def ranked(rows: Predictions) -> BinnedCounts:
    """Counts as `evaluate` makes them."""
    return replace(counted(rows), ranks=Ranks.of_rows(rows.confidence, rows.outcome, rows.weight))


def no_bins(n_draws: int) -> BinDraws:
    """Draws of one bin, of which the AUC takes only the number."""
    one = np.ones((n_draws, 1))
    return BinDraws(one, one, one, np.ones(1, bool), one)


def quantiles(drawn: Any) -> tuple[float, float]:
    """Equal-tailed interval of draws."""
    low, high = np.quantile(drawn, [(1 - PROB) / 2, (1 + PROB) / 2])
    return float(low), float(high)


def delong(ranks: Ranks) -> tuple[float, float]:
    """Wald interval with the variance of DeLong et al., as in pROC."""
    half = Z * np.sqrt(delong_variance(ranks))
    return max(ranks.auc - half, 0.0), min(ranks.auc + half, 1.0)


def logit_delong(ranks: Ranks) -> tuple[float, float]:
    """The same on the scale of log odds; a single point if the AUC is 0 or 1."""
    area = ranks.auc
    if area * (1 - area) <= 0:
        return area, area
    middle, half = np.log(area / (1 - area)), Z * np.sqrt(delong_variance(ranks)) / (area * (1 - area))
    return float(expit(middle - half)), float(expit(middle + half))


def bootstrap(rows: Predictions, rng: np.random.Generator) -> tuple[float, float]:
    """Percentile bootstrap of the rows."""
    order = np.argsort(rows.confidence, kind="stable")
    starts = np.flatnonzero(np.diff(rows.confidence[order], prepend=-1))
    shape = RESAMPLES, len(rows)
    chosen = rng.integers(len(rows), size=shape) + len(rows) * np.arange(RESAMPLES)[:, None]
    weight = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(shape)
    weight = weight if rows.weight is None else weight * rows.weight[order]
    of_one = weight * rows.outcome[order]
    zero, one = weight - of_one, of_one
    if len(starts) < len(rows):  # ties
        zero, one = (np.add.reduceat(values, starts, axis=1) for values in (zero, one))
    pairs = zero.sum(axis=1) * one.sum(axis=1)
    right = (one * (zero.cumsum(axis=1) - zero / 2)).sum(axis=1)
    return quantiles(right[pairs > 0] / pairs[pairs > 0])


def area_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Intervals of the AUC of one classifier."""
    (n_rows, prevalence), population, area, repeats, draws, rng = job
    drawn_bins = no_bins(draws)

    def of_data_set() -> Iterator[tuple[str, tuple[float, float]]]:
        rows = data_set(n_rows, prevalence, population, area, rng)
        whole = ranked(rows)
        ranks = ranks_of(whole)
        yield "bayescal", quantiles(auc(drawn_bins, whole, rng=rng))
        if rows.weight is not None:
            rival = SpreadOfWeights.of_rows(rows.confidence, rows.outcome, rows.weight)
            yield WEIGHTED, quantiles(auc(drawn_bins, replace(whole, ranks=rival), rng=rng))
        for bins in (BINS, FINE_BINS):
            yield f"bayescal, counts in {bins} bins", quantiles(auc(drawn_bins, counted(rows, bins), rng=rng))
        undefined = min(ranks.rows) <= 1  # the variance of DeLong et al. needs two rows of each outcome
        yield "DeLong", (0.0, 1.0) if undefined else delong(ranks)
        yield "DeLong, logit", (0.0, 1.0) if undefined else logit_delong(ranks)
        if (n_rows, prevalence) in FEW:
            yield "percentile bootstrap", bootstrap(rows, rng)

    cell = {"n_rows": n_rows, "prevalence": prevalence, "population": population, "area": area}
    intervals = stacked(dict(of_data_set()) for _ in range(repeats))
    return coverage_rows(cell, intervals, true_area(population, area))


def difference_cell(job: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Intervals of the difference of the AUCs of two classifiers on the same rows."""
    (n_rows, prevalence), (first, second, likeness), repeats, draws, rng = job
    drawn_bins = no_bins(draws)

    def of_data_set() -> Iterator[tuple[str, tuple[float, float]]]:
        outcome = outcomes(n_rows, prevalence, rng)
        common, own = rng.standard_normal((2, n_rows))
        scores = common, likeness * common + np.sqrt(1 - likeness**2) * own
        rows = [
            Predictions(confidence=expit((s + shift(area) * outcome) / 2), outcome=outcome, weight=None, target="event")
            for s, area in zip(scores, (first, second), strict=True)
        ]
        whole, binned = ([count(each) for each in rows] for count in (ranked, counted))
        for method, counts in (("bayescal", whole), (f"bayescal, counts in {BINS} bins", binned)):
            pair = PairedCounts.from_predictions(*rows, *counts)
            common_seed = int(rng.integers(2**63))
            values = np.stack([auc(drawn_bins, each, rng=common_seed).values for each in counts], axis=1)
            one, other = reorder(values, correlation_of_aucs(counts, {(0, 1): pair}), rng=rng).T
            yield method, quantiles(one - other)
        yield "DeLong", _paired_delong([ranks_of(each) for each in whole], rows)

    cell = {"n_rows": n_rows, "prevalence": prevalence, "population": f"correlation {likeness:g}"}
    intervals = stacked(dict(of_data_set()) for _ in range(repeats))
    return coverage_rows({**cell, "area": f"{first:g} - {second:g}"}, intervals, first - second)


def _paired_delong(ranks: list[Ranks], rows: list[Predictions]) -> tuple[float, float]:
    """Wald interval of the difference with the covariance of DeLong et al."""
    outcome = rows[0].outcome.astype(np.int64)
    one, other = (r.placements[outcome, r.cell_of(p.confidence)] for r, p in zip(ranks, rows, strict=True))
    variance = sum(np.var((one - other)[outcome == z], ddof=1) / np.sum(outcome == z) for z in (0, 1))
    middle, half = ranks[0].auc - ranks[1].auc, Z * np.sqrt(variance)
    return middle - half, middle + half


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run both studies."""
    for_areas, for_differences = np.random.default_rng(SEED).spawn(2)
    sizes = FEW[:1] if options.quick else (*FEW, *MANY)
    of_areas = [cell for cell in product(sizes, POPULATIONS, AREAS) if cell[1] != "mixture" or cell[2] >= 0.7]
    of_pairs = list(product(PAIR_SIZES[:1] if options.quick else PAIR_SIZES, PAIRS))
    area_jobs = jobs_of(of_areas, options.repeats, options.draws, rng=for_areas)
    pair_jobs = jobs_of(of_pairs, options.repeats, options.draws, rng=for_differences)
    known: dict[str, Any] = {"workers": options.workers}
    return {
        **about(SEED, {"prob": PROB, "repeats": options.repeats, "draws": options.draws}),
        "columns": list(COLUMNS),
        "areas": rows_of(COLUMNS, rows_of_jobs(area_cell, area_jobs, description="areas", **known)),
        "differences": rows_of(COLUMNS, rows_of_jobs(difference_cell, pair_jobs, description="differences", **known)),
    }


def overall(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one line for each method."""
    for method in sorted({row["method"] for row in rows}, key=str.lower):
        of = [row for row in rows if row["method"] == method]
        worst = min(of, key=itemgetter("coverage"))
        yield {
            "method": method,
            "worst": worst["coverage"],
            "coverage": float(np.mean([row["coverage"] for row in of])),
            "width": float(np.mean([row["width"] for row in of])),
            "where": "{population}, AUC {area}, n = {n_rows}, prevalence {prevalence:g}".format(**worst),
        }


HEAD = "Rows: | Method | Worst cell: | Mean coverage: | Width: | Where it is worst"
FORM = "{rows}|{method}|{worst:.2f}|{coverage:.3f}|{width:.4f}|{where}"


def lines_of(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of few and of many rows."""
    for words, sizes in (("50 or 200", FEW), ("2000 or 20000", MANY)):
        chosen = [row for row in rows if (row["n_rows"], row["prevalence"]) in sizes and row["method"] != WEIGHTED]
        yield from ({**line, "rows": words} for line in overall(chosen))


def lines_of_weights(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of weighted rows."""
    for population in (name for name in POPULATIONS if name.startswith("weights")):
        chosen = [row for row in rows if row["population"] == population and "counts" not in row["method"]]
        yield from ({**line, "rows": population} for line in overall(chosen))


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Return conditions and tables by the name of their marker."""
    areas, differences = (
        rows_again({"columns": numbers["columns"], "rows": numbers[name]}) for name in ("areas", "differences")
    )
    n_areas, n_differences = (len({tuple(row[c] for c in COLUMNS[:4]) for row in of}) for of in (areas, differences))
    (error,) = errors_near(PROB, numbers["repeats"])
    return {
        "conditions": (
            f"bayescal {numbers['bayescal']}: {n_areas} cells for one classifier and {n_differences} for differences, "
            f"with {numbers['repeats']} data sets in each;\n{numbers['draws']} draws, {RESAMPLES} resamples, seed "
            f"{numbers['seed']}. The standard error of one share near {PROB:g} is {error}.\n"
        ),
        "areas": table(HEAD, cells(lines_of(areas), FORM)),
        "weighted_areas": table(HEAD.replace("Rows:", "Weights"), cells(lines_of_weights(areas), FORM)),
        "differences": table(HEAD, cells(({**line, "rows": "200 or 2000"} for line in overall(differences)), FORM)),
    }


if __name__ == "__main__":
    run_study(
        __doc__,
        measure=measure,
        tables=tables,
        numbers="auc.json",
        page="auc.md",
        save=save_parts,
        shown=("conditions", "areas", "weighted_areas", "differences"),
        repeats=(200, 2),
    )
