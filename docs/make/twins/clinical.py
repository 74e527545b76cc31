"""Posteriors of intercept and slope, and of a smooth calibration curve, again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal._arrays import Floats, Generator, pm, xr
from bayescal.clinical.curve.posterior import SUB_MODELS, SmoothCurvePosterior
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.draws import BinDraws
from bayescal.estimands.errors import e90_bins, ece, largest_error
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.verify.named import Moments, below, by_name
from bayescal.verify.topic_models import components_of, logits_of, recalibration_model, smooth_curve_model

#: The distribution functions are compared at these quantiles.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False)
class RecalibrationTwin:
    """The posterior of intercept and slope under a Normal prior, and the same model in PyMC; for `agreement`."""

    posterior: RecalibrationPosterior

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        return recalibration_model(self.posterior)

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


@dataclass(frozen=True, eq=False)
class SmoothCurveTwin:
    """The posterior of a smooth curve, all of whose bins have rows, and the same model in PyMC; for `agreement`.

    Each chain draw gives the probabilities of the components, from which one is drawn; see `smooth_curve_model`.
    """

    posterior: SmoothCurvePosterior

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        return smooth_curve_model(self.posterior)

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return errors, event rates and probabilities of the sub-models from chains."""
        chains = by_name(tree, ["z", "probability", "rate"])
        names, _, matrix = components_of(self.posterior)
        probability = chains["probability"]
        rng = np.random.default_rng(0)
        chosen = (probability.cumsum(axis=1) < rng.random((len(probability), 1))).sum(axis=1)
        chosen = np.minimum(chosen, len(names))
        x, accuracy = logits_of(self.posterior.confidence), np.tile(self.posterior.confidence, (len(chosen), 1))
        for j in np.unique(chosen[chosen > 0]):
            rows = chosen == j
            accuracy[rows] = 1 / (1 + np.exp(-(x + chains["z"][rows] @ matrix[j - 1].T)))
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
