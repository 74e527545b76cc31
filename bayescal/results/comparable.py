"""Joint draws of an estimand of several evaluations, checks that they can be compared, and words of comparisons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from zlib import crc32

import numpy as np

from bayescal import _render
from bayescal._arrays import Floats
from bayescal._texts import text_of
from bayescal.draws import Draws
from bayescal.estimands.estimand import EVENTS, OWN_EVENT, OWN_EVENT_WORDS, Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar, registered
from bayescal.posterior.contract import Pooled
from bayescal.posterior.joint import correlation, reorder
from bayescal.results.evaluation import Evaluation
from bayescal.stats.bins import FROM_ROWS, VALUES
from bayescal.stats.contract import Paired
from bayescal.stats.losses import KINDS, is_finite

P_SURE = 0.95  #: From this probability on, sentences state a direction without reservation.
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


def pair_cells(
    rows: Iterable[Mapping[str, Any]],
    decimals: int = 4,
    numbers: Sequence[str] = ("mean", "sd", "low", "high"),
    more: Sequence[str] = (),
) -> list[list[str]]:
    """Return the cells of rows of a decision table: pair, `numbers`, probabilities, `more`; by default of `HEADER`."""
    return [
        [
            f"{row['first']} - {row['second']}",
            *(_render.number(row[name], decimals) for name in numbers),
            *(_render.probability(row[name]).removeprefix("= ") for name in ("p_left", "p_rope", "p_right")),
            *(_render.number(row[name], decimals) for name in more),
        ]
        for row in rows
    ]


def pair_key(axis: str, rope: float, words: str = "ECE", comparative: str = "smaller") -> str:
    """Explain the columns of probabilities in a table of pairs; `comparative`: such as "larger", of better values."""
    return text_of("columns of a comparison", axis=axis, words=words, comparative=comparative, rope=rope)


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


def common_estimands(
    evaluations: Iterable[Evaluation], pairs: Mapping[tuple[int, int], Paired] | None = None
) -> list[str]:
    """Return the names of the estimands that all of these evaluations have; curves are not among them."""
    evaluated = list(evaluations)
    missing = {
        need
        for need, kind in KINDS.items()
        if not all(is_finite(getattr(pair, kind.difference)) for pair in (pairs or {}).values())
    }
    return [
        name
        for name, each in registered().items()
        if each.coordinate is None
        and all(evaluation._available(each) for evaluation in evaluated)
        and not each.needs & missing
        and not different_events(each, pairs)
    ]


def order_rng(seed: int, estimand: Estimand) -> int | np.random.SeedSequence:
    """Return the seed of the joint draws of one estimand: `seed` for the ECE and errors like it, else one of its own.

    With the same random numbers, the draws of two estimands have nearly the same order, as is right for these errors
    only.
    """
    return seed if estimand.of_calibration else np.random.SeedSequence((seed, crc32(estimand.name.encode())))


def joint_values(
    evaluations: Sequence[Evaluation], pairs: Mapping[tuple[int, int], Paired] | None, estimand: EstimandLike, seed: int
) -> Floats:
    """Joint draws of an estimand of several evaluations, shape (n_draws, n); without `pairs` they are independent."""
    record = as_estimand(estimand)
    require_one_event(record, pairs)
    rng = order_rng(seed, record)
    if record.joint is not None and pairs:
        counts = [evaluation.counts for evaluation in evaluations]
        joint = record.joint(counts, pairs, len(evaluations[0].bin_draws), rng=rng)
        if joint is not None:
            return joint
    values = [values_of(evaluation, estimand) for evaluation in evaluations]
    if pairs is None and all(isinstance(evaluation.posterior, Pooled) for evaluation in evaluations):
        return np.stack(values, axis=1)  # these draws are joint already
    bin_draws = [evaluation.bin_draws for evaluation in evaluations]
    if pairs and record.correlation is not None:
        correlations = record.correlation([evaluation.counts for evaluation in evaluations], pairs)
    else:
        correlations = correlation(values, bin_draws, pairs) if pairs else np.eye(len(values))
    return reorder(np.stack(values, axis=1), correlations, rng=rng)


def require_one_event(record: Estimand, pairs: Mapping[tuple[int, int], Paired] | None) -> None:
    """Raise ValueError if values of classifiers on the same rows cannot be compared, because their events differ."""
    if different := different_events(record, pairs):
        raise ValueError(different)


def different_events(record: Estimand, pairs: Mapping[tuple[int, int], Paired] | None) -> str:
    """Return why values of classifiers on the same rows cannot be compared: their events differ; empty if they can."""
    if not record.same_event or not pairs:
        return ""
    if any(record.has_own_event(pair.first.target) for pair in pairs.values()):
        return text_of("event differs between classifiers", name=record.name, target=OWN_EVENT, event=OWN_EVENT_WORDS)
    # an event is the same for all classifiers; in simulated counts, outcomes may differ all the same
    separate = [pair for pair in pairs.values() if pair.first.target not in EVENTS]
    differ = max(
        (int(pair.n[(pair.cells[:, 1] != pair.cells[:, 3]) & (pair.weight > 0)].sum()) for pair in separate), default=0
    )
    if not differ:
        return ""
    rows = next(iter(pairs.values())).first.n_rows
    return text_of("outcomes differ between classifiers", name=record.name, differ=differ, rows=rows)


def values_of(evaluation: Evaluation, estimand: EstimandLike) -> Floats:
    """Draws of a scalar estimand of one evaluation."""
    return np.asarray(evaluation.draws(as_scalar(estimand)).values)


def same_spec(evaluations: Mapping[str, Evaluation], argument: str = "evaluations") -> None:
    """Raise ValueError unless all evaluations have the same target, horizon, model, bins and number of draws."""
    named: Sequence[tuple[str, Evaluation]] = list(evaluations.items())
    first_name, first = named[0]
    for name, other in named[1:]:
        for quality, get in _MUST_AGREE.items():
            a, b = get(first), get(other)
            if a != b and not (quality == "horizon" and None in (a, b)):  # outcomes that are all known have none
                raise ValueError(
                    f"`{argument}` must agree in {quality}: {first_name!r} has {a}, {name!r} has {b}. "
                    "Evaluate both with the same arguments."
                )


_MUST_AGREE: dict[str, Callable[[Evaluation], Any]] = {
    "target": lambda e: e.counts.target,
    "horizon": lambda e: e._horizon,
    "model": lambda e: f"{e.model} {e.posterior.prior}".strip(),
    "number of bins": lambda e: "their own" if e.counts.bins.kind == VALUES else len(e.counts.bins),
    "kind of bins": lambda e: e.counts.bins.kind,
    "closed side of bins": lambda e: e.counts.bins.closed,
    "edges": lambda e: "their own" if e.counts.bins.kind in FROM_ROWS else e.counts.bins.edges.tolist(),
    "number of draws": lambda e: len(e.bin_draws),
}
