"""``bayescal survival``: risks of an event by a horizon, from right-censored times."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ModelOptions, OutputOptions
from bayescal.survival.options import SurvivalColumnOptions, SurvivalFile, SurvivalQuestionOptions


def survival(
    file: SurvivalFile,
    columns: SurvivalColumnOptions,
    question: SurvivalQuestionOptions,
    model: ModelOptions,
    outputs: OutputOptions,
) -> Job:
    """Estimate the calibration error of stated risks at a horizon, from times of which some are censored.

    Prints the estimate, a table with 95 % credible intervals, and warnings.

    --details adds a one-line specification for a paper, estimates for comparison, and probabilities of sub-models.

    The last row of the table is the ratio of observed to expected events.

    With several models, prints which one is better calibrated, and a table of differences.

    The rows must fit into memory.
    """
    from bayescal.survival.from_files import compare_survival_file, evaluate_survival_file

    work = compare_survival_file if len(columns.risk or ()) > 1 else evaluate_survival_file
    return Job(lambda: work(file, columns, question, model), outputs.given(), [file], outputs.details)


COMMAND = Command(survival, "bayescal.survival.analysis.evaluate")
