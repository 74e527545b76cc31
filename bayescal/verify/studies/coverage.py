"""Frequentist coverage of intervals of an estimand: how often does an interval contain the true value?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from bayescal.datasets.simulate import POPULATIONS, Curve, simulate, true_bins, true_curve
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.verify.studies.methods import Method, methods_of
from bayescal.verify.studies.methods import bootstrap_ece as bootstrap_ece
from bayescal.verify.studies.study import Averages, CoverageResults, Scenario, checked_setup, name_of, run_cells
from bayescal.verify.studies.study import score as score

#: True value of an estimand: (population, curve, bins) -> float.
Truth = Callable[[Any, Curve, Bins], float]

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
    estimand : str, default "ece"
        Name of the estimand.
    """

    estimand: str = "ece"

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
    progress : bool, default False
        Whether to show a progress bar.
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
    setup = checked_setup(
        methods_of(record),
        methods,
        sizes,
        repeats=repeats,
        prob=prob,
        draws=draws,
        populations=populations,
        curves=curves,
    )
    for population in populations:
        simulate(1, population=population)  # refuses an unknown population before anything is computed
    edges, true_curves = make_bins(bins), [_curve(curve) for curve in curves]
    value = _true_value(record) if truth is None else truth
    scenarios = [_scenario(population, curve, edges, value) for population in populations for curve in true_curves]
    cells = run_cells(setup, scenarios, rng=rng, progress=progress, description="coverage, cell by cell")
    return CoverageStudy(list(chain.from_iterable(cells)), setup.prob, record.name)


def _curve(curve: Any) -> Curve:
    return true_curve(*curve) if isinstance(curve, tuple) else true_curve(curve)


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
    def draw(n_rows: int, rng: np.random.Generator) -> BinnedCounts:
        data = simulate(n_rows, population=population, curve=curve, rng=rng)
        return BinnedCounts.from_arrays(data.outcome, data.confidence, bins=bins)

    names = {"population": name_of(population), "curve": str(curve)}
    return Scenario(names, float(truth(population, curve, bins)), draw)


#: The methods of `methods_of` for the ECE.
METHODS: dict[str, Method] = methods_of("ece")
