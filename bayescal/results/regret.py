"""WorstRegret: the regret at all thresholds, and the largest one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.draws import Draws
from bayescal.estimands.regret import FEWEST_ROWS_PER_SIDE, rows_per_side
from bayescal.results import wording
from bayescal.stats.contract import Counts

FEW_ROWS = 500  #: With fewer (effective) rows, intervals of the largest regret are too low if one bin is far off.
FEW_THRESHOLDS = 10  #: Fewer thresholds are named in a remark.
HEADER = ("threshold", "regret", "2.5 %", "97.5 %", "observed", "P(largest)")


@public
@dataclass(frozen=True, eq=False, repr=False)
class WorstRegret(_presented.Presented):
    """The regret at each threshold, and the largest one; returned by `Evaluation.worst_regret`.

    Parameters
    ----------
    largest : Draws
        Draws of the largest regret, shape (n_draws,); see `bayescal.estimands.largest_regret`.
    thresholds : ndarray, shape (n_thresholds,)
        The inner edges of the bins.
    regret : Draws
        Draws of the regret at each threshold, shape (n_draws, n_thresholds); ``regret.band(0.95)`` is the simultaneous
        band of the curve.
    observed : ndarray, shape (n_thresholds,)
        Regret of the observed shares and accuracies of the bins; NaN without rows.
    question : str
        Thresholds, bins, rows and model, in words.
    remarks : tuple of str
        Warnings about thresholds and the interval, which are printed below the table; empty if none is known.
    """

    largest: Draws
    thresholds: Floats
    regret: Draws
    observed: Floats
    question: str
    remarks: tuple[str, ...] = ()

    _index = ("threshold",)
    _quantity_name = "regret"

    @property
    def p_largest(self) -> Floats:
        """Probability of each threshold to have the largest regret, shape (n_thresholds,); ties share it.

        They add up to less than 1 by the probability that no threshold has a regret.
        """
        values = self.regret.values
        top = (values == values.max(axis=1, keepdims=True)) & (values > 0)
        share = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
        return np.asarray(share.mean(axis=0))

    @property
    def threshold(self) -> float:
        """The threshold with the largest mean regret."""
        return float(self.thresholds[int(self.regret.values.mean(axis=0).argmax())])

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per threshold.

        Returns
        -------
        list of dict
            Keys threshold, mean, sd, low, high (pointwise), observed and p_largest.
        """
        low, high = self.regret.interval(_checks.fraction("prob", prob))
        columns = {"threshold": self.thresholds, "mean": self.regret.mean(), "sd": self.regret.sd(), "low": low}
        columns |= {"high": high, "observed": self.observed, "p_largest": self.p_largest}
        rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def sentence(self, prob: float = 0.95) -> str:
        """Return the largest regret with its interval, and the threshold with the largest mean, in words."""
        p = float(self.p_largest[self.thresholds == self.threshold][0])
        largest, worst = wording.mean_and_interval(self.largest, prob), _render.probability(p)
        number, origin = len(self.thresholds), f" {wording.OF_PRIOR}" if np.isnan(self.observed).all() else ""
        return (
            f"The largest regret of {number} threshold{'s' * (number > 1)} is {largest} per row{origin}; the mean is "
            f"largest at {self.threshold:g}, which is the worst threshold with P {worst}."
        )

    @property
    def spec(self) -> str:
        """Question and largest regret, on one line."""
        return f"{self.question}: {wording.with_interval(self.largest, wording.decimals(self.largest))}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence and the table that printing shows, as data."""
        d = wording.decimals(self.largest)
        rows = [
            [
                f"{row['threshold']:.4g}",
                *(_render.number(row[name], d) for name in ("mean", "low", "high", "observed")),
                _render.number(row["p_largest"], 2),
            ]
            for row in self.table()
        ]
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, self.remarks, [KEY])


def remarks_on(counts: Counts) -> tuple[str, ...]:
    """Return remarks on few thresholds, on those with few rows on a side, and on few rows."""
    few_on_a_side = rows_per_side(counts).min(axis=0) < FEWEST_ROWS_PER_SIDE
    number, few = len(few_on_a_side), int(few_on_a_side.sum())
    texts = []
    if number < FEW_THRESHOLDS:
        texts.append(
            f"The regret was computed at {number} threshold{'s' * (number > 1)} only, and may be larger at others. For "
            "these, evaluate with more bins, as in `bins=20`, or with them as edges, as in `bins=[0, 0.1, 0.2, 1]`."
        )
    if few and counts.n_rows:
        texts.append(text_of("thresholds with few rows on a side", few=few, number=number, fewest=FEWEST_ROWS_PER_SIDE))
    if 0 < counts.effective_rows < FEW_ROWS:
        texts.append(
            f"With fewer than {FEW_ROWS} rows, the interval of the largest regret is often too low if one bin is far "
            "off and the others are not."
        )
    return tuple(texts)


#: Meaning of the columns of the table.
KEY = text_of("columns of regret")
