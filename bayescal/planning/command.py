"""``bayescal plan``: plans how many rows to label; ``bayescal plan-validation``: the same without a pilot."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, CountQuestionOptions, GoalOptions, ModelOptions, PageOptions, ReportFile
from bayescal.planning.options import ValidationOptions


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


FURTHER = (Command(plan_validation, "bayescal.planning.without_pilot.validation"),)
# `prob` of `labels_needed` is the probability of intervals, and the option names a column
COMMAND = Command(plan, "bayescal.planning.analysis.labels_needed", besides=("prob",))
