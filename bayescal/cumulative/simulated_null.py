"""The null distribution of a cumulative difference: simulated outcomes of calibrated scores, and how normal it is."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.cumulative.statistics import kolmogorov_smirnov, kuiper
from bayescal.stats.ordered import OrderedSums

Floats = NDArray[np.float64]

#: The functions of a curve, in the order of `PValues`.
STATISTICS = kuiper, kolmogorov_smirnov
#: Effective number of rare outcomes below which tails of Brownian motion and intervals are rough; results say so.
FEW_RARE = 10
#: Steps of simulated curves in memory at a time.
AT_ONCE = 2**21
#: Relative difference of statistics that counts as rounding.
ROUNDING = 1e-9


class PValues(NamedTuple):
    """P-values of both statistics: the probability of at least the observed size under calibration."""

    kuiper: float
    kolmogorov_smirnov: float


def simulate_null(steps: OrderedSums, observed: PValues, simulations: int, rng: np.random.Generator) -> PValues:
    r"""Estimate P-values from simulated outcomes, which are Bernoulli variables with the scores as probabilities.

    They are :math:`(1 + \#\{D_b \ge D\}) / (B + 1)` for B simulations, at most :math:`\alpha` with a probability of at
    most :math:`\alpha` under calibration, for every number of rows. With weights, each step must be one row.
    """
    score = steps.score.astype(np.float64, copy=False)
    size, single = steps.weight / steps.n_rows, bool((steps.n_rows == 1).all())
    expected = steps.weight * score
    least = np.array(observed) * (1 - ROUNDING) * float(steps.weight.sum())
    reached = np.zeros(2, dtype=np.int64)
    at_once = max(1, AT_ONCE // len(score))
    for begin in range(0, simulations, at_once):
        shape = (min(at_once, simulations - begin), len(score))
        events = rng.random(shape) < score if single else rng.binomial(steps.n_rows, score, shape)
        curve = np.zeros((shape[0], len(score) + 1))
        np.cumsum(events * size - expected, axis=1, out=curve[:, 1:])
        reached += [np.count_nonzero(of(curve) >= value) for of, value in zip(STATISTICS, least, strict=True)]
    return PValues(*((1 + reached) / (1 + simulations)).tolist())
