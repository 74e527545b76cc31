"""Joint draws of several quantities along an axis: labels, decisions between two, ranks of all, the best in words."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats, Ints
from bayescal._meant import no_attribute
from bayescal._metrics import Table
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar, hint, is_registered
from bayescal.results.comparable import Verdict, better_words
from bayescal.results.evaluation import Evaluation

ROPE = 0.01  #: Default half-width of the region of practical equivalence, in units of the estimand.


class Labelled(ABC):
    """Results along one axis, found by their labels."""

    #: Kind of the labels: "classifier", "group", "class" or "period".
    axis: str

    @property
    @abstractmethod
    def labels(self) -> tuple[Any, ...]:
        """Labels of the results, in order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The labels in words, for printing."""
        return tuple(map(str, self.labels))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def _require_label(self, label: Any) -> None:
        _checks.label(self.axis, label, self.labels)

    def _by_label(self, values: Floats) -> dict[Any, float]:
        return dict(zip(self.labels, values.tolist(), strict=True))

    def _pair(self, first: Any, second: Any) -> tuple[int, int]:
        """Return the positions of two labels."""
        labels = list(self.labels)
        if first is None and second is None and len(labels) == 2:
            return 0, 1
        if first is None or second is None:
            raise TypeError(f"`first` and `second` must be two of the labels {labels}.")
        for name, label in (("first", first), ("second", second)):
            _checks.one_of(name, label, labels)
        return labels.index(first), labels.index(second)


def listed[Label](labels: Sequence[Label], best_first: Sequence[Label]) -> tuple[Label, ...]:
    """Return labels in the order in which all results subtract pairs: the earlier label minus the later one.

    Two labels keep the order in which they were given: their difference has the same sign for every estimand and seed,
    and that of ``difference()``. Three or more are listed from the best expected rank to the worst.
    """
    return tuple(labels if len(labels) == 2 else best_first)


def checked_rope(rope: Any) -> float:
    """Return a half-width of practical equivalence, which must be a finite number >= 0."""
    width = np.asarray(rope)
    if width.shape != () or width.dtype.kind not in "iuf" or not np.isfinite(width) or width < 0:
        raise ValueError(
            "`rope` must be a number >= 0 in units of the estimand, the half-width of the region of practical "
            f"equivalence; not {rope!r}."
        )
    return float(width)


def decided(gap: Floats, rope: float) -> dict[str, float]:
    """Return the shares of draws in which the first is better by more than the rope, both are equal, or the second is.

    `gap` has shape (n_draws,); negative means that the first is better. The keys are ``p_left``, ``p_rope`` and
    ``p_right``, which add up to 1, and with the suffix ``_mcse`` their Monte Carlo standard errors.
    """
    shares = {
        "p_left": float((gap < -rope).mean()),
        "p_rope": float((np.abs(gap) <= rope).mean()),
        "p_right": float((gap > rope).mean()),
    }
    return shares | {f"{name}_mcse": float(np.sqrt(p * (1 - p) / len(gap))) for name, p in shares.items()}


def p_within(gap: Floats, ropes: ArrayLike) -> Floats:
    """Return the share of draws in which the absolute difference is at most each half-width, which must be >= 0."""
    widths = np.asarray(ropes, dtype=np.float64)
    bad = ~(np.isfinite(widths) & (widths >= 0))
    if bad.any():
        _checks.refuse("ropes", "must be finite and >= 0", bad, widths)
    return np.searchsorted(np.sort(np.abs(gap)), widths, side="right") / len(gap)


def p_smallest(values: Floats) -> Floats:
    """Compute the probability that each column of draws is the smallest; columns that tie share a draw equally."""
    smallest = values == values.min(axis=1, keepdims=True)
    shares: Floats = (smallest / smallest.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def tied_ranks(size: Floats) -> tuple[Ints, Ints, Ints]:
    """Sort the columns of each row; also return the ranks [start, end) that each sorted value shares with its ties."""
    order = np.argsort(size, axis=1, kind="stable")
    ordered, place = np.take_along_axis(size, order, axis=1), np.arange(size.shape[1])
    differs = ordered[:, 1:] != ordered[:, :-1]
    first = np.pad(differs, ((0, 0), (1, 0)), constant_values=True)
    last = np.pad(differs, ((0, 0), (0, 1)), constant_values=True)
    start = np.maximum.accumulate(np.where(first, place, 0), axis=1)
    end = np.minimum.accumulate(np.where(last, place + 1, size.shape[1])[:, ::-1], axis=1)[:, ::-1]
    return order, start, end


def ranks_of(badness: Floats) -> Floats:
    """Return the rank of each column in each row, 1 being the smallest; columns that tie share their mean rank."""
    order, start, end = tied_ranks(badness)
    ranks = np.empty(badness.shape)
    np.put_along_axis(ranks, order, (start + 1 + end) / 2, axis=1)
    return ranks


def mean_ranks(badness: Floats) -> Floats:
    """Return the mean over draws of the rank of each column, 1 being the smallest; ties share their ranks."""
    return ranks_of(badness).mean(axis=0)


def rank_shares(badness: Floats) -> Floats:
    """Return the probability of every rank (column) of every column of draws (row); ties share their ranks equally."""
    order, start, end = tied_ranks(badness)
    n_draws, size = order.shape
    share = 1 / (end - start)
    # a tie takes the ranks start ... end - 1: add its share at one end and subtract it at the other, then cumulate
    steps = np.zeros((size, size + 1))
    for place, sign in ((start, 1), (end, -1)):
        cell = (order * (size + 1) + place).ravel()
        steps += sign * np.bincount(cell, weights=share.ravel(), minlength=steps.size).reshape(steps.shape)
    return np.clip(steps.cumsum(axis=1)[:, :-1] / n_draws, 0, 1)


class Joint(Labelled, _presented.Presented):
    """Joint draws of quantities along one axis: differences, decisions between two, and ranks of all."""

    @abstractmethod
    def draws(self, estimand: EstimandLike | None = None) -> Draws:
        """Joint draws of an estimand, shape (n_draws, n), in the order of `labels`."""

    @abstractmethod
    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the rows of the printed table, as data."""

    def _record(self, estimand: EstimandLike | None) -> Estimand:
        """Return the record of an estimand; by default of the ECE."""
        return as_estimand("ece" if estimand is None else estimand)

    def _measured_by(self, **options: Any) -> str:
        return self._record(options.get("estimand")).name

    def _rope(self) -> float:
        return ROPE

    def _pair_values(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        """Draw an estimand of two labels jointly, shape (n_draws, 2), given their positions."""
        return self.draws(estimand).values[:, [i, j]]

    def badness(self, estimand: EstimandLike | None = None) -> Floats:
        """Joint draws on a scale on which smaller is better.

        They are the draws if smaller is better, their negatives if larger is better, their absolute values if the value
        nearest zero is the best; shape (n_draws, n).
        """
        return self._record(estimand).badness(self.draws(estimand).values)

    def _ranked(self, estimand: EstimandLike | None) -> Floats:
        """Draws of which the smallest is the best, shape (n_draws, n)."""
        return self.badness(estimand)

    def difference(self, first: Any = None, second: Any = None, estimand: EstimandLike | None = None) -> Draws:
        """Draws of an estimand of the first evaluation minus that of the second.

        Their shape is (n_draws,); negative means that the first value is smaller. A signed estimand keeps its sign
        here. Decisions, tables, sentences and pictures compare its absolute values: ``abs(result.draws(name).values)``.

        Parameters
        ----------
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.

        Raises
        ------
        ValueError, TypeError
            If there is no such label, or more than two evaluations and no labels are given.
        """
        i, j = self._pair(first, second)
        values = self._pair_values(i, j, estimand)
        return Draws(values[:, 0] - values[:, 1], f"{self._record(estimand).name}: {self.names[i]} - {self.names[j]}")

    def decide(
        self, first: Any = None, second: Any = None, *, rope: float | None = None, estimand: EstimandLike | None = None
    ) -> dict[str, float]:
        """Probabilities that one evaluation is better, that the other is, and that they are practically equal.

        Keys are ``p_left`` (the first is better by more than the rope), ``p_rope`` (the difference is within the rope),
        ``p_right`` (the second is better by more than the rope), which add up to 1; and ``p_left_mcse``,
        ``p_rope_mcse`` and ``p_right_mcse``, their Monte Carlo standard errors.

        Parameters
        ----------
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.
        rope : float, optional
            Half-width of the region of practical equivalence [1]_ [2]_. The default is the attribute `rope` of a
            `Comparison` or `Change`, and 0.01 for other results.
        estimand : str, Estimand or callable, optional
            The estimand, see `draws`; absolute values are compared if the value nearest zero is the best.

        Raises
        ------
        ValueError
            If there is no such label, or `rope` is negative.

        References
        ----------
        .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), as for `bayescal.compare`.
        .. [2] J. K. Kruschke (2018), as for `bayescal.compare`.
        """
        width = self._rope() if rope is None else checked_rope(rope)
        i, j = self._pair(first, second)
        return decided(self._gap(i, j, estimand), width)

    def rope_curve(
        self, ropes: ArrayLike, first: Any = None, second: Any = None, estimand: EstimandLike | None = None
    ) -> Floats:
        """Probability of practical equivalence as a function of the half-width of its region.

        Each value is the probability that the absolute difference is at most the half-width.

        Parameters
        ----------
        ropes : array-like
            Half-widths, >= 0, in units of the estimand.
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.

        Raises
        ------
        ValueError
            If a half-width is negative or not finite.
        """
        i, j = self._pair(first, second)
        return p_within(self._gap(i, j, estimand), ropes)

    def p_best(self, estimand: EstimandLike | None = None) -> dict[Any, float]:
        """Probability that each evaluation is the best; those that tie in a draw share it equally."""
        return self._by_label(p_smallest(self._ranked(estimand)))

    def p_worst(self, estimand: EstimandLike | None = None) -> dict[Any, float]:
        """Probability that each evaluation is the worst; those that tie in a draw share it equally."""
        return self._by_label(p_smallest(-self._ranked(estimand)))

    def expected_ranks(self, estimand: EstimandLike | None = None) -> dict[Any, float]:
        """Posterior mean of the rank of each evaluation, 1 being the best; those that tie share their mean rank."""
        return self._by_label(mean_ranks(self._ranked(estimand)))

    def rank_probabilities(self, estimand: EstimandLike | None = None) -> Floats:
        """Probability of every rank of every evaluation; those that tie in a draw share their ranks equally.

        Each row is an evaluation, in the order of `labels`, and each column a rank, the first being the best. Rows and
        columns add up to 1.
        """
        return rank_shares(self._ranked(estimand))

    def each(self, prob: float = 0.95, *, estimand: EstimandLike | None = None) -> list[dict[str, Any]]:
        """Return one dict per evaluation, as data.

        Keys are ``classifier``, ``group``, ``class`` or ``period`` (the label), mean, sd, low, high, p_best and rank.
        """
        draws, badness = self.draws(estimand), self._ranked(estimand)
        numbers = draws.mean(), draws.sd(), *draws.interval(prob), p_smallest(badness), mean_ranks(badness)
        names = (self.axis, "mean", "sd", "low", "high", "p_best", "rank")
        rows = zip(self.labels, *(each.tolist() for each in numbers), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def pairs_table(self, prob: float = 0.95, *, estimand: EstimandLike | None = None) -> list[dict[str, Any]]:
        """Return the decision table as data: one dict per pair.

        Keys are first, second, mean, sd, low, high (of the difference first - second; of absolute values if the value
        nearest zero is the best), and those of `decide`. Two evaluations keep the order in which they were given; of
        three or more, ``first`` has the better expected rank.
        """
        return self._rows(combinations(self._listed(estimand), 2), prob, estimand)

    def _rows(
        self, pairs: Iterable[tuple[Any, Any]], prob: float, estimand: EstimandLike | None
    ) -> list[dict[str, Any]]:
        rows = []
        for first, second in pairs:
            difference = self._compared_difference(first, second, estimand)
            row = {"first": first, "second": second, "mean": difference.mean(), "sd": difference.sd()}
            row |= dict(zip(("low", "high"), difference.interval(prob), strict=True))
            rows.append(row | self.decide(first, second, estimand=estimand))
        return rows

    def _compared_difference(self, first: Any, second: Any, estimand: EstimandLike | None) -> Draws:
        """Draws of the first value minus the second, as they are compared; see `Estimand.compared`."""
        record, (i, j) = self._record(estimand), self._pair(first, second)
        values = record.compared(self._pair_values(i, j, estimand))
        return Draws(values[:, 0] - values[:, 1], f"{record.compared_name}: {self.names[i]} - {self.names[j]}")

    def _gap(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        """Return draws of the difference of two evaluations; negative means that the first is better."""
        badness = self._record(estimand).badness(self._pair_values(i, j, estimand))
        return badness[:, 0] - badness[:, 1]

    def _in_order(self, estimand: EstimandLike | None) -> tuple[Any, ...]:
        """Return the labels from the best expected rank to the worst; ties keep the given order."""
        return tuple(sorted(self.labels, key=self.expected_ranks(estimand).__getitem__))

    def _listed(self, estimand: EstimandLike | None) -> tuple[Any, ...]:
        """Return the labels in the order in which pairs are subtracted."""
        return listed(self.labels, self._in_order(estimand))


class Judged(Joint):
    """Joint draws, and the best evaluation against the second best in words."""

    rope: float

    def _rope(self) -> float:
        return self.rope

    def _tables(self, prob: float, **options: Any) -> list[Table]:
        """Return each classifier, and the pairs in the given order, which does not depend on the data."""
        name, estimand = self._measured_by(**options), options.get("estimand")
        pairs = self._rows(combinations(self.labels, 2), prob, estimand)
        each = Table(self.each(prob, estimand=estimand), (self.axis,), name)
        return [each, Table(pairs, ("first", "second"), name)]

    @abstractmethod
    def _words(self, estimand: EstimandLike | None) -> str:
        """Words of an estimand, which follow "the"."""

    def _quantity(self, estimand: EstimandLike | None) -> str:
        """Words of what is compared: the estimand, or its absolute value if draws can be negative."""
        return f"size of the {self._words(estimand)}" if self._signed(estimand) else self._words(estimand)

    def _signed(self, estimand: EstimandLike | None) -> bool:
        """Whether absolute values are compared: the value nearest zero is the best, and some draws are below 0."""
        nearest = self._record(estimand).better == "nearest zero"
        return nearest and bool((self.draws(estimand).values < 0).any())

    def _pair_differences(self, estimand: EstimandLike | None) -> tuple[list[str], Floats]:
        """Names of all pairs, and draws of their differences as they are compared, shape (n_draws, n_pairs)."""
        pairs = list(combinations(self._listed(estimand), 2))
        values = [self._compared_difference(*pair, estimand).values for pair in pairs]
        return [f"{first} - {second}" for first, second in pairs], np.stack(values, axis=1)

    def _equal(self, first: Any, second: Any, estimand: EstimandLike | None) -> bool:
        """Whether two evaluations have the same value in every draw."""
        return not self.difference(first, second, estimand).values.any()

    def _decimals(self, difference: Draws) -> int:
        """Number of decimals of the difference in the sentence."""
        return _render.places(*difference.interval(0.95))

    def _verdict(self, estimand: EstimandLike | None) -> Verdict:
        (better, worse), (first, second) = self._in_order(estimand)[:2], self._listed(estimand)[:2]
        difference, words = self._compared_difference(first, second, estimand), self._words(estimand)
        return Verdict(
            better, worse, self.decide(better, worse, estimand=estimand), (first, second),
            difference, self._quantity(estimand), words,
            better_words(self._record(estimand), words, signed=self._signed(estimand)), self._rope(),
            exactly_equal=self._equal(better, worse, estimand), decimals=self._decimals(difference),
        )  # fmt: skip


class OfEstimand(Judged):
    """A result with tables and sentences about any estimand."""

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """Return the beginning of `sentence`, without numbers, for a title."""
        return self._verdict(estimand).short()

    @property
    def spec(self) -> str:
        """Return the comparison on one line, for the ECE; see `specification` for other estimands."""
        return self.specification()

    @abstractmethod
    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line."""

    def to_html(self, path: str | Path | None = None, *, estimand: EstimandLike = "ece") -> str | Path:
        """Return the result as one HTML page with pictures and sortable tables, or write it to a file.

        Parameters
        ----------
        path
            As for `Evaluation.to_html`. The estimand must be one that can be compared.
        """
        return _presented.page_of(self, path, estimand=estimand)

    def to_json(self, path: str | Path | None = None, *, estimand: EstimandLike = "ece") -> str | Path:
        """Return the result as JSON, or write it to a file, as ``bayescal compare --json`` does.

        Parameters
        ----------
        path
            As for `Evaluation.to_json`. The estimand must be one that can be compared.
        """
        return _presented.json_of(self, path, estimand=estimand)


class Evaluations(Joint):
    """Several evaluations along one axis: classifiers, groups, classes, or periods, with joint draws of an estimand."""

    @abstractmethod
    def _evaluation(self, label: Any) -> Evaluation:
        """Return the evaluation of a label that exists."""

    @abstractmethod
    def _joint_values(self, estimand: EstimandLike) -> Floats:
        """Draw an estimand of all evaluations jointly, shape (n_draws, n)."""

    @cached_property
    def _joint(self) -> dict[str, tuple[EstimandLike, Floats]]:
        """Cache: name of an estimand, or "" for a function -> the estimand and its joint draws."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # the draws can be computed again from the seeds, and some functions cannot be pickled
        return {name: value for name, value in self.__dict__.items() if name != "_joint"}

    def __getitem__(self, label: Any) -> Evaluation:
        """Return one evaluation, by its label."""
        self._require_label(label)
        return self._evaluation(label)

    __getattr__ = no_attribute

    def _instead(self, name: str) -> str:
        """Say where estimands are: in each evaluation, and as joint draws; may be empty."""
        return hint(name, f"result[{'label' if self.axis == 'class' else self.axis}].{{}}")

    def draws(self, estimand: EstimandLike | None = None) -> Draws:
        """Joint draws of an estimand of all evaluations.

        Their shape is (n_draws, n), in the order of `labels`. Draws of two estimands are not joint with each other,
        unlike those of one `Evaluation`.
        """
        record = as_scalar(self._record(estimand))
        # only the last function is kept, since 50 functions would keep 50 arrays
        key, source = (record.name, record) if is_registered(record) else ("", estimand or record)
        if key not in self._joint or self._joint[key][0] is not source:
            self._joint[key] = source, self._joint_values(record)
        return Draws(self._joint[key][1], f"{record.name} by {self.axis}")
