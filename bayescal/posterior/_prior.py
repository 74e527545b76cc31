"""Constants of the shrinkage prior, and the names of its sub-models."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks

Floats = NDArray[np.float64]

#: Name of each sub-model: whether intercept and slope are free, and how bins deviate from that drift.
SUB_MODELS = {
    "smooth drift": (True, "none"),
    "many bins off": (False, "dense"),
    "a few bins off": (False, "sparse"),
    "smooth drift, many bins off": (True, "dense"),
    "smooth drift, a few bins off": (True, "sparse"),
}
#: Below this, tau^(c-1) piles up where a bin that is off cannot be told from one that is not.
LEAST_SHAPE = 0.05


@dataclass(frozen=True)
class ShrinkagePrior:
    """Constants of the shrinkage prior; see `shrinkage_posterior` for what each implies.

    Parameters
    ----------
    intercept_sd, log_slope_sd : float
        Prior standard deviations of the drift's intercept and log slope.
    dense_scale : float
        Scale of the half-Normal tau of a dense residual.
    sparse_shape : float
        Power c of the density c tau^(c-1) of a bin's tau under a sparse residual.
    rho : tuple of float
        Equally probable shares of bins that are off under a sparse residual.
    sub_model_weights : tuple of float
        Prior weights of the five sub-models, in the order of `ShrinkagePosterior.probabilities`.
    prior_odds : float
        Of exact calibration against the five.
    mass_alpha : float or None
        Dirichlet parameter of each bin's mass; None is 2 / M.
    """

    intercept_sd: float = 0.5
    log_slope_sd: float = 0.5
    dense_scale: float = 0.2
    sparse_shape: float = 0.5
    rho: tuple[float, ...] = (0.05, 0.15, 0.3, 0.5)
    sub_model_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    prior_odds: float = 1.0
    mass_alpha: float | None = None

    def __str__(self) -> str:
        changed = [f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"prior with {', '.join(changed)}" if changed else ""

    @property
    def log_weights(self) -> Floats:
        """Log prior probabilities of the sub-models."""
        weights = np.array(self.sub_model_weights)
        with np.errstate(divide="ignore"):  # a weight of 0 leaves a sub-model out
            return np.log(weights / weights.sum())


def make_prior(
    *, rho: float | Sequence[float], sub_model_weights: Sequence[float], mass_alpha: float | None, **scales: float
) -> ShrinkagePrior:
    """Check the options of `shrinkage_posterior`."""
    shares = np.atleast_1d(np.asarray(rho, dtype=object))
    if not len(shares):
        raise ValueError("`rho` must hold at least one number.")
    checked = {name: float(_checks.positive(name, value, ())) for name, value in scales.items()}
    if checked["sparse_shape"] < LEAST_SHAPE:
        raise ValueError(f"`sparse_shape` must be at least {LEAST_SHAPE:g}, not {checked['sparse_shape']:g}.")
    return ShrinkagePrior(
        **checked,
        rho=tuple(_checks.fraction("rho", value) for value in shares),
        sub_model_weights=_five_weights(sub_model_weights),
        mass_alpha=None if mass_alpha is None else float(_checks.positive("mass_alpha", mass_alpha, ())),
    )


def _five_weights(weights: Sequence[float]) -> tuple[float, ...]:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(SUB_MODELS),):
        raise ValueError(
            f"`sub_model_weights` must be five numbers, one for each of {list(SUB_MODELS)}, not {weights!r}."
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        _checks.refuse("sub_model_weights", "must be finite and >= 0", bad, values)
    if not values.any():
        raise ValueError("`sub_model_weights` must not all be 0.")
    return tuple(values.tolist())
