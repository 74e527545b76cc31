"""Every option of the command line: its type, its words, and the panel of the help page it stands in."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from bayescal import _render

COLUMNS, QUESTION, MODEL, FILES = "Columns of FILE", "Question", "Model", "Output"
STUDY = "With --coverage: every size with every population and every curve"
EITHER = "With both"
#: The exception that typer raises for a wrong command line; it comes from click or from typer's own copy of click.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The group of all commands. Error messages about arguments are shortened and their control characters escaped."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments as `TyperGroup` does."""
        with _visible_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command as `TyperGroup` does."""
        with _visible_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _visible_usage_errors() -> Iterator[None]:
    try:
        yield
    except UsageError as problem:
        problem.message = _render.printed(problem.message)
        raise


class DefaultsOfEvaluate(TyperCommand):
    """Help that shows the defaults of `bayescal.evaluate`, imported only when that help is asked for."""

    def defaults(self) -> dict[str, Any]:
        """Default of each keyword."""
        from bayescal.evaluate import evaluate

        return defaults_of(evaluate)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As typer does, with the defaults filled in."""
        from bayescal.analyses.one import MODELS
        from bayescal.estimands.estimand import registered

        comparable = [name for name, each in registered().items() if each.better and each.coordinate is None]
        choices = {"model": [*MODELS], "estimand": comparable}
        defaults = self.defaults()
        for param in self.params:
            if isinstance(param, TyperOption) and param.name in choices:
                param.help = f"{param.help} One of: {', '.join(choices[param.name])}."
            default = defaults.get(param.name)
            if default is not None:
                param.default = default  # help is all that happens after this
        super().format_help(ctx, formatter)


class DefaultsOfCompare(DefaultsOfEvaluate):
    """Help that shows the defaults of `bayescal.compare`."""

    def defaults(self) -> dict[str, Any]:
        """Default of each keyword."""
        from bayescal.analyses.compare import compare

        return defaults_of(compare)


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Default of every keyword of a function, so that options have them from where they are documented."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def refuse(rule: str, given: Mapping[str, Any]) -> None:
    """Refuse options that have no meaning beside the others.

    Parameters
    ----------
    rule : str
        Where they belong.
    given : mapping
        Name and value; None or False where it was not given.

    Raises
    ------
    ValueError
        If any was given.
    """
    out_of_place = [f"--{name}" for name, value in given.items() if value not in (None, False)]
    if out_of_place:
        raise ValueError(f"{', '.join(out_of_place)} {'goes' if len(out_of_place) == 1 else 'go'}{rule[2:]}.")


def _column(help_text: str) -> Any:
    return typer.Option(metavar="COLUMN", rich_help_panel=COLUMNS, help=help_text)


def _about(panel: str, metavar: str, help_text: str, **rules: Any) -> Any:
    return typer.Option(metavar=metavar, rich_help_panel=panel, help=help_text, **rules)


_FILE = "Predictions, one row each: Parquet, CSV, TSV or JSON lines, whatever its name; text may be gzipped."
File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help=_FILE)]
FileOrCounts = Annotated[
    Path, typer.Argument(metavar="FILE", show_default=False, help=f"{_FILE} Or what `bayescal count` saved.")
]
RowFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", show_default=False, help=f"{_FILE} Several files are parts of one set of rows."),
]
CountFiles = Annotated[
    list[Path], typer.Argument(metavar="COUNTS.json", show_default=False, help="What `bayescal count` saved.")
]
OptionalFile = Annotated[Path | None, typer.Argument(metavar="FILE", show_default=False, help=_FILE)]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE", show_default=False, help=f"{_FILE} Several files hold a model each and are matched by --key."
    ),
]

Label = Annotated[str | None, _column("True labels: 0/1, true/false, class numbers.")]
Prob = Annotated[str | None, _column("Probability that the label is 1.")]
ProbPrefix = Annotated[
    str | None,
    _about(
        COLUMNS,
        "PREFIX",
        "Beginning of the names of the columns of class probabilities; the rest of each name is its class.",
    ),
]
Correct = Annotated[str | None, _column("Whether the prediction was right, with --confidence, in place of --label.")]
Confidence = Annotated[str | None, _column("How sure of it the model was, with --correct.")]
Key = Annotated[
    str | None, _column("With several files: what says which of their rows are the same. Every key once in each file.")
]
_MODEL_COLUMN = "COLUMN or NAME=COLUMN"
Probs = Annotated[
    list[str] | None,
    _about(COLUMNS, _MODEL_COLUMN, "Probability that the label is 1; once for each model of a file."),
]
ProbPrefixes = Annotated[
    list[str] | None,
    _about(
        COLUMNS,
        "PREFIX or NAME=PREFIX",
        "Beginning of the names of a model's columns of class probabilities; once for each model of a file.",
    ),
]
Corrects = Annotated[
    list[str] | None,
    _column("Whether a model's prediction was right, with --confidence, in place of --label; for all models or each."),
]
Confidences = Annotated[
    list[str] | None, _about(COLUMNS, _MODEL_COLUMN, "How sure of it the model was; once for each model of a file.")
]
Weights = Annotated[str | None, _column("Importance weights, >= 0.")]
Classes = Annotated[
    str | None,
    _about(
        COLUMNS,
        "A,B,...",
        "Labels in words: with --prob that of 0 and that of 1, with --prob-prefix one for each column.",
    ),
]
Logits = Annotated[bool, typer.Option("--logits", rich_help_panel=COLUMNS, help="The probabilities are logits.")]

