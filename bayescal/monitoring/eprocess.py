r"""E-processes for calibration, from the counts of windows: tests that stay valid however often one looks.

An e-process is a sequence :math:`E_1, E_2, \dots \ge 0` that is, under its hypothesis, at most a martingale that starts
with 1. Then the probability that it *ever* reaches :math:`1 / \alpha` is at most :math:`\alpha` (Ville [1]_). Both
processes of this module are mixtures of products over windows, with weights that are fixed beforehand; nothing is
fitted. A window is one row of arrays: numbers of rows, numbers of outcomes 1 and mean confidences by bin.

**Calibration.** Hypothesis: given its confidence :math:`c_i` and all rows before, each outcome is 1 with probability
:math:`c_i`. For a fixed :math:`\delta`, a row has the factor :math:`e^{\delta z_i} / (1 + c_i (e^\delta - 1))`, whose
mean is 1 [2]_. As :math:`\log(1 + c (e^\delta - 1))` is concave in c, the product over the rows of a bin is at least

.. math:: e = e^{\delta k} / (1 + \bar c (e^\delta - 1))^n ,

which is known from sums by bin. So the mean of e is at most 1, also if confidences depend on earlier outcomes, those of
the same window included. This needs a :math:`\delta` that does not depend on rows of the window.

**Change.** Hypothesis: in each bin, the rows of a reference and those after it are exchangeable, whatever the curve.
Then normal scores Z of the windows (`bayescal.monitoring.normal_scores`) are independent and standard normal, and
:math:`\exp(d Z - d^2 / 2)` has mean 1 for every d that does not depend on outcomes [3]_.

**Mixture.** Half of the weight is on drifts of all bins by :math:`\delta_b = a + s \operatorname{logit} m_b`, where
:math:`m_b` is the midpoint of the bin, or the mean confidence of the reference if there is one; half is on jumps of
single bins. Each begins in a window j with weight :math:`w_j \propto j^{-3/2}`.

References
----------
.. [1] J. Ville (1939), Etude critique de la notion de collectif, Gauthier-Villars, Paris.
.. [2] S. Arnold, A. Henzi and J. F. Ziegel (2023), "Sequentially valid tests for forecast calibration", Annals of
   Applied Statistics 17, 1909-1935.
.. [3] V. Vovk (2021), "Testing randomness online", Statistical Science 36 (4).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from bayescal.stats.log_odds import logit

Floats = NDArray[np.float64]

#: Drifts: shifts of the logit, and relative changes of its slope.
SHIFTS = (-1.0, -0.5, -0.25, -0.12, -0.06, 0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
STRETCHES = (-0.6, -0.3, -0.15, 0.0, 0.15, 0.3, 0.6)
#: Prior weight of drifts without a shift, and of drifts without a change of slope.
NO_SHIFT, NO_STRETCH = 0.25, 0.5
#: Jumps of the logit in a single bin, and the probability with which a bin jumps.
JUMPS = np.array([-2.0, -1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0, 2.0])
JUMPING = 0.1
#: A drift or jump begins in window j with weight proportional to j to the power of minus this.
DECAY = 1.5
#: Centres of bins are at least this far from 0 and 1: their logits, which a change of slope multiplies, are within 9.3.
MARGIN = 1e-4
#: Bins of windows whose alternatives are held in memory at once.
CELLS = 2**14


def _lattice() -> tuple[Floats, Floats, Floats]:
    """Return shift, change of slope and prior weight of each drift; no drift is left out."""
    shift, stretch = (axis.ravel() for axis in np.meshgrid(SHIFTS, STRETCHES, indexing="ij"))
    weight = np.where(shift == 0, NO_SHIFT, (1 - NO_SHIFT) / (len(SHIFTS) - 1))
    weight = weight * np.where(stretch == 0, NO_STRETCH, (1 - NO_STRETCH) / (len(STRETCHES) - 1))
    drifts = (shift != 0) | (stretch != 0)
    return shift[drifts], stretch[drifts], weight[drifts] / weight[drifts].sum()


SHIFT, STRETCH, PRIOR = _lattice()


def blocks(shape: Sequence[int]) -> Iterator[slice]:
    """Yield slices of windows that need little memory, for arrays of shape (n_windows, ..., n_bins)."""
    size = max(1, CELLS // max(1, prod(shape[1:])))
    yield from (slice(i, i + size) for i in range(0, shape[0], size))


@dataclass(frozen=True, eq=False)
class LogEValues:
    """Logarithms of the e-values of windows, for each alternative.

    Parameters
    ----------
    drift : ndarray, shape (n_windows, ..., n_drifts)
        For each drift of all bins, given that it has begun.
    jump : ndarray, shape (n_windows, ..., n_bins, n_jumps)
        For each jump of each bin.
    """

    drift: Floats
    jump: Floats


def calibration_e_values(n: Floats, k: Floats, mean_confidence: Floats, midpoints: Floats) -> LogEValues:
    r"""Return the e-values of windows against exact calibration, for each alternative.

    Parameters
    ----------
    n, k : ndarray, shape (n_windows, ..., n_bins)
        Rows, and rows with outcome 1.
    mean_confidence : ndarray, shape (n_windows, ..., n_bins)
        Means of the confidences; not used where a bin has no rows.
    midpoints : ndarray, shape (n_bins,)
        Midpoints of the bins, whose logits a change of slope multiplies. They must not depend on the rows.

    Returns
    -------
    LogEValues
        :math:`k \delta - n \log(1 + \bar c (e^\delta - 1))`, the logarithm of
        :math:`(q / \bar c)^k ((1 - q) / (1 - \bar c))^{n - k}` for :math:`q` with logit
        :math:`\operatorname{logit} \bar c + \delta`.

    Examples
    --------
    A row with confidence 0.5 and outcome 1; the logit moves by 1.

    >>> found = calibration_e_values(np.array([[1.0]]), np.array([[1.0]]), np.array([[0.5]]), np.array([0.5]))
    >>> at = int(np.flatnonzero((SHIFT == 1.0) & (STRETCH == 0))[0])
    >>> float(np.exp(found.drift[0, at]).round(6)), float((2 / (1 + np.exp(-1))).round(6))
    (1.462117, 1.462117)
    """
    c = np.where(n > 0, mean_confidence, 0.5)[..., None]

    def log_e(delta: Floats) -> Floats:
        return k[..., None] * delta - n[..., None] * np.log1p(c * np.expm1(delta))

    drift = SHIFT + STRETCH * logit(midpoints, MARGIN)[:, None]
    return LogEValues(log_e(drift).sum(axis=-2), log_e(JUMPS))


def change_e_values(z: Floats, scale: Floats, mean_confidence: Floats) -> LogEValues:
    """Return the e-values of windows against exchangeability with a reference, for each alternative.

    Parameters
    ----------
    z : ndarray, shape (n_windows, ..., n_bins)
        Normal scores, as of `hypergeometric_scores`; 0 where there are none.
    scale : ndarray, shape (n_windows, ..., n_bins)
        Mean of z per unit of the logit, as of `score_scale`; 0 where there are no scores.
    mean_confidence : ndarray, shape (..., n_bins)
        Mean confidences of the reference.

    Returns
    -------
    LogEValues
        Sums over bins of d z - d^2 / 2, where d is the drift or jump times `scale`.
    """
    # the sums over bins of d z and of d^2, with d = scale (shift + stretch * logit), multiplied out
    slope = scale * logit(mean_confidence, MARGIN)
    linear = SHIFT * (scale * z).sum(axis=-1)[..., None] + STRETCH * (slope * z).sum(axis=-1)[..., None]
    squares, products, squared_slopes = (
        (x * y).sum(axis=-1)[..., None] for x, y in ((scale, scale), (scale, slope), (slope, slope))
    )
    drift = linear - (SHIFT**2 * squares + 2 * SHIFT * STRETCH * products + STRETCH**2 * squared_slopes) / 2
    d = JUMPS * scale[..., None]
    return LogEValues(drift, d * (z[..., None] - d / 2))


def score_scale(n: Floats, before: Floats, mean_confidence: Floats) -> Floats:
    r"""Return the mean of the normal scores per unit of the logit by which accuracies have moved.

    Parameters
    ----------
    n, before : ndarray, shape (..., n_bins)
        Rows of a window, and all rows before it, the reference included.
    mean_confidence : ndarray, shape (..., n_bins)
        Mean confidences of the reference.

    Returns
    -------
    ndarray
        :math:`\sqrt{n \bar c (1 - \bar c) N / (N + n)}` with N rows before; it does not depend on outcomes.
    """
    c = np.clip(mean_confidence, MARGIN, 1 - MARGIN)
    scale: Floats = np.sqrt(n * c * (1 - c) * before / np.maximum(before + n, 1))
    return scale


@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture of all drifts and jumps, over the window in which each begins, after some windows.

    Parameters
    ----------
    drift, jump : ndarray, shape (..., n_drifts) and (..., n_bins, n_jumps)
        Logarithm of the weighted sum, over the windows in which it may have begun, of the product of the e-values
        since then.
    windows : int
        Number of windows so far.
    """

    drift: Floats
    jump: Floats
    windows: int = 0

    @classmethod
    def start(cls, *shape: int) -> Self:
        """Return the mixture before the first window, for arrays of shape (..., n_bins)."""
        *streams, n_bins = shape
        return cls(np.full((*streams, len(SHIFT)), -np.inf), np.full((*streams, n_bins, len(JUMPS)), -np.inf))

    def after(self, windows: LogEValues) -> tuple[Self, Floats]:
        """Return the mixture after further windows, and the logarithm of the e-process after each of them."""
        first, size = self.windows + 1, len(windows.drift)
        log_weight, log_rest = _begins(first, size)
        drift = _recursion(self.drift, windows.drift, log_weight)
        jump = _recursion(self.jump, windows.jump, log_weight)
        last = type(self)(drift[-1], jump[-1], self.windows + size) if size else self
        return last, _mixed(drift, jump, log_rest)


