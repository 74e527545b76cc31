"""One estimand of the same rows, evaluated in several ways: choices of bins, and models and priors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import az
from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand
from bayescal.posterior.contract import HasHypotheses
from bayescal.results import wording
from bayescal.results.remarks import of_several


@dataclass(frozen=True, eq=False, repr=False)
class Choices[K, E](_presented.Presented):
    """Evaluations of the same rows by choice, such as the bins or the model, and the estimand that is compared."""

    evaluations: Mapping[K, E]
    estimand: Estimand

    #: The choices and one of them in words, as in "for 6 choices of bins", "the choice of bins" and "given one choice".
    _several: ClassVar[str]
    _the_choice: ClassVar[str]
    _one: ClassVar[str]

    def _measured_by(self, **options: Any) -> str:
        return self.estimand.name

    def __getitem__(self, choice: K) -> E:
        """Return the evaluation of a choice."""
        if choice not in self.evaluations:
            raise KeyError(f"no choice {choice!r} among {list(self.evaluations)!r}.")
        return self.evaluations[choice]

    def __iter__(self) -> Iterator[K]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def _in_words(self, row: Mapping[str, Any]) -> str:
        """Return the choice of a row of the table in words."""
        raise NotImplementedError

    def sentence(self, prob: float = 0.95) -> str:
        """Return the range of the estimates in words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sentence()})"

    def _range(self, rows: list[dict[str, Any]], prob: float) -> str:
        """Return the range of posterior means in words, and how it compares with the mean width of the intervals."""
        width = float(np.mean([row["high"] - row["low"] for row in rows]))
        least, most = (choose(rows, key=lambda row: row["mean"]) for choose in (min, max))
        d, words = _render.decimals(width), self.estimand.words(self._first.counts.target)
        spread = most["mean"] - least["mean"]
        text = (
            f"For {len(rows)} {self._several}, the posterior mean of the {words} lies between "
            f"{_render.number(least['mean'], d)} ({self._in_words(least)}) and {_render.number(most['mean'], d)} "
            f"({self._in_words(most)}). "
        )
        if width > 0:
            verdict, ratio = "less" if spread < width else "more", spread / width
            times = f"{ratio:.1f}" if ratio >= 0.095 else f"{ratio:.2f}"
            text += (
                f"This range is {times} times the mean width of the {100 * prob:g} % intervals "
                f"({_render.number(width, d)}): {self._the_choice} matters {verdict} than the uncertainty given one "
                f"{self._one}."
            )
        return text

    @property
    def _first(self) -> Any:
        return next(iter(self.evaluations.values()))

    @cached_property
    def _draws_by_choice(self) -> dict[K, Draws]:
        evaluations: Mapping[K, Any] = self.evaluations
        return {choice: each.draws(self.estimand) for choice, each in evaluations.items()}


type BinChoice = tuple[str, int]  #: How the edges are chosen, and the number of bins that was asked for.
UNEQUAL_BIN = 1.1  #: A bin of merged fine bins may exceed an equal share by this factor before a remark says so.


