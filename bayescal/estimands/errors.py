"""Calibration errors: each a function of one draw of (mass, accuracy, confidence), so joint statements are possible."""

import numpy as np

from bayescal import _checks, _moved
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import estimand


@estimand(
    "ECE",
    title="Expected Calibration Error",
    of_calibration=True,
    citation="Naeini, Cooper and Hauskrecht (2015), AAAI, section 4",
)
@_moved.keywords(bins="bin_draws")
def ece(bin_draws: BinDraws) -> Draws:
    r"""Draw the Expected Calibration Error, :math:`\sum_b m_b |\theta_b - \mu_b|`.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [0, 1]; 0 is calibrated.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> ece(observed).values
    array([0.25])
    """
    return Draws(_weighted(bin_draws, np.abs(_checked(bin_draws).gap)), "ece")


@_moved.keywords(bins="bin_draws")
def lp_error(bin_draws: BinDraws, p: float = 2.0) -> Draws:
    r"""Draw the l_p calibration error, :math:`(\sum_b m_b |\theta_b - \mu_b|^p)^{1/p}`.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.
    p : float, default 2
        The order, at least 1; 1 gives the ECE. ``numpy.inf`` is not the limit here but `max_error`.

    Returns
    -------
    Draws
        In [0, 1], never below the ECE.

    Raises
    ------
    ValueError
        If `p` is below 1 or infinite.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> lp_error(observed, 2).values
    array([0.25495098])
    """
    order = float(_checks.positive("p", p))
    if order < 1:
        raise ValueError(f"`p` must be >= 1, not {p}; below 1 it is no norm.")
    gap = np.abs(_checked(bin_draws).gap)
    # relative to the draw's largest gap, so that high powers do not underflow
    largest = gap.max(axis=1)
    scaled = gap / np.where(largest > 0, largest, 1.0)[:, None]
    return Draws(largest * _weighted(bin_draws, scaled**order) ** (1 / order), f"l{p:g}_error")


@estimand("l_2 error", of_calibration=True, citation="Kumar, Liang and Ma (2019), NeurIPS, definition 2.2")
@_moved.keywords(bins="bin_draws")
def l2_error(bin_draws: BinDraws) -> Draws:
    """Draw the l_2 (root mean square) calibration error: `lp_error` of order 2.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [0, 1], never below the ECE.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> l2_error(observed).values
    array([0.25495098])
    """
    return Draws(lp_error(bin_draws, 2).values, "l2_error")


@estimand("largest error", of_calibration=True, citation="Naeini, Cooper and Hauskrecht (2015), AAAI, section 4")
@_moved.keywords(bins="bin_draws")
def max_error(bin_draws: BinDraws) -> Draws:
    """Draw the maximum calibration error: the largest absolute gap among occupied bins, however few their rows.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [0, 1], never below the l_p errors restricted to occupied bins.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> max_error(observed).values
    array([0.3])
    """
    gap = np.abs(_checked(bin_draws).gap)
    return Draws(gap[:, bin_draws.occupied].max(axis=1), "max_error")


@estimand("signed error", better="nearest zero", bounds=(-1.0, 1.0))
@_moved.keywords(bins="bin_draws")
def signed_error(bin_draws: BinDraws) -> Draws:
    r"""Draw the signed error, :math:`\sum_b m_b (\theta_b - \mu_b)`: calibration in the large.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [-1, 1]; negative means that confidences are too high on average. It equals `underconfidence` -
        `overconfidence`.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> signed_error(observed).values
    array([-0.05])
    """
    return Draws(_weighted(bin_draws, _checked(bin_draws).gap), "signed_error")


@estimand("over-confidence", stated="stated too high")
@_moved.keywords(bins="bin_draws")
def overconfidence(bin_draws: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose confidence exceeds their accuracy; the rest is `underconfidence`.

    For probabilities of an event, read it as "stated too high": an under-confident classifier, which states small
    probabilities too high and large ones too low, has both parts.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [0, 1]; with `underconfidence` it adds up to the ECE.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> overconfidence(observed).values
    array([0.15])
    """
    return Draws(_weighted(bin_draws, np.maximum(-_checked(bin_draws).gap, 0.0)), "overconfidence")


@estimand("under-confidence", stated="stated too low")
@_moved.keywords(bins="bin_draws")
def underconfidence(bin_draws: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose accuracy exceeds their confidence; the rest is `overconfidence`.

    For probabilities of an event, read it as "stated too low".

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [0, 1]; with `overconfidence` it adds up to the ECE.

    Examples
    --------
    Two bins of two rows each, with gaps 0.5 - 0.3 and 0.5 - 0.8.

    >>> from bayescal.estimands.plug_in import observed_bins
    >>> from bayescal.stats.binned import BinnedCounts
    >>> observed = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> underconfidence(observed).values
    array([0.1])
    """
    return Draws(_weighted(bin_draws, np.maximum(_checked(bin_draws).gap, 0.0)), "underconfidence")


def _checked(bin_draws: BinDraws) -> BinDraws:
    if not isinstance(bin_draws, BinDraws):
        raise TypeError(
            f"`bin_draws` must be BinDraws, not {type(bin_draws).__name__}; an evaluation has them as "
            "`evaluation.bin_draws`, and its own quantities as `evaluation.ece` and the like."
        )
    return bin_draws


def _weighted(bin_draws: BinDraws, values: np.ndarray) -> np.ndarray:
    return np.einsum("sb,sb->s", np.broadcast_to(bin_draws.weight, values.shape), values)
