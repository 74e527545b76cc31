"""Goals of one classifier: a narrow interval, or a posterior that is sure that a value lies below or above a limit."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bayescal import _render
from bayescal.analyses.one import evaluate_one
from bayescal.draws import Draws
from bayescal.planning.goals import Goal
from bayescal.planning.simulated_counts import LossesAndRanks, counts_like, effective_rows
from bayescal.results import wording
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts

#: Draws of the posterior of the pilot, for truths and for the dependence between two classifiers.
TRUTHS = 4000
NARROW = "narrow enough"


class OneClassifier(ABC):
    """Simulated studies of one classifier: each draws a truth from the posterior of the pilot, and rows from it."""

    def __init__(
        self, pilot: BinnedCounts, goal: Goal, keep: bool, arguments: dict[str, Any], rng: np.random.Generator
    ) -> None:
        self.pilot, self.goal, self.keep, self.arguments = pilot, goal, keep, arguments
        now = evaluate_one(pilot, rng=rng, **{**arguments, "draws": TRUTHS})
        self.words = goal.estimand.words(pilot.target)
        self.truths, self.sums = now.bin_draws, LossesAndRanks(pilot, goal.estimand)
        question = wording.question(goal.estimand.of_target(pilot.target), [pilot], now.model, now.posterior.prior)
        self.spec = f"pilot: {question}"
        values = now.draws(goal.estimand)
        self.pilot_verdict = self._verdict(values)
        self._describe(values)

    #: The verdicts that meet the goal, the goal and the pilot's result in words, rows to begin with, and the share of
    #: studies that meets the goal with unlimited rows.
    verdicts: tuple[str, ...]
    in_words: str
    pilot_now: str
    guess: float
    reachable: float = 1.0

    @abstractmethod
    def _verdict(self, values: Draws) -> str | None:
        """Return the verdict that meets the goal, or None."""

    @abstractmethod
    def _describe(self, values: Draws) -> None:
        """Set the words and the first guess, from the posterior of the pilot."""

    def study(self, n: int, i: int, rng: np.random.Generator) -> str | None:
        """Simulate `n` rows from the truth number `i`, and return the verdict of their evaluation."""
        mass, accuracy = self.truths.mass[i % TRUTHS], self.truths.accuracy[i % TRUTHS]
        rows, weight = effective_rows(self.pilot.n_rows, self.pilot.weight.sum(), self.pilot.weight_sq.sum(), n)
        total = rng.multinomial(rows, mass / mass.sum())
        positive = rng.binomial(total, accuracy)
        confidence = np.broadcast_to(self.truths.confidence, self.truths.accuracy.shape)[i % TRUTHS]
        cells = np.stack([total - positive, positive])
        new = self.sums.added(counts_like(self.pilot, cells, confidence, weight), weight, rng)
        counts = self.pilot + new if self.keep else new
        if not self.goal.estimand.available(counts):  # a few new rows may have one outcome only
            return None
        evaluation: Evaluation = evaluate_one(counts, rng=rng, **self.arguments)
        return self._verdict(evaluation.draws(self.goal.estimand))


class Narrow(OneClassifier):
    """The goal of an interval of at most some width."""

    verdicts = (NARROW,)

    def _verdict(self, values: Draws) -> str | None:
        # quantiles at positions q (n + 1) have the probability q on average; those of `interval` are closer together,
        # by 3 % of a Normal's width with 300 draws
        low, high = np.quantile(values.values, [(1 - self.goal.prob) / 2, (1 + self.goal.prob) / 2], method="weibull")
        return NARROW if high - low <= self.goal.size else None

    def _describe(self, values: Draws) -> None:
        low, high = values.interval(self.goal.prob)
        rows, size = self.pilot.n_rows, self.goal.size
        self.in_words = f"a {100 * self.goal.prob:g} % interval of the {self.words} no wider than {size:g}"
        self.pilot_now = f"the pilot's {rows} rows alone give {low:.3f} to {high:.3f}, a width of {high - low:.3f}"
        # the width is roughly proportional to the inverse square root of the number of rows
        self.guess = rows * ((high - low) / size) ** 2 - (rows if self.keep else 0)


class WithinLimit(OneClassifier):
    """The goal of a posterior that is sure that the value is below, or above, a limit.

    With unlimited rows the posterior knows the truth, so the share of studies that meet the goal tends to the
    probability, given the pilot, that the truth is within the limit.
    """

    def _verdict(self, values: Draws) -> str | None:
        goal = self.goal
        return f"{goal.kind} {goal.size:g}" if goal.met_by(values.values) >= goal.prob else None

    def _describe(self, values: Draws) -> None:
        goal, rows = self.goal, self.pilot.n_rows
        self.verdicts = (f"{goal.kind} {goal.size:g}",)
        self.reachable = goal.met_by(values.values)
        statement = goal.limit(self.pilot.target)
        self.in_words = f"a posterior probability of at least {goal.prob:g} that {statement}"
        probability = _render.probability(self.reachable).removeprefix("= ")
        self.pilot_now = f"given the pilot's {rows} rows alone, the probability that {statement} is {probability}"
        scaled = goal.estimand.badness(values.values)
        distance = (-goal.size if goal.kind == "above" else goal.size) - scaled.mean()
        z = 1.645  # of the limit, in standard deviations, at 95 % on one side
        factor = (z * scaled.std() / distance) ** 2 if distance > 0 else 10.0
        self.guess = rows * min(factor, 100.0) - (rows if self.keep else 0)
