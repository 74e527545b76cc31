"""Risks of a population, by quadrature: their distribution, given prevalence, AUC and calibration of a model."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from bayescal._arrays import Floats

#: Nodes of the quadrature over a standard Normal variable, and their weights; the least share of rows at a node.
STEP = 0.04
NODES = np.arange(-225, 226) * STEP
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()
RARE = 1e-9
#: Newton steps: their number, their largest length, and the length at which they end.
NEWTON, LONGEST_STEP, SHORTEST_STEP = 60, 1.0, 1e-9


@dataclass(frozen=True, eq=False)
class Risks:
    """Possible populations, one per row: log odds of the predicted risks, which increase, true risks, and weights."""

    log_odds: Floats  # shape (n_truths or 1, n_nodes)
    risk: Floats  # shape (n_truths, n_nodes)
    weight: Floats = field(default_factory=lambda: WEIGHTS)  # shape (n_nodes,), sums to 1

    def coarse(self) -> "Risks":
        """Every second node that rows can have, for simulations."""
        kept = np.flatnonzero(self.weight[::2] > RARE) * 2
        weight = self.weight[kept]
        return Risks(self.log_odds[:, kept], self.risk[:, kept], weight / weight.sum())

    def above(self, threshold: float) -> tuple[Floats, Floats]:
        """Shares of all rows with a predicted risk of at least a threshold, with and without the event.

        Each node stands for the interval half-way to its neighbours, in which the density is linear.
        """
        x, at = np.broadcast_to(self.log_odds, self.risk.shape), float(logit(threshold))
        rows, right = np.arange(len(x)), np.clip((x < at).sum(axis=1), 1, x.shape[1] - 1)
        gap = np.maximum(x[rows, right] - x[rows, right - 1], 1e-300)
        u = np.clip((x[rows, right] - at) / gap, 0.0, 1.0)  # part of the interval that is above

        def beyond(mass: Floats) -> Floats:
            m, m_left = mass[rows, right], mass[rows, right - 1]
            from_node = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1][rows, right] - m / 2
            inside: Floats = np.where(at <= x[:, 0], mass.sum(axis=1), from_node + u * (m - u * (m - m_left) / 2))
            return np.where(at > x[:, -1], 0.0, inside)

        return beyond(self.weight * self.risk), beyond(self.weight * (1 - self.risk))


def shift_to_mean(log_odds: Floats, weight: Floats, mean: Floats) -> Floats:
    """Number to add to log odds, for each row of the arrays, so that the mean risk is `mean`; by Newton's method."""
    shift = np.zeros(max(len(log_odds), len(mean)))
    for _ in range(NEWTON):
        risk = expit(log_odds + shift[:, None])
        now = (weight * risk).sum(axis=1)
        slope = (weight * risk * (1 - risk)).sum(axis=1) / (now * (1 - now))
        step = np.clip((logit(mean) - logit(now)) / np.maximum(slope, 1e-3), -LONGEST_STEP, LONGEST_STEP)
        shift = shift + step
        if np.abs(step).max() < SHORTEST_STEP:
            break
    return shift


def logit_normal(prevalence: Floats, auc: Floats) -> Floats:
    """Log odds at the nodes, mu + sigma z, of true risks with a prevalence and an AUC; by Newton's method.

    As 2 AUC - 1 = E|p - p'| / (2 phi (1 - phi)) for independent risks p and p', it is the integral of
    Phi(z) Phi(-z) p'(z) / (phi (1 - phi)), which is smooth.
    """
    both = ndtr(NODES) * ndtr(-NODES) * STEP
    aim, at = np.stack([logit(prevalence), logit(2 * auc - 1)]), np.stack([logit(prevalence), np.log(2 * ndtri(auc))])

    def values(at: Floats) -> Floats:
        sigma = np.exp(at[1])
        risk = expit(at[0][:, None] + sigma[:, None] * NODES)
        mean, gini = risk @ WEIGHTS, sigma * ((risk * (1 - risk)) @ both)
        return np.stack([logit(mean), logit(np.minimum(gini / (mean * (1 - mean)), 1 - 1e-12))])

    for _ in range(NEWTON):
        now, small = values(at), 1e-6
        (a, c), (b, d) = ((values(at + small * np.array([[i == 0], [i == 1]])) - now) / small for i in (0, 1))
        first, second = aim - now
        step = np.stack([d * first - b * second, a * second - c * first]) / (a * d - b * c)
        at = at + np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max() < SHORTEST_STEP:
            break
    log_odds: Floats = at[0][:, None] + np.exp(at[1])[:, None] * NODES
    return log_odds


def log_odds_of(risks: Any) -> Floats:
    """Log odds at the nodes of a frozen distribution of risks, shape (1, n_nodes); the upper half from its tail."""
    if not (hasattr(risks, "ppf") and hasattr(risks, "isf")):
        raise TypeError(
            f"`risks` must be a frozen distribution, as scipy.stats.beta(2, 18), not of type {type(risks).__name__}."
        )
    values = np.concatenate([risks.ppf(ndtr(NODES[NODES <= 0])), risks.isf(ndtr(-NODES[NODES > 0]))])
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("`risks` must have values in [0, 1]: it is the distribution of the predicted risks.")
    log_odds: Floats = logit(np.clip(values, 1e-300, 1 - 1e-16))[None]
    return log_odds
