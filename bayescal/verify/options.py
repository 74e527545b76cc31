"""Options of the two checks of ``bayescal verify``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli.options import (
    BINNING,
    BINS_TEXT,
    BINS_VALUES,
    FILE,
    MODEL,
    SEED,
    SUB_MODELS,
    TARGET,
    Options,
    argument,
    option,
)

#: Panels of the help page.
STUDY = "With --coverage: all combinations of size, population and curve"
EITHER = "With FILE or --coverage"

VerifyFile = Annotated[Path | None, argument(FILE)]


@dataclass(frozen=True)
class AgreementOptions(Options):
    """Options of the check of a file, besides its columns."""

    target: str | None = TARGET()
    binning: str | None = BINNING()
    model: str | None = option(
        MODEL, "NAME", "Model of the posterior: shrinkage or dirichlet. [dim]\\[default: shrinkage][/]"
    )
    sub_models: str | None = SUB_MODELS()


@dataclass(frozen=True)
class StudyOptions(Options):
    """Options of the coverage study."""

    estimand: str | None = option(
        STUDY,
        "NAME",
        "Quantity whose intervals are measured, such as l2_error, e90_bins or signed_error. [dim]\\[default: ece][/]",
    )
    sizes: str | None = option(STUDY, "N,...", "Numbers of rows. [dim]\\[default: 300,2000,20000][/]")
    populations: str | None = option(
        STUDY,
        "NAME,...",
        "Distributions of the confidences: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
    )
    curves: str | None = option(
        STUDY,
        "NAME[:STRENGTH],...",
        "True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. [dim]\\[default: six curves][/]",
    )
    methods: str | None = option(
        STUDY,
        "NAME,...",
        "Interval methods: shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap; for l2_error also sun. "
        "[dim]\\[default: all][/]",
    )
    repeats: int | None = option(STUDY, "NUMBER", "Data sets per combination. [dim]\\[default: 100][/]", min=1)


@dataclass(frozen=True)
class VerifyOptions(Options):
    """Options of both checks."""

    bins: str | None = option(EITHER, BINS_VALUES, f"{BINS_TEXT} [dim]\\[default: 15][/]")
    draws: int | None = option(
        EITHER,
        "NUMBER",
        "With FILE: MCMC draws of PyMC, in four chains. With --coverage: posterior draws, or bootstrap resamples. "
        "[dim]\\[default: 10000, 2000][/]",
        min=1,
    )
    seed: int = option(EITHER, "NUMBER", SEED, min=0, default=1)


Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets with a known true ECE, or another error, and count the intervals that contain it.",
    ),
]
