"""Pages and documents of the results of this folder."""

from dataclasses import replace
from functools import partial
from typing import Any

from bayescal.cumulative.base import Cumulative
from bayescal.cumulative.plot import cumulative_points, plot_cumulative
from bayescal.cumulative.posterior_result import CumulativePosterior, CurvePosterior
from bayescal.cumulative.result import CumulativeDifference
from bayescal.cumulative.subpopulation_posterior import SubpopulationPosterior
from bayescal.cumulative.subpopulation_result import SubpopulationScreen
from bayescal.report.document import NO_PARAMETERS, PROB, Parameters, document, document_of, with_table
from bayescal.report.page_content import WIDTH, Content, Picture, captioned, content, drawn, one_table
from bayescal.report.plot import drawn_by_type

drawn_by_type.register(Cumulative, plot_cumulative)


@drawn_by_type.register
def _(result: CurvePosterior, ax: Any = None, **options: Any) -> Any:
    return drawn_by_type(result.observed, ax, **options)


@drawn_by_type.register
def _(result: SubpopulationScreen, ax: Any = None, **options: Any) -> Any:
    return plot_cumulative(result[next(iter(result))], ax, **options)


def cumulative_picture(result: Cumulative, of: str = "") -> Picture:
    """Return a cumulative difference."""
    draw = partial(drawn, partial(plot_cumulative, result), 1.4 * WIDTH, WIDTH)
    return Picture(captioned("Cumulative difference", of), draw, wide=True)


@document_of.register
def _(result: Cumulative, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the worst interval of scores, the noise, and the interval of the Kuiper statistic.

    ``curve`` begins with the origin, which has no score; of more than 4000 points, it has the smallest and the largest
    of each of 2000 pieces. ``low`` and ``high`` are the ends of its simultaneous band. ``average_difference`` is the
    mean difference of all rows, the end of the curve. From counts, ``grid_error`` bounds the error by the bins.
    """
    points = cumulative_points(result, PROB)
    (first, last), (low, high) = result.worst_interval, result.kuiper_interval(PROB)
    grid = {"grid_error": result.grid_error} if isinstance(result, CumulativeDifference) else {}
    curve = {name: getattr(points, name).tolist() for name in ("share", "curve", "low", "high")}
    return {
        **with_table(result, parameters),
        "rows": int(result.steps.n_rows.sum()),
        "worst_interval": {"first": first, "last": last},
        "average_difference": result.average_difference,
        "curve": {"score": [None, *points.score.tolist()], **curve},
        **{name: getattr(result, name) for name in ("sigma", "null_sigma", "robust_sigma")},
        "kuiper_interval": {"probability": PROB, "low": low, "high": high},
        **grid,
    }


@document_of.register
def _(result: CumulativePosterior, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the model, the probabilities of its sub-models, and ``observed``, the document of the rows' curve.

    ``probability_below`` contains, for each statistic, the probability that it is below ``limit``.
    """
    below = {"limit": result.limit, **result.p_below}
    return {**_of_curve(result, parameters), "sub_models": result.sub_models, "probability_below": below}


@document_of.register
def _(result: SubpopulationPosterior, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also the model, the probabilities of its sub-models, and ``observed``, the document of the rows' curve.

    ``probability_of_0`` is the probability of equal means at every score.
    """
    drift = {"drift": result.p_drift, "segments": 1 - result.p_drift}
    return {**_of_curve(result, parameters), "sub_models": drift, "probability_of_0": result.p_zero}


def _of_curve(result: CurvePosterior, parameters: Parameters) -> dict[str, Any]:
    return {
        **with_table(result, parameters),
        "interval": {"probability": PROB, "kind": "equal-tailed"},
        "model": result.model,
        "draws": len(result.kuiper),
        "observed": document(result.observed),
    }


@content.register
def _(result: Cumulative) -> Content:
    sheet = result.sheet(whole=True)
    whole = isinstance(result, CumulativeDifference)
    title = "Cumulative difference" if whole else "Cumulative difference of a subpopulation"
    rows = {"rows": int(result.steps.n_rows.sum())}
    return Content(title, sheet, [one_table("Statistics", sheet)], rows, [cumulative_picture(result)])


@content.register
def _(result: CurvePosterior) -> Content:
    sheet, observed = result.sheet(whole=True), content(result.observed)
    remarks, notes = ((*getattr(sheet, of), *getattr(observed.sheet, of)) for of in ("remarks", "notes"))
    both = replace(sheet, sentence=f"{observed.sheet.sentence} {sheet.sentence}", remarks=remarks, notes=notes)
    shown = [one_table("Statistics of the population", sheet), one_table("Statistics of the rows", observed.sheet)]
    return Content("Posterior of the cumulative difference", both, shown, observed.rows, observed.pictures)


@content.register
def _(result: SubpopulationScreen) -> Content:
    sheet = result.sheet(whole=True)
    first = next(iter(result))
    picture = cumulative_picture(result[first], result.groups.equation(first))
    return Content("Subpopulations", sheet, [one_table("Groups", sheet)], {"rows": len(result.rows)}, [picture])