Target = Annotated[
    str | None,
    _about(
        QUESTION,
        "NAME",
        "[bold]event[/]: is 1 as frequent as stated (what --prob asks). "
        "[bold]top-label[/]: is the most probable class right as often as stated (what --prob-prefix asks). "
        "[bold]classwise[/]: is every class as frequent as stated. "
        "[bold]confidence[/]: what --confidence asks.",
    ),
]
TargetOfOne = Annotated[
    str | None,
    _about(
        QUESTION,
        "NAME",
        "[bold]event[/]: is 1 as frequent as stated (what --prob asks). "
        "[bold]top-label[/]: is the most probable class right as often as stated (what --prob-prefix asks). "
        "[bold]confidence[/]: what --confidence asks.",
    ),
]
Estimand = Annotated[
    str,
    _about(
        QUESTION,
        "NAME",
        "Quantity to compare.",
    ),
]
Rope = Annotated[
    float | None,
    _about(
        QUESTION,
        "NUMBER",
        "Region of practical equivalence: models that differ by no more count as equal, in units of what is compared.",
    ),
]
_BINS = "How many bins, or their edges: 0,0.5,0.9,1. The ECE depends on them."
Bins = Annotated[str | None, _about(QUESTION, "NUMBER or EDGES", _BINS)]
BinsOfCounts = Annotated[
    str | None,
    _about(
        QUESTION,
        "NUMBER or EDGES",
        "How many bins, or their edges; 100 can become 10 or 20 later. [dim]\\[default: 15][/]",
    ),
]
TargetOfCounts = Annotated[
    str | None,
    _about(
        QUESTION,
        "NAME",
        "[bold]event[/]: is 1 as frequent as stated (what --prob asks). "
        "[bold]top-label[/]: is the most probable class right as often as stated (what --prob-prefix asks).",
    ),
]
Binning = Annotated[str | None, _about(QUESTION, "NAME", "How a number becomes edges: equal-width or equal-mass.")]
Model = Annotated[str | None, _about(MODEL, "NAME", "The posterior.")]
ModelOfFile = Annotated[
    str | None, _about(MODEL, "NAME", "The posterior: shrinkage or dirichlet. [dim]\\[default: shrinkage][/]")
]
SubModels = Annotated[
    str | None,
    _about(
        MODEL,
        "NAME,...",
        "Only these families or sub-models of the shrinkage model: independent (the model of release 0.1.0), shared, "
        "noise, exact, saturated, or the keys of `Evaluation.sub_models`. "
        "[dim]\\[default: all][/]",
    ),
]
Draws = Annotated[int | None, _about(MODEL, "NUMBER", "Independent posterior draws.")]
Seed = Annotated[int, _about(MODEL, "NUMBER", "Of all random numbers; the same seed gives the same numbers.", min=0)]

Json = Annotated[Path | None, _about(FILES, "OUT.json", "All numbers; same input and seed, same bytes.")]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT.json",
        rich_help_panel=FILES,
        show_default=False,
        help="The counts: a few numbers for each bin.",
    ),
]
Plot = Annotated[Path | None, _about(FILES, "OUT.png", "Reliability diagram and posterior; also .pdf or .svg.")]
PlotOfComparison = Annotated[
    Path | None, _about(FILES, "OUT.png", "The models and their differences; also .pdf or .svg.")
]
NetCdf = Annotated[Path | None, _about(FILES, "OUT.nc", "All draws, for ArviZ.")]

Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets whose true ECE is known; count the intervals that contain it.",
    ),
]
Sizes = Annotated[str | None, _about(STUDY, "N,...", "Numbers of rows. [dim]\\[default: 300,2000,20000][/]")]
Populations = Annotated[
    str | None,
    _about(
        STUDY,
        "NAME,...",
        "Where confidences come from: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
    ),
]
Curves = Annotated[
    str | None,
    _about(
        STUDY,
        "NAME[:STRENGTH],...",
        "True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. [dim]\\[default: six][/]",
    ),
]
Methods = Annotated[
    str | None,
    _about(
        STUDY,
        "NAME,...",
        "shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap. [dim]\\[default: all][/]",
    ),
]
Repeats = Annotated[int | None, _about(STUDY, "NUMBER", "Data sets for each cell. [dim]\\[default: 100][/]", min=1)]
BinsOfEither = Annotated[str | None, _about(EITHER, "NUMBER or EDGES", f"{_BINS} [dim]\\[default: 15][/]")]
DrawsOfEither = Annotated[
    int | None,
    _about(
        EITHER,
        "NUMBER",
        "With FILE: of PyMC, in four chains. With --coverage: posterior draws, or bootstrap resamples. "
        "[dim]\\[default: 10000, 2000][/]",
        min=1,
    ),
]
