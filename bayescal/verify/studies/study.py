"""Coverage studies: intervals of several methods on simulated data sets, compared with a truth that is known."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks, _packages
from bayescal.draws import Draws
from bayescal.verify.jobs import run_jobs

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: Ends of an interval, and a point estimate: (low, high, estimate).
Interval = tuple[float, float, float]
#: Averages over cells: name -> value of a row.
Averages = Mapping[str, Callable[[dict[str, Any]], float]]

#: A truth this far outside an interval still counts as inside, so that rounding does not decide.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class CoverageResults:
    """Results of a coverage study: one row per cell and method. A cell is a population and a number of rows.

    Parameters
    ----------
    rows : list of dict
        Values by column.
    prob : float
        Nominal probability of the intervals.
    """

    rows: list[dict[str, Any]]
    prob: float

    #: Columns of a row.
    columns: ClassVar[tuple[str, ...]]
    #: Format of the name of a cell, filled from a row.
    cell_name: ClassVar[str]
    #: Averages over cells that `overall` adds.
    averages: ClassVar[Averages]

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
        return {
            "method": worst["method"],
            "cells": len(rows),
            "worst_coverage": worst["coverage"],
            "worst_cell": self.cell_name.format(**worst),
            **{name: float(np.mean([value(row) for row in rows])) for name, value in self.averages.items()},
        }


@dataclass(frozen=True)
class Scenario[Data]:
    """A population with a known truth, from which data sets of any size can be drawn.

    Parameters
    ----------
    columns : dict of str to str
        Columns that name it.
    truth : float
        True value of the estimand.
    draw : callable
        ``(n_rows, rng) -> data``. With more than one process it must be picklable.
    """

    columns: dict[str, str]
    truth: float
    draw: Callable[[int, np.random.Generator], Data]


@dataclass(frozen=True)
class Setup[Data]:
    """Settings of a study that are the same in all cells; made by `checked_setup`.

    Parameters
    ----------
    methods : mapping of str to callable
        ``(data, prob, draws, rng) -> (low, high, estimate)`` by name.
    sizes : list of int
        Numbers of rows.
    repeats : int
        Data sets per cell.
    prob : float
        Nominal probability of the intervals.
    draws : int
        Posterior draws, or bootstrap resamples.
    """

    methods: Mapping[str, Callable[[Data, float, int, np.random.Generator], Interval]]
    sizes: list[int]
    repeats: int
    prob: float
    draws: int


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
    """Check the arguments that all studies have.

    Parameters
    ----------
    available : mapping of str to callable
        Methods that can be given by name.
    methods : sequence of str or mapping of str to callable, optional
        Names out of `available` (default: all), or functions by name.
    sizes, repeats, prob, draws
        See `Setup`.
    **others
        Further sequences that must not be empty.

    Returns
    -------
    Setup
        The arguments.

    Raises
    ------
    ValueError, TypeError
        For an unknown method, an empty sequence, or numbers that are not valid.
    """
    chosen = methods if isinstance(methods, Mapping) else _by_name(available if methods is None else methods, available)
    for argument, given in {"sizes": sizes, **others, "methods": chosen}.items():
        if not len(given):
            raise ValueError(f"`{argument}` must name at least one.")
    return Setup(
        chosen,
        [_checks.whole_number("sizes", size) for size in sizes],
        _checks.whole_number("repeats", repeats),
        _checks.fraction("prob", prob),
        _checks.whole_number("draws", draws),
    )


def _by_name[Method](names: Iterable[str], available: Mapping[str, Method]) -> dict[str, Method]:
    names = list(names)
    for name in names:
        _checks.one_of("methods", name, available)
    return {name: available[name] for name in names}


def run_cells[Data](
    setup: Setup[Data],
    scenarios: Sequence[Scenario[Data]],
    *,
    rng: Any = None,
    workers: int = 1,
    progress: bool = False,
    description: str = "",
) -> list[list[dict[str, Any]]]:
    """Run all methods in every cell: each size with each scenario.

    Parameters
    ----------
    setup : Setup
        Methods, sizes and settings.
    scenarios : sequence of Scenario
        Populations.
    rng : None, int, SeedSequence or Generator
        Randomness. Every cell has a stream of its own for data and one for methods, so that results depend neither on
        which other methods are run nor on `workers`.
    workers, progress, description
        As for `run_jobs`.

    Returns
    -------
    list of list of dict
        For each cell, one row per method: n_rows, columns of the scenario, truth, method, values of `score`, repeats.
    """
    places = [(size, scenario) for size in setup.sizes for scenario in scenarios]
    seeds = _checks.generator(rng).spawn(len(places))
    cells = [_Cell(setup, *place, seed) for place, seed in zip(places, seeds, strict=True)]
    return list(run_jobs(_run_cell, cells, workers=workers, progress=progress, description=description))


@dataclass(frozen=True)
class _Cell[Data]:
    """One cell of a study, with everything that another process needs to run it."""

    setup: Setup[Data]
    n_rows: int
    scenario: Scenario[Data]
    rng: np.random.Generator


def _run_cell(cell: _Cell[Any]) -> list[dict[str, Any]]:
    """Run every method on the same data sets; one row per method."""
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
    return [
        {**about, "method": name, **score(values, scenario.truth), "repeats": setup.repeats}
        for name, values in by_method.items()
    ]


def stacked[Key: Hashable](results: Iterable[Mapping[Key, tuple[float, ...]]]) -> dict[Key, Floats]:
    """Collect results of many data sets: per method, an array with one row per data set.

    Parameters
    ----------
    results : iterable of mapping
        For each data set, a tuple of numbers by method; the same methods for all data sets.

    Returns
    -------
    dict of ndarray, shape (n_data_sets, n_numbers)
        In the order of the methods.

    Examples
    --------
    >>> stacked([{"narrow": (0.4, 0.5)}, {"narrow": (0.3, 0.6)}])
    {'narrow': array([[0.4, 0.5],
           [0.3, 0.6]])}
    """
    by_method: dict[Key, list[tuple[float, ...]]] = {}
    for result in results:
        for name, numbers in result.items():
            by_method.setdefault(name, []).append(numbers)
    return {name: np.array(numbers) for name, numbers in by_method.items()}


def contains(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Whether each interval contains the truth; its ends belong to it."""
    return np.asarray((np.subtract(low, TOLERANCE) <= truth) & (truth <= np.add(high, TOLERANCE)))


