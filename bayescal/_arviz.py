"""Draws -> ArviZ: data trees and summary tables. Only this file gives draws a chain dimension."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import pd, xr

ROUNDING = 1e-14  #: Largest difference of two draws that is rounding.


def chains(values: Any) -> np.ndarray:
    """Reshape draws (n_draws, ...) to (chain, draw, ...): four chains if n_draws is divisible by 4, otherwise one."""
    values = np.asarray(values)
    n_chains = 4 if len(values) % 4 == 0 else 1  # the draws are independent, so every split into chains is valid
    return values.reshape(n_chains, -1, *values.shape[1:])


def datatree(
    posterior: Mapping[str, Any],
    *,
    observed: Mapping[str, Any],
    constant: Mapping[str, Any],
    along: str,
    coords: Mapping[str, Any],
    attrs: Mapping[str, Any],
    sample_stats: Mapping[str, Any] | None = None,
    curves: Mapping[str, tuple[str, Sequence[float], Any]] | None = None,
    kept: Any = None,
    prior: Mapping[str, Any] | None = None,
) -> "xr.DataTree":
    """Build an ArviZ DataTree of scalars, vectors along the dimension `along`, and curves along their own dimensions.

    `posterior` and `prior` have draws of shape (n_draws,) or (n_draws, size), of which `kept` marks elements to keep;
    `observed`, `constant` and `coords` have shape (size,). Coordinates besides that of the dimension are in observed
    and constant data only: `arviz.summary` fails if some variables have more coordinates than others. `sample_stats`
    are values per draw that are no parameters. `curves` hold the name of their dimension, its coordinate, and draws of
    shape (n_draws, n_points). Quantities that are equal in all draws are constant data, for which tables of draws fail.
    """
    _packages.require("arviz")
    import arviz as az

    labels, curves = np.asarray(coords[along]), curves or {}
    kept = np.ones(len(labels), bool) if kept is None else kept
    draws = {name: _kept(values, kept) for name, values in posterior.items()}
    fixed = [name for name, values in draws.items() if _equal(values)]
    varying = {name: values for name, values in draws.items() if name not in fixed}
    groups = {"posterior": varying | {name: np.asarray(values) for name, (_, _, values) in curves.items()}}
    if prior is not None:
        groups["prior"] = {name: _kept(prior[name], kept) for name in varying if name in prior}
    if sample_stats:
        groups["sample_stats"] = dict(sample_stats)
    dims = {name: [along] for name, values in varying.items() if values.ndim == 2}
    tree = az.from_dict(
        {group: {name: chains(values) for name, values in of.items()} for group, of in groups.items()},
        dims=dims | {name: [of] for name, (of, _, _) in curves.items()},
        coords={along: labels[kept]} | {of: list(at) for of, at, _ in curves.values()},
    )
    once = {name: np.asarray(posterior[name])[0] for name in fixed}
    data = {"observed_data": dict(observed), "constant_data": {**constant, **once}}
    vectors = [name for of in data.values() for name, values in of.items() if np.ndim(values)]
    beside = {name: (along, np.asarray(values)) for name, values in coords.items() if name != along}
    whole = az.from_dict(data, dims={name: [along] for name in vectors}, coords={along: labels})
    for group in data:
        tree[group] = whole[group].to_dataset().assign_coords(beside)
    tree.attrs.update(attrs)
    return tree


def add_draws(tree: "xr.DataTree", group: str, name: str, draws: Any, along: str, coords: Mapping[str, Any]) -> None:
    """Add a group of one quantity, with draws of shape (n_draws, size) along a dimension."""
    values = chains(draws)
    every = {"chain": np.arange(values.shape[0]), "draw": np.arange(values.shape[1]), **coords}
    add_values(tree, group, name, values, ("chain", "draw", along), every)


def add_values(tree: "xr.DataTree", group: str, name: str, values: Any, along: Any, coords: Mapping[str, Any]) -> None:
    """Replace a group by one quantity without draws, along a dimension or several."""
    import xarray as xr

    tree[group] = xr.Dataset({name: (along, np.asarray(values))}, coords)


def _equal(values: np.ndarray) -> bool:
    """Return whether all draws are equal up to rounding; NaN is no value."""
    return bool(((np.abs(values - values[:1]) <= ROUNDING) | (values != values)).all())


def _kept(values: Any, kept: np.ndarray) -> np.ndarray:
    """Return draws as an array; of vectors, the elements that are kept."""
    array = np.asarray(values)
    return array[:, kept] if array.ndim == 2 else array


def tree_of_arrays(
    posterior: Mapping[str, tuple[Any, Sequence[str]]],
    *,
    observed: Mapping[str, tuple[Any, Sequence[str]]],
    coords: Mapping[str, Sequence[Any]],
    attrs: Mapping[str, Any],
) -> "xr.DataTree":
    """Build an ArviZ DataTree, with groups posterior and observed_data, of arrays along any dimensions."""
    _packages.require("arviz")
    import arviz as az

    tree = az.from_dict(
        {
            "posterior": {name: chains(values) for name, (values, _) in posterior.items()},
            "observed_data": {name: np.asarray(values) for name, (values, _) in observed.items()},
        },
        dims={name: list(axes) for name, (_, axes) in {**posterior, **observed}.items()},
        coords={name: list(labels) for name, labels in coords.items()},
    )
    tree.attrs.update(attrs)
    return tree


def summary(
    posterior: Mapping[str, Any], prob: float, labels: Mapping[str, Sequence[Any]] | None = None, **options: Any
) -> "pd.DataFrame":
    """Summarise draws, (n_draws,) or, with labels, (n_draws, n_labels): a row per quantity, equal-tailed intervals."""
    _packages.require("arviz")
    import arviz as az

    labels = labels or {}
    tree = az.from_dict(
        {"posterior": {name: chains(values) for name, values in posterior.items()}},
        dims={name: [f"{name}_label"] for name in labels},
        coords={f"{name}_label": list(values) for name, values in labels.items()},
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # the effective size of constant draws is 0 / 0
        return az.summary(tree, **{"ci_prob": prob, "ci_kind": "eti", **options})
