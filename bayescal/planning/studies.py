"""Goals, and simulated studies: of one classifier, for a width or a limit; of two, for a verdict which is better."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Floats, Generator, Ints
from bayescal._texts import text_of
from bayescal.analyses.one import evaluate_one
from bayescal.draws import Draws
from bayescal.estimands.area_under_roc import correlation_of_aucs
from bayescal.estimands.estimand import Estimand, checked_limit, checked_number, within_limit
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.estimands.scores import LEAST_ROWS
from bayescal.planning import simulated
from bayescal.posterior.joint import correlation, reorder
from bayescal.results import wording
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.losses import KINDS
from bayescal.stats.paired import PairedCounts

#: Sums of losses that estimands need besides the bins, in words.
WORDS = {"losses": "squared errors", "log_losses": "log losses"}
#: The goals, and the counts of the pilot that each needs.
PILOTS = {"width": BinnedCounts, "below": BinnedCounts, "above": BinnedCounts, "difference": PairedCounts}


@dataclass(frozen=True)
class Goal:
    """A statement that the evaluation of a test set is to reach.

    `kind` is "width" for a narrow interval, "below" or "above" for a limit of which the posterior is sure, or
    "difference" for a verdict on two classifiers. `size` is the width, the limit, or the half-width of the region of
    practical equivalence; `prob` is the probability of the interval or of the statement.
    """

    kind: str
    size: float
    prob: float
    estimand: Estimand

    def limit(self, target: str) -> str:
        """Return the statement about the limit, as in "the ECE is below 0.02"."""
        absolute = "absolute " if self.estimand.better == "nearest zero" else ""
        return f"the {absolute}{self.estimand.words(target)} is {self.kind} {self.size:g}"


def checked_goal(pilot: Any, values: dict[str, Any], estimand: EstimandLike, prob: Any) -> Goal:
    """Check that there is one goal, which fits the counts of the pilot and the estimand."""
    named = [kind for kind, value in values.items() if value is not None]
    if len(named) != 1:
        given_now = ", ".join(f"`{kind}`" for kind in named) or "none"
        raise ValueError(
            "exactly one of `width` (of the interval of one classifier), `below` or `above` (a limit for one "
            f"classifier) and `difference` (of two classifiers) must be given, not {given_now}."
        )
    kind = named[0]
    _require_counts(pilot, kind)
    record = as_scalar(estimand)
    _require_needed(pilot, record, kind)
    check = {"width": _width, "difference": _difference}.get(kind, partial(checked_limit, instead=": use `width`"))
    return Goal(kind, check(kind, values[kind], record), _checks.fraction("prob", prob), record)


def _require_counts(pilot: Any, kind: str) -> None:
    wanted: Any = PILOTS[kind]
    if not isinstance(pilot, wanted):
        hints = {
            BinnedCounts: "For one classifier use `width`, `below` or `above`; for two, `PairedCounts.from_arrays`.",
            PairedCounts: "For two classifiers use `difference`; each has counts, `pilot_counts.first` and `.second`.",
            Evaluation: "Its counts are `.counts`.",
            Comparison: "Its counts are in `.pairs`, as in `comparison.pairs[0, 1]`.",
        }
        source = "compare(...).pairs[0, 1]" if kind == "difference" else "evaluate(y_true, y_prob).counts"
        hint = hints.get(type(pilot), f"Make them with `{wanted.__name__}.from_arrays`, or use `{source}`.")
        raise TypeError(f"`pilot_counts` must be {wanted.__name__} for `{kind}`, not {type(pilot).__name__}. {hint}")
    refuse_clusters(pilot, "pilot_counts", "a plan")
    if not pilot.weight.any():
        raise ValueError("`pilot_counts` must hold labelled rows, and is empty; a few hundred rows are enough.")


def _require_needed(pilot: Any, estimand: Estimand, kind: str) -> None:
    """Raise if the pilot lacks what the estimand needs besides the bins, or new rows cannot have it."""
    both = (pilot.first, pilot.second) if kind == "difference" else (pilot,)
    for losses in sorted(estimand.needs & KINDS.keys()):
        _require_losses(pilot, both, estimand, losses)
    if "outcomes" in estimand.needs and any(counts.ranks is None for counts in both):
        source = "`compare(...).pairs[0, 1]`" if kind == "difference" else "`evaluate(y_true, y_prob).counts`"
        raise ValueError(text_of("pilot without the order of the rows", name=estimand.name, source=source))
    if kind == "difference" and estimand.needs & KINDS.keys() and estimand.joint is None:
        raise ValueError(
            f"`estimand` {estimand.name!r} cannot be planned for with `difference`: it needs losses by bin, and those "
            "of two classifiers are simulated for all rows together. Define `joint` in its Estimand."
        )


def _require_losses(pilot: Any, both: tuple[BinnedCounts, ...], estimand: Estimand, losses: str) -> None:
    sums = [getattr(counts, losses) for counts in both]
    if len(both) > 1:
        sums.append(getattr(pilot, KINDS[losses].difference))
    if any(of is None for of in sums):
        raise ValueError(
            text_of("pilot without sums of losses", losses=WORDS[losses], name=estimand.name, kind=type(pilot).__name__)
        )
    rows = min(counts.effective_rows for counts in both)
    if len(both) > 1 and rows < LEAST_ROWS:
        raise ValueError(
            f"`pilot_counts` must hold at least {LEAST_ROWS} effective rows for the difference of two scores; these "
            f"are {rows:.3g}."
        )


def _width(kind: str, value: Any, estimand: Estimand) -> float:
    low, high = estimand.bounds
    if high - low <= 1:
        return _checks.fraction(kind, value)
    width = checked_number(kind, value)
    if not 0 < width < high - low:
        raise ValueError(f"`width` must lie strictly between 0 and {high - low:g} for {estimand.name!r}, not {value}.")
    return width


def _difference(kind: str, value: Any, estimand: Estimand) -> float:
    if estimand.better is None:
        raise ValueError(f"`difference` does not fit `estimand` {estimand.name!r}, of which no value is better.")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{kind}` must be a number in [0, 1), not {value!r}.{_checks.of_percent(value)}")
    if not 0 <= float(value) < 1:
        hint = " Percent? Divide by 100." if 1 <= float(value) <= 100 else " Its sign is not needed."
        raise ValueError(f"`{kind}` must lie in [0, 1), in units of the {estimand.symbol}, not {value}.{hint}")
    return float(value)


#: Draws of the posterior of the pilot, for truths and for the dependence between two classifiers.
TRUTHS = 4000
NARROW = "narrow enough"
#: The verdicts that settle a difference, by the name under which `Comparison.decide` has their probability.
VERDICTS = {"p_left": "first better", "p_rope": "equal", "p_right": "second better"}
#: Outcomes of the two classifiers, in the order of the table of a pair.
PATTERNS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


class OneClassifier(ABC):
    """Simulated studies of one classifier: each draws a truth from the posterior of the pilot, and rows from it."""

    def __init__(self, pilot: BinnedCounts, goal: Goal, keep: bool, arguments: dict[str, Any], rng: Generator) -> None:
        self.pilot, self.goal, self.keep, self.arguments = pilot, goal, keep, arguments
        now = evaluate_one(pilot, rng=rng, **{**arguments, "draws": TRUTHS})
        self.words = goal.estimand.words(pilot.target)
        self.truths, self.sums = now.bin_draws, simulated.LossesAndRanks(pilot, goal.estimand)
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

    def study(self, n: int, i: int, rng: Generator) -> str | None:
        """Simulate `n` rows from the truth number `i`, and return the verdict of their evaluation."""
        mass, accuracy = self.truths.mass[i % TRUTHS], self.truths.accuracy[i % TRUTHS]
        rows, weight = simulated.effective_rows(
            self.pilot.n_rows, self.pilot.weight.sum(), self.pilot.weight_sq.sum(), n
        )
        total = rng.multinomial(rows, mass / mass.sum())
        positive = rng.binomial(total, accuracy)
        confidence = np.broadcast_to(self.truths.confidence, self.truths.accuracy.shape)[i % TRUTHS]
        cells = np.stack([total - positive, positive])
        new = self.sums.added(simulated.counts_like(self.pilot, cells, confidence, weight), weight, rng)
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
    """The goal of a posterior that is sure that the value is below, or above, a limit."""

    def _verdict(self, values: Draws) -> str | None:
        goal = self.goal
        met = within_limit(values.values, goal.size, goal.estimand) >= goal.prob
        return f"{goal.kind} {goal.size:g}" if met else None

    def _describe(self, values: Draws) -> None:
        goal, rows = self.goal, self.pilot.n_rows
        self.verdicts = (f"{goal.kind} {goal.size:g}",)
        self.reachable = within_limit(values.values, goal.size, goal.estimand)
        statement = goal.limit(self.pilot.target)
        self.in_words = f"a posterior probability of at least {goal.prob:g} that {statement}"
        probability = _render.probability(self.reachable).removeprefix("= ")
        self.pilot_now = f"given the pilot's {rows} rows alone, the probability that {statement} is {probability}"
        scaled = goal.estimand.badness(values.values)
        distance = (-goal.size if goal.kind == "above" else goal.size) - scaled.mean()
        z = 1.645  # of the limit, in standard deviations, at 95 % on one side
        factor = (z * scaled.std() / distance) ** 2 if distance > 0 else 10.0
        self.guess = rows * min(factor, 100.0) - (rows if self.keep else 0)


class TwoClassifiers:
    """Simulated studies of two classifiers: each draws a truth of both, and new rows from the truth."""

    verdicts: tuple[str, ...] = tuple(VERDICTS.values())
    #: With unlimited rows, every difference is settled, unless it equals the limit exactly.
    reachable: float = 1.0

    def __init__(self, pilot: PairedCounts, goal: Goal, keep: bool, arguments: dict[str, Any], rng: Generator) -> None:
        self.pilot, self.goal, self.keep, self.arguments = pilot, goal, keep, arguments
        now = self._compared(pilot, TRUTHS, rng)
        self.pilot_verdict = self._verdict(now)
        self.in_words = _settled(goal)
        decided = now.decide("first", "second", estimand=goal.estimand)
        shares = ", ".join(f"P({word}) {_render.probability(decided[name])}" for name, word in VERDICTS.items())
        self.pilot_now = f"the pilot's {pilot.n_rows} rows alone give {shares}"
        words = goal.estimand.of_target(pilot.first.target)
        evaluation = now.evaluations["first"]
        question = wording.question(words, [pilot.first], evaluation.model, evaluation.posterior.prior)
        self.spec = f"pilot: 2 classifiers on the same rows: {question}, rope {goal.size:g}"
        self.guess = float(pilot.n_rows)
        self.truths = [evaluation.bin_draws for evaluation in now.evaluations.values()]
        values = [evaluation.draws(goal.estimand).values for evaluation in now.evaluations.values()]
        # pairs of draws of the two classifiers, as the comparison pairs those of the estimand
        places = np.tile(np.arange(float(TRUTHS))[:, None], 2)
        tied = reorder(places, correlation(values, self.truths, {(0, 1): pilot}), rng=rng).astype(np.intp)
        self.order = np.take_along_axis(np.argsort(np.stack(values, axis=1), axis=0, kind="stable"), tied, axis=0)
        self.weight, self.within, self.at = _pairs_of_bins(pilot)
        self.sums = PairedLossesAndRanks(pilot, goal.estimand)

    def study(self, n: int, i: int, rng: Generator) -> str | None:
        """Simulate `n` rows from the truth number `i`, and return the verdict of their comparison."""
        pilot, numbers = self.pilot, self.order[i % TRUTHS]
        accuracies = [truths.accuracy[j] for truths, j in zip(self.truths, numbers, strict=True)]
        rows, weight = simulated.effective_rows(pilot.n_rows, pilot.weight.sum(), pilot.weight_sq.sum(), n)
        mass = rng.dirichlet(self.weight)
        table = mass[:, None] * _outcomes(self.within, mass, self.at, accuracies)
        cells = rng.multinomial(rows, (table / table.sum()).ravel()).reshape(table.shape)
        margins = []
        for k, (counts, truths, j) in enumerate(zip((pilot.first, pilot.second), self.truths, numbers, strict=True)):
            by_outcome = np.zeros((2, len(counts.bins)), np.int64)
            for pattern, outcome in enumerate(PATTERNS[:, k]):
                np.add.at(by_outcome[outcome], self.at[k], cells[:, pattern])
            confidence = np.broadcast_to(truths.confidence, truths.accuracy.shape)[j]
            margins.append(simulated.counts_like(counts, by_outcome, confidence, weight))
        new = self.sums.added(_paired(margins, self.at, cells, weight), weight, rng)
        pair = self.sums.completed(pilot + new if self.keep else new)
        if not all(self.goal.estimand.available(of) for of in (pair.first, pair.second)):
            return None  # a few new rows may have one outcome only
        return self._verdict(self._compared(pair, self.arguments["draws"], rng))

    def _compared(self, pair: PairedCounts, draws: int, rng: Generator) -> Comparison:
        """Compare as `compare` does, with the same random numbers for both classifiers."""
        common, order = _checks.seeds(rng, 2)
        arguments = {**self.arguments, "draws": draws, "rng": common}
        both = {"first": evaluate_one(pair.first, **arguments), "second": evaluate_one(pair.second, **arguments)}
        return Comparison(both, {(0, 1): pair}, self.goal.size, order)

    def _verdict(self, comparison: Comparison) -> str | None:
        decided = comparison.decide("first", "second", estimand=self.goal.estimand)
        if comparison.rope == 0:  # if both are exactly 0, neither is smaller
            decided["p_rope"] = 0.0
        return next((word for name, word in VERDICTS.items() if decided[name] >= self.goal.prob), None)


class PairedLossesAndRanks:
    """Losses and ranks of simulated rows of two classifiers, if the estimand needs them."""

    def __init__(self, pilot: PairedCounts, estimand: Estimand) -> None:
        self.one_event = estimand.same_event
        self.losses = {kind: simulated.JointLosses(pilot, kind) for kind in KINDS if kind in estimand.needs}
        self.ranks, self.correlation = None, None
        if "outcomes" in estimand.needs:
            both, pairs = (pilot.first, pilot.second), {(0, 1): pilot}
            self.ranks = simulated.SimulatedRanks(both, pairs)
            self.correlation = float(correlation_of_aucs(both, pairs)[0, 1])

    def added(self, pair: PairedCounts, weight: float, rng: Generator) -> PairedCounts:
        """Return simulated counts, whose rows have this weight, with their simulated losses and ranks."""
        of_first: dict[str, Any] = {}
        of_second: dict[str, Any] = {}
        differences: dict[str, Any] = {}
        for kind, losses in self.losses.items():
            first, second, difference = (sums.times(weight) for sums in losses.simulate(pair.n_rows, rng))
            of_first[kind] = simulated.shared_out(first, pair.first.cells)
            of_second[kind] = simulated.shared_out(second, pair.second.cells)
            differences[KINDS[kind].difference] = difference
        if self.ranks is not None:
            rows = [counts.cells.sum(axis=1) for counts in (pair.first, pair.second)]
            of_first["ranks"], of_second["ranks"] = self.ranks.simulate(rows, weight, rng)
        return replace(
            pair, first=replace(pair.first, **of_first), second=replace(pair.second, **of_second), **differences
        )

    def completed(self, pair: PairedCounts) -> PairedCounts:
        """Return the counts with the correlation of the areas under the ROC curve in the pilot."""
        pair = replace(pair, area_correlation=self.correlation)
        if not self.one_event:
            return pair
        first, second = (replace(counts, target="event") for counts in (pair.first, pair.second))
        return replace(pair, first=first, second=second)


def _settled(goal: Goal) -> str:
    sure, words = f"with {100 * goal.prob:g} % posterior probability", goal.estimand.symbol
    better = goal.estimand.comparative
    if goal.size == 0:
        return f"a verdict {sure} on which of two classifiers has the {better} {words}"
    two = "two ECEs" if words == "ECE" else f"the {words} of two classifiers"
    return f"a verdict {sure} on {two} (one {better} by more than {goal.size:g}, or the two within {goal.size:g})"


def _pairs_of_bins(pilot: PairedCounts) -> tuple[Floats, Floats, tuple[Ints, Ints]]:
    """Effective rows of each pair of bins that occurs, shares of the four outcomes in it, and the bins."""
    pairs, at = np.unique(pilot.cells[:, [0, 2]], axis=0, return_inverse=True)
    table = np.zeros((len(pairs), 4))
    np.add.at(table, (at, 2 * pilot.cells[:, 1] + pilot.cells[:, 3]), pilot.weight)
    table *= pilot.weight.sum() / pilot.weight_sq.sum()
    # both outcomes are possible, also if the pilot has only one of them
    overall = table.sum(axis=0) + np.array([0.5, 0.0, 0.0, 0.5])
    rows = table.sum(axis=1)
    return rows, (table + overall / overall.sum()) / (rows[:, None] + 1), (pairs[:, 0], pairs[:, 1])


def _outcomes(within: Floats, mass: Floats, at: tuple[Ints, Ints], accuracies: list[Floats]) -> Floats:
    """Shares of the four outcomes in each pair of bins, such that each bin of both classifiers has its accuracy.

    The share of rows in which both outcomes are 1 lies at the same point as in `within` between the smallest and the
    largest share that the accuracies allow.
    """
    before = within[:, 2] + within[:, 3], within[:, 1] + within[:, 3]
    after = [_shifted(b, mass, i, accuracy) for b, i, accuracy in zip(before, at, accuracies, strict=True)]
    least, most = np.maximum(before[0] + before[1] - 1, 0.0), np.minimum(*before)
    along = np.clip((within[:, 3] - least) / (most - least), 0.0, 1.0)
    least, most = np.maximum(after[0] + after[1] - 1, 0.0), np.minimum(*after)
    both = least + along * (most - least)
    shares = np.stack([1 - after[0] - after[1] + both, after[1] - both, after[0] - both, both], axis=1)
    return np.maximum(shares, 0.0)


def _shifted(share: Floats, mass: Floats, at: Ints, accuracy: Floats) -> Floats:
    """Shares of outcome 1 in pairs of bins, moved towards 0 or 1 until each bin has its accuracy."""
    size = len(accuracy)
    total = np.bincount(at, mass, size)
    now = np.divide(np.bincount(at, mass * share, size), total, out=np.full(size, 0.5), where=total > 0)
    wanted, now = accuracy[at], now[at]
    return np.where(wanted < now, share * wanted / now, 1 - (1 - share) * (1 - wanted) / (1 - now))


def _paired(margins: list[BinnedCounts], at: tuple[Ints, Ints], cells: Ints, weight: float) -> PairedCounts:
    pair, pattern = np.nonzero(cells)
    outcome = PATTERNS[pattern]
    joint = np.stack([at[0][pair], outcome[:, 0], at[1][pair], outcome[:, 1]], axis=1)
    order = np.lexsort(joint.T[::-1])
    n = cells[pair, pattern][order]
    weights = weight * n.astype(np.float64)
    return PairedCounts(margins[0], margins[1], joint[order], n, weights, weight * weights)
