"""Options of the commands: type, help text and panel of the help page. Records hold options that belong together."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

#: Panels of the help pages.
COLUMNS, QUESTION, MODEL, OUTPUT = "Columns of FILE", "Question", "Model", "Output"
STUDY = "With --coverage: every size with every population and every curve"
EITHER = "With both"


@dataclass(frozen=True)
class Options:
    """Base of records of options. A command that takes a record has one option for each of its fields."""

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name: no None, no flag that is off, no empty list."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: v for name, v in values.items() if v is not None and v is not False and v != []}


def refuse(rule: str, given: Mapping[str, Any]) -> None:
    """Refuse options that cannot be used together with the others.

    Parameters
    ----------
    rule : str
        Rule that they break, for several options, as in "go with FILE".
    given : mapping
        The options that were given, by name.

    Raises
    ------
    ValueError
        If there are any.
    """
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"{names} {'goes' if len(given) == 1 else 'go'}{rule[2:]}.")


def _option(panel: str, metavar: str, help_text: str, *names: str, **rules: Any) -> Any:
    return typer.Option(*names, metavar=metavar, rich_help_panel=panel, help=help_text, **rules)


def _column(help_text: str, metavar: str = "COLUMN") -> Any:
    return _option(COLUMNS, metavar, help_text)


def _argument(help_text: str, metavar: str = "FILE") -> Any:
    return typer.Argument(metavar=metavar, show_default=False, help=help_text)


# arguments

_FILE = "Predictions, one row each: Parquet, CSV, TSV or JSON lines, whatever its name; text may be gzipped."
FileOrCounts = Annotated[Path, _argument(f"{_FILE} Or what `bayescal count` saved.")]
RowFiles = Annotated[list[Path], _argument(f"{_FILE} Several files are parts of one set of rows.")]
CountFiles = Annotated[list[Path], _argument("What `bayescal count` saved.", metavar="COUNTS.json")]
OptionalFile = Annotated[Path | None, _argument(_FILE)]
ComparedFiles = Annotated[list[Path], _argument(f"{_FILE} Several files hold a model each and are matched by --key.")]

# columns

_MODEL_COLUMN = "COLUMN or NAME=COLUMN"
Label = Annotated[str | None, _column("True labels: 0/1, true/false, class numbers.")]
Weights = Annotated[str | None, _column("Importance weights, >= 0.")]
Classes = Annotated[
    str | None,
    _column("Labels in words: with --prob that of 0 and that of 1, with --prob-prefix one for each column.", "A,B,..."),
]
Logits = Annotated[bool, typer.Option("--logits", rich_help_panel=COLUMNS, help="The probabilities are logits.")]


@dataclass(frozen=True)
class ColumnOptions(Options):
    """Columns of a file with the predictions of one classifier."""

    label: Label = None
    prob: Annotated[str | None, _column("Probability that the label is 1.")] = None
    prob_prefix: Annotated[
        str | None,
        _column(
            "Beginning of the names of the columns of class probabilities; the rest of each name is its class.",
            "PREFIX",
        ),
    ] = None
    correct: Annotated[
        str | None, _column("Whether the prediction was right, with --confidence, in place of --label.")
    ] = None
    confidence: Annotated[str | None, _column("How sure of it the model was, with --correct.")] = None
    weights: Weights = None
    classes: Classes = None
    logits: Logits = False


@dataclass(frozen=True)
class ColumnOptionsPerClassifier(Options):
    """Columns of one file, or of several, with the predictions of several classifiers."""

    label: Label = None
    prob: Annotated[
        list[str] | None,
        _column("Probability that the label is 1; once for each model of a file.", _MODEL_COLUMN),
    ] = None
    prob_prefix: Annotated[
        list[str] | None,
        _column(
            "Beginning of the names of a model's columns of class probabilities; once for each model of a file.",
            "PREFIX or NAME=PREFIX",
        ),
    ] = None
    correct: Annotated[
        list[str] | None,
        _column(
            "Whether a model's prediction was right, with --confidence, in place of --label; for all models or each."
        ),
    ] = None
    confidence: Annotated[
        list[str] | None, _column("How sure of it the model was; once for each model of a file.", _MODEL_COLUMN)
    ] = None
    key: Annotated[
        str | None,
        _column("With several files: what says which of their rows are the same. Every key once in each file."),
    ] = None
    weights: Weights = None
    classes: Classes = None
    logits: Logits = False


# question

_EVENT = "[bold]event[/]: is 1 as frequent as stated (what --prob asks)."
_TOP_LABEL = "[bold]top-label[/]: is the most probable class right as often as stated (what --prob-prefix asks)."
_CLASSWISE = "[bold]classwise[/]: is every class as frequent as stated."
_CONFIDENCE = "[bold]confidence[/]: what --confidence asks."
_BINS = "How many bins, or their edges: 0,0.5,0.9,1. The ECE depends on them."
_BINS_VALUES = "NUMBER or EDGES"
Target = Annotated[str | None, _option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL} {_CLASSWISE} {_CONFIDENCE}")]
Bins = Annotated[str | None, _option(QUESTION, _BINS_VALUES, _BINS)]
Binning = Annotated[str | None, _option(QUESTION, "NAME", "How a number becomes edges: equal-width or equal-mass.")]


@dataclass(frozen=True)
class QuestionOptions(Options):
    """The calibration error that is estimated."""

    target: Target = None
    bins: Bins = None
    binning: Binning = None


@dataclass(frozen=True)
class CompareQuestionOptions(Options):
    """The quantity that is compared."""

    estimand: Annotated[str, _option(QUESTION, "NAME", "Quantity to compare.")] = "ece"
    rope: Annotated[
        float | None,
        _option(
            QUESTION,
            "NUMBER",
            "Region of practical equivalence: models that differ by no more count as equal, in units of what is "
            "compared.",
        ),
    ] = None
    target: Annotated[str | None, _option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL} {_CONFIDENCE}")] = None
    bins: Bins = None
    binning: Binning = None


@dataclass(frozen=True)
class CountQuestionOptions(Options):
    """The outcome and the bins that are counted."""

    target: Annotated[str | None, _option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL}")] = None
    bins: Annotated[
        str | None,
        _option(
            QUESTION,
            _BINS_VALUES,
            "How many bins, or their edges; 100 can become 10 or 20 later. [dim]\\[default: 15][/]",
        ),
    ] = None


# model

SubModels = Annotated[
    str | None,
    _option(
        MODEL,
        "NAME,...",
        "Only these families or sub-models of the shrinkage model: independent (the model of release 0.1.0), shared, "
        "noise, exact, saturated, or the keys of `Evaluation.sub_models`. "
        "[dim]\\[default: all][/]",
    ),
]
Seed = Annotated[int, _option(MODEL, "NUMBER", "Of all random numbers; the same seed gives the same numbers.", min=0)]


@dataclass(frozen=True)
class ModelOptions(Options):
    """The posterior and its draws."""

    model: Annotated[str | None, _option(MODEL, "NAME", "The posterior.")] = None
    sub_models: SubModels = None
    draws: Annotated[int | None, _option(MODEL, "NUMBER", "Independent posterior draws.")] = None
    seed: Seed = 1


# files to write

Output = Annotated[
    Path,
    _option(OUTPUT, "OUT.json", "The counts: a few numbers for each bin.", "--output", "-o", show_default=False),
]
NetCdf = Annotated[Path | None, _option(OUTPUT, "OUT.nc", "All draws, for ArviZ.")]


@dataclass(frozen=True)
class JsonOptions(Options):
    """The file that every command with numbers can write."""

    json: Annotated[Path | None, _option(OUTPUT, "OUT.json", "All numbers; same input and seed, same bytes.")] = None


@dataclass(frozen=True)
class OutputOptions(JsonOptions):
    """Files that hold an evaluation."""

    plot: Annotated[
        Path | None, _option(OUTPUT, "OUT.png", "Reliability diagram and posterior; also .pdf or .svg.")
    ] = None
    netcdf: NetCdf = None


@dataclass(frozen=True)
class CompareOutputOptions(JsonOptions):
    """Files that hold a comparison."""

    plot: Annotated[Path | None, _option(OUTPUT, "OUT.png", "The models and their differences; also .pdf or .svg.")] = (
        None
    )
    netcdf: NetCdf = None


# the two checks of `bayescal verify`


@dataclass(frozen=True)
class AgreementOptions(Options):
    """Options of the check of a file, besides its columns."""

    target: Target = None
    binning: Binning = None
    model: Annotated[
        str | None,
        _option(MODEL, "NAME", "The posterior: shrinkage or dirichlet. [dim]\\[default: shrinkage][/]"),
    ] = None
    sub_models: SubModels = None


@dataclass(frozen=True)
class StudyOptions(Options):
    """Options of the coverage study."""

    sizes: Annotated[str | None, _option(STUDY, "N,...", "Numbers of rows. [dim]\\[default: 300,2000,20000][/]")] = None
    populations: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME,...",
            "Where confidences come from: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
        ),
    ] = None
    curves: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME[:STRENGTH],...",
            "True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. [dim]\\[default: six][/]",
        ),
    ] = None
    methods: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME,...",
            "shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap. [dim]\\[default: all][/]",
        ),
    ] = None
    repeats: Annotated[
        int | None, _option(STUDY, "NUMBER", "Data sets for each cell. [dim]\\[default: 100][/]", min=1)
    ] = None


@dataclass(frozen=True)
class VerifyOptions(Options):
    """Options of both checks."""

    bins: Annotated[str | None, _option(EITHER, _BINS_VALUES, f"{_BINS} [dim]\\[default: 15][/]")] = None
    draws: Annotated[
        int | None,
        _option(
            EITHER,
            "NUMBER",
            "With FILE: of PyMC, in four chains. With --coverage: posterior draws, or bootstrap resamples. "
            "[dim]\\[default: 10000, 2000][/]",
            min=1,
        ),
    ] = None
    seed: Seed = 1


Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets whose true ECE is known; count the intervals that contain it.",
    ),
]
