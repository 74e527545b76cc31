"""The shrinkage prior: its constants, names of sub-models, and their probabilities given marginal likelihoods."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats, Generator, Indices

Families = Mapping[str, Mapping[str, float]]  #: Prior weights of sub-models by family.
Evidence = Mapping[str, float]  #: Log marginal likelihoods of sub-models.
Pool = Collection[str]  #: Families of the pool.

#: Sub-models of independent bins: whether the sub-model has a drift, and its kind of residual.
SUB_MODELS = {
    "logistic": (True, "none"), "dense": (False, "dense"), "sparse": (False, "sparse"),
    "logistic_dense": (True, "dense"), "logistic_sparse": (True, "sparse"),
}  # fmt: skip
#: Keys of the families of sub-models.
INDEPENDENT, SHARED, SMALL, NOISE, EXACT = "independent", "shared", "small_errors", "noise", "exact"
#: Label noise at the ends: takes part only if the first or the last bin is crowded near 0 or 1, see `crowded_ends`.
ENDS = "label_noise_ends"
#: Prior weights of the sub-models by family; those of independent bins can be changed by an option.
FAMILIES: dict[str, dict[str, float]] = {
    INDEPENDENT: dict.fromkeys(SUB_MODELS, 1.0),
    SHARED: {"runs": 1.0, "offset": 0.5},
    SMALL: {SMALL: 1.0},
    NOISE: {"label_noise": 0.5, "label_noise_any_rate": 0.5, ENDS: 0.5},
    EXACT: {EXACT: 0.25},
}
#: Families that form a linear pool, in which each has the same share regardless of its marginal likelihood; the share
#: of small errors fades if the data refute them, see `pool_shares`. POOL_WEIGHT is the prior weight of the pool.
POOLED, POOL_WEIGHT = (INDEPENDENT, SHARED, SMALL), 10.0
#: Prior scales of the sub-model of small errors, which is otherwise "logistic_dense".
SMALL_SCALES = {"intercept_sd": 0.2, "log_slope_sd": 0.2, "dense_scale": 0.1}
#: With this option of `sub_models`, bins whose confidences are close to 0 or 1 have a separate model.
SATURATED = "saturated"
NAMES = tuple(name for family in FAMILIES.values() for name in family)
#: Descriptions of families and sub-models, for use within sentences.
WORDS = {
    "logistic": "smooth drift",
    "dense": "errors in many bins",
    "sparse": "errors in a few bins",
    "logistic_dense": "smooth drift plus errors in many bins",
    "logistic_sparse": "smooth drift plus errors in a few bins",
    "runs": "errors in runs of neighbouring bins",
    "offset": "errors of equal size",
    "small_errors": "small errors in all bins",
    "label_noise": "label noise",
    "label_noise_any_rate": "label noise with unknown outcome rate",
    "label_noise_ends": "label noise at extreme confidences",
    "independent": "independent bins",
    "shared": "shared errors",
    "noise": "noisy labels",
    "exact": "exact calibration",
    "saturated": "saturated bins",
}
#: Smallest `sparse_shape` c: below it, most of the density c tau^(c - 1) is at deviations too small to distinguish from
#: none.
LEAST_SHAPE = 0.05
#: The share of small errors in the pool is multiplied by exp(-FADE (d - TOLERATED)) if the log marginal likelihood of
#: another family is larger by d > TOLERATED.
FADE, TOLERATED = 0.5, 8.0


@dataclass(frozen=True)
class ShrinkagePrior:
    """Constants of the shrinkage prior; `shrinkage_posterior` describes them and their implications."""

    intercept_sd: float = 0.5  #: Prior standard deviation of the drift's intercept.
    log_slope_sd: float = 0.5  #: Prior standard deviation of its log slope.
    dense_scale: float = 0.2  #: Scale of the half-Normal prior of tau under a dense residual.
    #: Shape c of the prior density c tau^(c - 1) under a sparse residual, where each bin that is off has its own tau.
    sparse_shape: float = 0.5
    #: Equally probable values of the probability that a bin is off under a sparse residual.
    rho: tuple[float, ...] = (0.05, 0.15, 0.3, 0.5)
    #: Prior weights of the five sub-models of independent bins, in the order of `SUB_MODELS`.
    sub_model_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0, 1.0)
    prior_odds: float = 1.0  #: Prior odds of exact calibration against all other sub-models.
    mass_alpha: float | None = None  #: Dirichlet parameter of each bin mass; None means 2 / M.
    sub_models: tuple[str, ...] = (*NAMES, SATURATED)  #: Names of the sub-models that take part.
    #: Whether the families of `POOLED` form a linear pool; otherwise sub-models are averaged by marginal likelihood.
    pool: bool = True

    def __str__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        if "sub_models" in shown:  # the name of a complete family replaces its sub-models
            whole = [family for family, of in FAMILIES.items() if set(of) <= set(self.sub_models)]
            others = (n for n in self.sub_models if not any(n in FAMILIES[family] for family in whole))
            shown["sub_models"] = [*whole, *others]
        return f"prior with {', '.join(f'{name}={value}' for name, value in shown.items())}" if shown else ""

    def without_ends(self) -> "ShrinkagePrior":
        """Return the prior without label noise at extreme confidences, or unchanged if there is no other sub-model."""
        others = replace(self, sub_models=tuple(name for name in self.sub_models if name != ENDS))
        return others if others.families else self

    @property
    def log_weights(self) -> Floats:
        """Log prior probabilities of the sub-models of independent bins within that family."""
        weights = np.array(self.sub_model_weights)
        with np.errstate(divide="ignore"):  # a weight of 0 leaves a sub-model out
            return np.log(weights / weights.sum())

    @property
    def families(self) -> dict[str, dict[str, float]]:
        """Prior weights of the sub-models that take part, by family; a weight of 0 leaves a sub-model out."""
        weights = FAMILIES | {INDEPENDENT: dict(zip(SUB_MODELS, self.sub_model_weights, strict=True))}
        part = {f: {n: w for n, w in of.items() if w and n in self.sub_models} for f, of in weights.items()}
        return {family: of for family, of in part.items() if of}

    @property
    def of_small_errors(self) -> "ShrinkagePrior":
        """The prior of the sub-model of small errors, as that of "logistic_dense"."""
        return replace(self, **SMALL_SCALES, sub_models=("logistic_dense",))  # type: ignore[arg-type]  # names of scales

    @property
    def pooled(self) -> tuple[str, ...]:
        """Families of the pool."""
        return POOLED if self.pool else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Sub-models of the families that take part, in order; includes those of them that have weight 0."""
        return tuple(n for f in self.families for n in FAMILIES[f] if n in self.sub_models)


