"""Options of ``bayescal cumulative``."""

from dataclasses import dataclass
from pathlib import Path

from bayescal.cli.options import MODEL, OUTPUT, SEED, Options, PageOptions, column, number, option


@dataclass(frozen=True)
class CumulativeOptions(Options):
    """The groups of rows that are compared with all rows."""

    by: str | None = column("Column of groups: each is compared with all rows at equal probabilities.")
    value: str | None = column("One group of --by, instead of all.", "VALUE")
    zoom: str | None = column("Only rows with probabilities in an interval, ends included.", "LOW,HIGH")


@dataclass(frozen=True)
class CumulativeModelOptions(Options):
    """The posterior of a cumulative difference, and its draws."""

    model: str | None = option(
        MODEL,
        "NAME",
        "Origin of the draws: pooled, a posterior and a confidence distribution with equal shares, or segments, "
        "the posterior alone. [dim]\\[default: pooled][/]",
    )
    draws: int | None = option(MODEL, "NUMBER", "Number of draws of each statistic. [dim]\\[default: 4000][/]")
    seed: int | None = option(MODEL, "NUMBER", f"{SEED} [dim]\\[default: 1][/]", min=0)
    below: float | None = option(
        MODEL,
        "LIMIT",
        "Print the probability that the Kuiper statistic of the population is below this limit. "
        "[dim]\\[default: 0.02][/]",
        parser=number,
    )


@dataclass(frozen=True)
class CumulativeOutputOptions(PageOptions):
    """Files that hold a cumulative difference."""

    json: Path | None = option(
        OUTPUT, "OUT.json", "All numbers, and with --by all groups. The same input and seed give the same bytes."
    )
    plot: Path | None = option(OUTPUT, "OUT.png", "The cumulative difference, as .png, .pdf or .svg.")
