"""Net benefit of treating at a threshold, and decisions between strategies: functions of draws."""

from typing import NamedTuple

import numpy as np

from bayescal._arrays import Floats

#: Net benefits that differ by at most this are tied: rounding.
TIED = 1e-12


def odds(thresholds: Floats) -> Floats:
    """Weight of a false positive, relative to a true positive: t / (1 - t)."""
    return thresholds / (1 - thresholds)


def gain_of_treating(thresholds: Floats, prevalence: float | None = None) -> Floats:
    """Net benefit per treated row of outcome 0 and of outcome 1, shape (2, n_thresholds)."""
    gain = np.stack([-odds(thresholds), np.ones_like(thresholds)])
    return gain if prevalence is None else gain * np.array([[1 - prevalence], [prevalence]])


def share_treated(mass: Floats) -> Floats:
    """Sum the masses of score cells from each threshold on; the last axis is the cell, and then the threshold."""
    return np.cumsum(mass[..., :0:-1], axis=-1)[..., ::-1]


def net_benefit_of(treated: Floats, gain: Floats) -> Floats:
    r"""Net benefit, :math:`P(p \ge t, y = 1) - \frac{t}{1 - t} P(p \ge t, y = 0)` [1]_, in true positives per row.

    `treated` has the probabilities of being treated, by outcome, shape (..., 2, n_thresholds); `gain` is that of
    `gain_of_treating`.

    .. [1] A. J. Vickers and E. B. Elkin (2006), "Decision curve analysis: a novel method for evaluating prediction
       models", Medical Decision Making 26, 565-574.
    """
    negative: Floats = treated[..., 0, :] * gain[0]
    return negative + treated[..., 1, :] * gain[1]


class Decisions(NamedTuple):
    """Probabilities and values of choosing a strategy at each threshold.

    `p_useful`, shape (n_models, n_thresholds), is the probability that a model has a larger net benefit than treating
    all and than treating none. `p_best`, shape (n_models + 2, n_thresholds), is the probability that each strategy is
    the best: treating none, treating all, each model; strategies that tie in a draw share it. `evpi`, shape
    (n_thresholds,), is the expected value of perfect information, E max - max E of the net benefits of all strategies:
    what it would be worth per row to know the best strategy.
    """

    p_useful: Floats
    p_best: Floats
    evpi: Floats


def decide(models: Floats, treat_all: Floats) -> Decisions:
    """Compare the strategies at each threshold; their definitions are those of bayesDCA [1]_.

    `models` are net benefits of shape (n_draws, n_models, n_thresholds), `treat_all` those of treating all, shape
    (n_draws, n_thresholds); that of treating none is 0.

    .. [1] G. N. F. Cruz and K. Korthauer (2023), "Bayesian decision curve analysis with bayesDCA", arXiv 2308.02067.
    """
    default = np.maximum(treat_all, 0.0)[:, None]
    useful = (models > default + TIED).mean(axis=0)
    every = np.concatenate([np.zeros_like(default), treat_all[:, None], models], axis=1)
    largest = every.max(axis=1, keepdims=True)
    winners = every >= largest - TIED
    best: Floats = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    evpi = largest[:, 0].mean(axis=0) - every.mean(axis=0).max(axis=0)
    return Decisions(useful, best, np.maximum(evpi, 0.0))
