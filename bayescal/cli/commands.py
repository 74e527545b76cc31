"""The commands of the core: their functions, whose docstrings are pages of help, and examples.

Computation is imported when a command runs.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.cli import options
from bayescal.cli.command import Command, Job, Result

if TYPE_CHECKING:
    from bayescal.cli.evaluation import EvaluatedFile

PICTURE = "bayescal-demo.png"


def demo() -> Job:
    """Evaluate and compare two real classifiers. Needs no file, and takes a few seconds.

    Prints tables and sentences, and saves the picture [bold]bayescal-demo.png[/] in the current folder.
    """
    from bayescal.cli.tour import show_digits

    return Job(show_digits, {"plot": Path.cwd() / PICTURE})


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


def compare(
    files: options.CompareFiles,
    columns: options.ColumnOptionsPerClassifier,
    question: options.CompareQuestionOptions,
    model: options.ModelOptions,
    logs: options.LogOptions,
    gate: options.CompareGateOptions,
    outputs: options.CompareOutputOptions,
) -> Job:
    """Compare classifiers on the same rows: which is better calibrated, by how much, and how certain is that?

    Prints a sentence to quote, a table of differences with 95 % credible intervals, and a table of the classifiers.

    All classifiers are in one file, or each has its own file and --key names the column that matches the rows.
    With --by, compares over data sets: the mean difference over those in the column, and over a population of them.
    """
    from bayescal.cli.gate import require_of_comparison
    from bayescal.cli.logs import compare_any

    def compared() -> Result:
        return require_of_comparison(gate, lambda: compare_any(files, columns, question, model, logs))

    return Job(compared, outputs.given(), files, outputs.details)


def count(
    files: options.CountFiles,
    output: options.Output,
    columns: options.ColumnOptions,
    question: options.CountQuestionOptions,
) -> Job:
    """Count the rows of files by bin and outcome, and save the counts in a small file.

    [bold]bayescal merge[/] adds counts of several machines or days, and [bold]bayescal report[/] evaluates them.

    The result is the same as that of one pass over all rows.
    """
    from bayescal.cli.counts import count_files

    return Job(lambda: count_files(files, columns, question), {"output": output}, files)


def merge(files: options.MergeFiles, output: options.Output) -> Job:
    """Add counts that bayescal count has saved, for instance on several machines.

    All files must have the same bins and the same target.
    """
    from bayescal.cli.counts import load_files

    return Job(lambda: load_files(files), {"output": output})  # a merged file may be overwritten


#: In the order of the help.
COMMANDS = (
    Command(demo),
    Command(report, "bayescal.evaluate.evaluate"),
    Command(compare, "bayescal.analyses.compare.compare"),
    Command(count),
    Command(merge),
)
