"""Evaluations: several evaluations along one axis, with joint draws of every estimand, differences and ranks."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

from bayescal._arrays import Floats
from bayescal._meant import no_attribute
from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike, as_scalar, hint, is_registered
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import Joint


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
