"""Pages and documents of the results of this folder, and the figure of a clinical summary."""

from dataclasses import fields, replace
from functools import partial
from typing import Any

from bayescal import _packages, _render
from bayescal._arrays import Figure
from bayescal.clinical.curve.result import CalibrationCurve
from bayescal.clinical.exact_tests import CalibrationTests
from bayescal.clinical.plot import (
    plot_calibration_curve,
    plot_new_centre,
    plot_recalibration,
    plot_risk_distributions,
    plot_subgroups,
)
from bayescal.clinical.result import HEADER as CLINICAL_HEADER
from bayescal.clinical.result import SIDE_BY_SIDE, ClinicalSummary, ModelParts
from bayescal.clinical.slope.new_centre import NewCentre
from bayescal.clinical.slope.result import Recalibration
from bayescal.clinical.subgroups import MEASURES, OF_PAIRS, GroupedClinicalSummary
from bayescal.clinical.words import WORDS
from bayescal.decisions.page import decision_picture
from bayescal.decisions.plot import plot_decision_curve
from bayescal.decisions.words import records
from bayescal.report import forest, page_content
from bayescal.report.document import NO_PARAMETERS, PROB, Parameters, document, document_of, with_table
from bayescal.report.plot import drawn_by_type
from bayescal.report.tables import Table
from bayescal.results import wording
from bayescal.results.imputed import Imputed

PER_ROW = 3  #: Pictures of a clinical summary in a row.

drawn_by_type.register(CalibrationCurve, plot_calibration_curve)
drawn_by_type.register(Recalibration, plot_recalibration)
drawn_by_type.register(ClinicalSummary, plot_decision_curve)
drawn_by_type.register(GroupedClinicalSummary, plot_subgroups)
drawn_by_type.register(NewCentre, plot_new_centre)


def curve_picture(curve: CalibrationCurve, of: str = "") -> page_content.Picture:
    """Return a smooth calibration curve."""
    words = page_content.captioned("Calibration curve", of)
    return page_content.picture(words, partial(plot_calibration_curve, curve), 5.2)


