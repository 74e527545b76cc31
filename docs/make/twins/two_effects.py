"""Random effects of two parameters again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.posterior.random_effects import DEGREES, SHAPE, TwoEffectsPosterior
from bayescal.verify.named import Moments, below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

#: Standard deviation of the Normal prior that stands for a uniform one, and points of distribution functions.
WIDE, POINTS = 1e3, (-0.3, 0.0, 0.3, 0.6, 0.9, 1.2)


@dataclass(frozen=True, eq=False)
class TwoEffectsTwin:
    """The posterior of two random effects on a grid and in PyMC, of estimates with known covariances."""

    estimate: Floats  # of both effects by centre, shape (n_centres, 2)
    covariance: Floats  # of the estimates, shape (n_centres, 2, 2)
    scales: tuple[float, float] = (0.5, 0.3)

    def model(self) -> "pm.Model":
        """Write the model in PyMC, with the effects of each centre as parameters."""
        _packages.require("pymc")
        import pymc as pm

        n_centres = len(self.estimate)
        root = np.linalg.inv(np.linalg.cholesky(self.covariance))
        with pm.Model() as model:
            mean = pm.Normal("mean", 0.0, WIDE, shape=2)
            spread = pm.HalfStudentT("spread", nu=DEGREES, sigma=np.array(self.scales), shape=2)
            rho = pm.Deterministic("rho", 2 * pm.Beta("half", SHAPE, SHAPE) - 1)
            unit = pm.Normal("unit", 0.0, 1.0, shape=(n_centres + 1, 2))
            # Cholesky factor of the covariance between centres
            first = mean[0] + spread[0] * unit[:, 0]
            second = mean[1] + spread[1] * (rho * unit[:, 0] + pm.math.sqrt(1 - rho**2) * unit[:, 1])
            effects = pm.math.stack([first, second], axis=1)
            pm.Deterministic("new", effects[n_centres])
            # estimates, transformed so that their errors are independent with variance 1
            centred = self.estimate - effects[:n_centres]
            for row in (0, 1):
                residual = root[:, row, 0] * centred[:, 0] + root[:, row, 1] * centred[:, 1]
                pm.Normal(f"residual {row}", residual, 1.0, observed=np.zeros(n_centres))
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return means, standard deviations, correlation and the new centre from chains, and events."""
        chains = by_name(tree, ["mean", "spread", "rho", "new"])
        return self._named(chains["mean"], chains["spread"], chains["rho"], chains["new"])

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Floats | Moments]:
        """Draw with the package."""
        precision = np.linalg.inv(self.covariance)
        shift = np.einsum("jab,jb->ja", precision, self.estimate)
        return self._named(*TwoEffectsPosterior(precision, shift, self.scales).sample(n_draws, rng))

    def _named(self, mean: Floats, spread: Floats, rho: Floats, new: Floats) -> dict[str, Any]:
        named: dict[str, Any] = {"correlation": rho, **below("correlation", rho, [-0.3, 0.0, 0.3])}
        for k in (0, 1):
            for name, values in (("mean", mean[:, k]), ("new", new[:, k])):
                named |= {f"{name} {k}": values, **below(f"{name} {k}", values, POINTS)}
            of_spread = spread[:, k]
            named |= {f"spread {k}": of_spread, **below(f"spread {k}", of_spread, [0.1, 0.2, 0.4])}
        return named
