"""``bayescal plan``: plans how many rows to label."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, CountQuestionOptions, GoalOptions, ModelOptions, PageOptions, ReportFile

EXAMPLES = """\b
[bold]Examples[/]
[dim]rows for a 95 % interval of the ECE no wider than 0.02[/]
  bayescal plan pilot.csv --label won --prob probability --width 0.02
[dim]rows with which the posterior is 95 % sure that the ECE is below 0.05[/]
  bayescal plan pilot.csv --label won --prob probability --below 0.05
[dim]the same for another quantity, from counts that bayescal count has saved[/]
  bayescal plan pilot.json --below 0.1 --estimand l2_error
"""


def plan(
    file: ReportFile,
    columns: ColumnOptions,
    question: CountQuestionOptions,
    goal: GoalOptions,
    model: ModelOptions,
    outputs: PageOptions,
) -> Job:
    """Plan how many more rows to label, from a pilot of a few hundred labelled rows.

    The goal is one of --width, --below and --above.

    Simulates studies: a truth from the posterior of the pilot, new rows, and their evaluation together with the pilot.
    """
    from bayescal.planning.from_files import plan_file

    return Job(lambda: plan_file(file, columns, question, goal, model), outputs.given(), [file], outputs.details)


# `prob` of `labels_needed` is the probability of intervals, and the option names a column
COMMAND = Command(plan, EXAMPLES, "bayescal.planning.analysis.labels_needed", besides=("prob",))
