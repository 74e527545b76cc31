"""Groups: one posterior per group, or the joint one of pooled groups. Classes: one posterior per class, joined."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, cast

import numpy as np

from bayescal import _checks
from bayescal._arrays import Bools, Generator, Ints
from bayescal._loops import in_threads
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL, MODELS, MOST_DRAWN, count_rows, evaluate_one
from bayescal.data.groups import UNNAMED, Clusters, Groups
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.plug_in import null_bins
from bayescal.posterior.contract import HasHypotheses
from bayescal.posterior.joint import reorder, with_common_cause
from bayescal.posterior.shrinkage.model import compiled_form, compiled_form_pays, wait_for_compilation
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.clusters import ClusterSums, clusters_of, require_several_in_groups
from bayescal.stats.contract import Counts, require_counts, total_of

#: Ways of pooling, and the default.
NONE, PARTIAL, TOTAL = "none", "partial", "complete"
POOLINGS = (NONE, PARTIAL, TOTAL)
MODEL = "shrinkage"  #: The model that gives the curve of all rows.


def checked_pooling(pooling: Any, *, groups: bool, model: str = MODEL) -> str:
    """Return how groups are pooled, by default not; refuse it without groups, and for a model without pooling."""
    if pooling is None:
        return NONE
    _checks.one_of("pooling", pooling, POOLINGS)
    if not groups:
        raise ValueError(
            f"`pooling={pooling!r}` needs groups, and there are none: pass `by`, the group of each row (with counts, a "
            "mapping of labels to counts)."
        )
    if pooling != NONE and model != MODEL:
        raise ValueError(f"`pooling={pooling!r}` exists for `model={MODEL!r}` only, not for `model={model!r}`.")
    return str(pooling)


def evaluate_pooled(
    labels: Sequence[Any], counts: list[Counts], whole: Evaluation, pooling: str, rng: Generator, progress: bool | None
) -> tuple[dict[Any, Evaluation], int]:
    """Evaluate groups jointly, by partial or complete pooling; also return the seed of their joint draws."""
    from bayescal.posterior.pooling.posterior import GroupPosterior, PooledPosterior
    from bayescal.posterior.pooling.prior import COMPLETE
    from bayescal.posterior.pooling.prior import PARTIAL as DEFAULT

    if not whole.counts.occupied.any():
        raise ValueError(f"`pooling={pooling!r}` needs at least one group with rows; all groups are empty.")
    n_draws, used = len(whole.bin_draws), whole.counts.occupied
    prior = DEFAULT if pooling == PARTIAL else COMPLETE
    seed, *seeds = _checks.seeds(rng, 2 * len(labels) + 1)
    compiled = compiled_form_pays(len(labels))
    alone = [_alone(whole, of_group, compiled=compiled) for of_group in counts] if prior.alone else []
    pooled = PooledPosterior.of(counts, whole.counts, whole.bin_draws, prior, alone, shared=compiled)
    samples = pooled.sample(n_draws, rng=seed)
    groups = {}
    with bar(len(labels), "Evaluating groups", progress) as advance:
        for place, (label, of_group) in enumerate(zip(labels, counts, strict=True)):
            posterior = GroupPosterior(of_group, pooled, place, used, pooling, whole.posterior.prior)
            for_null, for_dirichlet = seeds[2 * place : 2 * place + 2]
            rows = of_group.occupied.any()
            groups[label] = Evaluation(
                counts=of_group,
                posterior=posterior,
                bin_draws=posterior.of_draws(samples),
                null_bin_draws=null_bins(of_group, n_draws, rng=for_null, compiled=compiled) if rows else None,
                model=f"{pooling} pooling",
                bin_draws_seed=seed,
                dirichlet_seed=for_dirichlet,
            )
            advance()
    return groups, seed


def _alone(whole: Evaluation, counts: Counts, *, compiled: bool) -> ShrinkagePosterior:
    """Return the posterior of one group without pooling, with the options of that of all rows."""
    options = cast(ShrinkagePosterior, whole.posterior).prior_options
    posterior = ShrinkagePosterior(counts, options)
    return cast(ShrinkagePosterior, compiled_form(posterior)) if compiled else posterior


def evaluate_count_groups(counts: Mapping[Any, Counts], **arguments: Any) -> GroupedEvaluation:
    """Evaluate groups from a mapping of label to counts; see `bayescal.evaluate_counts`."""
    overall = total_of(counts, require_counts)
    return evaluate_groups(list(counts), list(counts.values()), overall, name=UNNAMED, **arguments)


def evaluate_row_groups(
    predictions: Predictions, by: Groups, *, bins: Any, binning: str, clusters: Clusters | None = None, **arguments: Any
) -> GroupedEvaluation:
    """Evaluate groups of rows, all with the same edges; clusters of a group are the parts of clusters inside it."""
    edges = make_bins(bins, binning=binning, confidence=predictions.confidence, weights=predictions.weight)
    overall = count_rows(predictions, edges, "equal-width", ranked=True, clusters=clusters)
    empty, groups = BinnedCounts.empty(edges, target=overall.target), by.split(predictions)

    def counted(rows: Ints) -> Counts:
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

    `counts`, in the order of `labels`, may be lazy: they are read after the check that all draws fit into memory.
    """
    pooling = checked_pooling(pooling, groups=True, model=arguments.get("model", DEFAULT_MODEL))
    if pooling != NONE and clusters_of(overall) is not None:
        raise ValueError(
            f"`pooling={pooling!r}` cannot be combined with rows in clusters: the coverage of its intervals has not "
            "been measured. Use `pooling='none'`, or leave out `cluster` if the groups are the clusters."
        )
    size = len(labels) * len(overall.bins) * draws
    if len(labels) > most_groups(draws, len(overall.bins)):
        raise ValueError(
            f"there are {len(labels)} groups of {overall.n_rows} rows, by {name}; {draws} draws of {len(overall.bins)} "
            f"bins for each group are {size:.3g} numbers, and at most {MOST_DRAWN:g} fit into memory. If groups are "
            "values of a measurement, cut it into ranges; if so many groups are intended, use fewer draws."
        )
    counts = list(counts)
    require_several_in_groups(dict(zip(labels, counts, strict=True)))
    rng = _checks.generator(rng)
    arguments = {"draws": draws, **arguments}
    # first, with the same generator: all rows give the same numbers with and without groups
    whole = evaluate_one(overall, rng=rng, **arguments)
    order, *seeds = _checks.seeds(rng, len(labels) + 1)
    if pooling == NONE:
        compiled, groups = compiled_form_pays(len(labels)), {}
        with bar(len(labels), "Evaluating groups", progress, wait_for_compilation(compiled)) as advance:
            for label, of_label, seed in zip(labels, counts, seeds, strict=True):
                groups[label] = evaluate_one(of_label, rng=seed, compiled=compiled, **arguments)
                advance()
    else:
        for_groups = _checks.generator(seeds[0])
        groups, seed = evaluate_pooled(labels, counts, whole, pooling=pooling, rng=for_groups, progress=progress)
        seeds = [seed] * len(labels)
    by_label = dict(zip(labels, seeds, strict=True))
    return GroupedEvaluation(groups=groups, overall=whole, seeds=by_label, name=name, order_seed=order, pooling=pooling)


