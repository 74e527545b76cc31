"""Classical point estimates and tests of calibration, for comparison with posteriors: curves, Z and chi-squared."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _presented, _render
from bayescal._meant import public
from bayescal.estimands.calibration_tests import HosmerLemeshow
from bayescal.estimands.classical_curves import errors_of
from bayescal.results.wording import SMALLEST_P

Floats = NDArray[np.float64]

#: Curves in words.
NAMES = {
    "lowess": "lowess",
    "loess": "loess",
    "logistic": "logistic, on logit p",
    "logistic_probability": "logistic, on p",
    "spline_3": "restricted cubic spline, 3 knots",
    "spline_4": "restricted cubic spline, 4 knots",
}
#: Errors and their symbols.
SYMBOLS = {"ici": "ICI", "e50": "E50", "e90": "E90", "emax": "Emax"}
#: The curves that need logits of the scores.
OF_LOGITS = ("logistic", "spline_3", "spline_4")
#: Smallest expected number in a group for which the chi-squared distribution is said to be accurate.
ACCURATE = 5


@public
@dataclass(frozen=True, eq=False, repr=False)
class ClassicalCurves(_presented.Presented):
    """Calibration curves of the literature, fitted to rows, and their errors; made by `classical_calibration_curves`.

    Parameters
    ----------
    score : ndarray, shape (n_rows,)
        Scores of the rows.
    fitted : mapping of str to ndarray of shape (n_rows,)
        Event rates of each curve at the rows; NaN if a curve does not exist.
    question : str
        Target and rows, in words.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.
    """

    score: Floats
    fitted: Mapping[str, Floats]
    question: str
    of_rows: tuple[str, ...] = ()

    _index = ("curve",)
    _columns = tuple(SYMBOLS)

    @cached_property
    def errors(self) -> dict[str, dict[str, float]]:
        """Values of ici, e50, e90 and emax by curve; NaN if a curve does not exist."""
        return {key: errors_of(each, self.score) for key, each in self.fitted.items()}

    def table(self) -> list[dict[str, Any]]:
        """Return the errors as data: one dict per curve, with keys curve, ici, e50, e90 and emax."""
        return [{"curve": key, **each} for key, each in self.errors.items()]

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(**options)

    def sentence(self) -> str:
        """The range of the ICI over the curves, in words."""
        values = [each["ici"] for each in self.errors.values() if each["ici"] == each["ici"]]
        if not values:
            return "No classical calibration curve exists for these rows."
        low, high = (_render.number(value, 3) for value in (min(values), max(values)))
        found = f"{low} by every curve" if low == high else f"{low} to {high}, depending on the curve"
        return (
            f"The plug-in integrated calibration index is {found}. These are point estimates, which noise makes too "
            "large; `calibration_curve` has intervals."
        )

    @property
    def spec(self) -> str:
        """Question and rows, on one line."""
        return self.question

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why curves do not exist."""
        missing = [key for key, each in self.errors.items() if each["ici"] != each["ici"]]
        certain = int(np.count_nonzero((self.score <= 0) | (self.score >= 1)))
        texts = []
        if certain and any(key in OF_LOGITS for key in missing):
            texts.append(
                f"{certain} rows have score 0 or 1, whose logit is infinite, so that curves on the logit do not exist."
            )
            missing = [key for key in missing if key not in OF_LOGITS]
        if missing:
            texts.append(
                f"Not defined for these rows: {', '.join(NAMES[key] for key in missing)}. Too few scores are distinct, "
                "or scores separate the outcomes."
            )
        return (*self.of_rows, *texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = [
            [NAMES[row["curve"]], *(_render.number(row[name]) for name in SYMBOLS)]
            for row in self.table()
        ]  # fmt: skip
        return _render.Sheet(self.sentence(), self.spec, ("", *SYMBOLS.values()), rows, self.remarks)


@public
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTests(_presented.Presented):
    """Classical tests of exact calibration; made by `calibration_tests`, which says what they cannot answer.

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
