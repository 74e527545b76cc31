"""``bayescal cumulative``: calibration without bins."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, ReportFile
from bayescal.cumulative.options import CumulativeModelOptions, CumulativeOptions, CumulativeOutputOptions


def cumulative(
    file: ReportFile,
    columns: ColumnOptions,
    groups: CumulativeOptions,
    model: CumulativeModelOptions,
    outputs: CumulativeOutputOptions,
) -> Job:
    """Measure calibration without bins: cumulative differences between outcomes and probabilities.

    Prints the scores with the largest deviation, the Kuiper and Kolmogorov-Smirnov statistics, and P-values.

    Then prints the statistics of the population, with 95 % intervals.

    With --by, compares groups of rows with all rows at equal probabilities, without intervals.

    The rows must fit into memory; a file of counts in fine bins needs little memory.
    """
    from bayescal.cumulative.from_files import cumulative_of_file

    return Job(
        lambda: cumulative_of_file(file, columns, groups, model, outputs), outputs.given(), [file], outputs.details
    )


COMMAND = Command(cumulative)
