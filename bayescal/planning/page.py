"""Pages and documents of the results of this folder."""

from typing import Any

from bayescal.planning.result import Plan
from bayescal.report.document import NO_PARAMETERS, PROB, Parameters, document_of, head
from bayescal.report.page_content import Content, content
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
    note = (
        "P(goal met): share of the simulated studies with this number of rows that meet the goal, with its standard "
        "error. The answer is the number of rows at which this probability is the assurance."
    )
    shown = [Table("Simulated numbers of rows", sheet.header, sheet.rows, note)] if sheet.header else []
    return Content("How many labels are needed", sheet, shown, {})
