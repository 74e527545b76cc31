"""The smooth curve model again in PyMC, without Laplace's method."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.clinical.curve.posterior import DEVIATIONS, DRIFT_SDS, RANGES, SIGMAS, SUB_MODELS, SmoothCurvePosterior
from bayescal.draws import BinDraws
from bayescal.estimands.errors import e90_bins, ece, largest_error
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.verify.named import Moments, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


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

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
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
