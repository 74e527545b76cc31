"""``bayescal report``: evaluates the predictions in a file."""

from bayescal.cli.command import Job
from bayescal.cli.options import ColumnOptions, FileOrCounts, ModelOptions, OutputOptions, QuestionOptions

EXAMPLES = """\b
[bold]Examples[/]
[dim]one column: the probability that the label is 1[/]
  bayescal report games.csv --label won --prob probability
[dim]one column a class, p0 to p9, and labels 0 to 9; saves numbers and a picture[/]
  bayescal report test.parquet --label label --prob-prefix p \\
      --json ece.json --plot ece.png
[dim]columns p_cat, p_dog, p_fish, and labels cat, dog, fish; one question a class[/]
  bayescal report pets.tsv --label pet --prob-prefix p_ --target classwise
[dim]labels in words: first the one that counts as 0[/]
  bayescal report loans.jsonl --label outcome --prob p_default \\
      --classes paid,default
[dim]was the answer right, and how sure was the model of it?[/]
  bayescal report answers.jsonl --correct correct --confidence confidence
[dim]rows that were counted before, perhaps elsewhere[/]
  bayescal report counts.json
"""


def report(
    file: FileOrCounts,
    columns: ColumnOptions,
    question: QuestionOptions,
    model: ModelOptions,
    outputs: OutputOptions,
) -> Job:
    """Evaluate the predictions in a file: the posterior of its Expected Calibration Error.

    Prints a sentence to quote, a table with 95 % credible intervals, and the specification to put beside the number.

    Say what the columns hold: --label with --prob or --prob-prefix, or --correct with --confidence.

    The file is read in parts and may be larger than memory.
    """
    from bayescal.cli.evaluation import evaluate_file

    return Job(lambda: evaluate_file(file, columns, question, model), outputs.given(), [file])
