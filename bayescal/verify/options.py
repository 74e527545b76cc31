"""Options of the two checks of ``bayescal verify``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal._texts import read_texts
from bayescal.cli import options as cli

HELP = read_texts(Path(__file__).with_suffix(".txt"))

#: Panels of the help page.
STUDY = "With --coverage: all combinations of size, population and curve"
EITHER = "With FILE or --coverage"

VerifyFile = Annotated[Path | None, cli.argument(cli.FILE)]


@dataclass(frozen=True)
class AgreementOptions(cli.Options):
    """Options of the check of a file, besides its columns."""

    target: str | None = cli.TARGET()
    binning: str | None = cli.BINNING()
    model: str | None = cli.option(cli.MODEL, "NAME", HELP["model"])
    sub_models: str | None = cli.SUB_MODELS()


@dataclass(frozen=True)
class StudyOptions(cli.Options):
    """Options of the coverage study."""

    estimand: str | None = cli.option(STUDY, "NAME", HELP["estimand"])
    sizes: str | None = cli.option(STUDY, "N,...", HELP["sizes"])
    populations: str | None = cli.option(STUDY, "NAME,...", HELP["populations"])
    curves: str | None = cli.option(STUDY, "NAME[:STRENGTH],...", HELP["curves"])
    methods: str | None = cli.option(STUDY, "NAME,...", HELP["methods"])
    repeats: int | None = cli.option(STUDY, "NUMBER", HELP["repeats"], min=1)


@dataclass(frozen=True)
class VerifyOptions(cli.Options):
    """Options of both checks."""

    bins: str | None = cli.option(EITHER, cli.BINS_VALUES, HELP["bins"])
    draws: int | None = cli.option(EITHER, "NUMBER", HELP["draws"], min=1)
    seed: int = cli.option(EITHER, "NUMBER", cli.SEED, min=0, default=1)


Coverage = Annotated[
    bool,
    typer.Option(
        "--coverage",
        rich_help_panel=STUDY,
        help="Simulate data sets with a known true ECE, or another error, and count the intervals that contain it.",
    ),
]
