"""Options of the commands: type, help text and panel of the help page. Records hold options that belong together."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

#: Panels of the help pages.
COLUMNS, QUESTION, MODEL, OUTPUT = "Columns of FILE", "Question", "Model", "Output"
GOAL = "Goal"
STUDY = "With --coverage: all combinations of size, population and curve"
EITHER = "With FILE or --coverage"


@dataclass(frozen=True)
class Options:
    """Base of records of options. A command that takes a record has one option for each of its fields."""

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name: no None, no flag that is off, no empty list."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: v for name, v in values.items() if v is not None and v is not False and v != []}


def given_in(*records: Options) -> dict[str, Any]:
    """Return the options of several records that were given, by name."""
    return {name: value for record in records for name, value in record.given().items()}


def refuse(given: Mapping[str, Any], rule: str) -> None:
    """Refuse options that cannot be used together with the others.

    Parameters
    ----------
    given : mapping
        The options that were given, by name.
    rule : str
        End of the message: the circumstances under which they cannot be used.

    Raises
    ------
    ValueError
        If there are any.

    Examples
    --------
    >>> refuse({"prob_prefix": "p_"}, "with --coverage, only with FILE")
    Traceback (most recent call last):
    ValueError: --prob-prefix cannot be used with --coverage, only with FILE.
    """
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"{names} cannot be used {rule}.")


def _option(panel: str, metavar: str, help_text: str, *names: str, **rules: Any) -> Any:
    return typer.Option(*names, metavar=metavar, rich_help_panel=panel, help=help_text, **rules)


def _number(text: str) -> float:
    """Parse a number, with a hint for a percentage."""
    from bayescal._checks import of_percent  # loads numpy

    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.{of_percent(text)}") from None


def _column(help_text: str, metavar: str = "COLUMN") -> Any:
    return _option(COLUMNS, metavar, help_text)


def _argument(help_text: str, metavar: str = "FILE") -> Any:
    return typer.Argument(metavar=metavar, show_default=False, help=help_text)


# arguments

_FILE = "Predictions, one per row, as Parquet, CSV, TSV or JSON lines (recognised by content); text may be gzipped."
ReportFile = Annotated[Path, _argument(f"{_FILE} Or counts that `bayescal count` saved.")]
CountFiles = Annotated[list[Path], _argument(f"{_FILE} The rows of several files are counted together.")]
MergeFiles = Annotated[list[Path], _argument("Counts that `bayescal count` saved.", metavar="COUNTS.json")]
VerifyFile = Annotated[Path | None, _argument(_FILE)]
CompareFiles = Annotated[
    list[Path], _argument(f"{_FILE} Several files hold one classifier each; --key matches their rows.")
]

ClinicalFiles = Annotated[
    list[Path], _argument(f"{_FILE} Several files hold one model each; --key matches their rows.")
]

# columns

_NAMED_COLUMN = "COLUMN or NAME=COLUMN"
_PER_CLASSIFIER = "Repeat the option for each classifier in a file."
Label = Annotated[str | None, _column("True labels: 0/1, true/false, or class numbers.")]
Weights = Annotated[str | None, _column("Importance weights, >= 0.")]
Classes = Annotated[
    str | None,
    _column(
        "Labels, if they are words. With --prob: the words for 0 and 1. With --prob-prefix: one word per column.",
        "A,B,...",
    ),
]
Logits = Annotated[
    bool, typer.Option("--logits", rich_help_panel=COLUMNS, help="The columns hold logits in place of probabilities.")
]


@dataclass(frozen=True)
class ColumnOptions(Options):
    """Columns of a file with the predictions of one classifier."""

    label: Label = None
    prob: Annotated[str | None, _column("Predicted probability that the label is 1.")] = None
    prob_prefix: Annotated[
        str | None,
        _column(
            "Prefix of the columns of class probabilities; the rest of each column name is the class.",
            "PREFIX",
        ),
    ] = None
    correct: Annotated[
        str | None, _column("Whether the prediction was right; with --confidence, in place of --label.")
    ] = None
    confidence: Annotated[str | None, _column("Confidence in the prediction; with --correct.")] = None
    weights: Weights = None
    classes: Classes = None
    logits: Logits = False


@dataclass(frozen=True)
class ColumnOptionsPerClassifier(Options):
    """Columns of one file, or of several, with the predictions of several classifiers."""

    label: Label = None
    prob: Annotated[
        list[str] | None,
        _column(f"Predicted probability that the label is 1. {_PER_CLASSIFIER}", _NAMED_COLUMN),
    ] = None
    prob_prefix: Annotated[
        list[str] | None,
        _column(
            f"Prefix of the columns of class probabilities. {_PER_CLASSIFIER}",
            "PREFIX or NAME=PREFIX",
        ),
    ] = None
    correct: Annotated[
        list[str] | None,
        _column(
            "Whether the prediction was right; with --confidence, in place of --label. Once, or once per classifier."
        ),
    ] = None
    confidence: Annotated[
        list[str] | None,
        _column(f"Confidence in the prediction; with --correct. {_PER_CLASSIFIER}", _NAMED_COLUMN),
    ] = None
    key: Annotated[
        str | None,
        _column("With several files: column that identifies a row. Each key must occur exactly once in each file."),
    ] = None
    weights: Weights = None
    classes: Classes = None
    logits: Logits = False


@dataclass(frozen=True)
class RiskColumnOptions(Options):
    """Columns of one file, or of several, with the risks that one or several models state."""

    label: Annotated[str | None, _column("Whether the event happened: 0/1, true/false.")] = None
    prob: Annotated[
        list[str] | None,
        _column("Predicted probability of the event. Repeat the option for each model in a file.", _NAMED_COLUMN),
    ] = None
    key: Annotated[
        str | None,
        _column("With several files: column that identifies a row. Each key must occur exactly once in each file."),
    ] = None
    weights: Weights = None
    classes: Annotated[str | None, _column("The words for 0 and 1, if the labels are words.", "A,B")] = None
    logits: Logits = False


@dataclass(frozen=True)
class GroupOptions(Options):
    """The groups of rows that are evaluated separately."""

    by: Annotated[
        str | None,
        _column(
            "Column of groups: one evaluation per value, and one of all rows. At most 1666 groups with the default "
            "draws and bins."
        ),
    ] = None


@dataclass(frozen=True)
class CumulativeOptions(Options):
    """The groups of rows that are compared with all rows."""

    by: Annotated[str | None, _column("Column of groups: each is compared with all rows at equal probabilities.")] = (
        None
    )
    value: Annotated[str | None, _column("One group of --by, instead of all.", "VALUE")] = None
    zoom: Annotated[str | None, _column("Only rows with probabilities in an interval, ends included.", "LOW,HIGH")] = (
        None
    )


# question

_EVENT = "Kind of calibration. [bold]event[/]: label 1 is as frequent as predicted (default with --prob)."
_TOP_LABEL = "[bold]top-label[/]: the most probable class is right as often as predicted (default with --prob-prefix)."
_CLASSWISE = "[bold]classwise[/]: each class is as frequent as predicted."
_CONFIDENCE = (
    "[bold]confidence[/]: predictions are right as often as their confidence says (default with --confidence)."
)
_BINS = "Number of bins, or their edges as in 0,0.5,0.9,1. The ECE depends on the bins."
_BINS_VALUES = "NUMBER or EDGES"
Target = Annotated[str | None, _option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL} {_CLASSWISE} {_CONFIDENCE}")]
Bins = Annotated[str | None, _option(QUESTION, _BINS_VALUES, _BINS)]
Binning = Annotated[
    str | None,
    _option(QUESTION, "NAME", "How a number of bins becomes edges: equal-width, equal-mass or equal-effective-mass."),
]


@dataclass(frozen=True)
class QuestionOptions(Options):
    """The calibration error that is estimated."""

    estimand: Annotated[
        list[str] | None,
        _option(
            QUESTION,
            "NAMES",
            "Quantities of the table, separated by commas, such as ece,auc,brier_score; or give the option several "
            "times. By default all errors of calibration.",
        ),
    ] = None
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
            "Region of practical equivalence, in units of the estimand: classifiers that differ by at most this much "
            "count as equal.",
            parser=_number,
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
            "Number of bins, or their edges. Bins can be merged later, as 100 into 20 or 10. [dim]\\[default: 15][/]",
        ),
    ] = None


@dataclass(frozen=True)
class ClinicalQuestionOptions(Options):
    """Thresholds of treatment, bins of the ECE, and the floor of probabilities."""

    threshold: Annotated[
        list[str] | None,
        _option(
            QUESTION,
            "NUMBERS",
            "Thresholds of treatment at which the net benefit is stated, separated by commas as in 0.1,0.2; or give "
            "the option several times. Without thresholds there is no net benefit.",
        ),
    ] = None
    bins: Bins = None
    binning: Binning = None
    floor: Annotated[
        float | None,
        _option(
            QUESTION,
            "NUMBER",
            "Keep probabilities at least this far from 0 and 1 for intercept and slope, if rows contradict a "
            "probability of 0 or 1.",
            parser=_number,
        ),
    ] = None


# the goal of a plan


@dataclass(frozen=True)
class GoalOptions(Options):
    """The goal of a plan; exactly one of width, below and above."""

    width: Annotated[float | None, _option(GOAL, "WIDTH", "A 95 % interval no wider than this.", parser=_number)] = None
    below: Annotated[
        float | None,
        _option(
            GOAL, "LIMIT", "A posterior probability of 95 % that the quantity is below this limit.", parser=_number
        ),
    ] = None
    above: Annotated[
        float | None,
        _option(
            GOAL, "LIMIT", "The same above a limit, for quantities of which larger values are better.", parser=_number
        ),
    ] = None
    estimand: Annotated[
        str | None, _option(GOAL, "NAME", "The quantity. auc needs FILE to hold counts on many bins, merged by --bins.")
    ] = None
    assurance: Annotated[
        float | None, _option(GOAL, "SHARE", "Probability with which the goal is to be met.", parser=_number)
    ] = None
    largest: Annotated[int | None, _option(GOAL, "NUMBER", "Largest number of rows to consider.")] = None
    simulations: Annotated[int | None, _option(GOAL, "NUMBER", "Number of simulated studies, at least 20.")] = None


# model

SubModels = Annotated[
    str | None,
    _option(
        MODEL,
        "NAME,...",
        "Families or sub-models of the shrinkage model to use: independent (the model of release 0.1.0), shared, "
        "noise, exact, saturated, or keys of `Evaluation.sub_models`. [dim]\\[default: all][/]",
    ),
]
_SEED = "Seed of the random numbers; the same seed gives the same results."


@dataclass(frozen=True)
class ModelOptions(Options):
    """The posterior and its draws."""

    model: Annotated[str | None, _option(MODEL, "NAME", "Model of the posterior.")] = None
    sub_models: SubModels = None
    draws: Annotated[int | None, _option(MODEL, "NUMBER", "Number of independent posterior draws.")] = None
    seed: Annotated[int, _option(MODEL, "NUMBER", _SEED, min=0)] = 1


@dataclass(frozen=True)
class DrawsOptions(Options):
    """The draws of posteriors whose model is fixed."""

    draws: Annotated[int | None, _option(MODEL, "NUMBER", "Number of draws of each posterior.")] = None
    seed: Annotated[int, _option(MODEL, "NUMBER", _SEED, min=0)] = 1


@dataclass(frozen=True)
class CumulativeModelOptions(Options):
    """The posterior of a cumulative difference, and its draws."""

    model: Annotated[
        str | None,
        _option(
            MODEL,
            "NAME",
            "Origin of the draws: pooled, a posterior and a confidence distribution with equal shares, or segments, "
            "the posterior alone. [dim]\\[default: pooled][/]",
        ),
    ] = None
    draws: Annotated[
        int | None, _option(MODEL, "NUMBER", "Number of draws of each statistic. [dim]\\[default: 4000][/]")
    ] = None
    seed: Annotated[int | None, _option(MODEL, "NUMBER", f"{_SEED} [dim]\\[default: 1][/]", min=0)] = None
    below: Annotated[
        float | None,
        _option(
            MODEL,
            "LIMIT",
            "Print the probability that the Kuiper statistic of the population is below this limit. "
            "[dim]\\[default: 0.02][/]",
            parser=_number,
        ),
    ] = None


# files to write

Output = Annotated[
    Path,
    _option(OUTPUT, "OUT.json", "File for the counts, a few numbers per bin.", "--output", "-o", show_default=False),
]
NetCdf = Annotated[Path | None, _option(OUTPUT, "OUT.nc", "All draws, for ArviZ.")]


@dataclass(frozen=True)
class JsonOptions(Options):
    """The document that `bayescal report`, `compare` and `verify` can write."""

    json: Annotated[
        Path | None, _option(OUTPUT, "OUT.json", "All numbers. The same input and seed give the same bytes.")
    ] = None


@dataclass(frozen=True)
class PageOptions(JsonOptions):
    """The documents that `bayescal report` and `compare` can write."""

    html: Annotated[
        Path | None,
        _option(OUTPUT, "OUT.html", "A page for the browser: pictures, tables, and what was read, in one file."),
    ] = None


@dataclass(frozen=True)
class OutputOptions(PageOptions):
    """Files that hold an evaluation."""

    plot: Annotated[
        Path | None, _option(OUTPUT, "OUT.png", "Reliability diagram and posterior, as .png, .pdf or .svg.")
    ] = None
    netcdf: NetCdf = None


@dataclass(frozen=True)
class CumulativeOutputOptions(PageOptions):
    """Files that hold a cumulative difference."""

    json: Annotated[
        Path | None,
        _option(
            OUTPUT, "OUT.json", "All numbers, and with --by all groups. The same input and seed give the same bytes."
        ),
    ] = None
    plot: Annotated[Path | None, _option(OUTPUT, "OUT.png", "The cumulative difference, as .png, .pdf or .svg.")] = None


@dataclass(frozen=True)
class CompareOutputOptions(PageOptions):
    """Files that hold a comparison."""

    plot: Annotated[
        Path | None, _option(OUTPUT, "OUT.png", "Classifiers and their differences, as .png, .pdf or .svg.")
    ] = None
    netcdf: NetCdf = None


@dataclass(frozen=True)
class ClinicalOutputOptions(PageOptions):
    """Files that hold a clinical summary."""

    latex: Annotated[Path | None, _option(OUTPUT, "OUT.tex", "The table for a paper, as LaTeX.")] = None
    plot: Annotated[
        Path | None, _option(OUTPUT, "OUT.png", "Calibration curves and decision curves, as .png, .pdf or .svg.")
    ] = None


# the two checks of `bayescal verify`


@dataclass(frozen=True)
class AgreementOptions(Options):
    """Options of the check of a file, besides its columns."""

    target: Target = None
    binning: Binning = None
    model: Annotated[
        str | None,
        _option(MODEL, "NAME", "Model of the posterior: shrinkage or dirichlet. [dim]\\[default: shrinkage][/]"),
    ] = None
    sub_models: SubModels = None


@dataclass(frozen=True)
class StudyOptions(Options):
    """Options of the coverage study."""

    estimand: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME",
            "Quantity whose intervals are measured, such as l2_error, max_error or signed_error. "
            "[dim]\\[default: ece][/]",
        ),
    ] = None
    sizes: Annotated[str | None, _option(STUDY, "N,...", "Numbers of rows. [dim]\\[default: 300,2000,20000][/]")] = None
    populations: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME,...",
            "Distributions of the confidences: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
        ),
    ] = None
    curves: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME[:STRENGTH],...",
            "True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. "
            "[dim]\\[default: six curves][/]",
        ),
    ] = None
    methods: Annotated[
        str | None,
        _option(
            STUDY,
            "NAME,...",
            "Interval methods: shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap; for l2_error also sun. "
            "[dim]\\[default: all][/]",
        ),
    ] = None
    repeats: Annotated[
        int | None, _option(STUDY, "NUMBER", "Data sets per combination. [dim]\\[default: 100][/]", min=1)
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
            "With FILE: MCMC draws of PyMC, in four chains. With --coverage: posterior draws, or bootstrap resamples. "
            "[dim]\\[default: 10000, 2000][/]",
            min=1,
        ),
    ] = None
    seed: Annotated[int, _option(EITHER, "NUMBER", _SEED, min=0)] = 1


Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets with a known true ECE, or another error, and count the intervals that contain it.",
    ),
]
