"""``bayescal count``: counts the rows of files."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import ColumnOptions, CountFiles, CountQuestionOptions, Output

EXAMPLES = """\b
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


def count(files: CountFiles, output: Output, columns: ColumnOptions, question: CountQuestionOptions) -> Job:
    """Count the rows of files by bin and outcome, and save the counts in a small file.

    [bold]bayescal merge[/] adds counts of several machines or days, and [bold]bayescal report[/] evaluates them.

    The result is the same as that of one pass over all rows.
    """
    from bayescal.cli.counts import count_files

    return Job(lambda: count_files(files, columns, question), {"output": output}, files)


COMMAND = Command(count, EXAMPLES)
