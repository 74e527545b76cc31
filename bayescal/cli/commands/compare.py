"""``bayescal compare``: compares classifiers on the same rows."""

from bayescal.cli import options
from bayescal.cli.command import Command, Job, Result

EXAMPLES = """\b
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


COMMAND = Command(compare, EXAMPLES, "bayescal.analyses.compare.compare")
