"""``bayescal shift``: calibration in a population without labels."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ModelOptions, OutputOptions
from bayescal.shift.options import ShiftColumnOptions, ShiftQuestionOptions, SourceFile, TargetFile

EXAMPLES = """\b
[bold]Examples[/]
[dim]a classifier tested in a hospital, used in screening, where the disease is rarer[/]
  bayescal shift hospital.csv screening.csv --label ill --prob p \\
      --shift label
[dim]do the scores differ, and do different class frequencies explain this?[/]
  bayescal shift hospital.csv screening.csv --label ill --prob p --evidence
[dim]older patients: column w has the ratios of the densities of the features[/]
  bayescal shift hospital.csv clinic.csv --label ill --prob p \\
      --shift covariate --weights w
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

    State with --shift what differs between source and target, which scores alone cannot show.

    With --shift label, prints the class frequencies of the target and the calibration error there.

    The table then also has the error of predictions that are adapted to the target.

    With --shift covariate, prints how many rows the weighted source is worth, and the error in the target.

    With --evidence, first prints whether the scores of source and target differ.

    All intervals are 95 % credible intervals.

    The rows must fit into memory.
    """
    from bayescal.shift.from_files import evaluate_shifted_files

    return Job(
        lambda: evaluate_shifted_files(source, target, columns, question, model),
        outputs.given(),
        [source, target],
        outputs.details,
    )


COMMAND = Command(shift, EXAMPLES, "bayescal.shift.analysis.evaluate_shifted")
