"""BinSensitivity: one estimand for several choices of bins."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.results import wording
from bayescal.results.choices import Choices
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import of_several

#: How the edges are chosen, and the number of bins that was asked for.
type Choice = tuple[str, int]
#: A bin of merged fine bins may exceed an equal share by this factor before a remark says so.
UNEQUAL_BIN = 1.1


@public
@dataclass(frozen=True, eq=False, repr=False)
class BinSensitivity(Choices[Choice, Evaluation]):
    """One estimand of the same rows for several choices of bins.

    Made by `bin_sensitivity`; printing it shows the sentence and one line per choice.

    Parameters
    ----------
    evaluations : mapping of (str, int) to Evaluation
        The evaluation of each choice, by how the edges are chosen and the number of bins.
    estimand : Estimand
        What is compared.
    fine : str
        The fine bins that were counted, in words.
    merged : mapping of (str, int) to float
        For equal-mass and equal-effective-mass bins merged from fine bins: rows or effective rows of the largest bin,
        as a multiple of an equal share. Empty if the edges are those of the rows.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> result = bc.bin_sensitivity(rows.outcome, rows.confidence, n_bins=(5, 50), binning="equal-width", rng=1)
    >>> [round(row["plug_in"], 3) for row in result.table()]
    [0.021, 0.053]
    >>> result["equal-width", 5].question
    'event ECE, 5 equal-width bins [a, b), N = 2000, shrinkage model'
    """

    fine: str
    merged: Mapping[Choice, float]

    _index = ("binning", "n_bins")
    _several, _the_choice, _one = "choices of bins", "the choice of bins", "choice"

    @cached_property
    def average(self) -> Draws:
        r"""Draws of the average over the choices of bins: the mixture of their posteriors, in equal parts.

        Every draw has a choice of bins of its own. The mean of these draws is the mean of the posterior means. Their
        interval is at least about as wide as those of the single choices, and it contains the mean
        :math:`\frac1J \sum_j E_j` of the true values :math:`E_j` of the choices as often as it should in simulations.
        This mean is another quantity than each :math:`E_j`, and depends on the choices that are averaged.

        The joint posterior of the :math:`E_j` is not known, so the mean is not drawn. If draws of the choices are
        averaged with equal ranks, the interval excludes 0 for many calibrated classifiers, since one choice whose
        interval excludes 0 is enough.
        """
        return Draws(np.concatenate([each.values for each in self._draws_by_choice.values()]), "average over bins")

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per choice.

        Keys are binning, n_bins (the number asked for), bins (the number of bins, which ties may reduce), mean, sd,
        low, high, plug_in, null_mean (mean of the plug-in value if the classifier were calibrated).
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for (binning, number), evaluation in self.evaluations.items():
            row = evaluation.row(self.estimand, prob)
            row.pop("quantity")
            rows.append({"binning": binning, "n_bins": number, "bins": len(evaluation.counts.bins), **row})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """Return the ranges of posterior means and plug-in values, and the mean width of an interval, in words."""
        rows = self.table(prob)
        text = self._range(rows, prob)
        d = _render.decimals(float(np.mean([row["high"] - row["low"] for row in rows])))
        plug_in = [row["plug_in"] for row in rows]
        if not np.isfinite(plug_in).all():
            return text.strip()
        low, high = (_render.number(value, d) for value in (min(plug_in), max(plug_in)))
        return f"{text} The plug-in estimate lies between {low} and {high}."

    @property
    def spec(self) -> str:
        """Estimand, choices, rows, model and fine bins, on one line."""
        first = self._first
        numbers: dict[str, list[str]] = {}
        for binning, number in self.evaluations:
            numbers.setdefault(binning, []).append(str(number))
        choices = "; ".join(f"{', '.join(each)} {binning} bins" for binning, each in numbers.items())
        ends = wording.question("", [first.counts], first.model, first.posterior.prior).split(", N = ", 1)[1]
        return f"{self.estimand.of_target(first.counts.target)}, {choices}, N = {ends}; merged from {self.fine}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The average over the choices, how the bins were merged, and remarks on single choices."""
        d = wording.decimals(self._draws_by_choice[next(iter(self))])
        texts = [f"Average over the choices (mixture of their posteriors): {wording.with_interval(self.average, d)}."]
        for how in dict.fromkeys(how for how, _ in self.merged):
            worst = max(share for (each, _), share in self.merged.items() if each == how)
            numbers = "effective numbers" if how == "equal-effective-mass" else "numbers"
            texts.append(
                f"{how.capitalize()} bins are unions of the counted bins, so their {numbers} of rows differ: the "
                f"largest bin has {worst:.2f} times an equal share."
                + (" Count on finer bins for a smaller difference." if worst > UNEQUAL_BIN else "")
            )
        fewer = [self._in_words(row) for row in self.table() if row["bins"] < row["n_bins"]]
        if fewer:
            texts.append(f"Rows with equal confidences leave fewer bins than asked for: {', '.join(fewer)}.")
        names = {f"{number} {binning} bins": each.remarks for (binning, number), each in self.evaluations.items()}
        return (*texts, *of_several(names))

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        d = max(wording.decimals(each) for each in self._draws_by_choice.values())
        columns = ("mean", "sd", "low", "high", "plug_in", "null_mean")
        rows = [[self._in_words(row), *(_render.number(row[name], d) for name in columns)] for row in self.table()]
        return _render.Sheet(self.sentence(), self.spec, wording.HEADER, rows, self.remarks, question=self.spec)

    def _in_words(self, row: Mapping[str, Any]) -> str:
        return f"{row['n_bins']} {row['binning']} bins"

    def __repr__(self) -> str:
        return f"BinSensitivity({self.sentence()})"
