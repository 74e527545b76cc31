"""Intercept and slope, and a smooth calibration curve, in PyMC."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from bayescal._arrays import Floats
from bayescal.clinical.curve.posterior import DEVIATIONS, DRIFT_SDS, RANGES, SIGMAS, SmoothCurvePosterior
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.verify.pymc_sub_models import categorical

STABLE = 1e-8  #: Variance added to the diagonal of covariances of the twin.
#: Floor of the scores whose logits the slope multiplies, and logits that are as far apart as the first and last rank.
FLOOR, FAR = 1e-4, 8


def recalibration_model(posterior: RecalibrationPosterior) -> pm.Model:
    """Write intercept and slope under a Normal prior in PyMC: Binomial outcomes, and Gamma rates of the cells."""
    counts, prior = posterior.counts, posterior.prior
    x, n, k = counts.logit, counts.n, counts.k
    if prior.kind != "normal":
        raise ValueError(
            f"`posterior` must have a Normal prior to be sampled by PyMC, such as `prior='weak'`, not {prior.kind!r}."
        )
    stated = n / (2 + np.exp(x) + np.exp(-x))
    lever = float((stated * x).sum() / stated.sum())
    with pm.Model(coords={"cell": [f"logit {value:.4g}" for value in x]}) as model:
        shift = pm.Normal("shift", 0.0, prior.shift_sd)
        slope = pm.Normal("slope", 1.0, prior.slope_sd)
        intercept = pm.Deterministic("intercept", shift + lever - slope * lever)
        eta = intercept + slope * x
        if (n % 1 == 0).all() and (k % 1 == 0).all():
            pm.Binomial("events", n, logit_p=eta, observed=k.astype(np.int64), dims="cell")
        else:  # effective numbers of rows
            pm.Potential("events", (k * eta - n * pm.math.log1pexp(eta)).sum())
        pm.Gamma("rate", n, 1.0, dims="cell")
    return model


def components(confidence: Floats, rank: Floats) -> tuple[list[str], Floats, Floats]:
    """Return sub-models, prior probabilities within them, and matrices L so that deviations are L times Normal numbers.

    The definitions of `smooth_curve_posterior`, written again: a drift has two parameters, not a covariance. Matrices
    have shape (n_components, n_bins, n_bins + 2); the last two columns belong to intercept and slope.
    """
    inside = np.clip(confidence, FLOOR, 1 - FLOOR)
    x = np.log(inside / (1 - inside))
    across, line = np.zeros((len(x), len(x))), np.stack([np.ones(len(x)), x], axis=1)
    curves = []
    for sigma, of_sigma in SIGMAS.items():
        for length in RANGES:
            distance = np.hypot(rank[:, None] - rank, (x[:, None] - x) / FAR)
            correlation = np.exp(-(distance**2) / (2 * length**2))
            root = np.linalg.cholesky(sigma**2 * correlation + STABLE * np.eye(len(x)))
            curves.append((of_sigma / len(RANGES), root))
    sub_models = [("drift", p, np.hstack([across, sd * line])) for sd, p in DRIFT_SDS.items()]
    sub_models += [("curve", p, np.hstack([root, 0 * line])) for p, root in curves]
    sub_models += [("both", p * q, np.hstack([root, sd * line])) for sd, p in DRIFT_SDS.items() for q, root in curves]
    names, shares, matrices = zip(*sub_models, strict=True)
    return list(names), np.array(shares), np.array(matrices)


def components_of(posterior: SmoothCurvePosterior) -> tuple[list[str], Floats, Floats]:
    """Return the `components` of the bins of a posterior."""
    share = posterior.counts.share
    return components(posterior.confidence, np.cumsum(share) - share / 2)


def logits_of(confidence: Floats) -> Floats:
    """Return logits of mean confidences, kept finite."""
    inside = np.clip(confidence, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(inside / (1 - inside)))


def smooth_curve_model(posterior: SmoothCurvePosterior) -> pm.Model:
    """Write a smooth curve, all of whose bins have rows, in PyMC, without a Gaussian approximation.

    Each component makes deviations from standard Normal numbers, and the likelihood averages the components:
    sub-models, and all sigmas and ranges. Each chain draw gives the probabilities of the components, from which one is
    drawn.
    """
    counts, x = posterior.counts, logits_of(posterior.confidence)
    n, k = counts.effective_n, counts.effective_k
    if not counts.occupied.all():
        raise ValueError("`posterior` must have rows in every bin to be sampled by PyMC.")
    names, share, matrix = components_of(posterior)
    others = (1 - posterior.prior_exact) / len(DEVIATIONS) * share
    with np.errstate(divide="ignore"):  # exact calibration may have no prior probability
        log_prior = np.log(np.append(posterior.prior_exact, others))
    bins = range(len(n))
    coords = {
        "bin": list(bins),
        "number": [*(f"bin {b}" for b in bins), "intercept", "slope"],
        "component": [EXACT, *(f"{name} {i}" for i, name in enumerate(names))],
    }
    with pm.Model(coords=coords) as model:
        z = pm.Normal("z", 0.0, 1.0, dims="number")
        eta = x + pt.dot(matrix, z)
        of_exact = float((k * x - n * np.logaddexp(0, x)).sum())
        of_others = (k * eta - n * pm.math.log1pexp(eta)).sum(axis=1)
        log_joint = log_prior + pt.concatenate([[of_exact], of_others])
        total = pm.math.logsumexp(log_joint)
        pm.Potential("outcomes", total.sum())
        probability = pm.Deterministic("probability", pt.exp(log_joint - total), dims="component")
        rate = pm.Gamma("rate", n, 1.0, dims="bin")

        # the curve of one component, and the error that follows from it
        logits = pt.concatenate([x[None], eta])
        component = pm.Deterministic("chosen_component", categorical(probability, pm.Uniform("u_component")))
        accuracy = pm.Deterministic("accuracy", pm.math.sigmoid(logits[component]), dims="bin")
        mass = pm.Deterministic("mass", rate / rate.sum(), dims="bin")
        pm.Deterministic("ici", (mass * pm.math.abs(accuracy - posterior.confidence)).sum())
    return model
