"""Evaluations: several evaluations along one axis, with joint draws of every estimand, differences and ranks."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _presented
from bayescal._meant import no_attribute
from bayescal.draws import Draws
from bayescal.estimands.names import hint
from bayescal.estimands.registry import EstimandLike, as_estimand, as_scalar, is_registered
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import (
    Labelled,
    checked_rope,
    decided,
    label_rows,
    listed,
    mean_ranks,
    p_smallest,
    p_within,
    pair_row,
    rank_shares,
)

Floats = NDArray[np.float64]
#: Default half-width of the region of practical equivalence, in units of the estimand.
ROPE = 0.01


class Evaluations(Labelled, _presented.Presented):
    """Several evaluations along one axis: classifiers, groups, classes, or periods.

    Subclasses state the labels, how to get one evaluation, and how draws of one estimand are made joint. Differences,
    probabilities of being the best and ranks follow from the joint draws.
    """

    @abstractmethod
    def _evaluation(self, label: Any) -> Evaluation:
        """Return the evaluation of a label that exists."""

    @abstractmethod
    def _joint_values(self, estimand: EstimandLike) -> Floats:
        """Draw an estimand of all evaluations jointly, shape (n_draws, n)."""

    def _pair_values(self, i: int, j: int, estimand: EstimandLike) -> Floats:
        """Draw an estimand of two evaluations jointly, shape (n_draws, 2), given their positions."""
        return self.draws(estimand).values[:, [i, j]]

    @abstractmethod
    def table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return the rows of the printed table, as data."""

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(prob, **options)

    def _rope(self) -> float:
        return ROPE

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
        return hint(name, f"result[{self.axis}].{{}}")

    def draws(self, estimand: EstimandLike = "ece") -> Draws:
        """Joint draws of an estimand of all evaluations.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            Its name, its record, or a function of draws of the bins.

        Returns
        -------
        Draws
            Shape (n_draws, n), in the order of `labels`. Draws of two estimands are not joint with each other, unlike
            those of one `Evaluation`.
        """
        record = as_scalar(estimand)
        # only the last function is kept, since 50 functions would keep 50 arrays
        key, source = (record.name, record) if is_registered(record) else ("", estimand)
        if key not in self._joint or self._joint[key][0] is not source:
            self._joint[key] = source, self._joint_values(record)
        return Draws(self._joint[key][1], f"{record.name} by {self.axis}")

    def badness(self, estimand: EstimandLike = "ece") -> Floats:
        """Joint draws on a scale on which smaller is better.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        ndarray, shape (n_draws, n)
            The draws if smaller is better, their negatives if larger is better, their absolute values if the value
            nearest zero is the best.
        """
        return as_estimand(estimand).badness(self.draws(estimand).values)

    def difference(self, first: Any = None, second: Any = None, estimand: EstimandLike = "ece") -> Draws:
        """Draws of an estimand of the first evaluation minus that of the second.

        Parameters
        ----------
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        Draws
            Shape (n_draws,); negative means that the first value is smaller. A signed estimand keeps its sign here.
            Decisions, tables, sentences and pictures compare its absolute values: ``abs(result.draws(name).values)``.

        Raises
        ------
        ValueError, TypeError
            If there is no such label, or more than two evaluations and no labels are given.
        """
        i, j = self._pair(first, second)
        values = self._pair_values(i, j, estimand)
        return Draws(values[:, 0] - values[:, 1], f"{as_estimand(estimand).name}: {self.names[i]} - {self.names[j]}")

    def decide(
        self, first: Any = None, second: Any = None, *, rope: float | None = None, estimand: EstimandLike = "ece"
    ) -> dict[str, float]:
        """Probabilities that one evaluation is better, that the other is, and that they are practically equal.

        Parameters
        ----------
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.
        rope : float, optional
            Half-width of the region of practical equivalence [1]_ [2]_. The default is the attribute `rope` of a
            `Comparison` or `Change`, and 0.01 for other results.
        estimand : str, Estimand or callable, default "ece"
            The estimand; absolute values are compared if the value nearest zero is the best.

        Returns
        -------
        dict of str to float
            ``p_left`` (the first is better by more than the rope), ``p_rope`` (the difference is within the rope),
            ``p_right`` (the second is better by more than the rope), which add up to 1; and ``p_left_mcse``,
            ``p_rope_mcse`` and ``p_right_mcse``, their Monte Carlo standard errors.

        Raises
        ------
        ValueError
            If there is no such label, or `rope` is negative.

        References
        ----------
        .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), "Time for a change: a tutorial for comparing
           multiple classifiers through Bayesian analysis", Journal of Machine Learning Research 18(77), 1-36.
        .. [2] J. K. Kruschke (2018), "Rejecting or accepting parameter values in Bayesian estimation", Advances in
           Methods and Practices in Psychological Science 1, 270-280.
        """
        width = self._rope() if rope is None else checked_rope(rope)
        i, j = self._pair(first, second)
        return decided(self._gap(i, j, estimand), width)

    def rope_curve(
        self, ropes: ArrayLike, first: Any = None, second: Any = None, estimand: EstimandLike = "ece"
    ) -> Floats:
        """Probability of practical equivalence as a function of the half-width of its region.

        Parameters
        ----------
        ropes : array-like
            Half-widths, >= 0, in units of the estimand.
        first, second : label, optional
            Labels of two evaluations; may be omitted if there are only two.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        ndarray
            Probability that the absolute difference is at most each half-width.

        Raises
        ------
        ValueError
            If a half-width is negative or not finite.
        """
        i, j = self._pair(first, second)
        return p_within(self._gap(i, j, estimand), ropes)

    def p_best(self, estimand: EstimandLike = "ece") -> dict[Any, float]:
        """Probability that each evaluation is the best; those that tie in a draw share it equally.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        dict of label to float
            Probabilities that add up to 1.
        """
        return self._by_label(p_smallest(self.badness(estimand)))

    def p_worst(self, estimand: EstimandLike = "ece") -> dict[Any, float]:
        """Probability that each evaluation is the worst; those that tie in a draw share it equally.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        dict of label to float
            Probabilities that add up to 1.
        """
        return self._by_label(p_smallest(-self.badness(estimand)))

    def expected_ranks(self, estimand: EstimandLike = "ece") -> dict[Any, float]:
        """Posterior mean of the rank of each evaluation, 1 being the best; those that tie share their mean rank.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        dict of label to float
            Mean ranks from 1 to the number of evaluations.
        """
        return self._by_label(mean_ranks(self.badness(estimand)))

    def rank_probabilities(self, estimand: EstimandLike = "ece") -> Floats:
        """Probability of every rank of every evaluation; those that tie in a draw share their ranks equally.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        ndarray, shape (n, n)
            Row: an evaluation, in the order of `labels`. Column: a rank, the first being the best. Rows and columns
            add up to 1.
        """
        return rank_shares(self.badness(estimand))

    def each(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return one dict per evaluation, as data.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        list of dict
            Keys ``classifier``, ``group``, ``class`` or ``period`` (the label), mean, sd, low, high, p_best and rank.
        """
        return label_rows(self.axis, self.labels, self.draws(estimand), self.badness(estimand), prob)

    def pairs_table(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> list[dict[str, Any]]:
        """Return the decision table as data: one dict per pair.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        list of dict
            Keys first, second, mean, sd, low, high (of the difference first - second; of absolute values if the value
            nearest zero is the best), and those of `decide`. Two evaluations keep the order in which they were given;
            of three or more, ``first`` has the better expected rank.
        """
        return self._rows(combinations(self._listed(estimand), 2), prob, estimand)

    def _rows(self, pairs: Iterable[tuple[Any, Any]], prob: float, estimand: EstimandLike) -> list[dict[str, Any]]:
        return [
            pair_row(*pair, self._compared_difference(*pair, estimand), self.decide(*pair, estimand=estimand), prob)
            for pair in pairs
        ]

    def _compared_difference(self, first: Any, second: Any, estimand: EstimandLike) -> Draws:
        """Draws of the first value minus the second, as they are compared; see `Estimand.compared`."""
        record, (i, j) = as_estimand(estimand), self._pair(first, second)
        values = record.compared(self._pair_values(i, j, estimand))
        return Draws(values[:, 0] - values[:, 1], f"{record.compared_name}: {self.names[i]} - {self.names[j]}")

    def _gap(self, i: int, j: int, estimand: EstimandLike) -> Floats:
        """Return draws of the difference of two evaluations; negative means that the first is better."""
        badness = as_estimand(estimand).badness(self._pair_values(i, j, estimand))
        return badness[:, 0] - badness[:, 1]

    def _in_order(self, estimand: EstimandLike) -> tuple[Any, ...]:
        """Return the labels from the best expected rank to the worst; ties keep the given order."""
        return tuple(sorted(self.labels, key=self.expected_ranks(estimand).__getitem__))

    def _listed(self, estimand: EstimandLike) -> tuple[Any, ...]:
        """Return the labels in the order in which pairs are subtracted."""
        return listed(self.labels, self._in_order(estimand))
