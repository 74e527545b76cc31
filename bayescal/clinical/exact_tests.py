"""Tests of exact calibration: Spiegelhalter's Z and the chi-squared statistic of Hosmer and Lemeshow."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincc, ndtr

from bayescal import _checks, _presented, _render
from bayescal._arrays import Classes, Floats, Ints
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import remarks_on
from bayescal.data.predictions import read_rows
from bayescal.results.wording import SMALLEST_P

#: Smallest expected number in a group for which the chi-squared distribution is said to be accurate.
LEAST_EXPECTED_ROWS = 5


@dataclass(frozen=True)
class HosmerLemeshow:
    """The statistic of Hosmer and Lemeshow and its groups; arrays of shape (n_groups,)."""

    chi_squared: float  # infinite if a group whose scores are all 0, or all 1, has other outcomes
    df: int  # degrees of freedom of its approximate distribution under calibration
    n: Ints  # rows
    observed: Floats  # rows with outcome 1
    expected: Floats  # sums of scores
    divided: int  # boundaries of groups between rows with equal scores


def spiegelhalter_z(score: Floats, outcome: Floats) -> float:
    r"""Compute Spiegelhalter's Z, :math:`\sum (z - c)(1 - 2c) / (\sum (1 - 2c)^2 c (1 - c))^{1/2}`.

    Spiegelhalter (1986), equation for Z in section 4: the Brier score minus its expectation under calibration, divided
    by its standard deviation. NaN if all scores are 0, 0.5 or 1, so that the standard deviation is 0.
    """
    slope = 1 - 2 * score
    variance = float((slope**2 * score * (1 - score)).sum())
    # with infinite precision, a score of 0.5 adds nothing
    return float(((outcome - score) * slope).sum() / np.sqrt(variance)) if variance > 0 else float("nan")


def hosmer_lemeshow_of(score: Floats, outcome: Floats, groups: int, *, fitted: bool) -> HosmerLemeshow:
    r"""Compute :math:`\sum_g (O_g - E_g)^2 / (E_g (1 - E_g / n_g))` over groups of sorted rows.

    Hosmer and Lemeshow (1980), statistic C: groups of nearly equal size, cut from the rows in the order of their
    scores; rows with equal scores are in the order of the data. A model fitted to these rows costs two degrees of
    freedom.
    """
    order = np.argsort(score, kind="stable")
    parts = np.array_split(np.arange(len(score)), groups)
    starts = np.array([part[0] for part in parts])
    sorted_score = score[order]
    n = np.array([len(part) for part in parts])
    observed, expected = (np.add.reduceat(each, starts) for each in (outcome[order], sorted_score))
    variance = expected * (1 - expected / n)
    difference = (observed - expected) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(difference > 0, difference / np.maximum(variance, 0.0), 0.0)
    divided = int((sorted_score[starts[1:]] == sorted_score[starts[1:] - 1]).sum())
    df = groups - 2 if fitted else groups
    return HosmerLemeshow(float(terms.sum()), df, n, observed, expected, divided)


@public
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTests(_presented.Presented):
    """Tests of exact calibration; made by `calibration_tests`, which states their limits.

    Parameters
    ----------
    z : float
        Spiegelhalter's Z; NaN if all scores are 0, 0.5 or 1.
    p_spiegelhalter : float
        Two-sided P-value of Z.
    hosmer_lemeshow : HosmerLemeshow
        The statistic of Hosmer and Lemeshow with its groups and degrees of freedom.
    p_hosmer_lemeshow : float
        Its P-value.
    question : str
        Target and rows, in words.
    contradicted : ndarray of int
        Indices of rows with score 0 and outcome 1, or score 1 and outcome 0, which a calibrated classifier never has.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.
    """

    z: float
    p_spiegelhalter: float
    hosmer_lemeshow: HosmerLemeshow
    p_hosmer_lemeshow: float
    question: str
    contradicted: Ints
    of_rows: tuple[str, ...] = ()

    _index = ("statistic",)
    _columns = ("value", "df", "p_value")

    def table(self) -> list[dict[str, Any]]:
        """Return the statistics as data: one dict each, with keys statistic, value, df and p_value."""
        hl = self.hosmer_lemeshow
        return [
            {"statistic": "spiegelhalter_z", "value": self.z, "df": None, "p_value": self.p_spiegelhalter},
            {"statistic": "hosmer_lemeshow", "value": hl.chi_squared, "df": hl.df, "p_value": self.p_hosmer_lemeshow},
        ]

    def sentence(self) -> str:
        """Return both statistics in words."""
        hl = self.hosmer_lemeshow
        z = "not defined" if self.z != self.z else f"{self.z:.2f} (P {p_text(self.p_spiegelhalter)})"
        return (
            f"Spiegelhalter's Z is {z}. The Hosmer-Lemeshow statistic is {_value(hl.chi_squared)} with {hl.df} "
            f"degrees of freedom (P {p_text(self.p_hosmer_lemeshow)})."
        )

    @property
    def spec(self) -> str:
        """Question, rows and groups, on one line."""
        return f"{self.question}, {len(self.hosmer_lemeshow.n)} groups"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Questions that the statistics cannot answer, and warnings."""
        hl, n_groups = self.hosmer_lemeshow, len(self.hosmer_lemeshow.n)
        texts = [
            *self.of_rows,
            text_of("tests of exact calibration"),
        ]
        if self.z != self.z:
            texts.append("All scores are 0, 0.5 or 1, for which the standard deviation of Spiegelhalter's Z is 0.")
        if hl.divided:
            texts.append(
                f"Equal scores lie on both sides of {hl.divided} of {n_groups - 1} boundaries between groups, so that "
                "the Hosmer-Lemeshow statistic depends on the order of the rows."
            )
        if np.isinf(hl.chi_squared):
            texts.append(
                f"The Hosmer-Lemeshow statistic is infinite: outcomes contradict the score of {len(self.contradicted)} "
                f"of {hl.n.sum()} rows (score 0 with outcome 1, or score 1 with outcome 0), first at index "
                f"{self.contradicted[0]}, and a group has scores that are all 0 or all 1."
            )
        least = float(np.minimum(hl.expected, hl.n - hl.expected).min())
        if least < LEAST_EXPECTED_ROWS:
            texts.append(
                f"The smallest expected number in a group is {least:.2g}; the chi-squared distribution of the "
                f"Hosmer-Lemeshow statistic is accurate for numbers of about {LEAST_EXPECTED_ROWS} and more."
            )
        return tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        names = ("Spiegelhalter's Z", "Hosmer-Lemeshow chi-squared")
        rows = [
            [name, _value(row["value"]), str(row["df"] or "-"), p_text(row["p_value"], sign=False)]
            for name, row in zip(names, self.table(), strict=True)
        ]
        return _render.Sheet(self.sentence(), self.spec, ("", "value", "df", "P-value"), rows, self.remarks)


