"""``bayescal clinical``: discrimination, calibration and clinical utility of risk models."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import DrawsOptions
from bayescal.clinical import options

EXAMPLES = """\b
[bold]Examples[/]
[dim]one model; its net benefit at two thresholds of treatment[/]
  bayescal clinical patients.csv --label died --prob risk \\
      --threshold 0.1,0.2
[dim]the table for a paper, and its figure[/]
  bayescal clinical patients.csv --label died --prob risk \\
      --threshold 0.1 --latex table.tex --plot figure.pdf
[dim]two models on the same patients, with names of your own[/]
  bayescal clinical patients.parquet --label died --prob Old=p1 \\
      --prob New=p2 --threshold 0.1 --html summary.html
[dim]one model by hospital, with differences of the hospitals[/]
  bayescal clinical patients.csv --label died --prob risk \\
      --by site --html sites.html
"""


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


COMMAND = Command(clinical, EXAMPLES, "bayescal.clinical.analysis.summary")
