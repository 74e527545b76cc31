"""Options of ``bayescal clinical``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal._texts import read_texts
from bayescal.cli import options as cli

HELP = read_texts(Path(__file__).with_suffix(".txt"))

ClinicalFiles = Annotated[
    list[Path], cli.argument(f"{cli.FILE} Several files hold one model each; --key matches their rows.")
]


@dataclass(frozen=True)
class RiskColumnOptions(cli.Options):
    """Columns of one file, or of several, with the risks that one or several models state."""

    label: str | None = cli.column(HELP["label"])
    prob: list[str] | None = cli.column(HELP["prob"], cli.NAMED_COLUMN)
    key: str | None = cli.column(HELP["key"])
    weights: str | None = cli.WEIGHTS()
    by: str | None = cli.column(HELP["by"])
    cluster: str | None = cli.column(HELP["cluster"])
    classes: str | None = cli.column(HELP["classes"], "A,B")
    logits: bool = cli.LOGITS()
    logprob: bool = cli.LOGPROB()


@dataclass(frozen=True)
class ClinicalQuestionOptions(cli.Options):
    """Thresholds of treatment, bins of the ECE, and the floor of probabilities."""

    threshold: list[str] | None = cli.option(cli.QUESTION, "NUMBERS", HELP["threshold"])
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()
    floor: float | None = cli.option(cli.QUESTION, "NUMBER", HELP["floor"], parser=cli.number)


@dataclass(frozen=True)
class ClinicalOutputOptions(cli.PageOptions):
    """Files that hold a clinical summary."""

    latex: Path | None = cli.option(cli.OUTPUT, "OUT.tex", HELP["latex"])
    plot: Path | None = cli.option(cli.OUTPUT, "OUT.png", HELP["plot"])
