"""Classical statistics of calibration from rows: curves as point estimates, and tests of exact calibration."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import remarks_on
from bayescal.data.predictions import Predictions, read_rows
from bayescal.estimands.calibration_tests import hosmer_lemeshow_of, spiegelhalter_z
from bayescal.estimands.classical_curves import CURVES
from bayescal.results.classical import CalibrationTests, ClassicalCurves

Floats = NDArray[np.float64]

#: Smallest number of rows of a curve.
LEAST_ROWS = 10


@public
def classical_calibration_curves(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> ClassicalCurves:
    r"""Fit the calibration curves of the literature, and compute their ICI, E50, E90 and Emax as point estimates.

    Parameters
    ----------
    y_true, y_prob, target, classes, logits
        As for `evaluate`.

    Returns
    -------
    ClassicalCurves
        Fitted values and errors of six curves: "lowess" (``lowess(p, y, iter = 0)`` in R, the default of
        ``rms::val.prob``); "loess" (``loess(y ~ p)``, the definition of the ICI in [1]_); "logistic"
        (``glm(y ~ qlogis(p), binomial)``); "logistic_probability" (``glm(y ~ p, binomial)``); "spline_3" and "spline_4"
        (``rms::lrm(y ~ rcs(qlogis(p), k))``, restricted cubic splines with the default knots [2]_).

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; also with fewer than 10 rows.

    See Also
    --------
    calibration_curve : A curve with intervals.

    Notes
    -----
    For comparison with published values: all agree with those programs. The errors are means, medians, 90th percentiles
    (type 7) and maxima of :math:`|\hat m(c_i) - c_i|` over the rows. They are biased upwards, because the curves follow
    the noise: a calibrated classifier never has the value 0. A bootstrap repeats this bias; the page "Calibration curve
    and ICI" shows how rarely its intervals contain the truth.

    Curves on the logit do not exist if a score is 0 or 1 (NaN, with a remark). Some programs drop such rows, which
    changes the population, or move the scores, whose amount then matters.

    References
    ----------
    .. [1] P. C. Austin and E. W. Steyerberg (2019), "The Integrated Calibration Index (ICI) and related metrics for
       quantifying the calibration of logistic regression models", Statistics in Medicine 38, 4051-4065.
    .. [2] F. E. Harrell (2015), Regression Modeling Strategies, 2nd edition, Springer, sections 2.4 and 10.11.

    Examples
    --------
    The outcomes of a calibrated classifier:

    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(500, population="flat", rng=1)
    >>> curves = classical_calibration_curves(rows.outcome, rows.confidence)
    >>> {key: round(each["ici"], 3) for key, each in curves.errors.items()}
    {'lowess': 0.029, 'loess': 0.035, 'logistic': 0.026, 'logistic_probability': 0.035, 'spline_3': 0.027, ...}
    """
    rows = _rows(y_true, y_prob, target=target, classes=classes, logits=logits)
    score, outcome = _columns(rows)
    if len(score) < LEAST_ROWS:
        raise ValueError(
            f"`y_true` must have at least {LEAST_ROWS} rows for a calibration curve, and has {len(score)}."
        )
    fitted = {key: fit(score, outcome) for key, fit in CURVES.items()}
    question = f"{rows.target} calibration curves, N = {len(score)}"
    return ClassicalCurves(score, fitted, question, remarks_on(rows))


@public
def calibration_tests(
    y_true: Any,
    y_prob: Any,
    *,
    groups: int = 10,
    fitted: bool = False,
    target: str | None = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> CalibrationTests:
    r"""Compute Spiegelhalter's and Hosmer and Lemeshow's tests of exact calibration.

    Parameters
    ----------
    y_true, y_prob, target, classes, logits
        As for `evaluate`.
    groups : int, default 10
        Number of groups of the Hosmer-Lemeshow statistic, at least 2 (3 with `fitted`) and at most the number of rows.
    fitted : bool, default False
        Whether the classifier was fitted to these rows. Then the Hosmer-Lemeshow statistic has `groups` - 2 degrees of
        freedom [1]_, and `groups` otherwise, in a validation set.

    Returns
    -------
    CalibrationTests
        Spiegelhalter's Z [2]_ with its two-sided P-value, and the Hosmer-Lemeshow statistic with its P-value.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; also if `groups` is not an integer in its range.

    See Also
    --------
    calibration_curve : The size of the errors, with intervals.
    cumulative_difference : A test of exact calibration without groups, the Kuiper statistic.

    Notes
    -----
    The null hypothesis is exact calibration, :math:`P(z = 1 | c) = c`. What these tests cannot answer:

    * *How large are the errors?* With enough rows every classifier is rejected, and with few rows none is. A P-value
      near 1 is no evidence of calibration.
    * *Is anything wrong?* Spiegelhalter's Z weighs residuals by 1 - 2c, so that errors of equal size and sign at c and
      1 - c cancel: in the example, it does not see a shift of all logits. The Hosmer-Lemeshow statistic does not see
      errors that cancel within a group.
    * *Which number of groups?* The Hosmer-Lemeshow statistic, and often whether it rejects, depends on it [3]_.

    Rows are sorted by score and cut into groups of nearly equal size. If equal scores lie on both sides of a boundary,
    the statistic depends on the order of the rows, and a remark states this. Where a group with expected number 0 has
    rows with outcome 1, the statistic is infinite and its P-value is 0; a remark names the rows. Programs that move
    scores of 0 and 1 inwards get a finite number, which depends on how far.

    References
    ----------
    .. [1] D. W. Hosmer and S. Lemeshow (1980), "Goodness of fit tests for the multiple logistic regression model",
       Communications in Statistics A9, 1043-1069.
    .. [2] D. J. Spiegelhalter (1986), "Probabilistic prediction in patient management and clinical trials", Statistics
       in Medicine 5, 421-433.
    .. [3] D. W. Hosmer, T. Hosmer, S. le Cessie and S. Lemeshow (1997), "A comparison of goodness-of-fit tests for the
       logistic regression model", Statistics in Medicine 16, 965-980.

    Examples
    --------
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(500, population="flat", curve="shift", strength=0.3, rng=1)
    >>> tests = calibration_tests(rows.outcome, rows.confidence)
    >>> round(tests.z, 2), round(tests.p_spiegelhalter, 2)
    (0.33, 0.74)
    >>> round(tests.hosmer_lemeshow.chi_squared, 1), tests.hosmer_lemeshow.df, round(tests.p_hosmer_lemeshow, 3)
    (26.4, 10, 0.003)
    """
    groups = _checks.whole_number("groups", groups, 3 if fitted else 2)
    rows = _rows(y_true, y_prob, target=target, classes=classes, logits=logits)
    score, outcome = _columns(rows)
    if groups > len(score):
        raise ValueError(f"`groups` must be at most the number of rows, {len(score)}, not {groups}.")
    z = spiegelhalter_z(score, outcome)
    found = hosmer_lemeshow_of(score, outcome, groups, fitted=bool(fitted))
    return CalibrationTests(
        z=z,
        p_spiegelhalter=float(2 * ndtr(-abs(z))),
        hosmer_lemeshow=found,
        p_hosmer_lemeshow=float(gammaincc(found.df / 2, found.chi_squared / 2)),
        question=f"{rows.target} tests of exact calibration, N = {len(score)}",
        contradicted=np.flatnonzero(np.abs(outcome - score) == 1),
        of_rows=remarks_on(rows),
    )


def _rows(y_true: Any, y_prob: Any, **options: Any) -> Predictions:
    """Return validated rows."""
    rows = read_rows(y_true, y_prob, **options).checked()
    _checks.not_empty("y_true", len(rows), hint="")
    return rows


def _columns(rows: Predictions) -> tuple[Floats, Floats]:
    """Return scores and outcomes as float64."""
    return rows.confidence.astype(np.float64), rows.outcome.astype(np.float64)
