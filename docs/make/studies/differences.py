"""Frequentist coverage of differences: how often does the interval of a difference of two models contain the truth?"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from jobs import run_jobs
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayescal import _checks
from bayescal.analyses.compare import SameRowsWarning, compare_counts, compare_independent
from bayescal.datasets.simulate import simulate
from bayescal.draws import Draws
from bayescal.evaluate import evaluate_counts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.paired import PairedCounts
from bayescal.verify.coverage import Averages, CoverageResults, Scenario, cells_of, checked_setup, name_of, run_cell
from bayescal.verify.methods import Interval, basic_interval, percentile_interval

Floats = NDArray[np.float64]
#: Confidences of a classifier: (true probabilities, rng) -> confidences.
Statement = Callable[[Floats, np.random.Generator], Floats]
#: An interval and a point estimate of a difference of ECEs: (pair, prob, draws, rng) -> (low, high, estimate).
DifferenceMethod = Callable[[PairedCounts, float, int, np.random.Generator], Interval]

COLUMNS = (
    "n_rows",
    "population",
    "first",
    "second",
    "truth",
    "method",
    "coverage",
    "bias",
    "rmse",
    "width",
    "width_ratio",
    "repeats",
)
#: The method that the widths of all others are divided by.
UNPAIRED = "unpaired"
#: Number of rows of the sample that represents a population.
TRUTH_ROWS = 3_000_000


@dataclass(frozen=True)
class Stated:
    r"""Classifier that states a confidence given the true probability p of a row.

    Two classifiers share the true probability, so confidences follow from it here. In `simulate` true probabilities
    follow from confidences.

    Parameters
    ----------
    name : str
        Name in tables.
    slope : float, default 1.0
        Factor of the log odds; above 1 the classifier is over-confident.
    shift : float, default 0.0
        Added to the log odds.
    noise : float, default 0.0
        Standard deviation, in log odds, of the noise that the classifier adds to every row.
    wave : float, default 0.0
        Amplitude of a sine wave of four periods.
    off : float, default 0.0
        Added if p lies strictly between 0.5 and 0.57.

    Notes
    -----
    .. math::
        c = \mathrm{expit}(\mathrm{slope} \cdot \mathrm{logit}\, p + \mathrm{shift} + \mathrm{noise} \cdot e)
        + \mathrm{wave} \sin(8 \pi p) + \mathrm{off}\, 1\{0.5 < p < 0.57\}, \quad e \sim \mathrm{Normal}(0, 1),

    clipped to [0, 1].

    Examples
    --------
    >>> Stated("over-confident", slope=2)(np.array([0.5, 0.75]), np.random.default_rng(1))
    array([0.5, 0.9])
    """

    name: str
    slope: float = 1.0
    shift: float = 0.0
    noise: float = 0.0
    wave: float = 0.0
    off: float = 0.0

    def __str__(self) -> str:
        return self.name

    def __call__(self, probability: Floats, rng: np.random.Generator) -> Floats:
        """Return confidences at true probabilities; every call draws new noise."""
        log_odds = self.slope * logit(probability) + self.shift
        if self.noise:
            log_odds = log_odds + self.noise * rng.standard_normal(np.shape(probability))
        bump = np.where((probability > 0.5) & (probability < 0.57), self.off, 0.0)
        return np.clip(expit(log_odds) + self.wave * np.sin(8 * np.pi * probability) + bump, 0, 1)


_CALIBRATED = Stated("calibrated")
_OVER = Stated("over-confident", slope=1.5)
_NOISY_OVER = Stated("over-confident and noisy", slope=1.5, noise=0.75)
_WAVY = Stated("wavy", wave=0.05)
_NOISY = Stated("noisy", noise=0.3)
_SHIFTED = Stated("shifted", shift=0.3)
#: Default pairs of classifiers: far apart, equally bad, off in different ways, and nearly the same.
STUDY_PAIRS = (
    (_CALIBRATED, _OVER),
    (_CALIBRATED, _SHIFTED),
    (_CALIBRATED, _WAVY),
    (_SHIFTED, Stated("under-confident", slope=1 / 1.3)),
    (_WAVY, Stated("one bad bin", off=0.3)),
    (_NOISY, _NOISY),
    (_NOISY_OVER, _NOISY_OVER),
    (_OVER, _NOISY_OVER),
    (_OVER, Stated("nearly over-confident", slope=1.5, noise=0.1)),
    (_CALIBRATED, Stated("nearly calibrated", noise=0.1)),
)


@dataclass(frozen=True)
class DifferenceStudy(CoverageResults):
    """Results of `difference_study`: one row per cell and method.

    Parameters
    ----------
    rows : list of dict
        Keys n_rows, population, first, second, truth, method, coverage, bias, rmse, width, width_ratio, repeats. Bias
        and root mean square error are those of the point estimate; width is the mean width of the interval, and
        width_ratio its ratio to that of the method ``unpaired`` in the same cell, NaN if that was not run.
    prob : float
        Nominal probability of the intervals.
    """

    columns = COLUMNS
    cell_name = "{population}, {first} - {second}, n = {n_rows}"
    averages: ClassVar[Averages] = {
        "mean_coverage": itemgetter("coverage"),
        # the sign of a difference depends on the order of the models, so biases of opposite sign must not cancel
        "mean_absolute_bias": lambda row: abs(row["bias"]),
        **{f"mean_{name}": itemgetter(name) for name in ("rmse", "width", "width_ratio")},
    }


def difference_study(
    *,
    sizes: Sequence[int] = (1000, 5000),
    populations: Sequence[Any] = ("flat", "top"),
    pairs: Sequence[tuple[Statement, Statement]] = STUDY_PAIRS,
    methods: Sequence[str] | Mapping[str, DifferenceMethod] | None = None,
    bins: Any = 15,
    repeats: int = 100,
    prob: float = 0.95,
    draws: int = 2000,
    rng: Any = None,
    workers: int = 1,
    progress: bool = False,
) -> DifferenceStudy:
    """Measure how often intervals of a difference of two models' ECE on the same rows contain the true difference.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of rows.
    populations : sequence
        Populations as for `bayescal.datasets.simulate.simulate`, here of the true probabilities. Both models state
        confidences for the same rows, and outcomes are drawn with these probabilities.
    pairs : sequence of (callable, callable)
        Two models: `Stated`, or functions ``(probabilities, rng) -> confidences``.
    methods : sequence of str or mapping of str to callable, optional
        Names out of `METHODS` (default: all), or your own functions
        ``(pair, prob, draws, rng) -> (low, high, estimate)`` of `PairedCounts` by name.
    bins : int or array-like, default 15
        Number of equal-width bins, or edges. The true difference is that of the same bins.
    repeats : int, default 100
        Number of data sets per cell; for standard errors see `coverage_study`.
    prob : float, default 0.95
        Nominal probability of the intervals.
    draws : int, default 2000
        Number of posterior draws, or of bootstrap resamples; at least 2.
    rng : None, int, SeedSequence or Generator
        Randomness. Every cell has one stream for data and one for methods, so that results depend neither on which
        other methods are run nor on `workers`.
    workers : int, default 1
        Number of processes. With more than one, your own functions must be at the top of a module.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    DifferenceStudy
        One row per cell and method.

    Raises
    ------
    ValueError, TypeError
        For an unknown method or population, an empty list, or sizes and repeats that are not positive integers.

    Examples
    --------
    >>> study = difference_study(sizes=[500], populations=["flat"], pairs=STUDY_PAIRS[:1], methods=["joint Dirichlet"],
    ...                          repeats=10, draws=200, rng=1)
    >>> study.rows[0]["first"], study.rows[0]["second"], study.rows[0]["truth"]
    ('calibrated', 'over-confident', -0.058...)
    """
    draws = _checks.whole_number("draws", draws, at_least=2)
    setup = checked_setup(
        METHODS, methods, sizes, repeats=repeats, prob=prob, draws=draws, populations=populations, pairs=pairs
    )
    edges = make_bins(bins)
    scenarios = [_scenario(population, *pair, edges) for population in populations for pair in pairs]
    jobs, description = cells_of(setup, scenarios, rng=rng), "differences, cell by cell"
    cells = run_jobs(run_cell, jobs, workers=workers, progress=progress, description=description)
    return DifferenceStudy([row for cell in cells for row in _with_width_ratios(cell)], setup.prob)


def _with_width_ratios(cell: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one cell with the ratio of each width to that of `UNPAIRED`; NaN without that method."""
    unpaired = next((row["width"] for row in cell if row["method"] == UNPAIRED), float("nan"))
    return [{**row, "width_ratio": row["width"] / unpaired} for row in cell]


