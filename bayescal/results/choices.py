"""Choices: one estimand of the same rows, evaluated in several ways; the base of two results."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayescal import _presented, _render
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand


@dataclass(frozen=True, eq=False, repr=False)
class Choices[K, E](_presented.Presented):
    """Evaluations of the same rows by choice, such as the bins or the model, and the estimand that is compared."""

    evaluations: Mapping[K, E]
    estimand: Estimand

    #: The choices and one of them in words, as in "for 6 choices of bins", "the choice of bins" and "given one choice".
    _several: ClassVar[str]
    _the_choice: ClassVar[str]
    _one: ClassVar[str]

    def _measured_by(self, **options: Any) -> str:
        return self.estimand.name

    def __getitem__(self, choice: K) -> E:
        """Return the evaluation of a choice."""
        if choice not in self.evaluations:
            raise KeyError(f"no choice {choice!r} among {list(self.evaluations)!r}.")
        return self.evaluations[choice]

    def __iter__(self) -> Iterator[K]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def _in_words(self, row: Mapping[str, Any]) -> str:
        """Return the choice of a row of the table in words."""
        raise NotImplementedError

    def _range(self, rows: list[dict[str, Any]], prob: float) -> str:
        """Return the range of posterior means in words, and how it compares with the mean width of the intervals."""
        width = float(np.mean([row["high"] - row["low"] for row in rows]))
        least, most = (choose(rows, key=lambda row: row["mean"]) for choose in (min, max))
        d = _render.decimals(width)
        words = self.estimand.words(self._first.counts.target)
        spread = most["mean"] - least["mean"]
        text = (
            f"For {len(rows)} {self._several}, the posterior mean of the {words} lies between "
            f"{_render.number(least['mean'], d)} ({self._in_words(least)}) and {_render.number(most['mean'], d)} "
            f"({self._in_words(most)}). "
        )
        if width > 0:
            verdict = "less" if spread < width else "more"
            text += (
                f"This range is {_ratio(spread / width)} times the mean width of the {100 * prob:g} % intervals "
                f"({_render.number(width, d)}): {self._the_choice} matters {verdict} than the uncertainty given one "
                f"{self._one}."
            )
        return text

    @property
    def _first(self) -> Any:
        return next(iter(self.evaluations.values()))

    @cached_property
    def _draws_by_choice(self) -> dict[K, Draws]:
        evaluations: Mapping[K, Any] = self.evaluations
        return {choice: each.draws(self.estimand) for choice, each in evaluations.items()}


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 0.095 else f"{value:.2f}"
