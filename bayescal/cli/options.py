"""Options of the commands: type, help text and panel of the help page. Records hold options that belong together.

Options of a topic are in its file ``options.py``, as in ``bayescal/clinical/options.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

#: Panels of the help pages.
COLUMNS, QUESTION, MODEL, OUTPUT = "Columns of FILE", "Question", "Model", "Output"
LOGS = "Logs of language models"
GOAL, REQUIREMENT = "Goal", "Requirement"


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

FILE = (
    "Predictions, one per row, as Parquet, CSV, TSV or JSON lines (recognised by content); text may be gzipped. Fields "
    "within JSON objects are named with dots, as in scores.value."
)
ReportFiles = Annotated[
    list[Path],
    argument(
        f"{FILE} Or counts that `bayescal count` saved. Several files are groups, unless --by names a column. "
        "Folders and logs of language models: --format."
    ),
]
ReportFile = Annotated[Path, argument(f"{FILE} Or counts that `bayescal count` saved.")]
CountFiles = Annotated[list[Path], argument(f"{FILE} The rows of several files are counted together.")]
MergeFiles = Annotated[list[Path], argument("Counts that `bayescal count` saved.", metavar="COUNTS.json")]
CompareFiles = Annotated[
    list[Path],
    argument(
        f"{FILE} Several files hold one classifier each; --key matches their rows. Folders and logs of language "
        "models: --format."
    ),
]

# columns

NAMED_COLUMN = "COLUMN or NAME=COLUMN"  #: Value of an option that may name a classifier.
_PER_CLASSIFIER = "Repeat the option for each classifier in a file."
LABEL = partial(column, "True labels: 0/1, true/false, or class numbers.")
WEIGHTS = partial(column, "Importance weights, >= 0.")
CLUSTER = partial(
    column,
    "Column that names the cluster of each row, such as the question that was answered: rows of one cluster "
    "may depend on each other. To add counts, no cluster may have rows in two files.",
)
CLASSES = partial(
    column,
    "Labels, if they are words. With --prob: the words for 0 and 1. With --prob-prefix: one word per column.",
    "A,B,...",
)
LOGITS = partial(flag, COLUMNS, "--logits", "The columns hold logits in place of probabilities.")
LOGPROB = partial(flag, COLUMNS, "--logprob", "The columns hold logarithms of the probabilities.")


@dataclass(frozen=True)
class ColumnOptions(Options):
    """Columns of a file with the predictions of one classifier."""

    label: str | None = LABEL()
    prob: str | None = column("Predicted probability that the label is 1.")
    prob_prefix: str | None = column(
        "Prefix of the columns of class probabilities; the rest of each column name is the class.", "PREFIX"
    )
    correct: str | None = column("Whether the prediction was right; with --confidence, in place of --label.")
    confidence: str | None = column("Confidence in the prediction; with --correct.")
    weights: str | None = WEIGHTS()
    cluster: str | None = CLUSTER()
    classes: str | None = CLASSES()
    logits: bool = LOGITS()
    logprob: bool = LOGPROB()


@dataclass(frozen=True)
class ColumnOptionsPerClassifier(Options):
    """Columns of one file, or of several, with the predictions of several classifiers."""

    label: str | None = LABEL()
    prob: list[str] | None = column(f"Predicted probability that the label is 1. {_PER_CLASSIFIER}", NAMED_COLUMN)
    prob_prefix: list[str] | None = column(
        f"Prefix of the columns of class probabilities. {_PER_CLASSIFIER}", "PREFIX or NAME=PREFIX"
    )
    correct: list[str] | None = column(
        "Whether the prediction was right; with --confidence, in place of --label. Once, or once per classifier."
    )
    confidence: list[str] | None = column(
        f"Confidence in the prediction; with --correct. {_PER_CLASSIFIER}", NAMED_COLUMN
    )
    key: str | None = column(
        "With several files: column that identifies a row. Each key must occur exactly once in each file."
    )
    weights: str | None = WEIGHTS()
    cluster: str | None = CLUSTER()
    classes: str | None = CLASSES()
    logits: bool = LOGITS()
    logprob: bool = LOGPROB()


@dataclass(frozen=True)
class GroupOptions(Options):
    """The groups of rows that are evaluated separately."""

    by: str | None = column(
        "Column of groups: one evaluation per value, and one of all rows. At most 1666 groups with the default "
        "draws and bins."
    )
    pooling: str | None = option(
        QUESTION, "NAME", "With --by, how groups borrow strength from each other: none (default), partial, or complete."
    )


def of_logs(help_text: str, metavar: str = "NAME") -> Any:
    """Return an option about logs of language models."""
    return option(LOGS, metavar, help_text)


@dataclass(frozen=True)
class LogOptions(Options):
    """Logs of language models, whose answers may be missing."""

    format: str | None = of_logs(
        "lm-eval (files samples_*.jsonl, and folders with them), inspect (.eval, .json), or json-lines, "
        "which is the default with the options below. --correct is then the score, --confidence a path, --by the path "
        "of the subject; each subject is a group. With lm-eval and inspect, the answers to a question in several "
        "epochs are a cluster; with json-lines, --cluster names it."
    )
    filter: str | None = of_logs("With lm-eval: the filter of the answers.")
    pattern: str | None = of_logs(
        "The confidence in a text; its first group is the number. Default: the number after the word 'confidence', as "
        "in 'Confidence: 90%'.",
        "REGEX",
    )
    percent: bool = flag(LOGS, "--percent", "Confidences without a percent sign are percentages.")
    partial: str | None = of_logs("How partial credit counts: refuse (default), wrong or right.")
    abstained: list[str] | None = of_logs(
        "Grade of an answer that abstains; N by default. Repeat for several.", "GRADE"
    )
    abstain: str | None = of_logs(
        "Treatment of missing answers (no grade or no confidence): refuse (default), drop or wrong. "
        "`compare` with drop also leaves out questions that not all models answered. A note counts them."
    )


# question

_EVENT = "Kind of calibration. [bold]event[/]: label 1 is as frequent as predicted (default with --prob)."
_TOP_LABEL = "[bold]top-label[/]: the most probable class is right as often as predicted (default with --prob-prefix)."
_CLASSWISE = "[bold]classwise[/]: each class is as frequent as predicted."
_CONFIDENCE = (
    "[bold]confidence[/]: predictions are right as often as their confidence says (default with --confidence)."
)
BINS_TEXT = "Number of bins, or their edges as in 0,0.5,0.9,1. The ECE depends on the bins."
BINS_VALUES = "NUMBER or EDGES"


def of_question(help_text: str, metavar: str = "NAME", **rules: Any) -> Any:
    """Return an option about the question."""
    return option(QUESTION, metavar, help_text, **rules)


TARGET = partial(of_question, f"{_EVENT} {_TOP_LABEL} {_CLASSWISE} {_CONFIDENCE}")
BINS = partial(option, QUESTION, BINS_VALUES, BINS_TEXT)
BINNING = partial(
    of_question,
    "How a number of bins becomes edges: equal-width, equal-mass or equal-effective-mass. "
    "[bold]values[/]: one bin for each distinct probability, at most 101.",
)


ESTIMAND = partial(
    of_question,
    "Quantities of the table, separated by commas, such as ece,auc,brier_score; or give the option several times. By "
    "default all errors of calibration, and the accuracy of predictions.",
    "NAMES",
)


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

    by: str | None = column(
        "Column that names the data set of each row, such as its hospital: compares over these data sets."
    )
    estimand: str = option(QUESTION, "NAME", "Quantity to compare.", default="ece")
    rope: float | None = of_question(
        "Region of practical equivalence, in units of the estimand: classifiers that differ by at most this much "
        "count as equal.",
        "NUMBER",
        parser=number,
    )
    target: str | None = option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL} {_CONFIDENCE}")
    bins: str | None = BINS()
    binning: str | None = BINNING()


@dataclass(frozen=True)
class CountQuestionOptions(Options):
    """The outcome and the bins that are counted."""

    target: str | None = option(QUESTION, "NAME", f"{_EVENT} {_TOP_LABEL}")
    bins: str | None = option(
        QUESTION,
        BINS_VALUES,
        "Number of bins, or their edges. Bins can be merged later, as 100 into 20 or 10. [dim]\\[default: 15][/]",
    )


# requirements, for continuous integration

_UNMET = "If not, the exit code is 1."
required = partial(option, REQUIREMENT, parser=number)  #: A number that a requirement needs.
ASSURANCE = partial(
    required, "SHARE", "Required posterior probability of the statement, between 0 and 1. [dim]\\[default: 0.9][/]"
)


@dataclass(frozen=True)
class GateOptions(Options):
    """The limit of a quantity that a report must keep."""

    require_below: float | None = required(
        "LIMIT",
        f"The ECE, or the quantity of --estimand, must be below this limit, in each group, class or file. {_UNMET}",
    )
    require_above: float | None = required(
        "LIMIT", "As --require-below, for quantities whose larger values are better: they must be above this limit."
    )
    assurance: float | None = ASSURANCE()


@dataclass(frozen=True)
class CompareGateOptions(Options):
    """The difference by which classifiers may be worse than the first."""

    require_no_worse: float | None = required(
        "ROPE",
        "Each later classifier must be worse than the first by at most this difference, in units of the estimand; "
        f"with --by, in the mean over data sets. {_UNMET}",
    )
    assurance: float | None = ASSURANCE()


# the goal of a plan


@dataclass(frozen=True)
class GoalOptions(Options):
    """The goal of a plan; exactly one of width, below and above."""

    width: float | None = option(GOAL, "WIDTH", "A 95 % interval no wider than this.", parser=number)
    below: float | None = option(
        GOAL, "LIMIT", "A posterior probability of 95 % that the quantity is below this limit.", parser=number
    )
    above: float | None = option(
        GOAL, "LIMIT", "As --below, for quantities whose larger values are better: above this limit.", parser=number
    )
    estimand: str | None = option(
        GOAL, "NAME", "The quantity. auc needs FILE to hold counts on many bins, merged by --bins."
    )
    assurance: float | None = option(GOAL, "SHARE", "Probability with which the goal is to be met.", parser=number)
    largest: int | None = option(GOAL, "NUMBER", "Largest number of rows to consider.")
    simulations: int | None = option(GOAL, "NUMBER", "Number of simulated studies, at least 20.")


# model

SUB_MODELS = partial(
    option,
    MODEL,
    "NAME,...",
    "Families or sub-models of the shrinkage model to use: independent (independent bins "
    "only), shared, noise, exact, saturated, or keys of `Evaluation.sub_models`. [dim]\\[default: all][/]",
)
SEED = "Seed of the random numbers; the same seed gives the same results."


@dataclass(frozen=True)
class ModelOptions(Options):
    """The posterior and its draws."""

    model: str | None = option(MODEL, "NAME", "Model of the posterior: shrinkage (default) or dirichlet.")
    sub_models: str | None = SUB_MODELS()
    draws: int | None = option(MODEL, "NUMBER", "Number of independent posterior draws.")
    seed: int = option(MODEL, "NUMBER", SEED, min=0, default=1)


@dataclass(frozen=True)
class DrawsOptions(Options):
    """The draws of posteriors whose model is fixed."""

    draws: int | None = option(MODEL, "NUMBER", "Number of draws of each posterior.")
    seed: int = option(MODEL, "NUMBER", SEED, min=0, default=1)


# files to write

Output = Annotated[
    Path,
    of_typer(OUTPUT, "OUT.json", "File for the counts, a few numbers per bin.", "--output", "-o", show_default=False),
]
NETCDF = partial(option, OUTPUT, "OUT.nc", "All draws, for ArviZ.")


@dataclass(frozen=True)
class JsonOptions(Options):
    """The document that `bayescal report`, `compare` and `verify` can write."""

    json: Path | None = option(OUTPUT, "OUT.json", "All numbers. The same input and seed give the same bytes.")


@dataclass(frozen=True)
class PageOptions(JsonOptions):
    """The documents that `bayescal report` and `compare` can write."""

    html: Path | None = option(
        OUTPUT, "OUT.html", "A page for the browser: pictures, tables, and what was read, in one file."
    )
    details: bool = flag(
        OUTPUT,
        "--details",
        "Print also the specification, estimates for comparison, probabilities of sub-models, "
        "and the meaning of columns.",
    )

    def given(self) -> dict[str, Any]:
        """Return the files that were given, by option."""
        return {name: value for name, value in super().given().items() if name != "details"}


@dataclass(frozen=True)
class OutputOptions(PageOptions):
    """Files that hold an evaluation."""

    plot: Path | None = option(OUTPUT, "OUT.png", "Reliability diagram and posterior, as .png, .pdf or .svg.")
    netcdf: Path | None = NETCDF()


@dataclass(frozen=True)
class CompareOutputOptions(PageOptions):
    """Files that hold a comparison."""

    plot: Path | None = option(OUTPUT, "OUT.png", "Classifiers and their differences, as .png, .pdf or .svg.")
    netcdf: Path | None = NETCDF()
