"""Options of ``bayescal survival``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli import options as cli

SurvivalFile = Annotated[Path, cli.argument(cli.FILE)]


@dataclass(frozen=True)
class SurvivalColumnOptions(cli.Options):
    """Columns of times, kinds of exit and stated risks."""

    time: str | None = cli.column("Time to the event or to the end of follow-up, >= 0.")
    event: str | None = cli.column("How the row ends: 0 censored, 1 the event, 2, 3, ... other causes; or true/false.")
    risk: list[str] | None = cli.column(
        "Stated probability of the event by the horizon; not of survival. Repeat the option to compare several models.",
        cli.NAMED_COLUMN,
    )
    weights: str | None = cli.WEIGHTS()
    cluster: str | None = cli.column(
        "Column that names the cluster of each row, such as the hospital of a patient: times of rows of one "
        "cluster may depend on each other. For a single model."
    )
    by: str | None = cli.column(
        "Column of groups: one evaluation per value, and one of all rows, with the same bins. For a single model."
    )


@dataclass(frozen=True)
class SurvivalQuestionOptions(cli.Options):
    """Horizon, cause and bins."""

    horizon: float | None = cli.option(
        cli.QUESTION, "NUMBER", "Time at which the risks are stated, in the unit of --time.", parser=cli.number
    )
    cause: int | None = cli.option(
        cli.QUESTION, "NUMBER", "Value of --event for the event that the risks are about.", min=1
    )
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()
    estimand: str | None = cli.option(
        cli.QUESTION, "NAME", "Quantity to compare, for several models. [dim]\\[default: ece][/]"
    )
    rope: float | None = cli.option(
        cli.QUESTION,
        "NUMBER",
        "Region of practical equivalence, for several models: those that differ by at most this much count as "
        "equal. [dim]\\[default: 0.01][/]",
        parser=cli.number,
    )
