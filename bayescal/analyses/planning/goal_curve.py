"""The share of simulated futures that meet a goal, as a curve in the number of rows."""

import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

Floats = NDArray[np.float64]
#: For each number of rows, how often each verdict was reached; key None where the goal was not met.
Simulated = dict[int, Counter[str | None]]

#: The curve is fitted within this factor of the answer, where it is nearly a straight line on the probit scale.
NEAR = 10.0
#: Possible widths of the curve, in units of log rows.
WIDTHS = np.geomspace(0.05, 6.0, 25)


class GoalCurve:
    """Posterior, on a grid, of the log rows x at which the share is p (the assurance) and of the width s of the curve.

    Share met with n rows = c Phi(z_{p/c} + (log n - x) / s) with the share c that unlimited rows give; x uniform from
    one row to beyond the largest number, s uniform on the log scale.
    """

    def __init__(self, simulated: Simulated, assurance: float, largest: int, reachable: float = 1.0) -> None:
        self.sizes = sorted(simulated)
        self.reachable = reachable
        self.z = float(ndtri(assurance / reachable))
        # values beyond the largest number mean that the goal is not reached
        self.x = np.arange(-0.5, math.log(largest) + 3.0, 0.02)
        log_rows = np.log(self.sizes)
        met = np.array([simulated[n].total() - simulated[n][None] for n in self.sizes])
        missed = np.array([simulated[n][None] for n in self.sizes])
        log_posterior = np.zeros((len(self.x), len(WIDTHS)))
        for at, yes, no in zip(log_rows, met, missed, strict=True):
            z = self.z + (at - self.x[:, None]) / WIDTHS
            log_posterior += yes * log_ndtr(z) + no * self._log_missed(z)
        joint = np.exp(log_posterior - log_posterior.max())
        self.joint = joint / joint.sum()

    def _log_missed(self, z: Floats) -> Floats:
        """Return log(1 - c Phi(z)) = log(Phi(-z) + (1 - c) Phi(z))."""
        if self.reachable == 1:
            return log_ndtr(-z)
        return np.logaddexp(log_ndtr(-z), math.log1p(-self.reachable) + log_ndtr(z))

    def quantile(self, q: float, assurance: float | None = None) -> float:
        """Quantile of the log rows at which the goal is met with another assurance; by default that of the curve.

        It is infinite for an assurance that unlimited rows do not give.
        """
        if assurance is not None and assurance >= self.reachable:
            return math.inf
        moved = 0.0 if assurance is None else float(ndtri(assurance / self.reachable)) - self.z
        if moved == 0:
            points, weight = self.x, self.joint.sum(axis=1)
        else:
            at = (self.x[:, None] + WIDTHS * moved).ravel()
            order = np.argsort(at)
            points, weight = at[order], self.joint.ravel()[order]
        return float(np.interp(q, np.cumsum(weight) - weight / 2, points))

    @property
    def width(self) -> float:
        """Median of s."""
        return float(WIDTHS[np.searchsorted(np.cumsum(self.joint.sum(axis=0)), 0.5)])


def curve_near_answer(simulated: Simulated, assurance: float, largest: int, reachable: float = 1.0) -> GoalCurve:
    """Fit the curve to the sizes near its own answer."""
    fit = GoalCurve(simulated, assurance, largest, reachable)
    centre = min(fit.quantile(0.5), math.log(largest))
    near = {n: of for n, of in simulated.items() if abs(math.log(n) - centre) <= math.log(NEAR)}
    return GoalCurve(near, assurance, largest, reachable) if near else fit
