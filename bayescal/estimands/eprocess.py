r"""E-processes for calibration, from the counts of windows: tests that stay valid however often one looks.

An e-process is a sequence :math:`E_1, E_2, \dots \ge 0` that is, under its hypothesis, at most a martingale that starts
with 1. Then the probability that it *ever* reaches :math:`1 / \alpha` is at most :math:`\alpha` (Ville [1]_). Both
processes of this module are mixtures of products over windows, with weights that are fixed beforehand; nothing is
fitted. A window is one row of arrays: numbers of rows, numbers of outcomes 1 and mean confidences by bin.

**Calibration.** Hypothesis: given its confidence :math:`c_i` and all rows before, each outcome is 1 with probability
:math:`c_i`. For accuracies :math:`q_b` that do not depend on the outcomes of the window,

.. math:: e = \prod_b (q_b / \bar c_b)^{k_b} ((1 - q_b) / (1 - \bar c_b))^{n_b - k_b}

has mean at most 1, as each row contributes the factor
:math:`1 + (q_b - \bar c_b)(c_i - \bar c_b) / (\bar c_b (1 - \bar c_b))` to the mean, the logarithm of a factor
:math:`1 + x` is at most x, and :math:`\sum_i (c_i - \bar c_b) = 0` in each bin. For single rows this is the e-value of
[2]_; here sums by bin suffice.

**Change.** Hypothesis: in each bin, the rows of a reference and those after it are exchangeable, whatever the curve.
Then normal scores Z of the windows (`bayescal.estimands.normal_scores`) are independent and standard normal, and
:math:`\exp(d Z - d^2 / 2)` has mean 1 for every d that does not depend on outcomes [3]_.

**Mixture.** Half of the weight is on drifts of all bins by :math:`\delta_b = a + s \operatorname{logit} \bar c_b`, half
on jumps of single bins. Each begins in a window j with weight :math:`w_j \propto j^{-3/2}`.

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
#: Distance of mean confidences from 0 and 1 in a test of calibration, and in a test of change.
MARGIN, MARGIN_OF_REFERENCE = 1e-6, 1e-4
#: Bins of windows whose alternatives are held in memory at once.
CELLS = 2**14
#: The logit of a confidence that a change of slope multiplies is at most this in size.
FARTHEST = 9.0


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


def calibration_e_values(n: Floats, k: Floats, mean_confidence: Floats) -> LogEValues:
    r"""Return the e-values of windows against exact calibration, for each alternative.

    Parameters
    ----------
    n, k : ndarray, shape (n_windows, ..., n_bins)
        Rows, and rows with outcome 1.
    mean_confidence : ndarray, shape (n_windows, ..., n_bins)
        Means of the confidences; not used where a bin has no rows.

    Returns
    -------
    LogEValues
        :math:`k \delta - n \log(1 + \bar c (e^\delta - 1))`, the logarithm of
        :math:`(q / \bar c)^k ((1 - q) / (1 - \bar c))^{n - k}` for :math:`q` with logit
        :math:`\operatorname{logit} \bar c + \delta`.

    Notes
    -----
    Means within 1e-6 of 0 or 1 are replaced by that distance. This keeps the mean of an e-value at most 1 only if q is
    on the other side of it than the mean, so alternatives that move such a bin towards 0 or 1 leave it unchanged.

    Examples
    --------
    A row with confidence 0.5 and outcome 1; the logit moves by 1.

    >>> found = calibration_e_values(np.array([[1.0]]), np.array([[1.0]]), np.array([[0.5]]))
    >>> at = int(np.flatnonzero((SHIFT == 1.0) & (STRETCH == 0))[0])
    >>> float(np.exp(found.drift[0, at]).round(6)), float((2 / (1 + np.exp(-1))).round(6))
    (1.462117, 1.462117)
    """
    mean = np.where(n > 0, mean_confidence, 0.5)
    c = np.clip(mean, MARGIN, 1 - MARGIN)
    logit = np.clip(np.log(c) - np.log1p(-c), -FARTHEST, FARTHEST)
    least = np.where(mean < MARGIN, 0.0, -np.inf)[..., None]
    most = np.where(mean > 1 - MARGIN, 0.0, np.inf)[..., None]

    def log_e(delta: Floats) -> Floats:
        delta = np.clip(delta, least, most)
        return k[..., None] * delta - n[..., None] * np.log1p(c[..., None] * np.expm1(delta))

    return LogEValues(log_e(SHIFT + STRETCH * logit[..., None]).sum(axis=-2), log_e(JUMPS))


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
    c = np.clip(mean_confidence, MARGIN_OF_REFERENCE, 1 - MARGIN_OF_REFERENCE)
    logit = np.log(c) - np.log1p(-c)
    # the sums over bins of d z and of d^2, with d = scale (shift + stretch * logit), multiplied out
    slope = scale * logit
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
    c = np.clip(mean_confidence, MARGIN_OF_REFERENCE, 1 - MARGIN_OF_REFERENCE)
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
    from scipy.special import zeta

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
