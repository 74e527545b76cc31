"""Options of the commands: type and panel of the help page. Records hold options that belong together.

The help texts are in ``options.txt``. Options of a topic are in files of these names in its folder, as those of
`bayescal.clinical`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bayescal._texts import read_texts

#: Panels of the help pages.
COLUMNS, QUESTION, MODEL, OUTPUT = "Columns of FILE", "Question", "Model", "Output"
LOGS = "Logs of language models"
GOAL, REQUIREMENT = "Goal", "Requirement"

HELP = read_texts(Path(__file__).with_suffix(".txt"))


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


def refuse(options: Mapping[str, Any], rule: str) -> None:
    """Refuse options that cannot be used together with the others; `rule` says when they cannot be used."""
    if options:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise ValueError(f"{names} cannot be used {rule}.")


def of_typer(panel: str, metavar: str | None, help_text: str, *names: str, **rules: Any) -> Any:
    """Return an option with its panel of the help page and the word for its value."""
    return typer.Option(*names, metavar=metavar, rich_help_panel=panel, help=help_text, **rules)


def option(panel: str, metavar: str, help_text: str, *, default: Any = None, **rules: Any) -> Any:
    """Return the field of a record whose value is an option; `rules` are further arguments of `typer.Option`."""
    return field(default=default, metadata={"typer": of_typer(panel, metavar, help_text, **rules)})


def flag(panel: str, name: str, help_text: str) -> Any:
    """Return the field of a record that is True if an option without a value is given."""
    return field(default=False, metadata={"typer": of_typer(panel, None, help_text, name)})


def number(text: str) -> float:
    """Parse a number, with a hint for a percentage."""
    from bayescal._checks import of_percent  # loads numpy

    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.{of_percent(text)}") from None


def column(help_text: str, metavar: str = "COLUMN") -> Any:
    """Return an option that takes the name of a column of FILE."""
    return option(COLUMNS, metavar, help_text)


def argument(help_text: str, metavar: str = "FILE") -> Any:
    """Return an argument, without its default in the help page."""
    return typer.Argument(metavar=metavar, show_default=False, help=help_text)


# arguments

FILE = HELP["FILE"]
ReportFiles = Annotated[list[Path], argument(f"{FILE} {HELP['ReportFiles']}")]
ReportFile = Annotated[Path, argument(f"{FILE} {HELP['ReportFile']}")]
CountFiles = Annotated[list[Path], argument(f"{FILE} {HELP['CountFiles']}")]
MergeFiles = Annotated[list[Path], argument(HELP["MergeFiles"], metavar="COUNTS.json")]
CompareFiles = Annotated[list[Path], argument(f"{FILE} {HELP['CompareFiles']}")]

# columns

NAMED_COLUMN = "COLUMN or NAME=COLUMN"  #: Value of an option that may name a classifier.
LABEL = partial(column, HELP["LABEL"])
WEIGHTS = partial(column, HELP["WEIGHTS"])
CLUSTER = partial(column, HELP["CLUSTER"])
CLASSES = partial(column, HELP["CLASSES"], "A,B,...")
LOGITS = partial(flag, COLUMNS, "--logits", HELP["LOGITS"])
LOGPROB = partial(flag, COLUMNS, "--logprob", HELP["LOGPROB"])


@dataclass(frozen=True)
class ColumnOptions(Options):
    """Columns of a file with the predictions of one classifier."""

    label: str | None = LABEL()
    prob: str | None = column(HELP["prob"])
    prob_prefix: str | None = column(HELP["prob_prefix"], "PREFIX")
    correct: str | None = column(HELP["correct"])
    confidence: str | None = column(HELP["confidence"])
    weights: str | None = WEIGHTS()
    cluster: str | None = CLUSTER()
    classes: str | None = CLASSES()
    logits: bool = LOGITS()
    logprob: bool = LOGPROB()


@dataclass(frozen=True)
class ColumnOptionsPerClassifier(Options):
    """Columns of one file, or of several, with the predictions of several classifiers."""

    label: str | None = LABEL()
    prob: list[str] | None = column(HELP["ColumnOptionsPerClassifier.prob"], NAMED_COLUMN)
    prob_prefix: list[str] | None = column(HELP["ColumnOptionsPerClassifier.prob_prefix"], "PREFIX or NAME=PREFIX")
    correct: list[str] | None = column(HELP["ColumnOptionsPerClassifier.correct"])
    confidence: list[str] | None = column(HELP["ColumnOptionsPerClassifier.confidence"], NAMED_COLUMN)
    key: str | None = column(HELP["key"])
    weights: str | None = WEIGHTS()
    cluster: str | None = CLUSTER()
    classes: str | None = CLASSES()
    logits: bool = LOGITS()
    logprob: bool = LOGPROB()


@dataclass(frozen=True)
class GroupOptions(Options):
    """The groups of rows that are evaluated separately."""

    by: str | None = column(HELP["by"])
    pooling: str | None = option(QUESTION, "NAME", HELP["pooling"])


def of_logs(help_text: str, metavar: str = "NAME") -> Any:
    """Return an option about logs of language models."""
    return option(LOGS, metavar, help_text)


@dataclass(frozen=True)
class LogOptions(Options):
    """Logs of language models, whose answers may be missing."""

    format: str | None = of_logs(HELP["format"])
    filter: str | None = of_logs(HELP["filter"])
    pattern: str | None = of_logs(HELP["pattern"], "REGEX")
    percent: bool = flag(LOGS, "--percent", HELP["percent"])
    partial: str | None = of_logs(HELP["partial"])
    abstained: list[str] | None = of_logs(HELP["abstained"], "GRADE")
    abstain: str | None = of_logs(HELP["abstain"])


# question

BINS_VALUES = "NUMBER or EDGES"


def of_question(help_text: str, metavar: str = "NAME", **rules: Any) -> Any:
    """Return an option about the question."""
    return option(QUESTION, metavar, help_text, **rules)


TARGET = partial(of_question, HELP["TARGET"])
BINS = partial(option, QUESTION, BINS_VALUES, HELP["BINS"])
BINNING = partial(of_question, HELP["BINNING"])
ESTIMAND = partial(of_question, HELP["ESTIMAND"], "NAMES")


@dataclass(frozen=True)
class QuestionOptions(Options):
    """The calibration error that is estimated."""

    estimand: list[str] | None = ESTIMAND()
    target: str | None = TARGET()
    bins: str | None = BINS()
    binning: str | None = BINNING()


@dataclass(frozen=True)
class CompareQuestionOptions(Options):
    """The quantity that is compared, and the data sets over which it is."""

    by: str | None = column(HELP["CompareQuestionOptions.by"])
    estimand: str = option(QUESTION, "NAME", HELP["estimand"], default="ece")
    rope: float | None = of_question(HELP["rope"], "NUMBER", parser=number)
    target: str | None = option(QUESTION, "NAME", HELP["target"])
    bins: str | None = BINS()
    binning: str | None = BINNING()


@dataclass(frozen=True)
class CountQuestionOptions(Options):
    """The outcome and the bins that are counted."""

    target: str | None = option(QUESTION, "NAME", HELP["CountQuestionOptions.target"])
    bins: str | None = option(QUESTION, BINS_VALUES, HELP["bins"])


# requirements, for continuous integration

required = partial(option, REQUIREMENT, parser=number)  #: A number that a requirement needs.
ASSURANCE = partial(required, "SHARE", HELP["ASSURANCE"])


@dataclass(frozen=True)
class GateOptions(Options):
    """The limit of a quantity that a report must keep."""

    require_below: float | None = required("LIMIT", HELP["require_below"])
    require_above: float | None = required("LIMIT", HELP["require_above"])
    assurance: float | None = ASSURANCE()


@dataclass(frozen=True)
class CompareGateOptions(Options):
    """The difference by which classifiers may be worse than the first."""

    require_no_worse: float | None = required("ROPE", HELP["require_no_worse"])
    assurance: float | None = ASSURANCE()


# the goal of a plan


@dataclass(frozen=True)
class GoalOptions(Options):
    """The goal of a plan; exactly one of width, below and above."""

    width: float | None = option(GOAL, "WIDTH", HELP["width"], parser=number)
    below: float | None = option(GOAL, "LIMIT", HELP["below"], parser=number)
    above: float | None = option(GOAL, "LIMIT", HELP["above"], parser=number)
    estimand: str | None = option(GOAL, "NAME", HELP["GoalOptions.estimand"])
    assurance: float | None = option(GOAL, "SHARE", HELP["assurance"], parser=number)
    largest: int | None = option(GOAL, "NUMBER", HELP["largest"])
    simulations: int | None = option(GOAL, "NUMBER", HELP["simulations"])


# model

SUB_MODELS = partial(option, MODEL, "NAME,...", HELP["SUB_MODELS"])
SEED = "Seed of the random numbers; the same seed gives the same results."


@dataclass(frozen=True)
class ModelOptions(Options):
    """The posterior and its draws."""

    model: str | None = option(MODEL, "NAME", HELP["model"])
    sub_models: str | None = SUB_MODELS()
    draws: int | None = option(MODEL, "NUMBER", HELP["draws"])
    seed: int = option(MODEL, "NUMBER", SEED, min=0, default=1)


@dataclass(frozen=True)
class DrawsOptions(Options):
    """The draws of posteriors whose model is fixed."""

    draws: int | None = option(MODEL, "NUMBER", HELP["DrawsOptions.draws"])
    seed: int = option(MODEL, "NUMBER", SEED, min=0, default=1)


# files to write

Output = Annotated[Path, of_typer(OUTPUT, "OUT.json", HELP["Output"], "--output", "-o", show_default=False)]
NETCDF = partial(option, OUTPUT, "OUT.nc", HELP["NETCDF"])


@dataclass(frozen=True)
class JsonOptions(Options):
    """The document that `bayescal report`, `compare` and `verify` can write."""

    json: Path | None = option(OUTPUT, "OUT.json", HELP["json"])


@dataclass(frozen=True)
class PageOptions(JsonOptions):
    """The documents that `bayescal report` and `compare` can write."""

    html: Path | None = option(OUTPUT, "OUT.html", HELP["html"])
    details: bool = flag(OUTPUT, "--details", HELP["details"])

    def given(self) -> dict[str, Any]:
        """Return the files that were given, by option."""
        return {name: value for name, value in super().given().items() if name != "details"}


@dataclass(frozen=True)
class OutputOptions(PageOptions):
    """Files that hold an evaluation."""

    plot: Path | None = option(OUTPUT, "OUT.png", HELP["plot"])
    netcdf: Path | None = NETCDF()


@dataclass(frozen=True)
class CompareOutputOptions(PageOptions):
    """Files that hold a comparison."""

    plot: Path | None = option(OUTPUT, "OUT.png", HELP["CompareOutputOptions.plot"])
    netcdf: Path | None = NETCDF()