def _value(value: float) -> str:
    if np.isinf(value):
        return "infinite"
    return "-" if value != value else f"{value:.4g}"


def p_text(value: float, *, sign: bool = True) -> str:
    """Return a P-value with its sign, as "= 0.027" or "< 1e-300"."""
    if value != value:
        return "-"
    if value < SMALLEST_P:
        return f"< {SMALLEST_P:g}"
    return f"= {value:.3g}" if sign else f"{value:.3g}"


@public
def calibration_tests(
    y_true: Any,
    y_prob: Any,
    *,
    groups: int = 10,
    fitted: bool = False,
    target: str | None = None,
    classes: Classes = None,
    logits: bool = False,
) -> CalibrationTests:
    r"""Compute Spiegelhalter's and Hosmer and Lemeshow's tests of exact calibration.

    Parameters
    ----------
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
    >>> rows = simulate(500, population="flat", curve="shift", strength=0.3, rng=1)
    >>> tests = bc.clinical.calibration_tests(rows.outcome, rows.confidence)
    >>> round(tests.z, 2), round(tests.p_spiegelhalter, 2)
    (0.33, 0.74)
    >>> round(tests.hosmer_lemeshow.chi_squared, 1), tests.hosmer_lemeshow.df, round(tests.p_hosmer_lemeshow, 3)
    (26.4, 10, 0.003)
    """
    groups = _checks.whole_number("groups", groups, 3 if fitted else 2)
    rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits).checked()
    _checks.not_empty("y_true", len(rows), hint="")
    score, outcome = rows.confidence.astype(np.float64), rows.outcome.astype(np.float64)
    if groups > len(score):
        raise ValueError(f"`groups` must be at most the number of rows, {len(score)}, not {groups}.")
    z = spiegelhalter_z(score, outcome)
    test = hosmer_lemeshow_of(score, outcome, groups, fitted=bool(fitted))
    return CalibrationTests(
        z=z,
        p_spiegelhalter=float(2 * ndtr(-abs(z))),
        hosmer_lemeshow=test,
        p_hosmer_lemeshow=float(gammaincc(test.df / 2, test.chi_squared / 2)),
        question=f"{rows.target} tests of exact calibration, N = {len(score)}",
        contradicted=np.flatnonzero(np.abs(outcome - score) == 1),
        of_rows=remarks_on(rows),
    )
