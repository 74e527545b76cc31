r"""Sequential statistics of windows: e-processes and a confidence sequence, both anytime-valid.

A window is one row of arrays: numbers of rows, numbers of outcomes 1 and mean confidences by bin.

An **e-process** is a sequence :math:`E_1, E_2, \dots \ge 0` that is, under its hypothesis, at most a martingale that
starts with 1. Then the probability that it *ever* reaches :math:`1 / \alpha` is at most :math:`\alpha` (Ville [1]_).
Both processes of this module are mixtures of products over windows, with weights that are fixed beforehand; nothing is
fitted.

**Calibration.** Hypothesis: given its confidence :math:`c_i` and all rows before, each outcome is 1 with probability
:math:`c_i`. For a fixed :math:`\delta`, a row has the factor :math:`e^{\delta z_i} / (1 + c_i (e^\delta - 1))`, whose
mean is 1 [2]_. As :math:`\log(1 + c (e^\delta - 1))` is concave in c, the product over the rows of a bin is at least

.. math:: e = e^{\delta k} / (1 + \bar c (e^\delta - 1))^n ,

which is known from sums by bin. So the mean of e is at most 1, also if confidences depend on earlier outcomes, those of
the same window included. This needs a :math:`\delta` that does not depend on rows of the window.

**Change.** Hypothesis: in each bin, the rows of a reference and those after it are exchangeable, whatever the curve.
Then the number k of outcomes 1 in the last n of N rows, of which K have outcome 1, has the hypergeometric distribution.
Its randomised distribution function :math:`P(X < k) + U P(X = k)`, with U uniform on (0, 1), is uniform, and those of
successive windows are independent: given K, the value of the last window says nothing about the rows before it, so that
the argument can be repeated for them. These are the online conformal P-values of [3]_ for windows instead of rows. So
their normal scores Z are independent and standard normal, and :math:`\exp(d Z - d^2 / 2)` has mean 1 for every d that
does not depend on outcomes.

**Mixture.** Half of the weight is on drifts of all bins by :math:`\delta_b = a + s \operatorname{logit} m_b`, where
:math:`m_b` is the midpoint of the bin, or the mean confidence of the reference if there is one; half is on jumps of
single bins. Each begins in a window j with weight :math:`w_j \propto j^{-3/2}`.

A **confidence sequence** of the ECE has an interval after each window, all of which hold at once. Hypothesis: the
accuracies :math:`\theta_b` are constant, that is, given all rows before, the outcome of a row in bin b is 1 with
probability :math:`\theta_b`. The marginal likelihood of any distribution of accuracies, divided by the likelihood of
the true ones, is a martingale with mean 1. So the set of all :math:`\theta` whose likelihood is at least :math:`\alpha`
times a marginal likelihood contains the true ones after all windows at once, with probability at least
:math:`1 - \alpha` (Robbins [4]_, by the inequality of Ville). The interval is the range, over this set, of
:math:`\sum_b m_b |\theta_b - \bar c_b|`, with the shares :math:`m_b` and mean confidences of the rows so far.

The marginal likelihood is a product over windows: the probability of the outcomes of each window given those before,
under a mixture of four parts (exact calibration, drifts of all bins, Beta accuracies in all bins, and in some bins).
They are centred on the mean confidences of the rows *before* the window (midpoints of bins without rows), because a
centre that depends on the confidences of the window would not be fixed when its rows are drawn.

References
----------
.. [1] J. Ville (1939), Etude critique de la notion de collectif, Gauthier-Villars, Paris.
.. [2] S. Arnold, A. Henzi and J. F. Ziegel (2023), "Sequentially valid tests for forecast calibration", Annals of
   Applied Statistics 17, 1909-1935.
.. [3] V. Vovk (2021), "Testing randomness online", Statistical Science 36 (4).
.. [4] H. Robbins (1970), "Statistical methods related to the law of the iterated logarithm", Annals of Mathematical
   Statistics 41, 1397-1409.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from scipy.special import betaln, ndtri, xlog1py, xlogy, zeta

from bayescal._arrays import Floats
from bayescal.stats.sums import logit

#: Drifts: shifts of the logit, and relative changes of its slope.
SHIFTS = (-1.0, -0.5, -0.25, -0.12, -0.06, 0.0, 0.06, 0.12, 0.25, 0.5, 1.0)
STRETCHES = (-0.6, -0.3, -0.15, 0.0, 0.15, 0.3, 0.6)
#: Prior weight of drifts without a shift, and of drifts without a change of slope.
NO_SHIFT, NO_STRETCH = 0.25, 0.5
#: Jumps of the logit in a single bin, and the probability with which a bin jumps.
JUMPS = np.array([-2.0, -1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0, 2.0])
JUMPING = 0.1
DECAY = 1.5  #: A drift or jump begins in window j with weight proportional to j to the power of minus this.
#: Centres of bins are at least this far from 0 and 1: their logits, which a change of slope multiplies, are within 9.3.
MARGIN = 1e-4
CELLS = 2**14  #: Bins of windows whose alternatives are held in memory at once.
#: Terms that are added at once, at first and at most.
FEWEST_TERMS, MOST_TERMS = 8, 4096
NEGLIGIBLE = 1e-17  #: The remaining terms may be this share of the sum.
SMALLEST = 1e-300  #: Tail probabilities are at least this, so that scores are finite: at most 37 in size.
#: Sizes of the Beta distributions, in rows, and probabilities with which a bin is off.
SIZES = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0])
OFF = (0.1, 0.4)
#: Range of the Lagrange multiplier, in units of the ECE per nat, and steps of its search.
LEAST_PRICE, MOST_PRICE = 1e-14, 1e2
PRICE_STEPS = 60
CENTRE_MARGIN = 1e-6  #: Centres of bins are at least this far from 0 and 1 in a marginal likelihood.
CLOSEST = 1e-300  #: Accuracies are at least this far from 0 and 1 where the logarithm of a likelihood is computed.


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
    """Logarithms of the e-values of windows, for each alternative, given that it has begun.

    `drift` of all bins has shape (n_windows, ..., n_drifts), and `jump` of each bin (n_windows, ..., n_bins, n_jumps).
    """

    drift: Floats
    jump: Floats


def calibration_e_values(n: Floats, k: Floats, mean_confidence: Floats, midpoints: Floats) -> LogEValues:
    r"""Return the e-values of windows against exact calibration, for each alternative.

    Rows `n`, rows with outcome 1 `k`, and `mean_confidence`, which is not used where a bin has no rows, have shape
    (n_windows, ..., n_bins). A change of slope multiplies the logits of `midpoints`, shape (n_bins,), which must not
    depend on the rows. The logarithm is :math:`k \delta - n \log(1 + \bar c (e^\delta - 1))`, that of :math:`(q / \bar
    c)^k ((1 - q) / (1 - \bar c))^{n - k}` for :math:`q` with logit :math:`\operatorname{logit} \bar c + \delta`.
    """
    c = np.where(n > 0, mean_confidence, 0.5)[..., None]

    def log_e(delta: Floats) -> Floats:
        return k[..., None] * delta - n[..., None] * np.log1p(c * np.expm1(delta))

    drift = SHIFT + STRETCH * logit(midpoints, MARGIN)[:, None]
    return LogEValues(log_e(drift).sum(axis=-2), log_e(JUMPS))


def change_e_values(z: Floats, scale: Floats, mean_confidence: Floats) -> LogEValues:
    """Return the e-values of windows against exchangeability with a reference, for each alternative.

    Scores `z` of `hypergeometric_scores` and `scale` of `score_scale` have shape (n_windows, ..., n_bins) and are 0
    where there are none; `mean_confidence` is that of the reference. The logarithm is the sum over bins of d z - d^2 /
    2, where d is the drift or jump times `scale`.
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

    It is :math:`\sqrt{n \bar c (1 - \bar c) N / (N + n)}` with N rows before the window, those of the reference
    included, and the mean confidences of the reference; it does not depend on outcomes.
    """
    c = np.clip(mean_confidence, MARGIN, 1 - MARGIN)
    return np.asarray(np.sqrt(n * c * (1 - c) * before / np.maximum(before + n, 1)))


@dataclass(frozen=True, eq=False)
class Mixture:
    """The mixture of all drifts and jumps, over the window in which each begins, after some windows.

    `drift`, shape (..., n_drifts), and `jump`, shape (..., n_bins, n_jumps), are logarithms of the weighted sum, over
    the windows in which it may have begun, of the product of the e-values since then.
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
        size = len(windows.drift)
        number, total = self.windows + 1 + np.arange(size, dtype=np.float64), zeta(DECAY, 1.0)
        # of beginning in each of these windows, and of beginning after it
        log_weight, log_rest = -DECAY * np.log(number) - np.log(total), np.log(zeta(DECAY, number + 1) / total)
        drift = _recursion(self.drift, windows.drift, log_weight)
        jump = _recursion(self.jump, windows.jump, log_weight)
        last = type(self)(drift[-1], jump[-1], self.windows + size) if size else self
        return last, _mixed(drift, jump, log_rest)