#: With the seed of the order of the classes, this number seeds which draws have all classes exactly calibrated.
EXACT_SEED = 1
#: The same for the draws of pooled pairs, and the largest design effect of the pairs of a row; see `pooled_error`.
PAIRS_SEED, PAIRS_EFFECT = 2, 2.0
MOST_EXACT = 0.05  #: Largest share of draws in which all classes are exactly calibrated.


def evaluate_classes(
    rows: ClassRows, *, bins: Any, binning: str, clusters: Clusters | None = None, **arguments: Any
) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from rows."""
    rows = rows.scale_free()
    counts = ClasswiseCounts.from_rows(rows, bins=bins, binning=binning)
    if clusters is not None:
        problems = zip(counts.by_class, Predictions.of_classes(rows), strict=True)
        sums = [ClusterSums.from_rows(each, clusters.of_row, of_class.bins) for of_class, each in problems]
        with_sums = zip(counts.by_class, sums, strict=True)
        counts = replace(counts, by_class=tuple(replace(each, clusters=of_class) for each, of_class in with_sums))
    return evaluate_class_counts(counts, **arguments)


def evaluate_class_counts(
    counts: ClasswiseCounts,
    *,
    model: str = DEFAULT_MODEL,
    rng: Any = None,
    draws: int = 4000,
    progress: bool | None = None,
    **options: Any,
) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from counts of at least one row, as `evaluate_counts` does."""
    if not counts.by_class[0].occupied.any():
        raise ValueError("`counts` has no rows of positive weight: there is no class whose frequency is known.")
    size, draws = len(counts), _checks.whole_number("draws", draws, at_least=2)
    compiled = compiled_form_pays(size)
    arguments = {"model": model, "draws": draws, "compiled": compiled, **options}
    *seeds, for_errors, for_null = _checks.seeds(rng, size + 2)
    # keep only the ECE of each class: all bins of a thousand classes would not fit into memory
    by_class, null = np.empty((draws, size)), np.empty((draws, size))
    lock = Lock()
    with bar(size, "Evaluating classes", progress, wait_for_compilation(compiled)) as advance:

        def evaluate_class(k: int) -> float | None:
            evaluation = evaluate_one(counts.by_class[k], rng=seeds[k], **arguments)
            by_class[:, k], null[:, k] = evaluation.ece.values, evaluation.null.values
            with lock:
                advance()
            posterior = evaluation.posterior
            if isinstance(posterior, HasHypotheses) and EXACT in posterior.probabilities:
                return posterior.log_bayes_factor
            return None

        for_exact = list(in_threads(evaluate_class, range(size)))
    # the classes share their rows, so their errors are correlated: reorder the draws, keep each margin
    of_errors, of_residuals = counts.correlations
    exact = np.zeros(draws, bool)
    log_bayes_factors = [each for each in for_exact if each is not None]
    if len(log_bayes_factors) == size:
        of_errors = with_common_cause(of_errors)
        exact = jointly_exact(log_bayes_factors, draws, rng=np.random.SeedSequence((for_errors, EXACT_SEED)))
    by_class = reorder(by_class, of_errors, rng=for_errors)
    # the absolute values of two centred Normals with correlation r have a correlation close to r^2
    null = reorder(null, of_residuals**2, rng=for_null)
    return ClasswiseEvaluation(
        classes=counts.classes,
        counts=counts.by_class,
        by_class=Draws(by_class, "ece by class"),
        null_by_class=Draws(null, "ece by class if calibrated"),
        model=model,
        prior=MODELS[model](counts.by_class[0], **options).prior,
        exact=exact,
        evaluate_class=partial(_evaluate_class, counts.by_class, counts.classes, tuple(seeds), arguments),
        correlations=(of_errors, of_residuals),
        order_seed=for_errors,
        draw_pooled=partial(_draw_pooled, counts.by_class, for_errors, arguments),
    )


