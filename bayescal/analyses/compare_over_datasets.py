"""Compare classifiers over several data sets: a comparison per data set -> ComparisonOverDatasets."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal.analyses.compare_rows import ClassifierRows, compare_rows, several_named
from bayescal.results.comparable import same_spec
from bayescal.results.comparison import Comparison
from bayescal.results.joint import ROPE, checked_rope
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.stats.contract import Counts

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
        lacking, more = _besides(first.labels, other.labels), _besides(other.labels, first.labels)
        if lacking or more:
            parts = [f"{name!r} lacks {lacking}"] * bool(lacking) + [f"{first_name!r} lacks {more}"] * bool(more)
            raise ValueError(
                f"`datasets` must have the same classifiers; {' and '.join(parts)}. Leave out classifiers that are not "
                "on all data sets, or data sets that do not have all classifiers."
            )


def _besides(names: Iterable[str], others: Iterable[str]) -> list[str]:
    return [name for name in names if name not in set(others)]


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
