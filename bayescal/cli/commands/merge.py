"""``bayescal merge``: adds counts from files."""

from bayescal.cli.command import Job
from bayescal.cli.options import CountFiles, Output


def merge(files: CountFiles, output: Output) -> Job:
    """Add counts that were saved by bayescal count, perhaps on many machines.

    All must have been counted on the same bins and for the same target.
    """
    from bayescal.cli.counts import load_files

    return Job(lambda: load_files(files), {"output": output})  # the output may be one of the files