def jointly_exact(log_bayes_factors: list[float], n_draws: int, *, rng: Any = None) -> Bools:
    r"""Choose the draws in which all classes are exactly calibrated, given their log Bayes factors, shape (n_classes,).

    They are a share :math:`0.05 \min(1, \prod_k B_k)` of the draws, to within one draw. The mean over classes is 0 only
    if all classes are exact in the same draw. If many classes are drawn independently, this has negligible probability,
    and no interval of the mean would contain 0. The limit of 5 % is fixed. Without it, the product of many Bayes
    factors could leave hardly any other draws, even if all classes are slightly over-confident. With it, the lower
    bound of an interval can be 0, and the upper bound hardly changes.
    """
    share = MOST_EXACT * np.exp(min(float(np.array(log_bayes_factors).sum()), 0.0))
    generator = _checks.generator(rng)
    chosen = np.arange(n_draws) < int(np.floor(share * n_draws + generator.random()))
    return generator.permutation(chosen)


def _draw_pooled(counts: tuple[BinnedCounts, ...], seed: int, arguments: dict[str, Any]) -> BinDraws:
    """Draw the bins of the pairs of all classes; their effective number is divided by `PAIRS_EFFECT`."""
    if any(clusters_of(each) is not None for each in counts):
        raise ValueError("Pooled errors need independent rows; these are in clusters and have no pooled error.")
    if any(each.bins != counts[0].bins for each in counts):
        raise ValueError('Pooled errors need the same bins for all classes, as with `binning="equal-width"`.')
    pairs = sum(counts[1:], counts[0])
    pairs = replace(pairs, weight_sq=pairs.weight_sq * PAIRS_EFFECT)
    return evaluate_one(pairs, rng=np.random.SeedSequence((seed, PAIRS_SEED)), **arguments).bin_draws


def _evaluate_class(
    counts: tuple[BinnedCounts, ...], classes: tuple[Any, ...], seeds: tuple[int, ...], options: dict[str, Any], k: int
) -> Evaluation:
    """Evaluate one class with all its bins; its draws of the ECE are the same as in the result, in another order."""
    return replace(evaluate_one(counts[k], rng=seeds[k], **options), label=f"class {classes[k]}")
