"""Compare classifiers: on the same rows, from joint counts, on different rows, and with `by` over data sets."""

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any, overload

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.analyses.compare_over_datasets import compare_over_datasets
from bayescal.analyses.compare_rows import ClassifierRows, compare_rows, compared, several_named
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.data.groups import Groups
from bayescal.results.comparable import same_spec
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import checked_rope
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.paired import PairedCounts, require_paired

#: When other names make evaluations independent.
OF_DIFFERENT_ROWS = (
    " if they are of different rows. Those of the same rows, as of several k of `top_k`, are not independent: for them "
    "`compare` takes a mapping of outcomes and one of confidences, with `target='confidence'`"
)


class SameRowsWarning(UserWarning):
    """Evaluations that are compared as independent may be of the same rows."""


@overload
def compare(y_true: Any, y_prob: Mapping[str, Any], *, by: None = None, **options: Any) -> Comparison: ...
@overload
def compare(y_true: Any, y_prob: Mapping[str, Any], *, by: Any, **options: Any) -> ComparisonOverDatasets: ...
@public
def compare(
    y_true: Any,
    y_prob: Mapping[str, Any],
    *,
    rope: float = 0.01,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    by: Any = None,
    spread: float | None = None,
    cluster: Any = None,
    classes: Classes = None,
    logits: bool = False,
    **options: Any,
) -> Comparison | ComparisonOverDatasets:
    """Compare classifiers on the same rows: which is better calibrated, and with what probability?

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels, as for `evaluate`. Under ``target="confidence"`` a mapping from the name of each classifier to
        whether it was right.
    y_prob : mapping of str to array-like, or data frame
        The probabilities of each classifier by name, as for `evaluate`; at least two. A data frame has one column per
        classifier.
    rope : float, default 0.01
        Half-width of the region of practical equivalence, in units of the estimand: classifiers whose ECEs differ by no
        more count as equal [1]_ [2]_. Choose it before looking at results; `Comparison.rope_curve` shows the
        probability of equivalence at other half-widths.
    target, bins, binning, model, draws, weights, cluster, classes, logits, **options
        As for `evaluate`; there is no comparison for ``target="classwise"``.
    by : array-like, shape (n_rows,), or data frame of several columns, optional
        Data set of each row, such as its hospital, as for `evaluate`; at least two. The classifiers are then compared
        over data sets, as by `compare_over_datasets`: a mean over these data sets, and over a population of them. All
        data sets have the same bins. To compare the groups of one classifier with each other, use
        ``evaluate(y_true, p, by=by).compare()``.
    spread : float, optional
        With `by`, as for `compare_over_datasets`.
    rng : None, int, SeedSequence or Generator
        Randomness. All classifiers have the same random numbers, so that two names of one differ by exactly 0.

    Returns
    -------
    Comparison or ComparisonOverDatasets
        The `Evaluation` of each classifier, and the joint posterior of any estimand; with `by`, a
        `ComparisonOverDatasets`.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; if there are fewer than two classifiers, their numbers of rows differ, `by` has only one
        label, or `spread` is given without `by`.

    See Also
    --------
    bayescal.scores.compare : Proper scores of all classes, for matrices of probabilities.
    compare_independent : Classifiers, or groups, on different rows.

    Notes
    -----
    Values are combined by position; as in `evaluate`, pandas columns with different indexes raise a `ValueError`.

    Brier score, log score and AUC are compared only if all classifiers have the same event. Under
    ``target="top-label"``, whether the most probable class is right is another event for each classifier, and methods
    of the result raise a `ValueError` for these estimands; so they do under ``target="confidence"`` if outcomes differ.

    The marginal posteriors are those of each classifier alone. Their dependence is a Gaussian copula [3]_, whose
    correlation comes from the joint Dirichlet posterior of the cells (bin and outcome of one classifier, bin and
    outcome of the other) that occur; see `bayescal.posterior.joint.correlation`. Scores (Brier score, log score) are
    drawn together, from the losses of the rows; see `bayescal.estimands.scores.joint_brier_scores`. The correlation of
    areas under the ROC curve comes from the ranks of the rows; see `bayescal.estimands.auc`. With `cluster`, all of
    these are correlations of sums over clusters.

    References
    ----------
    .. [1] A. Benavoli, G. Corani, J. Demsar and M. Zaffalon (2017), "Time for a change: a tutorial for comparing
       multiple classifiers through Bayesian analysis", Journal of Machine Learning Research 18(77), 1-36.
    .. [2] J. K. Kruschke (2018), "Rejecting or accepting parameter values in Bayesian estimation", Advances in Methods
       and Practices in Psychological Science 1, 270-280.
    .. [3] R. L. Iman and W. J. Conover (1982), "A distribution-free approach to inducing rank correlation among input
       variables", Communications in Statistics - Simulation and Computation 11, 311-334.

    Examples
    --------
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> comparison = bc.compare(y, {"honest": p, "timid": 0.5 + 0.5 * (p - 0.5)}, rng=1)
    >>> comparison.decide("honest", "timid")["p_left"]
    1.0
    >>> comparison.difference("honest", "timid").interval(0.95)
    (-0.13..., -0.08...)
    >>> sites = bc.compare(y, {"honest": p, "timid": 0.5 + 0.5 * (p - 0.5)}, by=np.arange(2000) % 4, rng=1)
    >>> sites.datasets, sites.difference("honest", "timid").interval(0.95)
    (('group 0', 'group 1', 'group 2', 'group 3'), (-0.12..., -0.07...))
    """
    column_options = {"target": target, "weights": weights, "cluster": cluster, "classes": classes, "logits": logits}
    model_options = {"model": model, "draws": draws, "rng": rng, **options}
    if by is None:
        if spread is not None:
            raise TypeError("`spread` is for several data sets: give the data set of each row as `by`.")
        return compare_rows(y_true, y_prob, rope=rope, bins=bins, binning=binning, **column_options, **model_options)
    rows = ClassifierRows.read(y_true, y_prob, by=by, **column_options)
    datasets, edges = rows.by_name(Groups.from_column(by, len(rows))), rows.edges(bins, binning)
    return compare_over_datasets(datasets, rope=rope, spread=spread, bins=edges, **model_options)


