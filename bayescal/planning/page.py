"""Pages and documents of the results of this folder."""

from functools import partial
from typing import Any

from bayescal._arrays import Axes
from bayescal._texts import text_of
from bayescal.planning.result import Plan
from bayescal.planning.validation_result import CHOICES, WORDS, ValidationPlan
from bayescal.report.document import NO_PARAMETERS, PROB, Parameters, document_of, head
from bayescal.report.drawing import axes_or_new, finished, is_small, key_above, palette, titled
from bayescal.report.page_content import WIDTH, Content, Picture, content, drawn, one_table
from bayescal.report.plot import drawn_by_type
from bayescal.report.tables import Table

PLAN_SCHEMA = "bayescal.plan/1"  #: Changes when a reader of the file would have to change.


@document_of.register
def _(result: Plan, parameters: Parameters = NO_PARAMETERS) -> dict[str, Any]:
    """Return also ``goal``, ``assurance``, ``reachable``, ``rows`` with ``interval``, and the simulated ``table``."""
    return {
        **head(PLAN_SCHEMA, result.sheet(), parameters),
        "goal": result.goal,
        "assurance": result.assurance,
        "reachable": result.reachable,
        "rows": result.rows,
        "interval": {"probability": PROB, "low": result.interval[0], "high": result.interval[1]},
        "table": result.curve(),
    }


@content.register
def _(result: Plan) -> Content:
    sheet = result.sheet(whole=True)
    note = text_of("columns of a plan")
    shown = [Table("Simulated numbers of rows", sheet.header, sheet.rows, note)] if sheet.header else []
    return Content("How many labels are needed", sheet, shown, {})


@drawn_by_type.register(ValidationPlan)
def _(result: ValidationPlan, ax: "Axes | None" = None) -> "Axes":
    ax = axes_or_new(ax, figsize=(6.4, 4.0))
    small, colours = is_small(ax, 4.0, 2.6), palette(ax)
    for i, (key, goal) in enumerate(result.goals.items()):
        color, (rows, shares) = colours.cycle[i % len(colours.cycle)], zip(*goal.curve.items(), strict=True)
        ax.plot(rows, shares, color=color, label=WORDS[key], gid=key, linestyle="--" if key in CHOICES else "-")
        if goal.rows is not None:
            ax.plot([goal.rows], [goal.wanted], "o", color=color, gid=f"{key} rows")
    if answers := [goal.rows for goal in result.goals.values() if goal.rows]:
        ax.set_xlim(min(answers) / 5, 4 * max(answers))
    ax.axhline(result.assurance, color=colours.grey, linewidth=0.8, linestyle=":", gid="assurance")
    ax.set(xscale="log", xlabel="rows", ylabel="share of studies that meet the goal", ylim=(-0.03, 1.03))
    ax.xaxis.set_major_formatter("{x:.0f}")
    above = key_above(ax, small=small)
    title = "Not reached" if result.rows is None else f"{result.rows} rows meet all goals"
    titled(ax, title, [] if small else [f"dotted: assurance {result.assurance:g}"], above=above, small=small)
    return finished(ax, small=small)


@content.register
def _(result: ValidationPlan) -> Content:
    sheet = result.sheet(whole=True)
    draw = partial(drawn, partial(drawn_by_type, result), WIDTH, 4.0)
    picture = Picture("Share of studies that meet each goal", draw)
    return Content("Rows of a validation", sheet, [one_table("Goals", sheet)], {}, [picture])
