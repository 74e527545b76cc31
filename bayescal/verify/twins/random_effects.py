"""The random-effects model again in PyMC."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.posterior.random_effects import DEGREES, RandomEffectsPosterior
from bayescal.verify.named import Moments, below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


#: Points of the distribution functions of mean, standard deviation and new difference, in units of the prior scale.
POINTS = (-0.5, 0.0, 0.25, 0.5, 1.0)
#: Standard deviation of the prior of the mean, relative to the largest estimate, error and scale. PyMC draws pictures,
#: and samples priors, of proper priors only.
WIDE = 1e5


@dataclass(frozen=True, eq=False)
class RandomEffectsTwin:
    """The posterior of one random-effects problem, estimates and standard errors, in closed form and in PyMC."""

    estimate: Floats
    error: Floats
    #: Scale of the prior of the standard deviation between data sets.
    scale: float

    @property
    def wide(self) -> float:
        """Standard deviation of the Normal prior of the mean."""
        return WIDE * float(max(self.scale, np.abs(self.estimate).max(), self.error.max()))

    def model(self, datasets: Sequence[str] | None = None) -> "pm.Model":
        """Write the model in PyMC: every difference, around a mean with a wide prior; data sets may have names."""
        _packages.require("pymc")
        import pymc as pm

        names = [str(i) for i in range(len(self.estimate))] if datasets is None else list(datasets)
        with pm.Model(coords={"dataset": names}) as model:
            mean = pm.Normal("mean", 0.0, self.wide)  # stands for a uniform prior
            spread = pm.HalfStudentT("spread", nu=DEGREES, sigma=self.scale)
            # differences are written as multiples of the standard deviation, so that chains move freely if it is small
            unit = pm.Normal("unit", 0.0, 1.0, shape=len(names), dims="dataset")
            difference = pm.Deterministic("difference", mean + spread * unit, dims="dataset")
            pm.Normal("estimate", difference, self.error, observed=self.estimate, dims="dataset")
            pm.Deterministic("new", mean + spread * pm.Normal("new_unit", 0.0, 1.0))
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return mean, standard deviation between data sets and new difference from chains, and events."""
        chains = by_name(tree, ["mean", "spread", "new"])
        return {**chains, **self._events(chains)}

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package, with the exact moments of the mean."""
        posterior = RandomEffectsPosterior(self.estimate[None], self.error[None], self.scale)
        mean, spread, new = (values[:, 0] for values in posterior.sample(n_draws, rng))
        center, sd = posterior.mean_moments
        draws = {"mean": mean, "spread": spread, "new": new}
        return {**draws, **self._events(draws), "mean": Moments(float(center[0]), float(sd[0]))}

    def _events(self, draws: Mapping[str, Any]) -> dict[str, Any]:
        events: dict[str, Any] = {}
        for name, values in draws.items():
            points = [point for point in POINTS if point > 0 or name != "spread"]
            events |= below(name, values, [self.scale * point for point in points])
        return events
