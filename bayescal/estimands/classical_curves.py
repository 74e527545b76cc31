"""Calibration curves of the medical literature as point estimates: smoothers, logistic regressions and splines."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bayescal.estimands.local_regression import loess, lowess

Floats = NDArray[np.float64]
#: (scores, outcomes) -> fitted event rate of each row; NaN if the fit does not exist.
Fit = Callable[[Floats, Floats], Floats]

#: Newton's method: largest number of steps, and change of a coefficient in units of its scale at which it stops.
STEPS, CONVERGED = 50, 1e-10
#: Smallest share of a step.
LEAST_STEP = 1e-6
#: Quantiles of the knots of restricted cubic splines, by number of knots.
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95)}
#: With fewer rows, the outer knots are the fifth smallest and largest logit.
FEW = 100


def errors_of(fitted: Floats, score: Floats) -> dict[str, float]:
    """Compute the errors of a curve: mean, median, 90th percentile and maximum of the absolute difference.

    Quantiles interpolate linearly between order statistics (type 7 of Hyndman and Fan, as in R and numpy).

    Parameters
    ----------
    fitted, score : ndarray, shape (n_rows,)
        Event rate of the curve at each row, and its score.

    Returns
    -------
    dict
        Keys ici, e50, e90, emax.

    Examples
    --------
    >>> errors_of(np.array([0.1, 0.3, 0.9]), np.array([0.1, 0.2, 0.4]))
    {'ici': 0.2, 'e50': 0.1, 'e90': 0.42, 'emax': 0.5}
    """
    error = np.abs(fitted - score)
    e50, e90 = np.quantile(error, (0.5, 0.9))
    return {"ici": float(error.mean()), "e50": float(e50), "e90": float(e90), "emax": float(error.max())}


def logistic_regression(design: Floats, outcome: Floats) -> Floats:
    """Fit a logistic regression by maximum likelihood and return the fitted probabilities of its rows.

    Parameters
    ----------
    design : ndarray, shape (n_rows, n_columns)
        Columns of the design, with the constant.
    outcome : ndarray, shape (n_rows,)
        Outcomes 0 and 1.

    Returns
    -------
    ndarray, shape (n_rows,)
        NaN if there is no maximum, because a combination of the columns separates the outcomes, or columns are
        collinear.

    Examples
    --------
    With a constant alone, the fitted probability is the share of outcome 1:

    >>> logistic_regression(np.ones((4, 1)), np.array([0.0, 1, 1, 1]))
    array([0.75, 0.75, 0.75, 0.75])
    """
    # an orthonormal basis: scales of the columns do not matter
    basis, triangle = np.linalg.qr(design)
    diagonal = np.abs(np.diag(triangle))
    missing = np.full(len(outcome), np.nan)
    if diagonal.min() <= 1e-10 * diagonal.max():
        return missing
    beta = np.zeros(design.shape[1])
    for _ in range(STEPS):
        h = _expit(basis @ beta)
        information = (basis * (h * (1 - h))[:, None]).T @ basis
        if np.linalg.cond(information) > 1e12:
            return missing
        step = np.linalg.solve(information, basis.T @ (outcome - h))
        if np.abs(step).max() < CONVERGED * max(1.0, float(np.abs(beta).max())):
            fitted: Floats = _expit(basis @ (beta + step))
            return fitted
        beta = _uphill(basis, outcome, beta, step)
    return missing


def _uphill(basis: Floats, outcome: Floats, beta: Floats, step: Floats) -> Floats:
    """Return the end of a step, which is halved while the likelihood falls."""

    def log_likelihood(at: Floats) -> float:
        eta = basis @ at
        return float((outcome * eta - np.logaddexp(0, eta)).sum())

    start, factor = log_likelihood(beta), 1.0
    while factor > LEAST_STEP and log_likelihood(beta + factor * step) < start - 1e-9 * abs(start):
        factor /= 2
    return beta + factor * step


def _expit(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _logit(score: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(score) - np.log1p(-score)


def logistic_on_probability(score: Floats, outcome: Floats) -> Floats:
    """Fit ``glm(y ~ p, binomial)``, the secondary logistic regression on the probability itself."""
    return logistic_regression(np.stack([np.ones_like(score), score], axis=1), outcome)


def logistic_on_logit(score: Floats, outcome: Floats) -> Floats:
    """Fit ``glm(y ~ qlogis(p), binomial)``, the logistic calibration curve; NaN if a score is 0 or 1."""
    x = _logit(score)
    if not np.isfinite(x).all():
        return np.full(len(score), np.nan)
    return logistic_regression(np.stack([np.ones_like(x), x], axis=1), outcome)


def restricted_cubic_spline(score: Floats, outcome: Floats, *, n_knots: int) -> Floats:
    """Fit ``rms::lrm(y ~ rcs(qlogis(p), n_knots))``; NaN if a score is 0 or 1, or knots coincide."""
    x = _logit(score)
    if not np.isfinite(x).all():
        return np.full(len(score), np.nan)
    knots = np.quantile(x, KNOTS[n_knots])
    if len(x) < FEW and len(x) >= 5:
        knots[[0, -1]] = np.sort(x)[[4, -5]]
    if (np.diff(knots) <= 0).any():
        return np.full(len(score), np.nan)
    return logistic_regression(np.column_stack([np.ones_like(x), spline_basis(x, knots)]), outcome)


def spline_basis(x: Floats, knots: Floats) -> Floats:
    """Return the columns of a restricted cubic spline: x, and functions that are linear beyond the outer knots.

    Harrell (2015), Regression Modeling Strategies, equation 2.25.

    Examples
    --------
    Beyond the last knot the second column is linear:

    >>> np.diff(spline_basis(np.array([5.0, 6.0, 7.0]), np.array([0.0, 1.0, 3.0]))[:, 1]).round(4)
    array([1., 1.])
    """
    first, before, last = knots[0], knots[-2], knots[-1]
    cubes = np.maximum(x[:, None] - knots, 0) ** 3
    inner = [
        cubes[:, j] - cubes[:, -2] * (last - knot) / (last - before) + cubes[:, -1] * (before - knot) / (last - before)
        for j, knot in enumerate(knots[:-2])
    ]
    return np.column_stack([x, *(column / (last - first) ** 2 for column in inner)])


#: The curves by key.
CURVES: Mapping[str, Fit] = {
    "lowess": lowess,
    "loess": loess,
    "logistic": logistic_on_logit,
    "logistic_probability": logistic_on_probability,
    "spline_3": partial(restricted_cubic_spline, n_knots=3),
    "spline_4": partial(restricted_cubic_spline, n_knots=4),
}
