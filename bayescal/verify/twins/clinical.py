"""Posteriors of intercept and slope, and of a smooth calibration curve, again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats, Generator, pm, xr
from bayescal.clinical.curve.posterior import DEVIATIONS, DRIFT_SDS, RANGES, SIGMAS, SUB_MODELS, SmoothCurvePosterior
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.draws import BinDraws
from bayescal.estimands.errors import e90_bins, ece, largest_error
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.verify.named import Moments, below, by_name

#: The distribution functions are compared at these quantiles.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False)
class RecalibrationTwin:
    """The posterior of intercept and slope under a Normal prior, and the same model in PyMC; for `agreement`."""

    posterior: RecalibrationPosterior

    def model(self) -> "pm.Model":
        """Write the model in PyMC: Normal shift and slope, Binomial outcomes, Gamma rates of the cells."""
        _packages.require("pymc")
        import pymc as pm

        counts, prior = self.posterior.counts, self.posterior.prior
        x, n, k = counts.logit, counts.n, counts.k
        if prior.kind != "normal":
            raise ValueError(
                "`posterior` must have a Normal prior to be sampled by PyMC, such as `prior='weak'`, not "
                f"{prior.kind!r}."
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

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return intercept, slope, calibration in the large and O/E from chains, and events at quantiles."""
        chains = by_name(tree, ["intercept", "slope", "rate"])
        intercept, slope = chains["intercept"], chains["slope"]
        x, rate = self.posterior.counts.logit, chains["rate"]
        observed, expected = (
            (rate / (1 + np.exp(-eta))).sum(axis=1) for eta in (intercept[:, None] + slope[:, None] * x, x)
        )
        return self._quantities(intercept, slope, bisected(x, rate, intercept, slope), observed / expected)

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Any]:
        """Return the same quantities from draws of the grid."""
        draws = self.posterior.sample(n_draws, rng=rng)
        large, ratio = self.posterior.in_the_large(draws, rng=rng), self.posterior.observed_expected(draws, rng=rng)
        return self._quantities(draws[:, 0], draws[:, 1], large, ratio)

    def _quantities(self, intercept: Floats, slope: Floats, in_the_large: Floats, ratio: Floats) -> dict[str, Any]:
        events: dict[str, Any] = {}
        for name, values in (("intercept", intercept), ("slope", slope)):
            events |= below(name, values, self.posterior.quantile(name, PROBS).round(3).tolist())
        named = {"intercept": intercept, "slope": slope, "in_the_large": in_the_large, "observed_expected": ratio}
        return {**named, "product": (intercept + 1) * slope, **events}


def bisected(x: Floats, rate: Floats, intercept: Floats, slope: Floats) -> Floats:
    """Find the shifts s with sum rate expit(x + s) = sum rate expit(intercept + slope x), by bisection to 1e-9.

    Logits x have shape (n_cells,), the rates (weights of the cells) (n_draws, n_cells), intercept and slope (n_draws,).
    """
    goal = (rate / (1 + np.exp(-(intercept[:, None] + slope[:, None] * x)))).sum(axis=1)
    low, high = np.full(len(goal), -50.0), np.full(len(goal), 50.0)
    for _ in range(40):
        middle = (low + high) / 2
        under = (rate / (1 + np.exp(-(x + middle[:, None])))).sum(axis=1) < goal
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return (low + high) / 2


#: Variance added to the diagonal of covariances of the twin.
STABLE = 1e-8
#: Floor of the scores whose logits the slope multiplies, and logits that are as far apart as the first and last rank.
FLOOR, FAR = 1e-4, 8


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


@dataclass(frozen=True, eq=False)
class SmoothCurveTwin:
    """The posterior of a smooth curve, all of whose bins have rows, and the same model in PyMC; for `agreement`.

    The PyMC model has standard Normal numbers, from which each component makes deviations, and the likelihood averages
    the components: sub-models, and all sigmas and ranges. No Gaussian approximation is made. Each chain draw gives the
    probabilities of the components, from which one is drawn.
    """

    posterior: SmoothCurvePosterior

    @cached_property
    def _components(self) -> tuple[list[str], Floats, Floats]:
        share = self.posterior.counts.share
        return components(self.posterior.confidence, np.cumsum(share) - share / 2)

    @property
    def _x(self) -> Floats:
        confidence = np.clip(self.posterior.confidence, 1e-9, 1 - 1e-9)
        return np.log(confidence / (1 - confidence))

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        _packages.require("pymc")
        import pymc as pm
        import pytensor.tensor as pt

        from bayescal.verify.pymc_sub_models import categorical

        counts, x = self.posterior.counts, self._x
        n, k = counts.effective_n, counts.effective_k
        if not counts.occupied.all():
            raise ValueError("`posterior` must have rows in every bin to be sampled by PyMC.")
        _, share, matrix = self._components
        others = (1 - self.posterior.prior_exact) / len(DEVIATIONS) * share
        with np.errstate(divide="ignore"):  # exact calibration may have no prior probability
            log_prior = np.log(np.append(self.posterior.prior_exact, others))
        names, bins = self._components[0], range(len(n))
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
            pm.Deterministic("ici", (mass * pm.math.abs(accuracy - self.posterior.confidence)).sum())
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return errors, event rates and probabilities of the sub-models from chains."""
        chains = by_name(tree, ["z", "probability", "rate"])
        names, _, matrix = self._components
        probability = chains["probability"]
        rng = np.random.default_rng(0)
        chosen = (probability.cumsum(axis=1) < rng.random((len(probability), 1))).sum(axis=1)
        chosen = np.minimum(chosen, len(names))
        accuracy = np.tile(self.posterior.confidence, (len(chosen), 1))
        for j in np.unique(chosen[chosen > 0]):
            rows = chosen == j
            accuracy[rows] = 1 / (1 + np.exp(-(self._x + chains["z"][rows] @ matrix[j - 1].T)))
        of = np.array([EXACT, *names])
        events = {f"P({key})": probability[:, of == key].sum(axis=1) for key in SUB_MODELS}
        mass = chains["rate"] / chains["rate"].sum(axis=1, keepdims=True)
        return {**quantities(accuracy, self.posterior.confidence, mass), **events}

    def of_closed_form(self, n_draws: int, rng: Generator) -> Mapping[str, Any]:
        """Return the same quantities from the Laplace approximations."""
        draws = self.posterior.sample(n_draws, rng=rng)
        events = {f"P({key})": Moments(p) for key, p in self.posterior.probabilities.items()}
        return {**quantities(draws.accuracy, self.posterior.confidence, draws.mass), **events}


def quantities(accuracy: Floats, confidence: Floats, mass: Floats) -> dict[str, Floats]:
    """Name the quantities that are compared: errors, and event rates in the first, the middle and the last bin."""
    bins = BinDraws(mass, accuracy, confidence[None], np.ones(len(confidence), bool), mass)
    last = len(confidence) - 1
    return {
        "ici": ece(bins).values,
        "e90": e90_bins(bins).values,
        "emax": largest_error(bins).values,
        **{f"rate[{b}]": accuracy[:, b] for b in (0, last // 2, last)},
    }
