"""Truths from each sub-model of the shrinkage prior, implemented independently of the samplers under test.

No code is shared with them: Betas come from gammas on a logarithmic scale, and tau from its density by inversion or
rejection, without a grid.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayescal.posterior.shrinkage.prior import ENDS, EXACT, SMALL, SUB_MODELS, ShrinkagePrior

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Distance from 0 and 1 that the prior keeps mean confidences at, and at which it limits the leverage of the slope.
FLOOR, LEVERAGE_FLOOR = 1e-9, 1e-4
#: Runs of bins off: expected numbers of changes, largest probability of one, probability of being off, largest scale.
CHANGES, LARGEST_RATE, SEGMENT_OFF, LARGEST_SCALE = (1.0, 4.0, 16.0), 0.9, 0.5, 2.5
#: Largest logit from which bins in runs are shifted.
FARTHEST_ORIGIN = 9.21
#: Bins off by one amount: range of the amount, shares of bins that are off.
AMOUNTS, AMOUNT_RHO = (1e-4, 0.7), (0.25, 0.5, 1.0)
#: Small errors: standard deviations of intercept and log slope, scale of tau.
SMALL_DRIFT_SD, SMALL_TAU_SCALE = 0.2, 0.1
#: Label noise: its share is this times the square of a Uniform.
LARGEST_NOISE = 1.25
#: Label noise at the ends: how near to 0 or 1 mean confidences are, in widths of the bin; Beta of the share.
CROWDED_WITHIN, SHARE_AT_ENDS = 0.1, (0.5, 10.0)
#: Saturated bins: how near to 0 or 1 their mean confidence is; the share of contrary outcomes has the first Beta with
#: the given probability, otherwise the second.
SATURATED_WITHIN, FIRST_BETA, CONTRARY = 1e-4, 0.2, ((0.5, 10.0), (1.0, 1.0))


@dataclass(frozen=True, eq=False)
class Truth:
    """Truths of several data sets under one sub-model.

    Parameters
    ----------
    accuracy : ndarray, shape (n_sets, n_bins)
        Accuracies.
    off : ndarray of bool, shape (n_sets, n_bins)
        Whether each bin is off, as in `ShrinkageDraws.off`.
    exact : ndarray of bool, shape (n_sets, n_bins)
        Whether the accuracy equals the mean confidence to the last bit.
    parameters : mapping of str to ndarray, shape (n_sets,)
        Parameters of the sub-model.
    """

    accuracy: Floats
    off: Bools
    exact: Bools
    parameters: Mapping[str, Floats] = field(default_factory=dict)


def truth_of(
    name: str, confidence: Floats, described: Bools, crowded: Bools, prior: ShrinkagePrior, rng: np.random.Generator
) -> Truth:
    """Draw accuracies from the prior of a sub-model.

    Parameters
    ----------
    name : str
        Key of the sub-model.
    confidence : ndarray, shape (n_sets, n_bins)
        Mean confidences.
    described : ndarray of bool, shape (n_sets, n_bins)
        Whether the sub-model describes the bin: it has rows and is not saturated.
    crowded : ndarray of bool, shape (n_sets, n_bins)
        Whether a described bin is the first or the last one and crowded at 0 or 1.
    prior : ShrinkagePrior
        Constants of the prior.
    rng : Generator
        Randomness.

    Returns
    -------
    Truth
        Bins that are not described are not off, and their accuracies are arbitrary.
    """
    others: dict[str, Callable[[], Truth]] = {
        "runs": lambda: _runs(confidence, described, rng),
        "offset": lambda: _one_amount(confidence, described, rng),
        "label_noise": lambda: _noise(confidence, np.full(len(confidence), 0.5), rng),
        "label_noise_any_rate": lambda: _noise(confidence, rng.random(len(confidence)), rng),
        ENDS: lambda: _noise_at_ends(confidence, crowded, rng),
        SMALL: lambda: _independent(
            "logistic_dense",
            confidence,
            described,
            replace(prior, intercept_sd=SMALL_DRIFT_SD, log_slope_sd=SMALL_DRIFT_SD, dense_scale=SMALL_TAU_SCALE),
            rng,
        ),
        EXACT: lambda: Truth(confidence, np.zeros_like(described), np.ones_like(described)),
    }
    return _independent(name, confidence, described, prior, rng) if name in SUB_MODELS else others[name]()


def is_saturated(confidence: Floats) -> Bools:
    """Whether each mean confidence is within 1e-4 of 0 or 1."""
    within = SATURATED_WITHIN * (1 + 1e-9)  # 1 - 0.9999 is rounded
    return (confidence < within) | (1 - confidence < within)


def saturated_accuracies(confidence: Floats, rng: np.random.Generator) -> Floats:
    """Draw accuracies of saturated bins, for all bins, given that they are not all as stated."""
    few, any_share = (rng.beta(*each, confidence.shape) for each in CONTRARY)
    contrary = np.where(rng.random(confidence.shape) < FIRST_BETA, few, any_share)
    return np.where(confidence > 0.5, 1 - contrary, contrary)


def _independent(
    name: str, confidence: Floats, described: Bools, prior: ShrinkagePrior, rng: np.random.Generator
) -> Truth:
    (drift, residual), n_sets = SUB_MODELS[name], len(confidence)
    intercept = rng.normal(0, prior.intercept_sd, n_sets) if drift else np.zeros(n_sets)
    log_slope = rng.normal(0, prior.log_slope_sd, n_sets) if drift else np.zeros(n_sets)
    x = logit(np.clip(confidence, LEVERAGE_FLOOR, 1 - LEVERAGE_FLOOR))
    eta = logit(np.clip(confidence, FLOOR, 1 - FLOOR)) + intercept[:, None] + np.expm1(log_slope)[:, None] * x
    parameters: dict[str, Floats] = {"intercept": intercept, "slope": np.exp(log_slope)}
    off, tau = np.zeros_like(described), np.ones(confidence.shape)
    if residual == "dense":
        off, tau = described, np.repeat(_half_normal(prior.dense_scale, n_sets, rng)[:, None], tau.shape[1], axis=1)
    elif residual == "sparse":
        parameters["rho"] = rng.choice(prior.rho, n_sets)
        off = described & (rng.random(described.shape) < parameters["rho"][:, None])
        tau = (1 - rng.random(confidence.shape)) ** (1 / prior.sparse_shape)
    accuracy = np.where(off, _scattered(eta, tau, rng), expit(eta)) if residual != "none" else expit(eta)
    return Truth(accuracy, off, ~off & (not drift), parameters)


def _runs(confidence: Floats, described: Bools, rng: np.random.Generator) -> Truth:
    accuracy, off = confidence.copy(), np.zeros_like(described)
    for i, which in enumerate(described):
        bins = np.flatnonzero(which)
        rate = min(rng.choice(CHANGES) / max(len(bins) - 1, 1), LARGEST_RATE)
        segment = np.cumsum(rng.random(len(bins)) < rate)
        scale = LARGEST_SCALE * rng.random(len(bins) + 1) ** 2
        shift = (scale * rng.standard_normal(len(bins) + 1))[segment]
        off[i, bins] = (rng.random(len(bins) + 1) < SEGMENT_OFF)[segment]
        accuracy[i, bins] = expit(np.clip(logit(confidence[i, bins]), -FARTHEST_ORIGIN, FARTHEST_ORIGIN) + shift)
    return Truth(np.where(off, accuracy, confidence), off, ~off)


def _one_amount(confidence: Floats, described: Bools, rng: np.random.Generator) -> Truth:
    n_sets, shape = len(confidence), confidence.shape
    least, largest = AMOUNTS
    amount = least * (largest / least) ** rng.random(n_sets)
    rho = rng.choice(AMOUNT_RHO, n_sets)
    off = described & (rng.random(shape) < rho[:, None])
    moved = np.arcsin(np.sqrt(confidence)) + amount[:, None] * rng.choice([-1, 1], shape)
    accuracy = np.sin(np.clip(moved, 0, np.pi / 2)) ** 2
    return Truth(np.where(off, accuracy, confidence), off, ~off, {"amount": amount, "rho": rho})


def _noise(confidence: Floats, rate: Floats, rng: np.random.Generator) -> Truth:
    noise = LARGEST_NOISE * rng.random(len(confidence)) ** 2
    accuracy = np.clip((1 - noise)[:, None] * confidence + (noise * rate)[:, None], 0, 1)
    nowhere = np.zeros(confidence.shape, bool)
    return Truth(accuracy, nowhere, nowhere, {"noise": noise, "noise_rate": rate})


def _noise_at_ends(confidence: Floats, crowded: Bools, rng: np.random.Generator) -> Truth:
    share = rng.beta(*SHARE_AT_ENDS, confidence.shape)
    noisy = np.where(confidence > 0.5, confidence - share * confidence, confidence + share * (1 - confidence))
    nowhere = np.zeros(confidence.shape, bool)
    return Truth(np.where(crowded, noisy, confidence), nowhere, ~crowded)


# --- draws


def log_gamma_draws(shape: Floats, rng: np.random.Generator) -> Floats:
    """Logarithms of gamma draws, however small the shape: G(a) = G(a + 1) U^(1/a)."""
    return np.log(rng.standard_gamma(shape + 1)) + np.log1p(-rng.random(shape.shape)) / shape


def truncated_normal_draws(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Normal of variance 1/12 truncated to [-1/2, 1/2], by rejection."""
    drawn = rng.normal(0, np.sqrt(1 / 12), shape)
    while (outside := np.abs(drawn) > 0.5).any():
        drawn[outside] = rng.normal(0, np.sqrt(1 / 12), int(outside.sum()))
    return drawn


def normalised(log_mass: Any) -> Floats:
    """Compute masses that sum to 1 over the last axis; -inf gives mass 0."""
    mass: Floats = np.exp(log_mass - log_mass.max(axis=-1, keepdims=True))
    return mass / mass.sum(axis=-1, keepdims=True)


def _half_normal(scale: float, count: int, rng: np.random.Generator) -> Floats:
    """Half-Normal on (0, 1), by rejection."""
    drawn = np.abs(rng.normal(0, scale, count))
    while (outside := drawn >= 1).any():
        drawn[outside] = np.abs(rng.normal(0, scale, int(outside.sum())))
    return drawn


def _scattered(eta: Floats, tau: Floats, rng: np.random.Generator) -> Floats:
    """Betas of mean h = expit(eta) and standard deviation tau sqrt(h (1 - h))."""
    kappa = np.maximum(1 / tau**2 - 1, np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        return expit(log_gamma_draws(kappa * expit(eta), rng) - log_gamma_draws(kappa * expit(-eta), rng))