def make_prior(
    *,
    rho: float | Sequence[float],
    sub_model_weights: Sequence[float],
    mass_alpha: float | None,
    sub_models: Sequence[str] | None,
    pool: bool,
    **scales: float,
) -> ShrinkagePrior:
    """Check the options of `shrinkage_posterior`."""
    _checks.one_of("pool", pool, [True, False])
    shares = np.atleast_1d(np.asarray(rho, dtype=object))
    if not len(shares):
        raise ValueError("`rho` must hold at least one number.")
    checked = {name: float(_checks.positive(name, value, ())) for name, value in scales.items()}
    if checked["sparse_shape"] < LEAST_SHAPE:
        raise ValueError(f"`sparse_shape` must be at least {LEAST_SHAPE:g}, not {checked['sparse_shape']:g}.")
    prior = ShrinkagePrior(
        **checked,
        rho=tuple(_checks.fraction("rho", value) for value in shares),
        sub_model_weights=_five_weights(sub_model_weights),
        mass_alpha=None if mass_alpha is None else float(_checks.positive("mass_alpha", mass_alpha, ())),
        sub_models=_named_sub_models(sub_models),
        pool=bool(pool),
    )
    if not prior.families:
        raise ValueError(
            "`sub_models` and `sub_model_weights` must leave at least one sub-model with a weight > 0; "
            f"{SATURATED!r} does not count, because it describes only bins with confidences close to 0 or 1."
        )
    return prior


