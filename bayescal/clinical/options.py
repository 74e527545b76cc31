"""Options of ``bayescal clinical``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli.options import (
    BINNING,
    BINS,
    FILE,
    LOGITS,
    LOGPROB,
    NAMED_COLUMN,
    OUTPUT,
    QUESTION,
    WEIGHTS,
    Options,
    PageOptions,
    argument,
    column,
    number,
    option,
)

ClinicalFiles = Annotated[list[Path], argument(f"{FILE} Several files hold one model each; --key matches their rows.")]


@dataclass(frozen=True)
class RiskColumnOptions(Options):
    """Columns of one file, or of several, with the risks that one or several models state."""

    label: str | None = column("Whether the event happened: 0/1, true/false.")
    prob: list[str] | None = column(
        "Predicted probability of the event. Repeat the option for each model in a file.", NAMED_COLUMN
    )
    key: str | None = column(
        "With several files: column that identifies a row. Each key must occur exactly once in each file."
    )
    weights: str | None = WEIGHTS()
    classes: str | None = column("If labels are words: that of no event, then that of the event, as alive,dead.", "A,B")
    logits: bool = LOGITS()
    logprob: bool = LOGPROB()


@dataclass(frozen=True)
class ClinicalQuestionOptions(Options):
    """Thresholds of treatment, bins of the ECE, and the floor of probabilities."""

    threshold: list[str] | None = option(
        QUESTION,
        "NUMBERS",
        "Thresholds of treatment at which the net benefit is stated, separated by commas as in 0.1,0.2; or give "
        "the option several times. Without thresholds there is no net benefit.",
    )
    bins: str | None = BINS()
    binning: str | None = BINNING()
    floor: float | None = option(
        QUESTION,
        "NUMBER",
        "Keep probabilities at least this far from 0 and 1 for intercept and slope, if rows contradict a "
        "probability of 0 or 1.",
        parser=number,
    )


@dataclass(frozen=True)
class ClinicalOutputOptions(PageOptions):
    """Files that hold a clinical summary."""

    latex: Path | None = option(OUTPUT, "OUT.tex", "The table for a paper, as LaTeX.")
    plot: Path | None = option(OUTPUT, "OUT.png", "Calibration curves and decision curves, as .png, .pdf or .svg.")
