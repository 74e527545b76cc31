"""Net benefit: rows -> counts between thresholds -> posterior of the cells -> NetBenefit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, overload

from bayescal import _checks
from bayescal._arrays import Classes, Ints
from bayescal._invalid import errors_of, quoted
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import remarks_on
from bayescal.data.frames import same_rows
from bayescal.data.groups import UNNAMED as UNNAMED_GROUPS
from bayescal.data.groups import Clusters, Groups
from bayescal.data.imputations import imputed_sets
from bayescal.data.predictions import Predictions, read_rows
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.posterior import ScoreCellsPosterior
from bayescal.decisions.result import GroupedNetBenefit, NetBenefit, mixed_net_benefit
from bayescal.decisions.thresholds import UNNAMED, probabilities_by_model
from bayescal.results.imputed import of_imputations
from bayescal.results.of_groups import of_each_group
from bayescal.results.remarks import of_several
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import total_of
from bayescal.stats.paired import PairedCounts

type Options = tuple[Any, Any, Any, Any]
PSEUDO_ROWS = 3.0  #: Weight of the prior in rows, for one model and for differences of models.


@public
def net_benefit(
    y_true: Any,
    y_prob: Any,
    thresholds: Any = None,
    *,
    pseudo_rows: float = PSEUDO_ROWS,
    weights: Any = None,
    by: Any = None,
    cluster: Any = None,
    harm: Any = None,
    prevalence: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> NetBenefit | GroupedNetBenefit:
    r"""Compute decision curves: the net benefit of treating all rows whose probability reaches a threshold.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        Whether each row has the event, such as a disease; a list of such arrays if outcomes were imputed.
    y_prob : array-like of float, shape (n_rows,), or mapping of str to array-like, or data frame
        Probabilities of the event. For several models, a mapping from name to column, or a data frame with one column
        per model. A list of arrays has one per imputation.
    thresholds : float or array-like of float, optional
        Thresholds t, strictly increasing in [0, 1); by default 0.01, 0.02, ..., 0.99. A row is treated at t if
        its probability is at least t; at 0 every row is, and the net benefit is the prevalence. Thresholds are rounded
        to 12 decimals.
    pseudo_rows : float, default 3
        Weight of the prior in rows, in [0.1, 100]. The prior has an event probability of 0.5, and most of its scores
        are 0 or 1, so that at every threshold about half of its rows are treated.
    by : array-like, shape (n_rows,), optional
        Labels of groups: one result per group, and one of all rows, as a mapping.
    cluster : array-like, shape (n_rows,), or data frame of several columns, optional
        Labels of clusters, such as patients with several rows, whose rows may depend on each other. By default all rows
        are independent. With fewer than 40 clusters a remark warns that intervals may be too narrow.
    harm : float or mapping of str to float, optional
        Net benefit that the use of a model costs per row, such as the harm of a test; by default 0.
    prevalence : float, optional
        Share of the event in the population, for case-control data, in which the study design fixes the share of cases.
        Probabilities of the scores are then estimated given the outcome.

    Returns
    -------
    NetBenefit or GroupedNetBenefit
        Joint draws of the net benefit of all models and of treating all, standardized net benefit, treatments avoided,
        differences, and the probabilities that a model is useful and that a strategy is the best. A
        `GroupedNetBenefit` if `by` is given. Of imputations, the result is also `Imputed`.

    Raises
    ------
    ValueError, TypeError
        If values are missing or invalid, or columns differ in length; the message gives the first index. If thresholds
        lie outside [0, 1), where the odds t / (1 - t) are finite, or do not increase. If weights differ only between
        the outcomes, as for case-control data, and `prevalence` is not given.

    See Also
    --------
    net_benefit_counts : The same from counts of streams, files or data frames.
    plot_decision_curve : Draws the result.

    Notes
    -----
    The net benefit [1]_ counts true positives per row, and subtracts false positives with the weight that the threshold
    implies: a decision maker with threshold t accepts (1 - t) / t false positives for a true positive.

    .. math:: NB(t) = P(p \ge t, y = 1) - \frac{t}{1 - t} P(p \ge t, y = 0)

    The posterior is that of a Dirichlet process. Mean and standard deviation have closed forms. The page "Net benefit
    and decisions" states the model, and shows how often the intervals contain the truth.

    With `cluster`, the Dirichlet process is one of clusters: draws multiply all rows of a cluster by the same number.
    The posterior is then as wide as differences of clusters require, at each threshold and for each pair of models.

    Values are combined by position. Pandas columns with different indexes raise a `ValueError`, unless one index is the
    default one and the other has other labels.

    References
    ----------
    .. [1] A. J. Vickers and E. B. Elkin (2006), "Decision curve analysis: a novel method for evaluating prediction
       models", Medical Decision Making 26, 565-574.

    Examples
    --------
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> curves = bc.decisions.net_benefit(y, {"new": p, "old": np.sqrt(p)}, [0.2, 0.5, 0.8], rng=1)
    >>> curves.net_benefit["new"].mean().round(3)
    array([0.388, 0.234, 0.113])
    >>> curves.p_best["new"].round(2)
    array([1.  , 1.  , 0.98])
    """
    arguments = locals()
    if sets := imputed_sets(y_true, y_prob):
        return of_imputations(net_benefit, mixed_net_benefit, sets, arguments)
    named, by_model = probabilities_by_model(y_prob)
    columns = {f"y_prob[{name!r}]" if named else "y_prob": p for name, p in by_model.items()}
    same_rows({"y_true": y_true, **columns, "weights": weights, "by": by, "cluster": cluster})
    options: dict[str, Any] = {"classes": classes, "logits": logits, "weights": weights}
    rows: dict[str, Predictions] = {}
    for name, p in by_model.items():
        with errors_of(f"model {name!r}" if named else ""):
            rows[name] = read_rows(y_true, p, target="event", **options).checked().scale_free()
    n_rows = len(next(iter(rows.values())))
    clusters = None if cluster is None else Clusters.from_column(cluster, n_rows)
    counts = ThresholdCounts.from_predictions(rows, thresholds, clusters)
    on = {name: remarks_on(of_model) for name, of_model in rows.items()}
    of_rows = tuple(of_several(on)) if named else on[UNNAMED]
    if by is None:
        return replace(of_counts(counts, pseudo_rows, harm, prevalence, draws, rng), of_rows=of_rows)
    groups = Groups.from_column(by, n_rows)
    parts = _by_group(rows, groups, counts.thresholds, clusters)
    grouped = _of_groups(parts, counts, groups.name, (pseudo_rows, harm, prevalence, draws), rng)
    return replace(grouped, overall=replace(grouped.overall, of_rows=of_rows))


def _by_group(
    rows: Mapping[str, Predictions], groups: Groups, thresholds: Any, clusters: Clusters | None
) -> dict[Any, ThresholdCounts]:
    """Count the rows of each group; the part of a cluster inside a group is a cluster."""

    def count(inside: Ints, members: tuple[Predictions, ...]) -> ThresholdCounts:
        within = None if clusters is None else clusters.take(inside)
        return ThresholdCounts.from_predictions(dict(zip(rows, members, strict=True)), thresholds, within)

    members = zip(*(groups.split(of_model) for of_model in rows.values()), strict=True)
    return of_each_group(count, groups.labels, groups.rows(), members)


def _of_groups(
    parts: Mapping[Any, ThresholdCounts], whole: ThresholdCounts, name: str, options: Options, rng: Any
) -> GroupedNetBenefit:
    """Evaluate each group and all rows; the draws of a group do not depend on the other groups."""
    seed, *seeds = _checks.seeds(rng, len(parts) + 1)
    groups = of_each_group(lambda counts, seed: of_counts(counts, *options, seed), parts, parts.values(), seeds)
    return GroupedNetBenefit(groups, of_counts(whole, *options, seed), name)


@overload
def net_benefit_counts(
    counts: ThresholdCounts | BinnedCounts | PairedCounts,
    thresholds: Any = None,
    *,
    pseudo_rows: float = ...,
    harm: Any = None,
    prevalence: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    name: str = ...,
) -> NetBenefit: ...
@overload
def net_benefit_counts(
    counts: Mapping[Any, ThresholdCounts],
    thresholds: Any = None,
    *,
    pseudo_rows: float = ...,
    harm: Any = None,
    prevalence: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    name: str = ...,
) -> GroupedNetBenefit: ...
@public
def net_benefit_counts(
    counts: ThresholdCounts | BinnedCounts | PairedCounts | Mapping[Any, ThresholdCounts],
    thresholds: Any = None,
    *,
    pseudo_rows: float = PSEUDO_ROWS,
    harm: Any = None,
    prevalence: float | None = None,
    draws: int = 4000,
    rng: Any = None,
    name: str = UNNAMED_GROUPS,
) -> NetBenefit | GroupedNetBenefit:
    """Compute decision curves from counts; the cost does not depend on the number of rows.

    Parameters
    ----------
    counts : ThresholdCounts, BinnedCounts or PairedCounts, or mapping of label to ThresholdCounts
        Counts between thresholds. Counts of an event in bins, closed on the left, have them as the inner edges of the
        bins. Counts of groups, as from ``ThresholdCounts.from_frame(..., by=...)``, give a result per group and one of
        their sum.
    thresholds : float or array-like of float, optional
        Some of the thresholds, or inner edges, of the counts; by default all.
    pseudo_rows, harm, prevalence, draws, rng
        As for `net_benefit`.
    name : str, optional
        Name of the grouping, such as "site".

    Returns
    -------
    NetBenefit or GroupedNetBenefit
        As from `net_benefit`.

    Raises
    ------
    ValueError, TypeError
        As for `net_benefit`; also if a threshold is not among those of the counts.

    Examples
    --------
    >>> day = bc.decisions.ThresholdCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0.3, 0.8])
    >>> bc.decisions.net_benefit_counts(day + day, rng=1).observed["model"].round(3)
    array([0.667, 0.333])

    Bins of equal width on a file, a stream or a database serve as well:

    >>> binned = bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=10, target="event")
    >>> bc.decisions.net_benefit_counts(binned, [0.3, 0.8], rng=1).observed["model"].round(3)
    array([0.667, 0.333])
    """
    options = (pseudo_rows, harm, prevalence, draws)
    if not isinstance(counts, Mapping):
        return of_counts(_at(counts, thresholds), *options, rng)
    parts = of_each_group(lambda each: _at(each, thresholds), counts, counts.values())
    return _of_groups(parts, total_of(parts), name, options, rng)


def _at(counts: ThresholdCounts | BinnedCounts | PairedCounts, thresholds: Any) -> ThresholdCounts:
    """Return counts between the given thresholds."""
    if not isinstance(counts, ThresholdCounts):
        return ThresholdCounts.from_bins(counts, thresholds)
    return counts if thresholds is None else counts.at(thresholds)


def of_counts(
    counts: ThresholdCounts, pseudo_rows: Any, harm: Any, prevalence: Any, draws: Any, rng: Any
) -> NetBenefit:
    """Check the options of `net_benefit`, and make its result from counts."""
    prior = float(_checks.positive("pseudo_rows", pseudo_rows, ()))
    share = None if prevalence is None else _checks.fraction("prevalence", prevalence)
    if share is None and counts.strata is None and counts.weights_by_outcome_only:
        raise ValueError(text_of("net benefit of chosen outcomes"))
    posterior = ScoreCellsPosterior(counts, prior, share is not None)
    harms = _harms(harm, counts.models)
    seed = _checks.seeds(rng, 1)[0]
    return NetBenefit(posterior, harms, share, _checks.whole_number("draws", draws, 2), seed)


def _harms(harm: Any, models: Sequence[str]) -> dict[str, float]:
    """Return the harm of each model: one number for all, or a mapping with some of the models."""
    if harm is None:
        return dict.fromkeys(models, 0.0)
    if not isinstance(harm, Mapping):
        return dict.fromkeys(models, _harm("harm", harm))
    unknown = [name for name in harm if name not in models]
    if unknown:
        raise ValueError(
            f"`harm` must name models; {quoted(unknown[0])} is none of {quoted(list(models))}."
            f"{_checks.did_you_mean(str(unknown[0]), models)}"
        )
    return {name: _harm(f"harm[{name!r}]", harm.get(name, 0.0)) for name in models}


def _harm(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be a number >= 0, or one for each model by name; not {quoted(value)}.")
    if not 0 <= float(value) < 1:
        raise ValueError(f"`{name}` must lie in [0, 1), in units of net benefit per row; not {value!r}.")
    return float(value)
