"""Survival curves of one bin a second time: moments of the product of Betas, and hazards in PyMC."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal import _packages
from bayescal._arrays import Floats, Ints
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.rows import SurvivalRows
from bayescal.verify.named import Moments, by_name

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


def beta_stacy_moments(time: Any, event: Any, horizon: float) -> tuple[float, float]:
    r"""Compute mean and variance of the probability of an event by the horizon under a Bayesian bootstrap of hazards.

    `event` is 1 for events and 0 for censored rows; there is one cause. At each time with d events among Y rows at
    risk, the hazard is Beta(d, Y - d), independently: a beta-Stacy process with vanishing prior (Walker and Muliere
    1997, "Beta-Stacy processes and a generalization of the Polya-urn scheme", Annals of Statistics 25, 1762-1780).
    Survival is a product of independent Betas,

    .. math::
        \mathrm{E}\,S = \prod \frac{Y - d}{Y}, \qquad \mathrm{E}\,S^2 = \prod \frac{(Y - d)(Y - d + 1)}{Y (Y + 1)}.

    The mean is the Kaplan-Meier estimate. Without censoring, 1 - S is exactly Beta(k, n - k) with k events.
    """
    events, at_risk = risk_sets(time, event, horizon)
    stay = at_risk - events
    mean = float(np.prod(stay / at_risk))
    square = float(np.prod(stay * (stay + 1) / (at_risk * (at_risk + 1.0))))
    return 1 - mean, max(square - mean**2, 0.0)


def risk_sets(time: Any, event: Any, horizon: float) -> tuple[Ints, Ints]:
    """Return the numbers of events, and of rows at risk, at each distinct time of an event up to the horizon."""
    times, kinds = np.asarray(time, np.float64), np.asarray(event)
    at, events = np.unique(times[(kinds > 0) & (times <= horizon)], return_counts=True)
    return events, len(times) - np.searchsorted(np.sort(times), at, side="left")


@dataclass(frozen=True, eq=False)
class SurvivalTwin:
    """The probability of an event by the horizon in one bin: product limits and closed moments, and hazards in PyMC.

    The closed form has the Kaplan-Meier estimate of `HorizonCounts` as its mean and the standard deviation of
    `beta_stacy_moments`. In PyMC the hazard of each time of an event is a parameter, flat on the logit scale (a
    vanishing Beta prior), with a Binomial number of events. A row must stay at risk.
    """

    time: Floats
    event: Ints
    horizon: float

    @cached_property
    def _sets(self) -> tuple[Ints, Ints]:
        return risk_sets(self.time, self.event, self.horizon)

    def model(self) -> "pm.Model":
        """Write the model in PyMC."""
        _packages.require("pymc")
        import pymc as pm

        events, at_risk = self._sets
        with pm.Model(coords={"time": np.arange(len(events))}) as model:
            eta = pm.Flat("eta", dims="time", initval=np.log(events / (at_risk - events)))
            pm.Potential("events", (events * eta - at_risk * pm.math.log1pexp(eta)).sum())
        return model

    def of_pymc(self, tree: "xr.DataTree") -> Mapping[str, Any]:
        """Return the probability of an event by the horizon, and by the middle of the times of events."""
        stay = 1 / (1 + np.exp(by_name(tree, ["eta"])["eta"]))
        half = stay.shape[1] // 2
        return {"incidence": 1 - stay.prod(axis=1), "first half": 1 - stay[:, :half].prod(axis=1)}

    def of_closed_form(self, n_draws: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return exact moments of the same quantities."""
        at = np.unique(self.time[(self.event > 0) & (self.time <= self.horizon)])
        return {
            "incidence": self._moments(self.horizon),
            "first half": self._moments(float(at[len(at) // 2 - 1])),
        }

    def _moments(self, horizon: float) -> Moments:
        rows = SurvivalRows.read(self.time, self.event, np.full(len(self.time), 0.5))
        mean = HorizonCounts.from_rows(rows, horizon, make_bins(1)).accuracy[0]
        return Moments(float(mean), float(np.sqrt(beta_stacy_moments(self.time, self.event, horizon)[1])))


def simulated_rows(n_rows: int = 132, seed: int = 1) -> SurvivalTwin:
    """Simulate the rows of one bin, about a third of them censored before the horizon, as a `SurvivalTwin`."""
    rng = np.random.default_rng(seed)
    died, lost = rng.exponential(3.0, n_rows), rng.exponential(2.0, n_rows)
    return SurvivalTwin(np.minimum(died, lost), (died <= lost).astype(np.int64), 1.0)
