"""``bayescal report``: evaluates the predictions in a file."""

from typing import TYPE_CHECKING

from bayescal.cli import options
from bayescal.cli.command import Command, Job

if TYPE_CHECKING:
    from bayescal.cli.evaluation import EvaluatedFile

EXAMPLES = """\b
[bold]Examples[/]
[dim]one column with the probability that the label is 1[/]
  bayescal report games.csv --label won --prob probability
[dim]one column per class, p0 to p9, and labels 0 to 9; saves all numbers and a picture[/]
  bayescal report test.parquet --label label --prob-prefix p \\
      --json ece.json --plot ece.png
[dim]a page for the browser, in one file that can be sent by mail[/]
  bayescal report games.csv --label won --prob probability --html ece.html
[dim]columns p_cat, p_dog, p_fish and labels cat, dog, fish; calibration of each class[/]
  bayescal report pets.tsv --label pet --prob-prefix p_ --target classwise
[dim]labels that are words: first the label of 0, then the label of 1[/]
  bayescal report loans.jsonl --label outcome --prob p_default \\
      --classes paid,default
[dim]answers of a language model: whether each was right, and its confidence[/]
  bayescal report answers.jsonl --correct correct --confidence confidence
[dim]logs as the programs write them: each subject, and all questions[/]
  bayescal report results/my-model --format lm-eval
  bayescal report logs --format inspect --correct match --abstain wrong
[dim]one evaluation per hospital, in one pass over the file[/]
  bayescal report patients.parquet --label died --prob risk --by hospital
[dim]the same for small hospitals, which borrow strength from each other[/]
  bayescal report patients.parquet --label died --prob risk --by hospital \\
      --pooling partial
[dim]discrimination and calibration in one table[/]
  bayescal report games.csv --label won --prob probability \\
      --estimand ece,auc,brier_score
[dim]in continuous integration: exit code 1 unless P(ECE < 0.05) is at least 0.9[/]
  bayescal report games.csv --label won --prob probability \\
      --require-below 0.05 --assurance 0.9
[dim]counts that bayescal count has saved[/]
  bayescal report counts.json
"""


def report(
    files: options.ReportFiles,
    columns: options.ColumnOptions,
    groups: options.GroupOptions,
    question: options.QuestionOptions,
    model: options.ModelOptions,
    logs: options.LogOptions,
    gate: options.GateOptions,
    outputs: options.OutputOptions,
) -> Job:
    """Estimate the Expected Calibration Error (ECE) of the predictions in a file, with credible intervals.

    Prints the estimate, a table with 95 % credible intervals, and warnings.

    --details adds a one-line specification for a paper, estimates for comparison, and probabilities of sub-models.

    Name the columns with --label and either --prob or --prob-prefix, or with --correct and --confidence.

    The file is read in parts and may be larger than memory.
    """
    from bayescal.cli.gate import require_of_report
    from bayescal.cli.logs import report_files

    def evaluate(about: options.QuestionOptions) -> "EvaluatedFile":
        return report_files(files, columns, logs, groups, about, model)

    return Job(lambda: require_of_report(gate, question, evaluate), outputs.given(), files, outputs.details)


COMMAND = Command(report, EXAMPLES, "bayescal.evaluate.evaluate")