@public
@dataclass(frozen=True, eq=False, repr=False)
class BinSensitivity(Choices[BinChoice, Any]):
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
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> result = bc.bin_sensitivity(rows.outcome, rows.confidence, n_bins=(5, 50), binning="equal-width", rng=1)
    >>> [round(row["plug_in"], 3) for row in result.table()]
    [0.021, 0.053]
    >>> result["equal-width", 5].question
    'event ECE, 5 equal-width bins [a, b), N = 2000, shrinkage model'
    """

    fine: str
    merged: Mapping[BinChoice, float]

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


type ModelChoice = tuple[str, str]  #: Names of the model and of its prior.
DEFAULT = "default"  #: Name of the prior with the default options of the model.
HEADER = (*wording.HEADER[:5], "log marginal", "LOO", "LOO difference", "P(cal.)")
LOG_DECIMALS = 1  #: Decimals of sums of log probabilities.


@public
@dataclass(frozen=True, eq=False, repr=False)
class ModelSensitivity(Choices[ModelChoice, Any]):
    """One estimand of the same rows under several models and priors.

    Made by `Evaluation.sensitivity`; printing it shows the sentence and one line per model and prior.

    Parameters
    ----------
    evaluations : mapping of (str, str) to Evaluation
        The evaluation under each choice, by the names of the model and of the prior.
    estimand : Estimand
        What is compared.

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    >>> result = ev.sensitivity(models="dirichlet")
    >>> list(result)
    [('shrinkage', 'default'), ('dirichlet', 'two-rows'), ('dirichlet', 'perks'), ('dirichlet', 'jeffreys'), ...]
    >>> round(result["dirichlet", "uniform"].ece.mean(), 2)
    0.22
    """

    _index = ("model", "prior")
    _several, _the_choice, _one = "combinations of model and prior", "the choice of model and prior", "model"

    def loo(self) -> "dict[str, az.ELPDData]":
        """Leave-one-out cross-validation of every choice by its name, as `arviz.compare` takes it."""
        return {_name(choice): each.loo() for choice, each in self.evaluations.items()}

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per model and prior.

        Keys are model, prior, mean, sd, low, high; log_marginal (log marginal likelihood of the outcomes, given the
        bins); elpd_loo, se_loo and p_loo, from `Evaluation.loo`; elpd_difference (minus that of the best choice) and
        se_difference; prior_odds of exact calibration and p_calibrated, NaN for the Dirichlet model.
        """
        prob = _checks.fraction("prob", prob)
        best = max((each._left_out for each in self.evaluations.values()), key=lambda each: each.elpd)
        rows = []
        for (model, prior), evaluation in self.evaluations.items():
            posterior, loo = evaluation.posterior, evaluation._left_out
            draws = self._draws_by_choice[model, prior]
            low, high = draws.interval(prob)
            difference, error = loo.minus(best)
            tested = isinstance(posterior, HasHypotheses)
            row = {"model": model, "prior": prior, "mean": draws.mean(), "sd": draws.sd(), "low": low, "high": high}
            row |= {"log_marginal": posterior.log_marginal_likelihood, "elpd_loo": loo.elpd, "se_loo": loo.se}
            row |= {"p_loo": loo.p, "elpd_difference": difference, "se_difference": error}
            of_test = ("prior_odds", "p_calibrated")
            rows.append(row | {name: getattr(posterior, name) if tested else float("nan") for name in of_test})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """Return the range of posterior means, and which choices predict left-out outcomes best, in words.

        The range is that of choices with different posteriors of the estimand. Of the expected log predictive density
        (leave-one-out), the sentence names the choice with the largest, or says how many are within two standard errors
        of it, and the smallest.
        """
        rows = self.table(prob)
        draws = [each.values for each in self._draws_by_choice.values()]
        known = [any(np.array_equal(values, earlier) for earlier in draws[:i]) for i, values in enumerate(draws)]
        distinct = [row for row, same in zip(rows, known, strict=True) if not same]
        compared = distinct if len(distinct) > 1 else rows
        return " ".join(filter(None, (self._estimates(rows, distinct, prob), self._left_out(compared))))

    def _estimates(self, rows: list[dict[str, Any]], distinct: list[dict[str, Any]], prob: float) -> str:
        """Return the range of the estimates in words, of rows with different draws."""
        words, repeated = self.estimand.words(self._first.counts.target), len(rows) - len(distinct)
        if repeated and len(distinct) == 1:
            why = ": it is computed from the rows without the model" if "outcomes" in self.estimand.needs else ""
            return f"The posterior of the {words} is the same under all {len(rows)} {self._several}{why}."
        text = self._range(distinct, prob).rstrip()
        if repeated:
            has = "has" if repeated == 1 else "have"
            text += f" {repeated} more {has} the same posterior of the {words} as another."
        return text

    def _left_out(self, rows: list[dict[str, Any]]) -> str:
        """Return in words which choices predict left-out outcomes best; empty if all do equally."""
        best, worst = (choose(rows, key=lambda row: row["elpd_loo"]) for choose in (max, min))
        if best["elpd_loo"] == worst["elpd_loo"]:
            return ""
        near = [row for row in rows if -row["elpd_difference"] <= 2 * row["se_difference"]]
        lower, error = (_render.number(v, LOG_DECIMALS) for v in (-worst["elpd_difference"], worst["se_difference"]))
        which = f"largest under the {self._in_words(best)}"
        if len(near) > 1:
            share = f"{len(near)} of the {len(rows)}" if len(near) < len(rows) else f"all {len(rows)}"
            share = "both" if len(near) == len(rows) == 2 else share
            which = f"within two standard errors of the largest under {share} {self._several}"
        return (
            f"The expected log predictive density (leave-one-out) is {which}; under the {self._in_words(worst)}, it is "
            f"{lower} lower than the largest (standard error {error})."
        )

    @property
    def spec(self) -> str:
        """Estimand, bins, rows and models, on one line."""
        counts = self._first.counts
        several = f"{len(self)} {self._several}"
        return f"{self.estimand.of_target(counts.target)}, {counts.bins}, N = {counts.n_rows}, {several}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The plug-in value beside the estimates."""
        return tuple(self._first._beside()) if self.estimand.name == "ece" else ()

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        d = max(wording.decimals(each) for each in self._draws_by_choice.values())
        cells = []
        for row in self.table():
            numbers = [_render.number(row[name], d) for name in ("mean", "sd", "low", "high")]
            names = ("log_marginal", "elpd_loo", "elpd_difference", "se_difference")
            *logs, difference, error = (_render.number(row[name], LOG_DECIMALS) for name in names)
            p = row["p_calibrated"]
            shown = _render.number(p) if np.isnan(p) else _render.probability(p).removeprefix("= ")
            cells.append([_name((row["model"], row["prior"])), *numbers, *logs, f"{difference} ({error})", shown])
        notes = [
            "log marginal: log marginal likelihood of the outcomes, given the bins of the rows; under the shrinkage "
            "model that of the average over sub-models.",
            "LOO: sum over rows of the log probability of the outcome, given its bin and all other rows; LOO "
            "difference: from the best model and prior, with the standard error over rows in parentheses.",
            "P(cal.): probability of exact calibration at the prior odds of the row, which change no other column; "
            "the Dirichlet model has none.",
        ]
        return _render.Sheet(self.sentence(), self.spec, HEADER, cells, self.remarks, notes, question=self.spec)

    def _in_words(self, row: Mapping[str, Any]) -> str:
        model = row["model"]
        return f"{'Dirichlet' if model == 'dirichlet' else model} model, {row['prior']}"


def _name(choice: ModelChoice) -> str:
    return ", ".join(choice)