def true_difference(population: Any, first: Statement, second: Statement, *, bins: Any = 15, rng: Any = 0) -> float:
    r"""Compute the binned ECE of one model less that of another, in a population of true probabilities.

    Parameters
    ----------
    population
        A population as for `difference_study`.
    first, second : callable
        The models, as for `difference_study`.
    bins : int, array-like or Bins, default 15
        A number of equal-width bins, or edges.
    rng : None, int, SeedSequence or Generator, default 0
        Randomness of the sample that represents the population; fixed by default, so that results are reproducible.

    Returns
    -------
    float
        In [-1, 1]. Its standard error, from 3 million rows, is below 0.0001 for gaps up to 0.1.

    Notes
    -----
    Gaps are those of the true probabilities, :math:`\sum_b |\mathrm{mean}((p - c)\,1\{c \in I_b\})|`: outcomes would
    add noise, which the absolute value would turn into bias.

    Examples
    --------
    >>> true_difference("flat", Stated("shifted", shift=0.3), Stated("calibrated"))
    0.0498
    """
    rng, made = _checks.generator(rng), make_bins(bins)
    p = simulate(TRUTH_ROWS, population=population, rng=rng).confidence
    return _true_ece(p, first(p, rng), made) - _true_ece(p, second(p, rng), made)


