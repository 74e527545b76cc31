"""Isotonic regression of outcomes on confidences; rows with equal confidences are pooled first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """Isotonic regression of outcomes on confidences.

    Parameters
    ----------
    confidence : ndarray, shape (n_levels,)
        Distinct confidences of rows with positive weight, increasing.
    weight : ndarray, shape (2, n_levels)
        Sums of weights by outcome.
    fitted : ndarray, shape (n_levels,)
        The non-decreasing function of the confidence with the smallest Brier score, at each distinct confidence.
    """

    confidence: Floats
    weight: Floats
    fitted: Floats


def isotonic_fit(confidence: NDArray[Any], outcome: NDArray[Any], weight: Floats | None) -> IsotonicFit:
    """Fit outcomes by a non-decreasing function of the confidence.

    Parameters
    ----------
    confidence : ndarray of float, shape (n_rows,)
        Valid confidences.
    outcome : ndarray of {0, 1} or bool, shape (n_rows,)
        Outcomes.
    weight : ndarray, shape (n_rows,), or None
        Weights >= 0 with a positive sum; rows of weight 0 are left out.

    Returns
    -------
    IsotonicFit
        The distinct confidences and their fitted values, computed by scipy [1]_. For binary outcomes, the same function
        minimises the log score.

    References
    ----------
    .. [1] F. M. Busing (2022), "Monotone regression: a simple and fast O(n) PAVA implementation", Journal of
       Statistical Software 102, code snippet 1.

    Examples
    --------
    The outcomes 1 and 0 at 0.3 and 0.4 are in the wrong order, so both are replaced by their mean.

    >>> isotonic_fit(np.array([0.3, 0.4, 0.9]), np.array([1, 0, 1]), None).fitted
    array([0.5, 0.5, 1. ])
    """
    from scipy.optimize import isotonic_regression

    weight = np.ones(len(outcome)) if weight is None else weight
    counted = weight > 0
    confidence, outcome, weight = confidence[counted].astype(np.float64), outcome[counted] == 1, weight[counted]
    levels, level = np.unique(confidence, return_inverse=True)
    by_outcome = np.zeros((2, len(levels)))
    np.add.at(by_outcome, (outcome.astype(np.intp), level), weight)
    total = by_outcome.sum(axis=0)
    fitted = isotonic_regression(by_outcome[1] / total, weights=total).x
    return IsotonicFit(levels, by_outcome, np.clip(fitted, 0.0, 1.0))
