"""Options of ``bayescal survival``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal._texts import read_texts
from bayescal.cli import options as cli

HELP = read_texts(Path(__file__).with_suffix(".txt"))

SurvivalFile = Annotated[Path, cli.argument(cli.FILE)]


@dataclass(frozen=True)
class SurvivalColumnOptions(cli.Options):
    """Columns of times, kinds of exit and stated risks."""

    time: str | None = cli.column(HELP["time"])
    event: str | None = cli.column(HELP["event"])
    risk: list[str] | None = cli.column(HELP["risk"], cli.NAMED_COLUMN)
    weights: str | None = cli.WEIGHTS()
    cluster: str | None = cli.column(HELP["cluster"])
    by: str | None = cli.column(HELP["by"])


@dataclass(frozen=True)
class SurvivalQuestionOptions(cli.Options):
    """Horizon, cause and bins."""

    horizon: float | None = cli.option(cli.QUESTION, "NUMBER", HELP["horizon"], parser=cli.number)
    cause: int | None = cli.option(cli.QUESTION, "NUMBER", HELP["cause"], min=1)
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()
    estimand: str | None = cli.option(cli.QUESTION, "NAME", HELP["estimand"])
    rope: float | None = cli.option(cli.QUESTION, "NUMBER", HELP["rope"], parser=cli.number)
