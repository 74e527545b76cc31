"""Two reference points beside every posterior: the plug-in value, and its distribution if the model were calibrated."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.stats.contract import Counts

#: The compiled loop tabulates distributions of bins with at most so many rows.
MOST_TABULATED = 10_000_000


def observed_bins(counts: Counts) -> BinDraws:
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


def null_bins(counts: Counts, n_draws: int = 4000, *, rng: Any = None, compiled: bool = False) -> BinDraws:
    r"""Draw observed bins as they would be if the model were exactly calibrated.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.
    n_draws : int, default 4000
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Randomness, as for `numpy.random.default_rng`.
    compiled : bool, default False
        Whether a compiled loop draws, which is faster and gives other draws.

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
    n_draws, share = _checks.whole_number("draws", n_draws), counts.share[keep][None]
    if compiled and n.max() <= MOST_TABULATED:
        from bayescal.estimands.compiled_null import binomial_shares

        accuracy = np.empty((n_draws, len(n)))
        binomial_shares(_checks.generator(rng), n, confidence, accuracy)
        return BinDraws(share, accuracy, confidence[None], np.ones(len(n), bool), share)
    # bin by bin in memory: the generator sets up once for a bin's parameters, not once for every draw
    k = _checks.generator(rng).binomial(n[:, None], confidence[:, None], size=(len(n), n_draws)).T
    return BinDraws(share, k / n, confidence[None], np.ones(len(n), bool), share)


def _some_rows(counts: Counts) -> np.ndarray:
    if not counts.occupied.any():
        raise ValueError("`counts` has no rows: there is no plug-in value and no null reference.")
    return counts.occupied
