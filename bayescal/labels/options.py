"""Options of ``bayescal judged``."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from bayescal._texts import read_texts
from bayescal.cli import options as cli

HELP = read_texts(Path(__file__).with_suffix(".txt"))

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

    correct: str | None = cli.column(HELP["correct"])
    confidence: str | None = cli.column(HELP["confidence"])
    label: str | None = cli.column(HELP["label"])
    prob: str | None = cli.column(HELP["prob"])
    judge: str | None = cli.column(HELP["judge"])
    classes: str | None = cli.column(HELP["classes"], "A,B")
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

    strata: str | None = cli.option(cli.MODEL, "NUMBER or EDGES", HELP["strata"])
    rates: str | None = cli.option(cli.MODEL, "NUMBERS", HELP["rates"])
