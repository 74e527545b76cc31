"""Options of ``bayescal judged``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bayescal.cli.options import (
    COLUMNS,
    FILE,
    MODEL,
    Binning,
    Bins,
    EstimandNames,
    Logits,
    Logprob,
    Options,
    argument,
    column,
    option,
)

JudgedFile = Annotated[Path, argument(FILE)]
#: Options of other commands, which are refused in words.
NOT_HERE = {
    "by": "with a judge; write one file per group",
    "weights": "with a judge, whose rows have equal weights",
    "cluster": "with a judge, whose rows must be independent; keep one row per cluster, such as one epoch per question",
    "prob_prefix": "with a judge, who labels one event; give --confidence and --correct, or --prob and --label",
}


def _not_here() -> Any:
    return option(COLUMNS, "COLUMN", "", hidden=True)


@dataclass(frozen=True)
class JudgedColumnOptions(Options):
    """Columns of true labels, probabilities and the judge's labels."""

    correct: Annotated[
        str | None,
        column("Whether the prediction was right, where a person checked it; empty, null or NA in other rows."),
    ] = None
    confidence: Annotated[str | None, column("Confidence in the prediction; with --correct.")] = None
    label: Annotated[
        str | None, column("For an event in place of --correct: the true labels, 0/1 or true/false, where known.")
    ] = None
    prob: Annotated[str | None, column("Predicted probability that the label is 1; with --label.")] = None
    judge: Annotated[
        str | None, column("The judge's labels, in all rows; they may be missing where the true label is known.")
    ] = None
    classes: Annotated[
        str | None, column("Labels, if they are words, of the person and of the judge: those for 0 and 1.", "A,B")
    ] = None
    logits: Logits = False
    logprob: Logprob = False
    by: Annotated[str | None, _not_here()] = None
    weights: Annotated[str | None, _not_here()] = None
    cluster: Annotated[str | None, _not_here()] = None
    prob_prefix: Annotated[str | None, _not_here()] = None


@dataclass(frozen=True)
class JudgedQuestionOptions(Options):
    """Quantities of the table, and bins."""

    estimand: EstimandNames = None
    bins: Bins = None
    binning: Binning = None


@dataclass(frozen=True)
class JudgeOptions(Options):
    """Ranges of confidence, and what is known about the judge."""

    strata: Annotated[
        str | None,
        option(
            MODEL,
            "NUMBER or EDGES",
            "Ranges of confidence in which the judge has error rates of its own: their number, or their inner edges as "
            "in 0.5,0.8. By default two with 200 checked rows, otherwise one.",
        ),
    ] = None
    rates: Annotated[
        str | None,
        option(
            MODEL,
            "NUMBERS",
            "What is known about the judge from elsewhere: its sensitivity and specificity as in 0.9,0.8; or numbers "
            "of checked rows as in 90,10,80,20: right and wrong labels where the true label is 1, and where it is 0.",
        ),
    ] = None
