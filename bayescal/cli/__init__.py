"""The command line: ``demo``, ``report FILE`` and ``verify``. Each command's page of help is its signature."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from bayescal.cli.words import one_clear_message

COLUMNS, QUESTION, MODEL, FILES = "Columns of FILE", "What is asked", "What is believed", "What is saved"
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
"""
VERIFY_EXAMPLES = """\b
[bold]Examples[/]
[dim]the study of the documentation, about a minute and a half for every 20 repeats[/]
  bayescal verify --coverage
[dim]one's own rows and bins, two methods, a few minutes less[/]
  bayescal verify --coverage --sizes 500 --populations top --bins 10 \\
      --curves calibrated,temperature:1.2 --methods shrinkage,percentile-bootstrap
"""
EPILOG = "Start with [bold]bayescal demo[/]; then [bold]bayescal report --help[/] for a file of your own."

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _DefaultsOfEvaluate(TyperCommand):
    """Help that shows the defaults of `bayescal.evaluate`, imported only when that help is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from bayescal.cli.report import evaluate_defaults
        from bayescal.evaluate import MODELS

        for param in self.params:
            if isinstance(param, TyperOption) and param.name == "model":
                param.help = f"{param.help} One of: {', '.join(MODELS)}."
            default = evaluate_defaults().get(param.name)
            if default is not None:
                param.default = default  # help is all that happens after this
        super().format_help(ctx, formatter)


def _version(asked: bool) -> None:
    if asked:
        from bayescal import __version__

        typer.echo(f"bayescal {__version__}")
        raise typer.Exit


@app.callback(epilog=EPILOG)
def _bayescal(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """How far are the probabilities of a classifier from the truth, and how sure can one be of that?

    The posterior of the Expected Calibration Error (ECE), and what a perfect model would show by chance.
    """


@app.command()
def demo() -> None:
    """Evaluate two real classifiers: a table, a sentence and a picture each. Needs no file and a few seconds.

    The picture is saved as [bold]bayescal-demo.png[/] in the current folder.
    """
    with one_clear_message():
        from bayescal.cli.demo import run

        run()


@app.command(
    cls=_DefaultsOfEvaluate,
    no_args_is_help=True,
    epilog=EXAMPLES,
)
def report(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            help="Predictions, one row each: Parquet, CSV, TSV or JSON lines, whatever its name; text may be gzipped.",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="True labels: 0/1, true/false, class numbers."),
    ] = None,
    prob: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Probability that the label is 1."),
    ] = None,
    prob_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            rich_help_panel=COLUMNS,
            help="Beginning of the names of the columns of class probabilities; the rest of each name is its class.",
        ),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
            help="Whether the prediction was right, with --confidence, in place of --label.",
        ),
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="How sure of it the model was, with --correct."),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help="Importance weights, >= 0.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            rich_help_panel=COLUMNS,
            help="Labels in words: with --prob that of 0 and that of 1, with --prob-prefix one for each column.",
        ),
    ] = None,
    logits: Annotated[
        bool, typer.Option("--logits", rich_help_panel=COLUMNS, help="The probabilities are logits.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=QUESTION,
            help="[bold]event[/]: is 1 as frequent as stated (what --prob asks). "
            "[bold]top-label[/]: is the most probable class right as often as stated (what --prob-prefix asks). "
            "[bold]classwise[/]: is every class as frequent as stated. "
            "[bold]confidence[/]: what --confidence asks.",
        ),
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER or EDGES",
            rich_help_panel=QUESTION,
            help="How many bins, or their edges: 0,0.5,0.9,1. The ECE depends on them.",
        ),
    ] = None,
    binning: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=QUESTION, help="How a number becomes edges: equal-width or equal-mass."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", rich_help_panel=MODEL, help="The posterior.")] = None,
    draws: Annotated[
        int | None, typer.Option(metavar="NUMBER", rich_help_panel=MODEL, help="Independent posterior draws.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="NUMBER", rich_help_panel=MODEL, help="Of the draws; the same seed gives the same numbers."
        ),
    ] = 1,
    json: Annotated[
        Path | None,
        typer.Option(metavar="OUT.json", rich_help_panel=FILES, help="All numbers; same input and seed, same bytes."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.png", rich_help_panel=FILES, help="Reliability diagram and posterior; also .pdf or .svg."
        ),
    ] = None,
    netcdf: Annotated[
        Path | None, typer.Option(metavar="OUT.nc", rich_help_panel=FILES, help="All draws, for ArviZ.")
    ] = None,
) -> None:
    """Evaluate the predictions in a file: the posterior of its Expected Calibration Error.

    Prints a sentence to quote, a table with 95 % credible intervals, and the specification to put beside the number.

    Say what the columns hold: --label with --prob or --prob-prefix, or --correct with --confidence.
    """
    with one_clear_message():
        from bayescal.cli.report import Request, run

        run(
            Request(
                file,
                label=label,
                prob=prob,
                prob_prefix=prob_prefix,
                correct=correct,
                confidence=confidence,
                weights=weights,
                classes=classes,
                seed=seed,
                asked={
                    "target": target,
                    "bins": bins,
                    "binning": binning,
                    "model": model,
                    "draws": draws,
                    "logits": logits,
                },
                outputs={"json": json, "plot": plot, "netcdf": netcdf},
            )
        )


CELLS = "What is simulated: every size with every population and every curve"


@app.command(no_args_is_help=True, epilog=VERIFY_EXAMPLES)
def verify(
    coverage: Annotated[
        bool,
        typer.Option(
            "--coverage", help="Simulate data sets whose true ECE is known; count the intervals that contain it."
        ),
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,...", rich_help_panel=CELLS, help="Numbers of rows. [dim]\\[default: 300,2000,20000][/]"
        ),
    ] = None,
    populations: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            rich_help_panel=CELLS,
            help="Where confidences come from: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
        ),
    ] = None,
    curves: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:STRENGTH],...",
            rich_help_panel=CELLS,
            help="True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. [dim]\\[default: six][/]",
        ),
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER or EDGES",
            rich_help_panel=CELLS,
            help="How many bins, or their edges: 0,0.5,0.9,1. [dim]\\[default: 15][/]",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            rich_help_panel="What is measured",
            help="shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap. [dim]\\[default: all][/]",
        ),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", rich_help_panel="What is measured", help="Data sets for each cell."),
    ] = 100,
    draws: Annotated[
        int,
        typer.Option(
            min=1, metavar="NUMBER", rich_help_panel="What is measured", help="Posterior draws, or bootstrap resamples."
        ),
    ] = 2000,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="NUMBER",
            rich_help_panel="What is measured",
            help="Of all random numbers; the same seed gives the same table.",
        ),
    ] = 1,
    json: Annotated[
        Path | None,
        typer.Option(metavar="OUT.json", rich_help_panel=FILES, help="All numbers of the tables, and more."),
    ] = None,
) -> None:
    """Check the package's own claims, on bins, sizes and curves of your choice.

    With --coverage: how often do the intervals of the models, and of the usual bootstraps, contain the truth?

    Prints a table cell by cell and one over all cells. A hyphen in a name may stand for a space.
    """
    with one_clear_message():
        if not coverage:
            raise ValueError("say what is to be verified: --coverage. `bayescal verify --help` has the options.")
        from bayescal.cli.verify import Request, run

        run(Request(sizes, populations, curves, methods, bins, repeats, draws, seed), json)


def main() -> None:
    """Run the command line; what ``bayescal`` calls."""
    app(prog_name="bayescal")
