"""Compare classifiers: on the same rows, from joint counts, on different rows, and with `by` over data sets."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, overload

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._invalid import errors_of, quoted
from bayescal._meant import public
from bayescal.analyses.compare_rows import ClassifierRows, compare_rows, compared, several_named
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.data.groups import Groups
from bayescal.results.comparable import same_spec
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.joint import ROPE, checked_rope
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import Counts
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


SPREAD_OF_ROPE = 5.0  #: Default scale of the prior of the standard deviation between data sets, in units of the rope.
#: Arguments of `compare` with one value per row, which differ between data sets.
OF_ROWS = ("weights", "cluster", "by")


@public
def compare_over_datasets(
    datasets: Mapping[str, Any],
    *,
    rope: float | None = None,
    spread: float | None = None,
    rng: Any = None,
    **options: Any,
) -> ComparisonOverDatasets:
    r"""Compare the same classifiers on several data sets: mean differences, mean ranks, and further data sets.

    Parameters
    ----------
    datasets : mapping of str to Comparison, or of str to (y_true, y_prob)
        Each data set by name: a `Comparison` from `compare`, or its labels and the probabilities of each classifier,
        ``(y_true, {"A": p, "B": q})``, as for `compare`. At least two, with the same classifiers.
    rope : float, optional
        Half-width of the region of practical equivalence, in units of the estimand; by default that of the comparisons,
        or 0.01.
    spread : float, optional
        Scale of the half-t prior (4 degrees of freedom) of the standard deviation of differences between data sets, in
        units of the estimand; by default 5 times the rope. It matters if there are few data sets.
    **options
        Passed to `compare` for data sets that are given as rows: target, bins, model, draws and others.

    Returns
    -------
    ComparisonOverDatasets
        The mean difference of each pair over these data sets and over a population of data sets, and mean ranks.

    Raises
    ------
    ValueError, TypeError
        As for `compare`, with the name of the data set; if there are fewer than two data sets, if their classifiers,
        targets, models, bins, numbers of draws or ropes differ, or if two data sets have the same counts.

    See Also
    --------
    compare : Classifiers on one data set; with `by`, the same comparison from columns with the rows of all data sets.
    compare_independent : Classifiers, or groups, on different rows.

    Notes
    -----
    Two questions have different answers. *Which classifier is better on these data sets?* The mean of the differences
    over the data sets answers it: draws of the data sets are independent, so its posterior follows from those of
    `compare` without further assumptions. *Which is better on data sets like these?* For this, the data sets are a
    random sample of a population in which differences are Normal with an unknown mean and standard deviation: a
    random-effects meta-analysis [1]_, as proposed for accuracies [2]_. Its interval is wider, because another sample of
    data sets would have other differences.

    Friedman's test with critical differences [3]_ ranks point estimates. Estimates of the ECE have biases that differ
    between classifiers and do not average out over data sets; the page "Several data sets" measures false alarms.

    References
    ----------
    .. [1] C. Röver (2020), "Bayesian random-effects meta-analysis using the bayesmeta R package", Journal of
       Statistical Software 93(6), 1-51.
    .. [2] G. Corani, A. Benavoli, J. Demsar, F. Mangili and M. Zaffalon (2017), "Statistical comparison of classifiers
       through Bayesian hierarchical modelling", Machine Learning 106, 1817-1837.
    .. [3] J. Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", Journal of Machine
       Learning Research 7, 1-30.

    Examples
    --------
    >>> rows = {f"hospital {i}": simulate(1000, population="flat", rng=i) for i in range(4)}
    >>> hospitals = {n: (d.outcome, {"sharp": d.confidence, "timid": 0.25 + d.confidence / 2}) for n, d in rows.items()}
    >>> result = bc.compare_over_datasets(hospitals, rng=1)
    >>> result.difference("sharp", "timid").interval(0.95)
    (-0.11..., -0.07...)
    >>> result.population("sharp", "timid").mean.interval(0.95)
    (-0.13..., -0.06...)
    """
    like = "{'cifar10': bayescal.compare(y, {'A': p, 'B': q}), ...}"
    one = " For one data set, `compare` has the whole result."
    names = several_named("datasets", datasets, "data sets", like, one)
    compared = [name for name in names if isinstance(datasets[name], Comparison)]
    if options and len(compared) == len(names):
        raise TypeError(
            f"`{next(iter(options))}` is for data sets given as rows; comparisons have theirs. Pass it to `compare`."
        )
    for name in OF_ROWS:
        if name in options:
            raise TypeError(
                f"`{name}` has one value per row, and belongs to `compare`: `compare(y_true, {{'A': p, 'B': q}}, "
                "by=dataset, weights=weights, cluster=cluster)` compares over data sets, from columns with the rows of "
                "all of them. Or pass comparisons of single data sets to `compare_over_datasets`."
            )
    width = _common_rope([datasets[name] for name in compared], rope)
    *streams, order = _checks.generator(rng).spawn(len(names) + 1)
    comparisons = {
        name: _comparison(name, datasets[name], {"rope": width, "rng": stream, **options})
        for name, stream in zip(names, streams, strict=True)
    }
    _same_classifiers(comparisons)
    same_spec({name: next(iter(each.evaluations.values())) for name, each in comparisons.items()}, "datasets")
    if not all(isinstance(each, ClassifierRows) for each in datasets.values()):  # groups of rows differ
        _different_rows(comparisons)
    return ComparisonOverDatasets(comparisons, width, _scale(spread, width), _checks.seeds(order, 1)[0])


def _common_rope(comparisons: Sequence[Comparison], rope: float | None) -> float:
    """Return the rope that was given, or the one of all comparisons."""
    if rope is not None:
        return checked_rope(rope)
    ropes = sorted({each.rope for each in comparisons}) or [ROPE]
    if len(ropes) > 1:
        raise ValueError(f"`datasets` must agree in the rope; it is {ropes[0]:g} and {ropes[-1]:g}. Give `rope`.")
    return ropes[0]


def _scale(spread: float | None, rope: float) -> float:
    """Return the scale of the prior of the standard deviation between data sets, which must be positive."""
    if spread is None and rope == 0:
        raise ValueError(
            "`spread` must be given if the rope is 0: the scale, in units of the estimand, of the standard deviation "
            "of differences between data sets, such as 0.05 for the ECE."
        )
    scale = SPREAD_OF_ROPE * rope if spread is None else spread
    if isinstance(scale, bool) or not isinstance(scale, int | float | np.number) or not 0 < scale < np.inf:
        raise ValueError(
            "`spread` must be a finite number > 0 in units of the estimand, the scale of the standard deviation of "
            f"differences between data sets; not {scale!r}."
        )
    return float(scale)


def _comparison(name: str, data_set: Any, arguments: dict[str, Any]) -> Comparison:
    """Return the comparison of one data set; errors begin with its name."""
    if isinstance(data_set, Comparison):
        return data_set
    if isinstance(data_set, ClassifierRows):
        with errors_of(f"data set {name!r}"):
            return data_set.compare(**arguments)
    if not isinstance(data_set, tuple | list) or len(data_set) != 2:
        length = f" of length {len(data_set)}" if isinstance(data_set, tuple | list) else ""
        raise TypeError(
            f"`datasets[{name!r}]` must be a Comparison from `compare`, or (y_true, {{'A': p, 'B': q}}); not "
            f"{type(data_set).__name__}{length}."
        )
    with errors_of(f"data set {name!r}"):
        return compare_rows(*data_set, **arguments)


def _same_classifiers(comparisons: Mapping[str, Comparison]) -> None:
    """Require the same classifiers on all data sets, in any order."""
    first_name, first = next(iter(comparisons.items()))
    for name, other in comparisons.items():
        lacking = [label for label in first.labels if label not in other.labels]
        more = [label for label in other.labels if label not in first.labels]
        if lacking or more:
            parts = [f"{name!r} lacks {lacking}"] * bool(lacking) + [f"{first_name!r} lacks {more}"] * bool(more)
            raise ValueError(
                f"`datasets` must have the same classifiers; {' and '.join(parts)}. Leave out classifiers that are not "
                "on all data sets, or data sets that do not have all classifiers."
            )


def _different_rows(comparisons: Mapping[str, Comparison]) -> None:
    """Refuse a data set that is given twice: its rows would count as independent evidence."""
    for (name, one), (other_name, other) in combinations(comparisons.items(), 2):
        both = [(one[label].counts, other[label].counts) for label in one.labels]
        if all(_equal(a, b) for a, b in both):
            raise ValueError(
                f"`datasets` must hold different rows; {name!r} and {other_name!r} have the same counts for every "
                "classifier. A data set that counts twice would make intervals too narrow."
            )


def _equal(one: Counts, other: Counts) -> bool:
    """Whether two counts are those of the same rows."""
    same = np.array_equal(one.n, other.n) and np.array_equal(one.effective_k, other.effective_k)
    return same and np.array_equal(one.mean_confidence, other.mean_confidence, equal_nan=True)
