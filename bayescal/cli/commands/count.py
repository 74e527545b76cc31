"""``bayescal count``: counts the rows of files."""

from bayescal.cli.command import Job
from bayescal.cli.options import ColumnOptions, CountQuestionOptions, Output, RowFiles

EXAMPLES = """\b
[bold]Examples[/]
[dim]on each machine, or for each day[/]
  bayescal count monday.parquet --label won --prob probability -o mon.json
[dim]then one report of all[/]
  bayescal merge mon.json tue.json wed.json -o week.json
  bayescal report week.json
[dim]many files at once; fine bins, of which a report takes fewer[/]
  bayescal count part-*.parquet --label won --prob p --bins 300 -o all.json
  bayescal report all.json --bins 15
"""


def count(files: RowFiles, output: Output, columns: ColumnOptions, question: CountQuestionOptions) -> Job:
    """Count the rows of files by bin and outcome: a small file, to be added to others and reported.

    Count on each machine or each day, add with [bold]bayescal merge[/], evaluate with [bold]bayescal report[/].

    The sum is, integer for integer, what one pass over all rows would give.
    """
    from bayescal.cli.counts import count_files

    return Job(lambda: count_files(files, columns, question), {"output": output}, files)
