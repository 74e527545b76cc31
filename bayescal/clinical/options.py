"""Options of ``bayescal clinical``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli import options as cli

ClinicalFiles = Annotated[
    list[Path], cli.argument(f"{cli.FILE} Several files hold one model each; --key matches their rows.")
]


@dataclass(frozen=True)
class RiskColumnOptions(cli.Options):
    """Columns of one file, or of several, with the risks that one or several models state."""

    label: str | None = cli.column("Whether the event happened: 0/1, true/false.")
    prob: list[str] | None = cli.column(
        "Predicted probability of the event. Repeat the option for each model in a file.", cli.NAMED_COLUMN
    )
    key: str | None = cli.column(
        "With several files: column that identifies a row. Each key must occur exactly once in each file."
    )
    weights: str | None = cli.WEIGHTS()
    by: str | None = cli.column("Column of groups, such as hospitals: a summary of each, and their differences.")
    cluster: str | None = cli.column("Column of clusters, such as patients: rows of one may depend on each other.")
    classes: str | None = cli.column(
        "If labels are words: that of no event, then that of the event, as alive,dead.", "A,B"
    )
    logits: bool = cli.LOGITS()
    logprob: bool = cli.LOGPROB()


@dataclass(frozen=True)
class ClinicalQuestionOptions(cli.Options):
    """Thresholds of treatment, bins of the ECE, and the floor of probabilities."""

    threshold: list[str] | None = cli.option(
        cli.QUESTION,
        "NUMBERS",
        "Thresholds of treatment at which the net benefit is stated, separated by commas as in 0.1,0.2; or give "
        "the option several times. Without thresholds there is no net benefit.",
    )
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()
    floor: float | None = cli.option(
        cli.QUESTION,
        "NUMBER",
        "Keep probabilities at least this far from 0 and 1 for intercept and slope, if rows contradict a "
        "probability of 0 or 1.",
        parser=cli.number,
    )


@dataclass(frozen=True)
class ClinicalOutputOptions(cli.PageOptions):
    """Files that hold a clinical summary."""

    latex: Path | None = cli.option(cli.OUTPUT, "OUT.tex", "The table for a paper, as LaTeX.")
    plot: Path | None = cli.option(
        cli.OUTPUT, "OUT.png", "Calibration curves and decision curves, as .png, .pdf or .svg."
    )
