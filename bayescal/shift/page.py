"""Pages and documents of the results of this folder."""

from bayescal.report.forest import plot_forest
from bayescal.report.page_content import Content, content, one_table
from bayescal.report.plot import drawn_by_type
from bayescal.shift.label_shift_result import LabelShiftClasses
from bayescal.shift.shift_evidence import ShiftEvidence

drawn_by_type.register(LabelShiftClasses, plot_forest)


@content.register
def _(result: LabelShiftClasses) -> Content:
    sheet = result.sheet(whole=True)
    shown = [one_table("Classes", sheet), one_table("Class frequencies of the target", result.priors.sheet(whole=True))]
    return Content("Calibration of all classes in a target", sheet, shown, next(iter(result.values()))._row_numbers())


@content.register
def _(result: ShiftEvidence) -> Content:
    sheet, counts = result.sheet(whole=True), result.counts
    rows = {"source rows": counts.n_source, "target rows": counts.n_target}
    return Content("Evidence of a shift", sheet, [one_table("Cells of the predictions", sheet)], rows)
