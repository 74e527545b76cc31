"""JudgedComparison: differences of calibration errors for the true label, from the labels of one judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.labels.judge import SMALL_P
from bayescal.labels.result import POOLED, JudgedEvaluation
from bayescal.labels.statistics import p_judge_alike
from bayescal.posterior.joint import SAME, correlation, reorder
from bayescal.results import wording
from bayescal.results.comparable import common_estimands, order_rng, require_one_event, values_of
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.stats.contract import Paired


@public
@dataclass(frozen=True, eq=False, repr=False)
class JudgedComparison(Comparison):
    """The joint posterior of how well several classifiers are calibrated for the true label, from one judge's labels.

    Returned by `bayescal.labels.compare_judged`. It is a `Comparison` of `JudgedEvaluation` records. The judge has the
    same sensitivity and specificity in draw number i of all of them.

    Parameters
    ----------
    evaluations, pairs, rope, order_seed, axis
        As for `Comparison`. `pairs` are joint counts of the judge's labels if the classifiers predict the same
        outcomes; None if each has outcomes of its own.
    """

    def _draw_jointly(
        self, evaluations: Sequence[Evaluation], pairs: Mapping[tuple[int, int], Paired] | None, estimand: EstimandLike
    ) -> Floats:
        """Draw an estimand. Given the judge's rates, draws are independent, or tied by joint counts of its labels."""
        record = as_estimand(estimand)
        require_one_event(record, pairs)
        values = [values_of(each, estimand) for each in evaluations]
        together = self._correlation(evaluations, values, pairs, record) if pairs else np.eye(len(values))
        order = np.tile(np.arange(float(len(values[0])))[:, None], len(values))
        ranks = reorder(order, together, rng=order_rng(self.order_seed, record))
        return reordered_within(self._value_of_rates, np.stack(values, axis=1), ranks)

    def _correlation(
        self,
        evaluations: Sequence[Evaluation],
        values: Sequence[Floats],
        pairs: Mapping[tuple[int, int], Paired],
        record: Estimand,
    ) -> Floats:
        """Correlation given the judge's rates: that of scores of the judge's labels, or from the bins for errors."""
        if record.joint is not None and record.name in common_estimands(evaluations, pairs):
            judge = [each.counts.rows for each in cast("Sequence[JudgedEvaluation]", evaluations)]
            scores = record.joint(judge, pairs, len(values[0]), rng=order_rng(self.order_seed, record))
            if scores is not None and scores.std(axis=0).all():
                together = np.corrcoef(scores.T)
                return np.where(together > 1 - SAME, 1.0, together)
        return correlation(values, [each.bin_draws for each in evaluations], pairs)

    @property
    def _judged(self) -> list[JudgedEvaluation]:
        return cast("list[JudgedEvaluation]", list(self.evaluations.values()))

    @property
    def _value_of_rates(self) -> NDArray[np.intp]:
        """Number of the value of the judge's rates of each draw, which is that of all evaluations."""
        first = self._judged[0]
        return first.posterior.value_of(len(first.bin_draws), first.bin_draws_seed)

    def _instead(self, name: str) -> str:
        return f" It {POOLED}" if name == "parameters" else super()._instead(name)

    @property
    def p_judge_alike(self) -> float:
        """P-value of a test whether the judge errs equally often for all classifiers, among checked rows.

        It is 1 if the classifiers predict the same outcomes. With few checked rows the test has little power.
        """
        if self.pairs is not None:
            return 1.0
        return p_judge_alike(np.stack([each.judge.table_of_checked for each in self._judged]))

    def sentence(self, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> str:
        """Return the result in words, with the assumption about the judge; see `Comparison.sentence`.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            The assumption, the verdict, the difference and the probabilities of better, worse and equal.
        """
        within = " within ranges" if self._judged[0].judge.strata > 1 else ""
        classifier = f" or on the {self.axis}" if self.pairs is None else ""
        text = super().sentence(prob, estimand=estimand)
        text = "it" + text.removeprefix("It") if text.startswith("It is") else text
        return f"If the judge's errors do not depend on the confidence{within}{classifier}, {text}"

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line; see `Comparison.specification`.

        Parameters
        ----------
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str
            The line, for a paper.
        """
        first, counts = self._judged[0], [each.counts for each in self._judged]
        rows = "the same rows" if self.pairs is not None else "rows of their own"
        n = _from_to([each.n_rows for each in counts])
        checked = _from_to([each.checked.n_rows for each in counts])
        return (
            f"{len(self.names)} {self.axis}s on {rows} with one judge: "
            f"{as_estimand(estimand).of_target(first.counts.target)}, {first.counts.bins}, N = {n}, {checked} of them "
            f"checked, {first.model} model, rope {self.rope:g}"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals, each with the names of the evaluations that it concerns."""
        if self.p_judge_alike >= SMALL_P:
            return super().remarks
        text = (
            f"The judge's error rates differ between {self.axis}s among checked rows (P = "
            f"{wording.p_words(self.p_judge_alike)}), so that intervals may be wrong. Evaluate each with its own "
            "checked rows, by `bayescal.labels.judged`, and compare the results with `compare_independent`."
        )
        return (text, *super().remarks)


def _from_to(numbers: list[int]) -> str:
    """Return the smallest and the largest number in words, or the only one."""
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def reordered_within(group: NDArray[np.intp], draws: Floats, ranks: Floats) -> Floats:
    """Reorder the draws of each column, shape (n_draws, n_columns), within groups of draws, by the ranks of others.

    >>> group = np.array([0, 1, 0, 1])
    >>> draws, ranks = np.array([[1.0, 20.0, 2.0, 10.0]]).T, np.array([[4.0, 1.0, 3.0, 2.0]]).T
    >>> reordered_within(group, draws, ranks)[:, 0]
    array([ 2., 10.,  1., 20.])
    """
    result = np.empty_like(draws)
    for target, values, by in zip(result.T, draws.T, ranks.T, strict=True):
        target[np.lexsort((by, group))] = values[np.lexsort((values, group))]
    return result
