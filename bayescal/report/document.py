"""Results as data for JSON documents."""

from collections.abc import Iterable, Mapping
from functools import singledispatch
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _presented, _render
from bayescal._version import __version__
from bayescal.clinical.curve.result import CalibrationCurve
from bayescal.clinical.result import ClinicalSummary
from bayescal.cumulative.base import Cumulative
from bayescal.cumulative.plot import cumulative_points
from bayescal.cumulative.posterior_result import CumulativePosterior
from bayescal.cumulative.result import CumulativeDifference
from bayescal.decisions.result import NetBenefit
from bayescal.decisions.thresholds import TREAT_ALL, TREAT_NONE
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.monitoring.change import Change
from bayescal.monitoring.confidence_sequence import ConfidenceSequence
from bayescal.monitoring.evidence import Evidence
from bayescal.planning.result import Plan
from bayescal.report.diagram import observed_accuracy, target_rows
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.score_comparison import ScoreComparison
from bayescal.results.wording import SMALL_ECE
from bayescal.survival.result import SurvivalEvaluation

#: Changes when a reader of the file would have to change.
SCHEMA, COMPARISON_SCHEMA = "bayescal.report/1", "bayescal.compare/2"
GROUPS_SCHEMA, CHANGE_SCHEMA, PLAN_SCHEMA = "bayescal.groups/1", "bayescal.change/1", "bayescal.plan/1"
#: Results that need nothing more than their table.
RESULT_SCHEMA = "bayescal.result/1"
#: Arguments with which a call can be repeated, by name.
type Parameters = Mapping[str, Any]
NO_PARAMETERS: Parameters = MappingProxyType({})
#: Probability of all intervals in documents and on the command line.
PROB = 0.95
#: Half-widths at which the probability of practical equivalence is saved, in addition to the rope of the comparison.
ROPES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


@singledispatch
def document(result: Any, parameters: Parameters = NO_PARAMETERS, **options: Any) -> dict[str, Any]:
    """Return a result as data for JSON, without dates or names of machines.

    Parameters
    ----------
    result : Evaluation, ClasswiseEvaluation, GroupedEvaluation, Comparison, Change, BinSensitivity, Plan or other
        The result.
    parameters : mapping, optional
        Arguments with which the call can be repeated, as those of the command line.
    **options
        ``estimand=`` of a `Comparison`, ``estimands=`` of an `Evaluation`.

    Returns
    -------
    dict
        Always schema, bayescal (version), spec, sentence and parameters; results with a table have remarks, and notes,
        which are those of `details`. An `Evaluation` and a `ClasswiseEvaluation`
        have question, interval, remarks, table, probability_below, ``seeds`` and ``bins``, a list of bins; with
        ``target="classwise"``, ``classes``, each with its ``bins``, replaces ``bins``. Evaluations of a target without
        labels also have class_frequencies or weight_report. The functions for the other results describe theirs.

    Raises
    ------
    TypeError
        If `result` is not a result of this package.
    """
    if not isinstance(result, _presented.Presented):
        raise TypeError(f"`result` must be a result of this package, as an Evaluation, not {type(result).__name__}.")
    return _with_table(result, parameters, **options)


@document.register
def _(
    result: Evaluation, parameters: Parameters = NO_PARAMETERS, *, estimands: Iterable[EstimandLike] | None = None
) -> dict[str, Any]:
    chosen = {} if estimands is None else {"table": result.table(PROB, estimands=estimands)}
    parts = {**_of_ece(result), **chosen, **result._more(PROB), **_bins_and_seeds(result)}
    return {**_with_intervals(SCHEMA, result, parameters), **parts}


