"""Calibration errors: each a function of one draw of (mass, accuracy, confidence), so joint statements are possible."""

import numpy as np

from bayescal import _checks
from bayescal._draws import BinDraws, Draws


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
    """
    return Draws(_weighted(bins, np.abs(bins.gap)), "ece")


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
    """
    order = float(_checks.positive("p", p))
    if order < 1:
        raise ValueError(f"`p` must be >= 1, not {p}; below 1 it is no norm.")
    return Draws(_weighted(bins, np.abs(bins.gap) ** order) ** (1 / order), f"l{p:g}_error")


def l2_error(bins: BinDraws) -> Draws:
    """Draw the l_2 (root mean square) calibration error: `lp_error` of order 2."""
    return Draws(lp_error(bins, 2).values, "l2_error")


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
    """
    gap = np.abs(bins.gap)
    return Draws(gap[:, bins.occupied].max(axis=1), "max_error")


def signed_error(bins: BinDraws) -> Draws:
    r"""Draw the signed error, :math:`\sum_b m_b (\theta_b - \mu_b)`: calibration in the large.

    Parameters
    ----------
    bins : BinDraws
        Draws of the bins.

    Returns
    -------
    Draws
        In [-1, 1]; positive means under-confident on average. It equals `underconfidence` - `overconfidence`.
    """
    return Draws(_weighted(bins, bins.gap), "signed_error")


def overconfidence(bins: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose confidence exceeds their accuracy; the rest is `underconfidence`."""
    return Draws(_weighted(bins, np.maximum(-bins.gap, 0.0)), "overconfidence")


def underconfidence(bins: BinDraws) -> Draws:
    """Draw the part of the ECE from bins whose accuracy exceeds their confidence; the rest is `overconfidence`."""
    return Draws(_weighted(bins, np.maximum(bins.gap, 0.0)), "underconfidence")


def _weighted(bins: BinDraws, values: np.ndarray) -> np.ndarray:
    return np.einsum("sb,sb->s", np.broadcast_to(bins.weight, values.shape), values)


#: What every evaluation reports, in the order of its table.
REPORTED = {
    "ece": ece,
    "l2_error": l2_error,
    "max_error": max_error,
    "signed_error": signed_error,
    "overconfidence": overconfidence,
    "underconfidence": underconfidence,
}
