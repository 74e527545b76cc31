"""The share of simulated studies that meet a goal, as a curve in the number of rows."""

import math
from collections import Counter

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from bayescal._arrays import Floats

#: For each number of rows, how often each verdict was reached; key None where the goal was not met.
Simulated = dict[int, Counter[str | None]]

#: The curve is fitted within this factor of the answer, where it is nearly a straight line on the probit scale.
NEAR = 10.0
WIDTHS = np.geomspace(0.05, 6.0, 25)  #: Possible widths of the curve, in units of log rows.
POWERS = np.geomspace(0.25, 1.0, 15)  #: Possible powers g of the number of rows, if the curve ends below 1.
PRECISION = 1e-4  #: Precision of the log of a recommended number of rows.
LEAST_NEAR = 1 / 3  #: All sizes count if those within the factor hold a smaller share of the simulations.


class GoalCurve:
    """Posterior, on a grid, of the log rows x at which the share is p (the assurance) and of the shape of the curve.

    If unlimited rows meet the goal always, the share met with n rows is Phi(z_p + (log n - x) / s), with s uniform on
    the log scale. If they meet it with a share c < 1, it is Phi(z_c - (z_c - z_p) (exp(x) / n)^g), with g uniform on
    the log scale around 1/2, because the standard deviation of a posterior is about proportional to n^(-1/2). The log
    rows x are uniform from one row to beyond the largest number.
    """

    def __init__(self, simulated: Simulated, assurance: float, largest: int, reachable: float = 1.0) -> None:
        self.sizes = sorted(simulated)
        self.z, self.z_most = float(ndtri(assurance)), float(ndtri(reachable))
        self.shapes = WIDTHS if reachable == 1 else POWERS
        # values beyond the largest number mean that the goal is not reached
        self.x = np.arange(-0.5, math.log(largest) + 3.0, 0.02)
        log_rows = np.log(self.sizes)
        met = np.array([simulated[n].total() - simulated[n][None] for n in self.sizes])
        missed = np.array([simulated[n][None] for n in self.sizes])
        log_posterior = np.zeros((len(self.x), len(self.shapes)))
        for at, yes, no in zip(log_rows, met, missed, strict=True):
            z = self._z(at - self.x[:, None])
            log_posterior += yes * log_ndtr(z) + no * log_ndtr(-z)
        joint = np.exp(log_posterior - log_posterior.max())
        self.joint = joint / joint.sum()

    def _z(self, distance: Floats) -> Floats:
        """Return the quantile of the share at a distance of log rows from x, for each shape."""
        if self.z_most == math.inf:
            return self.z + distance / self.shapes
        return self.z_most - (self.z_most - self.z) * np.exp(-distance * self.shapes)

    def _distance(self, assurance: float) -> Floats:
        """Return the distance of log rows from x at which the share is another one: the inverse of `_z`."""
        z = float(ndtri(assurance))
        if self.z_most == math.inf:
            return self.shapes * (z - self.z)
        return np.log((self.z_most - self.z) / (self.z_most - z)) / self.shapes

    def quantile(self, q: float, assurance: float | None = None) -> float:
        """Quantile of the log rows at which the goal is met with another assurance; by default that of the curve."""
        if assurance is not None and ndtri(assurance) >= self.z_most:
            return math.inf
        if assurance is None or ndtri(assurance) == self.z:
            points, weight = self.x, self.joint.sum(axis=1)
        else:
            at = (self.x[:, None] + self._distance(assurance)).ravel()
            order = np.argsort(at)
            points, weight = at[order], self.joint.ravel()[order]
        return float(np.interp(q, np.cumsum(weight) - weight / 2, points))

    def mean_share(self, log_rows: float) -> float:
        """Posterior mean of the share of studies that meet the goal with so many rows."""
        return float((self.joint * ndtr(self._z(log_rows - self.x[:, None]))).sum())

    def rows_with(self, assurance: float) -> float:
        """Log of the smallest number of rows whose mean share is `assurance`; infinite if it is beyond the grid.

        The mean share is the probability that the next simulated study meets the goal, so it includes the simulation
        error of the curve. At the posterior median of x it is smaller than the assurance, because the curve is concave
        there.
        """
        low, high = float(self.x[0]), float(self.x[-1])
        if self.mean_share(high) < assurance:
            return math.inf
        while high - low > PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if self.mean_share(middle) >= assurance else (middle, high)
        return high

    @property
    def width(self) -> float:
        """Change of log rows that changes the quantile of the share by 1, at x: the median of s."""
        shape = float(self.shapes[np.searchsorted(np.cumsum(self.joint.sum(axis=0)), 0.5)])
        return shape if self.z_most == math.inf else 1 / (shape * (self.z_most - self.z))


def curve_near_answer(simulated: Simulated, assurance: float, largest: int, reachable: float = 1.0) -> GoalCurve:
    """Fit the curve to the sizes near its own answer; to all sizes if those near it hold few of the simulations."""
    fit = GoalCurve(simulated, assurance, largest, reachable)
    centre = min(fit.quantile(0.5), math.log(largest))
    near = {n: of for n, of in simulated.items() if abs(math.log(n) - centre) <= math.log(NEAR)}
    share = sum(of.total() for of in near.values()) / sum(of.total() for of in simulated.values())
    return GoalCurve(near, assurance, largest, reachable) if share >= LEAST_NEAR else fit
