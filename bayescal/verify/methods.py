"""Methods that coverage studies compare: of the package, bootstraps and a printed formula."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Generator
from bayescal._meant import public
from bayescal.analyses.one import MODELS
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import ece
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.plug_in import observed_bins
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts

#: Ends of an interval, and a point estimate: (low, high, estimate).
Interval = tuple[float, float, float]
#: An interval and a point estimate from counts: (counts, prob, draws, rng) -> (low, high, estimate).
Method = Callable[[BinnedCounts, float, int, Generator], Interval]

TOLERANCE = 1e-9  #: A truth this far outside an interval still counts as inside, so that rounding does not decide.


def methods_of(estimand: EstimandLike) -> dict[str, Method]:
    """Return the methods that give intervals of an estimand.

    Parameters
    ----------
    estimand : str, Estimand or callable
        A registered estimand, or a function of draws of the bins, with one value per draw.

    Returns
    -------
    dict of str to callable
        Functions ``(counts, prob, draws, rng) -> (low, high, estimate)`` by name: every model of the package; and for
        an estimand that is a function of the bins, two bootstraps.

    Raises
    ------
    ValueError, TypeError
        If the estimand is unknown or a curve.

    Examples
    --------
    >>> from bayescal.verify.methods import methods_of
    >>> list(methods_of("l2_error"))
    ['shrinkage', 'dirichlet', 'percentile bootstrap', 'basic bootstrap']
    >>> list(methods_of("brier_score"))
    ['shrinkage', 'dirichlet']
    """
    record = as_scalar(estimand)
    models = {name: _model_interval(name, record) for name in MODELS}
    return models if record.needs else models | _bootstraps(record)


def _model_interval(model: str, estimand: Estimand) -> Method:
    """Return the method that takes the equal-tailed interval and the mean of a model's posterior."""

    def interval(counts: BinnedCounts, prob: float, draws: int, rng: Generator) -> Interval:
        values = estimand.draw(MODELS[model](counts).sample(draws, rng=rng), counts, rng=rng)
        return (*values.interval(prob), values.mean())

    return interval


