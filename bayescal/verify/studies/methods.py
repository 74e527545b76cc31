"""Methods that coverage studies compare: intervals of models of the package, bootstraps, and published intervals."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.analyses.one import MODELS
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import ece
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.stats.binned import BinnedCounts
from bayescal.verify.studies.study import Interval, basic_interval, percentile_interval
from bayescal.verify.studies.sun import l2_interval, squared_l2_interval

Floats = NDArray[np.float64]
#: An interval and a point estimate from counts: (counts, prob, draws, rng) -> (low, high, estimate).
Method = Callable[[BinnedCounts, float, int, np.random.Generator], Interval]

#: Published intervals of single estimands, by the name of the estimand and of the method.
PUBLISHED: dict[str, dict[str, Method]] = {
    "l2_error": {"sun": lambda counts, prob, draws, rng: l2_interval(counts, prob)},
    "squared_l2_error": {"sun": lambda counts, prob, draws, rng: squared_l2_interval(counts, prob)},
}


def methods_of(estimand: EstimandLike) -> dict[str, Method]:
    """Return the methods that give intervals of an estimand.

    Parameters
    ----------
    estimand : str, Estimand or callable
        A registered estimand, or a function of draws of the bins, with one value per draw.

    Returns
    -------
    dict of str to callable
        Functions ``(counts, prob, draws, rng) -> (low, high, estimate)`` by name: every model of the package; for an
        estimand that is a function of the bins, two bootstraps; for l_2 errors also ``"sun"``, the interval of Sun et
        al., see `sun.l2_interval`.

    Raises
    ------
    ValueError, TypeError
        If the estimand is unknown or a curve.

    Examples
    --------
    >>> list(methods_of("l2_error"))
    ['shrinkage', 'dirichlet', 'percentile bootstrap', 'basic bootstrap', 'sun']
    >>> list(methods_of("brier_score"))
    ['shrinkage', 'dirichlet']
    """
    record = as_scalar(estimand)
    models = {name: _model_interval(name, record) for name in MODELS}
    return models if record.needs else models | _bootstraps(record) | PUBLISHED.get(record.name, {})


def _model_interval(model: str, estimand: Estimand) -> Method:
    """Return the method that takes the equal-tailed interval and the mean of a model's posterior."""

    def interval(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
        drawn = estimand.draw(MODELS[model](counts).sample(draws, rng=rng), counts, rng=rng)
        return (*drawn.interval(prob), drawn.mean())

    return interval


def _bootstraps(estimand: Estimand) -> dict[str, Method]:
    """Return the percentile bootstrap and the basic bootstrap, which is cut off at the bounds of the estimand."""

    def resampled(counts: BinnedCounts, draws: int, rng: np.random.Generator) -> Draws:
        return estimand.draw(bootstrap_bins(counts, draws, rng=rng), counts)

    def plug_in(counts: BinnedCounts) -> float:
        return float(estimand.draw(observed_bins(counts), counts).values[0])

    def percentile(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
        return percentile_interval(plug_in(counts), resampled(counts, draws, rng), prob)

    def basic(counts: BinnedCounts, prob: float, draws: int, rng: np.random.Generator) -> Interval:
        reflected = basic_interval(plug_in(counts), resampled(counts, draws, rng), prob)
        low, high, estimate = (float(np.clip(value, *estimand.bounds)) for value in reflected)
        return low, high, estimate

    return {"percentile bootstrap": percentile, "basic bootstrap": basic}


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
    return Draws(ece(bootstrap_bins(counts, n_draws, rng=rng)).values, "bootstrapped plug-in ece")


def bootstrap_bins(counts: BinnedCounts, n_draws: int = 2000, *, rng: Any = None) -> BinDraws:
    """Resample the observed bins, as `bootstrap_ece` does; a plug-in estimand of the result is bootstrapped.

    Parameters
    ----------
    counts, n_draws, rng
        As for `bootstrap_ece`.

    Returns
    -------
    BinDraws
        Shares, accuracies and mean confidences of each resample. Bins without rows have share 0 and gap 0.

    Examples
    --------
    >>> from bayescal import l2_error
    >>> counts = BinnedCounts.from_arrays([1] * 60 + [0] * 40, [0.5] * 100, bins=1)
    >>> l2_error(bootstrap_bins(counts, 10_000, rng=1)).mean()  # with one bin, all orders agree with the ECE
    0.10
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
    rows, share = np.maximum(n, 1), n / counts.n_rows
    return BinDraws(share, k / rows, summed / rows, counts.occupied, share)
