"""Calibration errors: functions of draws of (mass, accuracy, confidence), computed within each draw."""

import numpy as np

from bayescal import _checks
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import estimand

#: Bins of the examples below: two draws of three bins, the last of which has no rows.
EXAMPLE = BinDraws(
    mass=np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]),
    accuracy=np.array([[0.3, 0.4, 1.0], [0.0, 0.5, 1.0]]),
    confidence=np.array([[0.1, 0.5, 0.6], [0.3, 0.5, 0.5]]),
    occupied=np.array([True, True, False]),
    weight=np.array([[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]),
)


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
    Three bins with masses 0.5, 0.3 and 0.2 have gaps of 0.2, -0.1 and 0.4 in the first draw:
    0.5 x 0.2 + 0.3 x 0.1 + 0.2 x 0.4 = 0.21. In the second draw a bin without a gap adds nothing.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> EXAMPLE.mass, EXAMPLE.gap
    (array([[0.5 , 0.3 , 0.2 ],
           [0.25, 0.5 , 0.25]]), array([[ 0.2, -0.1,  0.4],
           [-0.3,  0. ,  0.5]]))
    >>> ece(EXAMPLE).values
    array([0.21, 0.2 ])
    """
    return Draws(_weighted(bins, np.abs(_checked(bins).gap)), "ece")


def lp_error(bins: BinDraws, p: float = 2.0) -> Draws:
    r"""Draw the l_p calibration error, :math:`(\sum_b m_b |\theta_b - \mu_b|^p)^{1/p}`.

    Parameters
    ----------
    bins : BinDraws
        Draws of the bins.
    p : float, default 2
        The order, at least 1; order 1 gives the ECE. Infinity is refused; see `max_error`.

    Returns
    -------
    Draws
        In [0, 1], never below the ECE.

    Raises
    ------
    ValueError
        If `p` is below 1 or infinite.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, Advances in Neural Information Processing Systems 32.

    Examples
    --------
    Higher orders weigh large gaps more. The bins of `ece` with p = 4: 0.5 x 0.2^4 + 0.3 x 0.1^4 + 0.2 x 0.4^4 =
    0.00595, whose fourth root is 0.278. Order 1 is the ECE, and as p grows the error approaches the largest gap, 0.4.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> [float(lp_error(EXAMPLE, p).values[0]) for p in (1, 4, 1000)]
    [0.21, 0.278, 0.399]
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

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, Advances in Neural Information Processing Systems 32.

    Examples
    --------
    The bins of `ece`: 0.5 x 0.2^2 + 0.3 x 0.1^2 + 0.2 x 0.4^2 = 0.055, whose square root is 0.2345. Its square exceeds
    that of the ECE by the variance of the absolute gaps, here 0.055 - 0.21^2 = 0.0109.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> l2_error(EXAMPLE).values
    array([0.2345, 0.2915])
    >>> l2_error(EXAMPLE).values ** 2 - ece(EXAMPLE).values ** 2
    array([0.0109, 0.045 ])
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

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.

    Examples
    --------
    The third of the bins of `ece` has the largest gap, but no rows: its gaps of 0.4 and 0.5 do not count. The largest
    of the others are 0.2 in the first draw and 0.3 in the second.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> EXAMPLE.occupied
    array([ True,  True, False])
    >>> max_error(EXAMPLE).values
    array([0.2, 0.3])
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
    Gaps of opposite sign cancel. The first draw of the bins of `ece`: 0.5 x 0.2 - 0.3 x 0.1 + 0.2 x 0.4 = 0.15. This is
    the mean accuracy, 0.47, less the mean confidence, 0.32.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> signed_error(EXAMPLE).values
    array([0.15, 0.05])
    >>> [float((EXAMPLE.mass * values).sum(axis=1)[0]) for values in (EXAMPLE.accuracy, EXAMPLE.confidence)]
    [0.47, 0.32]
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
    One of the bins of `ece` is over-confident in each draw, not the same one: 0.3 x 0.1 and 0.25 x 0.3.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> overconfidence(EXAMPLE).values
    array([0.03 , 0.075])
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
    The first draw of the bins of `ece`: 0.5 x 0.2 + 0.2 x 0.4 = 0.18. Both parts add up to the ECE within each draw.

    >>> from bayescal.estimands.errors import EXAMPLE
    >>> underconfidence(EXAMPLE).values
    array([0.18 , 0.125])
    >>> underconfidence(EXAMPLE).values + overconfidence(EXAMPLE).values
    array([0.21, 0.2 ])
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
