"""``bayescal clinical``: discrimination, calibration and clinical utility of risk models."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import DrawsOptions
from bayescal.clinical import options


def clinical(
    files: options.ClinicalFiles,
    columns: options.RiskColumnOptions,
    question: options.ClinicalQuestionOptions,
    model: DrawsOptions,
    outputs: options.ClinicalOutputOptions,
) -> Job:
    """Summarise risk models: discrimination, calibration and clinical utility in one table.

    Prints AUC, Brier score, measures of calibration and, at the thresholds, net benefit, with 95 % credible intervals.

    The rows must fit into memory.
    """
    from bayescal.clinical.from_files import clinical_of_files

    return Job(lambda: clinical_of_files(files, columns, question, model), outputs.given(), files, outputs.details)


COMMAND = Command(clinical, "bayescal.clinical.analysis.summary")
