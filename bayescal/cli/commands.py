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


REPORT_EXAMPLES = """\b
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


COMPARE_EXAMPLES = """\b
[bold]Examples[/]
[dim]two columns of one file; the classifiers are named after their columns[/]
  bayescal compare games.csv --label won --prob logistic --prob forest
[dim]names of your own; classifiers that differ by at most 0.02 count as equal[/]
  bayescal compare games.csv --label won --prob Old=p1 --prob New=p2 \\
      --rope 0.02
[dim]columns old_0 to old_9 and new_0 to new_9; saves all numbers and a picture[/]
  bayescal compare test.parquet --label label --prob-prefix old_ \\
      --prob-prefix new_ --json difference.json --plot difference.png
[dim]over the hospitals that the column site names: a mean, and what other hospitals may show[/]
  bayescal compare patients.csv --label died --prob old --prob new --by site
[dim]one file per classifier, with rows in any order; the column id identifies them[/]
  bayescal compare old.parquet new.parquet --key id --label won --prob p
[dim]two models on the same questions, in logs as the programs write them[/]
  bayescal compare results/old results/new --format lm-eval
[dim]in continuous integration: exit code 1 unless New is worse by at most 0.01[/]
  bayescal compare games.csv --label won --prob Old=p1 --prob New=p2 \\
      --require-no-worse 0.01 --assurance 0.9
[dim]two assistants that answered the same questions: whose confidence is calibrated better?[/]
  bayescal compare a.jsonl b.jsonl --key question --correct right \\
      --confidence score
"""


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


COUNT_EXAMPLES = """\b
[bold]Examples[/]
[dim]one file of counts per machine or per day[/]
  bayescal count monday.parquet --label won --prob probability -o mon.json
[dim]add the files, and report all rows together[/]
  bayescal merge mon.json tue.json wed.json -o week.json
  bayescal report week.json
[dim]many files at once, on fine bins, which the report merges into 15 bins[/]
  bayescal count part-*.parquet --label won --prob p --bins 300 -o all.json
  bayescal report all.json --bins 15
"""


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
    Command(report, REPORT_EXAMPLES, "bayescal.evaluate.evaluate"),
    Command(compare, COMPARE_EXAMPLES, "bayescal.analyses.compare.compare"),
    Command(count, COUNT_EXAMPLES),
    Command(merge),
)