@public
def compare_counts(
    pairs: Mapping[tuple[str, str], PairedCounts],
    *,
    rope: float = 0.01,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> Comparison:
    """Compare classifiers on the same rows from their joint counts; the cost does not depend on the number of rows.

    Parameters
    ----------
    pairs : mapping of (str, str) to PairedCounts
        Joint counts of every two classifiers, as in ``{("A", "B"): pair}``; each pair in either order.
    rope, model, draws, rng, **options
        As for `compare`.

    Returns
    -------
    Comparison
        As from `compare`.

    Raises
    ------
    ValueError, TypeError
        If a pair is missing, or two pairs do not have the same counts of one classifier.

    Examples
    --------
    >>> pair = bc.PairedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0, 1, 1], [0.4, 0.3, 0.8], bins=2)
    >>> bc.compare_counts({("A", "B"): pair + pair}, rng=1).names
    ('A', 'B')
    """
    width = checked_rope(rope)
    if not isinstance(pairs, Mapping) or not pairs:
        raise TypeError("`pairs` must be a mapping like {('A', 'B'): PairedCounts}.")
    counts: dict[str, BinnedCounts] = {}
    for names, pair in pairs.items():
        require_paired(pair)
        if not (isinstance(names, tuple) and len(names) == 2):
            raise TypeError(f"`pairs` must have pairs of names as keys, such as ('A', 'B'), not {quoted(names)}.")
        for name, margin in zip(names, (pair.first, pair.second), strict=True):
            if not _same(counts.setdefault(name, margin), margin):
                raise ValueError(f"`pairs` must be of the same rows; {name!r} has different counts in two of them.")
    joint = {}
    for (i, first), (j, second) in combinations(enumerate(counts), 2):
        if (first, second) in pairs:
            joint[i, j] = pairs[first, second]
        elif (second, first) in pairs:
            joint[i, j] = pairs[second, first].swapped()
        else:
            raise ValueError(f"`pairs` must hold every two classifiers; ({first!r}, {second!r}) is missing.")
    return compared(counts, joint, width, model=model, draws=draws, rng=rng, **options)


def _same(one: BinnedCounts, other: BinnedCounts) -> bool:
    """Whether two counts may be of the same rows; sums of batches differ by rounding."""
    same_rows = one.bins == other.bins and one.target == other.target and np.array_equal(one.cells, other.cells)
    return same_rows and all(np.allclose(getattr(one, name), getattr(other, name)) for name in ("weight", "deviation"))


@public
def compare_independent(evaluations: Mapping[str, Evaluation], *, rope: float = 0.01, rng: Any = None) -> Comparison:
    """Compare evaluations of different rows, such as test sets, groups or times.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        From `evaluate`, `evaluate_counts` or `bayescal.survival.evaluate`; at least two, with the same target, model,
        kind and number of bins, and number of draws.
    rng : None, int, SeedSequence or Generator
        Randomness of the order of the draws, which makes them independent for any seeds of the evaluations.

    Returns
    -------
    Comparison
        As from `compare`.

    Raises
    ------
    ValueError, TypeError
        If there are fewer than two, or they differ in target, model, bins or number of draws.

    Warns
    -----
    bayescal.analyses.compare.SameRowsWarning
        If two of them have the same number of rows (and, for an event, of rows with outcome 1). Classifiers on the same
        rows are not independent: the interval of their difference would be wrong, mostly far too wide.

    Notes
    -----
    Under ``target="top-label"``, Brier score, log score and AUC can be compared for one classifier on different rows,
    not for two classifiers: the event, whether the most probable class is right, differs between classifiers.

    Examples
    --------
    >>> from bayescal.analyses.one import evaluate_one
    >>> a = evaluate_one(bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=5), rng=1)
    >>> b = evaluate_one(bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.4, 0.7, 0.8, 0.9], bins=5), rng=1)
    >>> sum(bc.compare_independent({"a": a, "b": b}, rng=1).p_best().values())
    1.0
    """
    names, width = several_named("evaluations", evaluations, other=OF_DIFFERENT_ROWS), checked_rope(rope)
    for name in names:
        remedy = "; `compare` takes labels and probabilities."
        _checks.instance(f"evaluations[{name!r}]", evaluations[name], Evaluation, remedy)
    chosen = dict(evaluations)
    same_spec(chosen)
    for first, second in combinations(names, 2):
        a, b = (chosen[name].counts for name in (first, second))
        # whether an event occurs does not depend on the classifier; whether the top label is right does
        if a.n_rows == b.n_rows > 0 and (a.target != "event" or int(a.k.sum()) == int(b.k.sum())):
            warnings.warn(
                f"{first!r} and {second!r} have {a.n_rows} rows each; if these are the same rows, use "
                f"`{chosen[first]._compared_by}`.",
                SameRowsWarning,
                stacklevel=2,
            )
    return Comparison(chosen, None, width, _checks.seeds(rng, 1)[0])
