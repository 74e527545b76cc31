"""``bayescal merge``: adds counts from files."""

from bayescal.cli.command import Command, Job
from bayescal.cli.options import MergeFiles, Output


def merge(files: MergeFiles, output: Output) -> Job:
    """Add counts that bayescal count has saved, for instance on several machines.

    All files must have the same bins and the same target.
    """
    from bayescal.cli.counts import load_files

    return Job(lambda: load_files(files), {"output": output})  # a merged file may be overwritten


COMMAND = Command(merge)
