"""Options of ``bayescal judged``."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from bayescal.cli import options as cli

JudgedFile = Annotated[Path, cli.argument(cli.FILE)]
#: Options of other commands, which are refused in words.
NOT_HERE = {
    "by": "with a judge; write one file per group",
    "weights": "with a judge, whose rows have equal weights",
    "cluster": "with a judge; in Python, `bayescal.labels.judged(..., cluster=)` takes rows in clusters",
    "prob_prefix": "with a judge, who labels one event; give --confidence and --correct, or --prob and --label",
}


_NOT_HERE = partial(cli.option, cli.COLUMNS, "COLUMN", "", hidden=True)


@dataclass(frozen=True)
class JudgedColumnOptions(cli.Options):
    """Columns of true labels, probabilities and the judge's labels."""

    correct: str | None = cli.column(
        "Whether the prediction was right, where a person checked it; empty, null or NA in other rows."
    )
    confidence: str | None = cli.column("Confidence in the prediction; with --correct.")
    label: str | None = cli.column(
        "For an event in place of --correct: the true labels, 0/1 or true/false, where known."
    )
    prob: str | None = cli.column("Predicted probability that the label is 1; with --label.")
    judge: str | None = cli.column(
        "The judge's labels, in all rows; they may be missing where the true label is known."
    )
    classes: str | None = cli.column(
        "Labels, if they are words, of the person and of the judge: those for 0 and 1.", "A,B"
    )
    logits: bool = cli.LOGITS()
    logprob: bool = cli.LOGPROB()
    by: str | None = _NOT_HERE()
    weights: str | None = _NOT_HERE()
    cluster: str | None = _NOT_HERE()
    prob_prefix: str | None = _NOT_HERE()


@dataclass(frozen=True)
class JudgedQuestionOptions(cli.Options):
    """Quantities of the table, and bins."""

    estimand: list[str] | None = cli.ESTIMAND()
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()


@dataclass(frozen=True)
class JudgeOptions(cli.Options):
    """Ranges of confidence, and what is known about the judge."""

    strata: str | None = cli.option(
        cli.MODEL,
        "NUMBER or EDGES",
        "Ranges of confidence in which the judge has error rates of its own: their number, or their inner edges as in "
        "0.5,0.8. By default two with 200 checked rows, otherwise one.",
    )
    rates: str | None = cli.option(
        cli.MODEL,
        "NUMBERS",
        "What is known about the judge from elsewhere: its sensitivity and specificity as in 0.9,0.8; or numbers of "
        "checked rows as in 90,10,80,20: right and wrong labels where the true label is 1, and where it is 0.",
    )
