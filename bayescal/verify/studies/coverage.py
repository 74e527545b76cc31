"""Frequentist coverage of ECE intervals: how often does an interval contain a truth that is known?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.analyses.one import MODELS
from bayescal.datasets.simulate import POPULATIONS, Curve, simulate, true_curve, true_ece
from bayescal.draws import Draws
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.verify.jobs import run_jobs

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: An interval and a point estimate from counts: (counts, prob, draws, rng) -> (low, high, estimate).
Method = Callable[[BinnedCounts, float, int, np.random.Generator], tuple[float, float, float]]

#: The curves of the study: calibrated, over-confident twice, shifted, wavy, one bin far off.
STUDY_CURVES = (
    ("calibrated", None),
    ("temperature", 1.1),
    ("temperature", 1.5),
    ("shift", 0.3),
    ("wave", 0.05),
    ("one bad bin", 0.3),
)
COLUMNS = ("n_rows", "population", "curve", "truth", "method", "coverage", "bias", "rmse", "width", "repeats")


@dataclass(frozen=True)
class CoverageStudy:
    """Results of `coverage_study`: one row per cell and method.

    Parameters
    ----------
    rows : list of dict
        Keys n_rows, population, curve, truth, method, coverage, bias, rmse, width, repeats. Bias and root mean square
        error are those of the point estimate (posterior mean, or plug-in); width is the mean width of the interval.
    prob : float
        Nominal probability of the intervals.
    """

    rows: list[dict[str, Any]]
    prob: float

    def to_frame(self) -> "pd.DataFrame":
        """The rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    def overall(self) -> list[dict[str, Any]]:
        """One dict per method: worst and mean coverage, mean bias, rmse and width over the cells."""
        result = []
        for method in dict.fromkeys(row["method"] for row in self.rows):
            of = [row for row in self.rows if row["method"] == method]
            mean = {name: float(np.mean([row[name] for row in of])) for name in ("coverage", "bias", "rmse", "width")}
            worst = min(of, key=lambda row: row["coverage"])
            result.append(
                {
                    "method": method,
                    "cells": len(of),
                    "worst_coverage": worst["coverage"],
                    "worst_cell": f"{worst['population']}, {worst['curve']}, n = {worst['n_rows']}",
                    "mean_coverage": mean["coverage"],
                    "mean_bias": mean["bias"],
                    "mean_rmse": mean["rmse"],
                    "mean_width": mean["width"],
                }
            )
        return result


def coverage_study(
    *,
    sizes: Sequence[int] = (300, 2000, 20000),
    populations: Sequence[Any] = tuple(POPULATIONS),
    curves: Sequence[Any] = STUDY_CURVES,
    methods: Sequence[str] | Mapping[str, Method] | None = None,
    bins: Any = 15,
    repeats: int = 100,
    prob: float = 0.95,
    draws: int = 2000,
    rng: Any = None,
    progress: bool = False,
) -> CoverageStudy:
    """Measure how often the intervals of several methods contain the true ECE.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows.
    populations : sequence
        Populations as for `bayescal.datasets.simulate.simulate`: names or your own.
    curves : sequence
        True calibration curves: names, functions of confidence, or pairs (name, strength).
    methods : sequence of str or mapping of str to callable, optional
        Names out of `METHODS` (default: all), or your own functions
        ``(counts, prob, draws, rng) -> (low, high, estimate)``.
    bins : int or array-like, default 15
        Number of equal-width bins, or edges. The truth is that of the same bins.
    repeats : int, default 100
        Data sets per cell. The standard error of a coverage c is ``sqrt(c (1 - c) / repeats)``: 0.022 at 0.95.
    prob : float, default 0.95
        Nominal probability of the intervals.
    draws : int, default 2000
        Posterior draws, or bootstrap resamples.
    rng : None, int, SeedSequence or Generator
        Randomness. Every cell has a stream of its own for data and one for each method, so that results do not
        depend on which other methods are asked.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    CoverageStudy
        One row per cell and method.

    Raises
    ------
    ValueError, TypeError
        For an unknown method, an empty list, or sizes and repeats that are not positive integers.

    Examples
    --------
    >>> study = coverage_study(sizes=[300], populations=["flat"], curves=["calibrated"], methods=["dirichlet"],
    ...                        repeats=20, draws=200, rng=1)
    >>> study.rows[0]["coverage"]
    0.0
    """
    chosen = _methods(methods)
    for argument, given in {"sizes": sizes, "populations": populations, "curves": curves, "methods": chosen}.items():
        if not len(given):
            raise ValueError(f"`{argument}` must name at least one.")
    repeats = _checks.whole_number("repeats", repeats)
    prob = _checks.fraction("prob", prob)
    made = make_bins(bins)
    for population in populations:
        simulate(1, population=population)  # refuses an unknown one before hours are spent on the others
    cells = [
        (_checks.whole_number("sizes", size), population, _curve(curve))
        for size in sizes
        for population in populations
        for curve in curves
    ]
    seeds = _checks.generator(rng).spawn(len(cells))
    rows: list[dict[str, Any]] = []
    jobs = list(zip(cells, seeds, strict=True))

    def cell_rows(job: tuple[tuple[int, Any, Curve], np.random.Generator]) -> list[dict[str, Any]]:
        (size, population, curve), seed = job
        truth = true_ece(population, curve, bins=made)
        name = population if isinstance(population, str) else str(population)
        cell = {"n_rows": size, "population": name, "curve": str(curve), "truth": truth}
        results = _run_cell(size, population, curve, chosen, made, repeats, (prob, draws), seed)
        return [{**cell, "method": m, **score(found, truth), "repeats": repeats} for m, found in results.items()]

    for found in run_jobs(cell_rows, jobs, progress=progress, description="coverage, cell by cell"):
        rows += found
    return CoverageStudy(rows, prob)


