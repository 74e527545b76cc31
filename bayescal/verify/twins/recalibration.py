"""The posterior of intercept and slope again in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats
from bayescal.clinical.slope.posterior import RecalibrationPosterior
from bayescal.verify.named import below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


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

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return the same quantities from draws of the grid."""
        draws = self.posterior.sample(n_draws, rng=rng)
        large, ratio = self.posterior.in_the_large(draws, rng=rng), self.posterior.observed_expected(draws, rng=rng)
        return self._quantities(draws[:, 0], draws[:, 1], large, ratio)

    def _quantities(self, intercept: Floats, slope: Floats, in_the_large: Floats, ratio: Floats) -> dict[str, Any]:
        events: dict[str, Any] = {}
        for name, values in (("intercept", intercept), ("slope", slope)):
            events |= below(name, values, self.posterior.quantile(name, PROBS).round(3).tolist())
        return {
            "intercept": intercept,
            "slope": slope,
            "in_the_large": in_the_large,
            "observed_expected": ratio,
            "product": (intercept + 1) * slope,
            **events,
        }


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
