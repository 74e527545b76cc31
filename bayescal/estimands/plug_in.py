"""The plug-in value, and its null distribution: that of the value if the classifier were exactly calibrated."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.stats.binned import BinnedCounts


def observed_bins(counts: BinnedCounts) -> BinDraws:
    """Take the observed shares, accuracies and mean confidences for the truth: one "draw", which any estimand takes.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.

    Returns
    -------
    BinDraws
        One draw of the occupied bins.

    Raises
    ------
    ValueError
        If there are no rows.
    """
    keep = _some_rows(counts)
    share = counts.share[keep][None]
    return BinDraws(
        mass=share,
        accuracy=counts.accuracy[keep][None],
        confidence=counts.mean_confidence[keep][None],
        occupied=np.ones(int(keep.sum()), bool),
        weight=share,
    )


def null_bins(counts: BinnedCounts, n_draws: int = 4000, *, rng: Any = None) -> BinDraws:
    r"""Draw observed bins as they would be if the classifier were exactly calibrated.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.
    n_draws : int, default 4000
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Randomness, as for `numpy.random.default_rng`.

    Returns
    -------
    BinDraws
        Shares and mean confidences as observed, accuracies :math:`k_b / n_b` with
        :math:`k_b \sim \mathrm{Binomial}(n_b, \bar c_b)`.

    Notes
    -----
    With weights :math:`n_b` is Kish's effective number, rounded to at least one row.
    """
    keep = _some_rows(counts)
    n = np.maximum(np.rint(counts.effective_n[keep]), 1).astype(np.int64)
    confidence = np.clip(counts.mean_confidence[keep], 0, 1)
    # bin by bin in memory: the generator sets up once for a bin's parameters, not once for every draw
    size = (len(n), _checks.whole_number("draws", n_draws))
    k = _checks.generator(rng).binomial(n[:, None], confidence[:, None], size=size).T
    share = counts.share[keep][None]
    return BinDraws(share, k / n, confidence[None], np.ones(len(n), bool), share)


def _some_rows(counts: BinnedCounts) -> np.ndarray:
    if not counts.occupied.any():
        raise ValueError("`counts` has no rows: there is no plug-in value and no null distribution.")
    return counts.occupied
