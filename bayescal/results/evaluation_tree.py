"""An evaluation as an ArviZ data tree: posterior, prior, predictive distributions and log likelihood."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _arviz, _checks
from bayescal._arrays import Array
from bayescal.draws import BinDraws
from bayescal.estimands.registry import registered
from bayescal.posterior.contract import HasHypotheses, HasParameters
from bayescal.results.leave_one_out import cells_of_rows, require_equal_rows, require_exact, row_coordinates
from bayescal.stats.contract import Counts
from bayescal.stats.log_odds import VALUE_FLOOR

if TYPE_CHECKING:
    import xarray as xr

#: Largest number of rows of the log likelihood, which has one value per draw and row, and of its values.
MOST_ROWS, MOST_VALUES = 20_000, 80_000_000
#: Together with the seed of the bins, this number seeds the predicted outcomes.
PREDICTED = 2
#: Name of the accuracy in the tree, where "accuracy" is that of the bins.
OVERALL = {"accuracy": "accuracy_of_all_rows"}
#: Value of `predictive` with which the outcome of each row is predicted, in place of the share of each bin.
ROWS = "rows"


def evaluation_tree(
    evaluation: Any, attrs: Mapping[str, Any], *, prior: bool = False, predictive: bool | str = False
) -> "xr.DataTree":
    """Return the groups that `Evaluation.to_datatree` describes, of an `Evaluation`."""
    _checks.one_of("prior", prior, [True, False])
    _checks.one_of("predictive", predictive, [True, False, ROWS])
    counts, posterior = evaluation.counts, evaluation.posterior
    if predictive:
        _require_rows(counts, posterior, len(evaluation.bin_draws))
    under_prior = evaluation.under_prior() if prior else None
    parameters, curves, sample_stats = _parameters(evaluation), _curves(evaluation), {}
    if parameters is not None:
        sample_stats["sub_model"] = parameters.sub_model
    # an attribute `prior` would hide that the group is missing
    attrs = {**attrs, "model_prior": posterior.prior, "bins": str(counts.bins), "n_rows": counts.n_rows}
    if isinstance(posterior, HasHypotheses):
        attrs |= {"p_calibrated": posterior.p_calibrated, "sub_models": list(posterior.probabilities)}
    edges = {"bin_low": counts.bins.edges[:-1], "bin_high": counts.bins.edges[1:]}
    observed_means = {"mean_confidence": counts.mean_confidence, "observed_accuracy": counts.accuracy}
    numbers = {"n_rows": counts.n, "n_positive": counts.k, "effective_n": counts.effective_n}
    tree = _arviz.datatree(
        _variables(evaluation),
        observed={} if predictive else numbers,
        constant={
            **{f"{k}_edge": v for k, v in edges.items()},
            **{f"{k}_of_bin": v for k, v in observed_means.items()},
            **(numbers if predictive else {}),
        },
        along="bin",
        coords={"bin": np.arange(len(counts.bins)), **edges, "n": counts.n, "mean_confidence": counts.mean_confidence},
        attrs=attrs,
        sample_stats=sample_stats,
        curves=curves,
        kept=evaluation.bin_draws.mass.any(axis=0),
        prior=None if under_prior is None else _variables(under_prior),
    )
    if predictive:
        _add_predictive(tree, evaluation, under_prior, by_row=predictive == ROWS)
    return tree


def _variables(evaluation: Any) -> dict[str, Any]:
    """Return the draws of the reported estimands, of the bins and of the drift."""
    reported = [each for each in registered().values() if each.reported and each.available(evaluation.counts)]
    scalars = [each for each in reported if each.coordinate is None]
    variables: dict[str, Any] = {OVERALL.get(each.name, each.name): evaluation.draws(each) for each in scalars}
    bins = evaluation.bin_draws
    shape = bins.accuracy.shape
    variables |= {
        name: np.broadcast_to(getattr(bins, name), shape) for name in ("mass", "accuracy", "confidence", "gap")
    }
    parameters = _parameters(evaluation)
    if parameters is not None:
        variables |= {"intercept": parameters.intercept, "slope": parameters.slope}
    return variables


def _parameters(evaluation: Any) -> Any:
    return evaluation.parameters if isinstance(evaluation.posterior, HasParameters) else None


def _curves(evaluation: Any) -> dict[str, Any]:
    reported = [each for each in registered().values() if each.reported and each.available(evaluation.counts)]
    return {each.name: (*each.coordinate, evaluation.draws(each).values) for each in reported if each.coordinate}


def _require_rows(counts: Counts, posterior: Any, n_draws: int) -> None:
    """Refuse rows whose outcomes have no probability of their own, and too many rows."""
    require_exact(posterior, "predictive")
    require_equal_rows(counts, "predictive")
    if counts.n_rows > MOST_ROWS:
        raise ValueError(
            f"`predictive` holds one log likelihood per draw and row, for at most {MOST_ROWS} rows; there are "
            f"{counts.n_rows}. `ev.loo()` is exact leave-one-out cross-validation for any number of rows."
        )
    if counts.n_rows * n_draws > MOST_VALUES:
        raise ValueError(
            f"`predictive` holds at most {MOST_VALUES} values; there are {counts.n_rows} rows and {n_draws} draws. "
            f"Evaluate with `draws={MOST_VALUES // counts.n_rows // 4 * 4}` or fewer."
        )


def _add_predictive(tree: "xr.DataTree", evaluation: Any, under_prior: Any, *, by_row: bool) -> None:
    """Add the predicted outcomes, the observed ones and the log likelihood of each row."""
    counts, seed = evaluation.counts, evaluation.bin_draws_seed
    at, outcome = cells_of_rows(counts)
    occupied = counts.n > 0
    rows = row_coordinates(counts)

    def predicted(bins: BinDraws, which: int) -> Array:
        rng = np.random.default_rng(np.random.SeedSequence((seed, PREDICTED, which)))
        if by_row:
            return (rng.random((len(bins), len(at))) < bins.accuracy[:, at]).astype(np.int8)
        n = counts.n[occupied]
        return np.asarray(rng.binomial(n, bins.accuracy[:, occupied]) / n)

    if by_row:
        name, dimension, coords, seen = "outcome", "row", rows, outcome.astype(np.int8)
    else:
        name, dimension, coords = "observed_share", "bin", {"bin": np.flatnonzero(occupied)}
        seen = counts.k[occupied] / counts.n[occupied]
    _arviz.add_draws(tree, "posterior_predictive", name, predicted(evaluation.bin_draws, 0), dimension, coords)
    if under_prior is not None:
        _arviz.add_draws(tree, "prior_predictive", name, predicted(under_prior.bin_draws, 1), dimension, coords)
    _arviz.add_values(tree, "observed_data", name, seen, dimension, coords)
    inside = np.clip(evaluation.bin_draws.accuracy, VALUE_FLOOR, 1 - VALUE_FLOOR)  # as in all likelihoods
    by_cell = np.log(np.stack([1 - inside, inside], axis=2))
    _arviz.add_draws(tree, "log_likelihood", "outcome", by_cell[:, at, outcome], "row", rows)
