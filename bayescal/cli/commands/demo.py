"""``bayescal demo``: two real classifiers, without a file."""

from pathlib import Path

from bayescal.cli.command import Command, Job

PICTURE = "bayescal-demo.png"


def demo() -> Job:
    """Evaluate and compare two real classifiers. Needs no file, and takes a few seconds.

    Prints tables and sentences, and saves the picture [bold]bayescal-demo.png[/] in the current folder.
    """
    from bayescal.cli.tour import show_digits

    return Job(show_digits, {"plot": Path.cwd() / PICTURE})


COMMAND = Command(demo)
