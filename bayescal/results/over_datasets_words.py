"""The words of a comparison over data sets: its sentence, and the cells and remarks of its table."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from bayescal import _render
from bayescal.draws import Draws
from bayescal.results.verdict import Verdict

HEADER = (
    "difference",
    "mean",
    "2.5 %",
    "97.5 %",
    "P(1st)",
    "P(equal)",
    "P(2nd)",
    "population",
    "2.5 %",
    "97.5 %",
    "sd",
)


class Populations(Protocol):
    """Draws of the difference over a population of data sets; see `over_datasets.Population`."""

    @property
    def mean(self) -> Draws:
        """Mean of the differences."""

    @property
    def new(self) -> Draws:
        """The difference on a new data set."""


def sentence_of(verdict: Verdict, n_datasets: int, population: Populations, sign: int, prob: float) -> str:
    """Return the verdict on these data sets, and the mean and a new data set of the population.

    `sign` is 1 if a negative difference means that the better classifier has the better value, else -1.
    """
    words = verdict.sentence(prob)
    uncertain = words.startswith("It is uncertain")
    these = f"On average over these {n_datasets} data sets, {'it' + words[2:] if uncertain else words}"
    if verdict.exactly_equal:
        return these
    mean, low, high = (
        _render.number(v, verdict.decimals) for v in (population.mean.mean(), *population.mean.interval(prob))
    )
    better = _render.probability(float((sign * population.new.values < 0).mean()))
    return (
        f"{these} In a population of data sets like these, the mean difference is {mean} ({low} to {high}), and "
        f"P({verdict.better} has the better value on a new data set) {better}."
    )


def key_of(rope: float, words: str, comparative: str) -> str:
    """Explain the columns of the table."""
    return (
        f"The left part averages over these data sets. P(1st) is the probability that the mean {words} of the first "
        f"classifier is {comparative} by more than {rope:g}, P(2nd) the same for the second, and P(equal) that the "
        f"difference is at most {rope:g} (the rope). The right part is for a population of data sets, of which these "
        "are taken as a random sample: the mean difference, and the sd of differences between data sets."
    )


def cells_of(rows: Iterable[Mapping[str, Any]], decimals: int = 4) -> list[list[str]]:
    """Return the cells of the columns `HEADER`, from rows of the table."""
    left, chances = ("mean", "low", "high"), ("p_left", "p_rope", "p_right")
    right = ("population_mean", "population_low", "population_high", "spread")
    return [
        [
            f"{row['first']} - {row['second']}",
            *(_render.number(row[name], decimals) for name in left),
            *(_render.probability(row[name]).removeprefix("= ") for name in chances),
            *(_render.number(row[name], decimals) for name in right),
        ]
        for row in rows
    ]


def lines_of(rows: Iterable[Mapping[str, Any]], words: str, n_datasets: int, decimals: int = 4) -> list[str]:
    """Return one line per classifier: its mean and mean rank with intervals, and how often it is the best."""
    lines = []
    for row in rows:
        mean, low, high = (_render.number(row[name], decimals) for name in ("mean", "low", "high"))
        best = _render.probability(row["p_best"])
        lines.append(
            f"{row['classifier']}: mean {words} {mean}, 95 % interval [{low}, {high}]; mean rank {row['rank']:.2f} "
            f"[{row['rank_low']:.2f}, {row['rank_high']:.2f}]; P(best on average) {best}, best on "
            f"{row['datasets_won']:.1f} of {n_datasets} data sets in expectation."
        )
    return lines