def clinical_picture(summary: ClinicalSummary | GroupedClinicalSummary) -> "Figure":
    """Draw the calibration curve of each model, and last the decision curves of all; of groups, each measure."""
    _packages.require("matplotlib")
    from matplotlib.figure import Figure

    if isinstance(summary, GroupedClinicalSummary):
        lines, height = len(MEASURES) // PER_ROW, 1.6 + forest.forest_height([*map(str, summary), "all rows"])
        figure = Figure(figsize=(5.0 * PER_ROW, height * lines), layout="constrained")
        places = figure.subplots(lines, PER_ROW).ravel()
        for key, ax in zip(MEASURES, places, strict=True):
            plot_subgroups(summary, ax, quantity=key)
        return figure
    n = len(summary.models)
    columns = min(n + 1, PER_ROW)
    lines = -(-(n + 1) // columns)
    figure = Figure(figsize=(6.4 * columns, 5.4 * lines), layout="constrained")
    places = figure.subfigures(lines, columns, squeeze=False).ravel()
    for name, place in zip(summary.models, places[:n], strict=True):
        if n > 1:
            place.suptitle(_render.cut(_render.name(name), 32), x=0.02, ha="left", fontsize="large", fontweight="bold")
        plot_calibration_curve(summary[name].calibration_curve, place.subplots())
    plot_decision_curve(summary, places[n].subplots())
    return figure


@document_of.register
def _(result: CalibrationCurve, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``curve``, one record per bin with the band, and the probabilities of the sub-models."""
    counts, (low, high) = result.counts, result.curve.interval(PROB)
    columns: dict[str, Any] = {"score": result.score}
    if not isinstance(result, Imputed):  # whose knots differ between imputations
        columns |= {"n": counts.n, "share": counts.share, "observed": counts.accuracy}
    columns |= {"mean": result.curve.mean(), "low": low, "high": high}
    return {
        **with_table(result, parameters),
        "rows": counts.n_rows,
        "probabilities": result.probabilities,
        "prior_exact": result.posterior.prior_exact,
        "curve": records(columns),
    }


@document_of.register
def _(result: ClinicalSummary, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also rows, events and ``event_rate``, and the documents of the parts.

    ``models`` has one record per model with those of its evaluation, recalibration and calibration curve;
    ``net_benefit`` is null without thresholds; ``decision_curve`` is that of the picture.
    """
    models = [
        {"name": name, **{part.name: document(getattr(parts, part.name)) for part in fields(ModelParts)}}
        for name, parts in result.parts.items()
    ]
    return {
        **with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "rows": result.n_rows,
        "events": result.n_events,
        "event_rate": result.event_rate,
        "models": models,
        "net_benefit": None if result.net_benefit is None else document(result.net_benefit),
        "decision_curve": document(result.decision_curve),
    }


@page_content.content.register
def _(result: CalibrationCurve) -> page_content.Content:
    sheet = result.sheet(whole=True)
    shown, rows = [page_content.one_table("Errors", sheet)], wording.row_numbers(result.counts)
    return page_content.Content("Calibration curve", sheet, shown, rows, [curve_picture(result)])


@page_content.content.register
def _(result: CalibrationTests) -> page_content.Content:
    sheet = result.sheet(whole=True)
    rows = {"rows": int(result.hosmer_lemeshow.n.sum())}
    return page_content.Content("Tests of exact calibration", sheet, [page_content.one_table("Tests", sheet)], rows)


@page_content.content.register
def _(result: ClinicalSummary) -> page_content.Content:
    sheet = result.sheet(whole=True)
    several = len(result.models) > 1
    pictures = []
    at = None if result.net_benefit is None else result.net_benefit.thresholds
    for name in result.models[: page_content.DIAGRAMS]:
        of, parts = name if several else "", result[name]
        risks = partial(plot_risk_distributions, parts.evaluation, thresholds=at)
        words = page_content.captioned("Predicted risks by outcome", of)
        pictures.append(curve_picture(parts.calibration_curve, of))
        pictures.append(page_content.picture(words, risks, page_content.WIDTH))
    pictures.append(decision_picture(result))
    shown = [page_content.one_table("Performance", sheet)]
    if len(result.models) > SIDE_BY_SIDE:
        shown = [Table(_render.name(name), CLINICAL_HEADER, result.cells(name)) for name in result.models]
    rows = {**result[result.models[0]].evaluation._row_numbers(), "events": result.n_events}
    return page_content.Content("Clinical summary", sheet, shown, rows, pictures)


@document_of.register
def _(result: GroupedClinicalSummary, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``by``, ``without`` (groups without a summary), ``differences`` by measure, and ``overall``."""
    differences = {key: result.differences(key, PROB) for key in MEASURES}
    without = [{"group": label, "why": why} for label, why in result.without.items()]
    more = {"by": result.name, "without": without, "differences": differences, "overall": document(result.overall)}
    return {**with_table(result, parameters), **more}


@page_content.content.register
def _(result: GroupedClinicalSummary) -> page_content.Content:
    sheet, of_all = result.sheet(whole=True), page_content.content(result.overall)
    height = 1.4 + forest.forest_height([str(label) for label in (*result, "all rows")])
    pictures = [
        page_content.picture(page_content.capital(WORDS[key]), partial(plot_subgroups, result, quantity=key), height)
        for key in MEASURES
    ]
    pairs = [Table(f"Differences: {WORDS[key]}", OF_PAIRS, result._pairs(key)) for key in MEASURES]
    of_rows = [replace(each, title=f"All rows: {each.title.lower()}") for each in of_all.tables]
    shown = [page_content.one_table("Groups", sheet), *(each for each in pairs if each.rows), *of_rows]
    return page_content.Content("Clinical summary by group", sheet, shown, of_all.rows, [*pictures, *of_all.pictures])


@page_content.content.register
def _(result: NewCentre) -> page_content.Content:
    sheet = result.sheet(whole=True)
    pictures = [page_content.picture("Mean centre and new centre", partial(plot_new_centre, result), 5.4)]
    shown, rows = [page_content.one_table("Centres", sheet)], {"rows": result.counts.n_rows}
    return page_content.Content("Calibration in a new centre", sheet, shown, rows, pictures)
