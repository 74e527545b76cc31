"""``bayescal plan``: plans how many rows to label; ``bayescal plan-validation``: the same without a pilot."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, CountQuestionOptions, GoalOptions, ModelOptions, PageOptions, ReportFile
from bayescal.planning.options import ValidationOptions

EXAMPLES = """\b
[bold]Examples[/]
[dim]rows for a 95 % interval of the ECE no wider than 0.02[/]
  bayescal plan pilot.csv --label won --prob probability --width 0.02
[dim]rows with which the posterior is 95 % sure that the ECE is below 0.05[/]
  bayescal plan pilot.csv --label won --prob probability --below 0.05
[dim]the same for another quantity, from counts that bayescal count has saved[/]
  bayescal plan pilot.json --below 0.1 --estimand l2_error
"""


OF_NUMBERS = """\b
[bold]Examples[/]
[dim]rows for the width of three intervals, with uncertain numbers[/]
  bayescal plan-validation --prevalence 0.1,0.08,0.13 --auc 0.78,0.75,0.81 \\
      --width observed_expected=0.2 --width slope=0.3 --width auc=0.1
[dim]rows to find the best strategy at a threshold of treatment[/]
  bayescal plan-validation --prevalence 0.1 --auc 0.78 --threshold 0.1 --best 0.9
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


def plan_validation(numbers: ValidationOptions, outputs: PageOptions) -> Job:
    """Plan how many rows an external validation of a risk model needs, from published numbers, without a pilot.

    A number is known (0.1), or has a mean and a 95 % interval (0.1,0.08,0.13). Give at least one goal.
    """
    from bayescal.planning.from_files import plan_of_numbers

    return Job(lambda: plan_of_numbers(numbers), outputs.given(), details=outputs.details)


FURTHER = (Command(plan_validation, OF_NUMBERS, "bayescal.planning.without_pilot.validation"),)
# `prob` of `labels_needed` is the probability of intervals, and the option names a column
COMMAND = Command(plan, EXAMPLES, "bayescal.planning.analysis.labels_needed", besides=("prob",))
