"""What a closed form and its PyMC model both say of the bins, under the same names."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal._draws import BinDraws
from bayescal.estimands.errors import REPORTED, ece
from bayescal.posterior._prior import SUB_MODELS
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage import ShrinkagePosterior

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]

CALIBRATED = "P(exact calibration)"


def of_pymc(tree: "xr.DataTree", posterior: Posterior, thresholds: tuple[float, ...]) -> dict[str, Any]:
    """Draws of every quantity from the chains of the PyMC model, one chain after another.

    Parameters
    ----------
    tree : DataTree
        What `pymc.sample` returned.
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form, for what it was given.
    thresholds : tuple of float
        Where the distribution function of the ECE is asked for.

    Returns
    -------
    dict of str to ndarray, shape (n_draws,)
        ``ece``, ``P(ece <= 0.04)``, ``accuracy[14]``, ``P(off)[3]``, ...; events as booleans.
    """
    drawn = {name: np.concatenate(values.values) for name, values in tree.posterior.items()}
    labels = tree.posterior["bin"].values
    if isinstance(posterior, ShrinkagePosterior):
        shares = drawn.get("p_sub_model", np.empty((1, 0))).T
        if len(shares) > len(SUB_MODELS):
            return {CALIBRATED: shares[-1]}
        extra = _parameters_of_pymc(drawn, only_sub_model(posterior))
        extra |= {f"P({name})": share for name, share in zip(SUB_MODELS, shares, strict=False)}
        confidence, weight = posterior.confidence[None, labels], drawn["mass"]
    else:
        assert isinstance(posterior, DirichletPosterior)  # there is no mirror of others
        extra, confidence, weight = {}, drawn["confidence"], drawn["mass"]
        if posterior.formula == "original":
            weight = drawn["q"][:, 1] / drawn["q"][:, 1].sum(axis=-1, keepdims=True)
    occupied = posterior.counts.occupied[labels]
    bins = BinDraws(drawn["mass"], drawn["accuracy"], confidence, occupied | ~occupied.any(), weight)
    return _labelled({**_common(bins, drawn["ece"], thresholds), **extra}, labels)


def _parameters_of_pymc(drawn: Mapping[str, Any], only: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"off": drawn["off"] > 0} if _may_be_on_or_off(only) else {}
    if "sub_model" not in drawn:
        return found | {name: drawn[name] for name in ("intercept", "slope", "tau", "rho") if name in drawn}
    # under the average, a sub-model leaves what it does not use as the prior has it
    drift = np.array([drift for drift, _ in SUB_MODELS.values()])[drawn["sub_model"].astype(int)]
    return found | {
        "intercept": np.where(drift, drawn["intercept"], 0.0),
        "slope": np.where(drift, drawn["slope"], 1.0),
    }


def of_closed_form(
    posterior: Posterior, thresholds: tuple[float, ...], n_draws: int, *, rng: np.random.Generator
) -> dict[str, Any]:
    """Draws of every quantity from the closed form; probabilities that it knows exactly are single numbers.

    Parameters
    ----------
    posterior : DirichletPosterior or ShrinkagePosterior
        The closed form.
    thresholds : tuple of float
        As for `of_pymc`.
    n_draws : int
        Number of draws.
    rng : Generator
        Randomness.

    Returns
    -------
    dict of str to ndarray, shape (n_draws,) or (1,)
        As from `of_pymc`, and the probability of exact calibration.
    """
    if isinstance(posterior, DirichletPosterior):
        bins = posterior.sample(n_draws, rng=rng)
        return _labelled(_common(bins, ece(bins).values, thresholds), np.arange(len(posterior.counts.bins)))
    assert isinstance(posterior, ShrinkagePosterior)  # there is no mirror of others
    drawn = posterior.sample_all(n_draws, rng=rng)
    used = drawn.bins.mass.any(axis=0)
    fields = (drawn.bins.mass, drawn.bins.accuracy, drawn.bins.confidence, drawn.bins.weight)
    mass, accuracy, confidence, weight = (values[:, used] for values in fields)
    bins = BinDraws(mass, accuracy, confidence, drawn.bins.occupied[used], weight)
    only = only_sub_model(posterior)
    drift, residual = (True, None) if only is None else SUB_MODELS[only]
    extra: dict[str, Any] = {"off": drawn.off[:, used]} if _may_be_on_or_off(only) else {}
    if drift:
        extra |= {"intercept": drawn.intercept, "slope": drawn.slope}
    if residual in ("dense", "sparse"):
        extra |= {"tau": drawn.tau} if residual == "dense" else {"rho": drawn.rho}
    if only is None:
        extra |= {f"P({name})": np.array([p]) for name, p in posterior.probabilities.items()}
        extra |= {CALIBRATED: np.array([posterior.p_calibrated])}
    return _labelled({**_common(bins, ece(bins).values, thresholds), **extra}, np.flatnonzero(used))


def only_sub_model(posterior: ShrinkagePosterior) -> str | None:
    """The name of the sub-model, if the prior leaves just one."""
    left = [name for name, weight in zip(SUB_MODELS, posterior.prior_options.sub_model_weights, strict=True) if weight]
    return left[0] if len(left) == 1 else None


def _may_be_on_or_off(only: str | None) -> bool:
    return only is None or SUB_MODELS[only][1] == "sparse"


def is_probability(quantity: str) -> bool:
    """Whether a quantity is the probability of an event, which has no standard deviation of its own."""
    return quantity.startswith("P(")


def _common(bins: BinDraws, errors: Floats, thresholds: tuple[float, ...]) -> dict[str, Any]:
    """What all models have: the ECE with its distribution function, the other estimands, and the bins."""
    # where the confidences are data, a gap is an accuracy less a constant
    of_bins = ("mass", "accuracy", "confidence", "gap") if len(bins.confidence) > 1 else ("mass", "accuracy")
    return {
        "ece": errors,
        **{f"P(ece <= {t:.6g})": errors <= t for t in thresholds},
        **{name: estimand(bins).values for name, estimand in REPORTED.items() if name != "ece"},
        **{name: getattr(bins, name) for name in of_bins},
    }


def _labelled(quantities: Mapping[str, Any], labels: Any) -> dict[str, Any]:
    """One entry a number, those of bins with the bin's label."""
    found: dict[str, Any] = {}
    for name, values in quantities.items():
        if values.ndim == 1:
            found[name] = values
        else:
            said = "P(off)" if name == "off" else name
            found |= {f"{said}[{b}]": values[:, i] for i, b in enumerate(labels)}
    return found
