"""Groups with partial or complete pooling: the joint posterior of all groups, given the curve of all rows."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from bayescal import _checks
from bayescal._progress import bar
from bayescal.estimands.plug_in import null_bins
from bayescal.posterior.many import compiled_form, compiled_form_pays
from bayescal.posterior.pooling.posterior import GroupPosterior, PooledPosterior
from bayescal.posterior.pooling.prior import COMPLETE
from bayescal.posterior.pooling.prior import PARTIAL as DEFAULT
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.results.evaluation import Evaluation
from bayescal.stats.contract import Counts

#: Ways of pooling, and the default.
NONE, PARTIAL, TOTAL = "none", "partial", "complete"
POOLINGS = (NONE, PARTIAL, TOTAL)
#: The model that gives the curve of all rows.
MODEL = "shrinkage"


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
    labels: Sequence[Any],
    counts: Sequence[Counts],
    whole: Evaluation,
    *,
    pooling: str,
    rng: np.random.Generator,
    progress: bool | None = None,
) -> tuple[dict[Any, Evaluation], int]:
    """Evaluate groups jointly: one evaluation per group, with joint draws, and the seed of the draws.

    Some groups may be empty; ValueError if all are. `pooling` is "partial" or "complete". The draws of `whole`, the
    evaluation of all rows under the shrinkage model, are those of the common curve.
    """
    if not whole.counts.occupied.any():
        raise ValueError(f"`pooling={pooling!r}` needs at least one group with rows; all groups are empty.")
    n_draws, used = len(whole.bin_draws), whole.counts.occupied
    prior = DEFAULT if pooling == PARTIAL else COMPLETE
    seed, *seeds = _checks.seeds(rng, 2 * len(labels) + 1)
    compiled = compiled_form_pays(len(labels))
    alone = [_alone(whole, of_group, compiled=compiled) for of_group in counts] if prior.alone else []
    pooled = PooledPosterior.of(counts, whole.counts, whole.bin_draws, prior, alone)
    drawn = pooled.sample(n_draws, rng=seed)
    groups = {}
    with bar(len(labels), "Evaluating groups", progress) as advance:
        for place, (label, of_group) in enumerate(zip(labels, counts, strict=True)):
            posterior = GroupPosterior(of_group, pooled, place, used, pooling, whole.posterior.prior)
            for_null, for_dirichlet = seeds[2 * place : 2 * place + 2]
            rows = of_group.occupied.any()
            groups[label] = Evaluation(
                counts=of_group,
                posterior=posterior,
                bin_draws=posterior.of_draws(drawn),
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
