"""Quantities of the bins from a closed form and from its PyMC model, under the same names."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal._arrays import Floats, Generator, xr
from bayescal.draws import BinDraws
from bayescal.estimands.errors import ece, largest_error
from bayescal.estimands.registry import registered
from bayescal.posterior.contract import Posterior
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import ENDS, EXACT, SATURATED, SMALL, SUB_MODELS
from bayescal.posterior.shrinkage.saturated import is_saturated
from bayescal.verify.named import below

#: The posterior probability of exact calibration at its prior odds, which differs from its share of the draws.
CALIBRATED = "p_calibrated"
#: Estimands that `registered` adds, but whose rows come from other functions: the closed form has exact moments of the
#: ECE; the largest gap of all bins also compares bins that are too rare for `e90_bins`.
COMPARED_OTHERWISE = ("ece", "e90_bins")
#: Sub-models with drift, sub-models in which a bin may or may not be off, and parameters of each sub-model.
DRIFTING = tuple(name for name, (drift, _) in SUB_MODELS.items() if drift)
ON_OR_OFF = (*(name for name, (_, residual) in SUB_MODELS.items() if residual == "sparse"), "runs", "offset")
RESIDUAL_PARAMETERS = {"none": (), "dense": ("tau",), "sparse": ("rho",)}
PARAMETERS_OF: dict[str, tuple[str, ...]] = {
    **{name: ("intercept", "slope") * drift + RESIDUAL_PARAMETERS[of] for name, (drift, of) in SUB_MODELS.items()},
    "runs": (),
    "offset": ("amount", "rho"),
    SMALL: ("intercept", "slope", "tau"),
    "label_noise": ("noise",),
    "label_noise_any_rate": ("noise", "noise_rate"),
    ENDS: (),
    EXACT: (),
}


def of_pymc(
    tree: "xr.DataTree", posterior: Posterior, thresholds: tuple[float, ...], *, with_calibrated: bool = False
) -> dict[str, Any]:
    """Compute every quantity from draws of the PyMC model, one chain after another, shape (n_draws,).

    They are ``ece``, ``P(ece <= 0.04)`` for the thresholds, ``accuracy[14]``, ``P(off)[3]``, ...; events are booleans.
    If `with_calibrated`, return the probability of exact calibration only; see `agreement`.
    """
    variables = {name: np.concatenate(values.values) for name, values in tree.posterior.items()}
    labels = tree.posterior["bin"].values
    if isinstance(posterior, ShrinkagePosterior):
        shares = {}
        if "p_sub_model" in variables:
            shares = dict(zip(tree.posterior["hypothesis"].values, variables["p_sub_model"].T, strict=True))
        if with_calibrated:
            return {CALIBRATED: shares[EXACT]}
        extra = _parameters_of_pymc(variables, posterior)
        extra |= {probability_of(name): share for name, share in shares.items()}
        confidence, weight = posterior.confidence[None, labels], variables["mass"]
    else:
        assert isinstance(posterior, DirichletPosterior)  # others have no PyMC model
        extra, confidence, weight = {}, variables["confidence"], variables["mass"]
        if posterior.formula == "original":
            weight = variables["q"][:, 1] / variables["q"][:, 1].sum(axis=-1, keepdims=True)
    occupied = posterior.counts.occupied[labels]
    bins = BinDraws(variables["mass"], variables["accuracy"], confidence, occupied | ~occupied.any(), weight)
    return _labelled({**_common(bins, variables["ece"], thresholds), **extra}, labels)


def _parameters_of_pymc(variables: Mapping[str, Any], posterior: ShrinkagePosterior) -> dict[str, Any]:
    names = sub_models_of(posterior)
    off: dict[str, Any] = {"off": variables["off"] > 0} if _may_be_on_or_off(posterior) else {}
    if len(names) == 1:
        return off | {name: variables[name] for name in PARAMETERS_OF[names[0]]}
    if not set(names) & {*DRIFTING, SMALL}:
        return off
    # under the average, parameters that a sub-model does not use are drawn from their prior
    chosen = np.array(names)[variables["sub_model"].astype(int)]
    intercept, slope = np.zeros(len(chosen)), np.ones(len(chosen))
    for of, prefix in ((DRIFTING, ""), ((SMALL,), "small_")):
        which = np.isin(chosen, of)
        if which.any():
            intercept[which] = variables[f"{prefix}intercept"][which]
            slope[which] = np.exp(variables[f"{prefix}log_slope"][which])
    return off | {"intercept": intercept, "slope": slope}


def of_closed_form(
    posterior: Posterior, thresholds: tuple[float, ...], n_draws: int, *, rng: Generator
) -> dict[str, Any]:
    """Compute the quantities of `of_pymc` from draws of the closed form, and the probability of exact calibration."""
    if isinstance(posterior, DirichletPosterior):
        bins = posterior.sample(n_draws, rng=rng)
        return _labelled(_common(bins, ece(bins).values, thresholds), np.arange(len(posterior.counts.bins)))
    assert isinstance(posterior, ShrinkagePosterior)  # others have no PyMC model
    draws = posterior.sample_all(n_draws, rng=rng)
    used = draws.bin_draws.mass.any(axis=0)
    fields = (draws.bin_draws.mass, draws.bin_draws.accuracy, draws.bin_draws.confidence, draws.bin_draws.weight)
    mass, accuracy, confidence, weight = (values[:, used] for values in fields)
    bins = BinDraws(mass, accuracy, confidence, draws.bin_draws.occupied[used], weight)
    names = sub_models_of(posterior)
    extra: dict[str, Any] = {"off": draws.off[:, used]} if _may_be_on_or_off(posterior) else {}
    if len(names) == 1:
        extra |= {name: getattr(draws, name) for name in PARAMETERS_OF[names[0]]}
    else:
        if set(names) & {*DRIFTING, SMALL}:
            extra |= {"intercept": draws.intercept, "slope": draws.slope}
        extra |= {probability_of(name): np.array([posterior.probabilities[name]]) for name in names}
        extra |= {CALIBRATED: np.array([posterior.p_calibrated])}
    return _labelled({**_common(bins, ece(bins).values, thresholds), **extra}, np.flatnonzero(used))


def sub_models_of(posterior: ShrinkagePosterior) -> list[str]:
    """List the keys of the sub-models that take part in a posterior with a weight above 0."""
    if all_saturated(posterior):
        return [EXACT]
    return [name for weights in posterior.taking_part.families.values() for name in weights]


def all_saturated(posterior: ShrinkagePosterior) -> bool:
    """Whether every bin with rows has the model of saturated bins."""
    used = posterior.counts.occupied
    apart = SATURATED in posterior.prior_options.sub_models
    return bool(apart and used.any() and is_saturated(posterior.confidence[used]).all())


def _may_be_on_or_off(posterior: ShrinkagePosterior) -> bool:
    """Whether some sub-model has bins that may or may not be off, so that this can be compared."""
    some_saturated = SATURATED in posterior.prior_options.sub_models and is_saturated(posterior.confidence).any()
    return bool(some_saturated or set(sub_models_of(posterior)) & set(ON_OR_OFF))


def probability_of(sub_model: str) -> str:
    """Name of the probability of a sub-model, as in "P(logistic)"."""
    return f"P({sub_model})"


def is_probability(quantity: str) -> bool:
    """Whether a quantity is the probability of an event, which has no standard deviation of its own."""
    return quantity.startswith("P(") or quantity == CALIBRATED


def _common(bins: BinDraws, errors: Floats, thresholds: tuple[float, ...]) -> dict[str, Any]:
    """Quantities of all models: the ECE with its distribution function, the other estimands, and the bins."""
    # with fixed confidences a gap is an accuracy less a constant, and adds nothing
    of_bins = ("mass", "accuracy", "confidence", "gap") if len(bins.confidence) > 1 else ("mass", "accuracy")
    others = {
        key: np.asarray(each.function(bins))
        for key, each in registered().items()
        if key not in COMPARED_OTHERWISE and each.reported and not each.needs and each.coordinate is None
    }
    first = {"ece": errors, **below("ece", errors, thresholds), **others, "largest_gap": largest_error(bins).values}
    return first | {name: getattr(bins, name) for name in of_bins}


def _labelled(quantities: Mapping[str, Any], labels: Any) -> dict[str, Any]:
    """One entry per number; quantities of bins get the label of the bin."""
    single: dict[str, Any] = {}
    for name, values in quantities.items():
        if values.ndim == 1:
            single[name] = values
        else:
            shown = "P(off)" if name == "off" else name
            single |= {f"{shown}[{b}]": values[:, i] for i, b in enumerate(labels)}
    return single
