"""SurvivalComparison: several models that state risks of one event by a horizon, on the same rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._meant import public
from bayescal.draws import Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.posterior.joint import nearest_correlation, reorder
from bayescal.results.comparison import Comparison
from bayescal.results.wording import with_interval
from bayescal.survival.observed_expected import expects_events
from bayescal.survival.pairs import PairedHorizons
from bayescal.survival.result import LABEL, NAME, RATIO, SurvivalEvaluation

Floats = NDArray[np.float64]


@public
@dataclass(frozen=True, eq=False, repr=False)
class SurvivalComparison(Comparison):
    """The joint posterior of how well several models state the risk of one event by a horizon.

    Returned by `bayescal.survival.compare`. It is a `Comparison` whose evaluations are `SurvivalEvaluation`, with joint
    draws of the ratio of observed to expected events in addition.

    Parameters
    ----------
    evaluations : dict of str to SurvivalEvaluation
        The evaluation of each model, by name.
    pairs : dict of (int, int) to PairedHorizons
        Joint counts of models i < j.
    rope, order_seed, axis
        As for `Comparison`.
    """

    evaluations: Mapping[str, SurvivalEvaluation]  # type: ignore[assignment]  # a record is frozen: its types narrow
    pairs: Mapping[tuple[int, int], PairedHorizons]
    axis: str = "model"

    @property
    def horizon(self) -> float:
        """The horizon, in the unit of the times."""
        return next(iter(self.evaluations.values())).horizon

    @cached_property
    def observed_expected(self) -> Draws:
        """Joint draws of the ratio of observed to expected events of all models, in the order of `labels`.

        Each ratio has the draws of its own evaluation, in an order that gives them the correlation of the influences of
        rows on the ratios. It raises a ValueError if all risks that a model states are 0.
        """
        each = [evaluation.observed_expected.values for evaluation in self.evaluations.values()]
        correlation = np.eye(len(each))
        for (i, j), pair in self.pairs.items():
            correlation[i, j] = correlation[j, i] = pair.ratio_correlation
        rng = np.random.SeedSequence((self.order_seed, RATIO))
        return Draws(
            reorder(np.stack(each, axis=1), nearest_correlation(correlation), rng=rng), f"{NAME} by {self.axis}"
        )

    def observed_expected_difference(self, first: Any = None, second: Any = None) -> Draws:
        """Draws of the ratio of observed to expected events of the first model minus that of the second.

        Parameters
        ----------
        first, second : str, optional
            Names of two models; may be omitted if there are only two.

        Returns
        -------
        Draws
            Shape (n_draws,).

        Raises
        ------
        ValueError, TypeError
            If there is no such model, or there are more than two and no names are given; or if all risks that a model
            states are 0.
        """
        i, j = self._pair(first, second)
        values = self.observed_expected.values
        return Draws(values[:, i] - values[:, j], f"{NAME}: {self.names[i]} - {self.names[j]}")

    def _joint_values(self, estimand: EstimandLike) -> Floats:
        self._require(as_estimand(estimand))
        return super()._joint_values(estimand)

    def _require(self, record: Estimand) -> None:
        """Refuse an estimand that censored rows do not determine, with the name of the model."""
        for name, evaluation in self.evaluations.items():
            try:
                evaluation._require(record)
            except ValueError as problem:
                raise ValueError(f"{self.axis} {name!r}: {problem}") from problem

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line; see `Comparison.specification`."""
        counts = next(iter(self.evaluations.values())).counts
        before = int(counts.n_censored.sum())
        return (
            f"{super().specification(estimand=estimand)}, horizon {self.horizon:g}, {int(counts.k.sum())} events by "
            f"the horizon, {before} censored before"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Ratios of observed to expected events, and warnings about the intervals."""
        if not all(expects_events(each.counts) for each in self.evaluations.values()):
            return super().remarks
        ratios = "; ".join(
            f"{name}: {with_interval(each.observed_expected, 2)}" for name, each in self.evaluations.items()
        )
        return (*super().remarks, f"{LABEL.capitalize()}: {ratios}.")