def _run_cell(
    size: int,
    population: Any,
    curve: Curve,
    methods: Mapping[str, Method],
    bins: Any,
    repeats: int,
    asked: tuple[float, int],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """(low, high, estimate) of every method on the same data sets, each of shape (repeats, 3)."""
    for_data, for_methods = rng.spawn(2)
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for _ in range(repeats):
        data = simulate(size, population=population, curve=curve, rng=for_data)
        counts = BinnedCounts.from_arrays(data.outcome, data.confidence, bins=bins)
        seed = int(for_methods.integers(2**63))
        for name, method in methods.items():
            found[name].append(method(counts, *asked, np.random.default_rng(seed)))
    return {name: np.array(values) for name, values in found.items()}


def score(found: Floats, truth: float) -> dict[str, float]:
    """Coverage, bias, root mean square error and mean width of rows (low, high, estimate)."""
    low, high, estimate = found.T
    inside = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    error = estimate - truth
    return {
        "coverage": float(inside.mean()),
        "bias": float(error.mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "width": float((high - low).mean()),
    }


def _model_interval(model: str) -> Method:
    """The equal-tailed interval of a model's posterior, and its mean."""

    def interval(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> tuple[float, float, float]:
        drawn = ece(MODELS[model](counts).sample(draws, rng=rng))
        return (*drawn.interval(prob), drawn.mean())

    return interval


def bootstrap_ece(counts: BinnedCounts, n_draws: int = 2000, *, rng: Any = None) -> Draws:
    """Bootstrap the plug-in ECE.

    Parameters
    ----------
    counts : BinnedCounts
        Unweighted counts with at least one row.
    n_draws : int, default 2000
        Number of resamples.
    rng : None, int, SeedSequence or Generator
        Randomness.

    Returns
    -------
    Draws
        Plug-in ECE of each resample.

    Notes
    -----
    A bootstrap of rows [1]_ by its sufficient statistics: cell counts (outcome, bin) are multinomial, exactly as in
    resampled rows; the sum of confidences in a bin is Normal, with the mean of each cell and one variance within the
    cells of a bin. The cost does not grow with the rows.

    References
    ----------
    .. [1] Efron and Tibshirani (1993), An Introduction to the Bootstrap, Chapman and Hall.
    """
    rng = _checks.generator(rng)
    drawn = rng.multinomial(counts.n_rows, counts.cells.ravel() / counts.n_rows, size=n_draws)
    cells = drawn.reshape(n_draws, *counts.cells.shape)
    n, k = cells.sum(axis=1), cells[:, 1]
    # in wide bins confidence and outcome go together: each cell has a mean of its own
    offset = counts.deviation / np.maximum(counts.cells, 1)
    variance = (counts.deviation_sq - (offset * counts.deviation).sum(axis=0)) / np.maximum(counts.n, 1)
    summed = n * counts.bins.midpoints + (cells * offset).sum(axis=1)
    summed += np.sqrt(n * np.maximum(variance, 0.0)) * rng.standard_normal(n.shape)
    return Draws(np.abs(k - summed).sum(axis=1) / counts.n_rows, "bootstrapped plug-in ece")


def _percentile(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> tuple[float, float, float]:
    return (*bootstrap_ece(counts, draws, rng=rng).interval(prob), _plug_in(counts))


def _basic(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Reflected at the plug-in value and clipped at 0; its estimate is the bias-corrected plug-in."""
    resampled = bootstrap_ece(counts, draws, rng=rng)
    low, high = resampled.interval(prob)
    plug_in = _plug_in(counts)
    return max(2 * plug_in - high, 0.0), max(2 * plug_in - low, 0.0), max(2 * plug_in - resampled.mean(), 0.0)


def _plug_in(counts: BinnedCounts) -> float:
    return float(ece(observed_bins(counts)).values[0])


#: Every model of the package, and the bootstraps that people use instead.
METHODS: dict[str, Method] = {
    **{name: _model_interval(name) for name in MODELS},
    "percentile bootstrap": _percentile,
    "basic bootstrap": _basic,
}


def _methods(methods: Sequence[str] | Mapping[str, Method] | None) -> Mapping[str, Method]:
    if isinstance(methods, Mapping):
        return methods
    names = list(METHODS) if methods is None else list(methods)
    for name in names:
        _checks.one_of("methods", name, METHODS)
    return {name: METHODS[name] for name in names}


def _curve(curve: Any) -> Curve:
    return true_curve(*curve) if isinstance(curve, tuple) else true_curve(curve)
