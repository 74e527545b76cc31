"""One problem: rows -> counts -> posterior -> draws -> Evaluation."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import known_keywords
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Columns, Predictions, TopLabels
from bayescal.draws import BinDraws
from bayescal.estimands.estimand import EVENTS
from bayescal.estimands.plug_in import null_bins
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.shrinkage.model import compiled_form, shrinkage_posterior
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import row_remarks
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import clusters_of, require_several_clusters
from bayescal.stats.contract import Counts, require_counts
from bayescal.stats.ranks import Ranks

#: Functions that make the posterior, by name of the model; their keywords are the options of the model.
MODELS: dict[str, Callable[..., Posterior]] = {
    "shrinkage": shrinkage_posterior,
    "dirichlet": dirichlet_posterior,
}
DEFAULT_MODEL = "shrinkage"
MOST_DRAWN = 100_000_000  #: Maximum of draws times bins: 0.8 GB for each of mass, accuracy and confidence.
#: Bins of the counts by which mistakes in the arguments are recognised; with so many, no row is sorted for the AUC.
REMARK_BINS = 1000


def count_rows(
    rows: Columns | TopLabels | Predictions,
    bins: Any,
    binning: str,
    *,
    ranked: bool = False,
    clusters: Clusters | None = None,
) -> BinnedCounts:
    """Count the rows of one problem; unvalidated columns are checked during counting. `ranked`: also their ranks."""
    if isinstance(rows, TopLabels):
        rows = rows.columns()
    if rows.weight is not None:  # rows without weights are checked while they are counted
        rows = (rows.checked() if isinstance(rows, Columns) else rows).scale_free()
    counts = BinnedCounts.from_predictions(rows, bins=bins, binning=binning, clusters=clusters)
    if not ranked:
        return counts
    columns = rows.confidence, rows.outcome, rows.weight
    ranks = Ranks.of_rows(*columns)
    if clusters is not None:
        ranks = ranks.in_clusters(*columns, clusters.of_row, hold=counts.target not in EVENTS)
    return replace(counts, ranks=ranks)


def remarks_on(rows: Predictions) -> tuple[str, ...]:
    """State how probabilities were read, and ask about mistakes; see `row_remarks`."""
    return row_remarks(count_rows(rows, REMARK_BINS, "equal-width"))


def evaluate_one(
    counts: Counts,
    /,
    *,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    compiled: bool = False,
    **options: Any,
) -> Evaluation:
    """Posterior of one problem from its counts; see `bayescal.evaluate_counts`. `compiled`: one of many problems."""
    require_counts(counts)
    make = posterior_maker(model, compiled, options)
    total = None if clusters_of(counts) is None else partial(_total_bins, make)
    return evaluation_of(counts, make, model=model, draws=draws, rng=rng, compiled=compiled, total=total)


def posterior_maker(model: str, compiled: bool, options: dict[str, Any]) -> Callable[[Counts], Posterior]:
    """Return the function that makes the posterior of counts; refuse unknown models and options."""
    _checks.one_of("model", model, MODELS)
    others = {f"`model={name!r}`": each for name, each in MODELS.items()}
    known_keywords(f"`model={model!r}`", options, MODELS[model], others)
    return partial(_posterior, model, compiled, options)


def _posterior(model: str, compiled: bool, options: dict[str, Any], counts: Counts) -> Posterior:
    return compiled_form(MODELS[model](counts, **options)) if compiled else MODELS[model](counts, **options)


def evaluation_of(
    counts: Counts,
    make: Callable[[Counts], Posterior],
    *,
    model: str,
    draws: int,
    rng: Any,
    compiled: bool = False,
    total: Callable[[Counts, int, int], BinDraws] | None = None,
) -> Evaluation:
    """Draw from the posterior that `make` returns for counts; `total` draws the bins with the effect of the total."""
    draws = _checks.whole_number("draws", draws, at_least=2)
    if draws * len(counts.bins) > MOST_DRAWN:
        raise ValueError(
            f"`draws` times `bins` must be at most {MOST_DRAWN:g} to fit into memory; {draws} draws of "
            f"{len(counts.bins)} bins are {draws * len(counts.bins):.3g}. Use fewer draws or fewer bins."
        )
    require_several_clusters(counts)
    # separate seeds: the null distribution does not depend on how many random numbers the model uses
    seed, for_null, for_dirichlet = _checks.seeds(rng, 3)
    posterior = make(counts)
    bin_draws = posterior.sample(draws, rng=seed)
    if not all(np.isfinite(values).all() for values in (bin_draws.mass, bin_draws.accuracy, bin_draws.confidence)):
        raise ArithmeticError(f"the {model} posterior has draws that are not finite; this is a bug, please report it.")
    null: Any = partial(null_bins, counts, draws, rng=for_null, compiled=compiled) if counts.occupied.any() else None
    return Evaluation(
        counts=counts, posterior=posterior, bin_draws=bin_draws, null_bin_draws=null,
        model=model, bin_draws_seed=seed, dirichlet_seed=for_dirichlet,
        draw_total_bins=None if total is None else partial(total, counts, draws, seed),
    )  # fmt: skip


def _total_bins(make: Callable[[Counts], Posterior], counts: Any, draws: int, seed: int) -> BinDraws:
    """Draw the bins given counts whose effective rows are divided by the design effect of the total."""
    return make(counts.with_total_effect()).sample(draws, rng=seed)
