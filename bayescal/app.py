"""The program ``bayescal``: its commands, in the order of its help."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from bayescal._lazy import MODULES
from bayescal.cli.command import Command, Commands, command, help_of
from bayescal.cli.commands import COMMANDS, demo
from bayescal.cli.words import prepare_terminal, say_error
from bayescal.verify import command as verify

EPILOG = "Start with [bold]bayescal demo[/]. For a file of your own, see [bold]bayescal report --help[/]."

app = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        from bayescal import __version__

        typer.echo(f"bayescal {__version__}")
        raise typer.Exit


@app.callback(epilog=EPILOG)
def _bayescal(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """How well are the probabilities of a classifier calibrated, and how certain is the answer?

    Estimates the Expected Calibration Error (ECE), and shows the ECE that perfect calibration would give by chance.
    """


def _of_topics() -> Iterator[Command]:
    """Commands of the topics, in alphabetical order of the topics."""
    for topic in MODULES:
        if Path(__file__).with_name(topic).joinpath("command.py").is_file():
            module = import_module(f"bayescal.{topic}.command")
            yield from (module.COMMAND, *getattr(module, "FURTHER", ()))


for _each in (*COMMANDS, *_of_topics(), verify.COMMAND):
    _kind, _needs_more = help_of(_each.defaults, _each.besides), _each.function is not demo
    app.command(cls=_kind, no_args_is_help=_needs_more, epilog=_each.examples)(command(_each.function))


def main() -> None:
    """Run the program ``bayescal``."""
    prepare_terminal()
    try:
        app(prog_name="bayescal")
    except OSError as problem:  # help or the version cannot be printed; commands report their own errors
        say_error(problem)
        sys.exit(2)