@document.register
def _(result: ClasswiseEvaluation, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    classes = [{"label": label, **_bins_and_seeds(result[label])} for label in result]
    return {
        **_with_intervals(SCHEMA, result, parameters),
        **_of_ece(result),
        "classes": classes,
        "seeds": {"order": str(result.order_seed)},
    }


@document.register
def _(result: GroupedEvaluation, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``by``, the name of the column; ``overall`` and ``groups``, each with its table and its bins.

    Groups stand in the order in which they are printed, the one with the largest ECE first.

    ``pooling`` states how the groups borrow strength from each other, and ``heterogeneity`` the standard deviation of
    the ECE over the groups (null without partial pooling, or if only one group has rows). Each group has its label, the
    name under which it is printed, the probability that its error is the largest, and the seed that reproduces its
    evaluation.
    """
    largest = result.p_largest()
    names = dict(zip(result.groups, result.names, strict=True))
    groups = [
        {"label": label, "name": names[label], "p_largest": largest[label], "seed": str(result.seeds[label])}
        | _whole(result[label])
        for label in result.in_order()
    ]
    return {
        **_with_intervals(GROUPS_SCHEMA, result, parameters),
        "by": result.name,
        "pooling": result.pooling,
        "heterogeneity": _heterogeneity(result),
        "overall": _whole(result.overall),
        "groups": groups,
        "seeds": {"order": str(result.order_seed)},
    }


def _heterogeneity(result: GroupedEvaluation) -> dict[str, float] | None:
    if result.pooling != "partial" or result.n_with_rows < 2:
        return None
    drawn = result.heterogeneity()
    low, high = drawn.interval(PROB)
    return {"mean": float(drawn.mean()), "low": float(low), "high": float(high)}


@document.register
def _(result: Change, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``rope``, ``change`` (one record), and ``periods``, each with its span, its table and its bins."""
    periods = [
        {"period": name, "span": result.spans[name], **_whole(each)} for name, each in result.evaluations.items()
    ]
    return {
        **_with_intervals(CHANGE_SCHEMA, result, parameters),
        "rope": result.rope,
        "change": result.table(PROB)[0],
        "periods": periods,
        "seeds": {"order": str(result.order_seed)},
    }


@document.register
def _(result: Plan, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``goal``, ``assurance``, ``reachable``, ``rows`` with ``interval``, and the simulated ``table``."""
    return {
        **_head(PLAN_SCHEMA, result.sheet(), parameters),
        "goal": result.goal,
        "assurance": result.assurance,
        "reachable": result.reachable,
        "rows": result.rows,
        "interval": {"probability": PROB, "low": result.interval[0], "high": result.interval[1]},
        "table": result.curve(),
    }


@document.register
def _(
    comparison: Comparison, parameters: Parameters = NO_PARAMETERS, *, estimand: EstimandLike = "ece"
) -> dict[str, Any]:
    """Return also ``models``, ``estimand``, ``differences`` and ``classifiers``.

    ``models`` has one record per classifier with its ECE, Brier score, AUC and accuracy, as far as they exist.
    ``estimand`` has its name, its title and ``better``, which states which values are better ("smaller", "larger" or
    "nearest zero"). ``differences`` has one record per pair of classifiers, with the probability of practical
    equivalence at several half-widths; ``classifiers`` one record each, with the table and the bins of its own
    evaluation.
    """
    record, differences = as_estimand(estimand), comparison.table(PROB, estimand=estimand)
    ropes = sorted({*ROPES, comparison.rope})
    for row in differences:
        shares = comparison.rope_curve(ropes, row["first"], row["second"], estimand)
        row["p_within"] = [{"rope": rope, "probability": p} for rope, p in zip(ropes, shares, strict=True)]
    classifiers = comparison.each(PROB, estimand=estimand)
    for row in classifiers:
        evaluation = comparison[row[comparison.axis]]
        row |= {"question": evaluation.question, **_whole(evaluation)}
    return {
        **_with_intervals(COMPARISON_SCHEMA, comparison, parameters),
        "spec": comparison.specification(estimand=estimand),
        "sentence": comparison.sentence(PROB, estimand=estimand),
        "models": comparison._measures(PROB),
        "estimand": {"name": record.name, "title": record.title, "better": record.better},
        "differences": differences,
        "classifiers": classifiers,
        "seeds": {"order": str(comparison.order_seed)},
    }


@document.register
def _(result: Cumulative, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the worst interval of scores, the noise, and the interval of the Kuiper statistic.

    ``curve`` begins with the origin, which has no score; of more than 4000 points, it has the smallest and the largest
    of each of 2000 pieces. ``low`` and ``high`` are the ends of its simultaneous band. ``average_difference`` is the
    mean difference of all rows, the end of the curve. From counts, ``grid_error`` bounds the error by the bins.
    """
    points = cumulative_points(result, PROB)
    (first, last), (low, high) = result.worst_interval, result.kuiper_interval(PROB)
    grid = {"grid_error": result.grid_error} if isinstance(result, CumulativeDifference) else {}
    return {
        **_with_table(result, parameters),
        "rows": int(result.steps.n_rows.sum()),
        "worst_interval": {"first": first, "last": last},
        "average_difference": result.average_difference,
        "curve": {
            "score": [None, *points.score.tolist()],
            "share": points.share.tolist(),
            "curve": points.curve.tolist(),
            "low": points.low.tolist(),
            "high": points.high.tolist(),
        },
        "sigma": result.sigma,
        "null_sigma": result.null_sigma,
        "robust_sigma": result.robust_sigma,
        "kuiper_interval": {"probability": PROB, "low": low, "high": high},
        **grid,
    }


@document.register
def _(result: CumulativePosterior, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the model, the probabilities of its sub-models, and ``observed``, the document of the rows' curve.

    ``probability_below`` contains, for each statistic, the probability that it is below ``limit``.
    """
    return {
        **_with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "model": result.model,
        "draws": len(result.kuiper),
        "sub_models": result.sub_models,
        "probability_below": {"limit": result.limit, **result.p_below},
        "observed": document(result.observed),
    }


@document.register
def _(result: CalibrationCurve, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``curve``, one record per bin with the band, and the probabilities of the sub-models."""
    low, high = result.curve.interval(PROB)
    columns = {
        "score": result.score,
        "n": result.counts.n,
        "share": result.counts.share,
        "observed": result.counts.accuracy,
        "mean": result.curve.mean(),
        "low": low,
        "high": high,
    }
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return {
        **_with_table(result, parameters),
        "rows": result.counts.n_rows,
        "probabilities": result.probabilities,
        "prior_exact": result.posterior.prior_exact,
        "curve": [dict(zip(columns, row, strict=True)) for row in rows],
    }


@document.register
def _(result: ScoreComparison, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``rope``, ``classifiers``, one record each, and the seed of the draws."""
    return {
        **_with_table(result, parameters),
        "rope": result.rope,
        "classifiers": result.each(PROB),
        "seeds": {"draws": str(result.draws_seed)},
    }


@document.register
def _(
    result: ComparisonOverDatasets, parameters: Parameters = NO_PARAMETERS, *, estimand: EstimandLike = "ece"
) -> dict[str, Any]:
    """Return also ``estimand``, ``rope``, ``spread``, ``classifiers``, ``datasets`` and the differences on each.

    ``table`` has one record per pair; ``classifiers`` one record each, with the mean rank over data sets; ``datasets``
    the name and the number of rows of each; ``by_dataset`` one record per pair and data set.
    """
    record, sheet = as_estimand(estimand), result.sheet(whole=True, estimand=estimand)
    return {
        **_head(RESULT_SCHEMA, sheet, parameters),
        "kind": type(result).__name__,
        "estimand": {"name": record.name, "title": record.title, "better": record.better},
        "table": result.table(PROB, estimand=estimand),
        "remarks": list(sheet.remarks),
        "notes": list(sheet.notes),
        "rope": result.rope,
        "spread": result.spread,
        "classifiers": result.each(PROB, estimand=estimand),
        "datasets": [{"name": name, "rows": n} for name, n in result.n_rows.items()],
        "by_dataset": result._by_dataset(PROB, estimand),
        "seeds": {"order": str(result.order_seed)},
    }


@document.register
def _(result: Evidence, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``hypothesis``, ``level``, ``threshold``, ``raised``, and ``alarm``, the start of a window or null.

    Values beyond the range of a float are null; ``log_value`` has them.
    """
    return {
        **_with_table(result, parameters),
        "hypothesis": result.hypothesis,
        "level": result.level,
        "threshold": result.threshold,
        "raised": result.raised,
        "alarm": result.alarm,
    }


@document.register
def _(result: ConfidenceSequence, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``interval``, with the probability that all intervals hold."""
    interval = {"probability": result.prob, "kind": "confidence sequence"}
    return {**_with_table(result, parameters), "interval": interval}


@document.register
def _(result: NetBenefit, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``pseudo_rows``, ``prevalence``, ``harm``, and records per threshold of strategies without a model.

    These are ``treat_all``, ``treat_none`` and ``evpi``, the expected value of perfect information.
    """
    at = result.thresholds.tolist()
    return {
        **_with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "pseudo_rows": result.posterior.pseudo_rows,
        "prevalence": result.prevalence,
        "harm": result.harm,
        "treat_all": [
            dict(zip(("threshold", "mean", "low", "high", "observed", "p_best"), row, strict=True))
            for row in zip(
                at,
                result.treat_all.mean().tolist(),
                *(end.tolist() for end in result.treat_all.interval(PROB)),
                result.observed[TREAT_ALL].tolist(),
                result.p_best[TREAT_ALL].tolist(),
                strict=True,
            )
        ],
        "treat_none": [
            {"threshold": t, "p_best": p} for t, p in zip(at, result.p_best[TREAT_NONE].tolist(), strict=True)
        ],
        "evpi": [{"threshold": t, "evpi": value} for t, value in zip(at, result.evpi.tolist(), strict=True)],
        "seeds": {"draws": str(result.draws_seed)},
    }


@document.register
def _(result: ClinicalSummary, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also rows, events and ``event_rate``, and the documents of the parts.

    ``models`` has one record per model with those of its evaluation, recalibration and calibration curve (null if there
    are too few rows); ``net_benefit`` is null without thresholds; ``decision_curve`` is that of the picture.
    """
    models = [
        {
            "name": name,
            "evaluation": document(parts.evaluation),
            "recalibration": document(parts.recalibration),
            "calibration_curve": None if parts.calibration_curve is None else document(parts.calibration_curve),
        }
        for name, parts in result.parts.items()
    ]
    return {
        **_with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "rows": result.n_rows,
        "events": result.n_events,
        "event_rate": result.event_rate,
        "models": models,
        "net_benefit": None if result.net_benefit is None else document(result.net_benefit),
        "decision_curve": document(result.decision_curve),
    }


def _with_table(result: _presented.Presented, parameters: Parameters, **options: Any) -> dict[str, Any]:
    sheet = result.sheet(whole=True)
    return {
        **_head(RESULT_SCHEMA, sheet, parameters),
        "kind": type(result).__name__,
        "table": result._records(PROB, **options),
        **result._more(PROB),
        "remarks": list(sheet.remarks),
        "notes": list(sheet.notes),
    }


def _head(schema: str, sheet: _render.Sheet, parameters: Parameters) -> dict[str, Any]:
    made = {"schema": schema, "bayescal": __version__, "spec": sheet.spec, "sentence": sheet.sentence}
    return {**made, "parameters": dict(parameters)}


def _with_intervals(schema: str, result: Any, parameters: Parameters) -> dict[str, Any]:
    interval, sheet = {"probability": PROB, "kind": "equal-tailed"}, result.sheet()
    texts = {"remarks": list(result.remarks), "notes": list(sheet.notes)}
    return {**_head(schema, sheet, parameters), "interval": interval, **texts}


def _of_ece(evaluation: Evaluation | ClasswiseEvaluation) -> dict[str, Any]:
    small = {"ece": SMALL_ECE, "probability": evaluation.ece.pr(lambda e: e < SMALL_ECE)}
    found = {"question": evaluation.question, "table": evaluation.table(PROB), "probability_below": small}
    if not isinstance(evaluation, SurvivalEvaluation):
        return found
    return {**found, "horizon": evaluation.horizon, "not_followed": evaluation.not_followed}


def _whole(evaluation: Evaluation) -> dict[str, Any]:
    """Return the table, the bins and the seeds of one of several evaluations."""
    return {"n_rows": evaluation.counts.n_rows, "table": evaluation.table(PROB), **_bins_and_seeds(evaluation)}


def _bins_and_seeds(evaluation: Evaluation) -> dict[str, Any]:
    """Return the bins, and the seeds as text, because many parsers of JSON round integers beyond 2^53."""
    seeds = {"bin_draws": evaluation.bin_draws_seed, "dirichlet": evaluation.dirichlet_seed}
    return {"bins": bin_table(evaluation), "seeds": {name: str(seed) for name, seed in seeds.items()}}


def bin_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one record per bin; means, shares and interval are missing (NaN) where a bin has no rows.

    With censored rows, the observed share is missing where the data of the bin end before the horizon. For a target
    without labels, ``n`` and ``k`` count labelled rows of the source, and ``target_rows`` rows of the target.
    """
    counts = evaluation.counts
    ends = np.where(counts.occupied, Draws(evaluation.bin_draws.accuracy).interval(PROB), np.nan)
    columns = {
        "low": counts.bins.edges[:-1],
        "high": counts.bins.edges[1:],
        "n": counts.n,
        "k": counts.k,
        "mean_confidence": counts.mean_confidence,
        "accuracy": counts.accuracy,
        "accuracy_low": ends[0],
        "accuracy_high": ends[1],
    }
    if isinstance(evaluation, SurvivalEvaluation):
        columns["accuracy"] = observed_accuracy(evaluation)
        columns |= {name: getattr(evaluation.counts, name) for name in ("n_censored", "effective_n", "followed")}
    of_target = target_rows(evaluation)
    if of_target is not None:
        columns["target_rows"] = of_target
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
