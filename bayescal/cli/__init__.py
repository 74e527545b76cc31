"""The command line. Each command's page of help is its signature."""

from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.options import DefaultsOfCompare, DefaultsOfEvaluate
from bayescal.cli.words import one_clear_message, prepare_terminal

REPORT_EXAMPLES = """\b
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
[dim]rows that were counted before, perhaps elsewhere[/]
  bayescal report counts.json
"""
COMPARE_EXAMPLES = """\b
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
COUNT_EXAMPLES = """\b
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
VERIFY_EXAMPLES = """\b
[bold]Examples[/]
[dim]what `bayescal report` says of this file, from PyMC[/]
  bayescal verify games.csv --label won --prob probability
[dim]the study of the documentation, about a minute and a half for every 20 repeats[/]
  bayescal verify --coverage
[dim]one's own rows and bins, two methods, a few minutes less[/]
  bayescal verify --coverage --sizes 500 --populations top --bins 10 \\
      --curves calibrated,temperature:1.2 --methods shrinkage,percentile-bootstrap
"""
EPILOG = "Start with [bold]bayescal demo[/]; then [bold]bayescal report --help[/] for a file of your own."

app = typer.Typer(
    cls=options.Commands,
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    """Evaluate and compare two real classifiers: tables, sentences, a picture. Needs no file and a few seconds.

    The picture is saved as [bold]bayescal-demo.png[/] in the current folder.
    """
    with one_clear_message():
        from bayescal.cli.demo import run

        run()


@app.command(cls=DefaultsOfEvaluate, no_args_is_help=True, epilog=REPORT_EXAMPLES)
def report(
    file: options.FileOrCounts,
    label: options.Label = None,
    prob: options.Prob = None,
    prob_prefix: options.ProbPrefix = None,
    correct: options.Correct = None,
    confidence: options.Confidence = None,
    weights: options.Weights = None,
    classes: options.Classes = None,
    logits: options.Logits = False,
    target: options.Target = None,
    bins: options.Bins = None,
    binning: options.Binning = None,
    model: options.Model = None,
    sub_models: options.SubModels = None,
    draws: options.Draws = None,
    seed: options.Seed = 1,
    json: options.Json = None,
    plot: options.Plot = None,
    netcdf: options.NetCdf = None,
) -> None:
    """Evaluate the predictions in a file: the posterior of its Expected Calibration Error.

    Prints a sentence to quote, a table with 95 % credible intervals, and the specification to put beside the number.

    Say what the columns hold: --label with --prob or --prob-prefix, or --correct with --confidence.

    The file is read in parts and may be larger than memory.
    """
    with one_clear_message():
        from bayescal.cli.report import run
        from bayescal.cli.request import ReportRequest, sub_models_asked

        asked = {"target": target, "bins": bins, "binning": binning, "model": model, "draws": draws, "logits": logits}
        chosen = {"sub_models": sub_models_asked(sub_models)}
        columns = (label, prob, prob_prefix, correct, confidence, weights, classes)
        run(ReportRequest(file, *columns, seed, asked | chosen), {"json": json, "plot": plot, "netcdf": netcdf})


@app.command(cls=DefaultsOfCompare, no_args_is_help=True, epilog=COMPARE_EXAMPLES)
def compare(
    files: options.Files,
    label: options.Label = None,
    prob: options.Probs = None,
    prob_prefix: options.ProbPrefixes = None,
    correct: options.Corrects = None,
    confidence: options.Confidences = None,
    key: options.Key = None,
    weights: options.Weights = None,
    classes: options.Classes = None,
    logits: options.Logits = False,
    estimand: options.Estimand = "ece",
    rope: options.Rope = None,
    target: options.TargetOfOne = None,
    bins: options.Bins = None,
    binning: options.Binning = None,
    model: options.Model = None,
    sub_models: options.SubModels = None,
    draws: options.Draws = None,
    seed: options.Seed = 1,
    json: options.Json = None,
    plot: options.PlotOfComparison = None,
    netcdf: options.NetCdf = None,
) -> None:
    """Compare models on the same rows: which is better calibrated, by how much, and how sure is that?

    Prints a sentence to quote, a table of the differences with 95 % credible intervals, and each model by itself.

    The models are columns of one file, or files of their own with a column that names each row (--key).
    """
    with one_clear_message():
        from bayescal.cli.compare import CompareRequest, run
        from bayescal.cli.request import sub_models_asked

        asked = {"target": target, "bins": bins, "binning": binning, "model": model, "draws": draws, "logits": logits}
        chosen = {"sub_models": sub_models_asked(sub_models)}
        columns = (key, label, prob or (), prob_prefix or (), correct or (), confidence or (), weights, classes)
        run(
            CompareRequest(files, *columns, seed, estimand, {**asked, **chosen, "rope": rope}),
            {"json": json, "plot": plot, "netcdf": netcdf},
        )


@app.command(no_args_is_help=True, epilog=COUNT_EXAMPLES)
def count(
    files: options.RowFiles,
    output: options.Output,
    label: options.Label = None,
    prob: options.Prob = None,
    prob_prefix: options.ProbPrefix = None,
    correct: options.Correct = None,
    confidence: options.Confidence = None,
    weights: options.Weights = None,
    classes: options.Classes = None,
    logits: options.Logits = False,
    target: options.TargetOfCounts = None,
    bins: options.BinsOfCounts = None,
) -> None:
    """Count the rows of files by bin and outcome: a small file, to be added to others and reported.

    Count on each machine or each day, add with [bold]bayescal merge[/], evaluate with [bold]bayescal report[/].

    The sum is, integer for integer, what one pass over all rows would give.
    """
    with one_clear_message():
        from bayescal.cli import counted
        from bayescal.cli.request import ReportRequest

        asked = {"target": target, "bins": bins, "logits": logits}
        columns = (label, prob, prob_prefix, correct, confidence, weights, classes)
        counted.count([ReportRequest(file, *columns, 0, asked) for file in files], output)


@app.command(no_args_is_help=True)
def merge(files: options.CountFiles, output: options.Output) -> None:
    """Add counts that were saved by bayescal count, perhaps on many machines.

    All must have been counted on the same bins and for the same target.
    """
    with one_clear_message():
        from bayescal.cli import counted

        counted.merge(files, output)


@app.command(no_args_is_help=True, epilog=VERIFY_EXAMPLES)
def verify(
    file: options.OptionalFile = None,
    label: options.Label = None,
    prob: options.Prob = None,
    prob_prefix: options.ProbPrefix = None,
    correct: options.Correct = None,
    confidence: options.Confidence = None,
    weights: options.Weights = None,
    classes: options.Classes = None,
    logits: options.Logits = False,
    target: options.Target = None,
    binning: options.Binning = None,
    model: options.ModelOfFile = None,
    sub_models: options.SubModels = None,
    coverage: options.Coverage = False,
    sizes: options.Sizes = None,
    populations: options.Populations = None,
    curves: options.Curves = None,
    methods: options.Methods = None,
    repeats: options.Repeats = None,
    bins: options.BinsOfEither = None,
    draws: options.DrawsOfEither = None,
    seed: options.Seed = 1,
    json: options.Json = None,
) -> None:
    """Check the package's own claims, on a file or on simulated data of your choice.

    With FILE: is the posterior that `bayescal report` takes for this file the right one?
    The same model, written in PyMC, is sampled by NUTS, and every quantity is compared.
    It takes a minute, several for the default model; the exit code is 1 if they differ.

    With --coverage: how often do the intervals of the models, and of the usual bootstraps, contain the truth?
    A hyphen in a name may stand for a space.
    """
    with one_clear_message():
        of_file = {
            "label": label,
            "prob": prob,
            "prob-prefix": prob_prefix,
            "correct": correct,
            "confidence": confidence,
            "weights": weights,
            "classes": classes,
            "logits": logits,
            "target": target,
            "binning": binning,
            "model": model,
            "sub-models": sub_models,
        }
        of_study = {
            "sizes": sizes,
            "populations": populations,
            "curves": curves,
            "methods": methods,
            "repeats": repeats,
        }
        if file is not None:
            if coverage:
                raise ValueError("FILE and --coverage are two checks; ask for one at a time.")
            options.refuse("go with --coverage, not with FILE", of_study)
            from bayescal.cli import agreement
            from bayescal.cli.request import ReportRequest, sub_models_asked

            columns = (label, prob, prob_prefix, correct, confidence, weights, classes)
            asked = {
                "target": target,
                "bins": bins,
                "binning": binning,
                "model": model,
                "logits": logits,
                "sub_models": sub_models_asked(sub_models),
            }
            raise typer.Exit(agreement.run(ReportRequest(file, *columns, seed, asked), draws, json))
        if not coverage:
            raise ValueError(
                "say what is to be verified: FILE or --coverage. `bayescal verify --help` has the options."
            )
        options.refuse("go with FILE, not with --coverage", of_file)
        from bayescal.cli import coverage as study

        study.run(
            study.CoverageRequest(sizes, populations, curves, methods, bins, repeats or 100, draws or 2000, seed), json
        )


def main() -> None:
    """Run the command line; what ``bayescal`` calls."""
    prepare_terminal()
    app(prog_name="bayescal")
