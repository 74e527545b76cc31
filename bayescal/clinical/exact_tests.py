"""Tests of exact calibration from rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtr

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import remarks_on
from bayescal.clinical.exact_test_statistics import hosmer_lemeshow_of, spiegelhalter_z
from bayescal.clinical.exact_tests_result import CalibrationTests
from bayescal.data.predictions import Predictions, read_rows

Floats = NDArray[np.float64]


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
    bayescal.cumulative.difference : A test of exact calibration without groups, the Kuiper statistic.

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