def _named_sub_models(sub_models: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of sub-models, with the name of a family replaced by those of its sub-models."""
    everything = (*NAMES, SATURATED)
    if sub_models is None:
        return everything
    if not isinstance(sub_models, Iterable):
        raise TypeError(f"`sub_models` must be a name or a list of names, not {sub_models!r}.")
    names = [sub_models] if isinstance(sub_models, str) else list(sub_models)
    for name in names:
        _checks.one_of("sub_models", name, list(dict.fromkeys([*FAMILIES, *everything])))
    chosen = {n for name in names for n in FAMILIES.get(name, {name: 1.0})}
    return tuple(name for name in everything if name in chosen)


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


def posterior_probabilities(families: Families, evidence: Evidence, pooled: Pool = POOLED) -> dict[str, float]:
    """Compute the posterior probability of each sub-model, from prior weights by family and log marginal likelihoods.

    The families in `pooled` have the shares of the pool that `pool_shares` returns; the marginal likelihood of the pool
    is the average over its families, weighted by these shares. Giving families fixed shares regardless of their
    marginal likelihoods is a linear opinion pool: Stone (1961), "The opinion pool", Annals of Mathematical Statistics
    32, 1339-1342. Other sub-models are averaged by their marginal likelihoods.
    """
    inside, joint = _joint(families, evidence, pooled)
    total = np.logaddexp.reduce(list(joint.values()))
    return {name: float(np.exp(joint[family] - total)) * p for family, of in inside.items() for name, p in of.items()}


def log_average(families: Families, evidence: Evidence, pooled: Pool = POOLED) -> float:
    """Compute the log marginal likelihood of the average over sub-models, from those of the sub-models."""
    _, joint = _joint(families, evidence, pooled)
    weights = [sum(of.values()) for family, of in families.items() if family not in pooled]
    total = sum(weights) + (POOL_WEIGHT if any(family in pooled for family in families) else 0.0)
    return float(np.logaddexp.reduce(list(joint.values())) - np.log(total))


def _joint(families: Families, evidence: Evidence, pooled: Pool) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Return the probabilities within each family, and log prior weight times marginal likelihood of each family."""
    inside, joint = {}, {}
    for family, weights in families.items():
        each = np.array([evidence[name] for name in weights]) + np.log(list(weights.values()))
        total = np.logaddexp.reduce(each)
        inside[family] = dict(zip(weights, np.exp(each - total).tolist(), strict=True))
        joint[family] = total - np.log(sum(weights.values())) if family in pooled else total
    pool = [family for family in pooled if family in joint]
    if pool:
        shares = pool_shares({family: joint[family] for family in pool})
        average = np.logaddexp.reduce([joint[family] + share for family, share in shares.items()])
        joint |= {family: np.log(POOL_WEIGHT) + average + share for family, share in shares.items()}
    return inside, joint


def pool_shares(log_evidence: Mapping[str, float]) -> dict[str, float]:
    """Compute the log share of each family in the pool, from log marginal likelihoods.

    Shares are equal unless the data refute small errors: if the log marginal likelihood of another family is d > 8
    larger, the share of small errors is multiplied by exp(-(d - 8) / 2), and the others divide the rest equally.
    """
    others = [value for family, value in log_evidence.items() if family != SMALL]
    equal = -np.log(len(log_evidence))
    if not others or SMALL not in log_evidence:
        return dict.fromkeys(log_evidence, equal)
    small = equal - FADE * max(max(others) - log_evidence[SMALL] - TOLERATED, 0.0)
    rest = np.log1p(-np.exp(small)) - np.log(len(others))
    return {family: small if family == SMALL else rest for family in log_evidence}


def alternatives(families: Families, pooled: Collection[str] = POOLED) -> dict[str, float]:
    """Compute the prior probabilities of all sub-models except exact calibration, given that it does not hold."""
    others = {family: of for family, of in families.items() if family != EXACT}
    even = {name: 0.0 for of in others.values() for name in of}
    return posterior_probabilities(others, even, pooled) if others else {}


def allot(probability: Floats, n_draws: int, rng: Generator) -> Indices:
    """Assign a sub-model to each draw, sorted; each sub-model gets ``n_draws * probability`` draws to within one."""
    edges = np.cumsum(probability)
    return np.searchsorted(edges / edges[-1], (np.arange(n_draws) + rng.random()) / n_draws, side="right")
