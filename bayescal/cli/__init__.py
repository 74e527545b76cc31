"""The command line: assembles the program ``bayescal`` from its commands."""

import sys
from typing import Annotated

import typer

from bayescal.cli.command import command
from bayescal.cli.commands import (
    clinical,
    compare,
    count,
    cumulative,
    demo,
    merge,
    plan,
    report,
    shift,
    survival,
    verify,
)
from bayescal.cli.help import (
    Commands,
    HelpOfClinical,
    HelpOfCompare,
    HelpOfEvaluate,
    HelpOfPlan,
    HelpOfShift,
    HelpOfSurvival,
    OneValueEach,
)
from bayescal.cli.words import prepare_terminal, say_error

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


app.command(cls=OneValueEach)(command(demo.demo))
app.command(cls=HelpOfEvaluate, no_args_is_help=True, epilog=report.EXAMPLES)(command(report.report))
app.command(cls=HelpOfCompare, no_args_is_help=True, epilog=compare.EXAMPLES)(command(compare.compare))
app.command(cls=OneValueEach, no_args_is_help=True, epilog=count.EXAMPLES)(command(count.count))
app.command(cls=OneValueEach, no_args_is_help=True)(command(merge.merge))
app.command(cls=HelpOfPlan, no_args_is_help=True, epilog=plan.EXAMPLES)(command(plan.plan))
app.command(cls=OneValueEach, no_args_is_help=True, epilog=cumulative.EXAMPLES)(command(cumulative.cumulative))
app.command(cls=HelpOfClinical, no_args_is_help=True, epilog=clinical.EXAMPLES)(command(clinical.clinical))
app.command(cls=HelpOfSurvival, no_args_is_help=True, epilog=survival.EXAMPLES)(command(survival.survival))
app.command(cls=HelpOfShift, no_args_is_help=True, epilog=shift.EXAMPLES)(command(shift.shift))
app.command(cls=OneValueEach, no_args_is_help=True, epilog=verify.EXAMPLES)(command(verify.verify))


def main() -> None:
    """Run the program ``bayescal``."""
    prepare_terminal()
    try:
        app(prog_name="bayescal")
    except OSError as problem:  # help or the version cannot be printed; commands report their own errors
        say_error(problem)
        sys.exit(2)
