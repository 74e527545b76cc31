"""Results as data for JSON documents; import of the pages, which register the documents of topics."""

from collections.abc import Iterable, Mapping
from functools import singledispatch
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _presented, _render
from bayescal._version import __version__
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.scores import ScoreComparison
from bayescal.results.wording import SMALL_ECE

#: Changes when a reader of the file would have to change.
SCHEMA, COMPARISON_SCHEMA = "bayescal.report/1", "bayescal.compare/2"
GROUPS_SCHEMA = "bayescal.groups/1"
RESULT_SCHEMA = "bayescal.result/1"  #: Results that need nothing more than their table.
type Parameters = Mapping[str, Any]  #: Arguments with which a call can be repeated, by name.
NO_PARAMETERS: Parameters = MappingProxyType({})
PROB = 0.95  #: Probability of all intervals in documents and on the command line.
#: Half-widths at which the probability of practical equivalence is saved, in addition to the rope of the comparison.
ROPES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def document(result: Any, parameters: Parameters = NO_PARAMETERS, **options: Any) -> dict[str, Any]:
    """Return a result as data for JSON, without dates or names of machines.

    `parameters` are arguments with which the call can be repeated, as those of the command line. `options`:
    ``estimand=`` of a `Comparison`, ``estimands=`` of an `Evaluation`. An `Evaluation` and a `ClasswiseEvaluation` have
    also question, table, probability_below, ``seeds`` and ``bins``; with ``target="classwise"``, ``classes`` with
    ``bins`` each. The functions for the other results describe theirs.
    """
    load_page_of(type(result))
    record: dict[str, Any] = document_of(result, parameters, **options)
    return record


@singledispatch
def document_of(result: Any, parameters: Parameters = NO_PARAMETERS, **options: Any) -> dict[str, Any]:
    """Return the document of one type of results; each type registers a function, the others have a table alone."""
    if not isinstance(result, _presented.Presented):
        raise TypeError(f"`result` must be a result of this package, as an Evaluation, not {type(result).__name__}.")
    return with_table(result, parameters, **options)


@document_of.register
def _(
    result: Evaluation, parameters: Parameters = NO_PARAMETERS, *, estimands: Iterable[EstimandLike] | None = None
) -> dict[str, Any]:
    chosen = {} if estimands is None else {"table": result.table(PROB, estimands=estimands)}
    parts = {**_of_ece(result), **chosen, **result._more(PROB), **_bins_and_seeds(result)}
    return {**with_intervals(SCHEMA, result, parameters), **parts}


