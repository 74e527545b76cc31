"""Differences of calibration errors between classifiers whose labels come from one judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats, Indices
from bayescal._invalid import errors_of, quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.compare_rows import several_named
from bayescal.data.frames import by_column
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, as_estimand
from bayescal.labels.analysis import evaluations_of
from bayescal.labels.judge import SMALL_P, p_judge_alike
from bayescal.labels.result import POOLED, JudgedEvaluation
from bayescal.labels.sums import JudgedCounts, JudgedRows
from bayescal.posterior.joint import SAME, correlation, reorder
from bayescal.results import wording
from bayescal.results.comparable import common_estimands, order_rng, require_one_event, values_of
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import checked_rope
from bayescal.stats.bins import make_bins
from bayescal.stats.contract import Paired
from bayescal.stats.paired import PairedCounts


@public
def compare_judged(
    y_true: Any,
    y_prob: Any,
    *,
    judge: Any,
    rope: float = 0.01,
    strata: Any = "auto",
    rates: Any = None,
    target: str = "confidence",
    bins: Any = 15,
    binning: str = "equal-width",
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> "JudgedComparison":
    r"""Compare the calibration of classifiers for the true label, from labels of one imperfect judge.

    The judge errs with the same probabilities for all classifiers. Its sensitivity and specificity are learnt from the
    checked rows of all of them, and their uncertainty, which is common to all, partly cancels in differences.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,), or mapping of str to array-like, or data frame
        True labels of the checked rows; missing for the others, as for `judged`. A mapping, or a data frame, has one
        column per classifier: whether its answer is right. One column is the outcome that all classifiers predict.
    y_prob : mapping of str to array-like, or data frame
        The probabilities of each classifier by name, as for `judged`; at least two.
    judge : array-like, shape (n_rows,), or mapping of str to array-like, or data frame
        The judge's labels: one column per classifier if `y_true` has one, and otherwise one column.
    strata, rates, target, bins, binning, draws, classes, logits
        As for `judged`. All classifiers have the same bins and ranges, chosen from the rows of all.

    Returns
    -------
    JudgedComparison
        A `Comparison` of the `JudgedEvaluation` of each classifier. Each uses what the checked rows of the others tell
        about the judge.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `judged`; if there are fewer than two classifiers, or if only one of `y_true` and
        `judge` has one column per classifier.

    Warns
    -----
    FewCheckedWarning, SamplerWarning
        As for `judged`.

    See Also
    --------
    bayescal.compare : If all labels are true.
    bayescal.compare_independent : Evaluations from `judged` of different judges, or of a judge whose error rates depend
        on the classifier.

    Notes
    -----
    *Answers of their own.* Given sensitivity and specificity, the classifiers are independent: marginal likelihoods are
    multiplied. Numbers of rows may differ. Rows of one question may depend on each other, which intervals of
    differences then do not include. A language model may prefer its own answers when it judges: the attribute
    `p_judge_alike` of the result tests equal error rates among checked rows.

    *The same outcomes.* The judge's labels count once: the geometric mean of the marginal likelihoods is the weight of
    each sensitivity and specificity. Given these, draws have the Gaussian copula of `compare`, whose correlation comes
    from joint counts of the judge's labels. Intervals of differences of signed errors and Brier scores are
    wider than they need be: by about a third to a half if all labels are true.

    Examples
    --------
    Two models with answers of their own, of which the second states confidences that are too high:

    >>> confidence = {"old": rng.random(2000), "new": rng.random(2000)}
    >>> right = {"old": rng.random(2000) < confidence["old"], "new": rng.random(2000) < 0.7 * confidence["new"]}
    >>> judge = {name: np.where(z, rng.random(2000) < 0.9, rng.random(2000) > 0.8) for name, z in right.items()}
    >>> y = {name: np.where(np.arange(2000) < 200, z, np.nan) for name, z in right.items()}
    >>> comparison = bc.labels.compare_judged(y, confidence, judge=judge, rng=1)
    >>> comparison.difference("old", "new").interval(0.95)
    (-0.19..., -0.10...)
    """
    width = checked_rope(rope)
    y_prob = by_column(y_prob) or y_prob
    names = several_named("y_prob", y_prob)
    labels = {"y_true": by_column(y_true) or y_true, "judge": by_column(judge) or judge}
    by_classifier = [isinstance(values, Mapping) for values in labels.values()]
    if any(by_classifier) and not all(by_classifier):
        one, other = labels if by_classifier[0] else reversed(labels)
        raise TypeError(
            f"`{one}` has one column per classifier and `{other}` has not: give both as mappings if each classifier "
            "has answers of its own, or both as one column if all predict the same outcome."
        )
    columns = {name: [_column(which, values, name) for which, values in labels.items()] for name in names}
    rows = []
    for name, (outcome, grade) in columns.items():
        with errors_of(f"classifier {name!r}"):
            rows.append(JudgedRows.read(outcome, y_prob[name], grade, target, classes, logits))
    edges = make_bins(bins, binning=binning, confidence=np.concatenate([each.confidence for each in rows]))
    counts, (seed, order) = [JudgedCounts.from_rows(each, edges) for each in rows], _checks.seeds(rng, 2)
    evaluations = evaluations_of(counts, strata, rates, draws, seed, same_rows=not any(by_classifier))
    pairs = None
    if not any(by_classifier):
        pairs = {
            (i, j): PairedCounts.from_predictions(
                rows[i].predictions, rows[j].predictions, evaluations[i].counts.rows, evaluations[j].counts.rows
            )
            for i, j in combinations(range(len(rows)), 2)
        }
    return JudgedComparison(dict(zip(names, evaluations, strict=True)), pairs, width, order)


def _column(which: str, values: Any, name: str) -> Any:
    """Return the column of one classifier, which is that of all if there is no mapping."""
    if not isinstance(values, Mapping):
        return values
    if name not in values:
        raise ValueError(f"`{which}` has no column {name!r}, which `y_prob` has; it has {quoted(list(values))}.")
    return values[name]


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
        first = self._judged[0]  # all evaluations have the same value of the judge's rates in a draw
        value_of_rates = first.posterior.value_of(len(first.bin_draws), first.bin_draws_seed)
        return reordered_within(value_of_rates, np.stack(values, axis=1), ranks)

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
        """Return the assumption about the judge, and the result as `Comparison.sentence` has it."""
        within = " within ranges" if self._judged[0].judge.strata > 1 else ""
        classifier = f" or on the {self.axis}" if self.pairs is None else ""
        text = super().sentence(prob, estimand=estimand)
        text = "it" + text.removeprefix("It") if text.startswith("It is") else text
        return f"If the judge's errors do not depend on the confidence{within}{classifier}, {text}"

    def specification(self, *, estimand: EstimandLike = "ece") -> str:
        """Describe the comparison on one line, for a paper; see `Comparison.specification`."""
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
        text = text_of(
            "judge errs differently between classifiers", axis=self.axis, p=wording.p_words(self.p_judge_alike)
        )
        return (text, *super().remarks)


def _from_to(numbers: list[int]) -> str:
    """Return the smallest and the largest number in words, or the only one."""
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def reordered_within(group: Indices, draws: Floats, ranks: Floats) -> Floats:
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
