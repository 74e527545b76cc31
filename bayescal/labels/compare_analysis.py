"""Differences of calibration errors between classifiers whose labels come from one judge."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._invalid import errors_of, quoted
from bayescal._meant import public
from bayescal.analyses.compare_rows import named_classifiers
from bayescal.data.frames import by_column
from bayescal.labels.analysis import evaluations_of
from bayescal.labels.compare_result import JudgedComparison
from bayescal.labels.rows import JudgedRows
from bayescal.labels.sums import JudgedCounts
from bayescal.results.joint import checked_rope
from bayescal.stats.bins import make_bins
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
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> JudgedComparison:
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
    rope : float, default 0.01
        As for `compare`.
    strata, rates, target, bins, binning, draws, classes, logits
        As for `judged`. All classifiers have the same bins and ranges, chosen from the rows of all.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

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
    from joint counts of the judge's labels.

    Examples
    --------
    Two models with answers of their own, of which the second states confidences that are too high:

    >>> import numpy as np
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
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
    names = named_classifiers("y_prob", y_prob)
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