def _recursion(before: Floats, log_e: Floats, log_weight: Floats) -> Floats:
    """Return log S after each window, with S <- (S + w) e."""
    total = np.cumsum(log_e, axis=0)
    added = np.empty((len(log_e) + 1, *before.shape))
    added[0] = before
    added[1:] = log_weight.reshape(-1, *[1] * before.ndim)
    added[2:] -= total[:-1]
    return np.asarray(np.logaddexp.accumulate(added, axis=0)[1:] + total)


def _mixed(drift: Floats, jump: Floats, log_rest: Floats) -> Floats:
    """Return the logarithm of the e-process; alternatives that have not begun have the value 1."""
    rest = log_rest.reshape(-1, *[1] * (drift.ndim - 2))
    drifts = np.logaddexp(_log_sum(drift + np.log(PRIOR)), rest)
    each = np.logaddexp(_log_sum(jump) - np.log(len(JUMPS)), rest[..., None])
    jumps = np.logaddexp(np.log1p(-JUMPING), np.log(JUMPING) + each).sum(axis=-1)
    return np.asarray(np.logaddexp(drifts, jumps) - np.log(2))


def _log_sum(values: Floats) -> Floats:
    """Return log sum exp over the last axis."""
    largest = values.max(axis=-1)
    return np.asarray(largest + np.log(np.exp(values - largest[..., None]).sum(axis=-1)))


