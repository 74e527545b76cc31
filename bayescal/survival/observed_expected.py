"""The ratio of observed to expected events."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.draws import BinDraws, Draws
from bayescal.posterior.joint import with_ranks_of
from bayescal.stats.contract import Counts

Floats = NDArray[np.float64]

#: Mean risks are clipped to this distance from 0 and 1, so that parameters of Beta distributions are positive.
LEAST = 1e-9


def observed_expected(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the ratio of the probability of the event to the mean stated risk; 1 if calibrated on average.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins, from a posterior given `counts`, which give the masses and the order of the draws.
    counts : BinnedCounts or HorizonCounts
        The counts.
    rng : None, int, SeedSequence or Generator
        Seed or generator.

    Returns
    -------
    Draws
        Above 0; values above 1 mean that more events happen than the risks say.

    Raises
    ------
    ValueError
        If all stated risks are 0, so that no event is expected.

    Notes
    -----
    The ratio is :math:`\sum_b m_b \theta_b / \sum_b m_b \mu_b` with masses m and mean risks :math:`\mu`. The
    probabilities are not shrunk towards the risks:

    .. math:: \theta_b \sim \mathrm{Beta}(k_b + \mu_b,\; n_b - k_b + 1 - \mu_b)

    with effective numbers of rows and events n and k, and one further row per bin at the stated risk. The draws have
    the ranks of the ratio that follows from `bin_draws`, so that they are joint with the draws of the ECE.

    Examples
    --------
    >>> from bayescal import evaluate
    >>> ev = evaluate([0, 1] * 200, [0.3, 0.5] * 200, rng=1)
    >>> observed_expected(ev.bin_draws, ev.counts, rng=1).interval(0.95)
    (1.1..., 1.3...)
    """
    used = bin_draws.mass.any(axis=0)
    mass, mean = bin_draws.mass[:, used], np.clip(bin_draws.confidence[:, used], LEAST, 1 - LEAST)
    if not expects_events(counts):
        raise ValueError("all stated risks are 0: no event is expected, and there is no ratio to the expected events.")
    n, k = counts.effective_n[used], counts.effective_k[used]
    k = np.clip(k, 0.0, n)
    accuracy = _checks.generator(rng).beta(k + mean[0], n - k + 1 - mean[0], mass.shape)
    expected = (mass * mean).sum(axis=1)
    shrunk = (mass * bin_draws.accuracy[:, used]).sum(axis=1) / expected
    return Draws(with_ranks_of(shrunk, (mass * accuracy).sum(axis=1) / expected), "observed_expected")


def expects_events(counts: Counts) -> bool:
    """Return whether the mean stated risk is above 0, or there are no rows.

    Examples
    --------
    >>> from bayescal import BinnedCounts
    >>> expects_events(BinnedCounts.from_arrays([0, 1], [0.0, 0.0]))
    False
    """
    used = counts.occupied
    return not used.any() or float(counts.share[used] @ counts.mean_confidence[used]) > LEAST


def observed_ratio(counts: Counts) -> float:
    """Return the observed ratio: that of the bins' estimates, weighted with the rows; NaN without rows.

    Bins of censored rows that are not followed to the horizon are left out.

    Examples
    --------
    >>> from bayescal import BinnedCounts
    >>> observed_ratio(BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.3, 0.5]))
    2.0
    """
    used = counts.occupied & (counts.effective_n > 0)
    if not used.any():
        return float("nan")
    expected = float(counts.share[used] @ counts.mean_confidence[used])
    return float(counts.share[used] @ counts.accuracy[used]) / max(expected, LEAST)
