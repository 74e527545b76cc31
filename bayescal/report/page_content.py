"""Content of the page of each result: title, tables, pictures, numbers of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import Any

from bayescal import _presented, _render
from bayescal.clinical.curve.result import CalibrationCurve
from bayescal.clinical.exact_tests_result import CalibrationTests
from bayescal.clinical.result import HEADER as CLINICAL_HEADER
from bayescal.clinical.result import SIDE_BY_SIDE, ClinicalSummary
from bayescal.cumulative.base import Cumulative
from bayescal.cumulative.posterior_result import CumulativePosterior
from bayescal.cumulative.result import CumulativeDifference
from bayescal.cumulative.screen_result import SubpopulationScreen
from bayescal.decisions.result import NetBenefit
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.monitoring.change import Change
from bayescal.monitoring.confidence_sequence import ConfidenceSequence
from bayescal.monitoring.evidence import Evidence
from bayescal.monitoring.monitor import CalibrationMonitor
from bayescal.monitoring.plot import plot_confidence_sequence, plot_evidence
from bayescal.planning.result import Plan
from bayescal.report import tables
from bayescal.report.bin_sensitivity import plot_bin_sensitivity
from bayescal.report.forest import draw_scores, forest_height, rows_height
from bayescal.report.over_datasets import TOTALS, plot_over_datasets
from bayescal.report.page_pictures import (
    WIDTH,
    Picture,
    captioned,
    comparison_picture,
    cumulative_picture,
    curve_picture,
    decision_picture,
    drawn,
    forest_picture,
    posterior_picture,
    reliability_picture,
)
from bayescal.report.tables import Table
from bayescal.results.bin_sensitivity import BinSensitivity
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Comparison
from bayescal.results.decomposition import CorpDecomposition, MurphyDecomposition
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.mean_score import MultiClassScore
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.score_comparison import ScoreComparison
from bayescal.shift.evidence_result import ShiftEvidence
from bayescal.shift.label_counts import LabelShiftedCounts
from bayescal.shift.label_shift_result import LabelShiftClasses
from bayescal.shift.target_counts import TargetCounts
from bayescal.stats.contract import Counts

#: Maximum number of classes in a forest plot, which needs the evaluation of each class, and of reliability diagrams.
CLASSES_DRAWN, DIAGRAMS = 40, 6


@dataclass(frozen=True)
class Content:
    """Content of the page of a result.

    Parameters
    ----------
    title : str
        The title.
    sheet : Sheet
        The sentence, the specification and the remarks; its table is among `tables`.
    tables : sequence of Table
        The tables.
    rows : mapping of str to object
        Numbers of rows, by their meaning.
    pictures : sequence of Picture, optional
        The pictures, which are shown above the tables.
    lead : sequence of Table, optional
        Tables that are shown above the pictures.
    """

    title: str
    sheet: _render.Sheet
    tables: Sequence[Table]
    rows: Mapping[str, object]
    pictures: Sequence[Picture] = field(default=())
    lead: Sequence[Table] = field(default=())


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _table(title: str, sheet: _render.Sheet) -> Table:
    return Table(title, sheet.header, sheet.rows)


def _rows(counts: Counts) -> dict[str, object]:
    if isinstance(counts, LabelShiftedCounts):
        return {"target rows": f"{counts.effective_rows:.0f}", "source rows": counts.n_rows}
    rows: dict[str, object] = {"rows": counts.n_rows}
    if isinstance(counts, TargetCounts):
        labelled = {"source rows": counts.n_rows, "effective source rows": f"{counts.labelled_rows:.0f}"}
        return {"target rows": counts.n_target_rows, **labelled}
    return rows | ({"effective rows": f"{counts.effective_rows:.0f}"} if counts.weighted else {})


@singledispatch
def _content(result: Any) -> Content:
    """Return the sentence, the table and the remarks of a result without pictures."""
    if not isinstance(result, _presented.Presented):
        raise TypeError(f"`result` must be a result of this package, as an Evaluation, not {type(result).__name__}.")
    sheet = result.sheet(whole=True)
    return Content(type(result).__name__, sheet, [_table("Table", sheet)] if sheet.header else [], {})


@_content.register
def _(result: Evaluation) -> Content:
    sheet = result.sheet(whole=True)
    shown = [_table("Calibration errors", sheet), *tables.discrimination(result), *tables.of_shift(result)]
    shown.append(tables.bins(result))
    pictures = [reliability_picture(result), posterior_picture(result)]
    return Content("Calibration report", sheet, shown, _rows(result.counts), pictures)


@_content.register
def _(result: LabelShiftClasses) -> Content:
    sheet = result.sheet(whole=True)
    shown = [_table("Classes", sheet), _table("Class frequencies of the target", result.priors.sheet(whole=True))]
    return Content("Calibration of all classes in a target", sheet, shown, _rows(next(iter(result.values())).counts))


@_content.register
def _(result: ShiftEvidence) -> Content:
    sheet, counts = result.sheet(whole=True), result.counts
    rows = {"source rows": counts.n_source, "target rows": counts.n_target}
    return Content("Evidence of a shift", sheet, [_table("Cells of the predictions", sheet)], rows)


@_content.register
def _(result: ClasswiseEvaluation) -> Content:
    sheet = result.sheet(whole=True)
    pictures = [posterior_picture(result)]
    if len(result) <= CLASSES_DRAWN:
        pictures.append(forest_picture("ECE of each class", result))
    return Content(
        "Calibration report: all classes", sheet, [_table("Classes", sheet)], _rows(result.counts[0]), pictures
    )


@_content.register
def _(result: GroupedEvaluation) -> Content:
    sheet = result.sheet(whole=True)
    overall = "all rows"
    pictures = [
        forest_picture("ECE of each group", result),
        reliability_picture(result.overall, overall),
        posterior_picture(result.overall, overall),
    ]
    shown = [_table("Groups", sheet), tables.bins(result.overall)]
    return Content("Calibration report: groups", sheet, shown, _rows(result.overall.counts), pictures)


@_content.register
def _(result: Change) -> Content:
    sheet = result.sheet(whole=True)
    rows = {f"rows, {name}": each.counts.n_rows for name, each in result.evaluations.items()}
    picture = comparison_picture("Both periods and the change", result, "ece")
    return Content("Change of calibration", sheet, [_table("Periods", sheet)], rows, [picture])


@_content.register
def _(result: CalibrationMonitor) -> Content:
    sheet = result.sheet(whole=True)
    rows = {"rows": result.n_rows, "windows with rows": len(result)} if result.window is not None else {}
    return Content("Calibration over time", sheet, [_table("Windows", sheet)], rows or {"rows": result.n_rows})


@_content.register
def _(result: Evidence) -> Content:
    sheet = result.sheet(whole=True)
    picture = Picture("Evidence over time", partial(drawn, partial(plot_evidence, result), 1.4 * WIDTH, 3.9), wide=True)
    shown = [_table("Windows", sheet)] if len(result) else []
    return Content(result.title, sheet, shown, {"rows": int(result.n_rows.sum())}, [picture] if len(result) else [])


@_content.register
def _(result: ConfidenceSequence) -> Content:
    sheet = result.sheet(whole=True)
    draw = partial(drawn, partial(plot_confidence_sequence, result), 1.4 * WIDTH, 3.9)
    picture = Picture("Confidence sequence of the ECE", draw, wide=True)
    rows = {"rows": int(result.n_rows[-1])}
    return Content("Confidence sequence of the ECE", sheet, [_table("Windows", sheet)], rows, [picture])


@_content.register
def _(result: BinSensitivity) -> Content:
    sheet = result.sheet(whole=True)
    first = next(iter(result.evaluations.values()))
    picture = Picture("Intervals by number of bins", partial(drawn, partial(plot_bin_sensitivity, result), WIDTH, 4.4))
    return Content("Choice of bins", sheet, [_table("Choices of bins", sheet)], _rows(first.counts), [picture])


@_content.register
def _(result: Plan) -> Content:
    sheet = result.sheet(whole=True)
    note = (
        "share: fraction of the simulated studies with this number of rows that meet the goal; se: its standard error. "
        "The answer is the number of rows at which the share is the assurance."
    )
    shown = [Table("Simulated numbers of rows", sheet.header, sheet.rows, note)] if sheet.header else []
    return Content("How many labels are needed", sheet, shown, {})


@_content.register
def _(result: MultiClassScore) -> Content:
    sheet = result.sheet(whole=True)
    rows: dict[str, object] = {"rows": result.n_rows}
    if result.effective_rows != result.n_rows:
        rows["effective rows"] = f"{result.effective_rows:.0f}"
    return Content(_capital(result.name), sheet, [_table("Score", sheet)], rows)


@_content.register(CorpDecomposition)
@_content.register(MurphyDecomposition)
def _(result: CorpDecomposition | MurphyDecomposition) -> Content:
    sheet = result.sheet(whole=True)
    return Content(f"Decomposition of the {result.score_name}", sheet, [_table("Parts", sheet)], {})


@_content.register
def _(result: ScoreComparison) -> Content:
    sheet = result.sheet(whole=True)
    shown = [Table("Differences", sheet.header, sheet.rows, result.key), tables.scores(result)]
    first = result[result.names[0]]
    height = 1.2 + rows_height(tuple(map(_render.name, result)))
    picture = Picture(
        f"{_capital(first.name)} of each classifier",
        partial(drawn, partial(draw_scores, scores=result.scores), 1.3 * WIDTH, height),
        wide=True,
    )
    # the lines of the classifiers are in their table
    return Content(
        f"Comparison by the {first.name}",
        replace(sheet, remarks=(), notes=()),
        shown,
        {"rows": first.n_rows},
        [picture],
    )


@_content.register
def _(result: CalibrationCurve) -> Content:
    sheet = result.sheet(whole=True)
    return Content("Calibration curve", sheet, [_table("Errors", sheet)], _rows(result.counts), [curve_picture(result)])


@_content.register
def _(result: CalibrationTests) -> Content:
    sheet = result.sheet(whole=True)
    rows = {"rows": int(result.hosmer_lemeshow.n.sum())}
    return Content("Tests of exact calibration", sheet, [_table("Tests", sheet)], rows)


@_content.register
def _(result: Cumulative) -> Content:
    sheet = result.sheet(whole=True)
    whole = isinstance(result, CumulativeDifference)
    title = "Cumulative difference" if whole else "Cumulative difference of a subpopulation"
    rows = {"rows": int(result.steps.n_rows.sum())}
    return Content(title, sheet, [_table("Statistics", sheet)], rows, [cumulative_picture(result)])


@_content.register
def _(result: CumulativePosterior) -> Content:
    sheet, observed = result.sheet(whole=True), _content(result.observed)
    both = replace(
        sheet,
        sentence=f"{observed.sheet.sentence} {sheet.sentence}",
        remarks=(*sheet.remarks, *observed.sheet.remarks),
        notes=(*sheet.notes, *observed.sheet.notes),
    )
    shown = [_table("Statistics of the population", sheet), _table("Statistics of the rows", observed.sheet)]
    return Content("Posterior of the cumulative difference", both, shown, observed.rows, observed.pictures)


@_content.register
def _(result: SubpopulationScreen) -> Content:
    sheet = result.sheet(whole=True)
    first = next(iter(result))
    picture = cumulative_picture(result[first], result.groups.equation(first))
    return Content("Subpopulations", sheet, [_table("Groups", sheet)], {"rows": len(result.rows)}, [picture])


@_content.register
def _(result: NetBenefit) -> Content:
    sheet = result.sheet(whole=True)
    rows: dict[str, object] = {"rows": result.counts.n_rows}
    if result.counts.weighted:
        rows["effective rows"] = f"{result.counts.effective_rows:.0f}"
    pictures = [decision_picture(result)] if len(result.thresholds) > 1 else []
    return Content("Net benefit", sheet, [_table("Net benefit", sheet)], rows, pictures)


@_content.register
def _(result: ClinicalSummary) -> Content:
    sheet = result.sheet(whole=True)
    several = len(result.models) > 1
    pictures = []
    for name in result.models[:DIAGRAMS]:
        parts, of = result[name], name if several else ""
        if parts.calibration_curve is None:
            pictures.append(reliability_picture(parts.evaluation, of))
        else:
            pictures.append(curve_picture(parts.calibration_curve, of))
    pictures.append(decision_picture(result))
    shown = [_table("Performance", sheet)]
    if len(result.models) > SIDE_BY_SIDE:
        shown = [Table(_render.name(name), CLINICAL_HEADER, result.cells(name)) for name in result.models]
    rows = {**_rows(result[result.models[0]].evaluation.counts), "events": result.n_events}
    return Content("Clinical summary", sheet, shown, rows, pictures)


def content_of(result: _presented.Presented, estimand: EstimandLike) -> Content:
    """Return the content of the page of a result; only two kinds have a choice of the estimand."""
    if isinstance(result, Comparison):
        return _comparison(result, estimand)
    if isinstance(result, ComparisonOverDatasets):
        return _over_datasets(result, estimand)
    return _content(result)


def _comparison(result: Comparison, estimand: EstimandLike) -> Content:
    record = as_scalar(estimand)
    sheet = _render.Sheet(
        result.sentence(estimand=record), result.specification(estimand=record), (), (), result.remarks
    )
    sizes = {name: each.counts.n_rows for name, each in result.evaluations.items()}
    same = len(set(sizes.values())) == 1
    rows = {"rows": next(iter(sizes.values()))} if same else {f"rows of {name}": n for name, n in sizes.items()}
    pictures = [comparison_picture(f"{result.axis.capitalize()}s and their differences", result, record)]
    if len(result) <= DIAGRAMS:
        pictures += [reliability_picture(each, name) for name, each in result.evaluations.items()]
    shown, lead = [tables.differences(result, record), tables.classifiers(result, record)], [tables.models(result)]
    return Content("Comparison of calibration", sheet, shown, rows, pictures, lead)


def _over_datasets(result: ComparisonOverDatasets, estimand: EstimandLike) -> Content:
    record = as_scalar(estimand)
    sheet = result.sheet(whole=True, estimand=record)
    first, second = result._listed(record)[:2]
    pair = partial(plot_over_datasets, result, first=first, second=second, estimand=record)
    height = 1.4 + forest_height([*result.datasets, *TOTALS])
    pictures = [Picture(captioned("Differences", f"{first} - {second}"), partial(drawn, pair, WIDTH, height))]
    if len(result) > 2:
        ranks, height = partial(plot_over_datasets, result, estimand=record), 1.2 + forest_height(result.names)
        pictures.insert(0, Picture("Mean ranks", partial(drawn, ranks, WIDTH, height)))
    rows = {f"rows of {name}": n for name, n in result.n_rows.items()}
    shown = [_table("Pairs of classifiers", sheet), tables.by_dataset(result, record)]
    return Content("Comparison over data sets", sheet, shown, rows, pictures)
