"""Pages and documents of the results of this folder."""

from functools import partial
from typing import Any

from bayescal._texts import text_of
from bayescal.monitoring.monitor import CalibrationMonitor
from bayescal.monitoring.plot import plot_confidence_sequence, plot_evidence
from bayescal.monitoring.result import Change, ConfidenceSequence, Evidence
from bayescal.report import document
from bayescal.report.comparison import plot_comparison
from bayescal.report.page_content import WIDTH, Content, Picture, comparison_picture, content, drawn, one_table
from bayescal.report.plot import drawn_by_type

drawn_by_type.register(Change, plot_comparison)
drawn_by_type.register(Evidence, plot_evidence)
drawn_by_type.register(ConfidenceSequence, plot_confidence_sequence)


@drawn_by_type.register
def _(result: CalibrationMonitor, ax: Any = None, **options: Any) -> Any:
    raise TypeError(text_of("picture of a monitor"))


CHANGE_SCHEMA = "bayescal.change/1"  #: Changes when a reader of the file would have to change.


@document.document_of.register
def _(result: Change, parameters: document.Parameters = document.NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``rope``, ``change`` (one record), and ``periods``, each with its span, its table and its bins."""
    periods = [
        {"period": name, "span": result.spans[name], **document.whole_evaluation(each)}
        for name, each in result.evaluations.items()
    ]
    head, change = document.with_intervals(CHANGE_SCHEMA, result, parameters), result.table(document.PROB)[0]
    seeds = {"order": str(result.order_seed)}
    return {**head, "rope": result.rope, "change": change, "periods": periods, "seeds": seeds}


@document.document_of.register
def _(result: Evidence, parameters: document.Parameters = document.NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``hypothesis``, ``level``, ``threshold``, ``raised``, and ``alarm``, the start of a window or null.

    Values beyond the range of a float are null; ``log_value`` has them.
    """
    names = ("hypothesis", "level", "threshold", "raised", "alarm")
    return {**document.with_table(result, parameters), **{name: getattr(result, name) for name in names}}


@document.document_of.register
def _(result: ConfidenceSequence, parameters: document.Parameters = document.NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``interval``, with the probability that all intervals hold."""
    interval = {"probability": result.prob, "kind": "confidence sequence"}
    return {**document.with_table(result, parameters), "interval": interval}


@content.register
def _(result: Change) -> Content:
    sheet = result.sheet(whole=True)
    rows = {f"rows, {name}": each.counts.n_rows for name, each in result.evaluations.items()}
    picture = comparison_picture("Both periods and the change", result, "ece")
    return Content("Change of calibration", sheet, [one_table("Periods", sheet)], rows, [picture])


@content.register
def _(result: CalibrationMonitor) -> Content:
    sheet = result.sheet(whole=True)
    rows = {"rows": result.n_rows, "windows with rows": len(result)} if result.window is not None else {}
    return Content("Calibration over time", sheet, [one_table("Windows", sheet)], rows or {"rows": result.n_rows})


@content.register
def _(result: Evidence) -> Content:
    sheet = result.sheet(whole=True)
    picture = Picture("Evidence over time", partial(drawn, partial(plot_evidence, result), 1.4 * WIDTH, 3.9), wide=True)
    shown = [one_table("Windows", sheet)] if len(result) else []
    return Content(result.title, sheet, shown, {"rows": int(result.n_rows.sum())}, [picture] if len(result) else [])


@content.register
def _(result: ConfidenceSequence) -> Content:
    sheet = result.sheet(whole=True)
    draw = partial(drawn, partial(plot_confidence_sequence, result), 1.4 * WIDTH, 3.9)
    picture = Picture("Confidence sequence of the ECE", draw, wide=True)
    rows = {"rows": int(result.n_rows[-1])}
    return Content("Confidence sequence of the ECE", sheet, [one_table("Windows", sheet)], rows, [picture])