def _bootstraps(estimand: Estimand) -> dict[str, Method]:
    """Return the percentile bootstrap and the basic bootstrap, which is cut off at the bounds of the estimand."""

    def resampled(counts: BinnedCounts, draws: int, rng: Generator) -> Draws:
        return estimand.draw(bootstrap_bins(counts, draws, rng=rng), counts)

    def plug_in(counts: BinnedCounts) -> float:
        return float(estimand.draw(observed_bins(counts), counts).values[0])

    def percentile(counts: BinnedCounts, prob: float, draws: int, rng: Generator) -> Interval:
        return percentile_interval(plug_in(counts), resampled(counts, draws, rng), prob)

    def basic(counts: BinnedCounts, prob: float, draws: int, rng: Generator) -> Interval:
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

    >>> import bayescal as bc
    >>> from bayescal.verify.methods import bootstrap_ece
    >>> counts = bc.BinnedCounts.from_arrays([1] * 60 + [0] * 40, [0.5] * 100, bins=1)
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
    With one bin, errors of all orders equal the ECE:

    >>> import bayescal as bc
    >>> from bayescal.verify.methods import bootstrap_bins
    >>> counts = bc.BinnedCounts.from_arrays([1] * 60 + [0] * 40, [0.5] * 100, bins=1)
    >>> bc.estimands.l2_error(bootstrap_bins(counts, 10_000, rng=1)).mean()
    0.10
    """
    rng = _checks.generator(rng)
    resampled = rng.multinomial(counts.n_rows, counts.cells.ravel() / counts.n_rows, size=n_draws)
    cells = resampled.reshape(n_draws, *counts.cells.shape)
    n, k = cells.sum(axis=1), cells[:, 1]
    # in wide bins confidence and outcome are correlated, so each cell has a mean of its own
    offset = counts.deviation / np.maximum(counts.cells, 1)
    variance = (counts.deviation_sq - (offset * counts.deviation).sum(axis=0)) / np.maximum(counts.n, 1)
    summed = n * counts.bins.midpoints + (cells * offset).sum(axis=1)
    summed += np.sqrt(n * np.maximum(variance, 0.0)) * rng.standard_normal(n.shape)
    rows, share = np.maximum(n, 1), n / counts.n_rows
    return BinDraws(share, k / rows, summed / rows, counts.occupied, share)


def percentile_interval(plug_in: float, resampled: Draws, prob: float) -> Interval:
    """Return the percentile interval of a bootstrap, with the plug-in value as its estimate.

    Its ends are quantiles of the estimates from resamples: Efron and Tibshirani (1993), An Introduction to the
    Bootstrap, section 13.3.
    """
    return (*resampled.interval(prob), plug_in)


def basic_interval(plug_in: float, resampled: Draws, prob: float) -> Interval:
    r"""Return the basic interval of a bootstrap: the percentile interval, reflected at the plug-in value.

    Interval and estimate are :math:`2 \hat\theta` less the upper quantile, the lower quantile and the mean of the
    estimates :math:`\hat\theta^*` from resamples: Davison and Hinkley (1997), Bootstrap Methods and their Application,
    equation 5.6; for the last, the bias-corrected estimate, Efron and Tibshirani (1993), section 10.6.
    """
    low, high = resampled.interval(prob)
    return 2 * plug_in - high, 2 * plug_in - low, 2 * plug_in - resampled.mean()


@public
def printed_formula(posterior: Evaluation | DirichletPosterior, n_draws: int = 4000, *, rng: Any = None) -> Draws:
    r"""Draw the formula that the document of the original program prints; it is not a calibration error.

    Parameters
    ----------
    posterior : Evaluation or DirichletPosterior
        An evaluation with ``model="dirichlet"``, or the posterior of the Dirichlet model.

    Returns
    -------
    Draws
        Shape (n_draws,), in [0, 1].

    Raises
    ------
    TypeError, ValueError
        If `posterior` is of another model, or `n_draws` is no whole number of at least 1.

    Notes
    -----
    The document of the original program [1]_ prints

    .. math:: \sum_b q_{1b}\, |q_{1b} - p_b|

    with the probability :math:`q_{1b}` that a row is in bin b *and* has outcome 1, and the mean confidence :math:`p_b`.
    The ECE has the mass :math:`m_b = q_{0b} + q_{1b}` as its weight, and the accuracy :math:`\theta_b = q_{1b} / m_b`
    beside the confidence:

    .. math:: \mathrm{ECE} = \sum_b m_b\, |\theta_b - p_b| = \sum_b |q_{1b} - m_b\, p_b|.

    A joint probability is not an accuracy: :math:`q_{1b}` is small if few rows are in the bin, however well the bin is
    calibrated. With equal masses of M calibrated bins, the printed formula is :math:`(1 - 1/M) \sum_b p_b^2 / M`, which
    grows with the number of bins. No function of the package reports it.

    References
    ----------
    .. [1] Google (2020), uncertainty_metrics, https://github.com/google/uncertainty-metrics: the function
       ``bayesian_expected_calibration_error`` and the document ``g3doc/bayesian-ece.md``.

    Examples
    --------
    The probabilities of the random forest are nearly calibrated:

    >>> cancer = bc.datasets.load_breast_cancer()
    >>> ev = bc.evaluate(cancer.y_true, cancer.y_prob["random_forest"], bins=10, model="dirichlet", rng=1)
    >>> round(ev.ece.mean(), 3), round(bc.verify.printed_formula(ev, rng=1).mean(), 3)
    (0.034, 0.313)
    """
    of_bins = posterior.posterior if isinstance(posterior, Evaluation) else posterior
    if not isinstance(of_bins, DirichletPosterior):
        raise TypeError(
            f"`posterior` must be of the Dirichlet model, not a {type(of_bins).__name__}: pass "
            "`bayescal.evaluate(y_true, y_prob, model='dirichlet')`."
        )
    bins = of_bins.sample(_checks.whole_number("n_draws", n_draws), rng=rng)
    q = bins.mass * bins.accuracy
    return Draws((q * np.abs(q - bins.confidence)).sum(axis=1), "printed formula")
