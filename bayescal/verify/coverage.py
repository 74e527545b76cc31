"""Coverage studies: intervals of several methods on simulated data sets, compared with a truth that is known."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks, _packages
from bayescal._arrays import Bools, Floats, Generator, pd
from bayescal._meant import public
from bayescal._progress import bar
from bayescal.datasets.simulate import POPULATIONS, Curve, simulate, true_bins, true_curve
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.methods import TOLERANCE, Interval, Method, methods_of

#: Averages over cells: name -> value of a row.
Averages = Mapping[str, Callable[[dict[str, Any]], float]]


@dataclass(frozen=True)
class CoverageResults:
    """Results of a coverage study: one row per cell and method. A cell is a population and a number of rows."""

    rows: list[dict[str, Any]]
    prob: float  #: Nominal probability of the intervals.
    columns: ClassVar[tuple[str, ...]]  #: Columns of a row.
    cell_name: ClassVar[str]  #: Format of the name of a cell, filled from a row.
    averages: ClassVar[Averages]  #: Averages over cells that `overall` adds.

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order of the rows."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame."""
        _packages.require("pandas")
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns))

    def overall(self) -> list[dict[str, Any]]:
        """Return one dict per method: number of cells, worst coverage and its cell, and means over the cells."""
        return [self._overall([row for row in self.rows if row["method"] == method]) for method in self.methods]

    def _overall(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        worst = min(rows, key=lambda row: row["coverage"])
        means = {name: float(np.mean([value(row) for row in rows])) for name, value in self.averages.items()}
        about = {"worst_coverage": worst["coverage"], "worst_cell": self.cell_name.format(**worst)}
        return {"method": worst["method"], "cells": len(rows), **about, **means}


@dataclass(frozen=True)
class Scenario[Data]:
    """A population with a known truth, from which data sets of any size can be drawn."""

    columns: dict[str, str]  #: Columns that name it.
    truth: float  #: True value of the estimand.
    draw: Callable[[int, Generator], Data]  #: ``(n_rows, rng) -> data``; picklable with more than one process.


@dataclass(frozen=True)
class Setup[Data]:
    """Settings of a study that are the same in all cells; made by `checked_setup`."""

    #: ``(data, prob, draws, rng) -> (low, high, estimate)`` by name.
    methods: Mapping[str, Callable[[Data, float, int, Generator], Interval]]
    sizes: list[int]  #: Numbers of rows.
    repeats: int  #: Data sets per cell.
    prob: float  #: Nominal probability of the intervals.
    draws: int  #: Posterior draws, or bootstrap resamples.


def checked_setup(
    available: Mapping[str, Callable[..., Interval]],
    methods: Sequence[str] | Mapping[str, Callable[..., Interval]] | None,
    sizes: Sequence[int],
    *,
    repeats: int,
    prob: float,
    draws: int,
    **others: Sequence[Any],
) -> Setup[Any]:
    """Check the arguments that all studies have."""
    if not isinstance(methods, Mapping):
        names = list(available if methods is None else methods)
        for name in names:
            _checks.one_of("methods", name, available)
        methods = {name: available[name] for name in names}
    for argument, values in {"sizes": sizes, **others, "methods": methods}.items():
        if not len(values):
            raise ValueError(f"`{argument}` must name at least one {argument.removesuffix('s')}, and is empty.")
    return Setup(
        methods,
        [_checks.whole_number("sizes", size) for size in sizes],
        _checks.whole_number("repeats", repeats),
        _checks.fraction("prob", prob),
        _checks.whole_number("draws", draws),
    )


@dataclass(frozen=True)
class Cell[Data]:
    """One cell of a study, with everything that another process needs to run it."""

    setup: Setup[Data]
    n_rows: int
    scenario: Scenario[Data]
    rng: Generator


def cells_of[Data](setup: Setup[Data], scenarios: Sequence[Scenario[Data]], *, rng: Any = None) -> list[Cell[Data]]:
    """List the cells of a study: each size with each scenario."""
    places = [(size, scenario) for size in setup.sizes for scenario in scenarios]
    seeds = _checks.generator(rng).spawn(len(places))
    return [Cell(setup, *place, seed) for place, seed in zip(places, seeds, strict=True)]


def run_cell(cell: Cell[Any]) -> list[dict[str, Any]]:
    """Run every method on the same data sets."""
    setup, scenario = cell.setup, cell.scenario
    for_data, for_methods = cell.rng.spawn(2)

    def intervals() -> dict[str, Interval]:
        data, seed = scenario.draw(cell.n_rows, for_data), _checks.seeds(for_methods, 1)[0]
        return {
            name: method(data, setup.prob, setup.draws, np.random.default_rng(seed))
            for name, method in setup.methods.items()
        }

    by_method = stacked(intervals() for _ in range(setup.repeats))
    about = {"n_rows": cell.n_rows, **scenario.columns, "truth": scenario.truth}
    scores = {name: score(values, scenario.truth) for name, values in by_method.items()}
    return [{**about, "method": name, **each, "repeats": setup.repeats} for name, each in scores.items()]


def stacked[Key: Hashable](results: Iterable[Mapping[Key, tuple[float, ...]]]) -> dict[Key, Floats]:
    """Collect results of many data sets: per method, an array with one row per data set."""
    by_method: dict[Key, list[tuple[float, ...]]] = {}
    for result in results:
        for name, numbers in result.items():
            by_method.setdefault(name, []).append(numbers)
    return {name: np.array(numbers) for name, numbers in by_method.items()}


def contains(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> Bools:
    """Whether each interval contains the truth; its ends belong to it."""
    return np.asarray((np.subtract(low, TOLERANCE) <= truth) & (truth <= np.add(high, TOLERANCE)))


def score(intervals: Floats, truth: float) -> dict[str, float]:
    """Compute coverage, bias, root mean square error and mean width of intervals, rows (low, high, estimate)."""
    low, high, estimate = intervals.T
    error = estimate - truth
    numbers = contains(low, high, truth).mean(), error.mean(), np.sqrt((error**2).mean()), (high - low).mean()
    return dict(zip(("coverage", "bias", "rmse", "width"), map(float, numbers), strict=True))


def standard_error(prob: float, repeats: int) -> float:
    """Return the standard error of a coverage measured on so many data sets, ``sqrt(prob (1 - prob) / repeats)``."""
    return float(np.sqrt(prob * (1 - prob) / repeats))


def name_of(thing: Any) -> str:
    """Return a name for tables: a string as it is, a function by its own name, anything else as it prints."""
    return thing if isinstance(thing, str) else getattr(thing, "__name__", str(thing))


#: True value of an estimand: (population, curve, bins) -> float.
Truth = Callable[[Any, Curve, Bins], float]

#: Default curves: calibrated, two over-confident ones, shifted, wavy, one bin far off.
STUDY_CURVES = (
    ("calibrated", None), ("temperature", 1.1), ("temperature", 1.5),
    ("shift", 0.3), ("wave", 0.05), ("one bad bin", 0.3),
)  # fmt: skip
COLUMNS = ("n_rows", "population", "curve", "truth", "method", "coverage", "bias", "rmse", "width", "repeats")


@public
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
    estimand : str, default "ece"
        Name of the estimand.
    """

    estimand: str = "ece"

    columns = COLUMNS
    cell_name = "{population}, {curve}, n = {n_rows}"
    averages: ClassVar[Averages] = {f"mean_{name}": itemgetter(name) for name in ("coverage", "bias", "rmse", "width")}


@public
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
    estimand: EstimandLike = "ece",
    truth: Truth | None = None,
) -> CoverageStudy:
    """Measure how often the intervals of several methods contain the true value of an estimand.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows.
    populations : sequence
        Populations as for `bayescal.datasets.simulate.simulate`: names, or populations of your own.
    curves : sequence
        True calibration curves: names, functions of confidence, or pairs (name, strength).
    methods : sequence of str or mapping of str to callable, optional
        Names out of `methods_of` the estimand (default: all), or your own functions
        ``(counts, prob, draws, rng) -> (low, high, estimate)`` by name.
    bins : int or array-like, default 15
        Number of equal-width bins, or edges. The true value is that of the same bins.
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
    estimand : str, Estimand or callable, default "ece"
        A registered estimand, or a function of draws of the bins, with one value per draw.
    truth : callable, optional
        ``(population, curve, bins) -> float``, the true value of the estimand; by default, the estimand of the
        population's `true_bins`. It is required for estimands that need more than the bins, such as the Brier score.

    Returns
    -------
    CoverageStudy
        One row per cell and method.

    Raises
    ------
    ValueError, TypeError
        For an unknown method or estimand, an empty list, sizes and repeats that are not positive integers, a curve as
        estimand, or an estimand that needs more than the bins without `truth`.

    Examples
    --------
    >>> from bayescal.verify.coverage import coverage_study
    >>> study = coverage_study(sizes=[300], populations=["flat"], curves=["calibrated"], methods=["dirichlet"],
    ...                        repeats=20, draws=200, rng=1)
    >>> study.rows[0]["coverage"]
    0.0

    The intervals of the default model for the l_2 error of the same data sets:

    >>> study = coverage_study(estimand="l2_error", sizes=[300], populations=["flat"], curves=["calibrated"],
    ...                        methods=["shrinkage"], repeats=20, draws=200, rng=1)
    >>> study.rows[0]["coverage"]
    1.0
    """
    record = as_scalar(estimand)
    numbers: dict[str, Any] = {"repeats": repeats, "prob": prob, "draws": draws}
    setup = checked_setup(methods_of(record), methods, sizes, populations=populations, curves=curves, **numbers)
    for population in populations:
        simulate(1, population=population)  # refuses an unknown population before anything is computed
    edges = make_bins(bins)
    true_curves = [true_curve(*curve) if isinstance(curve, tuple) else true_curve(curve) for curve in curves]
    value = _true_value(record) if truth is None else truth
    scenarios = [_scenario(population, curve, edges, value) for population in populations for curve in true_curves]
    cells, rows = cells_of(setup, scenarios, rng=rng), []
    with bar(len(cells), "coverage, cell by cell", progress) as advance:
        for cell in cells:
            rows += run_cell(cell)
            advance()
    return CoverageStudy(rows, setup.prob, record.name)


def _true_value(estimand: Estimand) -> Truth:
    """Return the function that applies an estimand to the true bins of a population."""
    if estimand.needs:
        raise ValueError(
            f"`truth` must be given for `estimand={estimand.name!r}`, which is not a function of the bins alone: a "
            "function of (population, curve, bins) that returns its true value."
        )
    return lambda population, curve, bins: float(
        np.asarray(estimand.function(true_bins(population, curve, bins=bins)))[0]
    )


def _scenario(population: Any, curve: Curve, bins: Bins, truth: Truth) -> Scenario[BinnedCounts]:
    def draw(n_rows: int, rng: Generator) -> BinnedCounts:
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        return BinnedCounts.from_arrays(data.outcome, data.confidence, bins=bins)

    names = {"population": name_of(population), "curve": str(curve)}
    return Scenario(names, float(truth(population, curve, bins)), draw)


METHODS: dict[str, Method] = methods_of("ece")  #: The methods of `methods_of` for the ECE.
