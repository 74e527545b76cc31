"""Scores with their parts, which add up to the score: by bins (Murphy) and by isotonic regression (CORP)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from bayescal import _presented, _render
from bayescal._meant import public

#: Part -> its sign in the sum.
MURPHY = {"reliability": 1, "resolution": -1, "uncertainty": 1, "within_bin_variance": 1, "within_bin_covariance": -1}
CORP = {"miscalibration": 1, "discrimination": -1, "uncertainty": 1}


@dataclass(frozen=True, repr=False)
class _Decomposition(_presented.Presented):
    """A score and its parts; subclasses have one field per part and name the signs."""

    score: float
    score_name: str
    question: str
    of_rows: tuple[str, ...] = field(default=(), kw_only=True)

    _index = ("part",)
    _columns = ("sign", "value")

    _signs: ClassVar[dict[str, int]]
    _remark: ClassVar[str]

    @property
    def spec(self) -> str:
        """Score, method and rows, on one line."""
        return self.question

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.question}: {self._sum()})"

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        parts = [
            {"part": name, "sign": "+" if sign > 0 else "-", "value": getattr(self, name)}
            for name, sign in self._signs.items()
        ]
        return [*parts, {"part": self.score_name, "sign": "=", "value": self.score}]

    def sentence(self) -> str:
        """Return the score as the sum of its parts, with their signs, in words."""
        return f"The observed {self.score_name} is {self._sum()}."

    def _sum(self) -> str:
        first, *others = self._cells()[:-1]
        terms = "".join(f" {sign} {_words(name)} {value}" for name, sign, value in others)
        return f"{self._number(self.score)} = {_words(first[0])} {first[2]}{terms}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        rows = [[_words(name), sign, value] for name, sign, value in self._cells()]
        return _render.Sheet(self.sentence(), self.spec, ("part", "sign", "value"), rows, [*self.of_rows, self._remark])

    def _cells(self) -> list[list[str]]:
        return [[row["part"], row["sign"], self._number(row["value"])] for row in self._records(0.95)]

    def _number(self, value: float) -> str:
        return _render.number(value, _render.decimals(abs(self.score) / 100, 4))


def _words(name: str) -> str:
    return name.replace("_", " ").replace("within bin ", "within-bin ")


@public
@dataclass(frozen=True, repr=False)
class MurphyDecomposition(_Decomposition):
    r"""The Brier score of counts and its five parts by bins.

    Returned by `murphy_decomposition` and by ``brier_decomposition(method="murphy")``.

    Parameters
    ----------
    score : float
        The Brier score: reliability - resolution + uncertainty + within-bin variance - within-bin covariance.
    score_name : str
        Name of the score.
    question : str
        Score, method, bins and rows, in words.
    reliability : float
        Mean squared gap of the bins, :math:`\sum_b \frac{n_b}{N} (\bar c_b - \bar z_b)^2`; smaller is better.
    resolution : float
        Variance of the outcome shares of the bins, :math:`\sum_b \frac{n_b}{N} (\bar z_b - \bar z)^2`; larger is
        better.
    uncertainty : float
        Variance of the outcome, :math:`\bar z (1 - \bar z)`.
    within_bin_variance : float
        Mean variance of the confidences within bins.
    within_bin_covariance : float
        Twice the mean covariance of confidence and outcome within bins.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.

    Examples
    --------
    >>> parts = bc.scores.brier_decomposition([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], method="murphy", bins=2)
    >>> parts.sentence().partition(" + within-bin")[0]
    'The observed Brier score is 0.1250 = reliability 0.0400 - resolution 0.0625 + uncertainty 0.1875'
    >>> round(parts.within_bin_variance, 4), round(parts.within_bin_covariance, 4)
    (0.01, 0.05)
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float

    _signs = MURPHY
    _remark = (
        "Parts of the observed score. Sampling noise increases reliability and resolution, especially if bins have "
        "few rows; `evaluate` gives an interval for the reliability as `squared_l2_error`."
    )

    @property
    def generalized_resolution(self) -> float:
        """Resolution - within-bin variance + within-bin covariance, so that three parts add up to the score."""
        return self.resolution - self.within_bin_variance + self.within_bin_covariance


@public
@dataclass(frozen=True, repr=False)
class CorpDecomposition(_Decomposition):
    """A score and its three parts by isotonic regression.

    Returned by `brier_decomposition` and `bayescal.scores.log_decomposition`.

    Parameters
    ----------
    score : float
        The Brier score or the log score: miscalibration - discrimination + uncertainty.
    score_name, question, of_rows
        As for `MurphyDecomposition`.
    miscalibration : float
        Score minus the score after isotonic regression on the same rows; at least 0, smaller is better.
    discrimination : float
        Score of the constant forecast minus the score after isotonic regression; at least 0, larger is better.
    uncertainty : float
        Score of the constant forecast, whose probability is the observed share of outcome 1.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float

    _signs = CORP
    _remark = (
        "Parts of the observed score. Isotonic regression also fits noise, so miscalibration and discrimination "
        "are too large on average, especially with few rows."
    )
