"""``bayescal shift``: calibration in a population without labels."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ModelOptions, OutputOptions
from bayescal.shift.options import ShiftColumnOptions, ShiftQuestionOptions, SourceFile, TargetFile


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


COMMAND = Command(shift, "bayescal.shift.analysis.evaluate_shifted")