def score(intervals: Floats, truth: float) -> dict[str, float]:
    """Compute coverage, bias, root mean square error and mean width.

    Parameters
    ----------
    intervals : ndarray, shape (n, 3)
        Rows (low, high, estimate).
    truth : float
        The true value.

    Returns
    -------
    dict of str to float
        Keys coverage, bias, rmse and width.

    Examples
    --------
    >>> score(np.array([[0.1, 0.3, 0.2], [0.3, 0.7, 0.5]]), 0.2)
    {'coverage': 0.5, 'bias': 0.15, 'rmse': 0.2121, 'width': 0.3}
    """
    low, high, estimate = intervals.T
    error = estimate - truth
    return {
        "coverage": float(contains(low, high, truth).mean()),
        "bias": float(error.mean()),
        "rmse": float(np.sqrt((error**2).mean())),
        "width": float((high - low).mean()),
    }


def percentile_interval(plug_in: float, resampled: Draws, prob: float) -> Interval:
    r"""Return the percentile interval of a bootstrap, with the plug-in value as its estimate.

    Parameters
    ----------
    plug_in : float
        Estimate :math:`\hat\theta` from the data themselves.
    resampled : Draws
        Estimates :math:`\hat\theta^*` from resamples.
    prob : float
        Nominal probability.

    Returns
    -------
    (low, high, estimate) : tuple of float
        Quantiles of :math:`\hat\theta^*`, and :math:`\hat\theta`.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3.

    Examples
    --------
    >>> percentile_interval(0.2, Draws(np.array([0.1, 0.2, 0.3, 0.4, 0.5])), 0.5)
    (0.2, 0.4, 0.2)
    """
    return (*resampled.interval(prob), plug_in)


def basic_interval(plug_in: float, resampled: Draws, prob: float) -> Interval:
    r"""Return the basic interval of a bootstrap: the percentile interval, reflected at the plug-in value.

    Parameters
    ----------
    plug_in : float
        Estimate :math:`\hat\theta` from the data themselves.
    resampled : Draws
        Estimates :math:`\hat\theta^*` from resamples.
    prob : float
        Nominal probability.

    Returns
    -------
    (low, high, estimate) : tuple of float
        :math:`2 \hat\theta` less the upper quantile, the lower quantile and the mean of :math:`\hat\theta^*`. The last
        is the bias-corrected estimate.

    References
    ----------
    Davison and Hinkley (1997), Bootstrap Methods and their Application, equation 5.6. Bias-corrected estimate: Efron
    and Tibshirani (1993), An Introduction to the Bootstrap, section 10.6.

    Examples
    --------
    >>> basic_interval(0.2, Draws(np.array([0.1, 0.2, 0.3, 0.4, 0.5])), 0.5)
    (0.0, 0.2, 0.1)
    """
    low, high = resampled.interval(prob)
    return 2 * plug_in - high, 2 * plug_in - low, 2 * plug_in - resampled.mean()


def standard_error(prob: float, repeats: int) -> float:
    """Return the standard error of a measured coverage.

    Parameters
    ----------
    prob : float
        Probability that an interval contains the truth.
    repeats : int
        Data sets on which it is measured.

    Returns
    -------
    float
        ``sqrt(prob (1 - prob) / repeats)``.

    Examples
    --------
    >>> standard_error(0.95, 100)
    0.0218
    """
    return float(np.sqrt(prob * (1 - prob) / repeats))


def name_of(thing: Any) -> str:
    """Return a name for tables: a string as it is, a function by its own name, anything else as it prints."""
    return thing if isinstance(thing, str) else getattr(thing, "__name__", str(thing))