def _begins(first: int, size: int) -> tuple[Floats, Floats]:
    """Return log weights of beginning in each of these windows, and of beginning after it."""
    window = np.arange(first, first + size, dtype=np.float64)
    total = zeta(DECAY, 1.0)
    return -DECAY * np.log(window) - np.log(total), np.log(zeta(DECAY, window + 1) / total)


def _recursion(before: Floats, log_e: Floats, log_weight: Floats) -> Floats:
    """Return log S after each window, with S <- (S + w) e."""
    total = np.cumsum(log_e, axis=0)
    added = np.empty((len(log_e) + 1, *before.shape))
    added[0] = before
    added[1:] = log_weight.reshape(-1, *[1] * before.ndim)
    added[2:] -= total[:-1]
    result: Floats = np.logaddexp.accumulate(added, axis=0)[1:] + total
    return result


def _mixed(drift: Floats, jump: Floats, log_rest: Floats) -> Floats:
    """Return the logarithm of the e-process; alternatives that have not begun have the value 1."""
    rest = log_rest.reshape(-1, *[1] * (drift.ndim - 2))
    drifts = np.logaddexp(_log_sum(drift + np.log(PRIOR)), rest)
    each = np.logaddexp(_log_sum(jump) - np.log(len(JUMPS)), rest[..., None])
    jumps = np.logaddexp(np.log1p(-JUMPING), np.log(JUMPING) + each).sum(axis=-1)
    mixed: Floats = np.logaddexp(drifts, jumps) - np.log(2)
    return mixed


def _log_sum(values: Floats) -> Floats:
    """Return log sum exp over the last axis."""
    largest = values.max(axis=-1)
    found: Floats = largest + np.log(np.exp(values - largest[..., None]).sum(axis=-1))
    return found
