"""The words of a comparison: the best classifier against the second best, and the table of pairs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bayescal import _render
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand

#: From this probability on, sentences state a direction without reservation.
P_SURE = 0.95
#: Largest number of pairs in a printed table; beyond it, each classifier is shown against the best one.
MOST_PAIRS = 15
HEADER = ("difference", "mean", "sd", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")


@dataclass(frozen=True)
class Verdict:
    """The best classifier against the second best."""

    better: str
    worse: str
    decision: Mapping[str, float]  # probabilities for better and worse, as from `Comparison.decide`
    pair: Sequence[str]  # the two names in the order in which they are subtracted; see `listed`
    difference: Draws  # draws of the first value of the pair minus the second
    quantity: str  # follows "the" for the difference, such as "size of the signed error"
    words: str  # follows "the" for the quantity itself
    is_better: str  # between the two names, such as "is better calibrated than"
    rope: float  # half-width of the region of practical equivalence
    exactly_equal: bool  # whether the two have the same value in every draw
    decimals: int = 3  # of the difference

    def short(self) -> str:
        """Return the result without its numbers."""
        if self.exactly_equal:
            return f"{self.better} and {self.worse} have the same {self.words} in every draw"
        if self.decision["p_rope"] >= P_SURE:
            return f"{self.better} and {self.worse} are practically equal"
        if self.decision["p_left"] >= P_SURE:
            return f"{self.better} {self.is_better} {self.worse}"
        return f"It is uncertain whether {self.better} {self.is_better} {self.worse}"

    def sentence(self, prob: float) -> str:
        """Return the result with the interval of the difference, and the probabilities of better, worse and equal."""
        if self.exactly_equal:
            return f"{self.short()}: the difference is exactly 0."
        ends = self.difference.interval(prob)
        mean, low, high = (_render.number(v, self.decimals) for v in (self.difference.mean(), *ends))
        first, second = self.pair
        return (
            f"{self.short()} ({self.quantity} of {first} minus that of {second}: {mean}, {100 * prob:g} % "
            f"credible interval {low} to {high}; {self._probabilities()})."
        )

    def _probabilities(self) -> str:
        better, equal, worse = (_render.probability(self.decision[key]) for key in ("p_left", "p_rope", "p_right"))
        equal = f"P(equal within {self.rope:g}) {equal}"
        if self.decision["p_rope"] >= P_SURE:
            return equal
        if self.decision["p_left"] >= P_SURE:
            return f"P(better) {better}; {equal}"
        return f"P(better) {better}, P(worse) {worse}, {equal}"


def better_words(estimand: Estimand, words: str, *, signed: bool) -> str:
    """Return the words between the better classifier and the worse one; `signed` if absolute values are compared."""
    if estimand.of_calibration:
        return "is better calibrated than"
    if signed:
        return f"has a {words} nearer to 0 than"
    return f"has a {'larger' if estimand.better == 'larger' else 'smaller'} {words} than"


def shown_pairs(labels: Sequence[Any], *, whole: bool) -> list[tuple[Any, Any]]:
    """Return all pairs of labels, which are in order; if there are too many to print, each against the first."""
    pairs = list(combinations(labels, 2))
    return pairs if whole or len(pairs) <= MOST_PAIRS else [(labels[0], other) for other in labels[1:]]


def pair_cells(rows: Iterable[Mapping[str, Any]], decimals: int = 4) -> list[list[str]]:
    """Return the cells of the columns `HEADER`, from rows of a decision table."""
    return [
        [
            f"{row['first']} - {row['second']}",
            *(_render.number(row[name], decimals) for name in ("mean", "sd", "low", "high")),
            *(_render.probability(row[name]).removeprefix("= ") for name in ("p_left", "p_rope", "p_right")),
        ]
        for row in rows
    ]


def pair_key(axis: str, rope: float, words: str = "ECE", comparative: str = "smaller") -> str:
    """Explain the columns of probabilities in a table of pairs; `comparative`: such as "larger", of better values."""
    return (
        f"P(1st) is the probability that the first {axis} is better: its {words} is {comparative} by more than "
        f"{rope:g}. P(2nd) is the same for the second {axis}. P(equal) is the probability that the difference is "
        f"at most {rope:g} (the rope)."
    )


def label_lines(rows: Iterable[Mapping[str, Any]], axis: str, words: str = "ECE", decimals: int = 4) -> list[str]:
    """Return one line per label: mean, interval, observed value if known, probability of being the best, mean rank."""
    lines = []
    for row in rows:
        mean, low, high = (_render.number(row[name], decimals) for name in ("mean", "low", "high"))
        best = _render.probability(row["p_best"])
        observed = f", observed {_render.number(row['observed'], decimals)}" if "observed" in row else ""
        lines.append(
            f"{row[axis]}: {words} {mean}, 95 % interval [{low}, {high}]{observed}, P(best) {best}, expected rank "
            f"{row['rank']:.2f}."
        )
    return lines
