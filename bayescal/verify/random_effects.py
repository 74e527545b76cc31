"""The random-effects model again in PyMC, and a simulator of its prior and data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _packages
from bayescal.posterior.random_effects import DEGREES, RandomEffectsPosterior
from bayescal.verify.named import Moments, NamedSimulator, below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

Floats = NDArray[np.float64]

#: Points of the distribution functions of mean, standard deviation and new difference, in units of the prior scale.
POINTS = (-0.5, 0.0, 0.25, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class RandomEffectsTwin:
    """The posterior of one random-effects problem, in closed form and in PyMC; for `agreement`.

    Parameters
    ----------
    estimate, error : ndarray, shape (n_sets,)
        Estimates and standard errors.
    scale : float
        Scale of the prior of the standard deviation between data sets.
    """

    estimate: Floats
    error: Floats
    scale: float

    def model(self) -> "pm.Model":
        """Write the model in PyMC: every difference, around a mean with a uniform prior."""
        _packages.require("pymc")
        import pymc as pm

        with pm.Model() as model:
            mean = pm.Flat("mean")
            spread = pm.HalfStudentT("spread", nu=DEGREES, sigma=self.scale)
            # differences are written as multiples of the standard deviation, so that chains move freely if it is small
            unit = pm.Normal("unit", 0.0, 1.0, shape=len(self.estimate))
            pm.Normal("estimate", mean + spread * unit, self.error, observed=self.estimate)
            pm.Deterministic("new", mean + spread * pm.Normal("new_unit", 0.0, 1.0))
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return mean, standard deviation between data sets and new difference from chains, and events."""
        drawn = by_name(tree, ["mean", "spread", "new"])
        return {**drawn, **self._events(drawn)}

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package, with the exact moments of the mean."""
        posterior = RandomEffectsPosterior(self.estimate[None], self.error[None], self.scale)
        mean, spread, new = (values[:, 0] for values in posterior.sample(n_draws, rng))
        center, sd = posterior.mean_moments
        drawn = {"mean": mean, "spread": spread, "new": new}
        return {**drawn, **self._events(drawn), "mean": Moments(float(center[0]), float(sd[0]))}

    def _events(self, drawn: Mapping[str, Any]) -> dict[str, Any]:
        events: dict[str, Any] = {}
        for name, values in drawn.items():
            points = [point for point in POINTS if point > 0 or name != "spread"]
            events |= below(name, values, [self.scale * point for point in points])
        return events


class RandomEffectsSimulator(NamedSimulator):
    """Standard deviations from their prior, differences, and estimates with known errors.

    The mean has a uniform prior and is a location parameter: posteriors shift with the estimates, so that ranks of the
    truth are uniform for any true mean.

    Parameters
    ----------
    n_sets : int, default 5
        Number of data sets.
    scale : float, default 0.05
        Scale of the prior of the standard deviation between data sets.
    """

    def __init__(self, n_sets: int = 5, scale: float = 0.05) -> None:
        self.n_sets, self.scale = n_sets, scale

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], tuple[Floats, Floats]]:
        """Draw the parameters, a new difference, and the data: estimates and their standard errors."""
        mean, spread = 0.02, float(abs(rng.standard_t(DEGREES)) * self.scale)
        error = self.scale * rng.uniform(0.1, 1.0, self.n_sets)
        truth = mean + spread * rng.standard_normal(self.n_sets)
        estimate = truth + error * rng.standard_normal(self.n_sets)
        return {"mean": mean, "spread": spread, "new": mean + spread * rng.standard_normal()}, (estimate, error)

    def sample_one(self, data: tuple[Floats, Floats], n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        mean, spread, new = RandomEffectsPosterior(data[0][None], data[1][None], self.scale).sample(n_draws, rng)
        return {"mean": mean[:, 0], "spread": spread[:, 0], "new": new[:, 0]}

    def log_likelihood_one(self, values: Mapping[str, Any], data: tuple[Floats, Floats]) -> Floats:
        """Log likelihood of the estimates, given mean and standard deviation between data sets."""
        estimate, error = data
        variance = error**2 + np.asarray(values["spread"])[:, None] ** 2
        total: Floats = -0.5 * (
            np.log(variance) + (estimate - np.asarray(values["mean"])[:, None]) ** 2 / variance
        ).sum(1)
        return total