def hypergeometric_scores(k: Floats, n: Floats, all_k: Floats, all_n: Floats, u: Floats) -> Floats:
    """Return normal quantiles of P(X < k) + u P(X = k), uniform u: standard normal if rows are exchangeable."""
    below, above = _sum_above(n - k, n, all_n - all_k, all_n), _sum_above(k, n, all_k, all_n)
    lower, upper = below + u, above + (1 - u)
    is_lower = lower <= upper
    tail = np.where(is_lower, lower, upper) / (1 + below + above)
    z = ndtri(np.maximum(tail, SMALLEST))
    return np.asarray(np.where(is_lower, z, -z))


def _sum_above(k: Floats, n: Floats, all_k: Floats, all_n: Floats) -> Floats:
    """Return P(X > k) / P(X = k), as the sum of products of ratios of successive probabilities."""
    k, n, all_k, all_n = (
        np.asarray(value, dtype=np.float64).ravel() for value in np.broadcast_arrays(k, n, all_k, all_n)
    )
    total, term, size = np.zeros(len(k)), np.ones(len(k)), FEWEST_TERMS
    todo, at = np.arange(len(k)), k.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while len(todo):
            j = at[todo, None] + np.arange(size)
            up = np.maximum(all_k[todo, None] - j, 0) * np.maximum(n[todo, None] - j, 0)
            ratio = up / ((j + 1) * (all_n - all_k - n)[todo, None] + (j + 1) ** 2)
            terms = term[todo, None] * np.cumprod(ratio, axis=1)
            terms[np.isnan(terms)] = np.inf  # infinity times 0: the sum is infinite already
            total[todo] += terms.sum(axis=1)
            term[todo], at[todo] = terms[:, -1], j[:, -1] + 1
            # the ratios decrease, so the rest is below a geometric series
            last = ratio[:, -1]
            rest = np.where(last < 1, term[todo] * last / (1 - last), np.inf)
            todo = todo[(rest > NEGLIGIBLE * (1 + total[todo])) & np.isfinite(total[todo])]
            size = min(2 * size, MOST_TERMS)
    return total


def log_marginals(n: Floats, k: Floats, midpoints: Floats, mean_confidence: Floats) -> Floats:
    """Return the log marginal likelihood of the outcomes up to each window, shape (n_windows, ...).

    Rows `n`, rows with outcome 1 `k`, and `mean_confidence` of the rows up to each window, which is not used in bins
    without rows, have shape (n_windows, ..., n_bins); `midpoints`, shape (n_bins,), are the centres of bins without
    rows. The result sums, over the windows, log p(outcomes up to a window) - log p(outcomes before it), both with the
    centres before the window.
    """
    none = np.zeros_like(n[:1])
    n_before, k_before = np.concatenate([none, n[:-1]]), np.concatenate([none, k[:-1]])
    centre = np.concatenate([none, mean_confidence[:-1]])
    centre = np.where(n_before > 0, centre, midpoints)
    parts = [
        _log_mixture(n[part], k[part], centre[part]) - _log_mixture(n_before[part], k_before[part], centre[part])
        for part in blocks(n.shape)
    ]
    return np.asarray(np.cumsum(np.concatenate(parts), axis=0))


