"""Pages and pictures of the results of this folder; those of decision curves and of slopes are of their topics."""

from bayescal.report.page_content import Content, content, one_table
from bayescal.report.plot import drawn_by_type
from bayescal.survival.distribution import DistributionTests
from bayescal.survival.plot import plot_horizons
from bayescal.survival.result import SurvivalHorizons

drawn_by_type.register(SurvivalHorizons, plot_horizons)


@content.register
def _(result: DistributionTests) -> Content:
    sheet = result.sheet(whole=True)
    rows: dict[str, object] = {"rows": result.n_rows, "censored": result.n_censored}
    return Content("Tests of predicted distributions", sheet, [one_table("Tests", sheet)], rows)
