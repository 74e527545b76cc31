"""Compared: named evaluations, and their differences relative to a region of practical equivalence."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _arviz, _checks
from bayescal.estimands.names import estimand_called, hint
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.results.comparable import common_estimands, different_events, joint_values
from bayescal.results.evaluation import Evaluation
from bayescal.results.evaluations import Evaluations
from bayescal.results.remarks import of_several
from bayescal.stats.contract import Paired

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Evaluations):
    """Evaluations by name: classifiers, groups, or two periods."""

    evaluations: dict[str, Evaluation]
    #: Joint counts of evaluations i < j on the same rows; None for different rows.
    pairs: Mapping[tuple[int, int], Paired] | None
    rope: float  # half-width of the region of practical equivalence, in units of the estimand
    order_seed: int  # seed with which draws are reordered to become joint draws

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, in the order in which they were given."""
        return tuple(self.evaluations)

    def _evaluation(self, label: str) -> Evaluation:
        return self.evaluations[label]

    def _instead(self, name: str) -> str:
        """Name the call for a difference; for scores of classifiers with different events, say why there is none."""
        meant = estimand_called(name)
        if meant is not None and (different := different_events(meant, self.pairs)):
            return f" {different}"
        difference = 'and a difference is `difference(a, b, estimand="{0}")'
        return hint(name, f"result[{self.axis}].{{0}}`, {difference}")

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        try:
            return joint_values(list(self.evaluations.values()), self.pairs, estimand, self.order_seed)
        except ValueError as problem:
            raise self._naming(problem, estimand) from problem

    def _naming(self, problem: ValueError, estimand: EstimandLike) -> ValueError:
        """Let the message name the evaluations that lack what the estimand needs, and what the others can do."""
        lacking = self._lacking(estimand)
        if not lacking:
            return problem
        others = [name for name in self.names if name not in lacking]
        pair = f"{others[0]!r}, {others[1]!r}" if len(others) > 1 else ""
        hint = f" Others can be compared in pairs, as in `difference({pair}, estimand=...)`." if pair else ""
        several = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        return ValueError(f"{self.axis} {lacking[0]!r}{several}: {problem}{hint}")

    def _lacking(self, estimand: EstimandLike) -> list[str]:
        """Return the names of evaluations whose counts lack what the estimand needs, such as finite losses."""
        record = as_estimand(estimand)
        return [name for name, each in self.evaluations.items() if not record.available(each.counts)]

    def _pair_values(self, i: int, j: int, estimand: EstimandLike | None) -> Floats:
        """Draw two evaluations of all; if others lack what the estimand needs, only these two."""
        record = self._record(estimand)
        if {self.names[i], self.names[j]}.intersection(lacking := self._lacking(record)) or not lacking:
            return super()._pair_values(i, j, estimand)
        if i > j:
            return self._pair_values(j, i, estimand)[:, ::-1]
        both = [self.evaluations[self.names[at]] for at in (i, j)]
        return joint_values(both, self.pairs and {(0, 1): self.pairs[i, j]}, record, self.order_seed)

    def _rope(self) -> float:
        return self.rope

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the names of the evaluations that it concerns."""
        return tuple(of_several({name: evaluation.remarks for name, evaluation in self.evaluations.items()}))

    #: The decision table.
    table = Evaluations.pairs_table
    _index = ("first", "second")

    def summary(self, prob: float = 0.95, *, estimand: EstimandLike = "ece", **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every evaluation and every difference.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.
        **options
            Passed to `arviz.summary`.

        Returns
        -------
        pandas.DataFrame
            Rows ``ece[A]``, ``ece[B]``, ..., ``difference[A - B]``, ..., the differences as in `table`.
        """
        prob = _checks.fraction("prob", prob)
        name, pairs = as_estimand(estimand).name, list(combinations(self._listed(estimand), 2))
        differences = np.stack([self._compared_difference(*pair, estimand).values for pair in pairs], axis=1)
        labels = {name: self.names, "difference": [f"{first} - {second}" for first, second in pairs]}
        return _arviz.summary({name: self.draws(estimand).values, "difference": differences}, prob, labels, **options)

    def to_datatree(self) -> "xr.DataTree":
        """Every estimand that all evaluations have, as an ArviZ DataTree.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``, ``observed_data`` (number of rows) and ``constant_data`` (plug-in value), along the
            dimension ``classifier`` (``group`` for groups, ``period`` for a `Change`). Draws of one estimand are joint
            over this dimension. Draws of two estimands are joint only within a single `Evaluation`, not here.
        """
        counts = [evaluation.counts for evaluation in self.evaluations.values()]
        return _arviz.datatree(
            {name: self.draws(name).values for name in common_estimands(self.evaluations.values(), self.pairs)},
            observed={"n_rows": np.array([c.n_rows for c in counts])},
            constant={"plug_in_ece": np.array([e.plug_in for e in self.evaluations.values()])},
            along=self.axis,
            coords={self.axis: np.array(self.names)},
            attrs={"spec": self.spec, "rope": self.rope, "same_rows": int(self.pairs is not None)},
        )

    def verdict(self, *, estimand: EstimandLike = "ece") -> str:
        """Return the result in words without its numbers, for a title."""
        raise NotImplementedError

    def quantity(self, estimand: EstimandLike = "ece") -> str:
        """Return the words for the compared quantity: the estimand, or its absolute value if draws can be negative.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            Words that follow "the", such as "ECE" or "size of the signed error".
        """
        return f"size of the {self._words(estimand)}" if self._signed(estimand) else self._words(estimand)

    def _words(self, estimand: EstimandLike) -> str:
        return as_estimand(estimand).words(next(iter(self.evaluations.values())).counts.target)

    def _signed(self, estimand: EstimandLike) -> bool:
        """Whether absolute values are compared: the value nearest zero is the best, and some draws are below 0."""
        nearest = as_estimand(estimand).better == "nearest zero"
        return nearest and bool((self.draws(estimand).values < 0).any())
