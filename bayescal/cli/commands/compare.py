"""``bayescal compare``: compares classifiers on the same rows."""

from bayescal.cli.command import Job
from bayescal.cli.options import (
    ColumnOptionsPerClassifier,
    ComparedFiles,
    CompareOutputOptions,
    CompareQuestionOptions,
    ModelOptions,
)

EXAMPLES = """\b
[bold]Examples[/]
[dim]two columns of one file; the models are called by their columns[/]
  bayescal compare games.csv --label won --prob logistic --prob forest
[dim]or by names of your own; differences up to 0.02 do not matter[/]
  bayescal compare games.csv --label won --prob Old=p1 --prob New=p2 \\
      --rope 0.02
[dim]columns old_0 to old_9 and new_0 to new_9; saves numbers and a picture[/]
  bayescal compare test.parquet --label label --prob-prefix old_ \\
      --prob-prefix new_ --json difference.json --plot difference.png
[dim]a file for each model; rows are matched by their id, in any order[/]
  bayescal compare old.parquet new.parquet --key id --label won --prob p
[dim]two assistants answered the same questions: who knows better when to be sure?[/]
  bayescal compare a.jsonl b.jsonl --key question --correct right \\
      --confidence score
"""


def compare(
    files: ComparedFiles,
    columns: ColumnOptionsPerClassifier,
    question: CompareQuestionOptions,
    model: ModelOptions,
    outputs: CompareOutputOptions,
) -> Job:
    """Compare models on the same rows: which is better calibrated, by how much, and how sure is that?

    Prints a sentence to quote, a table of the differences with 95 % credible intervals, and each model by itself.

    The models are columns of one file, or files of their own with a column that names each row (--key).
    """
    from bayescal.cli.comparison import compare_files

    return Job(lambda: compare_files(files, columns, question, model), outputs.given(), files)