def _true_ece(probability: Floats, confidence: Floats, bins: Bins) -> float:
    at = np.minimum(np.searchsorted(bins.edges, confidence, side="right") - 1, len(bins) - 1)
    return float(np.abs(np.bincount(at, probability - confidence, len(bins))).sum() / len(probability))


@dataclass(frozen=True)
class _PairedRows:
    """Draws rows with confidences of two models; an object, so that it can be sent to other processes."""

    population: Any
    first: Statement
    second: Statement
    bins: Bins

    def __call__(self, n_rows: int, rng: np.random.Generator) -> PairedCounts:
        # confidences of a calibrated population are the true probabilities
        data = simulate(n_rows, population=self.population, rng=rng)
        first, second = (model(data.confidence, rng) for model in (self.first, self.second))
        y = data.outcome
        return PairedCounts.from_arrays(y, first, y, second, bins=self.bins.edges, target="event")


def _scenario(population: Any, first: Statement, second: Statement, bins: Bins) -> Scenario[PairedCounts]:
    names = {"population": name_of(population), "first": name_of(first), "second": name_of(second)}
    truth = true_difference(population, first, second, bins=bins)
    return Scenario(names, truth, _PairedRows(population, first, second, bins))


def _paired(pair: PairedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    """Compare the models on these rows with `bayescal.compare`."""
    difference = compare_counts({("first", "second"): pair}, draws=draws, rng=rng).difference("first", "second")
    return (*difference.interval(prob), difference.mean())


def _unpaired(pair: PairedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    """Treat the two posteriors as independent, as if they came from different rows."""
    common, order = _checks.seeds(rng, 2)  # seeds as in `compare_counts`, for the same draws
    models = {"first": pair.first, "second": pair.second}
    evaluations = {name: evaluate_counts(counts, draws=draws, rng=common) for name, counts in models.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SameRowsWarning)  # ignoring that they are the same rows is what is measured
        difference = compare_independent(evaluations, rng=order).difference("first", "second")
    return (*difference.interval(prob), difference.mean())


def _joint_dirichlet(pair: PairedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    """Draw from a Dirichlet model of both: a Dirichlet on the joint cells that occur, confidences at bin means."""
    of_bin = [np.tile(counts.mean_confidence, (2, 1)) for counts in (pair.first, pair.second)]
    difference = Draws(_difference(pair, rng.dirichlet(pair.n, size=draws), of_bin), "difference")
    return (*difference.interval(prob), difference.mean())


def _percentile(pair: PairedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    return percentile_interval(*bootstrap_difference(pair, draws, rng=rng), prob)


def _basic(pair: PairedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
    return basic_interval(*bootstrap_difference(pair, draws, rng=rng), prob)


def bootstrap_difference(pair: PairedCounts, n_draws: int = 2000, *, rng: Any = None) -> tuple[float, Draws]:
    """Bootstrap the difference of two models' plug-in ECEs, resampling rows with both confidences.

    Parameters
    ----------
    pair : PairedCounts
        Unweighted counts with at least one row.
    n_draws : int, default 2000
        Number of resamples.
    rng : None, int, SeedSequence or Generator
        Randomness.

    Returns
    -------
    (plug_in, resampled) : tuple of float and Draws
        The difference of the data, and that of each resample.

    Notes
    -----
    Rows are resampled with replacement [1]_, through the joint cells, whose counts are multinomial exactly as in
    resampled rows. Confidences are set to their mean for the bin and outcome. This leaves out the variance of
    confidences within a bin, about 1/500 of that of outcomes for 15 bins.

    References
    ----------
    .. [1] Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 6.

    Examples
    --------
    On the same rows, one model states 0.5 and the other 0.6; 60 % of the outcomes are 1.

    >>> y = [1] * 60 + [0] * 40
    >>> pair = PairedCounts.from_arrays(y, [0.5] * 100, y, [0.6] * 100, bins=1, target="event")
    >>> plug_in, resampled = bootstrap_difference(pair, 1000, rng=1)
    >>> plug_in
    0.1
    """
    shares = _checks.generator(rng).multinomial(pair.n_rows, pair.n / pair.n_rows, size=n_draws) / pair.n_rows
    of_cell = [
        counts.bins.midpoints + counts.deviation / np.maximum(counts.cells, 1) for counts in (pair.first, pair.second)
    ]
    plug_in = float(_difference(pair, pair.n / pair.n_rows, of_cell))
    return plug_in, Draws(_difference(pair, shares, of_cell), "bootstrapped difference of plug-in eces")


def _difference(pair: PairedCounts, shares: Floats, confidence: list[Floats]) -> Floats:
    """Compute the ECE of the first less that of the second, for shares (..., n_cells) and confidences by cell."""
    eces = []
    for counts, stated, (at, z) in zip(
        (pair.first, pair.second), confidence, (pair.cells.T[:2], pair.cells.T[2:]), strict=True
    ):
        gap = np.zeros((len(pair.n), len(counts.bins)))
        gap[np.arange(len(pair.n)), at] = z - stated[z, at]
        eces.append(np.abs(shares @ gap).sum(axis=-1))
    return eces[0] - eces[1]


#: The package's method, the same without dependence, and commonly used alternatives.
METHODS: dict[str, DifferenceMethod] = {
    "paired": _paired,
    UNPAIRED: _unpaired,
    "joint Dirichlet": _joint_dirichlet,
    "percentile bootstrap": _percentile,
    "basic bootstrap": _basic,
}
