"""The plug-in value of an estimand, and its null distribution: that of the plug-in value of a calibrated classifier."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.draws import BinDraws
from bayescal.posterior.copula import reorder
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts

#: The compiled loop tabulates distributions of bins with at most so many rows.
MOST_TABULATED = 10_000_000


def observed_bins(counts: Counts) -> BinDraws:
    """Return the observed shares, accuracies and mean confidences as a single draw, to which estimands can be applied.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.

    Returns
    -------
    BinDraws
        One draw of the occupied bins. Bins without labelled rows, as of a target population, have no observed gap.

    Raises
    ------
    ValueError
        If there are no rows.

    Examples
    --------
    >>> from bayescal import BinnedCounts
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
    >>> observed_bins(counts).gap
    array([[0.2, 0.2]])
    """
    keep = _some_rows(counts)
    share, confidence = counts.share[keep][None], counts.mean_confidence[keep][None]
    accuracy = counts.accuracy[keep][None]
    return BinDraws(
        mass=share,
        accuracy=np.where(np.isnan(accuracy), confidence, accuracy),  # no outcome was observed: no observed gap
        confidence=confidence,
        occupied=np.ones(int(keep.sum()), bool),
        weight=share,
    )


def null_bins(counts: Counts, n_draws: int = 4000, *, rng: Any = None, compiled: bool = False) -> BinDraws:
    r"""Draw observed bins of a calibrated classifier (null distribution).

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row.
    n_draws : int, default 4000
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.
    compiled : bool, default False
        Whether a compiled loop draws, which is faster and gives other draws.

    Returns
    -------
    BinDraws
        Shares and mean confidences as observed, accuracies :math:`k_b / n_b` with
        :math:`k_b \sim \mathrm{Binomial}(n_b, \bar c_b)`.

    Raises
    ------
    ValueError
        If there are no rows.

    Notes
    -----
    The estimand of each draw is one plug-in value under the null hypothesis of exact calibration. Consistency
    resampling [1]_ is similar, but it also resamples the confidences. With weights, :math:`n_b` is Kish's effective
    number of rows, rounded, and at least 1. For rows in clusters, it is divided by the design effect of the bin, and
    the draws of all bins are reordered to the correlation of their gaps (`ClusterSums.correlation`).

    References
    ----------
    .. [1] J. Broecker and L. A. Smith (2007), "Increasing the reliability of reliability diagrams", Weather and
       Forecasting 22, 651-661.

    Examples
    --------
    >>> from bayescal import BinnedCounts
    >>> counts = BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
    >>> null_bins(counts, 3, rng=1).accuracy.shape
    (3, 2)
    """
    keep = _some_rows(counts)
    clusters = clusters_of(counts)
    rows = counts.effective_n if clusters is None else counts.effective_n * (clusters.effects / clusters.bin_effects)
    n = np.maximum(np.rint(rows[keep]), 1).astype(np.int64)
    confidence = np.clip(counts.mean_confidence[keep], 0, 1)
    n_draws, share = _checks.whole_number("draws", n_draws), counts.share[keep][None]
    generator = _checks.generator(rng)
    if compiled and n.max() <= MOST_TABULATED:
        from bayescal._compiled import binomial_shares

        accuracy = np.empty((n_draws, len(n)))
        binomial_shares(generator, n, confidence, accuracy)
    else:
        # draws of a bin are contiguous: the generator then sets up once per bin and not once per draw
        accuracy = generator.binomial(n[:, None], confidence[:, None], size=(len(n), n_draws)).T / n
    if clusters is not None and clusters.icc > 0:
        accuracy = reorder(accuracy, clusters.correlation[np.ix_(keep, keep)], rng=generator)
    if (unobserved := np.isnan(counts.accuracy[keep])).any():
        accuracy[:, unobserved] = confidence[unobserved]
    return BinDraws(share, accuracy, confidence[None], np.ones(len(n), bool), share)


def _some_rows(counts: Counts) -> np.ndarray:
    if not counts.occupied.any():
        raise ValueError("`counts` has no rows: there is no plug-in value and no null distribution.")
    return counts.occupied
