"""ModelSensitivity: one estimand of the same rows under several models and priors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _checks, _render
from bayescal._meant import public
from bayescal.posterior.contract import HasHypotheses
from bayescal.results import wording
from bayescal.results.choices import Choices

if TYPE_CHECKING:
    import arviz as az

#: Names of the model and of its prior.
type Choice = tuple[str, str]
#: Name of the prior with the default options of the model.
DEFAULT = "default"
HEADER = (*wording.HEADER[:5], "log marginal", "LOO", "LOO difference", "P(cal.)")
#: Decimals of sums of log probabilities.
LOG_DECIMALS = 1


@public
@dataclass(frozen=True, eq=False, repr=False)
class ModelSensitivity(Choices[Choice, Any]):
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
    >>> import bayescal as bc
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
            rows.append(
                {
                    "model": model,
                    "prior": prior,
                    "mean": draws.mean(),
                    "sd": draws.sd(),
                    "low": low,
                    "high": high,
                    "log_marginal": posterior.log_marginal_likelihood,
                    "elpd_loo": loo.elpd,
                    "se_loo": loo.se,
                    "p_loo": loo.p,
                    "elpd_difference": difference,
                    "se_difference": error,
                    "prior_odds": posterior.prior_odds if tested else float("nan"),
                    "p_calibrated": posterior.p_calibrated if tested else float("nan"),
                }
            )
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
        words = self.estimand.words(self._first.counts.target)
        repeated = len(rows) - len(distinct)
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
        lower, error = (
            _render.number(value, LOG_DECIMALS) for value in (-worst["elpd_difference"], worst["se_difference"])
        )
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
            logs = [_render.number(row[name], LOG_DECIMALS) for name in ("log_marginal", "elpd_loo")]
            p = row["p_calibrated"]
            shown = _render.number(p) if np.isnan(p) else _render.probability(p).removeprefix("= ")
            difference, error = (
                _render.number(row[name], LOG_DECIMALS) for name in ("elpd_difference", "se_difference")
            )
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

    def __repr__(self) -> str:
        return f"ModelSensitivity({self.sentence()})"


def _name(choice: Choice) -> str:
    return ", ".join(choice)
