"""A smooth calibration curve: rows -> bins of nearly equal mass -> its posterior -> CalibrationCurve."""

from collections.abc import Sequence
from typing import Any

from bayescal import _checks
from bayescal.data.predictions import one_model, read_rows
from bayescal.posterior.smooth_curve import PRIOR_EXACT
from bayescal.results.calibration_curve import CalibrationCurve, curve_of
from bayescal.stats.ordered import OrderedSums


@_checks.explained(
    "For counts in fine bins, use `calibration_curve.from_counts(counts)`; the number of bins is not a choice.",
    pos_label="classes",
    outcome="y_true",
    score="y_prob",
    y="y_true",
    p="y_prob",
)
def calibration_curve(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    weights: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    prior_exact: float = PRIOR_EXACT,
    draws: int = 4000,
    rng: Any = None,
) -> CalibrationCurve:
    r"""Estimate a smooth calibration curve, and its mean, median, 90th percentile and maximum error.

    The curve is m(c), the rate of outcome 1 among rows with score c. The integrated calibration index (ICI, also Eavg)
    is :math:`E|m(c) - c|`; E50, E90 and Emax are the median, the 90th percentile and the maximum of
    :math:`|m(c) - c|` over the population [1]_ [2]_.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Outcomes 0 and 1, or labels, as for `evaluate`.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Probabilities (scores) as for `evaluate`.
    target, weights, classes, logits
        As for `evaluate`.
    prior_exact : float, default 0.1
        Prior probability of exact calibration, in [0, 1). With 0, no interval of the ICI contains 0, even if the
        classifier is calibrated.
    draws : int, default 4000
        Number of draws, at least 2.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    CalibrationCurve
        Draws `ici`, `e50`, `e90` and `emax`; the curve with pointwise intervals, ``.band()``; the probabilities of the
        sub-models.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`. Also with fewer than 100 rows, or an effective number of rows below 100, and if `prior_exact`
        is not in [0, 1).

    See Also
    --------
    evaluate : The ECE in bins, which is smaller if errors of opposite sign share a bin.
    classical_calibration_curves : The same errors by lowess, loess, logistic regression and splines, without intervals.
    cumulative_difference : Calibration without bins and without an assumption that the curve is smooth.

    Notes
    -----
    Rows are merged into M = min(30, n / 10) bins of nearly equal mass, in which the curve is exact calibration, a drift
    (intercept and slope), a Gaussian process in the rank of the scores, or both; `smooth_curve_posterior` states the
    model. The four are averaged by their marginal likelihoods.
    Without a positive probability of exact calibration, the absolute value makes every noisy curve look miscalibrated:
    the intervals of a calibrated classifier would never contain 0. The page "Calibration curve and ICI" shows how often
    the intervals contain the truth, also for splines and bootstraps.

    E90 is `max_error` of the curve: the largest error that 10 % of the population have.

    References
    ----------
    .. [1] P. C. Austin and E. W. Steyerberg (2019), "The Integrated Calibration Index (ICI) and related metrics for
       quantifying the calibration of logistic regression models", Statistics in Medicine 38, 4051-4065.
    .. [2] F. E. Harrell (2015), Regression Modeling Strategies, 2nd edition, Springer (Eavg, E50, E90 and Emax).

    Examples
    --------
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=1)
    >>> cv = calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> cv.ici
    Draws(ici: mean 0.0659, 95 % interval [0.04984, 0.08214], 4000 draws)
    >>> cv.ici < 0.05
    P(ici < 0.05) = 0.0255
    >>> {name: round(p, 2) for name, p in cv.probabilities.items()}
    {'exact': 0.0, 'drift': 0.71, 'curve': 0.0, 'both': 0.29}
    """
    one_model("y_prob", y_prob, "calibration_curve(y_true, p)")
    rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights).checked()
    steps = OrderedSums.from_rows(rows.scale_free())
    return curve_of(steps, rows.target, draws=draws, rng=rng, prior_exact=prior_exact)


#: Alias of `CalibrationCurve.from_counts`.
calibration_curve.from_counts = CalibrationCurve.from_counts  # type: ignore[attr-defined]  # functions have no such member
