"""Clinical results of imputed predictions: intercept and slope, calibration curve, evaluation and summary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from bayescal._arrays import Floats
from bayescal.clinical.curve.result import ERRORS, CalibrationCurve
from bayescal.clinical.result import ClinicalSummary, ModelParts
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.clinical.slope.result import QUANTITIES, Recalibration
from bayescal.clinical.words import words_of
from bayescal.decisions.result import mixed_net_benefit
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.evaluation import Evaluation
from bayescal.results.imputed import POSITIVE, SHARE, UNBOUNDED, Bounds, Imputed, averaged, excess, fields_of, joined


@dataclass(frozen=True, eq=False)
class MixedLines(RecalibrationPosterior):
    """Mixture of the posteriors of intercept and slope of all imputations; other fields are those of the first."""

    parts: tuple[RecalibrationPosterior, ...] = ()

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of the mean Bayes factor: the density of the mixture at (0, 1), divided by that of the prior."""
        return float(logsumexp([each.log_bayes_factor for each in self.parts]) - np.log(len(self.parts)))

    def moments(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation of the intercept or of the slope."""
        mean, sd = np.array([each.moments(name) for each in self.parts]).T
        spread = 1 + excess(mean, np.mean(sd**2))
        return float(mean.mean()), float(np.sqrt((sd**2).mean() + spread**2 * mean.var()))

    @cached_property
    def _slope_cdf(self) -> tuple[Floats, Floats]:
        return self._mixed_cdf("slope", [each._slope_cdf for each in self.parts])

    @cached_property
    def _intercept_cdf(self) -> tuple[Floats, Floats]:
        return self._mixed_cdf("intercept", [each._intercept_cdf for each in self.parts])

    def _mixed_cdf(self, name: str, parts: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Average the distribution functions, moved apart as draws are."""
        mean, sd = np.array([each.moments(name) for each in self.parts]).T
        moved = excess(mean, np.mean(sd**2)) * (mean - mean.mean())
        parts = [(nodes + move, cdf / cdf[-1]) for (nodes, cdf), move in zip(parts, moved, strict=True)]
        nodes = np.unique(np.concatenate([each for each, _ in parts]))
        return nodes, np.mean([np.interp(nodes, each, cdf, 0.0, 1.0) for each, cdf in parts], axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class ImputedRecalibration(Imputed[Recalibration], Recalibration):
    """Intercept and slope of imputed predictions or outcomes; intervals of both are exact."""

    imputations: tuple[Recalibration, ...] = ()

    _joins: ClassVar[Mapping[str, Bounds]] = {"_shifts": UNBOUNDED, "observed_expected": POSITIVE}

    def _words_of(self, row: dict[str, Any]) -> str:
        return QUANTITIES[row["quantity"]][0]


def mixed_recalibration(results: Sequence[Recalibration]) -> ImputedRecalibration:
    """Mix the results of all imputations."""
    posterior = MixedLines(**fields_of(results[0].posterior), parts=tuple(each.posterior for each in results))
    return ImputedRecalibration.of(results, posterior=posterior, drawn=joined([each.drawn for each in results]))


@dataclass(frozen=True, eq=False, repr=False)
class ImputedCurve(Imputed[CalibrationCurve], CalibrationCurve):
    """A calibration curve of imputed predictions or outcomes, at scores between those of the knots of all."""

    imputations: tuple[CalibrationCurve, ...] = ()

    _joins: ClassVar[Mapping[str, Bounds]] = dict.fromkeys(ERRORS, SHARE)
    _calls: ClassVar[Mapping[str, Bounds | None]] = {"rates": SHARE}
    _means = ("p_calibrated", "bayes_factor", "probabilities", "_families")

    @cached_property
    def score(self) -> Floats:
        """Quantiles of the knots of all imputations, within the range of scores that all have."""
        knots = np.clip(np.concatenate([each.score for each in self.imputations]), *self.span)
        number = len(self.imputations[0].score)
        return np.unique(np.quantile(knots, (np.arange(number) + 0.5) / number))

    @cached_property
    def curve(self) -> Draws:
        """Draws of the event rate at `score`."""
        return self.rates(self.score)

    def _words_of(self, row: dict[str, Any]) -> str:
        return ERRORS[row["quantity"]][0]


def mixed_curve(results: Sequence[CalibrationCurve]) -> ImputedCurve:
    """Mix the curves of all imputations."""
    span = max(each.span[0] for each in results), min(each.span[1] for each in results)
    return ImputedCurve.of(results, span=span, distribution=averaged([each.distribution for each in results]))


@dataclass(frozen=True, eq=False, repr=False)
class ImputedEvaluation(Imputed[Evaluation], Evaluation):
    """AUC, Brier score and ECE of imputed predictions or outcomes; reliability diagrams are those of the first set."""

    imputations: tuple[Evaluation, ...] = ()

    _joins: ClassVar[Mapping[str, Bounds]] = dict.fromkeys(("null", "dirichlet_ece"), SHARE)
    _calls: ClassVar[Mapping[str, Bounds | None]] = {
        "draws": None,
        **dict.fromkeys(("lp_error", "regret", "selective_risk", "largest_share"), SHARE),
    }
    _means = ("p_calibrated", "bayes_factor", "sub_models")
    _without = ("worst_regret", "loo", "sensitivity", "under_prior", "to_datatree", "parameters")

    def _available(self, record: Estimand) -> bool:
        return all(each._available(record) for each in self.imputations)

    def plug_in_of(self, estimand: EstimandLike) -> float:
        """Mean plug-in value of any estimand over the imputations."""
        return float(np.mean([each.plug_in_of(estimand) for each in self.imputations]))

    def table(self, prob: float = 0.95, *, estimands: Iterable[EstimandLike] | None = None) -> list[dict[str, Any]]:
        """Return the numbers as data: those of `Evaluation.table`, and missing_information."""
        options: dict[str, Any] = {"estimands": self._chosen(estimands)}
        return self._of_sets(Evaluation.table(self, prob, **options), [e.table(**options) for e in self.imputations])

    def _notes(self) -> list[str]:
        return []

    def _words_of(self, row: dict[str, Any]) -> str:
        return as_estimand(row["quantity"]).symbol


@dataclass(frozen=True)
class ImputedParts(ModelParts):
    """The results of one model in all imputations."""

    mean_risk: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class ImputedSummary(Imputed[ClinicalSummary], ClinicalSummary):
    """Summary of imputed predictions or outcomes; the number of events is the mean, rounded."""

    imputations: tuple[ClinicalSummary, ...] = ()

    def _words_of(self, row: dict[str, Any]) -> str:
        several = f"{row['model']}: " if len(self.parts) > 1 else ""
        return several + words_of(row).partition(" (")[0]


def mixed_summary(results: Sequence[ClinicalSummary]) -> ImputedSummary:
    """Mix the parts of the summaries of all imputations."""
    benefits, parts = [each.net_benefit for each in results if each.net_benefit], {}
    for name in results[0].parts:
        of_model = [each.parts[name] for each in results]
        parts[name] = ImputedParts(
            ImputedEvaluation.of([each.evaluation for each in of_model]),
            mixed_recalibration([each.recalibration for each in of_model]),
            mixed_curve([each.calibration_curve for each in of_model]),
            averaged([each.mean_risk for each in of_model]),
        )
    return ImputedSummary.of(
        results,
        parts=parts,
        net_benefit=mixed_net_benefit(benefits) if benefits else None,
        decision_curve=mixed_net_benefit([each.decision_curve for each in results]),
        n_events=round(averaged([each.n_events for each in results])),
        event_rate=averaged([each.event_rate for each in results]),
    )
