"""ValidationPlan: how many rows an external validation needs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.planning.decision import NO_VALUE, Decision

WORDS = {
    "observed_expected": "observed / expected events",
    "in_the_large": "calibration in the large",
    "slope": "calibration slope",
    "auc": "AUC",
    "ece": "ECE",
    "ici": "ICI",
    "net_benefit": "net benefit",
    "standardised_net_benefit": "standardised net benefit",
    "best": "choice of the best strategy",
    "information": "value of the information",
}
#: Goals of a choice.
CHOICES = ("best", "information")
#: Numbers of rows of a curve, as multiples of the answer.
MULTIPLES = np.geomspace(0.2, 3.0, 28)


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal, the rows that reach it (None: more than considered), and `wanted`, the value of its curve there."""

    target: float
    rows: int | None
    rows_on_average: int | None
    curve: dict[int, float]
    wanted: float

    @classmethod
    def of_width(cls, target: float, needed: Floats, on_average: float, assurance: float, largest: int) -> "Goal":
        """Make the goal of a width from the rows that studies need; its curve is their distribution function."""
        rows = _whole(assured(needed, assurance), largest)
        sizes = ((rows or largest / MULTIPLES[-1]) * MULTIPLES).astype(int).tolist()
        return cls(
            target, rows, _whole(on_average, largest), {n: float(np.mean(needed <= n)) for n in sizes}, assurance
        )


def assured(needed: Floats, assurance: float) -> float:
    """Rows that suffice for the share `assurance` of studies, plus one standard error of this share."""
    error = float(np.sqrt(assurance * (1 - assurance) / len(needed)))
    return float(np.quantile(needed, min(assurance + error, 1.0), method="higher"))


def _whole(rows: float, largest: int) -> int | None:
    return int(np.ceil(rows - 1e-6)) if rows <= largest else None


@public
@dataclass(frozen=True, eq=False, repr=False)
class ValidationPlan(_presented.Presented):
    """The number of rows of an external validation, for each goal and for all of them.

    Made by `validation`; printing it shows a sentence and a table.

    Parameters
    ----------
    numbers : dict of str to str
        The published numbers in words.
    goals : dict of str to goal
        Each has `target`, `rows`, `rows_on_average` and `curve` (share of studies that meet it, by rows).
    assurance, prob, largest, threshold
        As for `validation`.
    prevalence : float
        Mean prevalence.
    decision : Decision or None
        Net benefits of the strategies; None without a threshold.
    """

    numbers: dict[str, str]
    goals: dict[str, Goal]
    assurance: float
    prob: float
    largest: int
    threshold: float | None
    prevalence: float
    decision: Decision | None

    _index = ("goal",)
    _numbers = ("rows", "events")

    @cached_property
    def rows(self) -> int | None:
        """Rows that meet all goals; None if `largest` rows do not."""
        rows = [goal.rows for goal in self.goals.values() if goal.rows is not None]
        return max(rows) if len(rows) == len(self.goals) else None

    @property
    def events(self) -> int | None:
        """Events that are expected in these rows."""
        return None if self.rows is None else int(np.ceil(self.rows * self.prevalence))

    def table(self) -> list[dict[str, Any]]:
        """Return the goals as data.

        Keys are goal, target, rows_on_average (rows at which the mean width is the target) and rows (with the
        assurance); None for more than `largest` rows, and for the average of a choice.
        """
        keys = ("target", "rows_on_average", "rows")
        return [{"goal": name, **{key: getattr(goal, key) for key in keys}} for name, goal in self.goals.items()]

    def sentence(self) -> str:
        """Return the answer in words."""
        lacking = [WORDS[key] for key, goal in self.goals.items() if goal.rows is None]
        if lacking:
            return f"{self.largest} rows are not enough for the goal of the {lacking[0]}."
        most = max(self.goals, key=lambda key: self.goals[key].rows or 0)
        goals = f"the goal of the {WORDS[most]}"
        if len(self.goals) > 1:
            goals = f"all {len(self.goals)} goals, of which that of the {WORDS[most]} needs most"
        return f"{self.rows} rows, about {self.events} of them with the event, meet {goals}."

    @property
    def spec(self) -> str:
        """Published numbers and limits, on one line."""
        numbers = ", ".join(f"{name} {text}" for name, text in self.numbers.items())
        return f"{numbers}; {100 * self.prob:g} % intervals, assurance {self.assurance:g}, at most {self.largest} rows"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        cells = [
            [WORDS[key], f"{goal.target:g}", *("-" if n is None else str(n) for n in (goal.rows_on_average, goal.rows))]
            for key, goal in self.goals.items()
        ]
        header = ("", "goal", "rows on average", f"rows, assurance {self.assurance:g}")
        return _render.Sheet(self.sentence(), self.spec, header, cells, self._remarks(), question=self.spec)

    def _remarks(self) -> list[str]:
        if self.decision is None:
            return []
        means, best = self.decision.net_benefits().mean(axis=0), self.decision.best
        of_each = zip(("treat none", "the model", "treat all"), means, best, strict=True)
        listed = ", ".join(f"{name} {value:.4f} (best with probability {p:.2f})" for name, value, p in of_each)
        gain, same = self.decision.evpi, "The best one is the same for all truths: more information has no value."
        more = same if gain < NO_VALUE else f"Perfect information would add {gain:.2g} per row."
        return [f"Expected net benefit at the threshold {self.threshold:g}: {listed}. {more}"]

    def _more(self, prob: float) -> dict[str, Any]:
        return {"numbers": self.numbers, "rows": self.rows, "events": self.events, "assurance": self.assurance}

    def __repr__(self) -> str:
        return f"ValidationPlan({self.sentence()})"
