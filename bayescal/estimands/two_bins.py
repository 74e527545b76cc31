"""The averaged two-bin calibration error: the mean over thresholds of the squared sums of gaps below and above it."""

import numpy as np

from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import _of_bins
from bayescal.estimands.registry import estimand
from bayescal.estimands.scores import stored_rows
from bayescal.stats.bins import Bins
from bayescal.stats.contract import Counts


def over_thresholds(confidence: Floats, gap: Floats) -> Floats:
    r"""Return the mean over q in [0, 1] of F(q)^2 + (F(1) - F(q))^2, along the last axis.

    F(q) is the sum of `gap`, shares of weight times outcome minus confidence, over the `confidence` below q, which
    increases. It is also :math:`\sum_{ij} g_i g_j (1 - |c_i - c_j|)`.
    """
    below = np.cumsum(gap, axis=-1)
    every = below[..., -1:]
    inner = np.diff(confidence, axis=-1) * (below**2 + (every - below) ** 2)[..., :-1]
    ends = (1 - confidence[..., -1] + confidence[..., 0]) * every[..., 0] ** 2
    return np.asarray(inner.sum(axis=-1) + ends)


def _observed(counts: Counts) -> float:
    ranks = counts.ranks
    if ranks is None or isinstance(ranks.grid, Bins) or stored_rows(counts) is not None:
        return float("nan")
    confidence, weight = ranks.middle, ranks.weight / ranks.weight.sum()
    return float(over_thresholds(confidence, weight[1] - confidence * weight.sum(axis=0)))


@estimand(
    "ATB",
    title="Averaged Two-Bin calibration error",
    of_calibration=True,
    of_total=True,
    reported=False,
    plug_in=_observed,
    citation="Hartline, Hu and Wu (2026), COLT, PMLR 336; arXiv 2508.13100",
    formula=r"\int_0^1 F(q)^2 + (F(1) - F(q))^2 \, dq,\quad F(q) = E[(y - c) 1\{c < q\}]",
    note=(
        "The plug-in ATB is the number for a leaderboard: on average, no confidence has a smaller one than the true "
        "probability. It needs the rows: sums of bins have none. Mean and interval are those of the population, and "
        "say how far from calibrated it is."
    ),
    synonyms=("averaged two-bin error", "two-bin calibration error", "truthful calibration error"),
)
@_of_bins
@public
def atb(bin_draws: BinDraws) -> Draws:
    r"""Draw the averaged two-bin calibration error, whose value on a sample no false confidence improves on average.

    Its value on the rows, ``evaluation.plug_in_of("atb")``, is the number for a leaderboard: the expected value is
    smallest if every confidence is the probability that the outcome is 1. The draws answer another question: how far
    the classifier is from calibrated.

    Returns
    -------
    Draws
        In [0, 1]; 0 if every bin is calibrated on average. It is the square of a distance: its root is at most the ECE.

    Notes
    -----
    With :math:`F(q) = E[(y - c) 1\{c < q\}]`, the error is :math:`\int_0^1 F(q)^2 + (F(1) - F(q))^2 \, dq` [1]_: for
    each threshold q, the rows below and those above it are two bins. It is also
    :math:`E[(y - c)(y' - c')(1 - |c - c'|)]` for two independent rows. With n independent rows whose outcomes have the
    probabilities r, the expected value on the sample is

    .. math:: \frac{1}{n} E[(y - c)^2] + \left(1 - \frac{1}{n}\right) \mathrm{ATB}(r),

    and both terms are smallest if c = r. This holds for the value on the sample, not for its root, and not for the
    posterior mean. The definition is that of the abstract of [1]_; further results of the paper are not used here.

    In the draws, the gap of each bin is at its mean confidence. The value on the rows is NaN for counts without ranks,
    such as those of streams and files: with few bins, that of the bins is another number.

    References
    ----------
    .. [1] J. Hartline, L. Hu and Y. Wu (2026), "A perfectly truthful calibration measure", Proceedings of the 39th
       Conference on Learning Theory, PMLR 336; arXiv 2508.13100.

    Examples
    --------
    In the first draw of the bins of `ece`, gaps times masses are 0.1, -0.03 and 0.08, at 0.1, 0.5 and 0.6. So F is 0 up
    to 0.1, 0.1 up to 0.5, 0.07 up to 0.6, and 0.15 from there on:
    0.5 x 0.15^2 + 0.4 x (0.1^2 + 0.05^2) + 0.1 x (0.07^2 + 0.08^2) = 0.01738.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> bc.estimands.atb(EXAMPLE).values.round(5)
    array([0.01738, 0.00625])
    """
    return Draws(over_thresholds(bin_draws.confidence, bin_draws.weight * bin_draws.gap), "atb")
