"""Frequentist coverage of ECE intervals: how often does an interval contain the true ECE?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.analyses.one import MODELS
from bayescal.datasets.simulate import POPULATIONS, Curve, simulate, true_curve, true_ece
from bayescal.draws import Draws
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.studies.study import (
    Averages,
    CoverageResults,
    Interval,
    Scenario,
    basic_interval,
    checked_setup,
    name_of,
    percentile_interval,
    run_cells,
)
from bayescal.verify.studies.study import score as score

Floats = NDArray[np.float64]
#: An interval and a point estimate from counts: (counts, prob, draws, rng) -> (low, high, estimate).
Method = Callable[[BinnedCounts, float, int, np.random.Generator], Interval]

#: Default curves: calibrated, two over-confident ones, shifted, wavy, one bin far off.
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
class CoverageStudy(CoverageResults):
    """Results of `coverage_study`: one row per cell and method.

    Parameters
    ----------
    rows : list of dict
        Keys n_rows, population, curve, truth, method, coverage, bias, rmse, width, repeats. Bias and root mean square
        error are those of the point estimate (posterior mean, or plug-in); width is the mean width of the interval.
    prob : float
        Nominal probability of the intervals.
    """

    columns = COLUMNS
    cell_name = "{population}, {curve}, n = {n_rows}"
    averages: ClassVar[Averages] = {f"mean_{name}": itemgetter(name) for name in ("coverage", "bias", "rmse", "width")}


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
        Populations as for `bayescal.datasets.simulate.simulate`: names, or populations of your own.
    curves : sequence
        True calibration curves: names, functions of confidence, or pairs (name, strength).
    methods : sequence of str or mapping of str to callable, optional
        Names out of `METHODS` (default: all), or your own functions
        ``(counts, prob, draws, rng) -> (low, high, estimate)`` by name.
    bins : int or array-like, default 15
        Number of equal-width bins, or edges. The true ECE is that of the same bins.
    repeats : int, default 100
        Number of data sets per cell. The standard error of a coverage c is ``sqrt(c (1 - c) / repeats)``, which is
        0.022 for c = 0.95 and 100 repeats.
    prob : float, default 0.95
        Nominal probability of the intervals.
    draws : int, default 2000
        Number of posterior draws, or of bootstrap resamples.
    rng : None, int, SeedSequence or Generator
        Randomness. Every cell has one stream for data and one for methods, so that results do not depend on which other
        methods are run.
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
    setup = checked_setup(
        METHODS, methods, sizes, repeats=repeats, prob=prob, draws=draws, populations=populations, curves=curves
    )
    for population in populations:
        simulate(1, population=population)  # refuses an unknown population before anything is computed
    edges, true_curves = make_bins(bins), [_curve(curve) for curve in curves]
    scenarios = [_scenario(population, curve, edges) for population in populations for curve in true_curves]
    cells = run_cells(setup, scenarios, rng=rng, progress=progress, description="coverage, cell by cell")
    return CoverageStudy(list(chain.from_iterable(cells)), setup.prob)


def _curve(curve: Any) -> Curve:
    return true_curve(*curve) if isinstance(curve, tuple) else true_curve(curve)


def _scenario(population: Any, curve: Curve, bins: Bins) -> Scenario[BinnedCounts]:
    def draw(n_rows: int, rng: np.random.Generator) -> BinnedCounts:
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        return BinnedCounts.from_arrays(data.outcome, data.confidence, bins=bins)

    names = {"population": name_of(population), "curve": str(curve)}
    return Scenario(names, true_ece(population, curve, bins=bins), draw)


def _model_interval(model: str) -> Method:
    """Return the method that takes the equal-tailed interval and the mean of a model's posterior."""

    def interval(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
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
    Rows are resampled with replacement [1]_, through sums over rows: cell counts (outcome, bin) are multinomial,
    exactly as in resampled rows; the sum of confidences in a bin is Normal, with the mean of each cell and one variance
    within the cells of a bin. The cost does not depend on the number of rows.

    References
    ----------
    .. [1] Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 6.

    Examples
    --------
    With one bin the plug-in ECE is the absolute mean of outcome minus confidence. Here it is 0.1 with standard error
    sqrt(0.24 / 100) = 0.049, apart from resamples in which the sign changes.

    >>> counts = BinnedCounts.from_arrays([1] * 60 + [0] * 40, [0.5] * 100, bins=1)
    >>> resampled = bootstrap_ece(counts, 10_000, rng=1)
    >>> resampled.mean(), float(resampled.values.std())
    (0.10, 0.048)
    """
    rng = _checks.generator(rng)
    drawn = rng.multinomial(counts.n_rows, counts.cells.ravel() / counts.n_rows, size=n_draws)
    cells = drawn.reshape(n_draws, *counts.cells.shape)
    n, k = cells.sum(axis=1), cells[:, 1]
    # in wide bins confidence and outcome are correlated, so each cell has a mean of its own
    offset = counts.deviation / np.maximum(counts.cells, 1)
    variance = (counts.deviation_sq - (offset * counts.deviation).sum(axis=0)) / np.maximum(counts.n, 1)
    summed = n * counts.bins.midpoints + (cells * offset).sum(axis=1)
    summed += np.sqrt(n * np.maximum(variance, 0.0)) * rng.standard_normal(n.shape)
    return Draws(np.abs(k - summed).sum(axis=1) / counts.n_rows, "bootstrapped plug-in ece")


def _percentile(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    return percentile_interval(_plug_in(counts), bootstrap_ece(counts, draws, rng=rng), prob)


def _basic(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    """Clip the basic interval and its estimate at 0."""
    low, high, estimate = basic_interval(_plug_in(counts), bootstrap_ece(counts, draws, rng=rng), prob)
    return max(low, 0.0), max(high, 0.0), max(estimate, 0.0)


def _plug_in(counts: BinnedCounts) -> float:
    return float(ece(observed_bins(counts)).values[0])


#: Every model of the package, and bootstraps as commonly used alternatives.
METHODS: dict[str, Method] = {
    **{name: _model_interval(name) for name in MODELS},
    "percentile bootstrap": _percentile,
    "basic bootstrap": _basic,
}