@document_of.register
def _(result: ClasswiseEvaluation, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    classes = [{"label": label, **_bins_and_seeds(result[label])} for label in result]
    seeds = {"order": str(result.order_seed)}
    return {**with_intervals(SCHEMA, result, parameters), **_of_ece(result), "classes": classes, "seeds": seeds}


@document_of.register
def _(result: GroupedEvaluation, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the name of the column, and all rows and each group, in order, with their tables and bins.

    ``heterogeneity`` is the standard deviation of the ECE over the groups; null without partial pooling, or if only one
    group has rows.
    """
    largest, names = result.p_largest(), dict(zip(result.groups, result.names, strict=True))
    groups = [
        {"label": label, "name": names[label], "p_largest": largest[label], "seed": str(result.seeds[label])}
        | whole_evaluation(result[label])
        for label in result.in_order()
    ]
    return {
        **with_intervals(GROUPS_SCHEMA, result, parameters), "by": result.name, "pooling": result.pooling,
        "heterogeneity": _heterogeneity(result), "overall": whole_evaluation(result.overall),
        "groups": groups, "seeds": {"order": str(result.order_seed)},
    }  # fmt: skip


def _heterogeneity(result: GroupedEvaluation) -> dict[str, float] | None:
    if result.pooling != "partial" or result.n_with_rows < 2:
        return None
    heterogeneity = result.heterogeneity()
    low, high = heterogeneity.interval(PROB)
    return {"mean": float(heterogeneity.mean()), "low": float(low), "high": float(high)}


@document_of.register
def _(
    comparison: Comparison, parameters: Parameters = NO_PARAMETERS, *, estimand: EstimandLike = "ece"
) -> dict[str, Any]:
    """Return also a record of each pair, with P(equal) at several half-widths, and of each classifier, with bins."""
    record, differences = as_estimand(estimand), comparison.table(PROB, estimand=estimand)
    ropes = sorted({*ROPES, comparison.rope})
    for row in differences:
        shares = comparison.rope_curve(ropes, row["first"], row["second"], estimand)
        row["p_within"] = [{"rope": rope, "probability": p} for rope, p in zip(ropes, shares, strict=True)]
    classifiers = comparison.each(PROB, estimand=estimand)
    for row in classifiers:
        evaluation = comparison[row[comparison.axis]]
        row |= {"question": evaluation.question, **whole_evaluation(evaluation)}
    return {
        **with_intervals(COMPARISON_SCHEMA, comparison, parameters),
        "spec": comparison.specification(estimand=estimand), "sentence": comparison.sentence(PROB, estimand=estimand),
        "models": comparison._measures(PROB),
        "estimand": {"name": record.name, "title": record.title, "better": record.better}, "differences": differences,
        "classifiers": classifiers, "seeds": {"order": str(comparison.order_seed)},
    }  # fmt: skip


@document_of.register
def _(result: ScoreComparison, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``rope``, ``classifiers``, one record each, and the seed of the draws."""
    seeds = {"draws": str(result.draws_seed)}
    return {**with_table(result, parameters), "rope": result.rope, "classifiers": result.each(PROB), "seeds": seeds}


@document_of.register
def _(
    result: ComparisonOverDatasets, parameters: Parameters = NO_PARAMETERS, *, estimand: EstimandLike = "ece"
) -> dict[str, Any]:
    """Return also records of each pair (``table``), of each classifier and of each pair on each data set."""
    record, sheet = as_estimand(estimand), result.sheet(whole=True, estimand=estimand)
    return {
        **head(RESULT_SCHEMA, sheet, parameters), "kind": type(result).__name__,
        "estimand": {"name": record.name, "title": record.title, "better": record.better},
        "table": result.table(PROB, estimand=estimand), "remarks": list(sheet.remarks),
        "notes": list(sheet.notes), "rope": result.rope, "spread": result.spread,
        "classifiers": result.each(PROB, estimand=estimand),
        "datasets": [{"name": name, "rows": n} for name, n in result.n_rows.items()],
        "by_dataset": result._by_dataset(PROB, estimand), "seeds": {"order": str(result.order_seed)},
    }  # fmt: skip


def with_table(result: _presented.Presented, parameters: Parameters, **options: Any) -> dict[str, Any]:
    """Return the document of a result with one table."""
    sheet = result.sheet(whole=True)
    about = {"kind": type(result).__name__, "table": result._records(PROB, **options), **result._more(PROB)}
    remarks = {"remarks": list(sheet.remarks), "notes": list(sheet.notes)}
    return head(RESULT_SCHEMA, sheet, parameters) | about | remarks


def head(schema: str, sheet: _render.Sheet, parameters: Parameters) -> dict[str, Any]:
    """Return the first entries of every document: schema, version, specification, sentence and parameters."""
    fields = {"schema": schema, "bayescal": __version__, "spec": sheet.spec, "sentence": sheet.sentence}
    return {**fields, "parameters": dict(parameters)}


def with_intervals(schema: str, result: Any, parameters: Parameters) -> dict[str, Any]:
    """Return the head, the kind of intervals, remarks and notes of a result."""
    interval, sheet = {"probability": PROB, "kind": "equal-tailed"}, result.sheet()
    texts = {"remarks": list(result.remarks), "notes": list(sheet.notes)}
    return {**head(schema, sheet, parameters), "interval": interval, **texts}


def _of_ece(evaluation: Evaluation | ClasswiseEvaluation) -> dict[str, Any]:
    small = {"ece": SMALL_ECE, "probability": evaluation.ece.pr(lambda e: e < SMALL_ECE)}
    return {"question": evaluation.question, "table": evaluation.table(PROB), "probability_below": small}


def whole_evaluation(evaluation: Evaluation) -> dict[str, Any]:
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
    columns = {"low": counts.bins.edges[:-1], "high": counts.bins.edges[1:], "n": counts.n, "k": counts.k}
    columns |= {"mean_confidence": counts.mean_confidence, "accuracy": evaluation._observed_accuracy}
    columns |= {"accuracy_low": ends[0], "accuracy_high": ends[1], **evaluation._bin_columns()}
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


#: Name of the package, and its folder.
PACKAGE, FOLDER = "bayescal", Path(__file__).parents[1]


def load_page_of(kind: type) -> None:
    """Import `page.py` of the folder in which a result, or a class that it inherits from, is defined."""
    for each in kind.__mro__:
        package, *folders = each.__module__.split(".")
        if package != PACKAGE or len(folders) < 2 or folders[0] == "report":
            continue
        if (FOLDER / folders[0] / "page.py").is_file():
            import_module(f"bayescal.{folders[0]}.page")
