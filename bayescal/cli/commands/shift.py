"""``bayescal shift``: calibration in a population without labels."""

from bayescal.cli.command import Job
from bayescal.cli.options import ModelOptions, OutputOptions
from bayescal.cli.shift_options import ShiftColumnOptions, ShiftQuestionOptions, SourceFile, TargetFile

EXAMPLES = """\b
[bold]Examples[/]
[dim]a model tested in a hospital, used in screening, where the disease is rarer[/]
  bayescal shift hospital.csv screening.csv --label ill --prob p \\
      --shift label
[dim]several classes; all numbers as JSON[/]
  bayescal shift source.parquet target.parquet --label y --prob-prefix p_ \\
      --shift label --json shift.json
"""


def shift(
    source: SourceFile,
    target: TargetFile,
    columns: ShiftColumnOptions,
    question: ShiftQuestionOptions,
    model: ModelOptions,
    outputs: OutputOptions,
) -> Job:
    """Estimate the calibration error in a target without labels, from labelled rows of a source.

    Prints the class frequencies of the target, and the calibration error there, with 95 % credible intervals.

    The table also has the error of predictions that are adapted to the target.

    State with --shift what differs between source and target.

    The rows must fit into memory.
    """
    from bayescal.cli.shift import evaluate_shifted_files

    return Job(
        lambda: evaluate_shifted_files(source, target, columns, question, model), outputs.given(), [source, target]
    )
