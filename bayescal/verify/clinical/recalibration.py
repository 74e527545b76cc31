"""The posterior of intercept and slope again in PyMC, and a simulator of its prior and data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _packages
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.posterior import RecalibrationPosterior, recalibration_posterior
from bayescal.verify.named import NamedSimulator, below, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

Floats = NDArray[np.float64]

#: The distribution functions are compared at these quantiles.
PROBS = (0.025, 0.25, 0.5, 0.75, 0.975)


@dataclass(frozen=True, eq=False)
class RecalibrationTwin:
    """The posterior of intercept and slope, and the same model in PyMC; for `agreement`.

    Both share the counts by logit and the constants of the prior. The calibration in the large of the chains comes from
    a bisection of its equation, with the mean logits of all cells.

    Parameters
    ----------
    posterior : RecalibrationPosterior
        The posterior, under a Normal prior.
    """

    posterior: RecalibrationPosterior

    def model(self) -> "pm.Model":
        """Write the model in PyMC: Normal shift and slope, Binomial outcomes, Gamma rates of the cells."""
        _packages.require("pymc")
        import pymc as pm

        counts, prior = self.posterior.counts, self.posterior.prior
        x, n, k = counts.logit, counts.n, counts.k
        if prior.kind != "normal":
            raise ValueError("`posterior` must have a Normal prior to be sampled by PyMC.")
        stated = n / (2 + np.exp(x) + np.exp(-x))
        lever = float((stated * x).sum() / stated.sum())
        with pm.Model() as model:
            shift = pm.Normal("shift", 0.0, prior.shift_sd)
            slope = pm.Normal("slope", 1.0, prior.slope_sd)
            intercept = pm.Deterministic("intercept", shift + lever - slope * lever)
            eta = intercept + slope * x
            # effective numbers of rows need not be whole
            pm.Potential("outcomes", (k * eta - n * pm.math.log1pexp(eta)).sum())
            pm.Gamma("rate", n, 1.0, shape=len(n))
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return intercept, slope, calibration in the large and O/E from chains, and events at quantiles."""
        drawn = by_name(tree, ["intercept", "slope", "rate"])
        intercept, slope = drawn["intercept"], drawn["slope"]
        x, rate = self.posterior.counts.logit, drawn["rate"]
        observed, expected = (
            (rate / (1 + np.exp(-eta))).sum(axis=1) for eta in (intercept[:, None] + slope[:, None] * x, x)
        )
        return self._quantities(intercept, slope, bisected(x, rate, intercept, slope), observed / expected)

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return the same quantities from draws of the grid."""
        drawn = self.posterior.sample(n_draws, rng=rng)
        large, ratio = self.posterior.in_the_large(drawn, rng=rng), self.posterior.observed_expected(drawn, rng=rng)
        return self._quantities(drawn[:, 0], drawn[:, 1], large, ratio)

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
    """Find the shifts s with sum rate expit(x + s) = sum rate expit(intercept + slope x), by bisection.

    Parameters
    ----------
    x : ndarray, shape (n_cells,)
        Logits.
    rate : ndarray, shape (n_draws, n_cells)
        Weights of the cells.
    intercept, slope : ndarray, shape (n_draws,)
        Draws.

    Returns
    -------
    ndarray, shape (n_draws,)
        Shifts, to 1e-9.
    """
    goal = (rate / (1 + np.exp(-(intercept[:, None] + slope[:, None] * x)))).sum(axis=1)
    low, high = np.full(len(goal), -50.0), np.full(len(goal), 50.0)
    for _ in range(40):
        middle = (low + high) / 2
        under = (rate / (1 + np.exp(-(x + middle[:, None])))).sum(axis=1) < goal
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class RecalibrationSimulator(NamedSimulator):
    """Simulator of intercept and slope; the scores are fixed, or drawn for every data set.

    Parameters
    ----------
    rows : int
        Rows of each data set.
    prior : tuple of float
        Standard deviations of shift and slope.
    shape : tuple of float
        Parameters of the Beta distribution of the probabilities.
    step : float
        Width of the cells.
    """

    rows: int = 200
    prior: tuple[float, float] = (2.5, 1.0)
    shape: tuple[float, float] = (1.0, 3.0)
    step: float = 0.05

    def simulate_one(self, rng: np.random.Generator) -> tuple[Mapping[str, Any], LogitCounts]:
        """Draw scores, intercept and slope, and outcomes at the mean logits of the cells.

        The posterior takes all rows of a cell to be at its mean logit, so the simulator puts them there.
        """
        p = np.clip(rng.beta(*self.shape, self.rows), 1e-12, 1 - 1e-12)
        binned = LogitCounts.from_arrays(np.zeros(self.rows, int), p, step=self.step)
        x, n = binned.logit, binned.n
        stated = n / (2 + np.exp(x) + np.exp(-x))
        lever = (stated * x).sum() / stated.sum()
        slope = 1 + self.prior[1] * rng.standard_normal()
        intercept = self.prior[0] * rng.standard_normal() + lever * (1 - slope)
        k = rng.binomial(n.astype(int), 1 / (1 + np.exp(-(intercept + slope * x))))
        return {"intercept": intercept, "slope": slope, **_extremes(intercept, slope, x)}, with_events(binned, k)

    def sample_one(self, data: LogitCounts, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw with the package's sampler."""
        drawn = recalibration_posterior(data, prior=self.prior).sample(n_draws, rng=rng)
        return by_quantity(drawn, data)

    def log_likelihood_one(self, values: Mapping[str, Any], data: LogitCounts) -> Floats:
        """Compute the log likelihood of the outcomes."""
        eta = np.asarray(values["intercept"])[:, None] + np.asarray(values["slope"])[:, None] * data.logit
        return np.asarray(eta @ data.k - np.logaddexp(0.0, eta) @ data.n)


def by_quantity(drawn: Floats, data: LogitCounts) -> dict[str, Any]:
    """Name draws of intercept and slope, and their linear predictors at the ends of the scores."""
    intercept, slope = drawn.T
    return {"intercept": intercept, "slope": slope, **_extremes(intercept, slope, data.logit)}


def _extremes(intercept: Any, slope: Any, x: Floats) -> dict[str, Any]:
    return {"lowest": intercept + slope * x[0], "highest": intercept + slope * x[-1]}


def with_events(counts: LogitCounts, k: NDArray[np.int64]) -> LogitCounts:
    """Replace the outcomes of unweighted counts: k rows of each cell have outcome 1.

    Parameters
    ----------
    counts : LogitCounts
        Counts whose rows all have outcome 0 and lie inside (0, 1).
    k : ndarray of int, shape (n_cells,)
        Rows with outcome 1.

    Returns
    -------
    LogitCounts
        Counts with the same logits.
    """
    from dataclasses import replace

    binned = counts.binned
    used = binned.cells[0] > 0
    cells = binned.cells.copy()
    cells[1, used], cells[0, used] = k, cells[0, used] - k
    return LogitCounts(replace(binned, cells=cells, weight=cells.astype(np.float64)))
