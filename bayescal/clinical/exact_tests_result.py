"""CalibrationTests: Spiegelhalter's Z and the chi-squared statistic of Hosmer and Lemeshow."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _presented, _render
from bayescal._meant import public
from bayescal.clinical.exact_test_statistics import HosmerLemeshow
from bayescal.results.wording import SMALLEST_P

#: Smallest expected number in a group for which the chi-squared distribution is said to be accurate.
ACCURATE = 5


@public
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTests(_presented.Presented):
    """Tests of exact calibration; made by `calibration_tests`, which says what they cannot answer.

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
    contradicted: NDArray[np.int64]
    of_rows: tuple[str, ...] = ()

    _index = ("statistic",)
    _columns = ("value", "df", "p_value")

    def table(self) -> list[dict[str, Any]]:
        """Return the statistics as data: one dict each, with keys statistic, value, df and p_value."""
        found = self.hosmer_lemeshow
        return [
            {"statistic": "spiegelhalter_z", "value": self.z, "df": None, "p_value": self.p_spiegelhalter},
            {
                "statistic": "hosmer_lemeshow",
                "value": found.chi_squared,
                "df": found.df,
                "p_value": self.p_hosmer_lemeshow,
            },
        ]

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(**options)

    def sentence(self) -> str:
        """Both statistics in words."""
        found = self.hosmer_lemeshow
        z = "not defined" if self.z != self.z else f"{self.z:.2f} (P {_p(self.p_spiegelhalter)})"
        return (
            f"Spiegelhalter's Z is {z}. The Hosmer-Lemeshow statistic is {_value(found.chi_squared)} with {found.df} "
            f"degrees of freedom (P {_p(self.p_hosmer_lemeshow)})."
        )

    @property
    def spec(self) -> str:
        """Question, rows and groups, on one line."""
        return f"{self.question}, {len(self.hosmer_lemeshow.n)} groups"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Questions that the statistics cannot answer, and warnings."""
        found, groups = self.hosmer_lemeshow, len(self.hosmer_lemeshow.n)
        texts = [
            *self.of_rows,
            "Both test exact calibration. A P-value does not state how large the errors are: with many rows small "
            "errors give small P-values, and with few rows large errors give large ones. `calibration_curve` estimates "
            "the errors.",
        ]
        if self.z != self.z:
            texts.append("All scores are 0, 0.5 or 1, for which the standard deviation of Spiegelhalter's Z is 0.")
        if found.divided:
            texts.append(
                f"Equal scores lie on both sides of {found.divided} of {groups - 1} boundaries between groups, so that "
                "the Hosmer-Lemeshow statistic depends on the order of the rows."
            )
        if np.isinf(found.chi_squared):
            texts.append(
                f"The Hosmer-Lemeshow statistic is infinite: outcomes contradict the score of {len(self.contradicted)} "
                f"of {found.n.sum()} rows (score 0 with outcome 1, or score 1 with outcome 0), first at index "
                f"{self.contradicted[0]}, and a group has scores that are all 0 or all 1."
            )
        least = float(np.minimum(found.expected, found.n - found.expected).min())
        if least < ACCURATE:
            texts.append(
                f"The smallest expected number in a group is {least:.2g}; the chi-squared distribution of the "
                f"Hosmer-Lemeshow statistic is accurate for numbers of about {ACCURATE} and more."
            )
        return tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        found = self.hosmer_lemeshow
        rows = [
            ["Spiegelhalter's Z", _value(self.z), "-", _p(self.p_spiegelhalter, sign=False)],
            [
                "Hosmer-Lemeshow chi-squared",
                _value(found.chi_squared),
                str(found.df),
                _p(self.p_hosmer_lemeshow, sign=False),
            ],
        ]
        return _render.Sheet(self.sentence(), self.spec, ("", "value", "df", "P-value"), rows, self.remarks)


def _value(value: float) -> str:
    if np.isinf(value):
        return "infinite"
    return "-" if value != value else f"{value:.4g}"


def _p(value: float, *, sign: bool = True) -> str:
    """Return a P-value with its sign, as "= 0.027" or "< 1e-300"."""
    if value != value:
        return "-"
    if value < SMALLEST_P:
        return f"< {SMALLEST_P:g}"
    return f"= {value:.3g}" if sign else f"{value:.3g}"
