"""Counts, bins and estimands of an evaluation as an ArviZ DataTree."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _arviz
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import registered
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.posterior.shrinkage.sub_model import ShrinkageDraws
from bayescal.stats.contract import Counts

if TYPE_CHECKING:
    import xarray as xr


def datatree(
    counts: Counts,
    posterior: Posterior,
    bin_draws: BinDraws,
    draws: Callable[[Estimand], Draws],
    parameters: ShrinkageDraws | None,
    attrs: Mapping[str, Any],
) -> "xr.DataTree":
    """Return the groups that `Evaluation.to_datatree` describes; `draws` returns the draws of an estimand."""
    reported = [each for each in registered().values() if each.reported and each.available(counts)]
    drawn: dict[str, Any] = {each.name: draws(each) for each in reported if each.coordinate is None}
    drawn |= _bins(bin_draws)
    sample_stats = {}
    if parameters is not None:
        drawn |= {"intercept": parameters.intercept, "slope": parameters.slope}
        sample_stats["sub_model"] = parameters.sub_model
    attrs = {**attrs, "prior": posterior.prior, "bins": str(counts.bins), "n_rows": counts.n_rows}
    if isinstance(posterior, HasHypotheses):
        attrs |= {"p_calibrated": posterior.p_calibrated, "sub_models": list(posterior.probabilities)}
    edges = {"bin_low": counts.bins.edges[:-1], "bin_high": counts.bins.edges[1:]}
    observed_means = {"mean_confidence": counts.mean_confidence, "observed_accuracy": counts.accuracy}
    return _arviz.datatree(
        drawn,
        observed={"n_rows": counts.n, "n_positive": counts.k, "effective_n": counts.effective_n},
        constant={
            **{f"{k}_edge": v for k, v in edges.items()},
            **{f"{k}_of_bin": v for k, v in observed_means.items()},
        },
        along="bin",
        coords={
            "bin": np.arange(len(counts.bins)),
            **edges,
            "n": counts.n,
            "mean_confidence": counts.mean_confidence,
        },
        attrs=attrs,
        sample_stats=sample_stats,
        curves={each.name: (*each.coordinate, draws(each).values) for each in reported if each.coordinate},
    )


def _bins(draws: BinDraws) -> dict[str, Any]:
    """Return the draws of each bin; NaN where its mass is 0, since its accuracy is not estimated."""
    shape, left_out = draws.accuracy.shape, ~draws.mass.any(axis=0)
    found = {"mass": np.broadcast_to(draws.mass, shape)}
    for name in ("accuracy", "confidence", "gap"):
        found[name] = np.where(left_out, np.nan, np.broadcast_to(getattr(draws, name), shape))
    return found
