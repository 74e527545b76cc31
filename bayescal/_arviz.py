"""Draws -> ArviZ: the only place where draws get a chain dimension, and where tables come from `arviz.summary`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def chains(values: Any) -> np.ndarray:
    """Draws (n_draws, ...) -> (chain, draw, ...): four chains where they divide the draws, else one.

    The draws are independent, so any split is as good as any other.
    """
    values = np.asarray(values)
    n_chains = 4 if len(values) % 4 == 0 else 1
    return values.reshape(n_chains, -1, *values.shape[1:])


def datatree(
    posterior: Mapping[str, Any],
    *,
    observed: Mapping[str, Any],
    constant: Mapping[str, Any],
    bin_coords: Mapping[str, Any],
    attrs: Mapping[str, Any],
) -> "xr.DataTree":
    """Build an ArviZ DataTree with a `bin` dimension.

    Parameters
    ----------
    posterior : mapping of str to array
        Draws of shape (n_draws,) or (n_draws, n_bins).
    observed, constant : mapping of str to array, shape (n_bins,)
        What was counted, and what was given.
    bin_coords : mapping of str to array, shape (n_bins,)
        Coordinates along `bin`, attached to every group.
    attrs : mapping
        Attributes of the root.

    Returns
    -------
    xarray.DataTree
        Groups posterior, observed_data and constant_data; netCDF keeps all of it.
    """
    import arviz as az

    draws = {name: chains(values) for name, values in posterior.items()}
    per_bin = [name for name, values in draws.items() if values.ndim == 3] + [*observed, *constant]
    size = len(next(iter(bin_coords.values())))
    tree = az.from_dict(
        {"posterior": draws, "observed_data": dict(observed), "constant_data": dict(constant)},
        dims={name: ["bin"] for name in per_bin},
        coords={"bin": np.arange(size)},
    )
    for group in list(tree.children):
        tree[group] = (
            tree[group]
            .to_dataset()
            .assign_coords({name: ("bin", np.asarray(values)) for name, values in bin_coords.items()})
        )
    tree.attrs.update(attrs)
    return tree


def summary(posterior: Mapping[str, Any], prob: float, **options: Any) -> "pd.DataFrame":
    """Summarise scalar draws with `arviz.summary`: one row a quantity, equal-tailed intervals by default."""
    import arviz as az

    tree = az.from_dict({"posterior": {name: chains(values) for name, values in posterior.items()}})
    return az.summary(tree, **{"ci_prob": prob, "ci_kind": "eti", **options})
