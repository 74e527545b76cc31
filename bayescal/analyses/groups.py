"""Groups of rows: one posterior per group, and one of all rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL, MOST_DRAWN, count_rows, evaluate_one
from bayescal.analyses.pooled_groups import NONE, checked_pooling, evaluate_pooled
from bayescal.data.clusters import Clusters
from bayescal.data.groups import UNNAMED, Groups
from bayescal.data.predictions import Predictions
from bayescal.posterior.many import compiled_form_pays
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.clusters import clusters_of, require_several_clusters
from bayescal.stats.contract import Counts, require_counts


def evaluate_count_groups(counts: Mapping[Any, Counts], **arguments: Any) -> GroupedEvaluation:
    """Evaluate groups from a mapping of label to counts; see `bayescal.evaluate_counts`."""
    for label, of_group in counts.items():
        require_counts(of_group, f"counts[{label!r}]")
    if not counts:
        raise ValueError("`counts` is an empty mapping; give the counts of at least one group.")
    first, *others = counts.values()
    overall = sum(others, start=first)
    return evaluate_groups(list(counts), list(counts.values()), overall, name=UNNAMED, **arguments)


def evaluate_row_groups(
    predictions: Predictions, by: Groups, *, bins: Any, binning: str, clusters: Clusters | None = None, **arguments: Any
) -> GroupedEvaluation:
    """Evaluate groups of rows, all with the same edges; clusters of a group are the parts of clusters inside it.

    Groups without rows are evaluated if they are pooled.
    """
    edges = make_bins(bins, binning=binning, confidence=predictions.confidence, weights=predictions.weight)
    overall = count_rows(predictions, edges, "equal-width", ranked=True, clusters=clusters)
    empty = BinnedCounts.empty(edges, target=overall.target)
    groups = by.split(predictions)

    def counted(rows: NDArray[np.int64]) -> Counts:
        if not len(rows):
            return empty
        within = None if clusters is None else clusters.take(rows)
        return count_rows(next(groups), edges, "equal-width", ranked=True, clusters=within)

    counts = map(counted, by.rows())
    return evaluate_groups(by.labels, counts, overall, name=by.name, **arguments)


def most_groups(draws: int, n_bins: int) -> int:
    """Return the largest number of groups whose draws fit into memory."""
    return MOST_DRAWN // (n_bins * _checks.whole_number("draws", draws, at_least=2))


def evaluate_groups(
    labels: Sequence[Any],
    counts: Iterable[Counts],
    overall: Counts,
    *,
    name: str,
    rng: Any = None,
    draws: int = 4000,
    progress: bool | None = None,
    pooling: str | None = None,
    **arguments: Any,
) -> GroupedEvaluation:
    """Evaluate groups from their counts, and all rows from `overall`; no row belongs to two groups.

    `counts` are on the same bins, in the order of `labels`; a lazy iterable is read only after the check that the draws
    of all groups fit into memory (ValueError). `name` is that of the grouping, such as "site".
    """
    pooling = checked_pooling(pooling, groups=True, model=arguments.get("model", DEFAULT_MODEL))
    if pooling != NONE and clusters_of(overall) is not None:
        raise ValueError(
            f"`pooling={pooling!r}` cannot be combined with rows in clusters: the coverage of its intervals has not "
            "been measured. Use `pooling='none'`, or leave out `cluster` if the groups are the clusters."
        )
    drawn = len(labels) * len(overall.bins) * draws
    if len(labels) > most_groups(draws, len(overall.bins)):
        raise ValueError(
            f"there are {len(labels)} groups of {overall.n_rows} rows, by {name}; {draws} draws of {len(overall.bins)} "
            f"bins for each group are {drawn:.3g} numbers, and at most {MOST_DRAWN:g} fit into memory. If groups are "
            "values of a measurement, cut it into ranges; if so many groups are intended, use fewer draws."
        )
    rng = _checks.generator(rng)
    arguments = {"draws": draws, **arguments}
    # first, with the same generator: all rows give the same numbers with and without groups
    whole = evaluate_one(overall, rng=rng, **arguments)
    order, *seeds = _checks.seeds(rng, len(labels) + 1)
    if pooling == NONE:
        compiled, groups = compiled_form_pays(len(labels)), {}
        with bar(len(labels), "Evaluating groups", progress) as advance:
            for label, of_label, seed in zip(labels, counts, seeds, strict=True):
                require_several_clusters(of_label, f"group {label!r}: ")
                groups[label] = evaluate_one(of_label, rng=seed, compiled=compiled, **arguments)
                advance()
    else:
        for_groups = _checks.generator(seeds[0])
        groups, seed = evaluate_pooled(labels, list(counts), whole, pooling=pooling, rng=for_groups, progress=progress)
        seeds = [seed] * len(labels)
    return GroupedEvaluation(
        groups=groups,
        overall=whole,
        seeds=dict(zip(labels, seeds, strict=True)),
        name=name,
        order_seed=order,
        pooling=pooling,
    )