def _log_mixture(n: Floats, k: Floats, centre: Floats) -> Floats:
    """Return the log marginal likelihood of counts under the mixture with given centres."""
    c = np.clip(centre, CENTRE_MARGIN, 1 - CENTRE_MARGIN)[..., None]
    n, k = n[..., None], k[..., None]
    calibrated = k * np.log(c) + (n - k) * np.log1p(-c)
    logit = np.log(c) - np.log1p(-c)
    delta = SHIFT + STRETCH * logit
    drift = (calibrated + k * delta - n * np.log1p(c * np.expm1(delta))).sum(axis=-2)
    beta = betaln(SIZES * c + k, SIZES * (1 - c) + n - k) - betaln(SIZES * c, SIZES * (1 - c))
    on, off = calibrated[..., 0], _log_mean(beta)
    some = [np.logaddexp(np.log1p(-share) + on, np.log(share) + off).sum(axis=-1) for share in OFF]
    parts = [on.sum(axis=-1), _log_mean(drift + np.log(PRIOR * len(PRIOR))), _log_mean(beta.sum(axis=-2))]
    return _log_mean(np.stack([*parts, _log_mean(np.stack(some, axis=-1))], axis=-1))


def _log_mean(values: Floats) -> Floats:
    """Return the log of the mean of exp over the last axis."""
    largest = values.max(axis=-1)
    return np.asarray(largest + np.log(np.exp(values - largest[..., None]).mean(axis=-1)))


def ece_intervals(n: Floats, k: Floats, mean_confidence: Floats, log_marginal: Floats, level: float) -> Floats:
    """Return the range of the ECE over all accuracies whose likelihood is at least `level` times the marginal one.

    Rows `n`, at least one, rows with outcome 1 `k`, and `mean_confidence`, which is not used in bins without rows, have
    shape (..., n_bins); `log_marginal`, as of `log_marginals`, has shape (...). `level` is the probability with which
    any of the intervals may miss its true value. The result, shape (2, ...), has the lower and the upper end. Both are
    values of the Lagrange dual problem, which are never inside the range.
    """
    total = n.sum(axis=-1, keepdims=True)
    share, seen = n / total, np.divide(k, n, out=np.zeros_like(n), where=n > 0)
    c = np.where(n > 0, mean_confidence, 0.0)
    budget = (xlogy(k, seen) + xlog1py(n - k, -seen)).sum(axis=-1) - log_marginal - np.log(level)

    def dual(price: Floats, theta: Floats, sign: float) -> Floats:
        """Return the gap of each bin, less or plus the price of its distance from the observed accuracy."""
        safe = np.clip(theta, CLOSEST, 1 - 1e-16)
        spent = n * (xlogy(seen, seen / safe) + xlogy(1 - seen, (1 - seen) / (1 - safe)))
        return share * np.abs(theta - c) - sign * price[..., None] * spent

    def above(price: Floats) -> Floats:
        ends = [dual(price, _best(share, price[..., None] * n, seen, up), 1.0) for up in (True, False)]
        return np.maximum(*ends).sum(axis=-1) + price * budget

    def below(price: Floats) -> Floats:
        spend = price[..., None] * n
        towards = np.where(
            seen > c, np.maximum(_best(share, spend, seen, False), c), np.minimum(_best(share, spend, seen, True), c)
        )
        return price * budget - dual(price, towards, -1.0).sum(axis=-1)

    high = np.minimum(_least(above, budget.shape), (share * np.maximum(c, 1 - c)).sum(axis=-1))
    low = np.maximum(-_least(below, budget.shape), 0.0)
    return np.stack([np.minimum(low, high), high])


def _best(share: Floats, spend: Floats, seen: Floats, up: bool) -> Floats:
    """Return the accuracy that maximises share * theta (or minus it) - spend * KL(seen, theta): a quadratic's root."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if not up:
            total = spend + share
            theta = 2 * spend * seen / (total + np.sqrt(np.maximum(total**2 - 4 * spend * share * seen, 0)))
        else:
            left = spend - share
            root = np.sqrt(left**2 + 4 * spend * share * seen)
            theta = np.where(left > 0, 2 * spend * seen / (left + root), (root - left) / (2 * share))
    return np.asarray(np.clip(np.where(share > 0, theta, seen), 0, 1))


def _least(function: Callable[[Floats], Floats], shape: tuple[int, ...]) -> Floats:
    """Return the smallest value that a golden-section search in the logarithm of the price finds."""
    golden = (np.sqrt(5) - 1) / 2
    low, high = (np.full(shape, np.log(price)) for price in (LEAST_PRICE, MOST_PRICE))
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(np.exp(left)), function(np.exp(right))
    for _ in range(PRICE_STEPS):
        rises = at_left <= at_right
        low, high = np.where(rises, low, left), np.where(rises, right, high)
        new = np.where(rises, high - golden * (high - low), low + golden * (high - low))
        at_new = function(np.exp(new))
        left, right = np.where(rises, new, right), np.where(rises, left, new)
        at_left, at_right = np.where(rises, at_new, at_right), np.where(rises, at_left, at_new)
    return np.minimum(at_left, at_right)
