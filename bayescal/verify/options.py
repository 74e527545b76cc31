"""Options of the two checks of ``bayescal verify``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli import options as cli

#: Panels of the help page.
STUDY = "With --coverage: all combinations of size, population and curve"
EITHER = "With FILE or --coverage"

VerifyFile = Annotated[Path | None, cli.argument(cli.FILE)]


@dataclass(frozen=True)
class AgreementOptions(cli.Options):
    """Options of the check of a file, besides its columns."""

    target: str | None = cli.TARGET()
    binning: str | None = cli.BINNING()
    model: str | None = cli.option(
        cli.MODEL, "NAME", "Model of the posterior: shrinkage or dirichlet. [dim]\\[default: shrinkage][/]"
    )
    sub_models: str | None = cli.SUB_MODELS()


@dataclass(frozen=True)
class StudyOptions(cli.Options):
    """Options of the coverage study."""

    estimand: str | None = cli.option(
        STUDY,
        "NAME",
        "Quantity whose intervals are measured, such as l2_error, e90_bins or signed_error. [dim]\\[default: ece][/]",
    )
    sizes: str | None = cli.option(STUDY, "N,...", "Numbers of rows. [dim]\\[default: 300,2000,20000][/]")
    populations: str | None = cli.option(
        STUDY,
        "NAME,...",
        "Distributions of the confidences: top (most near 1), flat, rare (most near 0). [dim]\\[default: all][/]",
    )
    curves: str | None = cli.option(
        STUDY,
        "NAME[:STRENGTH],...",
        "True calibration curves: calibrated, temperature, shift, wave, one-bad-bin. [dim]\\[default: six curves][/]",
    )
    methods: str | None = cli.option(
        STUDY,
        "NAME,...",
        "Interval methods: shrinkage, dirichlet, percentile-bootstrap, basic-bootstrap. [dim]\\[default: all][/]",
    )
    repeats: int | None = cli.option(STUDY, "NUMBER", "Data sets per combination. [dim]\\[default: 100][/]", min=1)


@dataclass(frozen=True)
class VerifyOptions(cli.Options):
    """Options of both checks."""

    bins: str | None = cli.option(EITHER, cli.BINS_VALUES, f"{cli.BINS_TEXT} [dim]\\[default: 15][/]")
    draws: int | None = cli.option(
        EITHER,
        "NUMBER",
        "With FILE: MCMC draws of PyMC, in four chains. With --coverage: posterior draws, or bootstrap resamples. "
        "[dim]\\[default: 10000, 2000][/]",
        min=1,
    )
    seed: int = cli.option(EITHER, "NUMBER", cli.SEED, min=0, default=1)


Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets with a known true ECE, or another error, and count the intervals that contain it.",
    ),
]
