"""Options of ``bayescal survival``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli.options import (
    FILE,
    NAMED_COLUMN,
    QUESTION,
    Binning,
    Bins,
    Options,
    Weights,
    argument,
    column,
    number,
    option,
)

SurvivalFile = Annotated[Path, argument(FILE)]


@dataclass(frozen=True)
class SurvivalColumnOptions(Options):
    """Columns of times, kinds of exit and stated risks."""

    time: Annotated[str | None, column("Time to the event or to the end of follow-up, >= 0.")] = None
    event: Annotated[
        str | None, column("How the row ends: 0 censored, 1 the event, 2, 3, ... other causes; or true/false.")
    ] = None
    risk: Annotated[
        list[str] | None,
        column(
            "Stated probability of the event by the horizon; not of survival. Repeat the option to compare several "
            "models.",
            NAMED_COLUMN,
        ),
    ] = None
    weights: Weights = None
    cluster: Annotated[
        str | None,
        column(
            "Column that names the cluster of each row, such as the hospital of a patient: times of rows of one "
            "cluster may depend on each other. For a single model."
        ),
    ] = None
    by: Annotated[
        str | None,
        column(
            "Column of groups: one evaluation per value, and one of all rows, with the same bins. For a single model."
        ),
    ] = None


@dataclass(frozen=True)
class SurvivalQuestionOptions(Options):
    """Horizon, cause and bins."""

    horizon: Annotated[
        float | None,
        option(QUESTION, "NUMBER", "Time at which the risks are stated, in the unit of --time.", parser=number),
    ] = None
    cause: Annotated[
        int | None, option(QUESTION, "NUMBER", "Value of --event for the event that the risks are about.", min=1)
    ] = None
    bins: Bins = None
    binning: Binning = None
    estimand: Annotated[
        str | None, option(QUESTION, "NAME", "Quantity to compare, for several models. [dim]\\[default: ece][/]")
    ] = None
    rope: Annotated[
        float | None,
        option(
            QUESTION,
            "NUMBER",
            "Region of practical equivalence, for several models: those that differ by at most this much count as "
            "equal. [dim]\\[default: 0.01][/]",
            parser=number,
        ),
    ] = None
