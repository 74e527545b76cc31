"""The evidence that weighted rows carry: weights -> report."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._meant import public
from bayescal.data.columns import allowed_weights, column, scale_free, weight_column
from bayescal.data.frames import to_array
from bayescal.shift.weights_result import WeightReport
from bayescal.stats.sums import effective_number

#: Positive weights from which on a shape is fitted: ArviZ fits the largest fifth of so few, and needs five.
FEWEST_SHAPED = 25


@public
def weight_report(weights: Any) -> WeightReport:
    r"""Report how many rows weighted rows are worth, and whether single weights dominate.

    Parameters
    ----------
    weights : array-like of float, shape (n_rows,)
        Importance weights >= 0, such as density ratios of a target and a source. Only their ratios matter.

    Returns
    -------
    WeightReport
        Kish's effective number of rows, the share of the largest weight, and the Pareto shape of the largest weights;
        with warnings.

    Raises
    ------
    ValueError, TypeError
        If there are no weights, or they are missing, infinite, negative or all 0.

    See Also
    --------
    bayescal.shift.covariate : Evaluates a target population with such weights.

    Notes
    -----
    The effective number of rows is :math:`(\sum w)^2 / \sum w^2` [1]_: weighted means have about the variance of means
    of so many rows. It is itself estimated from the weights, and too large if the largest possible weights do not occur
    among the rows. The shape k of the generalised Pareto distribution of the largest weights, fitted by ArviZ, shows
    this: weights have a finite variance if k < 1/2, and weighted means are reliable up to about k = 0.7 [2]_.

    References
    ----------
    .. [1] Kish (1965), Survey Sampling, Wiley.
    .. [2] A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), "Pareto smoothed importance sampling", Journal
       of Machine Learning Research 25(72), 1-58.

    Examples
    --------
    Weights of a Normal distribution with mean 1 relative to one with mean 0 have the expected share exp(-1).

    >>> x = np.random.default_rng(1).standard_normal(2000)
    >>> report = weight_report(np.exp(x - 0.5))
    >>> round(report.effective_share, 2), round(report.pareto_k, 1)
    (0.4, 0.3)
    >>> report.sentence()
    'The 2000 weighted rows are worth ... rows (... %). The largest weight has ... % of the total, and the Pareto ...'
    """
    given = column("weights", to_array("weights", weights))
    _checks.not_empty("weights", len(given), hint="")
    weight = weight_column(given, len(given), "weights")
    assert weight is not None  # `weights` is an array here
    return report_of(scale_free(allowed_weights(weight)))


def report_of(weight: NDArray[np.float64]) -> WeightReport:
    """Report on valid weights whose squares can be summed."""
    total = float(weight.sum())
    return WeightReport(
        n_rows=len(weight),
        n_zero=int(np.count_nonzero(weight == 0)),
        effective_rows=effective_number(weight, weight @ weight),
        largest_share=float(weight.max()) / total,
        pareto_k=_pareto_shape(weight[weight > 0]),
    )


def _pareto_shape(weight: NDArray[np.float64]) -> float:
    """Fit the shape of the largest weights; NaN if they are too few, or mostly equal."""
    from arviz_stats.base import array_stats

    if len(weight) < FEWEST_SHAPED:
        return float("nan")
    with np.errstate(all="ignore"):
        try:  # psislw expects log-likelihoods, which are minus the log weights
            shape = float(array_stats.psislw(-np.log(weight))[1])
        except ValueError:  # the largest weights are all equal
            return float("nan")
    return shape if np.isfinite(shape) else float("nan")
