"""Calibration errors: each a function of one draw of (mass, accuracy, confidence), so joint statements are possible."""

import numpy as np

from bayescal import _checks
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import estimand


@estimand(
    "ECE",
    title="Expected Calibration Error",
    of_calibration=True,
    reference="Naeini, Cooper and Hauskrecht (2015), AAAI, section 4",
)
def ece(bins: BinDraws) -> Draws:
    r"""Draw the Expected Calibration Error, :math:`\sum_b m_b |\theta_b - \mu_b|`.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> ece(bins).values
    array([0.25])
    """
    return Draws(_weighted(bins, np.abs(_checked(bins).gap)), "ece")


def lp_error(bins: BinDraws, p: float = 2.0) -> Draws:
    r"""Draw the l_p calibration error, :math:`(\sum_b m_b |\theta_b - \mu_b|^p)^{1/p}`.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> lp_error(bins, 2).values
    array([0.25495098])
    """
    order = float(_checks.positive("p", p))
    if order < 1:
        raise ValueError(f"`p` must be >= 1, not {p}; below 1 it is no norm.")
    gap = np.abs(_checked(bins).gap)
    # relative to the draw's largest gap, so that high powers do not underflow
    largest = gap.max(axis=1)
    scaled = gap / np.where(largest > 0, largest, 1.0)[:, None]
    return Draws(largest * _weighted(bins, scaled**order) ** (1 / order), f"l{p:g}_error")


@estimand("l_2 error", of_calibration=True, reference="Kumar, Liang and Ma (2019), NeurIPS, definition 2.2")
def l2_error(bins: BinDraws) -> Draws:
    """Draw the l_2 (root mean square) calibration error: `lp_error` of order 2.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> l2_error(bins).values
    array([0.25495098])
    """
    return Draws(lp_error(bins, 2).values, "l2_error")


@estimand("largest error", of_calibration=True, reference="Naeini, Cooper and Hauskrecht (2015), AAAI, section 4")
def max_error(bins: BinDraws) -> Draws:
    """Draw the maximum calibration error: the largest absolute gap among occupied bins, however few their rows.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> max_error(bins).values
    array([0.3])
    """
    gap = np.abs(_checked(bins).gap)
    return Draws(gap[:, bins.occupied].max(axis=1), "max_error")


@estimand("signed error", better="nearest zero", bounds=(-1.0, 1.0))
def signed_error(bins: BinDraws) -> Draws:
    r"""Draw the signed error, :math:`\sum_b m_b (\theta_b - \mu_b)`: calibration in the large.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> signed_error(bins).values
    array([-0.05])
    """
    return Draws(_weighted(bins, _checked(bins).gap), "signed_error")


@estimand("over-confidence", stated="stated too high")
def overconfidence(bins: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose confidence exceeds their accuracy; the rest is `underconfidence`.

    For probabilities of an event, read it as "stated too high": an under-confident classifier, which states small
    probabilities too high and large ones too low, has both parts.

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> overconfidence(bins).values
    array([0.15])
    """
    return Draws(_weighted(bins, np.maximum(-_checked(bins).gap, 0.0)), "overconfidence")


@estimand("under-confidence", stated="stated too low")
def underconfidence(bins: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose accuracy exceeds their confidence; the rest is `overconfidence`.

    For probabilities of an event, read it as "stated too low".

    Parameters
    ----------
    bins : BinDraws
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
    >>> bins = observed_bins(BinnedCounts.from_arrays([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> underconfidence(bins).values
    array([0.1])
    """
    return Draws(_weighted(bins, np.maximum(_checked(bins).gap, 0.0)), "underconfidence")


def _checked(bins: BinDraws) -> BinDraws:
    if not isinstance(bins, BinDraws):
        raise TypeError(
            f"`bins` must be BinDraws, not {type(bins).__name__}; an evaluation has them as `evaluation.bins`, "
            "and its own quantities as `evaluation.ece` and the like."
        )
    return bins


def _weighted(bins: BinDraws, values: np.ndarray) -> np.ndarray:
    return np.einsum("sb,sb->s", np.broadcast_to(bins.weight, values.shape), values)
