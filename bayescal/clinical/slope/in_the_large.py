"""Calibration in the large and observed / expected events: functionals of intercept, slope and the logits."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bayescal.clinical.slope.counts import LogitCounts

Floats = NDArray[np.float64]

#: Cells of the logits, which merge those of the counts.
MOST_GROUPS = 48
#: The shift of a draw is within these bounds, and found in at most so many steps.
FARTHEST, NEWTON_STEPS = 1e4, 80
#: Newton's method converges quadratically: the last step is below this, so the error of a shift is below 1e-9.
SHIFT_CONVERGED = 1e-5


def in_the_large(counts: LogitCounts, drawn: Floats, *, rng: np.random.Generator) -> Floats:
    r"""Draw the calibration in the large: the shift of the logits after which the mean probability is the event rate.

    For each draw of intercept a and slope b, shape (n_draws, 2), and of the distribution q of the logits x (a Bayesian
    bootstrap of the cells), it is the shift s with :math:`\sum q\,\mathrm{expit}(x + s) = \sum q\,\mathrm{expit}(a + b
    x)`. It does not assume that the slope is 1. With slope 1, it is the intercept:

    >>> counts = LogitCounts.from_arrays([0, 1, 1], [0.2, 0.6, 0.9])
    >>> in_the_large(counts, np.array([[0.3, 1.0]]), rng=np.random.default_rng(1))
    array([0.3])
    """
    x, n = _merged(counts.logit, counts.n)
    q = _masses(n, len(drawn), rng)
    q /= q.sum(axis=1, keepdims=True)
    goal = (q * expit(drawn[:, :1] + drawn[:, 1:] * x)).sum(axis=1)
    low, high = np.full(len(drawn), -FARTHEST), np.full(len(drawn), FARTHEST)
    spread = n * expit(x) * expit(-x)
    shift = drawn[:, 0] + (drawn[:, 1] - 1) * (spread @ x) / spread.sum()  # first order in slope - 1
    for _ in range(NEWTON_STEPS):  # Newton's method, kept within a bracket
        h = expit(x + shift[:, None])
        weighted = q * h
        excess = weighted.sum(axis=1) - goal
        slope = np.maximum(weighted.sum(axis=1) - (weighted * h).sum(axis=1), np.finfo(np.float64).tiny)
        low, high = np.where(excess < 0, shift, low), np.where(excess > 0, shift, high)
        new = shift - excess / slope
        new = np.where((new > low) & (new < high), new, np.where(excess == 0, shift, (low + high) / 2))
        done = np.abs(new - shift).max() < SHIFT_CONVERGED
        shift = new
        if done:
            break
    return shift


def observed_expected(counts: LogitCounts, drawn: Floats, *, rng: np.random.Generator) -> Floats:
    r"""Draw the ratio of observed to expected events: the event rate, divided by the mean probability.

    It is :math:`\sum q\,\mathrm{expit}(a + b x) / \sum q\,\mathrm{expit}(x)` for each draw of (a, b), shape (n_draws,
    2), and of the distribution q of the logits x, which is that of `in_the_large` with the same seed; above 1 if and
    only if the calibration in the large is above 0. Rows of outcome 1 with a probability of exactly 1 count as one
    observed and one expected event.

    All rows have a probability of 0.2, and the draw has an event rate of 0.3:

    >>> counts = LogitCounts.from_arrays([0, 1, 0], [0.2, 0.2, 0.2])
    >>> shift = np.log(0.3 / 0.7) - np.log(0.2 / 0.8)
    >>> observed_expected(counts, np.array([[shift, 1.0]]), rng=np.random.default_rng(1)).round(6)
    array([1.5])
    """
    x, n = _merged(counts.logit, counts.n)
    q = _masses(n, len(drawn), rng)
    certain = rng.standard_gamma(counts.certain_events, len(drawn))
    observed = (q * expit(drawn[:, :1] + drawn[:, 1:] * x)).sum(axis=1) + certain
    ratio: Floats = observed / (q @ expit(x) + certain)
    return ratio


def _masses(n: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw masses of the cells, whose shares are a Bayesian bootstrap; shape (n_draws, n_cells)."""
    masses: Floats = np.maximum(rng.standard_gamma(n, (n_draws, len(n))), np.finfo(np.float64).tiny)
    return masses


def _merged(x: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Merge neighbouring cells into at most `MOST_GROUPS`, half by their rows and half by their range of logits."""
    if len(x) <= MOST_GROUPS:
        return x, n
    share = (np.cumsum(n) - n / 2) / n.sum() + (x - x[0]) / (x[-1] - x[0])
    group = np.minimum((share / 2 * MOST_GROUPS).astype(np.int64), MOST_GROUPS - 1)
    total = np.bincount(group, n, MOST_GROUPS)
    used = total > 0
    return np.bincount(group, n * x, MOST_GROUPS)[used] / total[used], total[used]
